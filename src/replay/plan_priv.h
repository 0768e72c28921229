/* plan: what its parts share. */
#ifndef PLAN_PRIV_H
#define PLAN_PRIV_H

#include "mcpdiag/keep.h"
#include "mcpdiag/map.h"
#include "mcpdiag/plan.h"

struct by_number {
	uint32_t key;		/* an exchange or stream */
	struct plan_x *x;
	UT_hash_handle hh;
};

struct plan_session {
	uint32_t n;
	struct str key, program, server, revision, endpoint;
	enum ev_transport transport;
	/* while the plan is made: */
	bool numbered;
	uint32_t client;	/* from 0 */
	struct plan_x *handshake;	/* or NULL */
	struct plan_x *initialized;	/* likewise */
	struct plan_x *first_sid;	/* request that has a session id */
	struct plan_x **before;	/* its exchanges so far, by time */
	uint32_t n_before, cap_before;
	struct plan_x **running;	/* of these, short ones that have not ended */
	uint32_t n_running, cap_running;
	struct plan_x *done;	/* the last one that ended */
	UT_hash_handle hh;
};

struct plan {
	struct plan_x **xs;
	uint32_t n, cap;
	struct by_number *by_x, *by_stream;
	struct plan_session *sessions;
	struct keep kept;
	size_t text;		/* bytes of texts that are kept */
	uint64_t left_out;
	char **allowed;
	struct {
		char *from, *to;
	} *renamed;
	uint32_t n_renamed, cap_renamed;
	uint32_t n_allowed, cap_allowed, n_clients;
	uint64_t work;		/* comparisons made in searches */
	bool begun;
	ns_t zero, last;
	struct str next_text;	/* of the event that comes next, kept, */
	bool next_long;		/* or too long for that */
};

/* A copy that lives as long as the plan; STR_NONE stays so. */
struct str plan_keep(struct plan *, struct str);
struct plan_x *plan_add(struct plan *);
struct plan_session *plan_session(struct plan *, uint32_t n);

/* Its exchange, or NULL. */
struct plan_x *plan_of_stream(const struct plan *, uint32_t stream);

/* Sets the body of a POST: as captured, or made anew from what is certain.
 * PLAN_PLAYED, or why not. */
enum plan_skip plan_body(struct plan *, struct plan_x *, const struct plan_session *);

#endif
