#include "mcpd_fix.h"

/* Methods, tools, and what takes a while: revisions up to 2025-11-25. */

#define D11 "2025-11-25"
#define OPEN "POST\n" SID("0") "\n"
#define TEXT(s) "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" s "\"}]"
#define BOTH "\"sampling\":{},\"elicitation\":{}"
#define PROGRESS(n, of) "\"progress\":" n ",\"total\":" of

static const struct scene methods[] = {
	{ "lists", "", {
	    BEGIN(0, D11),
	    { 0, POST("0", REQ("1", "tools/list", "")), OK "!test_\n\"id\":1,\"result\":{\"tools\":["
	      "{\"name\":\"echo\"\n\"inputSchema\"\n!test_\n\"confirm\"\n!test_\n]}}\n[end]" },
	    { 0, POST("0", REQ("2", "resources/list", "")), OK "\"resources\":[{\"uri\":\"mcpdiag:"
	      "//readme\"\n!test:\n]}}\n[end]" },
	    { 0, POST("0", REQ("3", "resources/templates/list", "")),
	      OK "\"resourceTemplates\":[]}}\n[end]" },
	    { 0, POST("0", REQ("4", "prompts/list", "")), OK "\"prompts\":[{\"name\":\"greet\"\n"
	      "!test_\n]}}\n[end]" },
	    { 0, POST("0", RPC("\"id\":5,\"method\":\"tools/list\"")), OK "\"tools\":[\n[end]" },
	    { 0, POST("0", REQ("6", "nope", "")), OK "\"id\":6,\"error\":{\"code\":-32601\n[end]" },
	    { 0, POST("0", REQ("7", "server/discover", "")), OK "-32601\n[end]" },
	    { 0, POST("0", REQ("8", "ping", "")), OK "\"result\":{}}\n[end]" } } },
	{ "lists of the conformance suite", "conformance", {
	    BEGIN(0, D11),
	    { 0, POST("0", REQ("1", "tools/list", "")), OK "\"echo\"\n\"test_reconnection\"\n"
	      "\"$schema\"\n]}}\n[end]" },
	    { 0, POST("0", REQ("2", "resources/list", "")), OK "test://watched-resource\n[end]" },
	    { 0, POST("0", REQ("3", "resources/templates/list", "")),
	      OK "test://template/{id}/data\n[end]" },
	    { 0, POST("0", REQ("4", "prompts/list", "")), OK "test_prompt_with_image\n[end]" } } },
	{ "resources", "conformance", {
	    BEGIN(0, D11),
	    { 0, POST("0", REQ("1", "resources/read", "\"uri\":\"mcpdiag://readme\"")),
	      OK "\"contents\":[{\"uri\":\"mcpdiag://readme\"\n\"text\":\n[end]" },
	    { 0, POST("0", REQ("2", "resources/read", "\"uri\":\"test://static-binary\"")),
	      OK "\"blob\":\n[end]" },
	    { 0, POST("0", REQ("3", "resources/read", "\"uri\":\"test://template/123/data\"")),
	      OK "\\\"id\\\":\\\"123\\\"\n[end]" },
	    { 0, POST("0", REQ("4", "resources/read", "\"uri\":\"test://template/\\\"/data\"")),
	      OK "-32002\n[end]" },
	    { 0, POST("0", REQ("5", "resources/read", "\"uri\":\"test://nothing\"")),
	      OK "\"id\":5,\"error\":{\"code\":-32002\n[end]" },
	    { 0, POST("0", REQ("6", "resources/read", "")), OK "-32002\n[end]" },
	    { 0, POST("0", REQ("7", "resources/read", "\"uri\":{}")), OK "-32002\n[end]" } } },
	{ "prompts", "conformance", {
	    BEGIN(0, D11),
	    { 0, POST("0", REQ("1", "prompts/get", "\"name\":\"greet\"")),
	      OK "\"messages\":[{\"role\":\"user\"\n[end]" },
	    { 0, POST("0", REQ("2", "prompts/get", "\"name\":\"test_prompt_with_arguments\","
	      "\"arguments\":{\"arg1\":\"a\\n\\\"b\",\"arg2\":\"\\u00e4\"}")),
	      OK "arg1='a\\n\\\"b', arg2='\\u00e4'\n[end]" },
	    { 0, POST("0", REQ("3", "prompts/get", "\"name\":\"test_prompt_with_arguments\","
	      "\"arguments\":{\"arg1\":{\"x\":1},\"arg2\":[\n]}")), OK "\n[end]" },
	    { 0, POST("0", REQ("4", "prompts/get", "\"name\":\"test_prompt_with_arguments\"")),
	      OK "\"id\":4,\"error\":{\"code\":-32602\n[end]" },
	    { 0, POST("0", REQ("5", "prompts/get", "\"name\":\"nope\"")), OK "-32602\n[end]" },
	    { 0, POST("0", REQ("6", "prompts/get", "\"name\":\"test_prompt_with_embedded_resource\""
	      ",\"arguments\":{\"resourceUri\":\"test://x\"}")), OK "\"uri\":\"test://x\"\n[end]" },
	    { 0, POST("0", REQ("7", "prompts/get", "\"name\":\"test_prompt_with_image\"")),
	      OK "image/png\n[end]" } } },
	{ "completion", "", {
	    BEGIN(0, D11),
	    { 0, POST("0", REQ("1", "completion/complete", "\"ref\":{\"type\":\"ref/prompt\","
	      "\"name\":\"x\"},\"argument\":{\"name\":\"a\",\"value\":\"b\"}")),
	      OK "\"completion\":{\"values\":[]\n[end]" } } },
	{ "log level", "conformance", {
	    BEGIN(0, D11),
	    { 0, POST("0", REQ("1", "logging/setLevel", "\"level\":\"loud\"")),
	      OK "-32602\n[end]" },
	    { 0, POST("0", REQ("2", "logging/setLevel", "\"level\":\"info\"")),
	      OK "\"result\":{}}\n[end]" },
	    { 0, POST("0", CALL("3", "test_tool_with_logging", "")), OK "Tool execution started\n"
	      "Tool processing data\nTool execution completed\n\"id\":3\n[end]" },
	    { 0, POST("0", REQ("4", "logging/setLevel", "\"level\":\"notice\"")), OK "[end]" },
	    { 0, POST("0", CALL("5", "test_tool_with_logging", "")),
	      OK "!notifications/message\n\"id\":5\n[end]" } } },
	{ "subscriptions", "", {
	    BEGIN(0, D11), BEGIN(1, D11),
	    { 2, GET("0"), OK "id: g1-0" }, { 3, GET("1"), OK "id: g1-0" },
	    { 0, POST("0", REQ("1", "resources/subscribe", "\"uri\":\"test://a\"")),
	      OK "\"result\":{}}\n[end]" },
	    { 1, POST("1", CALL("2", "emit", "\"uri\":\"test://a\",\"n\":2")), OK "emitted\n[end]" },
	    { 2, NULL, "id: g1-1\n\"method\":\"notifications/resources/updated\",\"params\":{"
	      "\"uri\":\"test://a\"}\nid: g1-2\nresources/updated" },
	    { 0, POST("0", REQ("3", "resources/unsubscribe", "\"uri\":\"test://a\"")),
	      OK "\"result\":{}}\n[end]" },
	    { 0, POST("0", REQ("4", "resources/unsubscribe", "\"uri\":\"test://a\"")),
	      OK "\"result\":{}}\n[end]" },
	    { 1, POST("1", CALL("5", "emit", "\"uri\":\"test://a\"")), OK "emitted\n[end]" },
	    { 1, POST("1", CALL("6", "emit", "\"all\":true")), OK "emitted\n[end]" },
	    { 2, NULL, "!updated\n" CHANGED },
	    { 3, NULL, "!updated\n" CHANGED },
	    { 0, POST("0", REQ("7", "resources/subscribe", "")), OK "-32602\n[end]" } } },
	{ "a resource is updated more than once, at intervals", "", {
	    BEGIN(0, D11),
	    { 1, GET("0"), OK "id: g1-0" },
	    { 0, POST("0", REQ("1", "resources/subscribe", "\"uri\":\"test://a\"")), OK "[end]" },
	    { 0, POST("0", CALL("2", "emit", "\"uri\":\"test://a\",\"n\":2,\"interval_ms\":1")),
	      OK "emitted\n[end]" },
	    { 1, NULL, "!list_changed\nid: g1-1\n!list_changed\nresources/updated\nid: g1-2\n"
	      "!list_changed\nresources/updated" } } },
};

