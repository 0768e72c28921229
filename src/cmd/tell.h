/* tell: an event as a line on standard error, for who watches a server. */
#ifndef TELL_H
#define TELL_H

#include "mcpdiag/event.h"

/* Nothing for events that only a program wants. */
void tell_event(const struct ev *);

#endif
