/* progress: one line on stderr while a long file is read.
 * Only when stderr is a terminal, not before half a second, at most five times
 * a second, and gone at the end. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on, shown;
	uint32_t skip;
	int64_t begun, last;	/* ms of the monotonic clock */
};

void progress_init(struct progress *, bool wanted);
/* True now and then: time to call progress_show(). */
bool progress_due(struct progress *);
/* total 0: unknown. */
void progress_show(struct progress *, uint64_t done, uint64_t total);
void progress_fini(struct progress *);

#endif
