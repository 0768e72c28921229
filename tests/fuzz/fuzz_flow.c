/* Connections.  Two bytes of limits, then eight for each packet or tick.  The
 * payload is the low byte of its sequence number, so that what comes out tells
 * whether it is in order and whether the gaps are as long as they say. */
#include <stdlib.h>
#include <string.h>

#include "mcpdiag/flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct run {
	unsigned open;
	bool conflicts;		/* some payload is a lie */
};

struct conn {
	struct run *r;
	bool closed[2], began[2];
	uint8_t next[2];	/* low byte of the next sequence number */
	unsigned calls;
};

static void *
on_open(void *arg, const struct flow_conn *fc, struct at at)
{
	struct conn *c = calloc(1, sizeof *c);

	(void)fc, (void)at;
	if (c == NULL)
		abort();
	c->r = arg;
	c->r->open++;
	return c;
}

static bool
on_data(void *arg, int dir, const uint8_t *p, size_t n, struct at at)
{
	struct conn *c = arg;

	(void)at;
	if (c->closed[dir] || n == 0)
		abort();
	if (!c->began[dir])
		c->next[dir] = p[0];
	c->began[dir] = true;
	for (size_t i = 0; i < n; i++)
		if (p[i] != (uint8_t)(c->next[dir] + i) && !c->r->conflicts)
			abort();
	c->next[dir] = (uint8_t)(c->next[dir] + n);
	return ++c->calls != 40;
}

static void
on_gap(void *arg, int dir, uint64_t n, struct at at)
{
	struct conn *c = arg;

	(void)at;
	if (c->closed[dir] || n == 0 || n > 1u << 31 || c->calls >= 40)
		abort();
	c->next[dir] = (uint8_t)(c->next[dir] + n);
}

static void
on_close(void *arg, int dir, enum flow_close why, int by, struct at at)
{
	struct conn *c = arg;

	(void)at;
	if (c->closed[dir] || by < -1 || by > 1 || (why == FLOW_FIN && by != dir))
		abort();
	c->closed[dir] = true;
}

static void
on_stall(void *arg, int dir, uint64_t bytes, bool zero, struct at since,
    struct at now)
{
	struct conn *c = arg;

	if (c->closed[dir] || (bytes == 0 && !zero) || now.t - since.t < 10 * NS_S)
		abort();
}

static void
on_odd(void *arg, int dir, enum flow_odd odd, struct at at)
{
	struct conn *c = arg;

	(void)dir, (void)at;
	if (odd == FLOW_OVERLAP_CONFLICT && !c->r->conflicts)
		abort();
}

static void
on_end(void *arg, struct at at)
{
	struct conn *c = arg;

	(void)at;
	if (!c->closed[0] || !c->closed[1])
		abort();
	c->r->open--;
	free(c);
}

/* Small steps most of the time, the corners of the space at others. */
static uint32_t
offset(uint8_t b, uint8_t scale)
{
	static const uint32_t far[] = {
		0x7ffffff0, 0x80000010, 0x40000000, 0xc0000000, 0x01000000,
		0xff000000, 0xffff, 0xffff0000,
	};

	if (scale % 16 == 0)
		return far[b % 8];
	return (uint32_t)((int8_t)b) * (1u + scale % 4);
}

static void
one(struct flows *fs, struct run *r, const uint8_t *p, struct at *at)
{
	static const ns_t steps[] = {
		0, NS_US, NS_MS, 6 * NS_MS, 21 * NS_MS, NS_S, 11 * NS_S,
		-2 * NS_S, 31 * NS_S, 301 * NS_S,
	};
	static const uint8_t flags[] = {
		TCP_ACK, TCP_ACK, TCP_ACK, TCP_ACK, TCP_ACK | TCP_PSH, TCP_SYN,
		TCP_SYN | TCP_ACK, TCP_FIN | TCP_ACK, TCP_RST, 0,
	};
	int dir = p[0] & 1;
	uint16_t port = (uint16_t)(p[0] >> 1 & 3);
	struct addr a = { .ip = { 1 }, .port = port }, b = { .ip = { 2 } };
	uint8_t *data;
	struct seg s = {
		.src = dir ? b : a, .dst = dir ? a : b,
		.ifindex = p[0] >> 3 & 1, .win = p[0] & 16 ? 0 : 9,
		.flags = p[1] > 250 ? p[1] : flags[p[1] % 10],
		.seq = (dir ? 70 : 0xffffffb0u) + offset(p[2], p[3]),
		.ack = (dir ? 0xffffffb0u : 70) + offset(p[4], p[5]),
		.len = p[6] & 63, .cut = p[6] > 230 ? p[6] - 230u : 0,
	};

	at->t += steps[p[7] % 10];
	at->t = at->t < 0 ? 0 : at->t;
	if (p[0] >= 224) {
		flows_tick(fs, at->t);
		return;
	}
	at->pkt++;
	s.at = *at;
	data = malloc(s.len ? s.len : 1);
	if (data == NULL)
		abort();
	for (uint32_t i = 0; i < s.len; i++)
		data[i] = (uint8_t)(s.seq + i + (s.flags & TCP_SYN ? 1 : 0) +
		    (r->conflicts && p[7] > 200));
	s.data = data;
	if (p[0] & 1)
		flows_expect(fs, &s, 1);
	flows_seg(fs, &s);
	free(data);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct flow_ops ops = {
		on_open, on_data, on_gap, on_close, on_stall, on_odd, on_end, NULL,
	};
	struct run r = { .open = 0 };
	struct at at = { 1000 * NS_S, 0 };
	struct limits l;
	struct flows *fs;

	if (n < 2)
		return 0;
	limits_init(&l);
	l.flows = 2 + p[0] % 16;
	l.ooo = 64u << p[1] % 16;
	r.conflicts = p[1] & 16;
	fs = flows_new(&l, &ops, &r);
	for (p += 2, n -= 2; n >= 8; p += 8, n -= 8)
		one(fs, &r, p, &at);
	flows_eof(fs, at);
	if (r.open)
		abort();
	flows_free(fs);
	return 0;
}
