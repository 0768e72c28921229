/* defrag: IPv4 and IPv6 fragments in, datagrams out.
 * Overlap: the first copy of a byte wins (as flow does).  Bytes held are
 * bounded; the oldest datagram goes first.  Incomplete ones are dropped 30 s
 * (packet time) after their first fragment: RFC 791, RFC 8200 4.5. */
#ifndef MCPDIAG_DEFRAG_H
#define MCPDIAG_DEFRAG_H

#include "mcpdiag/ns.h"
#include "mcpdiag/str.h"

struct defrag;

struct defrag_key {
	uint8_t src[16], dst[16];
	uint32_t id;
	uint8_t v6, proto;
	uint8_t pad[2];		/* zero: the key is hashed as bytes */
};

struct defrag *defrag_new(size_t max_bytes);
void defrag_free(struct defrag *);
/* offset in bytes; more: another fragment follows.  Returns the whole payload
 * when this fragment completes it (borrowed until the next call), else
 * {NULL, 0}. */
struct str defrag_add(struct defrag *, const struct defrag_key *, ns_t t,
    uint32_t offset, bool more, const uint8_t *, size_t);
uint64_t defrag_dropped(const struct defrag *);	/* fragments given up */
uint64_t defrag_full(const struct defrag *);	/* of those, for want of room */
uint64_t defrag_held(const struct defrag *);	/* waiting for others */

#endif
