#include <stdlib.h>

#include "mcpd_priv.h"
#include "mcpdiag/model.h"
#include "mcpdiag/rpc.h"
#include "mcpdiag/xmem.h"

#define RECENT 64		/* ended streams that may still be a cause */

/* A request of HTTP as the model has it. */
struct entry {
	UT_hash_handle hh, hh_id;
	const struct hreq *req;
	struct mexch *x;
	uint32_t id;			/* of its xchg, 0: no GET stream */
	uint64_t bytes;
};

struct conn {
	UT_hash_handle hh;
	uint32_t number;
	struct mconn *c;
};

struct mcpd_log {
	struct mcpd *m;
	struct model *model;
	struct rpc *rpc;
	struct entry *by_req, *by_id;
	struct conn *conns;
	struct entry *now;		/* whose messages rpc is reading */
	bool request;			/* they are the client's */
	uint64_t hash;
	uint64_t n_conns;
	ns_t first;
	struct {
		uint32_t id, stream;
	} recent[RECENT];
	uint32_t n_recent;
};

static struct at
now(const struct mcpd_log *l)
{
	return (struct at){ loop_now(l->m->loop), 0 };
}

static void
on_msg(void *arg, const struct rpc_msg *msg)
{
	struct mcpd_log *l = arg;

	if (l->request)
		model_request_msg(l->model, l->now->x, msg, l->hash, now(l));
	else
		model_response_msg(l->model, l->now->x, msg, l->hash, now(l));
}

struct mcpd_log *
log_new(struct mcpd *m)
{
	struct mcpd_log *l = xcalloc(1, sizeof *l);

	l->m = m;
	l->first = loop_now(m->loop);
	l->model = model_new(&m->o.http.limits, m->o.show_secrets, m->o.event, m->o.arg);
	model_roles_told(l->model);
	l->rpc = rpc_new(&m->o.http.limits, on_msg, l);
	return l;
}

void
log_free(struct mcpd_log *l)
{
	struct model_total total = { 0 };
	struct entry *e, *next;
	struct conn *c, *next_c;

	if (l == NULL)
		return;
	total.first = l->first;
	total.last = now(l).t;
	total.tcp_connections = l->n_conns;
	model_end(l->model, &total, now(l));
	HASH_CLEAR(hh_id, l->by_id);
	HASH_ITER(hh, l->by_req, e, next) {
		HASH_DEL(l->by_req, e);
		free(e);
	}
	HASH_ITER(hh, l->conns, c, next_c) {
		HASH_DEL(l->conns, c);
		free(c);
	}
	model_free(l->model);
	rpc_free(l->rpc);
	free(l);
}

void
log_opened(struct mcpd *m, uint32_t number, const char *client, const char *server)
{
	struct mcpd_log *l = m->log;
	struct conn *c;

	if (l == NULL)
		return;
	l->n_conns++;
	c = xcalloc(1, sizeof *c);
	c->number = number;
	c->c = model_conn(l->model, client, server, false, now(l));
	HASH_ADD(hh, l->conns, number, sizeof c->number, c);
}

static struct conn *
conn_of(struct mcpd_log *l, uint32_t number)
{
	struct conn *c;

	HASH_FIND(hh, l->conns, &number, sizeof number, c);
	return c;
}

static struct entry *
entry_of(struct mcpd_log *l, const struct hreq *req)
{
	struct entry *e = NULL;

	if (l)
		HASH_FIND(hh, l->by_req, &req, sizeof req, e);
	return e;
}

void
log_closed(struct mcpd *m, uint32_t number, bool by_client, bool reset)
{
	struct mcpd_log *l = m->log;
	struct conn *c = l ? conn_of(l, number) : NULL;
	enum ev_dir first = by_client ? EV_C2S : EV_S2C;

	if (c == NULL)
		return;
	model_conn_close(l->model, c->c, first, reset ? "rst" : "fin", false, now(l));
	model_conn_close(l->model, c->c, first == EV_C2S ? EV_S2C : EV_C2S,
	    reset ? "rst" : "fin", reset, now(l));
	model_conn_end(l->model, c->c, now(l));
	HASH_DEL(l->conns, c);
	free(c);
}

static void
read_messages(struct mcpd_log *l, struct entry *e, struct str json, bool request)
{
	l->now = e;
	l->request = request;
	l->hash = map_digest(json.p, json.n);
	rpc_reset(l->rpc);
	if (json.n > 0 && rpc_feed(l->rpc, json.p, json.n) == 0)
		(void)rpc_eof(l->rpc);
}

