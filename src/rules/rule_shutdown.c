/* abrupt-shutdown: a server that stops, or is stopped, in the middle of its
 * streams.  DETECTORS "abrupt-shutdown".
 *
 * Two or more streams of one server address end without terminator within a tenth
 * of a second, and none of its streams goes on.  Streams that are alike in age or
 * silence have met a timer, unless other connections close with them. */
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "rule_live.h"
#include "rule_util.h"
#include "rule_who.h"

#define AT_ONCE (100 * NS_MS)
#define SOON NS_S		/* until what survived must have been seen */
#define MIN_STREAMS 2
#define MAX_CUT 64

struct cut {
	uint32_t stream, session;
	struct at at;
	ns_t age, silence;
	bool post, torn;
};

struct host {			/* a server address */
	struct idnode node;	/* by digest */
	/* the streams that were cut last, at once */
	struct cut cuts[MAX_CUT];
	uint32_t n_cuts;
	uint64_t more;		/* than MAX_CUT */
	uint32_t closes;	/* further connections closed at once by it */
	ns_t closed;		/* the last such close, and how many at once */
	uint32_t closed_n;
	uint32_t still;		/* streams that were open then and had bytes after */
};

struct shutdown {
	struct engine *engine;
	struct whos *whos;
	struct lives *lives;
	struct idmap hosts;
	uint64_t max_hosts;
	uint32_t pending;	/* hosts with cuts not yet judged */
};

extern const struct rule rule_shutdown;

static void *
new(struct engine *e, const struct limits *lim)
{
	struct shutdown *r = xcalloc(1, sizeof *r);

	r->engine = e;
	r->whos = engine_reader(e, &who_reader);
	r->lives = engine_reader(e, &live_reader);
	idmap_init(&r->hosts);
	r->max_hosts = lim->endpoints;
	return r;
}

/* The stream, if it is not one that waits for news. */
static const struct live *
find(const struct shutdown *r, uint32_t stream)
{
	const struct live *v = live_of(r->lives, stream);

	return v && v->kind != EV_LISTEN ? v : NULL;
}

static void
drop_host(struct shutdown *r, struct host *h)
{
	r->pending -= h->n_cuts > 0;
	idmap_del(&r->hosts, &h->node);
	free(h);
}

static struct host *
host_of(struct shutdown *r, uint64_t server, bool make)
{
	struct host *h = (struct host *)idmap_get(&r->hosts, server);

	if (h || !make)
		return h;
	if (r->hosts.n && r->hosts.n >= r->max_hosts)
		drop_host(r, (struct host *)r->hosts.first);
	h = xcalloc(1, sizeof *h);
	idmap_put(&r->hosts, &h->node, server);
	return h;
}

static void
free_rule(void *arg)
{
	struct shutdown *r = arg;

	while (r->hosts.first)
		drop_host(r, (struct host *)r->hosts.first);
	idmap_fini(&r->hosts);
	free(r);
}

/* ---- the verdict ---- */

static bool
near(ns_t a, ns_t b)
{
	return llabs(a - b) * 50 <= (a > b ? a : b);
}

/* All as old, or as silent, as each other: a timer's doing. */
static bool
alike(const struct host *h)
{
	bool age = true, silence = true;

	for (uint32_t i = 1; i < h->n_cuts; i++) {
		age &= near(h->cuts[i].age, h->cuts[0].age);
		silence &= near(h->cuts[i].silence, h->cuts[0].silence);
	}
	return age || silence;
}

static void
report(struct shutdown *r, const struct host *h)
{
	const struct cut *first = &h->cuts[0], *last = &h->cuts[h->n_cuts - 1];
	uint64_t n = h->n_cuts + h->more;
	uint32_t posts = 0, sessions = 0;
	bool torn = false;
	struct draft *d;

	for (uint32_t i = 0; i < h->n_cuts; i++) {
		bool again = false;

		for (uint32_t j = 0; j < i; j++)
			again |= h->cuts[j].session == h->cuts[i].session;
		sessions += !again;
		posts += h->cuts[i].post;
		torn |= h->cuts[i].torn;
	}
	d = draft_new(r->engine, &rule_shutdown, NULL, posts ? SEV_ERROR : SEV_WARNING,
	    engine_inferred(r->engine, first->session) ? CONF_LOW :
	    torn || (alike(h) && h->closes < 2) ? CONF_MEDIUM : CONF_HIGH, first->session);
	draft_title(d, "the server stopped in the middle of its streams: %llu cut at once "
	    "without a terminator%s", (unsigned long long)n, posts ?
	    ", calls among them" : "");
	draft_why(d, "%llu streams of %u session%s ended within %.0f ms by a close, none with the "
	    "terminator, and no other stream of the server went on.  %u of them were to "
	    "answer a call.  Clients cannot tell this from a broken network.",
	    (unsigned long long)n, sessions, sessions == 1 ? "" : "s",
	    (double)(last->at.t - first->at.t) / 1e6, posts);
	draft_fix(d, "Server: on shutdown stop accepting, answer what is running, end each "
	    "stream with its terminator (with retry, and event ids to resume from), then "
	    "close.  Whether it was the server or a hop before it cannot be told from this "
	    "capture point; capture at the server's own port.");
	draft_num(d, "streams_cut", (double)n);
	draft_num(d, "calls_cut", posts);
	draft_num(d, "sessions", sessions);
	draft_num(d, "idle_connections_closed", h->closes);
	draft_ms(d, "within_ms", last->at.t - first->at.t);
	draft_text(d, "first_closer", STR("server"));
	for (uint32_t i = 0; i < h->n_cuts; i++) {
		const struct cut *c = &h->cuts[i];

		draft_stream(d, c->stream);
		draft_evidence(d, c->at, "stream %u, %.1f s old, is cut%s", c->stream,
		    (double)c->age / 1e9, c->post ? " before its call is answered" : "");
	}
	draft_span(d, first->at, last->at);
	draft_count(d, n, 0, 0);
	draft_add(d);
}

