/* player: plans of captures against the reference server, and a plan of a few
 * events against a server that says what the test wants. */
#include "mcpdiag/player.h"

#include "mcpdiag/mcpd.h"
#include "mini_server.h"
#include "plan_fix.h"

static struct loop *loop;
static struct plan *plan;
static struct player_opts opts;
static bool late;

static int
setup(void **state)
{
	(void)state;
	loop = loop_new(NULL);
	plan = plan_new();
	player_opts_init(&opts);
	late = false;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	plan_free(plan);
	loop_free(loop);
	return 0;
}

static void
on_late(void *arg)
{
	(void)arg;
	late = true;
	loop_stop(loop);
}

static void
on_done(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

static struct player *
play(const char *url)
{
	struct loop_timer *guard = loop_timer_new(loop, on_late, NULL);
	struct player *p;
	struct errmsg em;

	opts.url = url;
	p = player_new(loop, plan, &opts, on_done, NULL);
	assert_int_equal(player_start(p, &em), 0);
	loop_timer_set(guard, 30 * NS_S);
	loop_run(loop);
	loop_timer_free(guard);
	assert_false(late);
	return p;
}

/* ---- captures ---- */

static void
read_capture(const char *path, const char *allow)
{
	struct errmsg em;

	if (allow)
		assert_int_equal(plan_allow(plan, allow, &em), 0);
	plan_read(plan, path);
}

/* State and status of each, as far as they were to be played. */
static void
outcome(const struct player *p, struct buf *b)
{
	const struct player_x *x;

	for (uint32_t i = 1; (x = player_x(p, i)) != NULL; i++)
		if (x->state == PLAYED_DONE)
			(void)buf_fmt(b, "%u:%u%s%s ", i, x->status, x->is_stream ? "s" : "",
			    x->left ? " left" : "");
		else if (x->state != PLAYED_NOT)
			(void)buf_fmt(b, "%u:no%d ", i, x->state);
	(void)buf_addc(b, '\0');
}

static const struct row {
	const char *file, *allow;
	enum chan_policy policy;
	bool legacy;
	const char *want;	/* how it begins */
} rows[] = {
	{ "captures/leapfrog-rmcp0.15.0-eventsource.pcap", NULL, CHAN_REPLACE, false,
	    "1:200s 2:202 3:200s 4:200s 6:200s 7:500 8:200s 10:200s 12:200s 13:200s " },
	/* Their streams stay: nobody comes back. */
	{ "captures/leapfrog-rmcp0.15.0-eventsource.pcap", NULL, CHAN_SHADOW_PROMOTE, false,
	    "1:200s 2:202 3:200s left 4:200s 6:200s left 7:200s left 8:no5 10:no5 12:no5 "
	    "13:no5 15:no5 16:no5 " },
	{ "captures/06-legacy-sse-ts1.32.pcap", "tools/call:*", CHAN_SHADOW_PROMOTE, true,
	    "1:200s left 2:202 3:202 4:202 5:202 " },
	{ "captures/01-clean-ts2.4-2026.pcap", NULL, CHAN_SHADOW_PROMOTE, false, NULL },
	{ "captures/03-resume-unknown-id-ts1.32.pcap", NULL, CHAN_SHADOW_PROMOTE, false, NULL },
	/* Its server had no sessions, this one has: they are taken. */
	{ "captures/05-stateless-ts1.32.pcap", NULL, CHAN_SHADOW_PROMOTE, false,
	    "1:200s 2:202 3:200s left 4:200s " },
};

static void
captures(void **state)
{
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct mcpd_opts mo;
		struct mcpd *m;
		struct player *p;
		struct errmsg em;
		struct buf b;
		char url[64];

		assert_int_equal(setup(state), 0);
		read_capture(rows[i].file, rows[i].allow);
		mcpd_opts_init(&mo, rows[i].policy);
		mo.http.port = 0;
		mo.legacy = rows[i].legacy;
		m = mcpd_new(loop, &mo, &em);
		assert_non_null(m);
		opts.speed = 100;
		(void)snprintf(url, sizeof url, "%s", mcpd_url(m));
		if (rows[i].legacy)
			memcpy(url + strlen(url) - 4, "/sse", 4);
		p = play(url);
		assert_int_equal(player_target(p, &em), 0);
		buf_init(&b, 1 << 16);
		outcome(p, &b);
		if (rows[i].want && strncmp(b.p, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: %s not %s", rows[i].file, b.p, rows[i].want);
		/* Whatever the server is, nothing hangs and nothing is left. */
		assert_null(strstr(b.p, "no1 "));
		assert_null(strstr(b.p, "no2 "));
		buf_fini(&b);
		player_free(p);
		mcpd_free(m);
		assert_int_equal(teardown(state), 0);
	}
}

/* ---- a few events ---- */

#define BODY(rest) "{\"jsonrpc\":\"2.0\"," rest "}"
#define INITIALIZE BODY("\"id\":1,\"method\":\"initialize\",\"params\":{}")

/* The first exchange of a plan. */
static void
plan_handshake(void)
{
	plan_request(plan, 1, T(0), "POST", "initialize", "1", NULL, INITIALIZE);
	plan_response(plan, 1, T(1), 200, 0, 0);
	plan_ended(plan, 1, T(1));
}

/* A handshake; a GET on which the server asks and gives two ids, answered; it
 * ends and is resumed; a list whose second page is asked for. */
static void
script(void)
{
	plan_request(plan, 1, T(0), "POST", "initialize", "1", NULL, INITIALIZE);
	plan_response(plan, 1, T(1), 200, 0, 0);
	plan_message(plan, 1, T(1), EV_MSG_RESPONSE, NULL, "1", BODY("\"id\":1,\"result\":{}"));
	plan_ended(plan, 1, T(1));
	plan_request(plan, 2, T(2), "GET", NULL, NULL, NULL, NULL);
	plan_response(plan, 2, T(3), 200, 1, 0);
	plan_sse(plan, 2, 1, T(4), "c1");
	plan_message(plan, 2, T(4), EV_MSG_REQUEST, "sampling/createMessage", "77",
	    BODY("\"id\":77,\"method\":\"sampling/createMessage\""));
	plan_sse(plan, 2, 1, T(5), "c2");
	plan_request(plan, 3, T(6), "POST", NULL, "77", NULL, BODY("\"id\":77,\"result\":{\"n\":77}"));
	plan_response(plan, 3, T(7), 202, 0, 0);
	plan_ended(plan, 3, T(7));
	plan_ended(plan, 2, T(8));
	plan_request(plan, 4, T(9), "GET", NULL, NULL, "c2", NULL);
	plan_response(plan, 4, T(10), 200, 2, 1);
	plan_request(plan, 5, T(11), "POST", "tools/list", "2", NULL,
	    BODY("\"id\":2,\"method\":\"tools/list\""));
	plan_response(plan, 5, T(12), 200, 0, 0);
	plan_message(plan, 5, T(12), EV_MSG_RESPONSE, NULL, "2",
	    BODY("\"id\":2,\"result\":{\"nextCursor\":\"page2\"}"));
	plan_ended(plan, 5, T(12));
	plan_request(plan, 6, T(13), "POST", "tools/list", "3", NULL,
	    BODY("\"id\":3,\"method\":\"tools/list\",\"params\":{\"cursor\":\"page2\"}"));
	plan_response(plan, 6, T(14), 200, 0, 0);
	plan_ended(plan, 6, T(14));
	plan_make(plan, NULL);
}

static struct mini srv;
static struct buf asked;
static bool no_ids, one_get, counts;
static unsigned n_gets;
static const char *always;	/* the answer to everything; NULL: as below */

static void
say_json(struct mini_conn *c, const char *header, const char *body)
{
	char text[1000];

	(void)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Type: application/json"
	    "\r\n%sContent-Length: %zu\r\n\r\n%s", header, strlen(body), body);
	mini_say(c, text);
}

/* What servers of the field call their sessions and events. */
static const struct shape {
	const char *sid, *id;
} shapes[] = {
	{ "1868a90c-1f2e-4c6b-9a7d-52e0c3b4d5f6", "0" },			/* rmcp */
	{ "1868a90c-1f2e-4c6b-9a7d-52e0c3b4d5f7", "0/3" },
	{ "0f8fad5b-d9cb-469f-a165-70867728950e",				/* TypeScript */
	  "0f8fad5b-d9cb-469f-a165-70867728950f_1767225600000_k3j9x2ab" },
	{ "0f8fad5b-d9cb-469f-a165-70867728950e", "_GET_stream_1767225600000_k3j9x2ab" },
	{ "0f8fad5bd9cb469fa16570867728950e",					/* Python */
	  "7c9e6679-7425-40de-944b-e07fc1f90ae7" },
	{ "ABCDEFGHIJKLMNOPQRSTUVWX27", "ZYXWVUTSRQPONMLKJIHGFEDC72_4" },	/* Go */
	{ "ABCDEFGHIJKLMNOPQRSTUVWX27", "_0" },
	{ "550e8400-e29b-41d4-a716-446655440000",				/* Java */
	  "550e8400-e29b-41d4-a716-446655440000_7c9e6679-7425-40de-944b-e07fc1f90ae7" },
	{ "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000" },
	{ "aB3_dE6-gH9jK2mN5pQ8sT", "YUIzX2RF:Z0g5aksy:17" },			/* C# */
	{ "mcp-session-550e8400-e29b-41d4-a716-446655440001",			/* mcp-go */
	  "6ba7b810-9dad-11d1-80b4-00c04fd430c8" },
	/* Cloudflare */
	{ "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
	  "6ba7b810-9dad-11d1-80b4-00c04fd430c8:00000000000000a1" },
	{ "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
	  "_GET_stream:00000000000000a1" },
};
static const struct shape *shape;	/* NULL: the answers are others */

static void
on_request(void *arg, struct mini_conn *c, struct str q)
{
	char text[400];

	(void)arg;
	(void)buf_adds(&asked, q);
	(void)buf_adds(&asked, STR("\n--\n"));
	if (always) {
		mini_say(c, always);
	} else if (shape && str_find(q, STR("\"initialize\"")) < q.n) {
		(void)snprintf(text, sizeof text, "Mcp-Session-Id: %s\r\n", shape->sid);
		say_json(c, text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
		    "{\"protocolVersion\":\"2025-11-25\"}}");
	} else if (shape && str_pre(q, STR("GET"))) {
		(void)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Type: "
		    "text/event-stream\r\n\r\nid: %s\ndata\n\n", shape->id);
		mini_say(c, text);
		mini_end(c);
	} else if (str_find(q, STR("\"initialize\"")) < q.n) {
		say_json(c, "Mcp-Session-Id: live-session\r\n", "{\"jsonrpc\":\"2.0\","
		    "\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\"}}");
	} else if (str_pre(q, STR("GET")) && counts) {
		mini_say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
		mini_say(c, ++n_gets == 1 ? "id: n1\ndata\n\n" : n_gets == 3 ?
		    "id: n3\ndata\n\n" : ":\n\n");
		mini_end(c);
	} else if (str_pre(q, STR("GET")) && one_get && n_gets++ > 0) {
		mini_say(c, "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n");
	} else if (str_pre(q, STR("GET")) && no_ids) {
		mini_say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n");
	} else if (str_pre(q, STR("GET"))) {
		mini_say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
		    "id: L1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"ask\",\"method\":"
		    "\"sampling/createMessage\"}\n\nid: L2\ndata\n\nid: L3\ndata\n\n");
		if (str_find(q, STR("Last-Event-ID")) > q.n)
			mini_end(c);
	} else if (str_find(q, STR("\"id\":2,")) < q.n) {
		say_json(c, "", "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"nextCursor\":\"zz-2\"}}");
	} else {
		mini_say(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
	}
}

