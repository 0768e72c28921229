/* What the rules share. */
#ifndef RULE_UTIL_H
#define RULE_UTIL_H

#include "mcpdiag/event.h"
#include "mcpdiag/idmap.h"
#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"

/* Median of n > 0 values, which are left as they are; the extremes too. */
ns_t median(const ns_t *v, uint32_t n, ns_t *min, ns_t *max);

/* A ring of `max`, which is not all there from the start: room for the n-th
 * entry, at n % max. */
void *ring_room(void *ring, uint32_t n, uint32_t max, uint32_t *cap, size_t size);

/* EV_STREAM of a GET stream that belongs to a session. */
bool is_listener(const struct ev *);

/* What a rule keeps of one session; the first member of its own struct. */
struct kept {
	struct idnode node;
	uint32_t session;
};

/* All that a rule keeps, by session.  At `max` the oldest goes; when the engine
 * must do with less memory, the older half.  Stays where it is. */
struct keeper {
	struct idmap map;
	struct kept *recent;
	uint32_t recent_session;
	uint64_t max;
	void (*free)(struct kept *);
};

void keeper_init(struct keeper *, struct engine *, uint64_t max,
    void (*free_session)(struct kept *));
/* Puts in what is not there yet; the keeper owns it. */
void keeper_add(struct keeper *, struct kept *, uint32_t session);
/* What is there of that session; else `size` bytes of zeros, put in: a rule's own
 * struct, whose first member is its struct kept. */
void *keeper_get(struct keeper *, uint32_t session, size_t size);
void keeper_drop(struct keeper *, struct kept *);	/* and frees it */
void keeper_fini(struct keeper *);

/* NULL when there is nothing of that session. */
static inline struct kept *
keeper_find(struct keeper *kp, uint32_t session)
{
	struct kept *k = kp->recent;

	if (k && kp->recent_session == session)	/* events come in runs of one */
		return k;
	k = (struct kept *)idmap_get(&kp->map, session);
	if (k) {
		kp->recent = k;
		kp->recent_session = session;
	}
	return k;
}

/* All of them, oldest first; `k` may be dropped meanwhile. */
#define KEEPER_EACH(keeper, k, tmp) \
	for ((k) = (struct kept *)(keeper)->map.first; \
	    (k) && ((tmp) = (struct kept *)(k)->node.next, 1); (k) = (tmp))

#endif
