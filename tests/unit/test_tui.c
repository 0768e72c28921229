/* tui: the stack of screens and the keys that all of them share. */
#include "../../src/tui/view.h"
#include "tui_fix.h"

#define FILE_ONE "tests/tui/leapfrog.ndjson"

static void
start(struct fix *f, int w, int h)
{
	fix_init(f, w, h);
	fix_play(f, FILE_ONE, 0);
}

static void
test_every_size(void **state)
{
	static const int sizes[][2] = { { 80, 24 }, { 120, 40 }, { 200, 60 }, { 300, 100 },
	    { 20, 5 }, { 1, 1 }, { 3, 2 }, { 40, 10 }, { 1000, 500 } };
	struct buf b;

	(void)state;
	for (size_t i = 0; i < N_ROWS(sizes); i++) {
		struct fix f;

		start(&f, sizes[i][0], sizes[i][1]);
		for (const char *k = "?j /x\n!"; *k; k++) {
			char one[2] = { *k, '\0' };

			fix_keys(&f, one);
			(void)fix_draw(&f, &b);
			buf_fini(&b);
			fix_is_clean(&f);
		}
		fix_fini(&f);
	}
}

static void
test_help(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 80, 24);
	fix_keys(&f, "?");
	fix_wants(&f, "help-80x24");
	fix_keys(&f, "G");
	assert_true(fix_shows(&f, "finding: for information"));
	fix_keys(&f, "?");
	assert_true(fix_shows(&f, "CLIENT > SERVER"));
	assert_true(tui_key(f.tui, TUI_F1));
	assert_true(fix_shows(&f, "half of one"));
	fix_keys(&f, "\033");
	assert_true(fix_shows(&f, "CLIENT > SERVER"));
	fix_fini(&f);
}

/* Each way out, and what is none. */
static void
test_quit(void **state)
{
	static const uint32_t out[] = { 'q', 'Q', TUI_F10 };
	struct fix f;

	(void)state;
	for (size_t i = 0; i < N_ROWS(out); i++) {
		start(&f, 80, 24);
		assert_false(tui_key(f.tui, out[i]));
		fix_fini(&f);
	}
	start(&f, 80, 24);
	fix_keys(&f, "\033Z");
	assert_false(tui_key(f.tui, 'Z'));
	fix_fini(&f);
	start(&f, 80, 24);
	fix_keys(&f, "Zj");
	fix_keys(&f, "Z");
	fix_keys(&f, "?q");
	assert_true(fix_shows(&f, "CLIENT > SERVER"));
	fix_keys(&f, "?");
	assert_false(tui_key(f.tui, 'Q'));
	fix_fini(&f);
}

static struct tui *
live(struct fix *f, bool saved)
{
	struct tui_opts o = { .timeline = pipeline_timeline(f->p), .store = f->store,
	    .source = "lo", .live = true, .saved = saved };

	tui_free(f->tui);
	f->tui = tui_new(&o);
	return f->tui;
}

/* What is not saved would be lost: that is said once. */
static void
test_quit_unsaved(void **state)
{
	struct fix f;

	(void)state;
	fix_init(&f, 80, 24);
	f.state.packets = 5;
	(void)live(&f, false);
	(void)fix_shows(&f, "lo");
	fix_keys(&f, "q");
	assert_true(fix_shows(&f, "is not saved"));
	fix_keys(&f, "j");
	assert_true(fix_shows(&f, "F1Help"));
	fix_keys(&f, "q");
	assert_false(tui_key(f.tui, 'q'));
	(void)live(&f, true);
	(void)fix_shows(&f, "lo");
	assert_false(tui_key(f.tui, 'q'));
	fix_fini(&f);
}

