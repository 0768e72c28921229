/* The texts that observe tells beside the events, over every way to cut the
 * bytes in two. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/observe.h"
#include "mcpdiag/xmem.h"
#include "util.h"

#define RPC "{\"jsonrpc\":\"2.0\","
#define SSE_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define POST "POST /mcp HTTP/1.1\r\nMCP-Protocol-Version: 2025-06-18\r\n"
#define GET "GET /mcp HTTP/1.1\r\nMCP-Protocol-Version: 2025-06-18\r\n\r\n"

static const struct row {
	const char *what, *client, *server;
	const char *want;	/* the events with a text */
} rows[] = {
	{ "heads as sent, secrets hidden",
	    "POST /mcp?key=abc HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer abc\r\n"
	    "mcp-session-id:S\r\nCookie: a=b\r\nX-Api-Key: k\r\nX-Empty:\r\n"
	    "MCP-Protocol-Version: 2025-06-18\r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.0 404 Not \tFound\r\nSet-Cookie: c\r\nLocation: /x?t=1\r\n\r\n",
	    "request: POST /mcp?key=#H HTTP/1.1|Host: h|Authorization: #H|"
	    "mcp-session-id: #H|Cookie: #H|X-Api-Key: #H|X-Empty: |"
	    "MCP-Protocol-Version: 2025-06-18|Content-Length: 0|\n"
	    "response: HTTP/1.0 404 Not \tFound|Set-Cookie: #H|Location: /x?t=#H|\n" },
	{ "a request and its answer",
	    POST "Content-Length: 68\r\n\r\n"
	    " " RPC "\"id\":1,\"params\":{\"accessToken\" : \"s\\\"e\",\"a\":\"b\"}}   ",
	    "HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n" RPC "\"id\":1,\"result\":{}}",
	    "request: POST /mcp HTTP/1.1|MCP-Protocol-Version: 2025-06-18|Content-Length: 68|\n"
	    "message: " RPC "\"id\":1,\"params\":{\"accessToken\" : \"#H\",\"a\":\"b\"}}\n"
	    "response: HTTP/1.1 200 OK|Content-Length: 36|\n"
	    "message: " RPC "\"id\":1,\"result\":{}}\n" },
	{ "each of a batch",
	    POST "Content-Length: 95\r\n\r\n[" RPC "\"id\":1,\"a\":[\"]}\"]}, 5,[{}],\"{\","
	    "{\"b\":1}," RPC "\"method\":\"x\"}]       ",
	    "", "request: POST /mcp HTTP/1.1|MCP-Protocol-Version: 2025-06-18|Content-Length: 95|\n"
	    "message: " RPC "\"id\":1,\"a\":[\"]}\"]}\n"
	    "message: " RPC "\"method\":\"x\"}\n" },
	{ "lines of events, and their data",
	    GET, SSE_HEAD ": hi\n\nid: 1\nevent: message\nfoo: bar\ndata: " RPC
	    "\ndata: \"method\":\"n/x\"}\n\ndata:\n\n:c\nretry: 5\n\n",
	    "request: GET /mcp HTTP/1.1|MCP-Protocol-Version: 2025-06-18|\n"
	    "response: HTTP/1.1 200 OK|Content-Type: text/event-stream|\n"
	    "sse: id: 1|event: message|foo: bar|data: " RPC "|data: \"method\":\"n/x\"}\n"
	    "message: " RPC "|\"method\":\"n/x\"}\n"
	    "sse: data:\nsse: :c|retry: 5\n" },
	{ "with CRLF, and secrets",
	    GET, SSE_HEAD "data: {\"password\":\"x\"}\r\n\r\n\r\n\r\nid: 2\r\n\r\n",
	    "request: GET /mcp HTTP/1.1|MCP-Protocol-Version: 2025-06-18|\n"
	    "response: HTTP/1.1 200 OK|Content-Type: text/event-stream|\n"
	    "sse: data: {\"password\":\"#H\"}\nsse: id: 2\n" },
	{ "a secret on the line after its name",
	    GET, SSE_HEAD "data: {\"secret\":\r\ndata: \"x\"}\r\nid: 1\n\n",
	    "request: GET /mcp HTTP/1.1|MCP-Protocol-Version: 2025-06-18|\n"
	    "response: HTTP/1.1 200 OK|Content-Type: text/event-stream|\n"
	    "sse: data: {\"secret\":|data: \"#H\"}|id: 1\n" },
	{ "an endpoint's session",
	    "GET /sse HTTP/1.1\r\nHost: h\r\n\r\n", SSE_HEAD
	    "event: endpoint\ndata: /m?sessionId=1\n\n",
	    "request: GET /sse HTTP/1.1|Host: h|\n"
	    "response: HTTP/1.1 200 OK|Content-Type: text/event-stream|\n"
	    "sse: event: endpoint|data: /m?sessionId=#H\n" },
	{ "bodies that are no messages",
	    POST "Content-Length: 24\r\n\r\ngrant_type=a&code=secret",
	    "HTTP/1.1 400 Bad\r\nContent-Length: 20\r\n\r\nno session = no fun\n",
	    "request: POST /mcp HTTP/1.1|MCP-Protocol-Version: 2025-06-18|Content-Length: 24|\n"
	    "request_end: grant_type=#H&code=#H\n"
	    "response: HTTP/1.1 400 Bad|Content-Length: 20|\n"
	    "response_end: no session = no fun|\n" },
	{ "held until the server is known to be one",
	    "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 40\r\n\r\n"
	    RPC "\"id\":1,\"method\":\"ping\"}",
	    "HTTP/1.1 200 OK\r\nMcp-Session-Id: S\r\nContent-Length: 0\r\n\r\n",
	    "request: POST /mcp HTTP/1.1|Host: h|Content-Length: 40|\n"
	    "message: " RPC "\"id\":1,\"method\":\"ping\"}\n"
	    "response: HTTP/1.1 200 OK|Mcp-Session-Id: #H|Content-Length: 0|\n" },
};

