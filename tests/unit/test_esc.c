#include "mcpdiag/esc.h"

#include <stdio.h>

#include "util.h"

static const struct row {
	const char *what;
	const char *in;
	size_t n;
	const char *text, *json;
} rows[] = {
#define IN(lit) lit, sizeof(lit) - 1
	{ "nothing", IN(""), "", "" },
	{ "plain", IN("tools/list"), "tools/list", "tools/list" },
	{ "a quote", IN("a\"b"), "a\"b", "a\\\"b" },
	{ "a backslash", IN("a\\x1b"), "a\\\\x1b", "a\\\\x1b" },
	{ "a terminal escape", IN("\033[31mred"), "\\x1b[31mred", "\\u001b[31mred" },
	{ "C0", IN("\0\a\t\n\r\037"), "\\x00\\x07\\x09\\x0a\\x0d\\x1f",
	    "\\u0000\\u0007\\u0009\\n\\u000d\\u001f" },
	{ "DEL", IN("\177"), "\\x7f", "\\u007f" },
	{ "C1: CSI in one character", IN("\xc2\x9b" "31m"), "\\x9b" "31m", "\\u009b31m" },
	{ "its neighbours", IN("\xc2\x80\xc2\x9f\xc2\xa0"), "\\x80\\x9f\xc2\xa0",
	    "\\u0080\\u009f\xc2\xa0" },
	{ "a soft hyphen", IN("\xc2\xad"), "\\xad", "\\u00ad" },
	{ "two, three and four bytes", IN("\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xb8"),
	    "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xb8", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xb8" },
	{ "right to left", IN("\xe2\x80\xae" "abc"), "\\u{202e}abc", "\\u202eabc" },
	{ "zero width", IN("a\xe2\x80\x8b\xe2\x81\xa0\xef\xbb\xbf" "b"),
	    "a\\u{200b}\\u{2060}\\u{feff}b", "a\\u200b\\u2060\\ufeffb" },
	{ "line separators", IN("\xe2\x80\xa8\xe2\x80\xa9"), "\\u{2028}\\u{2029}",
	    "\\u2028\\u2029" },
	{ "tags", IN("\xf3\xa0\x81\x81"), "\\u{e0041}", "\\udb40\\udc41" },
	{ "a byte alone", IN("a\x80" "b"), "a\\x80b", "a\\ufffdb" },
	{ "cut short", IN("a\xe2\x82"), "a\\xe2\\x82", "a\\ufffd\\ufffd" },
	{ "cut by another", IN("\xe2\x82" "A"), "\\xe2\\x82A", "\\ufffd\\ufffdA" },
	{ "overlong", IN("\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf"),
	    "\\xc0\\xaf\\xe0\\x80\\xaf\\xf0\\x80\\x80\\xaf",
	    "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd" },
	{ "a surrogate", IN("\xed\xa0\x80"), "\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd" },
	{ "past Unicode", IN("\xf4\x90\x80\x80\xf5\xff"), "\\xf4\\x90\\x80\\x80\\xf5\\xff",
	    "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd" },
	{ "the last character of each length", IN("\x7e\xdf\xbf\xef\xbf\xbd\xf4\x8f\xbf\xbf"),
	    "\x7e\xdf\xbf\xef\xbf\xbd\xf4\x8f\xbf\xbf",
	    "\x7e\xdf\xbf\xef\xbf\xbd\xf4\x8f\xbf\xbf" },
#undef IN
};

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct guard g = guard_of(rows[i].in, rows[i].n);
		struct buf b;

		buf_init(&b, 4096);
		esc_text(&b, str_of(g.p, g.n), SIZE_MAX);
		if (!str_eq(buf_str(&b), str_c(rows[i].text)))
			fail_msg("%s: text %.*s", rows[i].what, STR_ARG(buf_str(&b)));
		buf_clear(&b);
		esc_json(&b, str_of(g.p, g.n));
		if (!str_eq(buf_str(&b), str_c(rows[i].json)))
			fail_msg("%s: json %.*s", rows[i].what, STR_ARG(buf_str(&b)));
		buf_fini(&b);
		guard_free(&g);
	}
}

/* All bytes, pairs and some triples: nothing unsafe ever comes out, and it is
 * UTF-8. */
static void
check_clean(struct str in)
{
	struct buf b;

	buf_init(&b, 4096);
	for (int json = 0; json < 2; json++) {
		size_t i = 0;

		buf_clear(&b);
		if (json)
			esc_json(&b, in);
		else
			esc_text(&b, in, SIZE_MAX);
		while (i < b.n) {
			uint32_t c;
			unsigned len = esc_utf8((const uint8_t *)b.p + i, b.n - i, &c);

			assert_true(len > 0);
			assert_true(c >= 0x20 && (c < 0x7f || c >= 0xa0));
			i += len;
		}
	}
	buf_fini(&b);
}

static void
test_clean(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 0x10000; v++) {
		char pair[] = { (char)(v >> 8), (char)v };
		check_clean(str_of(pair, sizeof pair));
	}
	for (unsigned v = 0; v < 0x4000; v++) {
		char three[] = { (char)(0xe0 | v >> 10), (char)(0x80 | (v >> 4 & 0x3f)),
		    (char)(v << 4) };
		check_clean(str_of(three, sizeof three));
	}
}

static void
test_max(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	esc_text(&b, STR("abcdef"), 6);
	assert_true(str_eq(buf_str(&b), STR("abcdef")));
	buf_clear(&b);
	esc_text(&b, STR("abcdef"), 3);
	assert_true(str_eq(buf_str(&b), STR("abc\xe2\x80\xa6")));
	buf_clear(&b);
	esc_text(&b, STR("abc"), 0);
	assert_true(str_eq(buf_str(&b), STR("\xe2\x80\xa6")));
	buf_clear(&b);
	esc_text(&b, STR(""), 0);
	assert_int_equal(b.n, 0);
	assert_int_equal(buf_adds(&b, STR("12345")), 0);	/* of this text only */
	esc_text(&b, STR("abcdef"), 3);
	assert_true(str_eq(buf_str(&b), STR("12345abc\xe2\x80\xa6")));
	buf_fini(&b);
}

static void
test_utf8(void **state)
{
	uint32_t c;

	(void)state;
	assert_int_equal(esc_utf8((const uint8_t *)"", 0, &c), 0);
	assert_int_equal(c, 0);
	/* Every character there is. */
	for (uint32_t cp = 0; cp < 0x110000; cp++) {
		uint8_t p[4];
		unsigned n;

		if (cp < 0x80) {
			n = 1;
			p[0] = (uint8_t)cp;
		} else {
			n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
			for (unsigned i = n - 1; i > 0; i--)
				p[i] = (uint8_t)(0x80 | (cp >> 6 * (n - 1 - i) & 0x3f));
			p[0] = (uint8_t)(0xf00 >> n | cp >> 6 * (n - 1));
		}
		if (cp >= 0xd800 && cp < 0xe000) {
			assert_int_equal(esc_utf8(p, n, &c), 0);
			continue;
		}
		assert_int_equal(esc_utf8(p, n, &c), n);
		assert_int_equal(c, cp);
		assert_int_equal(esc_utf8(p, n - 1, &c), 0);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows), cmocka_unit_test(test_clean),
		cmocka_unit_test(test_max), cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests_name("esc", tests, NULL, NULL);
}
