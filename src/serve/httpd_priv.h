/* httpd_priv: what the files of httpd share.
 *
 *	httpd.c       the server: listeners, timeouts, what is put off
 *	httpd_bind.c  addresses
 *	httpd_conn.c  a connection: reads, hands out requests, closes
 *	httpd_out.c   answers: heads, chunks, what the socket does not take
 *
 * A connection is always in exactly one list.  All timeouts of a list are
 * equal, so it is in the order in which they run out, and one timer does for
 * all of them.
 *
 * Calls of the callee (hreq_*) never call back: what follows from them is put
 * off (HC_RUN, HC_DEAD) unless an event of the same connection is being
 * handled further up (busy). */
#ifndef MCPDIAG_HTTPD_PRIV_H
#define MCPDIAG_HTTPD_PRIV_H

#include <sys/socket.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/hhead.h"
#include "mcpdiag/hread.h"
#include "mcpdiag/httpd.h"

enum {
	HLISTEN_MAX = 8,
	HADDRESS = 64,			/* "[address]:port" and a NUL */
	HPIPELINE = 64 << 10,		/* bytes that wait behind a request */
	HCORK = 16 << 10,		/* of an answer, to leave in one piece */
};

struct hlisten {
	int fd;
	struct loop_fd *ready;
	char address[HADDRESS];
};

enum hconn_list {
	HC_NONE,	/* an answer is awaited: no timeout */
	HC_IDLE,	/* between requests */
	HC_REQUEST,	/* a part of a request has come */
	HC_DRAIN,	/* the client has an answer to read: no progress for */
	HC_LINGER,	/* our side is shut, its last bytes are let go */
	HC_RUN,		/* put off: look for the next request */
	HC_DEAD,	/* put off: closed, to be told and freed */
	HC_LISTS,
};

struct hlist {
	struct hconn *head, *tail;
	ns_t timeout;			/* 0: none */
};

struct hconn {
	struct httpd *d;
	struct loop_fd *ready;
	struct hread *read;		/* a request that is not complete */
	struct hreq *req;		/* one that is not answered */
	struct buf in;			/* read, behind that request */
	struct buf out;			/* not taken by the socket, from out_off */
	size_t out_off;
	struct hconn *prev, *next;
	ns_t since;			/* in the list; loop_mono() */
	uint32_t number, n;		/* connection; exchanges so far */
	uint32_t discarded;		/* bytes, since closing */
	int fd;
	uint8_t list;
	uint8_t why;			/* dead: enum http_gone */
	bool busy;			/* an event of it is being handled */
	bool corked;			/* what is written is kept together */
	bool closing;			/* after what is in out */
	bool lingering;			/* our FIN is sent */
	bool eof;			/* its FIN is read */
	bool dead;			/* the descriptor is closed */
	bool by_client, reset;		/* how it ended */
};

struct hreq {
	struct hconn *c;
	struct hread_head *head;
	struct buf body;
	void *user;
	uint32_t n;
	bool begun;			/* hreq_begin() */
	bool chunked;
	bool last;			/* the connection ends with it */
};

struct httpd {
	struct loop *loop;
	const struct httpd_cb *cb;
	void *arg;
	struct httpd_opts opts;
	struct hread_limits limits;
	struct hlisten listen[HLISTEN_MAX];
	unsigned n_listen;		/* bound */
	uint16_t port;
	bool paused;			/* no descriptor was left to accept with */
	bool soon_set;
	struct hlist list[HC_LISTS];
	struct loop_timer *timer;	/* of the lists; runs out at due */
	struct loop_timer *soon;	/* of HC_RUN and HC_DEAD */
	struct loop_timer *again;	/* of accepting */
	ns_t due;
	uint32_t n_conns, number;
	ns_t date_s;			/* second of `date` */
	char date[HHEAD_DATE];
	char buf[64 << 10];		/* for one read */
};

/* Binds and listens on every address of the host (NULL: loopback).  Sets what
 * accepted sockets inherit. */
int hbind(const char *host, uint16_t port, struct hlisten out[HLISTEN_MAX],
    unsigned *n, struct errmsg *);
/* "127.0.0.1:80", "[::1]:80". */
void hbind_text(const struct sockaddr *, char out[HADDRESS]);

/* Into that list, as its newest, now. */
void hconn_list(struct hconn *, enum hconn_list);
void hconn_unlist(struct hconn *);
void httpd_soon(struct httpd *);
/* A connection is gone: there is a descriptor to accept with. */
void httpd_resume(struct httpd *);

void hconn_new(struct httpd *, int fd, const struct hlisten *,
    const struct sockaddr *);
/* Closes the descriptor; told and freed later.  reset: by RST. */
void hconn_kill(struct hconn *, enum http_gone, bool reset);
/* Tells the callee and frees it. */
void hconn_bury(struct hconn *);
/* The next request that waits. */
void hconn_run(struct hconn *);
/* Which list, what to watch for; starts to close when it is time. */
void hconn_settle(struct hconn *);
void hconn_want(struct hconn *);
void hconn_expire(struct hconn *);	/* its timeout has run out */

static inline size_t
hconn_queued(const struct hconn *c)
{
	return c->out.n - c->out_off;
}

/* Answers a request that was never handed out, and ends the connection. */
void hconn_refuse(struct hconn *, unsigned status, const char *why);
void hconn_continue(struct hconn *);	/* 100 */
void hconn_flush(struct hconn *);
void hreq_free(struct hreq *);

#endif