/* Those that were open then and are open still, silent or not; so is one that is
 * just ending. */
static void
count_survivors(const struct shutdown *r, struct host *h, bool ending)
{
	const struct idnode *p, *tmp;

	IDMAP_EACH(&r->lives->map, p, tmp) {
		const struct live *v = (const struct live *)p;

		h->still += v->server == h->node.id && v->head.t < h->cuts[0].at.t &&
		    v->kind != EV_LISTEN && (ending || v != r->lives->over);
	}
}

static void
judge(struct shutdown *r, struct host *h, bool ending)
{
	r->pending--;
	count_survivors(r, h, ending);
	if (h->n_cuts + h->more >= MIN_STREAMS && h->still == 0 &&
	    (!alike(h) || h->closes))
		report(r, h);
	h->n_cuts = h->closes = h->still = 0;
	h->more = 0;
}

/* ---- events ---- */

static void
on_close(struct shutdown *r, const struct ev *e)
{
	const struct who *w = who_of(r->whos, e->conn);
	struct host *h;

	if (w == NULL || e->dir != EV_S2C || w->closed & 1 || e->x ||
	    !(str_eq(e->u.conn_end.how, STR("fin")) || str_eq(e->u.conn_end.how, STR("rst"))))
		return;
	h = host_of(r, w->server, true);
	if (h->n_cuts && e->t - h->cuts[h->n_cuts - 1].at.t <= AT_ONCE)
		h->closes++;
	h->closed_n = e->t - h->closed <= AT_ONCE ? h->closed_n + 1 : 1;
	h->closed = e->t;
}

static void
on_byte(struct shutdown *r, const struct ev *e)
{
	const struct live *v = r->pending ? find(r, e->stream) : NULL;
	struct host *h;

	if (v == NULL)
		return;
	h = host_of(r, v->server, false);
	/* It was open then, and goes on. */
	if (h && h->n_cuts && v->head.t < h->cuts[0].at.t)
		h->still++;
}

static void
on_stream_end(struct shutdown *r, const struct ev *e)
{
	const struct live *v = find(r, e->stream);
	bool post = v && v->kind == EV_POST_RESPONSE;
	struct host *h;

	if (v == NULL)
		return;
	h = host_of(r, v->server, true);
	if (e->u.stream_end.end == EV_TRUNCATED && !(e->flags & (EVF_INFERRED | EVF_GAP)) &&
	    !(post && e->u.stream_end.had_response)) {
		if (h->n_cuts && e->t - h->cuts[0].at.t > AT_ONCE)
			judge(r, h, true);
		if (h->n_cuts == 0) {
			r->pending++;
			engine_wake(r->engine, &rule_shutdown);
			h->closes = e->t - h->closed <= AT_ONCE ? h->closed_n : 0;
		}
		if (h->n_cuts == MAX_CUT)
			h->more++;
		else
			h->cuts[h->n_cuts++] = (struct cut){ v->stream, v->session,
			    { e->t, e->pkt }, e->t - v->head.t, e->t - v->last.t, post,
			    (v->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0 };
	} else if (h->n_cuts && e->u.stream_end.end == EV_COMPLETE &&
	    v->head.t < h->cuts[0].at.t) {
		h->still++;		/* ended as it should be */
	}
}

static void
judge_due(struct shutdown *r, ns_t now, bool ending)
{
	struct idnode *p, *tmp;

	if (r->pending == 0)
		return;
	IDMAP_EACH(&r->hosts, p, tmp) {
		struct host *h = (struct host *)p;

		if (h->n_cuts == 0 || now - h->cuts[0].at.t < SOON)
			continue;
		judge(r, h, ending);
	}
}

static void
event(void *arg, const struct ev *e)
{
	struct shutdown *r = arg;

	if (e->type == EV_CONN_END)
		on_close(r, e);
	switch (e->type) {
	case EV_SSE: case EV_COMMENT:
		on_byte(r, e);
		break;
	case EV_STREAM_END:
		/* At the end of the capture the open ones are told as ended. */
		if (e->u.stream_end.end == EV_OPEN)
			judge_due(r, INT64_MAX, true);
		on_stream_end(r, e);
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST: case EV_REQUEST_END:
	case EV_STREAM:
	case EV_RESPONSE: case EV_RESPONSE_END: case EV_SESSION: case EV_SESSION_END:
	case EV_MESSAGE: case EV_OWNER: case EV_STALL: case EV_GAP: case EV_ANOMALY:
	case EV_NOTE: case EV_FINDING: case EV_END: case EV_N_TYPES:
		break;
	}
}

static void
tick(void *arg, ns_t now)
{
	judge_due(arg, now, false);
}

static void
end(void *arg, ns_t now)
{
	(void)now;
	judge_due(arg, INT64_MAX, false);
}

const struct rule rule_shutdown = {
	.name = "abrupt-shutdown",
	.summary = "a server stops in the middle of its streams",
	.reference = "mcpdiag-analyze(1), DETECTORS, abrupt-shutdown",
	.wants = RULE_WANTS(EV_CONN_END) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_COMMENT),
	.sleeps = RULE_WANTS(EV_SSE) | RULE_WANTS(EV_COMMENT),
	.new = new, .event = event, .tick = tick, .end = end, .free = free_rule,
};
