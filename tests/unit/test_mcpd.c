#include "mcpd_fix.h"

/* HTTP: what is answered how, sessions, what a POST and a GET must have. */

#define PING(id) REQ(id, "ping", "")
#define D11 "2025-11-25"
#define BAD(status, code) "HTTP/1.1 " status "\n" \
	"Content-Type: application/json\n" \
	"\"code\":" code "\n[end]"

static const struct scene http[] = {
	{ "another path", "", { { 0, "GET /", "HTTP/1.1 404\n/mcp\n[end]" } } },
	{ "a query is no part of the path", "", {
	    { 0, "POST /mcp?x=1\n\n" INIT(D11), OK "[end]" } } },
	{ "no such method", "", {
	    { 0, "PUT", "HTTP/1.1 405\nAllow: GET, POST, DELETE, OPTIONS\n[end]" },
	    { 0, "GET /messages", "HTTP/1.1 404\n[end]" },
	    { 0, "GET /sse", "HTTP/1.1 404\n[end]" } } },
	{ "no JSON", "", {
	    { 0, "POST\n\n{", BAD("400", "-32700") },
	    { 0, "POST\n\n", BAD("400", "-32700") },
	    { 0, "POST\n\n{} {}", BAD("400", "-32700") },
	    { 0, "POST\n\n{\"a\":\"\n\"}", BAD("400", "-32700") } } },
	{ "no JSON-RPC", "", {
	    { 0, "POST\n\n1", BAD("400", "-32600") },
	    { 0, "POST\n\n[]", BAD("400", "-32600") },
	    { 0, "POST\n\n{}", BAD("400", "-32600") },
	    { 0, "POST\n\n[1]", BAD("400", "-32600") },
	    { 0, "POST\n\n{\"id\":1,\"method\":\"ping\"}", BAD("400", "-32600") },
	    { 0, "POST\n\n" RPC("\"id\":null,\"method\":\"ping\""), BAD("400", "-32600") },
	    { 0, "POST\n\n" RPC("\"id\":[],\"method\":\"ping\""), BAD("400", "-32600") },
	    { 0, "POST\n\n" RPC("\"id\":1,\"method\":7"), BAD("400", "-32600") },
	    { 0, "POST\n\n" RPC("\"id\":1"), BAD("400", "-32600") },
	    { 0, "POST\n\n" RPC("\"id\":1,\"method\":\"\xff\""), BAD("400", "-32600") } } },
	{ "Content-Type", "", {
	    { 0, "POST\nContent-Type: text/plain\n\n" INIT(D11), BAD("415", "-32000") },
	    { 0, "POST\n-Content-Type\n\n" INIT(D11), BAD("415", "-32000") },
	    { 0, "POST\nContent-Type: application/jsonx\n\n" INIT(D11), BAD("415", "-32000") },
	    { 0, "POST\nContent-Type: Application/JSON ; charset=utf-8\n\n" INIT(D11),
	      OK "[end]" } } },
	{ "Accept that is too little", "", {
	    { 0, "POST\n-Accept\n\n" INIT(D11), BAD("406", "-32000") },
	    { 0, "POST\nAccept: application/json\n\n" INIT(D11), BAD("406", "-32000") },
	    { 0, "POST\nAccept: text/event-stream\n\n" INIT(D11), BAD("406", "-32000") },
	    { 0, "POST\nAccept: text/*, text/event-stream\n\n" INIT(D11), BAD("406", "-32000") },
	    { 0, "POST\nAccept: application/jsonx, text/event-streams\n\n" INIT(D11),
	      BAD("406", "-32000") },
	    { 0, "GET\n-Accept\n", BAD("406", "-32000") },
	    { 0, "GET\nAccept: application/json", BAD("406", "-32000") } } },
	{ "Accept in all its shapes", "", {
	    { 0, "POST\nAccept: */*\n\n" INIT(D11), OK "[end]" },
	    { 0, "POST\nAccept: application/*,text/*\n\n" INIT(D11), OK "[end]" },
	    { 0, "POST\nAccept: text/event-stream;q=0.5 ,APPLICATION/JSON; a=\"b\"\n\n" INIT(D11),
	      OK "[end]" },
	    { 0, "POST\nAccept: application/json\nAccept: text/event-stream\n\n" INIT(D11),
	      OK "[end]" },
	    { 0, "POST\nAccept: text/html\nAccept:\nAccept: ,, */* ,\n\n" INIT(D11), OK "[end]" },
	    { 1, "GET\n" SID("0") "Accept: text/html, text/*", OK "text/event-stream" },
	    { 2, "GET\n" SID("0") "Accept: text/html\nAccept: */*", OK "text/event-stream" } } },
	{ "a body that is too long", "body=200", {
	    { 0, "POST\n\n" INIT(D11), OK "[end]" },
	    { 1, "POST\n\n" INIT_CAPS(D11, "\"a\":\"0123456789012345678901234567890123456789"
	      "0123456789\""), "HTTP/1.1 413\n[end]" } } },
	{ "Host and Origin of others", "", {
	    { 0, "POST\nHost: evil.example\n\n" INIT(D11), BAD("403", "-32000") },
	    { 0, "POST\nHost: localhost.evil.example\n\n" INIT(D11), BAD("403", "-32000") },
	    { 0, "POST\nHost: example.org\n\n" INIT(D11), BAD("403", "-32000") },
	    { 0, "POST\nOrigin: http://evil.example\n\n" INIT(D11), BAD("403", "-32000") },
	    { 0, "POST\nOrigin: https://127.0.0.1.evil.example\n\n" INIT(D11),
	      BAD("403", "-32000") },
	    { 0, "POST\nOrigin: null\n\n" INIT(D11), BAD("403", "-32000") },
	    { 0, "POST\nOrigin:\n\n" INIT(D11), BAD("403", "-32000") },
	    { 0, "POST\nOrigin: file://localhost\n\n" INIT(D11), BAD("403", "-32000") },
	    { 0, "POST\nOrigin: http://localhost@evil.example\n\n" INIT(D11),
	      BAD("403", "-32000") },
	    { 0, "GET\nOrigin: http://evil.example", BAD("403", "-32000") },
	    { 0, "OPTIONS\nOrigin: http://evil.example", "HTTP/1.1 403\n"
	      "!Access-Control-Allow\n[end]" } } },
	{ "Host and Origin of ours", "", {
	    { 0, "POST\nHost: 127.0.0.1:99\n\n" INIT(D11), OK "!Access-Control\n[end]" },
	    { 0, "POST\nHost: [::1]:99\nOrigin: https://[::1]\n\n" INIT(D11),
	      OK "Access-Control-Allow-Origin: https://[::1]\nVary: Origin\n"
	      "Access-Control-Expose-Headers: Mcp-Session-Id\n[end]" },
	    { 0, "POST\nHost: LOCALHOST\nOrigin: HTTP://LocalHost:1\n\n" INIT(D11), OK "[end]" } } },
	{ "names that are allowed", "hosts", {
	    { 0, "POST\nHost: example.org:8080\nOrigin: http://EXAMPLE.org\n\n" INIT(D11),
	      OK "Access-Control-Allow-Origin: http://EXAMPLE.org\n[end]" },
	    { 0, "POST\nHost: example.com\n\n" INIT(D11), BAD("403", "-32000") } } },
	{ "any name", "any-host", {
	    { 0, "POST\nHost: evil.example\nOrigin: http://evil.example\n\n" INIT(D11),
	      OK "[end]" } } },
	{ "CORS preflight", "", {
	    { 0, "OPTIONS\nOrigin: http://localhost:5173\nAccess-Control-Request-Method: POST",
	      "HTTP/1.1 204\nAccess-Control-Allow-Origin: http://localhost:5173\n"
	      "Vary: Origin\nAccess-Control-Allow-Methods: GET, POST, DELETE\n"
	      "Access-Control-Allow-Headers:\nMcp-Session-Id\nMCP-Protocol-Version\n[end]" } } },
};

