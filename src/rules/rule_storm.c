/* notification-storm: the server says the same again and again.  DETECTORS
 * "notification-storm".
 *
 * A flood: equal notifications at ten or more moments, at least one in two
 * seconds.  Feedback: listing makes the server say that the list has changed,
 * so that the client lists again, and nothing else happens in between.
 * Repeats of the same event, bursts and progress do not count. */
#include <stdlib.h>

#include "mcpdiag/rule.h"
#include "mcpdiag/xmem.h"
#include "rule_util.h"

#define MOMENT (100 * NS_MS)	/* what comes within counts once */
#define SLOWEST (2 * NS_S)	/* 0.5 a second */
#define ECHO (500 * NS_MS)	/* after the list */
#define MIN_FLOOD 10
#define MIN_CYCLES 5
#define MAX_KINDS 8
#define REPLAYED (50 * NS_MS)	/* this soon after a head it is a replay */

enum list { TOOLS, PROMPTS, RESOURCES, N_LISTS };

static const struct {
	struct str changed, ask, other;
} lists[N_LISTS] = {
#define S(s) { s, sizeof s - 1 }
	[TOOLS] = { S("notifications/tools/list_changed"), S("tools/list"), { NULL, 0 } },
	[PROMPTS] = { S("notifications/prompts/list_changed"), S("prompts/list"),
	    { NULL, 0 } },
	[RESOURCES] = { S("notifications/resources/list_changed"), S("resources/list"),
	    S("resources/templates/list") },
#undef S
};

struct run {				/* equal notifications in a row */
	uint64_t hash;
	uint32_t moments;
	uint64_t n;
	struct at first, last;
	ns_t widest, moment;
	enum list list;			/* whose change it tells, or N_LISTS */
	bool lists_differ;		/* the client saw that it is true */
};

struct cycle {				/* one kind of list */
	uint64_t now, best;		/* turns in a row */
	struct at first, last, changed;
	ns_t answered, period_sum;	/* answered 0: not yet */
	uint32_t x;			/* the last request for the list */
	uint64_t size;			/* of the last list, without its id */
	bool waits;			/* list_changed came, not yet asked */
	bool listed;			/* asked since, and nothing else */
};

struct st {				/* one session */
	struct kept of;
	struct run *kinds;		/* MAX_KINDS at most */
	uint32_t n_kinds, cap_kinds;
	struct cycle cycles[N_LISTS];
	uint32_t sse_stream, new_stream, flags, stream;
	ns_t new_head;
	bool replay;
	uint64_t sse_bytes;
	uint32_t json_x, json_id;	/* a body, and the length of its id */
};

struct storm {
	struct engine *engine;
	struct keeper sessions;
};

const struct rule rule_storm;

static void
free_session(struct kept *k)
{
	free(((struct st *)k)->kinds);
	free(k);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct storm *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	return r;
}

