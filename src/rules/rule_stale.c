/* stale-slot: a GET stream is over, and yet the server refuses the next one as
 * if it were still there.  DETECTORS "stale-slot".
 *
 * The capture knows what the server does not: that no GET of the session is
 * open.  POSTs tell that the session itself is well. */
#include <stdio.h>
#include <stdlib.h>

#include "rule_gets.h"

#define AFTER (500 * NS_MS)	/* the end must be known by then */
#define RECENT (60 * NS_S)	/* a POST that long before says a little */
#define N_KEPT 4

struct gone {				/* a dead stream; number 0: none */
	uint32_t stream, torn;
	enum ev_end how;
	struct at end;
};

struct slot {				/* one dead stream, and what it blocked */
	struct gone dead;
	struct got kept[N_KEPT], last;
	uint32_t n, torn;
	bool bare;			/* a GET without cursor was refused, too */
	struct got next;		/* the first that was accepted */
};

struct ss {				/* one session */
	struct kept of;
	struct gone dead;		/* the last one */
	struct slot *slot, *worst;	/* NULL: none that blocked anything */
	struct gets *gets;
	uint32_t n_open, n_slots, n_refused;
	bool told;		/* to who watches */
};

struct stale {
	struct engine *engine;
	struct gets *gets;
	struct keeper sessions;
};

const struct rule rule_stale;

static const struct posts *
told(const struct ss *s)
{
	return gets_posts(s->gets, s->of.session);
}

static void
free_session(struct kept *k)
{
	struct ss *s = (struct ss *)k;

	free(s->slot);
	free(s->worst);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct stale *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->gets = engine_reader(e, &gets_reader);
	return r;
}

