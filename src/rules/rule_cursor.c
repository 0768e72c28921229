/* cursor-loss: a client had an event id and comes back without it.  DETECTORS
 * "cursor-loss".
 *
 * Only after an end by the server: who closes a stream himself and opens
 * another may have reason to begin afresh.  A refused GET has no lineage; it
 * is one's whose stream ended about one reconnect delay before. */
#include <stdio.h>
#include <stdlib.h>

#include "rule_gets.h"

#define SLACK (50 * NS_MS)	/* scheduling, as in the model's lineages */
#define MAX_LINES 64
#define MAX_LOST 16
#define N_DELAYS 16

struct line {				/* a lineage, and the cursor it holds */
	uint32_t lineage, stream;
	uint64_t held;			/* 0: none */
	char text[TEXT_KEPT];
	struct at end;			/* of its stream; 0: open */
	enum { LINE_OPEN, LINE_BY_SERVER, LINE_OTHER } how;
	bool empty_resume;		/* asked with a cursor, got no event */
	bool refused;			/* that cursor was refused since */
	uint32_t torn;
};

struct lost {
	struct got g;
	uint64_t held;
	uint32_t from;			/* stream that ended before */
	struct at end;
	char text[TEXT_KEPT];
	bool empty_resume, given_again, found;	/* found: it came back */
	uint32_t torn;
};

struct cl {				/* one session */
	struct kept of;
	struct line *lines;
	struct lost *lost;
	uint32_t n_lines, cap_lines, next_line, n_lost, cap_lost;
	uint32_t beyond;		/* not kept */
	bool told;			/* to who watches */
	ns_t delays[N_DELAYS];
	uint32_t n_delays;
	struct gets *gets;
};

struct cursor {
	struct engine *engine;
	struct gets *gets;
	struct keeper sessions;
	bool losses;			/* there was one somewhere */
};

const struct rule rule_cursor;

static const struct posts *
told(const struct cl *s)
{
	return gets_posts(s->gets, s->of.session);
}

static void
free_session(struct kept *k)
{
	struct cl *s = (struct cl *)k;

	free(s->lines);
	free(s->lost);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct cursor *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->gets = engine_reader(e, &gets_reader);
	return r;
}

static void
free_rule(void *arg)
{
	struct cursor *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct cl *
session(struct cursor *r, uint32_t n)
{
	struct cl *s = keeper_get(&r->sessions, n, sizeof *s);

	s->gets = r->gets;
	return s;
}

static struct line *
line_of(struct cl *s, uint32_t lineage)
{
	struct line *l;

	for (uint32_t i = 0; i < s->n_lines; i++)
		if (s->lines[i].lineage == lineage)
			return &s->lines[i];
	if (s->n_lines < MAX_LINES) {
		s->lines = xgrow(s->lines, s->n_lines, &s->cap_lines, sizeof *s->lines);
		l = &s->lines[s->n_lines++];
	} else {
		l = &s->lines[s->next_line++ % MAX_LINES];
	}
	*l = (struct line){ .lineage = lineage };
	return l;
}

/* ---- losses ---- */

static void
lose(struct cursor *r, struct cl *s, struct line *l, const struct got *g)
{
	struct lost *x;

	r->losses = true;
	engine_wake(r->engine, &rule_cursor);
	if (s->n_lost < MAX_LOST) {
		s->lost = xgrow(s->lost, s->n_lost, &s->cap_lost, sizeof *s->lost);
		s->n_lost++;
	} else {
		s->beyond++;
	}
	x = &s->lost[s->n_lost - 1];
	*x = (struct lost){ .g = *g, .held = l->held, .from = l->stream, .end = l->end,
	    .empty_resume = l->empty_resume, .torn = l->torn + got_torn(g) };
	memcpy(x->text, l->text, sizeof x->text);
	l->held = 0;
}

/* DETECTORS "D": within a fifth. */
static bool
about(ns_t age, ns_t d)
{
	return (age > d ? age - d : d - age) <= d / 5 + SLACK;
}

static bool
returns(const struct cl *s, ns_t age)
{
	uint32_t n = s->n_delays < N_DELAYS ? s->n_delays : N_DELAYS;
	int64_t retry_ms = gets_retry_ms(s->gets, s->of.session);
	ns_t min, max;

	if (retry_ms >= 0 && about(age, retry_ms * NS_MS))
		return true;
	if (n)
		return about(age, median(s->delays, n, &min, &max));
	return retry_ms < 0 && about(age, NS_S);
}

/* The listener that asks without a cursor and has no lineage, if it is plain:
 * one whose stream ended about the delay before. */
static struct line *
asker(struct cl *s, const struct got *g)
{
	struct line *best = NULL;

	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct line *l = &s->lines[i];

		if (l->how == LINE_OPEN || l->end.t > g->request.t ||
		    !returns(s, g->request.t - l->end.t))
			continue;
		/* One that never had an id is as likely to be the one. */
		if (l->held == 0 || l->how != LINE_BY_SERVER || l->refused)
			return NULL;
		if (best == NULL || l->end.t < best->end.t)
			best = l;
	}
	return best;
}

