/* target: the server a command talks to: its URL, how to connect to it, and the
 * headers that the user wants in each request.  A token never stands on a
 * command line, where every user of the machine can read it. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "mcpdiag/client.h"
#include "opts.h"

#define TARGET_MAX 32	/* headers, and addresses of --resolve */

enum {
	TARGET_HEADER = OPT_OWN + 500, TARGET_BEARER_FILE, TARGET_BEARER_ENV,
	TARGET_INSECURE, TARGET_CACERT, TARGET_RESOLVE, TARGET_UNIX, TARGET_HTTP2,
};

/* Rows of a command that has a target; named as those of curl(1). */
#define TARGET_OPTS \
	{ TARGET_HEADER, 'H', "header", "NAME: VALUE", \
	  "send it with each request; @FILE: its lines" }, \
	{ TARGET_BEARER_FILE, 0, "bearer-file", "FILE", \
	  "send the token in it as authorization" }, \
	{ TARGET_BEARER_ENV, 0, "bearer-env", "NAME", "that of an environment variable" }, \
	{ TARGET_INSECURE, 'k', "insecure", NULL, "take any certificate" }, \
	{ TARGET_CACERT, 0, "cacert", "FILE", "trust the certificates in it" }, \
	{ TARGET_RESOLVE, 0, "resolve", "HOST:PORT:ADDRESS", "connect there for that name" }, \
	{ TARGET_UNIX, 0, "unix-socket", "PATH", "connect to it, whatever the URL says" }, \
	{ TARGET_HTTP2, 0, "http2", NULL, "speak HTTP/2: with https when the server does" }

struct target {
	const char *url;	/* NULL: none was given */
	struct str headers[TARGET_MAX];	/* "Name: value", owned */
	uint32_t n_headers;
	const char *resolve[TARGET_MAX + 1];
	uint32_t n_resolve;
	/* How to connect; what it borrows is of the target, or of argv. */
	struct client_opts client;
};

void target_init(struct target *);
void target_fini(struct target *);

/* These return 0, or an exit status after a message that names the command. */

/* One of TARGET_OPTS. */
int target_set(struct target *, const char *command, int id, const char *arg);
/* Its URL. */
int target_url(struct target *, const char *command, const char *url);

/* Whether a word is meant as a URL. */
bool target_is_url(const char *);

/* Whether a person sees what is told on stderr while it runs. */
bool target_tells(void);

#endif