void
log_request(struct mcpd *m, struct hreq *req)
{
	struct mcpd_log *l = m->log;
	struct conn *c = l ? conn_of(l, hreq_conn(req)) : NULL;
	struct model_request r = { 0 };
	struct str body = hreq_body(req);
	struct entry *e;

	if (c == NULL)
		return;
	r.n = hreq_n(req);
	r.method = hreq_method(req);
	r.target = hreq_target(req);
	r.host = hreq_header(req, STR("Host"));
	r.session_id = hreq_header(req, STR("Mcp-Session-Id"));
	r.last_event_id = hreq_header(req, STR("Last-Event-ID"));
	r.protocol_version = hreq_header(req, STR("MCP-Protocol-Version"));
	r.accept = hreq_header(req, STR("Accept"));
	r.content_type = hreq_header(req, STR("Content-Type"));
	r.user_agent = hreq_header(req, STR("User-Agent"));
	r.authorization = hreq_header(req, STR("Authorization"));
	r.origin = hreq_header(req, STR("Origin"));
	r.mcp_method = hreq_header(req, STR("Mcp-Method"));
	e = xcalloc(1, sizeof *e);
	e->req = req;
	e->x = model_request(l->model, c->c, &r, now(l));
	HASH_ADD(hh, l->by_req, req, sizeof e->req, e);
	read_messages(l, e, body, true);
	model_request_end(l->model, e->x, EV_COMPLETE, body.n, 0, now(l));
}

void
log_response(struct mcpd *m, struct hreq *req, unsigned status, const char *type,
    struct str sid)
{
	struct mcpd_log *l = m->log;
	struct entry *e = entry_of(l, req);
	struct model_response r = { 0 };

	if (e == NULL)
		return;
	r.status = status;
	r.session_id = sid;
	r.content_type = str_c(type);
	r.event_stream = type && strcmp(type, "text/event-stream") == 0;
	r.framing = r.event_stream ? "chunked" : status == 204 ? "none" : "content-length";
	model_response(l->model, e->x, &r, now(l));
}

void
log_body(struct mcpd *m, struct hreq *req, struct str json)
{
	struct mcpd_log *l = m->log;
	struct entry *e = entry_of(l, req);

	if (e == NULL)
		return;
	e->bytes += json.n;
	read_messages(l, e, json, false);
}

void
log_event(struct mcpd *m, struct hreq *req, struct str name, struct str id,
    struct str data, int64_t retry_ms)
{
	struct mcpd_log *l = m->log;
	struct entry *e = entry_of(l, req);
	struct model_sse v = { 0 };

	if (e == NULL)
		return;
	e->bytes += data.n;
	read_messages(l, e, data, false);
	v.name = name;
	v.id = id;
	v.dispatched = data.p != NULL;
	v.data = data.n > 0;
	v.bytes = data.n;
	v.hash = data.n > 0 ? map_digest(data.p, data.n) : 0;
	v.uri = str_eq(name, STR("endpoint")) ? data : STR_NONE;
	v.retry_ms = retry_ms;
	v.id_after_data = m->o.channel.policy != CHAN_SHADOW_PROMOTE && id.p;
	model_sse(l->model, e->x, &v, now(l));
}

void
log_comment(struct mcpd *m, struct hreq *req, struct str text)
{
	struct mcpd_log *l = m->log;
	struct entry *e = entry_of(l, req);

	if (e)
		model_comment(l->model, e->x, text, now(l));
}

void
log_end(struct mcpd *m, struct hreq *req, enum ev_end end)
{
	struct mcpd_log *l = m->log;
	struct entry *e = entry_of(l, req);

	if (e == NULL)
		return;
	if (e->id) {
		uint32_t k = l->n_recent++ % RECENT;

		l->recent[k].id = e->id;
		l->recent[k].stream = model_stream(e->x);
		HASH_DELETE(hh_id, l->by_id, e);
	}
	model_response_end(l->model, e->x, end, e->bytes, 0, now(l));
	HASH_DEL(l->by_req, e);
	free(e);
}

void
log_stream(struct mcpd *m, uint32_t id, struct hreq *req)
{
	struct mcpd_log *l = m->log;
	struct entry *e = entry_of(l, req);

	if (e == NULL || e->id)
		return;
	e->id = id;
	HASH_ADD(hh_id, l->by_id, id, sizeof e->id, e);
}

/* The number of a stream in the events: an open one, or one that ended. */
static uint32_t
stream_number(struct mcpd_log *l, uint32_t id)
{
	struct entry *e;

	HASH_FIND(hh_id, l->by_id, &id, sizeof id, e);
	if (e)
		return model_stream(e->x);
	for (uint32_t i = 0; i < RECENT; i++)
		if (l->recent[i].id == id)
			return l->recent[i].stream;
	return 0;
}

void
log_role(struct mcpd *m, uint32_t id, enum chan_role role, uint32_t cause)
{
	static const enum ev_role roles[] = {
		[CHAN_IS_CLOSED] = EV_CLOSED, [CHAN_IS_PRIMARY] = EV_PRIMARY,
		[CHAN_IS_SHADOW] = EV_SHADOW, [CHAN_IS_ORPHAN] = EV_ORPHAN,
		[CHAN_IS_REQUEST] = EV_REQUEST_STREAM,
	};
	struct mcpd_log *l = m->log;
	struct entry *e = NULL, *by = NULL;

	if (l == NULL)
		return;
	HASH_FIND(hh_id, l->by_id, &id, sizeof id, e);
	HASH_FIND(hh_id, l->by_id, &cause, sizeof cause, by);
	if (e)
		model_role(l->model, e->x, roles[role], by ? EV_BY_OPEN : EV_BY_CLOSE,
		    stream_number(l, cause), now(l));
}
