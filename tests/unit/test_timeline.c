/* timeline: what it counts, keeps, and lets go of first. */
#include <stdio.h>

#include "mcpdiag/timeline.h"
#include "util.h"

static struct limits
small_limits(uint64_t streams, uint64_t sessions)
{
	struct limits lim;

	limits_init(&lim);
	lim.streams = streams;
	lim.sessions = sessions;
	return lim;
}

static void
session(struct timeline *tl, uint32_t n, ns_t t, const char *key)
{
	struct ev e = { .type = EV_SESSION, .t = t, .session = n };

	e.u.session.key = str_c(key);
	e.u.session.transport = EV_STREAMABLE;
	timeline_event(tl, &e);
}

static void
request(struct timeline *tl, uint32_t x, uint32_t n, uint32_t ses, ns_t t,
    const char *method)
{
	struct ev e = { .type = EV_REQUEST, .t = t, .x = x, .session = ses };

	e.u.req.n = n;
	e.u.req.method = str_c(method);
	timeline_event(tl, &e);
}

static void
stream(struct timeline *tl, uint32_t n, uint32_t ses, enum ev_kind kind, ns_t t)
{
	struct ev e = { .type = EV_STREAM, .t = t, .stream = n, .session = ses,
	    .x = n, .conn = 3, .pkt = n * 10 };

	e.u.stream.kind = kind;
	e.u.stream.delay_ms = -1;
	timeline_event(tl, &e);
}

static void
stream_end(struct timeline *tl, uint32_t n, uint32_t ses, enum ev_end end,
    uint32_t flags, ns_t t)
{
	struct ev e = { .type = EV_STREAM_END, .t = t, .stream = n, .session = ses,
	    .flags = flags };

	e.u.stream_end.end = end;
	timeline_event(tl, &e);
}

static void
counts_follow_the_rules(void **state)
{
	struct limits lim = small_limits(100, 100);
	struct timeline *tl = timeline_new(&lim);
	const struct tl_counts *c = timeline_counts(tl);
	struct ev e = { .type = EV_SSE, .stream = 1 };

	(void)state;
	request(tl, 1, 0, 0, 1, "POST");
	stream(tl, 1, 0, EV_POST_RESPONSE, 2);
	e.u.sse.retry_ms = 3000;
	timeline_event(tl, &e);			/* only retry: not dispatched */
	e.u.sse.retry_ms = -1;
	e.u.sse.dispatched = true;
	timeline_event(tl, &e);
	e.u.sse.dispatched = false;
	e.u.sse.tail = true;
	timeline_event(tl, &e);
	e = (struct ev){ .type = EV_COMMENT, .stream = 1 };
	timeline_event(tl, &e);
	for (int k = 0; k <= EV_MSG_INVALID; k++) {
		e = (struct ev){ .type = EV_MESSAGE };
		e.u.msg.kind = (enum ev_msg)k;
		timeline_event(tl, &e);
	}
	/* A stream whose kind is learnt later is told again. */
	stream(tl, 2, 0, EV_STANDALONE, 3);
	stream(tl, 2, 0, EV_LEGACY, 3);
	e = (struct ev){ .type = EV_END };
	e.u.total.tcp_connections = 7;
	timeline_event(tl, &e);
	assert_int_equal(c->tcp_connections, 7);
	assert_int_equal(c->http_exchanges, 1);
	assert_int_equal(c->sse_streams, 2);
	assert_int_equal(c->sse_by_kind[EV_POST_RESPONSE], 1);
	assert_int_equal(c->sse_by_kind[EV_STANDALONE], 0);
	assert_int_equal(c->sse_by_kind[EV_LEGACY], 1);
	assert_int_equal(c->sse_events, 1);
	assert_int_equal(c->sse_comments, 1);
	for (int k = 0; k <= EV_MSG_INVALID; k++)
		assert_int_equal(c->jsonrpc[k], 1);
	assert_int_equal(timeline_stream_n(tl, 1)->events, 1);
	assert_int_equal(timeline_stream_n(tl, 1)->retry_ms, 3000);
	assert_int_equal(timeline_stream_n(tl, 1)->xn, 0);
	assert_int_equal(timeline_stream_n(tl, 2)->xn, TL_NO_XN);
	timeline_free(tl);
}

