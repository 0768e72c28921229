/* The event stream parser: however the input is cut, the trace is the same.
 * The first byte seeds the cuts; SUB is a gap. */
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct trace {
	struct buf out;
	uint64_t data;		/* bytes passed on since the last event */
};

static void
on_data(void *arg, const void *p, size_t n)
{
	struct trace *t = arg;

	t->data += n;
	(void)buf_add(&t->out, p, n);
}

static void
on_event(void *arg, const struct sse_event *e)
{
	struct trace *t = arg;

	(void)buf_fmt(&t->out, "\nev %d %zu:", e->type.p != NULL, e->type.n);
	(void)buf_adds(&t->out, e->type);
	(void)buf_fmt(&t->out, " %d %zu:", e->id.p != NULL, e->id.n);
	(void)buf_adds(&t->out, e->id);
	(void)buf_fmt(&t->out, " %d %llu %lld %d%d%d%d%d\n", e->has_data,
	    (unsigned long long)e->data_len, (long long)e->retry_ms,
	    e->data_first, e->bad_retry, e->cut, e->tail, e->torn);
	if (e->id.n > 16 || e->type.n > 16 || t->data > e->data_len ||
	    (t->data < e->data_len && (!e->cut || t->data != 64)))
		abort();
	t->data = 0;
}

static void
on_comment(void *arg, struct str text)
{
	struct trace *t = arg;

	(void)buf_fmt(&t->out, "\ncomment %zu:", text.n);
	(void)buf_adds(&t->out, text);
	if (text.n > 16)
		abort();
}

/* A copy of exactly that size, so that a read past it is seen. */
static void
feed(struct sse *s, const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (copy == NULL)
		abort();
	if (n)
		memcpy(copy, p, n);
	sse_feed(s, copy, n);
	free(copy);
}

static void
run(struct trace *t, const uint8_t *p, size_t n, uint32_t seed)
{
	static const struct sse_cb cb = { on_data, on_event, on_comment };
	struct sse *s = sse_new(&cb, t, 16, 64);

	buf_init(&t->out, 1 << 24);
	t->data = 0;
	while (n > 0) {
		size_t k = n;
		const uint8_t *sub;

		if (seed != 0) {
			seed = seed * 1664525 + 1013904223;
			k = 1 + (seed >> 24) % 11;
			k = k < n ? k : n;
		}
		sub = memchr(p, 0x1a, k);
		if (sub == p) {
			sse_gap(s, 1);
			p++;
			n--;
			continue;
		}
		k = sub != NULL ? (size_t)(sub - p) : k;
		feed(s, p, k);
		p += k;
		n -= k;
	}
	sse_eof(s);
	sse_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct trace a, b;

	if (n == 0)
		return 0;
	run(&a, p + 1, n - 1, 0);
	run(&b, p + 1, n - 1, p[0] + 1u);
	if (!str_eq(buf_str(&a.out), buf_str(&b.out)))
		abort();
	buf_fini(&a.out);
	buf_fini(&b.out);
	return 0;
}
