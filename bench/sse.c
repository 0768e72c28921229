/* sse: holds event streams against one `mcpdiag serve`, and measures it.
 *   sse session PORT              prints a new session's id, and holds nothing
 *   sse idle PORT PID N           S1 S2 S6: N sessions with a stream each; their
 *                                 memory, the time to open them, one signal to
 *                                 all of them
 *   sse round PORT PID N ROUNDS   S3: the comments of idle streams; serve with
 *                                 --keepalive 2
 *   sse evict PORT TRIES          S5: a new GET against the end of the old one;
 *                                 serve with --policy replace
 *   sse promote PORT TRIES        S5: a primary closed against its shadow told
 *   sse storm PORT PID N ROUNDS   S6: N sessions with two streams each, all the
 *                                 primaries closed at once
 *   sse flood PORT PID ROUNDS     S7: a stream that is written and never read
 * Prints one line of NAME=VALUE: times in milliseconds, memory in KiB.  Exit
 * status 1 and a line on stderr when the server did not do what it has to.
 *
 * One process, libc only, some 200 bytes for a connection.  A session's POST
 * and its GET share a connection, so that N streams need N descriptors and N
 * ports. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WINDOW = 256,		/* requests under way while opening */
	SID = 33,
	LINE = 104,		/* bytes of a line that are looked at */
	SAMPLES = 1 << 18,
	PER_ADDRESS = 10000,
	KEEPALIVE = 2000,	/* ms, for round */
	PATIENCE = 30000,	/* ms for anything to come */
};

/* Where in a response its next byte is. */
enum part { HEAD, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER, LENGTH, IDLE };

struct conn {
	int fd;			/* -1: closed by us */
	uint8_t part;
	uint8_t n_line;
	bool chunked, stream, headed, promoted, closed;
	uint16_t status;
	uint64_t left;
	uint32_t heads, ends, comments, events;
	char sid[SID], id[24];	/* the last event id */
	char line[LINE];
};

struct client {
	uint16_t port;
	pid_t server;
	int epoll;
	struct conn *c;
	uint32_t n;
	/* Sums over all connections, and when a count changed last. */
	uint64_t heads, ends, comments, events, promoted, closed;
	double first_comment, last_comment, first_event, last_event;
	char buf[64 << 10];
};

static double
now(void)			/* ms */
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void __attribute__((format(printf, 1, 2), noreturn))
die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("sse: ", stderr);
	(void)vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static uint64_t
number(const char *s, int base)
{
	return strtoull(s, NULL, base);
}

/* ---- responses ---- */

static bool
starts(const char *line, const char *with)
{
	return strncasecmp(line, with, strlen(with)) == 0;
}

static void
head_line(struct client *cl, struct conn *c)
{
	const char *s = c->line;

	if (starts(s, "http/1.1 ")) {
		c->status = (uint16_t)number(s + 9, 10);
		c->chunked = c->stream = false;
		c->left = 0;
	} else if (starts(s, "transfer-encoding: chunked")) {
		c->chunked = true;
	} else if (starts(s, "content-length: ")) {
		c->left = number(s + 16, 10);
	} else if (starts(s, "content-type: text/event-stream")) {
		c->stream = true;
	} else if (starts(s, "mcp-session-id: ")) {
		(void)snprintf(c->sid, sizeof c->sid, "%.32s", s + 16);
	} else if (s[0] == '\0') {
		c->headed = true;
		c->heads++;
		cl->heads++;
		if (c->chunked)
			c->part = CHUNK_SIZE;
		else
			c->part = c->left > 0 ? LENGTH : IDLE;
		if (c->part == IDLE) {
			c->ends++;
			cl->ends++;
		}
	}
}

static void
stream_line(struct client *cl, struct conn *c)
{
	const char *s = c->line;

	if (s[0] == ':') {
		c->comments++;
		if (strstr(s, "promoted")) {
			c->promoted = true;
			cl->promoted++;
		}
		cl->last_comment = now();
		if (cl->comments++ == 0)
			cl->first_comment = cl->last_comment;
	} else if (starts(s, "id: ")) {
		(void)snprintf(c->id, sizeof c->id, "%.23s", s + 4);
	} else if (starts(s, "data: ") && strstr(s, "list_changed")) {
		c->events++;
		cl->last_event = now();
		if (cl->events++ == 0)
			cl->first_event = cl->last_event;
	}
}

