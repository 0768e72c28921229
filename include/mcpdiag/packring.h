/* packring: the last packets captured, for who wants to save some of them.
 * Keeps copies in pieces, up to `max` bytes in all; at the limit the oldest
 * piece goes with its packets, counted.  A packet that does not fit at all is
 * not kept, and counted too.  Memory grows with what is kept. */
#ifndef MCPDIAG_PACKRING_H
#define MCPDIAG_PACKRING_H

#include "mcpdiag/capfile.h"

struct packring;

/* max: bytes of memory, 4096 at least. */
struct packring *packring_new(size_t max);
void packring_free(struct packring *);
void packring_add(struct packring *, const struct packet *);
/* Packets that are no longer there. */
uint64_t packring_forgot(const struct packring *);
/* Bytes of memory that are held. */
size_t packring_used(const struct packring *);

/* Where a reader is: all zero before the oldest packet.  A place whose piece
 * has gone is that of the oldest packet that is left. */
struct packring_at {
	const void *piece;
	uint64_t no;
	size_t offset;
};

/* The next packet, oldest first, with its number; its bytes are lent until the
 * next packring_add().  False behind the newest. */
bool packring_next(const struct packring *, struct packring_at *, struct packet *out);

#endif
