/* rule_answer: what became of each request that named a session.
 * Tells of every POST, GET and DELETE of the session era once it is known whether
 * the server knew its session.  Bounded: at a limit of requests that wait for an
 * answer the oldest is forgotten.  Kept once for all rules. */
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
	struct idnode node;	/* by x */
	uint32_t x, conn, session, status;
	struct asked asked;
	bool init;		/* it is an initialize */
	bool challenge, html;
	bool judged;
	uint64_t server;	/* digest of Server and Via */
	enum outcome outcome;
	struct at at;		/* of the answer's head */
};

struct answers;

/* Shared: to be had with engine_reader(). */
extern const struct reader answer_reader;

typedef void answer_fn(void *arg, const struct answer *);

/* From a rule's new(): `fn` is called with each request whose outcome is settled,
 * before any rule sees the event that has settled it. */
void answers_tell(struct answers *, answer_fn *, void *arg);

#endif
