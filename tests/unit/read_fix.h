/* read_fix: captures for a pipeline. */
#ifndef READ_FIX_H
#define READ_FIX_H

#include "mcpdiag/pipeline.h"
#include "mcpdiag/source.h"
#include "util.h"

/* All packets of a capture; what is behind them is the caller's. */
static inline void
read_packets_of(struct pipeline *p, const char *path)
{
	struct source *s = source_new();
	struct packet pk;
	struct errmsg em = { "" };

	if (source_add(s, path, &em) != 0)
		fail_msg("%s", em.text);
	while (source_next(s, &pk) == 1)
		assert_int_equal(pipeline_packets(p, &pk, 1), 1);
	pipeline_end(p);
	source_free(s);
}

#endif
