/* httpd_fix: a server and its clients on one loop, for the tests of httpd.
 * What is awaited is a condition; a guard of ten seconds fails the test. */
#ifndef MCPDIAG_TEST_HTTPD_FIX_H
#define MCPDIAG_TEST_HTTPD_FIX_H

#include "util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/httpd.h"
#include "mcpdiag/loop.h"

enum { STREAMS = 16 };

struct fix;
typedef bool fix_fn(struct fix *);

struct client {
	struct fix *f;
	int fd;
	struct loop_fd *ready;
	struct buf got;		/* without Date lines, once fix_text() is asked */
	bool eof, reset;
	bool deaf;		/* does not read */
};

struct fix {
	struct loop *loop;
	struct httpd *d;
	struct loop_timer *guard, *alarm;
	struct client c[4];
	fix_fn *until;
	size_t want;		/* for the condition */
	bool late, rang;
	/* What the server told. */
	struct hreq *req[STREAMS];	/* not answered yet */
	unsigned n_req;			/* of them */
	unsigned requests, gone[4], opened, closed, closed_by_client, closed_reset;
	uint64_t in, out;
	unsigned writes;	/* that brought `out` */
	ns_t gone_at;
	bool in_call;		/* a call of hreq_* is running */
};

static inline void
fix_poke(struct fix *f)
{
	if (f->until && f->until(f))
		loop_stop(f->loop);
}

static inline void
fix_late(void *arg)
{
	struct fix *f = arg;

	f->late = true;
	loop_stop(f->loop);
}

static inline void
fix_rang(void *arg)
{
	struct fix *f = arg;

	f->rang = true;
	fix_poke(f);
}

/* Runs the loop until the condition holds. */
static inline bool
fix_try(struct fix *f, fix_fn *until)
{
	f->late = false;
	f->until = until;
	loop_timer_set(f->guard, 10 * NS_S);
	if (!until(f))
		loop_run(f->loop);
	loop_timer_clear(f->guard);
	f->until = NULL;
	return !f->late;
}

#define fix_run(f, until) do { \
	if (!fix_try((f), (until))) \
		fail_msg("waited in vain for %s", #until); \
} while (0)

static inline void
fix_keep(struct fix *f, struct hreq *r)
{
	assert_true(f->n_req < STREAMS);
	f->req[f->n_req++] = r;
}

/* The client may have gone already. */
static inline void
fix_write(struct hreq *r, struct str s)
{
	int e = hreq_write(r, s);

	assert_true(e == 0 || e == -E_IO);
}

/* What the targets do; bodies are short, so that rows can be read. */
static inline void
fix_answer(struct fix *f, struct hreq *r)
{
	struct str target = hreq_target(r);

	if (str_pre(target, STR("/later"))) {
		fix_keep(f, r);
	} else if (str_pre(target, STR("/stream"))) {
		hreq_begin(r, 200, STR("Content-Type: text/event-stream\r\n"));
		fix_write(r, STR("one"));
		fix_keep(f, r);
	} else if (str_pre(target, STR("/end"))) {
		hreq_begin(r, 200, STR(""));
		fix_write(r, STR("one"));
		fix_write(r, STR("three and fourty"));
		hreq_end(r);
	} else if (str_pre(target, STR("/drop"))) {
		hreq_begin(r, 200, STR(""));
		fix_write(r, STR("one"));
		hreq_drop(r, false);
	} else if (str_pre(target, STR("/reset"))) {
		hreq_drop(r, true);
	} else if (str_pre(target, STR("/204"))) {
		hreq_reply(r, 204, STR("A: b\r\n"), STR(""));
	} else if (str_pre(target, STR("/echo"))) {
		hreq_reply(r, 200, STR(""), hreq_body(r));
	} else {
		hreq_reply(r, 200, STR(""), target);
	}
}

static inline void
fix_request(void *arg, struct hreq *r)
{
	struct fix *f = arg;

	assert_false(f->in_call);
	f->requests++;
	f->in_call = true;
	fix_answer(f, r);
	f->in_call = false;
	fix_poke(f);
}

static inline void
fix_gone(void *arg, struct hreq *r, enum http_gone why)
{
	struct fix *f = arg;

	assert_false(f->in_call);
	f->gone[why]++;
	f->gone_at = loop_mono(f->loop);
	for (unsigned i = 0; i < f->n_req; i++)
		if (f->req[i] == r)
			f->req[i--] = f->req[--f->n_req];
	fix_poke(f);
}

static inline void
fix_opened(void *arg, uint32_t conn, const char *client, const char *server)
{
	struct fix *f = arg;

	assert_int_equal(conn, ++f->opened);
	assert_non_null(strrchr(client, ':'));
	assert_int_equal(strtoul(strrchr(server, ':') + 1, NULL, 10), httpd_port(f->d));
	fix_poke(f);
}

