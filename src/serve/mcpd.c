#include "mcpdiag/mcpd.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpd_priv.h"
#include "mcpdiag/xmem.h"

#define MAX_STREAMS 1024	/* of one session, whatever the policy */
#define GRACE (20 * NS_MS)	/* for the last bytes to leave: a look, */
#define GRACE_MAX NS_S		/* and when it is the last */
#define EMPTY_200 STR("{}")

/* ---- what is asked for, and by whom ---- */

/* The name in "name", "name:port", "[::1]:port", "[::1]": without brackets. */
static struct str
host_name(struct str s)
{
	bool literal = s.n > 0 && s.p[0] == '[';
	size_t end = str_find(s, literal ? STR("]") : STR(":"));

	if (literal)
		return end == SIZE_MAX ? STR_NONE : str_of(s.p + 1, end - 1);
	return str_of(s.p, end == SIZE_MAX ? s.n : end);
}

/* A page of another site must not reach us through a name of its own that
 * points here: DNS rebinding, transports page, "Security Warning". */
static bool
host_allowed(const struct mcpd *m, struct str host)
{
	static const char *const loopback[] = { "localhost", "127.0.0.1", "::1", NULL };
	struct str name = host_name(host);

	for (const char *const *h = loopback; *h; h++)
		if (str_ieq(name, str_c(*h)))
			return true;
	for (const char *const *h = m->o.hosts; h && *h; h++)
		if (strcmp(*h, "*") == 0 || str_ieq(name, str_c(*h)) ||
		    (**h == '[' && str_ieq(name, host_name(str_c(*h)))))
			return true;
	return false;
}

bool
origin_allowed(const struct mcpd *m, struct str origin)
{
	if (origin.p == NULL)
		return true;
	if (str_ipre(origin, STR("http://")))
		return host_allowed(m, str_of(origin.p + 7, origin.n - 7));
	if (str_ipre(origin, STR("https://")))
		return host_allowed(m, str_of(origin.p + 8, origin.n - 8));
	return false;
}

static bool
is_json(struct str type)
{
	size_t semicolon = str_find(type, STR(";"));

	if (semicolon != SIZE_MAX)
		type.n = semicolon;
	return str_ieq(str_trim(type), STR("application/json"));
}

/* Whether one Accept value takes major/minor (RFC 9110 12.5.1; weights are
 * not looked at). */
static bool
accept_takes(struct str accept, struct str major, struct str minor)
{
	while (accept.n > 0) {
		size_t comma = str_find(accept, STR(","));
		size_t n = comma == SIZE_MAX ? accept.n : comma;
		struct str range = str_of(accept.p, n);
		size_t semicolon = str_find(range, STR(";")), slash;

		if (semicolon != SIZE_MAX)
			range.n = semicolon;
		range = str_trim(range);
		slash = str_find(range, STR("/"));
		if (slash != SIZE_MAX) {
			struct str a = str_of(range.p, slash);
			struct str b = str_of(range.p + slash + 1, range.n - slash - 1);

			if ((str_ieq(a, major) || str_eq(a, STR("*"))) &&
			    (str_ieq(b, minor) || str_eq(b, STR("*"))))
				return true;
		}
		n += comma != SIZE_MAX;
		accept = str_of(accept.p + n, accept.n - n);
	}
	return false;
}

static bool
accepts(const struct hreq *req, struct str major, struct str minor)
{
	struct str name = STR("Accept"), value;

	for (unsigned k = 0; (value = hreq_header_at(req, name, k)).p; k++)
		if (accept_takes(value, major, minor))
			return true;
	return false;
}

static bool
accepts_stream(const struct hreq *req)
{
	return accepts(req, STR("text"), STR("event-stream"));
}

/* ---- sessions ---- */

static enum rev
negotiate(const struct call *c)
{
	enum rev r = rev_of(arg_str(c, ARG_VERSION));

	return r <= REV_2025_11 ? r : REV_2025_11;
}

void
session_begin(struct session *s, const struct call *c)
{
	s->rev = negotiate(c);
	s->sampling = c->v[ARG_SAMPLING].raw.p != NULL;
	s->elicitation = c->v[ARG_ELICITATION].raw.p != NULL;
}

