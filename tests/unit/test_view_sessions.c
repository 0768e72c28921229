/* The list of sessions. */
#include "tui_fix.h"

static void
session(struct fix *f, uint32_t n, ns_t t, const char *client, const char *server)
{
	char key[32];
	struct ev e = { .type = EV_SESSION, .t = t, .pkt = n, .session = n };

	(void)snprintf(key, sizeof key, "#%04u", n);
	e.u.session.key = str_c(key);
	e.u.session.transport = EV_STREAMABLE;
	e.u.session.revision = STR("2025-06-18");
	e.u.session.client = str_c(client);
	e.u.session.server = str_c(server);
	e.u.session.endpoint = STR("127.0.0.1:3000");
	pipeline_event(f->p, &e);
}

static void
stream(struct fix *f, uint32_t n, uint32_t ses, ns_t t, uint32_t lineage)
{
	struct ev e = { .type = EV_STREAM, .t = t, .pkt = n, .stream = n, .session = ses,
	    .dir = EV_S2C };

	e.u.stream.kind = EV_STANDALONE;
	e.u.stream.lineage = lineage;
	e.u.stream.requested = t;
	e.u.stream.delay_ms = -1;
	pipeline_event(f->p, &e);
}

static void
owner(struct fix *f, uint32_t n, uint32_t ses, ns_t t, enum ev_role to)
{
	struct ev e = { .type = EV_OWNER, .t = t, .pkt = n, .stream = n, .session = ses };

	e.u.owner.from = EV_CLOSED;
	e.u.owner.to = to;
	pipeline_event(f->p, &e);
}

static void
stream_end(struct fix *f, uint32_t n, uint32_t ses, ns_t t, enum ev_end end)
{
	struct ev e = { .type = EV_STREAM_END, .t = t, .pkt = n, .stream = n, .session = ses };

	e.u.stream_end.end = end;
	pipeline_event(f->p, &e);
}

#define T0 (1700000000 * NS_S)
#define LATEST ((ns_t)1 << 62)		/* that is read from an event file */

static void
three(struct fix *f, int w, int h)
{
	fix_init(f, w, h);
	session(f, 1, T0, "alpha/1", "server/9");
	session(f, 2, T0 + 2 * NS_S, "beta/2", "server/8");
	session(f, 3, T0 + 4 * NS_S, "gamma/3", "Server/7");
	stream(f, 1, 2, T0 + 5 * NS_S, 1);
	owner(f, 1, 2, T0 + 5 * NS_S, EV_PRESUMED);
	owner(f, 1, 2, T0 + 6 * NS_S, EV_PRIMARY);
	stream(f, 2, 2, T0 + 7 * NS_S, 2);
	owner(f, 2, 2, T0 + 7 * NS_S, EV_SHADOW);
	stream_end(f, 1, 2, T0 + 7 * NS_S + 400 * NS_US, EV_COMPLETE);
	owner(f, 1, 2, T0 + 7 * NS_S + 400 * NS_US, EV_CLOSED);
	owner(f, 2, 2, T0 + 7 * NS_S + 500 * NS_US, EV_PRIMARY);
	f->now = T0 + 60 * NS_S;
}

static void
test_wanted(void **state)
{
	static const int sizes[][2] = { { 80, 24 }, { 120, 40 }, { 200, 60 }, { 40, 10 } };
	struct fix f;
	char name[64];

	(void)state;
	for (size_t i = 0; i < N_ROWS(sizes); i++) {
		three(&f, sizes[i][0], sizes[i][1]);
		fix_keys(&f, "j");
		(void)snprintf(name, sizeof name, "sessions-%dx%d", sizes[i][0], sizes[i][1]);
		fix_wants(&f, name);
		fix_fini(&f);
	}
	fix_init(&f, 80, 24);
	fix_play(&f, "tests/tui/leapfrog.ndjson", 0);
	fix_wants(&f, "sessions-leapfrog");
	fix_fini(&f);
	fix_init(&f, 80, 24);
	f.g.ascii = true;
	fix_play(&f, "tests/tui/leapfrog.ndjson", 0);
	fix_wants(&f, "sessions-ascii");
	fix_fini(&f);
	fix_init(&f, 80, 24);
	fix_wants(&f, "sessions-none");
	pipeline_end(f.p);
	f.state.ended = true;
	fix_wants(&f, "sessions-none-end");
	fix_fini(&f);
}

/* Who has the channel, and what became of the one before. */
static void
test_change(void **state)
{
	static const struct {
		uint32_t until;
		const char *want;
	} rows[] = {
		{ 25, "no GET stream so far" },
		{ 26, "GET #2 is presumed to own the channel" },
		{ 47, "GET #2 owns the channel" },
		{ 59, "nobody owns the channel" },
		{ 64, "GET #5 took over, #2 ended 0.6 ms later" },
		{ 133, "GET #10 owns the channel" },
		{ 135, "GET #10 took over, #8 ended 0.9 ms later" },
	};
	struct fix f;

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		fix_init(&f, 120, 24);
		fix_play(&f, "tests/tui/leapfrog.ndjson", rows[i].until);
		assert_true(fix_shows(&f, rows[i].want));
		fix_fini(&f);
	}
	three(&f, 120, 24);
	stream_end(&f, 2, 2, T0 + 10 * NS_S, EV_CLIENT);
	owner(&f, 2, 2, T0 + 10 * NS_S, EV_CLOSED);
	fix_keys(&f, "j");
	assert_true(fix_shows(&f, "nobody owns the channel"));
	assert_true(fix_shows(&f, "none, #2"));
	fix_fini(&f);
}

