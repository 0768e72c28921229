/* limits: every bound of the program, by name.
 * Set with --limit NAME=VALUE.  Reaching one is always reported (an anomaly or
 * a note that names it), and work goes on. */
#ifndef MCPDIAG_LIMITS_H
#define MCPDIAG_LIMITS_H

#include <stdint.h>

#include "mcpdiag/err.h"
#include "mcpdiag/str.h"

/* name in --limit, field, default, smallest accepted, what it bounds */
#define LIMITS(X) \
	X("memory",      memory,      256ULL << 20, 1 << 20, "heap of the whole program, bytes") \
	X("flows",       flows,       65536,        16,  "TCP connections tracked at once") \
	X("ooo",         ooo,         1ULL << 20,   64,  "out-of-order bytes held for one connection") \
	X("fragments",   fragments,   1ULL << 20,   1024, "bytes of IP fragments held") \
	X("header",      header,      64ULL << 10,  64,  "HTTP header block, bytes") \
	X("pipeline",    pipeline,    1024,         4,   "requests waiting for a response on one connection") \
	X("sse-line",    sse_line,    64ULL << 10,  16,  "SSE id, event and retry fields, bytes") \
	X("sse-event",   sse_event,   16ULL << 20,  64,  "data of one SSE event that is scanned, bytes") \
	X("json-depth",  json_depth,  64,           4,   "nesting of JSON that is followed") \
	X("json-value",  json_value,  1024,         16,  "one JSON id, method or name kept, bytes") \
	X("decoded",     decoded,     16ULL << 20,  64,  "one decompressed body, bytes") \
	X("ratio",       ratio,       1000,         10,  "decompression ratio beyond the first MiB") \
	X("sessions",    sessions,    65536,        4,   "sessions kept") \
	X("streams",     streams,     16384,        16,  "streams kept") \
	X("endpoints",   endpoints,   4096,         4,   "server addresses kept") \
	X("pending",     pending,     64,           4,   "events held for a server not yet known to be MCP") \
	X("ids",         ids,         4096,         16,  "event ids and request ids remembered for one session") \
	X("store",       store,       64ULL << 20,  64 << 10, "events and texts that watch keeps to show, bytes") \
	X("ring",        ring,        64ULL << 20,  64 << 10, "packets kept by watch for saving, bytes") \
	X("findings",    findings,    1000,         4,   "findings reported") \
	X("evidence",    evidence,    16,           4,   "packets of evidence in one finding")

struct limits {
#define X(name, field, def, min, what) uint64_t field;
	LIMITS(X)
#undef X
};

void limits_init(struct limits *);			/* the defaults */
/* Divides every limit by n, not below its smallest value. */
void limits_shrink(struct limits *, unsigned n);
/* "NAME=VALUE", VALUE with an optional k, M or G (powers of 1024). */
int limits_set(struct limits *, struct str assignment, struct errmsg *);
/* Row i of the table for --help; false past the end. */
bool limits_row(unsigned i, const char **name, uint64_t *def, const char **what);

#endif
