#include "mcpdiag/probe.h"

/* What known servers do, where it is known; a set says that it depends on how
 * they are set up.  The policies are those of mcpdiag serve. */
static const struct known {
	const char *name;
	uint32_t does[PROBE_N];
} known[] = {
#define SHADOWS \
	[PROBE_TWO_GETS] = OUT_FIRST, [PROBE_RESUME_LIVE] = OUT_FIRST, \
	[PROBE_BROADCAST] = OUT_FIRST
#define TAKES_OVER \
	[PROBE_TWO_GETS] = OUT_REPLACED | OUT_REPLAYED, [PROBE_BROADCAST] = OUT_LAST, \
	[PROBE_MAKE_BEFORE_BREAK] = OUT_REPLACED, [PROBE_PRIMARY_DIES] = OUT_REPLACED, \
	[PROBE_MANY_GETS] = OUT_REPLACED
#define NO_IDS [PROBE_RESUME_LIVE] = OUT_NO_ID, [PROBE_RESUME] = OUT_NO_ID
#define CONFLICTS \
	[PROBE_TWO_GETS] = OUT_CONFLICT, [PROBE_BROADCAST] = OUT_FIRST, \
	[PROBE_PRIMARY_DIES] = OUT_CONFLICT, [PROBE_MANY_GETS] = OUT_CONFLICT
	{ "rmcp 0.13-0.16: replace", { TAKES_OVER, [PROBE_RESUME_LIVE] = OUT_REPLAYED,
	    [PROBE_RESUME] = OUT_RESUMED, [PROBE_UNKNOWN_CURSOR] = OUT_ERROR,
	    [PROBE_FINISHED_POST] = OUT_ERROR, [PROBE_POST_RESUME] = OUT_MUTE } },
	{ "rust-sdk PR 660: conflict", { CONFLICTS, [PROBE_RESUME_LIVE] = OUT_CONFLICT,
	    [PROBE_RESUME] = OUT_RESUMED, [PROBE_UNKNOWN_CURSOR] = OUT_ERROR,
	    [PROBE_FINISHED_POST] = OUT_ERROR, [PROBE_POST_RESUME] = OUT_MUTE,
	    [PROBE_MAKE_BEFORE_BREAK] = OUT_CONFLICT } },
	{ "rust-sdk PR 660: conflict-fallthrough", { CONFLICTS,
	    [PROBE_RESUME_LIVE] = OUT_CONFLICT, [PROBE_RESUME] = OUT_RESUMED,
	    [PROBE_UNKNOWN_CURSOR] = OUT_ERROR, [PROBE_FINISHED_POST] = OUT_CONFLICT,
	    [PROBE_POST_RESUME] = OUT_MUTE, [PROBE_MAKE_BEFORE_BREAK] = OUT_CONFLICT } },
	{ "rust-sdk PR 660: replace-all", { TAKES_OVER, [PROBE_RESUME_LIVE] = OUT_REPLAYED,
	    [PROBE_RESUME] = OUT_RESUMED, [PROBE_UNKNOWN_CURSOR] = OUT_ERROR,
	    [PROBE_FINISHED_POST] = OUT_REPLACED, [PROBE_POST_RESUME] = OUT_MUTE } },
	{ "rust-sdk PR 660: replace-noreplay", { TAKES_OVER, [PROBE_RESUME_LIVE] = OUT_REPLACED,
	    [PROBE_RESUME] = OUT_RESUMED, [PROBE_UNKNOWN_CURSOR] = OUT_ERROR,
	    [PROBE_FINISHED_POST] = OUT_REPLACED, [PROBE_POST_RESUME] = OUT_MUTE } },
	{ "rust-sdk PR 660: shadow", { SHADOWS, [PROBE_RESUME] = OUT_OPEN,
	    [PROBE_UNKNOWN_CURSOR] = OUT_ERROR, [PROBE_FINISHED_POST] = OUT_OPEN,
	    [PROBE_POST_RESUME] = OUT_MUTE, [PROBE_MAKE_BEFORE_BREAK] = OUT_MUTE,
	    [PROBE_PRIMARY_DIES] = OUT_MUTE, [PROBE_MANY_GETS] = OUT_OPEN } },
	{ "rmcp 0.17-1.4: shadow-replay", { SHADOWS, [PROBE_RESUME] = OUT_RESUMED,
	    [PROBE_UNKNOWN_CURSOR] = OUT_ERROR, [PROBE_FINISHED_POST] = OUT_OPEN,
	    [PROBE_POST_RESUME] = OUT_MUTE, [PROBE_MAKE_BEFORE_BREAK] = OUT_MUTE,
	    [PROBE_PRIMARY_DIES] = OUT_MUTE, [PROBE_MANY_GETS] = OUT_EVICT } },
	{ "rmcp 1.5-3.1: shadow-empty", { SHADOWS, [PROBE_RESUME] = OUT_RESUMED,
	    [PROBE_UNKNOWN_CURSOR] = OUT_EMPTY, [PROBE_FINISHED_POST] = OUT_EMPTY,
	    [PROBE_POST_RESUME] = OUT_EMPTY, [PROBE_MAKE_BEFORE_BREAK] = OUT_MUTE,
	    [PROBE_PRIMARY_DIES] = OUT_MUTE, [PROBE_MANY_GETS] = OUT_EVICT } },
	{ "mcpdiag serve: shadow-promote", { SHADOWS, [PROBE_RESUME] = OUT_RESUMED,
	    [PROBE_UNKNOWN_CURSOR] = OUT_OPEN, [PROBE_FINISHED_POST] = OUT_OPEN,
	    [PROBE_POST_RESUME] = OUT_RESUMED, [PROBE_MAKE_BEFORE_BREAK] = OUT_LAST,
	    [PROBE_PRIMARY_DIES] = OUT_LAST, [PROBE_MANY_GETS] = OUT_LIMIT,
	    [PROBE_SLOW_READER] = OUT_KEPT | OUT_GONE } },
	/* Measured with 1.23.1, 1.29.0 and 1.32.2; a plain store is one without
	 * getStreamIdForEventId(), as the SDK's example is. */
	{ "TypeScript SDK, no event store", { CONFLICTS, NO_IDS, [PROBE_UNKNOWN_CURSOR] = OUT_OPEN,
	    [PROBE_MAKE_BEFORE_BREAK] = OUT_CONFLICT } },
#define TS_PLAIN CONFLICTS, [PROBE_UNKNOWN_CURSOR] = OUT_OPEN, \
	[PROBE_FINISHED_POST] = OUT_OPEN
#define TS_CHECKED CONFLICTS, [PROBE_UNKNOWN_CURSOR] = OUT_BAD, \
	[PROBE_FINISHED_POST] = OUT_OPEN, [PROBE_RESUME_LIVE] = OUT_CONFLICT, \
	[PROBE_MAKE_BEFORE_BREAK] = OUT_CONFLICT
	{ "TypeScript SDK up to 1.24, a plain store", { TS_PLAIN,
	    [PROBE_RESUME_LIVE] = OUT_LAST, [PROBE_RESUME] = OUT_OPEN,
	    [PROBE_POST_RESUME] = OUT_MUTE, [PROBE_MAKE_BEFORE_BREAK] = OUT_MUTE } },
	{ "TypeScript SDK 1.25-1.29, a plain store", { TS_PLAIN,
	    [PROBE_RESUME_LIVE] = OUT_LAST, [PROBE_RESUME] = OUT_RESUMED,
	    [PROBE_POST_RESUME] = OUT_RESUMED, [PROBE_MAKE_BEFORE_BREAK] = OUT_MUTE } },
	{ "TypeScript SDK from 1.30, a plain store", { TS_PLAIN,
	    [PROBE_RESUME_LIVE] = OUT_REPLACED | OUT_REPLAYED, [PROBE_RESUME] = OUT_RESUMED,
	    [PROBE_POST_RESUME] = OUT_RESUMED, [PROBE_MAKE_BEFORE_BREAK] = OUT_REPLACED } },
	{ "TypeScript SDK 1.23-1.24, a store that looks up", { TS_CHECKED,
	    [PROBE_RESUME] = OUT_OPEN, [PROBE_POST_RESUME] = OUT_MUTE } },
	{ "TypeScript SDK 1.25-1.29, a store that looks up", { TS_CHECKED,
	    [PROBE_RESUME] = OUT_LOCKED, [PROBE_POST_RESUME] = OUT_RESUMED } },
	{ "TypeScript SDK from 1.30, a store that looks up", { TS_CHECKED,
	    [PROBE_RESUME] = OUT_RESUMED, [PROBE_POST_RESUME] = OUT_RESUMED } },
	/* Measured with 1.30.0 and 2.3.0. */
	{ "Python SDK, an event store", { CONFLICTS,
	    [PROBE_RESUME_LIVE] = OUT_CLOSES | OUT_EMPTY, [PROBE_RESUME] = OUT_RESUMED,
	    [PROBE_UNKNOWN_CURSOR] = OUT_EMPTY, [PROBE_FINISHED_POST] = OUT_OPEN,
	    [PROBE_POST_RESUME] = OUT_RESUMED, [PROBE_MAKE_BEFORE_BREAK] = OUT_EMPTY,
	    [PROBE_SLOW_READER] = OUT_HELD } },
	{ "Python SDK, no event store", { CONFLICTS, NO_IDS, [PROBE_UNKNOWN_CURSOR] = OUT_ERROR,
	    [PROBE_MAKE_BEFORE_BREAK] = OUT_CONFLICT, [PROBE_SLOW_READER] = OUT_HELD } },
	/* Of these only that: what rmcp does else, its policies are above; the Go SDK
	 * joins messages.  Measured with rmcp 0.15.0, 1.8.0 and 3.1.4. */
	{ "rmcp 0.13-3.1", { [PROBE_SLOW_READER] = OUT_WEDGED } },
	{ "TypeScript SDK 1.29", { [PROBE_SLOW_READER] = OUT_KEPT } },
	/* Measured with 1.8.0. */
	{ "Go SDK, no event store", { CONFLICTS, NO_IDS, [PROBE_UNKNOWN_CURSOR] = OUT_BAD,
	    [PROBE_MAKE_BEFORE_BREAK] = OUT_CONFLICT } },
	{ "Go SDK, an event store", { CONFLICTS, [PROBE_RESUME_LIVE] = OUT_CONFLICT,
	    [PROBE_RESUME] = OUT_RESUMED, [PROBE_UNKNOWN_CURSOR] = OUT_BAD,
	    [PROBE_FINISHED_POST] = OUT_EMPTY, [PROBE_POST_RESUME] = OUT_RESUMED,
	    [PROBE_MAKE_BEFORE_BREAK] = OUT_CONFLICT } },
	/* From here on as read in their source. */
	{ "Java SDK up to 2.0.1", { [PROBE_TWO_GETS] = OUT_LAST,
	    [PROBE_BROADCAST] = OUT_LAST, [PROBE_RESUME_LIVE] = OUT_FIRST,
	    [PROBE_RESUME] = OUT_OPEN, [PROBE_UNKNOWN_CURSOR] = OUT_OPEN } },
	{ "C# SDK", { [PROBE_TWO_GETS] = OUT_BAD, [PROBE_RESUME_LIVE] = OUT_BOTH | OUT_BAD,
	    [PROBE_MAKE_BEFORE_BREAK] = OUT_LOCKED | OUT_BOTH | OUT_LAST } },
	{ "Kotlin SDK up to 0.11", { [PROBE_TWO_GETS] = OUT_EMPTY } },
	{ "Kotlin SDK from 0.12", { TAKES_OVER, [PROBE_RESUME_LIVE] = OUT_CLOSES | OUT_EMPTY } },
	{ "mcp-go, no event store", { [PROBE_TWO_GETS] = OUT_SPLIT,
	    [PROBE_BROADCAST] = OUT_SPLIT } },
	{ "mcp-go, an event store", { TAKES_OVER,
	    [PROBE_RESUME_LIVE] = OUT_REPLACED | OUT_REPLAYED } },
	{ "Cloudflare McpAgent from 0.14", { TAKES_OVER,
	    [PROBE_RESUME_LIVE] = OUT_REPLACED | OUT_REPLAYED, [PROBE_FINISHED_POST] = OUT_OPEN } },
};

#define N_KNOWN (sizeof known / sizeof *known)

const char *
probe_known(unsigned k)
{
	return k < N_KNOWN ? known[k].name : NULL;
}

bool
probe_equals(unsigned k, enum probe_id id, const struct probe_result *r)
{
	return k < N_KNOWN && (known[k].does[id] & r->outcome) != 0;
}

bool
probe_contradicts(unsigned k, enum probe_id id, const struct probe_result *r)
{
	return k < N_KNOWN && known[k].does[id] != 0 && r->outcome != 0 &&
	    (known[k].does[id] & r->outcome) == 0;
}