static const struct scene tools[] = {
	{ "echo", "", {
	    BEGIN(0, D11),
	    { 0, POST("0", CALL("1", "echo", "\"text\":\"a\\u0000\\r\\n\\ndata: x\\\"\\\\\"")),
	      OK "id: r1-0\nid: r1-1\n" TEXT("a\\u0000\\r\\n\\ndata: x\\\"\\\\") "\n[end]" },
	    { 0, POST("0", CALL("2", "echo", "")), OK "\"isError\":true\n[end]" },
	    { 0, POST("0", CALL("3", "echo", "\"text\":7")), OK "\"isError\":true\n[end]" },
	    { 0, POST("0", REQ("4", "tools/call", "\"name\":\"echo\"")), OK "isError\n[end]" },
	    { 0, POST("0", REQ("5", "tools/call", "")), OK "-32602\n[end]" },
	    { 0, POST("0", CALL("6", "nope", "")), OK "\"id\":6,\"error\":{\"code\":-32602\n[end]" },
	    { 0, POST("0", CALL("7", "test_simple_text", "")), OK "-32602\n[end]" },
	    { 0, POST("0", CALL("8", "fail", "")), OK "\"isError\":true\n[end]" },
	    { 0, POST("0", CALL("9", "fail", "\"rpc\":true")), OK "\"code\":-32603\n[end]" },
	    { 0, POST("0", CALL("10", "big", "\"bytes\":3")), OK TEXT("xxx") "\n[end]" },
	    { 0, POST("0", CALL("11", "big", "\"bytes\":0")), OK TEXT("") "\n[end]" },
	    { 0, POST("0", CALL("12", "big", "\"bytes\":4194305")), OK "\"isError\":true\n[end]" } } },
	{ "fixtures", "conformance", {
	    BEGIN(0, D11),
	    { 0, POST("0", REQ("1", "tools/call", "\"name\":\"test_simple_text\"")),
	      OK "This is a simple text response for testing.\n[end]" },
	    { 0, POST("0", CALL("2", "test_image_content", "")), OK "image/png\n[end]" },
	    { 0, POST("0", CALL("3", "test_audio_content", "")), OK "audio/wav\n[end]" },
	    { 0, POST("0", CALL("4", "test_embedded_resource", "")),
	      OK "test://embedded-resource\n[end]" },
	    { 0, POST("0", CALL("5", "test_multiple_content_types", "")),
	      OK "\"type\":\"text\"\n\"type\":\"image\"\n\"type\":\"resource\"\n[end]" },
	    { 0, POST("0", CALL("6", "test_error_handling", "")), OK "\"isError\":true\n[end]" },
	    { 0, POST("0", CALL_P("7", "test_tool_with_progress", "", "0")),
	      OK "\"progressToken\":0," PROGRESS("0", "100") "\n" PROGRESS("50", "100") "\n"
	      PROGRESS("100", "100") "\n\"id\":7\n[end]" },
	    { 0, POST("0", CALL("8", "json_schema_2020_12_tool", "")), OK "\"id\":8\n[end]" } } },
	{ "ids come back as they were", "json", {
	    BEGIN(0, D11),
	    { 0, POST("0", REQ("-0.5e+1", "ping", "")), OK "\"id\":-0.5e+1,\n[end]" },
	    { 0, POST("0", REQ("123456789012345678901234567890", "ping", "")),
	      OK "\"id\":123456789012345678901234567890,\n[end]" },
	    { 0, POST("0", REQ("\"\"", "ping", "")), OK "\"id\":\"\",\n[end]" },
	    { 0, POST("0", REQ("\"\\\"\\u000a\\/\"", "ping", "")),
	      OK "\"id\":\"\\\"\\u000a\\/\",\n[end]" },
	    { 0, POST("0", RPC("\"id\":1,\"id\":\"two\",\"method\":\"ping\"")),
	      OK "\"id\":\"two\",\n[end]" } } },
};

