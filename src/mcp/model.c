#include "mcpdiag/model.h"

#include <stdlib.h>

#include "model_priv.h"

#define MAX_SPARE 64		/* exchanges kept for reuse */
/* Digests of request ids and of progress tokens share a table. */
#define TOKEN_SALT 0x9e3779b97f4a7c15ULL

/* Methods that only MCP uses: spec-rules 3.1.  Their place in the table is
 * remembered for each request, so that its answer can be named. */
static const struct str methods[] = {
	{ "", 0 },
#define M(s) { s, sizeof s - 1 }
	M("initialize"), M("ping"), M("tools/list"), M("tools/call"),
	M("prompts/list"), M("prompts/get"), M("resources/list"),
	M("resources/read"), M("resources/templates/list"),
	M("resources/subscribe"), M("resources/unsubscribe"),
	M("completion/complete"), M("logging/setLevel"), M("roots/list"),
	M("sampling/createMessage"), M("elicitation/create"),
	M("server/discover"), M("subscriptions/listen"), M("tasks/get"),
	M("tasks/cancel"), M("tasks/result"), M("tasks/list"),
#undef M
};

static uint8_t
method_index(struct str method)
{
	for (uint8_t i = 1; i < sizeof methods / sizeof methods[0]; i++)
		if (str_eq(method, methods[i]))
			return i;
	return 0;
}

static unsigned
method_points(struct str m)
{
	static const struct str shared[] = {
		{ "initialize", 10 }, { "ping", 4 }, { "tasks/get", 9 },
		{ "tasks/cancel", 12 }, { "notifications/cancelled", 23 },
		{ "notifications/progress", 22 },
	};
	static const struct str own[] = {
		{ "tools/", 6 }, { "prompts/", 8 }, { "resources/", 10 },
		{ "notifications/tools/", 20 }, { "notifications/prompts/", 22 },
		{ "notifications/resources/", 24 },
		{ "notifications/subscriptions/", 28 },
	};
	static const struct str whole[] = {
		{ "sampling/createMessage", 22 }, { "elicitation/create", 18 },
		{ "roots/list", 10 }, { "completion/complete", 19 },
		{ "server/discover", 15 }, { "subscriptions/listen", 20 },
		{ "notifications/initialized", 25 },
		{ "notifications/message", 21 }, { "logging/setLevel", 16 },
		{ "notifications/roots/list_changed", 32 },
	};

	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (str_eq(m, shared[i]))
			return 2;
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (str_pre(m, own[i]))
			return 4;
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (str_eq(m, whole[i]))
			return 4;
	return 0;
}

/* "2025-11-25": the form of a revision. */
static bool
is_date(struct str s)
{
	static const char form[] = "dddd-dd-dd";

	if (s.n != sizeof form - 1)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (form[i] == 'd' ? s.p[i] < '0' || s.p[i] > '9' : s.p[i] != form[i])
			return false;
	return true;
}

/* Revisions from 2026-07-28 on have no sessions. */
static bool
is_modern(struct str version)
{
	return is_date(version) && str_cmp(version, STR("2026-01-01")) > 0;
}

struct model *
model_new(const struct limits *lim, bool show_secrets, ev_fn *out, void *arg)
{
	struct model *m = xcalloc(1, sizeof *m);

	m->lim = *lim;
	m->show_secrets = show_secrets;
	m->out = out;
	m->arg = arg;
	buf_init(&m->scratch, 1 << 18);
	return m;
}

void
model_free(struct model *m)
{
	if (m == NULL)
		return;
	sessions_fini(m);
	endpoints_fini(m);
	while (m->spare) {
		struct mexch *x = m->spare;

		LL_DELETE(m->spare, x);
		free(x);
	}
	buf_fini(&m->scratch);
	free(m);
}

struct mconn *
model_conn(struct model *m, const char *client, const char *server, bool midstream,
    struct at at)
{
	struct mconn *c = xcalloc(1, sizeof *c);

