/* witness: what it tells, beside what the server had on its sockets. */
#include "mcpdiag/client.h"

#include <sys/un.h>

#include "mini_server.h"

static struct loop *loop;
static struct mini srv;
static struct witness *witness;
static struct client *client;
static struct client_opts opts;
static struct buf told;
static char url[64];
static unsigned waited_for;
static struct creq *running;
static bool cancel_at_body;

static void
on_opened(void *arg, uint32_t conn, const char *from, const char *to)
{
	char want[32];

	(void)arg;
	assert_int_equal(strncmp(from, "127.0.0.1:", 10), 0);
	assert_true(strcmp(from, "127.0.0.1:0") != 0);
	(void)snprintf(want, sizeof want, "127.0.0.1:%u", opts.unix_socket ? 80 : srv.port);
	assert_string_equal(to, want);
	(void)buf_fmt(&told, "%u:open ", conn);
}

static void
on_bytes(void *arg, uint32_t conn, bool response, const void *p, size_t n)
{
	struct str s = str_of(p, n);
	static uint32_t last;
	static bool was_response;

	(void)arg;
	assert_true(n > 0);
	if (told.n == 0 || told.p[told.n - 1] == ' ' || last != conn ||
	    was_response != response)
		(void)buf_fmt(&told, "%u:%s", conn, response ? "<" : ">");
	last = conn;
	was_response = response;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\n')
			(void)buf_addc(&told, '^');
		else if (s.p[i] != '\r')
			(void)buf_addc(&told, s.p[i]);
	}
}

static void
on_closed(void *arg, uint32_t conn, bool by_client, bool reset)
{
	(void)arg;
	(void)buf_fmt(&told, " %u:%s%s ", conn, by_client ? "left" : "closed",
	    reset ? " (reset)" : "");
}

static void
on_head(void *arg, const struct client_head *h)
{
	(void)arg;
	(void)h;
}

static void
on_body(void *arg, const void *p, size_t n)
{
	(void)arg;
	(void)p;
	(void)n;
	if (cancel_at_body) {
		client_cancel(running);
		loop_stop(loop);
	}
}

static void
on_end(void *arg, enum client_end end, const char *why)
{
	(void)arg;
	(void)end;
	(void)why;
	if (--waited_for == 0)
		loop_stop(loop);
}

static const char *answer;
static enum { KEEP, FIN, RESET } afterwards;

static void
on_request(void *arg, struct mini_conn *c, struct str request)
{
	(void)arg;
	(void)request;
	mini_say(c, answer);
	if (c->fd >= 0 && afterwards == FIN)
		mini_end(c);
	else if (c->fd >= 0 && afterwards == RESET)
		mini_reset(c);
}

static void
open_client(void)
{
	static const struct witness_cb cb = { on_opened, on_bytes, on_closed };

	witness = witness_new(&cb, NULL);
	opts.witness = witness;
	client = client_new(loop, &opts, NULL);
	assert_non_null(client);
}

static int
setup(void **state)
{
	(void)state;
	client_opts_init(&opts);
	loop = loop_new(NULL);
	mini_init(&srv, loop);
	srv.request = on_request;
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", srv.port);
	buf_init(&told, 4 << 20);
	afterwards = KEEP;
	cancel_at_body = false;
	waited_for = 0;
	open_client();
	return 0;
}

static void
close_client(void)
{
	client_free(client);
	client = NULL;
	witness_free(witness);
	witness = NULL;
}

static int
teardown(void **state)
{
	(void)state;
	close_client();
	mini_fini(&srv);
	loop_free(loop);
	buf_fini(&told);
	return 0;
}

static void
ask(const char *method, struct str body)
{
	static const struct client_cb cb = { on_head, on_body, on_end };
	struct str line = STR("Accept: a/b");
	struct client_request q = { .method = method, .url = url, .headers = &line,
		.n_headers = 1, .body = body };

	waited_for++;
	running = client_start(client, &q, &cb, NULL, NULL);
	assert_non_null(running);
}

static void
check(const char *what, const char *want)
{
	char host[40];
	struct str s, rest;
	struct buf out;

	/* The port is any. */
	(void)snprintf(host, sizeof host, "^Host: 127.0.0.1:%u", srv.port);
	buf_init(&out, 4 << 20);
	for (rest = buf_str(&told); rest.n > 0;) {
		size_t at = str_find(rest, str_c(host));

		s = str_of(rest.p, at < rest.n ? at : rest.n);
		(void)buf_adds(&out, s);
		at = at < rest.n ? at + strlen(host) : rest.n;
		rest = str_of(rest.p + at, rest.n - at);
	}
	(void)buf_addc(&out, '\0');
	if (strcmp(out.p, want) != 0)
		fail_msg("%s:\n%s\n  not\n%s", what, out.p, want);
	buf_fini(&out);
}

