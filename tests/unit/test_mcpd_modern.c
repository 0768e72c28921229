#include "mcpd_fix.h"

/* Revision 2026-07-28. */

#define E "2026-07-28"
#define M "io.modelcontextprotocol/"
#define META_ENV(version, caps) "\"_meta\":{\"" M "protocolVersion\":\"" version "\",\"" M \
	"clientCapabilities\":{" caps "}}"
#define META META_ENV(E, "")
#define HEAD(method) "MCP-Protocol-Version: " E "\nMcp-Method: " method "\n"
#define ASK(method, body) "POST\n" HEAD(method) "\n" body
#define NAMED(method, name, body) "POST\n" HEAD(method) "Mcp-Name: " name "\n\n" body
#define DO(id, name, args) NAMED("tools/call", name, REQ(id, "tools/call", \
	"\"name\":\"" name "\",\"arguments\":{" args "}," META))
#define DO_CAPS(id, name, args, caps) NAMED("tools/call", name, REQ(id, "tools/call", \
	"\"name\":\"" name "\",\"arguments\":{" args "}," META_ENV(E, caps)))
#define LISTEN(id, filter) ASK("subscriptions/listen", REQ(id, "subscriptions/listen", \
	"\"notifications\":{" filter "}," META))
#define BAD(status, id, code) "HTTP/1.1 " status "\nContent-Type: application/json\n" \
	"!result\n\"id\":" id ",\"error\":{\"code\":" code ",\n"
#define MISMATCH(header, body) "\"data\":{\"mismatch\":{\"header\":\"" header \
	"\",\"body\":\"" body "\"}}\n[end]"
#define DONE "\"resultType\":\"complete\"\n\"_meta\":{\"" M "serverInfo\":{\"name\":\"mcpdiag\"\n" \
	"[end]"
#define CACHED "\"ttlMs\":0,\"cacheScope\":\"private\"\n" DONE
#define JSON_OK OK "!Mcp-Session-Id\nContent-Type: application/json\n!Mcp-Session-Id\n"
#define SUB(id) "\"_meta\":{\"" M "subscriptionId\":" id "}"