static const char *
serve(void)
{
	static char url[64];

	mini_init(&srv, loop);
	srv.request = on_request;
	buf_init(&asked, 1 << 20);
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", srv.port);
	return url;
}

static void
leave(struct player *p)
{
	player_free(p);
	mini_fini(&srv);
	buf_fini(&asked);
}

static bool
was_asked(const char *text)
{
	return str_find(buf_str(&asked), str_c(text)) != SIZE_MAX;
}

static void
values_are_live(void **state)
{
	const struct str own[] = { STR("Authorization: Bearer t"), STR("Accept: x/y") };
	struct player *p;
	struct buf b;

	(void)state;
	script();
	always = NULL;
	opts.headers = own;
	opts.n_headers = 2;
	p = play(serve());
	buf_init(&b, 1 << 16);
	outcome(p, &b);
	assert_string_equal(b.p, "1:200 2:200s 3:202 4:200s left 5:200 6:202 ");
	assert_true(was_asked("Mcp-Session-Id: live-session\r\n"));
	assert_false(was_asked("#1234"));
	assert_true(was_asked("MCP-Protocol-Version: 2025-11-25\r\n"));
	assert_true(was_asked("\"id\":\"ask\",\"result\":{\"n\":77}}"));
	/* the last one was, the last one is */
	assert_true(was_asked("Last-Event-ID: L3\r\n"));
	assert_true(was_asked("\"cursor\":\"zz-2\""));
	assert_true(was_asked("Authorization: Bearer t\r\n"));
	assert_true(was_asked("Accept: x/y\r\n"));
	assert_false(was_asked("Accept: text/event-stream\r\n"));
	buf_fini(&b);
	leave(p);
}

