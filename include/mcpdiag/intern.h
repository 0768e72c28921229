/* intern: one copy of each string, shared and counted.
 * For the few names that thousands of sessions have in common. */
#ifndef MCPDIAG_INTERN_H
#define MCPDIAG_INTERN_H

#include "mcpdiag/str.h"

struct interned;

struct intern {
	struct interned *table;
};

/* The NUL-terminated copy (NULL for an absent string); give it back with
 * intern_put(). */
char *intern_get(struct intern *, struct str);
void intern_put(struct intern *, char *);	/* NULL is legal */
/* How many different strings there are. */
size_t intern_count(const struct intern *);

#endif
