/* crowd: listeners of one session, left alone with a server for a while.
 * A listener (listener.h) with `listeners` GETs beside each other, as one of
 * the clients of the field; it is counted what becomes of them.  What a server
 * does when they come back decides whether it ever ends: that is the loop which
 * a single request never shows. */
#ifndef MCPDIAG_CROWD_H
#define MCPDIAG_CROWD_H

#include "mcpdiag/listener.h"
#include "mcpdiag/probe.h"

#define CROWD_MAX 1000U		/* listeners */

struct crowd_opts {
	const char *url;
	const struct str *headers;
	unsigned n_headers;
	const struct client_row *client;
	unsigned listeners;
	ns_t duration;
	const char *tool, *args;	/* called every two seconds; NULL: none */
	struct client_opts http;
};

struct crowd_seen {
	unsigned listeners;
	unsigned gets, streams;	/* that were asked for, and accepted */
	unsigned ended;		/* streams, by the server, each time */
	unsigned takeovers;	/* of them, together with the opening of another */
	unsigned looping;	/* lineages that were ended and came back twice */
	unsigned refused, untyped, unanswered;
	unsigned status;	/* of the last refusal */
	unsigned messages;	/* notifications on GET streams */
	enum listen_stop stop;
	char why[160];
	bool over;		/* it has run to its end */
};

struct crowd;

/* done(arg) when the duration is over, or the session; NULL and a sentence
 * when libcurl cannot start.  What opts point at is borrowed. */
struct crowd *crowd_new(struct loop *, const struct crowd_opts *, loop_fn *done, void *arg,
    struct errmsg *);
void crowd_free(struct crowd *);
void crowd_start(struct crowd *);
/* done() follows, when it was started and is not over. */
void crowd_stop(struct crowd *);
const struct crowd_seen *crowd_seen(const struct crowd *);

struct probe_result crowd_judge(const struct crowd_seen *);

#endif
