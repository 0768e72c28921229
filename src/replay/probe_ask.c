#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/esc.h"
#include "mcpdiag/esource.h"
#include "mcpdiag/limits.h"
#include "mcpdiag/xmem.h"
#include "probe_priv.h"

#define LINE_MAX_BYTES 8192U	/* one header line */
#define BODY_MAX (256U << 10)	/* of a message that is looked at */
#define REPLIES 32U		/* to the server, in one scenario */
#define MODERN "2026-07-28"
#define META "io.modelcontextprotocol/"

static void
copy(char *to, size_t size, struct str s)
{
	struct buf b;

	buf_init(&b, 1024);
	esc_text(&b, s, size - 4);
	(void)snprintf(to, size, "%.*s", STR_ARG(buf_str(&b)));
	buf_fini(&b);
}

static ns_t
since(const struct act *a)
{
	return loop_mono(a->probe->loop) - a->start;
}

/* ---- replies to the server: nobody waits for what becomes of them ---- */

static void
no_head(void *arg, const struct client_head *h)
{
	(void)arg;
	(void)h;
}

static void
no_body(void *arg, const void *p, size_t n)
{
	(void)arg;
	(void)p;
	(void)n;
}

static void
no_end(void *arg, enum client_end end, const char *why)
{
	(void)arg;
	(void)end;
	(void)why;
}

/* One of our header lines, where the user gave none of that name. */
static void
add(const struct probe_opts *o, struct str *lines, unsigned *n, struct str line)
{
	size_t colon = str_find(line, STR(":"));

	if (line.n == 0)
		return;
	for (unsigned i = 0; i < o->n_headers; i++)
		if (str_ipre(o->headers[i], str_of(line.p, colon + 1)))
			return;
	lines[(*n)++] = line;
}

/* The header lines of a request, the user's last; how many. */
static unsigned
put_lines(struct act *a, struct str *lines, bool body, struct str cursor, unsigned flags)
{
	const struct probe_opts *o = &a->probe->o;
	unsigned n = 0;

	add(o, lines, &n, STR("User-Agent: mcpdiag/" MCPDIAG_VERSION));
	add(o, lines, &n, body ? STR("Accept: application/json, text/event-stream") :
	    STR("Accept: text/event-stream"));
	if (body)
		add(o, lines, &n, STR("Content-Type: application/json"));
	if (flags & ASK_MODERN)
		add(o, lines, &n, STR("MCP-Protocol-Version: " MODERN));
	if (flags & ASK_SESSION) {
		add(o, lines, &n, buf_str(flags & ASK_OTHER ? &a->other : &a->session));
		add(o, lines, &n, buf_str(&a->version));
	}
	add(o, lines, &n, cursor);
	for (unsigned i = 0; i < o->n_headers; i++)
		lines[n++] = o->headers[i];
	return n;
}

