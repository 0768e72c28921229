#include "mcpdiag/capsynth.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "mcpdiag/decode.h"
#include "mcpdiag/map.h"
#include "mcpdiag/str.h"
#include "mcpdiag/xmem.h"

#define MTU 1500U
#define IP4_LEN 20U
#define IP6_LEN 40U
#define TCP_LEN 20U
#define MSS_OPTION_LEN 4U
#define HOPS 64U
#define WINDOW 65535U
/* The receiver acknowledges after so many segments, well inside its window. */
#define ACK_EVERY 16U

struct conn {
	uint32_t id;
	struct addr addr[2];	/* client, server */
	uint32_t next[2];	/* sequence number of the next byte of each */
	UT_hash_handle hh;
};

struct capsynth {
	capsynth_packet_fn *packet;
	void *arg;
	struct conn *conns;
	uint32_t max;
};

static uint8_t *
be16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static uint8_t *
be32(uint8_t *p, uint32_t v)
{
	return be16(be16(p, v >> 16), v & 0xffff);
}

/* The sum of RFC 1071, without folding. */
static uint32_t
sum(uint32_t s, const uint8_t *p, size_t n)
{
	for (; n > 1; p += 2, n -= 2)
		s += (uint32_t)p[0] << 8 | p[1];
	return n ? s + ((uint32_t)p[0] << 8) : s;
}

