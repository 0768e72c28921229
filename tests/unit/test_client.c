#include "mcpdiag/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "mini_server.h"

#define MANY 1200

static struct loop *loop;
static struct mini srv;
static struct client *client;
static char url[64];

/* What a request was told, as text: "200 text/plain [body] complete". */
struct told {
	struct buf text;
	struct creq *req;
	struct str want_header;	/* of the response */
	bool ended;
	bool cancel_at_head, cancel_at_body;
	void (*at_head)(struct told *);
	void (*at_end)(struct told *);
};

/* Requests that have yet to end before the loop stops. */
static unsigned waited_for;

static void
on_head(void *arg, const struct client_head *h)
{
	struct told *t = arg;
	struct str v;

	(void)buf_fmt(&t->text, "%u %.*s [", h->status, STR_ARG(h->content_type));
	if (t->want_header.n) {
		v = client_header(h, t->want_header);
		(void)buf_fmt(&t->text, "<%.*s>", STR_ARG(v));
	}
	if (t->cancel_at_head)
		client_cancel(t->req);
	if (t->at_head)
		t->at_head(t);
}

static void
on_body(void *arg, const void *p, size_t n)
{
	struct told *t = arg;

	(void)buf_add(&t->text, p, n);
	if (t->cancel_at_body)
		client_cancel(t->req);
}

static void
on_end(void *arg, enum client_end end, const char *why)
{
	struct told *t = arg;

	assert_false(t->ended);
	assert_int_equal(end == CLIENT_COMPLETE, why[0] == '\0');
	t->ended = true;
	t->req = NULL;
	(void)buf_fmt(&t->text, "] %s", client_end_name(end));
	if (t->at_end)
		t->at_end(t);
	if (--waited_for == 0)
		loop_stop(loop);
}

static const struct client_cb cb = { on_head, on_body, on_end };

/* The server's answer is the test's; what was asked is kept. */
static const char *answer;
static size_t answer_n;
static enum { KEEP, FIN, RESET } afterwards;
static struct buf asked;

static void
on_request(void *arg, struct mini_conn *c, struct str request)
{
	(void)arg;
	(void)buf_fmt(&asked, "%u: ", c->n);
	(void)buf_adds(&asked, request);
	mini_send(c, answer, answer_n);
	if (c->fd < 0)
		return;
	if (afterwards == FIN)
		mini_end(c);
	else if (afterwards == RESET)
		mini_reset(c);
}

static void
answer_is(const char *text)
{
	answer = text;
	answer_n = strlen(text);
}