/* An initialize belongs to the session that its answer names. */
static void
an_exchange_is_counted_once(void **state)
{
	struct limits lim = small_limits(100, 100);
	struct timeline *tl = timeline_new(&lim);
	struct ev e = { .type = EV_RESPONSE, .t = 30, .x = 9, .session = 4 };
	const struct tl_session *s;

	(void)state;
	request(tl, 9, 2, 0, 10, "POST");
	session(tl, 4, 20, "#a");
	timeline_event(tl, &e);
	timeline_event(tl, &e);
	stream(tl, 9, 4, EV_POST_RESPONSE, 31);
	request(tl, 10, 3, 4, 40, "GET");
	s = timeline_session_n(tl, 4);
	assert_int_equal(s->exchanges, 2);
	assert_int_equal(s->posts, 1);
	assert_int_equal(s->gets, 1);
	assert_int_equal(s->opened, 10);
	assert_int_equal(s->closed, 40);
	assert_int_equal(timeline_stream_n(tl, 9)->xn, 2);
	timeline_free(tl);
}

/* Answered POST streams go first, then ended ones, then the oldest. */
static void
streams_go_in_order(void **state)
{
	struct limits lim = small_limits(4, 100);
	struct timeline *tl = timeline_new(&lim);
	const struct tl_session *s;

	(void)state;
	session(tl, 1, 0, "#a");
	stream(tl, 1, 1, EV_STANDALONE, 1);
	stream(tl, 2, 1, EV_STANDALONE, 2);
	stream(tl, 3, 1, EV_POST_RESPONSE, 3);
	stream(tl, 4, 1, EV_POST_RESPONSE, 4);
	stream_end(tl, 1, 1, EV_COMPLETE, 0, 5);
	stream_end(tl, 3, 1, EV_COMPLETE, EVF_GAP, 5);
	stream_end(tl, 4, 1, EV_COMPLETE, 0, 6);
	stream(tl, 5, 1, EV_STANDALONE, 7);
	assert_null(timeline_stream_n(tl, 4));		/* answered, no flags */
	stream(tl, 6, 1, EV_STANDALONE, 8);
	assert_null(timeline_stream_n(tl, 1));		/* ended first */
	stream(tl, 7, 1, EV_STANDALONE, 9);
	assert_null(timeline_stream_n(tl, 3));
	stream(tl, 8, 1, EV_STANDALONE, 10);
	assert_null(timeline_stream_n(tl, 2));		/* the oldest open one */
	s = timeline_session_n(tl, 1);
	assert_int_equal(s->n_streams, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(s->streams[i], 5 + i);
		assert_int_equal(timeline_stream(tl, i)->n, 5 + i);
	}
	assert_null(timeline_stream(tl, 4));
	assert_int_equal(s->dropped_streams, 4);
	assert_int_equal(timeline_dropped_streams(tl), 4);
	assert_int_equal(timeline_counts(tl)->sse_streams, 8);
	timeline_free(tl);
}

static void
sessions_go_oldest_idle_first(void **state)
{
	struct limits lim = small_limits(100, 3);
	struct timeline *tl = timeline_new(&lim);

	(void)state;
	for (uint32_t i = 1; i <= 3; i++)
		session(tl, i * 1000, i, "#k");
	request(tl, 1, 0, 1000, 9, "GET");	/* 1000 is in use again */
	session(tl, 4000000000u, 10, "#k");
	assert_null(timeline_session_n(tl, 2000));
	assert_non_null(timeline_session_n(tl, 1000));
	assert_int_equal(timeline_session(tl, 0)->n, 1000);
	assert_int_equal(timeline_session(tl, 1)->n, 3000);
	assert_int_equal(timeline_session(tl, 2)->n, 4000000000u);
	assert_null(timeline_session(tl, 3));
	assert_int_equal(timeline_dropped_sessions(tl), 1);
	timeline_free(tl);
}