static uint16_t
checksum(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

static size_t
addr_len(const struct addr *a)
{
	return a->v6 ? 16 : 4;
}

static uint32_t
mss(const struct conn *c)
{
	return MTU - TCP_LEN - (c->addr[0].v6 ? IP6_LEN : IP4_LEN);
}

/* The IP header for `len` bytes of TCP; where they go. */
static uint8_t *
put_ip(uint8_t *p, const struct addr *src, const struct addr *dst, size_t len)
{
	uint8_t *start = p, *sum_at;

	if (src->v6) {
		p = be32(p, 6U << 28);
		p = be16(p, (uint32_t)len);
		*p++ = IPPROTO_TCP;
		*p++ = HOPS;
		memcpy(p, src->ip, 16);
		memcpy(p + 16, dst->ip, 16);
		return p + 32;
	}
	p = be16(p, 0x4500);
	p = be16(p, (uint32_t)(IP4_LEN + len));
	/* No identification is needed where no fragments may be: RFC 6864 4. */
	p = be32(p, 0x4000);
	*p++ = HOPS;
	*p++ = IPPROTO_TCP;
	sum_at = p;
	p = be16(p, 0);
	memcpy(p, src->ip, 4);
	memcpy(p + 4, dst->ip, 4);
	(void)be16(sum_at, checksum(sum(0, start, IP4_LEN)));
	return p + 8;
}

/* One segment of n <= mss bytes; moves the sender's number on. */
static int
segment(struct capsynth *s, struct conn *c, int from, uint8_t flags,
    const void *data, size_t n, ns_t t)
{
	const struct addr *src = &c->addr[from], *dst = &c->addr[!from];
	size_t head = TCP_LEN + (flags & TCP_SYN ? MSS_OPTION_LEN : 0);
	size_t len = head + n;
	uint8_t packet[MTU + MSS_OPTION_LEN], *tcp, *sum_at, *p;
	uint32_t pseudo;

	tcp = p = put_ip(packet, src, dst, len);
	p = be16(p, src->port);
	p = be16(p, dst->port);
	p = be32(p, c->next[from]);
	p = be32(p, flags & TCP_ACK ? c->next[!from] : 0);
	p = be16(p, (uint32_t)(head / 4) << 12 | flags);
	p = be16(p, WINDOW);
	sum_at = p;
	p = be32(p, 0);			/* checksum, urgent pointer */
	if (flags & TCP_SYN)
		p = be32(p, 2U << 24 | MSS_OPTION_LEN << 16 | mss(c));
	if (n)
		memcpy(p, data, n);

	/* RFC 9293 3.1, RFC 8200 8.1 */
	pseudo = sum((uint32_t)len + IPPROTO_TCP, src->ip, addr_len(src));
	pseudo = sum(pseudo, dst->ip, addr_len(dst));
	(void)be16(sum_at, checksum(sum(pseudo, tcp, len)));

	c->next[from] += (uint32_t)n + !!(flags & (TCP_SYN | TCP_FIN));
	len += (size_t)(tcp - packet);
	return s->packet(s->arg, t, packet, len);
}

/* "127.0.0.1:80" or "[::1]:80"; a zone ("%eth0") is not of the packet. */
static bool
parse_addr(const char *text, struct addr *out)
{
	struct str s = str_c(text), ip;
	size_t colon = s.n;
	char host[INET6_ADDRSTRLEN];
	uint64_t port;

	*out = (struct addr){ 0 };
	while (colon > 0 && s.p[colon - 1] != ':')
		colon--;
	if (colon == 0)
		return false;
	ip = str_of(s.p, colon - 1);
	if (!str_u64(str_of(s.p + colon, s.n - colon), &port) || port > UINT16_MAX)
		return false;
	out->port = (uint16_t)port;
	if (ip.n >= 2 && ip.p[0] == '[' && ip.p[ip.n - 1] == ']') {
		size_t zone;

		ip = str_of(ip.p + 1, ip.n - 2);
		zone = str_find(ip, STR("%"));
		if (zone != SIZE_MAX)
			ip.n = zone;
		out->v6 = 1;
	}
	if (ip.n >= sizeof host)
		return false;
	memcpy(host, ip.p, ip.n);
	host[ip.n] = '\0';
	return inet_pton(out->v6 ? AF_INET6 : AF_INET, host, out->ip) == 1;
}

static struct conn *
find(const struct capsynth *s, uint32_t id)
{
	struct conn *c;

	HASH_FIND(hh, s->conns, &id, sizeof id, c);
	return c;
}

static int
to_file(void *arg, ns_t t, const void *p, size_t n)
{
	return capwrite_packet(arg, t, p, n, n);
}

struct capsynth *
capsynth_new(struct capwrite *out, uint32_t max)
{
	return capsynth_new_to(to_file, out, max);
}

struct capsynth *
capsynth_new_to(capsynth_packet_fn *fn, void *arg, uint32_t max)
{
	struct capsynth *s = xcalloc(1, sizeof *s);

	s->packet = fn;
	s->arg = arg;
	s->max = max;
	return s;
}

void
capsynth_free(struct capsynth *s)
{
	struct conn *c, *tmp;

	if (s == NULL)
		return;
	HASH_ITER(hh, s->conns, c, tmp) {
		HASH_DEL(s->conns, c);
		free(c);
	}
	free(s);
}

int
capsynth_open(struct capsynth *s, uint32_t id, const char *client,
    const char *server, ns_t t)
{
	struct conn *c;
	struct addr a[2];
	int rc;

	if (!parse_addr(client, &a[0]) || !parse_addr(server, &a[1]) ||
	    a[0].v6 != a[1].v6 || find(s, id) != NULL)
		return -E_USAGE;
	if (capsynth_conns(s) >= s->max)
		return -E_LIMIT;
	c = xcalloc(1, sizeof *c);
	c->id = id;
	memcpy(c->addr, a, sizeof a);
	/* Far apart, so that a later connection between the same ports is not
	 * taken for the earlier one. */
	c->next[0] = id * 0x9e3779b1U;
	c->next[1] = ~c->next[0];
	HASH_ADD(hh, s->conns, id, sizeof c->id, c);
	rc = segment(s, c, 0, TCP_SYN, NULL, 0, t);
	if (rc == 0)
		rc = segment(s, c, 1, TCP_SYN | TCP_ACK, NULL, 0, t);
	if (rc == 0)
		rc = segment(s, c, 0, TCP_ACK, NULL, 0, t);
	return rc;
}

int
capsynth_data(struct capsynth *s, uint32_t id, bool from_server,
    const void *data, size_t n, ns_t t)
{
	struct conn *c = find(s, id);
	const uint8_t *p = data;
	int rc = 0;

	if (c == NULL)
		return -E_USAGE;
	for (unsigned i = 1; n > 0 && rc == 0; i++) {
		size_t part = n < mss(c) ? n : mss(c);

		n -= part;
		rc = segment(s, c, from_server, n ? TCP_ACK : TCP_ACK | TCP_PSH,
		    p, part, t);
		p += part;
		if (rc == 0 && (n == 0 || i % ACK_EVERY == 0))
			rc = segment(s, c, !from_server, TCP_ACK, NULL, 0, t);
	}
	return rc;
}

int
capsynth_close(struct capsynth *s, uint32_t id, bool by_client, bool reset,
    ns_t t)
{
	struct conn *c = find(s, id);
	int first = !by_client, rc;

	if (c == NULL)
		return -E_USAGE;
	if (reset) {
		rc = segment(s, c, first, TCP_RST | TCP_ACK, NULL, 0, t);
	} else {
		rc = segment(s, c, first, TCP_FIN | TCP_ACK, NULL, 0, t);
		if (rc == 0)
			rc = segment(s, c, !first, TCP_FIN | TCP_ACK, NULL, 0, t);
		if (rc == 0)
			rc = segment(s, c, first, TCP_ACK, NULL, 0, t);
	}
	HASH_DEL(s->conns, c);
	free(c);
	return rc;
}

uint32_t
capsynth_conns(const struct capsynth *s)
{
	return HASH_COUNT(s->conns);
}
