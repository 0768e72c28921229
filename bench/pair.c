/* pair: runs commands in turn, A B A B ..., and compares their cost.
 *   pair [-n RUNS] [-w] [-t SECONDS] [-o FILE] A... [-- B...]
 * Prints one line of NAME=VALUE: for each command the median CPU (user and
 * system) and wall seconds, the largest resident size in KiB and the worst
 * exit status; with B also least, median and largest ratio A/B over the pairs,
 * of CPU time or, with -w, of wall time.  A's output goes to FILE, everything
 * else to /dev/null.  -t kills a command that takes longer.
 * It is small because a child starts as a copy of its parent: whatever this
 * program holds is the floor under each resident size. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_RUNS 99

struct cost {
	double cpu[MAX_RUNS], wall[MAX_RUNS];
	long rss;
	int status;
};

static double
seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
child(char **argv, const char *out, unsigned timeout)
{
	int in = open("/dev/null", O_RDWR);
	int fd = out ? open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666) : in;

	if (in < 0 || fd < 0) {
		perror(out ? out : "/dev/null");
		_exit(126);
	}
	(void)dup2(in, 0);
	(void)dup2(fd, 1);
	(void)dup2(in, 2);
	(void)alarm(timeout);
	execvp(argv[0], argv);
	_exit(127);
}

static void
run(struct cost *c, int i, char **argv, const char *out, unsigned timeout)
{
	struct rusage u;
	double begun = now();
	pid_t pid = fork();
	int st = 0;

	if (pid < 0) {
		perror("fork");
		exit(3);
	}
	if (pid == 0)
		child(argv, out, timeout);
	if (wait4(pid, &st, 0, &u) < 0) {
		perror("wait4");
		exit(3);
	}
	c->wall[i] = now() - begun;
	c->cpu[i] = seconds(u.ru_utime) + seconds(u.ru_stime);
	if (u.ru_maxrss > c->rss)
		c->rss = u.ru_maxrss;
	st = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	if (st > c->status)
		c->status = st;
}

static int
order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double
median(const double *v, int n)
{
	double s[MAX_RUNS];

	memcpy(s, v, sizeof *s * (size_t)n);
	qsort(s, (size_t)n, sizeof *s, order);
	return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

static void
show(const char *name, const struct cost *c, int n)
{
	printf("%s_cpu=%.6f %s_wall=%.6f %s_rss=%ld %s_status=%d ", name,
	    median(c->cpu, n), name, median(c->wall, n), name, c->rss, name, c->status);
}

int
main(int argc, char **argv)
{
	struct cost a = { .rss = 0 }, b = { .rss = 0 };
	const char *out = NULL;
	unsigned timeout = 600;
	int n = 5, use_wall = 0, opt;
	char **bv = NULL;

	while ((opt = getopt(argc, argv, "+n:wt:o:")) != -1) {
		switch (opt) {
		case 'n': n = (int)strtol(optarg, NULL, 10); break;
		case 'w': use_wall = 1; break;
		case 't': timeout = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'o': out = optarg; break;
		default: n = 0;
		}
	}
	if (n < 1 || n > MAX_RUNS || optind >= argc) {
		fprintf(stderr, "usage: pair [-n RUNS] [-w] [-t SECONDS] "
		    "[-o FILE] A... [-- B...]\n");
		return 2;
	}
	for (int i = optind; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			argv[i] = NULL;
			bv = argv + i + 1;
			break;
		}
	}
	for (int i = 0; i < n; i++) {
		run(&a, i, argv + optind, out, timeout);
		if (bv)
			run(&b, i, bv, NULL, timeout);
	}
	show("a", &a, n);
	if (bv) {
		double ratio[MAX_RUNS];

		show("b", &b, n);
		for (int i = 0; i < n; i++) {
			double x = use_wall ? a.wall[i] : a.cpu[i];
			double y = use_wall ? b.wall[i] : b.cpu[i];
			ratio[i] = x / (y > 1e-6 ? y : 1e-6);
		}
		qsort(ratio, (size_t)n, sizeof *ratio, order);
		printf("min=%.4f ratio=%.4f max=%.4f ", ratio[0], median(ratio, n),
		    ratio[n - 1]);
	}
	printf("runs=%d\n", n);
	return 0;
}
