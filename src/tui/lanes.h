/* lanes: the streams of a session by listener, and what went over them when.
 * One lane for each lineage of GET streams, one for all streams that answer
 * POSTs, one for GETs that were refused; in order of appearance, never
 * reordered.  Beyond LANES_MAX the older half of the listeners goes, counted.
 * Marks are what single events tell: beyond LANES_MARKS of all lanes, or what
 * the store has forgotten, or more than LANES_PAST events before the screen was
 * opened, the older ones are missing.  Streams are numbers: the timeline has
 * the rest. */
#ifndef LANES_H
#define LANES_H

#include "mcpdiag/map.h"
#include "mcpdiag/store.h"
#include "mcpdiag/timeline.h"

#define LANES_MAX 32768U
#define LANES_MARKS (1U << 19)
#define LANES_PAST (1U << 17)		/* events that are looked at again */
#define LANES_STREAMS 32768U		/* of one lane; the older half goes */
#define LANES_CURSOR 64			/* bytes of a cursor that are kept */

enum lane_kind { LANE_LISTENER, LANE_POST, LANE_REFUSED };

enum mark_kind {			/* the later, the more it matters */
	MARK_KEEPALIVE, MARK_EVENT, MARK_REPLAY, MARK_REFUSED,
};

struct mark {
	ns_t t;
	uint32_t pkt;
	uint8_t kind;			/* enum mark_kind */
};

struct cursor {
	char text[LANES_CURSOR];
	uint8_t n;
	bool known, cut;
};

struct lane {
	uint64_t key;			/* kind and lineage */
	enum lane_kind kind;
	uint32_t lineage, at;		/* at: in lanes.all */
	ns_t first;			/* when it appeared */
	uint32_t *streams, n_streams, cap_streams;	/* in order of opening */
	struct cursor *opens;		/* of a listener: held when each opened */
	uint32_t cap_opens;
	struct mark *marks;
	uint32_t n_marks, cap_marks;
	uint32_t status;		/* of the last refused GET */
	struct cursor held;		/* the last event id its client has been given */
	UT_hash_handle hh;
};

struct given {				/* what a POST's stream gave */
	uint32_t stream;
	struct cursor cursor;
};

struct lanes {
	struct lane **all, *table;
	uint32_t n, cap;
	uint32_t n_marks;
	uint64_t forgot;		/* marks */
	uint64_t gone;			/* lanes */
	uint32_t *gets;			/* exchanges that are GETs, by number */
	struct given *given;		/* by streams that answer POSTs */
};

void lanes_fini(struct lanes *);
/* All that is known by now; session 0: streams that belong to none. */
void lanes_fill(struct lanes *, const struct timeline *, const struct store *,
    uint32_t session);
/* An event of the session that timeline and store have seen. */
void lanes_event(struct lanes *, const struct timeline *, const struct ev *);
/* How many there were by then. */
uint32_t lanes_until(const struct lanes *, ns_t);
/* Index of the lane of a stream, or UINT32_MAX. */
uint32_t lanes_of(const struct lanes *, const struct timeline *, uint32_t stream);
/* What a listener held when that stream of it opened; NULL: not known. */
const struct cursor *lane_held(const struct lane *, uint32_t stream);
/* How many of a lane's streams, and of its marks, there were by then. */
uint32_t lane_streams_until(const struct lane *, const struct timeline *, ns_t);
uint32_t lane_marks_until(const struct lane *, ns_t);
/* The mark that matters most in [from, to), the last of its kind; NULL none. */
const struct mark *lane_mark(const struct lane *, ns_t from, ns_t to);
/* Number of the first stream of a lane that may show at or after t. */
uint32_t lane_stream_from(const struct lane *, const struct timeline *, ns_t t);

/* A stream's role at a time: EV_CLOSED before it opened and after it ended;
 * false: it has none (it answers a POST, or belongs to no session). */
bool stream_role(const struct tl_stream *, ns_t, enum ev_role *);

#endif
