/* linediff: against small cases by hand, and a plain quadratic count. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/linediff.h"
#include "mcpdiag/xmem.h"
#include "util.h"

struct trace {
	const char *a, *b;
	uint32_t at_a, at_b, changes;
	char text[256];
	int n;
};

static void
on_run(void *arg, enum linediff_op op, uint32_t a, uint32_t b, uint32_t n)
{
	struct trace *t = arg;

	assert_int_equal(a, t->at_a);		/* in order, without holes */
	assert_int_equal(b, t->at_b);
	assert_true(n > 0);
	t->at_a += op == LINEDIFF_NEW ? 0 : n;
	t->at_b += op == LINEDIFF_GONE ? 0 : n;
	t->changes += op == LINEDIFF_SAME ? 0 : n;
	if (t->a == NULL)
		return;
	if (op == LINEDIFF_SAME)
		assert_memory_equal(t->a + a, t->b + b, n);
	t->n += snprintf(t->text + t->n, sizeof t->text - (size_t)t->n, "%s%c%.*s",
	    t->n ? " " : "", " -+"[op] == ' ' ? '=' : " -+"[op], (int)n,
	    op == LINEDIFF_NEW ? t->b + b : t->a + a);
}

static bool
diff(const char *a, const char *b, struct trace *t)
{
	uint64_t *va = xcalloc(strlen(a) + 1, sizeof *va);
	uint64_t *vb = xcalloc(strlen(b) + 1, sizeof *vb);
	bool ok;

	*t = (struct trace){ .a = a, .b = b };
	for (size_t i = 0; a[i]; i++)
		va[i] = (uint64_t)a[i];
	for (size_t i = 0; b[i]; i++)
		vb[i] = (uint64_t)b[i];
	ok = linediff(va, (uint32_t)strlen(a), vb, (uint32_t)strlen(b), on_run, t);
	assert_int_equal(t->at_a, strlen(a));
	assert_int_equal(t->at_b, strlen(b));
	free(va);
	free(vb);
	return ok;
}

static void
test_rows(void **state)
{
	static const struct {
		const char *a, *b, *want;
	} rows[] = {
		{ "", "", "" },
		{ "abc", "abc", "=abc" },
		{ "", "ab", "+ab" },
		{ "ab", "", "-ab" },
		{ "abc", "axc", "=a -b +x =c" },
		{ "abcd", "acd", "=a -b =cd" },
		{ "acd", "abcd", "=a +b =cd" },
		{ "xaby", "xbay", "=x -a =b +a =y" },
		{ "abc", "xyz", "-abc +xyz" },
		{ "aaaa", "aa", "=aa -aa" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct trace t;

		assert_true(diff(rows[i].a, rows[i].b, &t));
		assert_string_equal(t.text, rows[i].want);
	}
}

/* Lines that a longest common subsequence leaves out. */
static uint32_t
fewest(const char *a, const char *b)
{
	uint32_t best[40][40] = { { 0 } };
	size_t n = strlen(a), m = strlen(b);

	for (size_t i = 1; i <= n; i++)
		for (size_t k = 1; k <= m; k++)
			best[i][k] = a[i - 1] == b[k - 1] ? best[i - 1][k - 1] + 1 :
			    best[i - 1][k] > best[i][k - 1] ? best[i - 1][k] : best[i][k - 1];
	return (uint32_t)(n + m) - 2 * best[n][m];
}

static void
test_fewest(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 5000; round++) {
		char a[40] = "", b[40] = "";
		struct trace t;

		for (int which = 0; which < 2; which++) {
			uint32_t n = (seed = seed * 1664525 + 1013904223) >> 27;

			for (uint32_t i = 0; i < n; i++)
				(which ? b : a)[i] = (char)('a' +
				    ((seed = seed * 1664525 + 1013904223) >> 16) % 4);
		}
		assert_true(diff(a, b, &t));
		assert_int_equal(t.changes, fewest(a, b));
	}
}

static void
test_too_many(void **state)
{
	enum { N = 20000 };
	uint64_t *a = xcalloc(N, sizeof *a), *b = xcalloc(N, sizeof *b);
	struct trace t = { .a = NULL };

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		a[i] = i;
		b[i] = i % 10 ? i : i + N;
	}
	assert_false(linediff(a, N, b, N, on_run, &t));
	assert_int_equal(t.at_a, N);
	assert_int_equal(t.at_b, N);
	free(a);
	free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_fewest),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests_name("linediff", tests, NULL, NULL);
}
