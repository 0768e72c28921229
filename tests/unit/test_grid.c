/* grid: what a cell may hold, and where text ends. */
#include <locale.h>
#include <stdlib.h>
#include <wchar.h>

#include "mcpdiag/grid.h"
#include "mcpdiag/xmem.h"
#include "util.h"

static const struct {
	const char *what, *text;
	size_t n;			/* 0: up to its NUL */
	int w;
	const char *want;		/* 12 columns, what is not written is a dot */
	int used;
} rows[] = {
	{ "plain", "abc", 0, 12, "abc.........", 3 },
	{ "exactly as wide", "abc", 0, 3, "abc.........", 3 },
	{ "cut, and says so", "abcd", 0, 3, "ab\u2026.........", 3 },
	{ "one column", "abcd", 0, 1, "\u2026...........", 1 },
	{ "no column", "abcd", 0, 0, "............", 0 },
	{ "negative width", "abcd", 0, -5, "............", 0 },
	{ "an escape sequence", "\033[2J", 0, 12, "\\x1b[2J.....", 7 },
	{ "an escape that does not fit is not cut in the middle", "ab\033[", 0, 5,
	    "ab  \u2026.......", 5 },
	{ "a newline", "a\nb", 0, 12, "a\\x0ab......", 6 },
	{ "a NUL", "a\0b", 3, 12, "a\\x00b......", 6 },
	{ "C1 as UTF-8", "\xc2\x9b" "1m", 0, 12, "\\x9b1m......", 6 },
	{ "C1 as a byte", "\x9b" "1m", 0, 12, "\\x9b1m......", 6 },
	{ "a wide character", "\u4e2d\u6587", 0, 12, "\u4e2d\u6587........", 4 },
	{ "half of a wide character is none", "\u4e2d\u6587", 0, 3, "\u4e2d\u2026.........", 3 },
	{ "a combining character", "e\u0301", 0, 12, "e\\u{301}....", 8 },
	{ "right to left override", "a\u202e", 0, 12, "a\\u{202e}...", 9 },
	{ "zero width", "a\u200bb", 0, 12, "a\\u{200b}b..", 10 },
	{ "a backslash is one", "a\\b", 0, 12, "a\\b.........", 3 },
	{ "a character cut short", "a\xe4\xb8", 0, 12, "a\\xe4\\xb8...", 9 },
};

static void
test_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct str s = str_of(rows[i].text, rows[i].n ? rows[i].n : strlen(rows[i].text));
		struct guard gu = guard_of(s.p, s.n);
		struct grid g;
		struct buf b;
		int used;

		grid_init(&g, 12, 1, false);
		for (int x = 0; x < 12; x++)
			grid_at(&g, 0, x)->ch = '.';
		used = grid_text(&g, 0, 0, rows[i].w, STYLE_PLAIN, str_of(gu.p, gu.n));
		buf_init(&b, 1024);
		grid_print(&g, &b);
		(void)buf_addc(&b, '\0');
		b.p[b.n - 2] = '\0';
		if (strcmp(b.p, rows[i].want) != 0 || used != rows[i].used) {
			print_message("%s: \"%s\" %d\n", rows[i].what, b.p, used);
			fail();
		}
		buf_fini(&b);
		grid_fini(&g);
		guard_free(&gu);
	}
}

static void
test_outside(void **state)
{
	struct grid g;
	struct buf b;

	(void)state;
	grid_init(&g, 4, 2, false);
	(void)grid_text(&g, -1, 0, 4, STYLE_PLAIN, STR("abcd"));
	(void)grid_text(&g, 2, 0, 4, STYLE_PLAIN, STR("abcd"));
	(void)grid_text(&g, 0, -2, 9, STYLE_PLAIN, STR("abcdefgh"));
	(void)grid_text(&g, 1, 3, 9, STYLE_PLAIN, STR("\u4e2d"));
	grid_glyph(&g, 5, 5, STYLE_PLAIN, GLYPH_OK);
	grid_fill(&g, 1, -3, 5, STYLE_PLAIN, GLYPH_HLINE);
	grid_fill(&g, 9, 0, 5, STYLE_PLAIN, GLYPH_HLINE);
	grid_mark(&g, 1, -3, 100, STYLE_SELECTED);
	grid_mark(&g, -1, 0, 100, STYLE_SELECTED);
	assert_null(grid_at(&g, 0, 4));
	assert_null(grid_at(&g, -1, 0));
	buf_init(&b, 1024);
	grid_print(&g, &b);
	assert_true(str_eq(buf_str(&b), STR("cdef\n\u2500\u2500\n")));
	buf_fini(&b);
	grid_fini(&g);
}

