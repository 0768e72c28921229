#include "mcpdiag/observe.h"

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/err.h"
#include "util.h"

/* A script is a list of pieces, each led by a byte that says what it is:
 * C: bytes of the client, S: of the server; P: a POST with that body, A: the
 * answer 200 with that body, T: the head of an event stream, K: a chunk of it,
 * E: its end; c: FIN of the client, s: of the server, r: RST by the client,
 * g: a gap of that many bytes of the server.  The trace is what the model says. */
struct piece {
	char what;
	const char *p;
	size_t n;
};

#define C(lit) { 'C', lit, sizeof(lit) - 1 }
#define S(lit) { 'S', lit, sizeof(lit) - 1 }
#define P(lit) { 'P', lit, sizeof(lit) - 1 }
#define A(lit) { 'A', lit, sizeof(lit) - 1 }
#define K(lit) { 'K', lit, sizeof(lit) - 1 }
#define T { 'T', "", 0 }
#define E { 'E', "", 0 }
#define CLIENT_FIN { 'c', "", 0 }
#define SERVER_FIN { 's', "", 0 }
#define CLIENT_RST { 'r', "", 0 }
#define GAP(bytes) { 'g', "", bytes }
#define MAX_PIECES 12

#define GET "GET /mcp HTTP/1.1\r\nHost: h\r\nMcp-Session-Id: S\r\n\r\n"
#define NONE " X\r\nContent-Length: 0\r\n\r\n"
#define RPC "{\"jsonrpc\":\"2.0\","

