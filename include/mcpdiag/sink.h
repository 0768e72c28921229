/* sink: a finished timeline as a document.
 * All write the same bytes for the same timeline, whatever it was made from.
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

/* For the text of an issue: GitHub and GitLab markdown.  What was captured
 * stands between backticks, or is made harmless: no markup, no link, no mention
 * comes from it. */
void sink_markdown(struct out *, const struct timeline *, const struct verdict *,
    const char *version);

struct junit_opts {
	const char *const *detectors;	/* that were looked for; NULL-terminated */
	bool fail;			/* false: nothing fails */
	enum severity fail_on;		/* from here on a finding is a failure */
	bool allow_incomplete;		/* what may hide a finding is no error */
};

/* A JUnit report, as GitLab and Jenkins read it: a test case for each detector,
 * one for the capture, and one for the baseline when something of it is stale. */
void sink_junit(struct out *, const struct timeline *, const struct verdict *,
    const struct junit_opts *);

#endif
