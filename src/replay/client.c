#include "mcpdiag/client.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/limits.h"
#include "mcpdiag/map.h"
#include "mcpdiag/xmem.h"
#include "curl_late.h"

#define UPLOAD_BUFFER 16384L	/* the least curl takes */
/* The kernel takes more than that, but not much; and the size of the segments
 * bounds what the server's kernel takes: on Linux 34 KiB with 256, 63 KiB with
 * 536, 2 MiB and more with those of loopback. */
#define NARROW_BUFFER 1024
#define NARROW_SEGMENT 256
#define WIDE_BUFFER 65536

struct creq {
	struct client *client;
	CURL *easy;
	struct curl_slist *lines;
	struct buf head;	/* of the response being read */
	size_t head_bytes;	/* of all its header lines, interim ones too */
	bool told;		/* head() */
	bool added;		/* curl has it */
	bool dead;		/* cancelled */
	bool over_limit;
	struct witness_x *seen;	/* once it has a connection */
	struct client_cb cb;
	void *arg;
	char why[CURL_ERROR_SIZE];
	struct creq *prev, *next;
};

struct client {
	struct loop *loop;
	struct client_opts opts;
	CURLM *multi;
	struct loop_timer *timer;	/* curl's */
	struct curl_slist *resolve;
	struct creq *reqs;
	unsigned running;
	bool inside;		/* curl is at work: it may not be called */
	bool waiting;		/* a request is to be added or freed then */
};

/* A descriptor curl wants watched. */
struct watch {
	struct client *client;
	struct loop_fd *fd;
};

static void
seen_end(struct creq *r, enum witness_end how)
{
	if (r->seen)
		witness_end(r->seen, how);
	r->seen = NULL;
}

static void
req_free(struct creq *r)
{
	struct client *c = r->client;

	if (r->added)
		(void)curl_late()->multi_remove_handle(c->multi, r->easy);
	seen_end(r, WITNESS_LEFT);
	curl_late()->easy_cleanup(r->easy);
	curl_late()->slist_free_all(r->lines);
	buf_fini(&r->head);
	DL_DELETE(c->reqs, r);
	free(r);
}

static void
req_add(struct creq *r)
{
	CURLMcode rc = curl_late()->multi_add_handle(r->client->multi, r->easy);

	assert(rc == CURLM_OK);
	(void)rc;
	r->added = true;
}

static enum client_end
end_of(const struct creq *r, CURLcode rc)
{
	static const struct {
		CURLcode rc;
		enum client_end end;
	} known[] = {
		{ CURLE_OK, CLIENT_COMPLETE },
		{ CURLE_PARTIAL_FILE, CLIENT_CLOSED },
		{ CURLE_GOT_NOTHING, CLIENT_CLOSED },
		{ CURLE_SEND_ERROR, CLIENT_CLOSED },
		{ CURLE_COULDNT_CONNECT, CLIENT_REFUSED },
		{ CURLE_COULDNT_RESOLVE_HOST, CLIENT_REFUSED },
		{ CURLE_SSL_CONNECT_ERROR, CLIENT_REFUSED },
		{ CURLE_PEER_FAILED_VERIFICATION, CLIENT_REFUSED },
		{ CURLE_OPERATION_TIMEDOUT, CLIENT_TIMEOUT },
	};

	if (r->over_limit)
		return CLIENT_BAD;
	/* Curl is content with a torn head. */
	if (rc == CURLE_OK && !r->told)
		return CLIENT_CLOSED;
	/* A chunk head that is none has the same code as a reset; only the
	 * sentence tells them apart. */
	if (rc == CURLE_RECV_ERROR)
		return strstr(r->why, "chunked") ? CLIENT_BAD : CLIENT_CLOSED;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].rc == rc)
			return known[i].end;
	return CLIENT_BAD;
}