/* Many more than are kept: the tables stay right and small. */
static void
long_runs_stay_bounded(void **state)
{
	struct limits lim = small_limits(50, 20);
	struct timeline *tl = timeline_new(&lim);
	uint32_t n;

	(void)state;
	for (uint32_t i = 1; i <= 20000; i++) {
		uint32_t ses = 1 + i % 37 + i / 500 * 40;

		session(tl, ses, i, "#k");
		stream(tl, i * 3, ses, i % 7 ? EV_POST_RESPONSE : EV_RESUMED, i);
		if (i % 5)
			stream_end(tl, i * 3, ses, EV_COMPLETE, 0, i);
		if (i % 999 == 0)
			assert_int_equal(timeline_stream_n(tl, i * 3)->n, i * 3);
	}
	for (n = 0; timeline_stream(tl, n); n++) {
		uint32_t k = timeline_stream(tl, n)->n;

		assert_ptr_equal(timeline_stream_n(tl, k), timeline_stream(tl, n));
		if (n)
			assert_true(timeline_stream(tl, n - 1)->n < k);
	}
	assert_int_equal(n, 50);
	assert_int_equal(timeline_dropped_streams(tl), 20000 - 50);
	for (n = 0; timeline_session(tl, n); n++) {
		const struct tl_session *s = timeline_session(tl, n);

		assert_ptr_equal(timeline_session_n(tl, s->n), s);
		for (uint32_t i = 0; i < s->n_streams; i++)
			assert_non_null(timeline_stream_n(tl, s->streams[i]));
	}
	assert_int_equal(n, 20);
	timeline_free(tl);
}

static void
owners_are_a_history(void **state)
{
	struct limits lim = small_limits(10, 10);
	struct timeline *tl = timeline_new(&lim);
	struct ev e = { .type = EV_OWNER, .stream = 1 };
	const struct tl_stream *s;

	(void)state;
	stream(tl, 1, 0, EV_STANDALONE, 1);
	for (int i = 0; i < 1000; i++) {
		e.pkt = (uint32_t)i;
		e.u.owner.to = i % 2 ? EV_PRIMARY : EV_ORPHAN;
		timeline_event(tl, &e);
	}
	s = timeline_stream_n(tl, 1);
	assert_int_equal(s->n_roles, 256);
	assert_int_equal(s->more_roles, 1000 - 256);
	assert_int_equal(s->roles[254].pkt, 254);
	assert_int_equal(s->roles[255].pkt, 999);
	timeline_free(tl);
}

static void
note(struct timeline *tl, enum ev_type type, const char *name, const char *text,
    uint32_t pkt)
{
	struct ev e = { .type = type, .pkt = pkt };

	e.u.note.name = str_c(name);
	e.u.note.text = str_c(text);
	timeline_event(tl, &e);
}

static void
notes_add_up(void **state)
{
	struct limits lim = small_limits(10, 10);
	struct timeline *tl = timeline_new(&lim);
	char text[32];
	uint32_t n = 0;

	(void)state;
	note(tl, EV_ANOMALY, "limit", "one", 5);
	note(tl, EV_ANOMALY, "limit", "one", 9);
	note(tl, EV_NOTE, "limit", "a note, not an anomaly", 1);
	note(tl, EV_NOTE, "limit", "a", 0);
	note(tl, EV_NOTE, "limit", "b", 0);
	note(tl, EV_NOTE, "limit", "a", 0);
	assert_int_equal(timeline_note(tl, 0)->count, 2);
	assert_int_equal(timeline_note(tl, 0)->pkt, 5);
	assert_true(timeline_note(tl, 0)->anomaly);
	assert_false(timeline_note(tl, 1)->anomaly);
	assert_int_equal(timeline_note(tl, 2)->count, 2);
	assert_int_equal(timeline_note(tl, 3)->count, 1);
	note(tl, EV_ANOMALY, "limit", "another one", 7);
	assert_int_equal(timeline_note(tl, 4)->count, 1);
	assert_int_equal(timeline_note(tl, 4)->pkt, 7);
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(text, sizeof text, "%d", i);
		note(tl, EV_NOTE, i % 2 ? text : "limit", text, 0);
	}
	while (timeline_note(tl, n))
		n++;
	assert_int_equal(n, 512);
	timeline_free(tl);
}