static void
end(struct client *cl, struct conn *c)
{
	c->part = IDLE;
	c->ends++;
	cl->ends++;
}

static void
line_done(struct client *cl, struct conn *c)
{
	if (c->n_line > 0 && c->line[c->n_line - 1] == '\r')
		c->n_line--;
	c->line[c->n_line] = '\0';
	c->n_line = 0;
	switch ((enum part)c->part) {
	case HEAD:
		head_line(cl, c);
		break;
	case CHUNK_SIZE:
		c->left = number(c->line, 16);
		c->part = c->left > 0 ? CHUNK : TRAILER;
		break;
	case CHUNK:
		stream_line(cl, c);
		break;
	case CHUNK_END:
		c->part = CHUNK_SIZE;
		break;
	case TRAILER:
		if (c->line[0] == '\0')
			end(cl, c);
		break;
	case LENGTH: case IDLE:
		break;
	}
}

/* Our server ends an event, and so a line, with its chunk: one line buffer
 * does for both. */
static void
feed(struct client *cl, struct conn *c, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool in_chunk = c->part == CHUNK;

		if (c->part == LENGTH) {
			size_t k = c->left < n - i ? (size_t)c->left : n - i;

			i += k - 1;
			c->left -= k;
			if (c->left == 0)
				end(cl, c);
			continue;
		}
		if (c->part == IDLE)
			die("bytes that nobody asked for");
		if (p[i] == '\n')
			line_done(cl, c);
		else if (c->n_line < LINE - 1)
			c->line[c->n_line++] = p[i];
		if (in_chunk && --c->left == 0)
			c->part = CHUNK_END;
	}
}

/* ---- connections ---- */

static void
prepare(struct conn *c)
{
	c->part = HEAD;
	c->n_line = 0;
	c->headed = false;
}

static void
send_bytes(struct conn *c, const char *p, size_t n)
{
	prepare(c);
	if (send(c->fd, p, n, MSG_NOSIGNAL) != (ssize_t)n)
		die("a request was not taken: %s", strerror(errno));
}

static void
post(struct client *cl, struct conn *c, const char *body)
{
	char text[1024];
	int n = snprintf(text, sizeof text, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
	    "Content-Type: application/json\r\n"
	    "Accept: application/json, text/event-stream\r\n"
	    "%s%s%sContent-Length: %zu\r\n\r\n%s", c->sid[0] ? "Mcp-Session-Id: " : "",
	    c->sid, c->sid[0] ? "\r\nMCP-Protocol-Version: 2025-11-25\r\n" : "",
	    strlen(body), body);

	(void)cl;
	send_bytes(c, text, (size_t)n);
}

static void
initialize(struct client *cl, struct conn *c)
{
	c->sid[0] = '\0';
	post(cl, c, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}");
}

static void
without_body(struct conn *c, const char *method, const char *last)
{
	char text[512];
	int n = snprintf(text, sizeof text, "%s /mcp HTTP/1.1\r\nHost: localhost\r\n"
	    "Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n"
	    "MCP-Protocol-Version: 2025-11-25\r\n%s%s%s\r\n", method, c->sid,
	    last ? "Last-Event-ID: " : "", last ? last : "", last ? "\r\n" : "");

	send_bytes(c, text, (size_t)n);
}

static void
get(struct conn *c)
{
	without_body(c, "GET", NULL);
}

/* Beyond some ten thousand connections from one address the kernel's search for
 * a free port takes most of the time: the next ones come from the next one. */
static void
bind_to(int fd, uint32_t i)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + i / PER_ADDRESS) };
	int on = 1;

	if (i >= PER_ADDRESS && (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT,
	    &on, sizeof on) != 0 || bind(fd, (struct sockaddr *)&from, sizeof from) != 0))
		die("bind: %s", strerror(errno));
}