static void
on_refused(struct cursor *r, struct cl *s, const struct got *g)
{
	struct line *l;

	if (!got_refusal(g->status) || !(g->asks_stream || g->named))
		return;
	for (uint32_t i = 0; i < s->n_lines && g->cursor; i++)
		s->lines[i].refused |= s->lines[i].held == g->cursor;
	if (g->cursor == 0 && (l = asker(s, g)) != NULL)
		lose(r, s, l, g);
}

static void
on_opened(struct cursor *r, struct cl *s, const struct got *g)
{
	struct line *l;

	if (g->previous && g->delay_ms >= 0 && g->delay_ms < 86400000)
		s->delays[s->n_delays++ % N_DELAYS] = g->delay_ms * NS_MS;
	if (g->kind == EV_STANDALONE && g->previous == 0 && (l = asker(s, g)) != NULL) {
		lose(r, s, l, g);
		l->how = LINE_OPEN;	/* it goes on under another number */
	}
	l = line_of(s, g->lineage);
	if (g->kind == EV_STANDALONE && g->previous && l->held && !l->refused &&
	    l->how == LINE_BY_SERVER)
		lose(r, s, l, g);
	l->held = g->cursor;
	memcpy(l->text, g->cursor_text, sizeof l->text);
	l->stream = g->stream;
	l->how = LINE_OPEN;
	l->refused = false;
	l->torn = got_torn(g);
}

static void
on_ended(struct cl *s, const struct got *g)
{
	struct line *l = line_of(s, g->lineage);

	if (l->stream != g->stream)
		return;
	if (g->gave) {
		l->held = g->last_id;
		memcpy(l->text, g->last_text, sizeof l->text);
	}
	l->end = g->end;
	l->how = got_by_server(g) && !g->left ? LINE_BY_SERVER : LINE_OTHER;
	l->empty_resume = g->cursor && !g->gave;
	l->torn += got_torn(g);
}

/* The cursor that seemed lost is asked for after all: it was somebody else. */
static void
on_asked(struct cl *s, const struct got *g)
{
	for (uint32_t i = 0; i < s->n_lost; i++)
		if (g->cursor && s->lost[i].held == g->cursor && !s->lost[i].given_again)
			s->lost[i].found = true;
}

static void
on_sse(struct cl *s, const struct ev *e)
{
	uint64_t id = e->u.sse.id.n ? map_digest(e->u.sse.id.p, e->u.sse.id.n) : 0;

	for (uint32_t i = 0; i < s->n_lost && id; i++)
		s->lost[i].given_again |= s->lost[i].held == id;
}

/* ---- the verdict ---- */

