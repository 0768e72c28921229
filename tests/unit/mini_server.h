/* mini_server: an HTTP server on the test's own loop that says what the test
 * tells it to, byte for byte.  Requests are given to the test whole. */
#ifndef MCPDIAG_TEST_MINI_SERVER_H
#define MCPDIAG_TEST_MINI_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/loop.h"
#include "mcpdiag/xmem.h"
#include "util.h"

struct mini;

struct mini_conn {
	struct mini *srv;
	int fd;
	unsigned n;		/* from 1, in order of arrival */
	unsigned requests;
	struct loop_fd *watch;
	struct buf in, out;
	bool ending;		/* close when `out` is written */
	struct mini_conn *next;
};

struct mini {
	struct loop *loop;
	int fd;
	uint16_t port;
	struct loop_fd *watch;
	struct mini_conn *conns;	/* closed ones too, until the end */
	unsigned n_conns, n_open;
	/* A whole request: head and body. */
	void (*request)(void *arg, struct mini_conn *, struct str request);
	void (*gone)(void *arg, struct mini_conn *);	/* the client left; or NULL */
	void *arg;
};

static inline void
mini_close(struct mini_conn *c)
{
	if (c->fd < 0)
		return;
	loop_fd_free(c->watch);
	(void)close(c->fd);
	c->fd = -1;
	c->srv->n_open--;
	buf_fini(&c->in);
	buf_fini(&c->out);
}

static inline void
mini_reset(struct mini_conn *c)
{
	struct linger l = { 1, 0 };

	(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
	mini_close(c);
}

static inline void
mini_flush(struct mini_conn *c)
{
	ssize_t n = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0)
		buf_drop(&c->out, (size_t)n);
	if (c->out.n == 0 && c->ending)
		mini_close(c);
	else
		loop_fd_want(c->watch, LOOP_READ | (c->out.n ? LOOP_WRITE : 0));
}

static inline void
mini_send(struct mini_conn *c, const char *s, size_t n)
{
	if (c->fd < 0)
		return;
	assert_int_equal(buf_add(&c->out, s, n), 0);
	mini_flush(c);
}

static inline void
mini_say(struct mini_conn *c, const char *s)
{
	mini_send(c, s, strlen(s));
}

/* FIN once everything said has gone out. */
static inline void
mini_end(struct mini_conn *c)
{
	c->ending = true;
	if (c->out.n == 0)
		mini_close(c);
}

static inline void
mini_fd(void *arg, int fd, unsigned ready)
{
	struct mini_conn *c = arg;
	char piece[16384];
	ssize_t n;

	if (ready & LOOP_WRITE) {
		mini_flush(c);
		if (c->fd < 0)
			return;
	}
	if (!(ready & LOOP_READ))
		return;
	n = recv(fd, piece, sizeof piece, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		mini_close(c);
		if (c->srv->gone)
			c->srv->gone(c->srv->arg, c);
		return;
	}
	assert_int_equal(buf_add(&c->in, piece, (size_t)n), 0);
	while (c->fd >= 0) {
		struct str all = buf_str(&c->in), head;
		size_t end = str_find(all, STR("\r\n\r\n")), at;
		uint64_t length = 0;

		if (end == SIZE_MAX)
			return;
		head = str_of(all.p, end + 2);
		at = str_find(head, STR("Content-Length: "));
		if (at != SIZE_MAX) {
			struct str rest = str_of(head.p + at + 16, head.n - at - 16);

			assert_true(str_u64(str_of(rest.p,
			    str_find(rest, STR("\r\n"))), &length));
		}
		end += 4 + length;
		if (end > all.n)
			return;
		c->requests++;
		c->srv->request(c->srv->arg, c, str_of(all.p, end));
		if (c->fd >= 0)
			buf_drop(&c->in, end);
	}
}

static inline void
mini_accept(void *arg, int fd, unsigned ready)
{
	struct mini *s = arg;
	struct mini_conn *c;
	int got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)ready;
	if (got < 0)
		return;
	c = xcalloc(1, sizeof *c);
	c->srv = s;
	c->fd = got;
	c->n = ++s->n_conns;
	s->n_open++;
	buf_init(&c->in, 4 << 20);
	buf_init(&c->out, 64 << 20);
	c->next = s->conns;
	s->conns = c;
	c->watch = loop_fd_new(s->loop, got, LOOP_READ, mini_fd, c);
	assert_non_null(c->watch);
}

/* On 127.0.0.1, any free port.  request, gone and arg are set by the test. */
static inline void
mini_init(struct mini *s, struct loop *loop)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof a;

	*s = (struct mini){ .loop = loop };
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(s->fd >= 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(s->fd, 4096), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
	s->port = ntohs(a.sin_port);
	s->watch = loop_fd_new(loop, s->fd, LOOP_READ, mini_accept, s);
	assert_non_null(s->watch);
}

/* Nobody is let in any more; who is in stays. */
static inline void
mini_shut(struct mini *s)
{
	loop_fd_free(s->watch);
	s->watch = NULL;
	if (s->fd >= 0)
		(void)close(s->fd);
	s->fd = -1;
}

static inline void
mini_fini(struct mini *s)
{
	struct mini_conn *c;

	mini_shut(s);
	while ((c = s->conns) != NULL) {
		s->conns = c->next;
		mini_close(c);
		free(c);
	}
}

#endif
