/* The model's own structures; nobody outside src/mcp/model*.c looks at them. */
#ifndef MODEL_PRIV_H
#define MODEL_PRIV_H

#include "mcpdiag/fingerprint.h"
#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "mcpdiag/model.h"
#include "mcpdiag/rpc.h"

#define N_RETURNS 8

/* What is held of a server until it is known to speak MCP. */
struct pending {
	struct ev *ev;			/* a clone */
	char *text;			/* NULL: none */
	size_t n_text;
	uint64_t text_bytes;
	bool text_cut;
};

/* A server address.  Nothing of it is emitted until `score` says MCP. */
struct endpoint {
	UT_hash_handle hh;
	struct endpoint *prev, *next;	/* by last use */
	char *name;
	unsigned score;
	bool mcp;
	struct pending *pending;	/* in order */
	uint32_t n_pending, cap_pending;
	uint64_t dropped;		/* events that did not fit */
	uint32_t n_refs;		/* connections and sessions that point here */
};

/* A stream that ended and may be what a later GET comes back from. */
struct ended {
	uint32_t stream, lineage;
	ns_t t;
	uint64_t id;			/* digest of the cursor its listener
					 * holds; 0: none */
	bool get;
};

struct mstream {
	uint32_t n, lineage;
	enum ev_kind kind;
	enum ev_role role;
	enum ev_role told_role;		/* by model_role() */
	bool owned;			/* takes part in ownership */
	bool told;			/* EV_STREAM is out */
	bool had_response;
	bool finished;			/* resumes a request that was answered */
	uint32_t events;
	uint32_t giver;			/* whose event ids it gives out: its own
					 * number, or the stream it resumes */
	uint64_t cursor_id;		/* digest of the last id, or of the cursor */
	ns_t opened, requested;
	uint32_t opened_pkt;
	struct mexch *x;
	struct mstream *prev, *next;	/* open GET streams of the session */
};

struct session {
	UT_hash_handle hh;		/* by key, in model.sessions */
	struct session *prev, *next;	/* by last use */
	struct session *dprev, *dnext;	/* in model.dead, if `dead` */
	uint32_t n;
	char *key;			/* table key: endpoint and id */
	struct endpoint *ep;
	char *shown;			/* as events show it */
	uint32_t refs;			/* exchanges that point here */
	enum ev_transport transport;
	bool inferred;			/* a logical client, not an id */
	bool dead;			/* deleted, and nothing points here */
	bool deleted, offered, list_changed, told;
	uint32_t signs, told_signs;
	uint32_t csigns, told_csigns;	/* of the client */
	bool initialized;		/* notifications/initialized was sent */
	char *revision, *client, *server, *agent;
	char sid_shape;			/* see fingerprint.h */
	int64_t retry_ms;		/* last seen, or -1 */
	int64_t returns[N_RETURNS];	/* observed delays, ms */
	uint32_t n_returns;
	struct idtab ids;		/* event id -> last giver, givers and data */
	struct idtab reqs;		/* request id or token -> exchange, method */
	struct mstream *open;		/* GET streams, oldest first */
	struct mstream *holder;		/* the presumed or primary one of them:
					 * there is one at most */
	struct ended *ended;
	uint32_t n_ended, cap_ended;
};

struct mconn {
	uint32_t id;
	struct endpoint *ep;
	char *client;
	bool told;
	bool closed[2];
	struct at opened;
	uint32_t flags;			/* EVF_GAP, EVF_MIDSTREAM */
	struct mexch *list;		/* exchanges still open */
};

/* What a comment on an idle stream touches comes first: with thousands of
 * streams each further cache line is a miss. */
