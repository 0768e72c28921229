/* The requests of clients that are under way, for rules that ask what became
 * of them.  Kept by session; where the session shows only in the answer, by
 * exchange until then.  A request that is refused (no 2xx) is forgotten: that
 * was its answer.  At the limits the oldest go. */
#ifndef RULE_ASKS_H
#define RULE_ASKS_H

#include "mcpdiag/limits.h"
#include "rule_id.h"
#include "rule_util.h"

#define ASK_ID 40
#define ASK_WHAT 80

struct ask {				/* one request */
	uint32_t x, conn, stream;	/* stream: of its answer, 0 none */
	uint32_t flags;			/* of all events about it */
	uint64_t id, method;		/* digests */
	char id_text[ASK_ID], what[ASK_WHAT];	/* cut to fit */
	struct at asked, head, ended;	/* t 0: not yet */
	uint32_t status;
	enum ev_end end;
	bool json;			/* a body, not a stream */
	bool answered;
	bool collided;			/* its id was used again meanwhile */
	void *more;			/* the rule's own, or NULL */
};

struct asks {				/* of one session; first of a rule's own */
	struct kept of;
	struct asking *in;
	struct ask *v;			/* oldest first; NULL while there is none */
	uint32_t n, cap;
	void *extra;			/* the rule's own, freed with it */
};

struct asking {
	struct keeper sessions;
	struct keeper waiting;		/* by exchange */
	uint64_t n;			/* requests, in all of them */
	struct ids *ids;
	struct ask *spare;		/* room for the first of a session, or NULL */
	size_t size;			/* of a rule's struct of a session */
	size_t more;			/* and of what it keeps of a request */
};

/* `size` and `more` as above: plain memory, zeroed, freed with its session or
 * request. */
void asking_init(struct asking *, struct engine *, const struct limits *, size_t size,
    size_t more);
void asking_fini(struct asking *);
/* NULL where there is none; asking_session() makes one. */
struct asks *asking_find(struct asking *, uint32_t session);
struct asks *asking_session(struct asking *, uint32_t session);
void asking_drop(struct asking *, struct asks *);

/* A request of a client; NULL while its session is not known. */
struct ask *asking_message(struct asking *, const struct ev *);
/* EV_RESPONSE and EV_RESPONSE_END. */
void asking_response(struct asking *, const struct ev *);
void asking_response_end(struct asks *, const struct ev *);

/* That request of the exchange, or NULL. */
struct ask *asks_own(struct asks *, uint32_t x, uint64_t id);
/* Which request a response or error is to: one of its own exchange, else the
 * oldest of the session with that id that waits; NULL: none that waits. */
struct ask *asks_answered_by(struct asks *, const struct ev *);
void asks_remove(struct asks *, struct ask *);

/* The client leaves a request of that method unanswered for as long as it
 * likes: it waits for something to happen. */
bool asks_waits_long(struct str method);

#endif
