/* ladder: what makes a row, what it says, and the ladder as text. */
#include "../../src/tui/ladder.h"

#include "tui_fix.h"

struct bench {
	struct store *store;
	struct timeline *tl;
	struct ladder l;
	struct buf b;
};

static void
bench_init(struct bench *b)
{
	struct limits lim;

	limits_init(&lim);
	*b = (struct bench){ .store = store_new(&lim), .tl = timeline_new(&lim) };
	b->l = (struct ladder){ .store = b->store, .timeline = b->tl, .session = 1 };
	buf_init(&b->b, 1 << 20);
}

static void
bench_fini(struct bench *b)
{
	store_free(b->store);
	timeline_free(b->tl);
	buf_fini(&b->b);
}

static struct ev
ev(enum ev_type type, uint32_t x, enum ev_dir dir)
{
	return (struct ev){ .type = type, .t = NS_S, .pkt = x * 10, .conn = 1, .x = x,
	    .session = 1, .dir = dir };
}

static void
request(struct bench *b, uint32_t x, const char *method, const char *cursor)
{
	struct ev e = ev(EV_REQUEST, x, EV_C2S);

	e.u.req.method = str_c(method);
	e.u.req.target = STR("/mcp");
	e.u.req.cursor = str_c(cursor);
	store_event(b->store, &e);
}

static void
message(struct bench *b, uint32_t x, enum ev_dir dir, bool sse, enum ev_msg kind,
    const char *method)
{
	struct ev e = ev(EV_MESSAGE, x, dir);

	e.u.msg.kind = kind;
	e.u.msg.method = str_c(method);
	e.u.msg.id = kind == EV_MSG_NOTIFICATION ? STR_NONE : STR("\"a\"");
	e.u.msg.sse = sse;
	e.stream = sse ? x : 0;
	store_event(b->store, &e);
}

static void
simple(struct bench *b, enum ev_type type, uint32_t x, enum ev_dir dir)
{
	struct ev e = ev(type, x, dir);

	e.stream = type == EV_SSE || type == EV_COMMENT || type == EV_STREAM_END ? x : 0;
	if (type == EV_SSE)
		e.u.sse.retry_ms = -1;
	store_event(b->store, &e);
}

static void
response(struct bench *b, uint32_t x, uint32_t status)
{
	struct ev e = ev(EV_RESPONSE, x, EV_S2C);

	e.u.resp.status = status;
	store_event(b->store, &e);
}

/* All rows, forwards, each "no way text"; and the same ones backwards. */
static const char *
rows(struct bench *b)
{
	struct ladder_row r;
	uint64_t no, seen[64], n = 0;

	buf_clear(&b->b);
	buf_init(&r.text, 4096);
	for (no = ladder_first(&b->l); no; no = ladder_next(&b->l, no)) {
		assert_true(ladder_row(&b->l, no, &r));
		assert_true(n < 64);
		seen[n++] = no;
		(void)buf_fmt(&b->b, "%u%c", (unsigned)no, "><-"[r.way]);
		(void)buf_adds(&b->b, buf_str(&r.text));
		(void)buf_addc(&b->b, '\n');
		assert_int_equal(ladder_row_of(&b->l, no), no);
	}
	for (no = ladder_last(&b->l); no; no = ladder_prev(&b->l, no))
		assert_int_equal(no, seen[--n]);
	assert_int_equal(n, 0);
	(void)buf_addc(&b->b, '\0');
	buf_fini(&r.text);
	return b->b.p;
}

/* A request and its message are one row, and so on; what is between belongs to
 * another exchange. */
static void
test_parts(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	assert_string_equal(rows(&b), "");
	request(&b, 1, "POST", NULL);
	request(&b, 2, "GET", "7");
	message(&b, 1, EV_C2S, false, EV_MSG_REQUEST, "ping");		/* 3 */
	message(&b, 1, EV_C2S, false, EV_MSG_NOTIFICATION, "n/2");
	simple(&b, EV_REQUEST_END, 1, EV_C2S);				/* 5 */
	response(&b, 1, 200);
	response(&b, 2, 404);
	message(&b, 1, EV_S2C, false, EV_MSG_RESPONSE, NULL);		/* 8 */
	simple(&b, EV_RESPONSE_END, 1, EV_S2C);
	simple(&b, EV_SSE, 3, EV_S2C);					/* 10 */
	simple(&b, EV_COMMENT, 3, EV_S2C);
	message(&b, 3, EV_S2C, true, EV_MSG_NOTIFICATION, "n/x");
	simple(&b, EV_SSE, 3, EV_S2C);					/* 13 */
	assert_string_equal(rows(&b), "1>POST ping id=\"a\"\n2>GET Last-Event-ID: 7\n4>n/2\n"
	    "6<200 result id=\"a\"\n7<404\n10<#3 n/x\n13<#3 no data\n");
	b.l.detail = true;
	assert_string_equal(rows(&b), "1>POST /mcp ping id=\"a\"\n2>GET /mcp Last-Event-ID: 7\n"
	    "4>n/2\n5>request complete\n6<200 result id=\"a\"\n7<404\n"
	    "9<response ended by the server\n10<#3 n/x\n11<#3 :\n13<#3 no data\n");
	b.l.detail = false;
	assert_int_equal(ladder_row_of(&b.l, 3), 1);
	assert_int_equal(ladder_row_of(&b.l, 5), 4);
	assert_int_equal(ladder_row_of(&b.l, 12), 10);
	assert_int_equal(ladder_message(&b.l, 1), 3);
	assert_int_equal(ladder_message(&b.l, 2), 2);
	assert_int_equal(ladder_message(&b.l, 6), 8);
	assert_int_equal(ladder_find_pkt(&b.l, 20), 2);
	assert_int_equal(ladder_find_pkt(&b.l, 1), 1);
	assert_int_equal(ladder_find_pkt(&b.l, 500), 13);
	/* Paused: nothing newer is there. */
	b.l.limit = 7;
	assert_string_equal(rows(&b), "1>POST ping id=\"a\"\n2>GET Last-Event-ID: 7\n4>n/2\n"
	    "6<200\n7<404\n");
	bench_fini(&b);
}

