/* http1_trace: the callbacks of http1 as text, for its tests and fuzz target.
 * Touching body pieces are put together, so that the text does not depend on
 * how the input was cut.  Checks on the way that calls come in a legal order. */
#ifndef MCPDIAG_TEST_HTTP1_TRACE_H
#define MCPDIAG_TEST_HTTP1_TRACE_H

#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/http1.h"

struct trace {
	struct buf b;
	bool terse;		/* count header fields, do not list them */
	int body;		/* direction of the last line if a body, or -1 */
	uint32_t body_n;
	/* Per direction: is a message open, which, and the last number. */
	bool open[2];
	uint32_t n[2];
	int64_t last[2];
	bool illegal;		/* calls in an order that cannot be */
};

static inline void
trace_init(struct trace *t)
{
	*t = (struct trace){ .body = -1, .last = { -1, -1 } };
	buf_init(&t->b, SIZE_MAX / 4);
}

static inline void
trace_bytes(struct trace *t, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '\n')
			(void)buf_adds(&t->b, STR("\\n"));
		else if (c == '\r')
			(void)buf_adds(&t->b, STR("\\r"));
		else if (c < ' ' || c >= 0x7f)
			(void)buf_fmt(&t->b, "\\x%02x", c);
		else
			(void)buf_addc(&t->b, (char)c);
	}
}

static inline void
trace_line_end(struct trace *t)
{
	if (t->body >= 0)
		(void)buf_addc(&t->b, '\n');
	t->body = -1;
}

static inline void
trace_head(struct trace *t, const char *what, const struct http1_head *head)
{
	static const char *const framing[] = { "none", "length", "chunked",
		"close" };

	trace_line_end(t);
	(void)buf_fmt(&t->b, "%s %u%s", what, head->n,
	    head->head_lost ? " lost" : "");
	if (head->method.p) {
		(void)buf_addc(&t->b, ' ');
		trace_bytes(t, head->method);
		(void)buf_addc(&t->b, ' ');
		trace_bytes(t, head->target);
	}
	if (head->status)
		(void)buf_fmt(&t->b, " %u", head->status);
	(void)buf_fmt(&t->b, " %s", framing[head->framing]);
	if (head->framing == HTTP1_LENGTH)
		(void)buf_fmt(&t->b, "=%llu", (unsigned long long)head->length);
	if (head->major != 1 || head->minor != 1)
		(void)buf_fmt(&t->b, " %u.%u", head->major, head->minor);
	(void)buf_adds(&t->b, STR(" {"));
	if (t->terse)
		(void)buf_fmt(&t->b, "%u", head->n_headers);
	for (uint32_t i = 0; i < head->n_headers && !t->terse; i++) {
		if (i > 0)
			(void)buf_addc(&t->b, '|');
		trace_bytes(t, head->headers[i].name);
		(void)buf_addc(&t->b, '=');
		trace_bytes(t, head->headers[i].value);
	}
	(void)buf_adds(&t->b, STR("}\n"));
}

static inline void
trace_begin(struct trace *t, int response, uint32_t n)
{
	t->illegal |= t->open[response] || (int64_t)n <= t->last[response];
	t->open[response] = true;
	t->n[response] = n;
	t->last[response] = n;
}

static inline void
trace_request(void *arg, const struct http1_head *head, struct at at)
{
	(void)at;
	trace_begin(arg, 0, head->n);
	trace_head(arg, "req", head);
}

static inline void
trace_response(void *arg, const struct http1_head *head, struct at at)
{
	(void)at;
	trace_begin(arg, 1, head->n);
	trace_head(arg, "res", head);
}

static inline void
trace_interim(void *arg, const struct http1_head *head, struct at at)
{
	struct trace *t = arg;

	(void)at;
	t->illegal |= t->open[1];
	trace_head(arg, "int", head);
}

static inline void
trace_body(struct trace *t, int response, uint32_t n, const void *p, size_t k)
{
	t->illegal |= !t->open[response] || t->n[response] != n || k == 0;
	if (t->body != response || t->body_n != n) {
		trace_line_end(t);
		(void)buf_fmt(&t->b, "%s %u ", response ? "<" : ">", n);
	}
	t->body = response;
	t->body_n = n;
	trace_bytes(t, str_of(p, k));
}

static inline void
trace_request_body(void *arg, uint32_t n, const void *p, size_t k, struct at at)
{
	(void)at;
	trace_body(arg, 0, n, p, k);
}

static inline void
trace_response_body(void *arg, uint32_t n, const void *p, size_t k, struct at at)
{
	(void)at;
	trace_body(arg, 1, n, p, k);
}

static inline void
trace_end(struct trace *t, int response, uint32_t n, enum http1_end end,
    struct at at)
{
	static const char *const how[] = { "complete", "inferred", "truncated",
		"aborted", "lost", "open" };

	t->illegal |= !t->open[response] || t->n[response] != n;
	t->open[response] = false;
	trace_line_end(t);
	(void)buf_fmt(&t->b, "%s %u %s @%u\n", response ? "end" : "reqend", n,
	    how[end], at.pkt);
}

static inline void
trace_request_end(void *arg, uint32_t n, enum http1_end end, struct at at)
{
	trace_end(arg, 0, n, end, at);
}

static inline void
trace_response_end(void *arg, uint32_t n, enum http1_end end, struct at at)
{
	trace_end(arg, 1, n, end, at);
}

static inline void
trace_gap(void *arg, uint32_t n, bool response, uint64_t bytes, struct at at)
{
	struct trace *t = arg;

	(void)at;
	t->illegal |= !t->open[response] || t->n[response] != n || bytes == 0;
	trace_line_end(t);
	(void)buf_fmt(&t->b, "gap%s %u %llu\n", response ? "" : " req", n,
	    (unsigned long long)bytes);
}

static inline void
trace_odd(void *arg, enum http1_odd odd, bool response, struct at at)
{
	static const char *const what[] = { "bad", "header-limit",
		"pipeline-limit", "unasked", "lenient", "upgrade", "h2" };
	struct trace *t = arg;

	(void)at;
	trace_line_end(t);
	(void)buf_fmt(&t->b, "odd %s %s\n", what[odd],
	    response ? "res" : "req");
}

static const struct http1_cb trace_cb = {
	.request = trace_request,
	.request_body = trace_request_body,
	.request_end = trace_request_end,
	.interim = trace_interim,
	.response = trace_response,
	.response_body = trace_response_body,
	.body_gap = trace_gap,
	.response_end = trace_response_end,
	.odd = trace_odd,
};

#endif
