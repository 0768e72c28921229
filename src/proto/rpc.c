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

/* name, where it goes to */
#define SLOTS(X) \
	X(METHOD, method) X(ID, id) X(CODE, code) X(MESSAGE, message) \
	X(PROTOCOL_VERSION, protocol_version) \
	X(CLIENT_NAME, client_name) X(CLIENT_VERSION, client_version) \
	X(RESULT_VERSION, result_version) \
	X(SERVER_NAME, server_name) X(SERVER_VERSION, server_version) \
	X(PROGRESS_TOKEN, progress_token) X(META_TOKEN, meta_token) \
	X(CANCEL_ID, cancel_id) X(NAME, name) X(URI, uri) \
	X(META_VERSION, meta_version) X(SUBSCRIPTION_ID, subscription_id)

enum slot {
#define X(slot, to) slot,
	SLOTS(X)
#undef X
	N_SLOTS,
};

static const uint16_t slots[] = {
#define X(slot, to) offsetof(struct rpc_msg, to),
	SLOTS(X)
#undef X
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
	/* The message so far.  Its strings lie in the piece being read; those
	 * of earlier pieces (`owned`) in `text`, from `at` on. */
	struct rpc_msg msg;
	uint32_t at[N_SLOTS];
	struct buf text;
	struct str piece;
	uint32_t have, owned;	/* bit sets of slots */
	uint32_t flags;		/* enum flag */
	bool object;		/* this message is one */
};

static struct str *
string(struct rpc *r, unsigned slot)
{
	return (struct str *)(void *)((char *)&r->msg + slots[slot]);
}

static void
drop(struct rpc *r, unsigned slot)
{
	struct str *s = string(r, slot);
	uint32_t bit = 1u << slot;
	size_t at = r->at[slot];

	if (r->owned & bit) {
		if (s->n > 0)
			memmove(r->text.p + at, r->text.p + at + s->n,
			    r->text.n - at - s->n);
		r->text.n -= s->n;
		for (unsigned i = 0; i < N_SLOTS; i++)
			if (r->at[i] > at)
				r->at[i] -= (uint32_t)s->n;
	}
	r->have &= ~bit;
	r->owned &= ~bit;
	*s = STR_NONE;
}

/* Seldom needed; kept apart for the sake of keep(). */
__attribute__((noinline)) static void
own(struct rpc *r, unsigned slot, bool open, bool close)
{
	struct str *s = string(r, slot);

	r->at[slot] = (uint32_t)r->text.n;
	if (open)
		(void)buf_addc(&r->text, '"');
	(void)buf_adds(&r->text, *s);
	if (close)
		(void)buf_addc(&r->text, '"');
	s->n = r->text.n - r->at[slot];
	r->owned |= 1u << slot;
}

/* Of several values the last one counts, as with most receivers. */
static void
keep(struct rpc *r, unsigned slot, const struct json_value *v, bool quotes)
{
	struct str *s = string(r, slot);

	*s = v->raw;
	r->have |= 1u << slot;
	if ((uintptr_t)s->p - (uintptr_t)r->piece.p >= r->piece.n) {
		own(r, slot, quotes, quotes && !v->cut);
	} else if (quotes) {	/* they are in the piece, too */
		s->p--;
		s->n += v->cut ? 1 : 2;
	}
}

/* The piece goes away: copies what the message has from there. */
static void
keep_rest(struct rpc *r)
{
	for (uint32_t todo = r->have & ~r->owned; todo != 0; todo &= todo - 1)
		own(r, (unsigned)__builtin_ctz(todo), false, false);
}

static void
clear(struct rpc *r)
{
	for (uint32_t todo = r->have; todo != 0; todo &= todo - 1)
		*string(r, (unsigned)__builtin_ctz(todo)) = STR_NONE;
	r->have = r->owned = r->flags = 0;
	buf_clear(&r->text);
}

static void
set(struct rpc *r, uint32_t flag, bool on)
{
	r->flags = on ? r->flags | flag : r->flags & ~flag;
}

static void
take_token(struct rpc *r, unsigned slot, const struct json_value *v)
{
	if (r->have & 1u << slot)
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
		if (r->have & 1u << to)
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

static void
on_end(void *arg, unsigned flaws)
{
	struct rpc *r = arg;
	struct rpc_msg *m = &r->msg;

	m->kind = classify(r);
	m->jsonrpc2 = r->flags & JSONRPC2;
	m->batch = json_is_batch(r->json);
	m->flaws = flaws;
	m->id_cut = r->flags & ID_CUT;
	m->has_capabilities = r->flags & CAPABILITIES;
	m->list_changed = r->flags & LIST_CHANGED;
	m->subscribe = r->flags & SUBSCRIBE;
	m->supported_versions = r->flags & SUPPORTED_VERSIONS;
	m->meta_mcp = r->flags & META_MCP;
	m->related_task = r->flags & RELATED_TASK;
	for (uint32_t todo = r->owned; todo != 0; todo &= todo - 1) {
		unsigned slot = (unsigned)__builtin_ctz(todo);

		string(r, slot)->p = buf_str(&r->text).p + r->at[slot];
	}
	if (r->object)
		r->fn(r->arg, m);
	clear(r);
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
	clear(r);
	if (r->text.cap > KEEP_CAP)
		buf_fini(&r->text);
}

int
rpc_feed(struct rpc *r, const void *p, size_t n)
{
	int rc;

	r->piece = str_of(p, n);
	rc = json_feed(r->json, p, n);
	if (rc == 0)
		keep_rest(r);
	return rc;
}

int
rpc_eof(struct rpc *r)
{
	return json_eof(r->json);
}
