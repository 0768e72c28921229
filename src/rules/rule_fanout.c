/* reconnect-storm: one stream that ends brings several new ones.
 * DETECTORS "reconnect-storm".
 *
 * Streams that end together are one event, and their reconnects one generation.
 * Counted are GETs that continue no POST, against all ends they may come from; what
 * takes over from another is leapfrog's. */
#include <stdlib.h>

#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_gets.h"
#include "rule_util.h"

#define MIN_GENERATIONS 3
#define SURE 4
#define TOGETHER (100 * NS_MS)	/* ends this close are one event */
#define COUPLED (60 * NS_MS)	/* ended by another GET: that is a takeover */
#define MAX_OPEN 256
#define MAX_SEEN 8

struct generation {
	struct at end, last;		/* first end; last of its GETs */
	uint32_t ends, gets, open;	/* open: the most, once they were back */
};

struct storm {				/* one session */
	struct kept of;
	uint32_t *open, n_open, cap_open;
	struct generation now, *seen;	/* MAX_SEEN at most */
	uint32_t n_seen, cap_seen;	/* in a row, each larger than the last */
	struct at last_get;
	bool torn;
};

struct storms {
	struct engine *engine;
	struct gets *gets;
	struct keeper sessions;
};

extern const struct rule rule_fanout;

static void
free_session(struct kept *k)
{
	struct storm *s = (struct storm *)k;

	free(s->open);
	free(s->seen);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct storms *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->gets = engine_reader(e, &gets_reader);
	return r;
}

