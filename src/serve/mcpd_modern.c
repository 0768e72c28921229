#include <stdlib.h>

#include "mcpd_priv.h"
#include "mcpdiag/unescape.h"
#include "mcpdiag/xmem.h"

/* Revision 2026-07-28: each request stands alone, what it is for is also in
 * its headers, and those must agree with the body. */

enum {
	HEADER_MISMATCH = -32020,
	MISSING_CAPABILITY = -32021,
	UNSUPPORTED_VERSION = -32022,
	INVALID_PARAMS = -32602,
	INVALID_REQUEST = -32600,
	NO_METHOD = -32601,
};

#define META "io.modelcontextprotocol/"
#define MAX_NAME 4096		/* of a decoded Mcp-Name, bytes */

static struct str
version_header(const struct hreq *req)
{
	return hreq_header(req, STR("MCP-Protocol-Version"));
}

bool
is_modern(const struct hreq *req, const struct calls *cs)
{
	if (str_eq(version_header(req), STR("2026-07-28")))
		return true;
	for (uint32_t i = 0; i < cs->n; i++)
		if (cs->at[i].v[ARG_META_VERSION].raw.p)
			return true;
	return false;
}

static void
mismatch(struct mcpd *m, struct hreq *req, const struct call *c, const char *text,
    struct str header, struct str body)
{
	struct buf data;

	buf_init(&data, MAX_TEXT);
	(void)buf_adds(&data, STR("{\"mismatch\":{\"header\":\""));
	esc_json(&data, header.p ? header : STR("(missing)"));
	(void)buf_fmt(&data, "\",\"body\":\"%.*s\"}}", STR_ARG(body));
	refuse(m, req, 400, HEADER_MISMATCH, c->id, text, buf_str(&data));
	buf_fini(&data);
}

/* The parameter that Mcp-Name repeats: SEP-2243. */
static enum arg
named_by(struct str method)
{
	if (str_eq(method, STR("tools/call")) || str_eq(method, STR("prompts/get")))
		return ARG_NAME;
	return str_eq(method, STR("resources/read")) ? ARG_URI : ARG_N_ARGS;
}

/* Mcp-Name is the value itself, or =?base64?...?= */
static bool
same_name(struct str header, struct str raw)
{
	struct str open = STR("=?base64?"), close = STR("?=");
	char want[MAX_NAME], have[MAX_NAME];
	size_t n_want, n_have = header.n;

	if (!unescape_json(raw, want, sizeof want, &n_want))
		return false;
	if (!str_pre(header, open))
		return str_eq(header, str_of(want, n_want));
	if (header.n < open.n + close.n ||
	    memcmp(header.p + header.n - close.n, close.p, close.n) != 0)
		return false;
	return unescape_base64(str_of(header.p + open.n, header.n - open.n - close.n),
	    have, sizeof have, &n_have) &&
	    str_eq(str_of(have, n_have), str_of(want, n_want));
}

static bool
version_agrees(struct mcpd *m, struct hreq *req, const struct call *c)
{
	struct str header = version_header(req), body = arg_str(c, ARG_META_VERSION);
	struct str method = arg_str(c, ARG_METHOD);

	if (body.p == NULL && str_eq(method, STR("initialize")))
		mismatch(m, req, c, "initialize is of an older revision", header, STR(""));
	else if (body.p && !str_eq(header, body))
		mismatch(m, req, c, "MCP-Protocol-Version does not agree with _meta",
		    header, body);
	else if (!str_eq(hreq_header(req, STR("Mcp-Method")), method))
		mismatch(m, req, c, "Mcp-Method does not agree with the body",
		    hreq_header(req, STR("Mcp-Method")), method);
	else
		return true;
	return false;
}

/* What every request has to tell in its _meta. */
static bool
envelope_is_whole(struct mcpd *m, struct hreq *req, const struct call *c)
{
	if (c->v[ARG_META].raw.p == NULL)
		refuse(m, req, 400, INVALID_PARAMS, c->id, "_meta is missing",
		    STR("{\"envelope\":{\"missing\":[\"_meta\"]}}"));
	else if (c->v[ARG_META_VERSION].raw.p == NULL)
		refuse(m, req, 400, INVALID_PARAMS, c->id, "protocolVersion is missing",
		    STR("{\"envelope\":{\"missing\":[\"" META "protocolVersion\"]}}"));
	else if (c->v[ARG_META_CAPS].kind != JSON_OBJECT)
		refuse(m, req, 400, INVALID_PARAMS, c->id, "clientCapabilities is missing",
		    STR("{\"envelope\":{\"key\":\"" META "clientCapabilities\","
		    "\"problem\":\"missing\"}}"));
	else
		return true;
	return false;
}

static bool
version_is_known(struct mcpd *m, struct hreq *req, const struct call *c)
{
	struct str version = arg_str(c, ARG_META_VERSION);
	struct buf data;

	if (rev_of(version) == REV_2026)
		return true;
	buf_init(&data, MAX_TEXT);
	(void)buf_fmt(&data, "{\"supported\":[\"2026-07-28\"],\"requested\":\"%.*s\"}",
	    STR_ARG(version));
	refuse(m, req, 400, UNSUPPORTED_VERSION, c->id, "Unsupported protocol version",
	    buf_str(&data));
	buf_fini(&data);
	return false;
}

static bool
name_agrees(struct mcpd *m, struct hreq *req, const struct call *c)
{
	enum arg k = named_by(arg_str(c, ARG_METHOD));
	struct str header = hreq_header(req, STR("Mcp-Name"));

	if (k == ARG_N_ARGS || (header.p && same_name(header, arg_str(c, k))))
		return true;
	mismatch(m, req, c, "Mcp-Name does not agree with the body", header,
	    arg_str(c, k).p ? arg_str(c, k) : STR(""));
	return false;
}

