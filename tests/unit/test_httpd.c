#include "httpd_fix.h"

#define H "Host: h\r\n"
#define GET(t) "GET " t " HTTP/1.1\r\n" H "\r\n"
#define OK(n, body) "HTTP/1.1 200 OK\r\nContent-Length: " n "\r\n\r\n" body
#define CLOSE "Connection: close\r\n"
#define KEEP "Connection: keep-alive\r\n"
#define ERR(status, n, why) "HTTP/1.1 " status "\r\nContent-Type: text/plain\r\n" \
	"Content-Length: " n "\r\n" CLOSE "\r\n" why "\n"
#define STREAM "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
#define END "3\r\none\r\n10\r\nthree and fourty\r\n0\r\n\r\n"
#define T(lit) { lit, sizeof(lit) - 1 }

/* Bytes of a client, what it reads, and whether the server closes then. */
static const struct row {
	const char *what;
	struct str bytes, want;
	bool closes;
} rows[] = {
	{ "a GET", T(GET("/a")), T(OK("2", "/a")), false },
	{ "three at once", T(GET("/a") GET("/bc") GET("/d")),
	  T(OK("2", "/a") OK("3", "/bc") OK("2", "/d")), false },
	{ "a body there and back",
	  T("POST /echo HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\n{}" GET("/a")),
	  T(OK("2", "{}") OK("2", "/a")), false },
	{ "in chunks", T("POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
	    "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"), T(OK("2", "{}")), false },
	{ "100-continue", T("POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\n"
	    "Content-Length: 2\r\n\r\n{}"),
	  T("HTTP/1.1 100 Continue\r\n\r\n" OK("2", "{}")), false },
	{ "HEAD has the length, no body",
	  T("HEAD /abc HTTP/1.1\r\n" H "\r\n" GET("/a")), T(OK("4", "") OK("2", "/a")), false },
	{ "204 has neither", T(GET("/204") GET("/a")),
	  T("HTTP/1.1 204 No Content\r\nA: b\r\n\r\n" OK("2", "/a")), false },
	{ "chunks", T(GET("/end") GET("/a")), T(STREAM "\r\n" END OK("2", "/a")), false },
	{ "chunks to HEAD", T("HEAD /end HTTP/1.1\r\n" H "\r\n" GET("/a")),
	  T(STREAM "\r\n" OK("2", "/a")), false },
	{ "Connection: close", T("GET /a HTTP/1.1\r\n" H CLOSE "\r\n"),
	  T("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" CLOSE "\r\n/a"), true },
	{ "what follows it is not read", T("GET /a HTTP/1.1\r\n" H CLOSE "\r\n" GET("/b")),
	  T("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" CLOSE "\r\n/a"), true },
	{ "close after chunks", T("GET /end HTTP/1.1\r\n" H CLOSE "\r\n"),
	  T(STREAM CLOSE "\r\n" END), true },
	{ "HTTP/1.0 closes", T("GET /a HTTP/1.0\r\n\r\n"),
	  T("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" CLOSE "\r\n/a"), true },
	{ "HTTP/1.0 with keep-alive", T("GET /a HTTP/1.0\r\n" KEEP "\r\n" GET("/b")),
	  T("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" KEEP "\r\n/a" OK("2", "/b")), false },
	{ "a stream to HTTP/1.0 is not chunked, the close ends it",
	  T("GET /end HTTP/1.0\r\n" KEEP "\r\n"),
	  T("HTTP/1.1 200 OK\r\n" CLOSE "\r\nonethree and fourty"), true },
	{ "dropped without a terminator", T(GET("/drop") GET("/a")),
	  T(STREAM "\r\n3\r\none\r\n"), true },
	{ "no Host", T("GET / HTTP/1.1\r\n\r\n"),
	  T(ERR("400 Bad Request", "15", "no Host header")), true },
	{ "after a good one", T(GET("/a") "GET / HTTP/1.1\n"  H "\r\n" GET("/b")),
	  T(OK("2", "/a") ERR("400 Bad Request", "25", "not as RFC 9112 wants it")), true },
	{ "TLS", T("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
	  T(ERR("400 Bad Request", "21", "this is not HTTP/1.1")), true },
	{ "HTTP/2", T("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	  T(ERR("505 HTTP Version Not Supported", "41",
	    "only HTTP/1.1 is spoken here, not HTTP/2")), true },
	{ "a coding", T("POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n"),
	  T(ERR("501 Not Implemented", "45",
	    "no transfer coding but chunked is known here")), true },
	{ "too much", T("POST / HTTP/1.1\r\n" H "Content-Length: 1025\r\n\r\n{"),
	  T(ERR("413 Content Too Large", "21", "the body is too long")), true },
};

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

static void
check_row(struct fix *f, const struct row *r, size_t cut)
{
	struct client *c = fix_connect(f, 0, 0);

	client_send(c, r->bytes.p, cut);
	/* It may have been refused already: then nobody waits for the rest. */
	if (cut < r->bytes.n)
		(void)send(c->fd, r->bytes.p + cut, r->bytes.n - cut, MSG_NOSIGNAL);
	f->want = r->want.n;
	fix_run(f, got_it);
	if (r->closes) {
		fix_run(f, got_eof);
		assert_false(c->reset);
	} else {
		/* It is still open when it answers once more. */
		static const char ping[] = GET("/ping"), pong[] = OK("5", "/ping");

		assert_false(c->eof);
		client_send(c, ping, sizeof ping - 1);
		f->want = r->want.n + sizeof pong - 1;
		fix_run(f, got_it);
		assert_true(client_text(c).n >= sizeof pong - 1);
		c->got.n -= sizeof pong - 1;
		assert_memory_equal(c->got.p + c->got.n, pong, sizeof pong - 1);
	}
	if (!str_eq(client_text(c), r->want))
		fail_msg("%s (cut at %zu):\n--- got\n%.*s\n--- want\n%.*s", r->what, cut,
		    STR_ARG(client_text(c)), STR_ARG(r->want));
	client_free(c);
}