static void
open_conn(struct client *cl, struct conn *c)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(cl->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };

	*c = (struct conn){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	c->part = IDLE;
	if (c->fd < 0)
		die("socket: %s", strerror(errno));
	bind_to(c->fd, (uint32_t)(c - cl->c));
	if (connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
		die("connect: %s", strerror(errno));
	if (epoll_ctl(cl->epoll, EPOLL_CTL_ADD, c->fd, &e) != 0)
		die("epoll: %s", strerror(errno));
}

static void
close_conn(struct conn *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
}

static void
read_conn(struct client *cl, struct conn *c)
{
	ssize_t n = recv(c->fd, cl->buf, sizeof cl->buf, MSG_DONTWAIT);

	if (n > 0) {
		feed(cl, c, cl->buf, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close_conn(c);
		c->closed = true;
		cl->closed++;
	}
}

/* What has come, or comes within ms. */
static void
pump(struct client *cl, int ms)
{
	struct epoll_event e[256];
	int n = epoll_wait(cl->epoll, e, 256, ms);

	for (int i = 0; i < n; i++)
		read_conn(cl, e[i].data.ptr);
}

static void
pump_for(struct client *cl, double ms)
{
	double until = now() + ms, left;

	while ((left = until - now()) > 0)
		pump(cl, left < 1 ? 1 : (int)left);
}

/* Until *count is at least that; false when it takes too long. */
static bool
await(struct client *cl, const uint64_t *count, uint64_t want)
{
	double until = now() + PATIENCE;

	while (*count < want && now() < until)
		pump(cl, 100);
	return *count >= want;
}

static void
need(struct client *cl, const uint64_t *count, uint64_t want, const char *what)
{
	if (!await(cl, count, want))
		die("%llu of %llu %s", (unsigned long long)*count,
		    (unsigned long long)want, what);
}

/* n sessions, in c[0..n). */
static void
open_sessions(struct client *cl, struct conn *c, uint32_t n)
{
	uint64_t ends = cl->ends;

	for (uint32_t i = 0; i < n; i++) {
		open_conn(cl, &c[i]);
		initialize(cl, &c[i]);
		if (i % 16 == 15)
			pump(cl, 0);
		while (ends + i >= cl->ends + WINDOW)
			pump(cl, 100);
	}
	need(cl, &cl->ends, ends + n, "initialize answered");
	for (uint32_t i = 0; i < n; i++)
		if (c[i].status != 200 || c[i].sid[0] == '\0')
			die("initialize was answered %u", c[i].status);
}

static void
open_streams(struct client *cl, struct conn *c, uint32_t n)
{
	uint64_t heads = cl->heads;

	for (uint32_t i = 0; i < n; i++) {
		get(&c[i]);
		if (i % 16 == 15)
			pump(cl, 0);
		while (heads + i >= cl->heads + WINDOW)
			pump(cl, 100);
	}
	need(cl, &cl->heads, heads + n, "GET answered");
	for (uint32_t i = 0; i < n; i++)
		if (c[i].status != 200 || !c[i].stream)
			die("a GET was answered %u", c[i].status);
}

static void
start(struct client *cl, uint32_t n)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
	cl->epoll = epoll_create1(EPOLL_CLOEXEC);
	cl->n = n;
	cl->c = calloc(n, sizeof *cl->c);
	if (cl->epoll < 0 || cl->c == NULL)
		die("%s", strerror(errno));
}

/* ---- the server as the system sees it ---- */

static long
rss_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (f)
		(void)fclose(f);
	if (kib < 0)
		die("no VmRSS of %ld", (long)pid);
	return kib;
}

/* ms it has run; the first field of schedstat is in ns. */
static double
cpu_of(pid_t pid)
{
	char path[64], line[128] = "";
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%ld/schedstat", (long)pid);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof line, f) == NULL)
		line[0] = '\0';
	if (f)
		(void)fclose(f);
	return (double)number(line, 10) / 1e6;
}

