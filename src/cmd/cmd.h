/* cmd: what the commands share: exit statuses, the table of commands. */
#ifndef CMD_H
#define CMD_H

#include <stddef.h>

/* DESIGN 7; never renumbered. */
enum status {
	STATUS_CLEAN = 0,	/* no finding at or above --fail-on */
	STATUS_FOUND = 1,
	STATUS_USAGE = 2,
	STATUS_INPUT = 3,	/* missing, no capture, no MCP in it */
	STATUS_ENVIRONMENT = 4,	/* permission, output, memory */
	STATUS_TARGET = 5,	/* no MCP server reached */
	STATUS_INCOMPLETE = 6,	/* something hides the answer */
	STATUS_PIPE = 141,	/* nobody reads the output any more */
};

struct opt {
	int id;			/* from OPT_OWN on, or one of enum opt_id */
	char letter;		/* or 0 */
	const char *name;
	const char *arg;	/* NULL: takes none */
	const char *help;	/* NULL: hidden */
};

struct command {
	const char *name, *synopsis, *summary;
	const char *statuses;		/* what its exit status says */
	const struct opt *opts;		/* ended by a row without name */
	const char *const *examples;	/* pairs of command and comment; NULL */
	int (*run)(const struct command *, int argc, char **argv);
};

extern const struct command cmd_analyze, cmd_watch, cmd_explain, cmd_serve, cmd_demo,
    cmd_replay, cmd_probe;

#endif
