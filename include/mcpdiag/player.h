/* player: performs a plan against a server, on the loop.
 * Each captured client is a pool of connections of its own (client.h); the
 * capture's new connections are new ones here.  A request goes out at its
 * recorded time (sped up, pauses cut), but not before what it waits for has
 * happened: the session is there, the response before it has come, the stream
 * that it reopens has ended - then as much later as in the capture.  So a
 * listener whose stream this server leaves open does not come back, nor does one
 * that is refused here and was not in the capture: what it does then is not
 * known.  A session's DELETE waits for what goes out within a bounded time; what
 * comes before it in the capture and waits for more is given up then.
 * Times are counted from the first response, for which libcurl and the server
 * may take longer than for any other.
 *
 * Values of the capture are replaced by those of this run: session ids, ids in
 * Last-Event-ID, endpoints of HTTP+SSE, ids of the server's requests that are
 * answered, and what a server mints for later use (requestState, taskId, ...).
 * Pings of the server that the capture does not answer are answered.
 *
 * Every wait is bounded: an answer by `answer_timeout`, all of it by the end of
 * the plan; what could not be played says why.  Several players may share a
 * plan, a loop and a witness. */
#ifndef MCPDIAG_PLAYER_H
#define MCPDIAG_PLAYER_H

#include "mcpdiag/client.h"
#include "mcpdiag/plan.h"

enum played {			/* what became of an exchange of the plan */
	PLAYED_NOT,		/* the plan leaves it out */
	PLAYED_WAITING,
	PLAYED_RUNNING,
	PLAYED_DONE,
	PLAYED_NO_SESSION,	/* the handshake did not work */
	PLAYED_STILL_OPEN,	/* the stream that it reopens did not end, */
	PLAYED_NOT_OPENED,	/* or was none here */
	PLAYED_DELETED,		/* the DELETE of its session, later in the capture,
				 * came first */
	PLAYED_NO_ANSWER,	/* that it waits for did not come */
	PLAYED_NOT_ASKED,	/* the server did not ask what it answers */
	PLAYED_UNSENDABLE,	/* curl will not send it so */
	PLAYED_OVER,		/* the run was ended before */
};

struct player_msg {
	enum ev_msg kind;
	struct str method, id;
	struct str text;	/* its JSON; of a batch all of it */
	bool cut;
	ns_t t;			/* since the start */
};

struct player_x {		/* owned by the player, as all it points at */
	const struct plan_x *plan;
	enum played state;
	unsigned status;	/* 0: no response */
	struct str type;	/* Content-Type */
	struct str location;	/* absent: none */
	bool is_stream;
	ns_t due, sent, head, end;	/* since the start; -1: not so far */
	enum client_end how;	/* when DONE */
	bool left;		/* by us, before the server ended it */
	struct str why;		/* a sentence, when it did not end well */
	struct player_msg *msgs;
	uint32_t n_msgs, cap_msgs;
	uint32_t n_events;	/* event blocks */
	uint64_t bytes;		/* of the body */
	struct str *ids;	/* of event blocks that have one */
	uint32_t n_ids, cap_ids;
	bool no_cursor;		/* it should have had one, but none was given */
};

struct player_opts {
	const char *url;
	const struct str *headers;	/* "Name: value"; in place of ours */
	unsigned n_headers;
	double speed;		/* 2: in half the time; 0: without waiting */
	ns_t max_wait;		/* no pause is longer; 0: as recorded */
	ns_t connect_timeout, answer_timeout;
	size_t message;		/* bytes kept of one body or message */
	struct client_opts client;
	/* Pools that are there, borrowed, shared by the captured clients and with
	 * others; NULL: one for each of them, as `client` says. */
	struct client *const *pools;
	uint32_t n_pools, first_pool;
};

struct player;
typedef void player_fn(void *arg);

/* 1x, 30 s for an answer, 1 MiB. */
void player_opts_init(struct player_opts *);
/* `done` is called once, from the loop, when all is over.  Options are copied,
 * what they point at and the plan are borrowed. */
struct player *player_new(struct loop *, const struct plan *, const struct player_opts *,
    player_fn *done, void *arg);
/* What runs is cancelled. */
void player_free(struct player *);
/* -E_IO and a sentence when libcurl cannot start. */
int player_start(struct player *, struct errmsg *);
/* Ends it soon: what runs is left. */
void player_stop(struct player *);
/* Closes its connections; what came of it stays.  Not from a callback. */
void player_close(struct player *);
/* Number n of the plan, from 1; NULL past the end. */
const struct player_x *player_x(const struct player *, uint32_t n);

/* Whether the target is an MCP server at all: 0; or -E_IO and a sentence when
 * nothing that was sent got such an answer. */
int player_target(const struct player *, struct errmsg *);
/* "the handshake did not work" */
const char *played_text(enum played);

#endif
