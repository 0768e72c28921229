/* probe: a server is tried out, one scenario after another.
 *
 * A scenario is a session of its own and a few requests that clients of the
 * field make all the time and conformance suites do not: a second GET, a
 * resume while the original lives.  What comes of it are data (struct
 * probe_seen); what they mean is a table from observed to verdict
 * (probe_judge()), which needs no socket.  An outcome is also compared with
 * what known servers do there (probe_equals()).
 *
 * Every wait has an end and so has every scenario; the requests of one are
 * bounded, its streams are closed and its session is deleted behind it.  What
 * of the server's messages goes on which stream is seen only when something is
 * emitted: by a tool the user names; no other tool is called. */
#ifndef MCPDIAG_PROBE_H
#define MCPDIAG_PROBE_H

#include "mcpdiag/client.h"

enum probe_id {
	PROBE_HANDSHAKE,
	PROBE_TWO_GETS,
	PROBE_BROADCAST,
	PROBE_RESUME_LIVE,
	PROBE_RESUME,
	PROBE_UNKNOWN_CURSOR,
	PROBE_FINISHED_POST,
	PROBE_POST_RESUME,
	PROBE_MAKE_BEFORE_BREAK,
	PROBE_PRIMARY_DIES,
	PROBE_MANY_GETS,
	PROBE_DELETE,
	PROBE_DEAD_SESSION,
	PROBE_SLOW_READER,
	PROBE_IDLE,
	PROBE_MODERN_GET,
	PROBE_TWO_LISTENS,
	PROBE_LISTEN_CUT,
	PROBE_HEADER_MISMATCH,
	PROBE_N
};

enum probe_answer {		/* what became of a request */
	PROBE_NOT_ASKED,
	PROBE_OPEN,		/* an event stream, still open at the end, or
				 * until it was dropped by us */
	PROBE_ENDED,		/* one that said something and was ended */
	PROBE_EMPTY,		/* one that was ended without an event */
	PROBE_PLAIN,		/* 2xx that is no event stream */
	PROBE_400, PROBE_401,	/* 401: 403, too */
	PROBE_404, PROBE_405, PROBE_409, PROBE_429, PROBE_4XX,
	PROBE_5XX,
	PROBE_OTHER,		/* any other status */
	PROBE_SILENT,		/* no answer in time */
	PROBE_CUT,		/* none, and the connection broke */
	PROBE_N_ANSWERS
};

enum probe_verdict { PROBE_OK, PROBE_WARNING, PROBE_FAULT, PROBE_UNKNOWN };

enum probe_why {		/* why a scenario is not judged */
	PROBE_JUDGED,
	PROBE_NOT_CHOSEN,
	PROBE_NOT_RUN,		/* interrupted, or out of time */
	PROBE_NO_SESSION,	/* its handshake failed */
	PROBE_STATELESS,	/* the server has no sessions */
	PROBE_NO_ID,		/* no event id was seen to resume from */
	PROBE_NO_STREAM,	/* the POST was answered without a stream */
	PROBE_NOT_MODERN,	/* the server has no revision 2026-07-28 */
	PROBE_NOT_LEGACY,	/* it has nothing else */
	PROBE_NOT_ASKED_FOR,	/* it takes long; an option asks for it */
	PROBE_OWN_STREAM,	/* the tool's messages come on its own POST */
	PROBE_TOOL_FAILED,	/* --emit-tool was answered with an error */
	PROBE_NO_MESSAGES,	/* no tool was named that emits */
};

/* The streams a verdict looks at. */
enum { PROBE_A, PROBE_B, PROBE_C, PROBE_P, PROBE_X, PROBE_SLOTS };

struct probe_stream {
	enum probe_answer answer;
	unsigned status;	/* 0: none */
	bool cursor;		/* it had a Last-Event-ID */
	bool dropped;		/* closed by us */
	bool response;		/* carried the awaited response */
	bool inclusive;		/* and the event of its own cursor once more */
	bool late;		/* it had none in time; but perhaps afterwards */
	unsigned events;	/* with an id, data or a retry */
	unsigned comments;
	unsigned replayed;	/* messages before anything was emitted on it */
	uint32_t heard;		/* set of emissions: bit n */
	unsigned from;		/* the first emission it could hear */
	int64_t retry_ms;	/* the last one told, or -1 */
	ns_t asked, head, end;	/* from the scenario's start; -1: never */
	enum client_end how;	/* of the end */
};

