#include "mcpdiag/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/err.h"
#include "mcpdiag/xmem.h"

void
buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

void
buf_fini(struct buf *b)
{
	free(b->p);
	buf_init(b, b->max);
}

char *
buf_room(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 64;

	if (n > b->max - b->n)
		return NULL;
	if (n > b->cap - b->n) {
		while (cap - b->n < n)
			cap = cap > b->max / 2 ? b->max : cap * 2;
		b->p = xrealloc(b->p, cap);
		b->cap = cap;
	}
	return b->p + b->n;
}

int
buf_add(struct buf *b, const void *p, size_t n)
{
	char *at;

	if (n == 0)
		return 0;
	at = buf_room(b, n);
	if (at == NULL)
		return -E_LIMIT;
	memcpy(at, p, n);
	b->n += n;
	return 0;
}

int
buf_addc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int
buf_adds(struct buf *b, struct str s)
{
	return buf_add(b, s.p, s.n);
}

int
buf_fmt(struct buf *b, const char *fmt, ...)
{
	char small[256], *at;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof small, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -E_SYNTAX;
	if ((size_t)n < sizeof small)
		return buf_add(b, small, (size_t)n);
	at = buf_room(b, (size_t)n + 1);
	if (at == NULL)
		return -E_LIMIT;
	va_start(ap, fmt);
	(void)vsnprintf(at, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
	return 0;
}

void
buf_drop(struct buf *b, size_t n)
{
	if (n < b->n)
		memmove(b->p, b->p + n, b->n - n);
	b->n = n < b->n ? b->n - n : 0;
}
