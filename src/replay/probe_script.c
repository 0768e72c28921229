#include "probe_priv.h"

#define A PROBE_A
#define B PROBE_B
#define C PROBE_C
#define P PROBE_P
#define X PROBE_X
#define SESSION { OP_SESSION, 0, 0, 0 }
#define GET(s) { OP_GET, s, CUR_NONE, 0 }
#define RESUME(s, cursor, of) { OP_GET, s, cursor, of }
#define DO(op, s) { op, s, 0, 0 }
#define EMIT { OP_EMIT, 0, 0, 0 }

static const struct script scripts[PROBE_N] = {
	[PROBE_HANDSHAKE] = { PROBE_HANDSHAKE, "handshake",
	    "initialize, and server/discover", false,
	    { SESSION, DO(OP_DISCOVER, X), DO(OP_SSE_ONLY, C) } },
	[PROBE_TWO_GETS] = { PROBE_TWO_GETS, "two-gets",
	    "a second GET beside the first", false,
	    { SESSION, GET(A), GET(B), DO(OP_WAIT_END, A), EMIT, EMIT } },
	[PROBE_BROADCAST] = { PROBE_BROADCAST, "broadcast",
	    "messages while three GETs are open", false,
	    { SESSION, GET(A), GET(B), GET(C), DO(OP_WAIT_END, A), EMIT, EMIT, EMIT } },
	[PROBE_RESUME_LIVE] = { PROBE_RESUME_LIVE, "resume-live",
	    "a GET with Last-Event-ID while the original lives", false,
	    { SESSION, GET(A), EMIT, EMIT, DO(OP_NEED_ID, A), RESUME(B, CUR_FIRST, A),
	      DO(OP_WAIT_END, A), EMIT } },
	[PROBE_RESUME] = { PROBE_RESUME, "resume",
	    "drop, resume, drop, resume", false,
	    { SESSION, GET(A), EMIT, DO(OP_NEED_ID, A), DO(OP_DROP, A), EMIT,
	      RESUME(B, CUR_LAST, A), DO(OP_WAIT_END, B), DO(OP_DROP, B),
	      RESUME(C, CUR_LAST, A), DO(OP_WAIT_END, C) } },
	[PROBE_UNKNOWN_CURSOR] = { PROBE_UNKNOWN_CURSOR, "unknown-cursor",
	    "a GET with a Last-Event-ID that never was", false,
	    { SESSION, RESUME(A, CUR_UNKNOWN, 0), DO(OP_WAIT_END, A) } },
	[PROBE_FINISHED_POST] = { PROBE_FINISHED_POST, "finished-post",
	    "a GET with the last id of an answered POST, beside a GET", false,
	    { SESSION, GET(A), DO(OP_POST, P), DO(OP_NEED_ID, P), RESUME(B, CUR_LAST, P),
	      DO(OP_WAIT_END, A), DO(OP_WAIT_END, B) } },
	[PROBE_POST_RESUME] = { PROBE_POST_RESUME, "post-resume",
	    "a POST dropped after its first event id, and resumed", false,
	    { SESSION, DO(OP_POST_CUT, P), DO(OP_NEED_ID, P), RESUME(A, CUR_FIRST, P),
	      DO(OP_WAIT_RESPONSE, A) } },
	[PROBE_MAKE_BEFORE_BREAK] = { PROBE_MAKE_BEFORE_BREAK, "make-before-break",
	    "a new GET, then the old one is closed", false,
	    { SESSION, GET(A), EMIT, RESUME(B, CUR_LAST, A), DO(OP_WAIT_END, A),
	      DO(OP_DROP, A), EMIT, DO(OP_IF_REFUSED, B), GET(C), EMIT } },
	[PROBE_PRIMARY_DIES] = { PROBE_PRIMARY_DIES, "primary-dies",
	    "of three GETs the first is closed", false,
	    { SESSION, GET(A), GET(B), GET(C), DO(OP_WAIT_END, A), DO(OP_DROP, A), EMIT,
	      EMIT } },
	[PROBE_MANY_GETS] = { PROBE_MANY_GETS, "many-gets",
	    "33 GETs beside the first", false,
	    { SESSION, GET(A), { OP_GETS, MANY, CUR_NONE, 33 }, DO(OP_WAIT_END, A) } },
	[PROBE_DELETE] = { PROBE_DELETE, "delete",
	    "DELETE while a GET is open", false,
	    { SESSION, GET(A), DO(OP_DELETE, X), DO(OP_WAIT_END, A), DO(OP_PING, P) } },
	[PROBE_DEAD_SESSION] = { PROBE_DEAD_SESSION, "dead-session",
	    "a POST and a GET of a session that is not", false,
	    { SESSION, DO(OP_DEAD, 0), DO(OP_PING, P), GET(A) } },
	[PROBE_SLOW_READER] = { PROBE_SLOW_READER, "slow-reader",
	    "a GET that is not read while messages come", false,
	    { SESSION, DO(OP_NARROW, A), EMIT, DO(OP_FILL, A), DO(OP_PING, P),
	      DO(OP_OTHER, X), DO(OP_OTHER_PING, C), DO(OP_READ, A) } },
	[PROBE_IDLE] = { PROBE_IDLE, "idle",
	    "a GET on which nothing happens", false,
	    { SESSION, GET(A), DO(OP_WAIT_END, A), DO(OP_IDLE, A) } },
	[PROBE_MODERN_GET] = { PROBE_MODERN_GET, "modern-get",
	    "GET in revision 2026-07-28", true,
	    { DO(OP_MODERN_GET, A) } },
	[PROBE_TWO_LISTENS] = { PROBE_TWO_LISTENS, "two-listens",
	    "two subscriptions/listen at once", true,
	    { DO(OP_LISTEN, A), DO(OP_LISTEN, B), DO(OP_WAIT_END, A), EMIT } },
	[PROBE_LISTEN_CUT] = { PROBE_LISTEN_CUT, "listen-cut",
	    "one of two subscriptions is cut", true,
	    { DO(OP_LISTEN, A), DO(OP_LISTEN, B), DO(OP_DROP, A), DO(OP_WAIT_END, B), EMIT } },
	[PROBE_HEADER_MISMATCH] = { PROBE_HEADER_MISMATCH, "header-mismatch",
	    "Mcp-Method that does not agree with the body", true,
	    { DO(OP_MISMATCH, P) } },
};

const struct script *
probe_script(enum probe_id id)
{
	return &scripts[id];
}

const char *
probe_name(enum probe_id id)
{
	return scripts[id].name;
}

const char *
probe_title(enum probe_id id)
{
	return scripts[id].title;
}
