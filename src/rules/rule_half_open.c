/* half-open: a peer that is there no more, or does not read, and nobody closes.
 * DETECTORS "half-open".
 *
 * What is written and not acknowledged, or met by a zero window, for ten seconds is
 * told by the connection (EV_STALL).  A stream whose comments stop coming shows it
 * by itself, once its client has gone on elsewhere. */
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "rule_live.h"
#include "rule_util.h"
#include "rule_who.h"

#define STALLED (10 * NS_S)
#define MIN_COMMENTS 3
#define SILENT 3		/* keep-alive intervals */
#define MIN_KEEPALIVE (500 * NS_MS)
#define MAX_GETS 16		/* of a session */

struct half_open {
	struct engine *engine;
	struct whos *whos;
	struct lives *lives;
	struct keeper sessions;
};

struct ho {			/* one session: its open GET streams */
	struct kept of;
	struct get {
		uint32_t stream;
		struct at moved;	/* its client is active elsewhere */
		bool replaced;		/* by a GET while it still had bytes */
	} *gets;
	uint32_t n, cap;
};

extern const struct rule rule_half_open;

static void
free_session(struct kept *k)
{
	free(((struct ho *)k)->gets);
	free(k);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct half_open *r = xcalloc(1, sizeof *r);

	r->engine = e;
	r->whos = engine_reader(e, &who_reader);
	r->lives = engine_reader(e, &live_reader);
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	return r;
}