/* Ends one request that curl is done with; false when there is none. */
static bool
finish_one(struct client *c)
{
	CURLMsg *m;
	int left;
	struct creq *r = NULL;
	CURLcode rc;
	const char *why = "";
	enum client_end end;

	m = curl_late()->multi_info_read(c->multi, &left);
	if (m == NULL)
		return false;
	rc = m->data.result;
	(void)curl_late()->easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &r);
	assert(!r->dead);
	end = end_of(r, rc);
	if (r->over_limit)
		why = "the response's header is too long";
	else if (rc == CURLE_OK && !r->told)
		why = "the server closed within the header";
	else if (rc != CURLE_OK)
		why = r->why[0] ? r->why : curl_late()->easy_strerror(rc);
	/* The connection is free for the next request before end() is told. */
	(void)curl_late()->multi_remove_handle(c->multi, r->easy);
	r->added = false;
	r->dead = true;
	c->running--;
	seen_end(r, end == CLIENT_COMPLETE ? WITNESS_COMPLETE :
	    end == CLIENT_TIMEOUT ? WITNESS_LEFT : WITNESS_CUT);
	r->cb.end(r->arg, end, why);
	req_free(r);
	return true;
}

/* What had to wait until curl had returned. */
static void
catch_up(struct client *c)
{
	struct creq *r, *tmp;

	while (c->waiting) {
		c->waiting = false;
		DL_FOREACH_SAFE(c->reqs, r, tmp) {
			if (r->dead)
				req_free(r);
			else if (!r->added)
				req_add(r);
		}
	}
}

static void
act(struct client *c, curl_socket_t fd, int ready)
{
	int running;

	c->inside = true;
	(void)curl_late()->multi_socket_action(c->multi, fd, ready, &running);
	c->inside = false;
	catch_up(c);
	while (finish_one(c))
		;
}

static void
on_fd(void *arg, int fd, unsigned ready)
{
	const struct watch *w = arg;

	act(w->client, fd, (ready & LOOP_READ ? CURL_CSELECT_IN : 0) |
	    (ready & LOOP_WRITE ? CURL_CSELECT_OUT : 0));
}

static void
on_timer(void *arg)
{
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int
set_timer(CURLM *multi, long ms, void *arg)
{
	struct client *c = arg;

	(void)multi;
	if (ms < 0)
		loop_timer_clear(c->timer);
	else
		loop_timer_set(c->timer, ms * NS_MS);
	return 0;
}

static int
watch(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct client *c = arg;
	struct watch *w = known;
	unsigned want = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w != NULL)
			loop_fd_free(w->fd);
		free(w);
		return 0;
	}
	if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
		want |= LOOP_READ;
	if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
		want |= LOOP_WRITE;
	if (w != NULL) {
		loop_fd_want(w->fd, want);
		return 0;
	}
	w = xmalloc(sizeof *w);
	w->client = c;
	w->fd = loop_fd_new(c->loop, fd, want, on_fd, w);
	if (w->fd == NULL) {
		free(w);
		return -1;	/* ends the transfer */
	}
	(void)curl_late()->multi_assign(c->multi, fd, w);
	return 0;
}

/* The line after "HTTP/1.1 200 OK"; false while a response is interim. */
static bool
tell_head(struct creq *r)
{
	struct client_head h = { .lines = buf_str(&r->head) };
	size_t line = str_find(h.lines, STR("\n"));
	long status = 0;

	(void)curl_late()->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200)
		return false;
	h.lines.p += line + 1;
	h.lines.n -= line + 1;
	h.status = (unsigned)status;
	h.content_type = client_header(&h, STR("content-type"));
	r->told = true;
	r->cb.head(r->arg, &h);
	buf_fini(&r->head);
	return true;
}

/* A line of the header block, or of the trailer. */
static size_t
on_header(char *p, size_t size, size_t n, void *arg)
{
	struct creq *r = arg;
	struct str line = str_of(p, size * n);

	if (r->dead)
		return 0;	/* ends the transfer */
	if (r->seen)
		witness_line(r->seen, line);
	if (line.n > r->client->opts.header - r->head_bytes) {
		r->over_limit = true;
		return 0;
	}
	r->head_bytes += line.n;
	if (r->told)
		return line.n;
	(void)buf_adds(&r->head, line);
	if (str_eq(line, STR("\r\n")) || str_eq(line, STR("\n"))) {
		if (!tell_head(r))
			buf_clear(&r->head);
		if (r->dead)
			return 0;
	}
	return line.n;
}

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct creq *r = arg;

	if (!r->dead && r->seen)
		witness_body(r->seen, p, size * n);
	if (!r->dead)
		r->cb.body(r->arg, p, size * n);
	return r->dead ? 0 : size * n;
}

