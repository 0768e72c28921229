/* clients: how the clients of the field treat their streams.
 *
 * A row for each: when it opens its GET, which streams it opens again, how
 * long it waits, and what it makes of an answer.  The listener (listener.h)
 * plays any of them; a table of rows against answers says what a server's
 * behaviour does to whom.  Rows are from reading and measuring the releases
 * they name; Go's jitter is left out: the delay is its middle. */
#ifndef MCPDIAG_CLIENTS_H
#define MCPDIAG_CLIENTS_H

#include <stdbool.h>

#include "mcpdiag/ns.h"
#include "mcpdiag/str.h"

enum client_got {		/* an answer to a GET, as clients tell them apart */
	GOT_STREAM,		/* that is open */
	GOT_END,		/* a stream that the server ended */
	GOT_TYPE,		/* 2xx and no event stream */
	GOT_400, GOT_401, GOT_404, GOT_405, GOT_409, GOT_4XX, GOT_5XX,
	GOT_NOTHING,		/* no connection, no answer */
	GOT_N
};

enum client_does {
	DOES_UNTOLD,		/* it is not known */
	DOES_LISTEN,
	DOES_WITHOUT,		/* goes on, and knows that there is no stream */
	DOES_DEAF,		/* goes on, and never hears anything: silently */
	DOES_RETRY,		/* GET again, for ever */
	DOES_TRIES,		/* GET again, at most `tries` times, then deaf */
	DOES_REINIT,		/* a new session */
	DOES_FAIL,		/* the session is over, POSTs too */
};

enum client_opens {		/* its GET */
	OPENS_ON_HEAD,		/* with the head of the answer to initialize */
	OPENS_BEFORE,		/* after that answer, before initialized */
	OPENS_BESIDE,		/* together with initialized */
	OPENS_AFTER,		/* when initialized was answered */
};

struct client_row {
	const char *name, *title;
	enum client_opens opens;
	bool sessionless;	/* also without a session id */
	bool posts;		/* resumes POST streams, */
	bool answered;		/* even of those that had their response; */
	bool all;		/* and of initialize, and without an event id */
	bool cursor;		/* sends Last-Event-ID, */
	bool keeps;		/* also after a stream that brought no id */
	bool retry;		/* obeys the server's retry, */
	bool shares;		/* that of another stream, too */
	ns_t delay;		/* before the first GET again */
	double growth;		/* of the delay, from failure to failure, */
	ns_t step;		/* after which this is added */
	ns_t delay_max;
	unsigned tries;		/* of DOES_TRIES */
	bool end_counts;	/* a stream that ended is the first failure */
	unsigned idle;		/* streams in a row that end without an event id;
				 * then `on_idle`; 0: any number */
	enum client_does on_idle;
	enum client_does first[GOT_N];	/* to its first GET */
	enum client_does later[GOT_N];	/* and to those that follow */
};

/* Row i; NULL past the end. */
const struct client_row *clients_row(unsigned i);
/* By name ("ts-1.32"), or NULL. */
const struct client_row *clients_find(const char *name);
/* status 0: no answer; stream: an event stream that is open. */
enum client_got clients_got(unsigned status, bool stream);
/* What it does then.  `failures`: GETs in a row before this one that got no
 * stream; of DOES_TRIES what it comes to: DOES_RETRY or DOES_DEAF. */
enum client_does clients_do(const struct client_row *, enum client_got, bool first,
    unsigned failures);
/* Before the next GET, after so many failures before this one; retry: the
 * server's, -1: none. */
ns_t clients_delay(const struct client_row *, unsigned failures, ns_t retry);

const char *clients_got_name(enum client_got);

#endif
