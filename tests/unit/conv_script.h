/* conv_script: a conversation as a seed for tests/fuzz/fuzz_observe.c, whose
 * head comment tells the format. */
#ifndef MCPDIAG_TEST_CONV_SCRIPT_H
#define MCPDIAG_TEST_CONV_SCRIPT_H

#include "conv.h"

struct script_conn {
	struct script *s;
	uint8_t slot;
};

struct script {
	bool busy[32];
	ns_t now;
};

static inline void
op(struct script *s, unsigned what, unsigned slot, unsigned n, struct at at)
{
	int64_t ms = (at.t - s->now) / NS_MS - 1;
	unsigned shift = 0;

	s->now += NS_MS;
	if (ms > 2) {
		for (ms--; ms >> shift > 255; shift++)
			;
		(void)putchar((int)(6 | shift << 3));
		(void)putchar((int)(ms >> shift));
		s->now += ((ms >> shift << shift) + 1) * NS_MS;
	}
	(void)putchar((int)(what | slot << 3));
	(void)putchar((int)n);
}

static inline void *
script_open(void *arg, const char *a0, const char *a1, bool client0, struct at at)
{
	struct script_conn *k = xcalloc(1, sizeof *k);

	k->s = arg;
	while (k->slot < 31 && k->s->busy[k->slot])
		k->slot++;
	k->s->busy[k->slot] = true;
	op(k->s, 7, k->slot, (client0 ? 0u : 1u) | (unsigned)(a0[7] & 3) << 1 |
	    (unsigned)(a1[7] & 3) << 3, at);
	return k;
}

static inline void
script_data(void *conn, int dir, const char *bytes, size_t n, struct at at)
{
	struct script_conn *k = conn;

	op(k->s, dir ? 2 : 1, k->slot, (unsigned)(n >> 8), at);
	(void)putchar((int)(n & 255));
	(void)fwrite(bytes, 1, n, stdout);
}

static inline void
script_gap(void *conn, int dir, uint64_t n, struct at at)
{
	struct script_conn *k = conn;

	op(k->s, 4, k->slot, (unsigned)dir << 7 | (n < 100 ? (unsigned)n - 1 : 103), at);
}

static inline void
script_close(void *conn, int dir, const char *how, int by, struct at at)
{
	static const char *const names[] = { "fin", "rst", "eof", "evicted", "reused" };
	struct script_conn *k = conn;
	unsigned i = 0;

	while (i < 4 && strcmp(names[i], how) != 0)
		i++;
	if (by == dir || (by < 0 && dir == 0))
		op(k->s, 5, k->slot, i | (unsigned)dir << 3, at);
}

static inline void
script_stall(void *conn, int dir, uint64_t n, bool zero_window, struct at since, struct at at)
{
	struct script_conn *k = conn;

	(void)dir;
	(void)since;
	op(k->s, 0, k->slot, (unsigned)(n & 127) | (unsigned)zero_window << 7, at);
}

static inline void
script_end(void *conn, struct at at)
{
	struct script_conn *k = conn;

	(void)at;
	k->s->busy[k->slot] = false;
	free(k);
}

static inline int
conv_write_script(const char *path)
{
	static const struct conv_ops ops = { script_open, script_data, script_gap,
	    script_close, script_stall, script_end };
	struct script s = { .now = CONV_EPOCH };
	struct conv c;

	conv_read(&c, path);
	(void)putchar(0);
	conv_play(&c, &ops, &s);
	conv_fini(&c);
	return 0;
}

#endif
