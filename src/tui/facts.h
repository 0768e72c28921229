/* facts: an event as lines, member by member: what is shown where the bytes
 * themselves are not there. */
#ifndef FACTS_H
#define FACTS_H

#include "lines.h"

void facts_add(struct lines *, const struct ev *);

#endif
