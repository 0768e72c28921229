/* How connections of httpd end, and what waits on them. */
#include "httpd_fix.h"

#include <sys/resource.h>
#include <time.h>

#define H "Host: h\r\n"
#define GET(t) "GET " t " HTTP/1.1\r\n" H "\r\n"
#define STREAM "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" \
	"Content-Type: text/event-stream\r\n\r\n3\r\none\r\n"
#define SEND(c, text) client_send((c), text, sizeof(text) - 1)

static bool
has_request(struct fix *f)
{
	return f->n_req == f->want;
}

static bool
any_gone(struct fix *f)
{
	return f->gone[HTTP_GONE_FIN] + f->gone[HTTP_GONE_RST] +
	    f->gone[HTTP_GONE_SLOW] + f->gone[HTTP_GONE_SHUTDOWN] == f->want;
}

static bool
one_closed(struct fix *f)
{
	return f->closed == f->want;
}

static bool
got_it(struct fix *f)
{
	return client_text(&f->c[0]).n >= f->want || f->c[0].eof;
}

static bool
got_eof(struct fix *f)
{
	return f->c[0].eof;
}

static bool
rang(struct fix *f)
{
	return f->rang;
}

/* Lets the loop run for a while, for what must not happen. */
static void
pass(struct fix *f, ns_t while_ns)
{
	f->rang = false;
	loop_timer_set(f->alarm, while_ns);
	fix_run(f, rang);
}

enum leave { FIN, HALF, RST, FIN_UNREAD, RST_UNREAD };

/* Opens, leaves; returns how long it took until gone() was called. */
static ns_t
leave(struct fix *f, const char *get, enum leave how)
{
	struct client *c = fix_connect(f, 0, 0);
	ns_t begun;

	client_send(c, get, strlen(get));
	f->want = 1;
	fix_run(f, has_request);
	f->want = 0;
	for (int i = 0; i < 4; i++)
		f->want += f->gone[i];
	f->want++;
	if (how == FIN_UNREAD || how == RST_UNREAD)
		assert_int_equal(send(c->fd, GET("/a"), 10, MSG_NOSIGNAL), 10);
	begun = loop_mono(f->loop);
	if (how == HALF)
		assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
	else if (how == FIN || how == FIN_UNREAD)
		client_close(c, false);
	else
		client_close(c, true);
	fix_run(f, any_gone);
	return f->gone_at - begun;
}

/* However a client leaves a stream or a slow answer, it is seen at once. */
static void
test_leave(void **state)
{
	static const char *const get[] = { GET("/stream"), GET("/later") };
	struct fix f;

	(void)state;
	fix_init(&f, NULL);
	for (int i = 0; i < 2; i++) {
		for (int how = FIN; how <= RST_UNREAD; how++) {
			ns_t took = leave(&f, get[i], (enum leave)how);

			/* The issue is "never, or at the next write". */
			assert_true(took < 500 * NS_MS);
			f.want = f.opened;
			fix_run(&f, one_closed);
		}
	}
	/* A client with a chunk that it has not read resets when it closes. */
	assert_int_equal(f.gone[HTTP_GONE_FIN] + f.gone[HTTP_GONE_RST], 10);
	assert_true(f.gone[HTTP_GONE_FIN] >= 4);
	assert_true(f.gone[HTTP_GONE_RST] >= 4);
	assert_int_equal(f.closed_by_client, 10);
	assert_int_equal(httpd_conns(f.d), 0);
	fix_fini(&f);
}

/* Sends until nothing more is taken; returns how much was. */
static size_t
stuff(struct client *c, const char *what, size_t n, size_t max)
{
	size_t sent = 0;
	int flags = fcntl(c->fd, F_GETFL);

	assert_int_equal(fcntl(c->fd, F_SETFL, flags | O_NONBLOCK), 0);
	while (sent < max) {
		size_t at = sent % n;
		ssize_t k = send(c->fd, what + at, n - at, MSG_NOSIGNAL);

		if (k < 0) {
			assert_int_equal(errno, EAGAIN);
			break;
		}
		sent += (size_t)k;
	}
	return sent;
}

/* Behind a slow answer 64 KiB are read, no more; nothing is lost; and while
 * nothing is read it is seen that the client goes. */
