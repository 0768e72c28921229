#include "util.h"

#include <stdio.h>

#include "hread_trace.h"

static const struct hread_limits limits = {
	.header = 1024, .headers = 10, .body = 32,
};

struct row {
	const char *what;
	struct str bytes;
	const char *want;
};

#define H "Host: h\r\n"
#define GET "GET / HTTP/1.1\r\n" H
#define POST "POST / HTTP/1.1\r\n" H
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define T(lit) { lit, sizeof(lit) - 1 }
#define TEN "0123456789"

/* What a client may send. */
static const struct row good[] = {
	{ "a GET", T(GET "\r\n"), "GET / 1.1 {Host=h} \n" },
	{ "three in a row",
	  T("GET /a HTTP/1.1\r\n" H "\r\nHEAD /b HTTP/1.1\r\n" H "\r\n"
	    POST "Content-Length: 2\r\n\r\n{}"),
	  "GET /a 1.1 {Host=h} \nHEAD /b 1.1 head {Host=h} \n"
	  "POST / 1.1 {Host=h|Content-Length=2} {}\n" },
	{ "an empty line before, and after a body",
	  T("\r\n" POST "Content-Length: 2\r\n\r\n{}\r\n" GET "\r\n\r\n"),
	  "POST / 1.1 {Host=h|Content-Length=2} {}\nGET / 1.1 {Host=h} \nblank\n" },
	{ "any method, any target", T("X-y *?a=%20 HTTP/1.1\r\n" H "\r\n"),
	  "X-y *?a=%20 1.1 {Host=h} \n" },
	{ "values are trimmed, may be empty, may hold any text",
	  T(GET "a: \t b c\xe4 \t\r\nA:\r\n\r\n"),
	  "GET / 1.1 {Host=h|a=b c\xe4|A=} \n" },
	{ "chunks, extensions, a trailer",
	  T(CHUNKED "1;a=\"b;c\"\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n" GET "\r\n"),
	  "POST / 1.1 {Host=h|Transfer-Encoding=chunked} {}\nGET / 1.1 {Host=h} \n" },
	{ "chunked in any case", T(POST "transfer-encoding: Chunked\r\n\r\n0\r\n\r\n"),
	  "POST / 1.1 {Host=h|transfer-encoding=Chunked} \n" },
	{ "as long a body as may be", T(POST "Content-Length: 32\r\n\r\n" TEN TEN TEN "01"),
	  "POST / 1.1 {Host=h|Content-Length=32} " TEN TEN TEN "01\n" },
	{ "a body of nothing", T(POST "Content-Length: 0\r\n\r\n"),
	  "POST / 1.1 {Host=h|Content-Length=0} \n" },
	{ "Connection: close", T(GET "Connection: x, Close\r\n\r\n"),
	  "GET / 1.1 close {Host=h|Connection=x, Close} \n" },
	{ "close in another line", T(GET "Connection: x\r\nConnection: close\r\n\r\n"),
	  "GET / 1.1 close {Host=h|Connection=x|Connection=close} \n" },
	{ "HTTP/1.0 closes, needs no Host", T("GET / HTTP/1.0\r\n\r\n"),
	  "GET / 1.0 close {} \n" },
	{ "HTTP/1.0 with keep-alive", T("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"),
	  "GET / 1.0 {Connection=Keep-Alive} \n" },
	{ "Expect: 100-continue",
	  T(POST "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n{}"),
	  "100\nPOST / 1.1 {Host=h|Expect=100-Continue|Content-Length=2} {}\n" },
	{ "before chunks", T(POST "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "0\r\n\r\n"),
	  "100\nPOST / 1.1 {Host=h|Expect=100-continue|Transfer-Encoding=chunked} \n" },
	{ "not where nothing follows", T(GET "Expect: 100-continue\r\n\r\n"),
	  "GET / 1.1 {Host=h|Expect=100-continue} \n" },
	{ "not to HTTP/1.0", T("POST / HTTP/1.0\r\nExpect: 100-continue\r\n"
	    "Content-Length: 1\r\n\r\nx"),
	  "POST / 1.0 close {Expect=100-continue|Content-Length=1} x\n" },
	{ "an empty Host", T("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "GET / 1.1 {Host=} \n" },
	{ "Host with a port, an address", T("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"),
	  "GET / 1.1 {Host=[::1]:80} \n" },
	{ "CONNECT", T("CONNECT h:1 HTTP/1.1\r\n" H "\r\n"), "CONNECT h:1 1.1 {Host=h} \n" },
	{ "ten header lines", T(GET "b:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng:\r\nh:\r\ni:\r\nj:\r\n\r\n"),
	  "GET / 1.1 {Host=h|b=|c=|d=|e=|f=|g=|h=|i=|j=} \n" },
};

/* What a server refuses: the last line of each is the status. */
static const struct row bad[] = {
	{ "two different lengths",
	  T(POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), "400\n" },
	{ "the same length twice",
	  T(POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx"), "400\n" },
	{ "a list of lengths", T(POST "Content-Length: 1, 1\r\n\r\nx"), "400\n" },
	{ "a length with a sign", T(POST "Content-Length: +1\r\n\r\nx"), "400\n" },
	{ "a length in hex", T(POST "Content-Length: 0x1\r\n\r\nx"), "400\n" },
	{ "a length with a space", T(POST "Content-Length: 1 1\r\n\r\nx"), "400\n" },
	{ "no length", T(POST "Content-Length:\r\n\r\n"), "400\n" },
	{ "a length past 2^64",
	  T(POST "Content-Length: 18446744073709551617\r\n\r\nx"), "400\n" },
	{ "a length below zero", T(POST "Content-Length: -1\r\n\r\n"), "400\n" },
	{ "length, then coding",
	  T(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400\n" },
	{ "coding, then length",
	  T(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), "400\n" },
	{ "chunked is not last",
	  T(POST "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"), "400\n" },
	{ "no chunked", T(POST "Transfer-Encoding: identity\r\n\r\n"), "400\n" },
	{ "no coding", T(POST "Transfer-Encoding:\r\n\r\n"), "400\n" },
	{ "chunked with a parameter",
	  T(POST "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n"), "400\n" },
	{ "a coding to HTTP/1.0",
	  T("POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400\n" },
	{ "an unknown coding before chunked",
	  T(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), "501\n" },
	{ "in two lines", T(POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "0\r\n\r\n"), "501\n" },
	{ "a bare LF after the request line", T("GET / HTTP/1.1\n" H "\r\n"), "400\n" },
	{ "a bare LF after a header", T("GET / HTTP/1.1\r\nHost: h\n\r\n"), "400\n" },
	{ "a bare LF for the empty line", T(GET "\n"), "400\n" },
	{ "a bare CR in a value", T(GET "a: b\rc\r\n\r\n"), "400\n" },
	{ "a bare CR in the target", T("GET /\rx HTTP/1.1\r\n" H "\r\n"), "400\n" },
	{ "CR CR LF", T(GET "a: b\r\r\n\r\n"), "400\n" },
	{ "a folded line", T(GET "a: b\r\n c\r\n\r\n"), "400\n" },
	{ "a folded line with a tab", T(GET "a: b\r\n\tc: d\r\n\r\n"), "400\n" },
	{ "a space before the first header", T("GET / HTTP/1.1\r\n " H "\r\n"), "400\n" },
	{ "a space before the colon", T("GET / HTTP/1.1\r\nHost : h\r\n\r\n"), "400\n" },
	{ "a tab before the colon", T("GET / HTTP/1.1\r\nHost\t: h\r\n\r\n"), "400\n" },
	{ "NUL in a value", T(GET "a: b\0c\r\n\r\n"), "400\n" },
	{ "NUL in a name", T(GET "a\0: b\r\n\r\n"), "400\n" },
	{ "NUL in the target", T("GET /\0 HTTP/1.1\r\n" H "\r\n"), "400\n" },
	{ "a control in a value", T(GET "a: b\x01\r\n\r\n"), "400\n" },
	{ "DEL in a value", T(GET "a: b\x7f\r\n\r\n"), "400\n" },
	{ "no name", T(GET ": b\r\n\r\n"), "400\n" },
	{ "no colon", T(GET "abc\r\n\r\n"), "400\n" },
	{ "a name with a bracket", T(GET "a(b): c\r\n\r\n"), "400\n" },
	{ "no Host", T("GET / HTTP/1.1\r\n\r\n"), "400\n" },
	{ "two Hosts", T(GET H "\r\n"), "400\n" },
	{ "two Hosts to HTTP/1.0", T("GET / HTTP/1.0\r\n" H "host: x\r\n\r\n"), "400\n" },
	{ "a space in Host", T("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), "400\n" },
	{ "a path in Host", T("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), "400\n" },
	{ "a user in Host", T("GET / HTTP/1.1\r\nHost: u@h\r\n\r\n"), "400\n" },
	{ "UTF-8 in Host", T("GET / HTTP/1.1\r\nHost: \xc3\xa4\r\n\r\n"), "400\n" },
	{ "two spaces", T("GET  / HTTP/1.1\r\n" H "\r\n"), "400\n" },
	{ "a space in the target", T("GET /a b HTTP/1.1\r\n" H "\r\n"), "400\n" },
	{ "a tab for a space", T("GET\t/ HTTP/1.1\r\n" H "\r\n"), "400\n" },
	{ "UTF-8 in the target", T("GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n"), "400\n" },
	{ "no target", T("GET HTTP/1.1\r\n" H "\r\n"), "400\n" },
	{ "no version", T("GET /\r\n" H "\r\n"), "400\n" },
	{ "a space after the version", T("GET / HTTP/1.1 \r\n" H "\r\n"), "400\n" },
	{ "the version in small letters", T("GET / http/1.1\r\n" H "\r\n"), "400\n" },
	{ "HTTP/2.0", T("GET / HTTP/2.0\r\n" H "\r\n"), "505\n" },
	{ "the HTTP/2 preface", T("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "505\n" },
	{ "two empty lines before", T("\r\n\r\n" GET "\r\n"), "400\n" },
	{ "TLS", T("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), "400\n" },
	{ "a status line", T("HTTP/1.1 200 OK\r\n\r\n"), "400\n" },
	{ "a method that is no token", T("G@T / HTTP/1.1\r\n" H "\r\n"), "400\n" },
	{ "no chunk size", T(CHUNKED "\r\n"), "400\n" },
	{ "a chunk size that is none", T(CHUNKED "g\r\n"), "400\n" },
	{ "a chunk size with a sign", T(CHUNKED "+1\r\nx\r\n0\r\n\r\n"), "400\n" },
	{ "a chunk size in C", T(CHUNKED "0x1\r\nx\r\n0\r\n\r\n"), "400\n" },
	{ "a chunk size past 2^64", T(CHUNKED "11111111111111111\r\n"), "400\n" },
	{ "a space after the chunk size", T(CHUNKED "1 \r\nx\r\n0\r\n\r\n"), "400\n" },
	{ "a bare LF after the chunk size", T(CHUNKED "1\nx\r\n0\r\n\r\n"), "400\n" },
	{ "a bare LF after an extension", T(CHUNKED "1;a\nx\r\n0\r\n\r\n"), "400\n" },
	{ "a bare CR in an extension", T(CHUNKED "1;a\rb\r\nx\r\n0\r\n\r\n"), "400\n" },
	{ "a bare LF after the data", T(CHUNKED "1\r\nx\n0\r\n\r\n"), "400\n" },
	{ "more data than the chunk has", T(CHUNKED "1\r\nxy\r\n0\r\n\r\n"), "400\n" },
	{ "a bare LF in the trailer", T(CHUNKED "0\r\na: b\n\r\n"), "400\n" },
	{ "a bare CR in the trailer", T(CHUNKED "0\r\na: b\rc\r\n\r\n"), "400\n" },
	{ "a trailer with no colon", T(CHUNKED "0\r\nabc\r\n\r\n"), "400\n" },
	{ "a folded trailer", T(CHUNKED "0\r\na: b\r\n c\r\n\r\n"), "400\n" },
	{ "too long a body", T(POST "Content-Length: 33\r\n\r\n"), "413\n" },
	{ "too long a body, whose 100 is not sent",
	  T(POST "Expect: 100-continue\r\nContent-Length: 33\r\n\r\n"), "413\n" },
	{ "too long in chunks",
	  T(CHUNKED "20\r\n" TEN TEN TEN "01\r\n1\r\n2\r\n0\r\n\r\n"), "413\n" },
	{ "eleven header lines",
	  T(GET "b:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng:\r\nh:\r\ni:\r\nj:\r\nk:\r\n\r\n"), "431\n" },
	{ "too long a target", T("GET /" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
	    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
	    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
	    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
	    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
	    TEN TEN TEN TEN TEN TEN TEN TEN), "431\n" },
	{ "a good one, then a bad one", T(GET "\r\n" "GET / HTTP/1.1\r\n\r\n" GET "\r\n"),
	  "GET / 1.1 {Host=h} \n400\n" },
};

static void
feed(struct reading *x, const char *p, size_t n)
{
	struct guard g = guard_of(p, n);

	reading_feed(x, g.p, n);
	guard_free(&g);
}

static void
compare(const struct row *r, struct reading *x, size_t cut)
{
	reading_end(x);
	if (!str_eq(buf_str(&x->trace), str_c(r->want)))
		fail_msg("%s (cut at %zu):\n--- got\n%.*s--- want\n%s", r->what, cut,
		    STR_ARG(buf_str(&x->trace)), r->want);
	reading_fini(x);
}

static void
check_cuts(const struct row *r)
{
	struct reading x;

	for (size_t cut = 0; cut <= r->bytes.n; cut++) {
		reading_init(&x, &limits);
		feed(&x, r->bytes.p, cut);
		feed(&x, r->bytes.p + cut, r->bytes.n - cut);
		compare(r, &x, cut);
	}
	reading_init(&x, &limits);
	for (size_t i = 0; i < r->bytes.n; i++)
		feed(&x, r->bytes.p + i, 1);
	compare(r, &x, SIZE_MAX);
}

static void
test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(good); i++)
		check_cuts(&good[i]);
}

static void
test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(bad); i++)
		check_cuts(&bad[i]);
}

/* A client that stops anywhere is waited for, not refused. */
static void
test_prefixes(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(good); i++) {
		const struct row *r = &good[i];

		for (size_t n = 0; n < r->bytes.n; n++) {
			struct reading x;
			struct str t;

			reading_init(&x, &limits);
			feed(&x, r->bytes.p, n);
			assert_false(x.refused);
			t = buf_str(&x.trace);
			if (!str_pre(str_c(r->want), t))
				fail_msg("%s, %zu bytes: %.*s", r->what, n, STR_ARG(t));
			reading_fini(&x);
		}
	}
}

/* The limit of the head falls on the same byte however it is cut. */
static void
test_head_limit(void **state)
{
	static const char line[] = "x: 0123456789\r\n";
	struct hread_limits l = { .header = 1024, .headers = 1000, .body = 0 };
	struct buf b;

	(void)state;
	buf_init(&b, 65536);
	for (size_t over = 0; over < 2; over++) {
		struct row r = { "head", STR_NONE, over ? "431\n" : NULL };

		buf_clear(&b);
		(void)buf_adds(&b, STR("GET / HTTP/1.1\r\nHost: h\r\n"));
		while (l.header - b.n > 60)
			(void)buf_adds(&b, str_c(line));
		(void)buf_adds(&b, STR("y: "));
		while (b.n < l.header - 4 + over)
			(void)buf_addc(&b, 'y');
		(void)buf_adds(&b, STR("\r\n\r\n"));
		assert_int_equal(b.n, l.header + over);
		r.bytes = buf_str(&b);
		for (size_t cut = 0; cut <= b.n; cut++) {
			struct reading x;

			reading_init(&x, &l);
			feed(&x, b.p, cut);
			feed(&x, b.p + cut, b.n - cut);
			assert_int_equal(x.refused, over);
			if (over)
				compare(&r, &x, cut);
			else
				reading_fini(&x);
		}
	}
	buf_fini(&b);
}

/* A head, an extension or a trailer without end is refused before long. */
static void
test_endless(void **state)
{
	static const struct row rows[] = {
		{ "a target", T("GET /"), "431\n" },
		{ "a header", T(GET "x: "), "431\n" },
		{ "an extension", T(CHUNKED "1;"), "413\n" },
		{ "a trailer", T(CHUNKED "0\r\nx: "), "413\n" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct reading x;
		size_t n = 0;

		reading_init(&x, &limits);
		reading_feed(&x, rows[i].bytes.p, rows[i].bytes.n);
		for (; n < 2 * limits.header && !x.refused; n++)
			reading_feed(&x, "a", 1);
		assert_true(x.refused);
		compare(&rows[i], &x, n);
	}
}

/* Chunks of one byte are slow, but a body like any other. */
static void
test_small_chunks(void **state)
{
	struct hread_limits l = { .header = 64, .headers = 10, .body = 5000 };
	static const char head[] = POST "Transfer-Encoding: chunked\r\n\r\n";
	struct reading x;

	(void)state;
	reading_init(&x, &l);
	reading_feed(&x, head, sizeof head - 1);
	for (int i = 0; i < 5000; i++)
		reading_feed(&x, "1\r\nx\r\n", 6);
	reading_feed(&x, "0\r\n\r\n", 5);
	assert_false(x.refused);
	assert_null(x.read);
	assert_true(x.trace.n > 5000);
	reading_fini(&x);
}

/* A body that is announced takes no memory before it comes. */
static void
test_announced(void **state)
{
	struct hread_limits l = { .header = 1024, .headers = 10, .body = UINT64_MAX };
	struct hread *r = hread_new(&l);
	static const char head[] = POST "Content-Length: 18446744073709551615\r\n\r\n{";
	enum hread_is is;

	(void)state;
	assert_int_equal(hread_feed(r, head, sizeof head - 1, &is), sizeof head - 1);
	assert_int_equal(is, HREAD_MORE);
	hread_free(r);
	hread_free(NULL);
}

static void
test_headers(void **state)
{
	struct hread *r = hread_new(&limits);
	static const char head[] = GET "A: 1\r\nb: 2\r\na: 3\r\nc:\r\n\r\n";
	struct hread_head *h;
	struct buf body;
	enum hread_is is;

	(void)state;
	assert_int_equal(hread_feed(r, head, sizeof head - 1, &is), sizeof head - 1);
	assert_int_equal(is, HREAD_DONE);
	h = hread_take(r, &body);
	hread_free(r);
	assert_true(str_eq(hread_header(h, STR("a"), 0), STR("1")));
	assert_true(str_eq(hread_header(h, STR("A"), 1), STR("3")));
	assert_null(hread_header(h, STR("A"), 2).p);
	assert_true(str_eq(hread_header(h, STR("C"), 0), STR("")));
	assert_non_null(hread_header(h, STR("C"), 0).p);
	assert_null(hread_header(h, STR("d"), 0).p);
	assert_int_equal(body.n, 0);
	buf_fini(&body);
	free(h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_head_limit),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_small_chunks),
		cmocka_unit_test(test_announced),
		cmocka_unit_test(test_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