	c->id = ++m->n_conn;
	c->ep = endpoint_get(m, server);
	c->client = xmemdup0(client, strlen(client));
	c->opened = at;
	c->flags = midstream ? EVF_MIDSTREAM : 0;
	return c;
}

static struct ev
conn_ev(const struct mconn *c, enum ev_type type, enum ev_dir dir, struct at at)
{
	return (struct ev){ .type = type, .t = at.t, .pkt = at.pkt, .dir = dir,
	    .conn = c->id, .flags = c->flags };
}

static void
tell_conn(struct model *m, struct mconn *c)
{
	struct ev e = conn_ev(c, EV_CONN, EV_C2S, c->opened);

	if (c->told)
		return;
	c->told = true;
	e.u.conn.client = str_c(c->client);
	e.u.conn.server = str_c(c->ep->name);
	model_emit(m, c->ep, &e);
}

static void
free_exchange(struct model *m, struct mexch *x)
{
	DL_DELETE(x->conn->list, x);
	session_drop(m, x);
	free(x->cursor);
	free(x->agent);
	free(x->client);
	free(x->offer);
	if (m->n_spare >= MAX_SPARE) {
		free(x);
		return;
	}
	LL_PREPEND(m->spare, x);
	m->n_spare++;
}

static struct mexch *
new_exchange(struct model *m)
{
	struct mexch *x = m->spare;

	if (x == NULL)
		return xcalloc(1, sizeof *x);
	LL_DELETE(m->spare, x);
	m->n_spare--;
	*x = (struct mexch){ .st = NULL };
	return x;
}

static void
maybe_free(struct model *m, struct mexch *x)
{
	if (x->req_done && x->resp_done)
		free_exchange(m, x);
}

void
model_conn_close(struct model *m, struct mconn *c, enum ev_dir dir, const char *how,
    bool by_peer, struct at at)
{
	struct ev e = conn_ev(c, EV_CONN_END, dir, at);
	struct mexch *x;

	c->closed[dir] = true;
	if (!c->told)
		return;
	DL_FOREACH(c->list, x) {
		x->client_closed |= dir == EV_C2S;
		if (x->st) {		/* the stream that it takes along */
			e.session = x->s ? x->s->n : 0;
			e.stream = x->st->n;
			e.x = x->id;
		}
	}
	e.u.conn_end.how = str_c(how);
	e.u.conn_end.by_peer = by_peer;
	model_emit(m, c->ep, &e);
}

void
model_conn_end(struct model *m, struct mconn *c, struct at at)
{
	if (c == NULL)
		return;
	while (c->list) {
		struct mexch *x = c->list;

		if (x->st)
			stream_close(m, x, EV_LOST, 0, at);
		free_exchange(m, x);
	}
	c->ep->n_refs--;
	free(c->client);
	free(c);
}

void
model_gap(struct model *m, struct mconn *c, enum ev_dir dir, uint64_t bytes, struct at at)
{
	struct mexch *x;
	struct ev e;

	c->flags |= EVF_GAP;
	DL_FOREACH(c->list, x) {
		x->flags |= EVF_GAP;
	}
	tell_conn(m, c);
	e = conn_ev(c, EV_GAP, dir, at);
	e.u.gap.bytes = bytes;
	model_emit(m, c->ep, &e);
}

void
model_stall(struct model *m, struct mconn *c, uint64_t bytes, bool zero_window,
    struct at since, struct at now)
{
	struct mexch *x, *open = NULL;
	struct ev e;

	tell_conn(m, c);
	DL_FOREACH(c->list, x) {
		if (x->st)
			open = x;
	}
	e = open ? model_ev(open, EV_STALL, EV_S2C, now) : conn_ev(c, EV_STALL, EV_S2C, now);
	e.u.stall.bytes = bytes;
	e.u.stall.since = since.t;
	e.u.stall.since_pkt = since.pkt;
	e.u.stall.zero_window = zero_window;
	model_emit(m, c->ep, &e);
}

static char *
keep(struct str s)
{
	return s.p ? xmemdup0(s.p, s.n < 4096 ? s.n : 4096) : NULL;
}