static void
test_behind_slow(void **state)
{
	static const char next[] = GET("/a");
	enum { N = 8000 };	/* requests: 220 KB, into the socket buffers */
	struct client *c;
	struct buf b;
	struct fix f;
	size_t k;

	(void)state;
	buf_init(&b, SIZE_MAX / 4);
	for (int i = 0; i < N; i++)
		(void)buf_adds(&b, str_c(next));
	fix_init(&f, NULL);
	for (int how = 0; how < 4; how++) {
		c = fix_connect(&f, 0, 0);
		f.in = f.requests = 0;
		SEND(c, GET("/later"));
		f.want = 1;
		fix_run(&f, has_request);
		f.in = 0;
		/* A FIN behind more than the window takes is still with the
		 * client's kernel: nobody can see it. */
		k = how == 0 ? b.n : 80000;
		assert_int_equal(stuff(c, b.p, k, k), k);
		f.want = 65536;
		fix_run(&f, fix_read_it);
		pass(&f, 5 * NS_MS);
		assert_int_equal(f.in, 65536);
		assert_int_equal(f.requests, 1);
		if (how == 0) {
			f.in_call = true;
			hreq_reply(f.req[--f.n_req], 204, STR(""), STR(""));
			f.in_call = false;
			f.want = sizeof "HTTP/1.1 204 No Content\r\n\r\n" - 1 +
			    N * (sizeof "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n/a" - 1);
			fix_run(&f, got_it);
			assert_int_equal(client_text(c).n, f.want);
			assert_int_equal(f.requests, N + 1);
			client_close(c, false);
		} else if (how == 1) {
			client_close(c, false);
		} else if (how == 2) {
			client_close(c, true);
		} else {
			assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
		}
		f.want = f.opened;
		fix_run(&f, one_closed);
	}
	assert_int_equal(f.gone[HTTP_GONE_FIN], 2);
	assert_int_equal(f.gone[HTTP_GONE_RST], 1);
	buf_fini(&b);
	fix_fini(&f);
}

/* Behind a stream requests wait, too; who sends more than fits is cut off. */
static void
test_behind_stream(void **state)
{
	static const char want[] = STREAM "0\r\n\r\n"
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n/a"
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n/b";
	char junk[1000];
	struct client *c;
	struct fix f;

	(void)state;
	memset(junk, 'x', sizeof junk);
	fix_init(&f, NULL);
	c = fix_connect(&f, 0, 0);
	SEND(c, GET("/stream") GET("/a") GET("/b"));
	assert_int_equal(f.requests, 1);
	f.want = sizeof STREAM - 1;
	fix_run(&f, got_it);
	f.in_call = true;	/* the next request is not handed out in here */
	hreq_end(f.req[--f.n_req]);
	f.in_call = false;
	f.want = sizeof want - 1;
	fix_run(&f, got_it);
	assert_true(str_eq(client_text(c), str_of(want, sizeof want - 1)));

	SEND(c, GET("/stream"));
	(void)stuff(c, junk, sizeof junk, 65536);
	f.want = f.in + 65536;
	pass(&f, 5 * NS_MS);
	assert_int_equal(f.n_req, 1);
	assert_int_equal(send(c->fd, "x", 1, MSG_NOSIGNAL), 1);
	f.want = 1;
	fix_run(&f, any_gone);
	assert_int_equal(f.gone[HTTP_GONE_RST], 1);

	/* A slow answer that becomes a stream after that. */
	c = fix_connect(&f, 0, 0);
	SEND(c, GET("/later"));
	(void)stuff(c, junk, sizeof junk, 70000);
	f.want = f.in + 65536;
	pass(&f, 5 * NS_MS);
	assert_int_equal(f.n_req, 1);
	hreq_begin(f.req[0], 200, STR(""));
	f.want = 2;
	fix_run(&f, any_gone);
	fix_fini(&f);
}

/* A client that does not read is dropped, and told from the loop. */
static void
test_slow_reader(void **state)
{
	static char chunk[16384];
	struct httpd_opts o;
	struct client *c;
	struct fix f;
	size_t wrote = 0;
	int e = 0;

	(void)state;
	httpd_opts_init(&o);
	o.backlog = 256 << 10;
	fix_init(&f, &o);
	c = fix_connect(&f, 0, 8192);
	loop_fd_want(c->ready, 0);
	SEND(c, GET("/stream"));
	assert_int_equal(f.n_req, 1);
	f.in_call = true;
	while (e == 0 && wrote < 64 << 20) {
		assert_true(hreq_backlog(f.req[0]) <= wrote + 100 + wrote / 100);
		e = hreq_write(f.req[0], str_of(chunk, sizeof chunk));
		wrote += sizeof chunk;
	}
	assert_int_equal(e, -E_LIMIT);
	assert_int_equal(f.gone[HTTP_GONE_SLOW], 0);
	assert_int_equal(hreq_write(f.req[0], STR("x")), -E_IO);
	f.in_call = false;
	/* The kernel hides little. */
	assert_true(wrote > o.backlog);
	assert_true(wrote < o.backlog + (512 << 10));
	f.want = 1;
	fix_run(&f, any_gone);
	assert_int_equal(f.gone[HTTP_GONE_SLOW], 1);
	loop_fd_want(c->ready, LOOP_READ);
	fix_run(&f, got_eof);
	assert_true(c->reset);
	assert_int_equal(f.closed_by_client, 0);
	/* The callee may end it itself before it is told. */
	c = fix_connect(&f, 0, 8192);
	loop_fd_want(c->ready, 0);
	SEND(c, GET("/stream"));
	while (hreq_write(f.req[0], str_of(chunk, sizeof chunk)) == 0)
		continue;
	hreq_end(f.req[--f.n_req]);
	f.want = 2;
	fix_run(&f, one_closed);
	assert_int_equal(f.gone[HTTP_GONE_SLOW], 1);
	fix_fini(&f);
}

