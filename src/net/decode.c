#include "mcpdiag/decode.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "mcpdiag/cur.h"
#include "mcpdiag/defrag.h"
#include "mcpdiag/xmem.h"

enum {			/* www.tcpdump.org/linktypes.html */
	LINK_NULL = 0, LINK_ETHERNET = 1, LINK_RAW_BSD = 12,
	LINK_RAW_OPENBSD = 14, LINK_RAW = 101, LINK_LOOP = 108, LINK_SLL = 113,
	LINK_IPV4 = 228, LINK_IPV6 = 229, LINK_SLL2 = 276,
};
enum {			/* IEEE EtherTypes */
	ETHER_IPV4 = 0x0800, ETHER_IPV6 = 0x86dd,
	ETHER_8021Q = 0x8100, ETHER_8021AD = 0x88a8, ETHER_QINQ = 0x9100,
};
enum { ARPHRD_NETLINK_ = 824 };
enum {			/* IANA protocol numbers */
	PROTO_HOPOPTS = 0, PROTO_TCP = 6, PROTO_ROUTING = 43, PROTO_FRAGMENT = 44,
	PROTO_AH = 51, PROTO_DSTOPTS = 60, PROTO_MOBILITY = 135, PROTO_HIP = 139,
	PROTO_SHIM6 = 140,
};
/* Nothing longer is believed when only the capture file tells the length. */
#define MAX_LENGTH (16u << 20)

static const struct {
	uint32_t linktype;
	const char *name;
} names[] = {
	{ LINK_ETHERNET, "Ethernet" },
	{ LINK_NULL, "BSD loopback" },
	{ LINK_LOOP, "OpenBSD loopback" },
	{ LINK_RAW, "raw IP" },
	{ LINK_RAW_BSD, "raw IP" },
	{ LINK_RAW_OPENBSD, "raw IP" },
	{ LINK_IPV4, "raw IPv4" },
	{ LINK_IPV6, "raw IPv6" },
	{ LINK_SLL, "Linux SLL" },
	{ LINK_SLL2, "Linux SLL2" },
};

struct decode {
	struct defrag *defrag;
	struct decode_stats stats;
	uint64_t cut;			/* fragments cut by the snap length */
};

/* What is left of a packet at some layer: `have` bytes at p, of the `want`
 * bytes it had on the wire (want >= have). */
struct part {
	const uint8_t *p;
	size_t have, want;
};

static uint16_t
be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t
be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static void
skip(struct part *d, size_t n)
{
	d->p += n;
	d->have -= n;
	d->want -= n;
}

/* The length field of the IP header rules: what follows it is a trailer. */
static void
limit(struct part *d, size_t want)
{
	d->want = want;
	if (d->have > want)
		d->have = want;
}

static enum decode_rc
tcp(const struct part *d, struct seg *out)
{
	const uint8_t *p = d->p;
	size_t header;

	if (d->have < 20)
		return DECODE_BAD;
	header = (size_t)(p[12] >> 4) * 4;
	if (header < 20 || header > d->want)
		return DECODE_BAD;
	out->src.port = be16(p);
	out->dst.port = be16(p + 2);
	out->seq = be32(p + 4);
	out->ack = be32(p + 8);
	out->flags = p[13] & 0x3f;
	out->win = be16(p + 14);
	if (d->have < header) {		/* cut among the options */
		out->data = p + d->have;
		out->len = 0;
		out->cut = (uint32_t)(d->want - header);
		return DECODE_TCP;
	}
	out->data = p + header;
	out->len = (uint32_t)(d->have - header);
	out->cut = (uint32_t)(d->want - d->have);
	return DECODE_TCP;
}

/* Keeps a fragment; true when *d has become the whole payload. */
static bool
reassemble(struct decode *dec, const struct seg *s, uint8_t proto, uint32_t id,
    uint32_t offset, bool more, struct part *d)
{
	struct defrag_key key = { .id = id, .v6 = s->src.v6, .proto = proto };
	struct str whole;

	dec->stats.fragments++;
	if (d->have < d->want) {
		dec->cut++;
		dec->stats.fragments_dropped++;
		return false;
	}
	memcpy(key.src, s->src.ip, sizeof key.src);
	memcpy(key.dst, s->dst.ip, sizeof key.dst);
	whole = defrag_add(dec->defrag, &key, s->at.t, offset, more, d->p,
	    d->have);
	dec->stats.fragments_dropped = dec->cut +
	    defrag_dropped(dec->defrag) + defrag_held(dec->defrag);
	dec->stats.fragments_full = defrag_full(dec->defrag);
	if (whole.p == NULL)
		return false;
	*d = (struct part){ (const uint8_t *)whole.p, whole.n, whole.n };
	return true;
}