/* Appends to the scratch buffer; the strings are made when it is full, since
 * it may move until then. */
struct span {
	size_t from, to;
	bool there;
};

static struct span
shown(struct model *m, struct str raw, bool target)
{
	struct span s = { m->scratch.n, 0, raw.p != NULL };

	if (target)
		target_print(m, raw, &m->scratch);
	else
		secret_print(m, raw, &m->scratch);
	s.to = m->scratch.n;
	return s;
}

static struct str
span_str(const struct model *m, struct span s)
{
	return s.there ? str_of((m->scratch.p ? m->scratch.p : "") + s.from,
	    s.to - s.from) : STR_NONE;
}

/* What a GET's head says of the client. */
static uint32_t
get_signs(const struct session *s, const struct model_request *r)
{
	uint32_t signs = r->user_agent.p ? 0 : CSIGN_NO_AGENT;

	if (str_eq(r->accept, STR("text/event-stream, application/json")))
		signs |= CSIGN_SSE_JSON;
	signs |= r->accept_capital && r->accept_lower ? CSIGN_BOTH :
	    r->accept_capital ? CSIGN_CAPITAL : r->accept_lower ? CSIGN_LOWER : 0;
	/* Only where the handshake was captured from its start. */
	if (s->client && !s->initialized)
		signs |= CSIGN_EARLY_GET;
	return signs;
}

static void
tell_request(struct model *m, struct mexch *x, const struct model_request *r, struct at at)
{
	struct ev e = model_ev(x, EV_REQUEST, EV_C2S, at);
	struct span sid, auth, target;

	buf_clear(&m->scratch);
	sid = shown(m, r->session_id, false);
	auth = shown(m, r->authorization, false);
	target = shown(m, r->target, true);
	e.u.req.n = r->n;
	e.u.req.method = r->method;
	e.u.req.target = span_str(m, target);
	e.u.req.host = r->host;
	e.u.req.sid = span_str(m, sid);
	e.u.req.cursor = r->last_event_id;
	e.u.req.version = r->protocol_version;
	e.u.req.accept = r->accept;
	e.u.req.content_type = r->content_type;
	e.u.req.agent = r->user_agent;
	e.u.req.auth = span_str(m, auth);
	e.u.req.origin = r->origin;
	model_emit(m, x->ep, &e);
}

/* Evidence in the head of a request: spec-rules 3.1. */
static unsigned
request_points(const struct mexch *x, const struct model_request *r)
{
	bool accepts_both =
	    str_find(r->accept, STR("text/event-stream")) != SIZE_MAX &&
	    str_find(r->accept, STR("application/json")) != SIZE_MAX;

	return (is_date(r->protocol_version) ? 5u : 0) + (x->has_sid ? 5u : 0) +
	    (r->mcp_method.p ? 5u : 0) + (x->post && accepts_both ? 2u : 0);
}

struct mexch *
model_request(struct model *m, struct mconn *c, const struct model_request *r, struct at at)
{
	struct mexch *x = new_exchange(m);

	x->id = ++m->n_x;
	x->conn = c;
	x->conn_id = c->id;
	x->ep = c->ep;
	x->client_closed = c->closed[EV_C2S];
	x->head_lost = r->head_lost;
	x->flags = c->flags | (r->head_lost ? EVF_HEAD_LOST : 0);
	x->requested = at;
	x->cursor = keep(r->last_event_id);
	if (r->session_id.p == NULL)	/* who it is, without a session */
		x->agent = keep(r->user_agent);
	x->auth = r->authorization.p ?
	    map_digest(r->authorization.p, r->authorization.n) : 0;
	x->get = str_eq(r->method, STR("GET"));
	x->post = str_eq(r->method, STR("POST"));
	x->del = str_eq(r->method, STR("DELETE"));
	x->has_sid = r->session_id.p != NULL;
	x->asks_stream = str_find(r->accept, STR("text/event-stream")) != SIZE_MAX;
	x->modern = is_modern(r->protocol_version) || r->mcp_method.p != NULL;
	DL_APPEND(c->list, x);
	tell_conn(m, c);

	if (!x->ep->mcp)
		exchange_score(m, x, request_points(x, r));
	if (x->has_sid && !x->modern) {
		session_hold(m, x, session_by_sid(m, c->ep, r->session_id, at));
		if (x->s->revision == NULL && r->protocol_version.p) {
			session_set(&x->s->revision, r->protocol_version);
			session_tell(m, x->s, at);
		}
	} else if (x->post && r->target.n && !x->modern)
		session_hold(m, x, session_find_uri(m, c->ep, r->target));
	if (x->s && x->s->agent == NULL && r->user_agent.p)
		session_set(&x->s->agent, r->user_agent);
	if (x->s && x->get && !x->head_lost)
		x->s->csigns |= get_signs(x->s, r);
	tell_request(m, x, r, at);
	return x;
}

