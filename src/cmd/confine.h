/* confine: the sandbox of a command that reads packets. */
#ifndef CONFINE_H
#define CONFINE_H

#include <stdbool.h>

struct confine_opts {
	const char *read;	/* a file that is read again, or NULL */
	const char *write;	/* a file whose folder is written to, or NULL */
	bool here;		/* so is the current folder */
	const char *interface;	/* whose counters are read, or NULL */
};

/* The last step before the first packet: what is open is enough from here on,
 * but for what is named. */
void confine(const struct confine_opts *);

#endif
