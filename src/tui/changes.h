/* changes: who owned a session's channel, one after the other.
 * Made from the role changes that timeline and events tell; one entry for each
 * change of owner.  The sentence about it is made when it is shown, since how
 * the former owner ended may be told later.  Beyond CHANGES_MAX the older half
 * is forgotten, counted. */
#ifndef CHANGES_H
#define CHANGES_H

#include "mcpdiag/timeline.h"

#define CHANGES_MAX 65536U

struct change {
	ns_t t;
	uint32_t pkt;
	uint32_t from, to;		/* streams; 0 nobody */
	uint32_t after;			/* from 0: the last owner before, 0 none */
	uint32_t proven;		/* packet that proved `to`; 0 presumed only */
	enum ev_by by;
};

struct changes {
	struct change *all;
	uint32_t n, cap;
	uint64_t forgot;
	uint32_t holder, last, displaced;	/* streams */
};

enum change_kind {
	CHANGE_FIRST,		/* nobody was there before */
	CHANGE_FREE,		/* the place was free */
	CHANGE_TAKEOVER,	/* it came, then the owner's stream was ended */
	CHANGE_FOLLOW,		/* the owner had ended just before it came */
	CHANGE_INHERIT,		/* it had been open, then the owner ended */
	CHANGE_MESSAGE,		/* a message went to it while the owner was open */
	CHANGE_LOST,		/* the owner went, nobody came */
};

void changes_fini(struct changes *);
/* All that the timeline knows of a session; before any changes_event(). */
void changes_fill(struct changes *, const struct timeline *, const struct tl_session *);
/* An EV_OWNER of the session; the timeline has seen it. */
void changes_event(struct changes *, const struct timeline *, const struct ev *);
/* How many there were by then. */
uint32_t changes_until(const struct changes *, ns_t);
enum change_kind change_kind(const struct timeline *, const struct change *);
void change_text(const struct timeline *, const struct change *, struct buf *);

/* "0.4 ms", "3.01 s", "2 min 5 s". */
void span_text(ns_t, struct buf *);
/* What ended a stream, in words: "the server ended it". */
const char *end_by(enum ev_end);

#endif
