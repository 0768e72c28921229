/* listener: an MCP client made of EventSources, playing a script.
 *
 * POSTs initialize and notifications/initialized, opens a standalone GET (and
 * `extra` more), POSTs tools/list, and tools/call at given times.  Every event
 * stream, of a POST as of a GET, is an EventSource's (esource.h): when it ends,
 * it is opened again after the reconnection time by GET with Last-Event-ID,
 * until an answer is no event stream.  That is what makes leapfrogs and replay
 * loops show themselves.  Requests of the server are answered: ping, and an
 * error to all others.
 *
 * With a row of clients.h it does what that client does instead: when it opens
 * its GET, which streams it opens again and after what time, and what it makes
 * of a refusal.  A client that would begin a new session, or gives its own up,
 * is LISTEN_SESSION_GONE.
 *
 * Has neither clock nor socket: requests and timers go out through listener_io,
 * and what becomes of them comes in through listener_head() and the others.
 * listener_live.h is the one on a loop.  Slots number what may run at once: at
 * most one request and one timer each; their number is fixed at the start. */
#ifndef MCPDIAG_LISTENER_H
#define MCPDIAG_LISTENER_H

#include "mcpdiag/client.h"
#include "mcpdiag/clients.h"

enum listen_kind {		/* what a lineage began with */
	LISTEN_INITIALIZE,
	LISTEN_STANDALONE,
	LISTEN_LIST,		/* POST tools/list: 0 of the script, then refetches */
	LISTEN_CALL,		/* POST tools/call */
	LISTEN_EXTRA,		/* GET */
	LISTEN_INITIALIZED,	/* POST of the notification */
	LISTEN_REPLY,		/* POST of a response to the server */
	LISTEN_DELETE,
};

enum listen_stop {
	LISTEN_DONE,		/* listener_stop(), or the duration is over */
	LISTEN_UNREACHABLE,	/* initialize got no answer */
	LISTEN_REFUSED,		/* initialize was answered, but not well */
	LISTEN_SESSION_GONE,	/* 404 to a session id, or another answer that
				 * this client takes for it */
};

enum listen_what {
	LISTEN_ANSWER,		/* of a request: status, and stream or not */
	LISTEN_MESSAGE,		/* a JSON-RPC message on an event stream */
	LISTEN_ENDED,		/* an event stream */
	LISTEN_STOPPED,		/* the last of all */
};

struct listen_event {		/* all borrowed */
	enum listen_what what;
	enum listen_kind kind;	/* of the lineage, and which of that kind, */
	unsigned index;		/* from 0 */
	/* ANSWER */
	const char *method;	/* "GET", "POST", "DELETE" */
	struct str cursor;	/* the Last-Event-ID it had; n == 0: none */
	unsigned status;	/* 0: none came */
	bool stream;		/* event stream */
	/* MESSAGE */
	struct str id, type, data;	/* id: the last event id */
	struct str rpc_method;	/* absent in a response; of a batch the first */
	bool cut;		/* data is only its start: not looked at */
	/* ANSWER without status, ENDED */
	enum client_end end;
	ns_t again;		/* GET follows so much later; -1: never.  After a
				 * refusal: so much later than its end */
	/* STOPPED */
	enum listen_stop stop;
	const char *why;	/* ENDED and ANSWER too: a sentence, or "" */
};

typedef void listener_fn(void *arg, const struct listen_event *);

struct listener_opts {
	const char *url;
	const char *protocol;	/* offered revision */
	const struct str *headers;	/* further ones, "Name: value"; those of
				 * a name that is ours replace ours */
	unsigned n_headers;
	const struct client_row *client;	/* or NULL */
	unsigned reconnect;	/* set of 1 << LISTEN_...: which do; with a row
				 * only of those that it opens again */
	bool standalone, list;	/* these steps are taken */
	unsigned extra;		/* GET listeners beside the standalone */
	unsigned refetch;	/* so many times tools/list_changed is answered
				 * by tools/list */
	bool fresh;		/* each request on a new connection */
	bool delete;		/* DELETE the session at the end */
	double scale;		/* multiplies the times of the script below */
	double retry_scale;	/* and this the reconnection time, the server's
				 * too: with both a recorded run is sped up */
	ns_t retry;		/* until the server says another */
	ns_t delay_initialized;	/* from the answer to initialize */
	ns_t delay_get;		/* from the answer to initialized */
	ns_t delay_extra;	/* between the GETs */
	ns_t delay_list;	/* from the (standalone) GET */
	const ns_t *calls;	/* from the start; not before initialized */
	unsigned n_calls;
	const char *call_params;	/* JSON of tools/call */
	ns_t duration;		/* from the start; 0: until listener_stop() */
	/* not scaled */
	ns_t connect_timeout;
	ns_t post_timeout;	/* of POSTs and DELETE that get no stream */
	size_t message;		/* bytes kept of one */
};

struct listener_io {
	/* False and a sentence: it cannot be sent as it is. */
	bool (*send)(void *arg, unsigned slot, const struct client_request *,
	    struct errmsg *);
	/* Nothing more of that request. */
	void (*cancel)(void *arg, unsigned slot);
	/* listener_timer() after so long; replaces an earlier one. */
	void (*timer)(void *arg, unsigned slot, ns_t after);
	void (*clear)(void *arg, unsigned slot);
};

struct listener;

/* The script of an EventSource client against rmcp, in seconds of real time:
 * no calls, no end, everything but calls reconnects. */
void listener_opts_init(struct listener_opts *);
/* Options are copied; what they point at is borrowed. */
struct listener *listener_new(const struct listener_opts *, const struct listener_io *,
    void *io_arg, listener_fn *, void *arg);
void listener_free(struct listener *);
unsigned listener_slots(const struct listener *);
void listener_start(struct listener *);
/* DELETE, if that is wanted and there is a session, then LISTEN_STOPPED. */
void listener_stop(struct listener *);

void listener_head(struct listener *, unsigned slot, const struct client_head *);
void listener_body(struct listener *, unsigned slot, const void *, size_t);
void listener_end(struct listener *, unsigned slot, enum client_end, const char *why);
void listener_timer(struct listener *, unsigned slot);

const char *listen_kind_name(enum listen_kind);

#endif