static long
sockets_of(pid_t pid)
{
	char path[64], to[64];
	long n = 0;

	for (int fd = 0; fd < 20000; fd++) {
		ssize_t k;

		(void)snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)pid, fd);
		k = readlink(path, to, sizeof to);
		n += k > 7 && memcmp(to, "socket:", 7) == 0;
	}
	return n;
}

/* ---- latencies ---- */

struct probe {			/* shared with the process that asks */
	volatile bool stop;
	volatile uint32_t n;
	struct {
		double at;
		float took;
	} s[SAMPLES];
};

static int
order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* v is sorted by it. */
static double
quantile(double *v, uint32_t n, double q)
{
	uint32_t i = (uint32_t)((double)n * q);

	qsort(v, n, sizeof *v, order);
	return n == 0 ? 0 : v[i < n ? i : n - 1];
}

static void
show(const char *name, double *v, uint32_t n)
{
	printf("%s_p50=%.3f %s_p99=%.3f %s_max=%.3f ", name, quantile(v, n, 0.5),
	    name, quantile(v, n, 0.99), name, quantile(v, n, 1));
}

static void
ping(struct client *cl, struct conn *c)
{
	uint64_t ends = cl->ends;

	post(cl, c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
	need(cl, &cl->ends, ends + 1, "ping answered");
}

/* Asks back to back, on a session of its own, until told to stop. */
static pid_t
probe_start(struct client *cl, struct probe **out)
{
	struct probe *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static struct client own;
	pid_t pid;

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	*out = p;
	pid = fork();
	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	own.port = cl->port;
	for (uint32_t i = 0; i < cl->n; i++)
		close_conn(&cl->c[i]);
	start(&own, 1);
	open_sessions(&own, own.c, 1);
	while (!p->stop && p->n < SAMPLES) {
		double t = now();

		ping(&own, own.c);
		p->s[p->n].at = t;
		p->s[p->n].took = (float)(now() - t);
		p->n = p->n + 1;
	}
	_exit(0);
}

static void
probe_stop(struct probe *p, pid_t pid)
{
	int st = 0;

	p->stop = true;
	if (waitpid(pid, &st, 0) != pid || st != 0)
		die("the probe failed");
}

/* The longest that began between a and b. */
static double
longest(const struct probe *p, double a, double b)
{
	double worst = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->s[i].at > a && p->s[i].at < b && (double)p->s[i].took > worst)
			worst = (double)p->s[i].took;
	return worst;
}

/* ---- what is measured ---- */

/* Once each on every stream of c[0..n), from events `had`. */
static double
signal_all(struct client *cl, const struct conn *c, uint32_t n)
{
	uint64_t had = cl->events;
	double t = now();

	if (kill(cl->server, SIGUSR1) != 0)
		die("kill: %s", strerror(errno));
	need(cl, &cl->events, had + n, "streams got the message");
	t = cl->last_event - t;
	pump_for(cl, 50);
	for (uint32_t i = 0; i < n; i++)
		if (c[i].events != c[0].events)
			die("a stream got %u messages, another %u", c[i].events,
			    c[0].events);
	if (cl->events != had + n)
		die("a message came twice");
	return t;
}

static void
run_idle(struct client *cl, uint32_t n)
{
	double t0, t1, t2, emit[5], cpu0, cpu1, cpu2;
	long rss;

	start(cl, n);
	/* What the first request makes once is not the streams'. */
	open_sessions(cl, cl->c, 1);
	close_conn(&cl->c[0]);
	pump_for(cl, 50);
	rss = rss_kib(cl->server);
	cpu0 = cpu_of(cl->server);
	t0 = now();
	open_sessions(cl, cl->c, n);
	t1 = now();
	cpu1 = cpu_of(cl->server);
	open_streams(cl, cl->c, n);
	t2 = now();
	cpu2 = cpu_of(cl->server);
	pump_for(cl, 200);
	rss = rss_kib(cl->server) - rss;
	for (int i = 0; i < 5; i++)
		emit[i] = signal_all(cl, cl->c, n);
	if (cl->closed > 0)
		die("%llu streams were closed", (unsigned long long)cl->closed);
	printf("rss=%.3f open=%.1f get=%.1f open_cpu=%.1f get_cpu=%.1f "
	    "emit=%.1f emit_max=%.1f emit_cpu=%.1f", (double)rss / n, t2 - t0, t2 - t1,
	    cpu2 - cpu0, cpu2 - cpu1, quantile(emit, 5, 0.5), quantile(emit, 5, 1),
	    (cpu_of(cl->server) - cpu2) / 5);
}