static void
free_rule(void *arg)
{
	struct storm *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct st *
find(struct storm *r, uint32_t n)
{
	return (struct st *)keeper_find(&r->sessions, n);
}

static struct st *
session(struct storm *r, uint32_t n)
{
	return keeper_get(&r->sessions, n, sizeof(struct st));
}

static enum list
list_changed(struct str method)
{
	int l = 0;

	while (l < N_LISTS && !str_eq(method, lists[l].changed))
		l++;
	return (enum list)l;
}

static enum list
list_asked(struct str method)
{
	int l = 0;

	while (l < N_LISTS && !str_eq(method, lists[l].ask) &&
	    !(lists[l].other.n && str_eq(method, lists[l].other)))
		l++;
	return (enum list)l;
}

/* ---- findings ---- */

static enum confidence
confidence(const struct storm *r, const struct st *s, enum confidence conf)
{
	if (engine_inferred(r->engine, s->of.session))
		return CONF_LOW;
	return s->flags & (EVF_GAP | EVF_MIDSTREAM) && conf > CONF_MEDIUM ?
	    CONF_MEDIUM : conf;
}

static void
report_flood(struct storm *r, struct st *s, const struct run *k, struct str method)
{
	ns_t period = (k->last.t - k->first.t) / (ns_t)(k->moments - 1);
	bool list = k->list != N_LISTS;
	/* What is logged, or subscribed to, may really come that often. */
	enum severity sev = list && !k->lists_differ ? SEV_ERROR : SEV_INFO;
	struct draft *d = draft_new(r->engine, &rule_storm, "flood", sev,
	    confidence(r, s, list ? CONF_HIGH : CONF_MEDIUM), s->of.session);

	draft_title(d, "%.*s comes %llu times, every %.1f s, always the same",
	    (int)(method.n < 60 ? method.n : 60), method.p, (unsigned long long)k->n,
	    (double)period / 1e9);
	draft_why(d, "Equal notifications without a pause.  %s", k->lists_differ ?
	    "The lists that the client fetches differ: the changes are real." :
	    "Each may make the client fetch again.");
	draft_fix(d, "Server: send it only when something has changed, and only once for "
	    "changes that follow each other closely.");
	draft_text(d, "method", method);
	draft_num(d, "per_second", period ? 1e9 / (double)period : 0);
	draft_stream(d, s->stream);
	draft_evidence(d, k->first, "the first of them");
	draft_evidence(d, k->last, "the last");
	draft_span(d, k->first, k->last);
	draft_count(d, k->n, period, k->widest > period ? k->widest - period : 0);
	draft_done(d);
}

static void
report_feedback(struct storm *r, const struct st *s, const struct cycle *c, enum list l)
{
	ns_t period = c->period_sum / (ns_t)c->now;
	struct draft *d = draft_new(r->engine, &rule_storm, "feedback", SEV_ERROR,
	    confidence(r, s, CONF_HIGH), s->of.session);

	draft_title(d, "%s makes the server say that the list has changed, and the client "
	    "lists again: %llu turns", lists[l].ask.p, (unsigned long long)c->now);
	draft_why(d, "Each %s was followed by a request for the list, that one by the next "
	    "notification, with no other request in between; the lists are equally long, "
	    "byte for byte.", lists[l].changed.p);
	draft_fix(d, "Server: do not send list_changed from the handler of the list (or from "
	    "whatever it calls); compare before telling.  Client: wait a while between two "
	    "fetches.");
	draft_text(d, "method", lists[l].changed);
	draft_num(d, "turns", (double)c->now);
	draft_stream(d, s->stream);
	draft_evidence(d, c->first, "the first turn");
	draft_evidence(d, c->last, "the last");
	draft_span(d, c->first, c->last);
	draft_count(d, c->now, period, 0);
	draft_done(d);
}

/* ---- flood ---- */

static struct run *
run_of(struct st *s, uint64_t hash)
{
	struct run *oldest = s->kinds;

	for (uint32_t i = 0; i < s->n_kinds; i++) {
		if (s->kinds[i].hash == hash)
			return &s->kinds[i];
		if (s->kinds[i].last.t < oldest->last.t)
			oldest = &s->kinds[i];
	}
	if (s->n_kinds < MAX_KINDS) {
		s->kinds = xgrow(s->kinds, s->n_kinds, &s->cap_kinds, sizeof *s->kinds);
		oldest = &s->kinds[s->n_kinds++];
	}
	*oldest = (struct run){ .hash = hash, .list = N_LISTS };
	return oldest;
}

static void
flood(struct storm *r, struct st *s, const struct ev *e, enum list l)
{
	struct run *k = run_of(s, e->u.msg.hash);
	struct at at = { e->t, e->pkt };

	if (k->n == 0 || e->t - k->last.t > SLOWEST)
		*k = (struct run){ .hash = e->u.msg.hash, .list = l, .first = at,
		    .last = at, .moment = e->t, .moments = 1 };
	else if (e->t - k->moment >= MOMENT) {
		k->widest = e->t - k->moment > k->widest ? e->t - k->moment : k->widest;
		k->moment = e->t;
		k->moments++;
	}
	k->n++;
	k->last = at;
	s->flags |= e->flags;
	s->stream = e->stream;
	if (k->moments >= MIN_FLOOD)
		report_flood(r, s, k, e->u.msg.method);
}

/* ---- feedback ---- */

static void
turn(struct storm *r, struct st *s, const struct ev *e, enum list l)
{
	struct cycle *c = &s->cycles[l];
	struct at at = { e->t, e->pkt };

	/* The handler's doing, not that of a clock. */
	if (c->listed && (c->answered == 0 || e->t - c->answered <= ECHO)) {
		c->period_sum += e->t - c->changed.t;
		if (c->now++ == 0)
			c->first = c->changed;
		c->last = at;
		if (c->now >= MIN_CYCLES)
			report_feedback(r, s, c, l);
	} else if (!c->waits || e->t - c->changed.t > MOMENT) {
		c->now = 0;
		c->period_sum = 0;
	}
	c->listed = false;
	c->waits = true;
	c->changed = at;
}

static void
on_request(struct st *s, const struct ev *e)
{
	enum list l = list_asked(e->u.msg.method);

	for (int i = 0; i < N_LISTS; i++) {
		struct cycle *c = &s->cycles[i];

		if (i == (int)l && (c->waits || c->listed)) {
			c->listed = true;
			c->waits = false;
			c->answered = 0;
			c->x = e->x;
		} else if (i != (int)l && l == N_LISTS) {
			c->listed = c->waits = false;	/* that may be the cause */
			c->now = 0;
		}
	}
}

/* Equal lists have equal lengths; their ids count up. */
static void
on_list(struct st *s, uint32_t x, uint64_t size, ns_t now)
{
	for (int i = 0; i < N_LISTS; i++) {
		struct cycle *c = &s->cycles[i];

		if (c->x != x || x == 0 || size == 0)
			continue;
		if (c->size && c->size != size) {
			c->now = 0;
			c->listed = false;
			for (uint32_t j = 0; j < s->n_kinds; j++)
				if (s->kinds[j].list == (enum list)i)
					s->kinds[j].lists_differ = true;
		}
		c->size = size;
		c->answered = now;
		c->x = 0;
	}
}

/* ---- events ---- */

static void
on_response(struct st *s, const struct ev *e)
{
	uint32_t n = (uint32_t)e->u.msg.id.n;

	if (!e->u.msg.sse) {		/* its length comes with its end */
		s->json_x = e->x;
		s->json_id = n;
	} else if (s->sse_stream == e->stream && s->sse_bytes > n) {
		on_list(s, e->u.msg.of ? e->u.msg.of : e->x, s->sse_bytes - n, e->t);
	}
}

static void
on_message(struct storm *r, const struct ev *e)
{
	struct st *s = find(r, e->session);
	enum list l;

	if (e->dir == EV_C2S) {
		if (s && e->u.msg.kind == EV_MSG_REQUEST &&
		    !str_eq(e->u.msg.method, STR("ping")))
			on_request(s, e);
		return;
	}
	if (s && e->u.msg.kind == EV_MSG_RESPONSE)
		on_response(s, e);
	if (e->u.msg.kind != EV_MSG_NOTIFICATION || e->u.msg.channel != EV_CH_COMMON)
		return;
	s = s ? s : session(r, e->session);
	/* Delivered once more: replay-loop tells of that. */
	if ((s->replay && s->sse_stream == e->stream) ||
	    (e->stream == s->new_stream && e->t - s->new_head <= REPLAYED))
		return;
	l = list_changed(e->u.msg.method);
	flood(r, s, e, l);
	if (l != N_LISTS)
		turn(r, s, e, l);
}

static void
event(void *arg, const struct ev *e)
{
	struct storm *r = arg;
	struct st *s;

	if (e->session == 0)
		return;
	if (e->type == EV_MESSAGE) {
		on_message(r, e);
		return;
	}
	if ((s = (struct st *)keeper_find(&r->sessions, e->session)) == NULL)
		return;
	if (e->type == EV_STREAM && is_listener(e)) {
		s->new_stream = e->stream;
		s->new_head = e->t;
		s->flags |= e->flags;
	} else if (e->type == EV_SSE) {
		s->sse_stream = e->stream;
		s->sse_bytes = e->u.sse.bytes;
		s->replay = e->flags & EVF_REPLAY;
	} else if (e->type == EV_RESPONSE_END) {
		if (s->json_x == e->x && e->u.end.bytes > s->json_id)
			on_list(s, e->x, e->u.end.bytes - s->json_id, e->t);
	} else if (e->type == EV_SESSION_END) {
		keeper_drop(&r->sessions, &s->of);
	}
}

static void
end(void *arg, ns_t now)
{
	(void)arg;
	(void)now;
}

const struct rule rule_storm = {
	.name = "notification-storm",
	.summary = "the server says the same again and again",
	.reference = "mcpdiag-analyze(1), DETECTORS, notification-storm",
	.wants = RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_RESPONSE_END) |
	    RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_NEWS,
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
