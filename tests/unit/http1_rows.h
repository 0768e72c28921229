/* http1_rows: a connection as a table row: steps, and the trace they give. */
#ifndef MCPDIAG_TEST_HTTP1_ROWS_H
#define MCPDIAG_TEST_HTTP1_ROWS_H

#include "util.h"

#include "http1_trace.h"

enum op { END, FEED, GAP, CLOSE, EOF_ };
enum { CLIENT, SERVER };
enum { BY_FIN, BY_RST, BY_PEER_RST };	/* how CLOSE */

struct step {
	enum op op;
	int dir;
	const char *text;
	size_t n;		/* length of text, of a gap; how closed */
};

#define C(text) { FEED, CLIENT, text, sizeof(text) - 1 }
#define S(text) { FEED, SERVER, text, sizeof(text) - 1 }
#define C_GAP(n) { GAP, CLIENT, NULL, n }
#define S_GAP(n) { GAP, SERVER, NULL, n }
#define C_FIN { CLOSE, CLIENT, NULL, BY_FIN }
#define S_FIN { CLOSE, SERVER, NULL, BY_FIN }
/* Both halves of a reset, as flow reports it. */
#define C_RST { CLOSE, CLIENT, NULL, BY_RST }, \
	{ CLOSE, SERVER, NULL, BY_PEER_RST }
#define S_RST { CLOSE, SERVER, NULL, BY_RST }, \
	{ CLOSE, CLIENT, NULL, BY_PEER_RST }
#define THE_END { EOF_, 0, NULL, 0 }

struct row {
	const char *what;
	struct step step[12];
	const char *want;
	uint64_t header, pipeline;	/* limits, when not 0 */
};

#define GET "GET /mcp HTTP/1.1\r\nHost: h\r\n\r\n"
#define GET_REQ(n) "req " #n " GET /mcp none {Host=h}\n"
#define HEAD "HEAD / HTTP/1.1\r\n\r\n"
#define HEAD_REQ(n) "req " #n " HEAD / none {}\n"
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CHUNKED_RES(n) "res " #n " 200 chunked {Transfer-Encoding=chunked}\n"

static inline void
feed(struct http1 *h, int dir, const void *p, size_t n, struct at at)
{
	struct guard g = guard_of(p, n);

	http1_feed(h, dir, g.p, n, at);
	guard_free(&g);
}

/* Runs a row; step `cut` is fed in two pieces, the first of `k` bytes; with
 * cut < 0 everything is fed byte by byte, if k > 0. */
static inline void
run(const struct row *r, int cut, size_t k, struct trace *t)
{
	struct limits limits;
	struct http1 *h;

	limits_init(&limits);
	if (r->header)
		limits.header = r->header;
	if (r->pipeline)
		limits.pipeline = r->pipeline;
	trace_init(t);
	h = http1_new(&limits, &trace_cb, t);
	for (int i = 0; i < (int)N_ROWS(r->step) && r->step[i].op; i++) {
		const struct step *s = &r->step[i];
		struct at at = { i + 1, (uint32_t)i + 1 };

		switch (s->op) {
		case FEED:
			if (cut < 0 && k > 0) {
				for (size_t j = 0; j < s->n; j++)
					feed(h, s->dir, s->text + j, 1, at);
			} else if (i == cut) {
				feed(h, s->dir, s->text, k, at);
				feed(h, s->dir, s->text + k, s->n - k, at);
			} else {
				feed(h, s->dir, s->text, s->n, at);
			}
			break;
		case GAP:
			http1_gap(h, s->dir, s->n, at);
			break;
		case CLOSE:
			http1_close(h, s->dir, s->n != BY_FIN,
			    s->n == BY_PEER_RST, at);
			break;
		case EOF_:
			http1_eof(h, at);
			break;
		case END:
			break;
		}
	}
	trace_line_end(t);
	(void)buf_addc(&t->b, '\0');
	http1_free(h);
}

static inline void
check(const struct row *r, int cut, size_t k)
{
	struct trace t;

	run(r, cut, k, &t);
	if (strcmp(t.b.p, r->want) != 0 || t.illegal)
		fail_msg("%s (cut %d at %zu%s):\n--- got\n%s--- want\n%s",
		    r->what, cut, k, t.illegal ? ", illegal" : "", t.b.p,
		    r->want);
	buf_fini(&t.b);
}

#endif
