#include "rule_gets.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "rule_id.h"
#include "rule_who.h"

#define MAX_ENDED 64		/* sessions that are over, and are known in full */
#define A_DAY 86400000		/* ms */

/* Who gave out an event id on a session: bits of idrec.a. */
enum { GIVEN_BY_GET = 1, GIVEN_BY_POST = 2 };

struct on {				/* one session */
	struct kept of;
	struct posts posts;
	int64_t retry_ms;		/* told last, at most a day; -1: never */
	struct idtab given;		/* event id -> who gave it */
	struct idtab streams;		/* stream -> STREAM_... bits, its exchange */
};

struct gets {
	struct idmap open;		/* exchanges */
	struct idtab conns;		/* connection -> its last GET */
	struct keeper sessions;
	struct whos *whos;
	struct ids *ids;
	uint32_t max, max_ids;
	enum step step;			/* of the last event */
	const struct got *got;
	struct got *over;		/* to be freed with the next one */
	struct got left;		/* for STEP_LEFT */
	uint32_t ended[MAX_ENDED], n_ended;	/* sessions, a ring */
};

static void
keep(char *to, struct str s)
{
	size_t n = s.n < TEXT_KEPT ? s.n : TEXT_KEPT - 1;

	if (n)
		memcpy(to, s.p, n);
	to[n] = '\0';
}

static void
free_session(struct kept *k)
{
	idtab_fini(&((struct on *)k)->given);
	idtab_fini(&((struct on *)k)->streams);
	free(k);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct gets *g = xcalloc(1, sizeof *g);

	g->whos = engine_reader(e, &who_reader);
	g->ids = engine_reader(e, &id_reader);
	g->max = lim->streams < 16 ? 16 : (uint32_t)lim->streams;
	g->max_ids = (uint32_t)lim->ids;
	idmap_init(&g->open);
	idtab_init(&g->conns, g->max);
	keeper_init(&g->sessions, e, lim->sessions, free_session);
	return g;
}

static void
drop(struct gets *g, struct got *x)
{
	idmap_del(&g->open, &x->node);
	free(x);
}

/* It is over, but what it was is told still. */
static void
drop_later(struct gets *g, struct got *x)
{
	idmap_del(&g->open, &x->node);
	g->over = x;
}

static void
free_reader(void *arg)
{
	struct gets *g = arg;

	while (g->open.first)
		drop(g, (struct got *)g->open.first);
	free(g->over);
	idmap_fini(&g->open);
	idtab_fini(&g->conns);
	keeper_fini(&g->sessions);
	free(g);
}

static struct got *
find(const struct gets *g, uint32_t x)
{
	return (struct got *)idmap_get(&g->open, x);
}

static struct on *
session(struct gets *g, uint32_t n)
{
	struct on *s = (struct on *)keeper_find(&g->sessions, n);

	if (s == NULL) {
		s = xcalloc(1, sizeof *s);
		s->retry_ms = -1;
		idtab_init(&s->given, g->max_ids);
		idtab_init(&s->streams, g->max_ids);
		keeper_add(&g->sessions, &s->of, n);
	}
	return s;
}

static bool
is_modern(struct str version)
{
	return version.n == 10 && str_pre(version, STR("20")) &&
	    memcmp(version.p, "2026-07-28", 10) >= 0;
}

