#include "http1_rows.h"

/* What whole peers send: every way of cutting gives the same. */
static const struct row clean[] = {
	{ "length both ways", {
		C("POST /mcp HTTP/1.1\r\nContent-Length: 4\r\n\r\nping"),
		S("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") },
	  "req 0 POST /mcp length=4 {Content-Length=4}\n> 0 ping\n"
	  "reqend 0 complete @1\n"
	  "res 0 200 length=5 {Content-Length=5}\n< 0 hello\n"
	  "end 0 complete @2\n", 0, 0 },
	{ "value is trimmed, order is kept, names as sent", {
		C("GET / HTTP/1.1\r\na: 1\r\nmCp-Id:   x y \t \r\nA:\r\n\r\n") },
	  "req 0 GET / none {a=1|mCp-Id=x y|A=}\nreqend 0 complete @1\n", 0, 0 },
	{ "pipelined: k-th response to k-th request", {
		C(GET "POST /b HTTP/1.1\r\nContent-Length: 1\r\n\r\nxGET /c HTTP/1.1\r\n\r\n"),
		S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"
		  "HTTP/1.1 202 A\r\nContent-Length: 0\r\n\r\n"
		  "HTTP/1.1 404\r\nContent-Length: 2\r\n\r\nno") },
	  GET_REQ(0) "reqend 0 complete @1\n"
	  "req 1 POST /b length=1 {Content-Length=1}\n> 1 x\nreqend 1 complete @1\n"
	  "req 2 GET /c none {}\nreqend 2 complete @1\n"
	  "res 0 200 length=1 {Content-Length=1}\n< 0 1\nend 0 complete @2\n"
	  "res 1 202 length=0 {Content-Length=0}\nend 1 complete @2\n"
	  "res 2 404 length=2 {Content-Length=2}\n< 2 no\nend 2 complete @2\n",
	  0, 0 },
	{ "chunked SSE, then the next exchange", {
		C(GET), S(CHUNKED "a\r\ndata: 1\n\n\n\r\n"),
		S("3\r\n:\n\n\r\n"), S("0\r\n\r\n"),
		C(GET), S("HTTP/1.1 204 No\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n"
	  CHUNKED_RES(0) "< 0 data: 1\\n\\n\\n:\\n\\n\nend 0 complete @4\n"
	  GET_REQ(1) "reqend 1 complete @5\n"
	  "res 1 204 none {}\nend 1 complete @6\n", 0, 0 },
	{ "chunk extensions, quoted and not; sizes in any case; trailer", {
		C(GET), S(CHUNKED "1;a\r\nx\r\n1;a=b;c\r\ny\r\n"
		    "00B;q=\"a;b \\\" \"\r\n0123456789a\r\n0;last\r\nX-T: 1\r\nY:\r\n\r\n"
		    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n"
	  CHUNKED_RES(0) "< 0 xy0123456789a\nend 0 complete @2\n"
	  "odd unasked res\nres 1 200 length=0 {Content-Length=0}\n"
	  "end 1 complete @2\n", 0, 0 },
	{ "chunked request body", {
		C("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n"
		  "2\r\n{}\r\n0\r\n\r\n" GET) },
	  "req 0 POST / chunked {Transfer-Encoding=gzip, Chunked}\n> 0 {}\n"
	  "reqend 0 complete @1\n" GET_REQ(1) "reqend 1 complete @1\n", 0, 0 },
	{ "100-continue and 103 are interim", {
		C("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n"),
		S("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"),
		C("{}"), S("HTTP/1.1 202 A\r\nContent-Length: 0\r\n\r\n") },
	  "req 0 POST / length=2 {Content-Length=2}\n"
	  "int 0 100 none {}\nint 0 103 none {Link=x}\n"
	  "> 0 {}\nreqend 0 complete @3\n"
	  "res 0 202 length=0 {Content-Length=0}\nend 0 complete @4\n", 0, 0 },
	{ "HEAD, 204 and 304 have no body whatever they say", {
		C("HEAD / HTTP/1.1\r\n\r\n" GET GET GET),
		S("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
		  "HTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n"
		  "HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n"
		  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") },
	  "req 0 HEAD / none {}\nreqend 0 complete @1\n"
	  GET_REQ(1) "reqend 1 complete @1\n" GET_REQ(2) "reqend 2 complete @1\n"
	  GET_REQ(3) "reqend 3 complete @1\n"
	  "res 0 200 none {Content-Length=9}\nend 0 complete @2\n"
	  "res 1 304 none {Content-Length=9}\nend 1 complete @2\n"
	  "res 2 204 none {Transfer-Encoding=chunked}\nend 2 complete @2\n"
	  "res 3 200 length=1 {Content-Length=1}\n< 3 x\nend 3 complete @2\n",
	  0, 0 },
	{ "HTTP/1.0 until close", {
		C(GET), S("HTTP/1.0 200 OK\r\n\r\ndata: 1\n\n"), S("data: 2\n\n"),
		S_FIN, C_FIN },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 200 close 1.0 {}\n"
	  "< 0 data: 1\\n\\ndata: 2\\n\\n\nend 0 complete @4\n", 0, 0 },
	{ "early response; the request goes on", {
		C("POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\nabc"),
		S("HTTP/1.1 413 Big\r\nContent-Length: 0\r\n\r\n"), C("def" GET) },
	  "req 0 POST / length=6 {Content-Length=6}\n> 0 abc\n"
	  "res 0 413 length=0 {Content-Length=0}\nend 0 complete @2\n"
	  "> 0 def\nreqend 0 complete @3\n" GET_REQ(1) "reqend 1 complete @3\n",
	  0, 0 },
	{ "response before the request head is complete", {
		C("GET / HT"), S("HTTP/1.1 408 T\r\nContent-Length: 0\r\n\r\n"),
		C("TP/1.1\r\n\r\n" GET), S("HTTP/1.1 204 N\r\n\r\n") },
	  "res 0 408 length=0 {Content-Length=0}\nend 0 complete @2\n"
	  "req 0 GET / none {}\nreqend 0 complete @3\n"
	  GET_REQ(1) "reqend 1 complete @3\nres 1 204 none {}\nend 1 complete @4\n",
	  0, 0 },
	{ "a response to no request takes the next number", {
		C(GET), S("HTTP/1.1 204 N\r\n\r\nHTTP/1.1 408 T\r\nContent-Length: 0\r\n\r\n"),
		C(GET), S("HTTP/1.1 204 N\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 204 none {}\nend 0 complete @2\n"
	  "odd unasked res\nres 1 408 length=0 {Content-Length=0}\nend 1 complete @2\n"
	  GET_REQ(2) "reqend 2 complete @3\nres 2 204 none {}\nend 2 complete @4\n",
	  0, 0 },
	{ "any method, any target form", {
		C("QUERY http://h/x?y HTTP/1.1\r\n\r\nOPTIONS * HTTP/1.1\r\n\r\n"
		  "m-x /\xc3\xa9 b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" GET) },
	  "req 0 QUERY http://h/x?y none {}\nreqend 0 complete @1\n"
	  "req 1 OPTIONS * none {}\nreqend 1 complete @1\n"
	  "odd lenient req\nreq 2 m-x /\\xc3\\xa9 b none 1.0 {Connection=keep-alive}\n"
	  "reqend 2 complete @1\n" GET_REQ(3) "reqend 3 complete @1\n", 0, 0 },
	{ "101: no HTTP from there on", {
		C("GET / HTTP/1.1\r\nUpgrade: ws\r\nConnection: upgrade\r\n\r\n"),
		S("HTTP/1.1 101 S\r\nUpgrade: ws\r\n\r\n\x81\x01z"), C("\x81\x02"),
		S("HTTP/1.1 200 OK\r\n\r\n"), S_FIN, THE_END },
	  "req 0 GET / none {Upgrade=ws|Connection=upgrade}\nreqend 0 complete @1\n"
	  "res 0 101 none {Upgrade=ws}\nend 0 complete @2\nodd upgrade res\n",
	  0, 0 },
	{ "CONNECT refused, then accepted", {
		C("CONNECT h:1 HTTP/1.1\r\n\r\n"),
		S("HTTP/1.1 407 P\r\nContent-Length: 1\r\n\r\nx"),
		C("CONNECT h:1 HTTP/1.1\r\n\r\n"),
		S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\x16\x03\x01"),
		C("\x16\x03") },
	  "req 0 CONNECT h:1 none {}\nreqend 0 complete @1\n"
	  "res 0 407 length=1 {Content-Length=1}\n< 0 x\nend 0 complete @2\n"
	  "req 1 CONNECT h:1 none {}\nreqend 1 complete @3\n"
	  "res 1 200 none {Content-Length=1}\nend 1 complete @4\nodd upgrade res\n",
	  0, 0 },
	{ "HTTP/2 preface", {
		C("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), S("\0\0\0\4\0\0\0\0\0") },
	  "odd h2 req\n", 0, 0 },
	{ "empty lines before a request", {
		C("\r\n" GET "\r\n" GET "\r\n\r\n" GET) },
	  GET_REQ(0) "reqend 0 complete @1\n" GET_REQ(1) "reqend 1 complete @1\n"
	  "odd lenient req\n" GET_REQ(2) "reqend 2 complete @1\n", 0, 0 },
	{ "lenient once a direction: bare LF", {
		C("GET / HTTP/1.1\nHost: h\n\nGET / HTTP/1.1\r\nA: b\n\r\n"),
		S("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\nx\n0\n\n") },
	  "odd lenient req\nreq 0 GET / none {Host=h}\nreqend 0 complete @1\n"
	  "req 1 GET / none {A=b}\nreqend 1 complete @1\nodd lenient res\n"
	  "res 0 200 chunked {Transfer-Encoding=chunked}\n< 0 x\n"
	  "end 0 complete @2\n", 0, 0 },
	{ "lenient: bare LF in chunks only", {
		C(GET), S(CHUNKED "2\r\nab\n0\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 ab\nodd lenient res\nend 0 complete @2\n", 0, 0 },
	{ "lenient: bare LF after a chunk extension", {
		C(GET), S(CHUNKED "0;a\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "odd lenient res\nend 0 complete @2\n", 0, 0 },
	{ "lenient: bare CR in a chunk extension, in a trailer", {
		C("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;a\rb\r\nx\r\n0\r\n\r\n"),
		S(CHUNKED "0\r\na: b\r\r\n\r\n") },
	  "req 0 POST / chunked {Transfer-Encoding=chunked}\nodd lenient req\n> 0 x\n"
	  "reqend 0 complete @1\n"
	  CHUNKED_RES(0) "odd lenient res\nend 0 complete @2\n", 0, 0 },
	{ "lenient: a bare LF that hides a second line", {
		C("GET /a HTTP/1.1\nA: b HTTP/1.1\r\n\r\n") },
	  "odd lenient req\nreq 0 GET /a none {A=b HTTP/1.1}\n"
	  "reqend 0 complete @1\n", 0, 0 },
	{ "lenient: no name before a colon", {
		C("GET / HTTP/1.1\r\n: b\r\n\r\n") },
	  "odd lenient req\nreq 0 GET / none {}\nreqend 0 complete @1\n", 0, 0 },
	{ "lenient: space before a colon", {
		C("GET / HTTP/1.1\r\nA : b\r\n\r\n") },
	  "odd lenient req\nreq 0 GET / none {A=b}\nreqend 0 complete @1\n", 0, 0 },
	{ "lenient: space after a chunk size", {
		C(GET), S(CHUNKED "2 \r\nab\r\n0\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "odd lenient res\n< 0 ab\nend 0 complete @2\n", 0, 0 },
	{ "lenient: folded header, a fold after the start line", {
		C("GET / HTTP/1.1\r\n x: y\r\nA: b\r\n\t c\r\n  d\r\nE: f\r\n\r\n") },
	  "odd lenient req\nreq 0 GET / none {A=b\\x09 c  d|E=f}\n"
	  "reqend 0 complete @1\n", 0, 0 },
	{ "lenient: folded framing headers", {
		C("POST / HTTP/1.1\r\nContent-Length:\r\n 1\r\n\r\nx"),
		S("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n") },
	  "odd lenient req\nreq 0 POST / length=1 {Content-Length=1}\n> 0 x\n"
	  "reqend 0 complete @1\nodd lenient res\n" CHUNKED_RES(0)
	  "end 0 complete @2\n", 0, 0 },
	{ "lenient: lines that are no header are dropped", {
		C("GET / HTTP/1.1\r\nno colon\r\n: empty\r\nb@d: x\r\nA : b\r\n\r\n") },
	  "odd lenient req\nreq 0 GET / none {A=b}\nreqend 0 complete @1\n", 0, 0 },
	{ "lenient: controls in a value", {
		C("GET / HTTP/1.1\r\nA: b\rc\0d\x01\xff\r\n\r\n") },
	  "odd lenient req\nreq 0 GET / none {A=b c d\\x01\\xff}\n"
	  "reqend 0 complete @1\n", 0, 0 },
	{ "lenient: length and chunked: chunked wins", {
		C("POST / HTTP/1.1\r\nContent-Length: 9\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
		  "Content-Length: 9\r\n\r\n0\r\n\r\n") },
	  "odd lenient req\n"
	  "req 0 POST / chunked {Content-Length=9|Transfer-Encoding=chunked}\n"
	  "reqend 0 complete @1\nodd lenient res\n"
	  "res 0 200 chunked {Transfer-Encoding=chunked|Content-Length=9}\n"
	  "end 0 complete @2\n", 0, 0 },
	{ "spaces and tabs around values of framing headers", {
		C("POST / HTTP/1.1\r\nContent-Length:\t 1\t \r\n\r\nx"),
		S("HTTP/1.1 200 OK\r\nTransfer-Encoding:chunked\t\r\n\r\n0\r\n\r\n") },
	  "req 0 POST / length=1 {Content-Length=1}\n> 0 x\nreqend 0 complete @1\n"
	  CHUNKED_RES(0) "end 0 complete @2\n", 0, 0 },
	{ "lenient: the same length twice", {
		C("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 01\r\n\r\nx") },
	  "odd lenient req\nreq 0 POST / length=1 {Content-Length=1}\n> 0 x\n"
	  "reqend 0 complete @1\n", 0, 0 },
	{ "lenient: chunked is not the last coding", {
		C(GET), S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
		S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n"
	  "res 0 200 close {Transfer-Encoding=chunked, gzip}\n< 0 0\\r\\n\\r\\n\n"
	  "end 0 complete @3\n", 0, 0 },
	{ "lenient: more after Connection: close, and after HTTP/1.0", {
		C("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n" GET),
		S("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 N\r\n\r\n") },
	  "req 0 GET / none {Connection=x, Close}\nreqend 0 complete @1\n"
	  "odd lenient req\n" GET_REQ(1) "reqend 1 complete @1\n"
	  "res 0 200 length=0 1.0 {Content-Length=0}\nend 0 complete @2\n"
	  "odd lenient res\nres 1 204 none {}\nend 1 complete @2\n", 0, 0 },
	{ "bad length: the exchange is known, its body is not", {
		C(GET GET), S("HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: x\r\n\r\nfoo") },
	  GET_REQ(0) "reqend 0 complete @1\n" GET_REQ(1) "reqend 1 complete @1\n"
	  "odd bad res\nres 0 lost 200 close {A=b}\n"
	  "end 0 lost @2\n", 0, 0 },
	{ "two lengths that differ", {
		C("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx") },
	  "odd bad req\nreq 0 lost POST / length=1 {Content-Length=1}\n"
	  "reqend 0 lost @1\n", 0, 0 },
	{ "garbage instead of a head: an answer that is not understood", {
		C(GET), S("data: 1\n\n"), THE_END },
	  GET_REQ(0) "reqend 0 complete @1\nodd bad res\n"
	  "res 0 lost close 0.0 {}\nend 0 lost @3\n", 0, 0 },
	{ "garbage after a body, a start line that is none", {
		C(GET "GET / FTP/1.1\r\n\r\n"),
		S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc") },
	  GET_REQ(0) "reqend 0 complete @1\nodd bad req\n"
	  "res 0 200 length=1 {Content-Length=1}\n< 0 a\nend 0 complete @2\n"
	  "odd bad res\n", 0, 0 },
	{ "no chunk head, an endless size, no CRLF after a chunk", {
		C(GET), S(CHUNKED "x") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "odd bad res\nend 0 lost @2\n", 0, 0 },
	{ "an endless chunk size", {
		C(GET), S(CHUNKED "11111111111111111\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "odd bad res\nend 0 lost @2\n", 0, 0 },
	{ "no CRLF after a chunk", {
		C(GET), S(CHUNKED "1\r\nabc") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 a\nodd bad res\nend 0 lost @2\n", 0, 0 },
	{ "no empty line after the last chunk", {
		C(GET), S(CHUNKED "0\r\nHTTP/1.1 200 OK\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "odd bad res\nend 0 lost @2\n", 0, 0 },
	{ "header limit: what fits, then the framing headers only", {
		C("POST / HTTP/1.1\r\nA: 1234567890123456789012345678901234567890\r\n"
		  "B: 123456789012345678901234567890\r\nC: d\r\nContent-Length: 2\r\n"
		  "Connection: keep-alive\r\nE: f\r\n\r\n{}") },
	  "odd header-limit req\nreq 0 POST / length=2 "
	  "{A=1234567890123456789012345678901234567890|Content-Length=2|"
	  "Connection=keep-alive}\n> 0 {}\nreqend 0 complete @1\n", 64, 0 },
	{ "header limit: a target that is too long is cut", {
		C("POST /2345678901234567890123456789012345678901234567890123456789012345"
		  " HTTP/1.1\r\nContent-Length: 2\r\nA: b\r\n\r\n{}") },
	  "odd header-limit req\nreq 0 POST /2345678901234567890123456789"
	  "012345678901234567890123456789 length=2 {Content-Length=2}\n> 0 {}\n"
	  "reqend 0 complete @1\n", 64, 0 },
	{ "header limit: a framing header folded past it", {
		C(GET), S("HTTP/1.1 200 OK\r\nA: 123456789012345678901234567890\r\n"
		    "Transfer-Encoding:\r\n chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n") },
	  GET_REQ(0) "reqend 0 complete @1\nodd lenient res\nodd header-limit res\n"
	  "res 0 200 chunked {A=123456789012345678901234567890|"
	  "Transfer-Encoding=chunked}\n< 0 x\nend 0 complete @2\n", 64, 0 },
	{ "pipeline limit", {
		C(GET GET GET), C(GET) },
	  GET_REQ(0) "reqend 0 complete @1\n" GET_REQ(1) "reqend 1 complete @1\n"
	  "odd pipeline-limit req\n" GET_REQ(2) "reqend 2 complete @1\n"
	  GET_REQ(3) "reqend 3 complete @2\n", 0, 2 },
	{ "pipeline limit: of HEAD requests, too, which are then forgotten", {
		C(HEAD HEAD HEAD), S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"
		    "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n") },
	  HEAD_REQ(0) "reqend 0 complete @1\n" HEAD_REQ(1) "reqend 1 complete @1\n"
	  "odd pipeline-limit req\n" HEAD_REQ(2) "reqend 2 complete @1\n"
	  "res 0 200 none {Content-Length=1}\nend 0 complete @2\n"
	  "res 1 200 none {}\nend 1 complete @2\n"
	  "res 2 200 length=1 {Content-Length=1}\n", 0, 2 },
	{ "no response before the close: nothing of it", {
		C(GET GET), S("HTTP/1.1 204 N\r\n\r\n"), S_FIN, C_FIN, THE_END },
	  GET_REQ(0) "reqend 0 complete @1\n" GET_REQ(1) "reqend 1 complete @1\n"
	  "res 0 204 none {}\nend 0 complete @2\n", 0, 0 },
	{ "the server closes inside a chunked body", {
		C(GET), S(CHUNKED "5\r\nab"), S_FIN, C_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 ab\nend 0 truncated @3\n", 0, 0 },
	{ "the server closes before the last chunk", {
		C(GET), S(CHUNKED "2\r\nab\r\n"), S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 ab\nend 0 truncated @3\n", 0, 0 },
	{ "the server resets", {
		C(GET), S(CHUNKED "2\r\nab\r\n"), S_RST },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 ab\nend 0 truncated @3\n", 0, 0 },
	{ "a reset is no end of an until-close body", {
		C(GET), S("HTTP/1.1 200 OK\r\n\r\nab"), S_RST },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 200 close {}\n< 0 ab\n"
	  "end 0 truncated @3\n", 0, 0 },
	{ "the client resets", {
		C(GET), S(CHUNKED "2\r\nab\r\n"), C_RST },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 ab\nend 0 aborted @3\n", 0, 0 },
	{ "half close: the client leaves first", {
		C(GET), S(CHUNKED "2\r\nab\r\n"), C_FIN, S("2\r\ncd\r\n"), S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 abcd\nend 0 aborted @3\n", 0, 0 },
	{ "half close, then the server resets", {
		C(GET), S(CHUNKED), C_FIN, S_RST },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0) "end 0 aborted @3\n",
	  0, 0 },
	{ "half close: the server completes", {
		C(GET), C_FIN, S(CHUNKED "2\r\nab\r\n"), S("0\r\n\r\n"), S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0)
	  "< 0 ab\nend 0 complete @4\n", 0, 0 },
	{ "half close: an until-close body that goes on is complete", {
		C(GET), C_FIN, S("HTTP/1.0 200 OK\r\n\r\nab"), S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 200 close 1.0 {}\n< 0 ab\n"
	  "end 0 complete @4\n", 0, 0 },
	{ "half close: an until-close body that just closes is left", {
		C(GET), S("HTTP/1.0 200 OK\r\n\r\nab"), C_FIN, S_FIN },
	  GET_REQ(0) "reqend 0 complete @1\nres 0 200 close 1.0 {}\n< 0 ab\n"
	  "end 0 aborted @3\n", 0, 0 },
	{ "half close, then the capture ends", {
		C(GET), S(CHUNKED), C_FIN, THE_END },
	  GET_REQ(0) "reqend 0 complete @1\n" CHUNKED_RES(0) "end 0 aborted @3\n",
	  0, 0 },
	{ "the capture ends", {
		C("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"), S(CHUNKED), THE_END },
	  "req 0 POST / length=3 {Content-Length=3}\n> 0 ab\n" CHUNKED_RES(0)
	  "reqend 0 open @3\nend 0 open @3\n", 0, 0 },
	{ "the request is cut; the server has closed before", {
		C("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"), S_FIN, C_FIN },
	  "req 0 POST / length=3 {Content-Length=3}\n> 0 ab\nreqend 0 aborted @2\n",
	  0, 0 },
	{ "the request is cut by its client, by the server's reset", {
		C("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"), C_FIN },
	  "req 0 POST / length=3 {Content-Length=3}\n> 0 ab\nreqend 0 truncated @2\n",
	  0, 0 },
	{ "closed inside the heads", {
		C("GET / HTTP/1.1\r\nA: b\r\nC"), S("HTTP/1.1 200 OK\r\nTransfer-En"),
		S_FIN, C_FIN },
	  "res 0 lost 200 close {}\nend 0 truncated @3\n"
	  "req 0 lost GET / none {A=b}\nreqend 0 aborted @3\n", 0, 0 },
	{ "the capture ends inside start lines that tell enough", {
		C("GET /x HTT"), S("HTTP/1.1 500 Inter"), THE_END },
	  "req 0 lost GET /x none {}\nreqend 0 open @3\n"
	  "res 0 lost 500 close {}\nend 0 open @3\n", 0, 0 },
	{ "the capture ends inside a start line", {
		C("GE"), THE_END },
	  "req 0 lost none 0.0 {}\nreqend 0 open @2\n", 0, 0 },
	{ "bytes after a close are not looked at", {
		C(GET), S_FIN, S("HTTP/1.1 200 OK\r\n\r\n"), THE_END },
	  GET_REQ(0) "reqend 0 complete @1\n", 0, 0 },
};

static void
test_clean(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(clean); i++) {
		const struct row *r = &clean[i];

		check(r, -1, 0);
		check(r, -1, 1);
		for (int j = 0; j < (int)N_ROWS(r->step); j++)
			for (size_t k = 1; k < r->step[j].n; k++)
				if (r->step[j].op == FEED)
					check(r, j, k);
	}
}

static void
test_header(void **state)
{
	struct http1_header x[] = {
		{ STR("A"), STR("1") }, { STR("b-C"), STR("2") },
		{ STR("B-c"), STR("3") },
	};
	struct http1_head head = { .headers = x, .n_headers = 3 };

	(void)state;
	assert_true(str_eq(http1_header(&head, STR("B-C")), STR("2")));
	assert_null(http1_header(&head, STR("b")).p);
}

/* Endless lines are read in one pass and held to the limit. */
static void
test_long_lines(void **state)
{
	static const char *const start[] = { "", "GET / HTTP/1.1\r\nA: ",
		"GET / HTTP/1.1\r\nA: b\r\n", "GET / HTTP/1.1\r\nA: b\r\n ", "GET /" };
	static const char *const unit[] = { "A", "x", "a:b\r\n", "c\r\n ", "y" };
	struct limits limits;

	(void)state;
	limits_init(&limits);
	for (size_t i = 0; i < N_ROWS(start); i++) {
		struct trace t;
		struct http1 *h;
		char piece[1000];
		size_t k = 0, unit_n = strlen(unit[i]);

		trace_init(&t);
		t.terse = true;
		h = http1_new(&limits, &trace_cb, &t);
		http1_feed(h, false, start[i], strlen(start[i]), (struct at){ 1, 1 });
		for (size_t n = 0; n < 10000000; n += sizeof piece) {
			for (size_t j = 0; j < sizeof piece; j++)
				piece[j] = unit[i][k++ % unit_n];
			http1_feed(h, false, piece, sizeof piece,
			    (struct at){ 1, 1 });
			assert_true(http1_held(h) <= limits.header + 2048);
		}
		http1_feed(h, false, "\r\nContent-Length: 1\r\n\r\nx", 25,
		    (struct at){ 1, 1 });
		assert_int_equal(http1_held(h), 0);
		http1_free(h);
		assert_false(t.illegal);
		buf_fini(&t.b);
	}
}

/* An idle connection in the middle of a stream holds no buffer. */
static void
test_held(void **state)
{
	static const char get[] = GET, head[] = CHUNKED "3\r\n:\n\n\r\n",
	    many[] = "HEAD / HTTP/1.1\r\n\r\nHEAD / HTTP/1.1\r\n\r\n";
	struct limits limits;
	struct trace t;
	struct http1 *h;
	struct at at = { 1, 1 };

	(void)state;
	limits_init(&limits);
	trace_init(&t);
	h = http1_new(&limits, &trace_cb, &t);
	assert_int_equal(http1_held(h), 0);
	http1_feed(h, false, get, 10, at);
	assert_int_not_equal(http1_held(h), 0);
	http1_feed(h, false, get + 10, sizeof get - 11, at);
	http1_feed(h, true, head, sizeof head - 1, at);
	assert_int_equal(http1_held(h), 0);
	http1_feed(h, false, many, sizeof many - 1, at);
	assert_int_not_equal(http1_held(h), 0);
	http1_feed(h, true, "0\r\n\r\nHTTP/1.1 200 O\r\n\r\n", 23, at);
	http1_feed(h, true, "HTTP/1.1 200 O\r\n\r\n", 18, at);
	assert_int_equal(http1_held(h), 0);
	http1_free(h);
	buf_fini(&t.b);
	http1_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
