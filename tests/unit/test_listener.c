/* listener: what it asks for, and when, on each answer. */
#include "listener_fake.h"

/* rmcp 0.15.0, as its captures show it. */
static void
the_script(void **state)
{
	(void)state;
	start();
	now = 2 * NS_MS;
	head(INIT, 200, SSE, "mcp-session-id: s1\r\n");
	body(INIT, PRIMING "data: " RESULT "\n\n");
	end(INIT, CLIENT_COMPLETE);
	assert_true(pass());
	answer(NOTE, 202, "", "");
	assert_true(pass());
	head(GET, 200, SSE, "");
	body(GET, PRIMING);
	assert_true(pass());
	head(LIST, 200, SSE, "");
	body(LIST, PRIMING "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\nid: 0/0\n\n");
	end(LIST, CLIENT_COMPLETE);
	body(GET, "data: " CHANGED "\nid: 0\n\n");
	assert_true(pass());
	head(INIT, 200, SSE, "");
	end(GET, CLIENT_COMPLETE);
	body(INIT, "data: " CHANGED "\nid: 0\n\n");
	assert_true(pass());
	answer(LIST, 500, "text/plain", "Channel closed: Some(0)");
	assert_true(pass());
	expect("0 POST initialize#1\n"
	    "  initialize POST 200 stream\n"
	    "  initialize message  id=0\n"
	    "  initialize ended complete, again in 3000\n"
	    "152 POST notifications/initialized S=s1 V=2025-03-26\n"
	    "  initialized POST 202\n"
	    "153 GET S=s1 V=2025-03-26\n"
	    "  standalone GET 200 stream\n"
	    "253 POST tools/list#2 S=s1 V=2025-03-26\n"
	    "  tools/list POST 200 stream\n"
	    "  tools/list message  id=0/0\n"
	    "  tools/list ended complete, again in 3000\n"
	    "  standalone message notifications/tools/list_changed id=0\n"
	    "3002 GET S=s1 V=2025-03-26 after 0\n"
	    "  initialize GET 200 stream after 0\n"
	    "  standalone ended complete, again in 3000\n"
	    "  initialize message notifications/tools/list_changed id=0\n"
	    "3253 GET S=s1 V=2025-03-26 after 0/0\n"
	    "  tools/list GET 500 after 0/0\n"
	    "6002 GET S=s1 V=2025-03-26 after 0\n");
	assert_false(pass());
}

