/* What is MCP, what its messages belong to, and what became of a connection.
 * Sessions are in test_model_session.c, lineages and roles in tests/conv. */
#include "model_fix.h"

/* ---- is it MCP at all: spec-rules 3.1 ---- */

#define BOTH "application/json, text/event-stream"

static const struct {
	const char *what;
	struct ask ask;
	const char *body;
	uint32_t status;
	const char *sid, *event, *data, *json;	/* of the response */
	bool mcp;
} evidence[] = {
	{ "nothing", { .method = "GET" }, NULL, 200, NULL, NULL, NULL, NULL, false },
	{ "a protocol version", { .method = "GET", .version = "2025-06-18" }, NULL, 404,
	    NULL, NULL, NULL, NULL, true },
	{ "not a date", { .method = "GET", .version = "13" }, NULL, 200, NULL, NULL, NULL,
	    NULL, false },
	{ "nearly a date", { .method = "GET", .version = "2025-06-1x" }, NULL, 200, NULL,
	    NULL, NULL, NULL, false },
	{ "a session id", { .method = "GET", .sid = "x" }, NULL, 200, NULL, NULL, NULL, NULL,
	    true },
	{ "a session id in the answer", { .method = "POST" }, NULL, 200, "x", NULL, NULL,
	    NULL, true },
	{ "Mcp-Method", { .method = "POST", .mcp_method = "ping" }, NULL, 200, NULL, NULL,
	    NULL, NULL, true },
	{ "Accept of both", { .method = "POST", .accept = BOTH }, NULL, 200, NULL, NULL, NULL,
	    NULL, false },
	{ "JSON-RPC", { .method = "POST" }, RPC "\"id\":1,\"method\":\"eth_call\"}", 200,
	    NULL, NULL, NULL, RPC "\"id\":1,\"result\":{}}", false },
	{ "JSON-RPC and Accept of both", { .method = "POST", .accept = BOTH },
	    RPC "\"id\":1,\"method\":\"eth_call\"}", 200, NULL, NULL, NULL, NULL, false },
	{ "and then an answer", { .method = "POST", .accept = BOTH },
	    RPC "\"id\":1,\"method\":\"eth_call\"}", 200, NULL, NULL, NULL,
	    RPC "\"id\":1,\"result\":{}}", false },
	{ "a method of MCP", { .method = "POST" }, RPC "\"id\":1,\"method\":\"tools/list\"}",
	    200, NULL, NULL, NULL, NULL, true },
	{ "a method that A2A has too", { .method = "POST" },
	    RPC "\"id\":1,\"method\":\"tasks/get\"}", 200, NULL, NULL, NULL, NULL, false },
	{ "with Accept of both", { .method = "POST", .accept = BOTH },
	    RPC "\"id\":1,\"method\":\"ping\"}", 200, NULL, NULL, NULL, NULL, true },
	{ "a method that only begins so", { .method = "POST" },
	    RPC "\"id\":1,\"method\":\"roots/listing\"}", 200, NULL, NULL, NULL, NULL, false },
	{ "a method of MCP without JSON-RPC", { .method = "POST" },
	    "{\"id\":1,\"method\":\"tools/list\"}", 200, NULL, NULL, NULL, NULL, false },
	{ "initialize", { .method = "POST" }, INIT, 400, NULL, NULL, NULL, NULL, true },
	{ "initialize of LSP", { .method = "POST" }, RPC "\"id\":1,\"method\":\"initialize\","
	    "\"params\":{\"processId\":1,\"rootUri\":null}}", 200, NULL, NULL, NULL, NULL,
	    false },
	{ "its result alone", { .method = "POST" }, NULL, 200, NULL, NULL, NULL, INIT_RESULT,
	    true },
	{ "discovery", { .method = "POST" }, NULL, 200, NULL, NULL, NULL, RPC "\"id\":1,"
	    "\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}}", true },
	{ "a _meta key", { .method = "POST" }, RPC "\"id\":1,\"method\":\"x\",\"params\":{"
	    "\"_meta\":{\"io.modelcontextprotocol/a\":1}}}", 200, NULL, NULL, NULL, NULL, true },
	{ "an endpoint event", { .method = "GET" }, NULL, 200, NULL, "endpoint", "/m?s=1",
	    NULL, true },
	{ "another event", { .method = "GET" }, NULL, 200, NULL, "ping", "/m?s=1", NULL,
	    false },
	{ "a server's notification in a stream", { .method = "GET" }, NULL, 200, NULL, NULL,
	    "", RPC "\"method\":\"notifications/tools/list_changed\"}", true },
	{ "one that A2A has too", { .method = "GET" }, NULL, 200, NULL, NULL, "",
	    RPC "\"method\":\"notifications/progress\"}", false },
};

