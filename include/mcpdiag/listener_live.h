/* listener_live: a listener on a loop, with connections of its own.
 * Everything of listener.h holds; each listener_live is a tab of its own: it
 * shares no connection with another, unless it is made so. */
#ifndef MCPDIAG_LISTENER_LIVE_H
#define MCPDIAG_LISTENER_LIVE_H

#include "mcpdiag/listener.h"

struct listener_live;

/* NULL and a sentence when libcurl cannot start.  fn may stop the loop, and
 * call listener_live_stop(), but not free. */
struct listener_live *listener_live_new(struct loop *, const struct client_opts *,
    const struct listener_opts *, listener_fn *, void *arg, struct errmsg *);
/* With the connections of a client that others have, too; it is borrowed and
 * lives longer. */
struct listener_live *listener_live_new_on(struct loop *, struct client *,
    const struct listener_opts *, listener_fn *, void *arg);
/* At any time; what runs is cancelled without a word. */
void listener_live_free(struct listener_live *);
void listener_live_start(struct listener_live *);
/* listener_stop(). */
void listener_live_stop(struct listener_live *);

#endif