static const struct scene jobs[] = {
	{ "progress", "", {
	    BEGIN(0, D11),
	    { 0, POST("0", CALL_P("1", "slow", "\"ms\":2,\"steps\":2", "\"t\\\"\"")),
	      OK "id: r1-0\nid: r1-1\n\"progressToken\":\"t\\\"\"," PROGRESS("1", "2") "\nid: r1-2\n"
	      PROGRESS("2", "2") "\nid: r1-3\n" TEXT("slow: done") "\n[end]" },
	    { 0, POST("0", CALL("2", "slow", "\"ms\":0,\"steps\":0")),
	      OK "!progress\n" TEXT("slow: done") "\n[end]" },
	    { 0, POST("0", CALL("3", "slow", "\"ms\":-1")), OK "\"isError\":true\n[end]" },
	    { 0, POST("0", CALL("4", "slow", "\"ms\":1.5")), OK "\"isError\":true\n[end]" },
	    { 0, POST("0", CALL("5", "slow", "\"ms\":99999999999999999999")), OK "isError\n[end]" } } },
	{ "tokens that are none", "", {
	    BEGIN(0, D11),
	    { 0, POST("0", CALL_P("1", "slow", "\"ms\":0", "{\"a\":\n1}")),
	      OK "!progress\n\"id\":1\n[end]" },
	    { 0, POST("0", CALL_P("2", "slow", "\"ms\":0", "[\n]")), OK "!progress\n\"id\":2\n[end]" },
	    { 0, POST("0", CALL_P("3", "slow", "\"ms\":0", "null")), OK "!progress\n\"id\":3\n[end]" },
	    { 0, POST("0", CALL_P("4", "slow", "\"ms\":0", "true")), OK "!progress\n\"id\":4\n[end]" },
	    { 0, POST("0", CALL_P("5", "slow", "\"ms\":0,\"steps\":1", "\"\"")),
	      OK "\"progressToken\":\"\",\n\"id\":5\n[end]" } } },
	{ "progress makes JSON a stream", "json", {
	    BEGIN(0, D11),
	    { 0, POST("0", CALL("1", "slow", "\"ms\":1,\"steps\":1")),
	      OK "application/json\n\"id\":1\n[end]" },
	    { 0, POST("0", CALL_P("2", "slow", "\"ms\":1,\"steps\":1", "9")),
	      OK "text/event-stream\n\"progressToken\":9\n\"id\":2\n[end]" } } },
	{ "cancel", "", {
	    BEGIN(0, D11),
	    { 1, POST("0", CALL("\"a\"", "slow", "\"ms\":3600000")), OK "id: r1-0" },
	    { 2, POST("0", CALL("7", "slow", "\"ms\":3600000")), OK "id: r2-0" },
	    { 0, POST("0", NOTE("notifications/cancelled", "\"requestId\":\"7\"")),
	      "HTTP/1.1 202\n[end]" },
	    { 0, POST("0", NOTE("notifications/cancelled", "\"requestId\":8")),
	      "HTTP/1.1 202\n[end]" },
	    { 0, POST("0", NOTE("notifications/cancelled", "\"requestId\":{}")),
	      "HTTP/1.1 202\n[end]" },
	    { 0, POST("0", NOTE("notifications/cancelled", "")), "HTTP/1.1 202\n[end]" },
	    /* None of those was it: it can still be resumed. */
	    { 3, GET_AFTER("0", "r2-0"), OK }, { 2, NULL, "[end]" },
	    { 0, POST("0", NOTE("notifications/cancelled", "\"requestId\":7")),
	      "HTTP/1.1 202\n[end]" },
	    { 3, NULL, "!data\n[end]" },
	    { 0, POST("0", NOTE("notifications/cancelled", "\"requestId\":\"a\"")),
	      "HTTP/1.1 202\n[end]" },
	    { 1, NULL, "!\"id\":\"a\"\n[end]" },
	    /* What is cancelled cannot be resumed. */
	    { 1, GET_AFTER("0", "r1-0"), OK "id: g1-0" } } },
	{ "cancel in JSON", "json", {
	    BEGIN(0, D11),
	    { 1, POST("0", CALL("7", "slow", "\"ms\":3600000")), NULL },
	    { 0, POST("0", CALL("8", "slow", "\"ms\":20")), OK "\"id\":8\n[end]" },
	    { 0, POST("0", NOTE("notifications/cancelled", "\"requestId\":7")),
	      "HTTP/1.1 202\n[end]" },
	    { 1, NULL, OK "text/event-stream\n!\"result\"\n[end]" } } },
	{ "cancel one of a batch", "json", {
	    BEGIN(0, "2025-03-26"),
	    { 0, POST("0", "[" CALL("1", "slow", "\"ms\":3600000") "," REQ("2", "ping", "") ","
	      NOTE("notifications/cancelled", "\"requestId\":1") "]"),
	      OK "!\"id\":1,\n\"id\":2,\n[end]" } } },
	{ "the stream goes, the request goes on", "", {
	    BEGIN(0, D11),
	    { 1, POST("0", CALL_P("1", "slow", "\"ms\":40,\"steps\":4", "1")),
	      OK "id: r1-0\nid: r1-1" },
	    { 1, "@reset", NULL },
	    { 1, GET_AFTER("0", "r1-1"), OK "!id: r1-1\nid: r1-2\nid: r1-3\nid: r1-4\nid: r1-5\n"
	      "\"id\":1\n[end]" },
	    { 1, GET_AFTER("0", "r1-3"), OK "!id: r1-3\nid: r1-4\nid: r1-5\n[end]" },
	    { 1, GET_AFTER("0", "r1-5"), OK "!id: r1\nid: g1-0" } } },
	{ "sampling", "", {
	    { 0, "POST\n\n" INIT_CAPS(D11, BOTH), OK "[end]" },
	    { 1, POST("0", CALL("1", "ask", "\"prompt\":\"why\\\"\"")),
	      OK "\"id\":1,\"method\":\"sampling/createMessage\"\n\"text\":\"why\\\"\"\n"
	      "\"maxTokens\":100" },
	    { 0, POST("0", RPC("\"id\":2,\"result\":{}")), "HTTP/1.1 202\n[end]" },
	    { 0, POST("0", RPC("\"id\":1,\"result\":{\"role\":\"assistant\",\"content\":{\"type\":"
	      "\"text\",\"text\":\"so\\\"\"},\"model\":\"m\"}")), "HTTP/1.1 202\n[end]" },
	    { 1, NULL, TEXT("LLM response: so\\\"") "\n[end]" },
	    { 1, POST("0", CALL("2", "ask", "")), OK "\"id\":2,\"method\":\"sampling/" },
	    { 0, POST("0", RPC("\"id\":2,\"error\":{\"code\":-1,\"message\":\"no\"}")),
	      "HTTP/1.1 202\n[end]" },
	    { 1, NULL, "\"id\":2,\"result\"\n\"isError\":true\n[end]" },
	    { 1, POST("0", CALL("3", "ask", "\"prompt\":{\"a\":\n\"b\"}")), OK "\"id\":3,\"method\"" },
	    { 0, POST("0", RPC("\"id\":3,\"result\":{\"content\":{\"text\":[\n7]}}")),
	      "HTTP/1.1 202\n[end]" },
	    { 1, NULL, TEXT("LLM response: ") "\n[end]" } } },
	{ "elicitation", "conformance", {
	    { 0, "POST\n\n" INIT_CAPS(D11, BOTH), OK "[end]" },
	    { 1, POST("0", CALL("1", "confirm", "\"message\":\"sure?\"")),
	      OK "\"method\":\"elicitation/create\"\n\"message\":\"sure?\"\n\"requestedSchema\":{" },
	    { 0, POST("0", RPC("\"id\":1,\"result\":{\"action\":\"accept\",\"content\":{}}")),
	      "HTTP/1.1 202\n[end]" },
	    { 1, NULL, "action=accept\n[end]" },
	    { 1, POST("0", CALL("2", "test_elicitation_sep1034_defaults", "")),
	      OK "\"default\":95.5" },
	    { 0, POST("0", RPC("\"id\":2,\"result\":{\"action\":\"decline\"}")),
	      "HTTP/1.1 202\n[end]" },
	    { 1, NULL, "action=decline\n[end]" },
	    { 1, POST("0", CALL("3", "test_elicitation_sep1330_enums", "")), OK "\"enumNames\"" } } },
	{ "a client that cannot", "", {
	    BEGIN(0, D11),
	    { 0, POST("0", CALL("1", "ask", "")), OK "\"isError\":true\n[end]" },
	    { 0, POST("0", CALL("2", "confirm", "")), OK "\"isError\":true\n[end]" } } },
	{ "emit at intervals", "", {
	    BEGIN(0, D11),
	    { 1, GET("0"), OK "id: g1-0" },
	    { 0, POST("0", CALL("1", "emit", "\"n\":3,\"interval_ms\":1")), OK "emitted\n[end]" },
	    { 1, NULL, "id: g1-1\nid: g1-2\nid: g1-3" },
	    { 0, POST("0", CALL("2", "emit", "\"n\":0")), OK "emitted\n[end]" },
	    { 0, POST("0", CALL("3", "emit", "\"n\":10001")), OK "isError\n[end]" } } },
	{ "SEP-1699: the stream ends, the answer comes on the one that resumes it", "conformance", {
	    BEGIN(0, D11),
	    { 1, POST("0", CALL("1", "test_reconnection", "")),
	      OK "id: r1-0\nretry: 3000\ndata: \n!\"id\":1\n[end]" },
	    { 1, GET_AFTER("0", "r1-0"), OK "id: r1-1\n\"id\":1,\"result\"\n[end]" } } },
	{ "the end of a session ends what runs", "", {
	    BEGIN(0, D11),
	    { 1, POST("0", CALL("1", "slow", "\"ms\":3600000")), OK "id: r1-0" },
	    { 2, POST("0", CALL("2", "slow", "\"ms\":3600000")), OK "id: r2-0" },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" },
	    { 1, NULL, "!\"id\":1\n[end]" }, { 2, NULL, "!\"id\":2\n[end]" } } },
	{ "also what waits in JSON", "json", {
	    BEGIN(0, D11),
	    { 1, POST("0", CALL("1", "slow", "\"ms\":3600000")), NULL },
	    { 0, POST("0", CALL("8", "slow", "\"ms\":20")), OK "\"id\":8\n[end]" },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" },
	    { 1, NULL, "HTTP/1.1 404\n[end]" } } },
};

