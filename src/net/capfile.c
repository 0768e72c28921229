#include "mcpdiag/capfile.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "capfile_priv.h"
#include "mcpdiag/xmem.h"

/* draft-ietf-opsawg-pcap 4: the magic number also gives the byte order. */
#define MAGIC_US 0xa1b2c3d4U
#define MAGIC_NS 0xa1b23c4dU
/* Kuznetzov's patched libpcap, with 8 more bytes in each record header. */
#define MAGIC_MODIFIED 0xa1b2cd34U
#define MAGIC_PCAPNG 0x0a0d0d0aU
#define FILE_HEADER 24

/* What capture programs write where they announce less: the largest packet
 * of tcpdump and Wireshark. */
#define SNAPLEN_LEAST 262144U

const uint8_t *
capfile_join(struct capfile *c, size_t n)
{
	size_t have = (size_t)(c->end - c->p);
	size_t lack = n > c->hold.n ? n - c->hold.n : 0;

	if (lack > have)
		lack = have;
	/* n is at most the limit of hold. */
	if (buf_add(&c->hold, c->p, lack) != 0)
		return NULL;
	c->p += lack;
	return c->hold.n >= n ? (const uint8_t *)c->hold.p : NULL;
}

uint64_t
capfile_offset(const struct capfile *c)
{
	return c->fed - (uint64_t)(c->end - c->p) - c->hold.n;
}

enum capfile_rc
capfile_bad(struct capfile *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(c->error.text, sizeof c->error.text, fmt, ap);
	va_end(ap);
	c->state = CAP_DAMAGED;
	return CAPFILE_BAD;
}

enum capfile_rc
capfile_more(struct capfile *c)
{
	if (!c->eof)
		return CAPFILE_MORE;
	c->stats.cut = c->hold.n > 0 || c->p < c->end;
	c->state = CAP_ENDED;
	return CAPFILE_END;
}

enum capfile_rc
capfile_packet(struct capfile *c, struct packet *out)
{
	if (out->wire_len < out->len)
		out->wire_len = out->len;
	c->stats.packets++;
	c->stats.bytes += out->len;
	c->stats.truncated += out->len < out->wire_len;
	return CAPFILE_PACKET;
}

static enum capfile_rc
not_a_capture(struct capfile *c, const uint8_t *b)
{
	return capfile_bad(c, "not a capture file (starts with "
	    "%02x %02x %02x %02x); want pcap or pcapng, gzip or zstd around it",
	    b[0], b[1], b[2], b[3]);
}

static enum capfile_rc
too_short(struct capfile *c)
{
	uint64_t n = c->hold.n + (uint64_t)(c->end - c->p);

	if (!c->eof)
		return CAPFILE_MORE;
	if (n == 0)
		return capfile_bad(c, "empty; want a pcap or pcapng file");
	return capfile_bad(c, "not a capture file: ends inside the file header, "
	    "after %llu byte%s", (unsigned long long)n, n == 1 ? "" : "s");
}

/* draft-ietf-opsawg-pcap 4. */
static enum capfile_rc
pcap_start(struct capfile *c, uint32_t magic)
{
	const uint8_t *h = capfile_peek(c, FILE_HEADER);
	uint32_t snaplen;

	if (h == NULL)
		return too_short(c);
	if (capfile_u16(c, h + 4) != 2)
		return capfile_bad(c, "pcap of version %u.%u; want 2.4",
		    capfile_u16(c, h + 4), capfile_u16(c, h + 6));
	snaplen = capfile_u32(c, h + 16);
	c->len_max = snaplen > SNAPLEN_LEAST ? snaplen : SNAPLEN_LEAST;
	if (c->len_max > RECORD_MAX)
		c->len_max = RECORD_MAX;
	/* The upper bits tell of a frame check sequence. */
	c->linktype = capfile_u32(c, h + 20) & 0xffff;
	c->header_len = magic == MAGIC_MODIFIED ? 24 : 16;
	c->frac_ns = magic == MAGIC_NS ? 1 : 1000;
	c->stats.snaplen = snaplen;
	c->stats.interfaces = 1;
	c->format = "pcap";
	c->state = CAP_PCAP;
	capfile_take(c, FILE_HEADER);
	return CAPFILE_PACKET;
}

