#include "mcpd_priv.h"

#define PROTOCOL_ERROR -32602

const char *const rev_names[] = {
	"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", NULL,
};

/* RFC 5424 severities, the least severe first. */
static const char *const levels[] = {
	"debug", "info", "notice", "warning", "error", "critical", "alert",
	"emergency", NULL,
};

enum rev
rev_of(struct str s)
{
	enum rev r = REV_2024;

	while (r < REV_N && !str_eq(s, str_c(rev_names[r])))
		r++;
	return r;
}

void
rpc_open(struct buf *b, struct str id)
{
	buf_clear(b);
	(void)buf_fmt(b, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{", STR_ARG(id));
}

void
say_server(struct buf *b)
{
	(void)buf_adds(b, STR("{\"name\":\"mcpdiag\",\"title\":\"mcpdiag reference server\","
	    "\"version\":\"" MCPDIAG_VERSION "\"}"));
}

static void
close_result(const struct answer *a, struct buf *b, bool cacheable)
{
	if (a->rev == REV_2026) {
		if (b->p[b->n - 1] != '{')
			(void)buf_addc(b, ',');
		if (cacheable)
			(void)buf_adds(b, STR("\"ttlMs\":0,\"cacheScope\":\"private\","));
		(void)buf_adds(b, STR("\"resultType\":\"complete\","
		    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":"));
		say_server(b);
		(void)buf_addc(b, '}');
	}
	(void)buf_adds(b, STR("}}"));
}

void
rpc_close(struct answer *a, struct buf *b)
{
	close_result(a, b, false);
	answer_done(a, buf_str(b));
}

void
rpc_close_cacheable(struct answer *a, struct buf *b)
{
	close_result(a, b, true);
	answer_done(a, buf_str(b));
}

void
rpc_error(struct buf *b, struct str id, int code, const char *text, struct str data)
{
	buf_clear(b);
	(void)buf_fmt(b, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%d,\"message\":\"",
	    STR_ARG(id), code);
	esc_json(b, str_c(text));
	(void)buf_addc(b, '"');
	if (data.p)
		(void)buf_fmt(b, ",\"data\":%.*s", STR_ARG(data));
	(void)buf_adds(b, STR("}}"));
}

static void
fail(struct answer *a, const struct call *c, int code, const char *text)
{
	rpc_error(&a->m->out, c->id, code, text, STR_NONE);
	answer_done(a, buf_str(&a->m->out));
}

void
say_capabilities(struct buf *b, bool modern)
{
	(void)buf_fmt(b, "\"capabilities\":{\"tools\":{\"listChanged\":true},"
	    "\"resources\":{%s\"listChanged\":true},"
	    "\"prompts\":{\"listChanged\":true},%s\"completions\":{}}",
	    modern ? "" : "\"subscribe\":true,", modern ? "" : "\"logging\":{},");
}

static void
on_initialize(struct answer *a, const struct call *c)
{
	struct buf *b = &a->m->out;

	rpc_open(b, c->id);
	(void)buf_fmt(b, "\"protocolVersion\":\"%s\",", rev_names[a->rev]);
	say_capabilities(b, false);
	(void)buf_adds(b, STR(",\"serverInfo\":"));
	say_server(b);
	rpc_close(a, b);
}

static void
on_ping(struct answer *a, const struct call *c)
{
	rpc_open(&a->m->out, c->id);
	rpc_close(a, &a->m->out);
}

/* {"name":[...]}, which 2026-07-28 lets be cached. */
static void
list(struct answer *a, const struct call *c, const char *name,
    void (*say)(const struct mcpd *, struct buf *))
{
	struct buf *b = &a->m->out;

	rpc_open(b, c->id);
	(void)buf_fmt(b, "\"%s\":", name);
	say(a->m, b);
	rpc_close_cacheable(a, b);
}

static void
on_tools_list(struct answer *a, const struct call *c)
{
	struct session *s = a->s;
	struct mcpd *m = a->m;

	list(a, c, "tools", say_tools);
	if (s && has_fault(m, FAULT_STORM))
		session_emit(s, STR("{\"jsonrpc\":\"2.0\","
		    "\"method\":\"notifications/tools/list_changed\"}"));
}

static void
on_resources_list(struct answer *a, const struct call *c)
{
	list(a, c, "resources", say_resources);
}

static void
on_templates_list(struct answer *a, const struct call *c)
{
	list(a, c, "resourceTemplates", say_templates);
}

static void
on_prompts_list(struct answer *a, const struct call *c)
{
	list(a, c, "prompts", say_prompts);
}

static void
on_read(struct answer *a, const struct call *c)
{
	struct buf *b = &a->m->out;

	rpc_open(b, c->id);
	(void)buf_adds(b, STR("\"contents\":["));
	if (!say_contents(a->m, b, arg_str(c, ARG_URI))) {
		fail(a, c, a->rev == REV_2026 ? PROTOCOL_ERROR : -32002,
		    "Resource not found");
		return;
	}
	(void)buf_addc(b, ']');
	rpc_close_cacheable(a, b);
}

static void
on_prompt(struct answer *a, const struct call *c)
{
	struct buf *b = &a->m->out;

	rpc_open(b, c->id);
	(void)buf_adds(b, STR("\"messages\":["));
	if (!say_messages(a->m, b, c)) {
		fail(a, c, PROTOCOL_ERROR, "No such prompt, or an argument is missing");
		return;
	}
	(void)buf_addc(b, ']');
	rpc_close(a, b);
}

static void
on_complete(struct answer *a, const struct call *c)
{
	rpc_open(&a->m->out, c->id);
	(void)buf_adds(&a->m->out,
	    STR("\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}"));
	rpc_close(a, &a->m->out);
}

static void
on_set_level(struct answer *a, const struct call *c)
{
	for (uint8_t i = 0; levels[i]; i++)
		if (str_eq(arg_str(c, ARG_LEVEL), str_c(levels[i]))) {
			a->s->level = i;
			on_ping(a, c);
			return;
		}
	fail(a, c, PROTOCOL_ERROR, "No such level");
}

static void
subscribe(struct answer *a, const struct call *c, bool on)
{
	if (arg_str(c, ARG_URI).n == 0)
		fail(a, c, PROTOCOL_ERROR, "uri is missing");
	else if (arg_str(c, ARG_URI).n > MAX_KEPT)
		fail(a, c, PROTOCOL_ERROR, "uri is too long");
	else if (!session_subscribe(a->s, arg_str(c, ARG_URI), on))
		fail(a, c, -32603, "Too many subscriptions");
	else
		on_ping(a, c);
}

static void
on_subscribe(struct answer *a, const struct call *c)
{
	subscribe(a, c, true);
}

static void
on_unsubscribe(struct answer *a, const struct call *c)
{
	subscribe(a, c, false);
}

static void
on_discover(struct answer *a, const struct call *c)
{
	struct buf *b = &a->m->out;

	rpc_open(b, c->id);
	(void)buf_adds(b, STR("\"supportedVersions\":[\"2026-07-28\"],"));
	say_capabilities(b, true);
	rpc_close_cacheable(a, b);
}

enum { OLD = 1, MODERN = 2 };

static const struct method {
	const char *name;
	unsigned eras;			/* in which it exists */
	void (*run)(struct answer *, const struct call *);
} methods[] = {
	{ "initialize", OLD, on_initialize },
	{ "ping", OLD, on_ping },
	{ "logging/setLevel", OLD, on_set_level },
	{ "resources/subscribe", OLD, on_subscribe },
	{ "resources/unsubscribe", OLD, on_unsubscribe },
	{ "tools/call", OLD | MODERN, tool_call },
	{ "tools/list", OLD | MODERN, on_tools_list },
	{ "resources/list", OLD | MODERN, on_resources_list },
	{ "resources/templates/list", OLD | MODERN, on_templates_list },
	{ "resources/read", OLD | MODERN, on_read },
	{ "prompts/list", OLD | MODERN, on_prompts_list },
	{ "prompts/get", OLD | MODERN, on_prompt },
	{ "completion/complete", OLD | MODERN, on_complete },
	{ "server/discover", MODERN, on_discover },
	{ "subscriptions/listen", MODERN, modern_listen },
};

static const struct method *
find_method(struct str name, bool modern)
{
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (methods[i].eras & (modern ? MODERN : OLD) &&
		    str_eq(name, str_c(methods[i].name)))
			return &methods[i];
	return NULL;
}

bool
rpc_has_method(struct str name, bool modern)
{
	return find_method(name, modern) != NULL;
}

void
rpc_call(struct answer *a, const struct call *c)
{
	const struct method *method = find_method(arg_str(c, ARG_METHOD),
	    a->rev == REV_2026);

	if (method)
		method->run(a, c);
	else
		fail(a, c, -32601, "Method not found");
}

void
rpc_note(struct session *s, const struct call *c)
{
	struct str method = arg_str(c, ARG_METHOD);

	if (c->kind == CALL_RESPONSE) {
		ping_answered(s, c);
		job_answered(s, c);
	}
	if (str_eq(method, STR("notifications/cancelled")))
		job_cancel(s, c);
}

void
rpc_dispatch(struct answer *a, struct session *s)
{
	struct calls *cs = &a->m->calls;

	for (uint32_t i = 0; i < cs->n; i++)
		if (cs->at[i].kind == CALL_REQUEST)
			rpc_call(a, &cs->at[i]);
		else if (s)
			rpc_note(s, &cs->at[i]);
}