static int
setup(void **state)
{
	struct client_opts o;

	(void)state;
	client_opts_init(&o);
	o.header = 2000;
	loop = loop_new(NULL);
	assert_non_null(loop);
	mini_init(&srv, loop);
	srv.request = on_request;
	client = client_new(loop, &o, NULL);
	assert_non_null(client);
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", srv.port);
	buf_init(&asked, 1 << 20);
	afterwards = KEEP;
	answer_is("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	waited_for = 0;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	client_free(client);
	mini_fini(&srv);
	loop_free(loop);
	buf_fini(&asked);
	return 0;
}

static void
start(struct told *t, const struct client_request *q)
{
	struct errmsg em = { "" };

	buf_init(&t->text, 1 << 20);
	waited_for++;
	t->req = client_start(client, q, &cb, t, &em);
	if (t->req == NULL)
		fail_msg("%s", em.text);
}

static void
get(struct told *t)
{
	struct client_request q = { .method = "GET", .url = url };

	start(t, &q);
}

static void
expect(struct told *t, const char *want)
{
	(void)buf_addc(&t->text, '\0');
	assert_string_equal(t->text.p, want);
	buf_fini(&t->text);
}

#define HEAD "HTTP/1.1 200 OK\r\n"
#define PLAIN HEAD "Content-Type: text/plain\r\n"

static const struct row {
	const char *what, *answer;
	int then;
	const char *want;
} rows[] = {
	{ "a length", PLAIN "Content-Length: 2\r\n\r\nok", KEEP, "200 text/plain [ok] complete" },
	{ "chunks", PLAIN "Transfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
	    KEEP, "200 text/plain [ok] complete" },
	{ "a trailer", PLAIN "Transfer-Encoding: chunked\r\n\r\n1\r\no\r\n0\r\nA: b\r\n\r\n",
	    KEEP, "200 text/plain [o] complete" },
	{ "until it closes", PLAIN "\r\nok", FIN, "200 text/plain [ok] complete" },
	{ "HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nok", FIN, "200  [ok] complete" },
	{ "no body", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", KEEP,
	    "202  [] complete" },
	{ "an error is a response", "HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx", KEEP,
	    "404  [x] complete" },
	{ "no redirect is followed", "HTTP/1.1 302 Found\r\nLocation: /x\r\n"
	    "Content-Length: 0\r\n\r\n", KEEP, "302  [] complete" },
	{ "interim ones are not told", "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
	    "HTTP/1.1 100 Continue\r\n\r\n" PLAIN "Content-Length: 2\r\n\r\nok", KEEP,
	    "200 text/plain [ok] complete" },
	{ "bare line feeds", "HTTP/1.1 200 OK\nContent-Type: a/b\nContent-Length: 1\n\nx", KEEP,
	    "200 a/b [x] complete" },
	{ "closed before the length", PLAIN "Content-Length: 3\r\n\r\nok", FIN,
	    "200 text/plain [ok] closed" },
	{ "closed between chunks", PLAIN "Transfer-Encoding: chunked\r\n\r\n1\r\no\r\n", FIN,
	    "200 text/plain [o] closed" },
	{ "reset between chunks", PLAIN "Transfer-Encoding: chunked\r\n\r\n1\r\no\r\n", RESET,
	    "200 text/plain [o] closed" },
	{ "closed at once", "", FIN, "] closed" },
	{ "reset at once", "", RESET, "] closed" },
	{ "a torn head", "HTTP/1.1 200 OK\r\nContent-Ty", FIN, "] closed" },
	{ "only an interim head", "HTTP/1.1 100 Continue\r\n\r\n", FIN, "] closed" },
	{ "chunks that are none", PLAIN "Transfer-Encoding: chunked\r\n\r\nzz\r\n", KEEP,
	    "200 text/plain [] bad" },
	{ "no HTTP", "220 smtp.example ready\r\n\r\n", FIN, "] bad" },
	{ "an odd content type", HEAD "Content-Type: \t a/b ; c=d \t\r\nContent-Length: 0\r\n\r\n",
	    KEEP, "200 a/b ; c=d [] complete" },
};

static void
responses(void **state)
{
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct told t = { .ended = false };

		assert_int_equal(setup(state), 0);
		answer_is(rows[i].answer);
		afterwards = rows[i].then;
		get(&t);
		loop_run(loop);
		assert_int_equal(client_running(client), 0);
		(void)buf_addc(&t.text, '\0');
		if (strcmp(t.text.p, rows[i].want) != 0)
			fail_msg("%s: %s, not %s", rows[i].what, t.text.p, rows[i].want);
		buf_fini(&t.text);
		assert_int_equal(teardown(state), 0);
	}
}

/* Whatever a server says before it closes, the request ends, once. */
static void
any_bytes(void **state)
{
	static char text[2000];
	uint32_t x = 1;

	(void)state;
	afterwards = FIN;
	for (unsigned i = 0; i < 2000; i++) {
		struct told t = { .ended = false };
		size_t n;

		(void)snprintf(text, sizeof text, "%s", rows[i % N_ROWS(rows)].answer);
		answer = text;
		answer_n = n = strlen(text);
		for (unsigned k = 0; k < 1 + i % 4 && n > 0; k++) {
			x = x * 1664525 + 1013904223;
			text[(x >> 8) % n] = "\r\n\0 :;0123fHTP\xff"[(x >> 24) % 15];
		}
		get(&t);
		loop_run(loop);
		assert_true(t.ended);
		buf_fini(&t.text);
		buf_clear(&asked);
	}
}

