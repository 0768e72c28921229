/* mcpd_priv: what the files of mcpd share.
 *
 *	mcpd.c          an HTTP request: what is it, may it, whose is it
 *	mcpd_call.c     a request's body as JSON-RPC calls
 *	mcpd_rpc.c      a call: which method, and its result
 *	mcpd_tools.c    tools, and the requests that take a while
 *	mcpd_fixture.c  what there is to list, read and call
 *	mcpd_answer.c   where the messages of a request go
 *	mcpd_session.c  sessions, and what their channel wants done
 *	mcpd_out.c      responses and streams on the wire, keep-alives
 *	mcpd_fault.c    faults that wait for something
 *	mcpd_legacy.c   HTTP+SSE of 2024-11-05
 *	mcpd_modern.c   2026-07-28
 *	mcpd_log.c      what the server did, as events */
#ifndef MCPD_PRIV_H
#define MCPD_PRIV_H

#include "mcpdiag/buf.h"
#include "mcpdiag/esc.h"
#include "mcpdiag/json.h"
#include "mcpdiag/map.h"
#include "mcpdiag/mcpd.h"

enum {
	MAX_BATCH = 64,			/* messages of a POST of 2025-03-26 */
	MAX_JOBS = 64,			/* requests of a session that run */
	MAX_SUBSCRIPTIONS = 64,		/* resource URIs of a session */
	MAX_LISTENS = 1024,		/* of 2026-07-28, of all clients */
	MAX_KEPT = 64 << 10,		/* of a client's text that waits: an id, a
					 * token, a URI */
	MAX_TEXT = 8 << 20,		/* of one message we send */
	EMIT_BATCH = 64,		/* messages in one turn of the loop */
	SID_LEN = 32,
};

enum rev { REV_2024, REV_2025_03, REV_2025_06, REV_2025_11, REV_2026, REV_N };

extern const char *const rev_names[];		/* "2024-11-05", ... */
enum rev rev_of(struct str);			/* REV_N: not one of ours */

/* ---- calls: mcpd_call.c ---- */

/* Members that some method needs; the table of paths is in mcpd_call.c. */
enum arg {
	ARG_JSONRPC, ARG_METHOD, ARG_ID, ARG_RESULT, ARG_ERROR,
	ARG_VERSION, ARG_NAME, ARG_URI, ARG_LEVEL, ARG_REQUEST_ID, ARG_TOKEN,
	ARG_SAMPLING, ARG_ELICITATION,
	ARG_TEXT, ARG_MS, ARG_STEPS, ARG_N, ARG_INTERVAL, ARG_BYTES,
	ARG_PROMPT, ARG_MESSAGE, ARG_ARG_URI, ARG_ALL, ARG_RPC, ARG_ARG1, ARG_ARG2,
	ARG_RESOURCE_URI,
	ARG_META, ARG_META_VERSION, ARG_META_CAPS, ARG_META_SAMPLING,
	ARG_META_ELICITATION, ARG_STATE, ARG_INPUT, ARG_INPUT_TEXT, ARG_INPUT_ACTION,
	ARG_LISTEN, ARG_LISTEN_TOOLS, ARG_LISTEN_PROMPTS, ARG_LISTEN_RESOURCES,
	ARG_ANSWER_TEXT, ARG_ANSWER_ACTION,
	ARG_N_ARGS
};

enum call_kind { CALL_REQUEST, CALL_NOTIFICATION, CALL_RESPONSE, CALL_INVALID };

struct val {
	struct str raw;		/* as on the wire, strings without quotes; absent */
	uint8_t kind;		/* enum json_kind */
};

struct call {
	enum call_kind kind;
	struct val v[ARG_N_ARGS];
	struct str id;		/* verbatim, strings with their quotes; absent */
};

struct calls {			/* one for the server, used for each request */
	struct json *json;
	struct buf text;	/* what the values are kept in */
	struct call *at;
	uint32_t n, cap;
	bool batch, too_many;
};

void calls_init(struct calls *);
void calls_fini(struct calls *);
/* 0, or -E_SYNTAX when it is not JSON, or no object and no array of them. */
int calls_read(struct calls *, struct str body);

static inline struct str
arg_str(const struct call *c, enum arg k)
{
	return c->v[k].raw;
}
/* A whole number between lo and hi, `def` when absent; false when it is none. */
bool arg_number(const struct call *, enum arg, uint64_t lo, uint64_t hi, uint64_t def,
    uint64_t *out);

/* ---- the server ---- */

struct session;
struct answer;

