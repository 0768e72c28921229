/* What rule_lost.c (what happens) and rule_lost_say.c (what is said of it)
 * share. */
#ifndef RULE_LOST_PRIV_H
#define RULE_LOST_PRIV_H

#include "mcpdiag/idtab.h"
#include "mcpdiag/rule.h"
#include "rule_asks.h"

#define SILENCE (30 * NS_S)	/* nothing for so long before the capture ends */

enum lost_body {			/* what a JSON body held instead */
	BODY_NONE, BODY_NOTIFICATION, BODY_REQUEST, BODY_RESPONSE, BODY_EMPTY,
};

struct ans {				/* what a request has seen of its answer */
	uint64_t cursor;		/* digest of the last event id; 0 none */
	char cursor_text[48];
	uint32_t data, messages;	/* events with data, and those read */
	enum lost_body body;
	bool torn;			/* the answer may be in what is missing */
	bool half;			/* its client closed early and reads on */
	struct at late;			/* the response, after the client's close */
	ns_t last_byte;
	ns_t left;			/* its client closed the connection */
	/* resumption */
	uint32_t resumed;		/* the last stream that resumed it */
	uint32_t resumes, givers;
	char sent[48];			/* Last-Event-ID */
	struct at resumed_at;
	bool resumed_open, common, took_over;
	uint32_t refused;		/* status of a GET that tried */
	/* the client, after its end */
	uint32_t active, others_ok;
};

struct lost {				/* one session */
	struct asks asks;
	int64_t retry_ms, delay_ms;	/* 0: none seen */
	bool legacy, over;
	uint32_t get_x;			/* a GET with a cursor: no answer yet */
	uint64_t get_cursor;
	uint32_t asked;			/* requests of the server, unanswered */
};

struct lostrule {
	struct engine *engine;
	struct asking all;
	struct idtab fins;		/* connections that the client closed */
	struct {
		ns_t t;
		uint32_t conn;
	} gaps[32];			/* the last ones */
	uint64_t n_gaps;
	ns_t ticked;
};

extern const struct rule rule_lost;

static inline struct ans *
ans_of(const struct ask *k)
{
	return k->more;
}

/* How long a client may take to come back: DETECTORS "2 D". */
ns_t lost_patience(const struct lost *);
/* One request that stays without its response. */
void lost_say(struct lostrule *, const struct lost *, const struct ask *, bool gap, ns_t now);

#endif