/* The session a request names; NULL: it has been answered. */
static struct session *
need_session(struct mcpd *m, struct hreq *req, struct str id)
{
	struct str sid = hreq_header(req, STR("Mcp-Session-Id"));
	struct session *s = session_find(m, sid);
	bool brain;

	if (sid.n == 0) {
		refuse(m, req, m->o.lost_session_401 ? 401 : 400, -32000, id,
		    "Mcp-Session-Id is missing", STR_NONE);
		return NULL;
	}
	brain = s && has_fault(m, FAULT_SPLIT_BRAIN) && (s->odd = !s->odd) == false;
	if (s == NULL || s->legacy || brain) {
		refuse(m, req, m->o.lost_session_401 ? 401 : 404, -32001, id,
		    "Session not found", STR_NONE);
		return NULL;
	}
	if (fault_challenges(s, req))
		return NULL;
	session_touch(s);
	return s;
}

/* ---- POST ---- */

static const struct call *
initialize_of(const struct calls *cs)
{
	for (uint32_t i = 0; i < cs->n; i++)
		if (cs->at[i].kind == CALL_REQUEST &&
		    str_eq(arg_str(&cs->at[i], ARG_METHOD), STR("initialize")))
			return &cs->at[i];
	return NULL;
}

static void
initialize(struct mcpd *m, struct hreq *req, const struct call *c)
{
	struct str sid = hreq_header(req, STR("Mcp-Session-Id"));
	struct session *s;
	struct answer *a;

	if (m->calls.batch) {
		refuse(m, req, 400, -32600, c->id, "initialize must not be in a batch",
		    STR_NONE);
		return;
	}
	if (sid.n > 0) {
		if (need_session(m, req, c->id))
			refuse(m, req, 400, -32600, c->id,
			    "This session is initialized already", STR_NONE);
		return;
	}
	if (c->v[ARG_VERSION].kind != JSON_STRING || arg_str(c, ARG_VERSION).p == NULL) {
		refuse(m, req, 400, -32602, c->id, "protocolVersion is missing", STR_NONE);
		return;
	}
	s = session_new(m, negotiate(c), false);
	if (s == NULL) {
		refuse(m, req, 503, -32000, c->id, "Too many sessions", STR_NONE);
		return;
	}
	session_begin(s, c);
	a = answer_new(m, s, req, s->rev, 1, false, true);
	rpc_call(a, c);
	answer_unref(a);
}

static void
post_to_session(struct mcpd *m, struct hreq *req)
{
	struct calls *cs = &m->calls;
	struct str version = hreq_header(req, STR("MCP-Protocol-Version"));
	struct str first = cs->at[0].kind == CALL_REQUEST ? cs->at[0].id : STR_NONE;
	struct session *s;
	struct answer *a;
	uint32_t requests = 0;

	if (version.p && rev_of(version) > REV_2025_11) {
		refuse(m, req, 400, -32000, first, "Unsupported MCP-Protocol-Version",
		    STR_NONE);
		return;
	}
	s = need_session(m, req, first);
	if (s == NULL)
		return;
	if (cs->batch && s->rev != REV_2025_03) {
		refuse(m, req, 400, -32600, STR_NONE, "This revision has no batches",
		    STR_NONE);
		return;
	}
	for (uint32_t i = 0; i < cs->n; i++)
		requests += cs->at[i].kind == CALL_REQUEST;
	if (requests > 0 && s->n_streams >= MAX_STREAMS) {
		refuse(m, req, 503, -32000, first, "Too many streams", STR_NONE);
		return;
	}
	if (requests == 0) {
		for (uint32_t i = 0; i < cs->n; i++)
			rpc_note(s, &cs->at[i]);
		if (has_fault(m, FAULT_ACCEPTED_200))
			reply(m, req, 200, "application/json", EMPTY_200);
		else
			reply(m, req, 202, NULL, STR(""));
		return;
	}
	a = answer_new(m, s, req, s->rev, requests, cs->batch, false);
	rpc_dispatch(a, s);
	answer_unref(a);
}

static bool
any_invalid(const struct calls *cs)
{
	for (uint32_t i = 0; i < cs->n; i++)
		if (cs->at[i].kind == CALL_INVALID)
			return true;
	return cs->n == 0 || cs->too_many;
}