static void
test_evidence(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(evidence); i++) {
		struct fix *f = fix_new(false, 0, 0);
		struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
		struct mexch *x = ask(f, c, &evidence[i].ask);

		if (evidence[i].body)
			say(f, x, true, evidence[i].body);
		answer(f, x, evidence[i].status, evidence[i].sid, evidence[i].data != NULL);
		if (evidence[i].data)
			block(f, x, evidence[i].event, NULL, evidence[i].data);
		if (evidence[i].json)
			say(f, x, false, evidence[i].json);
		if (evidence[i].mcp != (f->rec.n > 0))
			fail_msg("%s: %s", evidence[i].what, f->rec.n ? "MCP" : "not MCP");
		if (evidence[i].mcp)		/* nothing was lost meanwhile */
			assert_int_equal(f->rec.ev[0]->type, EV_CONN);
		over(f, x, EV_COMPLETE);
		model_conn_end(f->m, c, next(f));
		fix_free(f);
	}
}

/* Points of several exchanges do not add up; an endpoint once known is. */
static void
test_patience(void **state)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	struct model_total total = { 0 };
	struct mexch *x;

	(void)state;
	for (int i = 0; i < 20; i++) {
		x = ask(f, c, &(struct ask){ .method = "POST", .accept = BOTH });
		say(f, x, true, RPC "\"id\":1,\"method\":\"eth_call\"}");
		answer(f, x, 200, NULL, false);
		over(f, x, EV_COMPLETE);
	}
	assert_int_equal(f->rec.n, 0);
	model_conn_end(f->m, c, next(f));
	c = conn(f, "1.1.1.1:2", "3.3.3.3:2");
	initialize(f, c, "S");
	x = ask(f, c, &(struct ask){ .method = "GET", .target = "/" });
	over(f, x, EV_COMPLETE);
	assert_int_equal(count(f, EV_REQUEST), 2);
	model_conn_end(f->m, c, next(f));
	model_end(f->m, &total, next(f));
	assert_int_equal(last(f, EV_END)->u.total.unread, 1);
	fix_free(f);
}

static void
test_pending(void **state)
{
	struct fix *f = fix_new(false, 6, 0);
	struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	struct mexch *x;

	(void)state;
	for (int i = 0; i < 3; i++) {	/* conn, 3 x request, its end, answer, its end */
		x = ask(f, c, &(struct ask){ .method = "GET" });
		answer(f, x, 200, NULL, false);
		over(f, x, EV_COMPLETE);
	}
	assert_int_equal(f->rec.n, 0);
	x = ask(f, c, &(struct ask){ .method = "GET", .sid = "x" });
	assert_true(has_note(f, "late-mcp"));
	assert_int_equal(f->rec.ev[0]->type, EV_NOTE);
	/* The last six in their order, then what decided. */
	assert_int_equal(f->rec.n, 1 + 6 + 2);
	for (uint32_t i = 2; i < 7; i++)
		assert_true(f->rec.ev[i]->pkt > f->rec.ev[i - 1]->pkt);
	assert_int_equal(f->rec.ev[7]->type, EV_SESSION);
	assert_int_equal(f->rec.ev[8]->type, EV_REQUEST);
	assert_int_equal(count(f, EV_CONN), 0);
	over(f, x, EV_COMPLETE);
	model_conn_end(f->m, c, next(f));
	fix_free(f);
}

