/* idmap: a table from 64-bit ids to what its user keeps of them, oldest first.
 *
 * Entries are members of the user's own structs and owned by him; the table
 * owns nothing but its slots, 11 to 21 bytes for each entry, and has none
 * until the first.  It has no limit of its own: who puts one in looks at `n`
 * before and drops `first`.  Ids are counters, or digests that whoever made
 * the input can compute: they are multiplied by a random odd number. */
#ifndef MCPDIAG_IDMAP_H
#define MCPDIAG_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idnode {
	struct idnode *next, *prev;	/* in the order they came */
	uint64_t id;
};

struct idmap {
	struct idnode **slot;
	struct idnode *first, *last;
	uint64_t odd;			/* random: where ids go */
	uint32_t cap, n;
	uint32_t shift;			/* 64 - log2(cap) */
};

void idmap_init(struct idmap *);
/* Frees the slots; the entries are the user's, who has taken them out. */
void idmap_fini(struct idmap *);
/* Puts in an entry whose id is not there yet, as the last. */
void idmap_put(struct idmap *, struct idnode *, uint64_t id);
/* Takes out what is there. */
void idmap_del(struct idmap *, struct idnode *);

/* The entry, or NULL. */
static inline struct idnode *
idmap_get(const struct idmap *t, uint64_t id)
{
	if (t->n == 0)
		return NULL;
	for (uint32_t i = (uint32_t)(id * t->odd >> t->shift);; i = (i + 1) & (t->cap - 1))
		if (t->slot[i] == NULL || t->slot[i]->id == id)
			return t->slot[i];
}

/* All of them, oldest first; `p` may be taken out meanwhile. */
#define IDMAP_EACH(map, p, tmp) \
	for ((p) = (map)->first; (p) && ((tmp) = (p)->next, 1); (p) = (tmp))

#endif
