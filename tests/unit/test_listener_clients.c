/* listener: as one of the clients of the field. */
#include "listener_fake.h"

/* Initialized as that client; the trace so far is dropped. */
static void
begin(const char *name, const char *lines)
{
	opts.client = clients_find(name);
	assert_non_null(opts.client);
	opts.list = false;
	start();
	head(INIT, 200, JSON, lines);
	body(INIT, RESULT);
	end(INIT, CLIENT_COMPLETE);
}

/* The GET is asked for, and answered like this. */
static void
get_is(unsigned status, const char *type, const char *text)
{
	assert_true(running[GET]);
	answer(GET, status, type, text);
}

#define S "Mcp-Session-Id: s\r\n"

static void
when_it_opens(void **state)
{
	(void)state;
	begin("ts-1.32", S);
	assert_true(pass());
	assert_false(running[GET]);
	answer(NOTE, 202, "", "");
	assert_true(pass());
	assert_true(running[GET]);
	again(state);
	begin("python", S);
	assert_true(pass());		/* initialized is sent, and the GET with it */
	assert_true(pass());
	assert_true(running[NOTE] && running[GET]);
	again(state);
	begin("go", S);
	assert_true(pass());
	assert_true(running[GET] && !running[NOTE]);
	again(state);
	opts.client = clients_find("java");
	start();
	head(INIT, 200, SSE, S);
	assert_true(pass());		/* the head was enough */
	assert_true(running[GET]);
	again(state);
	begin("python", "");		/* no session, no GET */
	assert_true(pass());
	assert_false(pass());
	assert_false(running[GET]);
}

/* Up to the first GET. */
static void
to_get(const char *name)
{
	begin(name, S);
	assert_true(pass());
	if (running[NOTE])
		answer(NOTE, 202, "", "");
	if (!running[GET])
		assert_true(pass());
	buf_clear(&trace);
}

static void
refusals(void **state)
{
	to_get("ts-1.32");
	get_is(409, "", "");
	expect("  standalone GET 409\n");
	assert_false(pass());		/* deaf */
	again(state);
	to_get("python");
	get_is(405, "", "");
	expect("  standalone GET 405, again in 1000\n");
	assert_true(pass());
	get_is(405, "", "");
	assert_false(running[GET]);
	again(state);
	to_get("mcp-go");
	for (unsigned i = 0; i < 8; i++) {
		get_is(409, "", "");
		while (!running[GET])
			assert_true(pass());
	}
	again(state);
	to_get("rmcp");
	get_is(404, "", "");
	expect("  standalone GET 404\n  stopped gone\n");
}

/* TypeScript, as measured: the cursor is lost by a stream without an id, and
 * clean ends never count. */
static void
the_cursor_is_lost(void **state)
{
	(void)state;
	to_get("ts-1.32");
	get_is(200, SSE, "id: 7\ndata: {}\n\n");
	assert_true(pass());
	get_is(200, SSE, "");
	assert_true(pass());
	get_is(200, SSE, "");
	expect("  standalone GET 200 stream\n  standalone message  id=7\n"
	    "  standalone ended complete, again in 1000\n"
	    "1151 GET S=s V=2025-03-26 after 7\n"
	    "  standalone GET 200 stream after 7\n"
	    "  standalone ended complete, again in 1000\n"
	    "2151 GET S=s V=2025-03-26\n"
	    "  standalone GET 200 stream\n"
	    "  standalone ended complete, again in 1000\n");
}

/* Go gives the session up after five streams that bring nothing. */
static void
idle_ends(void **state)
{
	unsigned gets = 0;

	(void)state;
	to_get("go");
	while (running[GET]) {
		gets++;
		get_is(200, SSE, ": hello\n\n");
		while (!running[GET] && pass())
			;
	}
	assert_int_equal(gets, 6);
	assert_false(pass());
}

/* Which POST streams come back: with an id, and before the response. */
static void
posts(void **state)
{
	static const struct {
		const char *client;
		bool answered, without;
	} rows[] = {
		{ "eventsource", true, true }, { "ts-1.23", true, false },
		{ "ts-1.32", false, false }, { "vscode", false, false },
	};

	for (size_t i = 0; i < N_ROWS(rows); i++) {
		bool resumes = strcmp(rows[i].client, "vscode") != 0;

		for (unsigned k = 0; k < 3; k++) {
			again(state);
			opts.client = clients_find(rows[i].client);
			opts.standalone = false;
			start();
			head(INIT, 200, JSON, S);
			body(INIT, RESULT);
			end(INIT, CLIENT_COMPLETE);
			while (!running[LIST] && pass())
				if (running[NOTE])
					answer(NOTE, 202, "", "");
			assert_true(running[LIST]);
			head(LIST, 200, SSE, "");
			/* 0: cut, with an id; 1: without; 2: answered */
			body(LIST, k == 1 ? "data: {}\n\n" : "id: 3\ndata: {}\n\n");
			if (k == 2)
				body(LIST, "data: {\"jsonrpc\":\"2.0\",\"id\":2,"
				    "\"result\":{}}\n\n");
			end(LIST, CLIENT_COMPLETE);
			(void)pass();
			if (running[LIST] != (k == 0 ? resumes : k == 1 ? rows[i].without :
			    rows[i].answered))
				fail_msg("%s, case %u: %d", rows[i].client, k, running[LIST]);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(when_it_opens, setup, teardown),
		cmocka_unit_test_setup_teardown(refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(the_cursor_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(idle_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(posts, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
