#include "mcpdiag/idtab.h"

#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/xmem.h"

void
idtab_init(struct idtab *t, uint32_t max)
{
	*t = (struct idtab){ .max = max < 2 ? 2 : max, .odd = map_odd() };
}

void
idtab_fini(struct idtab *t)
{
	free(t->now.slot);
	free(t->old.slot);
	*t = (struct idtab){ .max = t->max, .odd = t->odd };
}

/* Where the key is, or the empty slot where it belongs.  Keys are digests that
 * whoever made the input can compute: multiplied by a random odd number, those
 * that are alike in some bits do not all fall into one place. */
static struct idrec *
find(const struct idtab *t, const struct idgen *g, uint64_t key)
{
	uint32_t i;

	if (g->cap == 0)
		return NULL;
	i = (uint32_t)(key * t->odd >> (64 - __builtin_ctz(g->cap)));
	for (; g->slot[i].key; i = (i + 1) & (g->cap - 1))
		if (g->slot[i].key == key)
			break;
	return &g->slot[i];
}

static void
grow(const struct idtab *t, struct idgen *g)
{
	struct idgen bigger = { .cap = g->cap ? g->cap * 2 : 4, .n = g->n };

	bigger.slot = xcalloc(bigger.cap, sizeof *bigger.slot);
	for (uint32_t i = 0; i < g->cap; i++)
		if (g->slot[i].key)
			*find(t, &bigger, g->slot[i].key) = g->slot[i];
	free(g->slot);
	*g = bigger;
}

struct idrec *
idtab_get(const struct idtab *t, uint64_t key)
{
	struct idrec *r;

	key += key == 0;
	r = find(t, &t->now, key);
	if (r && r->key)
		return r;
	r = find(t, &t->old, key);
	return r && r->key ? r : NULL;
}

struct idrec *
idtab_put(struct idtab *t, uint64_t key, int *fresh)
{
	struct idrec *r = idtab_get(t, key);

	*fresh = r == NULL;
	if (r)
		return r;
	key += key == 0;
	if (t->now.n >= t->max) {
		t->forgot |= t->old.n > 0;
		free(t->old.slot);
		t->old = t->now;
		t->now = (struct idgen){ 0 };
	}
	if (t->now.n * 4 >= t->now.cap * 3)
		grow(t, &t->now);
	r = find(t, &t->now, key);
	*r = (struct idrec){ .key = key };
	t->now.n++;
	return r;
}
