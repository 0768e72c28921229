/* keep: copies of strings that all go together. */
#ifndef MCPDIAG_KEEP_H
#define MCPDIAG_KEEP_H

#include "mcpdiag/str.h"

struct kept;

struct keep {			/* all zero: empty */
	struct kept *last;
	size_t bytes;		/* of the heap */
};

/* A NUL-terminated copy that lives until keep_fini(); STR_NONE stays so. */
struct str keep_str(struct keep *, struct str);
void keep_fini(struct keep *);		/* empty again */

#endif
