/* The ladder on the screen: every key, every size, hostile strings. */
#include "../../src/tui/ladder.h"

#include "tui_fix.h"

#define LEAPFROG "tests/tui/leapfrog.ndjson"

static void
start(struct fix *f, int w, int h, uint32_t pkt)
{
	fix_init(f, w, h);
	fix_play(f, LEAPFROG, 0);
	tui_push(f->tui, view_ladder_new(f->tui, 1, pkt));
}

/* The text of the row that the cursor is on. */
static const char *
selected(struct fix *f)
{
	static char text[2048];
	struct grid row;
	struct buf b;

	(void)fix_draw(f, &b);
	buf_clear(&b);
	text[0] = '\0';
	for (int y = 0; y < f->g.h; y++) {
		if (!(grid_at(&f->g, y, 0)->style & STYLE_SELECTED))
			continue;
		row = f->g;
		row.h = 1;
		row.cells = grid_at(&f->g, y, 0);
		grid_print(&row, &b);
		assert_int_equal(text[0], 0);
		(void)snprintf(text, sizeof text, "%.*s", (int)b.n, b.p);
	}
	buf_fini(&b);
	return text;
}

static bool
on(struct fix *f, const char *what)
{
	bool yes = strstr(selected(f), what) != NULL;

	if (!yes)
		print_message("the cursor is on: %s", selected(f));
	return yes;
}

static void
test_screens(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 80, 24, 0);
	fix_wants(&f, "ladder-80x24");
	fix_fini(&f);
	start(&f, 120, 40, 57);
	fix_wants(&f, "ladder-finding-120x40");
	fix_keys(&f, "x");
	fix_wants(&f, "ladder-detail-120x40");
	fix_fini(&f);
	start(&f, 50, 12, 57);
	fix_wants(&f, "ladder-50x12");
	fix_fini(&f);
	start(&f, 30, 8, 57);
	fix_wants(&f, "ladder-30x8");
	fix_fini(&f);
}

static void
test_moving(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 24, 0);
	assert_true(on(&f, "POST initialize id=0"));
	fix_keys(&f, "k");
	assert_true(on(&f, "POST initialize id=0"));
	fix_keys(&f, "jj");
	assert_true(on(&f, "#1 priming event"));
	(void)tui_key(f.tui, TUI_DOWN);
	(void)tui_key(f.tui, TUI_DOWN);
	(void)tui_key(f.tui, TUI_UP);
	assert_true(on(&f, "#1 result id=0"));
	fix_keys(&f, "G");
	assert_true(on(&f, "#14 stream open when the capture ended"));
	fix_keys(&f, "j");
	assert_true(on(&f, "#14 stream open when the capture ended"));
	fix_keys(&f, "g");
	assert_true(on(&f, "POST initialize"));
	(void)tui_key(f.tui, TUI_PGDN);
	(void)tui_key(f.tui, TUI_PGUP);
	assert_true(on(&f, "POST initialize"));
	(void)tui_key(f.tui, 'F' - '@');
	assert_false(on(&f, "POST initialize"));
	(void)tui_key(f.tui, 'B' - '@');
	(void)tui_key(f.tui, 'D' - '@');
	(void)tui_key(f.tui, 'U' - '@');
	assert_true(on(&f, "POST initialize"));
	(void)tui_key(f.tui, TUI_END);
	(void)tui_key(f.tui, TUI_HOME);
	assert_true(on(&f, "POST initialize"));
	(void)tui_key(f.tui, TUI_WHEEL_DOWN);
	assert_true(on(&f, "200 text/event-stream #1"));
	/* The mouse: a row, then the same again opens it. */
	(void)tui_mouse(f.tui, TUI_CLICK, 5, 20);
	assert_true(on(&f, "#1 priming event"));
	(void)tui_mouse(f.tui, TUI_CLICK, 5, 20);
	assert_true(fix_shows(&f, "Message"));
	fix_fini(&f);
}

static void
test_opening(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 24, 31);
	assert_true(on(&f, "POST tools/list id=1"));
	fix_keys(&f, "\n");
	assert_true(fix_shows(&f, "Ladder \xe2\x96\xba Message"));
	fix_keys(&f, "q");
	assert_true(on(&f, "POST tools/list id=1"));
	(void)tui_key(f.tui, TUI_RIGHT);
	assert_true(fix_shows(&f, "Ladder \xe2\x96\xba Message"));
	fix_fini(&f);
}

