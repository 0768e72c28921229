/* What observe.c (connections, exchanges) and observe_body.c (bodies, streams,
 * messages) share. */
#ifndef OBSERVE_PRIV_H
#define OBSERVE_PRIV_H

#include "mcpdiag/http1.h"
#include "mcpdiag/inflate.h"
#include "mcpdiag/map.h"
#include "mcpdiag/observe.h"
#include "mcpdiag/rpc.h"
#include "mcpdiag/sse.h"
#include "mcpdiag/xmem.h"

#define SNIFF_MAX 64		/* bytes of a direction looked at before giving up */

/* A body being read: of a request or of a response. */
struct body {
	struct inflate *inflate;
	enum inflate_kind coding;
	bool undecoded;		/* cannot be read (further) */
	bool started;
	bool overheld;		/* `held` was too small for this event */
	uint64_t bytes;		/* as sent */
	struct rpc *rpc;	/* while a JSON document is open */
	struct digest digest;
	struct buf held;	/* messages that wait for their event */
};

/* The start of a body or of an event: what is shown of it. */
struct kept {
	struct buf b;
	uint64_t bytes;		/* that came */
	size_t at;		/* of a batch: behind the elements told */
	uint32_t n_msgs;	/* told of it */
};

/* What is kept of an exchange for model_text(). */
struct otext {
	struct kept req, resp;	/* bodies; of a stream, the event's data */
	struct kept block;	/* the event's lines that came in other pieces */
	struct str piece;	/* and those of this one */
	bool in_line, after_cr;	/* where the next piece goes on */
};

/* An exchange while it is open; what an idle stream touches comes first. */
struct ox {
	struct ox *prev, *next;
	struct oconn *conn;
	struct mexch *x;
	struct sse *sse;
	struct at at;			/* of the bytes being fed */
	uint32_t n;
	bool req_over, resp_over;	/* told to the model */
	bool foreign;			/* a method that MCP does not use */
	bool rpc;			/* it has carried JSON-RPC */
	bool sniff_sse;			/* head lost: is the body an event stream? */
	bool answered;			/* its response has begun */
	struct body resp, req;
	/* event stream */
	const char *stash;		/* lent data of the event being read */
	size_t n_stash;
	uint32_t n_first;
	char first[256];		/* start of the data: an endpoint URI */
	struct otext *text;		/* NULL: texts are not wanted */
};

struct oconn {
	struct observe *o;
	struct http1 *http;
	struct ox *list;
	uint32_t n_list;
	/* Where the open event stream keeps its state: fetched ahead. */
	const char *hot_sse, *hot_x;
	int client_dir;
	bool dead;		/* no HTTP/1: not read */
	bool client0, midstream;
	struct mconn *mc;
	char *a0, *a1;
	struct at opened;
	uint8_t seen[SNIFF_MAX];	/* first bytes while undecided */
	uint8_t n_seen;
	int seen_dir;
};

struct observe {
	struct limits lim;
	struct model *m;
	struct observe_stats stats;
	uint64_t next_look;		/* of stats.work: at memory use */
	bool full, told_full;
	struct rpc *spare;		/* scanner between documents */
	struct buf text;		/* being made */
	size_t long_kept;		/* bytes past TEXT_MAX of requests' bodies */
	struct ox *cur;			/* whose body is being scanned */
	bool cur_request, cur_hold;	/* its request; keep for later */
	uint64_t cur_hash;
};

/* observe_text.c: what was on the wire, for model_text(); each does nothing
 * when texts are not wanted.  Between text_X() and model_text_end() the event
 * of that type is told. */
void text_init(struct observe *);
void text_begin(struct ox *);
void text_free(struct ox *);
void text_head(struct ox *, const struct http1_head *, bool response);
/* Bytes of a body, or of an event's data, before they are scanned. */
void text_keep(struct ox *, bool response, const void *, size_t);
/* Forgets them: at a gap, and behind an event. */
void text_drop(struct ox *, bool response);
/* Where the message that has just been scanned lies in them. */
struct span {
	size_t from, n;
	bool whole;
};
struct span text_span(struct ox *, bool response, bool batch);
void text_msg(struct ox *, bool response, struct span);
/* The end of a body that held no message. */
void text_end(struct ox *, bool response);
/* Feeds a piece to the SSE parser, up to the end of each event. */
void text_feed_sse(struct ox *, const char *, size_t);
void text_sse(struct ox *);

/* Makes ready to read a body under that Content-Encoding. */
void body_begin(struct ox *, struct body *, struct str coding);
void body_feed(struct ox *, struct body *, const void *, size_t);
/* Bytes are missing: what was begun is given up. */
void body_gap(struct ox *, struct body *, uint64_t bytes);
/* whole: all of it came. */
void body_end(struct ox *, struct body *, bool whole);
void body_free(struct observe *, struct body *);
/* The response of x is an event stream. */
void body_event_stream(struct ox *);

#endif
