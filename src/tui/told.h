/* told: findings as they were told, kept by us: the engine keeps only the final
 * ones.  One that is told again takes the place of its earlier form; the final
 * ones take the place of all. */
#ifndef TOLD_H
#define TOLD_H

#include "mcpdiag/event.h"

#define TOLD_MAX 1000		/* kept; further ones are counted */

struct told {
	struct told_one **all;
	uint32_t n, cap;
	uint64_t more;
	uint32_t n_severity[3];
	bool final;
};

void told_fini(struct told *);
/* EV_FINDING: false when nothing has changed. */
bool told_event(struct told *, const struct ev *);
/* Of a session (or alike to it), 0: all; n-th from 0, NULL past the end. */
const struct finding *told_get(const struct told *, uint32_t session, uint32_t n);
/* How many of it there are, by enum severity. */
void told_count(const struct told *, uint32_t session, uint32_t n[3]);

#endif
