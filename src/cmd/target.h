/* target: the server a command talks to: its URL, and the headers that the
 * user wants in each request.  A token never stands on a command line, where
 * every user of the machine can read it. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "mcpdiag/str.h"

struct target {
	const char *url;
	struct str *headers;	/* "Name: value", owned */
	uint32_t n_headers, cap_headers;
};

/* All of these: 0, or an exit status after a message that names the command. */

/* "Name: value", or @FILE with one a line. */
int target_header(struct target *, const char *command, const char *arg);
/* Authorization: Bearer, from the first line of a file. */
int target_token_file(struct target *, const char *command, const char *path);
/* The same from that variable of the environment. */
int target_token_env(struct target *, const char *command, const char *name);
/* The one operand there must be. */
int target_url(struct target *, const char *command, int n, char **operands);
void target_fini(struct target *);

/* Whether a person sees what is told on stderr while it runs. */
bool target_tells(void);

#endif