/* What a server did: a set, as some cannot be told apart without messages. */
enum {
	OUT_CONFLICT = 1 << 0,	/* 409 */
	OUT_BAD = 1 << 1,	/* 400 and other 4xx */
	OUT_ABSENT = 1 << 2,	/* 404 */
	OUT_ERROR = 1 << 3,	/* 5xx */
	OUT_NO_GET = 1 << 4,	/* 405 */
	OUT_LIMIT = 1 << 5,	/* 429, or an end at a bound */
	OUT_EVICT = 1 << 6,	/* at a bound an older stream ends */
	OUT_EMPTY = 1 << 7,	/* 200, and an end at once */
	OUT_TYPE = 1 << 8,	/* 200 and no stream */
	OUT_REPLACED = 1 << 9,	/* the older one ends; nothing is replayed */
	OUT_REPLAYED = 1 << 10,	/* the older one ends; replay */
	OUT_FIRST = 1 << 11,	/* both open, the older one has the messages */
	OUT_LAST = 1 << 12,	/* both open, the newer one has them */
	OUT_BOTH = 1 << 13,	/* both open, and both have them */
	OUT_SPLIT = 1 << 14,	/* both open, in turns */
	OUT_MUTE = 1 << 15,	/* open, but nobody has them */
	OUT_OPEN = 1 << 16,	/* open, and more cannot be wanted */
	OUT_CLOSES = 1 << 17,	/* replay, then the end */
	OUT_LOCKED = 1 << 18,	/* the place of a dead stream stays taken */
	OUT_RESUMED = 1 << 19,	/* open, with what was missed */
	OUT_GONE = 1 << 20,	/* ended, as it should be */
	OUT_ALIVE = 1 << 21,	/* a session that should be dead is served */
	OUT_AUTH = 1 << 22,	/* 401, 403 */
	OUT_NO_ID = 1 << 23,	/* its messages have no event ids */
	OUT_WEDGED = 1 << 24,	/* one who does not read stops every session, */
	OUT_HELD = 1 << 25,	/* its own, */
	OUT_WAITS = 1 << 26,	/* or who emits only; */
	OUT_KEPT = 1 << 27,	/* what it did not read is kept for it, */
	OUT_PARTLY = 1 << 28,	/* or not all of it */
	OUT_BESIDE = OUT_FIRST | OUT_LAST | OUT_BOTH | OUT_SPLIT | OUT_MUTE,
};

/* PROBE_SLOW_READER: what was emitted while a GET was not read. */
struct probe_fill {
	unsigned calls, answered;	/* of the tool */
	unsigned stuck;		/* calls that were not answered in time */
	uint64_t each;		/* bytes of the stream that one of them made */
	uint64_t need;		/* bytes, more than may wait in the kernels */
	uint64_t bytes;		/* that came when it was read on */
};

struct probe_seen {
	enum probe_why why;
	struct probe_stream s[PROBE_SLOTS];
	enum probe_why tool;	/* why nothing is known of who hears what */
	unsigned emitted;	/* messages that were asked for, by number */
	unsigned missed;	/* of them, while no GET was open */
	unsigned opened, ended;	/* GET streams, by the server */
	struct probe_fill fill;
	ns_t took;
};

struct probe_result {
	enum probe_verdict verdict;
	uint32_t outcome;	/* set of what it may be; for probe_equals() */
	const char *say;	/* what was observed, a clause; static */
	const char *note;	/* what it means, or why it is unknown; static */
};

/* What the handshake told; text as it came, cut to fit. */
struct probe_server {
	char name[64], version[64], revision[32], type[64];
	char location[128];	/* of a redirect */
	bool session, modern, legacy, sse_only;
	unsigned status;	/* of the answer to initialize; 0: none */
	enum client_end end;
	char why[160];		/* no answer: a sentence */
	bool reached;		/* it speaks MCP */
	bool answered_sse, primed;
	int64_t retry_ms;
};

struct probe_opts {
	const char *url;
	const char *protocol;	/* offered */
	const struct str *headers;
	unsigned n_headers;
	const char *emit_tool;	/* NULL: none */
	const char *emit_args;	/* a JSON object */
	ns_t idle;		/* 0: PROBE_IDLE is not run */
	ns_t answer;		/* longest wait for an answer */
	ns_t quiet;		/* how long nothing must happen to be nothing, at
				 * least; more for a server that answers late */
	ns_t total;		/* for all of it, without PROBE_IDLE */
	uint64_t only;		/* set of 1 << enum probe_id */
	struct client_opts client;
};

struct probe;

void probe_opts_init(struct probe_opts *);
/* Options are copied; what they point at is borrowed.  each(arg, id) is called
 * as soon as a scenario is over, done(arg) when all are.  NULL and a sentence
 * when libcurl cannot start. */
struct probe *probe_new(struct loop *, const struct probe_opts *,
    void (*each)(void *arg, enum probe_id), loop_fn *done, void *arg, struct errmsg *);
void probe_free(struct probe *);
void probe_start(struct probe *);
/* No more is begun; done() follows.  What was not run is PROBE_NOT_RUN. */
void probe_stop(struct probe *);
const struct probe_server *probe_server(const struct probe *);
const struct probe_seen *probe_seen(const struct probe *, enum probe_id);

const char *probe_name(enum probe_id);		/* "two-gets" */
const char *probe_title(enum probe_id);		/* what is done, a clause */
const char *probe_answer_name(enum probe_answer);

/* The verdict over what was seen. */
struct probe_result probe_judge(enum probe_id, const struct probe_seen *);

/* Servers whose behaviour is known: row k, NULL past the end. */
const char *probe_known(unsigned k);
/* Whether what was seen is what that one does; false where nothing is known
 * of it or of what was seen, which is no contradiction. */
bool probe_equals(unsigned k, enum probe_id, const struct probe_result *);
bool probe_contradicts(unsigned k, enum probe_id, const struct probe_result *);

#endif
