#include "capfile_priv.h"

#include "mcpdiag/cur.h"
#include "mcpdiag/xmem.h"

/* Block types: draft-ietf-opsawg-pcapng 4. */
#define BLOCK_SHB 0x0a0d0d0aU
#define BLOCK_IDB 1U
#define BLOCK_PB 2U		/* the obsolete packet block, appendix A */
#define BLOCK_SPB 3U
#define BLOCK_ISB 5U
#define BLOCK_EPB 6U
#define BLOCK_DSB 10U

#define ORDER_MAGIC 0x1a2b3c4dU
#define BLOCK_LEAST 12U
#define IFACES_MAX 65536U

/* Option codes, by the block they stand in. */
#define OPT_END 0
#define IDB_TSRESOL 9
#define IDB_TSOFFSET 14
#define EPB_DROPCOUNT 4
#define ISB_ENDTIME 3
#define ISB_IFDROP 5
#define ISB_OSDROP 7

static uint16_t
u16(const struct capfile *c, struct cur *k)
{
	const uint8_t *p = cur_take(k, 2);

	return p ? capfile_u16(c, p) : 0;
}

static uint32_t
u32(const struct capfile *c, struct cur *k)
{
	const uint8_t *p = cur_take(k, 4);

	return p ? capfile_u32(c, p) : 0;
}

static uint64_t
u64(const struct capfile *c, struct cur *k)
{
	const uint8_t *p = cur_take(k, 8);
	uint64_t v;

	if (p == NULL)
		return 0;
	memcpy(&v, p, 8);
	return c->swap ? __builtin_bswap64(v) : v;
}

/* The next option and its value; false at the end of the list, or (k->err)
 * when it is damaged. */
static bool
option(const struct capfile *c, struct cur *k, uint16_t *code, struct cur *v)
{
	const uint8_t *p;
	uint16_t n;

	*code = OPT_END;
	*v = cur_of("", 0);
	if (k->err || cur_left(k) == 0)
		return false;
	*code = u16(c, k);
	n = u16(c, k);
	if (*code == OPT_END)
		return false;
	p = cur_take(k, n);
	cur_skip(k, -(unsigned)n & 3);
	if (k->err)
		return false;
	*v = cur_of(p, n);
	return true;
}

static uint64_t
sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The two ways in which a file tells of losses count the same packets: the
 * larger number is taken, for each interface. */
static void
count_drops(struct capfile *c, struct iface *f)
{
	uint64_t now = f->isb_drops > f->pkt_drops ? f->isb_drops :
	    f->pkt_drops;

	c->stats.dropped = sum(c->stats.dropped, now - f->drops);
	f->drops = now;
}

/* if_tsresol: the power of 10, or with the top bit the power of 2, that one
 * second is divided by. */
static void
set_resolution(struct iface *f, uint8_t v)
{
	f->mul = f->div = f->bits = 0;
	if (v == 0x80)
		f->mul = NS_S;
	else if (v & 0x80)
		f->bits = v & 0x7f;
	else if (v <= 9) {
		f->mul = 1;
		for (; v < 9; v++)
			f->mul *= 10;
	} else if (v <= 9 + 19) {
		f->div = 1;
		for (; v > 9; v--)
			f->div *= 10;
	}
}

/* ticks / 2^bits seconds in ns.  34 binary places are kept: 0.06 ns, and a
 * product that fits in 64 bits. */
static uint64_t
binary_ns(uint64_t ticks, unsigned bits)
{
	uint64_t sec = bits < 64 ? ticks >> bits : 0;
	uint64_t part = bits < 64 ? ticks & ((1ULL << bits) - 1) : ticks;

	if (bits > 34) {
		part = bits - 34 < 64 ? part >> (bits - 34) : 0;
		bits = 34;
	}
	if (sec > INT64_MAX / NS_S - 1)
		return INT64_MAX;
	return sec * NS_S + (part * NS_S >> bits);
}

static ns_t
stamp(struct capfile *c, const struct iface *f, uint32_t high, uint32_t low)
{
	uint64_t ticks = (uint64_t)high << 32 | low, ns;
	int64_t t;

	if (f->mul)
		ns = ticks > INT64_MAX / f->mul ? INT64_MAX : ticks * f->mul;
	else if (f->div)
		ns = ticks / f->div;
	else if (f->bits)
		ns = binary_ns(ticks, f->bits);
	else
		ns = 0;
	/* ns >= 0: only a positive offset can overflow. */
	if (__builtin_add_overflow((int64_t)ns, f->offset, &t))
		t = T_MAX;
	c->last_t = t < 0 ? 0 : t > T_MAX ? T_MAX : t;
	return c->last_t;
}