/* A request of HTTP whose response is not complete. */
struct xchg {
	uint32_t id;		/* number of the stream for channel */
	struct mcpd *m;
	struct session *s;	/* NULL: none */
	struct answer *answer;	/* NULL: a GET stream of a session */
	struct hreq *req;
	bool open;		/* the head of an event stream has been sent */
	bool get;		/* a GET stream of Streamable HTTP */
	bool mute;		/* no comments: a fault */
	bool torn;		/* FAULT_CUT_EVENT: its next event is cut */
	struct unsent *unsent;	/* NULL: all has left */
	ns_t due;		/* next comment, or cut */
	struct xchg *prev, *next;		/* of all streams, by due */
	struct xchg *sprev, *snext;		/* of the session */
	struct buf *held;	/* FAULT_BUFFER, FAULT_HOLD, FAULT_WEDGE */
	ns_t held_until;	/* INT64_MAX: until a stream ends */
	bool over;		/* it ends when what is held is out */
	ns_t born;		/* of its head */
	struct loop_timer *age;	/* FAULT_AGE_CUT */
};

enum answer_how {
	ANSWER_JSON,		/* nothing sent yet: JSON if the response is all */
	ANSWER_CHANNEL,		/* request n of the session's channel */
	ANSWER_STREAM,		/* an event stream without ids: 2026-07-28 */
	ANSWER_LEGACY,		/* the session's own stream: HTTP+SSE */
	ANSWER_LOST,		/* nobody is there any more */
};

/* Where the messages that belong to a POST's requests go. */
struct answer {
	struct mcpd *m;
	struct session *s;
	struct hreq *req;	/* ANSWER_JSON: to be answered */
	struct xchg *x;		/* once it has to wait, or streams */
	enum answer_how how;
	enum rev rev;
	uint32_t n;		/* ANSWER_CHANNEL */
	uint32_t left;		/* responses that are outstanding */
	uint32_t refs;		/* jobs, and the one who is dispatching */
	unsigned status;	/* of a JSON response */
	bool batch;
	bool initialize;	/* tells the session id */
	bool tool;		/* a tools/call: some faults are only for those */
	bool sampling, elicitation;	/* what its client can do */
	uint8_t level;		/* least severe log message wanted */
	struct buf json;	/* ANSWER_JSON of a batch: what there is so far */
};

/* A request that is being worked on. */
struct job {
	struct job *prev, *next;	/* of the session, or of the server */
	struct answer *a;
	struct loop_timer *timer;
	struct str id, token, uri;	/* in `text` */
	int tool;			/* enum tool */
	uint64_t step, steps, ms;
	uint64_t waits_for;		/* our request that the client answers; 0 */
	char text[];
};

/* A subscriptions/listen of 2026-07-28. */
struct listen {
	struct listen *prev, *next;
	struct answer *a;
	struct str id;			/* in `text` */
	bool tools, prompts, resources;
	char text[];
};

struct session {
	UT_hash_handle hh;
	char id[SID_LEN + 1];
	struct mcpd *m;
	struct channel *ch;
	struct xchg *streams;
	struct job *jobs;
	struct session *prev, *next;	/* by last use, oldest first */
	struct session *uprev, *unext;	/* of those that are untold */
	enum rev rev;
	uint32_t n_streams, n_jobs;
	uint32_t untold;		/* messages to all that it has not had */
	bool legacy, sampling, elicitation;
	bool odd;			/* FAULT_SPLIT_BRAIN */
	uint8_t level;			/* of logging/setLevel */
	ns_t slot_free;			/* FAULT_STALE_SLOT */
	bool slot_taken;
	char **subscriptions;
	uint32_t n_subs, cap_subs;
	struct xchg *legacy_stream;
	ns_t born;
	uint64_t pinged;		/* FAULT_PING_KILL: what has no answer yet */
	struct loop_timer *timer;	/* a fault's end of the session */
	struct loop_timer *emitter;	/* mcpd_opts.emit */
	uint32_t emitted;
};

struct mcpd_log;

