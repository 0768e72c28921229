/* buffered-stream: somebody between server and client (or the server itself)
 * collects an event stream before passing it on.  DETECTORS "buffered-stream".
 *
 * Seen as heads that come with the end, as progress that comes all at once, or
 * as a GET without a head while POSTs are answered.  A single message that
 * comes late is a slow handler and nothing else. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/idtab.h"
#include "mcpdiag/rule.h"
#include "mcpdiag/xmem.h"
#include "rule_util.h"

#define HELD NS_S		/* a GET's head, at least */
#define LONG (2 * NS_S)		/* a stream worth judging */
#define LONG_PROGRESS NS_S	/* one with the head and three progresses at once */
#define BURST (50 * NS_MS)	/* all at once */
#define SPREAD (200 * NS_MS)	/* certainly not all at once */
#define NO_HEAD (10 * NS_S)
#define FAST NS_S		/* a POST that is not held up */
#define MAX_FLIGHTS 64

struct flight {				/* an exchange that is not over */
	uint32_t x, conn, stream, flags;
	bool get, queued, told;
	bool encoded, counted;		/* content-encoding, -length */
	struct at asked, head, first, last, left;
	uint32_t n, progress;		/* messages, and those of progress */
	uint32_t fast;			/* POSTs that were answered meanwhile */
	bool slow;			/* one that was not, in that time */
	bool posted;			/* one was, shortly before */
};

struct bf {				/* one session */
	struct kept of;
	struct flight *v;
	uint32_t n, cap;
	uint32_t bursts, spread;	/* POST streams, without and with time
					 * between their messages */
	ns_t fast;			/* the last POST answered at once */
};

struct buffered {
	struct engine *engine;
	struct keeper sessions;
	struct idtab conns;		/* session of its last request */
};

const struct rule rule_buffered;

static void
free_session(struct kept *k)
{
	struct bf *s = (struct bf *)k;

	free(s->v);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct buffered *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	idtab_init(&r->conns, (uint32_t)lim->flows);
	return r;
}

static void
free_rule(void *arg)
{
	struct buffered *r = arg;

	keeper_fini(&r->sessions);
	idtab_fini(&r->conns);
	free(r);
}

static struct bf *
find(struct buffered *r, uint32_t session)
{
	return (struct bf *)keeper_find(&r->sessions, session);
}

static struct flight *
flight_of(struct bf *s, uint32_t x)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i].x == x)
			return &s->v[i];
	return NULL;
}

/* ---- findings ---- */

static const char cure[] = "Server: send the head at once and each event when it happens "
    "(X-Accel-Buffering: no, flush).  Proxy: switch response buffering and compression "
    "off for event streams (nginx: proxy_buffering off).  Capture at both sides of the "
    "proxy to see which of the two collects them.";

