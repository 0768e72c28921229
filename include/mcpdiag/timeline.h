/* timeline: what the sinks show, kept from the events.
 * Holds the counts, the sessions, the streams with their owner history, the
 * findings and the notes, and nothing of single messages.  Streams that answer
 * a POST and ended well are dropped beyond limits.streams (counted, and said),
 * then other ended ones; sessions beyond limits.sessions likewise, oldest idle
 * first.  Numbers are those of the events and are looked up in O(1). */
#ifndef MCPDIAG_TIMELINE_H
#define MCPDIAG_TIMELINE_H

#include "mcpdiag/event.h"
#include "mcpdiag/limits.h"

struct tl_role {
	ns_t t;
	uint32_t pkt, cause;
	enum ev_role role;
	enum ev_by by;
};

struct tl_stream {
	uint32_t n, session, conn, x, lineage, previous, resumes, givers;
	uint32_t xn;			/* exchange of conn, or TL_NO_XN */
	enum ev_kind kind;
	enum ev_end end;
	uint32_t flags, pkt, end_pkt, request_pkt;
	ns_t opened, ended, requested;
	uint32_t events, comments;
	int64_t retry_ms, delay_ms;
	char *cursor;			/* NULL: no Last-Event-ID */
	struct tl_role *roles;		/* the last one is the latest */
	uint32_t n_roles, more_roles;	/* left out before the last: a limit */
	bool is_open, picked;
};

#define TL_NO_XN UINT32_MAX

struct tl_session {
	uint32_t n;
	char *key, *revision, *client, *server, *endpoint;
	char *looks_like, *evidence, *client_looks_like, *client_evidence;
	enum ev_transport transport;
	bool offered, deleted, list_changed;
	bool inferred;			/* a client, not a session id */
	uint32_t exchanges, posts, gets;
	ns_t opened, closed;		/* first and last thing seen */
	uint32_t *streams, n_streams;	/* numbers of those kept */
	uint64_t dropped_streams;	/* not kept, see above */
	bool picked;
};

struct tl_counts {
	uint64_t tcp_connections, http_exchanges, sse_streams;
	uint64_t sse_by_kind[6];	/* enum ev_kind */
	uint64_t sse_events, sse_comments;
	uint64_t jsonrpc[5];		/* enum ev_msg */
	/* Of connections that are MCP: */
	uint64_t conns, midstream, gaps, gap_bytes, undecoded;
};

struct tl_note {
	char *name, *text;
	uint64_t count;
	uint32_t pkt;			/* first */
	bool anomaly;
};

struct tl_file {
	char *name, *format, *packing, *linktypes, *error;
	uint64_t packets, dropped, truncated;
};

struct timeline;

struct timeline *timeline_new(const struct limits *);
void timeline_free(struct timeline *);
void timeline_event(struct timeline *, const struct ev *);

const struct tl_counts *timeline_counts(const struct timeline *);
/* i from 0, in order of appearance; NULL past the end. */
const struct tl_session *timeline_session(const struct timeline *, uint32_t i);
const struct tl_stream *timeline_stream(const struct timeline *, uint32_t i);
const struct tl_note *timeline_note(const struct timeline *, uint32_t i);
const struct tl_file *timeline_file(const struct timeline *, uint32_t i);
/* By number; NULL when unknown or dropped. */
const struct tl_session *timeline_session_n(const struct timeline *, uint32_t n);
const struct tl_stream *timeline_stream_n(const struct timeline *, uint32_t n);
/* Final findings, in printed order; valid as long as the engine's. */
const struct finding *timeline_finding(const struct timeline *, uint32_t i);
/* Takes out the findings for which `hide` says so; how many they were.  Later
 * calls of timeline_finding() do not show them. */
uint32_t timeline_hide(struct timeline *, bool (*hide)(void *, const struct finding *),
    void *arg);
/* How many of the findings taken out were warnings or errors. */
uint32_t timeline_hidden(const struct timeline *);
/* Picks a session and a stream by their numbers; 0 and unknown ones are no fault. */
void timeline_pick(struct timeline *, uint32_t session, uint32_t stream);
/* After EV_END, once: from now on timeline_session(), timeline_stream() and the
 * streams of a session are those picked.  By number all are still found. */
void timeline_show_picked(struct timeline *);
/* The EV_END totals (all zero before it). */
const struct ev *timeline_total(const struct timeline *);
uint64_t timeline_dropped_streams(const struct timeline *);
uint64_t timeline_dropped_sessions(const struct timeline *);

#endif
