/* engine: runs the rules over the events and tells what they found.
 * Passes every event on to `out`, then adds EV_FINDING events: one when a rule
 * first reports something (for live use), and at EV_END, before passing that
 * on, the final ones: chained (consequence_of), aggregated over sessions with
 * the same fault, in order of severity and time, flagged EVF_FINAL.  Findings
 * stay valid until engine_free(). */
#ifndef MCPDIAG_ENGINE_H
#define MCPDIAG_ENGINE_H

#include "mcpdiag/rule.h"

struct engine *engine_new(const struct limits *, const struct rule *const *rules,
    ev_fn *out, void *arg);
void engine_free(struct engine *);
void engine_event(struct engine *, const struct ev *);
/* It is `now`, and no event says so. */
void engine_tick(struct engine *, ns_t now);
/* Memory is short: what rules keep of the sessions that came first is forgotten,
 * about half of it. */
void engine_shed(struct engine *);
/* The n-th final finding (from 0), NULL past the end; after EV_END. */
const struct finding *engine_finding(const struct engine *, uint32_t n);

#endif
