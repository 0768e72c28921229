/* gate: which findings are shown, and count for the exit status.
 * --only and --ignore name detectors, or one variant of one. */
#ifndef GATE_H
#define GATE_H

#include "mcpdiag/finding.h"

struct gate_name {
	char *detector, *variant;	/* variant NULL: all of them */
};

struct gate_list {
	struct gate_name *names;
	uint32_t n, cap;
};

struct gate {
	struct gate_list only, ignore;	/* only: empty lets all pass */
};

/* All that can be named, ended by NULL. */
struct gate_names {
	const char *name[64 + 1];
};

void gate_names(struct gate_names *);
/* Of the rules there are, those whose findings are not all left out. */
void gate_looked_for(const struct gate *, struct gate_names *);
void gate_fini(struct gate *);
/* Adds "DETECTOR[/VARIANT],..." to a list.  False, with a message, for a
 * detector that there is not. */
bool gate_add(struct gate_list *, const char *option, const char *arg);
/* Whether these two let it pass. */
bool gate_passes(const struct gate *, const struct finding *);

#endif