struct mexch {
	struct mstream *st;		/* &stream while it is open, else NULL */
	struct session *s;
	struct endpoint *ep;		/* conn->ep */
	uint32_t id, conn_id, session_n, stream_n;
	uint32_t flags;			/* EVF_HEAD_LOST and the connection's */
	uint32_t comments;		/* on its stream */
	ns_t last_byte;
	bool client_closed;
	struct mstream stream;
	struct mexch *prev, *next;
	struct mconn *conn;
	char *cursor;			/* NULL: absent */
	char *agent, *client, *offer;	/* of an initialize without session */
	uint64_t auth;
	uint32_t status;
	struct at requested;
	bool req_done, resp_done;
	bool get, post, del;
	bool head_lost, modern, init, listen, has_sid, mcp_msg;
	bool event_stream;		/* response is one */
	uint32_t csigns;		/* of an initialize without session */
	bool asks_stream;		/* Accept names that type */
	unsigned score;			/* evidence that it is MCP */
};

struct model {
	struct limits lim;
	bool show_secrets;
	bool roles_told;
	ev_fn *out;
	void *arg;
	ev_text_fn *text_fn;		/* NULL: texts are not wanted */
	void *text_arg;
	struct str text;		/* of the next event of type text_of */
	enum ev_type text_of;
	uint64_t text_bytes;
	bool text_cut;
	size_t request_text;		/* model_long_requests() */
	size_t held_text;		/* bytes of texts that are pending */
	struct endpoint *endpoints, *ep_lru;
	struct session *sessions, *s_lru, *dead;
	uint32_t n_dead;
	uint32_t n_conn, n_x, n_stream, n_session;
	struct mexch *spare;		/* freed ones, for the next */
	uint32_t n_spare;
	struct buf scratch;		/* strings of the event being told */
	bool sessions_full, endpoints_full, ids_full;
	uint64_t unread;
};

/* model_endpoint.c: is it MCP at all? (spec-rules 3.1) */
struct endpoint *endpoint_get(struct model *, const char *name);
/* Adds points of evidence that this exchange is MCP. */
void exchange_score(struct model *, struct mexch *, unsigned points);
/* Emits, or holds back until the endpoint is known to be MCP. */
void model_emit(struct model *, struct endpoint *, const struct ev *);
/* Drops what is held of the longest idle half. */
void endpoints_shed(struct model *);
void endpoints_fini(struct model *);

/* model_session.c */
struct session *session_by_sid(struct model *, struct endpoint *, struct str sid, struct at);
struct session *session_by_uri(struct model *, struct endpoint *, struct str uri, struct at);
struct session *session_find_uri(struct model *, struct endpoint *, struct str target);
struct session *session_logical(struct model *, struct mexch *, struct at);
/* NULL unless that client is known already. */
struct session *session_find_logical(struct model *, struct mexch *);
void session_hold(struct model *, struct mexch *, struct session *); /* x->s = s */
void session_drop(struct model *, struct mexch *);
/* Emits EV_SESSION when something new is known. */
void session_tell(struct model *, struct session *, struct at);
void session_set(char **field, struct str value);
void sessions_fini(struct model *);
/* Says once that ids of a session have been forgotten, if so. */
/* Whether an event id is the session's own id. */
bool session_has_sid(const struct session *, struct str id);
void session_forgot(struct model *, const struct session *);
/* Which hash of a secret is shown: "#" and 10 hex digits. */
void secret_print(const struct model *, struct str raw, struct buf *out);
/* A request target, the values of its query hashed. */
void target_print(const struct model *, struct str raw, struct buf *out);

/* model_stream.c: lineages and owners (DESIGN 5) */
void stream_open(struct model *, struct mexch *, struct at);
void stream_tell(struct model *, struct mexch *, enum ev_kind);
void stream_event(struct model *, struct mexch *, const struct model_sse *, struct at);
/* The answer of a request came on a GET stream: it resumes that request. */
void stream_answers(struct model *, struct mexch *, struct at);
void stream_common(struct model *, struct mexch *, struct at);
/* Whether all it carries belongs to the request it resumes. */
bool stream_of_request(const struct mstream *);
void stream_close(struct model *, struct mexch *, enum ev_end, uint32_t flags, struct at);
/* Ev with the ids of an exchange filled in. */
struct ev model_ev(const struct mexch *, enum ev_type, enum ev_dir, struct at);

#endif