/* The server stands still until every stream is due: then all are at once. */
static void
all_due(struct client *cl)
{
	if (kill(cl->server, SIGSTOP) != 0)
		die("kill: %s", strerror(errno));
	pump_for(cl, KEEPALIVE + 300);
	cl->comments = 0;
	(void)kill(cl->server, SIGCONT);
}

static void
run_round(struct client *cl, uint32_t n, uint32_t rounds)
{
	double total[32], stall[32], told[32], a;
	struct probe *p;
	pid_t pid;

	start(cl, n);
	open_sessions(cl, cl->c, n);
	open_streams(cl, cl->c, n);
	pid = probe_start(cl, &p);
	for (uint32_t i = 0; i < rounds; i++) {
		a = now();
		(void)signal_all(cl, cl->c, n);
		told[i] = longest(p, a - 1, cl->last_event);
		all_due(cl);
		a = now();
		need(cl, &cl->comments, n, "comments");
		total[i] = cl->last_comment - a;
		stall[i] = longest(p, a, cl->last_comment);
		pump_for(cl, 20);
		if (cl->comments != n)
			die("%llu comments in a round", (unsigned long long)cl->comments);
	}
	a = now();
	pump_for(cl, 1000);
	probe_stop(p, pid);
	printf("round=%.1f round_min=%.1f round_max=%.1f ", quantile(total, rounds, 0.5),
	    quantile(total, rounds, 0), quantile(total, rounds, 1));
	printf("stall=%.2f stall_min=%.2f stall_max=%.2f ", quantile(stall, rounds, 0.5),
	    quantile(stall, rounds, 0), quantile(stall, rounds, 1));
	printf("told=%.2f told_min=%.2f told_max=%.2f quiet=%.2f",
	    quantile(told, rounds, 0.5), quantile(told, rounds, 0),
	    quantile(told, rounds, 1), longest(p, a, now()));
}

/* Two connections of one session in turn: the GET of the one ends the other's
 * stream. */
static void
run_evict(struct client *cl, uint32_t tries)
{
	double *took = calloc(tries, sizeof *took);
	struct conn *c;

	start(cl, 2);
	if (took == NULL)
		die("out of memory");
	c = cl->c;
	open_sessions(cl, c, 1);
	open_conn(cl, &c[1]);
	memcpy(c[1].sid, c[0].sid, sizeof c[0].sid);
	open_streams(cl, c, 1);
	for (uint32_t i = 0; i < tries; i++) {
		uint64_t heads = cl->heads, ends = cl->ends;
		double t = now();

		get(&c[1 - i % 2]);
		need(cl, &cl->heads, heads + 1, "new stream's head");
		need(cl, &cl->ends, ends + 1, "old stream's end");
		took[i] = now() - t;
		pump(cl, 0);
	}
	show("evict", took, tries);
}

static void
run_promote(struct client *cl, uint32_t tries)
{
	double *took = calloc(tries, sizeof *took);
	struct conn *c;

	start(cl, 2);
	if (took == NULL)
		die("out of memory");
	c = cl->c;
	open_sessions(cl, c, 1);
	open_streams(cl, c, 1);
	for (uint32_t i = 0; i < tries; i++) {
		struct conn *primary = &c[i % 2], *shadow = &c[1 - i % 2];
		uint64_t promoted, comments = cl->comments;
		double t;

		open_conn(cl, shadow);
		memcpy(shadow->sid, primary->sid, sizeof primary->sid);
		open_streams(cl, shadow, 1);
		need(cl, &cl->comments, comments + 1, "shadow told that it is one");
		pump_for(cl, 0.2);
		promoted = cl->promoted;
		t = now();
		close_conn(primary);
		need(cl, &cl->promoted, promoted + 1, "shadow promoted");
		took[i] = now() - t;
	}
	show("promote", took, tries);
}

