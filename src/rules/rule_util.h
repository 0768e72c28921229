/* What the rules share. */
#ifndef RULE_UTIL_H
#define RULE_UTIL_H

#include "mcpdiag/event.h"

/* Median of n > 0 values, which are left as they are; the extremes too. */
ns_t median(const ns_t *v, uint32_t n, ns_t *min, ns_t *max);

/* EV_STREAM of a GET stream that belongs to a session. */
bool is_listener(const struct ev *);

#endif
