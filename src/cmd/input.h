/* input: is it a capture or a file of events?
 * Event files (NDJSON) start with '{', captures never do. */
#ifndef INPUT_H
#define INPUT_H

#include "mcpdiag/err.h"
#include "mcpdiag/ndjson.h"

/* Looks at the first byte without taking it away; "-" is stdin.  False when
 * that cannot be done (a named pipe, a terminal) or there is no such file. */
bool input_is_events(const char *path);
/* Reads an event file to its end, or until *stop is set.  -E_IO with a
 * sentence when reading fails. */
int input_events(const char *path, struct ndjson_in *, const volatile int *stop,
    struct errmsg *);

#endif