/* CAPFILE_PACKET: the format is known now. */
static enum capfile_rc
start(struct capfile *c)
{
	const uint8_t *h = capfile_peek(c, 4);
	uint32_t magic;

	if (h == NULL)
		return too_short(c);
	memcpy(&magic, h, 4);
	if (magic == MAGIC_PCAPNG) {
		h = capfile_peek(c, 12);
		if (h == NULL)
			return too_short(c);
		if (!pcapng_order(c, h))
			return not_a_capture(c, h);
		c->format = "pcapng";
		c->state = CAP_PCAPNG;
		return CAPFILE_PACKET;
	}
	for (int i = 0; i < 2; i++, magic = __builtin_bswap32(magic)) {
		c->swap = i;
		if (magic == MAGIC_US || magic == MAGIC_NS ||
		    magic == MAGIC_MODIFIED)
			return pcap_start(c, magic);
	}
	return not_a_capture(c, h);
}

static enum capfile_rc
bad_record(struct capfile *c, uint32_t len)
{
	unsigned long long at = capfile_offset(c);

	if (len == 0)
		return capfile_bad(c, "damaged: only zeros from byte %llu on, "
		    "where a packet should begin", at);
	return capfile_bad(c, "damaged: the packet at byte %llu claims "
	    "%u bytes, and %u is the most", at, len, c->len_max);
}

/* draft-ietf-opsawg-pcap 5. */
static enum capfile_rc
pcap_next(struct capfile *c, struct packet *out)
{
	const uint8_t *h = capfile_peek(c, c->header_len);
	uint32_t sec, frac, len, wire;

	if (h == NULL)
		return capfile_more(c);
	sec = capfile_u32(c, h);
	frac = capfile_u32(c, h + 4);
	len = capfile_u32(c, h + 8);
	wire = capfile_u32(c, h + 12);
	/* A system that went down leaves zeros at the end of a file.  Each 16
	 * of them would be an empty packet of 1970. */
	if (len > c->len_max || (len | wire | sec | frac) == 0)
		return bad_record(c, len);
	h = capfile_peek(c, c->header_len + len);
	if (h == NULL)
		return capfile_more(c);
	capfile_take(c, c->header_len + len);
	/* At most 2^32 s and 2^32 us: less than T_MAX. */
	out->t = sec * NS_S + (ns_t)frac * c->frac_ns;
	out->pkt = 0;
	out->linktype = c->linktype;
	out->ifindex = 0;
	out->len = len;
	out->wire_len = wire;
	out->data = h + c->header_len;
	return capfile_packet(c, out);
}

struct capfile *
capfile_new(void)
{
	struct capfile *c = xcalloc(1, sizeof *c);

	c->p = c->end = (const uint8_t *)"";
	buf_init(&c->hold, RECORD_MAX + FILE_HEADER);
	return c;
}

void
capfile_free(struct capfile *c)
{
	if (c == NULL)
		return;
	buf_fini(&c->hold);
	free(c->ifaces);
	free(c);
}

void
capfile_feed(struct capfile *c, const void *p, size_t n)
{
	if (n == 0 || c->state == CAP_ENDED || c->state == CAP_DAMAGED)
		return;
	assert(c->p == c->end && !c->eof);
	c->p = p;
	c->end = c->p + n;
	c->fed += n;
}

void
capfile_eof(struct capfile *c)
{
	c->eof = true;
}

enum capfile_rc
capfile_next(struct capfile *c, struct packet *out)
{
	enum capfile_rc rc = CAPFILE_PACKET;

	if (c->state == CAP_START)
		rc = start(c);
	if (rc == CAPFILE_PACKET) {
		switch (c->state) {
		case CAP_PCAP:
			rc = pcap_next(c, out);
			break;
		case CAP_PCAPNG:
			rc = pcapng_next(c, out);
			break;
		case CAP_START: case CAP_ENDED:
			rc = CAPFILE_END;
			break;
		case CAP_DAMAGED:
			rc = CAPFILE_BAD;
			break;
		}
	}
	if (rc != CAPFILE_PACKET)
		*out = (struct packet){ 0 };
	return rc;
}

const char *
capfile_error(const struct capfile *c)
{
	return c->state == CAP_DAMAGED ? c->error.text : NULL;
}

const struct capfile_stats *
capfile_stats(const struct capfile *c)
{
	return &c->stats;
}

const char *
capfile_format(const struct capfile *c)
{
	return c->format;
}