static void
says_what_it_is_told(void **state)
{
	struct str lines[] = { STR("Accept: a/b"), STR("X-Empty:"), STR("X-Blank:  "),
	    STR("Last-Event-ID: \xc3\xa9 7") };
	struct client_request q = { .method = "POST", .url = url, .headers = lines,
	    .n_headers = 4, .body = STR("{\"a\":\0 1}") };
	struct client_request plain = { .method = "DELETE", .url = url };
	struct told t = { .ended = false }, u = { .ended = false };
	static const char want[] = "1: POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
	    "Accept: a/b\r\nX-Empty:\r\nX-Blank:\r\nLast-Event-ID: \xc3\xa9 7\r\n"
	    "Content-Length: 9\r\n\r\n";
	static const char want2[] = "1: DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n";
	char text[400];
	struct str got, body = STR("{\"a\":\0 1}");

	(void)state;
	start(&t, &q);
	loop_run(loop);
	(void)snprintf(text, sizeof text, want, srv.port);
	got = buf_str(&asked);
	assert_true(str_pre(got, str_c(text)));
	assert_true(str_eq(str_of(got.p + strlen(text), got.n - strlen(text)), body));
	buf_clear(&asked);
	start(&u, &plain);
	loop_run(loop);
	(void)snprintf(text, sizeof text, want2, srv.port);
	assert_true(str_eq(buf_str(&asked), str_c(text)));
	expect(&t, "200  [ok] complete");
	expect(&u, "200  [ok] complete");
}

static void
what_is_not_sent(void **state)
{
	const struct str bad[] = { STR("A: b\r\nC: d"), STR("A: b\n"), STR("A: \0"),
	    STR("nothing"), STR(": x"), STR("") };
	struct client_request q = { .method = "GET", .url = url, .n_headers = 1 };
	struct errmsg em;

	(void)state;
	for (size_t i = 0; i < N_ROWS(bad); i++) {
		q.headers = &bad[i];
		em.text[0] = '\0';
		assert_null(client_start(client, &q, &cb, NULL, &em));
		assert_true(em.text[0] != '\0');
	}
	q.n_headers = 0;
	q.method = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
	assert_null(client_start(client, &q, &cb, NULL, &em));
	q.method = "";
	assert_null(client_start(client, &q, &cb, NULL, &em));
	assert_int_equal(client_running(client), 0);
}

static void
headers_are_found(void **state)
{
	const struct client_head h = { .lines = STR("A: 1\r\nMCP-Session-ID:x y \r\n"
	    " folded: no\r\na: 2\r\nempty:\r\n\r\n") };

	(void)state;
	assert_true(str_eq(client_header(&h, STR("a")), STR("1")));
	assert_true(str_eq(client_header(&h, STR("mcp-session-id")), STR("x y")));
	assert_null(client_header(&h, STR("folded")).p);
	assert_null(client_header(&h, STR("mcp")).p);
	assert_int_equal(client_header(&h, STR("empty")).n, 0);
	assert_non_null(client_header(&h, STR("empty")).p);
}

static void
header_is_bounded(void **state)
{
	static char big[4000];
	struct told t = { .ended = false };

	(void)state;
	/* one long line; many lines; interim heads without an end */
	(void)snprintf(big, sizeof big, HEAD "A: %0*d\r\n\r\n", 2000, 0);
	answer_is(big);
	get(&t);
	loop_run(loop);
	expect(&t, "] bad");
	(void)snprintf(big, sizeof big, HEAD);
	for (unsigned i = 0; i < 400; i++)
		memcpy(big + strlen(HEAD) + i * 6, "a: b\r\n", 7);
	answer_is(big);
	t = (struct told){ .ended = false };
	get(&t);
	loop_run(loop);
	expect(&t, "] bad");
	for (unsigned i = 0; i < 90; i++)
		memcpy(big + i * 25, "HTTP/1.1 100 Continue\r\n\r\n", 26);
	answer_is(big);
	t = (struct told){ .ended = false };
	get(&t);
	loop_run(loop);
	expect(&t, "] bad");
}

