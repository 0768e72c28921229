/* capsynth: what a program read and wrote on its sockets in, TCP packets out.
 * Writes the packets that could have carried the bytes: handshake, segments of
 * an Ethernet's size, an acknowledgment of each write by the other side, FIN
 * or RST; all numbers and checksums are right.  They are made up, though: when
 * a peer acknowledged, how long its window was and what was sent twice is not
 * known to a program.  So the file must say so: CAPSYNTH_COMMENT.
 * The writer must be of link type CAPSYNTH_LINKTYPE.  At most `max`
 * connections are open at once.  The same calls give the same bytes. */
#ifndef MCPDIAG_CAPSYNTH_H
#define MCPDIAG_CAPSYNTH_H

#include <stdbool.h>

#include "mcpdiag/capwrite.h"

/* Raw IP: there is no link whose addresses could be told. */
#define CAPSYNTH_LINKTYPE 101U
#define CAPSYNTH_COMMENT \
	"Not a packet capture: these packets were synthesised by mcpdiag " \
	"from what a program read and wrote on its sockets. Acknowledgments, " \
	"windows and the division into segments are made up."

struct capsynth;

/* The writer is borrowed. */
struct capsynth *capsynth_new(struct capwrite *, uint32_t max);

/* A packet of n bytes, borrowed; 0, or -E_IO as a writer says it. */
typedef int capsynth_packet_fn(void *arg, ns_t, const void *, size_t n);

/* The packets go to fn, whatever it does with them. */
struct capsynth *capsynth_new_to(capsynth_packet_fn *, void *arg, uint32_t max);
/* Connections that are open stay so in the file. */
void capsynth_free(struct capsynth *);

/* All of these: 0; -E_IO when the file takes no more (capwrite_error()). */

/* A connection called `id` until its end; addresses are "127.0.0.1:80" or
 * "[::1]:80", both of one family.  -E_USAGE: not such addresses, or the id is
 * in use; -E_LIMIT: `max` are open. */
int capsynth_open(struct capsynth *, uint32_t id, const char *client,
    const char *server, ns_t);
/* n bytes that one side has written.  -E_USAGE: no such connection. */
int capsynth_data(struct capsynth *, uint32_t id, bool from_server,
    const void *, size_t n, ns_t);
/* One side ends it, by RST (`reset`), or by FIN, which the other answers with
 * its own.  The id is free again.  -E_USAGE: no such connection. */
int capsynth_close(struct capsynth *, uint32_t id, bool by_client, bool reset,
    ns_t);
/* Connections that are open. */
uint32_t capsynth_conns(const struct capsynth *);

#endif
