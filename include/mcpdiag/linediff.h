/* linediff: the shortest way from one list of lines to another.
 * The greedy algorithm of E. Myers, "An O(ND) Difference Algorithm and Its
 * Variations" (1986), within the part that differs at all.  Time grows with
 * lines * differences and memory with differences squared: so there is a most
 * of them, and past it that part counts as wholly different. */
#ifndef MCPDIAG_LINEDIFF_H
#define MCPDIAG_LINEDIFF_H

#include <stdbool.h>
#include <stdint.h>

enum linediff_op { LINEDIFF_SAME, LINEDIFF_GONE, LINEDIFF_NEW };

/* n lines, from a of the old and from b of the new list on. */
typedef void linediff_fn(void *arg, enum linediff_op, uint32_t a, uint32_t b, uint32_t n);

#define LINEDIFF_MAX 500	/* lines gone and new: 1 MB */

/* a, b: a number for each line, the same for equal ones.  False: there were
 * more than LINEDIFF_MAX differences.  Runs are told in order; of a change the
 * gone lines come before the new ones. */
bool linediff(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b,
    linediff_fn *, void *arg);

#endif
