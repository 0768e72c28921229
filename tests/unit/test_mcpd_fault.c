#include "mcpd_fix.h"

/* Each fault on the wire, and that the rest is as ever. */

#define D11 "2025-11-25"
#define BEGUN BEGIN(0, D11)
#define PING POST("0", REQ("1", "ping", ""))
#define EMIT POST("0", CALL("1", "emit", "")), OK "emitted\n[end]"
/* Later than what the clients before it have sent. */
#define LATER { 0, POST("0", CALL("1", "slow", "\"ms\":20")), OK "[end]" }

static const struct scene faults[] = {
	{ "finite-get", "fault=finite-get", {
	    BEGUN, { 1, GET("0"), OK "text/event-stream\n!data\n[end]" },
	    { 1, GET_AFTER("0", "g1-0"), OK "!data\n[end]" }, { 1, PING, OK "[end]" } } },
	{ "get-text", "fault=get-text", {
	    BEGUN, { 1, GET("0"), OK "text/plain\nok\n[end]" } } },
	{ "refuse-get", "fault=refuse-get", {
	    BEGUN, { 1, GET("0"), "HTTP/1.1 500\n[end]" }, { 1, PING, OK "[end]" } } },
	{ "refuse-get=204", "fault=refuse-get=204", {
	    BEGUN, { 1, GET("0"), "HTTP/1.1 204\n[end]" } } },
	{ "stale-slot", "fault=stale-slot", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 2, GET("0"), "HTTP/1.1 409\n[end]" },
	    { 1, "@close", NULL }, LATER,
	    { 2, GET("0"), "HTTP/1.1 409\n[end]" } } },
	{ "stale-slot=0 and another session", "fault=stale-slot", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, BEGIN(2, D11), { 3, GET("2"), OK "id: g1-0" } } },
	{ "refused-get-kills-stream", "fault=refused-get-kills-stream", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 2, GET("0"), "HTTP/1.1 409\n[end]" },
	    { 1, NULL, "[end]" }, { 2, GET("0"), OK "id: g" } } },
	{ "zombie-resume", "fault=zombie-resume keepalive=1", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0\n^:^\n^:^" }, { 1, "@close", NULL },
	    { 1, GET_AFTER("0", "g1-0"), OK "\r\n\r\n" }, { 0, EMIT }, LATER,
	    { 1, "@half", "!^:^\n[fin]" } } },
	{ "supersede", "fault=supersede", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 2, GET("0"), OK "id: g2-0" }, { 0, EMIT },
	    { 2, NULL, CHANGED }, { 1, "@half", "!" CHANGED "\n[fin]" } } },
	{ "split-delivery", "fault=split-delivery", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 2, GET("0"), OK "id: g2-0" },
	    { 0, EMIT }, { 0, EMIT }, { 0, EMIT },
	    { 1, NULL, "g1-1\n!g1-2\ng1-3" }, { 2, NULL, "!g2-1\ng2-2\n" CHANGED },
	    { 2, "@half", "!" CHANGED "\n[fin]" } } },
	{ "keep-after-delete", "fault=keep-after-delete keepalive=1", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" },
	    { 0, PING, "HTTP/1.1 404\n[end]" },
	    { 1, NULL, "^:^\n^:^" }, { 1, "@half", "![end]\n[fin]" } } },
	{ "keep-after-delete and the end of the server", "fault=keep-after-delete", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" },
	    { 2, POST("0", CALL("1", "slow", "\"ms\":3600000")), OK "id: r1-0" },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" }, { 0, "@stop", NULL } } },
	{ "replay-all", "fault=replay-all", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 0, EMIT }, { 0, EMIT },
	    { 1, NULL, "g1-1\ng1-2" }, { 1, "@close", NULL },
	    { 1, GET_AFTER("0", "g1-2"), OK "id: g1-1\nid: g1-2" } } },
	{ "cross-stream-replay", "fault=cross-stream-replay", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 0, EMIT }, { 1, NULL, "g1-1" },
	    { 1, GET_AFTER("0", "r1-0"), NULL },
	    { 2, GET_AFTER("0", "r1-0"), OK "id: g1-1\n" CHANGED "\nid: r1-1\nemitted" } } },
	{ "broadcast", "fault=broadcast", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 2, GET("0"), OK "id: g2-0" }, { 0, EMIT },
	    { 1, NULL, CHANGED }, { 2, NULL, CHANGED } } },
	{ "idle-cut", "fault=idle-cut=1 keepalive=5000", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" },
	    { 2, POST("0", CALL("1", "slow", "\"ms\":3600000")), OK "id: r1-0" },
	    { 1, NULL, "!^:^\n[fin]" }, { 2, NULL, "!^:^\n[fin]" }, { 0, PING, OK "[end]" } } },
	{ "age-cut", "fault=age-cut=1 keepalive=100", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" },
	    { 2, POST("0", CALL("1", "slow", "\"ms\":3600000")), OK "id: r1-0" },
	    { 1, NULL, "^:^\n![end]\n[fin]" }, { 2, NULL, "^:^\n![end]\n[fin]" },
	    { 0, PING, OK "[end]" } } },
	{ "age-cut=0.02", "fault=age-cut=0.02", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0\n[fin]" } } },
	{ "emit", "emit=5", {
	    BEGUN, { 1, GET("0"), OK CHANGED "\n" CHANGED "\n" CHANGED } } },
	{ "emit twice", "emit=5 emissions=2 keepalive=20", {
	    BEGUN, { 1, GET("0"), OK CHANGED "\n" CHANGED "\n!" CHANGED "\n^:^\n^:^" } } },
	{ "refuse-token", "fault=refuse-token", {
	    BEGUN, { 0, PING, "HTTP/1.1 401\nWWW-Authenticate: Bearer\n[end]" },
	    { 1, GET("0"), "HTTP/1.1 401\nWWW-Authenticate\n[end]" },
	    { 0, POST("x", REQ("1", "ping", "")), "HTTP/1.1 404\n[end]" }, BEGIN(2, D11) } },
	{ "refuse-token=100", "fault=refuse-token=100", {
	    BEGUN, { 0, PING, OK "[end]" } } },
	{ "ping-kill", "fault=ping-kill=1", {
	    BEGUN, { 0, PING, OK "[end]" }, { 1, GET("0"), OK "\"method\":\"ping\"\n[end]" },
	    { 0, PING, "HTTP/1.1 404\n[end]" } } },
	{ "ping-kill, an error", "fault=ping-kill=1", {
	    BEGUN, { 1, GET("0"), OK "\"id\":1,\"method\":\"ping\"" },
	    { 0, POST("0", RPC("\"id\":1,\"error\":{\"code\":-32601,\"message\":\"\"}")),
	      "HTTP/1.1 202\n[end]" },
	    { 1, NULL, "!ping\n[end]" } } },
	{ "ping-kill, answered", "fault=ping-kill=1", {
	    BEGUN, { 1, GET("0"), OK "\"id\":1,\"method\":\"ping\"" },
	    { 0, POST("0", RPC("\"id\":1,\"result\":{}")), "HTTP/1.1 202\n[end]" },
	    { 1, NULL, "\"id\":2,\"method\":\"ping\"" } } },
	{ "fall-silent", "fault=fall-silent=1 keepalive=400", {
	    BEGUN, { 1, GET("0"), OK "^:^\n^:^" },
	    { 0, POST("0", CALL("1", "slow", "\"ms\":1500")), OK "[end]" },
	    { 1, "@half", "!^:^\n[fin]" } } },
	{ "head-of-line", "fault=head-of-line", {
	    BEGUN, { 0, PING, OK "[end]" }, { 1, GET("0"), OK "id: g1-0" },
	    { 0, PING, NULL }, { 2, POST("0", CALL("2", "slow", "\"ms\":3600000")), NULL },
	    BEGIN(3, D11), { 3, POST("3", REQ("1", "ping", "")), OK "[end]" },
	    { 1, "@close", NULL }, { 0, NULL, OK "\"id\":1,\"result\"\n[end]" },
	    { 2, NULL, OK "id: r3-0" } } },
	{ "head-of-line and the end", "fault=head-of-line", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 0, PING, NULL },
	    { 2, POST("0", CALL("2", "slow", "\"ms\":3600000")), NULL },
	    { 3, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" },
	    { 0, NULL, OK "\"id\":1,\"result\"\n[end]" }, { 2, NULL, OK "[end]" } } },
	{ "wedge", "fault=wedge", {
	    BEGUN, { 1, "@small", NULL }, { 1, GET("0"), "id: g1-0" }, { 1, "@deaf", NULL },
	    { 0, POST("0", CALL("1", "emit", "\"n\":10000")), OK "emitted\n[end]" },
	    { 0, PING, NULL }, BEGIN(2, D11), { 2, POST("2", REQ("1", "ping", "")), NULL },
	    { 3, GET("2"), OK "id: g1-0" }, { 1, "@reset", NULL },
	    { 0, NULL, OK "\"id\":1,\"result\"\n[end]" },
	    { 2, NULL, OK "\"id\":1,\"result\"\n[end]" } } },
	{ "wedge, nobody is stuck", "fault=wedge", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 0, EMIT }, { 0, PING, OK "[end]" } } },
	{ "cut-event", "fault=cut-event", {
	    BEGUN, { 0, PING, OK "\"result\":{}}\n[end]" },
	    { 0, POST("0", CALL("2", "echo", "\"text\":\"a\"")), OK "id: r2-1\n!^^\n[end]" } } },
	{ "redirect", "fault=redirect", {
	    { 0, "POST\n\n" INIT(D11), "HTTP/1.1 307\nLocation: /mcp/\n[end]" },
	    { 0, "POST /mcp/\n\n" INIT(D11), OK "[end]" },
	    { 1, "GET /mcp/\n" SID("0"), OK "id: g1-0" } } },
	{ "redirect=301", "fault=redirect=301", {
	    { 0, "GET /mcp?a=b", "HTTP/1.1 301\nLocation: /mcp/?a=b\n[end]" } } },
	{ "wrong-endpoint", "legacy fault=wrong-endpoint", {
	    { 0, "GET /sse", OK "data: /inner/messages?sessionId=\n^^" },
	    { 1, "POST /inner/messages?sessionId=1\n\n" INIT("2024-11-05"),
	      "HTTP/1.1 404\n[end]" } } },
	/* What it does is in tests/cli/serve_detect.py. */
	{ "crossed-answers", "legacy fault=crossed-answers", {
	    { 0, "GET /sse", OK "endpoint\n^^" } } },
	{ "no-keepalive", "fault=no-keepalive keepalive=1", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, LATER, { 1, "@half", "!^:^\n[fin]" } } },
	{ "session-idle", "fault=session-idle=1 keepalive=100", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 1, NULL, "^:^\n[end]" },
	    { 0, PING, "HTTP/1.1 404\n[end]" } } },
	{ "forget-session", "fault=forget-session=0", {
	    BEGUN, { 0, PING, "HTTP/1.1 404\n[end]" } } },
	{ "forget-session=1", "fault=forget-session=1", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" },
	    { 2, POST("0", CALL("1", "slow", "\"ms\":3600000")), OK "id: r1-0" },
	    { 1, NULL, "[end]" }, { 2, NULL, "[end]" }, { 0, PING, "HTTP/1.1 404\n[end]" } } },
	{ "split-brain", "fault=split-brain", {
	    BEGUN, { 0, PING, OK "[end]" }, { 0, PING, "HTTP/1.1 404\n[end]" },
	    { 0, PING, OK "[end]" }, { 0, "GET\n" SID("0"), "HTTP/1.1 404\n[end]" },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" } } },
	{ "buffer", "fault=buffer=1", {
	    BEGUN, { 1, GET("0"), NULL }, { 0, EMIT }, { 1, NULL, OK "id: g1-0\nid: g1-1\n" CHANGED },
	    { 2, GET("0"), NULL }, { 3, GET("0"), NULL }, LATER, { 2, "@reset", NULL },
	    { 3, "@close", NULL }, LATER } },
	{ "drop-response", "fault=drop-response", {
	    BEGUN, { 0, PING, OK "\"result\":{}}\n[end]" },
	    { 0, POST("0", CALL("2", "echo", "\"text\":\"a\"")), OK "id: r2-0\n!result\n[end]" },
	    { 0, POST("0", CALL_P("3", "slow", "\"ms\":1,\"steps\":1", "1")),
	      OK "progressToken\n!result\n[end]" } } },
	{ "wrong-stream", "fault=wrong-stream", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" },
	    { 0, POST("0", CALL_P("3", "slow", "\"ms\":1,\"steps\":1", "7")),
	      OK "!data: {\n[end]" },
	    { 1, NULL, "\"progressToken\":7\n\"id\":3,\"result\"" },
	    { 0, PING, OK "\"result\":{}}\n[end]" } } },
	{ "storm", "fault=storm", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" },
	    { 0, POST("0", REQ("1", "tools/list", "")), OK "\"tools\":[\n[end]" },
	    { 1, NULL, CHANGED } } },
	{ "accepted-200", "fault=accepted-200", {
	    BEGUN, { 0, POST("0", NOTE("notifications/initialized", "")),
	      OK "application/json\n{}\n[end]" } } },
	{ "abrupt-shutdown", "fault=abrupt-shutdown", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 2, GET("0"), OK "id: g2-0" },
	    { 3, GET("0"), OK "id: g3-0" }, { 4, GET("0"), OK "id: g4-0" },
	    { 5, POST("0", CALL("1", "slow", "\"ms\":3600000")), OK "id: r1-0" },
	    { 0, "@stop", NULL },
	    { 1, NULL, "![end]\n[rst]" }, { 2, NULL, "![end]\n[rst]" },
	    { 3, NULL, "![end]\n[rst]" }, { 4, NULL, "![end]\n[rst]" },
	    { 5, NULL, "![end]\n[rst]" } } },
	{ "several at once", "fault=storm fault=broadcast fault=accepted-200", {
	    BEGUN, { 1, GET("0"), OK "id: g1-0" }, { 2, GET("0"), OK "id: g2-0" },
	    { 0, POST("0", NOTE("notifications/initialized", "")), OK "{}\n[end]" },
	    { 0, POST("0", REQ("1", "tools/list", "")), OK "[end]" },
	    { 1, NULL, CHANGED }, { 2, NULL, CHANGED } } },
};

static void
test_faults(void **state)
{
	(void)state;
	mfix_scenes(faults, N_ROWS(faults));
}

/* None is without a row. */
static void
test_all(void **state)
{
	struct fault_row row;

	(void)state;
	for (unsigned k = 0; fault_row(k, &row); k++) {
		bool found = false;

		for (size_t i = 0; i < N_ROWS(faults); i++) {
			const char *at = strstr(faults[i].opts, row.name);

			found |= at && at[-1] == '=';
		}
		if (!found)
			fail_msg("%s has no row", row.name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
