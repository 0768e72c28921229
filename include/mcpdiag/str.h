/* str: borrowed bytes with a length.
 * A str never owns, is never NUL-terminated and may hold any byte; it is
 * valid only as long as whoever lent it says so (usually until a callback
 * returns).  {NULL, 0} is the absent string; an empty one has p != NULL. */
#ifndef MCPDIAG_STR_H
#define MCPDIAG_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

#define STR(lit) ((struct str){ "" lit, sizeof(lit) - 1 })
#define STR_NONE ((struct str){ NULL, 0 })
/* For printf("%.*s"); only for strings known to be clean. */
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str
str_of(const void *p, size_t n)
{
	return (struct str){ p, n };
}

/* Bytes of a NUL-terminated string of ours (never for wire data). */
static inline struct str
str_c(const char *s)
{
	return (struct str){ s, s ? strlen(s) : 0 };
}

static inline bool
str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool
str_pre(struct str s, struct str prefix)
{
	return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

/* Starts with `prefix` without regard to ASCII case. */
bool str_ipre(struct str s, struct str prefix);

/* Equal without regard to ASCII case.  Most strings that are compared differ
 * in length or in their last letter: those need no call. */
static inline bool
str_ieq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 ||
	    (((a.p[a.n - 1] ^ b.p[b.n - 1]) & 0xdf) == 0 && str_ipre(a, b)));
}

/* Offset of `needle` in `s`, or SIZE_MAX. */
size_t str_find(struct str s, struct str needle);
/* Without leading and trailing SP and HTAB (RFC 9110 OWS). */
struct str str_trim(struct str s);
/* All of `s` as an unsigned decimal; false when it is empty, has another
 * byte, or does not fit; *out is set on every path. */
bool str_u64(struct str s, uint64_t *out);
/* The same of a decimal with at most three places, "1.5", in thousandths. */
bool str_milli(struct str s, uint64_t *out);
/* memcmp order, shorter first when equal so far. */
int str_cmp(struct str a, struct str b);

#endif