/* An exchange with a server of that number, and nothing left open. */
static void
visit(struct fix *f, int server, bool mcp)
{
	char name[32];
	struct mconn *c;

	(void)snprintf(name, sizeof name, "2.2.2.2:%d", server);
	c = conn(f, "1.1.1.1:1", name);
	over(f, ask(f, c, &(struct ask){ .method = "GET", .target = "/",
	    .version = mcp ? "2025-06-18" : NULL }), EV_COMPLETE);
	model_conn_end(f->m, c, next(f));
}

/* Of too many servers one without MCP goes, if nothing is open on it; else one
 * with, and that is said. */
static void
test_endpoints_limit(void **state)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *open[6];
	char name[32];

	(void)state;
	model_free(f->m);
	f->lim.endpoints = 4;
	f->m = model_new(&f->lim, false, record, &f->rec);
	visit(f, 1, true);
	visit(f, 2, true);
	for (int i = 0; i < 50; i++)
		visit(f, 10 + i, false);
	assert_int_equal(count(f, EV_REQUEST), 2);
	visit(f, 1, false);		/* both are still known */
	visit(f, 2, false);
	assert_int_equal(count(f, EV_REQUEST), 4);
	assert_false(has_note(f, "limit"));
	visit(f, 3, true);
	visit(f, 4, true);
	assert_int_equal(count(f, EV_REQUEST), 6);
	assert_false(has_note(f, "limit"));
	visit(f, 5, true);
	assert_true(has_note(f, "limit"));
	for (int i = 0; i < 6; i++) {	/* all are in use */
		(void)snprintf(name, sizeof name, "3.3.3.3:%d", i);
		open[i] = conn(f, "1.1.1.1:1", name);
	}
	visit(f, 60, false);
	for (int i = 0; i < 6; i++)
		model_conn_end(f->m, open[i], next(f));
	assert_int_equal(count(f, EV_REQUEST), 7);
	assert_int_equal(count(f, EV_NOTE), 1);
	fix_free(f);
}

/* ---- messages ---- */

/* Which channel a server's message is on, and which request it is tied to.
 * Before: POST tools/call id 7, token "t", unanswered, is exchange 2. */
