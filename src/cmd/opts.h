/* opts: options of a command from its one table.
 * The table drives getopt_long, --help, --list-options (for the lint that
 * compares it with the man page), and the guess at what a typo meant. */
#ifndef OPTS_H
#define OPTS_H

#include <stdio.h>

#include "cmd.h"

enum opt_id {
	OPT_END = -1,		/* no more options: operands follow */
	OPT_BAD = -2,		/* a message has been printed */
	OPT_DONE = -3,		/* --help and the like have been served */
	OPT_HELP = 1000, OPT_VERSION, OPT_LIST,
	OPT_OWN = 2000,
};

/* Rows that every command has. */
#define OPTS_STANDARD \
	{ OPT_HELP, 'h', "help", NULL, "show this help" }, \
	{ OPT_VERSION, 'V', "version", NULL, "show the version" }, \
	{ OPT_LIST, 0, "list-options", NULL, NULL }

/* The next option's id and its argument (NULL: none).  argv is permuted:
 * after OPT_END the operands start at *operand. */
int opts_next(const struct command *, int argc, char **argv, const char **arg,
    int *operand);
/* Takes one option: 0, or what opts_each() is to return. */
typedef int opts_fn(void *run, int id, const char *arg);
/* All options, one after the other, until `take` returns other than 0: that, or
 * STATUS_USAGE, or OPT_DONE, which is a good end.  0: they are taken, and the
 * operands start at *operand. */
int opts_each(const struct command *, int argc, char **argv, opts_fn *take, void *run,
    int *operand);
/* Before the second command line that a process reads. */
void opts_restart(void);
void opts_help(const struct command *, FILE *);
/* The candidate that a misspelt word most likely means, or NULL. */
const char *opts_nearest(const char *word, const char *const *candidates);

#endif