static struct ev
msg_ev(struct mexch *x, enum ev_dir dir, const struct rpc_msg *msg, uint64_t hash,
    struct at at)
{
	struct ev e = model_ev(x, EV_MESSAGE, dir, at);

	e.u.msg.kind = msg->kind == RPC_REQUEST ? EV_MSG_REQUEST :
	    msg->kind == RPC_NOTIFICATION ? EV_MSG_NOTIFICATION :
	    msg->kind == RPC_RESPONSE ? EV_MSG_RESPONSE :
	    msg->kind == RPC_ERROR ? EV_MSG_ERROR : EV_MSG_INVALID;
	e.u.msg.method = msg->method;
	e.u.msg.id = msg->id;
	e.u.msg.code = msg->code;
	e.u.msg.error = msg->message;
	e.u.msg.cancels = msg->cancel_id;
	e.u.msg.name = msg->name.p ? msg->name : msg->uri;
	e.u.msg.hash = hash;
	e.u.msg.batch = msg->batch;
	return e;
}

/* "name/version", whichever is there. */
static void
set_software(char **field, struct str name, struct str version)
{
	struct buf b;

	if (*field || name.p == NULL)
		return;
	buf_init(&b, 4096);
	(void)buf_adds(&b, name);
	if (version.n && buf_addc(&b, '/') == 0)
		(void)buf_adds(&b, version);
	session_set(field, buf_str(&b));
	buf_fini(&b);
}

static void
remember_request(struct model *m, struct mexch *x, const struct rpc_msg *msg)
{
	struct str token = msg->meta_token;
	struct idrec *r;
	int fresh;

	if (x->s == NULL)
		return;
	r = idtab_put(&x->s->reqs, map_digest(msg->id.p, msg->id.n), &fresh);
	r->a = x->id;
	r->b = method_index(msg->method);
	if (token.p) {
		r = idtab_put(&x->s->reqs, map_digest(token.p, token.n) ^ TOKEN_SALT, &fresh);
		r->a = x->id;
		r->b = 0;
	}
	session_forgot(m, x->s);
}

void
model_request_msg(struct model *m, struct mexch *x, const struct rpc_msg *msg,
    uint64_t hash, struct at at)
{
	struct ev e;

	if (!x->ep->mcp)
		exchange_score(m, x, (msg->jsonrpc2 ? 1u : 0) +
		    method_points(msg->method) + (msg->meta_mcp ? 5u : 0) +
		    (is_date(msg->protocol_version) && msg->client_name.p ? 5u : 0));
	x->mcp_msg |= msg->jsonrpc2;
	if (is_modern(msg->meta_version))
		x->modern = true;
	if (str_eq(msg->method, STR("subscriptions/listen")))
		x->listen = x->modern = true;
	if (x->s && str_eq(msg->method, STR("notifications/initialized")))
		x->s->initialized = true;
	if (msg->kind == RPC_REQUEST) {
		if (str_eq(msg->method, STR("initialize"))) {
			x->init = true;
			x->csigns = fingerprint_first_id(msg->id);
		}
		remember_request(m, x, msg);
	}
	if (x->init && x->s) {		/* initialize on an existing session */
		set_software(&x->s->client, msg->client_name, msg->client_version);
	} else if (x->init && msg->client_name.p) {
		/* Its session comes with the response; until then: */
		set_software(&x->client, msg->client_name, msg->client_version);
		session_set(&x->offer, msg->protocol_version);
	}
	e = msg_ev(x, EV_C2S, msg, hash, at);
	e.u.msg.of = x->id;
	model_emit(m, x->ep, &e);
}

