#include "mcpdiag/rpc.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/json.h"
#include "mcpdiag/xmem.h"

#define MCP "io.modelcontextprotocol/"

/* Memory for kept strings that stays with the scanner between messages. */
#define KEEP_CAP 256

enum slot {
	METHOD, ID, CODE, MESSAGE, PROTOCOL_VERSION, CLIENT_NAME,
	CLIENT_VERSION, RESULT_VERSION, SERVER_NAME, SERVER_VERSION,
	PROGRESS_TOKEN, META_TOKEN, CANCEL_ID, NAME, URI, META_VERSION,
	SUBSCRIPTION_ID, N_SLOTS,
};

enum flag {
	JSONRPC2 = 1, RESULT = 2, ERROR = 4, CAPABILITIES = 8,
	LIST_CHANGED = 16, SUBSCRIBE = 32, SUPPORTED_VERSIONS = 64,
	META_MCP = 128, RELATED_TASK = 256,
	NULL_ERROR = 512, BAD_ID = 1024, ID_CUT = 2048,
};

enum take {
	TAKE_TEXT,	/* the contents of a string */
	TAKE_TOKEN,	/* a string with its quotes, or a number */
	TAKE_ID,	/* ... or null; nothing else is an id */
	TAKE_2_0,	/* a flag: the string "2.0" */
	TAKE_TRUE,	/* a flag: the word true */
	TAKE_SEEN,	/* a flag: there at all */
	TAKE_TREE,	/* a flag: an object or array */
	TAKE_ERROR,
};

/* path, how it is taken, what it goes to */
#define MEMBERS(X) \
	X("jsonrpc", TAKE_2_0, JSONRPC2) \
	X("method", TAKE_TEXT, METHOD) \
	X("id", TAKE_ID, ID) \
	X("result", TAKE_SEEN, RESULT) \
	X("error", TAKE_ERROR, ERROR) \
	X("error.code", TAKE_TOKEN, CODE) \
	X("error.message", TAKE_TEXT, MESSAGE) \
	X("params.protocolVersion", TAKE_TEXT, PROTOCOL_VERSION) \
	X("params.clientInfo.name", TAKE_TEXT, CLIENT_NAME) \
	X("params.clientInfo.version", TAKE_TEXT, CLIENT_VERSION) \
	X("params.progressToken", TAKE_TOKEN, PROGRESS_TOKEN) \
	X("params.requestId", TAKE_TOKEN, CANCEL_ID) \
	X("params.name", TAKE_TEXT, NAME) \
	X("params.uri", TAKE_TEXT, URI) \
	X("params._meta.progressToken", TAKE_TOKEN, META_TOKEN) \
	X("params._meta.[" MCP "]*", TAKE_SEEN, META_MCP) \
	X("params._meta.[" MCP "protocolVersion]", TAKE_TEXT, META_VERSION) \
	X("params._meta.[" MCP "clientInfo].name", TAKE_TEXT, CLIENT_NAME) \
	X("params._meta.[" MCP "clientInfo].version", TAKE_TEXT, CLIENT_VERSION) \
	X("params._meta.[" MCP "related-task]", TAKE_SEEN, RELATED_TASK) \
	X("params._meta.[" MCP "subscriptionId]", TAKE_TOKEN, SUBSCRIPTION_ID) \
	X("result.protocolVersion", TAKE_TEXT, RESULT_VERSION) \
	X("result.serverInfo.name", TAKE_TEXT, SERVER_NAME) \
	X("result.serverInfo.version", TAKE_TEXT, SERVER_VERSION) \
	X("result.capabilities", TAKE_TREE, CAPABILITIES) \
	X("result.capabilities.**.listChanged", TAKE_TRUE, LIST_CHANGED) \
	X("result.capabilities.resources.subscribe", TAKE_TRUE, SUBSCRIBE) \
	X("result.supportedVersions", TAKE_TREE, SUPPORTED_VERSIONS) \
	X("result._meta.[" MCP "]*", TAKE_SEEN, META_MCP) \
	X("result._meta.[" MCP "serverInfo].name", TAKE_TEXT, SERVER_NAME) \
	X("result._meta.[" MCP "serverInfo].version", TAKE_TEXT, SERVER_VERSION) \
	X("result._meta.[" MCP "related-task]", TAKE_SEEN, RELATED_TASK) \
	X("result._meta.[" MCP "subscriptionId]", TAKE_TOKEN, SUBSCRIPTION_ID)

