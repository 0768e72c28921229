#include "rule_gets.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"

static void
keep(char *to, struct str s)
{
	size_t n = s.n < TEXT_KEPT ? s.n : TEXT_KEPT - 1;

	if (n)
		memcpy(to, s.p, n);
	to[n] = '\0';
}

void
gets_init(struct gets *g, uint32_t max)
{
	*g = (struct gets){ .max = max < 16 ? 16 : max };
	idtab_init(&g->conns, g->max);
}

static void
drop(struct gets *g, struct got *x)
{
	HASH_DEL(g->table, x);
	free(x);
}

void
gets_fini(struct gets *g)
{
	while (g->table)
		drop(g, g->table);
	idtab_fini(&g->conns);
}

static struct got *
find(const struct gets *g, uint32_t x)
{
	struct got *p;

	HASH_FIND(hh, g->table, &x, sizeof x, p);
	return p;
}

static bool
is_modern(struct str version)
{
	return version.n == 10 && str_pre(version, STR("20")) &&
	    memcmp(version.p, "2026-07-28", 10) >= 0;
}

static uint64_t
path_of(struct str target)
{
	size_t q = str_find(target, STR("?"));

	return map_digest(target.p, q == SIZE_MAX ? target.n : q);
}

static enum step
on_request(struct gets *g, const struct ev *e, struct got *out)
{
	bool get = str_eq(e->u.req.method, STR("GET"));
	bool post = str_eq(e->u.req.method, STR("POST"));
	bool del = str_eq(e->u.req.method, STR("DELETE"));
	struct got *x = find(g, e->x);

	if (x)				/* only in a made-up record */
		drop(g, x);
	if (!(get || post || del) || is_modern(e->u.req.version))
		return STEP_NONE;
	if (HASH_COUNT(g->table) >= g->max)
		drop(g, g->table);	/* the oldest */
	x = xcalloc(1, sizeof *x);
	x->x = e->x;
	x->conn = e->conn;
	x->session = e->session;
	x->flags = e->flags;
	x->request = (struct at){ e->t, e->pkt };
	x->cursor = e->u.req.cursor.n ?
	    map_digest(e->u.req.cursor.p, e->u.req.cursor.n) : 0;
	x->agent = e->u.req.agent.n ? map_digest(e->u.req.agent.p, e->u.req.agent.n) : 0;
	keep(x->cursor_text, e->u.req.cursor);
	keep(x->agent_text, e->u.req.agent);
	x->path = path_of(e->u.req.target);
	x->asks_stream = str_find(e->u.req.accept, STR("text/event-stream")) != SIZE_MAX;
	x->named = e->u.req.sid.p != NULL;
	x->post = post;
	x->del = del;
	HASH_ADD(hh, g->table, x, sizeof x->x, x);
	*out = *x;
	return post ? STEP_POSTED : del ? STEP_DELETED : STEP_ASKED;
}

static enum step
on_response(struct gets *g, struct got *x, const struct ev *e, struct got *out)
{
	x->session = e->session ? e->session : x->session;
	x->flags |= e->flags;
	x->head = (struct at){ e->t, e->pkt };
	x->status = e->u.resp.status;
	keep(x->type, e->u.resp.content_type);
	keep(x->server, e->u.resp.server);
	x->via = e->u.resp.via.p != NULL;
	x->challenge = e->u.resp.challenge;
	*out = *x;
	if (!x->post && !x->del && e->u.resp.event_stream)
		return STEP_NONE;	/* EV_STREAM follows */
	drop(g, find(g, e->x));
	return out->del ? STEP_NONE : out->post ? STEP_ANSWERED : STEP_REFUSED;
}

static enum step
on_stream(struct gets *g, struct got *x, const struct ev *e, struct got *out)
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
	*out = *x;
	return STEP_OPENED;
}

/* The server's own end may come much later, or never. */
static enum step
on_conn_end(struct gets *g, const struct ev *e, struct got *out)
{
	struct idrec *r = e->dir == EV_C2S && (str_eq(e->u.conn_end.how, STR("fin")) ||
	    str_eq(e->u.conn_end.how, STR("rst"))) ? idtab_get(&g->conns, e->conn) : NULL;
	struct got *x = r ? find(g, r->a) : NULL;

	if (x == NULL || x->conn != e->conn || x->stream == 0 || x->left)
		return STEP_NONE;
	*out = *x;
	x->left = true;
	out->end = (struct at){ e->t, e->pkt };
	out->how = EV_CLIENT;
	return STEP_LEFT;
}

static enum step
on_stream_end(struct gets *g, struct got *x, const struct ev *e, struct got *out)
{
	x->flags |= e->flags;
	x->end = (struct at){ e->t, e->pkt };
	x->how = e->u.stream_end.end;
	x->had_response = e->u.stream_end.had_response;
	x->comments = e->u.stream_end.comments;
	*out = *x;
	drop(g, x);
	return out->stream ? STEP_ENDED : STEP_NONE;
}

static void
on_sse(struct got *x, const struct ev *e)
{
	if (e->u.sse.tail)
		return;
	x->flags |= e->flags & (EVF_GAP | EVF_UNDECODED);
	x->primed |= e->u.sse.retry_ms >= 0 || (e->u.sse.id.n && !e->u.sse.data);
	if (e->u.sse.id.p) {
		x->gave = true;
		x->last_id = e->u.sse.id.n ?
		    map_digest(e->u.sse.id.p, e->u.sse.id.n) : 0;
		keep(x->last_text, e->u.sse.id);
	}
	if (!e->u.sse.dispatched || !e->u.sse.data)
		return;
	x->data++;
	x->replays += (e->flags & EVF_REPLAY) != 0;
}

enum step
gets_step(struct gets *g, const struct ev *e, struct got *out)
{
	struct got *x;

	if (e->type == EV_REQUEST)
		return on_request(g, e, out);
	if (e->type == EV_CONN_END)
		return on_conn_end(g, e, out);
	if ((GETS_WANTS & RULE_WANTS(e->type)) == 0 || (x = find(g, e->x)) == NULL)
		return STEP_NONE;
	switch (e->type) {
	case EV_RESPONSE:
		return on_response(g, x, e, out);
	case EV_STREAM:
		return on_stream(g, x, e, out);
	case EV_STREAM_END:
		return on_stream_end(g, x, e, out);
	case EV_SSE:
		on_sse(x, e);
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

void
cursors_learn(struct idtab *t, const struct gets *g, const struct ev *e)
{
	const struct got *x;
	int fresh;

	if (e->u.sse.id.n == 0 || e->u.sse.tail)
		return;
	x = find(g, e->x);
	idtab_put(t, map_digest(e->u.sse.id.p, e->u.sse.id.n), &fresh)->a |=
	    x && !x->of_post ? GIVEN_BY_GET : GIVEN_BY_POST;
}

bool
cursor_of_post(const struct idtab *t, uint64_t cursor)
{
	struct idrec *r = cursor ? idtab_get(t, cursor) : NULL;

	return r && r->a == GIVEN_BY_POST;
}

bool
cursor_of_get(const struct idtab *t, uint64_t cursor)
{
	struct idrec *r = cursor ? idtab_get(t, cursor) : NULL;

	return r && (r->a & GIVEN_BY_GET);
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
posts_step(struct posts *p, enum step step, const struct got *g)
{
	if (step != STEP_ANSWERED)
		return;
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
