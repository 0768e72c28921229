/* channel: which of a session's event streams owns its common channel.
 *
 * A pure state machine, one for each session: no socket, no clock.  What
 * happens to the session goes in (a GET, a message to send, a stream that is
 * gone); what the server has to do comes out, through `act`, before the call
 * returns.  Streams are numbered by the caller, from 1, never reused.
 *
 * The common channel carries what is tied to no request.  The policy says who
 * gets it when there is more than one GET; the transition tables are those of
 * rmcp, release by release, and of ours:
 *
 *  policy                GET, primary dead     GET, primary alive
 *  replace               primary, replay       old one ends; primary, replay
 *  conflict              primary, replay       409
 *  conflict-fallthrough  primary, replay       409
 *  replace-all           primary, replay       old one ends; primary, replay
 *  replace-noreplay      primary, replay       old one ends; primary
 *  shadow                primary               shadow, any number of them
 *  shadow-replay         primary, replay       shadow; the oldest goes at the cap
 *  shadow-empty          primary, replay       shadow; the oldest goes at the cap
 *  shadow-promote        primary, replay       shadow; refused at the cap
 *
 * They differ also in what a cursor means that belongs to no running request
 * (a finished POST): an error (replace, conflict), the common channel from its
 * start (conflict-fallthrough, replace-all, replace-noreplay), a listener
 * (shadow*), or 200 and an end at once (shadow-empty).
 *
 * shadow-promote: when the primary is gone, the newest live shadow takes its
 * place at once, and gets first what was emitted since.  Replay is strictly
 * after Last-Event-ID and only of that stream: each message remembers the
 * stream it went out on.  Ids are unique: g2-17 is message 17 of the common
 * channel on the session's second GET stream, r3-1 the first of request 3.
 * What waits for a listener or a resume is bounded; of more than that the
 * oldest is forgotten. */
#ifndef MCPDIAG_CHANNEL_H
#define MCPDIAG_CHANNEL_H

#include "mcpdiag/str.h"

enum chan_policy {
	CHAN_REPLACE,			/* rmcp 0.13-0.16 */
	CHAN_CONFLICT,			/* rust-sdk PR 660, first commit */
	CHAN_CONFLICT_FALLTHROUGH,	/* second */
	CHAN_REPLACE_ALL,		/* third */
	CHAN_REPLACE_NOREPLAY,		/* fourth */
	CHAN_SHADOW,			/* fifth */
	CHAN_SHADOW_REPLAY,		/* rmcp 0.17-1.4 */
	CHAN_SHADOW_EMPTY,		/* rmcp 1.5-3.1 */
	CHAN_SHADOW_PROMOTE,		/* ours */
	CHAN_N_POLICIES
};

extern const char *const chan_policy_names[];	/* NULL-terminated, in order */

enum chan_role {
	CHAN_IS_CLOSED,
	CHAN_IS_PRIMARY,	/* the common channel's */
	CHAN_IS_SHADOW,		/* open beside it, idle */
	CHAN_IS_ORPHAN,		/* open, and nothing will ever come */
	CHAN_IS_REQUEST,	/* carries the answer to one request */
};

/* Faults of other servers, on top of a policy. */
enum {
	CHAN_FAULT_REPLAY_ALL = 1,	/* a cursor gets all that is kept */
	CHAN_FAULT_CROSS = 2,		/* a cursor gets another stream's, too */
	CHAN_FAULT_BROADCAST = 4,	/* every listener gets each message */
	CHAN_FAULT_SPLIT = 8,		/* listeners get them in turn */
	CHAN_FAULT_SUPERSEDE = 16,	/* the newest GET is the primary, the
					 * older ones stay open, silent */
};

struct chan_opts {
	enum chan_policy policy;
	bool scoped;		/* a POST's priming id names its request; else
				 * it is the bare 0 (rmcp before 1.5) */
	bool inclusive;		/* replay begins with the event of the cursor */
	bool prime;		/* shadow-promote: streams begin with an event
				 * of empty data (revision 2025-11-25) */
	int64_t retry_ms;	/* told with the first event; -1: not */
	uint32_t cap;		/* shadows of one session */
	uint32_t keep;		/* messages kept for replay */
	size_t keep_bytes;	/* and bytes of them (shadow-promote) */
	unsigned faults;
	/* Whether the stream's client is still there, as far as the kernel
	 * knows; NULL: those are that were not told to be closed. */
	bool (*alive)(void *arg, uint32_t stream);
};

/* What that policy has of its own: priming, replay, cap; 3000 ms. */
void chan_opts_init(struct chan_opts *, enum chan_policy);

enum chan_do {
	CHAN_ACCEPT,	/* answer the GET with 200 and an event stream */
	CHAN_REFUSE,	/* answer it with `status` and the text `data` */
	CHAN_SEND,	/* an event: id, retry_ms, data, each if present */
	CHAN_NOTE,	/* a comment: `data` */
	CHAN_END,	/* the end of the stream's body */
	CHAN_ROLE,	/* its role is now `role`; `cause` is the stream whose
			 * opening or closing changed it */
};

struct chan_act {
	enum chan_do what;
	uint32_t stream;
	unsigned status;
	struct str id;		/* absent: no id field */
	struct str data;	/* absent: no data field */
	int64_t retry_ms;	/* -1: no retry field */
	enum chan_role role;
	uint32_t cause;
	bool replay;		/* CHAN_SEND: it was sent before */
};

typedef void chan_act_fn(void *arg, const struct chan_act *);

struct channel;

struct channel *chan_new(const struct chan_opts *, chan_act_fn *, void *arg);
void chan_free(struct channel *);

/* A GET; `cursor` is its Last-Event-ID, absent when there is none. */
void chan_get(struct channel *, uint32_t stream, struct str cursor);
/* The stream is gone: closed by the client, or dropped.  The last `unsent` of
 * its events are known not to have left. */
void chan_closed(struct channel *, uint32_t stream, uint32_t unsent);
/* A message for the common channel. */
void chan_emit(struct channel *, struct str data);
/* Ends the primary's stream; the listener is expected back (SEP-1699). */
void chan_poll(struct channel *);

/* A POST with a request, answered by an event stream; returns the request's
 * number, for the calls below.  `initialize`: it made this session. */
uint32_t chan_request(struct channel *, uint32_t stream, bool initialize);
/* A message of that request; `last`: the response, which ends it. */
void chan_request_send(struct channel *, uint32_t n, struct str data, bool last);
/* Ends the stream it is on; the request goes on (SEP-1699). */
void chan_request_poll(struct channel *, uint32_t n);
/* The request is cancelled: its stream ends without a response. */
void chan_request_drop(struct channel *, uint32_t n);

/* The session ends, and all its streams with it. */
void chan_end(struct channel *);

/* The primary, 0 when there is none. */
uint32_t chan_primary(const struct channel *);

#endif