static void
test_rows(void **state)
{
	struct httpd_opts o;
	struct fix f;

	(void)state;
	httpd_opts_init(&o);
	o.body = 1024;
	fix_init(&f, &o);
	for (size_t i = 0; i < N_ROWS(rows); i++)
		for (size_t cut = 0; cut <= rows[i].bytes.n; cut++)
			check_row(&f, &rows[i], cut);
	fix_fini(&f);
}

static bool
all_closed(struct fix *f)
{
	return f->closed == f->opened && f->opened == f->want;
}

/* The client goes after every byte: nothing is left behind, and only a whole
 * request is handed out. */
static void
test_early_close(void **state)
{
	static const char post[] =
	    "POST /later HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello";
	struct fix f;

	(void)state;
	fix_init(&f, NULL);
	for (int how = 0; how < 3; how++) {
		for (size_t n = 0; n < sizeof post; n++) {
			struct client *c = fix_connect(&f, 0, 0);
			unsigned requests = f.requests;

			client_send(c, post, n);
			assert_int_equal(f.requests - requests, n == sizeof post - 1);
			f.want = (size_t)(how * (int)sizeof post) + n + 1;
			if (how == 2)
				assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
			else
				client_close(c, how == 1);
			fix_run(&f, all_closed);
			assert_int_equal(httpd_conns(f.d), 0);
			assert_int_equal(f.closed_by_client, f.closed);
		}
	}
	assert_int_equal(f.gone[HTTP_GONE_FIN], 2);
	assert_int_equal(f.gone[HTTP_GONE_RST], 1);
	assert_int_equal(f.closed_reset, sizeof post);
	fix_fini(&f);
}

static bool
has_request(struct fix *f)
{
	return f->n_req == f->want;
}

/* What hreq_* tell of a request, and that they tell it until the end. */
static void
test_request(void **state)
{
	static const char first[] = GET("/a"), post[] = "POST /later?x HTTP/1.1\r\n" H
	    "A: 1\r\na: 2\r\nContent-Length: 2\r\n\r\n{}";
	static const char want[] = OK("2", "/a")
	    "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nX: y\r\n\r\nno";
	struct client *c;
	struct hreq *r;
	struct fix f;

	(void)state;
	fix_init(&f, NULL);
	c = fix_connect(&f, 0, 0);
	client_send(c, first, sizeof first - 1);
	client_send(c, post, sizeof post - 1);
	f.want = 1;
	fix_run(&f, has_request);
	r = f.req[--f.n_req];
	assert_true(str_eq(hreq_method(r), STR("POST")));
	assert_true(str_eq(hreq_target(r), STR("/later?x")));
	assert_true(str_eq(hreq_header(r, STR("a")), STR("1")));
	assert_int_equal(hreq_header_count(r, STR("a")), 2);
	assert_int_equal(hreq_header_count(r, STR("b")), 0);
	assert_null(hreq_header(r, STR("b")).p);
	assert_true(str_eq(hreq_body(r), STR("{}")));
	hreq_body_free(r);
	assert_int_equal(hreq_body(r).n, 0);
	assert_int_equal(hreq_conn(r), 1);
	assert_int_equal(hreq_n(r), 1);
	hreq_set_user(r, &f);
	assert_ptr_equal(hreq_user(r), &f);
	hreq_reply(r, 404, STR("X: y\r\n"), STR("no"));
	f.want = sizeof want - 1;
	fix_run(&f, got_it);
	assert_true(str_eq(client_text(c), str_of(want, sizeof want - 1)));
	fix_fini(&f);
}

/* What is written while the request is handled leaves together, and what comes
 * later at once; a backlog that has no room for it all changes no byte. */
static void
test_together(void **state)
{
	static const char want[] = STREAM "\r\n" END STREAM
	    "Content-Type: text/event-stream\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n";
	static const uint64_t backlogs[] = { 4 << 20, 16 };

	(void)state;
	for (size_t i = 0; i < N_ROWS(backlogs); i++) {
		struct httpd_opts o;
		struct client *c;
		struct hreq *r;
		struct fix f;

		httpd_opts_init(&o);
		o.backlog = backlogs[i];
		fix_init(&f, &o);
		c = fix_connect(&f, 0, 0);
		client_send(c, GET("/end") GET("/stream"), sizeof(GET("/end") GET("/stream")) - 1);
		f.want = 1;
		fix_run(&f, has_request);
		r = f.req[--f.n_req];
		if (i == 0)
			assert_int_equal(f.writes, 2);
		else
			assert_true(f.writes > 2);
		f.writes = 0;
		assert_int_equal(hreq_write(r, STR("two")), 0);
		assert_int_equal(f.writes, 3);		/* size, data, line end */
		hreq_end(r);
		f.want = sizeof want - 1;
		fix_run(&f, got_it);
		assert_true(str_eq(client_text(c), str_of(want, sizeof want - 1)));
		fix_fini(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_early_close),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
