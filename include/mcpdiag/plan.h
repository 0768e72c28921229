/* plan: captured exchanges as what clients are to do once more.
 * Takes the events of a run, and the texts of its messages where there are
 * any; then says for each captured HTTP request whether it can be played, and
 * may be, what it waits for, and what came of it in the capture.  Does nothing
 * itself; needs no server.
 *
 * What has side effects is left out unless it is allowed by name; the rest is
 * the handshake, ping, lists, discovery, subscriptions, GET, DELETE, and
 * answers to the server.  Without texts (an event file has none) only what is
 * certain is played: bodies of these methods are written anew.  At most
 * PLAN_MAX exchanges, PLAN_EVENTS events of a stream, PLAN_BODY bytes of a
 * request's body and PLAN_TEXT bytes of text in all are kept; what is left out
 * for that is named. */
#ifndef MCPDIAG_PLAN_H
#define MCPDIAG_PLAN_H

#include "mcpdiag/event.h"
#include "mcpdiag/where.h"

#define PLAN_MAX 65536U
#define PLAN_EVENTS 65536U
#define PLAN_BODY (16U << 20)
#define PLAN_TEXT (64U << 20)

/* All of these are owned by the plan.  Texts of the wire: strs may hold any
 * byte, and an absent one is STR_NONE. */
struct plan_msg {
	enum ev_msg kind;
	struct str method, id, name;
	struct str text;	/* its JSON; absent: not known, */
	bool too_long;		/* or past a limit */
	uint64_t hash;
	ns_t t;			/* since the first packet */
};

struct plan_sse {		/* an event block with an id */
	struct str id;
	uint64_t hash;		/* of its data */
	ns_t t;			/* since the first packet */
};

enum plan_kind {
	PLAN_POST, PLAN_GET, PLAN_DELETE,
	PLAN_OTHER,		/* not of MCP: never played */
};

enum plan_skip {		/* why it is not played */
	PLAN_PLAYED,
	PLAN_NOT_CHOSEN,	/* the filter leaves it out */
	PLAN_NO_MCP,
	PLAN_SIDE_EFFECTS,	/* `allow` is what would allow it */
	PLAN_NO_BODY,		/* it was not captured, or not whole */
	PLAN_LONG_BODY,		/* over PLAN_BODY, or past PLAN_TEXT */
	PLAN_NO_HEAD,
	PLAN_NO_STREAM,		/* legacy: the stream with its endpoint is not
				 * in the plan */
	PLAN_NO_QUESTION,	/* it answers a request of the server's that is
				 * not known */
	PLAN_NO_GIVER,		/* what gave its Last-Event-ID is not played */
	PLAN_N_SKIPS
};

struct plan_x {
	uint32_t n;		/* in the plan, from 1, by time */
	uint32_t x, conn, xn, pkt;	/* of the capture; 0: made up */
	uint32_t session, client;	/* client: from 0 */
	enum plan_kind kind;
	enum plan_skip skip;
	struct str allow;	/* "tools/call:poke" */
	bool made_up;		/* a handshake before the capture began */
	bool initialize, legacy;
	/* the request */
	ns_t at;		/* since the first packet */
	struct str method, target, accept, content_type, version, agent, origin;
	struct str head;	/* all of it; absent: not known */
	bool own_origin;	/* its origin is that of the server asked */
	bool has_sid;
	bool sessionless;	/* its server gave no session id, and so it has none */
	struct str cursor;	/* Last-Event-ID; absent: none */
	struct plan_msg *msgs;
	uint32_t n_msgs, cap_msgs;
	bool batch;
	struct str body;	/* to be sent; absent: none */
	/* what it waits for: numbers of the plan, 0 nothing */
	uint32_t handshake;	/* the initialize that makes its session; legacy:
				 * the GET that makes its endpoint */
	uint32_t after;		/* its response must have come */
	uint32_t prev;		/* it must have ended; then `gap` later */
	ns_t gap;
	bool has_heir;		/* there is one that comes after it so */
	uint32_t giver;		/* it gave the cursor, as its given-th id, */
	uint32_t given;		/* from 1; 0: none of its ids is that */
	bool last_given;	/* its last one, then */
	uint32_t cue;		/* it carried the list_changed that is followed, */
	uint32_t cued;		/* as the cued-th of that method, from 1 */
	struct str cue_method;
	uint32_t asker;		/* it carried the request that is answered, its */
	uint32_t asked;		/* asked-th one, from 1 */
	ns_t leave;		/* the client left it; since the first packet; -1:
				 * it did not */
	/* what came of it */
	uint32_t status;	/* 0: no response */
	bool gave_sid;		/* Mcp-Session-Id in the response */
	struct str response_type;
	bool is_stream;
	uint32_t stream, lineage, previous, resumes;	/* of the capture */
	enum ev_kind stream_kind;
	enum ev_end end;
	ns_t head_at, end_at;	/* since the first packet; -1: not there */
	struct plan_msg *answers;	/* messages of the server on it */
	uint32_t n_answers, cap_answers;
	struct plan_sse *events;
	uint32_t n_events, cap_events;
};

struct plan;

struct plan *plan_new(void);
void plan_free(struct plan *);
/* An ev_fn: arg is the plan. */
void plan_event(void *arg, const struct ev *);
/* The text of the event that comes next: the head of a request, or the JSON of
 * a message; cut: it is only a beginning, of what was too long. */
void plan_text(struct plan *, struct str, bool cut);
/* "resources/read" or "tools/call:NAME", NAME may be *.  -E_USAGE with a
 * sentence when it is no such word. */
int plan_allow(struct plan *, const char *word, struct errmsg *);
/* "CAPTURED=LIVE": calls of the tool CAPTURED are allowed, and call LIVE.
 * -E_USAGE with a sentence when it is no such pair. */
int plan_rename(struct plan *, const char *pair, struct errmsg *);
/* After the last event, once: decides.  where: NULL chooses all; with an
 * exchange its session's handshake is chosen. */
void plan_make(struct plan *, const struct where *);

/* By number, from 1; NULL past the end. */
const struct plan_x *plan_x(const struct plan *, uint32_t n);
uint32_t plan_count(const struct plan *);
uint32_t plan_clients(const struct plan *);
/* From the first packet to the last event. */
ns_t plan_duration(const struct plan *);
/* Exchanges and texts left out at a limit. */
uint64_t plan_left_out(const struct plan *);

/* "its body was not captured" */
const char *plan_skip_text(enum plan_skip);

#endif
