/* view_findings: the list, and the finding of the cursor below it. */
#include "tui_body.h"

static void
open_it(struct fix *f, const char *name, int w, int h)
{
	char path[64];

	(void)snprintf(path, sizeof path, "tests/tui/%s.ndjson", name);
	fix_init(f, w, h);
	fix_play(f, path, 0);
	body_enter(f);
	fix_keys(f, "!");
}

static void
test_screens(void **state)
{
	static const struct {
		const char *name;
		int w, h;
		const char *keys, *want;
	} rows[] = {
		{ "leapfrog", 80, 24, "", "findings-leapfrog-80x24" },
		{ "leapfrog", 120, 40, "j", "findings-leapfrog-120x40" },
		{ "leapfrog", 200, 60, "", "findings-leapfrog-200x60" },
		{ "leapfrog", 20, 5, "", "findings-leapfrog-20x5" },
		{ "leapfrog", 40, 10, "", "findings-leapfrog-40x10" },
		{ "leapfrog", 80, 24, "\tG", "findings-leapfrog-detail" },
		{ "leapfrog", 80, 24, "w\tG", "findings-leapfrog-relative" },
		{ "orphan", 80, 24, "", "findings-orphan-80x24" },
		{ "clean", 80, 24, "", "findings-clean-80x24" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct fix f;

		open_it(&f, rows[i].name, rows[i].w, rows[i].h);
		for (const char *k = rows[i].keys; *k; k++) {
			struct buf b;

			body_print(&f, &b);
			buf_fini(&b);
			assert_true(tui_key(f.tui, *k == '\t' ? TUI_TAB : (uint32_t)*k));
		}
		body_wants(&f, rows[i].want);
		fix_is_clean(&f);
		fix_fini(&f);
	}
}

static void
test_keys(void **state)
{
	struct fix f;

	(void)state;
	open_it(&f, "leapfrog", 80, 24);
	assert_int_equal(body_cursor(&f), 0);
	assert_true(body_has(&f, "2 listeners take the channel from each other: 7"));
	fix_keys(&f, "j");
	assert_int_equal(body_cursor(&f), 1);
	assert_true(body_has(&f, "fix       Server: replay strictly after Last-Event-ID."));
	fix_keys(&f, "G");
	assert_int_equal(body_cursor(&f), 3);
	assert_true(body_has(&f, "streams 2, 3, 4, 7, packets 26 to 195"));
	/* Another finding is shown from its first row on. */
	assert_true(tui_key(f.tui, TUI_TAB));
	fix_keys(&f, "jjj");
	assert_true(tui_key(f.tui, TUI_BACKTAB));
	fix_keys(&f, "g");
	assert_true(tui_key(f.tui, TUI_TAB));
	tui_draw(f.tui, &f.g, &f.state, f.now);
	assert_true(grid_at(&f.g, 2 + 5, 40)->style & STYLE_SELECTED);
	assert_false(grid_at(&f.g, 2 + 0, 40)->style & STYLE_SELECTED);
	fix_fini(&f);
}

/* Enter opens the ladder: at the first evidence, or at that of the row. */
static void
test_ladder(void **state)
{
	struct fix f;
	int y;

	(void)state;
	open_it(&f, "leapfrog", 80, 50);
	fix_keys(&f, "\n");
	assert_true(fix_shows(&f, "Ladder"));
	y = body_cursor(&f);
	assert_true(y >= 0);
	assert_true(body_has(&f, " 57 "));
	fix_keys(&f, "q");
	/* tui_show_finding() may have left only the session behind it. */
	if (!fix_shows(&f, "Findings"))
		fix_keys(&f, "!");
	assert_true(tui_key(f.tui, TUI_TAB));
	tui_draw(f.tui, &f.g, &f.state, f.now);
	fix_keys(&f, "/packet 107\n\n");
	assert_true(fix_shows(&f, "Findings"));
	assert_true(fix_shows(&f, "Ladder"));
	y = body_cursor(&f);
	assert_true(y >= 0);
	{
		char text[16] = "";

		for (int x = 0; x < 8; x++)
			text[x] = (char)grid_at(&f.g, BODY_HEAD + y, 14 + x)->ch;
		assert_non_null(strstr(text, "107"));
	}
	fix_keys(&f, "q");
	assert_true(fix_shows(&f, "evidence"));
	/* A row without a packet says so. */
	fix_keys(&f, "/looks like\n\n");
	assert_true(fix_shows(&f, "no packet belongs to this row"));
	fix_fini(&f);
}

static void
test_search(void **state)
{
	struct fix f;

	(void)state;
	open_it(&f, "leapfrog", 80, 24);
	tui_draw(f.tui, &f.g, &f.state, f.now);
	fix_keys(&f, "/contract\n");
	assert_int_equal(body_cursor(&f), 2);
	fix_keys(&f, "n");
	assert_int_equal(body_cursor(&f), 3);
	fix_keys(&f, "nN");
	assert_int_equal(body_cursor(&f), 3);
	fix_keys(&f, "/nonsense\n");
	assert_int_equal(body_cursor(&f), 3);
	fix_fini(&f);
}

/* As they are told, before the end; and of all sessions. */
static void
test_told_so_far(void **state)
{
	struct fix f;

	(void)state;
	fix_init(&f, 80, 24);
	fix_play(&f, "tests/tui/leapfrog.ndjson", 150);
	body_enter(&f);
	fix_keys(&f, "!");
	assert_true(body_has(&f, "listeners take the channel"));
	fix_fini(&f);
	fix_init(&f, 120, 24);
	fix_play(&f, "tests/tui/leapfrog.ndjson", 0);
	tui_draw(f.tui, &f.g, &f.state, f.now);
	fix_keys(&f, "!");
	assert_true(fix_shows(&f, "of all sessions"));
	assert_true(body_has(&f, "7x #a8fac9641f"));
	fix_fini(&f);
}

static void
test_mouse(void **state)
{
	struct fix f;

	(void)state;
	open_it(&f, "leapfrog", 80, 24);
	tui_draw(f.tui, &f.g, &f.state, f.now);
	assert_true(tui_mouse(f.tui, TUI_CLICK, 2 + 2, 5));
	assert_int_equal(body_cursor(&f), 2);
	assert_true(tui_mouse(f.tui, TUI_CLICK, 2 + 7, 5));
	tui_draw(f.tui, &f.g, &f.state, f.now);
	assert_true(grid_at(&f.g, 2 + 7, 40)->style & STYLE_SELECTED);
	fix_fini(&f);
}

/* Findings with text off the wire, of any size. */
static void
test_hostile(void **state)
{
	static const int sizes[][2] = { { 80, 24 }, { 300, 100 }, { 20, 5 }, { 3, 4 }, { 1, 1 },
	    { 41, 13 } };
	static char big[1 << 20];
	struct str texts[] = {
		STR("\033[2J\033]0;x\007\r\n\x9b\x7f"), STR("\xe5\xae\xbd\xe5\xad\x97 \xe5\xae\xbd"),
		STR("\xff\xfe\xc3"), STR(""), STR_NONE, { big, sizeof big }, STR("%s%n   %d"),
		STR("e\xcc\x81\xe2\x80\xae"),
	};
	static const uint32_t alike[] = { UINT32_MAX, 0 };

	(void)state;
	memset(big, 'x', sizeof big);
	for (size_t i = 0; i < N_ROWS(texts); i++) {
		struct finding one = { .detector = "leapfrog", .variant = i % 2 ? "v" : NULL,
		    .severity = (enum severity)(i % 3), .session = i % 2 ? UINT32_MAX : 0,
		    .title = texts[i], .why = texts[i], .fix = texts[i], .reference = "x",
		    .count = UINT64_MAX, .n_evidence = FINDING_MAX_EVIDENCE,
		    .n_facts = FINDING_MAX_FACTS, .consequence_of = UINT32_MAX,
		    .streams = alike, .n_streams = 2, .alike = alike, .sessions_alike = 2 };
		struct ev e = { .type = EV_FINDING, .u.finding = &one };
		struct fix f;

		for (uint32_t k = 0; k < FINDING_MAX_EVIDENCE; k++)
			one.evidence[k] = (struct evidence){ { k % 2 ? INT64_MAX : INT64_MIN,
			    UINT32_MAX - k }, texts[i] };
		for (uint32_t k = 0; k < FINDING_MAX_FACTS; k++)
			one.facts[k] = (struct fact){ .name = "fact", .type = k % 4,
			    .num = k % 2 ? 1e300 : -1e-300, .text = texts[i] };
		fix_init(&f, 80, 24);
		tui_event(f.tui, &e);
		fix_keys(&f, "!");
		for (size_t k = 0; k < N_ROWS(sizes); k++) {
			struct buf b;

			grid_resize(&f.g, sizes[k][0], sizes[k][1]);
			for (const char *key = "jGg\tGgjw\t"; *key; key++) {
				assert_true(tui_key(f.tui, *key == '\t' ? TUI_TAB :
				    (uint32_t)*key));
				(void)fix_draw(&f, &b);
				buf_fini(&b);
				fix_is_clean(&f);
			}
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
		cmocka_unit_test(test_ladder),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_told_so_far),
		cmocka_unit_test(test_mouse),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
