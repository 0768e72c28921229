/* httpd: an HTTP/1.x server for long streams, on loop and hread.
 *
 * Requests come whole (head and body) and one at a time on a connection; what
 * a client pipelines waits, bounded.  The callee answers at once or later,
 * with one reply or with a stream of chunks, and learns when the client has
 * gone before the answer was complete: a FIN, an RST or a failed write, as
 * soon as the kernel tells.  A half-closed connection counts as gone.
 *
 * Calls of hreq_* never lead to request() or gone() from within: those come
 * from the loop, or out of httpd_free(), which is not for callbacks to call.
 * opened(), bytes() and closed() must not call hreq_*.
 *
 * A request (struct hreq) is valid from request() until its answer is complete
 * (hreq_reply(), hreq_end(), hreq_drop()) or gone() has returned.
 *
 * Limits: header block, body, and pipelined bytes of a connection are bounded
 * (431, 413, close); a client that is slow with its request is answered 408.
 * Behind a request 64 KiB are read.  Who sends more to an open stream is cut off
 * (HTTP_GONE_RST).  Who sends more behind a slow answer is not read until that
 * is complete; its close is seen all the same, unless it sent more than the
 * kernel takes: then its FIN has not been sent yet.
 * Output that the client does not read is bounded (httpd_opts.backlog): then
 * the connection is reset and gone() says HTTP_GONE_SLOW.  Bytes that are no
 * HTTP/1.x, or that RFC 9112 wants refused (hread.h), are answered 400, 501 or
 * 505, and the connection is closed. */
#ifndef MCPDIAG_HTTPD_H
#define MCPDIAG_HTTPD_H

#include "mcpdiag/err.h"
#include "mcpdiag/limits.h"
#include "mcpdiag/loop.h"
#include "mcpdiag/str.h"

struct httpd;
struct hreq;

enum http_gone {
	HTTP_GONE_FIN,		/* the client closed, or half-closed */
	HTTP_GONE_RST,		/* reset, or a write failed */
	HTTP_GONE_SLOW,		/* it did not read: dropped by us */
	HTTP_GONE_SHUTDOWN,	/* httpd_free() */
};

struct httpd_cb {
	/* A complete request.  hreq_* may be called right here. */
	void (*request)(void *arg, struct hreq *);
	/* The client has gone before the answer was complete.  Only for
	 * requests whose answer was not complete; the last call about it. */
	void (*gone)(void *arg, struct hreq *, enum http_gone);
	/* For a log; each may be NULL.  conn numbers connections from 1.
	 * bytes(): what was read (response false) or what the socket took, also
	 * from within hreq_*. */
	void (*opened)(void *arg, uint32_t conn, const char *client, const char *server);
	void (*bytes)(void *arg, uint32_t conn, bool response, const void *, size_t);
	/* by_client: it closed first (a slow one did not); reset: by its RST. */
	void (*closed)(void *arg, uint32_t conn, bool by_client, bool reset);
};

struct httpd_opts {
	const char *host;	/* address or name to bind; NULL: 127.0.0.1 and ::1 */
	uint16_t port;		/* 0: any free one, the same on every address */
	uint64_t body;		/* bytes of a request body */
	/* Output of a stream that the socket does not take, bytes.  Not counted:
	 * what is on its way or in the client's window, and 128 KiB that the
	 * kernel holds unsent (TCP_NOTSENT_LOWAT).  A whole reply may be longer:
	 * it is given up when the socket took nothing for request_timeout. */
	uint64_t backlog;
	ns_t request_timeout;	/* for a whole request, from its first byte */
	ns_t idle_timeout;	/* between requests; 0: none */
	struct limits limits;	/* header */
};

/* 4 MiB, 4 MiB, 30 s, 75 s, a head of 32 KiB. */
void httpd_opts_init(struct httpd_opts *);
/* Binds and listens; raises the limit of open files as far as it may go.  NULL
 * and a sentence when the port is taken or the address is not of this machine
 * (-E_IO). */
struct httpd *httpd_new(struct loop *, const struct httpd_opts *,
    const struct httpd_cb *, void *arg, struct errmsg *);
/* No new connections from here on; the open ones go on. */
void httpd_close_listeners(struct httpd *);
/* Closes what is open (gone: HTTP_GONE_SHUTDOWN). */
void httpd_free(struct httpd *);
uint16_t httpd_port(const struct httpd *);
/* Open connections. */
uint32_t httpd_conns(const struct httpd *);
/* Whether complete answers wait for the sockets to take them. */
bool httpd_draining(const struct httpd *);
/* Bound addresses as text ("127.0.0.1:8080"), n from 0; NULL past the end. */
const char *httpd_address(const struct httpd *, unsigned n);

/* What was asked; borrowed, as long as the request. */
struct str hreq_method(const struct hreq *);
struct str hreq_target(const struct hreq *);	/* as sent: path and query */
struct str hreq_header(const struct hreq *, struct str name);	/* first, or STR_NONE */
/* The k-th of that name, from 0. */
struct str hreq_header_at(const struct hreq *, struct str name, unsigned k);
/* How many headers of that name there are. */
unsigned hreq_header_count(const struct hreq *, struct str name);
struct str hreq_body(const struct hreq *);
/* Gives the body back: it is not needed any more (a stream may live long). */
void hreq_body_free(struct hreq *);
uint32_t hreq_conn(const struct hreq *);	/* connection number, from 1 */
uint32_t hreq_n(const struct hreq *);		/* exchange on it, from 0 */
void hreq_set_user(struct hreq *, void *);
void *hreq_user(const struct hreq *);

/* A whole response.  `headers` are complete lines ("Allow: GET\r\n"), without
 * Content-Length and Connection, which are ours.  HEAD gets no body. */
void hreq_reply(struct hreq *, unsigned status, struct str headers, struct str body);
/* The head of a response whose body comes in pieces: chunked, or until close
 * for HTTP/1.0. */
void hreq_begin(struct hreq *, unsigned status, struct str headers);
/* One chunk (n > 0), written as far as the socket takes it: at once, or, in
 * request(), together with the rest of the answer when that returns.  0, or
 * -E_LIMIT when the backlog is full, -E_IO when the connection broke: then
 * gone() follows from the loop, and this is not an error to act on. */
int hreq_write(struct hreq *, struct str);
/* Bytes that the client has not taken yet: ours, and the kernel's (SIOCOUTQ). */
size_t hreq_backlog(const struct hreq *);
/* Of them, those that wait here for the socket: no system call. */
size_t hreq_unsent(const struct hreq *);
/* Whether the client is still there, as far as the kernel knows right now: a
 * FIN or RST that has come counts before gone() tells it. */
bool hreq_alive(const struct hreq *);
/* The terminator; the connection stays open for the next request. */
void hreq_end(struct hreq *);
/* Ends the connection without a terminator, by FIN or RST; no gone(). */
void hreq_drop(struct hreq *, bool reset);

#endif
