/* idle-cut: streams of one path that die of a timer.  DETECTORS "idle-cut".
 *
 * Of each stream that the server, or somebody on the way, has ended, its age, its
 * silence and the time since its session's last request are kept; which of them is
 * the same each time names the timer (rule_idle_cut_say.c). */
#include <stdlib.h>

#include "rule_idle_cut_priv.h"

#define MIN_AGE (500 * NS_MS)	/* younger ones died of something else */
#define PAUSE NS_S		/* shorter ones are not worth a note */
#define EARLY (5 * NS_MS)	/* reordered capture */
#define NEAR (60 * NS_MS)	/* an end this close to a GET is a takeover */
#define MAX_SESSION_CUTS 64
#define MAX_CUTS 65536
#define EVERY (10 * NS_S)	/* judged so often while time passes */

static void
free_session(struct kept *k)
{
	struct ic *s = (struct ic *)k;

	free(s->cuts);
	free(s->gets);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct idle_cut *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->whos = engine_reader(e, &who_reader);
	r->lives = engine_reader(e, &live_reader);
	idtab_init(&r->survived, (uint32_t)lim->endpoints);
	idtab_init(&r->answers, (uint32_t)lim->endpoints);
	return r;
}

static void
free_rule(void *arg)
{
	struct idle_cut *r = arg;

	keeper_fini(&r->sessions);
	idtab_fini(&r->survived);
	idtab_fini(&r->answers);
	free(r);
}

static struct ic *
find(struct idle_cut *r, uint32_t n)
{
	return (struct ic *)keeper_find(&r->sessions, n);
}

static struct ic *
session(struct idle_cut *r, uint32_t n)
{
	return keeper_get(&r->sessions, n, sizeof(struct ic));
}

static uint32_t
n_gets(const struct ic *s)
{
	return s->n_gets < N_GETS ? s->n_gets : N_GETS;
}

/* Streams of one path of one server share their timers. */
static uint64_t
group(const struct live *v)
{
	uint64_t key[2] = { v->server, v->path };

	return map_digest(key, sizeof key);
}

/* ---- takeovers and stops ---- */

/* A GET that takes the place of the stream, as in leapfrog. */
static void
couple(struct cut *c, const struct ic_get *g)
{
	ns_t later = g->head > g->request ? g->head : g->request;

	if (g->x == c->x || (g->previous && g->previous == c->stream))
		return;
	if (g->request > c->at.t + EARLY || later < c->at.t - NEAR)
		return;
	/* It cannot have been there before: a client in a hurry. */
	if (g->request >= c->at.t && (g->conn == c->conn || g->opened >= c->at.t))
		return;
	/* It waited for its head long before and long after: no relation. */
	if (g->head > c->at.t + NEAR && g->request < c->at.t - NS_S)
		return;
	c->coupled = g->x;
}

static void
couple_recent(struct ic *s, const struct ic_get *g, ns_t now)
{
	for (uint32_t i = s->n_cuts; i-- > 0 && s->cuts[i].at.t + NS_S > now;) {
		struct cut *c = &s->cuts[i];

		if (c->coupled == g->x && g->previous == c->stream)
			c->coupled = 0;		/* its own return, after all */
		else
			couple(c, g);
	}
}

static ns_t
apart(ns_t a, ns_t b)
{
	return a > b ? a - b : b - a;
}

static void
count_close(struct cut *c)
{
	c->closes += c->closes < UINT8_MAX;
}

/* A cut together with other connections of the server: it stopped, unless all of
 * them had streams that met the same timer. */
static void
check_stop(struct idle_cut *r, struct cut *c)
{
	for (uint32_t i = 0; i < 32; i++) {
		const struct close *k = &r->closes[i];

		if (k->t && k->server == c->server && k->conn != c->conn &&
		    apart(k->t, c->at.t) <= STOP)
			count_close(c);
	}
	r->recent[r->n_recent++ % 32] = (struct recent){ c->server, c->at.t, c->conn,
	    c->session, c->stream };
}