/* What the socket does not take comes later, in order and whole; a reply may
 * be longer than the backlog. */
static void
test_queue(void **state)
{
	enum { CHUNK = 50000, N = 60 };
	static char chunk[CHUNK];
	static char big[8 << 20];
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n";
	struct client *c;
	struct fix f;
	const char *p;

	(void)state;
	fix_init(&f, NULL);
	c = fix_connect(&f, 0, 8192);
	loop_fd_want(c->ready, 0);
	SEND(c, GET("/stream"));
	for (int i = 0; i < N; i++) {
		memset(chunk, 'a' + i % 26, sizeof chunk);
		assert_int_equal(hreq_write(f.req[0], str_of(chunk, CHUNK)), 0);
	}
	assert_true(hreq_backlog(f.req[0]) > (size_t)CHUNK * N / 2);
	assert_true(hreq_backlog(f.req[0]) <= (size_t)CHUNK * N + 1000);
	hreq_end(f.req[--f.n_req]);
	loop_fd_want(c->ready, LOOP_READ);
	f.want = sizeof STREAM - 1 + N * (CHUNK + 8) + 5;
	fix_run(&f, got_it);
	assert_int_equal(client_text(c).n, f.want);
	assert_int_equal(f.out, f.want + 37);
	p = c->got.p + sizeof STREAM - 1;
	for (int i = 0; i < N; i++, p += CHUNK + 8) {
		assert_memory_equal(p, "c350\r\n", 6);
		for (int k = 0; k < CHUNK; k += 499)
			assert_int_equal(p[6 + k], 'a' + i % 26);
		assert_memory_equal(p + 6 + CHUNK, "\r\n", 2);
	}
	assert_memory_equal(p, "0\r\n\r\n", 5);

	/* Without another call. */
	c->got.n = 0;
	loop_fd_want(c->ready, 0);
	SEND(c, GET("/stream"));
	assert_int_equal(hreq_write(f.req[0], str_of(big, 3 << 20)), 0);
	assert_true(hreq_backlog(f.req[0]) > 2 << 20);
	loop_fd_want(c->ready, LOOP_READ);
	f.want = sizeof STREAM - 1 + 8 + (3 << 20) + 2;
	fix_run(&f, got_it);
	assert_int_equal(client_text(c).n, f.want);
	f.want += 5;
	hreq_end(f.req[--f.n_req]);
	fix_run(&f, got_it);

	c->got.n = 0;
	loop_fd_want(c->ready, 0);
	SEND(c, GET("/later") GET("/a"));
	memset(big, 'b', sizeof big);
	hreq_reply(f.req[--f.n_req], 200, STR(""), str_of(big, sizeof big));
	pass(&f, 5 * NS_MS);
	/* Not while the client does not read. */
	assert_int_equal(f.requests, 3);
	loop_fd_want(c->ready, LOOP_READ);
	f.want = sizeof head - 1 + sizeof big;
	fix_run(&f, got_it);
	assert_memory_equal(client_text(c).p, head, sizeof head - 1);
	for (size_t i = 0; i < sizeof big; i += 997)
		assert_int_equal(c->got.p[sizeof head - 1 + i], 'b');
	f.want += sizeof "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n/a" - 1;
	fix_run(&f, got_it);
	assert_int_equal(f.requests, 4);
	fix_fini(&f);
}

/* Half-closed after the answer was written: it still gets all of it. */
static void
test_half_close_reads(void **state)
{
	static char big[4 << 20];
	struct client *c;
	struct fix f;

	(void)state;
	fix_init(&f, NULL);
	c = fix_connect(&f, 0, 8192);
	loop_fd_want(c->ready, 0);
	SEND(c, GET("/later"));
	hreq_reply(f.req[--f.n_req], 200, STR(""), str_of(big, sizeof big));
	assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
	pass(&f, 5 * NS_MS);
	assert_int_equal(f.closed, 0);
	loop_fd_want(c->ready, LOOP_READ);
	fix_run(&f, got_eof);
	assert_false(c->reset);
	assert_true(c->got.n > sizeof big);
	fix_fini(&f);
}