static const struct scene versions[] = {
	{ "2024-11-05", "", { { 0, "POST\n\n" INIT("2024-11-05"), OK "Mcp-Session-Id: \n"
	    "\r\n\r\nid: r0-1\nretry: 3000\ndata: {\n\"protocolVersion\":\"2024-11-05\"\n[end]" } } },
	{ "2025-03-26: no event of empty data", "", { { 0, "POST\n\n" INIT("2025-03-26"),
	    OK "Mcp-Session-Id: \n\r\n\r\nid: r0-1\nretry: 3000\ndata: {\n"
	    "\"protocolVersion\":\"2025-03-26\"\n[end]" } } },
	{ "2025-06-18: nor there", "", { { 0, "POST\n\n" INIT("2025-06-18"),
	    OK "\r\n\r\nid: r0-1\nretry: 3000\ndata: {\n\"protocolVersion\":\"2025-06-18\"\n"
	    "[end]" } } },
	{ "2025-11-25: primed", "", { { 0, "POST\n\n" INIT(D11),
	    OK "\r\n\r\nid: r0-0\nretry: 3000\ndata: \n!retry: \nid: r0-1\ndata: {\n"
	    "\"protocolVersion\":\"2025-11-25\"\n\"capabilities\":{\"tools\":{\"listChanged\":true}"
	    "\n\"subscribe\":true\n\"logging\":{}\n\"completions\":{}\n"
	    "\"serverInfo\":{\"name\":\"mcpdiag\"\n[end]" } } },
	{ "unknown ones get the newest", "", {
	    { 0, "POST\n\n" INIT("1999-01-01"), OK "\"protocolVersion\":\"2025-11-25\"\n[end]" },
	    { 0, "POST\n\n" INIT(""), OK "\"protocolVersion\":\"2025-11-25\"\n[end]" },
	    { 0, "POST\n\n" INIT("2026-07-28"), OK "\"protocolVersion\":\"2025-11-25\"\n[end]" } } },
	{ "no version at all", "", {
	    { 0, "POST\n\n" REQ("0", "initialize", ""), BAD("400", "-32602") },
	    { 0, "POST\n\n" REQ("0", "initialize", "\"protocolVersion\":7"),
	      BAD("400", "-32602") } } },
	{ "in JSON", "json", { { 0, "POST\n\n" INIT(D11), OK "Content-Type: application/json\n"
	    "Mcp-Session-Id: \n\"protocolVersion\":\"2025-11-25\"\n[end]" } } },
	{ "the header of later requests", "", {
	    BEGIN(0, "2025-06-18"),
	    { 0, "POST\n" SID("0") "MCP-Protocol-Version: 2025-06-18\n\n" PING("1"), OK "[end]" },
	    { 0, "POST\n" SID("0") "MCP-Protocol-Version: 2025-03-26\n\n" PING("1"), OK "[end]" },
	    { 0, "POST\n" SID("0") "MCP-Protocol-Version: 1999-01-01\n\n" PING("1"),
	      "HTTP/1.1 400\n\"id\":1\n-32000\n[end]" },
	    { 0, "POST\n" SID("0") "MCP-Protocol-Version:\n\n" PING("1"),
	      "HTTP/1.1 400\n[end]" } } },
	{ "rmcp's release as it was", "policy=replace", {
	    { 0, "POST\n\n" INIT(D11), OK "!X-Accel\n\r\n\r\ndata: \nid: 0\nretry: 3000\n"
	      "!id: \n\"protocolVersion\"\n[end]" },
	    { 0, POST("0", PING("1")), OK "data: \nid: 0\nretry: 3000\ndata: {\nid: 0/0\n"
	      "[end]" } } },
};