/* Strings may be of any length; what is kept of thousands is not. */
static void
long_strings(void **state)
{
	struct limits lim = small_limits(10, 10);
	struct timeline *tl = timeline_new(&lim);
	struct ev e = { .type = EV_SESSION, .session = 1 };
	char text[6001];

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	memcpy(text + 252, "\xe2\x82\xac", 3);		/* over the edge */
	e.u.session.key = e.u.session.client = str_c(text);
	e.u.session.server = str_of(text, 256);
	timeline_event(tl, &e);
	timeline_event(tl, &e);
	assert_int_equal(strlen(timeline_session(tl, 0)->key), 255);
	assert_string_equal(timeline_session(tl, 0)->key + 251, "x\xe2\x80\xa6");
	assert_string_equal(timeline_session(tl, 0)->client, timeline_session(tl, 0)->key);
	assert_int_equal(strlen(timeline_session(tl, 0)->server), 256);
	note(tl, EV_ANOMALY, text, text, 1);
	note(tl, EV_ANOMALY, text, text, 1);
	assert_int_equal(timeline_note(tl, 0)->count, 2);
	assert_int_equal(strlen(timeline_note(tl, 0)->text), 4096);
	assert_null(timeline_note(tl, 1));
	timeline_free(tl);
}

static void
files_and_ends(void **state)
{
	struct limits lim = small_limits(10, 10);
	struct timeline *tl = timeline_new(&lim);
	struct ev e = { .type = EV_FILE };
	struct finding f = { .n = 1, .detector = "leapfrog" };

	(void)state;
	e.u.file.name = STR("a.pcap");
	e.u.file.packets = 12;
	timeline_event(tl, &e);
	assert_string_equal(timeline_file(tl, 0)->name, "a.pcap");
	assert_null(timeline_file(tl, 0)->error);
	assert_null(timeline_file(tl, 1));
	e = (struct ev){ .type = EV_FINDING };
	e.u.finding = &f;
	timeline_event(tl, &e);			/* not final yet */
	assert_null(timeline_finding(tl, 0));
	e.flags = EVF_FINAL;
	timeline_event(tl, &e);
	assert_ptr_equal(timeline_finding(tl, 0), &f);
	session(tl, 1, 1, "#a");
	session(tl, 2, 1, "#b");
	e = (struct ev){ .type = EV_SESSION, .session = 2 };
	e.u.session.transport = EV_LEGACY_SSE;
	timeline_event(tl, &e);
	for (uint32_t i = 1; i <= 3; i++) {
		e = (struct ev){ .type = EV_SESSION_END, .session = i, .t = 5 };
		timeline_event(tl, &e);
	}
	assert_true(timeline_session_n(tl, 1)->deleted);
	assert_false(timeline_session_n(tl, 2)->deleted);
	assert_string_equal(timeline_session_n(tl, 2)->key, "#b");
	timeline_free(tl);
	timeline_free(NULL);
}

/* Events of streams and sessions nobody has heard of change nothing. */
static void
strangers_are_harmless(void **state)
{
	struct limits lim = small_limits(10, 10);
	struct timeline *tl = timeline_new(&lim);

	(void)state;
	for (unsigned t = 0; t < EV_N_TYPES; t++) {
		struct ev e = { .type = (enum ev_type)t, .stream = UINT32_MAX,
		    .session = UINT32_MAX, .x = UINT32_MAX, .conn = 1, .t = 1 };

		timeline_event(tl, &e);
		e.stream = e.session = e.x = 0;
		timeline_event(tl, &e);
	}
	timeline_free(tl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_follow_the_rules),
		cmocka_unit_test(an_exchange_is_counted_once),
		cmocka_unit_test(streams_go_in_order),
		cmocka_unit_test(sessions_go_oldest_idle_first),
		cmocka_unit_test(long_runs_stay_bounded),
		cmocka_unit_test(owners_are_a_history),
		cmocka_unit_test(notes_add_up),
		cmocka_unit_test(long_strings),
		cmocka_unit_test(files_and_ends),
		cmocka_unit_test(strangers_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
