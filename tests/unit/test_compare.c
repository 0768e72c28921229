/* compare: a capture of a few events, and a server that answers otherwise. */
#include "mcpdiag/compare.h"

#include "mini_server.h"
#include "plan_fix.h"

static struct loop *loop;
static struct mini srv;
static struct plan *plan;
static const char *get_events, *list_answer;
static unsigned get_status, list_status;
static bool get_ends;

#define BODY(rest) "{\"jsonrpc\":\"2.0\"," rest "}"

static void
say(struct mini_conn *c, unsigned status, const char *body)
{
	char text[1000];

	(void)snprintf(text, sizeof text, "HTTP/1.1 %u X\r\nContent-Type: application/json"
	    "\r\nMcp-Session-Id: s\r\nContent-Length: %zu\r\n\r\n%s", status, strlen(body), body);
	mini_say(c, text);
}

static void
on_request(void *arg, struct mini_conn *c, struct str q)
{
	(void)arg;
	if (str_find(q, STR("\"initialize\"")) < q.n) {
		say(c, 200, BODY("\"id\":1,\"result\":{\"serverInfo\":{\"name\":\"b\"}}"));
	} else if (str_pre(q, STR("GET"))) {
		if (get_status != 200) {
			say(c, get_status, "");
			return;
		}
		mini_say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
		mini_say(c, get_events);
		if (get_ends)
			mini_end(c);
	} else {
		say(c, list_status, list_answer);
	}
}

static void
on_done(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

/* A handshake, a GET with one notification that the server ends, a list. */
static void
script(void)
{
	plan_request(plan, 1, T(0), "POST", "initialize", "1", NULL,
	    BODY("\"id\":1,\"method\":\"initialize\""));
	plan_response(plan, 1, T(1), 200, 0, 0);
	plan_message(plan, 1, T(1), EV_MSG_RESPONSE, NULL, "1",
	    BODY("\"id\":1,\"result\":{\"serverInfo\":{\"name\":\"a\"}}"));
	plan_ended(plan, 1, T(1));
	plan_request(plan, 2, T(2), "GET", NULL, NULL, NULL, NULL);
	plan_response(plan, 2, T(3), 200, 1, 0);
	plan_message(plan, 2, T(4), EV_MSG_NOTIFICATION, "notifications/x", NULL,
	    BODY("\"method\":\"notifications/x\""));
	plan_ended(plan, 2, T(5));
	plan_request(plan, 3, T(6), "POST", "tools/list", "2", NULL,
	    BODY("\"id\":2,\"method\":\"tools/list\""));
	plan_response(plan, 3, T(7), 200, 0, 0);
	plan_message(plan, 3, T(7), EV_MSG_RESPONSE, NULL, "2",
	    BODY("\"id\":2,\"result\":{\"tools\":[{\"name\":\"t\"}]}"));
	plan_ended(plan, 3, T(7));
	plan_make(plan, NULL);
}

#define X "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"
#define Y "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/y\"}\n\n"
#define LIST BODY("\"result\":{\"tools\":[{\"name\":\"t\"}]},\"id\":2")
#define NAME "1 result result.serverInfo.name \"a\" \"b\" volatile\n"

static const struct row {
	const char *what;
	unsigned get;
	const char *events;
	bool ends;
	unsigned list;
	const char *answer, *want;
	unsigned differ;
} rows[] = {
	{ "the same", 200, X, true, 200, LIST, NAME, 0 },
	{ "a result", 200, X, true, 200,
	    BODY("\"id\":2,\"result\":{\"tools\":[{\"name\":\"u\"}],\"nextCursor\":\"c\"}"),
	    NAME "3 result result.nextCursor - \"c\" volatile\n"
	    "3 result result.tools[0].name \"t\" \"u\"\n", 1 },
	{ "an error", 200, X, true, 200, BODY("\"id\":2,\"error\":{\"code\":-1}"),
	    NAME "3 result error.code - -1\n3 result result.tools[0].name \"t\" -\n", 1 },
	{ "another answer", 200, X, true, 200, BODY("\"id\":3,\"result\":{}"),
	    NAME "3 result  " BODY("\"id\":2,\"result\":{\"tools\":[{\"name\":\"t\"}]}") " -\n", 1 },
	{ "a status", 200, X, true, 500, LIST, NAME "3 status 200 500\n", 1 },
	{ "a refused GET", 405, X, true, 200, LIST, NAME "2 status 200 405\n", 1 },
	{ "a stream that stays", 200, X, false, 200, LIST,
	    NAME "2 end ended by the server open to the end\n", 1 },
	{ "other messages", 200, Y X, true, 200, LIST,
	    NAME "2 messages notifications/x notifications/y, notifications/x\n", 1 },
	{ "no messages", 200, ":\n\n", true, 200, LIST, NAME "2 messages notifications/x -\n", 1 },
};

static void
dump(const struct compare *c, struct buf *b)
{
	const struct compare_row *r;

	for (uint32_t i = 0; (r = compare_row(c, i)) != NULL; i++) {
		(void)buf_fmt(b, "%u %s ", r->n, compare_what_name(r->what));
		if (r->what == COMPARE_RESULT)
			(void)buf_fmt(b, "%.*s ", STR_ARG(r->path));
		(void)buf_fmt(b, "%.*s %.*s%s\n", STR_ARG(r->captured.p ? r->captured : STR("-")),
		    STR_ARG(r->live.p ? r->live : STR("-")), r->is_volatile ? " volatile" : "");
	}
	(void)buf_addc(b, '\0');
}

static void
differences(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct row *t = &rows[i];
		struct player_opts o;
		struct player *p;
		struct compare *c;
		struct errmsg em;
		struct buf b;
		char url[64];

		loop = loop_new(NULL);
		plan = plan_new();
		script();
		get_status = t->get;
		get_events = t->events;
		get_ends = t->ends;
		list_status = t->list;
		list_answer = t->answer;
		mini_init(&srv, loop);
		srv.request = on_request;
		(void)snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", srv.port);
		player_opts_init(&o);
		/* Time enough for the GET to end before all is over. */
		o.speed = 0.05;
		o.url = url;
		p = player_new(loop, plan, &o, on_done, NULL);
		assert_int_equal(player_start(p, &em), 0);
		loop_run(loop);
		c = compare_new(plan, p, NULL, NULL);
		buf_init(&b, 1 << 16);
		dump(c, &b);
		if (strcmp(b.p, t->want) != 0)
			fail_msg("%s:\n%s not\n%s", t->what, b.p, t->want);
		assert_int_equal(compare_played(c), 3);
		assert_int_equal(compare_differ(c), t->differ);
		assert_int_equal(compare_left_out(c), 0);
		assert_int_equal(compare_times(c)->n, 3);
		assert_true(compare_times(c)->captured == NS_MS);
		buf_fini(&b);
		compare_free(c);
		player_free(p);
		mini_fini(&srv);
		plan_free(plan);
		loop_free(loop);
	}
	compare_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
