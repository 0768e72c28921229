/* head-of-line: requests wait for an open GET stream to end.
 * DETECTORS "head-of-line".
 *
 * The server takes one request at a time, or the client sends them behind the
 * stream on its own connection.  Judged is the session's only open GET stream:
 * since its head no POST of the session was answered, and when it ends all are. */
#include <stdlib.h>

#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "rule_util.h"
#include "rule_who.h"

#define RELEASE NS_S		/* from the end of the stream to the answers */
#define WAITED (2 * NS_S)
#define MIN_BLOCKED 2
#define MAX_WAITING 64
#define MAX_OPEN 64
#define MAX_SEEN 6

struct waits {				/* a POST without an answer */
	uint32_t x, conn;
	struct at asked;
};

struct block {				/* a POST that had to wait */
	struct waits was;
	struct at head;
};

struct hol {				/* one session */
	struct kept of;
	struct waits *waiting;
	uint32_t n_waiting, cap_waiting;
	uint32_t *open, n_open, cap_open;	/* GET streams */
	uint32_t stream, conn;		/* the first of them */
	struct at head;
	bool served;			/* a POST was answered beside it */
	/* the one that ended last, if it held something up */
	uint32_t was, due;		/* due: POSTs that waited for it */
	struct at was_head, was_end;
	bool failed, torn;
	struct block *seen;
	uint32_t n_seen, cap_seen, n_same;
	ns_t longest;
};

struct hols {
	struct engine *engine;
	struct whos *whos;
	struct keeper sessions;
	struct idtab conns;		/* of GET streams: their session */
};

extern const struct rule rule_hol;

static void
free_session(struct kept *k)
{
	struct hol *s = (struct hol *)k;

	free(s->waiting);
	free(s->open);
	free(s->seen);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct hols *r = xcalloc(1, sizeof *r);

	r->engine = e;
	r->whos = engine_reader(e, &who_reader);
	idtab_init(&r->conns, (uint32_t)lim->flows);
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	return r;
}

static void
free_rule(void *arg)
{
	struct hols *r = arg;

	keeper_fini(&r->sessions);
	idtab_fini(&r->conns);
	free(r);
}

static struct hol *
session(struct hols *r, uint32_t n)
{
	return keeper_get(&r->sessions, n, sizeof(struct hol));
}

/* All that waited have been answered: it was the stream they waited for. */
static void
report(struct hols *r, struct hol *s)
{
	bool same = s->n_same == s->n_seen;
	struct draft *d;

	if (s->failed || s->n_seen < MIN_BLOCKED || engine_gaps(r->engine, s->was_head.t) ||
	    engine_inferred(r->engine, s->of.session))
		return;
	d = draft_new(r->engine, &rule_hol, same ? "pipelined" : NULL, SEV_ERROR,
	    s->n_seen > MIN_BLOCKED && !s->torn ? CONF_HIGH : CONF_MEDIUM, s->of.session);
	draft_title(d, "%u requests waited up to %.1f s for the GET stream to end",
	    s->n_seen, (double)s->longest / 1e9);
	draft_why(d, "No POST of the session was answered while stream %u was open; %u that "
	    "were sent then were all answered within a second of its end%s.", s->was,
	    s->n_seen, same ? ".  They were sent on the connection of that stream, where "
	    "answers come in order" : "");
	draft_fix(d, same ? "Client (or the proxy before it): never send a request on a "
	    "connection whose response is an open event stream." :
	    "Server: an open GET stream must not hold the queue, the lock or the only "
	    "worker that POSTs need.");
	draft_stream(d, s->was);
	draft_num(d, "blocked_requests", s->n_seen);
	draft_ms(d, "longest_wait_ms", s->longest);
	draft_ms(d, "stream_open_ms", s->was_end.t - s->was_head.t);
	draft_bool(d, "same_connection", same);
	draft_evidence(d, s->was_head, "stream %u opens", s->was);
	draft_evidence(d, s->seen[0].was.asked, "the first POST that waits");
	draft_evidence(d, s->was_end, "stream %u ends", s->was);
	for (uint32_t i = 0; i < s->n_seen; i++)
		draft_evidence(d, s->seen[i].head, "an answer, %.0f ms after that, %.1f s "
		    "after its POST", (double)(s->seen[i].head.t - s->was_end.t) / 1e6,
		    (double)(s->seen[i].head.t - s->seen[i].was.asked.t) / 1e9);
	draft_span(d, s->was_head, s->seen[s->n_seen - 1].head);
	draft_count(d, s->n_seen, 0, 0);
	draft_done(d);
}

/* ---- events ---- */

static void
on_request(struct hols *r, struct hol *s, const struct ev *e)
{
	const struct asked *a = who_asked(r->whos, e->conn, e->x);

	if (a == NULL || !a->post || a->modern)
		return;
	if (s->n_waiting == MAX_WAITING)
		memmove(s->waiting, s->waiting + 1, --s->n_waiting * sizeof *s->waiting);
	s->waiting = xgrow(s->waiting, s->n_waiting, &s->cap_waiting, sizeof *s->waiting);
	s->waiting[s->n_waiting++] = (struct waits){ e->x, e->conn, { e->t, e->pkt } };
}

