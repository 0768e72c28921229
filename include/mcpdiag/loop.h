/* loop: the one event loop of a command: timers, signals, descriptors.
 * Everything runs on the thread that calls loop_run().  Clocks are read here
 * and nowhere below cmd; what else needs the time is given it.
 * Handles are freed by their owner before the loop is. */
#ifndef MCPDIAG_LOOP_H
#define MCPDIAG_LOOP_H

#include "mcpdiag/err.h"
#include "mcpdiag/ns.h"

struct loop;
struct loop_timer;
struct loop_fd;

typedef void loop_fn(void *arg);
typedef void loop_signal_fn(void *arg, int sig);

enum {				/* what a descriptor is ready for */
	LOOP_READ = 1,		/* data, or their end, or an error */
	LOOP_WRITE = 2,
	LOOP_CLOSED = 4,	/* the peer closed, half-closed or reset: for
				 * when LOOP_READ is not wanted; data that wait
				 * to be read do not hide it */
};
typedef void loop_fd_fn(void *arg, int fd, unsigned ready);

/* NULL and a sentence when the system has no event mechanism left. */
struct loop *loop_new(struct errmsg *);
void loop_free(struct loop *);
/* Until loop_stop(). */
void loop_run(struct loop *);
/* From a callback: loop_run() returns when it is done. */
void loop_stop(struct loop *);
/* Now, nanoseconds since the epoch (CLOCK_REALTIME), and nanoseconds that only
 * go forward (CLOCK_MONOTONIC). */
ns_t loop_now(const struct loop *);
ns_t loop_mono(const struct loop *);

/* A timer, not running yet. */
struct loop_timer *loop_timer_new(struct loop *, loop_fn *, void *arg);
void loop_timer_free(struct loop_timer *);
/* Runs once, not before `after` from now (in the next turn of the loop when
 * that is not positive); replaces an earlier setting. */
void loop_timer_set(struct loop_timer *, ns_t after);
void loop_timer_clear(struct loop_timer *);

/* Calls fn in the loop, not in signal context.  The handle lives as long as
 * the loop. */
int loop_signal(struct loop *, int sig, loop_signal_fn *, void *arg,
    struct errmsg *);

/* A descriptor to be watched for `want` (LOOP_READ, ...; 0: nothing for now),
 * level triggered; not closed by us.  NULL when it cannot be watched: it is not
 * open, or a regular file, which is always ready.  May be freed in its own
 * callback. */
struct loop_fd *loop_fd_new(struct loop *, int fd, unsigned want, loop_fd_fn *,
    void *arg);
/* Costs a system call when `want` is not what it was. */
void loop_fd_want(struct loop_fd *, unsigned want);
void loop_fd_free(struct loop_fd *);

#endif
