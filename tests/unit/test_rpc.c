#include "mcpdiag/rpc.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/err.h"
#include "mcpdiag/json.h"
#include "util.h"

#define MCP "io.modelcontextprotocol/"
#define TEXT48 "123456789012345678901234567890123456789012345678"
#define V20 "\"jsonrpc\":\"2.0\","

static const struct row {
	const char *what;
	const char *in;
	const char *want;
} rows[] = {
	{ "a request",
	    "{" V20 "\"id\":17,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
	    "\"arguments\":{\"name\":\"x\",\"uri\":\"y\",\"id\":1}}}",
	    "request 2.0 method=tools/call id=17 name=echo\n" },
	{ "in any order",
	    "{\"params\":{\"uri\":\"a://b\"},\"method\":\"resources/read\",\"id\":\"a\","
	    "\"jsonrpc\":\"2.0\"}",
	    "request 2.0 method=resources/read id=\"a\" uri=a://b\n" },
	{ "a notification", "{" V20 "\"method\":\"notifications/initialized\"}",
	    "notification 2.0 method=notifications/initialized\n" },
	{ "ids 1 and \"1\" differ",
	    "[{" V20 "\"id\":1,\"result\":{}},{" V20 "\"id\":\"1\",\"result\":{}}]",
	    "response 2.0 batch id=1\nresponse 2.0 batch id=\"1\"\n" },
	{ "ids are verbatim",
	    "[{\"id\":18446744073709551616,\"result\":0},{\"id\":1.0,\"result\":0},"
	    "{\"id\":\"\\u0061\",\"result\":0},{\"id\":\"\",\"result\":0},"
	    "{\"id\":-1e400,\"result\":0}]",
	    "response batch id=18446744073709551616\nresponse batch id=1.0\n"
	    "response batch id=\"\\u0061\"\nresponse batch id=\"\"\n"
	    "response batch id=-1e400\n" },
	{ "a request with id null", "{" V20 "\"id\":null,\"method\":\"ping\"}",
	    "request 2.0 method=ping id=null\n" },
	{ "an error with id null",
	    "{" V20 "\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse\"}}",
	    "error 2.0 id=null code=-32700 message=Parse\n" },
	{ "an error without id, and more in it",
	    "{" V20 "\"error\":{\"code\":-32001,\"message\":\"a\\\"b\",\"data\":{\"code\":1,"
	    "\"message\":\"x\"}}}",
	    "error 2.0 code=-32001 message=a\\\"b\n" },
	{ "an error code that is a string",
	    "{" V20 "\"id\":1,\"error\":{\"code\":\"E1\",\"message\":5}}",
	    "error 2.0 id=1 code=\"E1\"\n" },
	{ "an error that is no object", "{" V20 "\"id\":1,\"error\":\"no\"}",
	    "error 2.0 id=1\n" },
	{ "result and error", "{" V20 "\"id\":1,\"result\":{},\"error\":{\"code\":1}}",
	    "error 2.0 id=1 code=1\n" },
	{ "result and error null, as in JSON-RPC 1.0",
	    "{\"id\":1,\"result\":{},\"error\":null}", "response id=1\n" },
	{ "error null alone", "{\"id\":1,\"error\":null}", "error id=1\n" },
	{ "result null", "{" V20 "\"id\":1,\"result\":null}",
	    "response 2.0 id=1\n" },
	{ "method and result: the method says it",
	    "{" V20 "\"id\":1,\"method\":\"m\",\"result\":{}}",
	    "request 2.0 method=m id=1\n" },
	{ "none of these", "[{},{" V20 "\"id\":1},{\"x\":{\"method\":\"m\"}}]",
	    "invalid batch\ninvalid 2.0 batch id=1\ninvalid batch\n" },
	{ "a method that is no string", "{" V20 "\"id\":1,\"method\":1}",
	    "invalid 2.0 id=1\n" },
	{ "an empty method", "{\"method\":\"\"}", "notification method=\n" },
	{ "ids that are none",
	    "[{\"id\":true,\"method\":\"m\"},{\"id\":{\"id\":1},\"method\":\"m\"},"
	    "{\"id\":[1],\"method\":\"m\"},{\"id\":false,\"result\":1}]",
	    "invalid batch method=m\ninvalid batch method=m\n"
	    "invalid batch method=m\nresponse batch\n" },
	{ "another version, or none",
	    "[{\"jsonrpc\":\"1.0\",\"method\":\"m\"},{\"jsonrpc\":2.0,\"method\":\"m\"},"
	    "{\"jsonrpc\":\"2.00\",\"method\":\"m\"},{\"method\":\"m\"}]",
	    "notification batch method=m\nnotification batch method=m\n"
	    "notification batch method=m\nnotification batch method=m\n" },
	{ "initialize",
	    "{\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
	    "\"capabilities\":{\"roots\":{\"listChanged\":true}},\"clientInfo\":{"
	    "\"name\":\"c\",\"version\":\"1.2\",\"title\":\"t\"}}," V20 "\"id\":0}",
	    "request 2.0 method=initialize id=0 protocol_version=2025-06-18"
	    " client_name=c client_version=1.2\n" },
	{ "its result",
	    "{\"result\":{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{"
	    "\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true,"
	    "\"listChanged\":false}},\"serverInfo\":{\"name\":\"s\",\"version\":"
	    "\"0.15.0\"}}," V20 "\"id\":0}",
	    "response 2.0 id=0 result_version=2025-03-26 server_name=s"
	    " server_version=0.15.0 capabilities list_changed subscribe\n" },
	{ "capabilities that say no",
	    "{\"id\":1,\"result\":{\"capabilities\":{\"listChanged\":\"true\",\"tools\":"
	    "{\"listChanged\":false},\"subscribe\":true,\"x\":{\"resources\":{"
	    "\"subscribe\":true}}},\"listChanged\":true}}",
	    "response id=1 capabilities\n" },
	{ "capabilities that are none",
	    "{\"id\":1,\"result\":{\"capabilities\":true,\"supportedVersions\":\"x\"}}",
	    "response id=1\n" },
	{ "listChanged deeper", "{\"id\":1,\"result\":{\"capabilities\":{\"a\":{\"b\":[{"
	    "\"listChanged\":true}]}}}}",
	    "response id=1 capabilities list_changed\n" },
	{ "server/discover",
	    "{" V20 "\"id\":\"d1\",\"method\":\"server/discover\",\"params\":{\"_meta\":{"
	    "\"" MCP "protocolVersion\":\"2026-07-28\",\"" MCP "clientInfo\":{\"name\":"
	    "\"ts\",\"version\":\"1\"},\"" MCP "clientCapabilities\":{}}}}",
	    "request 2.0 method=server/discover id=\"d1\" client_name=ts"
	    " client_version=1 meta_version=2026-07-28 meta_mcp\n" },
	{ "its result",
	    "{" V20 "\"id\":\"d1\",\"result\":{\"resultType\":\"complete\","
	    "\"supportedVersions\":[\"2025-11-25\",\"2026-07-28\"],\"capabilities\":{"
	    "\"tools\":{\"listChanged\":true}},\"_meta\":{\"" MCP "serverInfo\":{"
	    "\"name\":\"rmcp\",\"version\":\"3\"}}}}",
	    "response 2.0 id=\"d1\" server_name=rmcp server_version=3"
	    " capabilities list_changed supported_versions meta_mcp\n" },
	{ "a message of a subscription",
	    "{" V20 "\"method\":\"notifications/tools/list_changed\",\"params\":{"
	    "\"_meta\":{\"" MCP "subscriptionId\":\"listen:0\"}}}",
	    "notification 2.0 method=notifications/tools/list_changed meta_mcp"
	    " subscription_id=\"listen:0\"\n" },
	{ "the result that ends it", "{" V20 "\"id\":7,\"result\":{\"_meta\":{\"" MCP
	    "subscriptionId\":7}}}",
	    "response 2.0 id=7 meta_mcp subscription_id=7\n" },
	{ "a related task", "{\"id\":1,\"result\":{\"_meta\":{\"" MCP "related-task\":{"
	    "\"taskId\":\"t\"}}}}",
	    "response id=1 meta_mcp related_task\n" },
	{ "a key of _meta that begins so",
	    "[{\"method\":\"m\",\"params\":{\"_meta\":{\"" MCP "x\":null}}},"
	    "{\"method\":\"m\",\"params\":{\"_meta\":{\"x/" MCP "\":1,"
	    "\"io.modelcontextprotocol\":1}}},"
	    "{\"method\":\"m\",\"_meta\":{\"" MCP "x\":1}}]",
	    "notification batch method=m meta_mcp\n"
	    "notification batch method=m\nnotification batch method=m\n" },
	{ "progress",
	    "{" V20 "\"method\":\"notifications/progress\",\"params\":{"
	    "\"progressToken\":\"t\",\"progress\":0.5}}",
	    "notification 2.0 method=notifications/progress progress_token=\"t\"\n" },
	{ "a request that wants it",
	    "{" V20 "\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":{\"progressToken\":1"
	    "},\"progressToken\":null}}",
	    "request 2.0 method=m id=1 meta_token=1\n" },
	{ "cancelled",
	    "{" V20 "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
	    "\"17\",\"reason\":\"timeout\"}}",
	    "notification 2.0 method=notifications/cancelled cancel_id=\"17\"\n" },
	{ "the last of several counts",
	    "{\"method\":\"first one\",\"id\":111,\"params\":{\"name\":\"n\"},"
	    "\"method\":\"m\",\"id\":\"2\",\"jsonrpc\":\"2.0\",\"jsonrpc\":\"1.0\"}",
	    "request flaws=4 method=m id=\"2\" name=n\n" },
	{ "even if it is none",
	    "{\"method\":\"abc\",\"id\":1,\"params\":{\"uri\":\"u\"},\"method\":null,"
	    "\"result\":{},\"id\":2}",
	    "response flaws=4 id=2 uri=u\n" },
	{ "an id that is none and then one",
	    "{\"id\":{},\"method\":\"m\",\"id\":2}",
	    "request flaws=4 method=m id=2\n" },
	{ "one message does not reach the next",
	    "[{" V20 "\"id\":1,\"method\":\"m\",\"params\":{\"name\":\"n\"}},{\"x\":1},"
	    "{\"id\":2,\"result\":{}}]",
	    "request 2.0 batch method=m id=1 name=n\ninvalid batch\n"
	    "response batch id=2\n" },
	{ "what is not an object is no message", "[1,\"method\",null,[{\"id\":1}],"
	    "{\"method\":\"m\"}]",
	    "notification batch method=m\n" },
	{ "a scalar", "5", "" },
	{ "an empty batch", "[]", "" },
	{ "values at the limit of 48",
	    "{\"id\":\"" TEXT48 "\",\"method\":\"" TEXT48 "\"}",
	    "request method=" TEXT48 " id=\"" TEXT48 "\"\n" },
	{ "and over it",
	    "{\"id\":\"" TEXT48 "x\",\"method\":\"" TEXT48 "x\"}",
	    "request flaws=8 method=" TEXT48 " id=\"" TEXT48 " cut\n" },
	{ "a number over it", "{\"id\":" TEXT48 "1,\"result\":1}",
	    "response flaws=8 id=" TEXT48 " cut\n" },
	{ "a message that is cut", "{" V20 "\"id\":1,\"method\":\"m\"", "bad\n" },
	{ "the messages before what is no JSON", "[{\"method\":\"m\"},{\"id\":1},]",
	    "notification batch method=m\ninvalid batch id=1\nbad\n" },
};

static const struct {
	const char *name;
	size_t at;
} strings[] = {
#define S(f) { #f, offsetof(struct rpc_msg, f) }
	S(method), S(id), S(code), S(message), S(protocol_version),
	S(client_name), S(client_version), S(result_version), S(server_name),
	S(server_version), S(progress_token), S(meta_token), S(cancel_id),
	S(name), S(uri), S(meta_version), S(subscription_id),
#undef S
};

static void
show_string(struct buf *out, const struct rpc_msg *m, size_t i)
{
	struct str s;

	memcpy(&s, (const char *)m + strings[i].at, sizeof s);
	if (s.p == NULL)
		return;
	buf_fmt(out, " %s=", strings[i].name);
	buf_adds(out, s);
	if (strings[i].at == offsetof(struct rpc_msg, id) && m->id_cut)
		buf_fmt(out, " cut");
}

static void
on_msg(void *arg, const struct rpc_msg *m)
{
	static const char *const kinds[] = {
		"request", "notification", "response", "error", "invalid",
	};
	struct buf *out = arg;

	buf_fmt(out, "%s%s%s", kinds[m->kind], m->jsonrpc2 ? " 2.0" : "",
	    m->batch ? " batch" : "");
	if (m->flaws)
		buf_fmt(out, " flaws=%u", m->flaws);
	for (size_t i = 0; i + 2 < N_ROWS(strings); i++)
		show_string(out, m, i);
	buf_fmt(out, "%s%s%s%s", m->has_capabilities ? " capabilities" : "",
	    m->list_changed ? " list_changed" : "",
	    m->subscribe ? " subscribe" : "",
	    m->supported_versions ? " supported_versions" : "");
	show_string(out, m, N_ROWS(strings) - 2);
	buf_fmt(out, "%s%s", m->meta_mcp ? " meta_mcp" : "",
	    m->related_task ? " related_task" : "");
	show_string(out, m, N_ROWS(strings) - 1);
	buf_addc(out, '\n');
}

static int
feed(struct rpc *r, const char *p, size_t n)
{
	struct guard g = guard_of(p, n);
	int rc = rpc_feed(r, g.p, n);

	guard_free(&g);
	return rc;
}

/* Cut at `at`, or in single bytes when at > n. */
static void
run(struct rpc *r, struct buf *out, const struct row *row, size_t at)
{
	size_t n = strlen(row->in);
	int rc = 0;

	buf_clear(out);
	rpc_reset(r);
	if (at <= n) {
		rc |= feed(r, row->in, at);
		rc |= feed(r, row->in + at, n - at);
	} else {
		for (size_t i = 0; i < n; i++)
			rc |= feed(r, row->in + i, 1);
	}
	rc |= rpc_eof(r);
	if (rc != 0) {
		assert_int_equal(rc, -E_SYNTAX);
		buf_fmt(out, "bad\n");
	}
	if (!str_eq(buf_str(out), str_c(row->want)))
		fail_msg("%s, cut at %zu\nwant: %sgot:  %.*s", row->what, at,
		    row->want, STR_ARG(buf_str(out)));
}

static void
test_rows(void **state)
{
	struct limits lim;
	struct buf out;
	struct rpc *r;

	(void)state;
	limits_init(&lim);
	lim.json_value = 48;
	buf_init(&out, 1 << 16);
	r = rpc_new(&lim, on_msg, &out);
	for (size_t i = 0; i < N_ROWS(rows); i++)
		for (size_t at = 0; at <= strlen(rows[i].in) + 1; at++)
			run(r, &out, &rows[i], at);
	rpc_free(r);
	rpc_free(NULL);
	buf_fini(&out);
}

/* A message that repeats its members without end does not fill memory: what
 * is kept is bounded, and the last of each still counts. */
static void
test_repeats(void **state)
{
	struct limits lim;
	struct buf out;
	struct rpc *r;
	char piece[128];

	(void)state;
	limits_init(&lim);
	lim.json_value = 16;
	buf_init(&out, 1 << 16);
	r = rpc_new(&lim, on_msg, &out);
	assert_int_equal(rpc_feed(r, "{", 1), 0);
	for (int i = 0; i < 20000; i++) {
		int n = snprintf(piece, sizeof piece, "\"id\":\"%.*s%05d\","
		    "\"params\":{\"name\":\"%.*sn%05d\",\"uri\":\"\"},", i % 9,
		    "aaaaaaaa", i, i % 7, "bbbbbb", i);
		assert_int_equal(rpc_feed(r, piece, (size_t)n), 0);
	}
	assert_int_equal(rpc_feed(r, "\"method\":\"m\"}", 13), 0);
	assert_int_equal(rpc_eof(r), 0);
	assert_true(str_eq(buf_str(&out), STR("request flaws=4 method=m"
	    " id=\"aa19999\" name=n19999 uri=\n")) ||
	    str_eq(buf_str(&out), STR("request flaws=4 method=m"
	    " id=\"a19999\" name=n19999 uri=\n")));
	rpc_free(r);
	buf_fini(&out);
}

/* Nesting past the limit is not followed, and told. */
static void
test_depth(void **state)
{
	static const char in[] = "{\"id\":1,\"params\":{\"_meta\":{\"" MCP "clientInfo\":"
	    "{\"name\":\"x\"}}},\"method\":\"m\"}";
	struct limits lim;
	struct buf out;
	struct rpc *r;

	(void)state;
	limits_init(&lim);
	lim.json_depth = 3;
	buf_init(&out, 1 << 16);
	r = rpc_new(&lim, on_msg, &out);
	assert_int_equal(rpc_feed(r, in, sizeof in - 1), 0);
	assert_int_equal(rpc_eof(r), 0);
	assert_true(str_eq(buf_str(&out),
	    STR("request flaws=1 method=m id=1 meta_mcp\n")));
	rpc_free(r);
	lim.json_depth = lim.json_value = UINT64_MAX;
	buf_clear(&out);
	r = rpc_new(&lim, on_msg, &out);
	assert_int_equal(rpc_feed(r, in, sizeof in - 1), 0);
	assert_int_equal(rpc_eof(r), 0);
	assert_true(str_eq(buf_str(&out),
	    STR("request method=m id=1 client_name=x meta_mcp\n")));
	rpc_free(r);
	buf_fini(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
