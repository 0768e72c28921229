/* flow_priv: what flow.c (connections, acknowledgments, the path of data in
 * order) and flow_ooo.c (everything that waits) share.  A connection without
 * trouble has no struct extra; flow_settle() gives it back when all is calm. */
#ifndef MCPDIAG_FLOW_PRIV_H
#define MCPDIAG_FLOW_PRIV_H

#include "mcpdiag/flow.h"
#include "mcpdiag/map.h"

/* Data further ahead cannot be in a window (RFC 7323 2.3); an acknowledgment
 * further from what was seen is not of this connection. */
#define FLOW_MAX_WINDOW (1 << 30)
#define FLOW_MAX_ACK    (16 << 20)
/* half.ack is drawn along so that it stays comparable with half.nxt when no
 * acknowledgments are captured. */
#define FLOW_MAX_LAG    (1 << 29)

static inline bool
seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* One direction. */
struct half {
	uint32_t nxt;		/* next sequence number to come out */
	uint32_t ack;		/* highest one the peer has asked for */
	uint32_t first;		/* the first one: ISN + 1 if `syn` */
	uint32_t last;		/* where the newest segment in order began */
	uint32_t ifindex;	/* that carried its first packet */
	uint32_t una_pkt;	/* since when bytes stand unacknowledged ... */
	ns_t una_t;
	bool out : 1;		/* ... if they do */
	bool resent : 1;	/* and were sent again since */
	bool more : 1;		/* and others after them, a while later */
	bool stalled : 1;	/* and that was reported */
	bool have : 1;		/* nxt is known */
	bool syn : 1;		/* from a SYN, or what acknowledged it */
	bool hint : 1;		/* not have, but ack tells where it starts */
	bool seen : 1;		/* a packet of this direction was seen */
	bool closed : 1;
	bool after_fin : 1;	/* FLOW_DATA_AFTER_FIN was reported */
};

enum flow_state { FLOW_OPEN, FLOW_HALF, FLOW_CLOSED };

/* Closed, it stays for a while so that late copies find it. */
struct flow {
	UT_hash_handle hh;
	uint8_t key[36];
	uint32_t packets;
	struct half h[2];
	void *conn;
	struct extra *x;
	ns_t last;		/* time of the newest packet */
	struct flow *prev, *next;	/* list of its state, longest idle first */
	struct flow *sprev, *snext;	/* flows.stalls, if `watched` */
	ns_t since;		/* in flows.stalls, or closed */
	enum flow_state state : 8;
	uint8_t wild;		/* payload far off, in a row */
	bool flip : 1;		/* the sender of dir 0 is second in the key */
	bool by_syn : 1;
	bool deaf : 1;		/* data() has returned false */
	bool watched : 1;
};
_Static_assert(sizeof(struct flow) <= 256, "one connection, one small block");

/* Part of a segment: len bytes, then cut missing ones, then perhaps FIN. */
struct piece {
	const uint8_t *data;
	struct at at;
	uint32_t seq, len, cut;
	uint32_t ack;		/* of the peer's, if `wait` */
	uint32_t ifindex;
	bool fin;
	bool wait;		/* not before the peer's bytes up to ack */
};

struct held {
	struct piece p;
	uint8_t data[];
};

struct extra_half {
	struct held **v;	/* by sequence number, no two overlap */
	uint32_t off, n, cap;
	/* The peer had asked for `mark` at mark_at: evidence of a hole while
	 * nxt is before it.  newest is when it asked for half.ack. */
	uint32_t mark, mark_packets;
	struct at mark_at, newest;
	uint32_t waived;	/* nothing waits for bytes before this one */
	struct at zero;		/* since when the peer's window is zero ... */
	bool zero_window : 1;	/* ... if it is */
	bool zero_told : 1;
	bool probed : 1;	/* the sender has asked since */
	bool marked : 1;
	bool has_waived : 1;
	bool limited : 1;	/* FLOW_OOO_LIMIT was reported */
};

struct extra {
	struct flow *f;
	struct extra *prev, *next;	/* flows.gaps, if `watched` */
	ns_t since;
	size_t bytes;		/* held, with what holding them costs */
	struct extra_half h[2];
	struct at rst_at;
	uint32_t rst_seq, rst_packets;
	uint8_t rst_dir;
	bool rst, watched;	/* rst: an RST waits for what is held */
};

/* Both ends of a connection, in one order for both directions. */
struct flow_key {
	uint8_t b[36];
	uint8_t n;
	bool flip;	/* the sender is the second end */
	uint32_t hash;
};

struct flows {
	struct flow_ops ops;
	void *arg;
	uint64_t max_flows, max_ooo;
	struct flow *table, *recent;
	struct flow *lists[FLOW_CLOSED + 1];
	struct flow *stalls;
	struct extra *gaps;
	struct flow_stats stats;
	uint32_t id;
	uint32_t pkt;		/* number of the newest packet */
	struct flow_key ahead[FLOWS_EXPECT];	/* of segments expected */
};

/* flow.c */
/* Bytes that start at nxt come out.  May close the connection. */
void flow_deliver(struct flows *, struct flow *, int dir, const struct piece *);
void flow_gap(struct flows *, struct flow *, int dir, uint32_t n, struct at);
void flow_close(struct flows *, struct flow *, int dir, enum flow_close,
    int by, struct at);
/* A segment with bytes that were there before. */
void flow_copy(struct flows *, struct flow *, int dir, const struct piece *,
    bool same_start);
uint32_t piece_span(const struct piece *);
void piece_skip(struct piece *, uint32_t n);

/* flow_ooo.c */
struct extra *flow_extra(struct flow *);
void flow_extra_free(struct flows *, struct flow *);
struct held *flow_head(const struct flow *, int dir);
/* The peer asks for more of dir than has come out. */
void flow_evidence(struct flows *, struct flow *, int dir, struct at, bool newer);
/* Nothing waits for the bytes of dir before seq. */
bool flow_waived(const struct flow *, int dir, uint32_t seq);
/* Keeps what does not come out now.  What is left of the piece then is there
 * already, or nobody listens any more. */
void flow_hold(struct flows *, struct flow *, int dir, struct piece *);
void flow_reset(struct flows *, struct flow *, int dir, const struct seg *);
/* Lets out what need not wait any longer at this time. */
void flow_settle(struct flows *, struct flow *, struct at now);
/* Lets out everything. */
void flow_flush(struct flows *, struct flow *);
void flow_gaps_tick(struct flows *, struct at now);

#endif
