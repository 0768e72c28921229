/* select: events in, and what is picked of them. */
#include "mcpdiag/select.h"

#include <stdio.h>

#include "util.h"

#define T0 (1700000000 * NS_S)
#define LIT(s) { s, sizeof(s) - 1 }		/* of a static str */

/* Two sessions: 1 has a GET stream (1) from 1 to 60 s without a byte in it, a
 * refused GET and a finding that 2 has alike; 2 has the stream of a POST (2). */
static const struct ev events[] = {
	{ .type = EV_SESSION, .t = T0 + NS_S, .pkt = 10, .session = 1,
	  .u.session = { .key = LIT("#aaaa000000"), .client = LIT("cli/1") } },
	{ .type = EV_REQUEST, .t = T0 + NS_S, .pkt = 11, .session = 1, .x = 1,
	  .u.req.method = LIT("GET") },
	{ .type = EV_STREAM, .t = T0 + NS_S, .pkt = 12, .session = 1, .x = 1, .stream = 1,
	  .u.stream.kind = EV_STANDALONE },
	{ .type = EV_REQUEST, .t = T0 + 2 * NS_S, .pkt = 20, .session = 1, .x = 2,
	  .u.req.method = LIT("GET") },
	{ .type = EV_RESPONSE, .t = T0 + 2 * NS_S, .pkt = 21, .session = 1, .x = 2,
	  .u.resp.status = 409 },
	{ .type = EV_SESSION, .t = T0 + 3 * NS_S, .pkt = 30, .session = 2,
	  .u.session = { .key = LIT("#bbbb000000"), .client = LIT("cli/1") } },
	{ .type = EV_REQUEST, .t = T0 + 3 * NS_S, .pkt = 31, .session = 2, .x = 3,
	  .u.req.method = LIT("POST") },
	{ .type = EV_MESSAGE, .t = T0 + 3 * NS_S, .pkt = 31, .session = 2, .x = 3,
	  .dir = EV_C2S, .u.msg.method = LIT("tools/call") },
	{ .type = EV_STREAM, .t = T0 + 3 * NS_S, .pkt = 32, .session = 2, .x = 3, .stream = 2,
	  .u.stream.kind = EV_POST_RESPONSE },
	{ .type = EV_SSE, .t = T0 + 3 * NS_S, .pkt = 33, .session = 2, .x = 3, .stream = 2,
	  .dir = EV_S2C },
	{ .type = EV_STREAM_END, .t = T0 + 4 * NS_S, .pkt = 34, .session = 2, .x = 3,
	  .stream = 2, .dir = EV_S2C },
	{ .type = EV_STREAM_END, .t = T0 + 60 * NS_S, .pkt = 90, .session = 1, .x = 1,
	  .stream = 1, .dir = EV_S2C },
};

static const uint32_t of_finding[] = { 1 }, alike[] = { 2 };
static const struct finding found = { .n = 1, .detector = "idle-cut", .session = 1,
	.severity = SEV_WARNING, .streams = of_finding, .n_streams = 1,
	.first = { T0 + NS_S, 12 }, .last = { T0 + 4 * NS_S, 34 },
	.sessions_alike = 1, .alike = alike };

static const struct {
	const char *expr;
	unsigned events;		/* bits, as in the array */
	const char *shown;		/* findings / sessions / streams */
} rows[] = {
	{ "session == aaaa", 0x81f, "1/1/1" },
	{ "session == bbbb", 0x7e0, "1/2/2" },
	{ "client == cli", 0xfff, "1/1 2/1 2" },
	{ "status == 409", 0x010, "0/1/" },
	{ "status >= 400 and session == bbbb", 0, "0//" },
	{ "method == GET", 0x81e, "1/1 2/1" },
	{ "method == tools/call", 0x780, "0/2/2" },
	{ "kind == standalone", 0x804, "1/1 2/1" },
	{ "kind == post-response", 0x700, "0/2/2" },
	{ "stream == 2", 0x700, "0/2/2" },
	{ "detector == idle-cut", 0, "1/1 2/1" },
	{ "detector == leapfrog", 0, "0//" },
	{ "severity >= warning and session == bbbb", 0, "1/2/" },
	{ "time == 30..40", 0, "0/1/1" },
	{ "time > 61", 0, "0//" },
	{ "packet == 50", 0, "0/1/1" },
	{ "packet == 33", 0x200, "1/1 2/1 2" },
	{ "!(detector == idle-cut)", 0xfff, "0/1 2/1 2" },
};

static unsigned
feed(struct timeline *tl, struct select *s)
{
	struct ev final = { .type = EV_FINDING, .flags = EVF_FINAL, .t = T0 + 60 * NS_S,
		.pkt = 90, .session = 1 };
	struct ev end = { .type = EV_END, .t = T0 + 60 * NS_S, .pkt = 90 };
	unsigned bits = 0;

	for (unsigned i = 0; i < N_ROWS(events); i++) {
		timeline_event(tl, &events[i]);
		bits |= (unsigned)select_event(s, &events[i], T0) << i;
	}
	final.u.finding = &found;
	timeline_event(tl, &final);
	(void)select_event(s, &final, T0);
	end.u.total.first = T0;
	end.u.total.last = T0 + 60 * NS_S;
	timeline_event(tl, &end);
	assert_true(select_event(s, &end, T0));
	return bits;
}

static void
print_shown(const struct timeline *tl, const struct select_sums *n, char out[64])
{
	int k = snprintf(out, 64, "%u/", n->findings);

	for (uint32_t i = 0; timeline_session(tl, i); i++)
		k += snprintf(out + k, 64 - (size_t)k, "%s%u", i ? " " : "",
		    timeline_session(tl, i)->n);
	k += snprintf(out + k, 64 - (size_t)k, "/");
	for (uint32_t i = 0; timeline_stream(tl, i); i++)
		k += snprintf(out + k, 64 - (size_t)k, "%s%u", i ? " " : "",
		    timeline_stream(tl, i)->n);
}

static void
every_row(void **state)
{
	struct limits lim;

	(void)state;
	limits_init(&lim);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct timeline *tl = timeline_new(&lim);
		struct select_sums n;
		struct errmsg em;
		struct select *s;
		struct where *w;
		uint32_t column;
		unsigned bits;
		char shown[64];

		w = where_new(rows[i].expr, NULL, &column, &em);
		assert_non_null(w);
		s = select_new(w, tl);
		bits = feed(tl, s);
		select_end(s, &n);
		print_shown(tl, &n, shown);
		if (bits != rows[i].events || strcmp(shown, rows[i].shown) != 0)
			fail_msg("%s: %#x %s", rows[i].expr, bits, shown);
		assert_int_equal(n.all_findings, 1);
		assert_int_equal(n.all_sessions, 2);
		assert_int_equal(n.all_streams, 2);
		assert_null(timeline_session(tl, 5));
		assert_null(timeline_stream(tl, 5));
		/* What is not shown is still found by its number. */
		assert_non_null(timeline_session_n(tl, 2));
		assert_non_null(timeline_stream_n(tl, 2));
		select_free(s);
		where_free(w);
		timeline_free(tl);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(every_row) };

	return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