/* A connection is there, a new one or one that is used again; once more when
 * curl has found that one dead and takes another. */
static int
on_connected(void *arg, char *remote, char *local, int remote_port, int local_port)
{
	struct creq *r = arg;

	seen_end(r, WITNESS_CUT);
	r->seen = witness_begin(r->client->opts.witness, local, (unsigned)local_port,
	    remote, (unsigned)remote_port);
	return CURL_PREREQFUNC_OK;
}

/* Only here curl shows what it sends.  What it reads, it shows here too, but as
 * it came with some versions and without its chunks with others. */
static int
on_sent(CURL *easy, curl_infotype type, char *p, size_t n, void *arg)
{
	struct creq *r = arg;

	(void)easy;
	if ((type == CURLINFO_HEADER_OUT || type == CURLINFO_DATA_OUT) && r->seen)
		witness_sent(r->seen, p, n);
	return 0;
}

/* The socket may be closed long after its request. */
static int
close_socket(void *arg, curl_socket_t fd)
{
	witness_closing(arg, fd);
	return close(fd);
}

/* Before it is connected: the window and the segments are agreed on then. */
static int
make_narrow(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	static const int buffer = NARROW_BUFFER, segment = NARROW_SEGMENT;

	(void)arg;
	(void)purpose;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
	return CURL_SOCKOPT_OK;
}

void
client_opts_init(struct client_opts *o)
{
	struct limits l;

	limits_init(&l);
	*o = (struct client_opts){ .header = l.header, .buffer = 4096 };
}

struct client *
client_new(struct loop *loop, const struct client_opts *o, struct errmsg *em)
{
	struct client *c;
	CURLM *multi;

	if (curl_late_load(em) < 0)
		return NULL;
	if (curl_late()->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		(void)err_set(em, E_IO, "libcurl cannot start");
		return NULL;
	}
	multi = curl_late()->multi_init();
	if (multi == NULL) {
		(void)err_set(em, E_IO, "libcurl cannot start");
		curl_late()->global_cleanup();
		return NULL;
	}
	c = xcalloc(1, sizeof *c);
	c->loop = loop;
	c->opts = *o;
	c->multi = multi;
	c->timer = loop_timer_new(loop, on_timer, c);
	for (const char *const *s = o->resolve; s && *s; s++) {
		c->resolve = curl_late()->slist_append(c->resolve, *s);
		assert(c->resolve != NULL);
	}
	(void)curl_late()->multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
	(void)curl_late()->multi_setopt(multi, CURLMOPT_SOCKETDATA, c);
	(void)curl_late()->multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
	(void)curl_late()->multi_setopt(multi, CURLMOPT_TIMERDATA, c);
	return c;
}

void
client_free(struct client *c)
{
	struct creq *r, *tmp;

	if (c == NULL)
		return;
	assert(!c->inside);
	DL_FOREACH_SAFE(c->reqs, r, tmp)
		req_free(r);
	(void)curl_late()->multi_cleanup(c->multi);
	curl_late()->slist_free_all(c->resolve);
	loop_timer_free(c->timer);
	curl_late()->global_cleanup();
	free(c);
}

static bool
named(const struct client_request *q, struct str name_colon)
{
	for (unsigned i = 0; i < q->n_headers; i++)
		if (str_ipre(q->headers[i], name_colon))
			return true;
	return false;
}

