/* Two messages compared on the screen. */
#include "../../src/tui/view.h"

#include "tui_fix.h"

static void
start(struct fix *f, int w, int h, const char *a, const char *b)
{
	const char *texts[] = { a, b };

	fix_init(f, w, h);
	for (int i = 0; i < 2; i++) {
		struct ev e = { .type = EV_MESSAGE, .pkt = (uint32_t)i + 5, .x = 1 };

		e.u.msg.kind = EV_MSG_REQUEST;
		e.u.msg.method = STR("tools/call");
		store_text(f->store, str_c(texts[i]), strlen(texts[i]), false);
		fix_tap(f, &e);
	}
	tui_push(f->tui, view_diff_new(f->tui, 1, 2));
}

#define A "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"," \
	"\"arguments\":{\"text\":\"hello\",\"old\":true,\"list\":[1,2,3]}}}"
#define B "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"," \
	"\"arguments\":{\"text\":\"hello, world\",\"list\":[1,3,4]},\"_meta\":{}}}"

static void
test_screens(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 24, A, B);
	fix_wants(&f, "diff-sides-100x24");
	fix_keys(&f, "u");
	fix_wants(&f, "diff-unified-100x24");
	fix_fini(&f);
	start(&f, 80, 30, A, B);
	fix_wants(&f, "diff-unified-80x30");
	fix_keys(&f, "u");
	fix_wants(&f, "diff-sides-80x30");
	fix_fini(&f);
}

static void
test_keys(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 6, A, B);
	(void)tui_key(f.tui, TUI_TAB);
	assert_true(fix_shows(&f, "\"id\": 2"));
	(void)tui_key(f.tui, TUI_TAB);
	assert_true(fix_shows(&f, "hello, world"));
	(void)tui_key(f.tui, TUI_BACKTAB);
	assert_true(fix_shows(&f, "\"id\": 2"));
	fix_keys(&f, "{");
	assert_true(fix_shows(&f, "no difference before this"));
	fix_keys(&f, "G}");
	assert_true(fix_shows(&f, "no further difference"));
	fix_keys(&f, "/ECHO\n");
	assert_true(fix_shows(&f, "not found"));
	fix_keys(&f, "/old\n");
	assert_true(fix_shows(&f, "\"old\": true"));
	fix_keys(&f, "uk");
	assert_true(fix_shows(&f, "\"old\": true"));
	fix_keys(&f, "g");
	(void)tui_key(f.tui, TUI_RIGHT);
	assert_true(fix_shows(&f, "c\": \"2.0\","));
	assert_false(fix_shows(&f, "jsonrpc"));
	(void)tui_key(f.tui, TUI_LEFT);
	assert_true(fix_shows(&f, "jsonrpc"));
	(void)tui_key(f.tui, TUI_LEFT);
	assert_false(fix_shows(&f, "Diff"));
	fix_fini(&f);
}

static void
test_edges(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 24, A, A);
	assert_true(fix_shows(&f, "no difference"));
	fix_keys(&f, "}");
	assert_true(fix_shows(&f, "they do not differ"));
	assert_null(view_diff_new(f.tui, 1, 77));
	assert_true(fix_shows(&f, "one of the two is gone"));
	fix_fini(&f);
	start(&f, 100, 24, "", "");
	assert_true(fix_shows(&f, "Both are empty"));
	fix_keys(&f, "}{uujkGg/x\nn");
	fix_fini(&f);
	start(&f, 80, 24, "\x1b[2J\n\xff", "{\"\x1b\":\"\x07\"}");
	(void)fix_shows(&f, "Diff");
	fix_is_clean(&f);
	fix_fini(&f);
}

static void
test_sizes(void **state)
{
	static const int sizes[][2] = { { 80, 24 }, { 120, 40 }, { 200, 60 }, { 300, 100 },
	    { 20, 5 }, { 1, 1 }, { 3, 2 }, { 5, 30 } };
	struct buf b;

	(void)state;
	for (size_t i = 0; i < N_ROWS(sizes); i++) {
		struct fix f;

		start(&f, sizes[i][0], sizes[i][1], A, B);
		for (const char *k = "ujG}{u/e\nlll"; *k; k++) {
			(void)tui_key(f.tui, *k == '\n' ? TUI_ENTER : (uint32_t)*k);
			(void)fix_draw(&f, &b);
			buf_fini(&b);
			fix_is_clean(&f);
		}
		fix_fini(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_screens),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests_name("view_diff", tests, NULL, NULL);
}