/* Stateless traffic has no session, and a ladder all the same. */
static void
test_stateless(void **state)
{
	struct fix f;

	(void)state;
	fix_init(&f, 100, 24);
	fix_read(&f, "captures/modern-2026-rmcp3.1.4-ts2.4.pcap", 0);
	assert_true(fix_shows(&f, "no session"));
	fix_keys(&f, "x");
	assert_true(fix_shows(&f, "POST subscriptions/listen id=\"listen:0\""));
	fix_wants(&f, "ladder-stateless-100x24");
	fix_fini(&f);
}

/* A change of owner is told in the words of the session's screen, also when it
 * comes while the ladder is open. */
static void
test_takeover(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 40, 57);
	assert_true(fix_shows(&f, "GET #5 took over, #2 ended 0.6 ms later"));
	fix_fini(&f);
	fix_init(&f, 100, 40);
	tui_push(f.tui, view_ladder_new(f.tui, 1, 0));
	fix_play(&f, LEAPFROG, 0);
	fix_keys(&f, "/#5 took over\n");
	assert_true(on(&f, "GET #5 took over, #2 ended 0.6 ms later"));
	fix_fini(&f);
}

static void
test_detail(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 24, 31);
	fix_keys(&f, "x");
	assert_true(on(&f, "POST /mcp tools/list id=1"));
	assert_true(fix_shows(&f, "in detail"));
	fix_keys(&f, "jx");
	assert_true(on(&f, "POST tools/list id=1"));
	fix_fini(&f);
}

static void
test_search(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 24, 0);
	fix_keys(&f, "/poke\n");
	assert_true(on(&f, "id=10 \"poke\""));
	fix_keys(&f, "n");
	assert_true(on(&f, "id=11 \"poke\""));
	fix_keys(&f, "NN");
	assert_true(on(&f, "id=14 \"poke\""));		/* around the end */
	fix_keys(&f, "/nothing like it\n");
	assert_true(fix_shows(&f, "not found"));
	assert_true(on(&f, "id=14 \"poke\""));
	fix_fini(&f);
}

static void
test_marks(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 24, 43);
	fix_keys(&f, "d");
	assert_true(fix_shows(&f, "mark a row with Space"));
	fix_keys(&f, " ");
	assert_true(on(&f, "200 text/event-stream #4"));	/* on to the next */
	fix_keys(&f, "kd");
	assert_true(fix_shows(&f, "the marked row itself"));
	fix_keys(&f, "/id=11 \n d");
	assert_true(fix_shows(&f, "Diff"));
	fix_keys(&f, "q");
	fix_wants(&f, "ladder-marked-100x24");
	/* A third mark: the older one goes; a mark again: no mark. */
	fix_keys(&f, "g");
	(void)selected(&f);
	fix_keys(&f, "  ");
	assert_true(fix_shows(&f, "\xe2\x99\xa6\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 "
	    "POST initialize"));
	fix_keys(&f, "g ");
	assert_non_null(strstr(selected(&f), "\xe2\x99\xa6"));
	fix_keys(&f, "k");
	assert_null(strstr(selected(&f), "\xe2\x99\xa6"));
	fix_fini(&f);
}

/* Follow: the newest stays in sight; moving up ends it; pausing stands still. */
static void
test_follow(void **state)
{
	struct ev e = { .type = EV_ANOMALY, .session = 1, .pkt = 9000 };
	struct fix f;

	(void)state;
	start(&f, 100, 24, 0);
	fix_keys(&f, "A");
	assert_true(on(&f, "#14 stream open"));
	e.u.note.name = STR("first");
	fix_tap(&f, &e);
	assert_true(on(&f, "first"));
	fix_keys(&f, "k");
	e.u.note.name = STR("second");
	fix_tap(&f, &e);
	assert_true(on(&f, "#14 stream open"));
	fix_keys(&f, "G");
	assert_true(on(&f, "second"));
	fix_keys(&f, "p");
	(void)selected(&f);
	e.u.note.name = STR("third");
	fix_tap(&f, &e);
	assert_true(on(&f, "second"));
	fix_keys(&f, "j");
	assert_true(on(&f, "second"));
	fix_keys(&f, "p");
	assert_true(on(&f, "third"));
	fix_fini(&f);
}

static void
test_times(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 24, 43);
	assert_true(strncmp(selected(&f), "16:35:40.161", 12) == 0);
	fix_keys(&f, "w");
	assert_true(strncmp(selected(&f), "1.00", 4) == 0);
	fix_keys(&f, "w");
	assert_true(strncmp(selected(&f), "+0.750", 6) == 0);
	fix_fini(&f);
}