static void
on_stream(struct hol *s, const struct ev *e)
{
	if (s->n_open == MAX_OPEN) {
		s->served = true;
		return;
	}
	s->open = xgrow(s->open, s->n_open, &s->cap_open, sizeof *s->open);
	s->open[s->n_open++] = e->stream;
	if (s->n_open == 1) {
		s->stream = e->stream;
		s->conn = e->conn;
		s->head = (struct at){ e->t, e->pkt };
		s->served = (e->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0;
	} else {
		s->served = true;	/* which one it would be is not clear */
	}
}

static void
on_end(struct hol *s, uint32_t stream, const struct ev *e)
{
	uint32_t i;

	for (i = 0; i < s->n_open && s->open[i] != stream; i++)
		;
	if (i == s->n_open)
		return;
	s->open[i] = s->open[--s->n_open];
	if (s->n_open > 0 || stream != s->stream || s->served)
		return;
	s->was = stream;
	s->was_head = s->head;
	s->was_end = (struct at){ e->t, e->pkt };
	s->torn = (e->flags & EVF_INFERRED) != 0;
	s->due = s->n_seen = s->n_same = 0;
	s->longest = 0;
	s->failed = false;
	for (i = 0; i < s->n_waiting; i++) {
		ns_t asked = s->waiting[i].asked.t;

		/* One from before, or just sent, shows nothing. */
		s->due += asked > s->head.t && e->t - asked >= WAITED;
	}
}

static void
on_response(struct hols *r, struct hol *s, const struct ev *e)
{
	struct waits w;
	uint32_t i;

	for (i = 0; i < s->n_waiting && s->waiting[i].x != e->x; i++)
		;
	if (i == s->n_waiting)
		return;
	w = s->waiting[i];
	memmove(&s->waiting[i], &s->waiting[i + 1], (--s->n_waiting - i) * sizeof w);
	s->served |= s->n_open > 0;
	if (s->due == 0 || w.asked.t < s->was_head.t || s->was_end.t - w.asked.t < WAITED)
		return;
	s->due--;
	/* Too late, or an error of a proxy that gave up. */
	if (e->t - s->was_end.t > RELEASE || e->u.resp.status / 100 != 2)
		s->failed = true;
	s->longest = e->t - w.asked.t > s->longest ? e->t - w.asked.t : s->longest;
	s->n_same += w.conn == s->conn;
	if (s->n_seen < MAX_SEEN) {
		s->seen = xgrow(s->seen, s->n_seen, &s->cap_seen, sizeof *s->seen);
		s->seen[s->n_seen++] = (struct block){ w, { e->t, e->pkt } };
	}
	if (s->due == 0)
		report(r, s);
}

/* The end of a stream that the client leaves is told only when the server has
 * closed, too; the POSTs are free before. */
static void
on_conn_end(struct hols *r, const struct ev *e)
{
	const struct idrec *rec = idtab_get(&r->conns, e->conn);
	struct hol *s = rec ? (struct hol *)keeper_find(&r->sessions, rec->a) : NULL;

	if (s && s->n_open && s->conn == e->conn)
		on_end(s, s->stream, e);
}

static void
event(void *arg, const struct ev *e)
{
	struct hols *r = arg;
	struct hol *s;
	int fresh;

	if (e->type == EV_CONN_END)
		on_conn_end(r, e);
	if (e->session == 0)
		return;
	switch (e->type) {
	case EV_REQUEST:
		on_request(r, session(r, e->session), e);
		break;
	case EV_STREAM:
		if (!is_listener(e) || e->u.stream.kind == EV_LEGACY)
			break;
		idtab_put(&r->conns, e->conn, &fresh)->a = e->session;
		on_stream(session(r, e->session), e);
		break;
	case EV_STREAM_END:
		if (e->u.stream_end.end != EV_OPEN &&
		    (s = (struct hol *)keeper_find(&r->sessions, e->session)) != NULL)
			on_end(s, e->stream, e);
		break;
	case EV_RESPONSE:
		if ((s = (struct hol *)keeper_find(&r->sessions, e->session)) != NULL)
			on_response(r, s, e);
		break;
	case EV_STALL:			/* session-wedge or half-open will say */
		if ((s = (struct hol *)keeper_find(&r->sessions, e->session)) != NULL)
			s->served = true;
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END:
	case EV_RESPONSE_END: case EV_SESSION: case EV_SESSION_END: case EV_SSE:
	case EV_COMMENT: case EV_MESSAGE: case EV_OWNER: case EV_GAP: case EV_ANOMALY:
	case EV_NOTE: case EV_FINDING: case EV_END: case EV_N_TYPES:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	(void)arg;
	(void)now;
}

const struct rule rule_hol = {
	.name = "head-of-line",
	.summary = "requests wait for an open GET stream to end",
	.reference = "mcpdiag-analyze(1), DETECTORS, head-of-line",
	.wants = RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_CONN_END) | RULE_WANTS(EV_RESPONSE) | RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_STALL),
	.new = new, .event = event, .end = end, .free = free_rule,
};
