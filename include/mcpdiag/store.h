/* store: the recent past, event by event and with its text, for who looks at
 * single messages.  Bounded by bytes (limits.store, and half of limits.memory):
 * the oldest items go first, a few thousand at once, counted.  Items are linked
 * by session; those of an exchange whose session shows only later are moved to
 * it then, and get its number; what is told of a connection (a gap, its end)
 * goes to the session it was last used for.  Session 0 is what belongs to none
 * (yet).  Findings are not kept. */
#ifndef MCPDIAG_STORE_H
#define MCPDIAG_STORE_H

#include "mcpdiag/event.h"
#include "mcpdiag/limits.h"

struct store;

struct store_item {
	uint64_t no;			/* from 1, never used again */
	/* Owned by the store.  Only the member of u that goes with its type is
	 * there: not to be copied as a whole. */
	const struct ev *ev;
	/* What was on the wire: the head of a request or response (secrets
	 * hidden as elsewhere), the JSON of a message, the lines of an SSE
	 * block.  Absent: not kept.  `cut`: longer than is kept. */
	struct str text;
	bool cut;
	uint64_t bytes;			/* of the text on the wire */
	uint64_t prev, next;		/* of the same session; 0 none */
};

struct store *store_new(const struct limits *);
void store_free(struct store *);
/* Keeps a copy.  A session's items are in order of `no`, but for one that came
 * more than STORE_SEARCH of its items before its exchange was known to belong
 * there: it stands as far back as that. */
void store_event(struct store *, const struct ev *);
/* The text of the event that comes next, as in struct store_item; borrowed. */
void store_text(struct store *, struct str, uint64_t bytes, bool cut);

#define STORE_SEARCH 1024

/* First and last item kept; 0 when there is none. */
uint64_t store_first(const struct store *);
uint64_t store_last(const struct store *);
/* NULL when it is gone or not there yet; valid until the next event.  O(1). */
const struct store_item *store_item(const struct store *, uint64_t no);
uint64_t store_session_first(const struct store *, uint32_t session);
uint64_t store_session_last(const struct store *, uint32_t session);
/* Items that went for want of room: those numbered 1 to that. */
uint64_t store_forgot(const struct store *);
/* Of these, items of that session, while others of it are kept. */
uint64_t store_session_forgot(const struct store *, uint32_t session);
/* Bytes of memory it takes; never more than it may. */
size_t store_bytes(const struct store *);

#endif
