/* standin: clients of the field in the place of captured ones.
 * For each captured client that initializes a session, a listener (listener.h)
 * of one kind does so at the same time: it lists when that did, opens further
 * GETs when that had several listeners, and calls the tools that the plan
 * allows, at their times.  What it does then is up to the server and to its
 * kind: a closed loop, in which a fault shows itself.
 *
 * Captured clients of HTTP+SSE and of 2026-07-28 are left out: they have no
 * such session.  So are calls with other parameters than the client's first. */
#ifndef MCPDIAG_STANDIN_H
#define MCPDIAG_STANDIN_H

#include "mcpdiag/listener_live.h"
#include "mcpdiag/plan.h"

struct standin_opts {
	const char *url;
	const struct str *headers;
	unsigned n_headers;
	const struct client_row *row;
	double speed;		/* 2: in half the time */
	ns_t answer_timeout;
	struct client_opts client;
	struct client *const *pools;	/* as in player.h */
	uint32_t n_pools, first_pool;
};

struct standin_x {		/* what one of them saw */
	uint32_t client;	/* of the plan, from 0 */
	unsigned gets, streams, refused, messages, calls;
	bool stopped;
	enum listen_stop stop;
	char why[128];		/* a sentence, or "" */
};

struct standin;

/* `done` is called once, from the loop, when all have stopped.  Options are
 * copied, what they point at and the plan are borrowed. */
struct standin *standin_new(struct loop *, const struct plan *, const struct standin_opts *,
    void (*done)(void *arg), void *arg);
void standin_free(struct standin *);
/* -E_IO and a sentence when libcurl cannot start; -E_USAGE when there is no
 * captured client to stand in for. */
int standin_start(struct standin *, struct errmsg *);
/* Ends it soon; done() follows, unless nothing runs any more. */
void standin_stop(struct standin *);
/* Closes the connections; what they saw stays.  Not from a callback. */
void standin_close(struct standin *);
/* i from 0; NULL past the end. */
const struct standin_x *standin_x(const struct standin *, uint32_t i);
/* Captured clients that are left out. */
uint32_t standin_left_out(const struct standin *);
/* 0; or -E_IO and a sentence when no session came about. */
int standin_target(const struct standin *, struct errmsg *);

#endif