static void
free_rule(void *arg)
{
	struct half_open *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

/* ---- findings ---- */

static void
report_stall(struct half_open *r, const struct ev *e)
{
	const struct asked *a = who_asked(r->whos, e->conn, e->x);
	bool zero = e->u.stall.zero_window;
	struct at since = { e->u.stall.since, e->u.stall.since_pkt };
	double s = (double)(e->t - since.t) / 1e9;
	bool torn = (e->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0;
	struct draft *d;

	if (a == NULL || a->modern || e->t - since.t < STALLED)
		return;
	d = draft_new(r->engine, &rule_half_open, zero ? "zero-window" : "unacknowledged",
	    SEV_ERROR, engine_inferred(r->engine, e->session) ? CONF_LOW : torn ?
	    CONF_MEDIUM : CONF_HIGH, e->session);
	if (zero) {
		draft_title(d, "the client does not read: zero window for %.0f s and longer, "
		    "the server cannot write", s);
		draft_why(d, "The client's receive window has been zero since packet %u.  The "
		    "connection is open and answers probes, but nobody takes the bytes out; "
		    "the server's messages wait, and with some servers everybody else who "
		    "asks it, too.", since.pkt);
		draft_fix(d, "Client: read the stream, or close it.  Server: bound what waits for "
		    "one reader and drop the reader, not the others (a write timeout).%s",
		    engine_looks(r->engine, e->session, "rmcp") ? "  rmcp up to 3.1.4 lets "
		    "one such reader block its session, and then all of them." : "");
	} else {
		draft_title(d, "the peer has vanished: %llu bytes unacknowledged for %.0f s, "
		    "and nobody closes the connection", (unsigned long long)e->u.stall.bytes,
		    s);
		draft_why(d, "What the server has written since packet %u is not acknowledged, "
		    "without FIN or RST: the client's host or the path is gone.  Until the "
		    "kernel gives up (about 15 minutes on Linux) the server takes the client "
		    "for connected.", since.pkt);
		draft_fix(d, "Server: set a write timeout (TCP_USER_TIMEOUT) and send comments, so "
		    "that a dead peer is noticed; do not hold a session's only slot for it.  "
		    "Client: after a network change open new connections.");
	}
	if (e->stream)
		draft_stream(d, e->stream);
	draft_ms(d, "stalled_for_ms", e->t - since.t);
	draft_num(d, "bytes_unacknowledged", (double)e->u.stall.bytes);
	draft_bool(d, "zero_window", zero);
	draft_evidence(d, since, zero ? "the window is zero from here on" :
	    "written, never acknowledged");
	draft_evidence(d, (struct at){ e->t, e->pkt }, "still so");
	draft_span(d, since, (struct at){ e->t, e->pkt });
	draft_count(d, 1, 0, 0);
	draft_add(d);
}

static void
report_silent(struct half_open *r, const struct live *v, struct at moved, struct at until)
{
	struct draft *d = draft_new(r->engine, &rule_half_open, "silent", SEV_ERROR,
	    engine_inferred(r->engine, v->session) ? CONF_LOW : CONF_MEDIUM, v->session);

	draft_title(d, "stream %u has gone silent: no comment for %.0f s, where one came every "
	    "%.1f s, and nobody closes it", v->stream, (double)(until.t - v->last.t) / 1e9,
	    (double)v->longest / 1e9);
	draft_why(d, "%u comments came at most %.1f s apart, then nothing, without FIN or RST. "
	    "The client has gone on on a new connection meanwhile.", v->comments,
	    (double)v->longest / 1e9);
	draft_fix(d, "Client: take two or three missing comments for a dead stream, close and "
	    "reopen it with Last-Event-ID.  Server: set a write timeout, so that it "
	    "notices.  Whether the server stopped or the path lost it cannot be told from "
	    "this capture point; capture at the server.");
	draft_stream(d, v->stream);
	draft_ms(d, "silent_for_ms", until.t - v->last.t);
	draft_ms(d, "usual_interval_ms", v->longest);
	draft_num(d, "comments", v->comments);
	draft_evidence(d, v->last, "the last byte of stream %u", v->stream);
	draft_evidence(d, moved, "the same session on a new connection");
	draft_span(d, v->last, until);
	draft_count(d, 1, 0, 0);
	draft_add(d);
}

/* ---- events ---- */

static void
on_stream(struct half_open *r, const struct ev *e)
{
	struct ho *s = (struct ho *)keeper_find(&r->sessions, e->session);
	const struct live *v;

	for (uint32_t i = 0; s && i < s->n; i++) {
		v = live_of(r->lives, s->gets[i].stream);
		if (v && e->t - v->last.t <= 2 * v->longest)
			s->gets[i].replaced = true;
	}
	if (live_of(r->lives, e->stream) == NULL || (s && s->n == MAX_GETS))
		return;
	if (s == NULL) {
		s = xcalloc(1, sizeof *s);
		keeper_add(&r->sessions, &s->of, e->session);
	}
	s->gets = xgrow(s->gets, s->n, &s->cap, sizeof *s->gets);
	s->gets[s->n++] = (struct get){ .stream = e->stream };
}

static bool
is_silent(const struct live *v, ns_t now)
{
	return v->comments >= MIN_COMMENTS && v->longest >= MIN_KEEPALIVE &&
	    now - v->last.t > SILENT * v->longest;
}

/* It is not dead after all when a byte comes. */
static bool
has_moved(const struct get *g, const struct live *v)
{
	return g->moved.t && g->moved.t > v->last.t;
}

static void
on_request(struct half_open *r, const struct ev *e)
{
	struct ho *s = (struct ho *)keeper_find(&r->sessions, e->session);

	for (uint32_t i = 0; s && i < s->n; i++) {
		const struct live *v = live_of(r->lives, s->gets[i].stream);

		/* A connection made since: numbers count up. */
		if (v && !has_moved(&s->gets[i], v) && e->conn > v->conn &&
		    is_silent(v, e->t) && e->u.req.n == 0)
			s->gets[i].moved = (struct at){ e->t, e->pkt };
	}
}

static void
judge(struct half_open *r, const struct get *g, const struct live *v, const struct ev *e)
{
	enum ev_end end = e->u.stream_end.end;

	if ((end == EV_OPEN || end == EV_CLIENT) && has_moved(g, v) && !g->replaced &&
	    !(v->seen & (EVF_GAP | EVF_LATE)) && !(e->flags & (EVF_GAP | EVF_INFERRED)) &&
	    is_silent(v, e->t) && !engine_gaps(r->engine, v->last.t))
		report_silent(r, v, g->moved, (struct at){ e->t, e->pkt });
}

static void
on_stream_end(struct half_open *r, const struct ev *e)
{
	struct ho *s = (struct ho *)keeper_find(&r->sessions, e->session);
	const struct live *v = live_of(r->lives, e->stream);

	for (uint32_t i = 0; s && i < s->n; i++) {
		if (s->gets[i].stream != e->stream)
			continue;
		if (v)
			judge(r, &s->gets[i], v, e);
		s->gets[i] = s->gets[--s->n];
		if (s->n == 0)
			keeper_drop(&r->sessions, &s->of);
		return;
	}
}

static void
event(void *arg, const struct ev *e)
{
	struct half_open *r = arg;

	switch (e->type) {
	case EV_STALL:
		report_stall(r, e);
		break;
	case EV_REQUEST:
		if (e->session)
			on_request(r, e);
		break;
	case EV_STREAM:
		if (is_listener(e))
			on_stream(r, e);
		break;
	case EV_STREAM_END:
		on_stream_end(r, e);
		break;
	case EV_SSE: case EV_COMMENT:
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END: case EV_RESPONSE:
	case EV_RESPONSE_END: case EV_SESSION: case EV_SESSION_END: case EV_MESSAGE:
	case EV_OWNER: case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END:
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

const struct rule rule_half_open = {
	.name = "half-open",
	.summary = "a peer that is gone, or does not read, and nobody closes",
	.reference = "mcpdiag-analyze(1), DETECTORS, half-open",
	.wants = RULE_WANTS(EV_REQUEST) |
	    RULE_WANTS(EV_STALL) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_STREAM_END),
	.new = new, .event = event, .end = end, .free = free_rule,
};