static struct draft *
draft(struct buffered *r, const struct bf *s, const struct flight *f, const char *variant,
    enum severity sev, enum confidence conf)
{
	struct draft *d;

	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	else if (f->flags & EVF_MIDSTREAM && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	d = draft_new(r->engine, &rule_buffered, variant, sev, conf, s->of.session);
	if (f->stream)
		draft_stream(d, f->stream);
	draft_fix(d, "%s", cure);
	draft_evidence(d, f->asked, "the %s", f->get ? "GET" : "POST");
	return d;
}

static void
hand_over(struct draft *d, const struct flight *f, struct at last)
{
	draft_num(d, "messages", f->n);
	draft_num(d, "progress", f->progress);
	draft_span(d, f->asked, last);
	draft_count(d, 1, 0, 0);
	draft_add(d);
}

static void
report_head(struct buffered *r, const struct bf *s, const struct flight *f, struct at end)
{
	struct draft *d = draft(r, s, f, "head", f->n ? SEV_ERROR : SEV_WARNING,
	    f->n && f->fast > 1 ? CONF_HIGH : CONF_MEDIUM);
	ns_t late = f->head.t - f->asked.t;

	draft_title(d, "the head of a GET stream is held back: it came after %.1f s, when the "
	    "stream was over", (double)late / 1e9);
	draft_why(d, "Meanwhile %u POST%s of the session had an answer within a second.  "
	    "A client waits for that head; %s.", f->fast, f->fast == 1 ? "" : "s",
	    f->n ? "what was sent to it came with the end, too late" :
	    "nothing could have reached it");
	draft_ms(d, "head_ms", late);
	draft_ms(d, "duration_ms", end.t - f->asked.t);
	draft_num(d, "posts_meanwhile", f->fast);
	draft_evidence(d, f->head, "its head, %.1f s later", (double)late / 1e9);
	draft_evidence(d, end, "its end");
	hand_over(d, f, end);
}

static void
report_no_head(struct buffered *r, const struct bf *s, struct flight *f, struct at now)
{
	struct draft *d = draft(r, s, f, "no-head", SEV_ERROR,
	    f->fast ? CONF_MEDIUM : CONF_LOW);
	char posts[96];

	f->told = true;
	if (f->fast)
		(void)snprintf(posts, sizeof posts, "%u POST%s of the session had an answer "
		    "within a second meanwhile", f->fast, f->fast == 1 ? "" : "s");
	else
		(void)snprintf(posts, sizeof posts, "The POST before it was answered within a "
		    "second");
	draft_title(d, "a GET %s no head for %.0f s while POSTs are answered at once",
	    f->stream ? "got" : "has had", (double)(now.t - f->asked.t) / 1e9);
	draft_why(d, "%s.  A server that waits for its first event, or a proxy that waits for "
	    "more bytes, keeps the client from being connected.", posts);
	draft_ms(d, "waited_ms", now.t - f->asked.t);
	draft_num(d, "posts_meanwhile", f->fast);
	draft_evidence(d, now, f->stream ? "its head" : "still no head");
	hand_over(d, f, now);
}

static void
report_burst(struct buffered *r, const struct bf *s, const struct flight *f)
{
	struct draft *d = draft(r, s, f, f->encoded ? "encoded" : "burst", SEV_ERROR,
	    CONF_MEDIUM);
	ns_t late = f->first.t - f->asked.t;

	draft_title(d, "%u messages of one POST came at once, %.1f s after it%s", f->n,
	    (double)late / 1e9, f->progress ? ", progress among them" : "");
	draft_why(d, "%s  They were collected on the way, or by the server.%s", f->progress ?
	    "Progress is told while the work goes on; here it came with the result." :
	    "This is so with each of the session's streams that carries several.",
	    f->encoded ? "  The stream is compressed, which needs bytes to work with." : "");
	draft_ms(d, "first_ms", late);
	draft_ms(d, "spread_ms", f->last.t - f->first.t);
	draft_ms(d, "head_ms", f->head.t - f->asked.t);
	draft_evidence(d, f->first, "the first of %u messages", f->n);
	draft_evidence(d, f->last, "the last");
	hand_over(d, f, f->last);
}

static void
report_counted(struct buffered *r, const struct bf *s, const struct flight *f,
    struct at end)
{
	struct draft *d = draft(r, s, f, "content-length", SEV_WARNING, CONF_MEDIUM);

	draft_title(d, "an event stream with a Content-Length: it was complete before its "
	    "first byte was sent");
	draft_why(d, "%u message%s waited until the whole body was known.", f->n,
	    f->n == 1 ? "" : "s");
	draft_evidence(d, f->head, "its head");
	hand_over(d, f, end);
}

static void
report_encoded(struct buffered *r, const struct bf *s, const struct flight *f,
    struct at end)
{
	struct draft *d = draft(r, s, f, "encoded", SEV_INFO, CONF_MEDIUM);

