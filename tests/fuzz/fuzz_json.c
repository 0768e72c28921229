/* The JSON scanner: however the input is cut, the trace is the same; what is
 * accepted keeps its promises.  The first byte seeds the cuts. */
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define VALUE 24

static const char *const paths[] = {
	"id", "method", "params", "params.name", "params._meta.[a.b/c]",
	"params._meta.[a.b/]*", "result.**.on", "result.**.l*", "a.b.c.d",
};

struct trace {
	struct buf out;
	bool open;		/* inside a message */
};

static void
on_begin(void *arg, enum json_kind kind)
{
	struct trace *t = arg;

	if (t->open)
		abort();
	t->open = true;
	(void)buf_fmt(&t->out, "<%d", kind);
}

static void
on_value(void *arg, const struct json_value *v)
{
	struct trace *t = arg;

	if (!t->open || v->path >= sizeof paths / sizeof paths[0] ||
	    v->raw.n > VALUE || (v->cut && v->raw.n != VALUE) ||
	    (v->raw.p == NULL) != (v->kind >= JSON_OBJECT))
		abort();
	(void)buf_fmt(&t->out, " %u:%d:%d:%zu:", v->path, v->kind, v->cut,
	    v->raw.n);
	(void)buf_adds(&t->out, v->raw);
}

static void
on_end(void *arg, unsigned flaws)
{
	struct trace *t = arg;

	if (!t->open)
		abort();
	t->open = false;
	(void)buf_fmt(&t->out, " %x>", flaws);
}

/* A copy of exactly that size, so that a read past it is seen. */
static int
feed(struct json *j, const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	int rc;

	if (copy == NULL)
		abort();
	if (n)
		memcpy(copy, p, n);
	rc = json_feed(j, copy, n);
	free(copy);
	return rc;
}

static void
run(struct trace *t, const uint8_t *p, size_t n, uint32_t seed)
{
	static const struct json_cb cb = { on_begin, on_value, on_end };
	struct json *j = json_new(&cb, t, paths, sizeof paths / sizeof paths[0],
	    8, VALUE);
	int rc = 0;

	buf_init(&t->out, 1 << 24);
	t->open = false;
	while (n > 0) {
		size_t k = n;

		if (seed != 0) {
			seed = seed * 1664525 + 1013904223;
			k = 1 + (seed >> 24) % (seed >> 23 & 1 ? 3 : 40);
			k = k < n ? k : n;
		}
		rc |= feed(j, p, k);
		p += k;
		n -= k;
	}
	rc |= json_eof(j);
	if (rc == 0 && t->open)
		abort();
	(void)buf_fmt(&t->out, "%d%d", rc, json_is_batch(j));
	json_free(j);
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