static const char *const paths[] = {
#define X(path, take, to) path,
	MEMBERS(X)
#undef X
};

static const struct member {
	uint8_t take;		/* enum take */
	uint16_t to;		/* enum slot or enum flag */
} members[] = {
#define X(path, take, to) { take, to },
	MEMBERS(X)
#undef X
};

#define N_MEMBERS (sizeof members / sizeof members[0])

static_assert(N_MEMBERS <= JSON_MAX_PATHS, "too many members");

struct rpc {
	struct json *json;
	rpc_msg_fn *fn;
	void *arg;
	struct buf text;	/* the strings kept of this message */
	struct span {
		uint32_t at, n;
	} span[N_SLOTS];
	uint32_t have;		/* bit set of slots */
	uint32_t flags;		/* enum flag */
	bool object;		/* this message is one */
};

static void
drop(struct rpc *r, unsigned slot)
{
	struct span gone = r->span[slot];

	if (!(r->have & 1u << slot))
		return;
	r->have &= ~(1u << slot);
	if (gone.n > 0)
		memmove(r->text.p + gone.at, r->text.p + gone.at + gone.n,
		    r->text.n - gone.at - gone.n);
	r->text.n -= gone.n;
	for (unsigned i = 0; i < N_SLOTS; i++)
		if (r->span[i].at > gone.at)
			r->span[i].at -= gone.n;
}

/* Of several values the last one counts, as with most receivers. */
static void
keep(struct rpc *r, unsigned slot, const struct json_value *v, bool quotes)
{
	struct span *s = &r->span[slot];

	s->at = (uint32_t)r->text.n;
	if (quotes)
		(void)buf_addc(&r->text, '"');
	(void)buf_adds(&r->text, v->raw);
	if (quotes && !v->cut)
		(void)buf_addc(&r->text, '"');
	s->n = (uint32_t)r->text.n - s->at;
	r->have |= 1u << slot;
}

static void
set(struct rpc *r, uint32_t flag, bool on)
{
	r->flags = on ? r->flags | flag : r->flags & ~flag;
}

static void
take_token(struct rpc *r, unsigned slot, const struct json_value *v)
{
	drop(r, slot);
	if (v->kind == JSON_STRING || v->kind == JSON_NUMBER ||
	    (v->kind == JSON_NULL && slot == ID))
		keep(r, slot, v, v->kind == JSON_STRING);
}

static void
on_value(void *arg, const struct json_value *v)
{
	struct rpc *r = arg;
	unsigned to = members[v->path].to;

	switch ((enum take)members[v->path].take) {
	case TAKE_TEXT:
		drop(r, to);
		if (v->kind == JSON_STRING)
			keep(r, to, v, false);
		break;
	case TAKE_ID:
		take_token(r, to, v);
		set(r, BAD_ID, !(r->have & 1u << ID));
		set(r, ID_CUT, v->cut);
		break;
	case TAKE_TOKEN:
		take_token(r, to, v);
		break;
	case TAKE_2_0:
		set(r, to, v->kind == JSON_STRING && str_eq(v->raw, STR("2.0")));
		break;
	case TAKE_TRUE:
		r->flags |= v->kind == JSON_TRUE ? to : 0;
		break;
	case TAKE_SEEN:
		r->flags |= to;
		break;
	case TAKE_TREE:
		r->flags |= v->kind >= JSON_OBJECT ? to : 0;
		break;
	case TAKE_ERROR:
		r->flags |= to;
		set(r, NULL_ERROR, v->kind == JSON_NULL);
		break;
	}
}