static const struct {
	int w, h;
} sizes[] = {
	{ 80, 24 }, { 120, 40 }, { 200, 60 }, { 300, 100 }, { 20, 5 }, { 1, 1 }, { 3, 2 },
	{ 10, 30 }, { 1000, 500 },
};

static void
test_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(sizes); i++) {
		struct fix f;

		start(&f, sizes[i].w, sizes[i].h, 57);
		for (const char *k = "xGgjkbx dxG"; *k; k++) {
			(void)tui_key(f.tui, (uint32_t)*k);
			(void)selected(&f);
			fix_is_clean(&f);
		}
		fix_fini(&f);
	}
}

/* A store that keeps less than the file has. */
static void
with_small_store(struct fix *f)
{
	struct limits lim;
	struct tui_opts to = { .source = "test.pcap" };

	limits_init(&lim);
	lim.store = 64 << 10;
	tui_free(f->tui);
	store_free(f->store);
	f->store = store_new(&lim);
	to.timeline = pipeline_timeline(f->p);
	to.store = f->store;
	f->tui = tui_new(&to);
}

/* A session of nothing, one that is not there, and one whose items go away
 * under the cursor. */
static void
test_gone(void **state)
{
	struct fix f;
	char big[4096];
	struct ev e = { .type = EV_COMMENT, .session = 2, .pkt = 300 };

	(void)state;
	fix_init(&f, 100, 24);
	tui_push(f.tui, view_ladder_new(f.tui, UINT32_MAX, 7));
	assert_true(fix_shows(&f, "Nothing to show yet"));
	fix_keys(&f, "jkGgx d\n/x\nnN");
	fix_fini(&f);

	fix_init(&f, 100, 24);
	with_small_store(&f);
	fix_play(&f, LEAPFROG, 0);
	memset(big, 'c', sizeof big);
	e.u.comment.text = str_of(big, sizeof big);
	for (int i = 0; i < 5; i++)
		fix_tap(&f, &e);
	tui_push(f.tui, view_ladder_new(f.tui, 1, 0));
	assert_true(fix_shows(&f, "earlier items are gone (--limit store=)"));
	fix_wants(&f, "ladder-gone-100x24");
	fix_keys(&f, "jjk");
	(void)selected(&f);
	for (int i = 0; i < 100; i++)
		fix_tap(&f, &e);
	assert_true(fix_shows(&f, "Nothing of this session is kept any more"));
	fix_keys(&f, "jkGg d\n");
	fix_fini(&f);
}

/* What comes from the wire never leaves its row, nor says anything to the
 * terminal. */
static void
test_hostile(void **state)
{
	static const char *const names[] = {
		"\x1b[2J\x1b]0;x\x07", "\xff\xfe\x80", "\xe4\xb8\xad\xe6\x96\x87 wide",
		"e\xcc\x81 combining", "\xe2\x80\xae right to left", "a\nb\r\nc\td", "",
	};
	static const uint32_t ids[] = { 0, 1, UINT32_MAX };
	char *big = xmalloc(1 << 20);

	(void)state;
	memset(big, 0x1b, 1 << 20);
	for (size_t i = 0; i <= N_ROWS(names); i++) {
		struct str s = i < N_ROWS(names) ? str_c(names[i]) : str_of(big, 1 << 20);
		struct buf b;
		struct fix f;

		fix_init(&f, 80, 24);
		for (int type = 0; type < EV_N_TYPES; type++) {
			struct ev e = { .type = (enum ev_type)type, .session = 1 };

			if (type == EV_FINDING)
				continue;
			e.x = e.conn = e.stream = e.pkt = ids[type % 3];
			for (const struct ev_field *d = ev_fields(e.type); d->name; d++)
				if (d->type == EVT_STR)
					memcpy((char *)&e + d->offset, &s, sizeof s);
			store_text(f.store, s, s.n, false);
			fix_tap(&f, &e);
		}
		tui_push(f.tui, view_ladder_new(f.tui, 1, 0));
		for (const char *k = "xjjjjjjjjjjjjjjjjjjj\n rr\033g\n\033"; *k; k++) {
			(void)tui_key(f.tui, *k == '\n' ? TUI_ENTER : *k == '\033' ? TUI_ESC :
			    (uint32_t)*k);
			(void)fix_draw(&f, &b);
			buf_fini(&b);
			fix_is_clean(&f);
		}
		fix_fini(&f);
	}
	free(big);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_screens),
		cmocka_unit_test(test_moving),
		cmocka_unit_test(test_opening),
		cmocka_unit_test(test_stateless),
		cmocka_unit_test(test_takeover),
		cmocka_unit_test(test_detail),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests_name("view_ladder", tests, NULL, NULL);
}