static void
reply(struct act *a, const struct rpc_msg *m)
{
	static const struct client_cb cb = { no_head, no_body, no_end };
	struct str *lines = xcalloc(10 + a->probe->o.n_headers, sizeof *lines);
	struct client_request q = { .method = "POST", .url = a->probe->o.url,
		.headers = lines, .timeout = a->probe->o.answer };
	struct buf body;
	struct errmsg em;

	buf_init(&body, LINE_MAX_BYTES);
	if (m->id_cut || a->replies++ >= REPLIES)
		goto out;
	(void)buf_adds(&body, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
	(void)buf_adds(&body, m->id);
	(void)buf_adds(&body, str_eq(m->method, STR("ping")) ? STR(",\"result\":{}}") :
	    STR(",\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}"));
	q.body = buf_str(&body);
	q.n_headers = put_lines(a, lines, true, STR_NONE, ASK_SESSION);
	(void)client_start(a->client, &q, &cb, NULL, &em);
out:
	buf_fini(&body);
	free(lines);
}

/* ---- what comes ---- */

/* A message of the common channel, or of a subscription. */
static void
heard(struct stream *s)
{
	struct act *a = s->act;

	if (s->n == CALL) {
		a->own = true;
	} else if (a->emitting) {
		s->p.heard |= 1U << (a->seen.emitted - 1);
		a->heard_now = true;
	} else {
		s->p.replayed++;
	}
}

static void
answered(struct stream *s, const struct rpc_msg *m)
{
	struct probe_server *v = &s->act->probe->server;

	const struct stream *post = s->get ? &s->act->streams[PROBE_P] : s;

	/* A GET may bring what a POST has asked for. */
	if (post->want.n == 0 || !str_eq(m->id, buf_str(&post->want)))
		return;
	s->p.response = true;
	s->error = m->kind == RPC_ERROR;
	if (s->n != HANDSHAKE || s->error)
		return;
	copy(v->name, sizeof v->name, m->server_name);
	copy(v->version, sizeof v->version, m->server_version);
	copy(v->revision, sizeof v->revision, m->result_version);
	buf_clear(&s->act->version);
	(void)buf_adds(&s->act->version, STR("MCP-Protocol-Version: "));
	(void)buf_adds(&s->act->version, str_c(v->revision));
}

static void
on_rpc(void *arg, const struct rpc_msg *m)
{
	struct stream *s = arg;

	switch (m->kind) {
	case RPC_RESPONSE: case RPC_ERROR:
		answered(s, m);
		break;
	case RPC_NOTIFICATION:
		if (str_eq(m->method, STR("notifications/subscriptions/acknowledged")))
			s->p.response = true;
		else if (!str_eq(m->method, STR("notifications/progress")) &&
		    !str_eq(m->method, STR("notifications/cancelled")))
			heard(s);
		break;
	case RPC_REQUEST:
		if (!str_eq(m->method, STR("ping")))
			heard(s);
		reply(s->act, m);
		break;
	case RPC_INVALID:
		break;
	}
}

static void
message(struct stream *s)
{
	/* Some answer server/discover, and name older revisions only. */
	s->modern |= str_find(buf_str(&s->data), STR("\"" MODERN "\"")) != SIZE_MAX;
	rpc_reset(s->rpc);
	if (rpc_feed(s->rpc, s->data.p, s->data.n) == 0)
		(void)rpc_eof(s->rpc);
	buf_clear(&s->data);
}

static void
on_data(void *arg, const void *p, size_t n)
{
	struct stream *s = arg;

	(void)buf_add(&s->data, p, n);
}

static void
on_event(void *arg, const struct sse_event *e)
{
	struct stream *s = arg;

	if (e->tail)
		return;
	s->p.events++;
	if (e->retry_ms >= 0)
		s->p.retry_ms = e->retry_ms;
	if (e->id.n > 0 && !e->cut) {
		s->p.inclusive |= s->data.n > 0 && str_eq(e->id, buf_str(&s->cursor));
		buf_clear(&s->last);
		(void)buf_adds(&s->last, e->id);
		if (s->first.n == 0)
			(void)buf_adds(&s->first, e->id);
	}
	if (str_eq(e->type, STR("endpoint")))
		s->endpoint = true;
	if (s->data.n > 0)
		message(s);
}

static void
on_comment(void *arg, struct str text)
{
	struct stream *s = arg;

	(void)text;
	s->p.comments++;
}

static void
on_head(void *arg, const struct client_head *h)
{
	static const struct sse_cb cb = { on_data, on_event, on_comment };
	struct stream *s = arg;
	struct act *a = s->act;
	struct str id = client_header(h, STR("mcp-session-id"));

	s->p.status = h->status;
	s->p.head = since(a);
	copy(s->type, sizeof s->type, h->content_type);
	copy(s->location, sizeof s->location, client_header(h, STR("location")));
	if (h->status == 200 && content_type_is(h->content_type, STR("text/event-stream"))) {
		s->is_stream = true;
		a->seen.opened += s->get;
		s->sse = sse_new(&cb, s, LINE_MAX_BYTES, UINT64_MAX);
	} else if (content_type_is(h->content_type, STR("application/json"))) {
		s->json = true;
	}
	if ((s->n == HANDSHAKE || s->other) && id.n > 0) {
		struct buf *to = s->other ? &a->other : &a->session;

		(void)buf_adds(to, STR("Mcp-Session-Id: "));
		(void)buf_adds(to, id);
	}
	act_look(a);
}

static void
on_body(void *arg, const void *p, size_t n)
{
	struct stream *s = arg;

	s->bytes += n;
	if (s->sse)
		sse_feed(s->sse, p, n);
	else if (s->json)
		(void)buf_add(&s->data, p, n);
	act_look(s->act);
}

static void
on_end(void *arg, enum client_end end, const char *why)
{
	struct stream *s = arg;

	s->req = NULL;
	s->over = true;
	s->p.end = since(s->act);
	s->p.how = end;
	copy(s->why, sizeof s->why, str_c(why));
	if (s->sse)
		sse_eof(s->sse);
	else if (s->json)
		message(s);
	s->act->seen.ended += s->is_stream && s->get;
	act_look(s->act);
}

/* ---- what is asked ---- */

static void
stream_fini(struct stream *s)
{
	if (s->req)
		client_cancel(s->req);
	sse_free(s->sse);
	rpc_free(s->rpc);
	buf_fini(&s->data);
	buf_fini(&s->first);
	buf_fini(&s->last);
	buf_fini(&s->want);
	buf_fini(&s->cursor);
}

static void
stream_init(struct act *a, unsigned n)
{
	struct stream *s = &a->streams[n];
	struct limits limits;

	limits_init(&limits);
	*s = (struct stream){ .act = a, .n = n, .p = { .retry_ms = -1, .asked = -1,
	    .head = -1, .end = -1 } };
	buf_init(&s->data, BODY_MAX);
	buf_init(&s->first, LINE_MAX_BYTES);
	buf_init(&s->last, LINE_MAX_BYTES);
	buf_init(&s->want, 64);
	buf_init(&s->cursor, LINE_MAX_BYTES);
	s->rpc = rpc_new(&limits, on_rpc, s);
}

void
ask_init(struct act *a)
{
	buf_init(&a->session, LINE_MAX_BYTES);
	buf_init(&a->version, LINE_MAX_BYTES);
	buf_init(&a->real, LINE_MAX_BYTES);
	buf_init(&a->other, LINE_MAX_BYTES);
	for (unsigned i = 0; i < STREAMS; i++)
		stream_init(a, i);
}

void
ask_fini(struct act *a)
{
	for (unsigned i = 0; i < STREAMS; i++)
		stream_fini(&a->streams[i]);
	buf_fini(&a->session);
	buf_fini(&a->version);
	buf_fini(&a->real);
	buf_fini(&a->other);
}

/* Of 2026-07-28: what the headers repeat. */
static void
put_modern(struct buf *method, struct buf *name, const char *rpc_method, unsigned flags,
    const char *tool)
{
	(void)buf_adds(method, STR("Mcp-Method: "));
	(void)buf_adds(method, flags & ASK_MISMATCH ? STR("resources/list") : str_c(rpc_method));
	if (strcmp(rpc_method, "tools/call") == 0) {
		(void)buf_adds(name, STR("Mcp-Name: "));
		(void)buf_adds(name, str_c(tool));
	}
}

/* {"jsonrpc":"2.0","id":N,"method":M,"params":{_meta, params}} */
static void
put_body(struct stream *s, struct buf *b, const char *method, struct str params, unsigned flags)
{
	struct act *a = s->act;
	bool note = str_pre(str_c(method), STR("notifications/"));

	(void)buf_adds(b, STR("{\"jsonrpc\":\"2.0\","));
	buf_clear(&s->want);
	if (!note) {
		(void)buf_fmt(&s->want, "%u", ++a->next_id);
		(void)buf_fmt(b, "\"id\":%.*s,", STR_ARG(buf_str(&s->want)));
	}
	(void)buf_fmt(b, "\"method\":\"%s\"", method);
	if (flags & ASK_MODERN) {
		(void)buf_adds(b, STR(",\"params\":{\"_meta\":{\"" META "protocolVersion\":\""
		    MODERN "\",\"" META "clientCapabilities\":{},\"" META "clientInfo\":"
		    "{\"name\":\"mcpdiag-probe\",\"version\":\"" MCPDIAG_VERSION "\"}}"));
		if (params.n > 0)
			(void)buf_addc(b, ',');
		(void)buf_adds(b, params);
		(void)buf_addc(b, '}');
	} else if (params.n > 0) {
		(void)buf_adds(b, STR(",\"params\":{"));
		(void)buf_adds(b, params);
		(void)buf_addc(b, '}');
	}
	(void)buf_addc(b, '}');
}

void
ask(struct act *a, unsigned n, const char *method, const char *rpc_method,
    struct str params, struct str cursor, unsigned flags)
{
	static const struct client_cb cb = { on_head, on_body, on_end };
	const struct probe_opts *o = &a->probe->o;
	struct stream *s = &a->streams[n];
	struct str *lines = xcalloc(12 + o->n_headers, sizeof *lines);
	struct client_request q = { .method = method, .url = o->url, .headers = lines,
		.connect_timeout = o->answer, .narrow = flags & ASK_NARROW };
	struct buf body, line, modern, name;
	struct errmsg em;

	buf_init(&body, BODY_MAX);
	buf_init(&line, LINE_MAX_BYTES + 32);
	buf_init(&modern, LINE_MAX_BYTES);
	buf_init(&name, LINE_MAX_BYTES);
	stream_fini(s);
	stream_init(a, n);
	s->get = strcmp(method, "GET") == 0;
	s->other = (flags & (ASK_OTHER | ASK_SESSION)) == ASK_OTHER;
	s->p.cursor = cursor.n > 0;
	s->p.asked = since(a);
	s->p.from = a->seen.emitted;
	if (rpc_method) {
		put_body(s, &body, rpc_method, params, flags);
		q.body = buf_str(&body);
	}
	(void)buf_adds(&s->cursor, cursor);
	if (cursor.n > 0) {
		(void)buf_adds(&line, STR("Last-Event-ID: "));
		(void)buf_adds(&line, cursor);
	}
	q.n_headers = put_lines(a, lines, rpc_method != NULL, buf_str(&line), flags);
	if (flags & ASK_MODERN && rpc_method) {
		put_modern(&modern, &name, rpc_method, flags, o->emit_tool);
		add(o, lines, &q.n_headers, buf_str(&modern));
		add(o, lines, &q.n_headers, buf_str(&name));
	}
	s->req = client_start(a->client, &q, &cb, s, &em);
	if (s->req == NULL) {
		s->over = true;
		s->p.how = CLIENT_BAD;
		copy(s->why, sizeof s->why, str_c(em.text));
	}
	buf_fini(&body);
	buf_fini(&line);
	buf_fini(&modern);
	buf_fini(&name);
	free(lines);
}

void
ask_tool(struct act *a, unsigned n)
{
	const struct probe_opts *o = &a->probe->o;
	struct buf b;

	buf_init(&b, 64U << 10);
	(void)buf_adds(&b, STR("\"name\":\""));
	esc_json(&b, str_c(o->emit_tool));
	(void)buf_adds(&b, STR("\",\"arguments\":"));
	(void)buf_adds(&b, o->emit_args ? str_c(o->emit_args) : STR("{}"));
	ask(a, n, "POST", "tools/call", buf_str(&b), STR_NONE,
	    a->script->modern ? ASK_MODERN : ASK_SESSION);
	buf_fini(&b);
}

void
ask_drop(struct act *a, unsigned n)
{
	struct stream *s = &a->streams[n];

	if (s->req == NULL)
		return;
	client_cancel(s->req);
	s->req = NULL;
	s->p.dropped = true;
	s->p.end = since(a);
}

static enum probe_answer
of_status(unsigned status)
{
	switch (status) {
	case 400:
		return PROBE_400;
	case 401: case 403:
		return PROBE_401;
	case 404:
		return PROBE_404;
	case 405:
		return PROBE_405;
	case 409:
		return PROBE_409;
	case 429:
		return PROBE_429;
	}
	if (status >= 500 && status < 600)
		return PROBE_5XX;
	if (status >= 400)
		return PROBE_4XX;
	return status < 300 ? PROBE_PLAIN : PROBE_OTHER;
}

enum probe_answer
ask_answer(const struct stream *s)
{
	if (s->p.asked < 0)
		return PROBE_NOT_ASKED;
	if (s->p.status == 0)
		return s->over ? PROBE_CUT : PROBE_SILENT;
	if (!s->is_stream)
		return of_status(s->p.status);
	if (!s->over)
		return PROBE_OPEN;
	return s->p.events > 0 ? PROBE_ENDED : PROBE_EMPTY;
}
