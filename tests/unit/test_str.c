#include "mcpdiag/str.h"

#include <stdio.h>

#include "util.h"

#define S(lit) STR(lit)

static void
test_fold(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal, prefix;
	} rows[] = {
		{ "", "", true, true },
		{ "Content-Type", "content-type", true, true },
		{ "text/event-stream; charset=utf-8", "Text/Event-Stream", false, true },
		{ "abc", "abd", false, false },
		{ "ab", "abc", false, false },
		{ "@", "`", false, false },	/* neighbours of letters */
		{ "[", "{", false, false },
		{ "\xc4", "\xe4", false, false },	/* ASCII only */
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct str a = str_c(rows[i].a), b = str_c(rows[i].b);

		assert_int_equal(str_ieq(a, b), rows[i].equal);
		assert_int_equal(str_ieq(b, a), rows[i].equal);
		assert_int_equal(str_ipre(a, b), rows[i].prefix);
	}
	assert_true(str_ipre(S("x"), STR_NONE));
	assert_true(str_ieq(STR_NONE, S("")));
}

static void
test_equal(void **state)
{
	(void)state;
	assert_true(str_eq(S("a\0b"), S("a\0b")));
	assert_false(str_eq(S("a\0b"), S("a\0c")));
	assert_false(str_eq(S("a"), S("ab")));
	assert_true(str_eq(STR_NONE, S("")));
	assert_true(str_pre(S("abc"), S("ab")));
	assert_true(str_pre(S("abc"), S("")));
	assert_false(str_pre(S("ab"), S("abc")));
	assert_false(str_pre(S("abc"), S("AB")));
	assert_null(str_c(NULL).p);
	assert_int_equal(str_c("abc").n, 3);
}

static void
test_find(void **state)
{
	(void)state;
	assert_int_equal(str_find(S("hello"), S("llo")), 2);
	assert_int_equal(str_find(S("hello"), S("h")), 0);
	assert_int_equal(str_find(S("hello"), S("")), 0);
	assert_int_equal(str_find(STR_NONE, S("")), 0);
	assert_true(str_find(S("hello"), S("lo!")) == SIZE_MAX);
	assert_true(str_find(STR_NONE, S("a")) == SIZE_MAX);
	assert_int_equal(str_find(S("a\0b\0c"), S("\0c")), 3);
	assert_int_equal(str_find(S("aaab"), S("ab")), 2);
}

static void
test_trim(void **state)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "", "" }, { " ", "" }, { "\t \t", "" }, { "a", "a" },
		{ " a b\t", "a b" }, { "\ta", "a" }, { "a ", "a" },
		{ "\r\na\n", "\r\na\n" },	/* OWS is SP and HTAB only */
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++)
		assert_true(str_eq(str_trim(str_c(rows[i].in)), str_c(rows[i].want)));
	assert_null(str_trim(STR_NONE).p);
}

static void
test_u64(void **state)
{
	static const struct {
		const char *in;
		bool ok;
		uint64_t want;
	} rows[] = {
		{ "0", true, 0 }, { "1", true, 1 }, { "3000", true, 3000 },
		{ "007", true, 7 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "18446744073709551620", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "184467440737095516150", false, 0 },
		{ "", false, 0 }, { "-1", false, 0 }, { "+1", false, 0 },
		{ " 1", false, 0 }, { "1 ", false, 0 }, { "0x1", false, 0 },
		{ "1.0", false, 0 }, { "/", false, 0 }, { ":", false, 0 },
		{ "\xb1", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct guard g = guard_of(rows[i].in, strlen(rows[i].in));
		uint64_t got = 42;

		assert_int_equal(str_u64(str_of(g.p, g.n), &got), rows[i].ok);
		assert_true(got == rows[i].want);
		guard_free(&g);
	}
}

static void
test_milli(void **state)
{
	static const struct {
		const char *in;
		bool ok;
		uint64_t want;
	} rows[] = {
		{ "0", true, 0 }, { "1", true, 1000 }, { "1.5", true, 1500 },
		{ "0.4", true, 400 }, { "0.04", true, 40 }, { "2.004", true, 2004 },
		{ "18446744073709550.999", true, UINT64_C(18446744073709550999) },
		{ "18446744073709551", false, 0 },
		{ "", false, 0 }, { ".", false, 0 }, { ".5", false, 0 }, { "1.", false, 0 },
		{ "1.2.3", false, 0 }, { "1.2345", false, 0 }, { "-1", false, 0 },
		{ "1,5", false, 0 }, { "1e3", false, 0 }, { "0.-1", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct guard g = guard_of(rows[i].in, strlen(rows[i].in));
		uint64_t got = 42;

		assert_int_equal(str_milli(str_of(g.p, g.n), &got), rows[i].ok);
		assert_true(got == rows[i].want);
		guard_free(&g);
	}
}

static void
test_cmp(void **state)
{
	/* In ascending order. */
	static const struct str rows[] = {
		{ "", 0 }, { "\0", 1 }, { "\0a", 2 }, { "A", 1 }, { "a", 1 },
		{ "aa", 2 }, { "ab", 2 }, { "b", 1 }, { "\x80", 1 }, { "\xff", 1 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		for (size_t j = 0; j < N_ROWS(rows); j++) {
			int c = str_cmp(rows[i], rows[j]);

			assert_int_equal((c > 0) - (c < 0), (i > j) - (i < j));
		}
	}
	assert_int_equal(str_cmp(STR_NONE, S("")), 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fold), cmocka_unit_test(test_equal),
		cmocka_unit_test(test_find), cmocka_unit_test(test_trim),
		cmocka_unit_test(test_u64), cmocka_unit_test(test_milli),
		cmocka_unit_test(test_cmp),
	};

	return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
