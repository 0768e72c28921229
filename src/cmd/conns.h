/* conns: which TCP connections carried which session, and whose a packet is.
 * Learns from the events; for who saves the packets of one session.  At the
 * limit the connection that ended first goes, counted. */
#ifndef CONNS_H
#define CONNS_H

#include "mcpdiag/decode.h"
#include "mcpdiag/event.h"

struct conns;

struct conns *conns_new(uint32_t max);
void conns_free(struct conns *);
void conns_event(struct conns *, const struct ev *);

struct conns_picked {
	uint32_t n;		/* connections */
	uint32_t first_pkt;	/* of them all; 0 when there is none */
	uint32_t others;	/* further sessions that they carried, at least */
	uint64_t forgot;	/* connections of anybody that are no longer known */
};

/* From now on conns_has() knows those of the session; 0: of all.  Holds until
 * the next conns_event(). */
void conns_pick(struct conns *, uint32_t session, struct conns_picked *);
/* Whether packet `pkt` between these two ends belongs to a picked one.  The
 * same two ends may have had several, one after the other. */
bool conns_has(const struct conns *, const struct addr *, const struct addr *, uint32_t pkt);

#endif