static const struct scene calls[] = {
	{ "discover", "", {
	    { 0, ASK("server/discover", REQ("\"d-1\"", "server/discover", META)), JSON_OK
	      "\"id\":\"d-1\"\n!protocolVersion\n\"supportedVersions\":[\"2026-07-28\"]\n"
	      "\"capabilities\":{\"tools\":{\"listChanged\":true}\n" CACHED } } },
	{ "lists and reads may be cached, others not", "conformance", {
	    { 0, ASK("tools/list", REQ("1", "tools/list", META)), JSON_OK "\"tools\":[\n" CACHED },
	    { 0, ASK("resources/list", REQ("1", "resources/list", META)), JSON_OK CACHED },
	    { 0, ASK("resources/templates/list", REQ("1", "resources/templates/list", META)),
	      JSON_OK CACHED },
	    { 0, ASK("prompts/list", REQ("1", "prompts/list", META)), JSON_OK CACHED },
	    { 0, NAMED("resources/read", "test://static-text", REQ("1", "resources/read",
	      "\"uri\":\"test://static-text\"," META)), JSON_OK "\"contents\":[\n" CACHED },
	    { 0, NAMED("prompts/get", "greet", REQ("1", "prompts/get", "\"name\":\"greet\"," META)),
	      JSON_OK "!ttlMs\n" DONE },
	    { 0, ASK("completion/complete", REQ("1", "completion/complete", META)),
	      JSON_OK "!ttlMs\n" DONE } } },
	{ "tools/call", "", {
	    { 0, DO("1", "echo", "\"text\":\"a\""), JSON_OK "\"text\":\"a\"\n!ttlMs\n" DONE },
	    { 0, DO("2", "fail", ""), JSON_OK "\"isError\":true\n" DONE },
	    { 0, DO("3", "nope", ""), OK "\"id\":3,\"error\":{\"code\":-32602\n[end]" },
	    { 0, NAMED("resources/read", "x", REQ("4", "resources/read", "\"uri\":\"x\"," META)),
	      OK "\"id\":4,\"error\":{\"code\":-32602\n[end]" } } },
	{ "Mcp-Name in base64", "", {
	    { 0, NAMED("tools/call", "=?base64?ZWNobw==?=", REQ("1", "tools/call",
	      "\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}," META)), JSON_OK DONE },
	    { 0, NAMED("tools/call", "=?base64?bmHDr3Zl?=", REQ("2", "tools/call",
	      "\"name\":\"na\\u00efve\"," META)), OK "\"id\":2\n-32602\n[end]" },
	    { 0, NAMED("tools/call", "=?base64?bmHDr3Zl?=", REQ("3", "tools/call",
	      "\"name\":\"na\xc3\xafve\"," META)), OK "\"id\":3\n-32602\n[end]" },
	    { 0, NAMED("tools/call", "=?base64?ZWNobx==?=", REQ("4", "tools/call",
	      "\"name\":\"echo\"," META)), BAD("400", "4", "-32020")
	      MISMATCH("=?base64?ZWNobx==?=", "echo") },
	    { 0, NAMED("tools/call", "=?base64?ZmFpbA==?=", REQ("4", "tools/call",
	      "\"name\":\"echo\"," META)), BAD("400", "4", "-32020") "[end]" },
	    { 0, NAMED("tools/call", "=?base64?ZWNo", REQ("5", "tools/call",
	      "\"name\":\"echo\"," META)), BAD("400", "5", "-32020") "[end]" },
	    { 0, NAMED("tools/call", "=?base64?=", REQ("6", "tools/call",
	      "\"name\":\"echo\"," META)), BAD("400", "6", "-32020") "[end]" } } },
	{ "progress makes it a stream, without ids", "", {
	    { 0, NAMED("tools/call", "slow", REQ("1", "tools/call", "\"name\":\"slow\","
	      "\"arguments\":{\"ms\":1,\"steps\":1},\"_meta\":{\"progressToken\":1,\"" M
	      "protocolVersion\":\"" E "\",\"" M "clientCapabilities\":{}}")),
	      OK "Content-Type: text/event-stream\nCache-Control: no-cache\n"
	      "X-Accel-Buffering: no\n\r\n\r\n!id: \n\"progressToken\":1\n!id: \n"
	      "slow: done\n" DONE } } },
	{ "both eras at one place", "", {
	    { 0, ASK("server/discover", REQ("1", "server/discover", META)), JSON_OK CACHED },
	    BEGIN(0, "2025-11-25"),
	    { 0, POST("0", REQ("1", "ping", "")), OK "\"result\":{}}\n[end]" },
	    { 0, DO("2", "echo", "\"text\":\"a\""), JSON_OK DONE },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" } } },
	{ "a client that goes cancels", "", {
	    { 0, "POST\n\n" INIT("2025-03-26"), OK "[end]" },
	    { 1, NAMED("tools/call", "slow", REQ("1", "tools/call", "\"name\":\"slow\","
	      "\"arguments\":{\"ms\":36000,\"steps\":1000},\"_meta\":{\"progressToken\":1,\"" M
	      "protocolVersion\":\"" E "\",\"" M "clientCapabilities\":{}}")),
	      OK "\"progress\":1,\"total\":1000" },
	    { 1, "@close", NULL },
	    { 2, DO("1", "slow", "\"ms\":3600000"), NULL },
	    { 0, POST("0", CALL("1", "slow", "\"ms\":20")), OK "[end]" },
	    { 2, "@reset", NULL },
	    { 0, POST("0", CALL("1", "slow", "\"ms\":20")), OK "[end]" } } },
};

static const struct scene errors[] = {
	{ "the header is not there, or says something else", "", {
	    { 0, "POST\nMcp-Method: tools/list\n\n" REQ("1", "tools/list", META),
	      BAD("400", "1", "-32020") MISMATCH("(missing)", E) },
	    { 0, "POST\nMCP-Protocol-Version: 2025-11-25\nMcp-Method: tools/list\n\n"
	      REQ("2", "tools/list", META), BAD("400", "2", "-32020")
	      MISMATCH("2025-11-25", E) },
	    { 0, "POST\nMCP-Protocol-Version: " E "\n\n" REQ("3", "tools/list", META),
	      BAD("400", "3", "-32020") MISMATCH("(missing)", "tools/list") },
	    { 0, ASK("tools/call", REQ("4", "tools/list", META)),
	      BAD("400", "4", "-32020") MISMATCH("tools/call", "tools/list") } } },
	{ "Mcp-Name", "", {
	    { 0, ASK("tools/call", REQ("1", "tools/call", "\"name\":\"echo\"," META)),
	      BAD("400", "1", "-32020") MISMATCH("(missing)", "echo") },
	    { 0, NAMED("tools/call", "ask", REQ("2", "tools/call", "\"name\":\"echo\"," META)),
	      BAD("400", "2", "-32020") MISMATCH("ask", "echo") },
	    { 0, NAMED("prompts/get", "ask", REQ("3", "prompts/get", "\"name\":\"greet\"," META)),
	      BAD("400", "3", "-32020") MISMATCH("ask", "greet") },
	    { 0, NAMED("resources/read", "a", REQ("4", "resources/read", "\"uri\":\"b\\\"\"," META)),
	      BAD("400", "4", "-32020") MISMATCH("a", "b\\\"") },
	    { 0, NAMED("tools/call", "a\"\\\t", REQ("5", "tools/call", META)),
	      BAD("400", "5", "-32020") MISMATCH("a\\\"\\\\", "") } } },
	{ "initialize with that header", "", {
	    { 0, ASK("initialize", INIT(E)), BAD("400", "0", "-32020") "mismatch\n[end]" } } },
	{ "the envelope", "", {
	    { 0, ASK("tools/list", REQ("1", "tools/list", "")), BAD("400", "1", "-32602")
	      "\"envelope\":{\"missing\":[\"_meta\"]}\n[end]" },
	    { 0, ASK("tools/list", REQ("2", "tools/list", "\"_meta\":{}")),
	      BAD("400", "2", "-32602") "\"missing\":[\"" M "protocolVersion\"]\n[end]" },
	    { 0, ASK("tools/list", REQ("3", "tools/list", "\"_meta\":{\"" M
	      "protocolVersion\":\"" E "\"}")), BAD("400", "3", "-32602") "\"key\":\"" M
	      "clientCapabilities\",\"problem\":\"missing\"\n[end]" },
	    { 0, ASK("tools/list", REQ("4", "tools/list", "\"_meta\":{\"" M
	      "protocolVersion\":\"" E "\",\"" M "clientCapabilities\":7}")),
	      BAD("400", "4", "-32602") "clientCapabilities\n[end]" } } },
	{ "versions that are not spoken", "", {
	    { 0, "POST\nMCP-Protocol-Version: 2027-01-01\nMcp-Method: tools/list\n\n"
	      REQ("1", "tools/list", META_ENV("2027-01-01", "")), BAD("400", "1", "-32022")
	      "\"supported\":[\"2026-07-28\"],\"requested\":\"2027-01-01\"\n[end]" },
	    { 0, "POST\nMCP-Protocol-Version: 2025-11-25\nMcp-Method: tools/list\n\n"
	      REQ("2", "tools/list", META_ENV("2025-11-25", "")), BAD("400", "2", "-32022")
	      "\"requested\":\"2025-11-25\"\n[end]" },
	    { 0, "POST\nMCP-Protocol-Version:\nMcp-Method: tools/list\n\n"
	      REQ("3", "tools/list", META_ENV("", "")), "HTTP/1.1 400\n\"id\":3\n[end]" } } },
	{ "a version that is no string", "", {
	    { 0, "POST\nMCP-Protocol-Version: 7\nMcp-Method: tools/list\n\n" REQ("1", "tools/list",
	      "\"_meta\":{\"" M "protocolVersion\":7,\"" M "clientCapabilities\":{}}"),
	      "HTTP/1.1 400\n\"id\":1\n[end]" },
	    { 0, "POST\nMCP-Protocol-Version: " E "\nMcp-Method: tools/list\n\n" REQ("2",
	      "tools/list", "\"_meta\":{\"" M "protocolVersion\":{\"a\":\"b\"}}"),
	      "HTTP/1.1 400\n\"id\":2\n[end]" } } },
	{ "what the client cannot do", "", {
	    { 0, DO("1", "ask", ""), BAD("400", "1", "-32021")
	      "\"requiredCapabilities\":{\"sampling\":{}}\n[end]" },
	    { 0, DO("2", "confirm", ""), BAD("400", "2", "-32021")
	      "\"requiredCapabilities\":{\"elicitation\":{\"form\":{}}}\n[end]" } } },
	{ "methods that there are not", "", {
	    { 0, ASK("nope", REQ("1", "nope", META)), BAD("404", "1", "-32601") "[end]" },
	    { 0, ASK("ping", REQ("1", "ping", META)), BAD("404", "1", "-32601") "[end]" },
	    { 0, ASK("logging/setLevel", REQ("1", "logging/setLevel", META)),
	      BAD("404", "1", "-32601") "[end]" },
	    { 0, ASK("resources/subscribe", REQ("1", "resources/subscribe", META)),
	      BAD("404", "1", "-32601") "[end]" },
	    { 0, ASK("resources/unsubscribe", REQ("1", "resources/unsubscribe", META)),
	      BAD("404", "1", "-32601") "[end]" },
	    { 0, ASK("initialize", REQ("1", "initialize", META)),
	      BAD("404", "1", "-32601") "[end]" } } },
	{ "other HTTP methods", "", {
	    { 0, "GET\nMCP-Protocol-Version: " E, "HTTP/1.1 405\nAllow: POST\n[end]" },
	    { 0, "DELETE\nMCP-Protocol-Version: " E, "HTTP/1.1 405\nAllow: POST\n[end]" } } },
	{ "what is no request", "", {
	    { 0, "POST\nMCP-Protocol-Version: " E "\n\n{", BAD("400", "null", "-32700") "[end]" },
	    { 0, "POST\nContent-Type: a/b\nMCP-Protocol-Version: " E "\n\n{}",
	      BAD("415", "null", "-32000") "[end]" },
	    { 0, "POST\n\n[" REQ("1", "ping", "") "," REQ("2", "tools/list", META) "]",
	      BAD("400", "null", "-32600") "[end]" },
	    { 0, "POST\nMCP-Protocol-Version: " E "\n\n[" REQ("1", "ping", "") "]",
	      BAD("400", "null", "-32600") "[end]" },
	    { 0, "POST\nMCP-Protocol-Version: " E "\n\n" RPC("\"id\":1,\"result\":{}"),
	      BAD("400", "null", "-32600") "[end]" },
	    { 0, "POST\nMCP-Protocol-Version: " E "\n\n" NOTE("notifications/cancelled",
	      "\"requestId\":1," META), "HTTP/1.1 202\n\r\n\r\n[end]" } } },
};

static const struct scene listens[] = {
	{ "acknowledged, then told", "", {
	    { 0, LISTEN("\"listen:0\"", "\"toolsListChanged\":true,\"promptsListChanged\":true,"
	      "\"resourcesListChanged\":false,\"resourceSubscriptions\":[\"a\"]"),
	      OK "text/event-stream\n\r\n\r\n!id: \n"
	      "\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{"
	      "\"notifications\":{\"toolsListChanged\":true,\"promptsListChanged\":true},"
	      SUB("\"listen:0\"") },
	    { 1, LISTEN("7", "\"toolsListChanged\":true"), OK "acknowledged\n" SUB("7") },
	    { 2, LISTEN("7", "\"promptsListChanged\":true,\"resourcesListChanged\":true"),
	      OK "\"notifications\":{\"promptsListChanged\":true,\"resourcesListChanged\":true},"
	      SUB("7") },
	    { 3, DO("1", "emit", "\"n\":2"), JSON_OK DONE },
	    { 0, NULL, "\"method\":\"" CHANGED "\",\"params\":{" SUB("\"listen:0\"") "}\n"
	      "\"method\":\"" CHANGED "\",\"params\":{" SUB("\"listen:0\"") "}" },
	    { 1, NULL, "\"method\":\"" CHANGED "\",\"params\":{" SUB("7") "}" },
	    { 1, "@close", NULL },
	    { 0, "@emit", CHANGED },
	    { 0, "@stop", "\"id\":\"listen:0\",\"result\":{\"resultType\":\"complete\",\"_meta\":{\""
	      M "subscriptionId\":\"listen:0\",\"" M "serverInfo\":{\n[end]" },
	    { 2, NULL, "!" CHANGED "\n\"id\":7,\"result\":{\n[end]" } } },
	{ "nothing that can come", "", {
	    { 0, LISTEN("1", ""), OK "\"notifications\":{}," SUB("1") "\n\"id\":1,\"result\":{\n"
	      "[end]" },
	    { 0, LISTEN("2", "\"resourceSubscriptions\":[\"a\"]"), OK "\"notifications\":{}\n"
	      "\"id\":2,\"result\":{\n[end]" },
	    { 0, LISTEN("3", "\"toolsListChanged\":1"), OK "\"notifications\":{}\n[end]" } } },
	{ "no filter", "", {
	    { 0, ASK("subscriptions/listen", REQ("1", "subscriptions/listen", META)),
	      OK "application/json\n\"id\":1,\"error\":{\"code\":-32602\n[end]" },
	    { 0, ASK("subscriptions/listen", REQ("2", "subscriptions/listen",
	      "\"notifications\":[]," META)), OK "-32602\n[end]" } } },
	{ "comments", "keepalive=1", {
	    { 0, LISTEN("1", "\"toolsListChanged\":true"), OK "acknowledged\n^:^\n^:^" } } },
};

#define SAMPLING "\"sampling\":{}"
#define FORM "\"elicitation\":{}"
#define AGAIN(id, name, caps, input, state) NAMED("tools/call", name, REQ(id, "tools/call", \
	"\"name\":\"" name "\",\"arguments\":{},\"inputResponses\":{\"q\":" input "}," \
	"\"requestState\":" state "," META_ENV(E, caps)))