static void
test_methods(void **state)
{
	(void)state;
	mfix_scenes(methods, N_ROWS(methods));
}

static void
test_tools(void **state)
{
	(void)state;
	mfix_scenes(tools, N_ROWS(tools));
}

static void
test_jobs(void **state)
{
	(void)state;
	mfix_scenes(jobs, N_ROWS(jobs));
}

static void
repeat(struct buf *b, const char *before, const char *each, int n, const char *after)
{
	buf_init(b, 1 << 20);
	(void)buf_adds(b, str_c(before));
	for (int i = 0; i < n; i++)
		(void)buf_fmt(b, "%s%s%d%s", i ? "," : "", each, i, after);
	(void)buf_add(b, "]", 2);
}

/* 64 requests of a session run at once, the next is an error; when they are
 * cancelled there is room again. */
static void
test_jobs_limit(void **state)
{
	struct mcpd_opts o;
	struct mfix f;
	struct buf b;

	(void)state;
	mfix_options(&o, "");
	mfix_init(&f, &o);
	mfix_send(&f, 0, "POST\n\n" INIT("2025-03-26"));
	mfix_want(&f, 0, OK "[end]");
	repeat(&b, "POST\n" SID("0") "\n[", "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":"
	    "{\"name\":\"slow\",\"arguments\":{\"ms\":3600000}},\"id\":", 64, "}");
	mfix_send(&f, 1, b.p);
	mfix_want(&f, 1, OK "text/event-stream");
	buf_fini(&b);
	mfix_send(&f, 0, POST("0", CALL("99", "slow", "\"ms\":1")));
	mfix_want(&f, 0, OK "\"id\":99,\"error\":{\"code\":-32603\n[end]");
	repeat(&b, "POST\n" SID("0") "\n[", "{\"jsonrpc\":\"2.0\",\"method\":"
	    "\"notifications/cancelled\",\"params\":{\"requestId\":", 64, "}}");
	mfix_send(&f, 0, b.p);
	mfix_want(&f, 0, "HTTP/1.1 202\n[end]");
	buf_fini(&b);
	mfix_want(&f, 1, "!data\n[end]");
	mfix_send(&f, 0, POST("0", CALL("100", "slow", "\"ms\":1")));
	mfix_want(&f, 0, OK "\"id\":100,\"result\"\n[end]");
	mfix_fini(&f);
}

/* 64 resources, no more; the same one again is no further one. */
static void
test_subscriptions_limit(void **state)
{
	struct mcpd_opts o;
	struct mfix f;
	char text[256];

	(void)state;
	mfix_options(&o, "json");
	mfix_init(&f, &o);
	mfix_send(&f, 0, "POST\n\n" INIT(D11));
	mfix_want(&f, 0, OK "[end]");
	for (int i = 0; i < 67; i++) {
		(void)snprintf(text, sizeof text, OPEN "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
		    "\"resources/subscribe\",\"params\":{\"uri\":\"test://%d\"}}",
		    i < 65 ? i : 65 - i);
		mfix_send(&f, 0, text);
		mfix_want(&f, 0, i == 64 || i == 66 ? OK "-32603\n[end]" :
		    OK "\"result\":{}}\n[end]");
	}
	mfix_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_tools),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_jobs_limit),
		cmocka_unit_test(test_subscriptions_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
