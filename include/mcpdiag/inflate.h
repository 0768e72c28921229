/* inflate: compressed bytes in, plain bytes out, piece by piece.
 * One decoder for HTTP content codings and for compressed capture files:
 * gzip, deflate (zlib or raw), br, zstd.  Every byte that can be decoded from
 * what was fed is delivered before inflate_feed() returns (a flushed
 * event-stream shows each event at once).  Output is capped in bytes and by
 * ratio; at the cap -E_LIMIT is returned once and for all. */
#ifndef MCPDIAG_INFLATE_H
#define MCPDIAG_INFLATE_H

#include "mcpdiag/str.h"

enum inflate_kind {
	INFLATE_NONE,		/* identity */
	INFLATE_GZIP,		/* RFC 1952, several members in a row too */
	INFLATE_DEFLATE,	/* RFC 1950, or RFC 1951 as some servers send */
	INFLATE_BR,		/* RFC 7932 */
	INFLATE_ZSTD,		/* RFC 8878, several frames in a row too */
	INFLATE_UNKNOWN,	/* a coding we cannot read */
};

struct inflate;
typedef void inflate_out_fn(void *arg, const void *p, size_t n);

/* A Content-Encoding value ("gzip", "x-gzip", "identity", ...); a list of
 * more than one coding is INFLATE_UNKNOWN; absent or empty is NONE. */
enum inflate_kind inflate_kind_of(struct str coding);
/* By the first bytes of a file (gzip and zstd only), else INFLATE_NONE. */
enum inflate_kind inflate_sniff(const void *p, size_t n);
/* The coding's registered name, "identity" for NONE, "unknown". */
const char *inflate_name(enum inflate_kind);

/* max: decoded bytes allowed in all (UINT64_MAX: no cap); ratio: decoded bytes
 * allowed for each byte fed once 1 MiB has been decoded (0: no cap). */
struct inflate *inflate_new(enum inflate_kind, uint64_t max, uint64_t ratio,
    inflate_out_fn *, void *arg);
/* 0, -E_SYNTAX (not decodable; sticky), or -E_LIMIT (a cap; sticky). */
int inflate_feed(struct inflate *, const void *, size_t);
/* The same by pull, for a caller that must bound what one piece unpacks to:
 * takes bytes off the front of *in, puts at most `room` (> 0) at `out`, counts
 * them in *n.  There may be more while in->n > 0 or *n == room. */
int inflate_some(struct inflate *, struct str *in, void *out, size_t room,
    size_t *n);
/* What it has cost so far: bytes decoded, and bytes of memory asked for. */
uint64_t inflate_cost(const struct inflate *);
/* Whether the compressed stream has ended properly. */
bool inflate_done(const struct inflate *);
void inflate_free(struct inflate *);

#endif