static void
test_timeouts(void **state)
{
	struct httpd_opts o;
	struct client *c;
	struct fix f;

	(void)state;
	httpd_opts_init(&o);
	o.request_timeout = 30 * NS_MS;
	o.idle_timeout = 10 * NS_MS;
	fix_init(&f, &o);
	/* Never a byte; between requests; an empty line. */
	for (int i = 0; i < 3; i++) {
		c = fix_connect(&f, 0, 0);
		if (i == 1)
			SEND(c, GET("/a"));
		else if (i == 2)
			SEND(c, "\r\n");
		fix_run(&f, got_eof);
		assert_false(c->reset);
		assert_int_equal(c->got.n > 0, i == 1);
	}
	/* Not while an answer is awaited or a stream is open. */
	c = fix_connect(&f, 0, 0);
	SEND(c, GET("/stream"));
	(void)fix_connect(&f, 1, 0);
	SEND(&f.c[1], GET("/later"));
	pass(&f, 60 * NS_MS);
	assert_false(c->eof);
	assert_int_equal(f.n_req, 2);
	/* A request that drips in has its time from its first byte. */
	c = fix_connect(&f, 0, 0);
	f.want = 1;
	fix_run(&f, any_gone);
	SEND(c, "GET / HTTP/1.1\r\n");
	while (!c->eof && f.in < 2000) {
		if (send(c->fd, "x: y\r\n", 6, MSG_NOSIGNAL) < 0)
			break;
		pass(&f, 8 * NS_MS);
	}
	fix_run(&f, got_eof);
	assert_true(str_pre(client_text(c), STR("HTTP/1.1 408 Request Timeout\r\n")));
	assert_true(f.in < 2000);
	/* An answer that is not read. */
	c = fix_connect(&f, 0, 8192);
	loop_fd_want(c->ready, 0);
	SEND(c, GET("/later"));
	{
		static char big[4 << 20];
		unsigned closed = f.closed;

		hreq_reply(f.req[--f.n_req], 200, STR(""), str_of(big, sizeof big));
		f.want = closed + 1;
		fix_run(&f, one_closed);
		assert_int_equal(f.gone[HTTP_GONE_SLOW], 0);
	}
	fix_fini(&f);
	assert_int_equal(f.gone[HTTP_GONE_SHUTDOWN], 1);
}

/* Each request has its own time, whatever the one before has used. */
static void
test_own_time(void **state)
{
	struct httpd_opts o;
	struct client *c;
	struct fix f;

	(void)state;
	httpd_opts_init(&o);
	o.request_timeout = 300 * NS_MS;
	fix_init(&f, &o);
	c = fix_connect(&f, 0, 0);
	SEND(c, "GET /a HTTP/1.1\r\n");
	pass(&f, 200 * NS_MS);
	SEND(c, H "\r\nGET /b HTTP/1.1\r\n");
	pass(&f, 200 * NS_MS);
	SEND(c, H "\r\n");
	f.want = 2 * (sizeof "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n/a" - 1);
	fix_run(&f, got_it);
	assert_false(c->eof);
	assert_int_equal(f.requests, 2);
	/* The idle timeout, a minute, is no reason to be late with this one. */
	SEND(c, "GET /c HTTP/1.1\r\n");
	fix_run(&f, got_eof);
	assert_true(str_find(client_text(c), STR("HTTP/1.1 408 ")) != SIZE_MAX);
	fix_fini(&f);
}

/* A client that reads slowly, but reads, has its time. */
static void
test_steady_reader(void **state)
{
	static char big[6 << 20], got[256 << 10];
	struct httpd_opts o;
	struct client *c;
	struct fix f;

	(void)state;
	httpd_opts_init(&o);
	o.request_timeout = 200 * NS_MS;
	fix_init(&f, &o);
	c = fix_connect(&f, 0, 64 << 10);
	loop_fd_want(c->ready, 0);
	SEND(c, GET("/later"));
	hreq_reply(f.req[--f.n_req], 200, STR(""), str_of(big, sizeof big));
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 4; k++) {
			(void)recv(c->fd, got, sizeof got, MSG_DONTWAIT);
			pass(&f, 10 * NS_MS);
		}
		assert_int_equal(f.closed, 0);
	}
	fix_fini(&f);
}

