/* rpc: JSON-RPC 2.0 messages out of JSON bytes, single or batch.
 * A message is classified from its members (JSON-RPC 2.0 section 4 and 5);
 * the MCP members that the model needs come with it; of a member that comes
 * twice the last counts, as with most receivers.  All strings are borrowed
 * until the callback returns; escapes in them are untouched. */
#ifndef MCPDIAG_RPC_H
#define MCPDIAG_RPC_H

#include "mcpdiag/limits.h"
#include "mcpdiag/str.h"

enum rpc_kind {
	RPC_REQUEST,		/* method and id */
	RPC_NOTIFICATION,	/* method, no id */
	RPC_RESPONSE,		/* result */
	RPC_ERROR,		/* error */
	RPC_INVALID,		/* an object that is none of these, or with a
				 * method and an id that no id may be */
};

struct rpc_msg {
	enum rpc_kind kind;
	bool jsonrpc2;		/* "jsonrpc":"2.0" is there */
	bool batch;		/* it came in an array */
	unsigned flaws;		/* enum json_flaw */
	struct str method;	/* raw string contents */
	struct str id;		/* verbatim; strings with their quotes, so 1
				 * and "1" differ; "null" for null; absent */
	bool id_cut;		/* id is its start, no closing quote */
	struct str code;	/* error.code, verbatim number */
	struct str message;	/* error.message */
	/* initialize and discover */
	struct str protocol_version;	/* params.protocolVersion */
	struct str client_name, client_version;
	struct str result_version;	/* result.protocolVersion */
	struct str server_name, server_version;
	bool has_capabilities;		/* result.capabilities */
	bool list_changed;		/* any listChanged:true in it */
	bool subscribe;			/* resources.subscribe:true */
	bool supported_versions;	/* result.supportedVersions (2026-07-28) */
	/* correlation */
	struct str progress_token;	/* params.progressToken, verbatim as id */
	struct str meta_token;		/* params._meta.progressToken */
	struct str cancel_id;		/* params.requestId */
	struct str name;		/* params.name (tools/call) */
	struct str uri;			/* params.uri */
	struct str meta_version;	/* params._meta."io.modelcontextprotocol/protocolVersion" */
	bool meta_mcp;			/* some _meta key starts io.modelcontextprotocol/ */
	bool related_task;		/* _meta."io.modelcontextprotocol/related-task" */
	struct str subscription_id;	/* _meta."io.modelcontextprotocol/subscriptionId" */
};

typedef void rpc_msg_fn(void *arg, const struct rpc_msg *);

struct rpc;

struct rpc *rpc_new(const struct limits *, rpc_msg_fn *, void *arg);
void rpc_free(struct rpc *);
void rpc_reset(struct rpc *);
/* As json_feed and json_eof.  What is JSON but no object, alone or in a batch,
 * gives no message and is no error. */
int rpc_feed(struct rpc *, const void *, size_t);
int rpc_eof(struct rpc *);

#endif
