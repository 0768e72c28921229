/* capfile_priv: what capfile.c (pieces, pcap) and capfile_ng.c share. */
#ifndef MCPDIAG_CAPFILE_PRIV_H
#define MCPDIAG_CAPFILE_PRIV_H

#include "mcpdiag/buf.h"
#include "mcpdiag/capfile.h"

/* The longest record that is believed. */
#define RECORD_MAX (16U << 20)
#define T_MAX ((1LL << 62) - 1)

/* An interface of the pcapng section being read. */
struct iface {
	uint32_t linktype, snaplen;
	/* ticks to ns: times mul, else by div, else binary fractions of
	 * `bits` bits (when all are 0, every time is 0) */
	uint64_t mul, div;
	uint8_t bits;
	int64_t offset;		/* ns */
	/* losses: the largest total of its ISBs; the sum over its packets;
	 * what of the two is in stats.dropped; none ever falls */
	uint64_t isb_drops, pkt_drops, drops;
};

struct capfile {
	enum {
		CAP_START, CAP_PCAP, CAP_PCAPNG, CAP_ENDED, CAP_DAMAGED,
	} state;
	bool eof;
	bool swap;		/* the file's byte order is not ours */
	const uint8_t *p, *end;	/* what is left of the lent piece */
	uint64_t fed;		/* bytes lent in all */
	struct buf hold;	/* the start of a record that straddles */
	/* pcap */
	uint32_t header_len, len_max, linktype, frac_ns;
	/* pcapng */
	struct iface *ifaces;
	uint32_t n_ifaces, cap_ifaces, first_iface;
	uint64_t block_at;	/* offset in the file of the block being read */
	ns_t last_t;
	struct capfile_stats stats;
	const char *format;
	struct errmsg error;
};

/* The slow way of capfile_peek(): gathers n bytes in `hold`. */
const uint8_t *capfile_join(struct capfile *, size_t n);
/* Offset in the file of the next byte. */
uint64_t capfile_offset(const struct capfile *);
/* The sentence, and CAPFILE_BAD from now on. */
enum capfile_rc capfile_bad(struct capfile *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* No whole record is left: CAPFILE_MORE, or at the end of the file END. */
enum capfile_rc capfile_more(struct capfile *);
/* Counts a packet that is complete in *out. */
enum capfile_rc capfile_packet(struct capfile *, struct packet *out);

enum capfile_rc pcapng_next(struct capfile *, struct packet *out);
/* The byte-order magic of the section header block at p, 12 bytes; sets the
 * byte order; false when it is none. */
bool pcapng_order(struct capfile *, const uint8_t *p);

/* The next n bytes in one place, not consumed; NULL when they are not there
 * yet.  Asking again, for more, is fine. */
static inline const uint8_t *
capfile_peek(struct capfile *c, size_t n)
{
	if (c->hold.n == 0 && n <= (size_t)(c->end - c->p))
		return c->p;
	return capfile_join(c, n);
}

/* Consumes the n bytes of the last peek; they stay readable until the next. */
static inline void
capfile_take(struct capfile *c, size_t n)
{
	if (c->hold.n == 0)
		c->p += n;
	else
		buf_clear(&c->hold);	/* it held those n */
}

static inline uint32_t
capfile_u32(const struct capfile *c, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return c->swap ? __builtin_bswap32(v) : v;
}

static inline uint16_t
capfile_u16(const struct capfile *c, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, 2);
	return c->swap ? __builtin_bswap16(v) : v;
}

#endif
