/* rule: what a detector is.
 * A rule is a pure function of the event sequence: no clock, no I/O, no other
 * rule's state.  One file in src/rules/, one row in rules_table.  Findings are
 * handed to the engine, which owns them from then on. */
#ifndef MCPDIAG_RULE_H
#define MCPDIAG_RULE_H

#include "mcpdiag/event.h"
#include "mcpdiag/limits.h"

struct engine;

#define RULE_WANTS(type) (1u << (type))

/* What comes most often and says nothing to most rules. */
enum {
	SKIP_POSTS = 1,		/* EV_REQUEST: a POST */
	SKIP_NEWS = 2,		/* EV_MESSAGE: a notification of the server tied to
				 * a request, such as progress */
	SKIP_ANSWERS = 4,	/* EV_MESSAGE: a response or error of the server */
	SKIP_PLAIN = 8,		/* EV_SSE: neither id nor retry */
};

struct rule {
	const char *name;	/* as printed */
	const char *summary;	/* one line */
	const char *reference;	/* man page section */
	bool remark;		/* says nothing of a fault that hurts now: after
				 * all others, and not the verdict */
	uint32_t wants;		/* event types it looks at, as RULE_WANTS(EV_...)
				 * bits; 0: all */
	void *(*new)(struct engine *, const struct limits *);
	void (*event)(void *, const struct ev *);
	/* Time has passed; called before an event whose time is at least
	 * 100 ms after the last call.  May be NULL. */
	void (*tick)(void *, ns_t now);
	void (*end)(void *, ns_t now);	/* the input ended */
	void (*free)(void *);
	/* Of what it wants, what it need not see: these kinds (SKIP_...), and those
	 * types until engine_wake().  With EVF_GAP or EVF_MIDSTREAM it sees all. */
	uint32_t skips, sleeps;
};

/* All of them, NULL-terminated. */
extern const struct rule *const rules_table[];
/* That of a name, or NULL. */
const struct rule *rule_find(const char *name);

/* Facts that several rules look at, kept once: no verdict lives in them.  The
 * engine makes one of each kind for the first rule that asks, shows it each
 * event it wants before any rule sees that, and frees it after the rules. */
struct reader {
	uint32_t wants, skips;	/* as above; the first never 0 */
	void *(*new)(struct engine *, const struct limits *);
	void (*event)(void *, const struct ev *);
	void (*free)(void *);
};

/* From the next event on that rule sees all it wants and does not skip. */
void engine_wake(struct engine *, const struct rule *);
/* To be called from a rule's or a reader's new(); stays the engine's. */
void *engine_reader(struct engine *, const struct reader *);
/* From new(), too: shed(arg) is called when memory is short, between events. */
void engine_sheds(struct engine *, void (*shed)(void *), void *arg);

/* What EV_SESSION events have said of a session: whether its server's
 * looks_like starts with `prefix`; whether it is a logical client only. */
bool engine_looks(const struct engine *, uint32_t session, const char *prefix);
bool engine_inferred(const struct engine *, uint32_t session);
/* Whether its initialize was captured, so that nothing came before. */
bool engine_complete(const struct engine *, uint32_t session);
/* Whether bytes of any MCP connection have been missing since that time. */
bool engine_gaps(const struct engine *, ns_t since);
/* Whether two sessions are on the same server address. */
bool engine_same_server(const struct engine *, uint32_t a, uint32_t b);

/* For rules: a finding being written.  Strings are copied into it. */
struct draft;

struct draft *draft_new(struct engine *, const struct rule *, const char *variant,
    enum severity, enum confidence, uint32_t session);
void draft_stream(struct draft *, uint32_t stream);	/* once each */
void draft_span(struct draft *, struct at first, struct at last);
void draft_count(struct draft *, uint64_t count, ns_t period, ns_t spread);
void draft_title(struct draft *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void draft_why(struct draft *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void draft_fix(struct draft *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void draft_evidence(struct draft *, struct at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void draft_num(struct draft *, const char *name, double);
void draft_ms(struct draft *, const char *name, ns_t);
void draft_text(struct draft *, const char *name, struct str);
void draft_bool(struct draft *, const char *name, bool);
/* Hands it over.  A later draft of the same rule, variant and session replaces
 * an earlier one (a finding grows); it keeps the place of the first. */
void draft_done(struct draft *);
/* For who watches: the condition is met now, what there is of it so far is told
 * at once and kept nowhere.  draft_done() must follow when all is known; that
 * it tells no second time. */
void draft_tell(struct draft *);
/* For a rule that judges at the end and whose condition is met before: while this is
 * on, draft_done() and draft_add() only tell, as draft_tell() does. */
void draft_only_tell(struct engine *, bool on);
/* draft_done() for one more case of the fault, such as a further stream: what is
 * there of that rule, variant and session stays and this is added to it. */
void draft_add(struct draft *);

#endif
