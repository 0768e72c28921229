/* where: a display filter, such as `kind == standalone and time >= 10`.
 * Compiled once from the user's words, then asked about things that have some
 * of the fields.  As in tshark: a comparison with a field that a thing does not
 * have is false, whatever the operator; where a field has several values it
 * is equal when one of them is, and unequal when none is.  Nothing here
 * recurses; an expression has WHERE_MAX_NODES comparisons and operators and
 * WHERE_MAX_DEPTH open parentheses at most, else it is refused. */
#ifndef MCPDIAG_WHERE_H
#define MCPDIAG_WHERE_H

#include "mcpdiag/err.h"
#include "mcpdiag/event.h"

#define WHERE_MAX_TEXT 4096
#define WHERE_MAX_NODES 256
#define WHERE_MAX_DEPTH 64

/* What is known of one thing; all borrowed. */
struct where_item {
	struct str session;		/* its key, as it is shown */
	struct str client[2], server[3], method[2];	/* absent: p is NULL */
	uint32_t status;		/* of HTTP; 0 absent */
	uint32_t kinds;			/* bits 1 << enum ev_kind; 0 absent */
	const struct finding *finding;	/* or NULL: detector, severity, ... */
	bool timed;
	ns_t from, to;			/* since the first packet */
	uint32_t first_pkt, last_pkt;	/* 0 absent */
	const uint32_t *streams;
	uint32_t n_streams;
};

struct where;

/* NULL with a sentence in *em, which starts with the column (from 1, also in
 * *column); detectors, ended by NULL, are the names there are. */
struct where *where_new(const char *text, const char *const *detectors,
    uint32_t *column, struct errmsg *em);
void where_free(struct where *);
bool where_match(const struct where *, const struct where_item *);

#endif