static const struct scene input[] = {
	{ "sampling", "", {
	    { 0, DO_CAPS("1", "ask", "\"prompt\":\"why\"", SAMPLING), JSON_OK "\"id\":1,\"result\":{"
	      "\"resultType\":\"input_required\"\n!ttlMs\n\"inputRequests\":{\"q\":{\"method\":"
	      "\"sampling/createMessage\"\n\"text\":\"why\"\n\"requestState\":\"mcpdiag-1\"\n"
	      "!ttlMs\nserverInfo\n[end]" },
	    { 0, AGAIN("2", "ask", SAMPLING, "{\"role\":\"assistant\",\"content\":{\"type\":\"text\","
	      "\"text\":\"so\"}}", "\"mcpdiag-1\""), JSON_OK "LLM response: so\n" DONE },
	    { 0, AGAIN("3", "ask", SAMPLING, "{}", "\"mcpdiag-2\""),
	      OK "\"id\":3,\"error\":{\"code\":-32602\n\"reason\":\"invalid_request_state\"\n[end]" },
	    { 0, AGAIN("4", "ask", SAMPLING, "{}", "{}"), OK "invalid_request_state\n[end]" },
	    { 0, AGAIN("5", "ask", SAMPLING, "{\"content\":{\"text\":{\"\n\":1}}}",
	      "\"mcpdiag-1\""), "HTTP/1.1 400\n[end]" },
	    { 0, AGAIN("6", "ask", SAMPLING, "{\"content\":{\"text\":{\"a\":\n1}}}",
	      "\"mcpdiag-1\""), OK "LLM response: \n[end]" } } },
	{ "elicitation", "", {
	    { 0, DO_CAPS("1", "confirm", "\"message\":\"sure\"", FORM), JSON_OK
	      "\"inputRequests\":{\"q\":{\"method\":\"elicitation/create\"\n\"mode\":\"form\"\n"
	      "\"message\":\"sure\"\n\"requestedSchema\":{\n[end]" },
	    { 0, AGAIN("2", "confirm", FORM, "{\"action\":\"accept\",\"content\":{\"ok\":true}}",
	      "\"mcpdiag-1\""), JSON_OK "action=accept\n" DONE } } },
};