static void
on_close(struct idle_cut *r, const struct ev *e)
{
	const struct who *w = who_of(r->whos, e->conn);
	struct ic *s;

	/* An answer to the client's own close says nothing. */
	if (w == NULL || e->dir != EV_S2C || w->closed & 1 ||
	    !(str_eq(e->u.conn_end.how, STR("fin")) || str_eq(e->u.conn_end.how, STR("rst"))))
		return;
	r->closes[r->n_closes++ % 32] = (struct close){ w->server, e->t, e->conn };
	for (uint32_t i = 0; i < 32; i++) {
		const struct recent *k = &r->recent[i];

		if (k->t == 0 || k->server != w->server || k->conn == e->conn ||
		    apart(k->t, e->t) > STOP || (s = find(r, k->session)) == NULL)
			continue;
		for (uint32_t j = s->n_cuts; j-- > 0;)
			if (s->cuts[j].stream == k->stream)
				count_close(&s->cuts[j]);
	}
}

/* ---- what follows ---- */

static void
follow(struct ic *s, ns_t now, enum next next)
{
	for (uint32_t i = s->n_cuts; i-- > 0 && s->cuts[i].at.t + WATCHED > now;) {
		struct cut *c = &s->cuts[i];

		if (c->next != NEXT_NONE)
			continue;
		c->next = next;
		c->back = now - c->at.t;
	}
}

/* ---- events ---- */

static void
on_request(struct idle_cut *r, const struct ev *e)
{
	struct ic *s = e->session ? session(r, e->session) : NULL;
	const struct who *w = who_of(r->whos, e->conn);
	struct ic_get *g;

	if (s == NULL)
		return;
	s->last_request = e->t;
	if (str_eq(e->u.req.method, STR("DELETE")))
		s->deleted = e->t;
	if (!str_eq(e->u.req.method, STR("GET")))
		return;
	s->gets = ring_room(s->gets, s->n_gets, N_GETS, &s->cap_gets, sizeof *s->gets);
	g = &s->gets[s->n_gets++ % N_GETS];
	*g = (struct ic_get){ .x = e->x, .conn = e->conn, .request = e->t,
	    .opened = w ? w->opened : 0 };
	couple_recent(s, g, e->t);
}

static void
on_response(struct idle_cut *r, const struct ev *e)
{
	const struct asked *a = who_asked(r->whos, e->conn, e->x);
	const struct who *w = who_of(r->whos, e->conn);
	uint32_t status = e->u.resp.status;
	struct ic *s;
	int fresh;

	if (w)
		idtab_put(&r->answers, w->server, &fresh)->a =
		    (uint32_t)((e->t - r->first) / NS_MS) + 1;
	if (e->session == 0 || a == NULL || (s = find(r, e->session)) == NULL)
		return;
	if (a->get && status >= 400)
		follow(s, e->t, NEXT_REFUSED);
	if (status == 404 || status == 410 || (status == 401 && !e->u.resp.challenge))
		for (uint32_t i = 0; i < s->n_cuts; i++)
			s->cuts[i].gone = true;
}

static void
on_stream(struct idle_cut *r, const struct ev *e)
{
	struct ic *s = session(r, e->session);

	if (!is_listener(e))
		return;
	for (uint32_t i = 0; i < n_gets(s); i++) {
		struct ic_get *g = &s->gets[i];

		if (g->x != e->x)
			continue;
		g->head = e->t;
		g->previous = e->u.stream.previous;
		couple_recent(s, g, e->t);
	}
	follow(s, e->t, NEXT_BACK);
}

/* The stream, if it is one that may meet a timer. */
static struct live *
judged(const struct idle_cut *r, uint32_t stream)
{
	struct live *v = live_of(r->lives, stream);

	return v && v->kind != EV_LISTEN && v->kind != EV_UNKNOWN_KIND &&
	    !(v->flags & EVF_HEAD_LOST) ? v : NULL;
}

