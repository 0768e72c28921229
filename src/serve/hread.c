#include "mcpdiag/hread.h"

#include <assert.h>
#include <stdlib.h>

#include "mcpdiag/http1.h"
#include "mcpdiag/xmem.h"

enum { BODY_FIRST = 16 << 10 };	/* taken on a client's word for the length */

struct hread {
	const struct hread_limits *limits;
	struct http1 *http1;
	struct hread_head *head;
	struct buf body;
	uint64_t taken;		/* bytes of the head so far */
	uint64_t framing;	/* bytes of the body that are no content */
	size_t span;		/* content in this step */
	const char *why;
	uint16_t status;	/* of the refusal, or 0 */
	bool headed;		/* the head is complete */
	bool expect;		/* and waits for 100 */
	bool done;
	bool text;		/* other bytes than CR and LF have come */
};

/* The first reason counts. */
static void
refuse(struct hread *r, uint16_t status, const char *why)
{
	if (r->status != 0)
		return;
	r->status = status;
	r->why = why;
}

static void
on_odd(void *arg, enum http1_odd odd, bool response, struct at at)
{
	struct hread *r = arg;

	(void)response;
	(void)at;
	switch (odd) {
	case HTTP1_BAD:
		refuse(r, 400, "this is not HTTP/1.1");
		break;
	case HTTP1_LENIENT:
		refuse(r, 400, "not as RFC 9112 wants it");
		break;
	case HTTP1_HEADER_LIMIT:
		refuse(r, 431, "the request head is too long");
		break;
	case HTTP1_H2:
		refuse(r, 505, "only HTTP/1.1 is spoken here, not HTTP/2");
		break;
	case HTTP1_UPGRADE: case HTTP1_PIPELINE_LIMIT: case HTTP1_UNASKED:
		break;
	}
}

/* A comma list has this element (any case). */
static bool
has_token(struct str list, struct str token)
{
	size_t i, from = 0;

	for (i = 0; i <= list.n; i++) {
		if (i < list.n && list.p[i] != ',')
			continue;
		if (str_ieq(str_trim(str_of(list.p + from, i - from)), token))
			return true;
		from = i + 1;
	}
	return false;
}

/* How the body is framed must be beyond doubt: RFC 9112 6.1, 6.3.  http1 calls
 * most of it odd already; that is for its own reasons, these are ours. */
static void
check_framing(struct hread *r, const struct http1_head *head)
{
	uint32_t lengths = 0, codings = 0;

	for (uint32_t i = 0; i < head->n_headers; i++) {
		const struct http1_header *x = &head->headers[i];
		uint64_t n;

		if (str_ieq(x->name, STR("content-length"))) {
			lengths++;
			if (!str_u64(x->value, &n))
				refuse(r, 400, "Content-Length is no number");
		} else if (str_ieq(x->name, STR("transfer-encoding"))) {
			codings++;
			if (!str_ieq(x->value, STR("chunked")))
				codings |= 1u << 31;
		}
	}
	if (lengths > 1 || (lengths > 0 && codings > 0))
		refuse(r, 400, "the length of the body is in doubt");
	if (codings > 0 && (head->framing != HTTP1_CHUNKED || head->minor == 0))
		refuse(r, 400, "Transfer-Encoding must end with chunked");
	if (codings > 1)
		refuse(r, 501, "no transfer coding but chunked is known here");
}

/* RFC 3986 3.2.2 and 3.2.3, as far as single bytes go. */
static bool
is_host(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
		    !(c >= 'A' && c <= 'Z') && (c == '\0' ||
		    strchr("-._~%!$&'()*+,;=:[]", c) == NULL))
			return false;
	}
	return true;
}

