/* pretty: JSON laid out for reading, a member to a line.
 * Takes anything: what is no JSON, or is cut, comes out as it is.  Only white
 * space between tokens changes; all other bytes come out as they went in, in
 * order.  Indentation stops growing at PRETTY_DEPTH levels, so that the result
 * is at most 2 * PRETTY_DEPTH + 2 times as long.  No recursion, no heap. */
#ifndef MCPDIAG_PRETTY_H
#define MCPDIAG_PRETTY_H

#include "mcpdiag/buf.h"

#define PRETTY_DEPTH 24

/* Appends; 0, or -E_LIMIT when the buffer was too small: it holds the start. */
int pretty_json(struct str, struct buf *);

#endif
