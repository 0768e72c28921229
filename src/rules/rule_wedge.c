/* session-wedge: one reader that does not read holds up everybody.
 * DETECTORS "session-wedge".
 *
 * While the window of a GET stream is shut, requests on other connections get no
 * answer; when it is closed (or read again), they are all answered at once. */
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "rule_util.h"
#include "rule_who.h"

#define RELEASE (50 * NS_MS)	/* from the reader's end to the answers */
#define WAITED (2 * NS_S)	/* a request that waits no longer proves nothing */
#define MIN_RELEASED 2
#define MAX_STALLS 16
#define MAX_WAITING 256
#define MAX_FREED 16

struct waits {				/* a POST without an answer */
	uint32_t x, conn, session;	/* 0: an initialize, or not known */
	uint64_t server;
	struct at asked;
};

struct freed {
	struct waits was;
	struct at head;
};

struct stall {				/* a reader that does not read */
	uint32_t conn, stream, session;
	uint64_t server;
	struct at since, released;	/* t 0: not yet */
	bool by_client, torn;
	struct freed freed[MAX_FREED];
	uint32_t n_freed, others;
	ns_t longest;
};

struct wedge {
	struct engine *engine;
	struct whos *whos;
	struct stall stalls[MAX_STALLS];
	uint32_t n_stalls;
	struct waits *waiting;		/* oldest first */
	uint32_t n_waiting, cap_waiting;
};

extern const struct rule rule_wedge;

static void *
new(struct engine *e, const struct limits *lim)
{
	struct wedge *r = xcalloc(1, sizeof *r);

	(void)lim;
	r->engine = e;
	r->whos = engine_reader(e, &who_reader);
	return r;
}

static void
free_rule(void *arg)
{
	struct wedge *r = arg;

	free(r->waiting);
	free(r);
}

/* ---- the verdict ---- */

static void
report(struct wedge *r, const struct stall *s)
{
	bool sure = s->n_freed > MIN_RELEASED && s->others && !s->torn &&
	    !engine_gaps(r->engine, s->since.t);
	struct draft *d;

	if (s->n_freed < MIN_RELEASED)
		return;
	d = draft_new(r->engine, &rule_wedge, NULL, SEV_ERROR,
	    engine_inferred(r->engine, s->session) ? CONF_LOW :
	    sure ? CONF_HIGH : CONF_MEDIUM, s->session);
	draft_title(d, "one client that does not read its stream blocks the server: %u requests "
	    "waited up to %.1f s, %u of them of other sessions", s->n_freed,
	    (double)s->longest / 1e9, s->others);
	draft_why(d, "The receive window of stream %u was shut for %.1f s.  Requests on other "
	    "connections got no answer meanwhile; %s, and all of them were answered within "
	    "%lld ms.", s->stream, (double)(s->released.t - s->since.t) / 1e9, s->by_client ?
	    "then that connection was closed" : "then that stream moved again",
	    (long long)(RELEASE / NS_MS));
	draft_fix(d, "Server: never wait for one stream's reader while serving others; bound "
	    "what is queued for a stream, and end it when that is full (rmcp from 0.13 to "
	    "3.1.4 waits for the channel of the session, and then for the table of all "
	    "sessions).  Client: read the stream, or close it.");
	draft_stream(d, s->stream);
	draft_num(d, "blocked_requests", s->n_freed);
	draft_num(d, "of_other_sessions", s->others);
	draft_ms(d, "longest_wait_ms", s->longest);
	draft_ms(d, "window_shut_ms", s->released.t - s->since.t);
	draft_bool(d, "closed_by_client", s->by_client);
	draft_evidence(d, s->since, "stream %u: the client's window is shut", s->stream);
	draft_evidence(d, s->released, s->by_client ? "its connection is closed" :
	    "it moves again");
	for (uint32_t i = 0; i < s->n_freed; i++) {
		const struct freed *f = &s->freed[i];

		draft_evidence(d, f->was.asked, "a POST that waits %.1f s",
		    (double)(f->head.t - f->was.asked.t) / 1e9);
		draft_evidence(d, f->head, "its answer, %.1f ms after the release",
		    (double)(f->head.t - s->released.t) / 1e6);
	}
	draft_span(d, s->since, s->freed[s->n_freed - 1].head);
	draft_count(d, s->n_freed, 0, 0);
	draft_done(d);
}

/* ---- events ---- */

