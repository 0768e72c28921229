/* capwrite: packets in, a pcapng file out.
 * One section, one interface or several, times in nanoseconds.  Whole blocks are
 * gathered and written in pieces of 64 KiB and when capwrite_flush() asks.
 * When the system will not take more (the disk is full), the file is cut back
 * to its last whole block, and from then on every call does nothing and
 * returns -E_IO: capwrite_error() is the sentence.
 * Source: draft-ietf-opsawg-pcapng. */
#ifndef MCPDIAG_CAPWRITE_H
#define MCPDIAG_CAPWRITE_H

#include <stddef.h>

#include "mcpdiag/err.h"
#include "mcpdiag/ns.h"

/* Bytes of one packet that are kept; it is what readers accept at most. */
#define CAPWRITE_PACKET_MAX 262144U

struct capwrite_opts {
	uint32_t linktype;	/* LINKTYPE_ value, 16 bits */
	const char *application; /* what made the file; NULL: not said */
	const char *interface;	/* its name; NULL: not said */
	const char *comment;	/* on section and interface; NULL: none */
};

struct capwrite;

/* "-" is standard output, as it is.  Else makes the file (as far as the umask allows, only its owner may read it), or
 * empties it.  NULL and a sentence when it cannot be made.  Texts are borrowed
 * until this returns. */
struct capwrite *capwrite_new(const char *path, const struct capwrite_opts *,
    struct errmsg *);
/* Flushes first; whoever wants to know how that went does it before. */
void capwrite_free(struct capwrite *);
/* n bytes of a packet that had wire_n >= n of them; no more than
 * CAPWRITE_PACKET_MAX are kept.  Times before 1970 become 0. */
int capwrite_packet(struct capwrite *, ns_t, const void *, size_t n, size_t wire_n);
/* A further interface, of another link type or that told its packets apart;
 * name may be NULL.  Its number goes to capwrite_on(); the first one is 0. */
uint32_t capwrite_interface(struct capwrite *, uint32_t linktype, const char *name);
/* As capwrite_packet(), on that interface. */
int capwrite_on(struct capwrite *, uint32_t interface, ns_t, const void *, size_t n,
    size_t wire_n);
/* Says that capturing ended at that time, which may be after the last packet:
 * silence tells something, too. */
int capwrite_end(struct capwrite *, ns_t);
/* Hands what is gathered to the system: readers of the file see it. */
int capwrite_flush(struct capwrite *);
/* Why -E_IO; NULL as long as all is well. */
const char *capwrite_error(const struct capwrite *);

#endif
