/* sink: a finished timeline as a document.
 * Both write the same bytes for the same timeline, whatever it was made from.
 * Captured bytes go through esc.h; nothing else is printed. */
#ifndef MCPDIAG_SINK_H
#define MCPDIAG_SINK_H

#include "mcpdiag/out.h"
#include "mcpdiag/verdict.h"

/* One document of schema mcpdiag/1: mcpdiag-events(5). */
void sink_json(struct out *, const struct timeline *, const struct verdict *,
    const char *version);

struct text_opts {
	bool color;
	bool findings_only;	/* -q */
	bool all;		/* -v: every stream and note */
	bool lint;		/* --lint: remarks, too, in place of their number */
	unsigned width;		/* columns to wrap at */
};

/* For a person: the verdict first. */
void sink_text(struct out *, const struct timeline *, const struct verdict *,
    const struct text_opts *);

#endif
