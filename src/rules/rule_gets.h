/* gets: what became of each GET, for the rules about reconnecting.
 * Events go in, steps of exchanges come out.  Exchanges of protocol 2026-07-28
 * and methods other than GET, POST and DELETE give none.  At `max` exchanges in
 * flight the one asked longest ago is forgotten.  Kept once for all rules. */
#ifndef RULE_GETS_H
#define RULE_GETS_H

#include "mcpdiag/event.h"
#include "mcpdiag/idtab.h"
#include "mcpdiag/rule.h"
#include "rule_util.h"

enum step {
	STEP_NONE,
	STEP_ASKED,		/* a GET that names a session */
	STEP_REFUSED,		/* answered with anything but an event stream */
	STEP_OPENED,		/* answered with one */
	STEP_LEFT,		/* its client closed the connection */
	STEP_ENDED,		/* and that is over; after STEP_LEFT, too */
	STEP_POSTED,		/* a POST */
	STEP_ANSWERED,		/* and the head of its answer */
	STEP_DELETED,		/* a DELETE is asked for */
};

#define TEXT_KEPT 48

struct got {			/* an exchange as far as it is known */
	struct idnode node;	/* by x */
	uint32_t x, conn, session, flags;
	uint64_t cursor;	/* digest of Last-Event-ID, 0 none */
	uint64_t client, address, path;	/* of the client, server and target */
	char cursor_text[TEXT_KEPT], agent_text[TEXT_KEPT];	/* of GETs only */
	struct at request, head, end;
	bool post, del, init;	/* init: it carries an initialize */
	bool named;		/* it has a session id of its own */
	bool asks_stream;	/* a GET whose Accept has text/event-stream */
	/* of the answer */
	uint32_t status;
	char type[TEXT_KEPT], server[TEXT_KEPT];
	bool via, challenge;
	/* of a stream */
	uint32_t stream, lineage, previous, resumes, givers;
	int64_t delay_ms;
	enum ev_kind kind;
	enum ev_end how;
	bool had_response;
	bool primed;		/* it told when to come back, or a cursor */
	bool of_post;		/* it carries the answer of one POST */
	bool left;		/* STEP_LEFT was told */
	uint32_t data, replays, messages, comments;
	bool gave;		/* an id came, if an empty one */
	uint64_t last_id;	/* digest of the last id it gave, 0 none */
	char last_text[TEXT_KEPT];
};

/* What came of the POSTs of a session. */
struct posts {
	struct at ok, failed;		/* the last head of each kind */
	uint32_t n_ok, n_failed;
	uint32_t status;		/* of the last that failed */
	uint64_t path;			/* they were sent to */
	char server[TEXT_KEPT];		/* header of an answer */
};

struct gets;

/* Shared: to be had with engine_reader(). */
extern const struct reader gets_reader;

/* What the event means, STEP_NONE for most; *got is the exchange, valid until
 * the next event. */
enum step gets_step(const struct gets *, const struct ev *, const struct got **got);

/* Event types that may be a step. */
#define GETS_WANTS (RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_RESPONSE) | RULE_WANTS(EV_STREAM) | \
    RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_CONN_END))

/* Those of that session so far, all zero when there were none; valid until the
 * next event. */
const struct posts *gets_posts(struct gets *, uint32_t session);
/* What is known of a stream of that session by its number: bits, 0 for nothing,
 * and the exchange of one that is no GET's. */
enum {
	STREAM_POST = 1,	/* it answers a POST */
	STREAM_NO_GET = 2,	/* so it does, or nobody knows what */
	STREAM_OVER = 4,
	STREAM_ANSWERED = 8,	/* it carried a response */
	STREAM_RESUMED = 16,	/* what it had not was carried by a GET */
};
uint32_t gets_stream(struct gets *, uint32_t session, uint32_t stream, uint32_t *x);
/* The last `retry` of that session, on any stream; -1 when there was none. */
int64_t gets_retry_ms(struct gets *, uint32_t session);
/* The cursor was given out on that session, on answers of POSTs alone. */
bool cursor_of_post(struct gets *, uint32_t session, uint64_t cursor);
/* It was given out on that session, and on a GET stream. */
bool cursor_of_get(struct gets *, uint32_t session, uint64_t cursor);

/* The server ended it, by terminator or by closing. */
bool got_by_server(const struct got *);
/* Nothing is certain of its beginning or end. */
bool got_torn(const struct got *);
/* The status of a reply that a GET may be refused with; 429 and redirects say
 * something else. */
bool got_refusal(uint32_t status);

/* "POSTs were answered", "were refused with 404", "there were none". */
void posts_say(const struct posts *, ns_t since, char *text, size_t size);
/* A hop in between seems to have made this reply. */
bool got_by_proxy(const struct got *, const struct posts *);

#endif
