/* probe_out: what a probe has found, for a person and for a program. */
#ifndef PROBE_OUT_H
#define PROBE_OUT_H

#include "mcpdiag/crowd.h"
#include "mcpdiag/out.h"
#include "mcpdiag/probe.h"
#include "mcpdiag/timeline.h"

struct probe_report {
	const char *url;
	const struct probe *probe;
	bool crowded;			/* there were listeners, */
	const char *client;		/* of that kind */
	struct crowd_seen crowd;
	ns_t duration;			/* and it was so long */
	const struct timeline *timeline;	/* of all that was exchanged */
	bool color;
	unsigned width;
};

/* How many scenarios have that verdict; a finding counts as a fault, too. */
unsigned probe_out_count(const struct probe_report *, enum probe_verdict);
void probe_out_text(struct out *, const struct probe_report *);
/* One document of schema mcpdiag-probe/1: mcpdiag-probe(1). */
void probe_out_json(struct out *, const struct probe_report *);

#endif