/* The other rows, and what they say. */
static void
test_words(void **state)
{
	static const struct {
		enum ev_end end;
		const char *want;
	} ends[] = {
		{ EV_COMPLETE, "<#4 stream ended by the server, 1 event, 2 keep-alives" },
		{ EV_TRUNCATED, "<#4 stream cut off by the server, 1 event, 2 keep-alives" },
		{ EV_CLIENT, ">#4 stream left by the client, 1 event, 2 keep-alives" },
		{ EV_LOST, "-#4 stream ended, the capture does not show how, 1 event, "
		    "2 keep-alives" },
		{ EV_OPEN, "-#4 stream open when the capture ended, 1 event, 2 keep-alives" },
	};
	static const struct {
		enum ev_role from, to;
		enum ev_by by;
		uint32_t cause;
		const char *want;
	} owners[] = {
		{ EV_CLOSED, EV_PRESUMED, EV_BY_OPEN, 4, "-#4 is presumed owner" },
		{ EV_PRIMARY, EV_ORPHAN, EV_BY_OPEN, 5, "-#4 is an orphan: cut off from the "
		    "channel (was primary), since #5 opened" },
		{ EV_SHADOW, EV_PRESUMED, EV_BY_CLOSE, 3, "-#4 is presumed owner (was shadow), "
		    "since #3 ended" },
		{ EV_PRESUMED, EV_PRIMARY, EV_BY_MESSAGE, 0, "-#4 is primary: owns the channel "
		    "(was presumed), shown by a message" },
		{ EV_PRESUMED, EV_REQUEST_STREAM, EV_BY_RESPONSE, 0, "-#4 belongs to one "
		    "request (was presumed), shown by a response" },
	};
	struct bench b;

	(void)state;
	for (size_t i = 0; i < N_ROWS(ends) + N_ROWS(owners); i++) {
		struct ev e = ev(i < N_ROWS(ends) ? EV_STREAM_END : EV_OWNER, 4, EV_S2C);
		const char *want;

		e.stream = 4;
		if (i < N_ROWS(ends)) {
			e.u.stream_end.end = ends[i].end;
			e.u.stream_end.events = 1;
			e.u.stream_end.comments = 2;
			want = ends[i].want;
		} else {
			e.u.owner.from = owners[i - N_ROWS(ends)].from;
			e.u.owner.to = owners[i - N_ROWS(ends)].to;
			e.u.owner.by = owners[i - N_ROWS(ends)].by;
			e.u.owner.cause = owners[i - N_ROWS(ends)].cause;
			want = owners[i - N_ROWS(ends)].want;
		}
		bench_init(&b);
		store_event(b.store, &e);
		(void)rows(&b);
		assert_int_equal(b.b.p[0], '1');
		b.b.p[b.b.n - 2] = '\0';
		assert_string_equal(b.b.p + 1, want);
		bench_fini(&b);
	}
}

/* Every type of event is a row or none, also with nothing in it. */
static void
test_all_types(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	for (int type = 0; type < EV_N_TYPES; type++) {
		struct ev e = { .type = (enum ev_type)type, .session = 1 };

		store_event(b.store, &e);
	}
	(void)rows(&b);
	b.l.detail = true;
	(void)rows(&b);
	bench_fini(&b);
}

/* Hidden keep-alives never make the walk long: some are rows. */
static void
test_many_comments(void **state)
{
	enum { N = 50000 };
	struct bench b;
	uint32_t n = 0;

	(void)state;
	bench_init(&b);
	for (uint32_t i = 0; i < N; i++)
		simple(&b, EV_COMMENT, 1, EV_S2C);
	for (uint64_t no = ladder_first(&b.l); no; no = ladder_next(&b.l, no)) {
		if (n)
			assert_int_equal(no % 512, 511);
		if (++n == N / 512)
			break;
	}
	assert_int_equal(n, N / 512);
	bench_fini(&b);
}

static void
test_print(void **state)
{
	struct fix f;
	struct buf b, small;

	(void)state;
	fix_init(&f, 80, 24);
	fix_play(&f, "tests/tui/leapfrog.ndjson", 0);
	buf_init(&b, 1 << 20);
	ladder_print(f.tui, 1, false, &b);
	assert_true(str_find(buf_str(&b), STR("POST initialize id=0 ")) != SIZE_MAX);
	assert_true(str_find(buf_str(&b), STR("#14 stream open when the capture ended")) !=
	    SIZE_MAX);
	assert_true(str_find(buf_str(&b), STR("longer than")) == SIZE_MAX);
	/* All sessions, each under its name; and what does not fit is said. */
	buf_clear(&b);
	ladder_print(f.tui, 0, false, &b);
	assert_true(str_pre(buf_str(&b), STR("Session #a8fac9641f\nTime")));
	buf_init(&small, 4096);
	ladder_print(f.tui, 1, true, &small);
	assert_true(str_find(buf_str(&small), STR("(and so on: it is longer than is saved)\n")) !=
	    SIZE_MAX);
	buf_fini(&small);
	buf_fini(&b);
	fix_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_all_types),
		cmocka_unit_test(test_many_comments),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests_name("ladder", tests, NULL, NULL);
}
