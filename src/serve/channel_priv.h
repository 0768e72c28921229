/* channel_priv: what the files of channel share.
 *
 *	channel.c          the calls, requests, and the policies of rmcp
 *	channel_promote.c  shadow-promote
 *	channel_log.c      messages kept for replay */
#ifndef CHANNEL_PRIV_H
#define CHANNEL_PRIV_H

#include "mcpdiag/channel.h"

/* A message kept.  Indexes are consecutive within a log. */
struct kept {
	uint64_t index;
	char *data;
	size_t n;
	uint32_t owner;		/* GET stream number it went out on, 0 none */
};

struct chan_log {
	struct kept *at;
	uint32_t n, cap;
	uint64_t next;		/* index of the next message */
	size_t bytes;
};

struct kept *log_add(struct chan_log *, struct str data);
/* Forgets the oldest until at most that much is kept, the newest never. */
void log_trim(struct chan_log *, uint32_t max, size_t max_bytes);
void log_fini(struct chan_log *);

struct listener {		/* an open GET stream of the common channel */
	uint32_t stream;
	uint32_t g;		/* number among the session's GET streams */
	uint32_t of;		/* shadow-promote: resumes GET stream `of`... */
	uint64_t after;		/* ...and has its messages up to this one */
	enum chan_role role;
	bool fresh;		/* nothing was sent on it yet */
};

struct request {
	uint32_t n;
	uint32_t carrier;	/* stream, 0 none */
	bool done;		/* the response is in the log */
	bool plain;		/* rmcp's initialize: no ids, no resume */
	bool fresh;		/* nothing was sent on its carrier yet */
	struct chan_log log;
};

struct channel {
	struct chan_opts o;
	chan_act_fn *act;
	void *arg;
	struct listener *ls;	/* in the order they opened */
	uint32_t n_ls, cap_ls;
	struct request *rs;	/* in the order they came */
	uint32_t n_rs, cap_rs;
	uint32_t next_g, next_r;
	uint32_t turn;		/* CHAN_FAULT_SPLIT */
	struct chan_log log;	/* of the common channel */
};

struct listener *chan_find_primary(const struct channel *);
struct listener *chan_find_listener(const struct channel *, uint32_t stream);
/* Accepts a GET; the pointer is good until the next one. */
struct listener *chan_add_listener(struct channel *, uint32_t stream,
    enum chan_role, uint32_t cause);
void chan_remove_listener(struct channel *, struct listener *, uint32_t cause);
void chan_set_role(struct channel *, struct listener *, enum chan_role,
    uint32_t cause);
void chan_do(struct channel *, enum chan_do, uint32_t stream);
void chan_refuse(struct channel *, uint32_t stream, unsigned status,
    const char *text);
struct request *chan_find_request(const struct channel *, uint32_t n);
/* Goes on with it on `stream`, from message `from` of its log. */
void chan_take_request(struct channel *, struct request *, uint32_t stream,
    uint64_t from);
void chan_prime_listener(struct channel *, struct listener *);
/* Sends it, and it is that stream's from now on. */
void chan_common_event(struct channel *, struct listener *, struct kept *,
    bool replay);
/* A fault: kind 'r' or 'g' is resumed on `stream`. */
void chan_cross(struct channel *, uint32_t stream, char kind);

/* channel_promote.c */
void promote_get(struct channel *, uint32_t stream, struct str cursor);
void promote_closed(struct channel *, uint32_t stream, uint32_t unsent);
/* The primary, whose socket is alive; else the shadow that now is it. */
struct listener *promote_living(struct channel *);
/* After the primary's end: the newest live shadow is it, and gets what waits. */
void promote_next(struct channel *, uint32_t cause);

#endif