static enum capfile_rc
bad_block(struct capfile *c, const char *why)
{
	return capfile_bad(c, "damaged: the block at byte %llu %s",
	    (unsigned long long)c->block_at, why);
}

static enum capfile_rc
section_header(struct capfile *c, struct cur k)
{
	uint16_t major;

	cur_skip(&k, 4);	/* byte-order magic */
	major = u16(c, &k);
	cur_skip(&k, 2 + 8);	/* minor; section length, which may lie */
	if (k.err)
		return bad_block(c, "is too short for a section header");
	if (major != 1)
		return capfile_bad(c, "pcapng of version %u; want 1", major);
	c->first_iface += c->n_ifaces;
	c->n_ifaces = 0;
	return CAPFILE_MORE;
}

static enum capfile_rc
interface(struct capfile *c, struct cur k)
{
	struct iface f = { .linktype = u16(c, &k) };
	struct cur v;
	uint16_t code;

	cur_skip(&k, 2);
	f.snaplen = u32(c, &k);
	set_resolution(&f, 6);
	while (option(c, &k, &code, &v)) {
		if (code == IDB_TSRESOL && cur_left(&v) == 1)
			set_resolution(&f, cur_u8(&v));
		if (code == IDB_TSOFFSET && cur_left(&v) == 8) {
			int64_t s = (int64_t)u64(c, &v);
			int64_t most = T_MAX / NS_S;

			s = s > most ? most : s < -most ? -most : s;
			f.offset = s * NS_S;
		}
	}
	/* An option that is lost may be the unit of time. */
	if (k.err)
		return bad_block(c, "describes an interface and is cut short");
	if (c->n_ifaces == IFACES_MAX)
		return bad_block(c, "describes one interface too many");
	if (c->n_ifaces == c->cap_ifaces) {
		c->cap_ifaces = c->cap_ifaces ? c->cap_ifaces * 2 : 4;
		c->ifaces = xrealloc(c->ifaces,
		    c->cap_ifaces * sizeof *c->ifaces);
	}
	c->ifaces[c->n_ifaces++] = f;
	c->stats.interfaces++;
	if (f.snaplen && (c->stats.snaplen == 0 ||
	    f.snaplen < c->stats.snaplen))
		c->stats.snaplen = f.snaplen;
	return CAPFILE_MORE;
}

static struct iface *
iface_of(struct capfile *c, uint32_t id)
{
	return id < c->n_ifaces ? &c->ifaces[id] : NULL;
}

static enum capfile_rc
no_iface(struct capfile *c, uint32_t id)
{
	return capfile_bad(c, "damaged: the packet at byte %llu is of interface "
	    "%u, which the file does not describe",
	    (unsigned long long)c->block_at, id);
}

/* The enhanced packet block, and the obsolete one, which has the same fields
 * but for a 16-bit interface and a 16-bit count of drops (0xffff: unknown). */
static enum capfile_rc
packet(struct capfile *c, struct cur k, bool obsolete, struct packet *out)
{
	uint32_t id = obsolete ? u16(c, &k) : u32(c, &k), high, low;
	uint16_t drops = obsolete ? u16(c, &k) : 0, code;
	struct iface *f = iface_of(c, id);
	struct cur v;

	high = u32(c, &k);
	low = u32(c, &k);
	out->len = u32(c, &k);
	out->wire_len = u32(c, &k);
	out->data = cur_take(&k, out->len);
	if (k.err)
		return bad_block(c, "is too short for the packet in it");
	if (f == NULL)
		return no_iface(c, id);
	out->t = stamp(c, f, high, low);
	out->pkt = 0;
	out->linktype = f->linktype;
	out->ifindex = c->first_iface + id;
	if (obsolete && drops != 0xffff)
		f->pkt_drops = sum(f->pkt_drops, drops);
	cur_skip(&k, -out->len & 3);
	/* The packet is whole; options that are not are no reason to stop. */
	while (!obsolete && option(c, &k, &code, &v))
		if (code == EPB_DROPCOUNT && cur_left(&v) == 8)
			f->pkt_drops = sum(f->pkt_drops, u64(c, &v));
	count_drops(c, f);
	return capfile_packet(c, out);
}

