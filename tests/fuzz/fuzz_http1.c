/* http1 under a script: the first byte chooses limits and how the second run
 * cuts the pieces; then each operation is a byte (bit 0: direction, bits 1-3:
 * what) with its operands.  The calls must come in a legal order; and when
 * nothing was lost and nothing was garbage, the pieces must not matter. */
#include <stdint.h>
#include <stdlib.h>

#include "../unit/http1_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { FEED_SHORT, FEED, FEED_LONG, FEED_MORE, GAP, GAP_LONG, CLOSE, RESET };

struct script {
	const uint8_t *p, *end;
};

static unsigned
next(struct script *s)
{
	return s->p < s->end ? *s->p++ : 0;
}

/* Length of the text of a feed. */
static size_t
text_len(struct script *s, unsigned what)
{
	size_t n = 5, left;

	if (what == FEED || what == FEED_MORE)
		n = next(s);
	else if (what == FEED_LONG)
		n = (size_t)next(s) << 8 | next(s);
	left = (size_t)(s->end - s->p);
	return n < left ? n : left;
}

/* A copy of its own size, so that a read past the piece is seen. */
static void
feed(struct http1 *h, bool dir, const uint8_t *p, size_t n, struct at at)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (copy == NULL)
		abort();
	if (n)
		memcpy(copy, p, n);
	http1_feed(h, dir, copy, n, at);
	free(copy);
}

/* Runs the script with pieces of at most `piece` bytes; false when it has
 * something after which pieces matter. */
static bool
run(const uint8_t *p, size_t n, size_t piece, struct trace *t)
{
	static const char get[] = "GET / HTTP/1.1\r\n\r\n";
	static const struct str rough[] = {
		{ "odd bad", 7 }, { "\ngap ", 5 }, { "lost chunked 0.0", 16 },
	};
	struct script s = { p, p + n };
	unsigned flags = next(&s);
	struct limits limits;
	struct http1 *h;
	struct at at = { 1, 1 };
	bool smooth = true;

	limits_init(&limits);
	if (flags & 1)
		limits_shrink(&limits, 64);
	trace_init(t);
	h = http1_new(&limits, &trace_cb, t);
	if (flags & 2)
		http1_feed(h, false, get, sizeof get - 1, at);
	else
		smooth = false;	/* may start in mid-stream */
	while (s.p < s.end) {
		unsigned op = next(&s), what = op >> 1 & 7;
		bool dir = op & 1;
		size_t len;

		at.t = ++at.pkt;
		switch (what) {
		case GAP: case GAP_LONG:
			http1_gap(h, dir, what == GAP ? next(&s) % 16 :
			    (uint64_t)next(&s) << (next(&s) % 56), at);
			smooth = false;
			break;
		case CLOSE: case RESET:
			http1_close(h, dir, what == RESET, op & 16, at);
			break;
		default:
			len = text_len(&s, what);
			for (size_t i = 0; i < len; i += piece)
				feed(h, dir, s.p + i, len - i < piece ?
				    len - i : piece, at);
			s.p += len;
			break;
		}
		if (http1_held(h) > 2 * (limits.header + 2048) +
		    limits.pipeline * 16)
			abort();
	}
	at.t = ++at.pkt;
	http1_eof(h, at);
	if (t->illegal || t->open[0] || t->open[1])
		abort();
	http1_free(h);
	trace_line_end(t);
	for (size_t i = 0; i < sizeof rough / sizeof rough[0]; i++)
		smooth &= str_find(buf_str(&t->b), rough[i]) == SIZE_MAX;
	return smooth;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct trace a, b;

	if (n == 0)
		return 0;
	if (run(p, n, SIZE_MAX / 2, &a)) {
		(void)run(p, n, 1 + p[0] / 4 % 8, &b);
		if (!str_eq(buf_str(&a.b), buf_str(&b.b)))
			abort();
		buf_fini(&b.b);
	}
	buf_fini(&a.b);
	(void)http1_guess(p, n);
	return 0;
}
