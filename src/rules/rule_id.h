/* rule_id: the digest of the id that an event bears, made once for all rules. */
#ifndef RULE_ID_H
#define RULE_ID_H

#include "mcpdiag/rule.h"

struct ids {
	uint64_t id;		/* of the last EV_SSE or EV_MESSAGE */
	uint64_t none;		/* where it has none */
};

/* Shared: to be had with engine_reader(). */
extern const struct reader id_reader;

/* At EV_SSE map_digest() of u.sse.id, at EV_MESSAGE that of u.msg.id. */
static inline uint64_t
id_of(const struct ids *d)
{
	return d->id;
}

#endif