static void
request(struct mcpd *m, struct hreq *req, const struct call *c)
{
	struct answer *a;

	if (!version_agrees(m, req, c) || !envelope_is_whole(m, req, c) ||
	    !version_is_known(m, req, c) || !name_agrees(m, req, c))
		return;
	if (!rpc_has_method(arg_str(c, ARG_METHOD), true)) {
		refuse(m, req, 404, NO_METHOD, c->id, "Method not found", STR_NONE);
		return;
	}
	a = answer_new(m, NULL, req, REV_2026, 1, false, false);
	a->sampling = c->v[ARG_META_SAMPLING].raw.p != NULL;
	a->elicitation = c->v[ARG_META_ELICITATION].raw.p != NULL;
	a->level = UINT8_MAX;
	rpc_call(a, c);
	answer_unref(a);
}

void
modern_post(struct mcpd *m, struct hreq *req)
{
	const struct call *c = &m->calls.at[0];

	if (m->calls.batch || c->kind == CALL_INVALID || c->kind == CALL_RESPONSE)
		refuse(m, req, 400, INVALID_REQUEST, STR_NONE,
		    "Not a single request or notification", STR_NONE);
	else if (c->kind == CALL_NOTIFICATION)
		reply(m, req, 202, NULL, STR(""));
	else
		request(m, req, c);
}

/* ---- subscriptions/listen ---- */

static void
send_to(struct listen *l, const char *method, struct str params)
{
	struct buf *b = &l->a->m->out;

	buf_clear(b);
	(void)buf_fmt(b, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{%.*s"
	    "\"_meta\":{\"" META "subscriptionId\":%.*s}}}", method, STR_ARG(params),
	    STR_ARG(l->id));
	answer_msg(l->a, buf_str(b));
}

static void
end_listen(struct listen *l)
{
	struct answer *a = l->a;
	struct buf *b = &a->m->out;

	rpc_open(b, l->id);
	(void)buf_fmt(b, "\"resultType\":\"complete\",\"_meta\":{\"" META
	    "subscriptionId\":%.*s,\"" META "serverInfo\":", STR_ARG(l->id));
	say_server(b);
	(void)buf_adds(b, STR("}}}"));
	answer_done(a, buf_str(b));
	listen_free(l);
}

void
listen_free(struct listen *l)
{
	struct mcpd *m = l->a->m;

	DL_DELETE(m->listens, l);
	m->n_listens--;
	answer_unref(l->a);
	free(l);
}

void
listens_end(struct mcpd *m)
{
	while (m->listens)
		end_listen(m->listens);
}

static bool
wants(const struct call *c, enum arg k)
{
	return c->v[k].raw.p && c->v[k].kind == JSON_TRUE;
}

void
modern_listen(struct answer *a, const struct call *c)
{
	struct mcpd *m = a->m;
	struct buf granted;
	struct listen *l;

	if (c->v[ARG_LISTEN].raw.p == NULL || c->v[ARG_LISTEN].kind != JSON_OBJECT ||
	    m->n_listens >= MAX_LISTENS) {
		bool full = m->n_listens >= MAX_LISTENS;

		rpc_error(&m->out, c->id, full ? -32603 : INVALID_PARAMS, full ?
		    "Too many subscriptions" : "notifications is missing", STR_NONE);
		answer_done(a, buf_str(&m->out));
		return;
	}
	if (c->id.n > MAX_KEPT) {
		rpc_error(&m->out, c->id, INVALID_PARAMS, "id is too long", STR_NONE);
		answer_done(a, buf_str(&m->out));
		return;
	}
	l = xcalloc(1, sizeof *l + c->id.n);
	l->a = a;
	a->refs++;
	memcpy(l->text, c->id.p, c->id.n);
	l->id = str_of(l->text, c->id.n);
	l->tools = wants(c, ARG_LISTEN_TOOLS);
	l->prompts = wants(c, ARG_LISTEN_PROMPTS);
	l->resources = wants(c, ARG_LISTEN_RESOURCES);
	DL_APPEND(m->listens, l);
	m->n_listens++;
	answer_stream(a);
	buf_init(&granted, 256);
	(void)buf_fmt(&granted, "\"notifications\":{%s%s%s%s%s},",
	    l->tools ? "\"toolsListChanged\":true" : "",
	    l->tools && (l->prompts || l->resources) ? "," : "",
	    l->prompts ? "\"promptsListChanged\":true" : "",
	    l->prompts && l->resources ? "," : "",
	    l->resources ? "\"resourcesListChanged\":true" : "");
	send_to(l, "notifications/subscriptions/acknowledged", buf_str(&granted));
	buf_fini(&granted);
	/* Nothing will ever come: say so, rather than keep it waiting. */
	if (!l->tools && !l->prompts && !l->resources)
		end_listen(l);
}

void
modern_emit(struct mcpd *m, const char *method, struct str uri)
{
	struct listen *l, *next;

	/* Subscriptions to one resource are not granted. */
	if (uri.p)
		return;
	DL_FOREACH_SAFE(m->listens, l, next)
		if (l->tools)
			send_to(l, method, STR(""));
}

void
modern_stop(struct job *j)
{
	struct xchg *x = j->a->x;

	job_free(j);
	if (x && x->open)
		out_end(x);
	else if (x)
		reply_later(x, 503, NULL, STR(""));
}
