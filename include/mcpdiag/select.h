/* select: what a display filter leaves of a run to be shown.
 * Sees every event after the timeline has; the ones that match pick their
 * session and stream.  At the end, sessions and streams that match by how long
 * they lasted are picked too, and findings by what they are about; then the
 * timeline shows only those.  An exchange's method and status are known for the
 * last SELECT_EXCHANGES of them.  Borrows both filter and timeline. */
#ifndef MCPDIAG_SELECT_H
#define MCPDIAG_SELECT_H

#include "mcpdiag/timeline.h"
#include "mcpdiag/where.h"

#define SELECT_EXCHANGES 4096

struct select;

struct select *select_new(const struct where *, struct timeline *);
void select_free(struct select *);
/* Whether the event is to be shown; `zero` is the time of the first packet. */
bool select_event(struct select *, const struct ev *, ns_t zero);

struct select_sums {		/* shown, of how many */
	uint32_t findings, all_findings, sessions, all_sessions, streams, all_streams;
};

/* After EV_END. */
void select_end(struct select *, struct select_sums *);

#endif
