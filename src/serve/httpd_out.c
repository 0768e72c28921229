#include "httpd_priv.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "mcpdiag/xmem.h"

enum {
	HEAD_MAX = 320,		/* our own lines of a head */
	CORK_FIRST = 1024,	/* an answer that is kept together starts with */
};

static struct iovec
iov_of(struct str s)
{
	return (struct iovec){ .iov_base = (void *)(uintptr_t)s.p, .iov_len = s.n };
}

static void
tell(const struct hconn *c, const void *p, size_t n)
{
	if (c->d->cb->bytes && n > 0)
		c->d->cb->bytes(c->d->arg, c->number, true, p, n);
}

/* A write failed. */
static void
broken(struct hconn *c)
{
	c->by_client = !c->lingering;
	c->reset = true;
	hconn_kill(c, HTTP_GONE_RST, false);
}

/* Straight to the socket; returns what it took, -1 when it broke. */
static ssize_t
send_now(struct hconn *c, struct iovec *iov, int n)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = (size_t)n };
	ssize_t got = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (got >= 0)
		return got;
	if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)
		return 0;
	broken(c);
	return -1;
}

void
hconn_flush(struct hconn *c)
{
	size_t n = hconn_queued(c);
	struct iovec iov;
	ssize_t got;

	if (c->dead || n == 0)
		return;
	iov = iov_of(str_of(c->out.p + c->out_off, n));
	got = send_now(c, &iov, 1);
	if (got <= 0)
		return;
	tell(c, iov.iov_base, (size_t)got);
	c->out_off += (size_t)got;
	if (hconn_queued(c) == 0) {
		buf_fini(&c->out);
		c->out_off = 0;
	} else if (c->out_off > c->out.n / 2) {
		buf_drop(&c->out, c->out_off);
		c->out_off = 0;
	}
	if (c->list == HC_DRAIN)
		hconn_list(c, HC_DRAIN);	/* it reads: more time */
}

/* 0, or -E_IO when the connection broke. */
static int
send_all(struct hconn *c, struct iovec *iov, int n)
{
	bool was_empty;
	ssize_t got;
	size_t left;

	if (c->corked)
		hconn_flush(c);
	if (c->dead)
		return -E_IO;
	was_empty = hconn_queued(c) == 0;
	got = was_empty ? send_now(c, iov, n) : 0;
	if (got < 0)
		return -E_IO;
	left = (size_t)got;
	for (int i = 0; i < n; i++) {
		size_t k = iov[i].iov_len < left ? iov[i].iov_len : left;
		const char *p = iov[i].iov_base;

		tell(c, p, k);
		left -= k;
		if (k < iov[i].iov_len)
			(void)buf_add(&c->out, p + k, iov[i].iov_len - k);
	}
	if (was_empty && hconn_queued(c) > 0 && !c->busy)
		hconn_want(c);
	return 0;
}

/* The same for what more of the answer follows: while the request is still
 * being handled, its head, first events and end wait for each other. */
static int
send_some(struct hconn *c, struct iovec *iov, int n)
{
	size_t max = c->d->opts.backlog < HCORK ? c->d->opts.backlog : HCORK;
	size_t all = hconn_queued(c);

	for (int i = 0; i < n; i++)
		all += iov[i].iov_len;
	if (!c->corked || all > max)
		return send_all(c, iov, n);
	if (hconn_queued(c) == 0)
		(void)buf_room(&c->out, CORK_FIRST);
	for (int i = 0; i < n; i++)
		(void)buf_add(&c->out, iov[i].iov_base, iov[i].iov_len);
	return 0;
}

/* A head under construction. */
struct head {
	char p[HEAD_MAX];
	size_t n;
};

static void
put(struct head *h, struct str s)
{
	assert(s.n <= sizeof h->p - h->n);
	memcpy(h->p + h->n, s.p, s.n);
	h->n += s.n;
}

static void
put_number(struct head *h, uint64_t v, unsigned base)
{
	char text[20], *p = text + sizeof text;

	do {
		*--p = "0123456789abcdef"[v % base];
		v /= base;
	} while (v > 0);
	put(h, str_of(p, (size_t)(text + sizeof text - p)));
}