void
model_request_end(struct model *m, struct mexch *x, enum ev_end end, uint64_t bytes,
    uint32_t flags, struct at at)
{
	struct ev e = model_ev(x, EV_REQUEST_END, EV_C2S, at);

	if (x->req_done)
		return;
	x->req_done = true;
	e.flags |= flags;
	e.u.end.end = end;
	e.u.end.bytes = bytes;
	model_emit(m, x->ep, &e);
	maybe_free(m, x);
}

static void
response_signs(struct session *s, const struct mexch *x, const struct model_response *r)
{
	s->signs |= str_ieq(r->x_accel, STR("no")) ? SIGN_X_ACCEL : 0;
	s->signs |= str_ipre(r->cache_control, STR("no-cache, no-transform")) ?
	    SIGN_NO_TRANSFORM : 0;
	s->signs |= r->event_stream && str_find(r->content_type, STR("charset")) != SIZE_MAX ?
	    SIGN_CHARSET : 0;
	s->signs |= str_ipre(r->cache_control, STR("no-cache,no-store")) &&
	    str_ieq(r->coding, STR("identity")) ? SIGN_NO_STORE : 0;
	s->signs |= str_ipre(r->powered_by, STR("Express")) ? SIGN_EXPRESS : 0;
	s->signs |= str_ipre(r->server, STR("uvicorn")) ? SIGN_UVICORN : 0;
	s->signs |= str_ipre(r->server, STR("Kestrel")) ? SIGN_KESTREL : 0;
	if (x->get && r->status == 409)
		s->signs |= SIGN_CONFLICT;
	if (x->has_sid && (r->status == 401 || r->status == 404))
		s->signs |= r->status == 401 ? SIGN_401 : SIGN_404;
}

/* The session of an exchange whose request did not name one. */
static void
find_session(struct model *m, struct mexch *x, const struct model_response *r, struct at at)
{
	struct session *s;

	if (x->modern || x->s)
		return;
	if (r->session_id.p) {
		exchange_score(m, x, 5);
		s = session_by_sid(m, x->conn->ep, r->session_id, at);
	} else if (x->post && x->mcp_msg && x->conn->ep->mcp && r->status / 100 == 2)
		s = session_logical(m, x, at);
	else if (x->get && x->asks_stream && !r->event_stream)
		/* An event stream's first event may tell more. */
		s = session_find_logical(m, x);
	else
		return;
	if (s == NULL)
		return;
	session_hold(m, x, s);
	s->csigns |= x->csigns;
	if (x->client)
		set_software(&s->client, str_c(x->client), STR_NONE);
	if (s->agent == NULL && x->agent)
		session_set(&s->agent, str_c(x->agent));
	if (s->revision == NULL && x->offer) {
		session_set(&s->revision, str_c(x->offer));
		s->offered = true;
	}
	session_tell(m, s, at);
}

/* What a session id may be made of: transports, Session Management. */
static bool
is_visible(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x21 || (unsigned char)s.p[i] > 0x7e)
			return false;
	return true;
}

void
model_response(struct model *m, struct mexch *x, const struct model_response *r,
    struct at at)
{
	struct ev e;
	struct span sid, location;

