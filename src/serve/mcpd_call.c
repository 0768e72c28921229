#include <stdlib.h>

#include "mcpd_priv.h"
#include "mcpdiag/xmem.h"

#define DEPTH 64
#define KEEP_TEXT (64U << 10)	/* for the next request */
#define MODERN "[io.modelcontextprotocol/"

/* In the order of enum arg. */
static const char *const paths[] = {
	"jsonrpc", "method", "id", "result", "error",
	"params.protocolVersion", "params.name", "params.uri", "params.level",
	"params.requestId", "params._meta.progressToken",
	"params.capabilities.sampling", "params.capabilities.elicitation",
	"params.arguments.text", "params.arguments.ms",
	"params.arguments.steps", "params.arguments.n", "params.arguments.interval_ms",
	"params.arguments.bytes", "params.arguments.prompt", "params.arguments.message",
	"params.arguments.uri", "params.arguments.all", "params.arguments.rpc",
	"params.arguments.arg1", "params.arguments.arg2", "params.arguments.resourceUri",
	"params._meta", "params._meta." MODERN "protocolVersion]",
	"params._meta." MODERN "clientCapabilities]",
	"params._meta." MODERN "clientCapabilities].sampling",
	"params._meta." MODERN "clientCapabilities].elicitation",
	"params.requestState", "params.inputResponses",
	"params.inputResponses.q.content.text", "params.inputResponses.q.action",
	"params.notifications", "params.notifications.toolsListChanged",
	"params.notifications.promptsListChanged",
	"params.notifications.resourcesListChanged",
	"result.content.text", "result.action",
};

_Static_assert(sizeof paths / sizeof *paths == ARG_N_ARGS, "a path for each");

/* The buffer is large enough from the start: what is in it does not move. */
static struct str
keep(struct calls *cs, struct str s)
{
	size_t at = cs->text.n;

	(void)buf_adds(&cs->text, s);
	return str_of(cs->text.p + at, s.n);
}

static void
on_begin(void *arg, enum json_kind kind)
{
	struct calls *cs = arg;

	if (cs->n >= MAX_BATCH) {
		cs->too_many = true;
		return;
	}
	cs->at = xgrow(cs->at, cs->n, &cs->cap, sizeof *cs->at);
	cs->at[cs->n] = (struct call){
		.kind = kind == JSON_OBJECT ? CALL_REQUEST : CALL_INVALID };
}

static void
on_value(void *arg, const struct json_value *v)
{
	struct calls *cs = arg;
	struct call *c;

	if (cs->too_many)
		return;
	c = &cs->at[cs->n];
	c->v[v->path].kind = (uint8_t)v->kind;
	c->v[v->path].raw = keep(cs, v->raw.p ? v->raw : STR(""));
	if (v->path != ARG_ID)
		return;
	c->id = c->v[ARG_ID].raw;
	if (v->kind == JSON_STRING) {
		c->id = keep(cs, STR("\""));
		(void)keep(cs, v->raw);
		(void)keep(cs, STR("\""));
		c->id.n = v->raw.n + 2;
	}
}

/* JSON-RPC 2.0 sections 4 and 5; MCP forbids a null id. */
static enum call_kind
kind_of(const struct call *c)
{
	bool id = c->id.p && (c->v[ARG_ID].kind == JSON_STRING ||
	    c->v[ARG_ID].kind == JSON_NUMBER);

	if (c->kind == CALL_INVALID || c->v[ARG_JSONRPC].kind != JSON_STRING)
		return CALL_INVALID;
	if (c->v[ARG_METHOD].raw.p) {
		if (c->v[ARG_METHOD].kind != JSON_STRING || (c->id.p && !id))
			return CALL_INVALID;
		return id ? CALL_REQUEST : CALL_NOTIFICATION;
	}
	return c->v[ARG_RESULT].raw.p || c->v[ARG_ERROR].raw.p ? CALL_RESPONSE :
	    CALL_INVALID;
}

static void
on_end(void *arg, unsigned flaws)
{
	struct calls *cs = arg;
	struct call *c;

	if (cs->too_many)
		return;
	c = &cs->at[cs->n++];
	c->kind = flaws & JSON_UTF8 ? CALL_INVALID : kind_of(c);
}

static const struct json_cb callbacks = { on_begin, on_value, on_end };

void
calls_init(struct calls *cs)
{
	*cs = (struct calls){ 0 };
	buf_init(&cs->text, SIZE_MAX / 2);
	cs->json = json_new(&callbacks, cs, paths, ARG_N_ARGS, DEPTH, SIZE_MAX / 2);
}

void
calls_fini(struct calls *cs)
{
	json_free(cs->json);
	buf_fini(&cs->text);
	free(cs->at);
}

int
calls_read(struct calls *cs, struct str body)
{
	cs->n = 0;
	cs->too_many = false;
	if (cs->text.cap > KEEP_TEXT)
		buf_fini(&cs->text);
	buf_clear(&cs->text);
	/* No byte is in two values, but the id is kept twice. */
	(void)buf_room(&cs->text, 2 * body.n + 2 * MAX_BATCH);
	json_reset(cs->json);
	if (json_feed(cs->json, body.p, body.n) != 0 || json_eof(cs->json) != 0)
		return -E_SYNTAX;
	cs->batch = json_is_batch(cs->json);
	return 0;
}

bool
arg_number(const struct call *c, enum arg k, uint64_t lo, uint64_t hi, uint64_t def,
    uint64_t *out)
{
	*out = def;
	if (c->v[k].raw.p == NULL)
		return true;
	return c->v[k].kind == JSON_NUMBER && str_u64(c->v[k].raw, out) &&
	    *out >= lo && *out <= hi;
}
