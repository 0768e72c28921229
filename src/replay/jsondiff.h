/* jsondiff: two JSON texts compared by value.
 * Members of objects have no order, elements of arrays have; strings are equal
 * when they are so unescaped, numbers when their values are (as doubles).
 * JSONDIFF_MAX values of a text are looked at, nested to JSONDIFF_DEPTH. */
#ifndef JSONDIFF_H
#define JSONDIFF_H

#include "mcpdiag/str.h"

#define JSONDIFF_MAX 100000U
#define JSONDIFF_DEPTH 64U

/* A value that is not the same: its path ("result.tools[0].name") and both
 * texts; absent where there is none.  {} and [] stand for empty ones. */
typedef void jsondiff_fn(void *arg, struct str path, struct str a, struct str b);

/* False: one of them is no JSON, or passes a limit; nothing was told. */
bool jsondiff(struct str a, struct str b, jsondiff_fn *, void *arg);

#endif