static void
test_channel(void **state)
{
	enum carrier { ON_POST, ON_GET, IN_JSON };
	static const struct {
		const char *what;
		enum carrier on;
		const char *msg;
		enum ev_channel channel;
		uint32_t of;
		const char *answers;
	} rows[] = {
		{ "a notification on the GET", ON_GET,
		    "\"method\":\"notifications/tools/list_changed\"}", EV_CH_COMMON, 0, NULL },
		{ "on the POST", ON_POST, "\"method\":\"notifications/tools/list_changed\"}",
		    EV_CH_REQUEST, 0, NULL },
		{ "a request of the server", ON_GET, "\"id\":1,\"method\":\"roots/list\"}",
		    EV_CH_COMMON, 0, NULL },
		{ "progress of a running request", ON_GET, "\"method\":\"notifications/progress\","
		    "\"params\":{\"progressToken\":\"t\"}}", EV_CH_REQUEST, 2, NULL },
		{ "progress of none", ON_GET, "\"method\":\"notifications/progress\","
		    "\"params\":{\"progressToken\":\"u\"}}", EV_CH_COMMON, 0, NULL },
		{ "a token is no id", ON_GET, "\"method\":\"notifications/progress\","
		    "\"params\":{\"progressToken\":7}}", EV_CH_COMMON, 0, NULL },
		{ "its response", ON_POST, "\"id\":7,\"result\":{}}", EV_CH_REQUEST, 2,
		    "tools/call" },
		{ "on the GET", ON_GET, "\"id\":7,\"result\":{}}", EV_CH_REQUEST, 2,
		    "tools/call" },
		{ "an error", ON_GET, "\"id\":7,\"error\":{\"code\":1,\"message\":\"m\"}}",
		    EV_CH_REQUEST, 2, "tools/call" },
		{ "7 and \"7\" differ", ON_GET, "\"id\":\"7\",\"result\":{}}", EV_CH_REQUEST, 0,
		    NULL },
		{ "the answer of another", ON_GET, "\"id\":8,\"result\":{}}", EV_CH_REQUEST, 0,
		    NULL },
		{ "in a JSON body", IN_JSON, "\"id\":7,\"result\":{}}", EV_CH_NONE, 2,
		    "tools/call" },
		{ "tied to a task", ON_GET, "\"method\":\"notifications/x\",\"params\":{\"_meta\":"
		    "{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"1\"}}}}",
		    EV_CH_REQUEST, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct fix *f = fix_new(false, 0, 0);
		struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
		struct mconn *d = conn(f, "1.1.1.1:2", "2.2.2.2:2");
		struct mexch *post, *get;
		const struct ev *e;
		char msg[400];

		initialize(f, c, "S");
		post = ask(f, c, &(struct ask){ .method = "POST", .sid = "S" });
		say(f, post, true, RPC "\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":"
		    "\"n\",\"_meta\":{\"progressToken\":\"t\"}}}");
		assert_true(str_eq(last(f, EV_MESSAGE)->u.msg.name, STR("n")));
		answer(f, post, 200, NULL, rows[i].on != IN_JSON);
		get = ask(f, d, &(struct ask){ .method = "GET", .sid = "S" });
		answer(f, get, 200, NULL, true);
		(void)snprintf(msg, sizeof msg, RPC "%s", rows[i].msg);
		say(f, rows[i].on == ON_GET ? get : post, false, msg);
		e = last(f, EV_MESSAGE);
		if (e->u.msg.channel != rows[i].channel || e->u.msg.of != rows[i].of ||
		    !str_eq(e->u.msg.answers, str_c(rows[i].answers)))
			fail_msg("%s: channel %s, of %u, answers %.*s", rows[i].what,
			    ev_channel_names[e->u.msg.channel], e->u.msg.of,
			    STR_ARG(e->u.msg.answers));
		assert_int_equal(e->u.msg.sse, rows[i].on != IN_JSON);
		over(f, post, EV_COMPLETE);
		over(f, get, EV_COMPLETE);
		model_conn_end(f->m, c, next(f));
		model_conn_end(f->m, d, next(f));
		fix_free(f);
	}
}

/* ---- handles, flags ---- */

static void
test_handles(void **state)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	static const struct ask get = { .method = "GET", .sid = "S" };
	struct mexch *x, *y;

	(void)state;
	x = ask(f, c, &get);		/* answered before the request's end is seen */
	answer(f, x, 200, NULL, true);
	model_response_end(f->m, x, EV_COMPLETE, 5, 0, next(f));
	model_response_end(f->m, x, EV_COMPLETE, 5, 0, next(f));	/* heard once */
	block(f, x, NULL, "1", "late");			/* its stream is over */
	model_comment(f->m, x, STR("late"), next(f));
	model_request_end(f->m, x, EV_COMPLETE, 0, 0, next(f));
	assert_int_equal(count(f, EV_RESPONSE_END), 1);
	assert_int_equal(last(f, EV_RESPONSE_END)->u.end.bytes, 5);
	assert_int_equal(count(f, EV_SSE), 0);
	assert_int_equal(count(f, EV_COMMENT), 0);
	/* Open when the connection is forgotten. */
	x = ask(f, c, &get);
	answer(f, x, 200, NULL, true);
	y = ask(f, c, &get);
	model_request_end(f->m, y, EV_COMPLETE, 0, 0, next(f));
	model_conn_end(f->m, c, next(f));
	assert_int_equal(count(f, EV_STREAM_END), 2);
	assert_int_equal(last(f, EV_STREAM_END)->u.stream_end.end, EV_LOST);
	model_conn_end(f->m, NULL, next(f));
	fix_free(f);
	model_free(NULL);
}