static void
nobody_listens(void **state)
{
	struct client_request file = { .method = "GET", .url = "file:///etc/hostname" };
	struct client_request odd = { .method = "GET", .url = "http://[::1" };
	struct told t[3] = { { .ended = false } };

	(void)state;
	mini_shut(&srv);
	get(&t[0]);
	start(&t[1], &file);
	start(&t[2], &odd);
	loop_run(loop);
	expect(&t[0], "] refused");
	expect(&t[1], "] bad");
	expect(&t[2], "] bad");
}

static void
silence_times_out(void **state)
{
	struct client_request q = { .method = "GET", .url = url, .timeout = 20 * NS_MS };
	struct told t = { .ended = false };

	(void)state;
	answer_is("");
	start(&t, &q);
	loop_run(loop);
	expect(&t, "] timeout");
}

static void
again(struct told *t)
{
	t->at_end = NULL;
	t->ended = false;
	waited_for++;
	t->req = client_start(client, &(struct client_request){ .method = "GET",
	    .url = url }, &cb, t, NULL);
}

static void
connections_are_used_again(void **state)
{
	struct client_request fresh = { .method = "GET", .url = url, .fresh = true };
	struct told t = { .at_end = again }, u = { .ended = false };
	struct client_opts o;
	struct client *other;

	(void)state;
	get(&t);
	loop_run(loop);
	expect(&t, "200  [ok] complete200  [ok] complete");
	assert_int_equal(srv.n_conns, 1);
	start(&u, &fresh);
	loop_run(loop);
	expect(&u, "200  [ok] complete");
	assert_int_equal(srv.n_conns, 2);
	/* another client shares nothing with this one */
	client_opts_init(&o);
	other = client_new(loop, &o, NULL);
	t = (struct told){ .ended = false };
	buf_init(&t.text, 100);
	waited_for++;
	assert_non_null(client_start(other, &(struct client_request){ .method = "GET",
	    .url = url }, &cb, &t, NULL));
	loop_run(loop);
	expect(&t, "200  [ok] complete");
	assert_int_equal(srv.n_conns, 3);
	client_free(other);
}

static unsigned gone;

static void
on_gone(void *arg, struct mini_conn *c)
{
	(void)arg;
	(void)c;
	gone++;
	loop_stop(loop);
}

/* A stream that is left closes its connection, from wherever it is left. */
static void
cancelling(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		struct told t = { .cancel_at_head = how == 1, .cancel_at_body = how == 2 };

		srv.gone = on_gone;
		gone = 0;
		answer_is(PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
		    "4\r\nmore\r\n");
		get(&t);
		if (how == 0) {
			client_cancel(t.req);	/* before it began */
			assert_int_equal(client_running(client), 0);
			buf_fini(&t.text);
			continue;
		}
		loop_run(loop);
		assert_int_equal(gone, 1);
		assert_false(t.ended);
		assert_int_equal(client_running(client), 0);
		expect(&t, how == 1 ? "200 text/plain [" : "200 text/plain [ok");
	}
}

static void
stop(struct told *t)
{
	(void)t;
	loop_stop(loop);
}

static struct told victim, third;

/* Cancels another request and starts a new one. */
static void
meddle(struct told *t)
{
	(void)t;
	client_cancel(victim.req);
	waited_for--;
	answer_is("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew");
	get(&third);
}