/* Long inputs: limits of the head, of the body, what is let go behind them. */
static void
test_limits(void **state)
{
	struct httpd_opts o;
	struct client *c;
	struct buf b;
	struct fix f;

	(void)state;
	httpd_opts_init(&o);
	fix_init(&f, &o);
	buf_init(&b, SIZE_MAX / 4);
	(void)buf_adds(&b, STR("GET / HTTP/1.1\r\n" H "x: "));
	while (b.n < 33 << 10)
		(void)buf_addc(&b, 'x');
	c = fix_connect(&f, 0, 0);
	client_send(c, b.p, b.n);
	fix_run(&f, got_eof);
	assert_false(c->reset);
	assert_true(str_pre(client_text(c),
	    STR("HTTP/1.1 431 Request Header Fields Too Large\r\n")));
	/* A megabyte for a 413: it is read away, so the answer arrives. */
	buf_clear(&b);
	(void)buf_adds(&b, STR("POST / HTTP/1.1\r\n" H "Content-Length: 10000000\r\n\r\n"));
	while (b.n < 1 << 20)
		(void)buf_addc(&b, 'x');
	c = fix_connect(&f, 0, 0);
	f.want = f.in + stuff(c, b.p, b.n, b.n);
	fix_run(&f, fix_read_it);
	f.want = 1;
	fix_run(&f, got_it);
	assert_true(str_pre(client_text(c), STR("HTTP/1.1 413 Content Too Large\r\n")));
	fix_run(&f, got_eof);
	assert_false(c->reset);
	buf_fini(&b);
	fix_fini(&f);
}

static void
test_reset(void **state)
{
	struct client *c;
	struct fix f;

	(void)state;
	fix_init(&f, NULL);
	c = fix_connect(&f, 0, 0);
	SEND(c, GET("/reset"));
	fix_run(&f, got_eof);
	assert_true(c->reset);
	assert_int_equal(c->got.n, 0);
	c = fix_connect(&f, 0, 0);
	SEND(c, GET("/stream"));
	f.want = sizeof STREAM - 1;
	fix_run(&f, got_it);
	hreq_drop(f.req[--f.n_req], true);
	fix_run(&f, got_eof);
	assert_true(c->reset);
	c = fix_connect(&f, 0, 0);
	SEND(c, GET("/stream"));
	hreq_drop(f.req[--f.n_req], false);
	fix_run(&f, got_eof);
	assert_false(c->reset);
	assert_true(str_eq(client_text(c), STR(STREAM)));
	for (int i = 0; i < 4; i++)
		assert_int_equal(f.gone[i], 0);
	fix_fini(&f);
}

static bool
three_requests(struct fix *f)
{
	return f->n_req == 3;
}

static void
test_shutdown(void **state)
{
	struct client *c;
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct fix f;
	int fd;

	(void)state;
	fix_init(&f, NULL);
	for (unsigned i = 0; i < 3; i++) {
		c = fix_connect(&f, i, 0);
		SEND(c, GET("/stream"));
	}
	fix_run(&f, three_requests);
	httpd_close_listeners(f.d);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	in.sin_port = htons(httpd_port(f.d));
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), -1);
	(void)close(fd);
	hreq_end(f.req[2]);
	f.n_req = 2;
	httpd_close_listeners(f.d);
	assert_int_equal(httpd_conns(f.d), 3);
	fix_fini(&f);
	assert_int_equal(f.gone[HTTP_GONE_SHUTDOWN], 2);
	httpd_free(NULL);
}

/* Out of descriptors: who waits is accepted when there is one again. */
static void
test_no_descriptors(void **state)
{
	struct rlimit was, r;
	struct fix f;
	clock_t cpu;
	int probe;

	(void)state;
	fix_init(&f, NULL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(was.rlim_cur, was.rlim_max);
	(void)fix_connect(&f, 0, 0);
	(void)fix_connect(&f, 1, 0);
	probe = dup(0);
	assert_true(probe > 0);
	(void)close(probe);
	r = was;
	r.rlim_cur = (rlim_t)probe;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
	cpu = clock();
	pass(&f, 60 * NS_MS);
	/* It does not spin on what it cannot accept. */
	assert_true(clock() - cpu < CLOCKS_PER_SEC / 1000 * 30);
	assert_int_equal(f.opened, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	SEND(&f.c[0], GET("/a"));
	SEND(&f.c[1], GET("/a"));
	assert_int_equal(f.opened, 2);
	fix_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_behind_slow),
		cmocka_unit_test(test_behind_stream),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_half_close_reads),
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_own_time),
		cmocka_unit_test(test_steady_reader),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_shutdown),
		cmocka_unit_test(test_no_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
