/* pretty: what JSON, and what is none, looks like laid out. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/err.h"
#include "mcpdiag/pretty.h"
#include "mcpdiag/xmem.h"
#include "util.h"

static const struct {
	const char *in, *want;
} rows[] = {
	{ "", "" },
	{ "  ", "" },
	{ "{}", "{}" },
	{ " [ ] ", "[]" },
	{ "1", "1" },
	{ "{\"a\":1}", "{\n  \"a\": 1\n}" },
	{ "{ \"a\" : [1 , {\"b\":\"x, y: {}\"} ] }",
	    "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x, y: {}\"\n    }\n  ]\n}" },
	{ "{\"a\":{},\"b\":[ \n]}", "{\n  \"a\": {},\n  \"b\": []\n}" },
	{ "\"a\\\"b\\\\\"", "\"a\\\"b\\\\\"" },
	{ "[true,null,-1.5e+3]", "[\n  true,\n  null,\n  -1.5e+3\n]" },
	/* cut */
	{ "{", "{" },
	{ "{\"a\":", "{\n  \"a\": " },
	{ "{\"a\":\"b", "{\n  \"a\": \"b" },
	{ "[1,", "[\n  1," },
	{ "\"a\\", "\"a\\" },
	/* no JSON */
	{ "}", "\n}" },
	{ "Not Found", "Not Found" },
	{ "{}{}", "{}\n{}" },
	{ "a\"b", "a \"b" },
	{ "\"open\n{\"a\":1}", "\"open\n{\n  \"a\": 1\n}" },
	{ "\x1b[31m\xff", "\x1b\n[\n  31m\xff" },
};

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct guard g = guard_of(rows[i].in, strlen(rows[i].in));
		struct buf b;

		buf_init(&b, 4096);
		assert_int_equal(pretty_json(str_of(g.p, g.n), &b), 0);
		(void)buf_addc(&b, '\0');
		assert_string_equal(b.p, rows[i].want);
		buf_fini(&b);
		guard_free(&g);
	}
}

/* However deep, the result stays within what the header says. */
static void
test_deep(void **state)
{
	enum { N = 50000 };
	char *p = xmalloc(N);
	struct buf b;

	(void)state;
	for (int way = 0; way < 3; way++) {
		for (int i = 0; i < N; i++)
			p[i] = way == 0 ? '[' : way == 1 ? ",:"[i % 2] : i < N / 2 ? '{' : '}';
		buf_init(&b, (2 * PRETTY_DEPTH + 2) * N);
		assert_int_equal(pretty_json(str_of(p, N), &b), 0);
		buf_fini(&b);
	}
	free(p);
}

static void
test_limit(void **state)
{
	struct str s = STR("{\"a\":[1,2,{\"b\":\"c\"}],\"d\":{}} {}");

	(void)state;
	for (size_t max = 0; max < 60; max++) {
		struct buf b, all;
		int rc;

		buf_init(&b, max);
		buf_init(&all, 4096);
		assert_int_equal(pretty_json(s, &all), 0);
		rc = pretty_json(s, &b);
		assert_int_equal(rc, max < all.n ? -E_LIMIT : 0);
		assert_memory_equal(buf_str(&b).p, all.p, b.n);
		buf_fini(&b);
		buf_fini(&all);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests_name("pretty", tests, NULL, NULL);
}
