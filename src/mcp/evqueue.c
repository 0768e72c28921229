#include "mcpdiag/evqueue.h"

#include <assert.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"

#define MAX_EVENTS 64
#define MAX_BYTES 32768		/* of their strings */
#define MAX_STRINGS 16		/* in one event */

struct evqueue {
	ev_fn *out;
	void *arg;
	uint32_t n;
	size_t used;
	struct {
		uint8_t n;
		uint16_t at[MAX_STRINGS];
	} strings[EV_N_TYPES];		/* where they are in struct ev */
	struct ev ev[MAX_EVENTS];
	char bytes[MAX_BYTES];
};

struct evqueue *
evqueue_new(ev_fn *out, void *arg)
{
	struct evqueue *q = xcalloc(1, sizeof *q);

	q->out = out;
	q->arg = arg;
	for (unsigned type = 0; type < EV_N_TYPES; type++)
		for (const struct ev_field *f = ev_fields(type); f->name; f++)
			if (f->type == EVT_STR) {
				assert(q->strings[type].n < MAX_STRINGS);
				q->strings[type].at[q->strings[type].n++] = f->offset;
			}
	return q;
}

void
evqueue_free(struct evqueue *q)
{
	free(q);
}

static struct str *
string(struct ev *e, uint16_t at)
{
	return (struct str *)(void *)((char *)e + at);
}

void
evqueue_put(struct evqueue *q, const struct ev *e)
{
	uint32_t n = q->strings[e->type].n;
	const uint16_t *at = q->strings[e->type].at;
	struct ev *copy;
	size_t bytes = 0;

	assert(e->type != EV_FINDING);
	if (q->n == MAX_EVENTS)
		evqueue_flush(q);
	copy = &q->ev[q->n];
	*copy = *e;
	for (uint32_t i = 0; i < n; i++)
		bytes += string(copy, at[i])->n;
	if (bytes > MAX_BYTES - q->used) {
		evqueue_flush(q);
		if (bytes > MAX_BYTES) {	/* no need to wait alone */
			q->out(q->arg, e);
			return;
		}
		copy = &q->ev[0];
		*copy = *e;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct str *s = string(copy, at[i]);

		if (s->p == NULL)
			continue;
		/* An empty string stays apart from an absent one. */
		if (s->n)
			memcpy(q->bytes + q->used, s->p, s->n);
		s->p = q->bytes + q->used;
		q->used += s->n;
	}
	q->n++;
}

void
evqueue_flush(struct evqueue *q)
{
	for (uint32_t i = 0; i < q->n; i++)
		q->out(q->arg, &q->ev[i]);
	q->n = 0;
	q->used = 0;
}
