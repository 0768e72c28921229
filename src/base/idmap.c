#include "mcpdiag/idmap.h"

#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/xmem.h"

#define MIN_CAP 16

void
idmap_init(struct idmap *t)
{
	*t = (struct idmap){ .odd = map_odd() };
}

void
idmap_fini(struct idmap *t)
{
	free(t->slot);
	*t = (struct idmap){ .odd = t->odd };
}

/* Where an id belongs if nothing else is there. */
static uint32_t
home(const struct idmap *t, uint64_t id)
{
	return (uint32_t)(id * t->odd >> t->shift);
}

static void
place(struct idmap *t, struct idnode *p)
{
	uint32_t i = home(t, p->id);

	while (t->slot[i])
		i = (i + 1) & (t->cap - 1);
	t->slot[i] = p;
}

static void
grow(struct idmap *t)
{
	free(t->slot);
	t->cap = t->cap ? t->cap * 2 : MIN_CAP;
	t->shift = 64 - (uint32_t)__builtin_ctz(t->cap);
	t->slot = xcalloc(t->cap, sizeof(struct idnode *));
	for (struct idnode *p = t->first; p; p = p->next)
		place(t, p);
}

void
idmap_put(struct idmap *t, struct idnode *p, uint64_t id)
{
	if (t->n * 4 >= t->cap * 3)
		grow(t);
	*p = (struct idnode){ .prev = t->last, .id = id };
	place(t, p);
	if (t->last)
		t->last->next = p;
	else
		t->first = p;
	t->last = p;
	t->n++;
}

/* What stands behind moves up, so that no search ends too early: Knuth,
 * volume 3, 6.4, algorithm R. */
static void
close_up(struct idmap *t, uint32_t hole)
{
	uint32_t mask = t->cap - 1;

	for (uint32_t i = (hole + 1) & mask; t->slot[i]; i = (i + 1) & mask) {
		uint32_t h = home(t, t->slot[i]->id);

		/* Not if its home lies between the hole and where it is. */
		if (((i - h) & mask) < ((i - hole) & mask))
			continue;
		t->slot[hole] = t->slot[i];
		t->slot[i] = NULL;
		hole = i;
	}
}

void
idmap_del(struct idmap *t, struct idnode *p)
{
	uint32_t i = home(t, p->id);

	while (t->slot[i] != p)
		i = (i + 1) & (t->cap - 1);
	t->slot[i] = NULL;
	close_up(t, i);
	if (p->prev)
		p->prev->next = p->next;
	else
		t->first = p->next;
	if (p->next)
		p->next->prev = p->prev;
	else
		t->last = p->prev;
	t->n--;
}
