#include "mcpdiag/witness.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/map.h"
#include "mcpdiag/xmem.h"

#define ADDRESS 64
#define FIRST_PORT 1024U
#define N_PORTS (65536U - FIRST_PORT)
#define MAX_PIECE (1U << 20)	/* of a head or chunk that is told at once */

struct conn {
	uint32_t id;
	char local[ADDRESS];	/* the key */
	struct witness_x *x;	/* that runs on it */
	bool own;		/* made up for one exchange */
	bool closing;		/* told when the exchange has ended */
	bool by_client, reset;
	UT_hash_handle hh;
};

enum part { HEAD, BODY, TRAILER };

struct witness_x {
	struct witness *witness;
	struct conn *conn;	/* NULL before anything was sent */
	char local[ADDRESS], remote[ADDRESS];
	bool unix_socket, h2, head_only;
	/* of the response */
	enum part part;
	unsigned status;	/* 0: none so far */
	bool chunked, length;
	struct buf head;	/* what of it is not told yet */
};

struct witness {
	struct witness_cb cb;
	void *arg;
	struct conn *conns;
	uint32_t n_conns;	/* so far */
	unsigned next_port;
	struct buf chunk;
};

struct witness *
witness_new(const struct witness_cb *cb, void *arg)
{
	struct witness *w = xcalloc(1, sizeof *w);

	w->cb = *cb;
	w->arg = arg;
	buf_init(&w->chunk, MAX_PIECE);
	return w;
}

void
witness_free(struct witness *w)
{
	struct conn *c, *tmp;

	if (w == NULL)
		return;
	HASH_ITER(hh, w->conns, c, tmp) {
		HASH_DEL(w->conns, c);
		free(c);
	}
	buf_fini(&w->chunk);
	free(w);
}

static void
print_address(char out[ADDRESS], const char *ip, unsigned port)
{
	bool v6 = strchr(ip, ':') != NULL;

	(void)snprintf(out, ADDRESS, "%s%.46s%s:%u", v6 ? "[" : "", ip, v6 ? "]" : "", port);
}

static struct conn *
find(struct witness *w, const char *local)
{
	struct conn *c;

	HASH_FIND_STR(w->conns, local, c);
	return c;
}

static struct conn *
open_conn(struct witness *w, const char *local, const char *remote, bool own)
{
	struct conn *c = xcalloc(1, sizeof *c);

	c->id = ++w->n_conns;
	c->own = own;
	memcpy(c->local, local, sizeof c->local);
	HASH_ADD_STR(w->conns, local, c);
	w->cb.opened(w->arg, c->id, local, remote);
	return c;
}

static void
close_conn(struct witness *w, struct conn *c, bool by_client, bool reset)
{
	w->cb.closed(w->arg, c->id, by_client, reset);
	HASH_DEL(w->conns, c);
	free(c);
}

/* A connection for one exchange, from a port that no open one has. */
static struct conn *
made_up(struct witness_x *x)
{
	struct witness *w = x->witness;
	const char *colon = strrchr(x->local, ':');
	char ip[ADDRESS], local[ADDRESS];

	(void)snprintf(ip, sizeof ip, "%.*s", (int)(colon - x->local), x->local);
	for (unsigned i = 0; i < N_PORTS; i++) {
		unsigned port = FIRST_PORT + w->next_port++ % N_PORTS;

		(void)snprintf(local, sizeof local, "%.56s:%u", ip, port);
		if (find(w, local) == NULL)
			break;
	}
	return open_conn(w, local, x->remote, true);
}

struct witness_x *
witness_begin(struct witness *w, const char *local, unsigned local_port,
    const char *remote, unsigned remote_port)
{
	struct witness_x *x = xcalloc(1, sizeof *x);

	x->witness = w;
	buf_init(&x->head, MAX_PIECE);
	x->unix_socket = local == NULL || local[0] == '\0' || remote == NULL ||
	    remote[0] == '\0';
	print_address(x->local, x->unix_socket ? "127.0.0.1" : local, local_port);
	print_address(x->remote, x->unix_socket ? "127.0.0.1" : remote,
	    x->unix_socket ? 80 : remote_port);
	return x;
}

static void
tell(struct witness_x *x, bool response, struct str s)
{
	if (x->conn && s.n > 0)
		x->witness->cb.bytes(x->witness->arg, x->conn->id, response, s.p, s.n);
}

static void
tell_kept(struct witness_x *x)
{
	tell(x, true, buf_str(&x->head));
	buf_fini(&x->head);
}

/* Lines of a head come one by one, and are told together: most came so. */
static void
keep(struct witness_x *x, struct str line)
{
	if (buf_adds(&x->head, line) == 0)
		return;
	tell_kept(x);
	tell(x, true, line);
}

