/* replay_show: plans and what became of them, for a person and for a program. */
#ifndef REPLAY_SHOW_H
#define REPLAY_SHOW_H

#include "mcpdiag/compare.h"
#include "mcpdiag/out.h"
#include "mcpdiag/plan.h"
#include "mcpdiag/player.h"
#include "mcpdiag/standin.h"

/* The whole plan: --dry-run. */
void replay_show_plan(struct out *, const struct plan *);
/* What was played, and what was not and why; `all`: each of them, else those of
 * the plan are summed up.  copies: how many players there were. */
void replay_show_run(struct out *, const struct plan *, const struct player *,
    unsigned copies, bool all);
/* What differs between the capture and the run; `all`: the volatile, too. */
void replay_show_compare(struct out *, const struct plan *, const struct compare *,
    bool all);

/* What those did that stood in for captured clients. */
void replay_show_standins(struct out *, const struct standin *, const struct client_row *);

/* The opening of a JSON document, up to the value of "analysis"; the caller
 * writes that and the closing brace. */
void replay_show_json(struct out *, const char *url, const struct plan *,
    const struct player *, const struct compare *);
/* The same for stand-ins. */
void replay_show_standins_json(struct out *, const char *url, const struct standin *,
    const struct client_row *);

#endif