/* RFC 9112 3.2. */
static void
check_host(struct hread *r, const struct http1_head *head)
{
	uint32_t hosts = 0;

	for (uint32_t i = 0; i < head->n_headers; i++) {
		const struct http1_header *x = &head->headers[i];

		if (!str_ieq(x->name, STR("host")))
			continue;
		hosts++;
		if (!is_host(x->value))
			refuse(r, 400, "Host is no host");
	}
	if (hosts > 1)
		refuse(r, 400, "more than one Host header");
	else if (hosts == 0 && head->minor > 0)
		refuse(r, 400, "no Host header");
}

static void
check(struct hread *r, const struct http1_head *head)
{
	if (head->head_lost)
		refuse(r, 400, "this is not HTTP/1.1");
	if (head->major != 1)
		refuse(r, 505, "only HTTP/1.1 is spoken here");
	if (head->n_headers > r->limits->headers)
		refuse(r, 431, "too many header lines");
	check_framing(r, head);
	check_host(r, head);
	if (head->framing == HTTP1_LENGTH && head->length > r->limits->body)
		refuse(r, 413, "the body is too long");
}

static struct hread_head *
copy_head(const struct http1_head *from)
{
	size_t n = from->method.n + from->target.n;
	struct hread_head *head;
	char *p;

	for (uint32_t i = 0; i < from->n_headers; i++)
		n += from->headers[i].name.n + from->headers[i].value.n;
	head = xmalloc(sizeof *head + from->n_headers * sizeof head->lens[0] + n);
	*head = (struct hread_head){
		.minor = from->minor,
		.method_n = (uint32_t)from->method.n,
		.target_n = (uint32_t)from->target.n,
		.n_headers = from->n_headers,
		.head = str_eq(from->method, STR("HEAD")),
	};
	p = (char *)&head->lens[from->n_headers];
	memcpy(p, from->method.p, from->method.n);
	p += from->method.n;
	memcpy(p, from->target.p, from->target.n);
	p += from->target.n;
	for (uint32_t i = 0; i < from->n_headers; i++) {
		const struct http1_header *x = &from->headers[i];

		head->lens[i].name = (uint32_t)x->name.n;
		head->lens[i].value = (uint32_t)x->value.n;
		memcpy(p, x->name.p, x->name.n);
		p += x->name.n;
		if (x->value.n > 0)
			memcpy(p, x->value.p, x->value.n);
		p += x->value.n;
	}
	return head;
}

static void
on_request(void *arg, const struct http1_head *head, struct at at)
{
	struct hread *r = arg;
	bool close = false, keep = false, wait = false;

	(void)at;
	r->headed = true;
	check(r, head);
	if (r->status != 0)
		return;
	for (uint32_t i = 0; i < head->n_headers; i++) {
		const struct http1_header *x = &head->headers[i];

		if (str_ieq(x->name, STR("connection"))) {
			close |= has_token(x->value, STR("close"));
			keep |= has_token(x->value, STR("keep-alive"));
		} else if (str_ieq(x->name, STR("expect"))) {
			wait |= has_token(x->value, STR("100-continue"));
		}
	}
	r->head = copy_head(head);
	r->head->keep_alive = !close && (head->minor > 0 || keep);
	/* RFC 9110 10.1.1: not to HTTP/1.0, not where no content follows. */
	r->expect = wait && head->minor > 0 && (head->framing == HTTP1_CHUNKED ||
	    (head->framing == HTTP1_LENGTH && head->length > 0));
	if (head->framing == HTTP1_LENGTH && head->length > 0)
		(void)buf_room(&r->body, head->length < BODY_FIRST ?
		    (size_t)head->length : BODY_FIRST);
}

static void
on_body(void *arg, uint32_t n, const void *p, size_t len, struct at at)
{
	struct hread *r = arg;

	(void)n;
	(void)at;
	r->span += len;
	if (buf_add(&r->body, p, len) != 0)
		refuse(r, 413, "the body is too long");
}

static void
on_end(void *arg, uint32_t n, enum http1_end end, struct at at)
{
	struct hread *r = arg;

	(void)n;
	(void)at;
	if (end != HTTP1_COMPLETE)
		refuse(r, 400, "the body is not framed as RFC 9112 wants it");
	r->done = true;
}