	x->status = r->status;
	x->event_stream = r->event_stream;
	if (r->head_lost)
		x->flags |= EVF_HEAD_LOST;
	find_session(m, x, r, at);
	if (x->s)
		response_signs(x->s, x, r);
	e = model_ev(x, EV_RESPONSE, EV_S2C, at);
	buf_clear(&m->scratch);
	sid = shown(m, r->session_id, false);
	location = shown(m, r->location, true);
	e.u.resp.sid = span_str(m, sid);
	e.u.resp.location = span_str(m, location);
	e.u.resp.via = r->via;
	e.u.resp.challenge = r->challenge.p != NULL;
	e.u.resp.sid_odd = !is_visible(r->session_id);
	e.u.resp.status = r->status;
	e.u.resp.content_type = r->content_type;
	e.u.resp.server = r->server;
	e.u.resp.coding = r->coding;
	e.u.resp.framing = str_c(r->framing);
	e.u.resp.event_stream = r->event_stream;
	model_emit(m, x->ep, &e);
	if (r->event_stream)
		stream_open(m, x, at);
}

void
model_roles_told(struct model *m)
{
	m->roles_told = true;
}

void
model_sse(struct model *m, struct mexch *x, const struct model_sse *v, struct at at)
{
	if (x->st)
		stream_event(m, x, v, at);
}

static uint32_t
comment_sign(struct str t)
{
	if (t.n == 0)
		return SIGN_BARE_COMMENT;
	t = str_trim(t);
	return str_pre(t, STR("ping - ")) ? SIGN_PING_TS :
	    str_eq(t, STR("keepalive")) ? SIGN_KEEPALIVE :
	    str_eq(t, STR("ok")) ? SIGN_OK : 0;
}

void
model_comment(struct model *m, struct mexch *x, struct str text, struct at at)
{
	struct ev e;

	if (x->st == NULL)
		return;
	if (x->comments++ == 0) {	/* what follows is alike */
		if (!x->st->told)
			stream_tell(m, x, x->cursor ? EV_RESUMED : EV_STANDALONE);
		if (x->s)
			x->s->signs |= comment_sign(text);
	}
	x->last_byte = at.t;
	e = model_ev(x, EV_COMMENT, EV_S2C, at);
	if (x->client_closed)
		e.flags |= EVF_LATE;
	e.u.comment.text = text;
	model_emit(m, x->ep, &e);
}

/* Which request of the session a server message is tied to; 0 when to none. */
static uint32_t
tied_to(struct mexch *x, const struct rpc_msg *msg, struct ev *e)
{
	struct idrec *r = NULL;
	struct str token = msg->progress_token;

	if (msg->kind == RPC_RESPONSE || msg->kind == RPC_ERROR) {
		if (msg->id.p)
			r = idtab_get(&x->s->reqs, map_digest(msg->id.p, msg->id.n));
		if (r && r->b)
			e->u.msg.answers = methods[r->b];
	} else if (token.p) {
		r = idtab_get(&x->s->reqs, map_digest(token.p, token.n) ^ TOKEN_SALT);
	}
	return r ? r->a : 0;
}

static void
learn_result(struct model *m, struct mexch *x, const struct rpc_msg *msg, struct at at)
{
	struct session *s = x->s;

	if (is_date(msg->result_version) && (msg->server_name.p || msg->has_capabilities))
		exchange_score(m, x, 5);
	if (msg->supported_versions && msg->has_capabilities)
		exchange_score(m, x, 5);
	if (s == NULL || !is_date(msg->result_version))
		return;
	session_set(&s->revision, msg->result_version);
	s->offered = false;
	s->list_changed = msg->list_changed || msg->subscribe;
	set_software(&s->server, msg->server_name, msg->server_version);
	session_tell(m, s, at);
}

static uint32_t
error_signs(const struct mexch *x, const struct rpc_msg *msg)
{
	uint32_t signs = str_eq(msg->id, STR("\"server-error\"")) ? SIGN_SERVER_ERROR : 0;

	if (x->status == 409 && str_pre(msg->message,
	    STR("Conflict: Only one SSE stream is allowed per session")))
		signs |= SIGN_ONE_STREAM;
	return signs;
}

