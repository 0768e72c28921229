#include "reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mcpdiag/xmem.h"

/* A turn of the loop: so many packets, but, as keys wait for its end, no longer
 * than that. */
#define TURN 4096
#define TURN_TIME (8 * NS_MS)
#define BATCH 16
/* How often a growing file is asked for more: soon enough for a person. */
#define ASK (50 * NS_MS)

struct reader {
	struct reader_opts opts;
	struct loop *loop;
	struct source *source;
	struct loop_fd *ready;		/* a pipe, else: */
	struct loop_timer *turn;
	bool over;
	/* With a speed: the packet that waits for its time, and the moment of
	 * the monotonic clock at which the packet time t0 is due. */
	struct packet next;
	bool waits, begun;
	ns_t t0, mono0;
};

static void
over(struct reader *r)
{
	r->over = true;
	loop_fd_free(r->ready);
	r->ready = NULL;
	r->opts.end(r->opts.arg);
}

static void
hand_on(struct reader *r, const struct packet *pk)
{
	if (!r->opts.packet(r->opts.arg, pk))
		r->over = true;
}

/* What can be had in one turn: 1 there is more, SOURCE_LATER, 0 at the end. */
static int
read_some(struct reader *r)
{
	struct packet pk[BATCH];
	ns_t until = loop_mono(r->loop) + TURN_TIME;
	unsigned n;

	for (unsigned done = 0; done < TURN && loop_mono(r->loop) < until; done += n) {
		int rc = source_next(r->source, pk);

		if (rc != 1)
			return rc;
		n = 1 + source_more(r->source, pk + 1, BATCH - 1);
		for (unsigned i = 0; i < n && !r->over; i++)
			hand_on(r, &pk[i]);
		if (r->over)
			return 1;
	}
	return 1;
}

/* read_some(), as a whole turn. */
static int
turn(struct reader *r)
{
	int rc = read_some(r);

	r->opts.turn(r->opts.arg);
	return rc;
}

static void
on_turn(void *arg)
{
	struct reader *r = arg;
	int rc = turn(r);

	if (r->over)
		return;
	if (rc == 0)
		over(r);
	else
		loop_timer_set(r->turn, rc == SOURCE_LATER ? ASK : 0);
}

static void
on_pipe(void *arg, int fd, unsigned ready)
{
	struct reader *r = arg;

	(void)fd;
	(void)ready;
	if (r->over)
		return;
	switch (turn(r)) {
	case 0:
		if (!r->over)
			over(r);
		break;
	case SOURCE_LATER:
		loop_fd_want(r->ready, LOOP_READ);
		break;
	default:
		/* Packets that are in memory make no descriptor ready. */
		loop_fd_want(r->ready, 0);
		loop_timer_set(r->turn, 0);
	}
}

static void
on_pipe_turn(void *arg)
{
	struct reader *r = arg;

	if (r->ready)
		on_pipe(r, -1, LOOP_READ);
}

/* How long the packet has to wait yet. */
static ns_t
left(struct reader *r, const struct packet *pk)
{
	uint64_t ahead, speed = r->opts.speed;
	ns_t now = loop_mono(r->loop), due;

	if (!r->begun) {
		r->begun = true;
		r->t0 = pk->t;
		r->mono0 = now;
	}
	if (pk->t <= r->t0)
		return 0;
	ahead = (uint64_t)(pk->t - r->t0);
	/* Nobody waits for three hundred years. */
	if (ahead / speed > INT64_MAX / 4000)
		ahead = INT64_MAX / 4000 * speed;
	due = r->mono0 + (ns_t)(ahead / speed * 1000 + ahead % speed * 1000 / speed);
	if (due - now > READER_PAUSE_MAX) {
		r->mono0 -= due - now - READER_PAUSE_MAX;
		due = now + READER_PAUSE_MAX;
	}
	return due - now;
}

/* What is due; 0 at the end, else how long to wait for more. */
static int
due_some(struct reader *r, ns_t *wait)
{
	*wait = 0;
	for (unsigned done = 0; done < TURN && !r->over; done++) {
		if (!r->waits && source_next(r->source, &r->next) != 1)
			return 0;
		r->waits = true;
		*wait = left(r, &r->next);
		if (*wait > 0)
			break;
		r->waits = false;
		hand_on(r, &r->next);
	}
	return 1;
}

static void
on_timed_turn(void *arg)
{
	struct reader *r = arg;
	ns_t wait;
	int rc = due_some(r, &wait);

	r->opts.turn(r->opts.arg);
	if (r->over)
		return;
	if (rc == 0)
		over(r);
	else
		loop_timer_set(r->turn, wait);
}

static bool
is_pipe(const char *path)
{
	struct stat st;

	return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(path, &st)) == 0 &&
	    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

struct reader *
reader_new(struct loop *loop, const struct reader_opts *o, struct errmsg *em)
{
	struct reader *r = xcalloc(1, sizeof *r);
	bool follow = o->follow || is_pipe(o->path);
	int fd = -1;

	r->opts = *o;
	r->loop = loop;
	r->source = source_new();
	if ((follow ? source_follow(r->source, o->path, &fd, em) :
	    source_add(r->source, o->path, em)) != 0) {
		reader_free(r);
		return NULL;
	}
	r->turn = loop_timer_new(loop, fd >= 0 ? on_pipe_turn :
	    o->speed ? on_timed_turn : on_turn, r);
	if (fd >= 0)
		r->ready = loop_fd_new(loop, fd, LOOP_READ, on_pipe, r);
	/* What cannot be watched, as /dev/null, is always ready. */
	if (fd >= 0 && r->ready == NULL) {
		loop_timer_free(r->turn);
		r->turn = loop_timer_new(loop, on_turn, r);
	}
	if (r->ready == NULL)
		loop_timer_set(r->turn, 0);
	return r;
}

void
reader_free(struct reader *r)
{
	if (r == NULL)
		return;
	loop_timer_free(r->turn);
	loop_fd_free(r->ready);
	source_free(r->source);
	free(r);
}

const struct source *
reader_source(const struct reader *r)
{
	return r->source;
}