static const struct row {
	const char *what;
	bool mid;			/* picked up in mid-stream */
	struct piece pieces[MAX_PIECES];
	const char *want;
} rows[] = {
	{ "a request and its JSON answer", false, {
	    P(RPC "\"id\":1,\"method\":\"tools/list\"}"), A(RPC "\"id\":1,\"result\":{}}"), },
	    "POST /mcp\nc2s request tools/list 1\nasked complete 46\n200 content-length\n"
	    "s2c response 1\ndone complete 36\n" },
	{ "an event stream", false, {
	    C(GET), T, K("id: 1\nretry: 5\ndata: \n\n"), K(":\n\n"),
	    K("data: " RPC "\"method\":\"notifications/progress\"}\n\n"), E, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\n"
	    "event id=1 retry=5 0\ncomment ''\nevent 51\ns2c notification notifications/progress\n"
	    "stream complete\ndone complete 85\n" },
	{ "data in several lines, id at last", false, {
	    C(GET), T, K("data: {\"jsonrpc\":\ndata: \"2.0\",\ndata: \"method\":\"ping\",\n"
	    "data: \"id\":7}\nid: x\n\n"), E, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\n"
	    "event id=x 43\ns2c request ping 7\nstream complete\ndone complete 75\n" },
	{ "one message in many chunks", false, {
	    C(GET), T, K("da"), K("ta: {\"jsonr"), K("pc\":\"2.0\",\"meth"), K("od\":\"pi"),
	    K("ng\",\"id\":7}"), K("\n"), K("\n"), E, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\n"
	    "event 40\ns2c request ping 7\nstream complete\ndone complete 48\n" },
	{ "a batch in each direction", false, {
	    P("[" RPC "\"id\":1,\"method\":\"ping\"}," RPC "\"id\":2,\"method\":\"ping\"},"
	    RPC "\"method\":\"n/x\"}]"),
	    A("[" RPC "\"id\":1,\"result\":{}}," RPC "\"id\":2,\"result\":{}}]"), },
	    "POST /mcp\nc2s request ping 1\nc2s request ping 2\nc2s notification n/x\n"
	    "asked complete 116\n200 content-length\ns2c response 1\ns2c response 2\n"
	    "done complete 75\n" },
	{ "a batch as an event", false, {
	    C(GET), T, K("data: [" RPC "\"id\":1,\"result\":{}},\ndata: " RPC
	    "\"id\":2,\"result\":{}}]\n\n"), E, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\n"
	    "event 76\ns2c response 1\ns2c response 2\nstream complete\ndone complete 90\n" },
	{ "an endpoint event", false, {
	    C("GET /sse HTTP/1.1\r\nHost: h\r\n\r\n"),
	    S("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"),
	    S("event: endpoint\ndata: /m?sessionId=1\n\n"), SERVER_FIN, },
	    "GET /sse\nasked complete 0\n200 until-close\nstream legacy\n"
	    "event endpoint 14\nstream complete\ndone complete 38\n" },
	{ "ended by the server before its time", false, {
	    C(GET), T, K(":\n\n"), SERVER_FIN, CLIENT_FIN, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\ncomment ''\n"
	    "stream truncated\ndone truncated 3\n" },
	{ "left by the client", false, {
	    C(GET), T, K(":\n\n"), CLIENT_FIN, SERVER_FIN, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\ncomment ''\n"
	    "stream client\ndone client 3\n" },
	{ "reset by the client", false, { C(GET), T, CLIENT_RST, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\n"
	    "stream client\ndone client 0\n" },
	{ "a tail that the end cuts off is no message", false, {
	    C(GET), S("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	    "data: " RPC "\"method\":\"ping\",\"id\":1}\n"), SERVER_FIN, },
	    "GET /mcp\nasked complete 0\n200 until-close\nstream standalone\n"
	    "event 40 tail\nstream complete\ndone complete 47\n" },
	{ "a message and what does not belong there", false, {
	    C(GET), T, K("data: " RPC "\"method\":\"n/x\"}}\n\n"), E, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\n"
	    "event 33\ns2c notification n/x\nstream complete\ndone complete 41\n" },
	{ "events that hold no JSON-RPC", false, {
	    C(GET), T, K("data: hello\n\ndata: {}\n\ndata: {\"a\":\n\n"), E, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\n"
	    "event 5\nevent 2\nevent 5\nstream complete\ndone complete 36\n" },
	{ "a bare error for a JSON-RPC request", false, {
	    P(RPC "\"id\":1,\"method\":\"ping\"}"),
	    A("{\"error\":{\"code\":1,\"message\":\"gone\"}}"), },
	    "POST /mcp\nc2s request ping 1\nasked complete 40\n200 content-length\n"
	    "s2c error\ndone complete 37\n" },
	{ "not for another", false, {
	    P("{}"), A("{\"error\":{\"code\":1,\"message\":\"gone\"}}"), },
	    "POST /mcp\nasked complete 2\n200 content-length\ndone complete 37\n" },
	{ "white space before JSON", false, { P(" \n" RPC "\"id\":1,\"method\":\"ping\"}"), },
	    "POST /mcp\nc2s request ping 1\nasked complete 42\n" },
	{ "bodies that are no JSON", false, { P("{a}"), A("[1,}"), },
	    "POST /mcp\nanomaly bad-json\nasked complete 3\n200 content-length\n"
	    "anomaly bad-json\ndone complete 4\n" },
	{ "a JSON body that is not whole is no anomaly", false, {
	    C("POST /mcp HTTP/1.1\r\nHost: h\r\nMcp-Session-Id: S\r\nContent-Length: 40\r\n\r\n"
	    RPC "\"id\":1,"), CLIENT_FIN, SERVER_FIN, },
	    "POST /mcp\nasked client 24\n" },
	{ "what other methods carry is not ours", false, {
	    C("PUT /mcp HTTP/1.1\r\nHost: h\r\nMcp-Session-Id: S\r\nContent-Length: 40\r\n\r\n"
	    RPC "\"id\":1,\"method\":\"ping\"}"), S("HTTP/1.1 405" NONE), },
	    "PUT /mcp\nasked complete 40\n405 content-length\ndone complete 0\n" },
	{ "an error page of type event-stream is no stream", false, {
	    C(GET), S("HTTP/1.1 500 X\r\nContent-Type: text/event-stream\r\n"
	    "Content-Length: 9\r\n\r\ndata: x\n\n"), },
	    "GET /mcp\nasked complete 0\n500 content-length\ndone complete 9\n" },
	{ "nor is an empty one", false, {
	    C(GET), S("HTTP/1.1 204 X\r\nContent-Type: text/event-stream\r\n\r\n"), },
	    "GET /mcp\nasked complete 0\n204 none\ndone complete 0\n" },
	{ "an interim response", false, {
	    C(GET), S("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202" NONE), },
	    "GET /mcp\nasked complete 0\n202 content-length\ndone complete 0\n" },
	{ "requests sent ahead", false, {
	    C(GET GET), S("HTTP/1.1 409" NONE), S("HTTP/1.1 410" NONE), },
	    "GET /mcp\nasked complete 0\nGET /mcp\nasked complete 0\n409 content-length\n"
	    "done complete 0\n410 content-length\ndone complete 0\n" },
	{ "a coding that is not known", false, {
	    C(GET), S("HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n"
	    "Content-Encoding: aes\r\nContent-Length: 4\r\n\r\nabcd"), },
	    "GET /mcp\nasked complete 0\nanomaly coding\n200 content-length\n"
	    "stream standalone\nstream complete undecoded\ndone complete 4 undecoded\n" },
	{ "a body that is not what it says", false, {
	    C(GET), S("HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n"
	    "Content-Encoding: gzip\r\nContent-Length: 12\r\n\r\ndata: abcd\n\n"), },
	    "GET /mcp\nasked complete 0\n200 content-length\nstream standalone\n"
	    "anomaly bad-coding\nstream complete undecoded\ndone complete 12 undecoded\n" },
	{ "the server speaks first: it is picked up in mid-stream", true, {
	    S("HTTP/1.1 200 OK\r\nMcp-Session-Id: S\r\nContent-Length: 0\r\n\r\n"), C(GET),
	    S("HTTP/1.1 405" NONE), },
	    "-\nasked lost 0 lost\n200 content-length lost\ndone complete 0 lost\n"
	    "GET /mcp\nasked complete 0\n405 content-length\ndone complete 0\n" },
	{ "it does, but everything was seen", false, {
	    S("HTTP/1.1 200 OK\r\nMcp-Session-Id: S\r\nContent-Length: 0\r\n\r\n"), },
	    "anomaly unasked\n-\nasked lost 0 lost\n200 content-length lost\n"
	    "done complete 0 lost\n" },
	{ "the client does, there too", true, { C(GET), S("HTTP/1.1 405" NONE), },
	    "GET /mcp\nasked complete 0\n405 content-length\ndone complete 0\n" },
};

/* The bytes of a piece, with what they are framed in. */
static struct str
frame(const struct piece *p, struct buf *b)
{
	buf_clear(b);
	switch (p->what) {
	case 'P':
		(void)buf_fmt(b, "POST /mcp HTTP/1.1\r\nHost: h\r\nMcp-Session-Id: S\r\n"
		    "Content-Length: %zu\r\n\r\n%s", p->n, p->p);
		break;
	case 'A':
		(void)buf_fmt(b, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		    "Content-Length: %zu\r\n\r\n%s", p->n, p->p);
		break;
	case 'T':
		(void)buf_adds(b, STR("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n"));
		break;
	case 'K':
		(void)buf_fmt(b, "%zx\r\n%s\r\n", p->n, p->p);
		break;
	case 'E':
		(void)buf_adds(b, STR("0\r\n\r\n"));
		break;
	default:
		(void)buf_add(b, p->p, p->n);
		break;
	}
	return buf_str(b);
}

/* ---- from pieces to a trace ---- */

static void
trace(void *arg, const struct ev *e)
{
	struct buf *b = arg;

	switch (e->type) {
	case EV_REQUEST:
		if (e->u.req.method.p)
			(void)buf_fmt(b, "%.*s %.*s\n", STR_ARG(e->u.req.method),
			    STR_ARG(e->u.req.target));
		else
			(void)buf_adds(b, STR("-\n"));
		return;
	case EV_RESPONSE:
		(void)buf_fmt(b, "%u %.*s%s\n", e->u.resp.status, STR_ARG(e->u.resp.framing),
		    e->flags & EVF_HEAD_LOST ? " lost" : "");
		return;
	case EV_REQUEST_END: case EV_RESPONSE_END:
		(void)buf_fmt(b, "%s %s %llu%s%s\n", e->type == EV_REQUEST_END ? "asked" :
		    "done", ev_end_names[e->u.end.end], (unsigned long long)e->u.end.bytes,
		    e->flags & EVF_UNDECODED ? " undecoded" : "",
		    e->flags & EVF_HEAD_LOST ? " lost" : "");
		return;
	case EV_STREAM:
		(void)buf_fmt(b, "stream %s\n", ev_kind_names[e->u.stream.kind]);
		return;
	case EV_STREAM_END:
		(void)buf_fmt(b, "stream %s%s\n", ev_end_names[e->u.stream_end.end],
		    e->flags & EVF_UNDECODED ? " undecoded" : "");
		return;
	case EV_SSE:
		(void)buf_adds(b, STR("event"));
		if (e->u.sse.name.p)
			(void)buf_fmt(b, " %.*s", STR_ARG(e->u.sse.name));
		if (e->u.sse.id.p)
			(void)buf_fmt(b, " id=%.*s", STR_ARG(e->u.sse.id));
		if (e->u.sse.retry_ms >= 0)
			(void)buf_fmt(b, " retry=%lld", (long long)e->u.sse.retry_ms);
		(void)buf_fmt(b, " %llu%s%s%s\n", (unsigned long long)e->u.sse.bytes,
		    e->u.sse.tail ? " tail" : "", e->flags & EVF_CUT ? " cut" : "",
		    e->flags & EVF_GAP ? " gap" : "");
		return;
	case EV_COMMENT:
		(void)buf_fmt(b, "comment '%.*s'\n", STR_ARG(e->u.comment.text));
		return;
	case EV_MESSAGE:
		(void)buf_fmt(b, "%s %s", ev_dir_names[e->dir], ev_msg_names[e->u.msg.kind]);
		if (e->u.msg.method.p)
			(void)buf_fmt(b, " %.*s", STR_ARG(e->u.msg.method));
		if (e->u.msg.id.p)
			(void)buf_fmt(b, " %.*s", STR_ARG(e->u.msg.id));
		(void)buf_addc(b, '\n');
		return;
	case EV_ANOMALY: case EV_NOTE:
		(void)buf_fmt(b, "anomaly %.*s\n", STR_ARG(e->u.note.name));
		return;
	case EV_GAP:
		(void)buf_adds(b, STR("gap\n"));
		return;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_SESSION: case EV_SESSION_END:
	case EV_OWNER: case EV_STALL: case EV_FINDING: case EV_END: case EV_N_TYPES:
		return;
	}
}

struct run {
	struct limits lim;
	struct model *m;
	struct observe *o;
	struct oconn *c;
	struct buf trace;
	struct observe_stats stats;
	bool wanted;			/* what observe_data() said last */
	bool bytewise;
	size_t cut;			/* of the next piece, 0 none */
	uint32_t pkt;
};

static void
run_begin(struct run *r, const struct limits *lim, bool mid)
{
	*r = (struct run){ .wanted = true };
	if (lim)
		r->lim = *lim;
	else
		limits_init(&r->lim);
	buf_init(&r->trace, 1 << 20);
	r->m = model_new(&r->lim, false, trace, &r->trace);
	r->o = observe_new(&r->lim, r->m);
	r->c = observe_open(r->o, "1.1.1.1:1", "2.2.2.2:2", !mid, (struct at){ 1, 1 });
}

static void
run_data(struct run *r, int dir, const char *p, size_t n)
{
	struct guard g = guard_of(p, n);

	if (r->wanted)
		r->wanted = observe_data(r->c, dir, g.p, n, (struct at){ 1, ++r->pkt });
	guard_free(&g);
}

static void
run_piece(struct run *r, const struct piece *p)
{
	struct at at = { 1, ++r->pkt };
	struct str bytes;
	struct buf b;

	switch (p->what) {
	case 'c': case 's':
		observe_close(r->c, p->what == 's', "fin", p->what == 's', at);
		return;
	case 'r':
		observe_close(r->c, 0, "rst", 0, at);
		observe_close(r->c, 1, "rst", 0, at);
		return;
	case 'g':
		observe_gap(r->c, 1, p->n, at);
		return;
	}
	buf_init(&b, 4096);
	bytes = frame(p, &b);
	if (r->bytewise)
		for (size_t i = 0; i < bytes.n; i++)
			run_data(r, p->what != 'C' && p->what != 'P', bytes.p + i, 1);
	else if (r->cut) {
		run_data(r, p->what != 'C' && p->what != 'P', bytes.p, r->cut);
		run_data(r, p->what != 'C' && p->what != 'P', bytes.p + r->cut,
		    bytes.n - r->cut);
	} else
		run_data(r, p->what != 'C' && p->what != 'P', bytes.p, bytes.n);
	buf_fini(&b);
}

static void
run_end(struct run *r)
{
	struct at at = { 1, ++r->pkt };

	observe_end(r->c, at);
	r->stats = *observe_stats(r->o);
	observe_free(r->o);
	model_free(r->m);
}

static void
check(const struct row *row, struct run *r, const char *how)
{
	if (!str_eq(buf_str(&r->trace), str_c(row->want)))
		fail_msg("%s, %s:\n%.*s--- wanted:\n%s", row->what, how,
		    STR_ARG(buf_str(&r->trace)), row->want);
	buf_fini(&r->trace);
}

/* Piece `cut` cut in two at `at`; byte by byte when it is -1. */
static void
run_row(const struct row *row, int cut, size_t at, const char *how)
{
	struct run r;

	run_begin(&r, NULL, row->mid);
	r.bytewise = cut == -1;
	for (int i = 0; i < MAX_PIECES && row->pieces[i].what; i++) {
		r.cut = i == cut ? at : 0;
		run_piece(&r, &row->pieces[i]);
	}
	run_end(&r);
	check(row, &r, how);
}

static void
test_rows(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		run_row(&rows[i], -2, 0, "as it is");
		run_row(&rows[i], -1, 0, "byte by byte");
		for (int j = 0; j < MAX_PIECES && rows[i].pieces[j].what; j++) {
			size_t n = frame(&rows[i].pieces[j], &b).n;

			for (size_t at = 1; at < n; at++) {
				char how[64];

				(void)snprintf(how, sizeof how, "piece %d cut at %zu", j, at);
				run_row(&rows[i], j, at, how);
			}
		}
	}
	buf_fini(&b);
	observe_free(NULL);
}

/* ---- what a connection is ---- */

static void
test_sniff(void **state)
{
	static const struct {
		const char *what;
		bool mid;
		struct piece pieces[4];
		char is;			/* e, 2, o, or h: HTTP */
	} kinds[] = {
		{ "nothing", false, { { 0 } }, 'o' },
		{ "a request", false, { C(GET) }, 'h' },
		{ "a TLS hello", false, {
		    C("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03") }, 'e' },
		{ "in short pieces", false, { C("\x16"), C("\x03"), C("\x01\x02") }, 'e' },
		{ "TLS data in mid-stream", true, { S("\x17\x03\x03\x00\x20xxxx") }, 'e' },
		{ "the preface of HTTP/2", false, { C("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") }, '2' },
		{ "in short pieces", false, { C("PRI"), C(" * HT"), C("TP/2.0\r\n\r\nSM") }, '2' },
		{ "a server's settings", true, {
		    S("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\xff\xff") }, '2' },
		{ "SSH", false, { C("SSH-2.0-OpenSSH_9.2p1\r\n") }, 'o' },
		{ "letters without end", false, { C("AAAAAAAAAAAAAAAAAAAA"),
		    C("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") }, 'o' },
		{ "a request in short pieces", false, { C("G"), C("ET"), C(&GET[3]) }, 'h' },
		{ "a body in mid-stream, then a request", true, {
		    C("\"params\":{}}"), C(GET) }, 'h' },
		{ "a chunk in mid-stream", true, { S("3\r\n:\n\n\r\n") }, 'h' },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(kinds); i++) {
		struct run r;
		char is;

		run_begin(&r, NULL, kinds[i].mid);
		for (int j = 0; j < 4 && kinds[i].pieces[j].what; j++)
			run_piece(&r, &kinds[i].pieces[j]);
		/* No more of it once it is known to be of no interest. */
		if (kinds[i].is != 'h' && kinds[i].pieces[0].what)
			assert_false(r.wanted);
		run_end(&r);
		is = r.stats.encrypted ? 'e' : r.stats.http2 ? '2' : r.stats.other ? 'o' : 'h';
		if (is != kinds[i].is)
			fail_msg("%s: %c", kinds[i].what, is);
		assert_true(r.stats.encrypted + r.stats.http2 + r.stats.other <= 1);
		buf_fini(&r.trace);
	}
}

/* ---- what is lost ---- */

static const struct row gaps[] = {
	{ "between two events", false, {
	    C(GET), T, K("data: a\n\n"), GAP(9), K("data: b\n\n"), E, },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\nevent 1\ngap\n"
	    "event 1 gap\nstream complete\ndone complete 18\n" },
	{ "more than a terminator: how it ended is not known", false, {
	    C(GET), T, K(":\n\n"), GAP(900), C(GET), S("HTTP/1.1 404" NONE), },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\ncomment ''\ngap\n"
	    "GET /mcp\nasked complete 0\nstream lost\ndone lost 3\n"
	    "404 content-length\ndone complete 0\n" },
	{ "a terminator, shown by what follows", false, {
	    C(GET), T, K(":\n\n"), GAP(5), C(GET), S("HTTP/1.1 404" NONE), },
	    "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\ncomment ''\ngap\n"
	    "stream complete\ndone complete 3\nGET /mcp\nasked complete 0\n"
	    "404 content-length\ndone complete 0\n" },
	{ "the start of a chunked stream, in mid-stream", true, {
	    K("data: a\n\n"), K(":\n\n"), E, C(GET), },
	    "-\nasked lost 0 lost\n0 chunked lost\nstream unknown\nevent 1\ncomment ''\n"
	    "stream complete\ndone complete 12 lost\nGET /mcp\nasked complete 0\n" },
};

static void
test_gaps(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(gaps); i++)
		run_row(&gaps[i], -2, 0, "as it is");
}

/* ---- compressed streams ---- */

/* Events as a server compresses them: flushed after each, one chunk each. */
static void
gzip_chunks(struct buf *out, const char *const *events, unsigned n)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	for (unsigned i = 0; i <= n; i++) {
		unsigned char b[1000];

		z.next_in = (unsigned char *)(uintptr_t)(i < n ? events[i] : "");
		z.avail_in = i < n ? (unsigned)strlen(events[i]) : 0;
		z.next_out = b;
		z.avail_out = sizeof b;
		assert_true(deflate(&z, i < n ? Z_SYNC_FLUSH : Z_FINISH) >= Z_OK);
		(void)buf_fmt(out, "%zx\r\n", sizeof b - z.avail_out);
		(void)buf_add(out, b, sizeof b - z.avail_out);
		(void)buf_adds(out, STR("\r\n"));
	}
	(void)buf_adds(out, STR("0\r\n\r\n"));
	(void)deflateEnd(&z);
}

static void
test_gzip(void **state)
{
	static const char *const events[] = {
		"id: 1\ndata: \n\n", ": ping\n\n",
		"data: " RPC "\"method\":\"notifications/message\"}\n\n",
		"data: " RPC "\"method\":\"notifications/message\"}\n\n",
	};
	static const char want[] = "GET /mcp\nasked complete 0\n200 chunked\nstream standalone\n"
	    "event id=1 0\ncomment ' ping'\nevent 50\ns2c notification notifications/message\n"
	    "event 50\ns2c notification notifications/message\nstream complete\n";
	struct buf bytes;

	(void)state;
	buf_init(&bytes, 1 << 16);
	(void)buf_adds(&bytes, STR("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	    "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"));
	gzip_chunks(&bytes, events, N_ROWS(events));
	for (size_t at = 0; at <= bytes.n; at++) {
		struct run r;

		run_begin(&r, NULL, false);
		run_data(&r, 0, GET, sizeof GET - 1);
		if (at == 0)
			for (size_t i = 0; i < bytes.n; i++)
				run_data(&r, 1, bytes.p + i, 1);
		else {
			run_data(&r, 1, bytes.p, at);
			run_data(&r, 1, bytes.p + at, bytes.n - at);
		}
		run_end(&r);
		if (!str_pre(buf_str(&r.trace), str_c(want)))
			fail_msg("cut at %zu:\n%.*s", at, STR_ARG(buf_str(&r.trace)));
		buf_fini(&r.trace);
	}
	buf_fini(&bytes);
}

/* ---- limits ---- */

static void
test_limits(void **state)
{
	static const char blob[] = "0123456789012345678901234567890123456789";
	struct limits lim;
	struct buf b;
	struct run r;

	(void)state;
	limits_init(&lim);
	lim.sse_event = 64;
	buf_init(&b, 1 << 16);
	/* An event over the limit is told, cut, and not scanned; the next is. */
	(void)buf_fmt(&b, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	    "data: " RPC "\"method\":\"n/a\",\"params\":\"%s%s\"}\n\n"
	    "data: " RPC "\"method\":\"n/b\"}\n\n", blob, blob);
	for (int bytewise = 0; bytewise < 2; bytewise++) {
		run_begin(&r, &lim, false);
		run_data(&r, 0, GET, sizeof GET - 1);
		for (size_t i = 0; i < b.n; i += bytewise ? 1 : b.n)
			run_data(&r, 1, b.p + i, bytewise ? 1 : b.n);
		run_end(&r);
		if (str_find(buf_str(&r.trace), STR("event 124 cut\nevent 32\n"
		    "s2c notification n/b\n")) == SIZE_MAX)
			fail_msg("%.*s", STR_ARG(buf_str(&r.trace)));
		buf_fini(&r.trace);
	}
	buf_fini(&b);
}

/* What an event stream of these bytes says, in pieces of n. */
static void
limited(const struct limits *lim, struct str bytes, size_t n, const char *want)
{
	struct run r;

	run_begin(&r, lim, false);
	run_data(&r, 0, GET, sizeof GET - 1);
	for (size_t i = 0; i < bytes.n; i += n)
		run_data(&r, 1, bytes.p + i, bytes.n - i < n ? bytes.n - i : n);
	run_end(&r);
	if (str_find(buf_str(&r.trace), str_c(want)) == SIZE_MAX)
		fail_msg("pieces of %zu: no %s in\n%.*s", n, want,
		    STR_ARG(str_of(buf_str(&r.trace).p, r.trace.n < 3000 ? r.trace.n : 3000)));
	buf_fini(&r.trace);
}

/* What JSON may be cut or odd in, and a comment, is told by name. */
static void
test_told_limits(void **state)
{
#define HEAD_SSE "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	static const struct {
		struct str bytes;
		const char *want;
	} told[] = {
		{ { HEAD_SSE "data: " RPC "\"method\":\"ping\",\"params\":[[[[[]]]]]}\n\n", 0 },
		    "anomaly json-depth\n" },
		{ { HEAD_SSE "data: " RPC "\"id\":1,\"method\":\"a-method-of-many-letters\"}\n\n",
		    0 }, "anomaly json-value\n" },
		{ { HEAD_SSE "data: " RPC "\"id\":\"an-id-of-many-letters\",\"method\":\"ping\"}"
		    "\n\n", 0 }, "anomaly json-value\nanomaly limit\n" },
		{ { HEAD_SSE "data: " RPC "\"id\":1,\"method\":\"\xff\"}\n\n", 0 },
		    "anomaly bad-utf8\n" },
		{ { HEAD_SSE "data: " RPC "\"id\":1,\"method\":\"\\ud800\"}\n\n", 0 },
		    "anomaly bad-utf16\n" },
		{ { HEAD_SSE "data: " RPC "\"id\":1,\"id\":2,\"method\":\"ping\"}\n\n", 0 },
		    "anomaly duplicate-key\n" },
		{ { HEAD_SSE ":a comment of many letters\n\n", 0 },
		    "comment 'a comment of man'\nanomaly long-comment\n" },
		{ { HEAD_SSE ":a comment\n\n", 0 }, "comment 'a comment'\nstream lost" },
	};
	struct limits lim;

	(void)state;
	limits_init(&lim);
	lim.json_depth = 4;
	lim.json_value = lim.sse_line = 16;
	for (size_t i = 0; i < N_ROWS(told); i++) {
		struct str bytes = str_c(told[i].bytes.p);

		limited(&lim, bytes, bytes.n, told[i].want);
		limited(&lim, bytes, 1, told[i].want);
	}
}

/* A batch of 20,000 as one event, over many pieces: as many as are kept come,
 * it is said that there were more, and the stream goes on. */
static void
test_batch_limit(void **state)
{
	struct buf b;
	struct run r;

	(void)state;
	buf_init(&b, 4 << 20);
	(void)buf_adds(&b, STR(HEAD_SSE "data: ["));
	for (int i = 0; i < 20000; i++)
		(void)buf_fmt(&b, "%s" RPC "\"id\":%d,\"result\":{}}", i ? "," : "", i);
	(void)buf_adds(&b, STR("]\n\ndata: " RPC "\"method\":\"n/b\"}\n\n"));
	run_begin(&r, NULL, false);
	run_data(&r, 0, GET, sizeof GET - 1);
	for (size_t i = 0; i < b.n; i += 1000)
		run_data(&r, 1, b.p + i, b.n - i < 1000 ? b.n - i : 1000);
	run_end(&r);
	assert_true(str_find(buf_str(&r.trace), STR("anomaly limit\nevent ")) != SIZE_MAX);
	assert_true(str_find(buf_str(&r.trace), STR(" cut\ns2c response 0\n")) != SIZE_MAX);
	assert_true(str_find(buf_str(&r.trace), STR("s2c response 2000\n")) != SIZE_MAX);
	assert_true(str_find(buf_str(&r.trace), STR("s2c response 19999\n")) == SIZE_MAX);
	assert_true(str_find(buf_str(&r.trace), STR("s2c notification n/b\n")) != SIZE_MAX);
	buf_fini(&r.trace);
	buf_fini(&b);
}

/* What has waited longest is given up; its answer comes from nowhere, and
 * those of the others still find theirs. */
static void
test_pipeline_limit(void **state)
{
	static const char want[] =
	    "GET /mcp\nasked complete 0\nGET /mcp\nasked complete 0\n"
	    "GET /mcp\nasked complete 0\nGET /mcp\nasked complete 0\n"
	    "anomaly limit\nGET /mcp\nasked complete 0\n"
	    "done lost 0\nGET /mcp\nasked complete 0\n"
	    "-\nasked lost 0 lost\n405 content-length lost\ndone complete 0 lost\n"
	    "406 content-length\ndone complete 0\n";
	struct limits lim;
	struct run r;

	(void)state;
	limits_init(&lim);
	lim.pipeline = 4;
	run_begin(&r, &lim, false);
	for (int i = 0; i < 6; i++)
		run_data(&r, 0, GET, sizeof GET - 1);
	run_data(&r, 1, "HTTP/1.1 405" NONE, sizeof "HTTP/1.1 405" NONE - 1);
	run_data(&r, 1, "HTTP/1.1 406" NONE, sizeof "HTTP/1.1 406" NONE - 1);
	run_end(&r);
	if (str_find(buf_str(&r.trace), str_c(want)) != 0)
		fail_msg("%.*s", STR_ARG(buf_str(&r.trace)));
	buf_fini(&r.trace);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows), cmocka_unit_test(test_sniff),
		cmocka_unit_test(test_gaps), cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_pipeline_limit),
		cmocka_unit_test(test_told_limits), cmocka_unit_test(test_batch_limit),
	};

	return cmocka_run_group_tests_name("observe", tests, NULL, NULL);
}