struct mcpd {
	struct loop *loop;
	struct httpd *http;
	struct mcpd_opts o;
	struct httpd_cb cb;
	char url[128];
	struct session *table, *by_use;
	struct session *untold;		/* wait for a message to all */
	struct loop_timer *tell;	/* of the next of them */
	uint32_t n_sessions;
	struct xchg *streams;		/* open event streams, soonest due first */
	struct loop_timer *tick;	/* of the first of them */
	uint32_t next_xchg, n_streams;
	uint64_t next_ask;		/* our requests to clients, from 1 */
	uint64_t n_requests;
	struct listen *listens;
	uint32_t n_listens;
	struct job *jobs;		/* of no session: 2026-07-28 */
	uint32_t n_jobs;
	struct calls calls;
	struct buf out, head, frame;	/* scratch: a message, lines of a head,
					 * an event */
	struct mcpd_log *log;		/* NULL: no events wanted */
	bool stopping;
	struct loop_timer *stop_timer;
	ns_t stop_by;
	loop_fn *stopped;
	void *stopped_arg;
};

static inline bool
has_fault(const struct mcpd *m, enum fault f)
{
	return fault_is(&m->o.faults, f);
}

/* ---- mcpd.c ---- */

/* Whether pages of there may call; absent: no page calls. */
bool origin_allowed(const struct mcpd *, struct str origin);

/* ---- mcpd_out.c ---- */

/* A whole response; `type` may be NULL when there is no body. */
void reply(struct mcpd *, struct hreq *, unsigned status, const char *type,
    struct str body);
/* The same for a request that waited. */
void reply_later(struct xchg *, unsigned status, const char *type, struct str body);
/* A JSON-RPC error as the body; `data`: JSON, or absent. */
void refuse(struct mcpd *, struct hreq *, unsigned status, int code, struct str id,
    const char *text, struct str data);
struct xchg *xchg_new(struct mcpd *, struct session *, struct hreq *);
void xchg_free(struct xchg *);
/* The head of an event stream. */
void out_begin(struct xchg *, bool new_session);
/* An event; absent members are not written, retry_ms -1 neither. */
void out_event(struct xchg *, struct str name, struct str id, struct str data,
    int64_t retry_ms);
void out_comment(struct xchg *, struct str text);
/* Ends it properly, and frees it. */
void out_end(struct xchg *);
/* Events of which not all has left. */
uint32_t out_unsent(struct xchg *);
/* Headers of every response to that request, into m->head. */
void head_lines(struct mcpd *, struct hreq *, const char *type);
void out_tick(void *);
/* What held streams wait for may have come. */
void out_release(struct mcpd *);

/* ---- mcpd_fault.c ---- */

/* FAULT_WEDGE, and a GET is not read. */
bool fault_wedged(const struct mcpd *);
/* Whether the answer of x has to wait until a GET stream ends. */
bool fault_holds(const struct xchg *x);
/* FAULT_REFUSE_TOKEN: the request has been answered. */
bool fault_challenges(struct session *, struct hreq *);
/* FAULT_REDIRECT: likewise. */
bool fault_redirects(struct mcpd *, struct hreq *, struct str path, struct str query);
/* FAULT_PING_KILL: the first ping; one more or the end; the client's answer. */
void ping_first(struct session *);
void ping_due(void *session);
void ping_answered(struct session *, const struct call *);

/* ---- mcpd_session.c ---- */

struct session *session_new(struct mcpd *, enum rev, bool legacy);
struct session *session_find(struct mcpd *, struct str id);
/* What its initialize says of the client and the revision. */
void session_begin(struct session *, const struct call *);
void session_touch(struct session *);
/* Ends it, with its streams and jobs. */
void session_end(struct session *);
void session_emit(struct session *, struct str msg);
/* notifications/tools/list_changed to all of them, once each: a batch now, the
 * others in the next turns of the loop; m->untold are left. */
void sessions_emit(struct mcpd *);
/* The next batch. */
void sessions_tell(void *);
bool session_subscribe(struct session *, struct str uri, bool on);
bool session_subscribed(const struct session *, struct str uri);
/* The client of x is gone. */
void xchg_gone(struct xchg *, enum http_gone);

/* ---- mcpd_answer.c ---- */

/* One for `left` requests of a POST; s is NULL for 2026-07-28.  Its owner has
 * the first reference, and lets go of it when all are dispatched. */
struct answer *answer_new(struct mcpd *, struct session *, struct hreq *, enum rev,
    uint32_t left, bool batch, bool initialize);
void answer_unref(struct answer *);
/* A message that belongs to the requests: progress, a request to the client. */
void answer_msg(struct answer *, struct str msg);
/* A response to one of them. */
void answer_done(struct answer *, struct str msg);
/* One of them is cancelled and gets none. */
void answer_cancel(struct answer *);

/* The answer is an event stream from here on. */
void answer_stream(struct answer *);

/* ---- mcpd_rpc.c ---- */

/* A request; its response goes to the answer, now or later. */
void rpc_call(struct answer *, const struct call *);
/* All calls of a POST that are requests go to the answer, in order; the other
 * ones are dealt with. */