static bool
is_method(const char *s)
{
	/* RFC 9110 9.1 has tokens only; what could end the line is kept out. */
	for (const char *p = s; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return *s != '\0';
}

static void
add_line(struct creq *r, const char *line)
{
	struct curl_slist *l = curl_late()->slist_append(r->lines, line);

	assert(l != NULL);
	r->lines = l;
}

/* Curl's way of saying them: "Name;" is an empty value, and "Name:" keeps it
 * from sending a header of its own. */
static int
add_lines(struct creq *r, const struct client_request *q, struct errmsg *em)
{
	for (unsigned i = 0; i < q->n_headers; i++) {
		struct str h = q->headers[i];
		size_t colon = str_find(h, STR(":"));
		char *line;

		for (size_t k = 0; k < h.n; k++)
			if (h.p[k] == '\r' || h.p[k] == '\n' || h.p[k] == '\0')
				return err_set(em, E_USAGE, "a header has a "
				    "line end or NUL in it");
		if (colon == SIZE_MAX || colon == 0)
			return err_set(em, E_USAGE, "a header has no name");
		line = xmemdup0(h.p, h.n);
		if (str_trim(str_of(h.p + colon + 1, h.n - colon - 1)).n == 0) {
			line[colon] = ';';
			line[colon + 1] = '\0';
		}
		add_line(r, line);
		free(line);
	}
	add_line(r, "Expect:");
	if (!named(q, STR("accept:")))
		add_line(r, "Accept:");
	if (!named(q, STR("content-type:")))
		add_line(r, "Content-Type:");
	return 0;
}

/* Milliseconds, rounded up: 0 would be none. */
static long
ms(ns_t t)
{
	ns_t v = t / NS_MS + (t % NS_MS > 0);

	return v < INT32_MAX ? (long)v : INT32_MAX;
}

static void
set_request(CURL *e, const struct client_request *q)
{
	if (q->body.p != NULL) {
		(void)curl_late()->easy_setopt(e, CURLOPT_POST, 1L);
		(void)curl_late()->easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)q->body.n);
		(void)curl_late()->easy_setopt(e, CURLOPT_COPYPOSTFIELDS, q->body.p);
	} else if (strcmp(q->method, "HEAD") == 0) {
		(void)curl_late()->easy_setopt(e, CURLOPT_NOBODY, 1L);
	}
	(void)curl_late()->easy_setopt(e, CURLOPT_CUSTOMREQUEST, q->method);
	(void)curl_late()->easy_setopt(e, CURLOPT_URL, q->url);
	(void)curl_late()->easy_setopt(e, CURLOPT_FRESH_CONNECT, (long)(q->fresh || q->narrow));
	if (q->narrow) {
		(void)curl_late()->easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, make_narrow);
		/* It is no connection for others. */
		(void)curl_late()->easy_setopt(e, CURLOPT_FORBID_REUSE, 1L);
	}
	(void)curl_late()->easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, ms(q->connect_timeout));
	(void)curl_late()->easy_setopt(e, CURLOPT_TIMEOUT_MS, ms(q->timeout));
}

static void
set_manner(struct creq *r, const struct client_opts *o)
{
	static const long versions[] = {
		[CLIENT_HTTP1] = CURL_HTTP_VERSION_1_1,
		[CLIENT_HTTP2_TLS] = CURL_HTTP_VERSION_2TLS,
		[CLIENT_HTTP2] = CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE,
	};
	CURL *e = r->easy;

	(void)curl_late()->easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_late()->easy_setopt(e, CURLOPT_HTTP_VERSION, versions[o->http]);
	(void)curl_late()->easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	(void)curl_late()->easy_setopt(e, CURLOPT_PROXY, "");
	(void)curl_late()->easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	(void)curl_late()->easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
	(void)curl_late()->easy_setopt(e, CURLOPT_BUFFERSIZE, (long)o->buffer);
	(void)curl_late()->easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
	if (o->insecure) {
		(void)curl_late()->easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
		(void)curl_late()->easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (o->ca_file)
		(void)curl_late()->easy_setopt(e, CURLOPT_CAINFO, o->ca_file);
	if (o->unix_socket)
		(void)curl_late()->easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, o->unix_socket);
	if (r->client->resolve)
		(void)curl_late()->easy_setopt(e, CURLOPT_RESOLVE, r->client->resolve);
	if (o->witness) {
		(void)curl_late()->easy_setopt(e, CURLOPT_PREREQFUNCTION, on_connected);
		(void)curl_late()->easy_setopt(e, CURLOPT_PREREQDATA, r);
		(void)curl_late()->easy_setopt(e, CURLOPT_DEBUGFUNCTION, on_sent);
		(void)curl_late()->easy_setopt(e, CURLOPT_DEBUGDATA, r);
		(void)curl_late()->easy_setopt(e, CURLOPT_VERBOSE, 1L);
		(void)curl_late()->easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
		(void)curl_late()->easy_setopt(e, CURLOPT_CLOSESOCKETDATA, o->witness);
	}
	(void)curl_late()->easy_setopt(e, CURLOPT_HTTPHEADER, r->lines);
	(void)curl_late()->easy_setopt(e, CURLOPT_ERRORBUFFER, r->why);
	(void)curl_late()->easy_setopt(e, CURLOPT_PRIVATE, r);
	(void)curl_late()->easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_late()->easy_setopt(e, CURLOPT_HEADERDATA, r);
	(void)curl_late()->easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_late()->easy_setopt(e, CURLOPT_WRITEDATA, r);
}