static const struct http1_cb callbacks = {
	.request = on_request,
	.request_body = on_body,
	.request_end = on_end,
	.odd = on_odd,
};

struct hread *
hread_new(const struct hread_limits *limits)
{
	struct hread *r = xcalloc(1, sizeof *r);
	struct limits own = { .header = limits->header, .pipeline = 1 };

	assert(limits->header <= UINT32_MAX);

	r->limits = limits;
	r->http1 = http1_new(&own, &callbacks, r);
	buf_init(&r->body, limits->body < SIZE_MAX / 4 ?
	    (size_t)limits->body : SIZE_MAX / 4);
	return r;
}

void
hread_free(struct hread *r)
{
	if (r == NULL)
		return;
	http1_free(r->http1);
	free(r->head);
	buf_fini(&r->body);
	free(r);
}

/* Chunk extensions and trailers have no end of their own: this many bytes of
 * them may still come.  Chunks of a byte each are slow, but within bounds. */
static uint64_t
framing_left(const struct hread *r)
{
	uint64_t most = r->limits->header + (uint64_t)r->body.n * 8;

	return most > r->framing ? most - r->framing : 0;
}

/* Takes bytes up to the next event. */
static size_t
step(struct hread *r, const char *p, size_t n)
{
	bool in_head = !r->headed;
	uint64_t left = in_head ? r->limits->header - r->taken : framing_left(r);
	size_t k;

	/* So that a limit falls on the same byte in every cut. */
	if (in_head && n > left)
		n = (size_t)left;
	else if (!in_head && n > left)
		n = (size_t)left + 1;
	for (size_t i = 0; !r->text && i < n; i++)
		r->text = p[i] != '\r' && p[i] != '\n';
	r->span = 0;
	k = http1_step(r->http1, p, n, (struct at){ 0, 0 });
	if (k == 0)
		refuse(r, 400, "this is not HTTP/1.1");
	if (in_head) {
		r->taken += k;
		if (!r->headed && r->taken >= r->limits->header)
			refuse(r, 431, "the request head is too long");
	} else if (k - r->span > left) {
		refuse(r, 413, "too much chunk framing for its content");
	} else {
		r->framing += k - r->span;
	}
	return k;
}

size_t
hread_feed(struct hread *r, const void *data, size_t n, enum hread_is *is)
{
	const char *p = data;
	size_t used = 0;

	*is = HREAD_MORE;
	while (used < n && *is == HREAD_MORE) {
		used += step(r, p + used, n - used);
		if (r->status != 0)
			*is = HREAD_REFUSED;
		else if (r->expect)
			*is = HREAD_CONTINUE;
		else if (r->done)
			*is = HREAD_DONE;
		r->expect = false;
	}
	return used;
}

struct hread_head *
hread_take(struct hread *r, struct buf *body)
{
	struct hread_head *head = r->head;

	*body = r->body;
	r->head = NULL;
	buf_init(&r->body, r->body.max);
	return head;
}

unsigned
hread_status(const struct hread *r)
{
	return r->status;
}

const char *
hread_why(const struct hread *r)
{
	return r->why;
}

bool
hread_blank(const struct hread *r)
{
	return !r->text;
}

static const char *
text_of(const struct hread_head *head)
{
	return (const char *)&head->lens[head->n_headers];
}

struct str
hread_method(const struct hread_head *head)
{
	return str_of(text_of(head), head->method_n);
}

struct str
hread_target(const struct hread_head *head)
{
	return str_of(text_of(head) + head->method_n, head->target_n);
}

struct str
hread_header(const struct hread_head *head, struct str name, unsigned k)
{
	const char *p = text_of(head) + head->method_n + head->target_n;

	for (uint32_t i = 0; i < head->n_headers; i++) {
		struct hread_lens l = head->lens[i];

		if (str_ieq(str_of(p, l.name), name) && k-- == 0)
			return str_of(p + l.name, l.value);
		p += l.name + l.value;
	}
	return STR_NONE;
}
