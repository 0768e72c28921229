/* evqueue: events wait, and go on in the order they came.
 *
 * What makes events and what looks at them are a lot of code each, and neither
 * leaves the other's in the processor's cache: so events are copied, and go on by
 * the dozen.  Nobody else sees a difference, as long as evqueue_flush() is called
 * before anything is asked of who gets them. */
#ifndef MCPDIAG_EVQUEUE_H
#define MCPDIAG_EVQUEUE_H

#include "mcpdiag/event.h"

struct evqueue;

struct evqueue *evqueue_new(ev_fn *out, void *arg);
void evqueue_free(struct evqueue *);		/* what waits is lost */
/* Copies it, strings and all; any but EV_FINDING.  When the queue is full, what
 * waits goes on first.  Not to be called from `out`. */
void evqueue_put(struct evqueue *, const struct ev *);
void evqueue_flush(struct evqueue *);

#endif
