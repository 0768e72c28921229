#include "mcpdiag/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mcpdiag/esc.h"
#include "mcpdiag/xmem.h"

#define OUT_SIZE 65536

void
out_init(struct out *o, int fd)
{
	*o = (struct out){ .fd = fd, .cap = OUT_SIZE };
	o->p = xmalloc(o->cap);
}

void
out_fini(struct out *o)
{
	free(o->p);
	*o = (struct out){ .fd = -1 };
}

int
out_flush(struct out *o)
{
	size_t done = 0;

	if (o->fd < 0)
		return 0;
	while (done < o->n && o->err == 0) {
		ssize_t k = write(o->fd, o->p + done, o->n - done);

		if (k >= 0)
			done += (size_t)k;
		else if (errno != EINTR)
			o->err = errno;
	}
	o->n = 0;
	return o->err;
}

char *
out_room(struct out *o, size_t n)
{
	if (n > o->cap - o->n)
		(void)out_flush(o);
	if (n > o->cap - o->n) {
		while (n > o->cap - o->n)
			o->cap *= 2;
		o->p = xrealloc(o->p, o->cap);
	}
	return o->p + o->n;
}

void
out_add(struct out *o, const void *p, size_t n)
{
	if (n == 0)
		return;
	memcpy(out_room(o, n), p, n);
	o->n += n;
}

void
out_fmt(struct out *o, const char *fmt, ...)
{
	size_t room = o->cap - o->n;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->p + o->n, room, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= room) {	/* it was cut: again, with room for it */
		char *at = out_room(o, (size_t)n + 1);

		va_start(ap, fmt);
		(void)vsnprintf(at, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	o->n += (size_t)n;
}

void
out_u64(struct out *o, uint64_t v)
{
	char digits[20], *p = digits + sizeof digits;

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	out_add(o, p, (size_t)(digits + sizeof digits - p));
}

void
out_i64(struct out *o, int64_t v)
{
	if (v < 0)
		out_add(o, "-", 1);
	out_u64(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void
out_json(struct out *o, struct str s)
{
	struct buf b;
	char *p;
	size_t i;

	if (s.p == NULL) {
		out_str(o, STR("null"));
		return;
	}
	/* Nearly every string is plain and needs one look and one copy. */
	p = out_room(o, s.n + 2);
	*p++ = '"';
	for (i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			break;
		p[i] = (char)c;
	}
	if (i == s.n) {
		p[i] = '"';
		o->n += s.n + 2;
		return;
	}
	buf_init(&b, SIZE_MAX / 2);
	esc_json(&b, s);
	out_str(o, STR("\""));
	out_str(o, buf_str(&b));
	out_str(o, STR("\""));
	buf_fini(&b);
}

void
out_eol(struct out *o)
{
	out_str(o, STR("\n"));
	if (o->lines)
		(void)out_flush(o);
}
