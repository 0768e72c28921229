/* player: what its parts share. */
#ifndef PLAYER_PRIV_H
#define PLAYER_PRIV_H

#include "mcpdiag/keep.h"
#include "mcpdiag/map.h"
#include "mcpdiag/player.h"
#include "mcpdiag/rpc.h"
#include "mcpdiag/sse.h"
#include "minted.h"

struct live {			/* an exchange of the plan, in this run */
	struct player_x x;
	struct player *player;
	struct live *waiters;	/* those that wait for this, */
	struct live *next;	/* of which this is one, or of the ready ones, or
				 * of those that leave */
	bool is_short;		/* a request that will have its answer soon */
	bool leaves, leaving;	/* the timer is that of its leave; it is over */
	bool gap_runs;		/* the timer is that of its gap */
	bool patient;		/* or of its wait for an id or a notification, */
	bool goes_without;	/* which did not come */
	bool is_coming;		/* one of these, or was and has not gone out */
	struct creq *req;
	struct loop_timer *timer;	/* till it goes out; then till its answer
					 * must be there, or till it is left */
	/* the response */
	struct buf text;	/* of a body, or of the event being read */
	bool cut;
	struct sse *sse;
	struct buf sid, endpoint;	/* that it gave */
	struct str version;	/* negotiated */
	struct str cursor;	/* that it was sent with; absent: none */
	uint32_t n_answers;	/* responses on it */
	uint32_t n_asked;	/* requests of the server on it, */
	uint32_t n_replied;	/* and how many of them the plan answers */
	/* of a handshake: the plan's DELETE of its session, or 0; and how many
	 * before that are coming */
	uint32_t deleted, n_coming;
};

struct extra {			/* a request that is not of the plan */
	struct player *player;
	struct creq *req;
	struct extra *prev, *next;
};

struct mark {			/* a client did something */
	ns_t captured, at;	/* since the first packet; since the start */
};

struct player {
	struct loop *loop;
	const struct plan *plan;
	struct player_opts opts;
	player_fn *done;
	void *arg;
	struct client **clients;	/* one for each of the plan */
	struct live **lives;
	uint32_t n;
	ns_t *at;		/* of each, with pauses cut, since the start */
	struct mark *marks;	/* by time; for pauses between them */
	uint32_t n_marks;
	uint32_t next;		/* whose time has not come */
	struct loop_timer *timer;	/* of that, or of the end */
	ns_t start;
	struct live *opener;	/* the first one: its response is waited for, */
	ns_t slip;		/* and what it is late, all else is */
	bool opened;
	uint32_t n_short, n_gaps;
	uint32_t *n_short_of;	/* each client of the plan */
	struct live *ready, **ready_end;
	struct live *leaving;	/* as soon as their client waits for no answer */
	bool settling, ending, over, closed;
	struct extra *extras;
	struct rpc *rpc;
	struct live *parsing;	/* whose message rpc reads, */
	struct str parsed;	/* and its text */
	struct minted *minted;
	struct keep kept;
};

/* That of the plan's number n; NULL of 0, which is none. */
static inline struct live *
of(const struct player *p, uint32_t n)
{
	return n ? p->lives[n - 1] : NULL;
}

/* A copy that lives as long as the player; STR_NONE stays so, and comes back at
 * the limit of what is kept. */
struct str player_keep(struct player *, struct str);
/* Since the start. */
ns_t player_now(const struct player *);
/* A time of the capture as fast as it is played. */
ns_t player_scaled(const struct player *, ns_t);
/* A time of the capture, with the pauses in which no client did anything cut. */
ns_t player_timetable(const struct player *, ns_t);
/* Once the plan is there: what the other two look things up in. */
void player_make_timetable(struct player *);
/* When the plan's number i + 1 is to go out. */
ns_t player_due(const struct player *, uint32_t i);
struct client *player_client(struct player *, uint32_t client);
/* Answers a ping that came on it. */
void player_pong(struct live *, struct str id);
/* Something has come on it; it is over. */
void player_progress(struct live *);
void player_ended(struct live *);
/* rpc_msg_fn: arg is the player. */
void player_on_message(void *arg, const struct rpc_msg *);

void live_init(struct live *, struct player *, const struct plan_x *);
void live_fini(struct live *);
/* False: it cannot be sent; x.why says so. */
bool live_send(struct live *);
/* Ends it, as a client that leaves. */
void live_leave(struct live *);

#endif