static void
post(struct mcpd *m, struct hreq *req)
{
	struct calls *cs = &m->calls;
	const struct call *init;

	if (!is_json(hreq_header(req, STR("Content-Type")))) {
		refuse(m, req, 415, -32000, STR_NONE,
		    "Content-Type must be application/json", STR_NONE);
		return;
	}
	if (!accepts_stream(req) || !accepts(req, STR("application"), STR("json"))) {
		refuse(m, req, 406, -32000, STR_NONE, "Accept must have both "
		    "application/json and text/event-stream", STR_NONE);
		return;
	}
	if (calls_read(cs, hreq_body(req)) != 0) {
		refuse(m, req, 400, -32700, STR_NONE, "The body is no JSON", STR_NONE);
		return;
	}
	if (any_invalid(cs)) {
		refuse(m, req, 400, -32600, STR_NONE, "The body is no JSON-RPC message",
		    STR_NONE);
		return;
	}
	init = initialize_of(cs);
	if (is_modern(req, cs))
		modern_post(m, req);
	else if (init)
		initialize(m, req, init);
	else
		post_to_session(m, req);
}

/* ---- GET, DELETE ---- */

#define METHODS "GET, POST, DELETE, OPTIONS"

static void
not_allowed(struct mcpd *m, struct hreq *req, const char *allow)
{
	head_lines(m, req, NULL);
	(void)buf_fmt(&m->head, "Allow: %s\r\n", allow);
	log_response(m, req, 405, NULL, STR_NONE);
	log_end(m, req, EV_COMPLETE);
	hreq_reply(req, 405, buf_str(&m->head), STR(""));
}

/* The faults that decide over a GET before the channel does. */
static bool
get_misbehaves(struct session *s, struct hreq *req)
{
	struct mcpd *m = s->m;
	struct xchg *x;

	if (has_fault(m, FAULT_REFUSE_GET)) {
		reply(m, req, m->o.faults.value[FAULT_REFUSE_GET], "text/plain", STR(""));
	} else if (has_fault(m, FAULT_GET_TEXT)) {
		reply(m, req, 200, "text/plain", STR("ok\n"));
	} else if (has_fault(m, FAULT_FINITE_GET)) {
		x = xchg_new(m, s, req);
		out_begin(x, false);
		out_end(x);
	} else if (has_fault(m, FAULT_ZOMBIE) && hreq_header(req, STR("Last-Event-ID")).p) {
		x = xchg_new(m, s, req);
		x->get = x->mute = true;
		out_begin(x, false);
	} else if (has_fault(m, FAULT_STALE_SLOT) && s->slot_taken &&
	    (s->slot_free == 0 || s->slot_free > loop_mono(m->loop))) {
		refuse(m, req, 409, -32000, STR_NONE,
		    "Conflict: Only one SSE stream is allowed per session", STR_NONE);
	} else if (has_fault(m, FAULT_KILL_REFUSED) && chan_primary(s->ch)) {
		refuse(m, req, 409, -32000, STR_NONE,
		    "Conflict: Only one SSE stream is allowed per session", STR_NONE);
		chan_poll(s->ch);
	} else {
		s->slot_taken = has_fault(m, FAULT_STALE_SLOT);
		s->slot_free = 0;
		return false;
	}
	return true;
}

static void
get(struct mcpd *m, struct hreq *req)
{
	struct session *s;
	struct xchg *x;

	if (str_eq(hreq_header(req, STR("MCP-Protocol-Version")), STR("2026-07-28"))) {
		not_allowed(m, req, "POST");
		return;
	}
	if (!accepts_stream(req)) {
		refuse(m, req, 406, -32000, STR_NONE, "Accept must have text/event-stream",
		    STR_NONE);
		return;
	}
	s = need_session(m, req, STR_NONE);
	if (s == NULL || get_misbehaves(s, req))
		return;
	if (s->n_streams >= MAX_STREAMS) {
		refuse(m, req, 503, -32000, STR_NONE, "Too many streams", STR_NONE);
		return;
	}
	x = xchg_new(m, s, req);
	x->get = true;
	chan_get(s->ch, x->id, hreq_header(req, STR("Last-Event-ID")));
	ping_first(s);
}

static void
delete(struct mcpd *m, struct hreq *req)
{
	struct session *s;

	if (str_eq(hreq_header(req, STR("MCP-Protocol-Version")), STR("2026-07-28"))) {
		not_allowed(m, req, "POST");
		return;
	}
	s = need_session(m, req, STR_NONE);
	if (s == NULL)
		return;
	reply(m, req, 204, NULL, STR(""));
	session_end(s);
}