static void
put_start(struct head *h, struct httpd *d, unsigned status)
{
	ns_t now = loop_now(d->loop);

	if (now / NS_S != d->date_s) {
		d->date_s = now / NS_S;
		hhead_date(d->date, now);
	}
	put(h, STR("HTTP/1.1 "));
	put_number(h, status, 10);
	put(h, STR(" "));
	put(h, str_c(hhead_reason(status)));
	put(h, STR("\r\nDate: "));
	put(h, str_of(d->date, HHEAD_DATE - 1));
	put(h, STR("\r\n"));
}

static void
put_connection(struct head *h, bool last, unsigned minor)
{
	if (last)
		put(h, STR("Connection: close\r\n"));
	else if (minor == 0)
		put(h, STR("Connection: keep-alive\r\n"));
}

static void
put_length(struct head *h, size_t n)
{
	put(h, STR("Content-Length: "));
	put_number(h, n, 10);
	put(h, STR("\r\n"));
}

void
hconn_continue(struct hconn *c)
{
	struct iovec iov = iov_of(STR("HTTP/1.1 100 Continue\r\n\r\n"));

	(void)send_all(c, &iov, 1);
}

void
hconn_refuse(struct hconn *c, unsigned status, const char *why)
{
	struct head h = { .n = 0 };
	struct iovec iov[3];

	put_start(&h, c->d, status);
	put(&h, STR("Content-Type: text/plain\r\n"));
	put_length(&h, strlen(why) + 1);
	put_connection(&h, true, 1);
	put(&h, STR("\r\n"));
	iov[0] = iov_of(str_of(h.p, h.n));
	iov[1] = iov_of(str_c(why));
	iov[2] = iov_of(STR("\n"));
	(void)send_all(c, iov, 3);
}

void
hreq_free(struct hreq *r)
{
	if (r == NULL)
		return;
	free(r->head);
	buf_fini(&r->body);
	free(r);
}

/* The answer is complete. */
static void
complete(struct hreq *r)
{
	struct hconn *c = r->c;

	c->closing |= r->last;
	c->req = NULL;
	c->n++;
	hreq_free(r);
	if (c->busy || c->dead)
		return;
	if (c->in.n > 0 && !c->closing) {
		hconn_list(c, HC_RUN);
		httpd_soon(c->d);
	} else {
		hconn_settle(c);
	}
}

/* RFC 9110 15: these have no content, and no length of it. */
static bool
no_content(unsigned status)
{
	return status / 100 == 1 || status == 204 || status == 304;
}

void
hreq_reply(struct hreq *r, unsigned status, struct str headers, struct str body)
{
	struct head h = { .n = 0 };
	struct hconn *c = r->c;
	bool none = no_content(status);
	struct iovec iov[4];

	assert(!r->begun);
	if (!c->dead) {
		put_start(&h, c->d, status);
		if (!none)
			put_length(&h, body.n);
		put_connection(&h, r->last, r->head->minor);
		iov[0] = iov_of(str_of(h.p, h.n));
		iov[1] = iov_of(headers);
		iov[2] = iov_of(STR("\r\n"));
		iov[3] = iov_of(none || r->head->head ? STR("") : body);
		(void)send_all(c, iov, 4);
	}
	complete(r);
}

void
hreq_begin(struct hreq *r, unsigned status, struct str headers)
{
	struct head h = { .n = 0 };
	struct iovec iov[3];

	assert(!r->begun);
	r->begun = true;
	if (r->c->dead)
		return;
	r->chunked = r->head->minor > 0;
	/* To HTTP/1.0 the close is the end of the body: RFC 9112 7.1. */
	r->last |= !r->chunked;
	put_start(&h, r->c->d, status);
	if (r->chunked)
		put(&h, STR("Transfer-Encoding: chunked\r\n"));
	put_connection(&h, r->last, r->head->minor);
	iov[0] = iov_of(str_of(h.p, h.n));
	iov[1] = iov_of(headers);
	iov[2] = iov_of(STR("\r\n"));
	/* Behind a stream more is read than behind a slow answer. */
	if (send_some(r->c, iov, 3) == 0 && !r->c->busy)
		hconn_want(r->c);
}

