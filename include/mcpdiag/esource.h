/* esource: what an EventSource remembers from one stream to the next.
 * One of them is a lineage: a stream, and those that come after it because it
 * ended.  Follows WHATWG HTML 9.2: which answers end it for good, the last
 * event id, the reconnection time, what is dispatched.  Does nothing itself:
 * no clock, no socket.  An id longer than ESOURCE_ID is not taken over. */
#ifndef MCPDIAG_ESOURCE_H
#define MCPDIAG_ESOURCE_H

#include "mcpdiag/ns.h"
#include "mcpdiag/str.h"

#define ESOURCE_ID 4096U		/* bytes of an id */
#define ESOURCE_RETRY_MAX (24 * 3600 * NS_S)	/* longer ones are cut to it */

struct esource_msg {
	struct str type;	/* "message" when the event says nothing */
	struct str id;		/* the last event id, this event's included */
	struct str data;
	bool cut;		/* data is only its start */
};

typedef void esource_fn(void *arg, const struct esource_msg *);

struct esource;

/* Messages are told to fn; of data, `max` bytes are kept.  retry: until the
 * server says another. */
struct esource *esource_new(esource_fn *, void *arg, size_t max, ns_t retry);
void esource_free(struct esource *);
/* A response begins.  True: a stream, to be fed; false: none, and the lineage
 * must not connect again. */
bool esource_head(struct esource *, unsigned status, struct str content_type);
void esource_feed(struct esource *, const void *, size_t);
/* The stream has ended, in whatever way: an unfinished event is dropped. */
void esource_eof(struct esource *);
/* What to send as Last-Event-ID; empty: no such header. */
struct str esource_cursor(const struct esource *);
/* The stream that is open, or was last, has brought an event id. */
bool esource_moved(const struct esource *);
/* The cursor is none any more: a client that loses it. */
void esource_forget(struct esource *);
/* How long to wait before the next GET. */
ns_t esource_retry(const struct esource *);

/* The type of a Content-Type, without its parameters, is this one. */
bool content_type_is(struct str content_type, struct str type);

#endif