	draft_title(d, "event streams are compressed; the events come in time here");
	draft_why(d, "Many compressors hold bytes back until they have enough; this one does "
	    "not.");
	draft_evidence(d, f->head, "Content-Encoding on an event stream");
	hand_over(d, f, end);
}

/* ---- judging ---- */

static void
judge_get(struct buffered *r, struct bf *s, struct flight *f, struct at end, bool over)
{
	ns_t age = end.t - f->asked.t, late = f->head.t - f->asked.t;

	if (f->queued || f->told || (f->fast == 0 && (f->slow || !f->posted)))
		return;
	if (f->head.t == 0) {
		if (age >= NO_HEAD)
			report_no_head(r, s, f, end);
	} else if (f->stream && over && f->fast && late > HELD && late >= age / 5 * 4 &&
	    (f->n || age > LONG)) {
		report_head(r, s, f, end);
	} else if (f->stream && late >= NO_HEAD) {
		report_no_head(r, s, f, f->head);
	}
}

static bool
at_once(const struct flight *f)
{
	return f->n >= 3 && f->last.t - f->first.t <= BURST;
}

/* Whether a POST's messages came all at once though they cannot have been made
 * at once; without progress it takes a second such stream to say so. */
static void
judge_post(struct buffered *r, struct bf *s, struct flight *f)
{
	ns_t late = f->first.t - f->asked.t;
	bool with_head = f->first.t - f->head.t <= BURST;

	if (f->n >= 2 && f->last.t - f->first.t >= SPREAD)
		s->spread++;
	if (!at_once(f))
		return;
	if (late > LONG)
		s->bursts++;
	if ((f->progress && late > LONG) ||
	    (f->progress >= 3 && with_head && late > LONG_PROGRESS) ||
	    (s->bursts >= 2 && s->spread == 0 && late > LONG)) {
		report_burst(r, s, f);
		f->told = true;
	}
}

static void
judge(struct buffered *r, struct bf *s, struct flight *f, struct at end, bool over)
{
	if (f->flags & (EVF_GAP | EVF_HEAD_LOST))	/* it may have come there */
		return;
	end = f->left.t ? f->left : end;
	if (f->get)
		judge_get(r, s, f, end, over);
	else if (f->stream && over)
		judge_post(r, s, f);
	if (f->told || f->n == 0 || f->stream == 0 || !over)
		return;
	if (f->counted && (f->get || (at_once(f) && f->progress >= 2)))
		report_counted(r, s, f, end);
	else if (f->encoded)
		report_encoded(r, s, f, end);
}

/* ---- events ---- */

static void
on_request(struct buffered *r, const struct ev *e)
{
	bool get = str_eq(e->u.req.method, STR("GET"));
	struct bf *s = find(r, e->session);
	int fresh;
	struct flight f = { .x = e->x, .conn = e->conn, .flags = e->flags, .get = get,
	    .asked = { e->t, e->pkt } };

	if (!get && !str_eq(e->u.req.method, STR("POST")))
		return;
	if (get && str_find(e->u.req.accept, STR("text/event-stream")) == SIZE_MAX)
		return;
	if (s == NULL) {
		s = xcalloc(1, sizeof *s);
		keeper_add(&r->sessions, &s->of, e->session);
	}
	/* A client may wait for the head before it asks for anything else. */
	f.posted = s->fast && e->t - s->fast <= NO_HEAD;
	idtab_put(&r->conns, e->conn, &fresh)->a = e->session;
	for (uint32_t i = 0; i < s->n; i++)	/* it waits its turn */
		f.queued |= s->v[i].conn == e->conn;
	if (s->n == MAX_FLIGHTS)
		memmove(s->v, s->v + 1, --s->n * sizeof *s->v);
	s->v = xgrow(s->v, s->n, &s->cap, sizeof *s->v);
	s->v[s->n++] = f;
}

static void
on_response(struct buffered *r, struct bf *s, const struct ev *e)
{
	struct flight *f = flight_of(s, e->x);
	struct at at = { e->t, e->pkt };
	bool quick;

	if (f == NULL)
		return;
	f->flags |= e->flags;
	f->head = at;
	f->encoded = e->u.resp.coding.n && !str_ieq(e->u.resp.coding, STR("identity"));
	f->counted = str_eq(e->u.resp.framing, STR("content-length"));
	if (f->get)
		return;
	quick = e->t - f->asked.t < FAST && e->u.resp.status / 100 == 2;
	if (quick)
		s->fast = e->t;
	for (uint32_t i = 0; i < s->n; i++) {
		struct flight *g = &s->v[i];

		if (!g->get || g->head.t || g->asked.t > f->asked.t || g->left.t)
			continue;
		g->fast += quick;
		g->slow |= !quick;
		if (quick)
			judge(r, s, g, at, false);
	}
}

static void
on_message(struct bf *s, const struct ev *e)
{
	struct flight *f = flight_of(s, e->x);

	if (f == NULL || e->dir != EV_S2C)
		return;
	f->last = (struct at){ e->t, e->pkt };
	if (f->n++ == 0)
		f->first = f->last;
	f->progress += str_eq(e->u.msg.method, STR("notifications/progress"));
}

/* The session whose request came last on that connection. */
static struct bf *
by_conn(struct buffered *r, uint32_t conn)
{
	const struct idrec *c = idtab_get(&r->conns, conn);

	return c ? find(r, c->a) : NULL;
}

static void
on_gap(struct buffered *r, const struct ev *e)
{
	struct bf *s = by_conn(r, e->conn);

	for (uint32_t i = 0; i < (s ? s->n : 0); i++)
		if (s->v[i].conn == e->conn)
			s->v[i].flags |= EVF_GAP;
}

static void
on_end(struct buffered *r, struct bf *s, const struct ev *e)
{
	struct flight *f = flight_of(s, e->x);

	if (f == NULL)
		return;
	f->flags |= e->flags;
	judge(r, s, f, (struct at){ e->t, e->pkt }, e->u.end.end != EV_LOST);
	memmove(f, f + 1, (size_t)(s->v + s->n - f - 1) * sizeof *f);
	s->n--;
}

/* A GET without a head tells nothing when its connection goes. */
static void
on_conn_end(struct buffered *r, const struct ev *e)
{
	struct bf *s = by_conn(r, e->conn);

	if (s == NULL || str_eq(e->u.conn_end.how, STR("eof")))
		return;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i].conn == e->conn && s->v[i].head.t == 0 && s->v[i].left.t == 0)
			s->v[i].left = (struct at){ e->t, e->pkt };
}