struct trace {
	struct buf b;
	struct buf text;
	bool has, cut;
	uint64_t bytes;
	size_t request_text;	/* model_long_requests() */
};

/* Hashes as #H, line ends as |. */
static void
add_text(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\r')
			continue;
		if (s.p[i] == '#' && s.n - i >= 11) {
			(void)buf_adds(b, STR("#H"));
			i += 10;
		} else
			(void)buf_addc(b, s.p[i] == '\n' ? '|' : s.p[i]);
	}
}

static void
on_text(void *arg, struct str s, uint64_t bytes, bool cut)
{
	struct trace *t = arg;

	assert_false(t->has);
	buf_clear(&t->text);
	(void)buf_adds(&t->text, s);
	t->has = true;
	t->bytes = bytes;
	t->cut = cut;
}

static void
on_ev(void *arg, const struct ev *e)
{
	struct trace *t = arg;

	if (!t->has)
		return;
	t->has = false;
	(void)buf_fmt(&t->b, "%s: ", ev_type_name(e->type));
	add_text(&t->b, buf_str(&t->text));
	(void)buf_addc(&t->b, '\n');
}

static void
feed(struct oconn *c, int dir, const char *p, size_t n)
{
	struct guard g = guard_of(p, n);

	if (n)
		(void)observe_data(c, dir, g.p, n, (struct at){ 1, 1 });
	guard_free(&g);
}

/* Client bytes cut at `a`, server bytes at `b`; every byte alone: SIZE_MAX. */
static void
run(const struct row *r, size_t a, size_t b, bool show, struct trace *t)
{
	struct limits lim;
	struct model *m;
	struct observe *o;
	struct oconn *c;
	const char *bytes[] = { r->client, r->server };
	size_t cut[] = { a, b };

	limits_init(&lim);
	m = model_new(&lim, show, on_ev, t);
	model_texts(m, on_text, t);
	model_long_requests(m, t->request_text);
	o = observe_new(&lim, m);
	c = observe_open(o, "1:1", "2:2", true, (struct at){ 1, 1 });
	for (int dir = 0; dir < 2; dir++) {
		size_t n = strlen(bytes[dir]);

		if (cut[dir] == SIZE_MAX) {
			for (size_t i = 0; i < n; i++)
				feed(c, dir, bytes[dir] + i, 1);
			continue;
		}
		feed(c, dir, bytes[dir], cut[dir]);
		feed(c, dir, bytes[dir] + cut[dir], n - cut[dir]);
	}
	for (int dir = 1; dir >= 0; dir--)
		observe_close(c, dir, "fin", dir, (struct at){ 1, 1 });
	observe_end(c, (struct at){ 1, 1 });
	observe_free(o);
	model_free(m);
}

static void
check(const struct row *r, size_t a, size_t b)
{
	struct trace t = { .has = false };

	buf_init(&t.b, 1 << 20);
	buf_init(&t.text, 1 << 20);
	run(r, a, b, false, &t);
	(void)buf_addc(&t.b, '\0');
	if (strcmp(t.b.p, r->want) != 0)
		print_error("%s, cut at %zd and %zd\n", r->what, a, b);
	assert_string_equal(t.b.p, r->want);
	assert_false(t.cut);
	buf_fini(&t.b);
	buf_fini(&t.text);
}

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct row *r = &rows[i];

		for (size_t a = 0; a <= strlen(r->client); a++)
			check(r, a, 0);
		for (size_t b = 0; b <= strlen(r->server); b++)
			check(r, 0, b);
		check(r, SIZE_MAX, SIZE_MAX);
	}
}

