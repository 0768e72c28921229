/* fault: faults of the field that the reference server can show.
 * One row in the table for each: its name, what its value counts, what the
 * server does, and the detector that names it. */
#ifndef MCPDIAG_FAULT_H
#define MCPDIAG_FAULT_H

#include "mcpdiag/err.h"
#include "mcpdiag/ns.h"
#include "mcpdiag/str.h"

/* symbol, name, value (NULL: takes none), its default, what happens, detector */
#define FAULTS(X) \
	X(FINITE_GET,    "finite-get",    NULL, 0, \
	  "a GET is answered 200 and ends at once", "empty-accept-loop") \
	X(GET_TEXT,      "get-text",      NULL, 0, \
	  "a GET is answered 200 with text/plain", "empty-accept-loop") \
	X(REFUSE_GET,    "refuse-get",    "STATUS", 500, \
	  "a GET is answered with that status", "refused-get-loop") \
	X(STALE_SLOT,    "stale-slot",    "SECONDS", 0, \
	  "a GET after the first is answered 409, also that long after the first " \
	  "has ended (0: for ever)", "stale-slot") \
	X(KILL_REFUSED,  "refused-get-kills-stream", NULL, 0, \
	  "a second GET is answered 409 and ends the first", "refused-get-kills-stream") \
	X(ZOMBIE,        "zombie-resume", NULL, 0, \
	  "a GET with Last-Event-ID is accepted, then nothing comes, not even comments", \
	  "orphaned-channel") \
	X(SUPERSEDE,     "supersede",     NULL, 0, \
	  "a further GET takes the channel, the older stream stays open and silent", \
	  "orphaned-channel") \
	X(SPLIT,         "split-delivery", NULL, 0, \
	  "open GET streams get the messages in turn", "orphaned-channel") \
	X(AFTER_DELETE,  "keep-after-delete", NULL, 0, \
	  "DELETE ends the session but not its streams", "orphaned-channel") \
	X(REPLAY_ALL,    "replay-all",    NULL, 0, \
	  "a resumed stream gets all that is kept, whatever its cursor", "replay-loop") \
	X(CROSS,         "cross-stream-replay", NULL, 0, \
	  "a resumed stream gets what belongs to other streams", "replay-loop") \
	X(BROADCAST,     "broadcast",     NULL, 0, \
	  "every open GET stream gets every message", "duplicate-delivery") \
	X(IDLE_CUT,      "idle-cut",      "SECONDS", 60, \
	  "a stream with no byte for that long is cut, as by a proxy", "idle-cut") \
	X(AGE_CUT,       "age-cut",       "SECONDS", 30, \
	  "a stream is cut when it is that old, whatever comes on it", "idle-cut") \
	X(SESSION_IDLE,  "session-idle",  "SECONDS", 300, \
	  "a session ends that long after its last request, comments or not", "idle-cut") \
	X(NO_KEEPALIVE,  "no-keepalive",  NULL, 0, \
	  "no comments on idle streams", "idle-cut") \
	X(FORGET,        "forget-session", "SECONDS", 10, \
	  "a session is forgotten that long after it was made: 404", "dead-session") \
	X(REFUSE_TOKEN,  "refuse-token",  "SECONDS", 0, \
	  "a session's requests are answered 401 with a challenge that long after it " \
	  "was made", "auth-churn") \
	X(PING_KILL,     "ping-kill",     "SECONDS", 5, \
	  "a session with a GET stream is pinged, and ended when there is no answer for " \
	  "that long", "ping-kill") \
	X(SPLIT_BRAIN,   "split-brain",   NULL, 0, \
	  "every second request of a session is answered 404", "split-brain") \
	X(BUFFER,        "buffer",        "SECONDS", 5, \
	  "a stream's head and events are held back that long", "buffered-stream") \
	X(FALL_SILENT,   "fall-silent",   "SECONDS", 5, \
	  "a stream of that age gets no more comments, and is not ended", "half-open") \
	X(HOLD,          "head-of-line",  NULL, 0, \
	  "no request of a session is answered while it has a GET stream open", \
	  "head-of-line") \
	X(WEDGE,         "wedge",         NULL, 0, \
	  "nobody is answered while a client does not read its GET stream", \
	  "session-wedge") \
	X(DROP_RESPONSE, "drop-response", NULL, 0, \
	  "the stream of a tools/call ends without its response", "lost-response") \
	X(WRONG_STREAM,  "wrong-stream",  NULL, 0, \
	  "progress and response of a tools/call come on the GET stream", "wrong-stream") \
	X(CUT_EVENT,     "cut-event",     NULL, 0, \
	  "the response of a tools/call ends in the middle of its event", "contract") \
	X(CROSSED,       "crossed-answers", NULL, 0, \
	  "HTTP+SSE: all answers come on the stream of the newest session", \
	  "id-collision") \
	X(STORM,         "storm",         NULL, 0, \
	  "every tools/list is followed by a list_changed", "notification-storm") \
	X(ACCEPTED_200,  "accepted-200",  NULL, 0, \
	  "a notification is answered 200 with a body instead of 202", "contract") \
	X(REDIRECT,      "redirect",      "STATUS", 307, \
	  "what is sent to /mcp is redirected to /mcp/", "contract") \
	X(WRONG_URI,     "wrong-endpoint", NULL, 0, \
	  "HTTP+SSE: the endpoint event names a path where nobody answers", "contract") \
	X(ABRUPT,        "abrupt-shutdown", NULL, 0, \
	  "the end of the server resets its connections", "abrupt-shutdown")

enum fault {
#define X(symbol, name, value, def, what, detector) FAULT_##symbol,
	FAULTS(X)
#undef X
	FAULT_N
};

struct faults {
	uint64_t on;			/* bits 1 << enum fault */
	uint32_t value[FAULT_N];	/* of SECONDS: in ms */
};

struct fault_row {
	const char *name, *value, *what, *detector;
	uint32_t def;
};

/* Row i of the table; false past the end. */
bool fault_row(unsigned i, struct fault_row *);
/* "NAME" or "NAME=VALUE", seconds with up to three decimals; -E_USAGE and a
 * sentence when there is no such fault, or the value is none. */
int fault_set(struct faults *, struct str, struct errmsg *);

/* The value of one that has SECONDS. */
static inline ns_t
fault_time(const struct faults *f, enum fault k)
{
	return f->value[k] * NS_MS;
}

static inline bool
fault_is(const struct faults *f, enum fault k)
{
	return f->on >> k & 1;
}

#endif
