/* tui: the stack of screens and the keys that all of them share. */
#include "tui_fix.h"

static void
test_every_size(void **state)
{
	static const int sizes[][2] = { { 80, 24 }, { 120, 40 }, { 200, 60 }, { 300, 100 },
	    { 20, 5 }, { 1, 1 }, { 3, 2 }, { 40, 10 } };
	struct buf b;

	(void)state;
	for (size_t i = 0; i < N_ROWS(sizes); i++) {
		struct fix f;

		fix_init(&f, sizes[i][0], sizes[i][1]);
		fix_play(&f, "tests/tui/leapfrog.ndjson", 0);
		(void)fix_draw(&f, &b);
		buf_fini(&b);
		fix_keys(&f, "?");
		(void)fix_draw(&f, &b);
		buf_fini(&b);
		fix_is_clean(&f);
		fix_fini(&f);
	}
}

static void
test_help(void **state)
{
	struct fix f;

	(void)state;
	fix_init(&f, 80, 24);
	fix_play(&f, "tests/tui/leapfrog.ndjson", 0);
	fix_keys(&f, "?");
	assert_true(fix_shows(&f, "half of one"));
	fix_keys(&f, "q");
	assert_true(fix_shows(&f, "#a8fac9641f"));
	assert_false(tui_key(f.tui, 'q'));
	fix_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
