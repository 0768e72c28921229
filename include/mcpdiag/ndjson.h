/* ndjson: events as lines of JSON, and back.
 * A line is {"v":1,"type":...,"ns":...,"pkt":...} with the ids that are not 0,
 * the flags, and the members that ev_fields() lists; mcpdiag-events(5).
 * Reading gives back what was written, bit by bit: times are whole
 * nanoseconds, hashes are hexadecimal, and a string that is not UTF-8 comes
 * with its bytes in a second member NAME_hex.  Findings are written for other
 * programs; the reader skips them, since rules find them again. */
#ifndef MCPDIAG_NDJSON_H
#define MCPDIAG_NDJSON_H

#include "mcpdiag/event.h"
#include "mcpdiag/out.h"

#define NDJSON_VERSION 1
#define NDJSON_MAX_LINE (1U << 20)

struct ndjson;

struct ndjson *ndjson_new(struct out *);
void ndjson_free(struct ndjson *);
void ndjson_event(struct ndjson *, const struct ev *);

struct ndjson_stats {
	uint64_t lines, events;
	uint64_t bad;		/* lines that could not be read */
	uint64_t first_bad;	/* number of the first of them, from 1 */
	char why[96];		/* what was wrong with that one */
	bool ended;		/* an `end` event was read */
};

struct ndjson_in;

/* A push parser: bytes in, events out.  Unknown types and members are passed
 * over; a bad line is counted and passed over too. */
struct ndjson_in *ndjson_in_new(ev_fn *, void *arg);
void ndjson_in_free(struct ndjson_in *);
void ndjson_in_feed(struct ndjson_in *, const void *, size_t);
void ndjson_in_eof(struct ndjson_in *);
const struct ndjson_stats *ndjson_in_stats(const struct ndjson_in *);

#endif