/* What a server needs for its first answer, all that follows is late. */
static void
late_from_the_start(void **state)
{
	const struct player_x *first, *x;
	struct player *p;

	(void)state;
	plan_request(plan, 1, T(0), "POST", "initialize", "1", NULL, INITIALIZE);
	plan_response(plan, 1, T(0), 200, 0, 0);
	plan_ended(plan, 1, T(0));
	plan_request(plan, 2, T(2), "POST", "ping", "2", NULL,
	    BODY("\"id\":2,\"method\":\"ping\""));
	plan_make(plan, NULL);
	always = NULL;
	p = play(serve());
	first = player_x(p, 1);
	x = player_x(p, 2);
	assert_true(x->due - first->head >= 2 * NS_MS);
	assert_true(x->sent >= x->due);
	leave(p);
}

static struct mini_conn *stream;	/* the GET that is open */
static bool changes;

/* Says that the list has changed when it is asked for a ping. */
static void
on_change_request(void *arg, struct mini_conn *c, struct str q)
{
	if (str_pre(q, STR("GET")))
		stream = c;
	no_ids = true;
	on_request(arg, c, q);
	no_ids = false;
	if (changes && stream && str_find(q, STR("\"ping\"")) < q.n)
		mini_say(stream, "data: {\"jsonrpc\":\"2.0\",\"method\":"
		    "\"notifications/tools/list_changed\"}\n\n");
}

