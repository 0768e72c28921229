#include "../../src/replay/minted.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "util.h"

static const struct row {
	const char *what, *captured, *live, *body, *want;
} rows[] = {
	{ "a task", "{\"result\":{\"task\":{\"taskId\":\"a1\"}}}",
	    "{\"result\":{\"task\":{\"taskId\":\"b22\",\"x\":1}}}",
	    "{\"method\":\"tasks/get\",\"params\":{\"taskId\":\"a1\"}}",
	    "{\"method\":\"tasks/get\",\"params\":{\"taskId\":\"b22\"}}" },
	{ "a cursor", "{\"result\":{\"nextCursor\":\"p2\"}}", "{\"result\":{\"nextCursor\":\"q9\"}}",
	    "{\"params\":{\"cursor\" : \"p2\"}}", "{\"params\":{\"cursor\" : \"q9\"}}" },
	{ "the same text elsewhere stays", "{\"requestState\":\"s\"}", "{\"requestState\":\"t\"}",
	    "{\"a\":\"s\",\"requestState\":\"s\",\"b\":[\"s\"]}",
	    "{\"a\":\"s\",\"requestState\":\"t\",\"b\":[\"s\"]}" },
	{ "a number for a string", "{\"progressToken\":7}", "{\"progressToken\":\"x\"}",
	    "{\"progressToken\":7,\"n\":7}", "{\"progressToken\":\"x\",\"n\":7}" },
	{ "several in order", "[{\"taskId\":\"a\"},{\"taskId\":\"b\"}]",
	    "[{\"taskId\":\"c\"},{\"taskId\":\"d\"}]", "{\"taskId\":\"b\",\"x\":{\"taskId\":\"a\"}}",
	    "{\"taskId\":\"d\",\"x\":{\"taskId\":\"c\"}}" },
	{ "fewer live ones", "[{\"taskId\":\"a\"},{\"taskId\":\"b\"}]", "[{\"taskId\":\"c\"}]",
	    "{\"taskId\":\"b\"}", "{\"taskId\":\"b\"}" },
	{ "quotes inside", "{\"taskId\":\"a\\\"b\"}", "{\"taskId\":\"c\\\\\"}",
	    "{\"x\":\"\\\"taskId\\\":\",\"taskId\":\"a\\\"b\"}",
	    "{\"x\":\"\\\"taskId\\\":\",\"taskId\":\"c\\\\\"}" },
	{ "no JSON", "\"taskId\":", "{\"taskId\":\"", "{\"taskId\"", "{\"taskId\"" },
	{ "nothing", "", "", "", "" },
};

static void
values(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct minted *m = minted_new();
		struct buf out;

		buf_init(&out, 4096);
		minted_learn(m, str_c(rows[i].captured), str_c(rows[i].live));
		minted_apply(m, str_c(rows[i].body), &out);
		if (!str_eq(buf_str(&out), str_c(rows[i].want)))
			fail_msg("%s: %.*s, not %s", rows[i].what, STR_ARG(buf_str(&out)),
			    rows[i].want);
		buf_fini(&out);
		minted_free(m);
	}
	minted_free(NULL);
}

static void
a_later_one_counts(void **state)
{
	struct minted *m = minted_new();
	struct buf out;

	(void)state;
	buf_init(&out, 4096);
	minted_learn(m, STR("{\"taskId\":\"a\"}"), STR("{\"taskId\":\"b\"}"));
	minted_learn(m, STR("{\"taskId\":\"a\"}"), STR("{\"taskId\":\"c\"}"));
	minted_apply(m, STR("{\"taskId\":\"a\"}"), &out);
	assert_true(str_eq(buf_str(&out), STR("{\"taskId\":\"c\"}")));
	buf_fini(&out);
	minted_free(m);
}

static const struct {
	const char *body, *want;
} ids[] = {
	{ "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"id\":3}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":\"z\",\"result\":{\"id\":3}}" },
	{ "{\"result\":{\"id\":3},\"id\":\"a\"}", "{\"result\":{\"id\":3},\"id\":\"z\"}" },
	{ "{\"result\":{}}", "{\"result\":{}}" },
	{ "{\"id\":null}", "{\"id\":null}" },
};

static void
other_ids(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(ids); i++) {
		struct buf out;

		buf_init(&out, 4096);
		minted_set_id(str_c(ids[i].body), STR("\"z\""), &out);
		assert_true(str_eq(buf_str(&out), str_c(ids[i].want)));
		buf_fini(&out);
	}
}

static const struct {
	const char *body, *want;
} tools[] = {
	{ "{\"params\":{\"arguments\":{\"name\":\"poke\"},\"name\":\"poke\"}}",
	    "{\"params\":{\"arguments\":{\"name\":\"poke\"},\"name\":\"emit\"}}" },
	{ "{\"name\":\"poke\",\"params\":{\"name\":\"x\"}}",
	    "{\"name\":\"poke\",\"params\":{\"name\":\"x\"}}" },
};

static void
other_tools(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(tools); i++) {
		struct buf out;

		buf_init(&out, 4096);
		minted_rename_tool(str_c(tools[i].body), STR("poke"), STR("emit"), &out);
		if (!str_eq(buf_str(&out), str_c(tools[i].want)))
			fail_msg("%.*s, not %s", STR_ARG(buf_str(&out)), tools[i].want);
		buf_fini(&out);
	}
}

/* Whatever the texts are, nothing is read outside of them. */
static void
any_cut(void **state)
{
	const char *s = "{\"taskId\" : \"a\\\"b\", \"nextCursor\":12 , \"x\":[{\"taskId\":\"\\u00e9\"}]}";

	(void)state;
	for (size_t n = 0; n <= strlen(s); n++) {
		struct minted *m = minted_new();
		char *cut = xmemdup0(s, n);
		struct buf out;

		cut = xrealloc(cut, n ? n : 1);
		buf_init(&out, 4096);
		minted_learn(m, str_of(cut, n), str_of(cut, n));
		minted_apply(m, str_of(cut, n), &out);
		assert_true(str_eq(buf_str(&out), str_of(cut, n)));
		buf_fini(&out);
		free(cut);
		minted_free(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(a_later_one_counts),
		cmocka_unit_test(other_ids),
		cmocka_unit_test(other_tools),
		cmocka_unit_test(any_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
