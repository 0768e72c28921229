#include "httpd_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "mcpdiag/xmem.h"

enum { DISCARD = 16 << 20 };	/* bytes that are let go while closing */

/* Nothing more is read as requests. */
static void
begin_closing(struct hconn *c)
{
	c->closing = true;
	hread_free(c->read);
	c->read = NULL;
	buf_fini(&c->in);
}

void
hconn_kill(struct hconn *c, enum http_gone why, bool reset)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (c->dead)
		return;
	c->dead = true;
	c->why = (uint8_t)why;
	loop_fd_free(c->ready);
	c->ready = NULL;
	if (reset)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	(void)close(c->fd);
	hconn_list(c, HC_DEAD);
	if (!c->busy)
		httpd_soon(c->d);
}

void
hconn_bury(struct hconn *c)
{
	struct httpd *d = c->d;
	struct hreq *req = c->req;

	if (req) {
		d->cb->gone(d->arg, req, (enum http_gone)c->why);
		hreq_free(c->req);	/* unless the callee ended it there */
		c->req = NULL;
	}
	d->n_conns--;
	if (d->cb->closed)
		d->cb->closed(d->arg, c->number, c->by_client, c->reset);
	hconn_unlist(c);
	hread_free(c->read);
	buf_fini(&c->in);
	buf_fini(&c->out);
	free(c);
	httpd_resume(d);
}

void
hconn_want(struct hconn *c)
{
	unsigned want = 0;

	if (c->eof)
		want = 0;
	else if (c->closing || c->in.n < HPIPELINE || (c->req && c->req->begun))
		want = LOOP_READ;
	else
		want = LOOP_CLOSED;
	if (hconn_queued(c) > 0)
		want |= LOOP_WRITE;
	loop_fd_want(c->ready, want);
}

void
hconn_settle(struct hconn *c)
{
	bool out = hconn_queued(c) > 0;

	if (c->dead)
		return;
	if (c->closing && !out && !c->lingering) {
		if (c->eof) {
			hconn_kill(c, HTTP_GONE_FIN, false);
			return;
		}
		/* A close with unread input would be a reset, and take our last
		 * words with it: RFC 9112 9.6. */
		(void)shutdown(c->fd, SHUT_WR);
		c->lingering = true;
		hconn_list(c, HC_LINGER);
	} else if (c->req) {
		if (c->list != HC_NONE)
			hconn_list(c, HC_NONE);
	} else if (out) {
		if (c->list != HC_DRAIN)
			hconn_list(c, HC_DRAIN);
	} else if (c->read) {
		if (c->list != HC_REQUEST)
			hconn_list(c, HC_REQUEST);
	} else if (!c->lingering) {
		hconn_list(c, HC_IDLE);
	}
	hconn_want(c);
}

/* The event is handled. */
static void
rest(struct hconn *c)
{
	hconn_settle(c);
	c->busy = false;
	if (c->dead)
		hconn_bury(c);
}

static void
deliver(struct hconn *c)
{
	struct hreq *r = xcalloc(1, sizeof *r);

	r->c = c;
	r->head = hread_take(c->read, &r->body);
	r->n = c->n;
	r->last = !r->head->keep_alive;
	hread_free(c->read);
	c->read = NULL;
	c->req = r;
	/* The next request has its own time. */
	hconn_list(c, HC_NONE);
	c->corked = true;
	c->d->cb->request(c->d->arg, r);
	c->corked = false;
	hconn_flush(c);
}

/* May a request be read?  Not before the answer to the last one is out. */
static bool
open_for_request(const struct hconn *c)
{
	return !c->dead && !c->closing && !c->req && hconn_queued(c) == 0;
}

/* Returns bytes used. */
static size_t
process(struct hconn *c, const char *p, size_t n)
{
	size_t used = 0;

	while (used < n && open_for_request(c)) {
		enum hread_is is;

		if (c->read == NULL)
			c->read = hread_new(&c->d->limits);
		used += hread_feed(c->read, p + used, n - used, &is);
		switch (is) {
		case HREAD_MORE:
			break;
		case HREAD_CONTINUE:
			hconn_continue(c);
			break;
		case HREAD_DONE:
			deliver(c);
			break;
		case HREAD_REFUSED:
			hconn_refuse(c, hread_status(c->read), hread_why(c->read));
			begin_closing(c);
			break;
		}
	}
	return used;
}

