#include "mcpdiag/evqueue.h"

#include <stdio.h>
#include <stdlib.h>

#include "util.h"

/* What comes out: the numbers of the events, in order, and their strings. */
struct seen {
	uint32_t n;
	const char *bad;
	size_t text;			/* of all of them */
};

static void
see(void *arg, const struct ev *e)
{
	struct seen *s = arg;
	char want[16];

	if (e->pkt != s->n)
		s->bad = "order";
	(void)snprintf(want, sizeof want, "m%u", e->pkt);
	if (!str_eq(e->u.msg.method, str_c(want)))
		s->bad = "method";
	if (e->u.msg.id.p == NULL || e->u.msg.id.n != 0)
		s->bad = "an empty string is not an absent one";
	if (e->u.msg.code.p != NULL)
		s->bad = "an absent string is not an empty one";
	for (size_t i = 0; i < e->u.msg.error.n; i++)
		if (e->u.msg.error.p[i] != (char)('a' + e->pkt % 26))
			s->bad = "error";
	s->text += e->u.msg.error.n;
	s->n++;
}

/* Puts in the n-th event, with so many bytes of text, and spoils what it was
 * made of. */
static void
put(struct evqueue *q, uint32_t n, size_t text)
{
	char method[16], *error = malloc(text + 1);
	struct ev e = { .type = EV_MESSAGE, .pkt = n };

	assert_non_null(error);
	memset(error, 'a' + (int)(n % 26), text);
	(void)snprintf(method, sizeof method, "m%u", n);
	e.u.msg.method = str_c(method);
	e.u.msg.id = STR("");
	e.u.msg.error = str_of(error, text);
	evqueue_put(q, &e);
	memset(method, 'x', sizeof method);
	memset(error, 'X', text);
	free(error);
}

static void
test_order(void **state)
{
	static const size_t texts[] = { 0, 1, 100, 1000, 10000, 40000, 5 };
	size_t total = 0;

	(void)state;
	for (size_t i = 0; i < N_ROWS(texts); i++) {
		struct seen s = { 0 };
		struct evqueue *q = evqueue_new(see, &s);

		for (uint32_t n = 0; n < 1000; n++)
			put(q, n, texts[(i + n) % N_ROWS(texts)]);
		total = s.text;
		evqueue_flush(q);
		assert_null(s.bad);
		assert_int_equal(s.n, 1000);
		assert_true(s.text >= total);
		evqueue_flush(q);		/* nothing twice */
		assert_int_equal(s.n, 1000);
		evqueue_free(q);
	}
	evqueue_free(NULL);
}

static void
test_waits(void **state)
{
	struct seen s = { 0 };
	struct evqueue *q = evqueue_new(see, &s);

	(void)state;
	put(q, 0, 10);
	put(q, 1, 10);
	assert_int_equal(s.n, 0);
	evqueue_flush(q);
	assert_int_equal(s.n, 2);
	put(q, 2, 1 << 20);			/* too long to wait */
	assert_int_equal(s.n, 3);
	put(q, 3, 10);
	evqueue_free(q);			/* lost */
	assert_int_equal(s.n, 3);
	assert_null(s.bad);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