static void
test_prompt(void **state)
{
	static const struct {
		uint32_t keys[16];
		const char *want;
	} rows[] = {
		{ { 'a', 'b', 'c', TUI_ENTER }, "abc" },
		{ { 'a', 'b', TUI_BACKSPACE, 'c', TUI_ENTER }, "ac" },
		{ { 'a', 'b', 0x7f, 'c', TUI_ENTER }, "ac" },
		{ { 'a', 'b', TUI_LEFT, 'c', TUI_ENTER }, "acb" },
		{ { 'a', 'b', TUI_HOME, 'c', TUI_END, 'd', TUI_ENTER }, "cabd" },
		{ { 'a', 'b', TUI_HOME, TUI_DELETE, TUI_ENTER }, "b" },
		{ { 'a', 'b', TUI_HOME, TUI_RIGHT, TUI_RIGHT, TUI_RIGHT, 'c', '\r' }, "abc" },
		{ { 'a', ' ', 'b', 'W' - '@', 'c', TUI_ENTER }, "a c" },
		{ { 'a', 'b', TUI_LEFT, 'U' - '@', TUI_ENTER }, "b" },
		{ { 'a', 'b', TUI_LEFT, 'K' - '@', TUI_ENTER }, "a" },
		{ { 0xe9, 0x4e2d, 0x1f600, TUI_LEFT, TUI_BACKSPACE, TUI_ENTER },
		    "\u00e9\U0001f600" },
		{ { 0xe9, 0x4e2d, TUI_HOME, TUI_DELETE, TUI_ENTER }, "\u4e2d" },
		{ { 1, 2, 'q', 3 }, NULL },
		{ { 'q', TUI_F5, TUI_UP, TUI_ENTER }, "q" },
		{ { 'U' - '@', 'K' - '@', 'W' - '@', TUI_DELETE, TUI_LEFT, 'a', TUI_ENTER }, "a" },
		{ { 'a', TUI_ESC }, NULL },
		{ { 'a', TUI_BACKSPACE, TUI_BACKSPACE }, NULL },
	};
	struct fix f;
	char want[64];

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		start(&f, 80, 24);
		fix_keys(&f, "f");
		for (size_t k = 0; rows[i].keys[k]; k++)
			assert_true(tui_key(f.tui, rows[i].keys[k]));
		(void)snprintf(want, sizeof want, rows[i].want ? " with filter: %s\n" :
		    "Sessions  1\n", rows[i].want);
		assert_true(fix_shows(&f, want));
		fix_fini(&f);
	}
}

/* A kilobyte, and no more. */
static void
test_prompt_full(void **state)
{
	struct fix f;
	struct buf b;

	(void)state;
	start(&f, 20, 5);
	fix_keys(&f, "/");
	for (int i = 0; i < 3000; i++)
		assert_true(tui_key(f.tui, 0x4e2d));
	(void)fix_draw(&f, &b);
	buf_fini(&b);
	fix_keys(&f, "\n");
	(void)fix_draw(&f, &b);
	buf_fini(&b);
	fix_is_clean(&f);
	fix_fini(&f);
}

static void
test_time(void **state)
{
	static const struct {
		ns_t t, previous;
		const char *absolute, *relative, *delta;
	} rows[] = {
		{ 1000 * NS_S, 0, "00:16:40.000", "0.000", "+0.000" },
		{ 1001 * NS_S + 234567890, 1001 * NS_S, "00:16:41.234", "1.235", "+0.235" },
		{ 999 * NS_S, 1000 * NS_S, "00:16:39.000", "-1.000", "-1.000" },
		{ INT64_MAX, 1, NULL, NULL, "+9223372036.855" },
		{ INT64_MIN, INT64_MAX, "?", NULL, "?" },
	};
	struct ev e = { .type = EV_CONN, .t = 1000 * NS_S };
	char text[24];
	struct fix f;

	(void)state;
	fix_init(&f, 80, 24);
	tui_event(f.tui, &e);
	for (int mode = 0; mode < 3; mode++) {
		for (size_t i = 0; i < N_ROWS(rows); i++) {
			const char *want = mode == 0 ? rows[i].absolute :
			    mode == 1 ? rows[i].relative : rows[i].delta;

			tui_time(f.tui, rows[i].t, rows[i].previous, text);
			assert_true(strlen(text) <= 15);
			if (want)
				assert_string_equal(text, want);
		}
		fix_keys(&f, "w");
	}
	fix_fini(&f);
}

static void
test_match(void **state)
{
	static const struct {
		const char *text, *what;
		bool want;
	} rows[] = {
		{ "tools/List", "list", true }, { "tools/List", "List", true },
		{ "tools/list", "List", false }, { "", "a", false }, { "a", "", true },
		{ "", "", true }, { "aab", "ab", true }, { "ab", "abc", false },
		{ "a[b", "[", true }, { "a{b", "[", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++)
		assert_int_equal(tui_match(str_c(rows[i].text), str_c(rows[i].what)),
		    rows[i].want);
	assert_false(tui_match(STR_NONE, STR("a")));
}

/* The first line says the most important when there is little room. */
static void
test_first_line(void **state)
{
	static const struct {
		int w;
		bool dropped, paused;
		const char *want;
	} rows[] = {
		{ 120, false, false, "mcpdiag test.pcap  1 error  1 session  203 packets  all read"
		    "  time of day\n" },
		{ 120, true, true, "mcpdiag test.pcap  1 error  1 session  203 packets  7 dropped"
		    "  all read  time of day  PAUSED\n" },
		{ 50, true, true, "mcpdiag test.pcap  1 error  7 dropped  PAUSED\n" },
		{ 30, true, true, "mcpdiag test\u2026  1 error  PAUSED\n" },
		{ 12, true, true, "mcpdiag   P\u2026\n" },
	};
	struct fix f;

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		start(&f, rows[i].w, 24);
		if (rows[i].dropped)
			f.state.dropped = 7;
		if (rows[i].paused)
			fix_keys(&f, "p");
		assert_true(fix_shows(&f, rows[i].want));
		fix_fini(&f);
	}
}

