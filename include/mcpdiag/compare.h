/* compare: what came of exchanges in the capture and in the run, side by side.
 * Looks at those that were played: status, kind of answer, results by JSON
 * value, the messages on a stream in their order, who ended it, and who owned
 * the common channel.  What is expected to differ from run to run (session
 * and event ids, times, the server's own name) is told as volatile.  At most
 * COMPARE_MAX differences are kept; the rest is counted. */
#ifndef MCPDIAG_COMPARE_H
#define MCPDIAG_COMPARE_H

#include "mcpdiag/player.h"
#include "mcpdiag/timeline.h"

#define COMPARE_MAX 10000U

enum compare_what {
	COMPARE_STATUS,
	COMPARE_KIND,		/* event stream, JSON, other type, nothing */
	COMPARE_RESULT,		/* of a request; path says where in it */
	COMPARE_MESSAGES,	/* on a stream: kinds and methods in order */
	COMPARE_END,		/* who ended it */
	COMPARE_OWNER,		/* what the stream was in its session */
	COMPARE_N
};

struct compare_row {
	uint32_t n;		/* of the plan */
	enum compare_what what;
	bool is_volatile;
	struct str path;	/* absent but for results */
	struct str captured, live;	/* absent: not there */
};

struct compare_times {		/* from request to response head, ns; medians */
	uint32_t n;		/* exchanges that have both */
	ns_t captured, live, captured_max, live_max;
};

struct compare;

/* Timelines may be NULL: owners are not compared then. */
struct compare *compare_new(const struct plan *, const struct player *,
    const struct timeline *captured, const struct timeline *live);
void compare_free(struct compare *);
/* i from 0, by number and what; NULL past the end. */
const struct compare_row *compare_row(const struct compare *, uint32_t i);
/* Exchanges played, and those of them that differ in something not volatile. */
uint32_t compare_played(const struct compare *);
uint32_t compare_differ(const struct compare *);
uint64_t compare_left_out(const struct compare *);
const struct compare_times *compare_times(const struct compare *);
const char *compare_what_name(enum compare_what);

#endif
