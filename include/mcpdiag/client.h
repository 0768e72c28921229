/* client: HTTP requests on the loop, many at once.
 * One struct client is one pool of connections, as a browser's tab has: its
 * requests use a connection again when one is free, those of another client
 * never do.  Sends what it is told and nothing of its own but Host and
 * Content-Length: no redirects, no proxy of the environment, no Expect, no
 * compression.  A header block beyond the limit ends its request; bodies are
 * passed on as they come and never held.
 *
 * A request (struct creq) is valid until its end() has returned or it is
 * cancelled.  In callbacks everything is allowed but client_free().  Raises no
 * signal but, with https, SIGPIPE: the program ignores that one. */
#ifndef MCPDIAG_CLIENT_H
#define MCPDIAG_CLIENT_H

#include <stdbool.h>

#include "mcpdiag/err.h"
#include "mcpdiag/loop.h"
#include "mcpdiag/str.h"
#include "mcpdiag/witness.h"

struct client;
struct creq;

enum client_end {
	CLIENT_COMPLETE,	/* the response came whole: terminator, length,
				 * or close where the close is the end */
	CLIENT_CLOSED,		/* the server closed or reset before that,
				 * perhaps before it said anything */
	CLIENT_REFUSED,		/* no connection: refused, unreachable, no such
				 * name, TLS that fails */
	CLIENT_TIMEOUT,		/* one of the request's */
	CLIENT_BAD,		/* the response is no HTTP/1.x or passes a limit */
};

struct client_head {
	unsigned status;	/* 200 to 999: of interim ones nothing is told */
	struct str content_type;
	struct str lines;	/* the header lines as they came, with CRLF */
};

struct client_cb {		/* all are needed */
	void (*head)(void *arg, const struct client_head *);
	void (*body)(void *arg, const void *, size_t);
	/* The last call.  why: a sentence of curl's for a person; "" when
	 * CLIENT_COMPLETE. */
	void (*end)(void *arg, enum client_end, const char *why);
};

struct client_request {		/* borrowed until client_start() returns */
	const char *method, *url;
	const struct str *headers;	/* "Name: value", no line ends */
	unsigned n_headers;
	struct str body;	/* absent: none */
	ns_t connect_timeout;	/* 0: curl's, 300 s */
	ns_t timeout;		/* in all; 0: none */
	bool fresh;		/* on a new connection */
	/* and one that takes little: 1 KiB or so waits in the kernel here, and
	 * few 10 KiB there, where 4 MiB would else (Linux, loopback) */
	bool narrow;
};

enum client_http {
	CLIENT_HTTP1,
	CLIENT_HTTP2_TLS,	/* with https, when the server has it (ALPN) */
	CLIENT_HTTP2,		/* always: with http, without asking */
};

struct client_opts {
	size_t header;		/* header lines of one response, bytes */
	size_t buffer;		/* received at once, 1024 to 16384 */
	bool insecure;		/* any certificate will do */
	/* These are borrowed as long as the client lives; NULL: not so. */
	const char *ca_file;	/* PEM: whom to trust in place of the system's */
	const char *unix_socket;	/* path, connected to for every URL */
	const char *const *resolve;	/* "HOST:PORT:ADDRESS", NULL-terminated */
	struct witness *witness;	/* is told all */
	enum client_http http;
};

void client_opts_init(struct client_opts *);
/* NULL and a sentence when libcurl cannot start. */
struct client *client_new(struct loop *, const struct client_opts *, struct errmsg *);
/* Cancels what is running. */
void client_free(struct client *);
/* Callbacks come from the loop, never from here.  NULL and a sentence: the
 * request cannot be sent as it is (a line end or NUL in a header). */
struct creq *client_start(struct client *, const struct client_request *,
    const struct client_cb *, void *arg, struct errmsg *);
/* Closes its connection; there is no end(). */
void client_cancel(struct creq *);
/* Stops reading, or reads on; what came before may still be told.  Not from a
 * callback of the client. */
void client_hold(struct creq *, bool);
/* Requests that are running. */
unsigned client_running(const struct client *);

/* First header of that name (any case), without surrounding white space, or
 * STR_NONE. */
struct str client_header(const struct client_head *, struct str name);

const char *client_end_name(enum client_end);

#endif