static void
on_begin(void *arg, enum json_kind kind)
{
	struct rpc *r = arg;

	r->object = kind == JSON_OBJECT;
	r->have = r->flags = 0;
	buf_clear(&r->text);
}

/* JSON-RPC 2.0 sections 4 and 5.  Version 1.0 sends "error": null beside the
 * result. */
static enum rpc_kind
classify(const struct rpc *r)
{
	if (r->have & 1u << METHOD) {
		if (r->flags & BAD_ID)
			return RPC_INVALID;
		return r->have & 1u << ID ? RPC_REQUEST : RPC_NOTIFICATION;
	}
	if ((r->flags & ERROR) && !((r->flags & NULL_ERROR) &&
	    (r->flags & RESULT)))
		return RPC_ERROR;
	return r->flags & RESULT ? RPC_RESPONSE : RPC_INVALID;
}

static struct str
kept(const struct rpc *r, unsigned slot)
{
	if (!(r->have & 1u << slot))
		return STR_NONE;
	return str_of(buf_str(&r->text).p + r->span[slot].at, r->span[slot].n);
}

static void
on_end(void *arg, unsigned flaws)
{
	struct rpc *r = arg;
	struct rpc_msg m = {
		.jsonrpc2 = r->flags & JSONRPC2,
		.batch = json_is_batch(r->json),
		.flaws = flaws,
		.method = kept(r, METHOD),
		.id = kept(r, ID),
		.id_cut = r->flags & ID_CUT,
		.code = kept(r, CODE),
		.message = kept(r, MESSAGE),
		.protocol_version = kept(r, PROTOCOL_VERSION),
		.client_name = kept(r, CLIENT_NAME),
		.client_version = kept(r, CLIENT_VERSION),
		.result_version = kept(r, RESULT_VERSION),
		.server_name = kept(r, SERVER_NAME),
		.server_version = kept(r, SERVER_VERSION),
		.has_capabilities = r->flags & CAPABILITIES,
		.list_changed = r->flags & LIST_CHANGED,
		.subscribe = r->flags & SUBSCRIBE,
		.supported_versions = r->flags & SUPPORTED_VERSIONS,
		.progress_token = kept(r, PROGRESS_TOKEN),
		.meta_token = kept(r, META_TOKEN),
		.cancel_id = kept(r, CANCEL_ID),
		.name = kept(r, NAME),
		.uri = kept(r, URI),
		.meta_version = kept(r, META_VERSION),
		.meta_mcp = r->flags & META_MCP,
		.related_task = r->flags & RELATED_TASK,
		.subscription_id = kept(r, SUBSCRIPTION_ID),
	};

	m.kind = classify(r);
	if (r->object)
		r->fn(r->arg, &m);
	if (r->text.cap > KEEP_CAP)
		buf_fini(&r->text);
}

struct rpc *
rpc_new(const struct limits *lim, rpc_msg_fn *fn, void *arg)
{
	static const struct json_cb cb = { on_begin, on_value, on_end };
	struct rpc *r = xcalloc(1, sizeof *r);
	size_t value = lim->json_value < UINT32_MAX / 64 ?
	    (size_t)lim->json_value : UINT32_MAX / 64;
	unsigned depth = lim->json_depth < UINT_MAX ?
	    (unsigned)lim->json_depth : UINT_MAX;

	r->fn = fn;
	r->arg = arg;
	buf_init(&r->text, N_SLOTS * (value + 2));
	r->json = json_new(&cb, r, paths, N_MEMBERS, depth, value);
	return r;
}

void
rpc_free(struct rpc *r)
{
	if (r == NULL)
		return;
	json_free(r->json);
	buf_fini(&r->text);
	free(r);
}

void
rpc_reset(struct rpc *r)
{
	json_reset(r->json);
	if (r->text.cap > KEEP_CAP)
		buf_fini(&r->text);
}

int
rpc_feed(struct rpc *r, const void *p, size_t n)
{
	return json_feed(r->json, p, n);
}

int
rpc_eof(struct rpc *r)
{
	return json_eof(r->json);
}
