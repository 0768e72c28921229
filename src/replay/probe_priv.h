/* probe_priv: the parts of probe, for each other. */
#ifndef PROBE_PRIV_H
#define PROBE_PRIV_H

#include "mcpdiag/buf.h"
#include "mcpdiag/probe.h"
#include "mcpdiag/rpc.h"
#include "mcpdiag/sse.h"

enum {
	STREAMS = 48,		/* requests of one scenario that are kept */
	HANDSHAKE = PROBE_SLOTS,	/* initialize, */
	NOTE,			/* initialized */
	CALL,			/* the tool that emits */
	SPARE,
	MANY,			/* and further GETs from here on */
};

enum op {
	OP_END,
	OP_SESSION,		/* initialize, initialized */
	OP_GET,			/* stream, cursor, of which stream */
	OP_GETS,		/* n of them, one after another */
	OP_POST,		/* tools/list, until it is answered */
	OP_POST_CUT,		/* the same, dropped at its first event id */
	OP_PING,		/* a POST whose status counts */
	OP_DELETE,
	OP_NEED_ID,		/* of that stream; else nothing more is done */
	OP_DROP,		/* close it */
	OP_WAIT_END,		/* until that stream ends, or it is quiet */
	OP_WAIT_RESPONSE,	/* until that stream has had the response */
	OP_IF_REFUSED,		/* goes on only if that GET got no stream */
	OP_EMIT,		/* the tool; until somebody has heard it */
	OP_IDLE,		/* as long as the user wants, or to the end */
	OP_DEAD,		/* from here on: a session that never was */
	OP_DISCOVER,		/* 2026-07-28 */
	OP_MODERN_GET,
	OP_LISTEN,
	OP_MISMATCH,
	OP_SSE_ONLY,		/* GET of 2024-11-05: is there an endpoint event */
	OP_NARROW,		/* a GET of which little waits in the kernels, */
	OP_FILL,		/* not read while the tool emits, */
	OP_READ,		/* and read on, until it is quiet */
	OP_OTHER,		/* initialize, of another session, */
	OP_OTHER_PING,		/* and a ping of it */
};

enum cursor { CUR_NONE, CUR_FIRST, CUR_LAST, CUR_UNKNOWN };

struct step {
	enum op op;
	unsigned stream;
	enum cursor cursor;
	unsigned of;		/* stream of the cursor; OP_GETS: how many */
};

#define SCRIPT_STEPS 13

struct script {
	enum probe_id id;
	const char *name, *title;
	bool modern;		/* needs 2026-07-28 */
	struct step steps[SCRIPT_STEPS];
};

const struct script *probe_script(enum probe_id);

struct act;

struct stream {
	struct act *act;
	unsigned n;
	struct creq *req;	/* while it runs */
	struct probe_stream p;
	uint64_t bytes;		/* of the body */
	bool is_stream, json, get, over, error, endpoint;
	bool other;		/* initialize of another session */
	bool modern;		/* it named that revision */
	struct sse *sse;
	struct rpc *rpc;
	struct buf data;	/* of the event, or the JSON body */
	struct buf first, last;	/* event ids */
	struct buf cursor;	/* that it was asked with */
	struct buf want;	/* the id of the response that is awaited */
	char type[64], location[128], why[160];
};

/* A scenario under way. */
struct act {
	struct probe *probe;
	const struct script *script;
	struct client *client;
	struct loop_timer *timer, *settle, *look;
	unsigned step, many;
	bool late, settled, settling, closing;
	ns_t start;
	struct buf session, version;	/* header lines */
	struct buf real;	/* the real session, while another is named */
	struct buf other;	/* that of OP_OTHER */
	uint64_t told;		/* bytes of A, at the last look, */
	uint64_t fill_from;	/* and when it was read no more */
	ns_t fill_end;		/* no further call from then on */
	uint32_t next_id, replies;
	struct probe_seen seen;
	bool emitting, heard_now, heard_then, own;
	struct stream streams[STREAMS];
};

struct probe {
	struct loop *loop;
	struct probe_opts o;
	void (*each)(void *arg, enum probe_id);
	loop_fn *done;
	void *arg;
	struct act *act;
	enum probe_id next;
	bool stopping, over, tool_failed;
	struct loop_timer *turn, *total;
	struct probe_server server;
	struct probe_seen seen[PROBE_N];
};

/* ---- probe_ask.c: requests and what comes back ---- */

void ask_init(struct act *);
void ask_fini(struct act *);
/* What a request is of. */
enum { ASK_SESSION = 1, ASK_MODERN = 2, ASK_MISMATCH = 4, ASK_NARROW = 8,
	ASK_OTHER = 16,	/* begins another session; with ASK_SESSION, is of that */
};
/* Sends it as stream n; body absent: none. */
void ask(struct act *, unsigned n, const char *method, const char *rpc_method,
    struct str body, struct str cursor, unsigned flags);
/* A call of the tool that emits. */
void ask_tool(struct act *, unsigned n);
void ask_drop(struct act *, unsigned n);
/* Goes on with the script if what it waits for has come. */
void act_look(struct act *);
/* How a stream stands. */
enum probe_answer ask_answer(const struct stream *);

/* ---- probe_slow.c: a stream that is not read ---- */

void slow_fill(struct act *);
/* Calls on; true: enough, and all are answered. */
bool slow_filled(struct act *);
/* They were not, in time. */
void slow_stuck(struct act *);
void slow_read(struct act *);
bool slow_drained(struct act *);

#endif
