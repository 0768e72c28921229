/* rule_answer: what became of each request that named a session.
 * Tells of every POST, GET and DELETE of the session era once it is known whether
 * the server knew its session.  Bounded: at `max` requests that wait for an answer
 * the oldest is forgotten. */
#ifndef RULE_ANSWER_H
#define RULE_ANSWER_H

#include "rule_who.h"

enum outcome {
	ANSWER_OK,		/* 2xx, whatever the JSON-RPC result */
	ANSWER_UNKNOWN,		/* the session is not known there */
	ANSWER_MAYBE,		/* 400, 500 or 503 that says nothing more */
	ANSWER_OTHER,		/* anything else: a proxy's, an auth challenge */
};

struct answer {
	UT_hash_handle hh;
	uint32_t x, conn, session, status;
	struct asked asked;
	bool init;		/* it is an initialize */
	bool challenge, html;
	bool judged;
	uint64_t server;	/* digest of Server and Via */
	enum outcome outcome;
	struct at at;		/* of the answer's head */
};

struct answers {
	struct answer *table;
	struct whos whos;
	uint64_t max;
};

typedef void answer_fn(void *arg, const struct answer *);

#define ANSWER_WANTS (WHO_WANTS | RULE_WANTS(EV_MESSAGE) | RULE_WANTS(EV_RESPONSE) | \
	RULE_WANTS(EV_RESPONSE_END))

void answers_init(struct answers *, const struct limits *);
void answers_fini(struct answers *);
/* To be called with each event; calls fn at most once. */
void answers_event(struct answers *, const struct ev *, answer_fn *, void *arg);

#endif
