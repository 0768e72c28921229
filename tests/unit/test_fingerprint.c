#include "mcpdiag/fingerprint.h"

#include "util.h"

static void
test_sid(void **state)
{
	static const struct {
		const char *sid;
		char shape;
	} rows[] = {
		{ "", '?' },
		{ "1", '?' },
		{ "5f0c1b7e-3a7d-4f0e-9a53-0c2f9f1e7a11", 'u' },
		{ "5F0C1B7E-3A7D-4F0E-9A53-0C2F9F1E7A11", 'u' },
		{ "5f0c1b7e-3a7d-4f0e-9a53-0c2f9f1e7a1", '?' },
		{ "5f0c1b7e-3a7d-4f0e-9a53-0c2f9f1e7a111", '?' },
		{ "5f0c1b7e-3a7d-4f0e-9a53_0c2f9f1e7a11", '?' },
		{ "5f0c1b7e-3a7d-4f0e-9a53-0c2f9f1e7a1g", '?' },
		{ "5f0c1b7e3-a7d-4f0e-9a53-0c2f9f1e7a11", '?' },
		{ "mcp-session-5f0c1b7e-3a7d-4f0e-9a53-0c2f9f1e7a11", 'm' },
		{ "mcp-session-5f0c1b7e", '?' },
		{ "mcp-session-", '?' },
		{ "0123456789abcdef0123456789abcdef", 'h' },
		{ "0123456789ABCDEF0123456789abcdef", '?' },
		{ "0123456789abcdef0123456789abcde", '?' },
		{ "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 'H' },
		{ "ABCDEFGHIJKLMNOPQRSTUVWX27", 'b' },
		{ "ABCDEFGHIJKLMNOPQRSTUVWX21", '?' },		/* no 1 in base32 */
		{ "abcdefghijklmnopqrst-_", 'w' },
		{ "abcdefghijklmnopqrst-+", '?' },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct guard g = guard_of(rows[i].sid, strlen(rows[i].sid));
		char got = fingerprint_sid(str_of(g.p, g.n));

		if (got != rows[i].shape)
			fail_msg("%s: %c", rows[i].sid, got);
		guard_free(&g);
	}
	assert_int_equal(fingerprint_sid(STR_NONE), '?');
	/* A NUL is none of the letters. */
	assert_int_equal(fingerprint_sid(STR("0123456789abcdef\0" "123456789abcdef")), '?');
	assert_int_equal(fingerprint_sid(STR("5f0c1b7e-3a7d-4f0e-9a53-0c2f9f1e7a\0" "1")),
	    '?');
}

static void
test_server(void **state)
{
	enum {
		RUST = SIGN_DATA_FIRST | SIGN_RETRY_3000,
	};
	static const struct {
		const char *what;
		uint32_t signs;
		char shape;
		const char *looks;
	} rows[] = {
		{ "nothing", 0, '?', "" },
		{ "a UUID alone", 0, 'u', "" },
		{ "one sign of many", SIGN_DATA_FIRST, 'u', "" },
		{ "rmcp with takeovers", RUST | SIGN_BARE_PRIME | SIGN_TAKEOVER, 'u',
		    "rmcp 0.13-0.16 (Rust SDK)" },
		{ "with shadows", RUST | SIGN_BARE_PRIME | SIGN_SHADOW, 'u',
		    "rmcp 0.17-1.4 (Rust SDK)" },
		{ "401", RUST | SIGN_BARE_PRIME | SIGN_401, 'u', "rmcp 0.13-0.16 (Rust SDK)" },
		{ "404", RUST | SIGN_BARE_PRIME | SIGN_404, 'u', "rmcp 0.17-1.4 (Rust SDK)" },
		{ "which of the two is open", RUST | SIGN_BARE_PRIME, 'u',
		    "rmcp 0.13-1.4 (Rust SDK)" },
		{ "only its initialize was seen", RUST | SIGN_INIT_PRIME_0, 'u',
		    "rmcp 0.13 or later (Rust SDK)" },
		{ "scoped priming", RUST | SIGN_SCOPED_PRIME, 'u', "rmcp 1.5-2.2 (Rust SDK)" },
		{ "scoped and x-accel", RUST | SIGN_SCOPED_PRIME | SIGN_X_ACCEL, 'u',
		    "rmcp 3.x (Rust SDK)" },
		{ "ping with a time", SIGN_PING_TS, 'h', "Python SDK (sse-starlette)" },
		{ "uvicorn", SIGN_UVICORN, 'h', "Python SDK" },
		{ "uvicorn with another kind of id", SIGN_UVICORN, 'u', "" },
		{ "32 hex digits alone", 0, 'h', "" },
		{ "prime events", SIGN_PRIME_EVENT, 'u', "Go SDK" },
		{ "ok", SIGN_OK, 'u', "Go SDK 1.7 or later" },
		{ "base32", 0, 'b', "Go SDK" },
		{ "mcp-session-", 0, 'm', "mcp-go" },
		{ "Kestrel", SIGN_KESTREL, 'u', "C# SDK" },
		{ "base64url", 0, 'w', "C# SDK" },
		{ "64 hex digits", 0, 'H', "Cloudflare agents" },
		{ "no-transform", SIGN_NO_TRANSFORM, 'u', "TypeScript SDK" },
		{ "no-transform without a UUID", SIGN_NO_TRANSFORM, '?', "" },
		{ "and x-accel", SIGN_NO_TRANSFORM | SIGN_X_ACCEL, 'u',
		    "TypeScript SDK 1.30 or later" },
		{ "an event id that is the session's", SIGN_ID_IS_SID, 'u', "Java SDK" },
		{ "server-error", SIGN_SERVER_ERROR, 'h', "Python SDK" },
		{ "no-store", SIGN_NO_STORE, '?', "C# SDK" },
		{ "charset", SIGN_CHARSET, 'u', "" },
		{ "charset and no-transform", SIGN_CHARSET | SIGN_NO_TRANSFORM | SIGN_X_ACCEL,
		    'u', "mcp-proxy on the TypeScript SDK" },
		{ "charset of uvicorn", SIGN_CHARSET | SIGN_NO_TRANSFORM | SIGN_UVICORN, 'u',
		    "TypeScript SDK" },
		{ "keepalive", SIGN_KEEPALIVE, 'u', "TypeScript SDK 1.30 or later" },
		{ "keepalive of Cloudflare", SIGN_KEEPALIVE, 'H', "Cloudflare agents" },
		{ "keepalive with another id", SIGN_KEEPALIVE, '?', "" },
		{ "keepalive of rmcp's form", SIGN_KEEPALIVE | SIGN_DATA_FIRST, 'u', "" },
		{ "one stream only", SIGN_ONE_STREAM, 'u', "TypeScript SDK" },
		{ "409 alone", SIGN_CONFLICT, 'u', "" },
		{ "empty data first", SIGN_EMPTY_FIRST, 'u', "Kotlin SDK" },
		{ "empty data first, no UUID", SIGN_EMPTY_FIRST, 'h', "" },
		{ "Express", SIGN_EXPRESS, 'u',
		    "a program on Express (TypeScript SDK, supergateway or another)" },
		{ "Express without a session id", SIGN_EXPRESS, '?', "" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct buf looks, evidence;

		buf_init(&looks, 512);
		buf_init(&evidence, 1024);
		fingerprint_server(rows[i].signs, rows[i].shape, &looks, &evidence);
		if (!str_eq(buf_str(&looks), str_c(rows[i].looks)))
			fail_msg("%s: %.*s", rows[i].what, STR_ARG(buf_str(&looks)));
		assert_int_equal(evidence.n > 0, looks.n > 0);
		buf_fini(&looks);
		buf_fini(&evidence);
	}
}

static void
test_client(void **state)
{
	static const struct {
		const char *agent, *client;
		uint32_t signs;
		const char *looks, *evidence;
	} rows[] = {
		{ NULL, NULL, 0, "", "" },
		{ "", "", 0, "", "" },
		{ "somebody/1", "cli/1", CSIGN_SSE_JSON | CSIGN_LOWER, "", "" },
		{ "node", NULL, 0, "TypeScript SDK or another program on Node's fetch",
		    "User-Agent node" },
		{ "node", NULL, CSIGN_CAPITAL,
		    "TypeScript SDK 1.x or another program on Node's fetch",
		    "User-Agent node, its GET writes Accept with a capital" },
		{ "node", NULL, CSIGN_LOWER,
		    "TypeScript SDK 2.x or another program on Node's fetch",
		    "User-Agent node, its GET writes accept in small letters" },
		{ "python-httpx/0.28", "x/1", 0, "Python SDK 1.x client",
		    "User-Agent python-httpx/0.28" },
		{ "python-httpx/0.28", "x/1", CSIGN_BOTH, "Python SDK 1.x client",
		    "User-Agent python-httpx/0.28, its GET has both accept and Accept" },
		{ "python-httpx2/1.0", "x/1", 0, "Python SDK 2.x client",
		    "User-Agent python-httpx2/1.0" },
		{ "Go-http-client/1.1", "x/1", 0, "a Go client (Go SDK or mcp-go)",
		    "User-Agent Go-http-client/1.1" },
		{ "Go-http-client/2.0", "x/1", CSIGN_EARLY_GET, "Go SDK client",
		    "User-Agent Go-http-client/2.0, GET before notifications/initialized" },
		{ "Java-http-client/17", "x/1", 0, "Java SDK client", "User-Agent Java-http-client/17" },
		{ "ktor-client", "x/1", 0, "Kotlin SDK client", "User-Agent ktor-client" },
		{ "Visual Studio Code - Insiders/1.9", "x/1", CSIGN_EARLY_GET, "Visual Studio Code",
		    "User-Agent Visual Studio Code - Insiders/1.9" },
		{ "codex-mcp-client/1", "x/1", 0, "Codex", "User-Agent codex-mcp-client/1" },
		{ "claude-code/2 (cli)", "x/1", 0, "Claude Code", "User-Agent claude-code/2 (cli)" },
		{ "Claude-User", "x/1", 0, "Claude", "User-Agent Claude-User" },
		{ "openai-mcp/1.0.0", "x/1", 0, "OpenAI", "User-Agent openai-mcp/1.0.0" },
		{ "Slack-MCP-Client/1.0", "x/1", 0, "Slack", "User-Agent Slack-MCP-Client/1.0" },
		{ "Bun/1.2", "x/1", 0, "TypeScript SDK on Bun", "User-Agent Bun/1.2" },
		{ "undici", "x/1", 0, "a program with its own undici (mcp-remote and others)",
		    "User-Agent undici" },
		{ "Mozilla/5.0", "x/1", 0, "a browser", "User-Agent Mozilla/5.0" },
		{ NULL, "x/1", CSIGN_NO_AGENT, "", "" },
		{ NULL, "x/1", CSIGN_NO_AGENT | CSIGN_SSE_JSON,
		    "rmcp client (Rust SDK) or another without User-Agent",
		    "no User-Agent, GET accepts text/event-stream, application/json in this "
		    "order" },
		{ NULL, "x/1", CSIGN_JAVA_ID, "Java SDK client",
		    "initialize has the id \"XXXXXXXX-0\"" },
		{ NULL, "mcp/0.1.0", 0, "Python SDK client", "clientInfo is its default, mcp/0.1.0" },
		{ NULL, "mcp/0.1.1", 0, "", "" },
		{ "node", "MCP-Inspector/0.14", CSIGN_LOWER, "MCP Inspector",
		    "clientInfo.name MCP-Inspector/0.14" },
		{ "node", "Claude (via mcp-remote 0.1.2)/1", 0, "mcp-remote",
		    "clientInfo.name Claude (via mcp-remote 0.1.2)/1" },
		{ "undici", "mcp-remote-fallback-test/0", 0, "mcp-remote (its probe)",
		    "clientInfo.name mcp-remote-fallback-test/0" },
		{ "node", "conformance-test-client/1", 0, "the conformance suite",
		    "clientInfo.name conformance-test-client/1" },
		{ "undici", "openclaw-bundle-mcp/1", 0, "OpenClaw",
		    "clientInfo.name openclaw-bundle-mcp/1" },
		{ "curl/8.0", NULL, 0, "curl", "User-Agent curl/8.0" },
		{ "libcurl/8.0", NULL, 0, "", "" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct buf looks, evidence;

		buf_init(&looks, 512);
		buf_init(&evidence, 1024);
		fingerprint_client(str_c(rows[i].agent), str_c(rows[i].client),
		    rows[i].signs, &looks, &evidence);
		if (!str_eq(buf_str(&looks), str_c(rows[i].looks)) ||
		    !str_eq(buf_str(&evidence), str_c(rows[i].evidence)))
			fail_msg("%zu: %.*s (%.*s)", i, STR_ARG(buf_str(&looks)),
			    STR_ARG(buf_str(&evidence)));
		buf_fini(&looks);
		buf_fini(&evidence);
	}
}

static void
test_first_id(void **state)
{
	static const struct {
		const char *id;
		bool java;
	} rows[] = {
		{ "\"0123abcd-0\"", true }, { "\"0123abcd-1\"", false },
		{ "\"0123abcg-0\"", false }, { "0", false }, { "1", false },
		{ "\"0123abcd-00\"", false }, { "\"0123abc-0\"", false }, { "", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct guard g = guard_of(rows[i].id, strlen(rows[i].id));

		assert_int_equal(fingerprint_first_id(str_of(g.p, g.n)),
		    rows[i].java ? CSIGN_JAVA_ID : 0);
		guard_free(&g);
	}
	assert_int_equal(fingerprint_first_id(STR_NONE), 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sid), cmocka_unit_test(test_server),
		cmocka_unit_test(test_client), cmocka_unit_test(test_first_id),
	};

	return cmocka_run_group_tests_name("fingerprint", tests, NULL, NULL);
}
