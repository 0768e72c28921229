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
		const char *agent, *client, *looks, *evidence;
	} rows[] = {
		{ NULL, NULL, "", "" },
		{ "", "", "", "" },
		{ "somebody/1", "cli/1", "", "" },
		{ "node", NULL, "TypeScript SDK or another program on Node's fetch",
		    "User-Agent node" },
		{ "python-httpx/0.28", "x/1", "Python SDK 1.x client",
		    "User-Agent python-httpx/0.28" },
		{ "python-httpx2/1.0", "x/1", "Python SDK 2.x client",
		    "User-Agent python-httpx2/1.0" },
		{ "node", "MCP-Inspector/0.14", "MCP Inspector",
		    "clientInfo.name MCP-Inspector/0.14" },
		{ "node", "Claude (via mcp-remote 0.1.2)/1", "mcp-remote",
		    "clientInfo.name Claude (via mcp-remote 0.1.2)/1" },
		{ "curl/8.0", NULL, "curl", "User-Agent curl/8.0" },
		{ "libcurl/8.0", NULL, "", "" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct buf looks, evidence;

		buf_init(&looks, 512);
		buf_init(&evidence, 1024);
		fingerprint_client(str_c(rows[i].agent), str_c(rows[i].client), &looks,
		    &evidence);
		assert_true(str_eq(buf_str(&looks), str_c(rows[i].looks)));
		assert_true(str_eq(buf_str(&evidence), str_c(rows[i].evidence)));
		buf_fini(&looks);
		buf_fini(&evidence);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sid), cmocka_unit_test(test_server),
		cmocka_unit_test(test_client),
	};

	return cmocka_run_group_tests_name("fingerprint", tests, NULL, NULL);
}