struct creq *
client_start(struct client *c, const struct client_request *q,
    const struct client_cb *cb, void *arg, struct errmsg *em)
{
	struct creq *r = xcalloc(1, sizeof *r);

	r->client = c;
	r->cb = *cb;
	r->arg = arg;
	buf_init(&r->head, c->opts.header);
	/* Not one that was used before: libcurl up to 8.1.0 reads what it has
	 * freed when the next response begins with a folded line (curl #11101). */
	r->easy = curl_late()->easy_init();
	assert(r->easy != NULL);
	DL_APPEND(c->reqs, r);
	if (!is_method(q->method))
		(void)err_set(em, E_USAGE, "no method can be called so");
	if (!is_method(q->method) || add_lines(r, q, em) < 0) {
		req_free(r);
		return NULL;
	}
	set_request(r->easy, q);
	set_manner(r, &c->opts);
	c->running++;
	if (c->inside)
		c->waiting = true;
	else
		req_add(r);
	return r;
}

void
client_cancel(struct creq *r)
{
	struct client *c = r->client;

	if (r->dead)		/* in its own end() */
		return;
	r->dead = true;
	c->running--;
	if (c->inside)
		c->waiting = true;
	else
		req_free(r);
}

void
client_hold(struct creq *r, bool hold)
{
	struct client *c = r->client;
	curl_socket_t fd = -1;
	static const int wide = WIDE_BUFFER;

	assert(!c->inside);
	if (r->dead || !r->added)
		return;
	c->inside = true;
	(void)curl_late()->easy_getinfo(r->easy, CURLINFO_ACTIVESOCKET, &fd);
	/* What has piled up would come 1 KiB at a time. */
	if (!hold && fd != CURL_SOCKET_BAD)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wide, sizeof wide);
	/* It may call back with what it has, and sets its own timer. */
	(void)curl_late()->easy_pause(r->easy, hold ? CURLPAUSE_RECV : CURLPAUSE_CONT);
	c->inside = false;
	catch_up(c);
}

unsigned
client_running(const struct client *c)
{
	return c->running;
}

struct str
client_header(const struct client_head *h, struct str name)
{
	struct str rest = h->lines;

	while (rest.n > 0) {
		size_t n = str_find(rest, STR("\n"));
		struct str line = str_of(rest.p, n < rest.n ? n : rest.n);

		rest.p += line.n + (n < rest.n);
		rest.n -= line.n + (n < rest.n);
		if (line.n > name.n && line.p[name.n] == ':' &&
		    str_ipre(line, name)) {
			line = str_of(line.p + name.n + 1, line.n - name.n - 1);
			if (line.n > 0 && line.p[line.n - 1] == '\r')
				line.n--;
			return str_trim(line);
		}
	}
	return STR_NONE;
}

const char *
client_end_name(enum client_end e)
{
	switch (e) {
	case CLIENT_COMPLETE:
		return "complete";
	case CLIENT_CLOSED:
		return "closed";
	case CLIENT_REFUSED:
		return "refused";
	case CLIENT_TIMEOUT:
		return "timeout";
	case CLIENT_BAD:
		return "bad";
	}
	return "?";
}