static void
answers_in_json(void **state)
{
	(void)state;
	start();
	head(INIT, 200, JSON "; charset=utf-8", "");	/* a server without sessions */
	body(INIT, "{\"jsonrpc\":\"2.0\",\"id\":1,\"resu");
	body(INIT, "lt\":{\"protocolVersion\":\"x y\"}}");
	end(INIT, CLIENT_COMPLETE);
	assert_true(pass());
	answer(NOTE, 202, "", "");
	assert_true(pass());
	answer(GET, 405, "", "");
	assert_true(pass());
	answer(LIST, 200, JSON, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	assert_false(pass());
	expect("0 POST initialize#1\n"
	    "  initialize POST 200\n"
	    "  initialize message  id=\n"
	    "150 POST notifications/initialized V=2025-06-18\n"
	    "  initialized POST 202\n"
	    "151 GET V=2025-06-18\n"
	    "  standalone GET 405\n"
	    "251 POST tools/list#2 V=2025-06-18\n"
	    "  tools/list POST 200\n"
	    "  tools/list message  id=\n");
}

/* What becomes of initialize when it goes wrong. */
static const struct bad {
	const char *what;
	unsigned status;	/* 0: no answer */
	const char *type, *lines, *text;
	enum client_end end;
	const char *want;
} bad[] = {
	{ "nobody there", 0, "", "", "", CLIENT_REFUSED,
	    "  initialize POST 0 refused\n  stopped unreachable\n" },
	{ "an error", 400, JSON, "", "{}", CLIENT_COMPLETE,
	    "  initialize POST 400\n  stopped refused\n" },
	{ "not found, but there is no session yet", 404, "", "", "", CLIENT_COMPLETE,
	    "  initialize POST 404\n  stopped refused\n" },
	{ "not found, with a session", 404, "", "Mcp-Session-Id: s\n", "", CLIENT_COMPLETE,
	    "  initialize POST 404\n  stopped refused\n" },
	{ "a page", 200, "text/html", "", "<html>", CLIENT_COMPLETE,
	    "  initialize POST 200\n  stopped refused\n" },
	{ "a JSON-RPC error", 200, JSON, "",
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\"}}",
	    CLIENT_COMPLETE,
	    "  initialize POST 200\n  initialize message  id=\n  stopped refused\n" },
	{ "one on a stream", 200, SSE, "",
	    "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602}}\n\n",
	    CLIENT_COMPLETE,
	    "  initialize POST 200 stream\n  initialize message  id=\n  stopped refused\n" },
	{ "no JSON", 200, JSON, "", "<", CLIENT_COMPLETE,
	    "  initialize POST 200\n  initialize message  id=\n  stopped refused\n" },
	{ "another's answer", 200, JSON, "",
	    "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}", CLIENT_COMPLETE,
	    "  initialize POST 200\n  initialize message  id=\n  stopped refused\n" },
};

static void
initialize_goes_wrong(void **state)
{
	for (size_t i = 0; i < N_ROWS(bad); i++) {
		assert_int_equal(setup(state), 0);
		start();
		buf_clear(&trace);
		if (bad[i].status) {
			head(INIT, bad[i].status, bad[i].type, bad[i].lines);
			body(INIT, bad[i].text);
		}
		end(INIT, bad[i].end);
		(void)buf_addc(&trace, '\0');
		if (strcmp(trace.p, bad[i].want) != 0)
			fail_msg("%s: %s", bad[i].what, trace.p);
		assert_false(running[INIT]);
		assert_false(pass());
		assert_int_equal(teardown(state), 0);
	}
}

static void
an_unanswered_initialize(void **state)
{
	(void)state;
	/* its stream breaks: the answer comes on the next one */
	start();
	head(INIT, 200, SSE, "Mcp-Session-Id: s1\r\n");
	body(INIT, PRIMING);
	end(INIT, CLIENT_CLOSED);
	assert_true(pass());
	head(INIT, 200, SSE, "");
	body(INIT, "data: " RESULT "\n\n");
	assert_true(pass());
	expect("0 POST initialize#1\n"
	    "  initialize POST 200 stream\n"
	    "  initialize ended closed, again in 3000\n"
	    "3000 GET S=s1 after 0\n"
	    "  initialize GET 200 stream after 0\n"
	    "  initialize message  id=0\n"
	    "3150 POST notifications/initialized S=s1 V=2025-03-26\n");

	/* there is no next one */
	again(state);
	opts.reconnect = 0;
	start();
	head(INIT, 200, SSE, "Mcp-Session-Id: s1\r\n");
	end(INIT, CLIENT_COMPLETE);
	assert_false(pass());
	expect("0 POST initialize#1\n"
	    "  initialize POST 200 stream\n"
	    "  initialize ended complete\n"
	    "  stopped refused\n");
}

static void
a_session_id_without_end(void **state)
{
	static char line[20000];

	(void)state;
	(void)snprintf(line, sizeof line, "Mcp-Session-Id: %0*d\r\n", 15000, 0);
	start();
	head(INIT, 200, SSE, line);
	assert_false(running[INIT]);
	expect("0 POST initialize#1\n  stopped refused\n");
}

static void
lineages_end_for_good(void **state)
{
	static const struct {
		unsigned status;
		const char *type, *want;
	} heads[] = {
		{ 409, "", "  standalone GET 409 after 0\n" },
		{ 500, "text/plain", "  standalone GET 500 after 0\n" },
		{ 200, JSON, "  standalone GET 200 after 0\n" },
		{ 204, SSE, "  standalone GET 204 after 0\n" },
	};

	for (size_t i = 0; i < N_ROWS(heads); i++) {
		assert_int_equal(setup(state), 0);
		opts.reconnect = 1U << LISTEN_STANDALONE;
		under_way();
		end(GET, CLIENT_COMPLETE);
		assert_true(pass());
		buf_clear(&trace);
		answer(GET, heads[i].status, heads[i].type, "{}");
		assert_false(pass());
		expect(heads[i].want);
		assert_int_equal(teardown(state), 0);
	}
}

/* A broken connection is no answer: HTML 9.2.3, "reestablish". */
static void
network_errors_do_not(void **state)
{
	(void)state;
	opts.reconnect = 1U << LISTEN_STANDALONE;
	under_way();
	body(GET, "retry: 0\n");
	end(GET, CLIENT_CLOSED);
	assert_true(pass());
	end(GET, CLIENT_REFUSED);
	assert_true(pass());
	end(GET, CLIENT_TIMEOUT);
	expect("  standalone ended closed, again in 1\n"
	    "252 GET S=s1 V=2025-03-26 after 0\n"
	    "  standalone GET 0 after 0 refused, again in 1\n"
	    "253 GET S=s1 V=2025-03-26 after 0\n"
	    "  standalone GET 0 after 0 timeout, again in 1\n");
}

static void
who_reconnects(void **state)
{
	(void)state;
	opts.reconnect = 0;
	under_way();
	end(GET, CLIENT_COMPLETE);
	assert_false(pass());
	expect("  standalone ended complete\n");
}

static void
times_are_scaled(void **state)
{
	static const ns_t calls[] = { 1000 * NS_MS, 0 };

	(void)state;
	opts.scale = 0.01;
	opts.retry_scale = 0.02;
	opts.calls = calls;
	opts.n_calls = 2;
	opts.extra = 2;
	opts.duration = 5000 * NS_MS;
	opts.retry = 2000 * NS_MS;
	opts.reconnect = 1U << LISTEN_INITIALIZE;
	start();
	assert_true(pass());			/* a call that has to wait */
	head(INIT, 200, SSE, "Mcp-Session-Id: s1\r\n");
	body(INIT, "data: " RESULT "\n\n");
	end(INIT, CLIENT_COMPLETE);		/* the server says no retry */
	assert_true(pass());			/* 1.5 */
	end(NOTE, CLIENT_TIMEOUT);		/* the script goes on */
	while (pass())
		;
	expect("0 POST initialize#1\n"
	    "  initialize POST 200 stream\n"
	    "  initialize message  id=\n"
	    "  initialize ended complete, again in 40\n"
	    "1 POST notifications/initialized S=s1 V=2025-03-26\n"
	    "  initialized POST 0 timeout\n"
	    "1 POST tools/call#2 S=s1 V=2025-03-26\n"
	    "1 GET S=s1 V=2025-03-26\n"
	    "1 GET S=s1 V=2025-03-26\n"
	    "1 GET S=s1 V=2025-03-26\n"
	    "2 POST tools/list#3 S=s1 V=2025-03-26\n"
	    "10 POST tools/call#4 S=s1 V=2025-03-26\n"
	    "40 GET S=s1 V=2025-03-26\n"
	    "  stopped done\n");
	for (unsigned i = 0; i < MAX_SLOTS; i++)
		assert_false(running[i]);
}

static void
the_session_is_gone(void **state)
{
	(void)state;
	opts.delete = true;		/* there is nothing to delete */
	under_way();
	end(GET, CLIENT_COMPLETE);
	assert_true(pass());		/* initialize's */
	head(INIT, 404, "", "");
	expect("  standalone ended complete, again in 3000\n"
	    "3000 GET S=s1 V=2025-03-26 after 0\n"
	    "  initialize GET 404 after 0\n"
	    "  stopped gone\n");
	assert_false(running[INIT]);
	assert_false(pass());
}

static void
not_found_without_a_session(void **state)
{
	(void)state;
	start();
	head(INIT, 200, JSON, "");
	body(INIT, RESULT);
	end(INIT, CLIENT_COMPLETE);
	assert_true(pass());
	answer(NOTE, 202, "", "");
	assert_true(pass());
	answer(GET, 404, "", "");
	assert_true(pass());
	assert_true(running[LIST]);
}

static void
stopping(void **state)
{
	(void)state;
	under_way();
	listener_stop(l);
	listener_stop(l);
	assert_false(running[GET]);
	assert_false(pass());
	expect("  stopped done\n");

	again(state);
	opts.delete = true;
	under_way();
	listener_stop(l);
	assert_false(pass());
	end(GET, CLIENT_COMPLETE);	/* as servers do; not again */
	answer(DEL, 202, "", "");
	expect("251 DELETE S=s1 V=2025-03-26\n"
	    "  standalone ended complete\n"
	    "  delete DELETE 202\n"
	    "  stopped done\n");
	assert_false(pass());

	again(state);
	opts.delete = true;
	under_way();
	listener_stop(l);
	end(DEL, CLIENT_TIMEOUT);
	assert_false(running[GET]);
	expect("251 DELETE S=s1 V=2025-03-26\n"
	    "  delete DELETE 0 timeout\n"
	    "  stopped done\n");

	again(state);
	opts.delete = true;
	start();
	head(INIT, 200, SSE, "Mcp-Session-Id: s1\r\n");
	body(INIT, "data: " RESULT "\n\n");
	assert_true(pass());
	buf_clear(&trace);
	listener_stop(l);		/* in the middle of the script */
	answer(NOTE, 202, "", "");
	body(INIT, "data: " RESULT "\n\n");
	assert_false(pass());
	expect("150 DELETE S=s1 V=2025-03-26\n"
	    "  initialized POST 202\n"
	    "  initialize message  id=\n");

	again(state);
	opts.delete = true;
	start();
	listener_stop(l);		/* no session yet */
	expect("0 POST initialize#1\n  stopped done\n");
	assert_false(running[INIT]);
}

static void
stop_it(const struct listen_event *e)
{
	if (e->what != LISTEN_STOPPED)
		listener_stop(l);
}

/* In the middle of a piece: nothing of the rest is told. */
static void
stopping_inside(void **state)
{
	(void)state;
	under_way();
	at_event = stop_it;
	body(GET, "data: " CHANGED "\n\ndata: " CHANGED "\n\n");
	expect("  standalone message notifications/tools/list_changed id=0\n"
	    "  stopped done\n");

	again(state);
	under_way();
	at_event = stop_it;
	end(GET, CLIENT_COMPLETE);
	assert_false(pass());
	expect("  standalone ended complete, again in 3000\n"
	    "  stopped done\n");

	again(state);
	at_event = stop_it;
	start();
	head(INIT, 500, "", "");
	expect("0 POST initialize#1\n  initialize POST 500\n  stopped done\n");
}

static void
the_server_asks(void **state)
{
	(void)state;
	under_way();
	body(GET, "data: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\n\n"
	    "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n\n");
	expect("  standalone message ping id=0\n"
	    "251 POST# {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}} "
	    "S=s1 V=2025-03-26\n"
	    "  standalone message roots/list id=0\n"
	    "251 POST#7 {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601,"
	    "\"message\":\"Method not found\"}} S=s1 V=2025-03-26\n");
}

/* As a replay does. */
static void
answered_twice(void **state)
{
	(void)state;
	under_way();
	body(GET, "data: " RESULT "\n\n");
	end(GET, CLIENT_COMPLETE);
	expect("  standalone message  id=0\n"
	    "  standalone ended complete, again in 3000\n");
	assert_true(pass());
	assert_true(running[INIT]);	/* its own reconnect, nothing else */
	assert_false(running[NOTE]);
}

/* Pings may come before anything else does. */
static void
asks_at_once(void **state)
{
	(void)state;
	start();
	head(INIT, 200, SSE, "Mcp-Session-Id: s1\r\n");
	body(INIT, "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n\n");
	expect("0 POST initialize#1\n"
	    "  initialize POST 200 stream\n"
	    "  initialize message ping id=\n"
	    "0 POST#0 {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}} S=s1\n");
}

static unsigned n_replies;

static void
count_replies(unsigned slot, const struct client_request *q)
{
	(void)slot;
	if (q->body.p != NULL && str_find(q->body, STR("\"result\":{}")) < q->body.n)
		n_replies++;
}

static void
asks_without_end(void **state)
{
	(void)state;
	under_way();
	n_replies = 0;
	at_send = count_replies;
	for (unsigned i = 0; i < 100; i++)
		body(GET, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n");
	assert_int_equal(n_replies, 8);
	for (unsigned i = MORE - 1; i < MAX_SLOTS; i++)
		if (running[i])
			answer(i, 202, "", "");
	body(GET, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n");
	assert_int_equal(n_replies, 9);
}

static void
lists_are_fetched_again(void **state)
{
	(void)state;
	opts.refetch = 3;
	under_way();
	body(GET, "data: " CHANGED "\n\n");
	body(GET, "data: [" CHANGED "," CHANGED "," CHANGED "]\nid: 5\n\n");
	body(GET, "data: " CHANGED "\n\n");
	head(LIST + 1, 200, SSE, "");
	body(LIST + 1, "id: 9\n\n");
	end(LIST + 1, CLIENT_COMPLETE);
	expect("  standalone message notifications/tools/list_changed id=0\n"
	    "251 POST tools/list#3 S=s1 V=2025-03-26\n"
	    "  standalone message notifications/tools/list_changed id=5\n"
	    "251 POST tools/list#4 S=s1 V=2025-03-26\n"
	    "251 POST tools/list#5 S=s1 V=2025-03-26\n"
	    "  standalone message notifications/tools/list_changed id=5\n"
	    "  tools/list-1 POST 200 stream\n"
	    "  tools/list-1 ended complete, again in 3000\n");
}

static void
long_messages_are_cut(void **state)
{
	static char text[4000];

	(void)state;
	opts.message = 1000;
	opts.refetch = 1;
	under_way();
	(void)snprintf(text, sizeof text, "data: {\"jsonrpc\":\"2.0\",\"method\":"
	    "\"notifications/tools/list_changed\",\"params\":\"%0*d\"}\n\n", 1000, 0);
	body(GET, text);
	expect("  standalone message  id=0 cut\n");
}

static void
check_lines(unsigned slot, const struct client_request *q)
{
	static const char *const want[] = { ("User-Agent: mcpdiag/" MCPDIAG_VERSION),
	    "Content-Type: application/json", "MCP-Protocol-Version: 2025-03-26",
	    "mcp-session-id: mine", "Accept: */*", "Authorization: x" };

	assert_int_equal(slot, NOTE);
	assert_int_equal(q->n_headers, N_ROWS(want));
	for (unsigned i = 0; i < N_ROWS(want); i++)
		assert_true(str_eq(q->headers[i], str_c(want[i])));
}

static void
headers_of_the_user(void **state)
{
	const struct str lines[] = { STR("mcp-session-id: mine"), STR("Accept: */*"),
	    STR("Authorization: x") };

	(void)state;
	opts.headers = lines;
	opts.n_headers = 3;
	start();
	head(INIT, 200, SSE, "Mcp-Session-Id: s1\r\n");
	body(INIT, "data: " RESULT "\n\n");
	at_send = check_lines;
	assert_true(pass());
	assert_true(running[NOTE]);
}

static bool
refuse(void *arg, unsigned slot, const struct client_request *q, struct errmsg *em)
{
	(void)arg;
	(void)slot;
	(void)q;
	(void)err_set(em, E_USAGE, "a header has no name");
	return false;
}

static void
what_cannot_be_sent(void **state)
{
	static const struct listener_io no = { refuse, on_cancel, on_set, on_clear };

	(void)state;
	l = listener_new(&opts, &no, NULL, on_event, NULL);
	listener_start(l);
	expect("  initialize POST 0 bad\n  stopped unreachable\n");
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_script),
		TEST(answers_in_json),
		cmocka_unit_test(initialize_goes_wrong),
		TEST(an_unanswered_initialize),
		TEST(a_session_id_without_end),
		cmocka_unit_test(lineages_end_for_good),
		TEST(network_errors_do_not),
		TEST(who_reconnects),
		TEST(times_are_scaled),
		TEST(the_session_is_gone),
		TEST(not_found_without_a_session),
		TEST(stopping),
		TEST(stopping_inside),
		TEST(the_server_asks),
		TEST(asks_without_end),
		TEST(asks_at_once),
		TEST(answered_twice),
		TEST(lists_are_fetched_again),
		TEST(long_messages_are_cut),
		TEST(headers_of_the_user),
		TEST(what_cannot_be_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