static inline void
fix_bytes(void *arg, uint32_t conn, bool response, const void *p, size_t n)
{
	struct fix *f = arg;

	assert_true(conn > 0 && p != NULL && n > 0);
	*(response ? &f->out : &f->in) += n;
	f->writes += response;
	fix_poke(f);
}

static inline void
fix_closed(void *arg, uint32_t conn, bool by_client, bool reset)
{
	struct fix *f = arg;

	assert_true(conn > 0);
	f->closed++;
	f->closed_by_client += by_client;
	f->closed_reset += reset;
	fix_poke(f);
}

static const struct httpd_cb fix_cb = {
	.request = fix_request, .gone = fix_gone, .opened = fix_opened,
	.bytes = fix_bytes, .closed = fix_closed,
};

static inline void
fix_init(struct fix *f, const struct httpd_opts *opts)
{
	struct errmsg em = { "" };
	struct httpd_opts o;

	*f = (struct fix){ .n_req = 0 };
	for (size_t i = 0; i < N_ROWS(f->c); i++)
		f->c[i].fd = -1;
	f->loop = loop_new(&em);
	assert_non_null(f->loop);
	f->guard = loop_timer_new(f->loop, fix_late, f);
	f->alarm = loop_timer_new(f->loop, fix_rang, f);
	httpd_opts_init(&o);
	f->d = httpd_new(f->loop, opts ? opts : &o, &fix_cb, f, &em);
	if (f->d == NULL)
		fail_msg("%s", em.text);
}

static inline void
client_free(struct client *c)
{
	loop_fd_free(c->ready);
	if (c->fd >= 0)
		(void)close(c->fd);
	buf_fini(&c->got);
	c->ready = NULL;
	c->fd = -1;
}

static inline void
fix_fini(struct fix *f)
{
	for (size_t i = 0; i < N_ROWS(f->c); i++)
		client_free(&f->c[i]);
	httpd_free(f->d);
	assert_int_equal(f->n_req, 0);
	assert_int_equal(f->opened, f->closed);
	loop_timer_free(f->guard);
	loop_timer_free(f->alarm);
	loop_free(f->loop);
}

static inline void
client_ready(void *arg, int fd, unsigned ready)
{
	struct client *c = arg;
	char *p = buf_room(&c->got, 65536);
	ssize_t n = recv(fd, p, 65536, MSG_DONTWAIT);

	assert_int_equal(ready, LOOP_READ);
	if (n > 0) {
		c->got.n += (size_t)n;
	} else if (n == 0 || errno != EAGAIN) {
		c->eof = true;
		c->reset = n < 0;
		loop_fd_want(c->ready, 0);
	}
	fix_poke(c->f);
}

/* Connects client i; rcvbuf: of its socket, or 0. */
static inline struct client *
fix_connect(struct fix *f, unsigned i, int rcvbuf)
{
	struct client *c = &f->c[i];
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = htons(httpd_port(f->d)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	client_free(c);
	*c = (struct client){ .f = f };
	buf_init(&c->got, SIZE_MAX / 4);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(c->fd >= 0);
	if (rcvbuf)
		assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF,
		    &rcvbuf, sizeof rcvbuf), 0);
	/* The kernel accepts for the server, which need not run. */
	assert_int_equal(connect(c->fd, (struct sockaddr *)&in, sizeof in), 0);
	c->ready = loop_fd_new(f->loop, c->fd, LOOP_READ, client_ready, c);
	assert_non_null(c->ready);
	return c;
}

/* A close with RST, or with FIN. */
static inline void
client_close(struct client *c, bool reset)
{
	struct linger now = { 1, 0 };

	if (reset)
		assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now,
		    sizeof now), 0);
	loop_fd_free(c->ready);
	c->ready = NULL;
	(void)close(c->fd);
	c->fd = -1;
}

static inline bool
fix_read_it(struct fix *f)
{
	return f->in >= f->want;
}

/* Sends and waits until the server has read it. */
static inline void
client_send(struct client *c, const void *p, size_t n)
{
	if (n == 0)
		return;
	c->f->want = c->f->in + n;
	assert_int_equal(send(c->fd, p, n, MSG_NOSIGNAL), n);
	fix_run(c->f, fix_read_it);
}

/* What came, without the dates. */
static inline struct str
client_text(struct client *c)
{
	size_t i;

	while ((i = str_find(buf_str(&c->got), STR("Date: "))) != SIZE_MAX) {
		if (c->got.n < i + 37)
			break;
		memmove(c->got.p + i, c->got.p + i + 37, c->got.n - i - 37);
		c->got.n -= 37;
	}
	return buf_str(&c->got);
}

#endif
