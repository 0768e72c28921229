/* ptylat: how soon a program on a terminal answers keys, and what it costs.
 *   ptylat [-s COLSxROWS] [-n TRIES] [-k KEYS] [-w MS] [-i MS] [-a MS] [-t TEXT]
 *       [-o FILE] [-p] PROGRAM...
 * Starts the program on a terminal of its own (-p: its stdin is ours), lets it
 * paint for -w ms (or until TEXT has come and then that long), measures -i ms
 * without keys, and sends TRIES keys, KEYS in turn.  An answer is the first
 * bytes behind a key: the key goes out when the screen has just been quiet for
 * QUIET, so that a repaint with a pace of its own is not taken for it.  -a ms
 * later sends "q" until the program ends; what it writes then goes to FILE.
 * Prints one line of NAME=VALUE: first and text: ms until the first byte and
 * until TEXT; n, p50, p99, max: ms from key to answer, missed: keys without one
 * in a second, which count as one; key_cpu: ms of CPU for a key; idle_cpu: percent of a processor
 * without keys; paints: bursts of bytes meanwhile; status: its exit status. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define QUIET 8			/* ms without a byte */
#define PACE 130		/* ms in which a repaint of its own would come */
#define GIVE_UP 1000
#define QUIT 30000		/* ms for the report at the end */
#define MAX_TRIES 10000

struct pty {
	int fd;
	pid_t pid;
	const char *text;	/* wanted, and the end of what came */
	char tail[256];
	size_t n_tail;
	bool seen, gone;
	int out;		/* a copy goes there; -1: nowhere */
};

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Milliseconds of CPU so far. */
static double
cpu(const struct pty *p)
{
	char path[64];
	double ns = 0;
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%ld/schedstat", (long)p->pid);
	f = fopen(path, "r");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%lf", &ns) != 1)
		ns = 0;
	(void)fclose(f);
	return ns / 1e6;
}

static void
look_for(struct pty *p, const char *b, size_t n)
{
	char all[sizeof p->tail + 65536 + 1];
	size_t keep;

	memcpy(all, p->tail, p->n_tail);
	memcpy(all + p->n_tail, b, n);
	n += p->n_tail;
	all[n] = '\0';
	p->seen |= memmem(all, n, p->text, strlen(p->text)) != NULL;
	keep = strlen(p->text) < sizeof p->tail ? strlen(p->text) : sizeof p->tail;
	keep = n < keep ? n : keep;
	memcpy(p->tail, all + n - keep, keep);
	p->n_tail = keep;
}

/* Whether bytes came within that time; they are taken. */
static bool
some(struct pty *p, double ms)
{
	struct pollfd f = { .fd = p->fd, .events = POLLIN };
	char b[65536];
	ssize_t n;

	if (p->gone || poll(&f, 1, ms > 0 ? (int)(ms + 0.999) : 0) != 1)
		return false;
	n = read(p->fd, b, sizeof b);
	if (n <= 0) {
		p->gone = true;
		return false;
	}
	if (p->out >= 0)
		(void)!write(p->out, b, (size_t)n);
	if (p->text && !p->seen)
		look_for(p, b, (size_t)n);
	return true;
}

/* Takes what comes in that time; how many bursts it was. */
static int
take(struct pty *p, double ms)
{
	double until = now() + ms, last = 0;
	int bursts = 0;

	while (!p->gone && now() < until) {
		if (!some(p, until - now()))
			continue;
		bursts += now() - last > QUIET;
		last = now();
	}
	return bursts;
}

static void
settle(struct pty *p)
{
	(void)some(p, PACE);
	while (some(p, QUIET))
		;
}

static int
order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void
start(struct pty *p, struct winsize size, bool keep_stdin, char **argv)
{
	const char *name;
	int fd;

	p->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->fd < 0 || grantpt(p->fd) != 0 || unlockpt(p->fd) != 0 ||
	    (name = ptsname(p->fd)) == NULL || ioctl(p->fd, TIOCSWINSZ, &size) != 0 ||
	    (p->pid = fork()) < 0) {
		perror("ptylat");
		exit(3);
	}
	if (p->pid != 0)
		return;
	(void)setsid();
	fd = open(name, O_RDWR);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) != 0)
		_exit(126);
	if (!keep_stdin)
		(void)dup2(fd, 0);
	(void)dup2(fd, 1);
	(void)dup2(fd, 2);
	if (fd > 2)
		(void)close(fd);
	(void)setenv("TERM", "xterm-256color", 1);
	execvp(argv[0], argv);
	_exit(127);
}

