/* json: a validating push scanner that keeps spans, not trees.
 *
 * Checks RFC 8259 grammar and UTF-8 as the bytes pass; holds nothing but a
 * small stack and the values it was asked for.  The document may be one value
 * or, at top level, an array of them (a batch).  Asked-for values are named by
 * path ("params.clientInfo.name", relative to the message object); scalars are
 * given verbatim (numbers as written, strings as their raw contents between
 * the quotes), so that ids survive byte for byte.  Nesting deeper than the
 * limit is still matched for brackets and strings, but paths below it are not
 * followed; no recursion, no heap.
 *
 * A path is up to 8 components joined by dots.  A component is a key as it
 * stands on the wire (a key written with escapes matches nothing), or [key]
 * for one that holds a dot.  The last may end in '*': all keys that begin so.
 * "**" before the last: that key at any depth below, inside arrays too.
 *	method
 *	params._meta.[io.modelcontextprotocol/protocolVersion]
 *	params._meta.[io.modelcontextprotocol/]*
 *	result.capabilities.**.listChanged
 * The last two may be reported any number of times in one message. */
#ifndef MCPDIAG_JSON_H
#define MCPDIAG_JSON_H

#include "mcpdiag/str.h"

enum json_kind {
	JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING,
	JSON_OBJECT, JSON_ARRAY,	/* reported at their opening, no span */
};

struct json_value {
	unsigned path;		/* index into the paths table */
	enum json_kind kind;
	struct str raw;		/* scalar text; strings without the quotes,
				 * escapes untouched */
	bool cut;		/* longer than the limit: raw is its start */
};

enum json_flaw {
	JSON_DEEP = 1,		/* nesting over the limit */
	JSON_UTF8 = 2,		/* invalid UTF-8 inside a string */
	JSON_DUPLICATE = 4,	/* an asked-for path came twice in a message */
	JSON_CUT = 8,		/* a kept value was cut */
	JSON_SURROGATE = 16,	/* a lone surrogate escape */
};

struct json_cb {			/* each may be NULL */
	/* A message object (or a non-object element) begins. */
	void (*begin)(void *arg, enum json_kind);
	void (*value)(void *arg, const struct json_value *);
	/* The message ended; flaws is a set of enum json_flaw. */
	void (*end)(void *arg, unsigned flaws);
};

#define JSON_MAX_PATHS 64

struct json;

/* paths: table of n dotted paths, kept by reference (static).  depth: levels
 * followed; value: bytes kept of one scalar. */
struct json *json_new(const struct json_cb *, void *arg,
    const char *const *paths, unsigned n, unsigned depth, size_t value);
void json_free(struct json *);
void json_reset(struct json *);		/* ready for the next document */
/* 0, or -E_SYNTAX at the first byte that is not JSON (sticky until reset;
 * messages begun but not ended get no end()). */
int json_feed(struct json *, const void *, size_t);
/* End of the document: 0 when it is one complete value, else -E_SYNTAX. */
int json_eof(struct json *);
/* Whether the outermost value was an array. */
bool json_is_batch(const struct json *);

#endif
