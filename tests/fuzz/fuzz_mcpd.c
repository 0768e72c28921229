/* The server's whole request path, on loopback: a policy, a fault and options
 * from the first three bytes, then what up to four clients do, in pieces that
 * end with '~'.  Each begins with the client's digit and a letter:
 *	P body    POST to its session, or to client 0's
 *	I body    POST without one
 *	M method, name, body: a line each: POST of 2026-07-28
 *	G cursor  GET, with Last-Event-ID when there is one
 *	D         DELETE
 *	S         GET /sse
 *	L body    POST /messages
 *	R bytes   as they are
 *	x r h     close, reset, half-close
 *	e q       list_changed to all; the server stops
 * $0 to $3 stand for session ids.  Whatever the server sends to clients that
 * speak HTTP must be HTTP, JSON and event streams, with no line that a client
 * could have smuggled in; its events must be in order. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit/ev_check.h"
#include "mcpdiag/buf.h"
#include "mcpdiag/json.h"
#include "mcpdiag/mcpd.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { CLIENTS = 4, TURNS = 2, MAX_OPS = 40, MAX_INPUT = 16384 };

struct client {
	int fd;
	bool raw;		/* what it reads is not looked at */
	struct buf got;
	char sid[33];
};

struct fuzz {
	struct loop *loop;
	struct loop_timer *stop;
	struct mcpd *m;
	struct client c[CLIENTS];
	struct ev_check check;
	struct json *json;
	bool stopped;
};

#define CHECK(cond) ((cond) ? (void)0 : check_failed(#cond))

static void
check_failed(const char *what)
{
	(void)fprintf(stderr, "not so: %s\n", what);
	abort();
}

static void
on_stop(void *arg)
{
	struct fuzz *f = arg;

	loop_stop(f->loop);
}

static void
on_event(void *arg, const struct ev *e)
{
	struct fuzz *f = arg;

	ev_check(&f->check, e);
}

static void
on_stopped(void *arg)
{
	(void)arg;
}

/* ---- what the server sends ---- */

static void
on_begin(void *arg, enum json_kind kind)
{
	(void)arg;
	(void)kind;
}

static void
on_value(void *arg, const struct json_value *v)
{
	(void)arg;
	(void)v;
}

static void
on_end(void *arg, unsigned flaws)
{
	(void)arg;
	CHECK((flaws & (JSON_UTF8 | JSON_DUPLICATE)) == 0);
}

static void
check_json(struct fuzz *f, struct str s)
{
	json_reset(f->json);
	CHECK(json_feed(f->json, s.p, s.n) == 0 && json_eof(f->json) == 0);
}

static void
check_stream(struct fuzz *f, struct str s)
{
	size_t n;

	while ((n = str_find(s, STR("\n"))) != SIZE_MAX) {
		struct str line = str_of(s.p, n);

		s = str_of(s.p + n + 1, s.n - n - 1);
		CHECK(memchr(line.p, '\r', line.n) == NULL);
		if (str_pre(line, STR("data: /messages?sessionId=")) ||
		    str_pre(line, STR("data: /inner/messages?sessionId=")))
			continue;
		if (str_pre(line, STR("data: ")) && line.n > 6)
			check_json(f, str_of(line.p + 6, line.n - 6));
		else
			CHECK(line.n == 0 || line.p[0] == ':' || str_pre(line, STR("id: ")) ||
			    str_pre(line, STR("retry: ")) || str_pre(line, STR("event: ")) ||
			    str_eq(line, STR("data: ")));
	}
}

static struct str
value_of(struct str head, struct str name)
{
	size_t at = str_find(head, name), end;

	if (at == SIZE_MAX)
		return STR_NONE;
	head = str_of(head.p + at + name.n, head.n - at - name.n);
	end = str_find(head, STR("\r\n"));
	return str_of(head.p, end);
}

/* Joins chunks from s; how much of s that was, *whole at their end. */
static size_t
join(struct str s, struct buf *out, bool *whole)
{
	size_t at = 0;

	*whole = false;
	for (;;) {
		struct str rest = str_of(s.p + at, s.n - at);
		size_t line = str_find(rest, STR("\r\n"));
		size_t n = 0;

		if (line == SIZE_MAX)
			return at;
		CHECK(line > 0 && line < 8);
		for (size_t i = 0; i < line; i++) {
			const char *d = memchr("0123456789abcdef", rest.p[i], 16);

			CHECK(d != NULL);
			n = n * 16 + (size_t)(d - "0123456789abcdef");
		}
		if (rest.n < line + 2 + n + 2)
			return at;
		CHECK(memcmp(rest.p + line + 2 + n, "\r\n", 2) == 0);
		(void)buf_adds(out, str_of(rest.p + line + 2, n));
		at += line + 2 + n + 2;
		*whole = n == 0;
		if (*whole)
			return at;
	}
}

