/* lines: how text becomes lines and rows. */
#include "../../src/tui/lines.h"

#include "tui_fix.h"

static const char *
all(const struct lines *l)
{
	static char text[4096];
	int n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < l->n; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%.*s|",
		    STR_ARG(lines_str(l, i)));
	return text;
}

static const char *
wrapped(struct lines *l, int w)
{
	static char text[4096];
	int n = 0;

	lines_wrap(l, w);
	text[0] = '\0';
	for (uint32_t i = 0; i < l->n_rows; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%.*s|", (int)l->row[i].n,
		    l->text.p ? l->text.p + l->row[i].from : "");
	return text;
}

static void
test_lines(void **state)
{
	struct lines l;

	(void)state;
	lines_init(&l);
	assert_string_equal(wrapped(&l, 10), "");
	lines_add(&l, STYLE_PLAIN, STR(""));
	lines_text(&l, STYLE_PLAIN, STR("a\r\nb\rc\nd\n\ne"));
	lines_json(&l, STR("{\"k\":[1]}"));
	lines_fmt(&l, STYLE_DIM, "%d", 5);
	assert_string_equal(all(&l), "|a|b|c|d||e|{|  \"k\": [|    1|  ]|}|5|");
	lines_clear(&l);
	lines_hex(&l, STR("0123456789abcdefgh\n"));
	assert_string_equal(all(&l),
	    "00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  0123456789abcdef|"
	    "00000010  67 68 0a                                          gh.|");
	lines_fini(&l);
}

static void
test_wrap(void **state)
{
	struct lines l;

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	lines_init(&l);
	lines_add(&l, STYLE_PLAIN, STR("abcdef"));
	lines_add(&l, STYLE_PLAIN, STR(""));
	lines_add(&l, STYLE_PLAIN, STR("\xe4\xb8\xad\xe6\x96\x87x"));	/* 2 + 2 + 1 */
	assert_string_equal(wrapped(&l, 6), "abcdef||\xe4\xb8\xad\xe6\x96\x87x|");
	assert_string_equal(wrapped(&l, 4), "abcd|ef||\xe4\xb8\xad\xe6\x96\x87|x|");
	assert_string_equal(wrapped(&l, 3), "abc|def||\xe4\xb8\xad|\xe6\x96\x87x|");
	assert_string_equal(wrapped(&l, 0), "a|b|c|d|e|f||\xe4\xb8\xad|\xe6\x96\x87|x|");
	/* What is escaped takes the columns of its escape. */
	lines_clear(&l);
	lines_add(&l, STYLE_PLAIN, STR("\x1b\x1b!"));
	assert_string_equal(wrapped(&l, 8), "\x1b\x1b|!|");
	lines_fini(&l);
}

static void
test_search(void **state)
{
	struct lines l;

	(void)state;
	lines_init(&l);
	assert_int_equal(lines_search(&l, 0, STR("a"), 1), UINT32_MAX);
	lines_add(&l, STYLE_PLAIN, STR("one and a long line"));
	lines_add(&l, STYLE_PLAIN, STR("two"));
	lines_add(&l, STYLE_PLAIN, STR("one again"));
	lines_wrap(&l, 5);		/* rows 0-3, 4, 5-6 */
	assert_int_equal(l.n_rows, 7);
	assert_int_equal(lines_search(&l, 0, STR("one"), 1), 5);
	assert_int_equal(lines_search(&l, 5, STR("one"), 1), 0);
	assert_int_equal(lines_search(&l, 5, STR("one"), -1), 0);
	assert_int_equal(lines_search(&l, 0, STR("one"), -1), 5);
	assert_int_equal(lines_search(&l, 2, STR("two"), 1), 4);
	assert_int_equal(lines_search(&l, 4, STR("two"), 1), 4);
	assert_int_equal(lines_search(&l, 4, STR("three"), 1), UINT32_MAX);
	lines_fini(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_search),
	};

	return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
