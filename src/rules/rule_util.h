/* What the rules share. */
#ifndef RULE_UTIL_H
#define RULE_UTIL_H

#include "mcpdiag/event.h"
#include "mcpdiag/map.h"

/* Median of n > 0 values, which are left as they are; the extremes too. */
ns_t median(const ns_t *v, uint32_t n, ns_t *min, ns_t *max);

/* EV_STREAM of a GET stream that belongs to a session. */
bool is_listener(const struct ev *);

/* What a rule keeps of one session; the first member of its own struct. */
struct kept {
	UT_hash_handle hh;
	uint32_t session;
};

/* All that a rule keeps, by session.  At `max` the oldest goes. */
struct keeper {
	struct kept *table, *recent;
	uint64_t max;
	void (*free)(struct kept *);
};

/* NULL when there is nothing of that session. */
struct kept *keeper_find(struct keeper *, uint32_t session);
/* Puts in what is not there yet; the keeper owns it. */
void keeper_add(struct keeper *, struct kept *, uint32_t session);
void keeper_drop(struct keeper *, struct kept *);	/* and frees it */
void keeper_fini(struct keeper *);

#define KEEPER_EACH(keeper, k, tmp) HASH_ITER(hh, (keeper)->table, k, tmp)

#endif