static void
report(struct cursor *r, const struct cl *s)
{
	const struct lost *first = NULL, *last = NULL;
	uint32_t n = 0, empty = 0, refused = 0, torn = 0;
	enum confidence conf;
	struct draft *d;
	char posts[120];

	for (uint32_t i = 0; i < s->n_lost; i++) {
		const struct lost *x = &s->lost[i];

		if (x->found)
			continue;
		first = first ? first : x;
		last = x;
		n++;
		empty += x->empty_resume;
		refused += x->g.stream == 0;
		torn += x->torn;
	}
	if (n == 0)
		return;
	n += s->beyond;
	conf = n > 1 || empty ? CONF_HIGH : CONF_MEDIUM;
	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	else if (torn && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	posts_say(told(s), first->g.request.t, posts, sizeof posts);
	d = draft_new(r->engine, &rule_cursor, NULL, SEV_WARNING, conf, s->of.session);
	draft_title(d, "the client forgets its Last-Event-ID: %u reconnect%s without it%s", n,
	    n == 1 ? "" : "s", refused ? ", and refused" : "");
	draft_why(d, "Stream %u left the client with the id %.40s and was ended by the server; "
	    "%.2f s later the same listener asks without Last-Event-ID%s.  What was emitted "
	    "between is not replayed, or everything is, and a resumed request turns into one "
	    "more listener of the session.", first->from, first->text,
	    (double)(first->g.request.t - first->end.t) / 1e9, empty ?
	    ", as clients do that drop the id when a resumed stream ends without an event" : "");
	draft_fix(d, "Client: keep the last event id over streams that end without one (the "
	    "TypeScript SDK drops it, 1.32.2 and 2.4.0 still).  Server: give every GET stream an "
	    "id to come back with.");
	draft_num(d, "losses", n);
	draft_text(d, "last_event_id_held", str_c(first->text));
	draft_bool(d, "last_event_id_sent", false);
	draft_num(d, "after_resume_without_event", empty);
	draft_num(d, "refused", refused);
	draft_ms(d, "return_after_ms", first->g.request.t - first->end.t);
	draft_text(d, "end", STR("by the server"));
	draft_text(d, "posts", str_c(posts));
	if (first->g.agent_text[0])
		draft_text(d, "user_agent", str_c(first->g.agent_text));
	for (uint32_t i = 0; i < s->n_lost; i++) {
		const struct lost *x = &s->lost[i];

		if (x->found)
			continue;
		draft_stream(d, x->from);
		if (x->g.stream)
			draft_stream(d, x->g.stream);
		draft_evidence(d, x->g.request, "GET without Last-Event-ID, %.2f s after the end "
		    "of stream %u in packet %u; it had %.40s", (double)(x->g.request.t -
		    x->end.t) / 1e9, x->from, x->end.pkt, x->text);
	}
	draft_span(d, first->g.request, last->g.head);
	draft_count(d, n, 0, 0);
	draft_done(d);
}

/* For who watches: twice is a habit. */
static void
look(struct cursor *r, struct cl *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_lost && !s->told; i++)
		n += !s->lost[i].found;
	if (s->told || n < 2)
		return;
	s->told = true;
	draft_only_tell(r->engine, true);
	report(r, s);
	draft_only_tell(r->engine, false);
}

/* ---- events ---- */

static void
event(void *arg, const struct ev *e)
{
	struct cursor *r = arg;
	const struct got *g;
	enum step step = gets_step(r->gets, e, &g);
	struct cl *s;

	if (e->type == EV_SSE) {
		if (r->losses && (s = (struct cl *)keeper_find(&r->sessions, e->session)) != NULL)
			on_sse(s, e);
		return;
	}
	if (step == STEP_NONE || step == STEP_ANSWERED || g->session == 0)
		return;
	s = session(r, g->session);
	switch (step) {
	case STEP_ASKED:
		on_asked(s, g);
		break;
	case STEP_REFUSED:
		on_refused(r, s, g);
		look(r, s);
		break;
	case STEP_OPENED:
		on_opened(r, s, g);
		look(r, s);
		break;
	case STEP_ENDED:
		on_ended(s, g);
		break;
	case STEP_DELETED:		/* what ends now will not come back */
		s->n_lines = 0;
		break;
	case STEP_NONE: case STEP_LEFT: case STEP_POSTED: case STEP_ANSWERED:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct cursor *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp)
		report(r, (struct cl *)k);
}

const struct rule rule_cursor = {
	.name = "cursor-loss",
	.summary = "a client that had an event id comes back without it",
	.reference = "mcpdiag-analyze(1), DETECTORS, cursor-loss",
	.wants = GETS_WANTS | RULE_WANTS(EV_SSE),
	.skips = SKIP_POSTS | SKIP_PLAIN,
	.sleeps = RULE_WANTS(EV_SSE),
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
