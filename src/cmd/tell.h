/* tell: an event as a line, for who watches. */
#ifndef TELL_H
#define TELL_H

#include <stdio.h>

#include "mcpdiag/event.h"

enum tell_what {
	TELL_FINDINGS,		/* nothing but what is wrong */
	TELL_ALL,		/* requests, messages, streams and owners, too */
};

/* Nothing for events that only a program wants. */
void tell_event(FILE *, enum tell_what, const struct ev *);

#endif