static void
on_stall(struct wedge *r, const struct ev *e)
{
	const struct who *w = who_of(r->whos, e->conn);
	struct stall *s;

	if (!e->u.stall.zero_window || e->session == 0 || e->stream == 0)
		return;
	for (uint32_t i = 0; i < r->n_stalls; i++)
		if (r->stalls[i].conn == e->conn && r->stalls[i].released.t == 0)
			return;
	if (r->n_stalls == MAX_STALLS)
		memmove(r->stalls, r->stalls + 1, --r->n_stalls * sizeof *r->stalls);
	s = &r->stalls[r->n_stalls++];
	*s = (struct stall){ .conn = e->conn, .stream = e->stream, .session = e->session,
	    .server = w ? w->server : 0,
	    .since = { e->u.stall.since, e->u.stall.since_pkt },
	    .torn = (e->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0 };
	engine_wake(r->engine, &rule_wedge);
}

static void
on_release(struct wedge *r, const struct ev *e, bool by_client)
{
	for (uint32_t i = 0; i < r->n_stalls; i++) {
		struct stall *s = &r->stalls[i];

		if (s->conn != e->conn || s->released.t)
			continue;
		s->released = (struct at){ e->t, e->pkt };
		s->by_client = by_client;
	}
}

static void
on_request(struct wedge *r, const struct ev *e)
{
	const struct asked *a = who_asked(r->whos, e->conn, e->x);
	const struct who *w = who_of(r->whos, e->conn);

	if (a == NULL || !a->post || a->modern || w == NULL)
		return;
	if (r->n_waiting == MAX_WAITING)
		memmove(r->waiting, r->waiting + 1, --r->n_waiting * sizeof *r->waiting);
	r->waiting = xgrow(r->waiting, r->n_waiting, &r->cap_waiting, sizeof *r->waiting);
	r->waiting[r->n_waiting++] = (struct waits){ e->x, e->conn, e->session, w->server,
	    { e->t, e->pkt } };
}

static void
on_answer(struct wedge *r, const struct waits *w, const struct ev *e)
{
	for (uint32_t i = 0; i < r->n_stalls; i++) {
		struct stall *s = &r->stalls[i];

		if (s->released.t == 0 || s->server != w->server || s->conn == w->conn ||
		    e->t < s->released.t || e->t - s->released.t > RELEASE ||
		    w->asked.t < s->since.t || s->released.t - w->asked.t < WAITED)
			continue;
		s->others += w->session != s->session;
		s->longest = e->t - w->asked.t > s->longest ? e->t - w->asked.t : s->longest;
		if (s->n_freed < MAX_FREED)
			s->freed[s->n_freed++] = (struct freed){ *w, { e->t, e->pkt } };
		report(r, s);
	}
}

static void
on_response(struct wedge *r, const struct ev *e)
{
	for (uint32_t i = 0; i < r->n_waiting; i++) {
		struct waits w = r->waiting[i];

		if (w.x != e->x)
			continue;
		memmove(&r->waiting[i], &r->waiting[i + 1],
		    (--r->n_waiting - i) * sizeof *r->waiting);
		/* A proxy that gives up says nothing of the server. */
		if (e->u.resp.status / 100 == 2)
			on_answer(r, &w, e);
		return;
	}
}

static void
event(void *arg, const struct ev *e)
{
	struct wedge *r = arg;

	switch (e->type) {
	case EV_REQUEST:
		on_request(r, e);
		break;
	case EV_RESPONSE:
		on_response(r, e);
		break;
	case EV_STALL:
		on_stall(r, e);
		break;
	case EV_STREAM_END: case EV_CONN_END:
		on_release(r, e, true);
		break;
	case EV_SSE: case EV_COMMENT:
		on_release(r, e, false);
		break;
	case EV_FILE: case EV_CONN: case EV_REQUEST_END: case EV_RESPONSE_END:
	case EV_SESSION: case EV_SESSION_END: case EV_STREAM: case EV_MESSAGE: case EV_OWNER:
	case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END:
	case EV_N_TYPES:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	(void)arg;
	(void)now;
}

const struct rule rule_wedge = {
	.name = "session-wedge",
	.summary = "a client that does not read blocks the requests of others",
	.reference = "mcpdiag-analyze(1), DETECTORS, session-wedge",
	.wants = RULE_WANTS(EV_CONN_END) | RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_RESPONSE) | RULE_WANTS(EV_STALL) |
	    RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_SSE) | RULE_WANTS(EV_COMMENT),
	.sleeps = RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_CONN_END) |
	    RULE_WANTS(EV_SSE) | RULE_WANTS(EV_COMMENT),
	.new = new, .event = event, .end = end, .free = free_rule,
};
