/* What rule_orphan.c (what happens) and rule_orphan_say.c (what is said of it)
 * share. */
#ifndef RULE_ORPHAN_PRIV_H
#define RULE_ORPHAN_PRIV_H

#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_gets.h"
#include "rule_util.h"

#define REPLAYED (50 * NS_MS)	/* events this soon after a head are a replay */
#define COUPLED (60 * NS_MS)	/* an end this soon after a GET is a takeover */
#define STAYS NS_S		/* how long an old stream must stay open */
#define INTERVAL (200 * NS_MS)	/* of keep-alive, at least: an opening comment
				 * comes at once */
#define ZOMBIE NS_S		/* silence of a resumed, finished request */
#define UNKNOWN (2 * NS_S)	/* silence of an unknown cursor */
#define CHANNEL_LESS (60 * NS_S)
#define ECHO NS_S		/* a message this soon after a call is its doing */
#define LATE_WRITE (200 * NS_MS) /* after the client's close: not in flight */
#define MAX_OPEN 128

struct open {				/* a GET stream of the session */
	uint32_t stream, conn, x, flags;
	struct at head;
	uint64_t cursor_n;		/* Last-Event-ID as a number */
	bool has_cursor, numeric, known, of_post, given_twice;
	bool first_id_seen, complained, told;	/* told: to who watches */
	bool finished;			/* resumes a request that was answered */
	enum ev_role role;
	bool was_primary, took_over;
	uint32_t events, comments, common;
	struct at superseded;		/* first common message elsewhere */
	uint32_t superseded_by, missed;	/* by: the last one that got a message */
	uint32_t superseded_first;	/* the first one */
	struct at late, late_last;	/* written after the client's close */
	uint32_t n_late;
	ns_t client_closed;
};

struct silent {
	struct open o;
	struct at until;
};

struct oc {				/* one session */
	struct kept of;
	struct open *open;
	uint32_t n_open, cap_open;
	struct idtab given;		/* numeric ids, plus 1, delivered with data */
	struct silent *silent;		/* ended without a byte */
	uint32_t n_silent, cap_silent;
	/* headless */
	struct at headless;		/* since the owner went; 0: not */
	uint32_t heir, gone, late_stream, posts_meanwhile;
	struct at late_first, late_last;
	uint32_t n_late_ids;
	char late_ids[48];
	bool gone_proven, judged_headless;
	/* Reason for a message: a tool whose calls have always brought one. */
	struct {
		uint64_t name;		/* digest; 0: no call, or it is judged */
		ns_t t;
		bool heard;
	} call;
	uint64_t talker;
	char talker_name[64];
	uint32_t talks, mute;		/* its calls before, with and without */
	uint32_t unheard;		/* and since the owner went */
	struct at unheard_last;
	/* the session as a whole */
	ns_t last_get_end, keepalive, deleted, last_request;
	struct at last_get_request;
	uint32_t last_get_x, posts_without;
	struct at channel_less;
	bool had_get, declared, refused_405, takeovers, midstream, over, not_found;
	uint32_t carriers[3];		/* streams of the last common messages */
	uint64_t last_hash;		/* of the last of them, and when it was */
	ns_t last_common;
	uint32_t switches;
	bool split_told;
	uint64_t last_id, steps;	/* numeric ids that grow by one */
};

struct orphan {
	struct engine *engine;
	struct gets *gets;
	struct keeper sessions;
	struct limits lim;
};

extern const struct rule rule_orphan;

/* Something of that stream, or before it, is missing from the capture. */
bool orphan_torn(const struct open *);
/* Each reports a variant if what is known of the stream (the session) up to
 * `until` amounts to it. */
void orphan_headless(struct orphan *, struct oc *);
void orphan_unheard(struct orphan *, struct oc *);
void orphan_superseded(struct orphan *, const struct oc *, struct open *, struct at until);
void orphan_late_writes(struct orphan *, const struct oc *, struct open *, struct at until);
void orphan_zombie(struct orphan *, const struct oc *, struct open *, struct at until);
void orphan_after_end(struct orphan *, const struct oc *, struct open *, struct at until);
void orphan_channel_less(struct orphan *, const struct oc *, struct at now);
/* Each reports a variant that is certain. */
void orphan_stalled(struct orphan *, const struct oc *, struct open *,
    const struct open *other, const struct ev *);
void orphan_split(struct orphan *, const struct oc *, const struct open *, const struct ev *);
void orphan_cache_gap(struct orphan *, const struct oc *, const struct open *,
    uint64_t first, const struct ev *);

#endif
