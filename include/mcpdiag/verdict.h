/* verdict: what a timeline amounts to, and why it may not be the whole truth.
 * Computed once, after EV_END.  Strings may hold wire bytes (from titles of
 * findings and names of files): sinks escape them.  The table of the notes
 * that hide an answer is in verdict.c and nowhere else. */
#ifndef MCPDIAG_VERDICT_H
#define MCPDIAG_VERDICT_H

#include "mcpdiag/timeline.h"

enum verdict_kind {
	VERDICT_FAULT,		/* a finding of severity warning or error that is
				 * no remark */
	VERDICT_CLEAN,		/* MCP was read and none was found */
	VERDICT_UNKNOWN,	/* none was found, but something hides it */
	VERDICT_NO_MCP,
	VERDICT_NO_TCP,
	VERDICT_EMPTY,		/* no packets */
};

struct reason {
	char *name;		/* "gaps", "encrypted", ... or of the note */
	char *text;		/* a sentence without its full stop */
	bool hides;		/* it may hide a fault, here */
	bool fails;		/* it is one of its own: a stale baseline */
};

struct verdict {
	enum verdict_kind kind;
	char *text;		/* the sentence that comes first */
	bool mcp;		/* some MCP was read */
	bool hidden;		/* some reason hides */
	bool complete;		/* clean, all of it read, nothing left out: what is
				 * wrong, if anything, is not on this wire */
	bool readable;		/* HTTP counts mean something */
	bool truncated;		/* packets or a file are cut short */
	uint32_t n_severity[3];	/* findings, by enum severity */
	const struct finding *first;	/* that the text is about, or NULL */
	uint32_t n_remarks[3];	/* of these, remarks */
	struct reason *reasons;	/* those that hide come first */
	uint32_t n_reasons;
};

struct verdict *verdict_new(const struct timeline *);
void verdict_free(struct verdict *);
/* Adds a reason that hides nothing, such as what an option leaves out. */
void verdict_note(struct verdict *, const char *name, const char *text);
/* Adds one that fails the run. */
void verdict_fail(struct verdict *, const char *name, const char *text);
const char *verdict_name(enum verdict_kind);

#endif