static void
from_any_callback(void **state)
{
	(void)state;
	for (int how = 0; how < 2; how++) {
		struct told t = { .ended = false };

		victim = third = (struct told){ .at_head = stop };
		third.at_head = NULL;
		srv.gone = on_gone;
		gone = 0;
		answer_is(PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
		get(&victim);
		loop_run(loop);
		answer_is("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		if (how == 0)
			t.at_head = meddle;
		else
			t.at_end = meddle;
		get(&t);
		while (waited_for > 0 || gone == 0)
			loop_run(loop);
		assert_int_equal(gone, 1);
		assert_false(victim.ended);
		assert_int_equal(client_running(client), 0);
		buf_fini(&victim.text);
		expect(&t, "200  [ok] complete");
		expect(&third, "200  [new] complete");
	}
}

static unsigned heads;

static void
count_heads(struct told *t)
{
	(void)t;
	if (++heads == MANY)
		loop_stop(loop);
}

static void
many_streams(void **state)
{
	static struct told t[MANY];
	struct rlimit was, more;
	unsigned complete = 0, closed = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	more = was;
	more.rlim_cur = was.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &more);
	if (more.rlim_cur < 2 * MANY + 100)
		skip();
	answer_is(PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
	memset(t, 0, sizeof t);
	heads = 0;
	for (unsigned i = 0; i < MANY; i++) {
		t[i].at_head = count_heads;
		get(&t[i]);
	}
	assert_int_equal(client_running(client), MANY);
	loop_run(loop);
	assert_int_equal(srv.n_open, MANY);
	for (struct mini_conn *c = srv.conns; c != NULL; c = c->next) {
		if (c->n & 1)
			mini_say(c, "0\r\n\r\n");
		else
			mini_close(c);
	}
	loop_run(loop);
	for (unsigned i = 0; i < MANY; i++) {
		(void)buf_addc(&t[i].text, '\0');
		complete += strcmp(t[i].text.p, "200 text/plain [ok] complete") == 0;
		closed += strcmp(t[i].text.p, "200 text/plain [ok] closed") == 0;
		buf_fini(&t[i].text);
	}
	assert_int_equal(complete, MANY / 2);
	assert_int_equal(closed, MANY / 2);
	(void)setrlimit(RLIMIT_NOFILE, &was);
}

static struct loop_timer *soon;
static struct told slow, other;

/* Another one is asked beside it. */
static void
hold_it(void *arg)
{
	(void)arg;
	client_hold(slow.req, true);
	answer_is(PLAIN "Content-Length: 2\r\n\r\nok");
	get(&other);
}

static void
soon_hold_it(struct told *t)
{
	(void)t;
	loop_timer_set(soon, 0);
}

/* What is not read waits at the server's: the kernels take little of it. */
static void
a_slow_reader(void **state)
{
	enum { LENGTH = 400000 };
	struct client_request q = { .method = "GET", .url = url, .narrow = true };
	char *text = xcalloc(1, LENGTH + 100);
	int n = snprintf(text, 100, PLAIN "Content-Length: %d\r\n\r\n", LENGTH);

	(void)state;
	slow = (struct told){ .at_head = soon_hold_it };
	other = (struct told){ .ended = false };
	soon = loop_timer_new(loop, hold_it, NULL);
	memset(text + n, 'x', LENGTH);
	answer = text;
	answer_n = (size_t)n + LENGTH;
	start(&slow, &q);
	waited_for = 0;		/* it ends later */
	loop_run(loop);
	expect(&other, "200 text/plain [ok] complete");
	assert_true(slow.text.n < 100000);
	assert_true(srv.conns->next->n == 1 && srv.conns->next->out.n > 0);
	client_hold(slow.req, false);
	waited_for = 1;
	loop_run(loop);
	assert_int_equal(slow.text.n, strlen("200 text/plain [] complete") + LENGTH);
	buf_fini(&slow.text);
	loop_timer_free(soon);
	free(text);
}

int
main(void)
{
#define LOOP_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responses),
		LOOP_TEST(any_bytes),
		LOOP_TEST(says_what_it_is_told),
		LOOP_TEST(what_is_not_sent),
		cmocka_unit_test(headers_are_found),
		LOOP_TEST(header_is_bounded),
		LOOP_TEST(nobody_listens),
		LOOP_TEST(silence_times_out),
		LOOP_TEST(connections_are_used_again),
		LOOP_TEST(cancelling),
		LOOP_TEST(from_any_callback),
		LOOP_TEST(many_streams),
		LOOP_TEST(a_slow_reader),
	};

	/* Proxies of the environment are not ours: nobody is there. */
	(void)setenv("http_proxy", "http://127.0.0.1:1", 1);
	(void)setenv("all_proxy", "http://127.0.0.1:1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
