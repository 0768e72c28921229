#include "rule_live.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "rule_who.h"

static void *
new(struct engine *e, const struct limits *lim)
{
	struct lives *l = xcalloc(1, sizeof *l);

	l->whos = engine_reader(e, &who_reader);
	l->max = lim->streams;
	idmap_init(&l->map);
	return l;
}

static void
drop(struct lives *l, struct live *v)
{
	l->over = l->over == v ? NULL : l->over;
	idmap_del(&l->map, &v->node);
	free(v);
}

static void
on_stream(struct lives *l, const struct ev *e)
{
	const struct asked *a = who_asked(l->whos, e->conn, e->x);
	const struct who *w = who_of(l->whos, e->conn);
	struct live *v;

	if (a == NULL || w == NULL || a->modern || live_of(l, e->stream))
		return;
	if (l->map.n && l->map.n >= l->max)
		drop(l, (struct live *)l->map.first);
	v = xcalloc(1, sizeof *v);
	*v = (struct live){ .stream = e->stream, .session = e->session, .conn = e->conn,
	    .x = e->x, .flags = e->flags, .kind = e->u.stream.kind, .server = w->server,
	    .path = a->path, .head = { e->t, e->pkt }, .last = { e->t, e->pkt } };
	idmap_put(&l->map, &v->node, e->stream);
}

static void
on_byte(struct lives *l, const struct ev *e)
{
	struct live *v = live_of(l, e->stream);

	if (v == NULL)
		return;
	if (e->t - v->last.t > v->longest) {
		v->longest = e->t - v->last.t;
		l->grew = v;
	}
	v->last = (struct at){ e->t, e->pkt };
	v->seen |= e->flags;
	v->comments += e->type == EV_COMMENT;
	v->ids |= e->type == EV_SSE && e->u.sse.id.n > 0;
}

static void
event(void *arg, const struct ev *e)
{
	struct lives *l = arg;

	if (l->over)
		drop(l, l->over);
	l->grew = NULL;
	if (e->type == EV_STREAM)
		on_stream(l, e);
	else if (e->type == EV_STREAM_END)
		l->over = live_of(l, e->stream);
	else
		on_byte(l, e);
}

static void
free_reader(void *arg)
{
	struct lives *l = arg;

	while (l->map.first)
		drop(l, (struct live *)l->map.first);
	idmap_fini(&l->map);
	free(l);
}

const struct reader live_reader = {
	.wants = RULE_WANTS(EV_STREAM) | RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_COMMENT),
	.new = new, .event = event, .free = free_reader,
};
