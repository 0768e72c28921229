#include "mcpdiag/limits.h"

#include <stdio.h>

#include "util.h"

static void
test_set(void **state)
{
	static const struct {
		const char *in;
		int rc;
		uint64_t sse_event;	/* after it */
	} rows[] = {
		{ "sse-event=1000", 0, 1000 },
		{ "sse-event=2k", 0, 2048 },
		{ "sse-event=2K", 0, 2048 },
		{ "sse-event=3m", 0, 3 << 20 },
		{ "sse-event=1G", 0, 1 << 30 },
		{ "sse-event=64", 0, 64 },		/* its smallest */
		{ "sse-event=63", -E_USAGE, 16 << 20 },
		{ "sse-event=", -E_USAGE, 16 << 20 },
		{ "sse-event=k", -E_USAGE, 16 << 20 },
		{ "sse-event=1kk", -E_USAGE, 16 << 20 },
		{ "sse-event=-1", -E_USAGE, 16 << 20 },
		{ "sse-event=1t", -E_USAGE, 16 << 20 },
		{ "sse-event=18446744073709551616", -E_USAGE, 16 << 20 },
		{ "sse-event=18014398509481985k", -E_USAGE, 16 << 20 },
		{ "sse-event=17179869184G", -E_USAGE, 16 << 20 },
		{ "sse-event", -E_USAGE, 16 << 20 },
		{ "=5", -E_USAGE, 16 << 20 },
		{ "", -E_USAGE, 16 << 20 },
		{ "sse_event=1000", -E_USAGE, 16 << 20 },
		{ "SSE-EVENT=1000", -E_USAGE, 16 << 20 },
		{ "sse-event =1000", -E_USAGE, 16 << 20 },
		{ "sse-event=1000=1", -E_USAGE, 16 << 20 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct limits l, other;
		struct errmsg em = { "" };
		struct str s = str_c(rows[i].in);
		struct guard g = guard_of(s.p, s.n);

		limits_init(&l);
		other = l;
		assert_int_equal(limits_set(&l, str_of(g.p, g.n), &em), rows[i].rc);
		assert_true(l.sse_event == rows[i].sse_event);
		assert_int_equal(em.text[0] != '\0', rows[i].rc != 0);
		other.sse_event = l.sse_event;		/* nothing else moved */
		assert_memory_equal(&l, &other, sizeof l);
		guard_free(&g);
	}
}

/* Each row can be set by its name, and is what --help says. */
static void
test_rows(void **state)
{
	const char *name, *what;
	uint64_t def;
	unsigned n = 0;

	(void)state;
	for (; limits_row(n, &name, &def, &what); n++) {
		struct limits l, init;
		char text[64];

		assert_true(def > 0);
		assert_true(strlen(what) > 5);
		limits_init(&init);
		l = init;
		assert_true((size_t)snprintf(text, sizeof text, "%s=%llu", name,
		    (unsigned long long)def + 1) < sizeof text);
		assert_int_equal(limits_set(&l, str_c(text), NULL), 0);
		assert_true(memcmp(&l, &init, sizeof l) != 0);
	}
	assert_int_equal(n, sizeof(struct limits) / sizeof(uint64_t));
	assert_null(name);
	assert_null(what);
	assert_int_equal(def, 0);
}

static void
test_shrink(void **state)
{
	struct limits l, init;

	(void)state;
	limits_init(&init);
	l = init;
	limits_shrink(&l, 1);
	assert_memory_equal(&l, &init, sizeof l);
	limits_shrink(&l, 64);
	assert_true(l.sse_event == init.sse_event / 64);
	assert_true(l.pending == 4);		/* its smallest, not 1 */
	limits_shrink(&l, 1U << 31);
	assert_true(l.sse_event == 64);
	assert_true(l.memory == 1 << 20);
#define X(name, field, deflt, min, what) assert_true(l.field == (min));
	LIMITS(X)
#undef X
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_shrink),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