/* A browser asks first: Fetch, CORS-preflight request. */
static void
options(struct mcpd *m, struct hreq *req)
{
	head_lines(m, req, NULL);
	(void)buf_adds(&m->head, STR("Allow: " METHODS "\r\n"
	    "Access-Control-Allow-Methods: GET, POST, DELETE\r\n"
	    "Access-Control-Allow-Headers: Accept, Authorization, Content-Type, Last-Event-ID, "
	    "Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name\r\n"
	    "Access-Control-Max-Age: 600\r\n"));
	log_response(m, req, 204, NULL, STR_NONE);
	log_end(m, req, EV_COMPLETE);
	hreq_reply(req, 204, buf_str(&m->head), STR(""));
}

/* ---- HTTP ---- */

static void
mcp(struct mcpd *m, struct hreq *req)
{
	struct str method = hreq_method(req);

	if (str_eq(method, STR("POST")))
		post(m, req);
	else if (str_eq(method, STR("GET")))
		get(m, req);
	else if (str_eq(method, STR("DELETE")))
		delete(m, req);
	else
		not_allowed(m, req, METHODS);
}

static void
route(struct mcpd *m, struct hreq *req)
{
	struct str target = hreq_target(req), query = STR(""), method = hreq_method(req);
	size_t mark = str_find(target, STR("?"));

	if (mark != SIZE_MAX) {
		query = str_of(target.p + mark + 1, target.n - mark - 1);
		target.n = mark;
	}
	if (str_eq(method, STR("OPTIONS")))
		options(m, req);
	else if (fault_redirects(m, req, target, query))
		return;
	else if (str_eq(target, STR("/mcp")) ||
	    (has_fault(m, FAULT_REDIRECT) && str_eq(target, STR("/mcp/"))))
		mcp(m, req);
	else if (m->o.legacy && str_eq(target, STR("/sse")) && str_eq(method, STR("GET")))
		legacy_get(m, req);
	else if (m->o.legacy && str_eq(target, STR("/messages")) && str_eq(method, STR("POST")))
		legacy_post(m, req, query);
	else
		reply(m, req, 404, "text/plain", STR("The MCP endpoint is /mcp\n"));
}

static void
on_request(void *arg, struct hreq *req)
{
	struct mcpd *m = arg;
	struct str host = hreq_header(req, STR("Host"));

	m->n_requests++;
	log_request(m, req);
	if (m->stopping)
		reply(m, req, 503, "text/plain", STR("The server is stopping\n"));
	else if ((host.p && !host_allowed(m, host)) ||
	    !origin_allowed(m, hreq_header(req, STR("Origin"))))
		refuse(m, req, 403, -32000, STR_NONE, "Host or Origin is not allowed here",
		    STR_NONE);
	else
		route(m, req);
}

static void
on_gone(void *arg, struct hreq *req, enum http_gone why)
{
	struct xchg *x = hreq_user(req);

	(void)arg;
	if (x)
		xchg_gone(x, why);
}

static void
on_opened(void *arg, uint32_t conn, const char *client, const char *server)
{
	struct mcpd *m = arg;

	log_opened(m, conn, client, server);
	if (m->o.opened)
		m->o.opened(m->o.arg, conn, client, server);
}

static void
on_bytes(void *arg, uint32_t conn, bool response, const void *p, size_t n)
{
	struct mcpd *m = arg;

	m->o.bytes(m->o.arg, conn, response, p, n);
}

static void
on_closed(void *arg, uint32_t conn, bool by_client, bool reset)
{
	struct mcpd *m = arg;

	log_closed(m, conn, by_client, reset);
	if (m->o.closed)
		m->o.closed(m->o.arg, conn, by_client, reset);
}

/* What nobody records is not asked for: it costs system calls. */
static void
set_callbacks(struct mcpd *m)
{
	bool told = m->o.event || m->o.opened || m->o.closed;

	m->cb = (struct httpd_cb){
		.request = on_request, .gone = on_gone,
		.opened = told ? on_opened : NULL,
		.bytes = m->o.bytes ? on_bytes : NULL,
		.closed = told ? on_closed : NULL,
	};
}

/* ---- the server ---- */

