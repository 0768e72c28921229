/* interfaces: those of this machine, for a person who captures. */
#ifndef INTERFACES_H
#define INTERFACES_H

#include <stdbool.h>
#include <stddef.h>

/* Prints them to stdout, one a line; an exit status. */
int interfaces_list(void);
/* The first one that is up and no loopback, as far as there is one; false when
 * none is up. */
bool interfaces_first(char *name, size_t);

#endif