static enum decode_rc
ipv4(struct decode *dec, struct part *d, struct seg *out)
{
	const uint8_t *p = d->p;
	size_t header, total;
	unsigned frag;

	if (d->have < 20)
		return DECODE_BAD;
	header = (size_t)(p[0] & 15) * 4;
	total = be16(p + 2);
	/* 0: segmentation offload made a packet too long for the field. */
	if (total == 0)
		total = d->want;
	if (p[0] >> 4 != 4 || header < 20 || total < header)
		return DECODE_BAD;
	if (p[9] != PROTO_TCP)
		return DECODE_OTHER;
	limit(d, total);
	if (d->have < header)
		return DECODE_BAD;
	memcpy(out->src.ip, p + 12, 4);
	memcpy(out->dst.ip, p + 16, 4);
	skip(d, header);
	frag = be16(p + 6) & 0x3fff;
	if (frag && !reassemble(dec, out, PROTO_TCP, be16(p + 4),
	    (frag & 0x1fff) * 8, frag & 0x2000, d))
		return DECODE_FRAGMENT;
	return tcp(d, out);
}

/* Walks extension headers (RFC 8200 4) from `next` down to TCP.  Each takes at
 * least 8 bytes, so this ends; the Fragment header is followed once. */
static enum decode_rc
ipv6_headers(struct decode *dec, uint8_t next, struct part *d, struct seg *out)
{
	bool whole = false;

	for (;;) {
		const uint8_t *p = d->p;
		uint8_t this = next;
		unsigned frag;
		size_t n;

		if (this == PROTO_TCP)
			return tcp(d, out);
		if (this != PROTO_HOPOPTS && this != PROTO_ROUTING &&
		    this != PROTO_DSTOPTS && this != PROTO_FRAGMENT &&
		    this != PROTO_AH && this != PROTO_MOBILITY &&
		    this != PROTO_HIP && this != PROTO_SHIM6)
			return DECODE_OTHER;
		if (d->have < 8)
			return DECODE_BAD;
		next = p[0];
		n = ((size_t)p[1] + 1) * 8;
		if (this == PROTO_AH)		/* RFC 4302 2.2 */
			n = ((size_t)p[1] + 2) * 4;
		if (this == PROTO_FRAGMENT)
			n = 8;
		if (n > d->have)
			return DECODE_BAD;
		skip(d, n);
		frag = this == PROTO_FRAGMENT ? be16(p + 2) & 0xfff9 : 0;
		/* Offset 0 and no more: an atomic fragment, RFC 6946. */
		if (frag == 0)
			continue;
		if (whole)
			return DECODE_BAD;
		if (!reassemble(dec, out, next, be32(p + 4), frag & 0xfff8,
		    frag & 1, d))
			return DECODE_FRAGMENT;
		whole = true;
	}
}

static enum decode_rc
ipv6(struct decode *dec, struct part *d, struct seg *out)
{
	const uint8_t *p = d->p;
	size_t length;

	if (d->have < 40 || p[0] >> 4 != 6)
		return DECODE_BAD;
	length = be16(p + 4);
	memcpy(out->src.ip, p + 8, 16);
	memcpy(out->dst.ip, p + 24, 16);
	out->src.v6 = out->dst.v6 = 1;
	skip(d, 40);
	/* 0: a jumbogram (RFC 2675) or segmentation offload. */
	if (length)
		limit(d, length);
	return ipv6_headers(dec, p[6], d, out);
}

static enum decode_rc
network(struct decode *dec, unsigned type, struct part *d, struct seg *out)
{
	switch (type) {
	case ETHER_IPV4:
		return ipv4(dec, d, out);
	case ETHER_IPV6:
		return ipv6(dec, d, out);
	default:
		return DECODE_OTHER;
	}
}

/* The EtherType behind any number of VLAN tags, which are consumed. */
static unsigned
untag(struct cur *c, unsigned type)
{
	while (type == ETHER_8021Q || type == ETHER_8021AD ||
	    type == ETHER_QINQ) {
		cur_skip(c, 2);
		type = cur_be16(c);
	}
	return type;
}

/* The address family comes in the byte order of the host that captured. */
static unsigned
family_type(uint32_t af)
{
	if (af > 0xffff)
		af = af >> 24 | (af >> 8 & 0xff00) | (af & 0xff00) << 8 | af << 24;
	switch (af) {
	case 2:
		return ETHER_IPV4;
	case 10: case 24: case 28: case 30:	/* Linux, NetBSD, FreeBSD, macOS */
		return ETHER_IPV6;
	default:
		return 0;
	}
}