int
hreq_write(struct hreq *r, struct str s)
{
	struct head h = { .n = 0 };
	struct hconn *c = r->c;
	uint64_t queued = hconn_queued(c), backlog = c->d->opts.backlog;
	struct iovec iov[3];
	int e;

	assert(r->begun && s.n > 0);
	if (c->dead)
		return -E_IO;
	if (r->head->head)
		return 0;
	if (c->corked && s.n > backlog - queued) {
		hconn_flush(c);
		queued = hconn_queued(c);
		if (c->dead)
			return -E_IO;
	}
	if (queued > 0 && (queued > backlog || s.n > backlog - queued)) {
		hconn_kill(c, HTTP_GONE_SLOW, true);
		return -E_LIMIT;
	}
	if (r->chunked) {
		put_number(&h, s.n, 16);
		put(&h, STR("\r\n"));
		iov[0] = iov_of(str_of(h.p, h.n));
		iov[1] = iov_of(s);
		iov[2] = iov_of(STR("\r\n"));
		e = send_some(c, iov, 3);
	} else {
		iov[0] = iov_of(s);
		e = send_some(c, iov, 1);
	}
	if (e == 0 && hconn_queued(c) > backlog) {
		hconn_kill(c, HTTP_GONE_SLOW, true);
		return -E_LIMIT;
	}
	return e;
}

size_t
hreq_backlog(const struct hreq *r)
{
	int kernel = 0;

	/* SIOCOUTQ: sent but not acknowledged, and not sent; tcp(7). */
	if (r->c->dead || ioctl(r->c->fd, TIOCOUTQ, &kernel) != 0 || kernel < 0)
		kernel = 0;
	return hconn_queued(r->c) + (size_t)kernel;
}

size_t
hreq_unsent(const struct hreq *r)
{
	return hconn_queued(r->c);
}

bool
hreq_alive(const struct hreq *r)
{
	struct pollfd p = { .fd = r->c->fd, .events = POLLRDHUP };

	return !r->c->dead && !r->c->eof && (poll(&p, 1, 0) <= 0 ||
	    (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0);
}

void
hreq_end(struct hreq *r)
{
	struct iovec iov = iov_of(STR("0\r\n\r\n"));

	assert(r->begun);
	if (!r->c->dead && r->chunked && !r->head->head)
		(void)send_some(r->c, &iov, 1);
	complete(r);
}

void
hreq_drop(struct hreq *r, bool reset)
{
	struct hconn *c = r->c;

	r->last = true;
	/* hconn_settle() sends what is queued, then our FIN. */
	if (reset) {
		hconn_flush(c);
		hconn_kill(c, HTTP_GONE_RST, true);
	}
	complete(r);
}

struct str
hreq_method(const struct hreq *r)
{
	return hread_method(r->head);
}

struct str
hreq_target(const struct hreq *r)
{
	return hread_target(r->head);
}

struct str
hreq_header(const struct hreq *r, struct str name)
{
	return hread_header(r->head, name, 0);
}

struct str
hreq_header_at(const struct hreq *r, struct str name, unsigned k)
{
	return hread_header(r->head, name, k);
}

unsigned
hreq_header_count(const struct hreq *r, struct str name)
{
	unsigned n = 0;

	while (hread_header(r->head, name, n).p != NULL)
		n++;
	return n;
}

struct str
hreq_body(const struct hreq *r)
{
	return buf_str(&r->body);
}

void
hreq_body_free(struct hreq *r)
{
	buf_fini(&r->body);
}

uint32_t
hreq_conn(const struct hreq *r)
{
	return r->c->number;
}

uint32_t
hreq_n(const struct hreq *r)
{
	return r->n;
}

void
hreq_set_user(struct hreq *r, void *user)
{
	r->user = user;
}

void *
hreq_user(const struct hreq *r)
{
	return r->user;
}
