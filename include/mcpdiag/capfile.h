/* capfile: bytes of a capture file in, packets out.
 * Reads pcap (us, ns, modified, both byte orders) and pcapng (SHB IDB EPB SPB
 * PB ISB DSB, several sections and interfaces).  The caller lends a piece of
 * the file with capfile_feed() and then takes packets with capfile_next()
 * until it returns CAPFILE_MORE; the piece must stay in place until then.  A
 * record that straddles two pieces is joined in a buffer of our own, all
 * others are lent from the piece itself.  No record over 16 MiB is believed.
 * Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng. */
#ifndef MCPDIAG_CAPFILE_H
#define MCPDIAG_CAPFILE_H

#include "mcpdiag/err.h"
#include "mcpdiag/ns.h"
#include "mcpdiag/str.h"

struct packet {
	ns_t t;			/* 0 .. 2^62 - 1 (the year 2116), so that no sum
				 * or difference of two times overflows */
	uint32_t pkt;		/* set by the source: number in the whole run */
	uint32_t linktype;	/* LINKTYPE_ value (16 bits) */
	uint32_t ifindex;	/* interface of the file, from 0 */
	uint32_t len;		/* bytes captured, at `data` */
	uint32_t wire_len;	/* bytes it had on the wire, >= len */
	const uint8_t *data;	/* borrowed until the next call */
};

enum capfile_rc {
	CAPFILE_PACKET,		/* *out is set */
	CAPFILE_MORE,		/* the piece is used up */
	CAPFILE_END,		/* after capfile_eof(): nothing more */
	CAPFILE_BAD,		/* not a capture, or damaged: see capfile_error */
};

struct capfile_stats {
	uint64_t packets, bytes;
	uint64_t dropped;	/* lost by the capturing system, as the file says
				 * (ISB if_drop/os_drop, EPB dropcount) */
	uint64_t truncated;	/* packets with len < wire_len */
	uint32_t interfaces, secrets; /* IDBs; DSBs seen */
	uint32_t snaplen;	/* smallest non-zero one declared, 0 unknown */
	bool cut;		/* the file ends inside a record */
	ns_t end;		/* when capturing ended, as the file says (ISB
				 * isb_endtime); 0 unknown */
};

struct capfile;

struct capfile *capfile_new(void);
void capfile_free(struct capfile *);
void capfile_feed(struct capfile *, const void *, size_t);
void capfile_eof(struct capfile *);
enum capfile_rc capfile_next(struct capfile *, struct packet *out);
/* Why CAPFILE_BAD; whether packets had been read before (a damaged tail). */
const char *capfile_error(const struct capfile *);
const struct capfile_stats *capfile_stats(const struct capfile *);
/* "pcap", "pcapng", or NULL before the first bytes. */
const char *capfile_format(const struct capfile *);

#endif