static enum step
on_request(struct gets *g, const struct ev *e)
{
	const struct asked *a = who_asked(g->whos, e->conn, e->x);
	struct got *x = find(g, e->x);

	if (x)				/* only in a made-up record */
		drop(g, x);
	if (a == NULL || !(a->get || a->post || a->del) || is_modern(e->u.req.version))
		return STEP_NONE;
	if (g->open.n >= g->max)
		drop(g, (struct got *)g->open.first);	/* the oldest */
	x = xcalloc(1, sizeof *x);
	x->x = e->x;
	x->conn = e->conn;
	x->session = e->session;
	x->flags = e->flags;
	x->request = (struct at){ e->t, e->pkt };
	x->cursor = e->u.req.cursor.n ?
	    map_digest(e->u.req.cursor.p, e->u.req.cursor.n) : 0;
	x->client = a->client;
	x->address = a->server;
	x->path = a->path;
	if (a->get) {
		keep(x->cursor_text, e->u.req.cursor);
		keep(x->agent_text, e->u.req.agent);
		x->asks_stream = str_find(e->u.req.accept, STR("text/event-stream")) !=
		    SIZE_MAX;
	}
	x->named = e->u.req.sid.p != NULL;
	x->post = a->post;
	x->del = a->del;
	idmap_put(&g->open, &x->node, x->x);
	g->got = x;
	return a->post ? STEP_POSTED : a->del ? STEP_DELETED : STEP_ASKED;
}

static void
on_answered(struct posts *p, const struct got *g)
{
	if (g->status / 100 == 2) {
		p->n_ok++;
		p->ok = g->head;
		p->path = g->path;
		memcpy(p->server, g->server, sizeof p->server);
	} else {
		p->n_failed++;
		p->failed = g->head;
		p->status = g->status;
	}
}

static enum step
on_response(struct gets *g, struct got *x, const struct ev *e)
{
	x->session = e->session ? e->session : x->session;
	x->flags |= e->flags;
	x->head = (struct at){ e->t, e->pkt };
	x->status = e->u.resp.status;
	keep(x->type, e->u.resp.content_type);
	keep(x->server, e->u.resp.server);
	x->via = e->u.resp.via.p != NULL;
	x->challenge = e->u.resp.challenge;
	if (!x->post && !x->del && e->u.resp.event_stream)
		return STEP_NONE;	/* EV_STREAM follows */
	g->got = x;
	drop_later(g, x);
	if (x->post && x->session)
		on_answered(&session(g, x->session)->posts, x);
	return x->del ? STEP_NONE : x->post ? STEP_ANSWERED : STEP_REFUSED;
}

static enum step
on_stream(struct gets *g, struct got *x, const struct ev *e)
{
	int fresh;

	if (!is_listener(e))
		return STEP_NONE;
	x->session = e->session;
	x->flags |= e->flags;
	x->stream = e->stream;
	x->lineage = e->u.stream.lineage;
	x->previous = e->u.stream.previous;
	x->resumes = e->u.stream.resumes;
	x->givers = e->u.stream.givers;
	x->delay_ms = e->u.stream.delay_ms;
	x->kind = e->u.stream.kind;
	idtab_put(&g->conns, e->conn, &fresh)->a = e->x;
	g->got = x;
	return STEP_OPENED;
}

/* The server's own end may come much later, or never. */
static enum step
on_conn_end(struct gets *g, const struct ev *e)
{
	struct idrec *r = e->dir == EV_C2S && (str_eq(e->u.conn_end.how, STR("fin")) ||
	    str_eq(e->u.conn_end.how, STR("rst"))) ? idtab_get(&g->conns, e->conn) : NULL;
	struct got *x = r ? find(g, r->a) : NULL;

	if (x == NULL || x->conn != e->conn || x->stream == 0 || x->left)
		return STEP_NONE;
	g->left = *x;
	x->left = true;
	g->left.end = (struct at){ e->t, e->pkt };
	g->left.how = EV_CLIENT;
	g->got = &g->left;
	return STEP_LEFT;
}

static enum step
on_stream_end(struct gets *g, struct got *x, const struct ev *e)
{
	x->flags |= e->flags;
	x->end = (struct at){ e->t, e->pkt };
	x->how = e->u.stream_end.end;
	x->had_response = e->u.stream_end.had_response;
	x->comments = e->u.stream_end.comments;
	g->got = x;
	drop_later(g, x);
	return x->stream ? STEP_ENDED : STEP_NONE;
}

