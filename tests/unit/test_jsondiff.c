#include "../../src/replay/jsondiff.h"

#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/xmem.h"
#include "util.h"

static const struct row {
	const char *what, *a, *b, *want;
} rows[] = {
	{ "the same", "{\"a\":1,\"b\":[true,null]}", " { \"b\" : [true, null] , \"a\":1}\n", "" },
	{ "a value", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":2}}", "a.b 1 2\n" },
	{ "a member more", "{\"a\":1}", "{\"a\":1,\"b\":\"x\"}", "b - \"x\"\n" },
	{ "a member less", "{\"a\":1,\"b\":{}}", "{\"a\":1}", "b {} -\n" },
	{ "elements have an order", "[1,2]", "[2,1]", "[0] 1 2\n[1] 2 1\n" },
	{ "inside arrays", "{\"t\":[{\"n\":\"x\"}]}", "{\"t\":[{\"n\":\"y\"}]}",
	    "t[0].n \"x\" \"y\"\n" },
	{ "numbers by value", "[1.0,1e2,-0]", "[1,100,0]", "" },
	{ "strings by value", "[\"\\u0041\\/\"]", "[\"A/\"]", "" },
	{ "a string is no number", "[\"1\"]", "[1]", "[0] \"1\" 1\n" },
	{ "empty ones", "{\"a\":[]}", "{\"a\":{}}", "a [] {}\n" },
	{ "plain ones", "1", "2", " 1 2\n" },
	{ "no JSON", "{\"a\":1", "{}", "no" },
	{ "no JSON here either", "{}", "{\"a\" 1}", "no" },
	{ "nothing", "", "{}", "no" },
	{ "something behind", "{}", "{} 1", "no" },
	{ "a comma missing", "[1 2]", "[1]", "no" },
	{ "twice", "{\"a\":1,\"a\":2}", "{\"a\":1}", "a 2 -\n" },
};

static void
on_diff(void *arg, struct str path, struct str a, struct str b)
{
	struct buf *out = arg;

	(void)buf_fmt(out, "%.*s %.*s %.*s\n", STR_ARG(path), STR_ARG(a.p ? a : STR("-")),
	    STR_ARG(b.p ? b : STR("-")));
}

static void
texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct buf out;

		buf_init(&out, 4096);
		if (!jsondiff(str_c(rows[i].a), str_c(rows[i].b), on_diff, &out))
			(void)buf_adds(&out, STR("no"));
		if (!str_eq(buf_str(&out), str_c(rows[i].want)))
			fail_msg("%s: %.*s, not %s", rows[i].what, STR_ARG(buf_str(&out)),
			    rows[i].want);
		buf_fini(&out);
	}
}

/* Every beginning of a text is read to its end and no further. */
static void
any_cut(void **state)
{
	const char *s = "{\"a\\\"\":[1,{\"b\":\"\\u00e9\\\\\"},[]],\"c\":{\"d\":-1.5e3}}";

	(void)state;
	for (size_t n = 0; n <= strlen(s); n++) {
		struct guard g = guard_of(s, n);
		struct buf out;

		buf_init(&out, 4096);
		assert_int_equal(jsondiff(str_of(g.p, n), str_of(g.p, n), on_diff, &out),
		    n == strlen(s));
		assert_int_equal(out.n, 0);
		buf_fini(&out);
		guard_free(&g);
	}
}

static void
limits(void **state)
{
	struct buf deep, out;

	(void)state;
	buf_init(&deep, 1 << 20);
	buf_init(&out, 4096);
	for (unsigned i = 0; i < JSONDIFF_DEPTH + 1; i++)
		(void)buf_addc(&deep, '[');
	assert_false(jsondiff(buf_str(&deep), STR("1"), on_diff, &out));
	buf_clear(&deep);
	for (unsigned i = 0; i < JSONDIFF_MAX; i++)
		(void)buf_adds(&deep, i ? STR(",1") : STR("[1"));
	assert_int_equal(buf_adds(&deep, STR(",1]")), 0);
	assert_false(jsondiff(buf_str(&deep), STR("1"), on_diff, &out));
	buf_fini(&deep);
	buf_fini(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(any_cut),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
