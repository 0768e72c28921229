#include "mcpdiag/esource.h"

#include <stdio.h>

#include "mcpdiag/buf.h"
#include "util.h"

static struct buf trace;

static void
on_message(void *arg, const struct esource_msg *m)
{
	(void)arg;
	(void)buf_fmt(&trace, "%.*s(%.*s)%.*s%s; ", STR_ARG(m->type), STR_ARG(m->id),
	    STR_ARG(m->data), m->cut ? "..." : "");
}

/* A stream after the other, "|" between them; what was dispatched, then cursor
 * and reconnection time in ms. */
static const struct row {
	const char *what, *in, *want;
} rows[] = {
	{ "nothing", "", "<> 3000" },
	{ "a message", "data: a\n\n", "message()a; <> 3000" },
	{ "with type and id", "event: e\nid: 1\ndata: a\n\n", "e(1)a; <1> 3000" },
	{ "priming is not dispatched, but counts", "data: \nid: 0\nretry: 50\n\n", "<0> 50" },
	{ "an id alone counts", "id: 7\n\n", "<7> 3000" },
	{ "the id stays for events without one", "id: 1\ndata: a\n\ndata: b\n\n",
	    "message(1)a; message(1)b; <1> 3000" },
	{ "an empty id forgets it", "id: 1\ndata: a\n\nid\ndata: b\n\n",
	    "message(1)a; message()b; <> 3000" },
	{ "an unfinished event is dropped, id and all", "id: 1\n\nid: 2\ndata: a\n", "<1> 3000" },
	{ "but not its retry", "retry: 20\nid: 2\n", "<> 20" },
	{ "a retry that is none", "retry: 1x\n\n", "<> 3000" },
	{ "a retry of years", "retry: 99999999999999\n\n", "<> 86400000" },
	{ "at once", "retry: 0\n\n", "<> 0" },
	{ "the next stream goes on from there", "id: 1\nretry: 9\ndata: a\n\n|data: b\n\n",
	    "message(1)a; message(1)b; <1> 9" },
	{ "no rest of the last stream in the next", "id: 1\n\ndata: a\n|data: b\n\n",
	    "message(1)b; <1> 3000" },
	{ "nor of a torn line", "id: 1\n\ndata: a|data: b\n\n",
	    "message(1)b; <1> 3000" },
	{ "data over the limit", "data: 12345678901234567890\n\ndata: b\n\n",
	    "message()1234567890123456...; message()b; <> 3000" },
};

static void
streams(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct str in = str_c(rows[i].in), cursor;
		struct esource *es = esource_new(on_message, NULL, 16, 3000 * NS_MS);

		buf_init(&trace, 4096);
		for (;;) {
			size_t n = str_find(in, STR("|"));

			assert_true(esource_head(es, 200, STR("text/event-stream")));
			esource_feed(es, in.p, n < in.n ? n : in.n);
			esource_eof(es);
			if (n >= in.n)
				break;
			in = str_of(in.p + n + 1, in.n - n - 1);
		}
		cursor = esource_cursor(es);
		(void)buf_fmt(&trace, "<%.*s> %lld", STR_ARG(cursor),
		    (long long)(esource_retry(es) / NS_MS));
		(void)buf_addc(&trace, '\0');
		if (strcmp(trace.p, rows[i].want) != 0)
			fail_msg("%s: %s, not %s", rows[i].what, trace.p, rows[i].want);
		buf_fini(&trace);
		esource_free(es);
	}
}

static void
long_ids_are_not_taken(void **state)
{
	static char in[2 * ESOURCE_ID];
	struct esource *es = esource_new(on_message, NULL, 16, 0);

	(void)state;
	buf_init(&trace, 4096);
	(void)snprintf(in, sizeof in, "id: 1\n\nid: %0*d\ndata: a\n\n", (int)ESOURCE_ID + 1, 5);
	assert_true(esource_head(es, 200, STR("text/event-stream")));
	esource_feed(es, in, strlen(in));
	assert_true(str_eq(esource_cursor(es), STR("1")));
	(void)snprintf(in, sizeof in, "id: %0*d\ndata: a\n\n", (int)ESOURCE_ID, 5);
	esource_feed(es, in, strlen(in));
	assert_int_equal(esource_cursor(es).n, ESOURCE_ID);
	esource_free(es);
	esource_free(NULL);
	buf_fini(&trace);
}

static void
what_is_no_stream(void **state)
{
	static const struct {
		unsigned status;
		const char *type;
		bool stream;
	} heads[] = {
		{ 200, "text/event-stream", true },
		{ 200, "Text/Event-Stream ; charset=utf-8", true },
		{ 200, "text/event-streams", false },
		{ 200, "application/json", false },
		{ 200, "", false },
		{ 204, "text/event-stream", false },
		{ 202, "text/event-stream", false },
		{ 301, "text/event-stream", false },
		{ 404, "text/event-stream", false },
		{ 500, "text/plain", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(heads); i++) {
		struct esource *es = esource_new(on_message, NULL, 16, 0);

		assert_int_equal(esource_head(es, heads[i].status, str_c(heads[i].type)),
		    heads[i].stream);
		if (!heads[i].stream)
			esource_feed(es, "id: 1\n\n", 7);	/* to no effect */
		esource_eof(es);
		assert_int_equal(esource_cursor(es).n, 0);
		esource_free(es);
	}
	assert_false(content_type_is(STR_NONE, STR("a/b")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams),
		cmocka_unit_test(long_ids_are_not_taken),
		cmocka_unit_test(what_is_no_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
