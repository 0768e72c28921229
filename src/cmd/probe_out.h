/* probe_out: what a probe has found, for a person and for a program. */
#ifndef PROBE_OUT_H
#define PROBE_OUT_H

#include "mcpdiag/out.h"
#include "mcpdiag/probe.h"

/* How many scenarios have that verdict. */
unsigned probe_out_count(const struct probe *, enum probe_verdict);
void probe_out_text(struct out *, const struct probe *, const char *url, bool color,
    unsigned width);
/* One document of schema mcpdiag-probe/1: mcpdiag-probe(1). */
void probe_out_json(struct out *, const struct probe *, const char *url);
/* One line while it runs. */
const char *probe_out_verdict(enum probe_verdict);

#endif
