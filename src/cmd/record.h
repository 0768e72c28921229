/* record: packets to files, as they come.
 * One pcapng file, or a ring of them as with tcpdump -C and -W: NAME0, NAME1,
 * ... with as many digits as the last number needs, the oldest overwritten. */
#ifndef RECORD_H
#define RECORD_H

#include "mcpdiag/capfile.h"

struct record;

/* size: bytes after which the next file begins, 0: never; count: files of the
 * ring, 0: no bound.  The first file is made at once.  NULL and a sentence. */
struct record *record_new(const char *path, uint32_t linktype, uint64_t size,
    unsigned count, const char *interface, struct errmsg *);
void record_free(struct record *);
/* 0; -E_IO and, the first time, a sentence: nothing more is written.  A packet
 * of another link type is left out and counted. */
int record_packet(struct record *, const struct packet *, struct errmsg *);
int record_flush(struct record *, struct errmsg *);
uint64_t record_left_out(const struct record *);

#endif