#define OPEN "1:open 1:>GET /mcp HTTP/1.1^Accept: a/b^^"

static const struct row {
	const char *what, *answer;
	int then;
	const char *want;
} rows[] = {
	{ "a length", "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nok", KEEP,
	    OPEN "1:<HTTP/1.1 200 OK^A: b^Content-Length: 2^^ok 1:left " },
	{ "chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "2\r\nok\r\n0\r\n\r\n", KEEP, OPEN "1:<HTTP/1.1 200 OK^Transfer-Encoding: chunked^^"
	    "2^ok^0^^ 1:left " },
	{ "a trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "2\r\nok\r\n0\r\nT: u\r\n\r\n", KEEP,
	    OPEN "1:<HTTP/1.1 200 OK^Transfer-Encoding: chunked^^2^ok^0^T: u^^ 1:left " },
	{ "chunks, and the end of the connection", "HTTP/1.1 200 OK\r\n"
	    "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", FIN,
	    OPEN "1:<HTTP/1.1 200 OK^Connection: close^Transfer-Encoding: chunked^^2^ok^0^^"
	    " 1:closed " },
	{ "until it closes", "HTTP/1.1 200 OK\r\n\r\nok", FIN,
	    OPEN "1:<HTTP/1.1 200 OK^^ok 1:closed " },
	{ "an interim response", "HTTP/1.1 103 Hints\r\nL: x\r\n\r\nHTTP/1.1 202 OK\r\n"
	    "Content-Length: 0\r\n\r\n", KEEP,
	    OPEN "1:<HTTP/1.1 103 Hints^L: x^^HTTP/1.1 202 OK^Content-Length: 0^^ 1:left " },
	{ "no body, whatever is said", "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n",
	    KEEP, OPEN "1:<HTTP/1.1 204 No^Transfer-Encoding: chunked^^ 1:left " },
	{ "torn between chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "2\r\nok\r\n", FIN, OPEN "1:<HTTP/1.1 200 OK^Transfer-Encoding: chunked^^2^ok^"
	    " 1:closed " },
	{ "reset between chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "2\r\nok\r\n", RESET, OPEN "1:<HTTP/1.1 200 OK^Transfer-Encoding: chunked^^2^ok^"
	    " 1:closed (reset) " },
	{ "torn in the head", "HTTP/1.1 200 OK\r\nA: b\r\n", FIN,
	    OPEN "1:<HTTP/1.1 200 OK^A: b^ 1:closed " },
	{ "nothing", "", FIN, OPEN " 1:closed " },
};

static void
responses(void **state)
{
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		assert_int_equal(setup(state), 0);
		answer = rows[i].answer;
		afterwards = rows[i].then;
		ask("GET", STR_NONE);
		loop_run(loop);
		close_client();
		check(rows[i].what, rows[i].want);
		assert_int_equal(teardown(state), 0);
	}
}

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define TOLD_OK "1:<HTTP/1.1 200 OK^Content-Length: 2^^ok"

/* One connection for two requests, another for one beside it. */
static void
connections(void **state)
{
	(void)state;
	answer = OK;
	ask("POST", STR("{}"));
	loop_run(loop);
	ask("GET", STR_NONE);
	loop_run(loop);
	check("used again", "1:open 1:>POST /mcp HTTP/1.1^Accept: a/b^Content-Length: 2^^{}"
	    TOLD_OK "1:>GET /mcp HTTP/1.1^Accept: a/b^^" TOLD_OK);
	assert_int_equal(srv.n_conns, 1);
	ask("GET", STR_NONE);
	ask("GET", STR_NONE);
	loop_run(loop);
	assert_int_equal(srv.n_conns, 2);
	assert_true(str_find(buf_str(&told), STR("2:open ")) < told.n);
	assert_true(str_find(buf_str(&told), STR("3:open ")) > told.n);
	assert_true(str_find(buf_str(&told), STR("left")) > told.n);
	close_client();
	assert_true(str_find(buf_str(&told), STR(" 1:left ")) < told.n);
	assert_true(str_find(buf_str(&told), STR(" 2:left ")) < told.n);
}

/* The server has closed an idle connection: the request goes on a new one. */
static void
dead_before_use(void **state)
{
	(void)state;
	answer = OK;
	afterwards = FIN;
	ask("GET", STR_NONE);
	loop_run(loop);
	ask("GET", STR_NONE);
	loop_run(loop);
	check("again", OPEN TOLD_OK " 1:closed 2:open 2:>GET /mcp HTTP/1.1^Accept: a/b^^"
	    "2:<HTTP/1.1 200 OK^Content-Length: 2^^ok");
}

