#include "rule_id.h"

#include <stdlib.h>

#include "mcpdiag/map.h"

static void *
new(struct engine *e, const struct limits *lim)
{
	struct ids *d = xcalloc(1, sizeof *d);

	(void)e;
	(void)lim;
	d->none = map_digest(NULL, 0);
	return d;
}

static void
event(void *arg, const struct ev *e)
{
	struct str id = e->type == EV_SSE ? e->u.sse.id : e->u.msg.id;
	struct ids *d = arg;

	d->id = id.n ? map_digest(id.p, id.n) : d->none;
}

const struct reader id_reader = {
	.wants = RULE_WANTS(EV_SSE) | RULE_WANTS(EV_MESSAGE),
	.skips = SKIP_NEWS | SKIP_PLAIN,
	.new = new, .event = event, .free = free,
};
