/* listener_live: on sockets, against a small server that replaces the owner of
 * the channel with each GET, as rmcp 0.15 does. */
#include "mcpdiag/listener_live.h"

#include "mini_server.h"

#define RETRY "retry: 20\n"	/* ms */

static struct loop *loop;
static struct mini srv;
static struct listener_live *live;
static struct listener_opts opts;
static struct buf trace;	/* GETs: lineage and cursor; pokes: lineage */
static char url[64];

static struct mini_conn *owner;
static bool forgotten;		/* the server knows no session any more */
static unsigned n_get, n_delete, n_pokes, n_failed;
static bool has_session, stopped;
static enum listen_stop how;

/* Stops once it returns true; asked after every event. */
static bool (*enough)(void);

static void
say_event(struct mini_conn *c, const char *text)
{
	char chunk[400];

	(void)snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n", strlen(text), text);
	mini_say(c, chunk);
}

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" \
	"Mcp-Session-Id: s1\r\nTransfer-Encoding: chunked\r\n\r\n"

static void
on_request(void *arg, struct mini_conn *c, struct str q)
{
	(void)arg;
	if (!str_pre(q, STR("POST")) || str_find(q, STR("\"initialize\"")) > q.n)
		has_session &= str_find(q, STR("Mcp-Session-Id: s1\r\n")) < q.n &&
		    str_find(q, STR("MCP-Protocol-Version: 2025-06-18\r\n")) < q.n;
	if (forgotten) {
		mini_say(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	} else if (str_pre(q, STR("GET"))) {
		mini_say(c, STREAM_HEAD);
		if (owner != NULL)
			mini_say(owner, "0\r\n\r\n");
		owner = c;
		n_get++;
		say_event(c, "data: {\"jsonrpc\":\"2.0\",\"method\":\"poke\"}\nid: 5\n" RETRY "\n");
	} else if (str_pre(q, STR("DELETE"))) {
		n_delete++;
		mini_say(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
		if (owner != NULL)
			mini_say(owner, "0\r\n\r\n");
		owner = NULL;
	} else if (str_find(q, STR("\"initialize\"")) < q.n) {
		mini_say(c, STREAM_HEAD);
		say_event(c, "data: \nid: 0\n" RETRY "\n");
		say_event(c, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
		    "{\"protocolVersion\":\"2025-06-18\"}}\n\n");
		mini_say(c, "0\r\n\r\n");
	} else if (str_find(q, STR("tools/list")) < q.n) {
		mini_say(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		    "Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	} else {
		mini_say(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
	}
}

static void
on_gone(void *arg, struct mini_conn *c)
{
	(void)arg;
	if (owner == c) {
		owner = NULL;
		loop_stop(loop);
	}
}

static void
on_event(void *arg, const struct listen_event *e)
{
	char letter = e->kind == LISTEN_INITIALIZE ? 'A' :
	    e->kind == LISTEN_STANDALONE ? 'B' : e->kind == LISTEN_LIST ? 'C' : 'X';

	(void)arg;
	assert_false(stopped);
	switch (e->what) {
	case LISTEN_ANSWER:
		if (strcmp(e->method, "GET") != 0)
			break;
		if (e->status == 0)
			n_failed++;
		else
			(void)buf_fmt(&trace, "%c%.*s ", letter, STR_ARG(e->cursor));
		break;
	case LISTEN_MESSAGE:
		if (str_eq(e->rpc_method, STR("poke")))
			n_pokes++;
		break;
	case LISTEN_ENDED:
		break;
	case LISTEN_STOPPED:
		stopped = true;
		how = e->stop;
		loop_stop(loop);
		return;
	}
	if (enough != NULL && enough()) {
		enough = NULL;
		loop_stop(loop);
	}
}

static int
setup(void **state)
{
	struct client_opts co;

	(void)state;
	loop = loop_new(NULL);
	mini_init(&srv, loop);
	srv.request = on_request;
	srv.gone = on_gone;
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", srv.port);
	listener_opts_init(&opts);
	opts.url = url;
	opts.delay_initialized = opts.delay_get = opts.delay_list = NS_MS;
	opts.delete = true;
	client_opts_init(&co);
	live = listener_live_new(loop, &co, &opts, on_event, NULL, NULL);
	assert_non_null(live);
	buf_init(&trace, 1 << 20);
	owner = NULL;
	n_get = n_delete = n_pokes = n_failed = 0;
	has_session = true;
	forgotten = stopped = false;
	enough = NULL;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	listener_live_free(live);
	mini_fini(&srv);
	loop_free(loop);
	buf_fini(&trace);
	return 0;
}

static bool
eight_pokes(void)
{
	return n_pokes == 8;
}

/* Whoever is first (that is a matter of time), they take turns, each after the
 * event that it has seen last. */
static void
check_turns(struct str s)
{
	bool known[2] = { false, false };
	char last = 0;

	for (unsigned i = 0; i < 8; i++) {
		size_t n = str_find(s, STR(" "));
		struct str turn = str_of(s.p, n), cursor = str_of(s.p + 1, n - 1);
		bool is_b = turn.p[0] == 'B';

		assert_true(n < s.n);
		assert_true(is_b || turn.p[0] == 'A');
		assert_int_not_equal(turn.p[0], last);
		assert_true(str_eq(cursor, known[is_b] ? STR("5") :
		    is_b ? STR("") : STR("0")));
		known[is_b] = true;
		last = turn.p[0];
		s = str_of(s.p + n + 1, s.n - n - 1);
	}
}

static void
leapfrog(void **state)
{
	(void)state;
	enough = eight_pokes;
	listener_live_start(live);
	loop_run(loop);
	listener_live_stop(live);
	loop_run(loop);
	assert_true(stopped);
	assert_int_equal(how, LISTEN_DONE);
	assert_int_equal(n_delete, 1);
	assert_true(has_session);
	assert_true(n_get >= 8);
	check_turns(buf_str(&trace));
	/* connections are used again: two streams, and what is beside them */
	assert_true(srv.n_conns <= 3);
}

static bool
failed_twice(void)
{
	return n_failed >= 2;
}

static bool
one_poke(void)
{
	return n_pokes >= 1;
}

/* The server goes: lineages try again; it does not come back. */
static void
the_server_goes(void **state)
{
	(void)state;
	enough = one_poke;
	listener_live_start(live);
	loop_run(loop);
	mini_shut(&srv);
	for (struct mini_conn *c = srv.conns; c != NULL; c = c->next)
		if (c->fd >= 0)
			mini_reset(c);
	enough = failed_twice;
	loop_run(loop);
	assert_true(n_failed >= 2);
	listener_live_stop(live);
	if (!stopped)
		loop_run(loop);
	assert_true(stopped);
	assert_int_equal(how, LISTEN_DONE);
}

static void
nobody_there(void **state)
{
	(void)state;
	mini_shut(&srv);
	listener_live_start(live);
	loop_run(loop);
	assert_true(stopped);
	assert_int_equal(how, LISTEN_UNREACHABLE);
}

static void
the_session_is_forgotten(void **state)
{
	(void)state;
	enough = one_poke;
	listener_live_start(live);
	loop_run(loop);
	forgotten = true;
	while (!stopped)
		loop_run(loop);
	assert_int_equal(how, LISTEN_SESSION_GONE);
	assert_int_equal(n_delete, 0);
	while (owner != NULL)		/* its stream was left */
		loop_run(loop);
}

static void
left_in_the_middle(void **state)
{
	(void)state;
	enough = one_poke;
	listener_live_start(live);
	loop_run(loop);
	listener_live_free(live);
	live = NULL;
	assert_false(stopped);
	listener_live_free(NULL);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(leapfrog),
		TEST(the_server_goes),
		TEST(nobody_there),
		TEST(the_session_is_forgotten),
		TEST(left_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