/* Who gives out which cursor on the session. */
static void
learn(struct gets *g, const struct got *x, const struct ev *e)
{
	int fresh;

	if (e->session == 0)
		return;
	if (e->u.sse.retry_ms >= 0)
		session(g, e->session)->retry_ms = e->u.sse.retry_ms < A_DAY ?
		    e->u.sse.retry_ms : A_DAY;
	if (e->u.sse.id.n == 0 || e->u.sse.tail)
		return;
	idtab_put(&session(g, e->session)->given,
	    id_of(g->ids), &fresh)->a |=
	    x && !x->of_post ? GIVEN_BY_GET : GIVEN_BY_POST;
}

static void
on_sse(const struct gets *g, struct got *x, const struct ev *e)
{
	if (e->u.sse.tail)
		return;
	x->flags |= e->flags & (EVF_GAP | EVF_UNDECODED);
	x->primed |= e->u.sse.retry_ms >= 0 || (e->u.sse.id.n && !e->u.sse.data);
	if (e->u.sse.id.p) {
		x->gave = true;
		x->last_id = e->u.sse.id.n ?
		    id_of(g->ids) : 0;
		keep(x->last_text, e->u.sse.id);
	}
	if (!e->u.sse.dispatched || !e->u.sse.data)
		return;
	x->data++;
	x->replays += (e->flags & EVF_REPLAY) != 0;
}

static void
note_stream(struct gets *g, const struct ev *e)
{
	bool post = e->u.stream.kind == EV_POST_RESPONSE;
	struct idrec *r;
	int fresh;

	if (e->session == 0 || is_listener(e))
		return;
	r = idtab_put(&session(g, e->session)->streams, e->stream, &fresh);
	r->a = STREAM_NO_GET | (post ? STREAM_POST : 0);
	r->b = e->x;
}

static void
note_stream_end(struct gets *g, const struct got *x, const struct ev *e)
{
	struct on *s = (struct on *)keeper_find(&g->sessions, e->session);
	struct idrec *r;
	int fresh;

	if (s == NULL)
		return;
	r = e->u.stream_end.had_response ? idtab_put(&s->streams, e->stream, &fresh) :
	    idtab_get(&s->streams, e->stream);
	if (r)
		r->a |= STREAM_OVER | (e->u.stream_end.had_response ? STREAM_ANSWERED : 0);
	if (x == NULL || x->givers != 1 || !e->u.stream_end.had_response)
		return;
	r = idtab_get(&s->streams, x->resumes);
	if (r && r->a & STREAM_OVER)
		r->a |= STREAM_RESUMED;
}

/* Nobody comes back to a session that ended long ago: by then its tables go. */
static void
on_session_end(struct gets *g, uint32_t n)
{
	uint32_t *last = &g->ended[g->n_ended++ % MAX_ENDED];
	struct on *s = *last ? (struct on *)keeper_find(&g->sessions, *last) : NULL;

	if (s) {
		idtab_fini(&s->given);
		idtab_fini(&s->streams);
	}
	*last = n;
}

static enum step
step_of(struct gets *g, const struct ev *e)
{
	struct got *x;

	if (e->type == EV_REQUEST)
		return on_request(g, e);
	if (e->type == EV_CONN_END)
		return on_conn_end(g, e);
	if (e->type == EV_SESSION_END)
		on_session_end(g, e->session);
	x = find(g, e->x);
	if (e->type == EV_SSE)
		learn(g, x, e);
	else if (e->type == EV_STREAM)
		note_stream(g, e);
	else if (e->type == EV_STREAM_END)
		note_stream_end(g, x, e);
	if (x == NULL)
		return STEP_NONE;
	switch (e->type) {
	case EV_RESPONSE:
		return on_response(g, x, e);
	case EV_STREAM:
		return on_stream(g, x, e);
	case EV_STREAM_END:
		return on_stream_end(g, x, e);
	case EV_SSE:
		on_sse(g, x, e);
		return STEP_NONE;
	case EV_MESSAGE:
		x->init |= e->dir == EV_C2S && str_eq(e->u.msg.method, STR("initialize"));
		x->messages += e->dir == EV_S2C && e->u.msg.kind != EV_MSG_INVALID;
		return STEP_NONE;
	case EV_OWNER:
		if (e->u.owner.to == EV_REQUEST_STREAM)
			x->of_post = true;
		else if (e->u.owner.to == EV_PRIMARY)
			x->of_post = false;
		return STEP_NONE;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST: case EV_REQUEST_END:
	case EV_RESPONSE_END: case EV_SESSION: case EV_SESSION_END: case EV_COMMENT:
	case EV_STALL: case EV_GAP: case EV_ANOMALY: case EV_NOTE:
	case EV_FINDING: case EV_END: case EV_N_TYPES:
		break;
	}
	return STEP_NONE;
}

