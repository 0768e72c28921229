#include "httpd_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

enum {
	BACKLOG = 4096,
	TRIES = 16,		/* for a port that is free on every address */
	/* Bytes not sent yet that the kernel takes: the rest stays with us,
	 * where it is counted.  Without it up to 4 MiB hide there. */
	UNSENT = 128 << 10,
};

void
hbind_text(const struct sockaddr *sa, char out[HADDRESS])
{
	struct buf b;
	char host[INET6_ADDRSTRLEN];
	const void *address;
	uint16_t port;

	buf_init(&b, HADDRESS - 1);
	if (sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)sa;

		address = &in6->sin6_addr;
		port = ntohs(in6->sin6_port);
	} else {
		const struct sockaddr_in *in = (const void *)sa;

		address = &in->sin_addr;
		port = ntohs(in->sin_port);
	}
	if (inet_ntop(sa->sa_family, address, host, sizeof host) == NULL)
		host[0] = '\0';
	(void)buf_fmt(&b, sa->sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
	    port);
	memcpy(out, buf_str(&b).p, b.n);
	out[b.n] = '\0';
	buf_fini(&b);
}

static void
set_port(struct sockaddr *sa, uint16_t port)
{
	if (sa->sa_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)(void *)sa)->sin_port = htons(port);
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t n = sizeof ss;

	if (getsockname(fd, (struct sockaddr *)&ss, &n) != 0)
		return 0;
	return ntohs(ss.ss_family == AF_INET6 ?
	    ((struct sockaddr_in6 *)(void *)&ss)->sin6_port :
	    ((struct sockaddr_in *)(void *)&ss)->sin_port);
}

/* The descriptor, or -1 and errno. */
static int
listen_on(const struct sockaddr *sa, socklen_t n)
{
	int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, unsent = UNSENT, e;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
	if (sa->sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, sa, n) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	e = errno;
	(void)close(fd);
	errno = e;
	return -1;
}

static int
complain(const struct sockaddr *sa, int e, struct errmsg *em)
{
	char text[HADDRESS];

	hbind_text(sa, text);
	switch (e) {
	case EADDRINUSE:
		return err_set(em, E_IO, "%s: address already in use: another "
		    "program listens there; choose --port", text);
	case EADDRNOTAVAIL:
		return err_set(em, E_IO, "%s: not an address of this machine; "
		    "choose --host", text);
	case EACCES:
		return err_set(em, E_IO, "%s: permission denied: ports below 1024 "
		    "need CAP_NET_BIND_SERVICE; choose --port", text);
	case EMFILE: case ENFILE:
		return err_set(em, E_IO, "%s: %s; raise the limit with ulimit -n",
		    text, strerror(e));
	default:
		return err_set(em, E_IO, "%s: %s", text, strerror(e));
	}
}

static void
unbind(struct hlisten *l, unsigned *n)
{
	while (*n > 0)
		(void)close(l[--*n].fd);
}

/* A name may stand for the same address twice. */
static bool
seen_before(const struct addrinfo *all, const struct addrinfo *a)
{
	for (; all != a; all = all->ai_next)
		if (all->ai_addrlen == a->ai_addrlen &&
		    memcmp(all->ai_addr, a->ai_addr, a->ai_addrlen) == 0)
			return true;
	return false;
}

/* All of them on one port; `spare`: those after the first need not be there.
 * *taken: the port was free on the first only. */
static int
bind_all(const struct addrinfo *all, uint16_t port, bool spare,
    struct hlisten *out, unsigned *n, bool *taken, struct errmsg *em)
{
	*taken = false;
	for (const struct addrinfo *a = all; a && *n < HLISTEN_MAX; a = a->ai_next) {
		struct sockaddr_storage ss;
		struct sockaddr *sa = (struct sockaddr *)&ss;
		int fd;

		if ((a->ai_family != AF_INET && a->ai_family != AF_INET6) ||
		    seen_before(all, a))
			continue;
		memcpy(&ss, a->ai_addr, a->ai_addrlen);
		set_port(sa, port);
		fd = listen_on(sa, a->ai_addrlen);
		if (fd < 0) {
			int e = errno;

			if (spare && *n > 0 && (e == EADDRNOTAVAIL || e == EAFNOSUPPORT))
				continue;
			*taken = *n > 0 && e == EADDRINUSE;
			unbind(out, n);
			return complain(sa, e, em);
		}
		port = port_of(fd);
		set_port(sa, port);
		out[*n] = (struct hlisten){ .fd = fd };
		hbind_text(sa, out[(*n)++].address);
	}
	if (*n == 0)
		return err_set(em, E_IO, "no IPv4 or IPv6 address to listen on; "
		    "choose --host");
	return 0;
}

static int
bind_loopback(uint16_t port, struct hlisten *out, unsigned *n, bool *taken,
    struct errmsg *em)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	struct addrinfo b = {
		.ai_family = AF_INET6,
		.ai_addr = (struct sockaddr *)&in6, .ai_addrlen = sizeof in6,
	};
	struct addrinfo a = {
		.ai_family = AF_INET, .ai_next = &b,
		.ai_addr = (struct sockaddr *)&in, .ai_addrlen = sizeof in,
	};

	return bind_all(&a, port, true, out, n, taken, em);
}

static int
bind_host(const char *host, uint16_t port, struct hlisten *out, unsigned *n,
    bool *taken, struct errmsg *em)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE,
	};
	struct addrinfo *all = NULL;
	struct str s = str_c(host);
	struct buf name;
	int e;

	*taken = false;
	if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']')
		s = str_of(s.p + 1, s.n - 2);
	buf_init(&name, SIZE_MAX / 4);
	(void)buf_adds(&name, s);
	(void)buf_addc(&name, '\0');
	e = getaddrinfo(name.p, NULL, &hints, &all);
	buf_fini(&name);
	if (e != 0)
		return err_set(em, E_IO, "%s: no such host (%s); choose --host",
		    host, gai_strerror(e));
	e = bind_all(all, port, false, out, n, taken, em);
	freeaddrinfo(all);
	return e;
}

int
hbind(const char *host, uint16_t port, struct hlisten out[HLISTEN_MAX],
    unsigned *n, struct errmsg *em)
{
	bool taken = true;
	int e = 0;

	*n = 0;
	for (int i = 0; i < TRIES && taken; i++) {
		e = host ? bind_host(host, port, out, n, &taken, em) :
		    bind_loopback(port, out, n, &taken, em);
		if (port != 0)
			break;
	}
	return e;
}
