#include "mcpdiag/fingerprint.h"

static bool
all_of(struct str s, const char *set)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\0' || strchr(set, s.p[i]) == NULL)
			return false;
	return true;
}

static bool
is_uuid(struct str s)
{
	if (s.n != 36)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? s.p[i] != '-' : s.p[i] == '\0' ||
		    strchr("0123456789abcdefABCDEF", s.p[i]) == NULL)
			return false;
	}
	return true;
}

char
fingerprint_sid(struct str s)
{
	struct str prefix = STR("mcp-session-");

	if (is_uuid(s))
		return 'u';
	if (str_pre(s, prefix) && is_uuid(str_of(s.p + prefix.n, s.n - prefix.n)))
		return 'm';
	if (s.n == 32 && all_of(s, "0123456789abcdef"))
		return 'h';
	if (s.n == 64 && all_of(s, "0123456789abcdef"))
		return 'H';
	if (s.n == 26 && all_of(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
		return 'b';
	if (s.n == 22 && all_of(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789-_"))
		return 'w';
	return '?';
}

/* One row: all of `all`, none of `none`, the session id's shape when given.
 * The first row that fits is told. */
static const struct row {
	uint32_t all, none;
	char shape;
	const char *looks, *evidence;
} servers[] = {
	{ SIGN_DATA_FIRST | SIGN_BARE_PRIME | SIGN_RETRY_3000 | SIGN_TAKEOVER, 0, 0,
	  "rmcp 0.13-0.16 (Rust SDK)",
	  "request streams primed with the bare id 0 and retry 3000, data before id, "
	  "a second GET ends the first" },
	{ SIGN_DATA_FIRST | SIGN_BARE_PRIME | SIGN_RETRY_3000 | SIGN_SHADOW, 0, 0,
	  "rmcp 0.17-1.4 (Rust SDK)",
	  "request streams primed with the bare id 0 and retry 3000, data before id, "
	  "a second GET stays open beside the first" },
	{ SIGN_DATA_FIRST | SIGN_BARE_PRIME | SIGN_RETRY_3000 | SIGN_401, 0, 0,
	  "rmcp 0.13-0.16 (Rust SDK)",
	  "request streams primed with the bare id 0 and retry 3000, data before id, "
	  "401 for an unknown session" },
	{ SIGN_DATA_FIRST | SIGN_BARE_PRIME | SIGN_RETRY_3000 | SIGN_404, 0, 0,
	  "rmcp 0.17-1.4 (Rust SDK)",
	  "request streams primed with the bare id 0 and retry 3000, data before id, "
	  "404 for an unknown session" },
	{ SIGN_DATA_FIRST | SIGN_BARE_PRIME | SIGN_RETRY_3000, 0, 0,
	  "rmcp 0.13-1.4 (Rust SDK)",
	  "request streams primed with the bare id 0 and retry 3000, data before id" },
	{ SIGN_DATA_FIRST | SIGN_SCOPED_PRIME | SIGN_X_ACCEL, 0, 0,
	  "rmcp 3.x (Rust SDK)",
	  "request streams primed with id 0/N, data before id, x-accel-buffering: no" },
	{ SIGN_DATA_FIRST | SIGN_SCOPED_PRIME, SIGN_X_ACCEL, 0,
	  "rmcp 1.5-2.2 (Rust SDK)",
	  "request streams primed with id 0/N, data before id" },
	{ SIGN_DATA_FIRST | SIGN_INIT_PRIME_0 | SIGN_RETRY_3000, 0, 0,
	  "rmcp 0.13 or later (Rust SDK)",
	  "initialize primed with id 0 and retry 3000, data before id" },
	{ SIGN_PING_TS, 0, 0, "Python SDK (sse-starlette)",
	  "comments of the form \": ping - TIME\"" },
	{ SIGN_UVICORN, 0, 'h', "Python SDK",
	  "Server: uvicorn, session id of 32 hex digits" },
	{ SIGN_PRIME_EVENT, 0, 0, "Go SDK",
	  "events named prime or close" },
	{ SIGN_OK, 0, 0, "Go SDK 1.7 or later", "comment \": ok\"" },
	{ 0, 0, 'b', "Go SDK", "session id of 26 base32 characters" },
	{ 0, 0, 'm', "mcp-go", "session id mcp-session-UUID" },
	{ SIGN_KESTREL, 0, 0, "C# SDK", "Server: Kestrel" },
	{ 0, 0, 'w', "C# SDK", "session id of 22 base64url characters" },
	{ 0, 0, 'H', "Cloudflare agents", "session id of 64 hex digits" },
	{ SIGN_NO_TRANSFORM | SIGN_X_ACCEL, 0, 0, "TypeScript SDK 1.30 or later",
	  "cache-control: no-cache, no-transform and x-accel-buffering: no" },
	{ SIGN_NO_TRANSFORM, 0, 'u', "TypeScript SDK",
	  "cache-control: no-cache, no-transform, session id is a UUID" },
};

void
fingerprint_server(uint32_t signs, char shape, struct buf *looks, struct buf *evidence)
{
	for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
		const struct row *r = &servers[i];

		if ((signs & r->all) != r->all || (signs & r->none) ||
		    (r->shape && r->shape != shape))
			continue;
		(void)buf_adds(looks, str_c(r->looks));
		(void)buf_adds(evidence, str_c(r->evidence));
		return;
	}
}

static const struct {
	const char *prefix, *looks;
} agents[] = {
	{ "python-httpx2/", "Python SDK 2.x client" },
	{ "python-httpx/", "Python SDK 1.x client" },
	{ "Go-http-client/", "a Go client (Go SDK or mcp-go)" },
	{ "Java-http-client/", "Java SDK client" },
	{ "ktor-client", "Kotlin SDK client" },
	{ "Visual Studio Code", "Visual Studio Code" },
	{ "codex-mcp-client/", "Codex" },
	{ "claude-code/", "Claude Code" },
	{ "Claude-User", "Claude" },
	{ "openai-mcp/", "OpenAI" },
	{ "Bun/", "TypeScript SDK on Bun" },
	{ "node", "TypeScript SDK or another program on Node's fetch" },
	{ "undici", "a program with its own undici (mcp-remote and others)" },
	{ "curl/", "curl" },
	{ "Mozilla/", "a browser" },
};

void
fingerprint_client(struct str agent, struct str client, struct buf *looks,
    struct buf *evidence)
{
	if (str_ipre(client, STR("mcp-inspector")))
		(void)buf_adds(looks, STR("MCP Inspector"));
	else if (str_find(client, STR("(via mcp-remote")) != SIZE_MAX)
		(void)buf_adds(looks, STR("mcp-remote"));
	if (looks->n) {
		(void)buf_adds(evidence, STR("clientInfo.name "));
		(void)buf_adds(evidence, client);
		return;
	}
	for (size_t i = 0; i < sizeof agents / sizeof agents[0]; i++) {
		if (!str_pre(agent, str_c(agents[i].prefix)))
			continue;
		(void)buf_adds(looks, str_c(agents[i].looks));
		(void)buf_adds(evidence, STR("User-Agent "));
		(void)buf_adds(evidence, agent);
		return;
	}
}