static const struct scene sessions[] = {
	{ "missing and unknown", "", {
	    { 0, "POST\n\n" PING("7"), "HTTP/1.1 400\n\"id\":7\n-32000\n[end]" },
	    { 0, "GET", BAD("400", "-32000") },
	    { 0, "DELETE", BAD("400", "-32000") },
	    { 0, "POST\nMcp-Session-Id: x\n\n" PING("\"a\""),
	      "HTTP/1.1 404\n\"id\":\"a\"\n-32001\n[end]" },
	    { 0, "GET\nMcp-Session-Id: 0123456789abcdef0123456789abcdef", BAD("404", "-32001") },
	    { 0, "DELETE\nMcp-Session-Id: x", BAD("404", "-32001") },
	    { 0, "POST\nMcp-Session-Id: x\n\n" NOTE("notifications/initialized", ""),
	      BAD("404", "-32001") } } },
	{ "401 for both", "401", {
	    { 0, "POST\n\n" PING("7"), "HTTP/1.1 401\n[end]" },
	    { 0, "GET\nMcp-Session-Id: x", BAD("401", "-32001") } } },
	{ "its life", "", {
	    BEGIN(0, D11),
	    { 0, POST("0", NOTE("notifications/initialized", "")),
	      "HTTP/1.1 202\n!Content-Type\n[end]" },
	    { 0, POST("0", PING("1")), OK "!Mcp-Session-Id\n\"id\":1,\"result\":{}}\n[end]" },
	    { 1, GET("0"), OK "id: g1-0\nretry: 3000\ndata: \n" },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" },
	    { 1, NULL, "[end]" },
	    { 0, POST("0", PING("1")), "HTTP/1.1 404\n[end]" },
	    { 0, "GET\n" SID("0"), "HTTP/1.1 404\n[end]" },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 404\n[end]" } } },
	{ "initialized twice", "", {
	    BEGIN(0, D11),
	    { 0, POST("0", INIT(D11)), BAD("400", "-32600") },
	    { 0, "POST\nMcp-Session-Id: x\n\n" INIT(D11), BAD("404", "-32001") } } },
	{ "two do not know of each other", "", {
	    BEGIN(0, D11), BEGIN(1, D11),
	    { 2, GET("0"), OK "id: g1-0" },
	    { 3, GET("1"), OK "id: g1-0" },
	    { 0, POST("0", CALL("1", "emit", "")), OK "emitted\n[end]" },
	    { 2, NULL, CHANGED },
	    { 1, POST("1", CALL("1", "emit", "\"all\":true")), OK "emitted\n[end]" },
	    { 3, NULL, "id: g1-1\n" CHANGED },
	    { 2, NULL, "id: g1-2\n" CHANGED } } },
	{ "no more than may be: the longest idle one makes room", "sessions=2", {
	    BEGIN(0, D11), BEGIN(1, D11),
	    { 0, POST("0", PING("1")), OK "[end]" },
	    BEGIN(2, D11),
	    { 0, POST("0", PING("1")), OK "[end]" },
	    { 1, POST("1", PING("1")), "HTTP/1.1 404\n[end]" },
	    { 2, POST("2", PING("1")), OK "[end]" } } },
	{ "one with a stream or a job does not make room", "sessions=2", {
	    BEGIN(0, D11), BEGIN(1, D11),
	    { 2, GET("0"), OK "id: g1-0" },
	    { 3, POST("1", CALL("1", "slow", "\"ms\":3600000")), OK "id: r1-0" },
	    { 4, "POST\n\n" INIT(D11), "HTTP/1.1 503\n\"id\":0\n-32000\n[end]" },
	    { 2, "@close", NULL },
	    { 0, POST("0", PING("1")), OK "[end]" },
	    { 4, "POST\n\n" INIT(D11), OK "[end]" },
	    { 0, POST("0", PING("1")), "HTTP/1.1 404\n[end]" } } },
};

static const struct scene notes[] = {
	{ "notifications and responses: 202 and nothing", "", {
	    BEGIN(0, D11),
	    { 0, POST("0", NOTE("notifications/initialized", "")), "HTTP/1.1 202\n\r\n\r\n[end]" },
	    { 0, POST("0", RPC("\"method\":\"notifications/roots/list_changed\"")),
	      "HTTP/1.1 202\n\r\n\r\n[end]" },
	    { 0, POST("0", RPC("\"id\":1,\"result\":{}")), "HTTP/1.1 202\n\r\n\r\n[end]" },
	    { 0, POST("0", RPC("\"id\":99999999999999999999,\"result\":{}")),
	      "HTTP/1.1 202\n\r\n\r\n[end]" },
	    { 0, POST("0", RPC("\"id\":\"x\",\"error\":{\"code\":1,\"message\":\"\"}")),
	      "HTTP/1.1 202\n\r\n\r\n[end]" } } },
	{ "batches of 2025-03-26", "", {
	    BEGIN(0, "2025-03-26"),
	    { 0, POST("0", "[" PING("1") "," PING("\"b\"") "]"),
	      OK "\"id\":1\n\"id\":\"b\"\n[end]" },
	    { 0, POST("0", "[" NOTE("notifications/initialized", "") "]"), "HTTP/1.1 202\n[end]" },
	    { 0, POST("0", "[" PING("3") "," NOTE("notifications/x", "") ","
	      RPC("\"id\":4,\"result\":{}") "]"), OK "!\"id\":4\n\"id\":3\n[end]" },
	    { 0, POST("0", "[" PING("5") ",7]"), "HTTP/1.1 400\n-32600\n[end]" },
	    { 0, POST("0", "[" INIT("2025-03-26") "]"), "HTTP/1.1 400\n-32600\n[end]" },
	    { 1, "POST\n\n[" PING("6") "," INIT("2025-03-26") "]",
	      "HTTP/1.1 400\n-32600\n[end]" } } },
	{ "no batches before and later", "", {
	    BEGIN(0, "2025-06-18"), BEGIN(1, D11), BEGIN(2, "2024-11-05"),
	    { 0, POST("0", "[" PING("1") "]"), "HTTP/1.1 400\n-32600\n[end]" },
	    { 1, POST("1", "[" PING("1") "]"), "HTTP/1.1 400\n-32600\n[end]" },
	    { 1, POST("1", "[" NOTE("notifications/initialized", "") "]"),
	      "HTTP/1.1 400\n-32600\n[end]" },
	    { 2, POST("2", "[" PING("1") "]"), "HTTP/1.1 400\n-32600\n[end]" } } },
	{ "batches in JSON", "json", {
	    BEGIN(0, "2025-03-26"),
	    { 0, POST("0", "[" PING("1") "," NOTE("notifications/x", "") "," PING("2") "]"),
	      OK "application/json\n[{\n\"id\":1\n,{\n\"id\":2\n}]\n[end]" },
	    { 0, POST("0", "[" PING("3") "," CALL("4", "slow", "\"ms\":1,\"steps\":1") "]"),
	      OK "application/json\n\"id\":3\n\"id\":4\n}]\n[end]" } } },
	{ "a batch that begins in JSON and needs a stream then", "json", {
	    BEGIN(0, "2025-03-26"),
	    { 0, POST("0", "[" PING("1") "," CALL_P("2", "slow", "\"ms\":2,\"steps\":2", "5")
	      "," PING("3") "]"),
	      OK "text/event-stream\n\"id\":1\n\"id\":3\n\"progressToken\":5\n\"id\":2\n[end]" } } },
	{ "one that is longer than a body may be", "json backlog=67108864", {
	    BEGIN(0, "2025-03-26"),
	    { 0, POST("0", "[" PING("1") "," CALL("2", "big", "\"bytes\":4194304") ","
	      CALL("3", "big", "\"bytes\":4194304") "," PING("4") "]"),
	      OK "text/event-stream\n[{\n\"id\":1,\n\"id\":2,\n}]\n\"id\":3,\n\"id\":4,\n"
	      "[end]" } } },
};

static void
test_http(void **state)
{
	(void)state;
	mfix_scenes(http, N_ROWS(http));
}

static void
test_versions(void **state)
{
	(void)state;
	mfix_scenes(versions, N_ROWS(versions));
}

static void
test_sessions(void **state)
{
	(void)state;
	mfix_scenes(sessions, N_ROWS(sessions));
}

static void
test_notes(void **state)
{
	(void)state;
	mfix_scenes(notes, N_ROWS(notes));
}

/* 65 messages are too many for a batch, 64 are not. */
static void
test_batch_limit(void **state)
{
	struct mcpd_opts o;
	struct mfix f;
	struct buf b;

	(void)state;
	mfix_options(&o, "");
	mfix_init(&f, &o);
	mfix_send(&f, 0, "POST\n\n" INIT("2025-03-26"));
	mfix_want(&f, 0, OK "[end]");
	for (int n = 64; n <= 65; n++) {
		buf_init(&b, 1 << 20);
		(void)buf_fmt(&b, "POST\n" SID("0") "\n");
		for (int i = 0; i < n; i++)
			(void)buf_fmt(&b, "%s" RPC("\"id\":%d,\"method\":\"ping\""),
			    i ? "," : "[", i);
		(void)buf_add(&b, "]", 2);
		mfix_send(&f, 0, b.p);
		mfix_want(&f, 0, n == 64 ? OK "\"id\":0,\n\"id\":63,\n[end]" :
		    "HTTP/1.1 400\n-32600\n[end]");
		buf_fini(&b);
	}
	mfix_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_batch_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