/* The list that follows a list_changed comes after it here, too, or without it
 * when there is none. */
static void
lists_follow(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct player *p;
		const char *url;

		assert_int_equal(setup(state), 0);
		plan_handshake();
		plan_request(plan, 2, T(2), "GET", NULL, NULL, NULL, NULL);
		plan_response(plan, 2, T(3), 200, 1, 0);
		plan_message(plan, 2, T(20), EV_MSG_NOTIFICATION,
		    "notifications/tools/list_changed", NULL, BODY(""));
		plan_request(plan, 3, T(21), "POST", "tools/list", "2", NULL,
		    BODY("\"id\":2,\"method\":\"tools/list\""));
		plan_response(plan, 3, T(22), 200, 0, 0);
		plan_request(plan, 4, T(60), "POST", "ping", "3", NULL,
		    BODY("\"id\":3,\"method\":\"ping\""));
		plan_response(plan, 4, T(61), 202, 0, 0);
		plan_ended(plan, 4, T(61));
		plan_ended(plan, 3, T(70));
		plan_make(plan, NULL);
		assert_int_equal(plan_x(plan, 3)->cue, 2);
		always = NULL;
		stream = NULL;
		changes = i == 0;
		opts.speed = changes ? 1 : 20;
		url = serve();
		srv.request = on_change_request;
		p = play(url);
		assert_int_equal(player_x(p, 3)->state, PLAYED_DONE);
		assert_true(player_x(p, 3)->sent > player_x(p, 4)->sent);
		if (changes)
			assert_true(player_x(p, 3)->sent >= player_x(p, 2)->msgs[0].t);
		leave(p);
		assert_int_equal(teardown(state), 0);
	}
}

/* A stream that stays open and gives no id: the GET goes without one. */
static void
no_id_is_given(void **state)
{
	struct player *p;
	struct buf b;

	(void)state;
	plan_handshake();
	plan_request(plan, 2, T(2), "GET", NULL, NULL, NULL, NULL);
	plan_response(plan, 2, T(3), 200, 1, 0);
	plan_sse(plan, 2, 1, T(4), "c1");
	plan_request(plan, 3, T(6), "GET", NULL, NULL, "c1", NULL);
	plan_response(plan, 3, T(7), 200, 2, 0);
	plan_request(plan, 4, T(8), "DELETE", NULL, NULL, NULL, NULL);
	plan_response(plan, 4, T(9), 200, 0, 0);
	plan_ended(plan, 4, T(9));
	plan_make(plan, NULL);
	assert_int_equal(plan_x(plan, 3)->giver, 2);
	always = NULL;
	no_ids = true;
	p = play(serve());
	no_ids = false;
	buf_init(&b, 1 << 16);
	outcome(p, &b);
	assert_string_equal(b.p, "1:200 2:200s left 3:200s left 4:202 ");
	assert_true(player_x(p, 3)->no_cursor);
	assert_false(was_asked("Last-Event-ID"));
	buf_fini(&b);
	leave(p);
}