/* The response at s; its length, 0 when it is not complete. */
static size_t
check_response(struct fuzz *f, struct str s)
{
	size_t head_n = str_find(s, STR("\r\n\r\n")), used;
	struct str head, type;
	struct buf body;
	uint64_t n = 0;
	bool whole = true;

	if (head_n == SIZE_MAX)
		return 0;
	head = str_of(s.p, head_n + 2);
	s = str_of(s.p + head_n + 4, s.n - head_n - 4);
	CHECK(str_pre(head, STR("HTTP/1.1 ")) && head.n > 14);
	type = value_of(head, STR("\r\nContent-Type: "));
	buf_init(&body, 64 << 20);
	if (value_of(head, STR("\r\nTransfer-Encoding: chunked")).p) {
		used = join(s, &body, &whole);
	} else {
		(void)str_u64(value_of(head, STR("\r\nContent-Length: ")), &n);
		whole = s.n >= n;
		used = whole ? n : 0;
		(void)buf_adds(&body, str_of(s.p, used));
	}
	if (str_eq(type, STR("text/event-stream")))
		check_stream(f, buf_str(&body));
	else if (whole && str_eq(type, STR("application/json")))
		check_json(f, buf_str(&body));
	buf_fini(&body);
	return whole ? head_n + 4 + used : 0;
}

static void
check_got(struct fuzz *f, struct client *c)
{
	struct str s = buf_str(&c->got);
	size_t n;

	while (!c->raw && s.n > 0 && (n = check_response(f, s)) > 0)
		s = str_of(s.p + n, s.n - n);
}

static void
learn_sid(struct client *c)
{
	struct str s = buf_str(&c->got), id = value_of(s, STR("\r\nMcp-Session-Id: "));
	size_t at = str_find(s, STR("?sessionId="));

	if (id.p == NULL && at != SIZE_MAX && s.n - at > 43)
		id = str_of(s.p + at + 11, 32);
	if (c->sid[0] == '\0' && id.n == 32)
		memcpy(c->sid, id.p, 32);
}

static void
read_all(struct fuzz *f)
{
	for (int i = 0; i < CLIENTS; i++) {
		struct client *c = &f->c[i];
		ssize_t n = 1;

		while (c->fd >= 0 && n > 0) {
			char piece[4096];

			n = recv(c->fd, piece, sizeof piece, MSG_DONTWAIT);
			if (n > 0)
				(void)buf_add(&c->got, piece, (size_t)n);
		}
		learn_sid(c);
	}
}

static void
turn(struct fuzz *f)
{
	for (int i = 0; i < TURNS; i++) {
		loop_timer_set(f->stop, 0);
		loop_run(f->loop);
	}
	read_all(f);
}

/* ---- what the clients do ---- */

static void
hang_up(struct fuzz *f, struct client *c, bool reset)
{
	struct linger now = { 1, 0 };

	if (c->fd < 0)
		return;
	if (reset)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	(void)close(c->fd);
	c->fd = -1;
	check_got(f, c);
	buf_clear(&c->got);
	c->raw = false;
}

static void
dial(struct fuzz *f, struct client *c)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(strrchr(mcpd_url(f->m), ':') + 1, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (c->fd >= 0 || f->stopped)
		return;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&in, sizeof in) != 0) {
		if (c->fd >= 0)
			(void)close(c->fd);
		c->fd = -1;
	}
}

/* s with its $n replaced. */
static void
add(struct fuzz *f, struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '$' && i + 1 < s.n && s.p[i + 1] >= '0' && s.p[i + 1] < '4')
			(void)buf_adds(b, str_c(f->c[s.p[++i] - '0'].sid));
		else
			(void)buf_addc(b, s.p[i]);
}

static struct str
line_of(struct str *s)
{
	size_t n = str_find(*s, STR("\n"));
	struct str line = str_of(s->p, n == SIZE_MAX ? s->n : n);

	*s = n == SIZE_MAX ? STR("") : str_of(s->p + n + 1, s->n - n - 1);
	return line;
}

/* A value that cannot end its header. */
static void
header(struct fuzz *f, struct buf *b, const char *name, struct str value)
{
	struct buf v;

	buf_init(&v, MAX_INPUT * 20);
	add(f, &v, value);
	for (size_t i = 0; i < v.n; i++)
		if ((unsigned char)v.p[i] < ' ' || v.p[i] == 127)
			v.p[i] = '?';
	(void)buf_fmt(b, "%s: %.*s\r\n", name, STR_ARG(buf_str(&v)));
	buf_fini(&v);
}

static void
post(struct fuzz *f, struct buf *b, struct client *c, char op, struct str s)
{
	struct str sid = str_c(c->sid[0] ? c->sid : f->c[0].sid);
	struct buf body;

	if (op == 'L')
		(void)buf_fmt(b, "POST /messages?sessionId=%.*s HTTP/1.1\r\n", STR_ARG(sid));
	else
		(void)buf_adds(b, STR("POST /mcp HTTP/1.1\r\n"));
	(void)buf_adds(b, STR("Host: localhost\r\nContent-Type: application/json\r\n"
	    "Accept: application/json, text/event-stream\r\n"));
	if (op == 'P')
		header(f, b, "Mcp-Session-Id", sid);
	if (op == 'M') {
		struct str name;

		(void)buf_adds(b, STR("MCP-Protocol-Version: 2026-07-28\r\n"));
		header(f, b, "Mcp-Method", line_of(&s));
		name = line_of(&s);
		if (name.n > 0)
			header(f, b, "Mcp-Name", name);
	}
	buf_init(&body, MAX_INPUT * 20);
	add(f, &body, s);
	(void)buf_fmt(b, "Content-Length: %zu\r\n\r\n", body.n);
	(void)buf_adds(b, buf_str(&body));
	buf_fini(&body);
}