/* What is written over half of a wide character leaves no half behind. */
static void
test_halves(void **state)
{
	struct grid g;

	(void)state;
	grid_init(&g, 6, 1, false);
	(void)grid_text(&g, 0, 0, 6, STYLE_PLAIN, STR("\u4e2d\u4e2d\u4e2d"));
	(void)grid_text(&g, 0, 1, 1, STYLE_PLAIN, STR("a"));
	assert_int_equal(grid_at(&g, 0, 0)->ch, ' ');
	(void)grid_text(&g, 0, 2, 1, STYLE_PLAIN, STR("b"));
	assert_int_equal(grid_at(&g, 0, 3)->ch, ' ');
	(void)grid_text(&g, 0, 3, 2, STYLE_PLAIN, STR("\u6587"));
	assert_int_equal(grid_at(&g, 0, 3)->ch, 0x6587);
	assert_int_equal(grid_at(&g, 0, 4)->ch, 0);
	assert_int_equal(grid_at(&g, 0, 5)->ch, ' ');
	grid_fini(&g);
}

static void
test_glyphs(void **state)
{
	struct grid g, a;

	(void)state;
	grid_init(&g, GLYPH_N, 1, false);
	grid_init(&a, GLYPH_N, 1, true);
	for (int i = 0; i < GLYPH_N; i++) {
		grid_glyph(&g, 0, i, STYLE_PLAIN, (enum glyph)i);
		grid_glyph(&a, 0, i, STYLE_PLAIN, (enum glyph)i);
		assert_int_equal(wcwidth((wchar_t)grid_at(&g, 0, i)->ch), 1);
		assert_in_range(grid_at(&a, 0, i)->ch, 0x21, 0x7e);
	}
	grid_fini(&g);
	grid_fini(&a);
}

static void
test_ascii(void **state)
{
	struct grid g;
	struct buf b;

	(void)state;
	grid_init(&g, 30, 1, true);
	(void)grid_text(&g, 0, 0, 30, STYLE_PLAIN, STR("caf\u00e9 \u4e2d"));
	buf_init(&b, 1024);
	grid_print(&g, &b);
	assert_true(str_eq(buf_str(&b), STR("caf\\xe9 \\u{4e2d}\n")));
	buf_fini(&b);
	grid_fini(&g);
}

static void
test_marks(void **state)
{
	struct grid g;

	(void)state;
	grid_init(&g, 4, 1, false);
	(void)grid_text(&g, 0, 0, 2, STYLE_ERROR, STR("ab"));
	grid_mark(&g, 0, 0, 4, STYLE_SELECTED);
	grid_mark(&g, 0, 1, 2, STYLE_MATCH);
	assert_int_equal(grid_at(&g, 0, 0)->style, STYLE_ERROR | STYLE_SELECTED);
	assert_int_equal(grid_at(&g, 0, 1)->style, STYLE_ERROR | STYLE_SELECTED);
	assert_int_equal(grid_at(&g, 0, 2)->style, STYLE_MATCH | STYLE_SELECTED);
	assert_int_equal(grid_at(&g, 0, 3)->style, STYLE_SELECTED);
	grid_fini(&g);
}

static void
test_megabyte(void **state)
{
	size_t n = 1U << 20;
	char *s = xmalloc(n);
	struct grid g;

	(void)state;
	memset(s, '\033', n);
	grid_init(&g, 5000, 5000, false);
	assert_int_equal(g.w, 1000);
	assert_int_equal(g.h, 500);
	assert_int_equal(grid_text(&g, 0, 0, 1000, STYLE_PLAIN, str_of(s, n)), 1000);
	assert_true(grid_width(str_of(s, n)) >= 1000);
	grid_fini(&g);
	free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_glyphs),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_megabyte),
	};

	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
