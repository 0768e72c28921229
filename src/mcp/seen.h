/* seen: what every verdict about streams says, whoever draws it: how its streams
 * ended and who closed first, and whether POSTs of its session still worked.
 * Bounded by the limits on streams and sessions; what is forgotten is not said. */
#ifndef MCPDIAG_SEEN_H
#define MCPDIAG_SEEN_H

#include "mcpdiag/event.h"
#include "mcpdiag/idtab.h"
#include "mcpdiag/rule.h"

struct seen {
	struct idtab ends;	/* stream -> enum ev_end + 1 */
	struct idtab posts;	/* session -> exchange of its last POST; the status of
				 * the last that was answered */
	struct idtab ok, bad;	/* session -> time of its last 2xx, of its last other
				 * status to a POST, 32 bits each */
};

void seen_init(struct seen *, const struct limits *);
void seen_fini(struct seen *);
/* Wants requests, responses and ends of streams. */
void seen_event(struct seen *, const struct ev *);
/* Adds it to a finding about streams of a session: facts `ends`, `first_closer` and
 * `session_posts`, and a sentence each to `why` where it does not speak of that. */
void seen_say(const struct seen *, struct draft *, const struct finding *);

#endif