static void
test_show(void **state)
{
	struct trace t = { .has = false };

	(void)state;
	buf_init(&t.b, 1 << 20);
	buf_init(&t.text, 1 << 20);
	run(&rows[0], 0, 0, true, &t);
	assert_true(str_find(buf_str(&t.b), STR("POST /mcp?key=abc HTTP/1.1|Host: h|"
	    "Authorization: Bearer abc|mcp-session-id: S|Cookie: a=b|")) != SIZE_MAX);
	buf_fini(&t.b);
	buf_fini(&t.text);
}

/* Of more than 64 KiB the start is kept, and the size is told. */
static void
test_cap(void **state)
{
	enum { N = 1 << 20 };
	struct trace t = { .has = false };
	struct row r = { .server = "" };
	char *p = xmalloc(N + 500);
	int n = snprintf(p, 500, POST "Content-Length: %d\r\n\r\n" RPC "\"a\":\"", N);

	(void)state;
	memset(p + n, 'x', (size_t)N);
	memcpy(p + n + N - 24, "\"}", 3);
	r.client = p;
	for (size_t cut = 0; cut < 100000; cut += 9999) {
		buf_init(&t.b, 1 << 21);
		buf_init(&t.text, 1 << 21);
		run(&r, cut, 0, false, &t);
		assert_true(t.cut);
		assert_int_equal(t.text.n, 64 << 10);
		assert_true(t.bytes >= (64 << 10) && t.bytes <= N);
		buf_fini(&t.b);
		buf_fini(&t.text);
	}
	free(p);
}

/* "POST" with a body of n bytes, and how long its head is. */
static char *
long_post(size_t n, size_t *head)
{
	char *p = xmalloc(n + 500);
	int k = snprintf(p, 500, POST "Content-Length: %zu\r\n\r\n", n);
	int m = snprintf(p + k, 100, RPC "\"method\":\"x\",\"a\":\"");

	memset(p + k + m, 'x', n - (size_t)m);
	memcpy(p + (size_t)k + n - 2, "\"}", 3);
	*head = (size_t)k;
	return p;
}

static void
test_long_requests(void **state)
{
	enum { N = 1 << 20 };
	static const struct {
		size_t max, kept;
	} sizes[] = { { N, N }, { N - 1, N - 1 }, { N / 2, N / 2 }, { 1000, 64 << 10 },
		{ 0, 64 << 10 } };
	size_t head;
	struct row r = { .server = "" };
	char *p = long_post(N, &head);

	(void)state;
	r.client = p;
	for (size_t i = 0; i < N_ROWS(sizes); i++)
		for (size_t cut = head; cut < N + head; cut += N / 5) {
			struct trace t = { .has = false };

			buf_init(&t.b, 1 << 22);
			buf_init(&t.text, 1 << 22);
			t.request_text = sizes[i].max;
			run(&r, cut, 0, false, &t);
			assert_int_equal(t.text.n, sizes[i].kept);
			assert_int_equal(t.bytes, N);
			assert_int_equal(t.cut, sizes[i].kept < N);
			buf_fini(&t.b);
			buf_fini(&t.text);
		}
	free(p);
}

/* Many at once: for some there is room, and for more when those are over. */
static void
test_many_long(void **state)
{
	enum { N = 95000, FIRST = 90000, CONNS = 20 };
	struct trace t = { .has = false };
	struct limits lim;
	struct model *m;
	struct observe *o;
	struct oconn *c[CONNS];
	size_t head;
	char *p = long_post(N, &head);
	unsigned whole = 0;

	(void)state;
	buf_init(&t.b, 1 << 22);
	buf_init(&t.text, 1 << 20);
	limits_init(&lim);
	m = model_new(&lim, false, on_ev, &t);
	model_texts(m, on_text, &t);
	model_long_requests(m, 100000);
	o = observe_new(&lim, m);
	for (int i = 0; i < CONNS; i++) {
		c[i] = observe_open(o, "1:1", "2:2", true, (struct at){ 1, 1 });
		feed(c[i], 0, p, head + FIRST);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < CONNS; i++) {
			/* of the whole 400000, each takes what is past 65536 */
			feed(c[i], 0, round ? p : p + head + FIRST, round ? head + N : N - FIRST);
			assert_int_equal(t.cut, round == 0 && i >= 400000 / (FIRST - 65536));
			assert_int_equal(t.text.n, t.cut ? 65536 : N);
			whole += !t.cut;
		}
	assert_int_equal(whole, 16 + CONNS);
	for (int i = 0; i < CONNS; i++)
		observe_end(c[i], (struct at){ 1, 1 });
	observe_free(o);
	model_free(m);
	buf_fini(&t.b);
	buf_fini(&t.text);
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_long_requests),
		cmocka_unit_test(test_many_long),
	};

	return cmocka_run_group_tests_name("observe_text", tests, NULL, NULL);
}
