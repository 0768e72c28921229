/* pulse: of each session, what it is doing now: who owns its channel, who had
 * it before, and what was seen last.  From the events; O(1) each.  Sessions that
 * the timeline has let go of are let go of here, too. */
#ifndef PULSE_H
#define PULSE_H

#include "mcpdiag/timeline.h"

struct pulse {
	uint32_t session;
	uint32_t owner;			/* stream; 0: none */
	enum ev_role role;		/* presumed or primary */
	ns_t since;			/* it owns */
	uint32_t before;		/* the owner before it (or the last one) */
	uint32_t changes;		/* from one listener to another */
	uint32_t open;			/* streams */
	ns_t t;				/* last event */
	char last[32];			/* and what it was */
};

struct pulses;

struct pulses *pulses_new(const struct timeline *);
void pulses_free(struct pulses *);
void pulses_event(struct pulses *, const struct ev *);
/* NULL: nothing is known of that session. */
const struct pulse *pulses_get(const struct pulses *, uint32_t session);

const char *pulse_role_name(const struct pulse *);

#endif
