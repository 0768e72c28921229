/* flow: TCP segments in, two ordered byte streams for each connection out.
 *
 * Handles retransmission, overlap (the first copy wins; a conflicting second
 * one is reported), reordering, sequence wrap, duplicated captures (`any`,
 * bridges, mirror ports), mid-stream pick-up, half close, RST, port reuse, and
 * loss.  In-order payload is lent straight from the packet; only out-of-order
 * segments are copied, up to limits.ooo for each connection.
 *
 * Order across directions: a segment that acknowledges bytes of the peer which
 * have not been seen waits for them, so that a response never comes out before
 * its request in a reordered capture.
 *
 * A gap is declared on evidence only: the peer has acknowledged past the hole
 * and the hole has stayed open for 20 ms of packet time; the out-of-order
 * limit; the end.  Bytes cut by the snap length are a gap at once.
 *
 * Callbacks get the connection's context as returned by open().  `at` is the
 * packet that carried the bytes.  dir 0 is from the side that sent the SYN, or
 * the first packet seen when there was none.  After both directions are closed
 * close() has been called for both and end() follows; nothing comes after. */
#ifndef MCPDIAG_FLOW_H
#define MCPDIAG_FLOW_H

#include "mcpdiag/decode.h"
#include "mcpdiag/limits.h"

enum flow_start {
	FLOW_SYN,		/* the handshake was seen: dir 0 is the client */
	FLOW_MID,		/* picked up mid-stream: who is who is unknown */
};

enum flow_close {
	FLOW_FIN,		/* the sender of this direction finished */
	FLOW_RST,		/* reset; closes both, `by` tells who sent it */
	FLOW_EVICTED,		/* the flow limit, or long idle after FIN */
	FLOW_EOF,		/* the capture ended */
	FLOW_REUSED,		/* a new SYN on the same addresses */
};

enum flow_odd {
	FLOW_OVERLAP_CONFLICT,	/* retransmitted bytes differ from the first */
	FLOW_OOO_LIMIT,		/* out-of-order bytes given up at the limit */
	FLOW_DATA_AFTER_FIN,	/* payload past the sender's own FIN */
};

struct flow_conn {
	uint32_t id;		/* from 1, in order of appearance */
	struct addr addr[2];	/* of the sender of dir 0, of dir 1 */
	enum flow_start start;
};

struct flow_ops {
	/* A new connection; called at its first packet. */
	void *(*open)(void *arg, const struct flow_conn *, struct at);
	/* In-order payload.  Returning false means "not interested": no more
	 * payload or gap of this connection will be delivered (close and end
	 * still are) and none is kept. */
	bool (*data)(void *conn, int dir, const uint8_t *, size_t, struct at);
	/* `n` bytes of dir are missing here (n may be large). */
	void (*gap)(void *conn, int dir, uint64_t n, struct at);
	/* dir will bring nothing more.  `by` is the direction whose packet
	 * closed it (differs from dir for the second half of an RST), or -1. */
	void (*close)(void *conn, int dir, enum flow_close, int by, struct at);
	/* Bytes of dir have stood unacknowledged since `since` for 10 s of
	 * packet time while the capture went on (once per stall), or the
	 * receiver has announced a zero window for as long (zero_window).
	 * Not when the sender has never tried again nor sent more: then it is
	 * the capture that lost the acknowledgment. */
	void (*stall)(void *conn, int dir, uint64_t bytes, bool zero_window,
	    struct at since, struct at now);
	void (*odd)(void *conn, int dir, enum flow_odd, struct at);
	/* The connection is forgotten; conn is not used again. */
	void (*end)(void *conn, struct at);
	/* Payload for conn comes soon: a chance to fetch memory ahead, in two
	 * stages (0: what conn points to; 1: what that points to).  Optional. */
	void (*expect)(const void *conn, int stage);
};

struct flow_stats {
	uint64_t connections;	/* opened, in all */
	uint64_t gaps, gap_bytes;
	uint64_t retransmits, out_of_order, duplicates, conflicts;
	uint64_t evicted;	/* forgotten at the limit while open */
	uint64_t shed;		/* by flows_shed() */
};

struct flows;

struct flows *flows_new(const struct limits *, const struct flow_ops *, void *arg);
void flows_free(struct flows *);
void flows_seg(struct flows *, const struct seg *);
#define FLOWS_EXPECT 16

/* The next n <= FLOWS_EXPECT segments, before the first of them is given to
 * flows_seg(): fetches the memory that they will touch.  Changes nothing but
 * speed: with thousands of connections each segment finds its own out of the
 * cache, and many misses at once take hardly longer than one. */
void flows_expect(struct flows *, struct seg *, unsigned n);
/* Time passes: declares gaps, stalls, and forgets closed connections. */
void flows_tick(struct flows *, ns_t now);
/* Forgets the longest idle half of all connections (FLOW_EVICTED). */
void flows_shed(struct flows *, struct at);
/* End of the capture: all that is held comes out, all is closed. */
void flows_eof(struct flows *, struct at);
const struct flow_stats *flows_stats(const struct flows *);

#endif
