#include "mcpdiag/httpd.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "httpd_priv.h"
#include "mcpdiag/xmem.h"

enum {
	ACCEPTS = 64,		/* in one turn of the loop */
	HEADERS = 100,
};

static const ns_t accept_pause = 100 * NS_MS, linger_time = 2 * NS_S;

void
hconn_unlist(struct hconn *c)
{
	struct hlist *l = &c->d->list[c->list];

	if (c->prev)
		c->prev->next = c->next;
	else
		l->head = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		l->tail = c->prev;
}

/* Not later than that: lists that were emptied meanwhile cost a look. */
static void
arm(struct httpd *d, ns_t now, ns_t due)
{
	if (due >= d->due)
		return;
	d->due = due;
	loop_timer_set(d->timer, due - now);
}

void
hconn_list(struct hconn *c, enum hconn_list which)
{
	struct hlist *l = &c->d->list[which];

	if (c->list != HC_LISTS)
		hconn_unlist(c);
	c->list = which;
	c->next = NULL;
	c->prev = l->tail;
	if (l->tail)
		l->tail->next = c;
	else
		l->head = c;
	l->tail = c;
	if (l->timeout > 0) {
		c->since = loop_mono(c->d->loop);
		arm(c->d, c->since, c->since + l->timeout);
	}
}

static void
on_timer(void *arg)
{
	struct httpd *d = arg;
	ns_t now = loop_mono(d->loop);

	d->due = INT64_MAX;
	for (int i = 0; i < HC_LISTS; i++) {
		struct hlist *l = &d->list[i];

		while (l->timeout > 0 && l->head && now - l->head->since >= l->timeout)
			hconn_expire(l->head);
		if (l->timeout > 0 && l->head)
			arm(d, now, l->head->since + l->timeout);
	}
}

void
httpd_soon(struct httpd *d)
{
	if (!d->soon_set)
		loop_timer_set(d->soon, 0);
	d->soon_set = true;
}

static void
on_soon(void *arg)
{
	struct httpd *d = arg;
	struct hconn *last = d->list[HC_RUN].tail, *c;

	d->soon_set = false;
	while ((c = d->list[HC_DEAD].head) != NULL)
		hconn_bury(c);
	/* What is put off meanwhile has the next turn. */
	while (last != NULL && (c = d->list[HC_RUN].head) != NULL) {
		bool was_last = c == last;

		hconn_list(c, HC_NONE);
		hconn_run(c);
		if (was_last)
			break;
	}
}

static void
pause_accepting(struct httpd *d)
{
	for (unsigned i = 0; i < d->n_listen; i++)
		if (d->listen[i].ready)
			loop_fd_want(d->listen[i].ready, 0);
	d->paused = true;
	loop_timer_set(d->again, accept_pause);
}

void
httpd_resume(struct httpd *d)
{
	if (!d->paused)
		return;
	d->paused = false;
	loop_timer_clear(d->again);
	for (unsigned i = 0; i < d->n_listen; i++)
		if (d->listen[i].ready)
			loop_fd_want(d->listen[i].ready, LOOP_READ);
}

static void
on_again(void *arg)
{
	httpd_resume(arg);
}

static const struct hlisten *
listener_of(const struct httpd *d, int fd)
{
	unsigned i = 0;

	while (i + 1 < d->n_listen && d->listen[i].fd != fd)
		i++;
	return &d->listen[i];
}

static void
on_accept(void *arg, int fd, unsigned ready)
{
	struct httpd *d = arg;

	(void)ready;
	for (int i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage ss = { 0 };
		socklen_t n = sizeof ss;
		int s = accept4(fd, (struct sockaddr *)&ss, &n,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (s >= 0) {
			hconn_new(d, s, listener_of(d, fd), (struct sockaddr *)&ss);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM)
			pause_accepting(d);
		/* accept(2): other errors are of that one connection. */
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

void
httpd_opts_init(struct httpd_opts *o)
{
	*o = (struct httpd_opts){
		.body = 4 << 20,
		.backlog = 4 << 20,
		.request_timeout = 30 * NS_S,
		.idle_timeout = 75 * NS_S,
	};
	limits_init(&o->limits);
	o->limits.header = 32 << 10;
}

static void
raise_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
}

struct httpd *
httpd_new(struct loop *loop, const struct httpd_opts *opts,
    const struct httpd_cb *cb, void *arg, struct errmsg *em)
{
	struct httpd *d = xcalloc(1, sizeof *d);

	raise_files();
	d->loop = loop;
	d->cb = cb;
	d->arg = arg;
	d->opts = *opts;
	d->due = INT64_MAX;
	d->date_s = -1;
	d->limits = (struct hread_limits){
		.header = opts->limits.header, .headers = HEADERS,
		.body = opts->body,
	};
	if (d->limits.header > UINT32_MAX)	/* lengths in a hread_head */
		d->limits.header = UINT32_MAX;
	d->list[HC_IDLE].timeout = opts->idle_timeout;
	d->list[HC_REQUEST].timeout = opts->request_timeout;
	d->list[HC_DRAIN].timeout = opts->request_timeout;
	d->list[HC_LINGER].timeout = linger_time;
	d->timer = loop_timer_new(loop, on_timer, d);
	d->soon = loop_timer_new(loop, on_soon, d);
	d->again = loop_timer_new(loop, on_again, d);
	if (hbind(opts->host, opts->port, d->listen, &d->n_listen, em) != 0)
		goto out;
	d->port = (uint16_t)strtoul(strrchr(d->listen[0].address, ':') + 1, NULL, 10);
	for (unsigned i = 0; i < d->n_listen; i++) {
		d->listen[i].ready = loop_fd_new(loop, d->listen[i].fd,
		    LOOP_READ, on_accept, d);
		if (d->listen[i].ready == NULL) {
			(void)err_set(em, E_IO, "%s: %s", d->listen[i].address,
			    strerror(errno));
			goto out;
		}
	}
	return d;
out:
	httpd_free(d);
	return NULL;
}

void
httpd_close_listeners(struct httpd *d)
{
	for (unsigned i = 0; i < d->n_listen; i++) {
		loop_fd_free(d->listen[i].ready);
		if (d->listen[i].fd >= 0)
			(void)close(d->listen[i].fd);
		d->listen[i].ready = NULL;
		d->listen[i].fd = -1;
	}
	loop_timer_clear(d->again);
	d->paused = false;
}

void
httpd_free(struct httpd *d)
{
	struct hconn *c;

	if (d == NULL)
		return;
	httpd_close_listeners(d);
	for (int i = 0; i < HC_LISTS; i++)
		while ((c = d->list[i].head) != NULL) {
			hconn_kill(c, HTTP_GONE_SHUTDOWN, false);
			hconn_bury(c);
		}
	loop_timer_free(d->timer);
	loop_timer_free(d->soon);
	loop_timer_free(d->again);
	free(d);
}

uint16_t
httpd_port(const struct httpd *d)
{
	return d->port;
}

uint32_t
httpd_conns(const struct httpd *d)
{
	return d->n_conns;
}

bool
httpd_draining(const struct httpd *d)
{
	return d->list[HC_DRAIN].head != NULL;
}

const char *
httpd_address(const struct httpd *d, unsigned n)
{
	return n < d->n_listen ? d->listen[n].address : NULL;
}
