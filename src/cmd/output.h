/* output: where the answer goes.
 * A file is written under another name in the same folder and takes its own
 * name when it is complete; what cannot be replaced so (a device, a pipe) is
 * written as it is. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>

#include "mcpdiag/err.h"
#include "mcpdiag/out.h"

struct output {
	struct out out;
	const char *path;	/* NULL: stdout */
	char *temp;		/* NULL: written in place */
	int fd;
	bool tty;
};

/* path NULL or "-": stdout.  `inputs` must not be the output. */
int output_open(struct output *, const char *path, const char *const *inputs,
    unsigned n_inputs, struct errmsg *);
/* Flushes and puts the file in its place.  Returns a negative code, 0, or 1
 * when the reader of a pipe has gone. */
int output_done(struct output *, struct errmsg *);
/* Leaves nothing behind; legal after output_done(). */
void output_fini(struct output *);

#endif