static void
free_rule(void *arg)
{
	struct storms *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct storm *
session(struct storms *r, uint32_t n)
{
	return keeper_get(&r->sessions, n, sizeof(struct storm));
}

static void
report(struct storms *r, const struct storm *s)
{
	const struct generation *g = s->seen;
	uint32_t n = s->n_seen < MAX_SEEN ? s->n_seen : MAX_SEEN, ends = 0, gets = 0;
	struct draft *d;

	if (s->n_seen < MIN_GENERATIONS || engine_inferred(r->engine, s->of.session))
		return;
	for (uint32_t i = 0; i < n; i++) {
		ends += g[i].ends;
		gets += g[i].gets;
	}
	d = draft_new(r->engine, &rule_fanout, NULL, SEV_ERROR, s->n_seen >= SURE && !s->torn &&
	    !engine_gaps(r->engine, g[0].end.t) ? CONF_HIGH : CONF_MEDIUM, s->of.session);
	draft_title(d, "each end of a stream brings several new ones: from %u to %u open GET "
	    "streams of one session in %u rounds", g[0].ends, g[n - 1].open, s->n_seen);
	draft_why(d, "%u ends were followed by %u GETs within twice the reconnect delay, and "
	    "the number of open streams grew every time.  None of these GETs continues a POST "
	    "or takes the place of another.", ends, gets);
	draft_fix(d, "Client: reconnect once for each stream that ends (an end and an error of "
	    "the same stream are one event), and cancel the timer of a listener that is "
	    "replaced.");
	draft_num(d, "generations", s->n_seen);
	draft_num(d, "ends", ends);
	draft_num(d, "gets", gets);
	draft_num(d, "fan_out", (double)gets / (double)(ends ? ends : 1));
	draft_num(d, "open_at_most", g[n - 1].open);
	for (uint32_t i = 0; i < n; i++) {
		draft_evidence(d, g[i].end, "%u stream%s end%s", g[i].ends,
		    g[i].ends == 1 ? "" : "s", g[i].ends == 1 ? "s" : "");
		draft_evidence(d, g[i].last, "the last of %u GETs that follow", g[i].gets);
	}
	draft_span(d, g[0].end, g[n - 1].last);
	draft_count(d, s->n_seen, 0, 0);
	draft_done(d);
}

/* The time of a generation is over: is it larger than the one before? */
static void
settle(struct storms *r, struct storm *s)
{
	struct generation g = s->now;
	const struct generation *before = s->n_seen ?
	    &s->seen[(s->n_seen < MAX_SEEN ? s->n_seen : MAX_SEEN) - 1] : NULL;

	s->now = (struct generation){ 0 };
	if (g.ends == 0)
		return;
	if (g.gets * 2 < g.ends * 3 || (before && g.open <= before->open)) {
		if (s->n_seen < MIN_GENERATIONS)
			s->n_seen = 0;
		return;
	}
	s->seen = ring_room(s->seen, s->n_seen, MAX_SEEN, &s->cap_seen, sizeof *s->seen);
	s->seen[s->n_seen < MAX_SEEN ? s->n_seen : MAX_SEEN - 1] = g;
	s->n_seen++;
	report(r, s);
}

static ns_t
window(struct storms *r, const struct storm *s)
{
	int64_t retry_ms = gets_retry_ms(r->gets, s->of.session);
	ns_t d = retry_ms >= 0 && retry_ms < 3600000 ? retry_ms * NS_MS : NS_S;

	return 2 * (d > TOGETHER ? d : TOGETHER);
}

static bool
is_post(struct storms *r, uint32_t session, uint32_t stream)
{
	uint32_t x;

	return gets_stream(r->gets, session, stream, &x) & STREAM_POST;
}

static void
on_stream(struct storms *r, struct storm *s, const struct ev *e)
{
	s->torn |= (e->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0;
	if (s->n_open < MAX_OPEN) {
		s->open = xgrow(s->open, s->n_open, &s->cap_open, sizeof *s->open);
		s->open[s->n_open++] = e->stream;
	}
	/* The lineage of a POST bears the number of its stream. */
	if (s->now.ends == 0 || is_post(r, e->session, e->u.stream.lineage) ||
	    (e->u.stream.resumes && is_post(r, e->session, e->u.stream.resumes)) ||
	    e->u.stream.requested < s->now.end.t)
		return;
	s->now.gets++;
	s->now.last = (struct at){ e->t, e->pkt };
	s->now.open = s->n_open > s->now.open ? s->n_open : s->now.open;
}

static void
on_stream_end(struct storm *s, const struct ev *e)
{
	uint32_t i;

	for (i = 0; i < s->n_open && s->open[i] != e->stream; i++)
		;
	if (i == s->n_open || e->u.stream_end.end == EV_OPEN)
		return;
	s->open[i] = s->open[--s->n_open];
	s->torn |= (e->flags & (EVF_GAP | EVF_INFERRED)) != 0;
	if (s->now.ends == 0 && s->last_get.t > e->t - COUPLED)
		return;				/* a takeover */
	if (s->now.ends++ == 0)
		s->now.end = (struct at){ e->t, e->pkt };
}

static void
event(void *arg, const struct ev *e)
{
	struct storms *r = arg;
	struct storm *s;

	if (e->session == 0)
		return;
	if (e->type == EV_SESSION_END) {
		if ((s = (struct storm *)keeper_find(&r->sessions, e->session)) != NULL) {
			settle(r, s);
			keeper_drop(&r->sessions, &s->of);
		}
		return;
	}
	s = e->type == EV_REQUEST || (e->type == EV_STREAM && is_listener(e)) ?
	    session(r, e->session) : (struct storm *)keeper_find(&r->sessions, e->session);
	if (s == NULL)
		return;
	if (s->now.ends && e->t > s->now.end.t + window(r, s))
		settle(r, s);
	switch (e->type) {
	case EV_REQUEST:
		if (str_eq(e->u.req.method, STR("GET")))
			s->last_get = (struct at){ e->t, e->pkt };
		break;
	case EV_STREAM:
		if (is_listener(e))
			on_stream(r, s, e);
		break;
	case EV_STREAM_END:
		on_stream_end(s, e);
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END: case EV_RESPONSE:
	case EV_RESPONSE_END: case EV_SESSION: case EV_SESSION_END: case EV_COMMENT: case EV_SSE:
	case EV_MESSAGE: case EV_OWNER: case EV_STALL: case EV_GAP: case EV_ANOMALY:
	case EV_NOTE: case EV_FINDING: case EV_END: case EV_N_TYPES:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct storms *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp)
		settle(r, (struct storm *)k);
}

const struct rule rule_fanout = {
	.name = "reconnect-storm",
	.summary = "one stream that ends brings several new ones",
	.reference = "mcpdiag-analyze(1), DETECTORS, reconnect-storm",
	.wants = RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_STREAM) | RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_POSTS,
	.new = new, .event = event, .end = end, .free = free_rule,
};
