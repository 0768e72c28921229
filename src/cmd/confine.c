#include "confine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "mcpdiag/sandbox.h"

void
confine(const struct confine_opts *o)
{
	const char *write[3] = { NULL }, *read[3] = { NULL };
	const char *slash = o->write ? strrchr(o->write, '/') : NULL;
	struct sandbox_opts so = { write, read };
	char folder[4096], counters[128];
	unsigned n = 0;

	(void)snprintf(folder, sizeof folder, "%.*s",
	    slash && slash > o->write ? (int)(slash - o->write) : 1,
	    slash ? o->write : ".");
	if (o->write)
		write[n++] = folder;
	if (o->here)
		write[n++] = ".";
	n = 0;
	if (o->read)
		read[n++] = o->read;
	if (o->interface) {
		(void)snprintf(counters, sizeof counters, "/sys/class/net/%s/statistics",
		    o->interface);
		read[n++] = counters;
	}
	tzset();			/* reads a file, the first time */
	(void)sandbox(&so);
}
