/* baseline: findings that are known, as lines of a file.
 * A line is DETECTOR[/VARIANT] SERVER CLIENT: the names of the software without
 * versions, which stay the same over captures; a byte that is no letter, digit
 * or one of . _ : @ + , - is %XX, and - alone is a name that is not known.  In a
 * file that is read, * stands for any name.  # starts a comment.  At most
 * BASELINE_MAX_ENTRIES entries are taken. */
#ifndef MCPDIAG_BASELINE_H
#define MCPDIAG_BASELINE_H

#include "mcpdiag/err.h"
#include "mcpdiag/timeline.h"

#define BASELINE_MAX_ENTRIES 10000
#define BASELINE_MAX_BYTES (4U << 20)

struct baseline;

struct baseline_entry {
	char *detector, *server, *client;
	uint32_t line;			/* from 1 */
	bool found;			/* by baseline_known() */
};

struct baseline *baseline_new(void);
void baseline_free(struct baseline *);
/* Adds the entries of a file's text.  -E_SYNTAX or -E_LIMIT with a sentence that
 * starts with the number of the line. */
int baseline_parse(struct baseline *, struct str text, struct errmsg *);
/* Whether an entry is this finding; marks all that are, if asked to. */
bool baseline_known(struct baseline *, const struct timeline *, const struct finding *,
    bool mark);
/* i from 0; NULL past the end. */
const struct baseline_entry *baseline_entry(const struct baseline *, uint32_t i);
/* The line of a finding, without its end. */
void baseline_line(const struct timeline *, const struct finding *, struct buf *);

#endif
