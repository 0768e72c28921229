/* idtab: a bounded table from 64-bit digests to a small record.
 * Remembers at least the last `max` keys: when that many have come, the older
 * half is forgotten.  16 to 40 bytes for each key; nothing until the first. */
#ifndef MCPDIAG_IDTAB_H
#define MCPDIAG_IDTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idrec {
	uint64_t key;		/* 0 is an empty slot; a key of 0 is stored as 1 */
	uint32_t a, b;		/* the caller's */
};

struct idgen {			/* one generation */
	struct idrec *slot;
	uint32_t n, cap;
};

struct idtab {
	struct idgen now, old;
	uint64_t odd;		/* random: where keys go */
	uint32_t max;
	bool forgot;		/* some have been */
};

void idtab_init(struct idtab *, uint32_t max);
void idtab_fini(struct idtab *);
/* The record, or NULL; valid until the next idtab_put(). */
struct idrec *idtab_get(const struct idtab *, uint64_t key);
/* The record, new (a and b 0, *fresh true) or known. */
struct idrec *idtab_put(struct idtab *, uint64_t key, int *fresh);

#endif
