/* known: the findings of --baseline, which are neither shown nor counted, and
 * those that --write-baseline writes.  The format is that of baseline.h. */
#ifndef KNOWN_H
#define KNOWN_H

#include "gate.h"
#include "mcpdiag/baseline.h"
#include "mcpdiag/verdict.h"

struct known {
	const char *path, *write;	/* of the options; NULL: not given */
	struct baseline *baseline;	/* NULL without a path */
};

/* Reads the file.  An exit status, with a message when it is not 0. */
int known_read(struct known *);
void known_fini(struct known *);
/* Whether a finding is in it; says nothing about what is stale. */
bool known_has(const struct known *, const struct timeline *, const struct finding *);
/* Takes out of the timeline what is known; how many. */
uint32_t known_hide(struct known *, struct timeline *);
/* Says in the verdict how many were taken out, and names the entries that the
 * gate lets pass and that were not found; `tell`: on stderr, too.  How many
 * those are; none while something may hide findings. */
uint32_t known_say(const struct known *, const struct gate *, uint32_t hidden,
    struct verdict *, bool tell);
/* Writes the findings of the timeline.  An exit status. */
int known_write(const struct known *, const struct timeline *, const char *const *inputs,
    unsigned n_inputs);

#endif
