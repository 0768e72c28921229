/* sse: text/event-stream bytes in, events out.
 *
 * Parses as WHATWG HTML 9.2.6 says (BOM, CR/LF/CRLF in any mixture, NUL in
 * ids, bad retry), and reports also what a browser hides: comments, blocks
 * with only an id or a retry, an unterminated tail.  Data is passed on as it
 * arrives (data(), with '\n' between lines) and never held, so an event may be
 * of any size; only id, event and retry fields are kept, up to the limit.
 * What a `data()` sequence belongs to is told by the event() that follows it;
 * when the stream ends or has a gap first, that event() is flagged. */
#ifndef MCPDIAG_SSE_H
#define MCPDIAG_SSE_H

#include "mcpdiag/str.h"

struct sse_event {
	struct str type;	/* event field; absent when there was none */
	struct str id;		/* this block's own id field; absent when none
				 * (an empty one is present with n == 0) */
	bool has_data;		/* a data field was there: browsers dispatch
				 * only when its value is not empty, MCP counts
				 * an empty one as a priming event */
	uint64_t data_len;	/* bytes of data, the '\n' between lines too */
	int64_t retry_ms;	/* this block's valid retry field, or -1 */
	bool data_first;	/* data came before the id: which servers do */
	bool bad_retry;		/* a retry field that is not all digits, is
				 * empty, or does not fit */
	bool cut;		/* a field or the data passed its limit */
	bool tail;		/* the stream ended without the blank line */
	bool torn;		/* a gap is inside, or right before it: its
				 * first lines may be missing */
};

/* Each may be NULL. */
struct sse_cb {
	/* Bytes of the data of the block being read, as they arrive. */
	void (*data)(void *arg, const void *, size_t);
	/* The block is complete (or torn, or the tail).  Blocks that hold
	 * nothing but comments or unknown fields give no event.  Of a line
	 * that a gap or the end cuts, only data is told. */
	void (*event)(void *arg, const struct sse_event *);
	/* A comment line, without the colon. */
	void (*comment)(void *arg, struct str text);
};

struct sse;	/* a few hundred bytes; buffers only while needed */

/* line: bytes kept of an id, event or retry field, and of a comment;
 * data: bytes of data passed on for one event (the rest is counted). */
struct sse *sse_new(const struct sse_cb *, void *arg, size_t line, uint64_t data);
void sse_free(struct sse *);
void sse_feed(struct sse *, const void *, size_t);
/* lost bytes are missing: the block is torn; resync at the next blank line
 * (or, when the bytes after the gap start a field, at once). */
void sse_gap(struct sse *, uint64_t lost);
void sse_eof(struct sse *);

#endif