/* With netlink the protocol field is no EtherType. */
static unsigned
sll_type(struct cur *c)
{
	unsigned hw;

	cur_skip(c, 2);
	hw = cur_be16(c);
	cur_skip(c, 10);
	return hw == ARPHRD_NETLINK_ ? 0 : untag(c, cur_be16(c));
}

static unsigned
sll2_type(struct cur *c, uint32_t *ifindex)
{
	unsigned type = cur_be16(c), hw;

	cur_skip(c, 2);
	*ifindex = cur_be32(c);
	hw = cur_be16(c);
	cur_skip(c, 10);
	return hw == ARPHRD_NETLINK_ ? 0 : untag(c, type);
}

static unsigned
raw_type(const struct cur *c)
{
	unsigned version = cur_left(c) ? *c->p >> 4 : 0;

	return version == 4 ? ETHER_IPV4 : version == 6 ? ETHER_IPV6 : 0;
}

static enum decode_rc
link_layer(struct decode *dec, const struct packet *pk, struct seg *out)
{
	struct cur c = cur_of(pk->data, pk->len);
	struct part d;
	unsigned type;

	switch (pk->linktype) {
	case LINK_ETHERNET:
		cur_skip(&c, 12);
		type = untag(&c, cur_be16(&c));
		break;
	case LINK_SLL:
		type = sll_type(&c);
		break;
	case LINK_SLL2:
		type = sll2_type(&c, &out->ifindex);
		break;
	case LINK_NULL: case LINK_LOOP:
		type = family_type(cur_be32(&c));
		break;
	case LINK_RAW: case LINK_RAW_BSD: case LINK_RAW_OPENBSD:
		type = raw_type(&c);
		if (type == 0)
			return DECODE_BAD;
		break;
	case LINK_IPV4:
		type = ETHER_IPV4;
		break;
	case LINK_IPV6:
		type = ETHER_IPV6;
		break;
	default:
		return DECODE_LINKTYPE;
	}
	if (c.err)
		return DECODE_BAD;
	d.p = c.p;
	d.have = d.want = cur_left(&c);
	if (pk->wire_len > pk->len && pk->wire_len <= MAX_LENGTH)
		d.want += pk->wire_len - pk->len;
	return network(dec, type, &d, out);
}

struct decode *
decode_new(const struct limits *l)
{
	struct decode *d = xcalloc(1, sizeof *d);

	d->defrag = defrag_new((size_t)l->fragments);
	return d;
}

void
decode_free(struct decode *d)
{
	if (d == NULL)
		return;
	defrag_free(d->defrag);
	free(d);
}

enum decode_rc
decode_packet(struct decode *d, const struct packet *pk, struct seg *out)
{
	enum decode_rc rc;

	*out = (struct seg){
		/* Not negative: differences of times cannot overflow. */
		.at = { pk->t < 0 ? 0 : pk->t, pk->pkt },
		.ifindex = pk->ifindex,
	};
	rc = pk->len ? link_layer(d, pk, out) : DECODE_BAD;
	switch (rc) {
	case DECODE_TCP:
		d->stats.tcp++;
		break;
	case DECODE_OTHER:
		d->stats.other++;
		break;
	case DECODE_FRAGMENT:
		break;
	case DECODE_BAD:
		d->stats.bad++;
		break;
	case DECODE_LINKTYPE:
		d->stats.unknown_linktype++;
		break;
	}
	return rc;
}

const struct decode_stats *
decode_stats(const struct decode *d)
{
	return &d->stats;
}

const char *
decode_linktype_name(uint32_t linktype)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i].linktype == linktype)
			return names[i].name;
	return NULL;
}

static char *
put_number(char *out, unsigned v)
{
	char digits[10];
	unsigned n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*out++ = digits[--n];
	return out;
}

/* Twice for each connection: printf would be most of what opening one costs. */
size_t
addr_print(const struct addr *a, char *out)
{
	char *p = out;

	if (a->v6) {
		*p++ = '[';
		if (inet_ntop(AF_INET6, a->ip, p, INET6_ADDRSTRLEN) != NULL)
			p += strlen(p);
		*p++ = ']';
	} else
		for (unsigned i = 0; i < 4; i++) {
			if (i)
				*p++ = '.';
			p = put_number(p, a->ip[i]);
		}
	*p++ = ':';
	p = put_number(p, a->port);
	*p = '\0';
	return (size_t)(p - out);
}
