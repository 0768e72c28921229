/* witness: what clients wrote and read on their connections, told as it
 * happens: as a capture at their side would show it, but without one.
 * Clients (client.h) that share a witness have their connections numbered
 * together, from 1.  What it tells is always HTTP/1.x in the clear: TLS is
 * taken off; an exchange of HTTP/2, and one over a UNIX socket, is re-told as
 * a connection of its own with a client port that is made up.  Bodies of
 * responses that came in chunks are cut into chunks anew, as they were read.
 * What curl does not hand out is not told: bytes that are no HTTP, and those
 * behind the end of a response.
 *
 * Has no clock: what is told has just happened. */
#ifndef MCPDIAG_WITNESS_H
#define MCPDIAG_WITNESS_H

#include <stdbool.h>

#include "mcpdiag/str.h"

struct witness_cb {		/* all are needed */
	/* Addresses as "127.0.0.1:80" or "[::1]:80". */
	void (*opened)(void *arg, uint32_t conn, const char *client, const char *server);
	void (*bytes)(void *arg, uint32_t conn, bool response, const void *, size_t);
	/* by_client: it closed first; reset: by its RST, as far as is known. */
	void (*closed)(void *arg, uint32_t conn, bool by_client, bool reset);
};

struct witness;
struct witness_x;		/* one exchange */

/* The callbacks are copied.  Must outlive the clients that have it. */
struct witness *witness_new(const struct witness_cb *, void *arg);
void witness_free(struct witness *);

/* For the client.  Addresses are numeric, without port; NULL or empty: none is
 * known (a UNIX socket). */
struct witness_x *witness_begin(struct witness *, const char *local, unsigned local_port,
    const char *remote, unsigned remote_port);
/* Bytes of the request; those of the first call begin with the request line. */
void witness_sent(struct witness_x *, const void *, size_t);
/* A line of a header block with its end, the status line first; interim
 * responses, and the trailer of a body in chunks, too. */
void witness_line(struct witness_x *, struct str);
void witness_body(struct witness_x *, const void *, size_t);

enum witness_end {
	WITNESS_COMPLETE,
	WITNESS_CUT,		/* by the server, or by what it said */
	WITNESS_LEFT,		/* by the client */
};

/* The last call about it. */
void witness_end(struct witness_x *, enum witness_end);
/* The client is about to close a socket.  While its exchange runs, that is told
 * when that has ended. */
void witness_closing(struct witness *, int fd);

#endif
