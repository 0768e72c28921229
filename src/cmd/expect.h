/* expect: what a run must find, and that it finds nothing else (--expect).
 * The file is a report of an earlier run, of analyze or replay with -T json, or
 * the document that tells of a capture what is in it ("expected_findings").
 * A report's findings count from the severity on that fails the run, remarks
 * on the specification left out, and must come again with the same detector,
 * variant and severity, in however many sessions.  A finding that is `present`
 * in the other kind of document must come as a warning or an error, with the
 * variant or severity that is named, if one is; one that is neither `present`
 * nor `absent` there may come or not. */
#ifndef EXPECT_H
#define EXPECT_H

#include "mcpdiag/verdict.h"

struct expect_entry;

struct expect {
	const char *path;	/* NULL: not asked for */
	enum severity from;	/* of the run: what counts */
	struct expect_entry *entries;
	uint32_t n, cap;
};

/* Reads the file.  An exit status, with a message when it is not 0. */
int expect_read(struct expect *);
void expect_fini(struct expect *);
/* Names each finding that is missing, and each that is not expected, in the
 * verdict and, with `tell`, on stderr; an exit status.  What may be hidden is
 * not called missing. */
int expect_judge(struct expect *, const struct timeline *, struct verdict *, bool tell);

#endif
