/* finding_json: the members of a finding that both JSON sinks write. */
#ifndef FINDING_JSON_H
#define FINDING_JSON_H

#include "mcpdiag/finding.h"
#include "mcpdiag/out.h"

/* How times are written. */
struct json_times {
	bool absolute;		/* whole nanoseconds since the epoch, "ns" */
	ns_t zero;		/* else seconds since this, "t" */
};

/* `, "name": value` for each member from `detector` on, without `session`. */
void finding_members(struct out *, const struct finding *, const struct json_times *);
/* Seconds with 9 decimals. */
void json_seconds(struct out *, ns_t);

#endif
