#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "mcpdiag/loop.h"

struct seen {
	struct loop *loop;
	struct loop_timer *timer;
	struct loop_fd *ready;
	unsigned n, stop_at;
	unsigned what;		/* LOOP_..., all that were seen */
	int sig;
	ns_t at;
};

static void
count(struct seen *s)
{
	s->at = loop_mono(s->loop);
	if (++s->n == s->stop_at)
		loop_stop(s->loop);
}

static void
on_timer(void *arg)
{
	count(arg);
}

static void
again(void *arg)
{
	struct seen *s = arg;

	loop_timer_set(s->timer, 0);
	count(s);
}

static void
on_fd(void *arg, int fd, unsigned ready)
{
	struct seen *s = arg;

	assert_true(fd >= 0);
	s->what |= ready;
	count(s);
}

static void
on_late(void *arg)
{
	(void)arg;
	fail_msg("waited in vain");
}

static void
on_signal(void *arg, int sig)
{
	struct seen *s = arg;

	s->sig = sig;
	count(s);
}

/* The loop, with a guard. */
static struct loop_timer *
init(struct seen *s)
{
	struct errmsg em = { "" };
	struct loop_timer *guard;

	*s = (struct seen){ .stop_at = 1 };
	s->loop = loop_new(&em);
	if (s->loop == NULL)
		fail_msg("%s", em.text);
	guard = loop_timer_new(s->loop, on_late, NULL);
	loop_timer_set(guard, 10 * NS_S);
	return guard;
}

static void
fini(struct seen *s, struct loop_timer *guard)
{
	loop_fd_free(s->ready);
	loop_timer_free(s->timer);
	loop_timer_free(guard);
	loop_free(s->loop);
}

/* A long turn, at the end of which the timer is set. */
static void
dawdle(void *arg)
{
	struct seen *s = arg;
	ns_t begun = loop_mono(s->loop);

	while (loop_mono(s->loop) - begun < 20 * NS_MS)
		continue;
	s->at = loop_mono(s->loop);
	loop_timer_set(s->timer, 10 * NS_MS);
}

/* Not before its time, however long the turn was in which it was set. */
static void
test_timer(void **state)
{
	static const ns_t after[] = { -1, 0, 1, NS_US, 999999, NS_MS, 7 * NS_MS };
	struct seen s, busy;
	struct loop_timer *guard = init(&s), *other;
	ns_t begun;

	(void)state;
	s.timer = loop_timer_new(s.loop, on_timer, &s);
	for (size_t i = 0; i < N_ROWS(after); i++) {
		s.n = 0;
		begun = loop_mono(s.loop);
		loop_timer_set(s.timer, after[i]);
		loop_run(s.loop);
		assert_int_equal(s.n, 1);
		assert_true(s.at - begun >= after[i]);
	}
	s.n = 0;
	other = loop_timer_new(s.loop, dawdle, &s);
	busy = (struct seen){ .loop = s.loop };
	busy.timer = loop_timer_new(s.loop, again, &busy);
	loop_timer_set(busy.timer, 0);	/* the loop does not sleep */
	loop_timer_set(other, 0);
	begun = loop_mono(s.loop);
	loop_run(s.loop);
	assert_true(s.at - begun >= 30 * NS_MS);
	loop_timer_free(busy.timer);
	loop_timer_free(other);
	/* The last setting counts; what is cleared does not run. */
	other = loop_timer_new(s.loop, on_late, NULL);
	loop_timer_set(other, NS_MS);
	loop_timer_clear(other);
	loop_timer_clear(other);
	s.n = 0;
	loop_timer_set(s.timer, 60 * NS_S);
	loop_timer_set(s.timer, 5 * NS_MS);
	loop_run(s.loop);
	assert_int_equal(s.n, 1);
	loop_timer_set(s.timer, INT64_MAX);
	loop_timer_free(other);
	loop_timer_free(NULL);
	fini(&s, guard);
}

