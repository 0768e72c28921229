/* retry-violation: a client comes back sooner than the server's retry asks, or
 * much later.  DETECTORS "retry-violation".
 *
 * Only a GET whose Last-Event-ID one single stream gave out is known to be the
 * reconnect of that stream; any other may be another listener of the client. */
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_util.h"

#define MIN_TIMES 3
#define EARLY (50 * NS_MS)	/* as the conformance tests of the protocol allow */
#define LATE (200 * NS_MS)	/* beyond twice the retry: a small one needs slack */
#define COUPLED (60 * NS_MS)	/* ended by another GET: that is a takeover */
#define MAX_LIVE 128
#define MAX_ENDED 64
#define MAX_SEEN 6

struct timed {				/* a stream that has told its retry */
	uint32_t stream, x;
	int64_t retry_ms;
	struct at head, end;
	bool get;
};

struct seen {
	struct timed was;
	struct at back;			/* the request that came back */
};

struct many {				/* times one thing has happened */
	struct seen seen[MAX_SEEN];	/* the last place holds the last */
	uint64_t n;
	ns_t least, most;		/* delays */
	int64_t retry_ms;		/* the least asked for */
};

enum back { EARLY_BACK, LATE_BACK };

struct rv {				/* one session */
	struct kept of;
	struct timed *live, *ended;	/* MAX_ENDED of the latter, a ring */
	uint32_t n_live, cap_live, n_ended, cap_ended, ring;
	int64_t retry_ms;		/* the last told by any stream, -1 none */
	struct at last_get;		/* the last GET asked for */
	uint32_t last_get_x;
	bool must;			/* negotiated 2025-11-25 */
	struct many *many[2];		/* early, late; NULL: never yet */
};

struct retries {
	struct engine *engine;
	struct keeper sessions;
};

extern const struct rule rule_retry;

static void
free_session(struct kept *k)
{
	struct rv *s = (struct rv *)k;

	free(s->live);
	free(s->ended);
	free(s->many[EARLY_BACK]);
	free(s->many[LATE_BACK]);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct retries *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	return r;
}