void
model_response_msg(struct model *m, struct mexch *x, const struct rpc_msg *msg,
    uint64_t hash, struct at at)
{
	bool answer = msg->kind == RPC_RESPONSE || msg->kind == RPC_ERROR;
	struct ev e = msg_ev(x, EV_S2C, msg, hash, at);

	if (!x->ep->mcp)
		exchange_score(m, x, (msg->jsonrpc2 ? x->st ? 2u : 1u : 0) +
		    method_points(msg->method) + (msg->meta_mcp ? 5u : 0));
	if (answer)
		learn_result(m, x, msg, at);
	if (x->s && msg->kind == RPC_ERROR)
		x->s->signs |= error_signs(x, msg);
	if (x->client_closed)
		e.flags |= EVF_LATE;
	e.u.msg.sse = x->st != NULL;
	e.u.msg.of = x->post && answer ? x->id : 0;
	if (x->s)
		e.u.msg.of = tied_to(x, msg, &e);
	if (x->st == NULL)
		e.u.msg.channel = EV_CH_NONE;
	else if (x->post || answer || e.u.msg.of || msg->related_task ||
	    stream_of_request(x->st))
		e.u.msg.channel = EV_CH_REQUEST;
	else
		e.u.msg.channel = EV_CH_COMMON;
	if (x->st && answer) {
		x->st->had_response = true;
		if (x->st->owned && x->cursor)
			stream_answers(m, x, at);
	}
	model_emit(m, x->ep, &e);
	if (e.u.msg.channel == EV_CH_COMMON)
		stream_common(m, x, at);
}

static void
end_session(struct model *m, struct mexch *x, struct at at)
{
	struct ev e = model_ev(x, EV_SESSION_END, EV_S2C, at);

	x->s->deleted = true;
	model_emit(m, x->ep, &e);
}

void
model_response_end(struct model *m, struct mexch *x, enum ev_end end, uint64_t bytes,
    uint32_t flags, struct at at)
{
	struct ev e;
	bool legacy;

	if (x->resp_done)
		return;
	legacy = x->st && x->st->kind == EV_LEGACY;
	if (x->st)
		stream_close(m, x, end, flags, at);
	x->resp_done = true;
	e = model_ev(x, EV_RESPONSE_END, EV_S2C, at);
	e.flags |= flags;
	e.u.end.end = end;
	e.u.end.bytes = bytes;
	model_emit(m, x->ep, &e);
	if (x->s && end != EV_OPEN &&
	    (legacy || (x->del && x->has_sid && x->status / 100 == 2)))
		end_session(m, x, at);
	maybe_free(m, x);
}

void
model_anomaly(struct model *m, struct mconn *c, const char *name, const char *text,
    struct at at)
{
	struct ev e;

	tell_conn(m, c);
	e = conn_ev(c, EV_ANOMALY, EV_C2S, at);
	e.u.note.name = str_c(name);
	e.u.note.text = str_c(text);
	model_emit(m, c->ep, &e);
}

void
model_note(struct model *m, const char *name, const char *text, struct at at)
{
	struct ev e = { .type = EV_NOTE, .t = at.t, .pkt = at.pkt };

	e.u.note.name = str_c(name);
	e.u.note.text = str_c(text);
	m->out(m->arg, &e);
}

void
model_end(struct model *m, const struct model_total *t, struct at at)
{
	struct ev e = { .type = EV_END, .t = at.t, .pkt = at.pkt };
	struct endpoint *ep;

	DL_FOREACH(m->ep_lru, ep) {
		m->unread += !ep->mcp && ep->score > 0;
	}
	e.u.total.packets = t->packets;
	e.u.total.tcp_connections = t->tcp_connections;
	e.u.total.gaps = t->gaps;
	e.u.total.gap_bytes = t->gap_bytes;
	e.u.total.dropped = t->dropped;
	e.u.total.truncated = t->truncated;
	e.u.total.encrypted = t->encrypted;
	e.u.total.http2 = t->http2;
	e.u.total.other = t->other;
	e.u.total.unread = m->unread;
	e.u.total.first = t->first;
	e.u.total.last = t->last;
	m->out(m->arg, &e);
}