/* One round of it; returns ms from the first close to the last promotion. */
static double
storm(struct client *cl, uint32_t n, double *lost)
{
	struct conn *first = cl->c, *second = cl->c + n;
	uint64_t promoted = cl->promoted, ends;
	double t, all;

	open_sessions(cl, first, n);
	open_streams(cl, first, n);
	for (uint32_t i = 0; i < n; i++) {
		open_conn(cl, &second[i]);
		memcpy(second[i].sid, first[i].sid, sizeof first[i].sid);
	}
	open_streams(cl, second, n);
	(void)signal_all(cl, first, n);
	cl->events = 0;
	for (uint32_t i = 0; i < n; i++)
		if (second[i].events != 0 || second[i].promoted)
			die("a shadow got what is the primary's");
	t = now();
	for (uint32_t i = 0; i < n; i++)
		close_conn(&first[i]);
	/* While the server learns of it. */
	*lost = signal_all(cl, second, n);
	need(cl, &cl->promoted, promoted + n, "shadows promoted");
	all = cl->last_comment - t;
	(void)signal_all(cl, second, n);
	for (uint32_t i = 0; i < n; i++)
		if (second[i].events != 2)
			die("a promoted stream got %u of 2 messages", second[i].events);
	if (cl->promoted != promoted + n)
		die("a shadow was promoted twice");
	ends = cl->ends;
	open_conn(cl, &first[0]);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t had = cl->ends;

		memcpy(first[0].sid, second[i].sid, sizeof first[0].sid);
		without_body(&first[0], "DELETE", NULL);
		need(cl, &cl->ends, had + 2, "DELETE answered and the stream ended");
	}
	need(cl, &cl->ends, ends + 2 * n, "streams ended");
	for (uint32_t i = 0; i < n; i++)
		close_conn(&second[i]);
	close_conn(&first[0]);
	return all;
}

static void
run_storm(struct client *cl, uint32_t n, uint32_t rounds)
{
	double took[16], emit[16];
	long rss[16], base, left = 0;

	start(cl, 2 * n);
	base = sockets_of(cl->server);
	for (uint32_t i = 0; i < rounds; i++) {
		took[i] = storm(cl, n, &emit[i]);
		pump_for(cl, 200);
		rss[i] = rss_kib(cl->server);
		left = sockets_of(cl->server) - base;
		if (left != 0)
			die("%ld connections are left of a round", left);
	}
	printf("storm=%.1f storm_max=%.1f emit=%.1f rss_first=%ld rss_last=%ld "
	    "grown=%.3f left=%ld", quantile(took, rounds, 0.5),
	    quantile(took, rounds, 1), quantile(emit, rounds, 0.5), rss[0],
	    rss[rounds - 1],
	    rounds > 1 ? (double)(rss[rounds - 1] - rss[0]) / (rounds - 1) : 0, left);
}

/* Calls for messages on c[1] until c[0], which does not read, is dropped; the
 * most memory meanwhile. */
