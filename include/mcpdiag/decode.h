/* decode: a packet's link and network layers, down to one TCP segment.
 * Link types: Ethernet (802.1Q, 802.1ad and trailers), Linux SLL and SLL2,
 * NULL, LOOP, RAW, IPV4, IPV6.  IPv4 and IPv6 with options, extension headers
 * and fragments (reassembled through defrag).  Lengths come from the IP
 * header, so trailers and GSO packets are right; bytes cut by the snap length
 * are counted, not invented.  Checksums are not verified: offload makes them
 * wrong in good captures. */
#ifndef MCPDIAG_DECODE_H
#define MCPDIAG_DECODE_H

#include "mcpdiag/capfile.h"
#include "mcpdiag/limits.h"

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16, TCP_URG = 32 };

/* One end of a connection; v4 addresses use the first 4 bytes, rest zero. */
struct addr {
	uint8_t ip[16];
	uint16_t port;
	uint8_t v6;
};

struct seg {
	struct at at;
	struct addr src, dst;
	uint32_t ifindex;
	uint32_t seq, ack;
	uint32_t win;		/* as sent, unscaled */
	uint8_t flags;		/* TCP_FIN ... */
	uint8_t ahead;		/* flows_expect() has been told, its place + 1 */
	const uint8_t *data;	/* payload, borrowed from the packet */
	uint32_t len;		/* payload bytes present */
	uint32_t cut;		/* payload bytes missing after them (snap length) */
};

enum decode_rc {
	DECODE_TCP,		/* *out is set */
	DECODE_OTHER,		/* sound, but not TCP over IP */
	DECODE_FRAGMENT,	/* kept for reassembly */
	DECODE_BAD,		/* headers that contradict themselves or are cut */
	DECODE_LINKTYPE,	/* a link type we do not know */
};

struct decode_stats {
	uint64_t tcp, other, fragments, bad, unknown_linktype;
	uint64_t fragments_dropped;	/* cut, at the limit, or not complete so far */
	uint64_t fragments_full;	/* of those, at the limit */
};

struct decode;

struct decode *decode_new(const struct limits *);
void decode_free(struct decode *);
enum decode_rc decode_packet(struct decode *, const struct packet *, struct seg *out);
const struct decode_stats *decode_stats(const struct decode *);
/* "Ethernet", "Linux SLL2", ... for a LINKTYPE_ number; NULL when unknown. */
const char *decode_linktype_name(uint32_t linktype);
/* "127.0.0.1:8931", "[::1]:8931" into out (at least 54 bytes); its length. */
size_t addr_print(const struct addr *, char *out);

#endif