void
witness_sent(struct witness_x *x, const void *p, size_t n)
{
	const struct str h2 = STR(" HTTP/2"), h1 = STR(" HTTP/1.1");
	struct str s = str_of(p, n), line;
	size_t end, at;

	if (x->conn) {
		tell(x, false, s);
		return;
	}
	end = str_find(s, STR("\r\n"));
	line = str_of(s.p, end < s.n ? end : s.n);
	at = str_find(line, h2);
	x->h2 = at != SIZE_MAX && at + h2.n == line.n;
	x->head_only = str_pre(line, STR("HEAD "));
	if (!x->h2 && !x->unix_socket)
		x->conn = find(x->witness, x->local);
	if (x->conn && x->conn->x)		/* another server, the same port */
		x->conn = made_up(x);
	else if (x->conn == NULL)
		x->conn = x->h2 || x->unix_socket ? made_up(x) :
		    open_conn(x->witness, x->local, x->remote, false);
	x->conn->x = x;
	if (!x->h2) {
		tell(x, false, s);
		return;
	}
	tell(x, false, str_of(s.p, at));
	tell(x, false, h1);
	tell(x, false, str_of(s.p + line.n, s.n - line.n));
}

/* "HTTP/2 200" and "HTTP/1.1 200 OK"; 0 when it is neither. */
static unsigned
status_of(struct str line)
{
	size_t space = str_find(line, STR(" "));
	uint64_t v;

	return space != SIZE_MAX && line.n >= space + 4 &&
	    str_u64(str_of(line.p + space + 1, 3), &v) ? (unsigned)v : 0;
}

static void
status_line(struct witness_x *x, struct str line)
{
	char text[32];

	x->status = status_of(line);
	x->chunked = x->length = false;
	if (!x->h2) {
		keep(x, line);
		return;
	}
	/* RFC 9113 has no reason phrase; RFC 9112 4 has the space before it. */
	(void)snprintf(text, sizeof text, "HTTP/1.1 %u \r\n", x->status);
	keep(x, str_c(text));
}

/* RFC 9112 6.3 */
static bool
has_body(const struct witness_x *x)
{
	return !x->head_only && x->status != 204 && x->status != 304;
}

static void
end_of_head(struct witness_x *x, struct str line)
{
	if (x->status < 200) {
		keep(x, line);
		tell_kept(x);
		x->status = 0;
		return;
	}
	if (x->h2 && !x->length && has_body(x)) {
		keep(x, STR("Transfer-Encoding: chunked\r\n"));
		x->chunked = true;
	}
	keep(x, line);
	tell_kept(x);
	x->part = BODY;
}

void
witness_line(struct witness_x *x, struct str line)
{
	bool empty = str_eq(line, STR("\r\n")) || str_eq(line, STR("\n"));

	if (x->part != HEAD) {
		if (!x->chunked || empty)
			return;
		if (x->part == BODY)
			tell(x, true, STR("0\r\n"));
		x->part = TRAILER;
		tell(x, true, line);
		return;
	}
	if (x->status == 0) {
		status_line(x, line);
		return;
	}
	if (empty) {
		end_of_head(x, line);
		return;
	}
	if (str_ipre(line, STR("transfer-encoding:")))
		x->chunked = str_find(line, STR("chunked")) != SIZE_MAX;
	else if (str_ipre(line, STR("content-length:")))
		x->length = true;
	keep(x, line);
}

void
witness_body(struct witness_x *x, const void *p, size_t n)
{
	struct buf *chunk = &x->witness->chunk;

	if (n == 0)
		return;
	if (!x->chunked) {
		tell(x, true, str_of(p, n));
		return;
	}
	/* Curl gives no more at once than its buffer holds. */
	assert(n < MAX_PIECE / 2);
	buf_clear(chunk);
	(void)buf_fmt(chunk, "%zx\r\n", n);
	(void)buf_add(chunk, p, n);
	(void)buf_adds(chunk, STR("\r\n"));
	tell(x, true, buf_str(chunk));
}

void
witness_end(struct witness_x *x, enum witness_end how)
{
	struct conn *c = x->conn;

	tell_kept(x);
	if (c == NULL) {
		free(x);
		return;
	}
	if (how == WITNESS_COMPLETE && x->chunked && has_body(x))
		tell(x, true, x->part == TRAILER ? STR("\r\n") : STR("0\r\n\r\n"));
	c->x = NULL;
	if (c->closing)
		close_conn(x->witness, c, c->by_client, c->reset);
	else if (c->own)
		close_conn(x->witness, c, how != WITNESS_CUT, false);
	free(x);
}

/* Who ended it: RFC 9293 3.3.2, as TCP_INFO of tcp(7) tells the state. */
static void
look(struct conn *c, int fd)
{
	struct tcp_info info;
	socklen_t n = sizeof info;

	c->by_client = true;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) != 0)
		return;
	c->reset = info.tcpi_state == TCP_CLOSE;
	c->by_client = !c->reset && info.tcpi_state != TCP_CLOSE_WAIT;
}

void
witness_closing(struct witness *w, int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a;
	socklen_t n = sizeof a;
	char ip[INET6_ADDRSTRLEN], local[ADDRESS];
	struct conn *c;
	bool v6;

	if (getsockname(fd, &a.any, &n) != 0)
		return;
	v6 = a.any.sa_family == AF_INET6;
	if (!v6 && a.any.sa_family != AF_INET)
		return;
	if (inet_ntop(a.any.sa_family, v6 ? (void *)&a.v6.sin6_addr :
	    (void *)&a.v4.sin_addr, ip, sizeof ip) == NULL)
		return;
	print_address(local, ip, ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port));
	c = find(w, local);
	if (c == NULL || c->own)
		return;
	look(c, fd);
	c->closing = true;
	if (c->x == NULL)
		close_conn(w, c, c->by_client, c->reset);
}