static int
finish(struct pty *p)
{
	int st = 0;

	for (int i = 0; i < QUIT / 50; i++) {
		if (!p->gone)
			(void)!write(p->fd, "q", 1);
		(void)take(p, 50);
		if (waitpid(p->pid, &st, WNOHANG) == p->pid)
			return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
		if (p->gone)
			(void)poll(NULL, 0, 50);
	}
	(void)kill(p->pid, SIGKILL);
	(void)waitpid(p->pid, &st, 0);
	return 128 + SIGKILL;
}

static void
keys(struct pty *p, const char *keys_in_turn, int tries)
{
	static double v[MAX_TRIES];
	double before, used = 0;
	int n = 0, missed = 0;

	for (int i = 0; i < tries && !p->gone; i++) {
		char key = keys_in_turn[(size_t)i % strlen(keys_in_turn)];

		settle(p);
		used -= cpu(p);
		before = now();
		if (write(p->fd, &key, 1) != 1)
			break;
		missed += !some(p, GIVE_UP);
		v[n++] = now() - before;
		while (some(p, QUIET))
			;
		used += cpu(p);
	}
	qsort(v, (size_t)n, sizeof *v, order);
	printf("n=%d p50=%.2f p99=%.2f max=%.2f missed=%d key_cpu=%.3f ", n,
	    n ? v[n / 2] : 0, n ? v[n * 99 / 100] : 0, n ? v[n - 1] : 0, missed,
	    n ? used / n : 0);
}

int
main(int argc, char **argv)
{
	struct winsize size = { .ws_col = 200, .ws_row = 50 };
	struct pty p = { .fd = -1, .out = -1 };
	const char *in_turn = "jk", *out = NULL;
	double begun = now(), warm = 500, idle = 0, after = 0, first, text, used;
	bool keep_stdin = false, bad = false;
	int tries = 100, opt, paints;
	char *x;

	while ((opt = getopt(argc, argv, "+s:n:k:w:i:a:t:o:p")) != -1) {
		switch (opt) {
		case 's':
			size.ws_col = (unsigned short)strtoul(optarg, &x, 10);
			bad |= *x != 'x';
			size.ws_row = (unsigned short)strtoul(*x ? x + 1 : x, NULL, 10);
			break;
		case 'n': tries = (int)strtol(optarg, NULL, 10); break;
		case 'k': in_turn = optarg; break;
		case 'w': warm = strtod(optarg, NULL); break;
		case 'i': idle = strtod(optarg, NULL); break;
		case 'a': after = strtod(optarg, NULL); break;
		case 'o': out = optarg; break;
		case 't': p.text = optarg; break;
		case 'p': keep_stdin = true; break;
		default: bad = true;
		}
	}
	if (bad || optind >= argc || tries < 0 || tries > MAX_TRIES || !*in_turn) {
		fprintf(stderr, "usage: ptylat [-s COLSxROWS] [-n TRIES] [-k KEYS] [-w MS] "
		    "[-i MS] [-a MS] [-t TEXT] [-o FILE] [-p] PROGRAM...\n");
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	start(&p, size, keep_stdin, argv + optind);
	while (!some(&p, GIVE_UP) && !p.gone && now() - begun < 30 * GIVE_UP)
		;
	first = now() - begun;
	while (p.text && !p.seen && !p.gone && now() - begun < 30 * GIVE_UP)
		(void)some(&p, GIVE_UP);
	text = now() - begun;
	(void)take(&p, warm);
	printf("first=%.1f text=%.1f ", first, p.text && !p.seen ? -1 : text);
	used = cpu(&p);
	begun = now();
	paints = take(&p, idle);
	if (idle > 0)
		printf("idle_cpu=%.3f paints=%d ", (cpu(&p) - used) / (now() - begun) * 100,
		    paints);
	keys(&p, in_turn, tries);
	(void)take(&p, after);
	if (out)
		p.out = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	printf("status=%d\n", finish(&p));
	return 0;
}
