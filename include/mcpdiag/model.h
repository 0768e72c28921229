/* model: what was seen becomes exchanges, streams, lineages, sessions, owners.
 *
 * The caller says what happened on the wire (observe, from packets; later the
 * replay client and the reference server, from their own knowledge); the model
 * gives everything its id and place, infers lineages and owners (DESIGN 5), and
 * emits events.  Nothing of a server is emitted until there is evidence that
 * it speaks MCP (scored, never by port or path); up to limits.pending events
 * are held until then.
 *
 * Exchanges are handles of the model, valid until model_response_end() and
 * model_request_end() have both been called, or model_conn_end(). */
#ifndef MCPDIAG_MODEL_H
#define MCPDIAG_MODEL_H

#include "mcpdiag/event.h"
#include "mcpdiag/limits.h"

struct model;
struct mconn;
struct mexch;

struct model_request {
	uint32_t n;		/* exchange number on the connection */
	bool head_lost;
	struct str method, target, host;
	struct str session_id;	/* raw header; hashed before it is shown */
	struct str last_event_id;
	struct str protocol_version, accept, content_type, coding, user_agent;
	struct str authorization, origin, mcp_method;
	bool accept_capital, accept_lower;	/* how its name is written */
};

struct model_response {
	bool head_lost;
	uint32_t status;
	struct str session_id, content_type, server, coding;
	const char *framing;	/* "chunked", "content-length", ... */
	struct str cache_control, x_accel, powered_by;
	struct str location, via, challenge;	/* WWW-Authenticate */
	bool event_stream;
};

struct model_sse {
	struct str name, id;	/* id.p NULL: none */
	bool dispatched, data, tail, cut, torn;
	uint64_t bytes, hash;
	struct str uri;		/* data of an `endpoint` event */
	int64_t retry_ms;
	bool id_after_data;	/* field order: a fingerprint */
};

struct rpc_msg;

struct model *model_new(const struct limits *, bool show_secrets, ev_fn *, void *arg);
void model_free(struct model *);

/* What was on the wire, just before the event it belongs to: see store.h. */
typedef void ev_text_fn(void *arg, struct str text, uint64_t bytes, bool cut);

/* For who shows single messages: texts are wanted, and go to `fn`. */
void model_texts(struct model *, ev_text_fn *fn, void *arg);
bool model_wants_texts(const struct model *);
/* Of a request's body so many bytes are kept, in place of 64 KiB; of all that are
 * under way four times that, beyond 64 KiB of each. */
void model_long_requests(struct model *, size_t max);
/* That number, or 0. */
size_t model_request_text(const struct model *);
/* The text of the next event of that type; borrowed until model_text_end(),
 * which forgets it when there was none. */
void model_text(struct model *, enum ev_type, struct str, uint64_t bytes, bool cut);
void model_text_end(struct model *);
/* A secret as events show it: "#" and 10 hex digits, or as it is. */
void model_secret(const struct model *, struct str raw, struct buf *);
/* A request target or location as events show it: the values of its query are
 * secrets. */
void model_target(const struct model *, struct str raw, struct buf *);

struct mconn *model_conn(struct model *, const char *client, const char *server,
    bool midstream, struct at);
/* how: "fin", "rst", "evicted", "eof", "reused". */
void model_conn_close(struct model *, struct mconn *, enum ev_dir, const char *how,
    bool by_peer, struct at);
void model_conn_end(struct model *, struct mconn *, struct at);
void model_gap(struct model *, struct mconn *, enum ev_dir, uint64_t bytes, struct at);
void model_stall(struct model *, struct mconn *, uint64_t bytes, bool zero_window,
    struct at since, struct at now);

struct mexch *model_request(struct model *, struct mconn *, const struct model_request *,
    struct at);
/* A JSON-RPC message of the request's body. */
void model_request_msg(struct model *, struct mexch *, const struct rpc_msg *,
    uint64_t hash, struct at);
void model_request_end(struct model *, struct mexch *, enum ev_end, uint64_t bytes,
    uint32_t flags, struct at);
void model_response(struct model *, struct mexch *, const struct model_response *,
    struct at);
void model_sse(struct model *, struct mexch *, const struct model_sse *, struct at);
void model_comment(struct model *, struct mexch *, struct str text, struct at);
/* A JSON-RPC message of the response: in a JSON body, or in the SSE event that
 * model_sse() reports right after. */
void model_response_msg(struct model *, struct mexch *, const struct rpc_msg *,
    uint64_t hash, struct at);
void model_response_end(struct model *, struct mexch *, enum ev_end, uint64_t bytes,
    uint32_t flags, struct at);

/* For who knows the owners, such as the server itself: no EV_OWNER is inferred,
 * only model_role() gives one, and the end of a stream that has a role.
 * model_stream() is the number of an exchange's stream, 0 when it has none. */
void model_roles_told(struct model *);
void model_role(struct model *, struct mexch *, enum ev_role to, enum ev_by,
    uint32_t cause, struct at);
uint32_t model_stream(const struct mexch *);

void model_anomaly(struct model *, struct mconn *, const char *name, const char *text,
    struct at);
/* Something that keeps the whole run from a full verdict. */
void model_note(struct model *, const char *name, const char *text, struct at);

/* Forgets the longest idle half of the sessions that nothing is open on, and
 * what is held of the longest idle half of the servers. */
void model_shed(struct model *);

struct model_total {		/* what the layers below know at the end */
	uint64_t packets, tcp_connections, gaps, gap_bytes, dropped, truncated;
	uint64_t encrypted, http2, other;
	ns_t first, last;
};

/* Ends everything that is open and emits EV_END. */
void model_end(struct model *, const struct model_total *, struct at);

#endif
