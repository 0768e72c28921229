/* privdrop: no more privileges than the work needs.
 * To be called when everything that needs them is open, before the first byte
 * off the wire is looked at. */
#ifndef MCPDIAG_PRIVDROP_H
#define MCPDIAG_PRIVDROP_H

#include "mcpdiag/err.h"

/* As root: becomes `user` (NULL: who called sudo, else nobody), for good.
 * "root" stays root, which must be said.  Otherwise gives up all capabilities.
 * In both cases no program started later can gain any.  -E_USAGE: there is no
 * such user; -E_IO: the system refuses; with a sentence. */
int privdrop(const char *user, struct errmsg *);

#endif
