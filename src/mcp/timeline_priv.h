/* timeline_priv: what a timeline is made of, for its own files. */
#ifndef TIMELINE_PRIV_H
#define TIMELINE_PRIV_H

#include "mcpdiag/intern.h"
#include "mcpdiag/timeline.h"

struct slot {
	uint32_t n;			/* 0: empty */
	void *p;
};

struct index {
	struct slot *slot;
	uint32_t used;
	uint32_t last;			/* slot that was found last */
	unsigned bits;			/* 0: no table yet */
	uint64_t salt;
};

struct snode {
	struct tl_stream s;
	struct snode *prev, *next;
	uint32_t at;			/* in timeline.order */
	uint8_t list;			/* enum list */
	uint16_t cap_roles;
};

/* Where a stream waits to be dropped, in the order of going. */
enum list { L_ANSWERED, L_ENDED, L_LIVE, N_LISTS };

struct sess {
	struct tl_session s;
	struct sess *prev, *next;	/* by last use */
	uint32_t at, cap_streams, gone;	/* gone: dropped, still in streams */
};

struct recent {				/* a request, by its exchange */
	uint32_t x, xn;
	ns_t t;
	bool post, get, counted;
};

struct timeline {
	struct intern names;	/* of sessions: client, server, ... */
	struct limits lim;
	struct tl_counts counts;
	struct index by_stream, by_session;
	struct snode **order, *lists[N_LISTS];
	uint32_t n_order, cap_order, n_streams;
	struct sess **sorder, *lru;
	uint32_t n_sorder, cap_sorder, n_sessions;
	uint64_t dropped_streams, dropped_sessions;
	struct tl_note *notes;
	uint32_t n_notes, cap_notes;
	struct tl_file *files;
	uint32_t n_files, cap_files;
	const struct finding **findings;
	uint32_t n_findings, cap_findings;
	uint32_t n_hidden;	/* of the findings, warnings and errors */
	struct recent *recent;
	struct ev total;
	/* NULL: all are; else ended by NULL. */
	const struct tl_session **shown_sessions;
	const struct tl_stream **shown_streams;
};

/* By number, to be written to; NULL when unknown or dropped. */
struct tl_session *timeline_find_session(struct timeline *, uint32_t n);
struct tl_stream *timeline_find_stream(struct timeline *, uint32_t n);

#endif
