/* What rule_idle_cut.c (what happens) and rule_idle_cut_say.c (what it amounts to)
 * share. */
#ifndef RULE_IDLE_CUT_PRIV_H
#define RULE_IDLE_CUT_PRIV_H

#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_live.h"
#include "rule_util.h"
#include "rule_who.h"

#define STOP (100 * NS_MS)	/* what closes within this closes together */
#define WATCHED (10 * NS_S)	/* what follows a cut is looked at for so long */

enum next {			/* what the session did after a cut */
	NEXT_NONE,		/* nothing was seen */
	NEXT_BACK,		/* a GET was accepted */
	NEXT_REFUSED,		/* a GET was refused */
};

struct cut {			/* a stream ended by the server or a hop */
	uint32_t stream, session, conn, x;
	uint64_t group, server;	/* path of a server; the server */
	struct at head, at;
	ns_t age, silence, survived;	/* survived: longest pause on it before */
	ns_t idle;		/* since the session's last request */
	bool truncated, post, torn;
	uint32_t coupled;	/* exchange of the GET that took its place, or 0 */
	bool together;		/* with streams of another age and silence: a stop */
	uint8_t closes, alike;	/* connections that closed with it; of them, those
				 * with a cut stream of that age and silence */
	bool gone;		/* the session was not known afterwards */
	enum next next;
	ns_t back;		/* until it was back */
};

struct ic_get {			/* a GET of the session */
	uint32_t x, conn, previous;
	ns_t opened;		/* its connection */
	ns_t request, head;
};

#define N_GETS 16

struct ic {			/* one session */
	struct kept of;
	struct cut *cuts;
	struct ic_get *gets;	/* a ring of N_GETS */
	uint32_t n_cuts, cap_cuts, n_gets, cap_gets;
	ns_t last_request, deleted;
};

struct idle_cut {
	struct engine *engine;
	struct keeper sessions;
	struct whos *whos;
	struct lives *lives;
	uint64_t n_cuts;
	struct idtab survived;	/* group -> longest pause survived, ms */
	struct idtab answers;	/* server -> ms of its last answer, plus 1 */
	struct close {		/* connections the server closed, a ring */
		uint64_t server;
		ns_t t;
		uint32_t conn;
	} closes[32];
	uint32_t n_closes;
	struct recent {		/* cuts, a ring */
		uint64_t server;
		ns_t t;
		uint32_t conn, session, stream;
	} recent[32];
	uint32_t n_recent;
	ns_t first, judged, last_cut, now;
	bool dirty;
};

extern const struct rule rule_idle_cut;

/* Reports what all cuts so far amount to. */
void idle_cut_judge(struct idle_cut *, ns_t now, bool final);

#endif