/* Two listeners that come back, and a DELETE; this server refuses the second one
 * and keeps the stream of the first. */
static void
nobody_comes_back(void **state)
{
	struct player *p;
	struct buf b;

	(void)state;
	plan_handshake();
	for (uint32_t x = 2; x <= 7; x++) {
		plan_request(plan, x, T(10 * x), "GET", NULL, NULL, NULL, NULL);
		plan_response(plan, x, T(10 * x + 1), 200, x, x > 3 ? x - 2 : 0);
		if (x > 2)
			plan_ended(plan, x - 1, T(10 * x + 2));
	}
	plan_request(plan, 8, T(80), "DELETE", NULL, NULL, NULL, NULL);
	plan_response(plan, 8, T(81), 200, 0, 0);
	plan_ended(plan, 8, T(81));
	plan_make(plan, NULL);
	assert_int_equal(plan_x(plan, 4)->prev, 2);
	assert_int_equal(plan_x(plan, 7)->prev, 5);
	always = NULL;
	no_ids = one_get = true;
	n_gets = 0;
	p = play(serve());
	no_ids = one_get = false;
	buf_init(&b, 1 << 16);
	outcome(p, &b);
	assert_string_equal(b.p, "1:200 2:200s left 3:409 4:no7 5:no6 6:no7 7:no6 8:202 ");
	assert_int_equal(n_gets, 2);
	buf_fini(&b);
	leave(p);
}

/* A capture of one server, played against another: what is sent is what that
 * one gave, whatever both look like (reference: the servers of the field). */
static void
all_shapes(void **state)
{
	(void)state;
	always = NULL;
	for (size_t i = 0; i < N_ROWS(shapes) * N_ROWS(shapes); i++) {
		const struct shape *captured = &shapes[i / N_ROWS(shapes)];
		char want[200];
		struct player *p;

		shape = &shapes[i % N_ROWS(shapes)];
		plan_free(plan);
		plan = plan_new();
		plan_handshake();
		plan_request(plan, 2, T(2), "GET", NULL, NULL, NULL, NULL);
		plan_response(plan, 2, T(3), 200, 2, 0);
		plan_sse(plan, 2, 2, T(3), captured->id);
		plan_ended(plan, 2, T(4));
		plan_request(plan, 3, T(5), "GET", NULL, NULL, captured->id, NULL);
		plan_response(plan, 3, T(6), 200, 3, 2);
		plan_ended(plan, 3, T(7));
		plan_make(plan, NULL);
		p = play(serve());
		(void)snprintf(want, sizeof want, "Mcp-Session-Id: %s\r\n", shape->sid);
		assert_true(was_asked(want));
		(void)snprintf(want, sizeof want, "Last-Event-ID: %s\r\n", shape->id);
		assert_true(was_asked(want));
		leave(p);
	}
	shape = NULL;
}

/* In the capture one id came, and the listener kept it; here another comes. */
static void
ids_that_came_since(void **state)
{
	static const char *const want[] = { "n1", "n1", "n3" };
	struct player *p;
	struct str rest;

	(void)state;
	plan_handshake();
	for (uint32_t x = 2; x <= 5; x++) {
		plan_request(plan, x, T(10 * x), "GET", NULL, NULL, x > 2 ? "c1" : NULL, NULL);
		plan_response(plan, x, T(10 * x + 1), 200, x, x > 2 ? x - 1 : 0);
		if (x == 2)
			plan_sse(plan, x, x, T(22), "c1");
		plan_ended(plan, x, T(10 * x + 3));
	}
	plan_make(plan, NULL);
	assert_int_equal(plan_x(plan, 5)->giver, 4);
	always = NULL;
	counts = true;
	n_gets = 0;
	p = play(serve());
	counts = false;
	assert_int_equal(n_gets, 4);
	rest = buf_str(&asked);
	for (size_t i = 0; i < N_ROWS(want); i++) {
		size_t at = str_find(rest, STR("Last-Event-ID: "));

		assert_int_not_equal(at, SIZE_MAX);
		rest = str_of(rest.p + at + 15, rest.n - at - 15);
		assert_memory_equal(rest.p, want[i], 2);
	}
	leave(p);
}