/* A timer that always sets itself again leaves descriptors their turn. */
static void
test_no_starving(void **state)
{
	struct seen s, t;
	struct loop_timer *guard = init(&s);
	int fd[2];

	(void)state;
	t = (struct seen){ .loop = s.loop };
	t.timer = loop_timer_new(s.loop, again, &t);
	loop_timer_set(t.timer, 0);
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	s.ready = loop_fd_new(s.loop, fd[0], LOOP_READ, on_fd, &s);
	loop_run(s.loop);
	assert_int_equal(s.what, LOOP_READ);
	loop_timer_free(t.timer);
	fini(&s, guard);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

static void
test_signal(void **state)
{
	struct seen s;
	struct loop_timer *guard = init(&s);
	struct errmsg em = { "" };

	(void)state;
	assert_int_equal(loop_signal(s.loop, SIGUSR1, on_signal, &s, &em), 0);
	assert_int_equal(loop_signal(s.loop, SIGUSR2, on_signal, &s, &em), 0);
	assert_int_equal(raise(SIGUSR2), 0);
	assert_int_equal(s.n, 0);	/* not in signal context */
	loop_run(s.loop);
	assert_int_equal(s.sig, SIGUSR2);
	assert_int_equal(loop_signal(s.loop, 4711, on_signal, &s, &em), -E_IO);
	assert_non_null(strstr(em.text, "4711"));
	fini(&s, guard);
}

static void
test_fd(void **state)
{
	struct seen s;
	struct loop_timer *guard = init(&s);
	int fd[2], file;
	char byte;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	s.ready = loop_fd_new(s.loop, fd[0], LOOP_WRITE, on_fd, &s);
	loop_run(s.loop);
	assert_int_equal(s.what, LOOP_WRITE);
	/* Only what is wanted, and as long as it is there. */
	s.n = s.what = 0;
	s.stop_at = 3;
	loop_fd_want(s.ready, LOOP_READ);
	assert_int_equal(write(fd[1], "x", 1), 1);
	loop_run(s.loop);
	assert_int_equal(s.what, LOOP_READ);
	s.n = s.what = 0;
	loop_fd_want(s.ready, LOOP_READ | LOOP_WRITE);
	loop_run(s.loop);
	assert_int_equal(s.what, LOOP_READ | LOOP_WRITE);
	/* Nothing for now: the timer runs, the descriptor does not. */
	s.n = s.what = 0;
	s.stop_at = 1;
	loop_fd_want(s.ready, 0);
	s.timer = loop_timer_new(s.loop, on_timer, &s);
	loop_timer_set(s.timer, 2 * NS_MS);
	loop_run(s.loop);
	assert_int_equal(s.what, 0);
	s.n = 0;
	loop_fd_want(s.ready, LOOP_READ);
	loop_run(s.loop);
	assert_int_equal(s.what, LOOP_READ);
	assert_int_equal(read(fd[0], &byte, 1), 1);
	/* The end of the data is readable, too. */
	s.n = s.what = 0;
	(void)close(fd[1]);
	loop_run(s.loop);
	assert_int_equal(s.what, LOOP_READ);
	fini(&s, guard);
	(void)close(fd[0]);

	guard = init(&s);
	file = open("/proc/self/exe", O_RDONLY);
	assert_true(file >= 0);
	assert_null(loop_fd_new(s.loop, file, LOOP_READ, on_fd, &s));
	(void)close(file);
	assert_null(loop_fd_new(s.loop, file, LOOP_READ, on_fd, &s));
	loop_fd_free(NULL);
	fini(&s, guard);
}

/* Two ends of a TCP connection. */
static void
tcp_pair(int fd[2])
{
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t n = sizeof in;
	int l = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(l, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&in, &n), 0);
	fd[1] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd[1], (struct sockaddr *)&in, sizeof in), 0);
	fd[0] = accept(l, NULL, NULL);
	assert_true(fd[0] >= 0);
	(void)close(l);
}

enum end { HALF, FIN, RST };

/* A peer that goes is seen behind bytes that nobody reads. */
static void
closed_behind(enum end how, bool unread, bool before)
{
	struct seen s;
	struct loop_timer *guard = init(&s);
	struct linger now = { 1, 0 };
	int fd[2];

	tcp_pair(fd);
	if (unread)
		assert_int_equal(write(fd[1], "unread", 6), 6);
	if (!before) {
		/* First it is seen that data are no close. */
		s.ready = loop_fd_new(s.loop, fd[0], LOOP_CLOSED, on_fd, &s);
		s.timer = loop_timer_new(s.loop, on_timer, &s);
		loop_timer_set(s.timer, 2 * NS_MS);
		loop_run(s.loop);
		assert_int_equal(s.what, 0);
		s.n = 0;
		assert_int_equal(write(fd[1], "more", 4), 4);
		loop_timer_set(s.timer, 2 * NS_MS);
		loop_run(s.loop);
		assert_int_equal(s.what, 0);
		s.n = 0;
	}
	switch (how) {
	case HALF:
		assert_int_equal(shutdown(fd[1], SHUT_WR), 0);
		break;
	case RST:
		assert_int_equal(setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &now,
		    sizeof now), 0);
		(void)close(fd[1]);
		break;
	case FIN:
		(void)close(fd[1]);
		break;
	}
	if (before)
		s.ready = loop_fd_new(s.loop, fd[0], LOOP_CLOSED, on_fd, &s);
	loop_run(s.loop);
	assert_int_equal(s.what, LOOP_CLOSED);
	fini(&s, guard);
	(void)close(fd[0]);
	if (how == HALF)
		(void)close(fd[1]);
}

static void
test_closed(void **state)
{
	(void)state;
	for (int how = HALF; how <= RST; how++)
		for (int k = 0; k < 4; k++)
			closed_behind((enum end)how, k & 1, k & 2);
}

static void
on_fd_free(void *arg, int fd, unsigned ready)
{
	struct seen *s = arg;

	(void)fd;
	(void)ready;
	loop_fd_free(s->ready);
	s->ready = NULL;
	count(s);
}

/* A handle freed in its own callback, and one freed before its turn. */
static void
test_freed(void **state)
{
	struct seen s, t;
	struct loop_timer *guard = init(&s);
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	s.ready = loop_fd_new(s.loop, fd[0], LOOP_WRITE, on_fd_free, &s);
	loop_run(s.loop);
	assert_null(s.ready);
	t = (struct seen){ .loop = s.loop };
	s.n = 0;
	t.ready = loop_fd_new(s.loop, fd[1], LOOP_WRITE, on_fd, &t);
	loop_fd_free(t.ready);
	s.ready = loop_fd_new(s.loop, fd[0], LOOP_WRITE, on_fd, &s);
	loop_run(s.loop);
	assert_int_equal(t.n, 0);
	fini(&s, guard);
	loop_free(NULL);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

static void
test_clocks(void **state)
{
	struct seen s;
	struct loop_timer *guard = init(&s);
	ns_t mono = loop_mono(s.loop);

	(void)state;
	assert_true(loop_now(s.loop) > 1700000000 * NS_S);
	assert_true(loop_mono(s.loop) >= mono);
	fini(&s, guard);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer),
		cmocka_unit_test(test_no_starving),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_fd),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