static long
fill(struct client *cl, struct conn *c, uint32_t *calls)
{
	long most = 0;

	for (int i = 0; i < 100; i++, ++*calls) {
		struct tcp_info info = { 0 };
		socklen_t n = sizeof info;
		uint64_t ends = cl->ends;
		long rss;

		post(cl, &c[1], "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\","
		    "\"params\":{\"name\":\"emit\",\"arguments\":{\"n\":10000}}}");
		need(cl, &cl->ends, ends + 1, "calls answered");
		rss = rss_kib(cl->server);
		most = rss > most ? rss : most;
		if (getsockopt(c[0].fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
		    info.tcpi_state != TCP_ESTABLISHED)
			return most;
	}
	die("the slow reader was not dropped");
}

/* c[0]: the stream that is not read; c[1] floods it; c[2] resumes. */
static void
run_flood(struct client *cl, uint32_t rounds)
{
	struct epoll_event none = { 0 };
	int small = 4096;
	struct probe *p;
	uint32_t n = 0, calls = 0, resumed = UINT32_MAX;
	double *took = calloc(SAMPLES, sizeof *took), spent = 0;
	long base, most = 0, rss;
	struct conn *c;
	pid_t pid;

	start(cl, 3);
	c = cl->c;
	open_sessions(cl, c, 1);
	open_conn(cl, &c[1]);
	memcpy(c[1].sid, c[0].sid, sizeof c[0].sid);
	close_conn(&c[0]);
	pid = probe_start(cl, &p);
	pump_for(cl, 200);
	base = rss_kib(cl->server);
	for (uint32_t i = 0; i < rounds; i++) {
		double t;

		open_conn(cl, &c[0]);
		memcpy(c[0].sid, c[1].sid, sizeof c[0].sid);
		(void)setsockopt(c[0].fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
		open_streams(cl, c, 1);
		/* Its cursor is known, so that it can come back. */
		pump_for(cl, 20);
		(void)epoll_ctl(cl->epoll, EPOLL_CTL_DEL, c[0].fd, &none);
		t = now();
		rss = fill(cl, c, &calls);
		most = rss > most ? rss : most;
		for (uint32_t k = 0; took && k < p->n && n < SAMPLES; k++)
			if (p->s[k].at >= t)
				took[n++] = (double)p->s[k].took;
		spent += now() - t;
		open_conn(cl, &c[2]);
		memcpy(c[2].sid, c[1].sid, sizeof c[0].sid);
		without_body(&c[2], "GET", c[0].id);
		pump_for(cl, 100);
		if (c[2].status != 200 || !c[2].stream)
			die("resuming at %s was answered %u", c[0].id, c[2].status);
		if (c[2].events < resumed)
			resumed = c[2].events;
		close_conn(&c[2]);
		close_conn(&c[0]);
		pump_for(cl, 50);
	}
	rss = rss_kib(cl->server);
	probe_stop(p, pid);
	show("ping", took, n);
	printf("pings=%u flood=%.1f calls=%u grown=%ld after=%ld resumed=%u", n,
	    spent, calls, most - base, rss - base, resumed);
	free(took);
}

int
main(int argc, char **argv)
{
	static struct client cl;
	static const struct {
		const char *name;
		int args;
	} modes[] = {
		{ "session", 1 }, { "idle", 3 }, { "round", 4 }, { "evict", 2 },
		{ "promote", 2 }, { "storm", 4 }, { "flood", 3 },
	};
	uint32_t v[5] = { 0 };
	int mode = 0, n_modes = (int)(sizeof modes / sizeof *modes);

	while (mode < n_modes && (argc < 2 || strcmp(argv[1], modes[mode].name) != 0))
		mode++;
	if (mode == n_modes || argc != 2 + modes[mode].args) {
		fprintf(stderr, "usage: sse session PORT | idle PORT PID N | round PORT PID "
		    "N ROUNDS | evict PORT TRIES | promote PORT TRIES | storm PORT PID N "
		    "ROUNDS | flood PORT PID ROUNDS\n");
		return 2;
	}
	for (int i = 0; i < modes[mode].args; i++)
		v[i] = (uint32_t)number(argv[2 + i], 10);
	cl.port = (uint16_t)v[0];
	cl.server = (pid_t)v[1];
	switch (mode) {
	case 0:
		start(&cl, 1);
		open_sessions(&cl, cl.c, 1);
		printf("%s", cl.c[0].sid);
		break;
	case 1: run_idle(&cl, v[2]); break;
	case 2: run_round(&cl, v[2], v[3] < 32 ? v[3] : 32); break;
	case 3: run_evict(&cl, v[1]); break;
	case 4: run_promote(&cl, v[1]); break;
	case 5: run_storm(&cl, v[2], v[3] < 16 ? v[3] : 16); break;
	case 6: run_flood(&cl, v[2]); break;
	}
	putchar('\n');
	return 0;
}