/* Pauses are cut, and who had left before another came leaves before. */
static void
pauses_are_cut(void **state)
{
	struct ev left = { .type = EV_RESPONSE_END, .t = T(3000), .pkt = 3, .conn = 1, .x = 2,
		.session = 1, .dir = EV_C2S, .u.end.end = EV_CLIENT };
	struct player *p;
	struct buf b;

	(void)state;
	plan_handshake();
	plan_request(plan, 2, T(2), "GET", NULL, NULL, NULL, NULL);
	plan_response(plan, 2, T(3), 200, 1, 0);
	plan_event(plan, &left);
	plan_request(plan, 3, T(60000), "GET", NULL, NULL, NULL, NULL);
	plan_response(plan, 3, T(60001), 200, 2, 0);
	plan_make(plan, NULL);
	always = NULL;
	no_ids = true;
	opts.max_wait = 20 * NS_MS;
	p = play(serve());
	no_ids = false;
	buf_init(&b, 1 << 16);
	outcome(p, &b);
	assert_string_equal(b.p, "1:200 2:200s left 3:200s left ");
	assert_true(player_x(p, 2)->end <= player_x(p, 3)->sent);
	buf_fini(&b);
	leave(p);
}

static const struct {
	const char *answer, *want;
} targets[] = {
	{ "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "answers 401: it wants authorization" },
	{ "HTTP/1.1 301 No\r\nLocation: http://x/y\r\nContent-Length: 0\r\n\r\n",
	    "redirects (301) to http://x/y; give that URL" },
	{ "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "answers 404, and no MCP" },
	{ "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\n<",
	    "answers 200 text/html, which is no MCP" },
	{ "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
	    "which is no MCP" },
	{ "220 smtp.example ready\r\n\r\n", "HTTP/0.9" },
	{ "", "no whole answer in time" },
	{ "HTTP/1.1 200 OK\r\nX: ", "no whole answer in time" },
};

static void
bad_targets(void **state)
{
	for (size_t i = 0; i < N_ROWS(targets); i++) {
		struct errmsg em = { "" };
		struct player *p;

		assert_int_equal(setup(state), 0);
		script();
		always = targets[i].answer;
		opts.answer_timeout = 300 * NS_MS;
		p = play(serve());
		assert_int_equal(player_target(p, &em), -E_IO);
		if (strstr(em.text, targets[i].want) == NULL)
			fail_msg("%s, not %s", em.text, targets[i].want);
		/* Nothing is tried without a session, and nothing waits. */
		for (uint32_t n = 2; n <= 6; n++)
			assert_int_equal(player_x(p, n)->state, PLAYED_NO_SESSION);
		leave(p);
		assert_int_equal(teardown(state), 0);
	}
}

static void
nobody_there(void **state)
{
	struct errmsg em = { "" };
	struct player *p;
	const char *url;

	(void)state;
	script();
	url = serve();
	mini_shut(&srv);
	p = play(url);
	assert_int_equal(player_target(p, &em), -E_IO);
	assert_non_null(strstr(em.text, "onnect"));
	leave(p);
}

/* A head that never ends is cut at the limit. */
static void
endless_head(void **state)
{
	static char head[200000];
	struct errmsg em = { "" };
	struct player *p;

	(void)state;
	script();
	memset(head, 'a', sizeof head - 1);
	memcpy(head, "HTTP/1.1 200 OK\r\n", 17);
	for (size_t i = 100; i < sizeof head - 100; i += 100)
		memcpy(head + i, "\r\nX: ", 5);
	always = head;
	p = play(serve());
	assert_int_equal(player_target(p, &em), -E_IO);
	leave(p);
}

static void
stopped(void *arg)
{
	player_stop(arg);
}

static void
ends_when_told(void **state)
{
	struct loop_timer *t;
	struct errmsg em;
	struct player *p;

	(void)state;
	script();
	always = "";
	opts.url = serve();
	p = player_new(loop, plan, &opts, on_done, NULL);
	assert_int_equal(player_start(p, &em), 0);
	t = loop_timer_new(loop, stopped, p);
	loop_timer_set(t, NS_MS);
	loop_run(loop);
	for (uint32_t n = 2; n <= 6; n++)
		assert_int_equal(player_x(p, n)->state, PLAYED_OVER);
	loop_timer_free(t);
	player_free(p);
	player_free(NULL);
	mini_fini(&srv);
	buf_fini(&asked);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures),
		TEST(values_are_live),
		TEST(late_from_the_start),
		cmocka_unit_test(lists_follow),
		TEST(no_id_is_given),
		TEST(nobody_comes_back),
		TEST(ids_that_came_since),
		TEST(all_shapes),
		TEST(pauses_are_cut),
		cmocka_unit_test(bad_targets),
		TEST(nobody_there),
		TEST(endless_head),
		TEST(ends_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
