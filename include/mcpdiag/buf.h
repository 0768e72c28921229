/* buf: owned bytes that grow up to a limit.
 * `max` is given once; an append that would pass it adds nothing and returns
 * -E_LIMIT.  Memory doubles as it grows and is freed by buf_fini(). */
#ifndef MCPDIAG_BUF_H
#define MCPDIAG_BUF_H

#include "mcpdiag/str.h"

struct buf {
	char *p;
	size_t n, cap, max;
};

void buf_init(struct buf *, size_t max);	/* allocates nothing yet */
void buf_fini(struct buf *);			/* back to empty, same max */
int buf_add(struct buf *, const void *, size_t);
int buf_addc(struct buf *, char);
int buf_adds(struct buf *, struct str);
int buf_fmt(struct buf *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Makes room for n more bytes and returns where they go (then add to .n);
 * NULL at the limit. */
char *buf_room(struct buf *, size_t n);
/* Drops the first n bytes. */
void buf_drop(struct buf *, size_t n);

static inline void
buf_clear(struct buf *b)
{
	b->n = 0;
}

static inline struct str
buf_str(const struct buf *b)
{
	return str_of(b->p ? b->p : "", b->n);
}

#endif