static void
test_calls(void **state)
{
	(void)state;
	mfix_scenes(calls, N_ROWS(calls));
}

static void
test_errors(void **state)
{
	(void)state;
	mfix_scenes(errors, N_ROWS(errors));
}

static void
test_listens(void **state)
{
	(void)state;
	mfix_scenes(listens, N_ROWS(listens));
}

static void
test_input(void **state)
{
	(void)state;
	mfix_scenes(input, N_ROWS(input));
}

/* Who leaves cancels: what the tool emits to others stops. */
static void
test_leave_cancels(void **state)
{
	static const char *const leave[] = { "@close", "@reset", "@half" };
	struct mcpd_opts o;
	struct mfix f;
	size_t n;

	(void)state;
	mfix_options(&o, "");
	mfix_init(&f, &o);
	mfix_send(&f, 0, "POST\n\n" INIT("2025-11-25"));
	mfix_want(&f, 0, OK "[end]");
	mfix_send(&f, 2, LISTEN("7", "\"toolsListChanged\":true"));
	mfix_want(&f, 2, "acknowledged");
	for (size_t i = 0; i < N_ROWS(leave); i++) {
		mfix_send(&f, 1, DO("1", "emit", "\"n\":10000,\"interval_ms\":1"));
		mfix_want(&f, 2, CHANGED "\n" CHANGED);
		mfix_send(&f, 1, leave[i]);
		/* Later than the end of the connection. */
		mfix_send(&f, 0, POST("0", CALL("1", "slow", "\"ms\":20")));
		mfix_want(&f, 0, OK "[end]");
		mfix_want(&f, 2, "");
		n = f.c[2].text.n;
		mfix_send(&f, 0, POST("0", CALL("1", "slow", "\"ms\":20")));
		mfix_want(&f, 0, OK "[end]");
		read_text(&f.c[2]);
		assert_int_equal(f.c[2].text.n, n);
		peer_free(&f.c[1]);
	}
	mfix_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_listens),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_leave_cancels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
