#include "mcpdiag/loop.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include "mcpdiag/xmem.h"

struct loop_sig {
	struct event *ev;
	loop_signal_fn *fn;
	void *arg;
	struct loop_sig *next;
};

struct loop {
	struct event_base *base;
	struct loop_sig *signals;
};

struct loop_timer {
	struct loop *loop;
	struct event *ev;
	loop_fn *fn;
	void *arg;
	ns_t due;		/* loop_mono() */
};

struct loop_fd {
	struct loop *loop;
	struct event *ev;
	loop_fd_fn *fn;
	void *arg;
	int fd;
	unsigned want;
};

struct loop *
loop_new(struct errmsg *em)
{
	struct event_config *cfg = event_config_new();
	struct loop *l = xcalloc(1, sizeof *l);

	/* Early close is what LOOP_CLOSED stands on: that is epoll.  Without
	 * precise timers, time goes in steps of the system's tick, 4 ms. */
	if (cfg != NULL && event_config_require_features(cfg,
	    EV_FEATURE_EARLY_CLOSE | EV_FEATURE_ET) == 0 &&
	    event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK |
	    EVENT_BASE_FLAG_IGNORE_ENV | EVENT_BASE_FLAG_PRECISE_TIMER) == 0)
		l->base = event_base_new_with_config(cfg);
	if (cfg != NULL)
		event_config_free(cfg);
	if (l->base == NULL) {
		err_set(em, E_IO, "no event mechanism: %s (is the limit of "
		    "open files, ulimit -n, reached?)", strerror(errno));
		free(l);
		return NULL;
	}
	return l;
}

void
loop_free(struct loop *l)
{
	struct loop_sig *s;

	if (l == NULL)
		return;
	while ((s = l->signals) != NULL) {
		l->signals = s->next;
		event_free(s->ev);
		free(s);
	}
	event_base_free(l->base);
	free(l);
}

void
loop_run(struct loop *l)
{
	(void)event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

void
loop_stop(struct loop *l)
{
	(void)event_base_loopbreak(l->base);
}

static ns_t
clock_of(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts);
	return ts.tv_sec * NS_S + ts.tv_nsec;
}

ns_t
loop_now(const struct loop *l)
{
	(void)l;
	return clock_of(CLOCK_REALTIME);
}

ns_t
loop_mono(const struct loop *l)
{
	(void)l;
	return clock_of(CLOCK_MONOTONIC);
}

/* Rounded up: rather a little late than early. */
static void
arm(struct loop_timer *t, ns_t after)
{
	struct timeval tv = { 0, 0 };

	if (after > 0) {
		tv.tv_sec = after / NS_S;
		tv.tv_usec = (after % NS_S + NS_US - 1) / NS_US;
		if (tv.tv_usec == 1000000) {
			tv.tv_sec++;
			tv.tv_usec = 0;
		}
	}
	(void)event_add(t->ev, &tv);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *t = arg;
	ns_t left = t->due - loop_mono(t->loop);

	(void)fd;
	(void)what;
	/* libevent counts from the start of the turn in which the timer was set. */
	if (left > 0)
		arm(t, left);
	else
		t->fn(t->arg);
}

struct loop_timer *
loop_timer_new(struct loop *l, loop_fn *fn, void *arg)
{
	struct loop_timer *t = xmalloc(sizeof *t);

	*t = (struct loop_timer){ .loop = l, .fn = fn, .arg = arg };
	t->ev = event_new(l->base, -1, 0, on_timer, t);
	assert(t->ev != NULL);
	return t;
}

void
loop_timer_free(struct loop_timer *t)
{
	if (t == NULL)
		return;
	event_free(t->ev);
	free(t);
}

void
loop_timer_set(struct loop_timer *t, ns_t after)
{
	ns_t now = loop_mono(t->loop);

	if (after < 0)
		after = 0;
	t->due = after < INT64_MAX - now ? now + after : INT64_MAX;
	arm(t, after);
}

void
loop_timer_clear(struct loop_timer *t)
{
	(void)event_del(t->ev);
}

static void
on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct loop_sig *s = arg;

	(void)what;
	s->fn(s->arg, (int)sig);
}

int
loop_signal(struct loop *l, int sig, loop_signal_fn *fn, void *arg,
    struct errmsg *em)
{
	struct loop_sig *s = xmalloc(sizeof *s);

	*s = (struct loop_sig){ .fn = fn, .arg = arg, .next = l->signals };
	s->ev = evsignal_new(l->base, sig, on_signal, s);
	if (s->ev == NULL || evsignal_add(s->ev, NULL) != 0) {
		if (s->ev != NULL)
			event_free(s->ev);
		free(s);
		return err_set(em, E_IO, "signal %d: %s", sig, strerror(errno));
	}
	l->signals = s;
	return 0;
}

/* A reset is passed on by libevent as readable and writable, never as closed:
 * so LOOP_CLOSED watches for both.  By edges, else unread data would keep the
 * loop spinning; what an edge means is asked of the system. */
static short
events_of(unsigned want)
{
	short events = EV_PERSIST;

	if (want & LOOP_READ)
		events |= EV_READ;
	else if (want & LOOP_CLOSED)
		events |= EV_READ | EV_CLOSED | EV_ET;
	if (want & LOOP_WRITE)
		events |= EV_WRITE;
	return events;
}

static bool
peer_closed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1 &&
	    (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static void
on_fd(evutil_socket_t fd, short what, void *arg)
{
	struct loop_fd *f = arg;
	unsigned ready = 0;

	if (what & EV_WRITE)
		ready |= LOOP_WRITE;
	if (f->want & LOOP_READ)
		ready |= what & EV_READ ? LOOP_READ : 0;
	else if ((f->want & LOOP_CLOSED) && peer_closed((int)fd))
		ready |= LOOP_CLOSED;
	if (ready & f->want)
		f->fn(f->arg, (int)fd, ready & f->want);
}

struct loop_fd *
loop_fd_new(struct loop *l, int fd, unsigned want, loop_fd_fn *fn, void *arg)
{
	struct loop_fd *f = xmalloc(sizeof *f);

	*f = (struct loop_fd){ .loop = l, .fn = fn, .arg = arg, .fd = fd };
	f->ev = event_new(l->base, fd, events_of(want), on_fd, f);
	assert(f->ev != NULL);
	if (want != 0 && event_add(f->ev, NULL) != 0) {
		loop_fd_free(f);
		return NULL;
	}
	f->want = want;
	return f;
}

void
loop_fd_want(struct loop_fd *f, unsigned want)
{
	if (want == f->want)
		return;
	if (f->want != 0)
		(void)event_del(f->ev);
	f->want = want;
	if (want == 0)
		return;
	(void)event_assign(f->ev, f->loop->base, f->fd, events_of(want), on_fd, f);
	(void)event_add(f->ev, NULL);
}

void
loop_fd_free(struct loop_fd *f)
{
	if (f == NULL)
		return;
	event_free(f->ev);
	free(f);
}