/* Order of the three on the screen, as digits. */
static void
order(struct fix *f, char text[8])
{
	struct buf b;
	size_t n = 0;

	(void)fix_draw(f, &b);
	for (size_t i = 0; i + 2 < b.n && n < 7; i++) {
		if (memcmp(b.p + i, "\n    ", 5) != 0)
			continue;
		if (memcmp(b.p + i + 5, "alpha", 5) == 0)
			text[n++] = '1';
		if (memcmp(b.p + i + 5, "beta/", 5) == 0)
			text[n++] = '2';
		if (memcmp(b.p + i + 5, "gamma", 5) == 0)
			text[n++] = '3';
	}
	text[n] = '\0';
	buf_fini(&b);
}

static void
test_sort_and_filter(void **state)
{
	static const struct {
		const char *keys, *want;
	} rows[] = {
		{ "", "123" },
		{ "z", "321" },
		{ "zz", "123" },
		{ "<", "231" },			/* the last event */
		{ "<z", "132" },
		{ "<<<<<", "231" },		/* open streams */
		{ ">>>", "123" },		/* client */
		{ ">>>z", "321" },
		{ "fbet\n", "2" },
		{ "fserver\n", "123" },
		{ "fServer\n", "3" },		/* a capital makes it exact */
		{ "fnothing\n", "" },
		{ "fbet\nf\n", "123" },
		{ "fbet\n\033", "123" },
		{ "f\033", "123" },
		{ "fprimary\n", "2" },
	};
	char text[8];
	struct fix f;

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		three(&f, 80, 24);
		fix_keys(&f, rows[i].keys);
		order(&f, text);
		if (strcmp(text, rows[i].want) != 0) {
			print_message("\"%s\": order %s, want %s\n", rows[i].keys, text,
			    rows[i].want);
			fail();
		}
		fix_fini(&f);
	}
}

/* The cursor stays on its session, whatever moves around it. */
static void
test_cursor(void **state)
{
	struct fix f;
	struct buf b;

	(void)state;
	three(&f, 80, 24);
	(void)fix_draw(&f, &b);
	buf_fini(&b);
	fix_keys(&f, "j");
	assert_true(fix_shows(&f, "\u2500\u2500 #0002"));
	fix_keys(&f, "z");
	assert_true(fix_shows(&f, "\u2500\u2500 #0002"));
	fix_keys(&f, "/gam\n");
	assert_true(fix_shows(&f, "\u2500\u2500 #0003"));
	fix_keys(&f, "/serv\n");
	assert_true(fix_shows(&f, "\u2500\u2500 #0002"));
	fix_keys(&f, "n");
	assert_true(fix_shows(&f, "\u2500\u2500 #0001"));
	fix_keys(&f, "n");
	assert_true(fix_shows(&f, "\u2500\u2500 #0003"));
	fix_keys(&f, "N");
	assert_true(fix_shows(&f, "\u2500\u2500 #0001"));
	fix_keys(&f, "/nosuch\n");
	assert_true(fix_shows(&f, "not found: nosuch"));
	assert_true(fix_shows(&f, "\u2500\u2500 #0001"));
	fix_fini(&f);
}

/* Paused, rows come and go unseen. */
static void
test_pause(void **state)
{
	struct fix f;

	(void)state;
	three(&f, 80, 24);
	assert_true(fix_shows(&f, "Sessions  3"));
	fix_keys(&f, "p");
	assert_true(fix_shows(&f, "PAUSED"));
	session(&f, 4, T0 + 70 * NS_S, "delta/4", "server/6");
	assert_false(tui_dirty(f.tui));
	assert_true(fix_shows(&f, "Sessions  3"));
	fix_keys(&f, "p");
	assert_true(fix_shows(&f, "Sessions  4"));
	assert_true(fix_shows(&f, "delta/4"));
	fix_fini(&f);
}

static void
test_hostile(void **state)
{
	static const int sizes[][2] = { { 80, 24 }, { 120, 40 }, { 200, 60 }, { 300, 100 },
	    { 20, 5 }, { 1, 1 }, { 10, 3 } };
	char *name = xmalloc((1U << 20) + 1);
	struct buf b;

	(void)state;
	memset(name, '\033', 1U << 20);
	name[1U << 20] = '\0';
	for (size_t i = 0; i < N_ROWS(sizes); i++) {
		struct fix f;

		fix_init(&f, sizes[i][0], sizes[i][1]);
		session(&f, UINT32_MAX, LATEST, name, "\u4e2d\u6587\u0301\u202e");
		session(&f, 1, 0, "\x9b" "2J\xff\xfe", "");
		stream(&f, UINT32_MAX, UINT32_MAX, 0, 0);
		owner(&f, UINT32_MAX, UINT32_MAX, LATEST, EV_PRIMARY);
		owner(&f, 7, UINT32_MAX, LATEST, EV_PRIMARY);
		owner(&f, 0, 0, 0, EV_PRIMARY);
		stream_end(&f, UINT32_MAX, UINT32_MAX, LATEST, EV_LOST);
		for (const char *k = "_jkw<<<<z>>GgpAw?"; *k; k++) {
			char one[2] = { *k, '\0' };

			fix_keys(&f, one);
			(void)fix_draw(&f, &b);
			fix_is_clean(&f);
			buf_fini(&b);
		}
		fix_fini(&f);
	}
	free(name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wanted),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_sort_and_filter),
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
