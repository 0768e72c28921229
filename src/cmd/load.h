/* load: captures, or one event file, through a pipeline to their end. */
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>

#include "mcpdiag/pipeline.h"

/* Reads all and ends the pipeline.  *events: it was an event file, without
 * texts.  An exit status, with a message when it is not 0; who says in front of
 * it which command speaks. */
int load(const char *who, struct pipeline *, const char *const *files, unsigned n,
    bool *events);

#endif