static void
test_findings(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 80, 24);
	assert_non_null(tui_finding(f.tui, 0, 0));
	assert_string_equal(tui_finding(f.tui, 1, 0)->detector, "leapfrog");
	assert_null(tui_finding(f.tui, 2, 0));
	assert_null(tui_finding(f.tui, 0, 100));
	fix_fini(&f);
	/* While it runs: told once each, and again when there is more of it. */
	fix_init(&f, 80, 24);
	fix_play(&f, FILE_ONE, 190);
	assert_non_null(tui_finding(f.tui, 1, 0));
	fix_fini(&f);
}

/* Words for who watches stay until the next key. */
static void
test_say(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 80, 24);
	tui_tell(f.tui, "\033[2Jsomething happened");
	assert_true(fix_shows(&f, "\\x1b[2Jsomething happened"));
	fix_keys(&f, "j");
	assert_true(fix_shows(&f, "F1Help"));
	fix_fini(&f);
}

static void
test_highlight(void **state)
{
	struct fix f;
	struct buf b;
	int n = 0;

	(void)state;
	start(&f, 80, 24);
	fix_keys(&f, "/DRV\n/drv\n");
	(void)fix_draw(&f, &b);
	buf_fini(&b);
	for (int i = 0; i < 80 * 24; i++)
		n += (f.g.cells[i].style & ~STYLE_SELECTED) == STYLE_MATCH;
	assert_true(n > 0 && n % 3 == 0);
	fix_keys(&f, "\033");
	(void)fix_draw(&f, &b);
	buf_fini(&b);
	for (int i = 0; i < 80 * 24; i++)
		assert_int_not_equal(f.g.cells[i].style & ~STYLE_SELECTED, STYLE_MATCH);
	fix_fini(&f);
}

static void
test_mouse(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 80, 24);
	(void)fix_shows(&f, "drv");
	for (int y = -1; y < 26; y++)
		for (int x = -1; x < 82; x += 20)
			assert_true(tui_mouse(f.tui, TUI_CLICK, y, x));
	assert_true(tui_mouse(f.tui, TUI_WHEEL_DOWN, 3, 3));
	(void)fix_shows(&f, "F1");
	fix_fini(&f);
}

struct asked {
	enum tui_save what;
	uint32_t session;
	char path[64];
	bool ladder;
};

static bool
ask_save(void *arg, enum tui_save what, uint32_t session, struct str path,
    const struct buf *ladder, char *said, size_t size)
{
	struct asked *a = arg;

	*a = (struct asked){ .what = what, .session = session,
	    .ladder = ladder && str_find(buf_str(ladder), STR("initialize")) != SIZE_MAX };
	memcpy(a->path, path.p, path.n < 63 ? path.n : 63);
	(void)snprintf(said, size, "it is saved");
	return true;
}

/* The end of the name says what is saved, of the session that is seen. */
static void
test_save(void **state)
{
	static const struct {
		const char *keys, *path;
		enum tui_save what;
		uint32_t session;
	} rows[] = {
		{ "s\n", "session-1.pcapng", TUI_SAVE_PCAPNG, 1 },
		{ "s\025a.txt\n", "a.txt", TUI_SAVE_TEXT, 1 },
		{ "s\025a.json\n", "a.json", TUI_SAVE_JSON, 1 },
		{ "s\025a.ladder.txt\n", "a.ladder.txt", TUI_SAVE_LADDER, 1 },
		{ "s\025.txt\n", ".txt", TUI_SAVE_PCAPNG, 1 },
		{ ":w b.json\n", "b.json", TUI_SAVE_JSON, 1 },
		{ "!s\025x\n", "x", TUI_SAVE_PCAPNG, 0 },
		{ "s\025\n", "", TUI_SAVE_PCAPNG, 0 },
		{ "s\033", "", TUI_SAVE_PCAPNG, 0 },
	};
	struct asked a;
	struct fix f;
	struct tui_opts o = { .source = "t", .ask = { .arg = &a, .save = ask_save } };

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		a = (struct asked){ .what = TUI_SAVE_PCAPNG };
		fix_init(&f, 80, 24);
		tui_free(f.tui);
		o.timeline = pipeline_timeline(f.p);
		o.store = f.store;
		f.tui = tui_new(&o);
		fix_play(&f, FILE_ONE, 0);
		(void)fix_shows(&f, "drv");
		fix_keys(&f, rows[i].keys);
		assert_string_equal(a.path, rows[i].path);
		assert_int_equal(a.what, rows[i].what);
		assert_int_equal(a.session, rows[i].session);
		assert_int_equal(a.ladder, rows[i].what == TUI_SAVE_LADDER);
		if (rows[i].path[0])
			assert_true(fix_shows(&f, "it is saved"));
		fix_fini(&f);
	}
	start(&f, 80, 24);
	fix_keys(&f, "sx\n");
	assert_true(fix_shows(&f, "nothing can be saved here"));
	fix_fini(&f);
}

