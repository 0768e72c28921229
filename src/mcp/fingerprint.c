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
	{ SIGN_ID_IS_SID, 0, 0, "Java SDK", "an event id equals the session id" },
	{ SIGN_SERVER_ERROR, 0, 0, "Python SDK", "errors with the id \"server-error\"" },
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
	{ SIGN_NO_STORE, 0, 0, "C# SDK",
	  "cache-control: no-cache,no-store and content-encoding: identity" },
	{ 0, 0, 'w', "C# SDK", "session id of 22 base64url characters" },
	{ 0, 0, 'H', "Cloudflare agents", "session id of 64 hex digits" },
	{ SIGN_CHARSET | SIGN_NO_TRANSFORM, SIGN_UVICORN, 'u',
	  "mcp-proxy on the TypeScript SDK",
	  "charset on text/event-stream, cache-control: no-cache, no-transform, "
	  "session id is a UUID" },
	{ SIGN_NO_TRANSFORM | SIGN_X_ACCEL, 0, 0, "TypeScript SDK 1.30 or later",
	  "cache-control: no-cache, no-transform and x-accel-buffering: no" },
	{ SIGN_KEEPALIVE, SIGN_DATA_FIRST, 'u', "TypeScript SDK 1.30 or later",
	  "comment \": keepalive\", session id is a UUID" },
	{ SIGN_NO_TRANSFORM, 0, 'u', "TypeScript SDK",
	  "cache-control: no-cache, no-transform, session id is a UUID" },
	{ SIGN_ONE_STREAM, 0, 'u', "TypeScript SDK",
	  "409 with \"Only one SSE stream is allowed per session\"" },
	{ SIGN_EMPTY_FIRST, SIGN_DATA_FIRST, 'u', "Kotlin SDK",
	  "a GET stream begins with empty data without an id, session id is a UUID" },
	{ SIGN_EXPRESS, 0, 'u',
	  "a program on Express (TypeScript SDK, supergateway or another)",
	  "X-Powered-By: Express, session id is a UUID" },
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

/* One row: the start of User-Agent (NULL: there is none), all of the signs. */
static const struct {
	const char *prefix;
	uint32_t all;
	const char *looks, *also;	/* more evidence, or NULL */
} agents[] = {
	{ "python-httpx2/", 0, "Python SDK 2.x client", NULL },
	{ "python-httpx/", CSIGN_BOTH, "Python SDK 1.x client", "its GET has both accept and Accept" },
	{ "python-httpx/", 0, "Python SDK 1.x client", NULL },
	{ "Go-http-client/", CSIGN_EARLY_GET, "Go SDK client",
	  "GET before notifications/initialized" },
	{ "Go-http-client/", 0, "a Go client (Go SDK or mcp-go)", NULL },
	{ "Java-http-client/", 0, "Java SDK client", NULL },
	{ "ktor-client", 0, "Kotlin SDK client", NULL },
	{ "Visual Studio Code", 0, "Visual Studio Code", NULL },
	{ "codex-mcp-client/", 0, "Codex", NULL },
	{ "claude-code/", 0, "Claude Code", NULL },
	{ "Claude-User", 0, "Claude", NULL },
	{ "openai-mcp/", 0, "OpenAI", NULL },
	{ "Slack-MCP-Client/", 0, "Slack", NULL },
	{ "Bun/", 0, "TypeScript SDK on Bun", NULL },
	{ "node", CSIGN_CAPITAL, "TypeScript SDK 1.x or another program on Node's fetch",
	  "its GET writes Accept with a capital" },
	{ "node", CSIGN_LOWER, "TypeScript SDK 2.x or another program on Node's fetch",
	  "its GET writes accept in small letters" },
	{ "node", 0, "TypeScript SDK or another program on Node's fetch", NULL },
	{ "undici", 0, "a program with its own undici (mcp-remote and others)", NULL },
	{ "curl/", 0, "curl", NULL },
	{ "Mozilla/", 0, "a browser", NULL },
	{ NULL, CSIGN_JAVA_ID, "Java SDK client", "initialize has the id \"XXXXXXXX-0\"" },
	{ NULL, CSIGN_NO_AGENT | CSIGN_SSE_JSON,
	  "rmcp client (Rust SDK) or another without User-Agent",
	  "GET accepts text/event-stream, application/json in this order" },
	/* .NET sends no User-Agent either and accepts text/event-stream only; but so
	 * do most scripts, which is no sign of anything. */
};

/* By the name that a client gives itself. */
static const struct {
	const char *part;
	bool start;			/* of the name, else anywhere in it */
	const char *looks;
} names[] = {
	{ "mcp-inspector", true, "MCP Inspector" },
	{ "mcp-remote-fallback-test", true, "mcp-remote (its probe)" },
	{ "(via mcp-remote", false, "mcp-remote" },
	{ "conformance-test-client", true, "the conformance suite" },
	{ "openclaw-bundle-mcp", true, "OpenClaw" },
};

static bool
by_name(struct str client, struct buf *looks, struct buf *evidence)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct str part = str_c(names[i].part);

		if (names[i].start ? !str_ipre(client, part) :
		    str_find(client, part) == SIZE_MAX)
			continue;
		(void)buf_adds(looks, str_c(names[i].looks));
		(void)buf_adds(evidence, STR("clientInfo.name "));
		(void)buf_adds(evidence, client);
		return true;
	}
	return false;
}

static bool
by_agent(struct str agent, uint32_t signs, struct buf *looks, struct buf *evidence)
{
	for (size_t i = 0; i < sizeof agents / sizeof agents[0]; i++) {
		const char *prefix = agents[i].prefix;

		if ((signs & agents[i].all) != agents[i].all || (prefix == NULL) !=
		    (agent.p == NULL) || (prefix && !str_pre(agent, str_c(prefix))))
			continue;
		(void)buf_adds(looks, str_c(agents[i].looks));
		if (prefix) {
			(void)buf_adds(evidence, STR("User-Agent "));
			(void)buf_adds(evidence, agent);
		} else if (agents[i].all & CSIGN_NO_AGENT)
			(void)buf_adds(evidence, STR("no User-Agent"));
		if (agents[i].also)
			(void)buf_fmt(evidence, "%s%s", evidence->n ? ", " : "",
			    agents[i].also);
		return true;
	}
	return false;
}

void
fingerprint_client(struct str agent, struct str client, uint32_t signs,
    struct buf *looks, struct buf *evidence)
{
	if (by_name(client, looks, evidence) || by_agent(agent, signs, looks, evidence))
		return;
	if (str_eq(client, STR("mcp/0.1.0"))) {
		(void)buf_adds(looks, STR("Python SDK client"));
		(void)buf_adds(evidence, STR("clientInfo is its default, mcp/0.1.0"));
	}
}

uint32_t
fingerprint_first_id(struct str id)
{
	struct str hex = str_of(id.p ? id.p + 1 : NULL, 8);

	return id.n == 12 && id.p[0] == '"' && all_of(hex, "0123456789abcdef") &&
	    memcmp(id.p + 9, "-0\"", 3) == 0 ? CSIGN_JAVA_ID : 0;
}
