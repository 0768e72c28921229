/* mcpd: the reference MCP server, on httpd and channel.
 *
 * Speaks Streamable HTTP of 2025-03-26, 2025-06-18 and 2025-11-25 at /mcp,
 * 2026-07-28 at the same place, and, when asked, HTTP+SSE of 2024-11-05 at
 * /sse.  A policy other than shadow-promote, or a fault, makes it misbehave as
 * a real server does; everything else stays as the specification wants it.
 * What it does is told as events, from its own knowledge (mcpd_opts.event).
 *
 * Everything a client can make grow is bounded: sessions, streams and messages
 * of a session, running requests, request bodies, unread output. */
#ifndef MCPDIAG_MCPD_H
#define MCPDIAG_MCPD_H

#include "mcpdiag/channel.h"
#include "mcpdiag/event.h"
#include "mcpdiag/fault.h"
#include "mcpdiag/httpd.h"

struct mcpd;

struct mcpd_opts {
	struct httpd_opts http;
	struct chan_opts channel;
	struct faults faults;
	ns_t keepalive;		/* between comments on an idle stream; 0: none */
	ns_t emit;		/* list_changed on a session's common channel, so
				 * long after it was made and each time; 0: none */
	uint32_t emissions;	/* at most; 0: no end */
	bool lost_session_401;	/* missing and unknown sessions: 401, else 400
				 * and 404 */
	bool json;		/* answers JSON where a stream is not needed */
	bool legacy;		/* HTTP+SSE at /sse and /messages, too */
	bool conformance;	/* the fixtures of the conformance suite */
	bool show_secrets;	/* in the events */
	uint32_t sessions;	/* at once; of them idle ones make room */
	const char *const *hosts;	/* allowed in Host and Origin beside the
					 * loopback names; NULL-terminated or NULL */
	ev_fn *event;		/* what the server did, or NULL */
	void *arg;
	/* As in httpd_cb, for a record of the bytes; each may be NULL. */
	void (*opened)(void *arg, uint32_t conn, const char *client, const char *server);
	void (*bytes)(void *arg, uint32_t conn, bool response, const void *, size_t);
	void (*closed)(void *arg, uint32_t conn, bool by_client, bool reset);
};

void mcpd_opts_init(struct mcpd_opts *, enum chan_policy);
/* Binds and serves; NULL and a sentence when it cannot. */
struct mcpd *mcpd_new(struct loop *, const struct mcpd_opts *, struct errmsg *);
void mcpd_free(struct mcpd *);
/* "http://127.0.0.1:8080/mcp" */
const char *mcpd_url(const struct mcpd *);
/* notifications/tools/list_changed on every session's common channel, and on
 * every subscription to it: once each, soon. */
void mcpd_emit(struct mcpd *);
/* No new connections and requests; ends every stream properly and calls `done`
 * when all has been sent, or after a second. */
void mcpd_shutdown(struct mcpd *, loop_fn *done, void *arg);

struct mcpd_stats {
	uint32_t sessions, streams;	/* open now */
	uint64_t requests;		/* HTTP requests since the start */
};

void mcpd_stats(const struct mcpd *, struct mcpd_stats *);

#endif