static void
test_command(void **state)
{
	static const struct {
		const char *keys, *want;
	} rows[] = {
		{ ":47\n", "Sessions \u25ba Ladder" },
		{ "!:47\n", "Sessions \u25ba Findings \u25ba Ladder" },
		{ ":47\n:59\n", "Sessions \u25ba Ladder" },
		{ ":99999999999\n", "nothing is kept of packet 99999999999" },
		{ ":frob\n", ":NUMBER goes to that packet" },
		{ ":\n", "F1Help" },
		{ ":q\033", "F1Help" },
	};
	struct fix f;

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		start(&f, 80, 24);
		(void)fix_shows(&f, "drv");
		fix_keys(&f, rows[i].keys);
		assert_true(fix_shows(&f, rows[i].want));
		fix_fini(&f);
	}
	start(&f, 80, 24);
	fix_keys(&f, ":q");
	assert_false(tui_key(f.tui, TUI_ENTER));
	(void)live(&f, false);
	(void)fix_shows(&f, "lo");
	fix_keys(&f, ":q\n");
	assert_true(fix_shows(&f, "is not saved"));
	(void)fix_keys(&f, "j:q!");
	assert_false(tui_key(f.tui, TUI_ENTER));
	fix_fini(&f);
}

/* Any keys in any order, at any size, while events come. */
static void
test_any_keys(void **state)
{
	static const uint32_t keys[] = { 'j', 'k', 'g', 'G', TUI_ENTER, TUI_ENTER, TUI_ENTER,
	    TUI_ESC, 'q', 'x', 'd', ' ', 'r', '/', 'f', 'n', 'N', '!', ']', '[', 'p', 'A', 'w',
	    'z', '<', '>', '+', '-', '0', TUI_TAB, TUI_LEFT, TUI_RIGHT, TUI_PGUP, TUI_PGDN,
	    TUI_UP, TUI_DOWN, TUI_HOME, TUI_END, '?', TUI_F1, TUI_F2, TUI_F8, 'u', '{', '}',
	    'e', 'a', ':', '4', '7', TUI_BACKSPACE, TUI_CLICK, TUI_WHEEL_UP, TUI_WHEEL_DOWN, 0x4e2d, 0x301,
	    TUI_BACKTAB, 'F' - '@', 'B' - '@', 'D' - '@', 'U' - '@', 1, 0, 0x10ffff };
	uint32_t seed = 1;
	struct buf b;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct fix f;

		fix_init(&f, 80, 24);
		fix_play(&f, FILE_ONE, round % 4 ? (uint32_t)(round * 10) : 0);
		for (int i = 0; i < 150; i++) {
			uint32_t key;

			seed = seed * 1664525 + 1013904223;
			key = keys[(seed >> 16) % N_ROWS(keys)];
			if (i % 50 == 49)
				grid_resize(&f.g, 1 + (int)(seed >> 8) % 200,
				    1 + (int)(seed >> 20) % 60);
			/* The first screen is left by some: stay. */
			(void)(key == TUI_CLICK ? tui_mouse(f.tui, key, (int)(seed >> 8) % 30,
			    (int)(seed >> 24) % 90) : tui_key(f.tui, key));
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
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_quit),
		cmocka_unit_test(test_quit_unsaved),
		cmocka_unit_test(test_prompt),
		cmocka_unit_test(test_prompt_full),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_first_line),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_say),
		cmocka_unit_test(test_highlight),
		cmocka_unit_test(test_mouse),
		cmocka_unit_test(test_save),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_any_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