static void
test_flags(void **state)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *c = model_conn(f->m, "1.1.1.1:1", "2.2.2.2:2", true, next(f));
	struct mexch *x = ask(f, c, &(struct ask){ .method = "GET", .sid = "S" });
	struct model_sse v = { .dispatched = true, .data = true, .cut = true, .torn = true,
	    .retry_ms = -1 };

	(void)state;
	answer(f, x, 200, NULL, true);
	assert_int_equal(last(f, EV_CONN)->flags, EVF_MIDSTREAM);
	assert_int_equal(last(f, EV_STREAM)->flags, EVF_MIDSTREAM);
	block(f, x, NULL, "1", "a");
	assert_int_equal(last(f, EV_SSE)->flags, EVF_MIDSTREAM);
	block(f, x, NULL, "1", "a");
	assert_int_equal(last(f, EV_SSE)->flags, EVF_MIDSTREAM | EVF_REPLAY);
	block(f, x, NULL, "2", "");			/* priming is no replay */
	block(f, x, NULL, "2", "");
	assert_int_equal(last(f, EV_SSE)->flags, EVF_MIDSTREAM);
	model_gap(f->m, c, EV_S2C, 99, next(f));
	assert_int_equal(last(f, EV_GAP)->u.gap.bytes, 99);
	model_conn_close(f->m, c, EV_C2S, "fin", false, next(f));
	assert_int_equal(last(f, EV_CONN_END)->stream, 1);
	assert_int_equal(last(f, EV_CONN_END)->session, 1);
	model_sse(f->m, x, &v, next(f));
	assert_int_equal(last(f, EV_SSE)->flags, EVF_MIDSTREAM | EVF_GAP | EVF_CUT | EVF_LATE);
	model_comment(f->m, x, STR("c"), next(f));
	assert_int_equal(last(f, EV_COMMENT)->flags, EVF_MIDSTREAM | EVF_GAP | EVF_LATE);
	assert_true(str_eq(last(f, EV_COMMENT)->u.comment.text, STR("c")));
	model_stall(f->m, c, 7, true, (struct at){ 1, 1 }, next(f));
	assert_int_equal(last(f, EV_STALL)->stream, 1);
	assert_int_equal(last(f, EV_STALL)->u.stall.bytes, 7);
	assert_int_equal(last(f, EV_STALL)->u.stall.since_pkt, 1);
	assert_true(last(f, EV_STALL)->u.stall.zero_window);
	model_anomaly(f->m, c, "odd", "text", next(f));
	assert_true(str_eq(last(f, EV_ANOMALY)->u.note.name, STR("odd")));
	model_response_end(f->m, x, EV_TRUNCATED, 0, EVF_UNDECODED, next(f));
	assert_true(last(f, EV_STREAM_END)->flags & EVF_UNDECODED);
	assert_int_equal(last(f, EV_STREAM_END)->u.stream_end.end, EV_TRUNCATED);
	assert_int_equal(last(f, EV_STREAM_END)->u.stream_end.events, 5);
	assert_int_equal(last(f, EV_STREAM_END)->u.stream_end.comments, 1);
	model_conn_end(f->m, c, next(f));
	fix_free(f);
}

/* A response whose request was not captured: of a kind that is not known. */
static void
test_head_lost(void **state)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *c = model_conn(f->m, "1.1.1.1:1", "2.2.2.2:2", true, next(f));
	struct model_request r = { .head_lost = true };
	struct model_response a = { .head_lost = true, .event_stream = true,
	    .framing = "chunked" };
	struct mexch *x = model_request(f->m, c, &r, next(f));

	(void)state;
	model_request_end(f->m, x, EV_LOST, 0, EVF_HEAD_LOST, next(f));
	model_response(f->m, x, &a, next(f));
	block(f, x, NULL, NULL, "x");
	say(f, x, false, RPC "\"method\":\"notifications/tools/list_changed\"}");
	assert_int_equal(last(f, EV_STREAM)->u.stream.kind, EV_UNKNOWN_KIND);
	assert_int_equal(last(f, EV_STREAM)->session, 0);
	assert_int_equal(last(f, EV_STREAM)->flags, EVF_MIDSTREAM | EVF_HEAD_LOST);
	assert_int_equal(count(f, EV_OWNER), 0);
	model_response_end(f->m, x, EV_OPEN, 0, 0, next(f));
	assert_int_equal(last(f, EV_STREAM_END)->u.stream_end.end, EV_OPEN);
	model_conn_end(f->m, c, next(f));
	fix_free(f);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evidence), cmocka_unit_test(test_patience),
		cmocka_unit_test(test_pending), cmocka_unit_test(test_channel),
		cmocka_unit_test(test_handles), cmocka_unit_test(test_flags),
		cmocka_unit_test(test_head_lost), cmocka_unit_test(test_endpoints_limit),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