/* The simple packet block: of the first interface, without a time.  The time
 * of the packet before is nearer to the truth than 1970. */
static enum capfile_rc
simple_packet(struct capfile *c, struct cur k, struct packet *out)
{
	const struct iface *f = iface_of(c, 0);
	size_t room;

	*out = (struct packet){ .t = c->last_t, .wire_len = u32(c, &k) };
	if (f == NULL)
		return no_iface(c, 0);
	room = cur_left(&k);
	out->len = out->wire_len;
	if (f->snaplen && out->len > f->snaplen)
		out->len = f->snaplen;
	if (k.err || out->len > room)
		return bad_block(c, "is too short for the packet in it");
	out->data = cur_take(&k, out->len);
	out->linktype = f->linktype;
	out->ifindex = c->first_iface;
	return capfile_packet(c, out);
}

static void
statistics(struct capfile *c, struct cur k)
{
	struct iface *f = iface_of(c, u32(c, &k));
	uint64_t drops = 0;
	struct cur v;
	uint16_t code;
	ns_t end = 0;

	if (f == NULL)
		return;
	cur_skip(&k, 8);	/* its time */
	while (option(c, &k, &code, &v)) {
		if (cur_left(&v) != 8)
			continue;
		if (code == ISB_IFDROP || code == ISB_OSDROP)
			drops = sum(drops, u64(c, &v));
		if (code == ISB_ENDTIME) {
			uint32_t high = u32(c, &v);
			ns_t last = c->last_t;

			end = stamp(c, f, high, u32(c, &v));
			c->last_t = last;	/* of packets */
		}
	}
	if (end > c->stats.end)
		c->stats.end = end;
	/* A total since the start of the capture: the largest counts. */
	if (drops > f->isb_drops)
		f->isb_drops = drops;
	count_drops(c, f);
}

/* CAPFILE_MORE: go on with the next block. */
static enum capfile_rc
block(struct capfile *c, uint32_t type, struct cur k, struct packet *out)
{
	switch (type) {
	case BLOCK_SHB:
		return section_header(c, k);
	case BLOCK_IDB:
		return interface(c, k);
	case BLOCK_EPB: case BLOCK_PB:
		return packet(c, k, type == BLOCK_PB, out);
	case BLOCK_SPB:
		return simple_packet(c, k, out);
	case BLOCK_ISB:
		statistics(c, k);
		return CAPFILE_MORE;
	case BLOCK_DSB:
		c->stats.secrets++;
		return CAPFILE_MORE;
	default:		/* names, comments, and what is not invented yet */
		return CAPFILE_MORE;
	}
}

bool
pcapng_order(struct capfile *c, const uint8_t *p)
{
	uint32_t magic;

	memcpy(&magic, p + 8, 4);
	c->swap = magic == __builtin_bswap32(ORDER_MAGIC);
	return c->swap || magic == ORDER_MAGIC;
}

enum capfile_rc
pcapng_next(struct capfile *c, struct packet *out)
{
	for (;;) {
		const uint8_t *b = capfile_peek(c, BLOCK_LEAST);
		enum capfile_rc rc;
		uint32_t type, len;

		if (b == NULL)
			return capfile_more(c);
		c->block_at = capfile_offset(c);
		/* The type of a section header reads the same both ways. */
		type = capfile_u32(c, b);
		if (type == BLOCK_SHB && !pcapng_order(c, b))
			return bad_block(c, "is a section header without "
			    "a byte order");
		len = capfile_u32(c, b + 4);
		if (len < BLOCK_LEAST || len % 4 || len > RECORD_MAX)
			return capfile_bad(c, "damaged: the block at byte %llu "
			    "claims %u bytes; want a multiple of 4, from 12 to "
			    "16 MiB", (unsigned long long)c->block_at, len);
		b = capfile_peek(c, len);
		if (b == NULL)
			return capfile_more(c);
		if (capfile_u32(c, b + len - 4) != len)
			return bad_block(c, "has two lengths that differ");
		capfile_take(c, len);
		rc = block(c, type, cur_of(b + 8, len - BLOCK_LEAST), out);
		if (rc != CAPFILE_MORE)
			return rc;
	}
}