void rpc_dispatch(struct answer *, struct session *);
bool rpc_has_method(struct str name, bool modern);
/* A notification or a response of the client. */
void rpc_note(struct session *, const struct call *);
/* {"jsonrpc":"2.0","id":...,"result":{ into `b`; rpc_close() ends it, with what
 * the revision wants in every result. */
void rpc_open(struct buf *, struct str id);
void rpc_close(struct answer *, struct buf *);
/* rpc_close for a result that may be cached (2026-07-28). */
void rpc_close_cacheable(struct answer *, struct buf *);
void rpc_error(struct buf *, struct str id, int code, const char *text,
    struct str data);
void say_capabilities(struct buf *, bool modern);
void say_server(struct buf *);

/* ---- mcpd_tools.c, mcpd_fixture.c ---- */

void tool_call(struct answer *, const struct call *);
void job_free(struct job *);
/* The client has answered our request. */
void job_answered(struct session *, const struct call *);
/* notifications/cancelled */
void job_cancel(struct session *, const struct call *);
/* notifications/resources/updated to who asked for it. */
void resource_updated(struct mcpd *, struct str uri);

/* Lists of the catalogue as JSON arrays. */
void say_tools(const struct mcpd *, struct buf *);
void say_resources(const struct mcpd *, struct buf *);
void say_templates(const struct mcpd *, struct buf *);
void say_prompts(const struct mcpd *, struct buf *);
/* The contents of a resource, messages of a prompt: false when there is none. */
bool say_contents(const struct mcpd *, struct buf *, struct str uri);
bool say_messages(const struct mcpd *, struct buf *, const struct call *);

enum tool {
	TOOL_ECHO, TOOL_SLOW, TOOL_EMIT, TOOL_BIG, TOOL_FAIL, TOOL_ASK, TOOL_CONFIRM,
	TOOL_FIXTURES,		/* the conformance suite's from here on */
	TOOL_TEXT = TOOL_FIXTURES, TOOL_IMAGE, TOOL_AUDIO, TOOL_RESOURCE, TOOL_MIXED,
	TOOL_LOGGING, TOOL_ERROR, TOOL_PROGRESS, TOOL_SAMPLING, TOOL_ELICITATION,
	TOOL_DEFAULTS, TOOL_ENUMS, TOOL_RECONNECTION, TOOL_SCHEMA,
	TOOL_N
};

/* TOOL_N when there is none of that name. */
enum tool tool_named(const struct mcpd *, struct str name);
/* The content of a result that is always the same, a JSON array; NULL when it
 * is not. */
const char *tool_content(enum tool);
/* The schema of what it asks the client to fill in, or NULL. */
const char *tool_form(enum tool);

/* ---- mcpd_modern.c, mcpd_legacy.c ---- */

/* Whether a POST claims 2026-07-28, in its header or its body. */
bool is_modern(const struct hreq *, const struct calls *);
void modern_post(struct mcpd *, struct hreq *);
void modern_listen(struct answer *, const struct call *);
void modern_emit(struct mcpd *, const char *method, struct str uri);
void listen_free(struct listen *);
void listens_end(struct mcpd *);
/* The server stops: ends what job j answers. */
void modern_stop(struct job *);
void legacy_get(struct mcpd *, struct hreq *);
void legacy_send(struct session *, struct str msg);
void legacy_post(struct mcpd *, struct hreq *, struct str query);

/* ---- mcpd_log.c: each is nothing when no events are wanted ---- */

struct mcpd_log *log_new(struct mcpd *);
void log_free(struct mcpd_log *);
void log_opened(struct mcpd *, uint32_t conn, const char *client, const char *server);
void log_closed(struct mcpd *, uint32_t conn, bool by_client, bool reset);
void log_request(struct mcpd *, struct hreq *);
void log_response(struct mcpd *, struct hreq *, unsigned status, const char *type,
    struct str sid);
void log_body(struct mcpd *, struct hreq *, struct str json);
void log_event(struct mcpd *, struct hreq *, struct str name, struct str id,
    struct str data, int64_t retry_ms);
void log_comment(struct mcpd *, struct hreq *, struct str text);
void log_end(struct mcpd *, struct hreq *, enum ev_end);
/* GET stream `id` (of an xchg) is that request's. */
void log_stream(struct mcpd *, uint32_t id, struct hreq *);
void log_role(struct mcpd *, uint32_t id, enum chan_role, uint32_t cause);

#endif