static void
request(struct fuzz *f, struct client *c, char op, struct str s)
{
	struct str sid = str_c(c->sid[0] ? c->sid : f->c[0].sid);
	struct buf b;

	buf_init(&b, MAX_INPUT * 40);
	switch (op) {
	case 'P': case 'I': case 'M': case 'L':
		post(f, &b, c, op, s);
		break;
	case 'G': case 'D': case 'S':
		(void)buf_fmt(&b, "%s HTTP/1.1\r\nHost: [::1]:1\r\n"
		    "Accept: text/event-stream\r\n", op == 'S' ? "GET /sse" :
		    op == 'G' ? "GET /mcp" : "DELETE /mcp");
		header(f, &b, "Mcp-Session-Id", sid);
		if (s.n > 0)
			header(f, &b, op == 'D' ? "Origin" : "Last-Event-ID", s);
		(void)buf_adds(&b, STR("\r\n"));
		break;
	case 'R':
		add(f, &b, s);
		c->raw = true;
		break;
	default:
		break;
	}
	dial(f, c);
	if (c->fd >= 0 && b.n > 0)
		(void)send(c->fd, b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT);
	buf_fini(&b);
}

static void
operate(struct fuzz *f, struct str s)
{
	struct client *c;
	char op;

	if (s.n < 2)
		return;
	c = &f->c[(unsigned char)s.p[0] % CLIENTS];
	op = s.p[1];
	if (op == 'x' || op == 'r')
		hang_up(f, c, op == 'r');
	else if (op == 'h' && c->fd >= 0)
		(void)shutdown(c->fd, SHUT_WR);
	else if (op == 'e')
		mcpd_emit(f->m);
	else if (op == 'q' && !f->stopped)
		mcpd_shutdown(f->m, on_stopped, f);
	else
		request(f, c, op, str_of(s.p + 2, s.n - 2));
	f->stopped |= op == 'q';
	turn(f);
}

/* ---- the server ---- */

static void
start(struct fuzz *f, const uint8_t *p)
{
	static const struct json_cb cb = { on_begin, on_value, on_end };
	static const char *const paths[] = { "jsonrpc", "id", "method" };
	struct mcpd_opts o;
	struct errmsg em;
	struct fault_row row;

	f->json = json_new(&cb, f, paths, 3, 64, 16);
	f->loop = loop_new(&em);
	f->stop = loop_timer_new(f->loop, on_stop, f);
	mcpd_opts_init(&o, (enum chan_policy)((p[0] + CHAN_SHADOW_PROMOTE) % CHAN_N_POLICIES));
	o.http.host = "127.0.0.1";
	o.keepalive = p[2] & 1 ? 1 : 0;
	o.json = p[2] & 2;
	o.legacy = p[2] & 4;
	o.conformance = p[2] & 8;
	o.lost_session_401 = p[2] & 16;
	o.sessions = p[2] & 32 ? 1 : 65536;
	o.http.backlog = p[2] & 64 ? 2000 : 4 << 20;
	o.channel.cap = p[2] & 128 ? 1 : o.channel.cap;
	/* Half an event is no JSON, and all that comes must be. */
	if (fault_row(p[1], &row) && p[1] != FAULT_CUT_EVENT) {
		o.faults.on = UINT64_C(1) << p[1];
		o.faults.value[p[1]] = row.value && strcmp(row.value, "SECONDS") == 0 ? 0 :
		    row.def;
	}
	o.event = on_event;
	o.arg = f;
	f->m = mcpd_new(f->loop, &o, &em);
	CHECK(f->m != NULL);
	for (int i = 0; i < CLIENTS; i++) {
		f->c[i].fd = -1;
		buf_init(&f->c[i].got, 64 << 20);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct fuzz f = { .stopped = false };
	struct str s;

	if (n < 3 || n > MAX_INPUT)
		return 0;
	start(&f, p);
	s = str_of(p + 3, n - 3);
	for (int i = 0; i < MAX_OPS && s.n > 0; i++) {
		size_t k = str_find(s, STR("~"));
		size_t len = k == SIZE_MAX ? s.n : k;

		operate(&f, str_of(s.p, len));
		s = str_of(s.p + len + (k != SIZE_MAX), s.n - len - (k != SIZE_MAX));
	}
	/* The server goes before its clients, or after them. */
	if (p[1] & 128)
		mcpd_free(f.m);
	for (int i = 0; i < CLIENTS; i++) {
		hang_up(&f, &f.c[i], true);
		buf_fini(&f.c[i].got);
	}
	if (!(p[1] & 128)) {
		turn(&f);
		mcpd_free(f.m);
	}
	loop_timer_free(f.stop);
	loop_free(f.loop);
	json_free(f.json);
	ev_check_fini(&f.check);
	return 0;
}
