/* rule_live: the event streams that are open, and when something came on each.
 * Of protocol 2026-07-28 and later, and where the request is not known, there are
 * none.  Bounded: at the limit of streams the oldest is forgotten.  Kept once for
 * all rules. */
#ifndef RULE_LIVE_H
#define RULE_LIVE_H

#include "mcpdiag/event.h"
#include "mcpdiag/idmap.h"
#include "mcpdiag/rule.h"

struct live {
	struct idnode node;		/* by its number */
	uint32_t stream, session, conn, x;
	uint32_t flags;			/* of its head */
	uint32_t seen;			/* of all that came on it */
	enum ev_kind kind;
	uint64_t server, path;		/* digests */
	struct at head, last;		/* last: its last byte, or the head */
	ns_t longest;			/* pause between two of them */
	uint32_t comments;
	bool ids;			/* it gave out an event id */
};

struct lives {
	struct idmap map;		/* all of them, oldest first */
	struct whos *whos;
	uint64_t max;
	struct live *grew;		/* of the last event */
	struct live *over;		/* to be forgotten with the next one */
};

/* Shared: to be had with engine_reader().  A stream that ends is known until the
 * next event. */
extern const struct reader live_reader;

static inline struct live *
live_of(const struct lives *l, uint32_t stream)
{
	return (struct live *)idmap_get(&l->map, stream);
}

/* At EV_SSE and EV_COMMENT: the stream, when it had never been silent for as long;
 * else NULL. */
static inline struct live *
live_grew(const struct lives *l)
{
	return l->grew;
}

#endif
