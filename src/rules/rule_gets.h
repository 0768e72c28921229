/* gets: what became of each GET, for the rules about reconnecting.
 * Events go in, steps of exchanges come out.  Exchanges of protocol 2026-07-28
 * and methods other than GET, POST and DELETE give none.  At `max` exchanges in
 * flight the one asked longest ago is forgotten. */
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
	UT_hash_handle hh;
	uint32_t x, conn, session, flags;
	uint64_t cursor;	/* digest of Last-Event-ID, 0 none */
	uint64_t agent, path;	/* digests of User-Agent and path */
	char cursor_text[TEXT_KEPT], agent_text[TEXT_KEPT];
	struct at request, head, end;
	bool post, del, init;	/* init: it carries an initialize */
	bool named;		/* it has a session id of its own */
	bool asks_stream;	/* Accept has text/event-stream */
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

struct gets {
	struct got *table;
	struct idtab conns;	/* connection -> its last GET */
	uint32_t max;
};

void gets_init(struct gets *, uint32_t max);
void gets_fini(struct gets *);
/* What the event means; *got is the exchange, a copy. */
enum step gets_step(struct gets *, const struct ev *, struct got *got);

/* Event types that gets_step() looks at. */
#define GETS_WANTS (RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_RESPONSE) | RULE_WANTS(EV_STREAM) | \
    RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_SSE) | RULE_WANTS(EV_MESSAGE) | \
    RULE_WANTS(EV_OWNER) | RULE_WANTS(EV_CONN_END))

/* Who gave out an event id on a session: bits of idrec.a. */
enum { GIVEN_BY_GET = 1, GIVEN_BY_POST = 2 };
/* Remembers the id of an EV_SSE in a table of its session. */
void cursors_learn(struct idtab *, const struct gets *, const struct ev *);
/* The cursor leads to the answer of a POST and nowhere else. */
bool cursor_of_post(const struct idtab *, uint64_t cursor);
/* It was given out on this session, and on a GET stream. */
bool cursor_of_get(const struct idtab *, uint64_t cursor);

/* The server ended it, by terminator or by closing. */
bool got_by_server(const struct got *);
/* Nothing is certain of its beginning or end. */
bool got_torn(const struct got *);
/* The status of a reply that a GET may be refused with; 429 and redirects say
 * something else. */
bool got_refusal(uint32_t status);

/* What a rule keeps of the POSTs of a session. */
struct posts {
	struct at ok, failed;		/* the last head of each kind */
	uint32_t n_ok, n_failed;
	uint32_t status;		/* of the last that failed */
	uint64_t path;			/* they were sent to */
	char server[TEXT_KEPT];		/* header of an answer */
};

void posts_step(struct posts *, enum step, const struct got *);
/* "POSTs were answered", "were refused with 404", "there were none". */
void posts_say(const struct posts *, ns_t since, char *text, size_t size);
/* A hop in between seems to have made this reply. */
bool got_by_proxy(const struct got *, const struct posts *);

#endif
