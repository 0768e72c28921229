/* rule_who: who is at the ends of a connection, and what was asked on it last.
 * Bounded: at the limit of connections the oldest is forgotten.  Addresses and
 * paths are kept as digests; 0 is unknown.  Kept once for all rules. */
#ifndef RULE_WHO_H
#define RULE_WHO_H

#include "mcpdiag/event.h"
#include "mcpdiag/idmap.h"
#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"

#define WHO_ASKED 8		/* requests remembered for each connection */

struct asked {
	uint32_t x;
	uint64_t target, path;	/* the latter without its query */
	uint64_t client;	/* its address and software; tokens are renewed */
	uint64_t server;	/* that of the connection */
	struct at at;
	bool get, post, del;
	bool has_sid;		/* it named a session */
	bool modern;		/* 2026-07-28 or later */
};

struct who {
	struct idnode node;	/* by the connection's number */
	uint64_t server, host;	/* address and port; address of the client */
	ns_t opened;		/* 0: before the capture */
	struct asked *asked;	/* a ring of WHO_ASKED */
	uint32_t n_asked, cap_asked;
	uint8_t closed;		/* directions, a bit for each */
};

struct whos;

/* Shared: to be had with engine_reader().  A connection of which both sides
 * have closed is known until the next event. */
extern const struct reader who_reader;

/* NULL when the connection is not known. */
const struct who *who_of(const struct whos *, uint32_t conn);
/* The request of that exchange, or NULL. */
const struct asked *who_asked(const struct whos *, uint32_t conn, uint32_t x);

/* 2026-07-28 or later, as MCP-Protocol-Version says. */
bool modern_version(struct str version);
/* An answer that says the session is not known, by status, JSON-RPC code and
 * text; `code` and `text` are absent where there was no JSON-RPC error. */
bool says_unknown(uint32_t status, bool challenge, struct str code, struct str text);

#endif