static void
survive(struct idle_cut *r, const struct live *v, ns_t pause)
{
	struct idrec *rec;
	uint64_t ms;
	int fresh;

	if (pause < PAUSE)
		return;
	ms = (uint64_t)(pause / NS_MS);
	rec = idtab_put(&r->survived, group(v), &fresh);
	if (ms > rec->a)
		rec->a = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

static void
on_byte(struct idle_cut *r)
{
	const struct live *v = live_grew(r->lives);

	if (v && judged(r, v->stream))
		survive(r, v, v->longest);
}

static bool
is_cut(const struct live *v, const struct ev *e, const struct ic *s)
{
	enum ev_end end = e->u.stream_end.end;
	bool by_server = end == EV_COMPLETE || end == EV_TRUNCATED;

	if (!by_server || e->flags & EVF_INFERRED || e->t - v->head.t < MIN_AGE ||
	    (s->deleted && s->deleted <= e->t))
		return false;
	if (v->kind == EV_LEGACY)
		return true;
	if (e->u.stream_end.had_response)
		return false;
	/* Ended on purpose, to be polled: SEP-1699. */
	return v->kind != EV_POST_RESPONSE || end == EV_TRUNCATED || !v->ids;
}

static void
on_stream_end(struct idle_cut *r, const struct ev *e)
{
	const struct live *v = judged(r, e->stream);
	struct ic *s;
	struct cut *c;

	if (v == NULL)
		return;
	s = session(r, e->session);
	if (!is_cut(v, e, s)) {
		/* Alive until now, whatever ends it. */
		survive(r, v, e->t - v->last.t);
	} else if (s->n_cuts < MAX_SESSION_CUTS && r->n_cuts < MAX_CUTS) {
		s->cuts = xgrow(s->cuts, s->n_cuts, &s->cap_cuts, sizeof *s->cuts);
		c = &s->cuts[s->n_cuts++];
		*c = (struct cut){ .stream = e->stream, .session = e->session,
		    .conn = v->conn, .x = v->x, .group = group(v), .server = v->server,
		    .head = v->head, .at = { e->t, e->pkt }, .age = e->t - v->head.t,
		    .silence = e->t - v->last.t, .survived = v->longest,
		    .idle = s->last_request ? e->t - s->last_request : 0,
		    .truncated = e->u.stream_end.end == EV_TRUNCATED,
		    .post = v->kind == EV_POST_RESPONSE,
		    .torn = ((v->flags | e->flags) & (EVF_GAP | EVF_MIDSTREAM)) != 0 };
		for (uint32_t i = 0; i < n_gets(s); i++)
			couple(c, &s->gets[i]);
		check_stop(r, c);
		r->n_cuts++;
		r->last_cut = e->t;
		r->dirty = true;
	}
}

static void
event(void *arg, const struct ev *e)
{
	struct idle_cut *r = arg;

	if (r->first == 0 && e->t)
		r->first = e->t;
	if (e->type == EV_CONN_END)
		on_close(r, e);
	switch (e->type) {
	case EV_REQUEST:
		on_request(r, e);
		break;
	case EV_RESPONSE:
		on_response(r, e);
		break;
	case EV_STREAM:
		on_stream(r, e);
		break;
	case EV_SSE: case EV_COMMENT:
		on_byte(r);
		break;
	case EV_STREAM_END:
		on_stream_end(r, e);
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END:
	case EV_RESPONSE_END: case EV_SESSION: case EV_SESSION_END: case EV_MESSAGE:
	case EV_OWNER: case EV_STALL: case EV_GAP: case EV_ANOMALY: case EV_NOTE:
	case EV_FINDING: case EV_END: case EV_N_TYPES:
		break;
	}
}

static void
tick(void *arg, ns_t now)
{
	struct idle_cut *r = arg;

	if (!r->dirty || now - r->judged < EVERY)
		return;
	r->judged = now;
	r->dirty = now - r->last_cut < WATCHED;
	idle_cut_judge(r, now, false);
}

static void
end(void *arg, ns_t now)
{
	idle_cut_judge(arg, now, true);
}

const struct rule rule_idle_cut = {
	.name = "idle-cut",
	.summary = "a timer of the server or of a hop ends streams",
	.reference = "mcpdiag-analyze(1), DETECTORS, idle-cut",
	.wants = RULE_WANTS(EV_CONN) |
	    RULE_WANTS(EV_CONN_END) |
	    RULE_WANTS(EV_REQUEST) |
	    RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_COMMENT),
	.new = new, .event = event, .tick = tick, .end = end, .free = free_rule,
};