static void
close_session(struct buffered *r, struct bf *s, struct at now)
{
	for (uint32_t i = 0; i < s->n; i++)
		judge(r, s, &s->v[i], now, false);
	keeper_drop(&r->sessions, &s->of);
}

static void
event(void *arg, const struct ev *e)
{
	struct buffered *r = arg;
	struct flight *f;
	struct bf *s;

	if (e->type == EV_GAP) {
		on_gap(r, e);
	} else if (e->type == EV_CONN_END) {
		on_conn_end(r, e);
	} else if (e->session == 0) {
		return;
	} else if (e->type == EV_REQUEST) {
		on_request(r, e);
	} else if ((s = find(r, e->session)) != NULL) {
		if (e->type == EV_RESPONSE)
			on_response(r, s, e);
		else if (e->type == EV_STREAM && (f = flight_of(s, e->x)) != NULL)
			f->stream = e->stream;
		else if (e->type == EV_MESSAGE)
			on_message(s, e);
		else if (e->type == EV_RESPONSE_END)
			on_end(r, s, e);
	}
}

static void
end(void *arg, ns_t now)
{
	struct buffered *r = arg;
	struct kept *k, *tmp;

	KEEPER_EACH(&r->sessions, k, tmp)
		close_session(r, (struct bf *)k, (struct at){ now, 0 });
}

const struct rule rule_buffered = {
	.name = "buffered-stream",
	.summary = "events are collected on the way and come all at once",
	.reference = "mcpdiag-analyze(1), DETECTORS, buffered-stream",
	.wants = RULE_WANTS(EV_REQUEST) |
	    RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_CONN_END) |
	    RULE_WANTS(EV_GAP),
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
