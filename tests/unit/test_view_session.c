/* view_session: lanes and changes of owner, as cells. */
#include "tui_body.h"

static void
open_it(struct fix *f, const char *name, uint32_t until, int w, int h)
{
	char path[64];

	(void)snprintf(path, sizeof path, "tests/tui/%s.ndjson", name);
	fix_init(f, w, h);
	fix_play(f, path, until);
	body_enter(f);
}

static bool
same_as(struct fix *f, const struct buf *a)
{
	struct buf b;
	bool same;

	body_print(f, &b);
	same = str_eq(buf_str(a), buf_str(&b));
	buf_fini(&b);
	return same;
}

static void
test_screens(void **state)
{
	static const struct {
		const char *name;
		uint32_t until;
		int w, h;
		const char *keys, *want;
	} rows[] = {
		{ "leapfrog", 0, 80, 24, "", "session-leapfrog-80x24" },
		{ "leapfrog", 0, 120, 40, "", "session-leapfrog-120x40" },
		{ "leapfrog", 0, 200, 60, "", "session-leapfrog-200x60" },
		{ "leapfrog", 0, 40, 10, "", "session-leapfrog-40x10" },
		{ "leapfrog", 0, 20, 5, "", "session-leapfrog-20x5" },
		{ "leapfrog", 109, 80, 24, "", "session-leapfrog-packet-109" },
		{ "leapfrog", 0, 80, 24, "w", "session-leapfrog-relative" },
		{ "leapfrog", 0, 80, 24, "ww", "session-leapfrog-delta" },
		{ "leapfrog", 0, 80, 24, "++", "session-leapfrog-zoom" },
		{ "leapfrog-3", 0, 80, 24, "", "session-leapfrog-3-80x24" },
		{ "orphan", 0, 80, 24, "", "session-orphan-80x24" },
		{ "orphan", 50, 80, 24, "", "session-orphan-packet-50" },
		{ "shadow", 0, 80, 24, "", "session-shadow-80x24" },
		{ "clean", 0, 80, 24, "", "session-clean-80x24" },
		{ "legacy", 0, 80, 24, "", "session-legacy-80x24" },
		/* No session: from the empty list to what there is. */
		{ "modern", 0, 80, 24, "", "session-modern-80x24" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct fix f;

		open_it(&f, rows[i].name, rows[i].until, rows[i].w, rows[i].h);
		fix_keys(&f, rows[i].keys);
		body_wants(&f, rows[i].want);
		fix_is_clean(&f);
		fix_fini(&f);
	}
}

static void
test_ascii(void **state)
{
	static const char *const names[] = { "leapfrog", "orphan" };
	char want[64];

	(void)state;
	for (size_t i = 0; i < N_ROWS(names); i++) {
		struct fix f;

		open_it(&f, names[i], 0, 80, 24);
		f.g.ascii = true;
		(void)snprintf(want, sizeof want, "session-%s-ascii", names[i]);
		body_wants(&f, want);
		for (int k = 0; k < f.g.w * f.g.h; k++)
			assert_true(f.g.cells[k].ch < 0x7f);
		fix_fini(&f);
	}
}

/* Opened at the start or at the end, the screen is the same: what events tell
 * and what timeline and store have kept are one. */
static void
test_early_is_late(void **state)
{
	static const char *const names[] = { "leapfrog", "leapfrog-3", "orphan", "shadow",
	    "clean", "legacy", "modern" };

	(void)state;
	for (size_t i = 0; i < N_ROWS(names); i++) {
		struct fix early, late;
		struct buf a, b;
		char path[64];

		open_it(&late, names[i], 0, 160, 50);
		(void)snprintf(path, sizeof path, "tests/tui/%s.ndjson", names[i]);
		fix_init(&early, 160, 50);
		body_play(&early, path, 0, 10);		/* the session is there */
		body_enter(&early);
		body_play(&early, path, 10, UINT32_MAX);
		body_print(&early, &a);
		body_print(&late, &b);
		(void)buf_addc(&a, 0);
		(void)buf_addc(&b, 0);
		assert_string_equal(a.p, b.p);
		buf_fini(&a);
		buf_fini(&b);
		fix_fini(&early);
		fix_fini(&late);
	}
}

static void
test_keys(void **state)
{
	struct fix f;
	struct buf a, b;

	(void)state;
	open_it(&f, "leapfrog", 0, 80, 24);
	/* Lanes first, the cursor where the owner is. */
	assert_int_equal(body_cursor(&f), 7);
	fix_keys(&f, "k");
	assert_int_equal(body_cursor(&f), 5);
	assert_true(body_has(&f, "#13 resumed, packet 176: held \"2\", sent \"2\"; ended by the server"));
	fix_keys(&f, "g");
	assert_int_equal(body_cursor(&f), 3);
	assert_true(body_has(&f, "streams that answered POSTs: 7"));
	fix_keys(&f, "G");
	assert_int_equal(body_cursor(&f), 9);
	assert_true(body_has(&f, "GETs that got no stream: 1, the last one 500"));
	/* A key that it has no use for is not taken. */
	fix_keys(&f, "p");
	body_print(&f, &a);

	/* The changes: the newest first, then up. */
	assert_true(tui_key(f.tui, TUI_TAB));
	body_wants(&f, "session-leapfrog-changes");
	assert_true(tui_key(f.tui, TUI_UP));
	assert_true(tui_key(f.tui, TUI_UP));
	tui_draw(f.tui, &f.g, &f.state, f.now);
	assert_true(grid_at(&f.g, 2 + 18, 40)->style & STYLE_SELECTED);
	assert_true(tui_key(f.tui, TUI_HOME));
	tui_draw(f.tui, &f.g, &f.state, f.now);
	assert_true(grid_at(&f.g, 2 + 13, 40)->style & STYLE_SELECTED);
	assert_true(tui_key(f.tui, TUI_BACKTAB));
	body_print(&f, &b);
	assert_true(str_eq(buf_str(&a), buf_str(&b)));
	buf_fini(&a);
	buf_fini(&b);
	fix_fini(&f);
}

static void
test_time_axis(void **state)
{
	struct fix f;
	struct buf all, in;

	(void)state;
	open_it(&f, "leapfrog", 0, 80, 24);
	body_print(&f, &all);
	/* In and out again: the steps are halves and doubles. */
	fix_keys(&f, "+");
	assert_false(same_as(&f, &all));
	fix_keys(&f, "-0");
	assert_true(same_as(&f, &all));
	buf_fini(&all);
	fix_keys(&f, "+++");
	body_print(&f, &in);
	assert_true(tui_key(f.tui, TUI_LEFT));
	assert_false(same_as(&f, &in));
	assert_true(tui_key(f.tui, TUI_RIGHT));
	assert_true(same_as(&f, &in));
	fix_keys(&f, "hl");
	assert_true(same_as(&f, &in));
	/* Ends of the axis: nothing falls off. */
	for (int i = 0; i < 100; i++)
		fix_keys(&f, "+");
	body_print(&f, &all);
	fix_is_clean(&f);
	buf_fini(&all);
	for (int i = 0; i < 200; i++)
		fix_keys(&f, "-");
	body_print(&f, &all);
	buf_fini(&all);
	for (int i = 0; i < 200; i++) {
		assert_true(tui_key(f.tui, TUI_LEFT));
		fix_keys(&f, i % 2 ? "-" : "+");
	}
	body_print(&f, &all);
	buf_fini(&all);
	for (int i = 0; i < 200; i++)
		assert_true(tui_key(f.tui, TUI_RIGHT));
	fix_keys(&f, "0");
	body_wants(&f, "session-leapfrog-80x24");
	buf_fini(&in);
	fix_fini(&f);
}

/* With follow on the newest stays at the right edge, whatever comes. */
static void
test_follow(void **state)
{
	struct fix f;
	struct buf a;

	(void)state;
	fix_init(&f, 80, 24);
	body_play(&f, "tests/tui/leapfrog.ndjson", 0, 150);
	body_enter(&f);
	fix_keys(&f, "++A");
	body_play(&f, "tests/tui/leapfrog.ndjson", 150, UINT32_MAX);
	assert_true(body_has(&f, "GET #14 took over"));
	body_wants(&f, "session-leapfrog-follow");
	/* Who looks at the past is left there. */
	body_print(&f, &a);
	assert_true(tui_key(f.tui, TUI_LEFT));
	assert_false(same_as(&f, &a));
	fix_keys(&f, "A");
	assert_true(same_as(&f, &a));
	buf_fini(&a);
	fix_fini(&f);
}

/* A session that is over stays in sight, however late it is. */
static void
test_over(void **state)
{
	struct fix f;

	(void)state;
	open_it(&f, "clean", 0, 80, 24);
	fix_keys(&f, "A");
	f.now += 60 * NS_S;
	assert_true(body_has(&f, "#2"));
	assert_true(body_has(&f, "\xe2\x96\xa0"));	/* the server's end of it */
	fix_keys(&f, "++++");
	f.now += 3600 * NS_S;
	body_wants(&f, "session-clean-over");
	fix_fini(&f);
}

/* Paused, the screen stands still though events come. */
static void
test_pause(void **state)
{
	struct fix f;
	struct buf a;

	(void)state;
	fix_init(&f, 80, 24);
	body_play(&f, "tests/tui/leapfrog.ndjson", 0, 142);
	body_enter(&f);
	fix_keys(&f, "p");
	body_print(&f, &a);
	body_play(&f, "tests/tui/leapfrog.ndjson", 142, UINT32_MAX);
	assert_true(same_as(&f, &a));
	fix_keys(&f, "p");
	assert_false(same_as(&f, &a));
	assert_true(body_has(&f, "GET #14 took over"));
	buf_fini(&a);
	fix_fini(&f);
}

static void
test_search(void **state)
{
	struct fix f;

	(void)state;
	open_it(&f, "leapfrog", 0, 80, 24);
	fix_keys(&f, "g/closed\n");
	assert_int_equal(body_cursor(&f), 5);
	fix_keys(&f, "/post\n");
	assert_int_equal(body_cursor(&f), 3);
	assert_true(tui_key(f.tui, TUI_TAB));
	fix_keys(&f, "/#8 took\n");
	tui_draw(f.tui, &f.g, &f.state, f.now);
	assert_true(grid_at(&f.g, 2 + 16, 79)->style & STYLE_SELECTED);
	fix_keys(&f, "n");
	assert_true(grid_at(&f.g, 2 + 16, 79)->style & STYLE_SELECTED);
	fix_fini(&f);
}

/* ---- events made by hand ---- */

/* Past the rules: to them no such times come. */
static void
give(struct fix *f, const struct ev *e)
{
	timeline_event(pipeline_timeline(f->p), e);
	fix_tap(f, e);
}

static void
give_session(struct fix *f, struct str key)
{
	struct ev e = { .type = EV_SESSION, .t = NS_S, .pkt = 1, .session = 1 };

	e.u.session.key = e.u.session.client = e.u.session.server = key;
	e.u.session.revision = e.u.session.endpoint = key;
	give(f, &e);
}

/* A GET stream n of a lineage, and its end when that is not before. */
static void
give_stream(struct fix *f, uint32_t n, uint32_t lineage, ns_t from, ns_t to, struct str cursor)
{
	struct ev e = { .type = EV_STREAM, .t = from, .pkt = n, .session = 1, .stream = n,
	    .x = n, .conn = n, .dir = EV_S2C };

	e.u.stream.kind = EV_RESUMED;
	e.u.stream.lineage = lineage;
	e.u.stream.cursor = cursor;
	e.u.stream.requested = from;
	e.u.stream.request_pkt = n;
	e.u.stream.delay_ms = INT64_MAX;
	e.u.stream.previous = n;
	give(f, &e);
	e = (struct ev){ .type = EV_OWNER, .t = from, .pkt = n, .session = 1, .stream = n };
	e.u.owner.from = EV_CLOSED;
	e.u.owner.to = n % 3 ? EV_PRIMARY : EV_SHADOW;
	e.u.owner.cause = n;
	give(f, &e);
	e = (struct ev){ .type = EV_SSE, .t = from, .pkt = n, .session = 1, .stream = n };
	e.u.sse.id = cursor;
	e.u.sse.dispatched = true;
	e.u.sse.retry_ms = INT64_MAX;
	give(f, &e);
	if (to < from)
		return;
	e = (struct ev){ .type = EV_STREAM_END, .t = to, .pkt = n, .session = 1, .stream = n };
	give(f, &e);
	e = (struct ev){ .type = EV_OWNER, .t = to, .pkt = n, .session = 1, .stream = n };
	e.u.owner.to = EV_CLOSED;
	e.u.owner.by = EV_BY_CLOSE;
	give(f, &e);
}

/* Nothing of another session. */
static void
test_others(void **state)
{
	struct ev other = { .type = EV_SSE, .t = 2 * NS_S, .pkt = 9, .session = 2, .stream = 2 };
	struct fix f;
	struct buf a;

	(void)state;
	fix_init(&f, 80, 24);
	give_session(&f, STR("#one"));
	give_stream(&f, 1, 1, NS_S, 3 * NS_S, STR("7"));
	body_enter(&f);
	f.now = 3 * NS_S;
	body_print(&f, &a);
	other.u.sse.dispatched = true;
	give(&f, &other);
	other.type = EV_OWNER;
	other.stream = 2;
	other.u.owner.to = EV_PRIMARY;
	give(&f, &other);
	assert_true(same_as(&f, &a));
	buf_fini(&a);
	fix_fini(&f);
}

static const int sizes[][2] = { { 80, 24 }, { 120, 40 }, { 200, 60 }, { 300, 100 },
    { 20, 5 }, { 1, 1 }, { 3, 4 }, { 37, 9 }, { 1000, 20 } };

/* Every key at every size; nothing but harmless cells. */
static void
every_key(struct fix *f)
{
	static const char keys[] = "jkgGhl+-0w\tjkgG\tww";
	struct buf b;

	for (size_t i = 0; i < N_ROWS(sizes); i++) {
		grid_resize(&f->g, sizes[i][0], sizes[i][1]);
		for (size_t k = 0; k < sizeof keys - 1; k++) {
			assert_true(tui_key(f->tui, keys[k] == '\t' ? TUI_TAB :
			    (uint32_t)keys[k]));
			(void)fix_draw(f, &b);
			buf_fini(&b);
			fix_is_clean(f);
		}
		for (int y = -1; y <= f->g.h; y++)
			assert_true(tui_mouse(f->tui, TUI_CLICK, y, 1));
	}
}

static void
test_hostile(void **state)
{
	static char big[1 << 20];
	static const ns_t times[] = { 0, -1, INT64_MIN, INT64_MAX, NS_S, 1LL << 62 };
	static const uint32_t ids[] = { 1, 2, 5, UINT32_MAX, UINT32_MAX - 1 };
	struct str strings[] = {
		STR("\033[31mred\033]0;t\007 \r\n\x7f\x9b"), STR("\xe5\xae\xbd\xe5\xad\x97"),
		STR("e\xcc\x81\xe2\x80\xae\xf0\x9f\x98\x80"), STR(""), STR_NONE,
		{ big, sizeof big }, STR("\xff\xfe%s%n"),
	};

	(void)state;
	memset(big, 'x', sizeof big);
	for (size_t s = 0; s < N_ROWS(strings); s++) {
		struct fix f;

		fix_init(&f, 80, 24);
		give_session(&f, strings[s]);
		body_enter(&f);
		for (size_t i = 0; i < N_ROWS(ids); i++)
			for (size_t t = 0; t < N_ROWS(times); t++)
				give_stream(&f, ids[i] - (uint32_t)t, ids[i], times[t],
				    times[(t + s) % N_ROWS(times)], strings[s]);
		every_key(&f);
		f.now = INT64_MAX;
		every_key(&f);
		f.now = INT64_MIN;
		every_key(&f);
		fix_fini(&f);
	}
}

/* What does not fit is dropped, and the rest shows. */
static void
test_many(void **state)
{
	struct fix f;
	uint32_t n = 0;

	(void)state;
	fix_init(&f, 200, 60);
	give_session(&f, STR("#many"));
	body_enter(&f);
	/* 5,000 listeners, four streams each: more than the timeline keeps. */
	for (uint32_t round = 0; round < 4; round++)
		for (uint32_t l = 1; l <= 5000; l++) {
			ns_t t = NS_S + ++n * NS_MS;

			give_stream(&f, n, l, t, t + NS_MS / 2, STR("7"));
		}
	assert_true(body_has(&f, "#20000 L5000"));
	assert_true(body_has(&f, "GET #20000 took the free channel"));
	fix_keys(&f, "g");
	assert_true(body_has(&f, "#15001 L1 "));
	fix_keys(&f, "0");
	assert_true(body_has(&f, "#15001 L1 "));
	/* So many that the older half of lanes and changes goes between two
	 * screens: the cursors, at their ends, are still somewhere. */
	for (int round = 0; round < 12; round++) {
		assert_true(tui_key(f.tui, TUI_TAB));
		fix_keys(&f, "G");
		(void)body_cursor(&f);
		for (uint32_t l = 0; l < 11000; l++) {
			ns_t t = NS_S + ++n * NS_MS;

			give_stream(&f, n, n, t, t + NS_MS / 2, STR("7"));
		}
		fix_keys(&f, "\nq/zzz\nN");
		assert_true(body_cursor(&f) >= 0);
	}
	fix_keys(&f, "g");
	/* Opened anew: from what timeline and store still know. */
	fix_keys(&f, "q\n");
	assert_true(body_has(&f, "#152000"));
	fix_fini(&f);
}

/* The packet of the row that the cursor of the ladder is on. */
static int
ladder_packet(struct fix *f)
{
	char text[16] = "";
	int y;

	assert_true(fix_shows(f, "Ladder"));
	y = body_cursor(f);
	assert_true(y >= 0);
	for (int x = 0; x < 8; x++)
		text[x] = (char)grid_at(&f->g, BODY_HEAD + y, 12 + x)->ch;
	return (int)strtol(text, NULL, 10);
}

/* Enter: where the lane's last stream was asked for, where the owner changed. */
static void
test_ladder(void **state)
{
	struct fix f;

	(void)state;
	open_it(&f, "leapfrog", 0, 80, 24);
	fix_keys(&f, "\n");
	assert_int_equal(ladder_packet(&f), 181);
	fix_keys(&f, "qk\n");
	assert_int_equal(ladder_packet(&f), 169);
	fix_keys(&f, "q");
	assert_true(tui_key(f.tui, TUI_TAB));
	fix_keys(&f, "kk\n");
	assert_int_equal(ladder_packet(&f), 145);
	fix_keys(&f, "q");
	assert_true(tui_key(f.tui, TUI_TAB));
	fix_keys(&f, "G\n");
	assert_int_equal(ladder_packet(&f), 71);
	fix_fini(&f);
}

/* A click moves the cursor, a second one opens. */
static void
test_mouse(void **state)
{
	struct fix f;

	(void)state;
	open_it(&f, "leapfrog", 0, 80, 24);
	assert_true(tui_mouse(f.tui, TUI_CLICK, 2 + 5, 30));
	assert_int_equal(body_cursor(&f), 5);
	assert_true(body_has(&f, "#13 resumed"));
	assert_true(tui_mouse(f.tui, TUI_CLICK, 2 + 15, 30));
	tui_draw(f.tui, &f.g, &f.state, f.now);
	assert_true(grid_at(&f.g, 2 + 15, 79)->style & STYLE_SELECTED);
	fix_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_screens),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_early_is_late),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_time_axis),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_over),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_mouse),
		cmocka_unit_test(test_ladder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