static void
event(void *arg, const struct ev *e)
{
	struct gets *g = arg;

	free(g->over);
	g->over = NULL;
	g->got = NULL;
	g->step = step_of(g, e);
}

const struct reader gets_reader = {
	.wants = GETS_WANTS | RULE_WANTS(EV_SSE) | RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_OWNER) | RULE_WANTS(EV_SESSION_END),
	.new = new, .event = event, .free = free_reader,
};

enum step
gets_step(const struct gets *g, const struct ev *e, const struct got **got)
{
	*got = g->got;
	return GETS_WANTS & RULE_WANTS(e->type) ? g->step : STEP_NONE;
}

const struct posts *
gets_posts(struct gets *g, uint32_t n)
{
	static const struct posts none;
	const struct on *s = (const struct on *)keeper_find(&g->sessions, n);

	return s ? &s->posts : &none;
}

uint32_t
gets_stream(struct gets *g, uint32_t n, uint32_t stream, uint32_t *x)
{
	const struct on *s = (const struct on *)keeper_find(&g->sessions, n);
	const struct idrec *r = s ? idtab_get(&s->streams, stream) : NULL;

	*x = r ? r->b : 0;
	return r ? r->a : 0;
}

int64_t
gets_retry_ms(struct gets *g, uint32_t n)
{
	const struct on *s = (const struct on *)keeper_find(&g->sessions, n);

	return s ? s->retry_ms : -1;
}

static uint32_t
given_by(struct gets *g, uint32_t n, uint64_t cursor)
{
	const struct on *s = cursor ? (const struct on *)keeper_find(&g->sessions, n) : NULL;
	const struct idrec *r = s ? idtab_get(&s->given, cursor) : NULL;

	return r ? r->a : 0;
}

bool
cursor_of_post(struct gets *g, uint32_t n, uint64_t cursor)
{
	return given_by(g, n, cursor) == GIVEN_BY_POST;
}

bool
cursor_of_get(struct gets *g, uint32_t n, uint64_t cursor)
{
	return (given_by(g, n, cursor) & GIVEN_BY_GET) != 0;
}

bool
got_by_server(const struct got *g)
{
	return g->how == EV_COMPLETE || g->how == EV_TRUNCATED;
}

bool
got_torn(const struct got *g)
{
	return (g->flags & (EVF_HEAD_LOST | EVF_GAP | EVF_MIDSTREAM | EVF_INFERRED)) != 0;
}

bool
got_refusal(uint32_t status)
{
	switch (status) {
	case 204: case 400: case 401: case 403: case 404: case 405: case 406: case 409:
	case 410:
		return true;
	default:
		return status / 100 == 5;
	}
}

void
posts_say(const struct posts *p, ns_t since, char *text, size_t size)
{
	bool ok = p->n_ok && p->ok.t >= since, failed = p->n_failed && p->failed.t >= since;

	if (ok && !failed)
		(void)snprintf(text, size, "POSTs of the session were answered meanwhile");
	else if (ok)
		(void)snprintf(text, size, "some POSTs of the session were answered "
		    "meanwhile, others refused with %u", p->status);
	else if (failed)
		(void)snprintf(text, size, "POSTs of the session were refused, too, with %u",
		    p->status);
	else
		(void)snprintf(text, size, "the session had no POST meanwhile");
}

bool
got_by_proxy(const struct got *g, const struct posts *p)
{
	return g->via || (p->server[0] && strcmp(p->server, g->server) != 0);
}