static void
left_by_the_client(void **state)
{
	(void)state;
	answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n";
	cancel_at_body = true;
	ask("GET", STR_NONE);
	loop_run(loop);
	client_free(client);
	client = NULL;
	check("left", OPEN "1:<HTTP/1.1 200 OK^Transfer-Encoding: chunked^^2^ok^ 1:left ");
}

/* What one write does not take is told once, too. */
static void
a_long_body(void **state)
{
	static char body[3 << 20];
	size_t n = 0;

	(void)state;
	memset(body, 'x', sizeof body);
	answer = OK;
	ask("POST", str_of(body, sizeof body));
	loop_run(loop);
	for (size_t i = 0; i < told.n; i++)
		n += told.p[i] == 'x';
	assert_int_equal(n, sizeof body);
}

/* As an exchange of HTTP/2 is told: the lines are curl's. */
static void
http2(void **state)
{
	static const struct {
		const char *sent, *lines, *want;
		enum witness_end end;
	} h2[] = {
		{ "GET /mcp HTTP/2\r\nHost: a\r\n\r\n", "HTTP/2 200 \r\na: b\r\n\r\n",
		    "1:open 1:>GET /mcp HTTP/1.1^Host: a^^1:<HTTP/1.1 200 ^a: b^"
		    "Transfer-Encoding: chunked^^2^ok^0^^ 1:left ", WITNESS_COMPLETE },
		{ "GET /mcp HTTP/2\r\nHost: a\r\n\r\n", "HTTP/2 200 \r\na: b\r\n\r\n",
		    "1:open 1:>GET /mcp HTTP/1.1^Host: a^^1:<HTTP/1.1 200 ^a: b^"
		    "Transfer-Encoding: chunked^^2^ok^ 1:closed ", WITNESS_CUT },
		{ "GET / HTTP/2\r\n\r\n", "HTTP/2 200\r\ncontent-length: 2\r\n\r\n",
		    "1:open 1:>GET / HTTP/1.1^^1:<HTTP/1.1 200 ^content-length: 2^^ok 1:left ",
		    WITNESS_LEFT },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(h2); i++) {
		struct witness_x *x, *y;
		struct str rest = str_c(h2[i].lines);

		close_client();
		open_client();
		buf_clear(&told);
		x = witness_begin(witness, "127.0.0.1", 40000, "127.0.0.1", srv.port);
		witness_sent(x, h2[i].sent, strlen(h2[i].sent));
		while (rest.n > 0) {
			size_t n = str_find(rest, STR("\n")) + 1;

			witness_line(x, str_of(rest.p, n));
			rest = str_of(rest.p + n, rest.n - n);
		}
		witness_body(x, "ok", 2);
		witness_end(x, h2[i].end);
		check("http2", h2[i].want);
		/* two at once on one connection are two */
		buf_clear(&told);
		x = witness_begin(witness, "127.0.0.1", 40000, "127.0.0.1", srv.port);
		y = witness_begin(witness, "127.0.0.1", 40000, "127.0.0.1", srv.port);
		witness_sent(x, "A / HTTP/2\r\n", 12);
		witness_sent(y, "B / HTTP/2\r\n", 12);
		witness_end(x, WITNESS_LEFT);
		witness_end(y, WITNESS_LEFT);
		check("two", "2:open 2:>A / HTTP/1.1^3:open 3:>B / HTTP/1.1^ 2:left  3:left ");
	}
}

static void
unix_socket(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	static char path[40];
	int fd, one;

	(void)state;
	close_client();
	(void)snprintf(path, sizeof path, "/tmp/test_witness.XXXXXX");
	one = mkstemp(path);
	assert_true(one >= 0);
	(void)close(one);
	(void)unlink(path);
	memcpy(a.sun_path, path, sizeof path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 8), 0);
	mini_shut(&srv);
	srv.fd = fd;
	srv.watch = loop_fd_new(loop, fd, LOOP_READ, mini_accept, &srv);
	opts.unix_socket = path;
	open_client();
	answer = OK;
	ask("GET", STR_NONE);
	loop_run(loop);
	(void)unlink(path);
	check("unix", OPEN TOLD_OK " 1:left ");
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responses),
		TEST(connections),
		TEST(dead_before_use),
		TEST(left_by_the_client),
		TEST(a_long_body),
		TEST(http2),
		TEST(unix_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