void
mcpd_opts_init(struct mcpd_opts *o, enum chan_policy policy)
{
	*o = (struct mcpd_opts){ .keepalive = 15 * NS_S, .sessions = 65536 };
	httpd_opts_init(&o->http);
	chan_opts_init(&o->channel, policy);
}

/* What the channel is to do wrong. */
static unsigned
channel_faults(const struct faults *f)
{
	return (fault_is(f, FAULT_REPLAY_ALL) ? CHAN_FAULT_REPLAY_ALL : 0) |
	    (fault_is(f, FAULT_CROSS) ? CHAN_FAULT_CROSS : 0) |
	    (fault_is(f, FAULT_BROADCAST) ? CHAN_FAULT_BROADCAST : 0) |
	    (fault_is(f, FAULT_SPLIT) ? CHAN_FAULT_SPLIT : 0) |
	    (fault_is(f, FAULT_SUPERSEDE) ? CHAN_FAULT_SUPERSEDE : 0);
}

struct mcpd *
mcpd_new(struct loop *loop, const struct mcpd_opts *o, struct errmsg *em)
{
	struct mcpd *m = xcalloc(1, sizeof *m);

	m->loop = loop;
	m->o = *o;
	m->o.channel.faults = channel_faults(&o->faults);
	buf_init(&m->out, MAX_TEXT);
	buf_init(&m->head, 64U << 10);
	buf_init(&m->frame, MAX_TEXT + 4096);
	calls_init(&m->calls);
	m->tick = loop_timer_new(loop, out_tick, m);
	m->tell = loop_timer_new(loop, sessions_tell, m);
	if (o->event)
		m->log = log_new(m);
	set_callbacks(m);
	m->http = httpd_new(loop, &o->http, &m->cb, m, em);
	if (m->http == NULL) {
		mcpd_free(m);
		return NULL;
	}
	(void)snprintf(m->url, sizeof m->url, "http://%s/mcp", httpd_address(m->http, 0));
	return m;
}

void
mcpd_free(struct mcpd *m)
{
	if (m == NULL)
		return;
	/* Closes what is open; xchg_gone() lets go of what hangs on it. */
	httpd_free(m->http);
	while (m->table)
		session_end(m->table);
	while (m->jobs)
		job_free(m->jobs);
	while (m->listens)
		listen_free(m->listens);
	loop_timer_free(m->tick);
	loop_timer_free(m->tell);
	loop_timer_free(m->stop_timer);
	log_free(m->log);
	calls_fini(&m->calls);
	buf_fini(&m->out);
	buf_fini(&m->head);
	buf_fini(&m->frame);
	free(m);
}

const char *
mcpd_url(const struct mcpd *m)
{
	return m->url;
}

void
mcpd_emit(struct mcpd *m)
{
	sessions_emit(m);
	modern_emit(m, "notifications/tools/list_changed", STR_NONE);
}

static void
on_stopped(void *arg)
{
	struct mcpd *m = arg;

	if (httpd_draining(m->http) && loop_mono(m->loop) < m->stop_by)
		loop_timer_set(m->stop_timer, GRACE);
	else
		m->stopped(m->stopped_arg);
}

void
mcpd_shutdown(struct mcpd *m, loop_fn *done, void *arg)
{
	struct xchg *x, *next;

	if (m->stopping)
		return;
	m->stopping = true;
	m->stopped = done;
	m->stopped_arg = arg;
	httpd_close_listeners(m->http);
	while (m->untold)
		sessions_tell(m);
	if (has_fault(m, FAULT_ABRUPT)) {
		DL_FOREACH_SAFE(m->streams, x, next) {
			struct hreq *req = x->req;

			log_end(m, req, EV_TRUNCATED);
			if (x->s && x->s->ch)
				chan_closed(x->s->ch, x->id, 0);
			xchg_free(x);
			hreq_drop(req, true);
		}
	}
	listens_end(m);
	while (m->jobs)
		modern_stop(m->jobs);
	while (m->table)
		session_end(m->table);
	m->stop_by = loop_mono(m->loop) + GRACE_MAX;
	m->stop_timer = loop_timer_new(m->loop, on_stopped, m);
	loop_timer_set(m->stop_timer, GRACE);
}

void
mcpd_stats(const struct mcpd *m, struct mcpd_stats *out)
{
	*out = (struct mcpd_stats){ m->n_sessions, m->n_streams, m->n_requests };
}
