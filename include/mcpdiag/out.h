/* out: what sinks write through.
 * Bytes collect in a buffer that goes to the descriptor when it is full, and
 * at the end of each line if `lines` is set.  With fd -1 all is kept in memory
 * (tests).  The first failed write is remembered in `err` and ends all further
 * writing; the caller looks once, at the end. */
#ifndef MCPDIAG_OUT_H
#define MCPDIAG_OUT_H

#include "mcpdiag/buf.h"

struct out {
	char *p;
	size_t n, cap;
	int fd;
	int err;		/* errno */
	bool lines;
};

void out_init(struct out *, int fd);
void out_fini(struct out *);		/* does not flush, does not close */
/* 0, or the errno of the first write that failed. */
int out_flush(struct out *);
void out_add(struct out *, const void *, size_t);
void out_fmt(struct out *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void out_u64(struct out *, uint64_t);
void out_i64(struct out *, int64_t);
/* A JSON string with its quotes; `null` when absent. */
void out_json(struct out *, struct str);
/* At the end of a line: flushes if that was asked for. */
void out_eol(struct out *);
/* Room for n bytes, then add to .n. */
char *out_room(struct out *, size_t n);

static inline void
out_str(struct out *o, struct str s)
{
	out_add(o, s.p, s.n);
}

static inline void
out_c(struct out *o, const char *s)
{
	out_add(o, s, strlen(s));
}

#endif