static void
free_rule(void *arg)
{
	struct retries *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct rv *
session(struct retries *r, uint32_t n)
{
	struct rv *s = (struct rv *)keeper_find(&r->sessions, n);

	if (s)
		return s;
	s = xcalloc(1, sizeof *s);
	s->retry_ms = -1;
	keeper_add(&r->sessions, &s->of, n);
	return s;
}

static struct timed *
live(struct rv *s, uint32_t stream)
{
	for (uint32_t i = 0; i < s->n_live; i++)
		if (s->live[i].stream == stream)
			return &s->live[i];
	return NULL;
}

/* ---- the verdict ---- */

static void
report(struct retries *r, const struct rv *s, enum back back, bool early_word)
{
	const struct many *m = s->many[back];
	enum confidence conf = CONF_HIGH;
	bool late = back == LATE_BACK;
	struct draft *d;
	uint64_t kept;

	if (m == NULL || m->n < MIN_TIMES)
		return;
	kept = m->n < MAX_SEEN ? m->n : MAX_SEEN;
	if (engine_gaps(r->engine, m->seen[0].was.head.t))
		conf = CONF_MEDIUM;
	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	d = draft_new(r->engine, &rule_retry, late ? "late" : NULL, late ? SEV_INFO :
	    s->must ? SEV_ERROR : SEV_WARNING, conf, s->of.session);
	draft_title(d, "the client comes back %s than the server's retry asks: after %.2f to "
	    "%.2f s instead of %.2f s, %llu times", late ? "much later" : "sooner",
	    (double)m->least / 1e9, (double)m->most / 1e9, (double)m->retry_ms / 1e3,
	    (unsigned long long)m->n);
	draft_why(d, "The server ended these streams and had told on each how long to wait.  "
	    "The Last-Event-ID of the next GET is one that only the ended stream gave out, so "
	    "it is the reconnect of that stream.%s", late ? "" : s->must ?
	    "  Protocol 2025-11-25 says that the client MUST wait." :
	    "  Protocol 2025-11-25 makes it a MUST; the session negotiated an older one, or "
	    "its start was not captured.");
	draft_fix(d, late ? "Client: reconnect after the server's retry; what the server "
	    "emits meanwhile comes late or falls out of its cache." :
	    "Client: wait for the server's last retry after the end of the stream (not after "
	    "its last event) before each reconnect.  Until then, server: do not count on "
	    "retry to limit the load.");
	draft_num(d, "reconnects", (double)m->n);
	draft_num(d, "retry_ms", (double)m->retry_ms);
	draft_ms(d, "delay_min_ms", m->least);
	draft_ms(d, "delay_max_ms", m->most);
	for (uint64_t i = 0; i < kept; i++) {
		const struct seen *k = &m->seen[i];

		draft_stream(d, k->was.stream);
		draft_evidence(d, k->was.end, "the server ends stream %u, retry %lld",
		    k->was.stream, (long long)k->was.retry_ms);
		draft_evidence(d, k->back, "the client is back after %.3f s",
		    (double)(k->back.t - k->was.end.t) / 1e9);
	}
	draft_span(d, m->seen[0].was.end, m->seen[kept - 1].back);
	draft_count(d, m->n, 0, 0);
	if (early_word)
		draft_tell(d);
	else
		draft_done(d);
}

static void
count(struct retries *r, struct rv *s, enum back what, const struct timed *t,
    int64_t retry_ms, struct at back)
{
	ns_t delay = back.t - t->end.t;
	struct many *m;

	if (s->many[what] == NULL)
		s->many[what] = xcalloc(1, sizeof *m);
	m = s->many[what];

	if (m->n == 0) {
		m->least = m->most = delay;
		m->retry_ms = retry_ms;
	}
	m->least = delay < m->least ? delay : m->least;
	m->most = delay > m->most ? delay : m->most;
	m->retry_ms = retry_ms < m->retry_ms ? retry_ms : m->retry_ms;
	m->seen[m->n < MAX_SEEN ? m->n : MAX_SEEN - 1] = (struct seen){ *t, back };
	if (++m->n == MIN_TIMES)
		report(r, s, what, true);
}

/* The stream that this GET resumes was ended by the server after it had told its
 * retry.  Clients keep one retry for all streams, or one for each: what is kept
 * to either way is kept to. */
static void
judge(struct retries *r, struct rv *s, struct timed t, const struct ev *e)
{
	struct at back = { e->u.stream.requested, e->u.stream.request_pkt };
	int64_t other = s->retry_ms >= 0 ? s->retry_ms : t.retry_ms;
	int64_t least = other < t.retry_ms ? other : t.retry_ms;
	int64_t most = other > t.retry_ms ? other : t.retry_ms;
	ns_t delay = back.t - t.end.t;

	if (delay < 0)			/* asked for before the end: no reconnect */
		return;
	if (delay < least * NS_MS - EARLY)
		count(r, s, EARLY_BACK, &t, least, back);
	else if (delay > 2 * most * NS_MS + LATE)
		count(r, s, LATE_BACK, &t, most, back);
}

/* ---- events ---- */

static void
on_stream(struct retries *r, struct rv *s, const struct ev *e)
{
	bool get = is_listener(e);

	if (get && e->u.stream.givers == 1 && e->u.stream.resumes)
		for (uint32_t i = 0; i < s->n_ended; i++)
			if (s->ended[i].stream == e->u.stream.resumes) {
				struct timed t = s->ended[i];

				s->ended[i].stream = 0;		/* only its first */
				if (!(e->flags & (EVF_GAP | EVF_MIDSTREAM)))
					judge(r, s, t, e);
				break;
			}
	if (s->n_live == MAX_LIVE || !(get || e->u.stream.kind == EV_POST_RESPONSE))
		return;
	s->live = xgrow(s->live, s->n_live, &s->cap_live, sizeof *s->live);
	s->live[s->n_live++] = (struct timed){ .stream = e->stream, .x = e->x,
	    .retry_ms = -1, .head = { e->t, e->pkt }, .get = get };
}

/* Ended because of another GET: that is leapfrog's, and so is its comeback. */
static bool
taken_over(const struct rv *s, const struct timed *t, const struct ev *e)
{
	return t->get && s->last_get_x != t->x && s->last_get.t > t->head.t &&
	    s->last_get.t > e->t - COUPLED;
}

static void
on_stream_end(struct rv *s, const struct ev *e)
{
	struct timed *t = live(s, e->stream);
	bool server = e->u.stream_end.end == EV_COMPLETE ||
	    e->u.stream_end.end == EV_TRUNCATED;

	if (t == NULL)
		return;
	t->end = (struct at){ e->t, e->pkt };
	/* A resume after the response is a fault of another kind. */
	if (server && t->retry_ms >= 0 && !e->u.stream_end.had_response &&
	    !(e->flags & (EVF_GAP | EVF_MIDSTREAM | EVF_INFERRED)) && !taken_over(s, t, e)) {
		s->ended = ring_room(s->ended, s->n_ended, MAX_ENDED, &s->cap_ended,
		    sizeof *s->ended);
		if (s->n_ended < MAX_ENDED)
			s->ended[s->n_ended++] = *t;
		else
			s->ended[s->ring++ % MAX_ENDED] = *t;
	}
	*t = s->live[--s->n_live];
}

static void
on_sse(struct rv *s, const struct ev *e)
{
	struct timed *t = live(s, e->stream);

	if (e->u.sse.tail)
		return;
	/* More than a day is no delay; INT64_MAX would not fit in ns. */
	if (e->u.sse.retry_ms >= 0 && e->u.sse.retry_ms <= 86400000) {
		s->retry_ms = e->u.sse.retry_ms;
		if (t)
			t->retry_ms = e->u.sse.retry_ms;
	}
}

static void
close_session(struct retries *r, struct rv *s)
{
	report(r, s, EARLY_BACK, false);
	report(r, s, LATE_BACK, false);
	keeper_drop(&r->sessions, &s->of);
}

static void
event(void *arg, const struct ev *e)
{
	struct retries *r = arg;
	struct rv *s;

	if (e->session == 0)
		return;
	switch (e->type) {
	case EV_SESSION:
		if (e->u.session.transport != EV_STREAMABLE || e->u.session.offered)
			break;
		session(r, e->session)->must =
		    str_eq(e->u.session.revision, STR("2025-11-25"));
		break;
	case EV_REQUEST:
		if (!str_eq(e->u.req.method, STR("GET")))
			break;
		s = session(r, e->session);
		s->last_get = (struct at){ e->t, e->pkt };
		s->last_get_x = e->x;
		break;
	case EV_STREAM:
		on_stream(r, session(r, e->session), e);
		break;
	case EV_SSE:
		on_sse(session(r, e->session), e);
		break;
	case EV_STREAM_END:
		if ((s = (struct rv *)keeper_find(&r->sessions, e->session)) != NULL)
			on_stream_end(s, e);
		break;
	case EV_SESSION_END:
		if ((s = (struct rv *)keeper_find(&r->sessions, e->session)) != NULL)
			close_session(r, s);
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END: case EV_RESPONSE:
	case EV_RESPONSE_END: case EV_COMMENT: case EV_MESSAGE: case EV_OWNER: case EV_STALL:
	case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END:
	case EV_N_TYPES:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct retries *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp)
		close_session(r, (struct rv *)k);
}

const struct rule rule_retry = {
	.name = "retry-violation",
	.summary = "the client does not wait as long as the server's retry asks",
	.reference = "mcpdiag-analyze(1), DETECTORS, retry-violation",
	.wants = RULE_WANTS(EV_SESSION) | RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_SSE) | RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_POSTS | SKIP_PLAIN,
	.new = new, .event = event, .end = end, .free = free_rule,
};