static void
free_rule(void *arg)
{
	struct stale *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct ss *
session(struct stale *r, uint32_t n)
{
	struct ss *s = keeper_get(&r->sessions, n, sizeof *s);

	s->gets = r->gets;
	return s;
}

/* ---- the verdict ---- */

static ns_t
held(const struct slot *l)
{
	return (l->next.stream ? l->next.head.t : l->last.head.t) - l->dead.end.t;
}

/* Whether the session is well, as its POSTs tell: 2 since, 1 shortly before,
 * 0 nobody knows, -1 no. */
static int
alive(const struct ss *s)
{
	ns_t since = s->slot->kept[0].request.t;
	const struct posts *p = told(s);

	if (p->n_ok && p->ok.t >= since)
		return 2;
	if (p->n_failed && p->failed.t >= since)
		return -1;
	return p->n_ok && since - p->ok.t <= RECENT;
}

static const char *
fix_of(uint32_t status)
{
	if (status == 409)
		return "Server: free the place of a GET stream when its connection closes or "
		    "when the server itself ends it, also for resumed ones, or let a new GET "
		    "take the place of one that does not take writes (TypeScript SDK: 1.25.0 to "
		    "1.29.0 do this after a resumed stream, 1.30.0 does not).  Client: wait "
		    "longer each time, and open a new session in the end.";
	return "Server: free the place of a GET stream when its connection closes, and say 409 "
	    "while it is taken (C# SDK 2.2 and older releases of mcp-go answer 400 so).  "
	    "Client: wait longer each time, and open a new session in the end.";
}

static void
report(struct stale *r, const struct ss *s, const struct slot *l, enum confidence conf)
{
	const struct got *first = &l->kept[0];
	char posts[120], freed[80];
	struct draft *d;

	posts_say(told(s), first->request.t, posts, sizeof posts);
	if (l->next.stream)
		(void)snprintf(freed, sizeof freed, "%.1f s later a GET was accepted",
		    (double)held(l) / 1e9);
	else
		(void)snprintf(freed, sizeof freed, "none was accepted in the %.1f s that are "
		    "seen", (double)held(l) / 1e9);
	d = draft_new(r->engine, &rule_stale, NULL, SEV_ERROR, conf, s->of.session);
	draft_title(d, "the GET stream is gone, but its place is not free: GET refused with %u, "
	    "%u time%s, %s", l->last.status, l->n, l->n == 1 ? "" : "s", freed);
	draft_why(d, "Stream %u ended (%s), no other GET stream of the session is open, and the "
	    "next GETs are refused with %u; after its end %s; %s.", l->dead.stream,
	    l->dead.how == EV_CLIENT ? "its client closed the connection" :
	    l->dead.how == EV_COMPLETE ? "the server ended it with a terminator" :
	    "the server's side closed the connection", l->last.status, freed, posts);
	draft_fix(d, "%s", fix_of(l->last.status));
	draft_stream(d, l->dead.stream);
	if (l->next.stream)
		draft_stream(d, l->next.stream);
	draft_num(d, "refusals", l->n);
	draft_num(d, "status", l->last.status);
	draft_ms(d, "slot_held_ms", held(l));
	draft_bool(d, "freed", l->next.stream != 0);
	draft_ms(d, "refused_first_after_ms", first->request.t - l->dead.end.t);
	draft_text(d, "end", l->dead.how == EV_CLIENT ? STR("client") :
	    l->dead.how == EV_COMPLETE ? STR("complete, by the server") :
	    STR("truncated, by the server"));
	if (l->last.cursor)
		draft_text(d, "last_event_id", str_c(l->last.cursor_text));
	draft_bool(d, "post_worked_meanwhile", told(s)->n_ok &&
	    told(s)->ok.t >= first->request.t);
	if (s->n_slots > 1)
		draft_num(d, "dead_streams", s->n_slots);
	draft_evidence(d, l->dead.end, "stream %u ends", l->dead.stream);
	for (uint32_t i = 0; i < l->n && i < N_KEPT; i++)
		draft_evidence(d, l->kept[i].head, "%u for the GET in packet %u",
		    l->kept[i].status, l->kept[i].request.pkt);
	if (l->n > N_KEPT)
		draft_evidence(d, l->last.head, "%u for the GET in packet %u", l->last.status,
		    l->last.request.pkt);
	if (l->next.stream)
		draft_evidence(d, l->next.head, "stream %u is accepted", l->next.stream);
	draft_span(d, l->dead.end, l->next.stream ? l->next.head : l->last.head);
	draft_count(d, s->n_refused ? s->n_refused : l->n, 0, 0);
	draft_done(d);
}

static void
judge(struct stale *r, struct ss *s)
{
	const struct slot *l = s->slot;
	enum confidence conf;
	int well;

	if (l == NULL || l->n == 0)
		return;
	well = l->next.stream && l->last.status == 409 ? 2 : alive(s);
	if (l->last.request.t - l->dead.end.t < AFTER || well < 0)
		return;
	/* Only 409 says by itself that it is about a place; and where a GET with
	 * another cursor is accepted, it was the cursor that was refused. */
	if (l->last.status != 409 && (well < 2 || (!l->bare && l->next.stream &&
	    l->next.cursor != l->last.cursor)))
		return;
	s->n_slots++;
	s->n_refused += l->n;
	conf = well < 2 ? CONF_LOW : l->n > 1 ? CONF_HIGH : CONF_MEDIUM;
	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	else if (conf > CONF_MEDIUM && (l->torn || !engine_complete(r->engine, s->of.session)))
		conf = CONF_MEDIUM;	/* an older stream may hold the place */
	if (s->worst == NULL || held(l) > held(s->worst)) {
		s->worst = s->worst ? s->worst : xmalloc(sizeof *s->worst);
		*s->worst = *l;
	}
	report(r, s, s->worst, conf);
}

/* Before it is known whether the place is ever free: refused twice, and a POST was
 * answered since. */
static void
look(struct stale *r, struct ss *s)
{
	const struct slot *l = s->slot;

	if (s->told || l == NULL || l->n < 2 || alive(s) < 2 ||
	    l->last.request.t - l->dead.end.t < AFTER || (l->last.status != 409 && !l->bare))
		return;
	s->told = true;
	draft_only_tell(r->engine, true);
	report(r, s, l, CONF_MEDIUM);
	draft_only_tell(r->engine, false);
}

/* ---- events ---- */

static void
on_refused(struct ss *s, const struct got *g)
{
	struct slot *l;

	if (s->dead.stream == 0 || s->n_open || cursor_of_post(s->gets, s->of.session, g->cursor))
		return;
	if (g->status != 409 && ((g->status != 400 && g->status != 500) ||
	    (g->cursor && !cursor_of_get(s->gets, s->of.session, g->cursor))))
		return;
	if (g->request.t < s->dead.end.t)	/* it was open then */
		return;
	if (s->slot == NULL) {
		s->slot = xcalloc(1, sizeof *s->slot);
		s->slot->dead = s->dead;
		s->slot->torn = s->dead.torn;
	}
	l = s->slot;
	if (l->n && l->last.status != g->status)
		l->n = 0;
	if (l->n < N_KEPT)
		l->kept[l->n] = *g;
	l->n++;
	l->last = *g;
	l->bare |= g->cursor == 0;
	l->torn += got_torn(g);
}

static void
on_opened(struct stale *r, struct ss *s, const struct got *g)
{
	if (s->slot && s->slot->n && g->request.t > s->slot->last.head.t) {
		s->slot->next = *g;
		judge(r, s);
	}				/* else it was what held the place */
	free(s->slot);
	s->slot = NULL;
	s->dead.stream = 0;
	s->n_open++;
}

static void
on_ended(struct stale *r, struct ss *s, const struct got *g)
{
	s->n_open -= s->n_open > 0;
	if (g->of_post || g->how == EV_LOST || g->how == EV_OPEN)
		return;
	judge(r, s);
	free(s->slot);
	s->slot = NULL;
	s->dead = (struct gone){ g->stream, got_torn(g), g->how, g->end };
}

static void
event(void *arg, const struct ev *e)
{
	struct stale *r = arg;
	const struct got *g;
	enum step step;
	struct ss *s;

	step = gets_step(r->gets, e, &g);
	if (step == STEP_NONE || step == STEP_ANSWERED || g->session == 0)
		return;
	s = session(r, g->session);
	switch (step) {
	case STEP_REFUSED:
		on_refused(s, g);
		look(r, s);
		break;
	case STEP_ANSWERED:
		look(r, s);
		break;
	case STEP_OPENED:
		on_opened(r, s, g);
		break;
	case STEP_LEFT:
		on_ended(r, s, g);
		break;
	case STEP_ENDED:
		if (!g->left)
			on_ended(r, s, g);
		break;
	case STEP_NONE: case STEP_ASKED: case STEP_POSTED: case STEP_DELETED:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct stale *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp)
		judge(r, (struct ss *)k);
}

const struct rule rule_stale = {
	.name = "stale-slot",
	.summary = "a GET is refused because of a stream that is long gone",
	.reference = "mcpdiag-analyze(1), DETECTORS, stale-slot",
	.wants = GETS_WANTS,
	.skips = SKIP_POSTS,
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
