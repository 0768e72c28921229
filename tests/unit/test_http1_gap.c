#include "http1_rows.h"

#define FIFTY "                                                  "

/* Lost bytes and broken input: the pieces are segments and stay whole. */
static const struct row torn[] = {
	{ "gap in a body of known length", {
		C(GET), S("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"), S_GAP(4),
		S("ghi"), C(GET), S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 200 length=9 {Content-Length=9}\n"
	  "< 0 ab\ngap 0 4\n< 0 ghi\nend 0 complete @4\n"
	  GET_REQ(1) "reqend 1 complete @5\nres 1 204 none {}\nend 1 complete @6\n",
	  0, 0 },
	{ "gap over the end of a body of known length", {
		C(GET), S("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"), S_GAP(7),
		C(GET), S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 200 length=9 {Content-Length=9}\n"
	  "< 0 ab\ngap 0 7\nend 0 inferred @3\n"
	  GET_REQ(1) "reqend 1 complete @4\nres 1 204 none {}\nend 1 complete @5\n",
	  0, 0 },
	{ "gap over the end and the next head", {
		C(GET GET), S("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"),
		S_GAP(70), S("2\r\n:\n\r\n"), S("0\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" GET_REQ(1) "reqend 1 complete @1\n"
	  "res 0 200 length=9 {Content-Length=9}\n< 0 ab\ngap 0 7\n"
	  "end 0 inferred @3\nres 1 lost chunked 0.0 {}\n< 1 :\\n\n"
	  "end 1 complete @5\n", 0, 0 },
	{ "gap in an until-close body", {
		C(GET), S("HTTP/1.0 200 OK\r\n\r\nab"), S_GAP(5), S("cd"), S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 200 close 1.0 {}\n< 0 ab\ngap 0 5\n"
	  "< 0 cd\nend 0 complete @5\n", 0, 0 },
	{ "gap inside a chunk", {
		C(GET), S(CHUNKED "9\r\nab"), S_GAP(6), S("i\r\n1\r\nx\r\n0\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 ab\ngap 0 6\n< 0 ix\nend 0 complete @4\n", 0, 0 },
	{ "gap to the end of a chunk, into and over its CRLF", {
		C(GET), S(CHUNKED "3\r\na"), S_GAP(2), S("\r\n3\r\nb"), S_GAP(3),
		S("\n3\r\nc"), S_GAP(4), S("1\r\nd\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 2\n< 0 b\ngap 0 2\n< 0 c\ngap 0 2\n< 0 d\n", 0, 0 },
	{ "gap over chunk ends: on at the next chunk head", {
		C(GET), S(CHUNKED "3\r\na"), S_GAP(40), S("z\r\n"),
		S("7;x\r\nevent: \r\n0\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 38\ngap 0 3\n< 0 event: \nend 0 complete @5\n", 0, 0 },
	{ "gap over chunk ends: heads in segments of their own", {
		C(GET), S(CHUNKED "3\r\na"), S_GAP(40), S("12345\r\n"), S("junk"),
		S("2\r\n"), S("ab"), S("\r\n"), S("2\r\ncdz"), THE_END },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 38\n< 0 junk2\\r\\nab\\r\\n2\\r\\ncdz\nend 0 open @10\n", 0, 0 },
	{ "gap over chunk ends: what looked like a chunk head is none", {
		C(GET), S(CHUNKED "3\r\na"), S_GAP(40), S("1\r\n"), S("junk"),
		S("2\r\n"), S("ab"), S("\r\n"), S("2\r\ncdz"), S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 38\n< 0 j\ngap 0 1\ngap 0 2\n< 0 abcd\nodd bad res\n"
	  "end 0 lost @9\n", 0, 0 },
	{ "gap over chunk ends: a line of text is no chunk head", {
		C(GET), S(CHUNKED "3\r\na"), S_GAP(40), S("data: 1\n\n"),
		S("2\r\nabcdef") , S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 38\ngap 0 9\ngap 0 9\nend 0 lost @6\n", 0, 0 },
	{ "gap over chunk ends: the next response", {
		C(GET), S(CHUNKED "1\r\na\r\n"), S_GAP(40), C(GET),
		S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 40\n" GET_REQ(1) "reqend 1 complete @4\nend 0 lost @5\n"
	  "res 1 204 none {}\nend 1 complete @5\n", 0, 0 },
	{ "a lost last chunk: the next response", {
		C(GET GET), S(CHUNKED "1\r\na\r\n"), S_GAP(5),
		S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" GET_REQ(1) "reqend 1 complete @1\n"
	  CHUNKED_RES(0) "< 0 a\nend 0 inferred @3\n"
	  "res 1 204 none {}\nend 1 complete @4\n", 0, 0 },
	{ "a lost last chunk: the next request", {
		C(GET), S(CHUNKED "1\r\na\r\n"), S_GAP(5), C(GET),
		S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\nend 0 inferred @3\n" GET_REQ(1) "reqend 1 complete @4\n"
	  "res 1 204 none {}\nend 1 complete @5\n", 0, 0 },
	{ "a lost last chunk: the client closes", {
		C(GET), S(CHUNKED "1\r\na\r\n"), S_GAP(5), C_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\nend 0 inferred @3\n", 0, 0 },
	{ "a lost last chunk: the server closes, resets; the capture ends", {
		C(GET), S(CHUNKED "1\r\na\r\n"), S_GAP(5), S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\nend 0 inferred @3\n", 0, 0 },
	{ "a lost last chunk with the chunk before it", {
		C(GET), S(CHUNKED "8\r\na"), S_GAP(14), THE_END },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 7\nend 0 inferred @3\n", 0, 0 },
	{ "five bytes at a chunk boundary, then a chunk after all", {
		C(GET), S(CHUNKED "1\r\na\r\n"), S_GAP(5), S("1\r\nb\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 5\n< 0 b\n", 0, 0 },
	{ "five bytes inside a chunk are not its end", {
		C(GET), S(CHUNKED "9\r\na"), S_GAP(5), C_FIN, S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 5\nend 0 aborted @4\n", 0, 0 },
	{ "the empty line after the last chunk is lost", {
		C(GET), S(CHUNKED "0\r\n"), S_GAP(2), C(GET),
		S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0) "end 0 inferred @3\n"
	  GET_REQ(1) "reqend 1 complete @4\nres 1 204 none {}\nend 1 complete @5\n",
	  0, 0 },
	{ "gap in a response head", {
		C(GET), S("HTTP/1.1 200 OK\r\nA: b\r\nTransf"), S_GAP(30),
		S("ata: 0\n\n\r\n"), S("2\r\n:\n\r\n0\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 lost 200 close {A=b}\n"
	  "gap 0 10\n< 0 :\\n\nend 0 complete @5\n", 0, 0 },
	{ "gap in a response head of known length: no chunks", {
		C(GET GET), S("HTTP/1.1 200 OK\r\nContent-Length: 90\r\nA"), S_GAP(30),
		S("2\r\n:\n\r\n"), S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" GET_REQ(1) "reqend 1 complete @1\n"
	  "res 0 lost 200 length=90 {Content-Length=90}\ngap 0 7\nend 0 lost @5\n"
	  "res 1 204 none {}\nend 1 complete @5\n", 0, 0 },
	{ "gap in an interim head", {
		C(GET), S("HTTP/1.1 100 C\r\nA"), S_GAP(4), S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\nint 0 lost 100 none {}\n"
	  "res 0 204 none {}\nend 0 complete @4\n", 0, 0 },
	{ "a lost response: its own head after all", {
		C(GET), S_GAP(25), S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 204 none {}\nend 0 complete @3\n",
	  0, 0 },
	{ "a lost response: the next request shows that it was one", {
		C(GET), S_GAP(99), C(GET), S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" GET_REQ(1) "reqend 1 complete @3\n"
	  "res 0 lost close 0.0 {}\nend 0 lost @4\n"
	  "res 1 204 none {}\nend 1 complete @4\n", 0, 0 },
	{ "a lost response head before chunks", {
		C(GET), S_GAP(99), S("2\r\n:\n\r\n"), S("0\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 lost chunked 0.0 {}\n< 0 :\\n\n"
	  "end 0 complete @4\n", 0, 0 },
	{ "a lost response, then the close", {
		C(GET), S_GAP(99), S_FIN, C_FIN },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 lost close 0.0 {}\n"
	  "end 0 lost @3\n", 0, 0 },
	{ "a lost request: its response is not unasked", {
		C(GET), S("HTTP/1.1 204 N\r\n\r\n"), C_GAP(99), S("HTTP/1.1 202 A\r\n\r\n"),
		C("rest of a body"), S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 204 none {}\nend 0 complete @2\n"
	  "res 1 202 close {}\nend 1 complete @6\n", 0, 0 },
	{ "gap in a request head", {
		C("POST /mcp HTTP/1.1\r\nA: b\r\nC"), C_GAP(40), C("{}}"),
		S("HTTP/1.1 204 N\r\n\r\n"), C(GET) },
	  "req 0 lost POST /mcp none {A=b}\ngap req 0 3\n"
	  "res 0 204 none {}\nend 0 complete @4\n"
	  "reqend 0 lost @5\n" GET_REQ(1) "reqend 1 complete @5\n", 0, 0 },
	{ "gap in a request body, and over its end", {
		C("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\na"), C_GAP(3), C("b"),
		C_GAP(99), S("HTTP/1.1 204 N\r\n\r\nHTTP/1.1 204 N\r\n\r\n") },
	  "req 0 POST / length=9 {Content-Length=9}\n> 0 a\ngap req 0 3\n> 0 b\n"
	  "gap req 0 4\nreqend 0 inferred @4\n"
	  "res 0 204 none {}\nend 0 complete @5\n"
	  "res 1 204 none {}\nend 1 complete @5\n", 0, 0 },
	{ "gap in a chunked request body", {
		C("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na"),
		C_GAP(20), C("1\r\nz\r\n0\r\n\r\n" GET) },
	  "req 0 POST / chunked {Transfer-Encoding=chunked}\n> 0 a\ngap req 0 18\n"
	  "> 0 z\nreqend 0 complete @3\n" GET_REQ(1) "reqend 1 complete @3\n",
	  0, 0 },
	{ "gap in a head whose start line is none", {
		C("GET / FTP/1.1\r\nA"), C_GAP(3), S("HTTP/1.1 204 N\r\n\r\n") },
	  "odd bad req\nres 0 204 none {}\nend 0 complete @3\n", 0, 0 },
	{ "header limit: a framing header that is too long, far behind it", {
		C(GET), S("HTTP/1.1 200 OK\r\nA: 12345678901234567890123456789012345678901234"
		    "567890\r\nTransfer-Encoding: " FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY
		    "chunked\r\n\r\njunk"), S("1\r\nx\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\nodd header-limit res\n"
	  "res 0 lost 200 close {}\ngap 0 4\n< 0 x\n", 64, 0 },
	{ "a lost last chunk of a request: the response", {
		C("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"),
		C_GAP(5), S("HTTP/1.1 204 N\r\n\r\n") },
	  "req 0 POST / chunked {Transfer-Encoding=chunked}\n> 0 a\n"
	  "reqend 0 inferred @2\nres 0 204 none {}\nend 0 complete @3\n", 0, 0 },
	{ "a second gap before sync", {
		C(GET), S(CHUNKED "1\r\na\r\n"), S_GAP(5), S_GAP(7), S("junk"), C_FIN,
		S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 12\ngap 0 4\nend 0 lost @7\n", 0, 0 },
	{ "lost sync, then the capture ends: open as far as is known", {
		C(GET), S(CHUNKED "1\r\na\r\n"), S_GAP(9), THE_END },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\ngap 0 9\nend 0 open @4\n", 0, 0 },
	{ "garbage in a chunked body: on at a status line only", {
		C(GET), S(CHUNKED "1\r\nabc"), S("1\r\nx\r\n"), C(GET),
		S("xHTTP/1.1 204 N\r\n\r\n"), S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\nodd bad res\nend 0 lost @2\n" GET_REQ(1) "reqend 1 complete @4\n"
	  "res 1 204 none {}\nend 1 complete @6\n", 0, 0 },
	{ "garbage from the client, then a request", {
		C("{}"), C("more"), C(GET), S("HTTP/1.1 204 N\r\n\r\n") },
	  "odd bad req\n" GET_REQ(0) "reqend 0 complete @3\n"
	  "res 0 204 none {}\nend 0 complete @4\n", 0, 0 },
	{ "picked up inside a chunked stream", {
		S("3\r\n:\n\n\r\n"), S("4b\r\ndata: "), S_GAP(71), S("0\r\n\r\n"), C(GET),
		S("HTTP/1.1 204 N\r\n\r\n") },
	  "res 0 lost chunked 0.0 {}\n< 0 :\\n\\ndata: \ngap 0 69\nend 0 complete @4\n"
	  GET_REQ(1) "reqend 1 complete @5\nres 1 204 none {}\nend 1 complete @6\n",
	  0, 0 },
	{ "picked up inside a chunk: from the next chunk on", {
		S("ata: 1\n\n\r\n"), S("3\r\n:\n\n\r\n"), C_FIN },
	  "res 0 lost chunked 0.0 {}\n< 0 :\\n\\n\n", 0, 0 },
	{ "picked up inside plain text", {
		S("data: 1\n\n"), S("data: 2\n\n"), C(GET), S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @3\nres 0 204 none {}\nend 0 complete @4\n",
	  0, 0 },
	{ "start unknown, said by a gap of 0 bytes", {
		C_GAP(0), S_GAP(0), C("ody"), S("HTTP/1.1 204 N\r\n\r\n"), C(GET),
		S("HTTP/1.1 204 N\r\n\r\n") },
	  "res 0 204 none {}\nend 0 complete @4\n" GET_REQ(1) "reqend 1 complete @5\n"
	  "res 1 204 none {}\nend 1 complete @6\n", 0, 0 },
	{ "gap in every segment, as a short snap length makes them", {
		C("POST /mcp HTTP/1.1\r\nHost: 12"), C_GAP(300),
		S("HTTP/1.1 200 OK\r\ncontent-type: te"), S_GAP(170),
		S("a2\r\ndata: {\"json"), S_GAP(152), S("0\r\n\r\n"),
		C("POST /mcp HTTP/1.1\r\nHost: 12"), C_GAP(300), S_RST },
	  "req 0 lost POST /mcp none {}\nres 0 lost 200 close {}\n"
	  "< 0 data: {\"json\ngap 0 150\nend 0 complete @7\n"
	  "reqend 0 lost @8\nreq 1 lost POST /mcp none {}\nreqend 1 lost @10\n",
	  0, 0 },
};

static void
test_torn(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(torn); i++)
		check(&torn[i], -1, 0);
}

/* A client that leaves out every callback it does not want. */
static void
test_no_callbacks(void **state)
{
	static const struct http1_cb none = { .odd = NULL };
	struct limits limits;

	(void)state;
	limits_init(&limits);
	for (size_t i = 0; i < N_ROWS(torn); i++) {
		struct http1 *h = http1_new(&limits, &none, NULL);

		for (int j = 0; j < 12 && torn[i].step[j].op; j++) {
			const struct step *s = &torn[i].step[j];

			if (s->op == FEED)
				http1_feed(h, s->dir, s->text, s->n,
				    (struct at){ 1, 1 });
			else if (s->op == GAP)
				http1_gap(h, s->dir, s->n, (struct at){ 1, 1 });
		}
		http1_eof(h, (struct at){ 1, 1 });
		http1_free(h);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_no_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
