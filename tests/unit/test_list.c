/* list: the cursor over rows of which some are shown. */
#include <stdlib.h>

#include "../../src/tui/view.h"
#include "util.h"

#define CTRL(c) ((c) - '@')

static const struct {
	const char *what;
	uint32_t n, at;
	int rows;
	uint32_t key;
	uint32_t want;
} rows[] = {
	{ "down", 10, 3, 5, TUI_DOWN, 4 },
	{ "j", 10, 3, 5, 'j', 4 },
	{ "down at the end", 10, 9, 5, TUI_DOWN, 9 },
	{ "up", 10, 3, 5, TUI_UP, 2 },
	{ "k", 10, 3, 5, 'k', 2 },
	{ "up at the top", 10, 0, 5, 'k', 0 },
	{ "page down", 100, 3, 5, TUI_PGDN, 8 },
	{ "^F", 100, 3, 5, CTRL('F'), 8 },
	{ "page down near the end", 10, 8, 5, TUI_PGDN, 9 },
	{ "page up", 100, 13, 5, TUI_PGUP, 8 },
	{ "^B", 100, 13, 5, CTRL('B'), 8 },
	{ "half a page down", 100, 10, 7, CTRL('D'), 13 },
	{ "half a page up", 100, 10, 7, CTRL('U'), 7 },
	{ "half of one row", 100, 10, 1, CTRL('U'), 9 },
	{ "top", 100, 10, 5, 'g', 0 },
	{ "Home", 100, 10, 5, TUI_HOME, 0 },
	{ "bottom", 100, 10, 5, 'G', 99 },
	{ "End", 100, 10, 5, TUI_END, 99 },
	{ "wheel", 100, 10, 5, TUI_WHEEL_DOWN, 11 },
	{ "nothing to move in", 0, 0, 5, TUI_DOWN, 0 },
	{ "End of nothing", 0, 0, 5, 'G', 0 },
	{ "no room", 10, 3, 0, TUI_PGDN, 4 },
	{ "as many as there can be", UINT32_MAX, UINT32_MAX - 2, 5, 'G', UINT32_MAX - 1 },
};

static void
test_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct list l = { .n = rows[i].n, .at = rows[i].at };

		list_show(&l, rows[i].rows);
		assert_true(list_key(&l, rows[i].key));
		list_show(&l, rows[i].rows);
		if (l.at != rows[i].want || l.top > l.at || (rows[i].rows > 0 && l.n &&
		    l.at - l.top >= (uint32_t)rows[i].rows)) {
			print_message("%s: at %u, top %u\n", rows[i].what, l.at, l.top);
			fail();
		}
	}
}

static void
test_not_taken(void **state)
{
	struct list l = { .n = 3 };

	(void)state;
	assert_false(list_key(&l, 'x'));
	assert_false(list_key(&l, TUI_ESC));
	assert_false(list_key(&l, TUI_LEFT));
	assert_int_equal(l.at, 0);
}

/* Rows that go leave no hole below, and the cursor within. */
static void
test_fewer(void **state)
{
	struct list l = { .n = 100, .at = 99 };

	(void)state;
	list_show(&l, 10);
	assert_int_equal(l.top, 90);
	l.n = 95;
	list_show(&l, 10);
	assert_int_equal(l.at, 94);
	assert_int_equal(l.top, 85);
	l.n = 4;
	list_show(&l, 10);
	assert_int_equal(l.at, 3);
	assert_int_equal(l.top, 0);
}

static void
test_click(void **state)
{
	struct list l = { .n = 20, .at = 15 };

	(void)state;
	list_show(&l, 10);
	assert_int_equal(l.top, 6);
	assert_false(list_click(&l, 0));
	assert_int_equal(l.at, 6);
	assert_true(list_click(&l, 0));
	assert_false(list_click(&l, 10));
	assert_false(list_click(&l, -1));
	assert_int_equal(l.at, 6);
	l = (struct list){ .n = 2 };
	list_show(&l, 10);
	assert_false(list_click(&l, 2));
	assert_int_equal(l.at, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_not_taken),
		cmocka_unit_test(test_fewer),
		cmocka_unit_test(test_click),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
