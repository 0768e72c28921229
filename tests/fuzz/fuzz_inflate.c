/* The first byte chooses the coding, the second where the input is cut. */
#include "mcpdiag/inflate.h"

#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/err.h"

#define MAX_OUT (1U << 20)

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
keep(void *arg, const void *p, size_t n)
{
	if (buf_add(arg, p, n) != 0)
		abort();		/* more than the cap */
}

static void
need(bool ok)
{
	if (!ok)
		abort();
}

static int
run(enum inflate_kind kind, uint64_t max, uint64_t ratio, struct buf *out,
    const uint8_t *p, size_t n, size_t cut, bool *done)
{
	struct inflate *f = inflate_new(kind, max, ratio, keep, out);
	int rc = inflate_feed(f, p, cut), again;

	if (n > cut)
		rc = inflate_feed(f, p + cut, n - cut);
	*done = inflate_done(f);
	again = inflate_feed(f, "", 0);
	need(again == rc && !(rc && *done));
	inflate_free(f);
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	enum inflate_kind kind;
	struct buf a, b;
	bool done_a, done_b;
	int rc_a, rc_b;
	size_t cut;

	if (n < 2)
		return 0;
	kind = (enum inflate_kind)(p[0] % (INFLATE_UNKNOWN + 1));
	cut = p[1];
	p += 2;
	n -= 2;
	if (cut > n)
		cut = n;
	buf_init(&a, MAX_OUT);
	buf_init(&b, MAX_OUT);
	rc_a = run(kind, MAX_OUT, 0, &a, p, n, 0, &done_a);
	rc_b = run(kind, MAX_OUT, 0, &b, p, n, cut, &done_b);
	/* Damage may hide what a library had decoded in the same call, so
	 * that one output is only the beginning of the other. */
	if (rc_a == -E_SYNTAX || rc_b == -E_SYNTAX)
		need(a.n < b.n ? str_pre(buf_str(&b), buf_str(&a)) :
		    str_pre(buf_str(&a), buf_str(&b)));
	else
		need(rc_a == rc_b && done_a == done_b &&
		    str_eq(buf_str(&a), buf_str(&b)));
	buf_clear(&a);
	(void)run(kind, MAX_OUT, 10, &a, p, n, cut, &done_a);
	buf_fini(&a);
	buf_fini(&b);
	return 0;
}