/* What waits, as far as it may be read. */
static void
process_in(struct hconn *c)
{
	struct buf in;
	size_t used;

	if (c->in.n == 0 || !open_for_request(c))
		return;
	/* Out of the way: who closes lets go of c->in. */
	in = c->in;
	buf_init(&c->in, c->in.max);
	used = process(c, in.p, in.n);
	if (used < in.n && !c->dead && !c->closing) {
		buf_drop(&in, used);
		c->in = in;
	} else {
		buf_fini(&in);
	}
}

void
hconn_run(struct hconn *c)
{
	c->busy = true;
	process_in(c);
	rest(c);
}

/* It closed (or half-closed) or reset the connection. */
static void
peer_gone(struct hconn *c, bool reset)
{
	if (!c->lingering)
		c->by_client = true;
	c->reset = reset;
	if (!reset && !c->req && hconn_queued(c) > 0) {
		/* It may still read the answers it asked for. */
		c->eof = true;
		begin_closing(c);
		return;
	}
	hconn_kill(c, reset ? HTTP_GONE_RST : HTTP_GONE_FIN, false);
}

static void
read_some(struct hconn *c)
{
	struct httpd *d = c->d;
	size_t room = sizeof d->buf, used;
	ssize_t n;

	/* Behind a request bytes wait, as many as may; behind a stream one
	 * more is read to see that there are too many. */
	if (!c->closing && (c->in.n > 0 || !open_for_request(c)))
		room = c->in.n < HPIPELINE ? HPIPELINE - c->in.n : 1;
	n = recv(c->fd, d->buf, room, 0);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			peer_gone(c, true);
		return;
	}
	if (n == 0) {
		peer_gone(c, false);
		return;
	}
	if (d->cb->bytes)
		d->cb->bytes(d->arg, c->number, false, d->buf, (size_t)n);
	if (c->closing) {
		c->discarded += (uint32_t)n;
		if (c->discarded > DISCARD)
			hconn_kill(c, HTTP_GONE_RST, true);
		return;
	}
	used = c->in.n == 0 ? process(c, d->buf, (size_t)n) : 0;
	if (!c->dead && !c->closing &&
	    buf_add(&c->in, d->buf + used, (size_t)n - used) != 0)
		hconn_kill(c, HTTP_GONE_RST, true);
}

static void
on_ready(void *arg, int fd, unsigned ready)
{
	struct hconn *c = arg;
	int e = 0;
	socklen_t n = sizeof e;

	c->busy = true;
	if (ready & LOOP_WRITE)
		hconn_flush(c);
	if ((ready & LOOP_CLOSED) && !c->dead) {
		(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n);
		peer_gone(c, e != 0);
	}
	if ((ready & LOOP_READ) && !c->dead)
		read_some(c);
	process_in(c);
	rest(c);
}

void
hconn_expire(struct hconn *c)
{
	c->busy = true;
	switch ((enum hconn_list)c->list) {
	case HC_IDLE:
		begin_closing(c);
		break;
	case HC_REQUEST:
		if (!hread_blank(c->read))
			hconn_refuse(c, 408, "the request took too long");
		begin_closing(c);
		break;
	case HC_DRAIN:
		hconn_kill(c, HTTP_GONE_SLOW, true);
		break;
	case HC_LINGER:
		hconn_kill(c, HTTP_GONE_FIN, false);
		break;
	case HC_NONE: case HC_RUN: case HC_DEAD: case HC_LISTS:
		break;
	}
	rest(c);
}

void
hconn_new(struct httpd *d, int fd, const struct hlisten *l,
    const struct sockaddr *peer)
{
	struct hconn *c = xcalloc(1, sizeof *c);
	struct sockaddr_storage ss = { 0 };
	socklen_t n = sizeof ss;
	char client[HADDRESS], server[HADDRESS];

	c->d = d;
	c->fd = fd;
	c->list = HC_LISTS;
	buf_init(&c->in, HPIPELINE);
	buf_init(&c->out, SIZE_MAX / 4);
	c->ready = loop_fd_new(d->loop, fd, LOOP_READ, on_ready, c);
	if (c->ready == NULL) {
		(void)close(fd);
		free(c);
		return;
	}
	c->number = ++d->number;
	d->n_conns++;
	hconn_list(c, HC_IDLE);
	if (d->cb->opened == NULL)
		return;
	hbind_text(peer, client);
	memcpy(server, l->address, sizeof server);
	if (getsockname(fd, (struct sockaddr *)&ss, &n) == 0)
		hbind_text((struct sockaddr *)&ss, server);
	d->cb->opened(d->arg, c->number, client, server);
}
