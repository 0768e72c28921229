/* cur: a cursor over hostile bytes.
 * Reads never pass the end: the first one that would sets `err` to -E_SYNTAX,
 * and from then on every read gives 0 and moves nothing.  Read all fields,
 * check `err` once, then judge the values. */
#ifndef MCPDIAG_CUR_H
#define MCPDIAG_CUR_H

#include <stddef.h>
#include <stdint.h>

#include "mcpdiag/err.h"

struct cur {
	const uint8_t *p, *end;
	int err;
};

static inline struct cur
cur_of(const void *p, size_t n)
{
	return (struct cur){ p, (const uint8_t *)p + n, 0 };
}

static inline size_t
cur_left(const struct cur *c)
{
	return (size_t)(c->end - c->p);
}

/* The next n bytes, consumed; NULL (and err) when there are fewer. */
static inline const uint8_t *
cur_take(struct cur *c, size_t n)
{
	const uint8_t *p = c->p;

	if (c->err || n > cur_left(c)) {
		c->err = -E_SYNTAX;
		return NULL;
	}
	c->p += n;
	return p;
}

static inline void
cur_skip(struct cur *c, size_t n)
{
	(void)cur_take(c, n);
}

static inline uint8_t
cur_u8(struct cur *c)
{
	const uint8_t *p = cur_take(c, 1);
	return p ? *p : 0;
}

static inline uint16_t
cur_be16(struct cur *c)
{
	const uint8_t *p = cur_take(c, 2);
	return p ? (uint16_t)(p[0] << 8 | p[1]) : 0;
}

static inline uint32_t
cur_be32(struct cur *c)
{
	const uint8_t *p = cur_take(c, 4);
	return p ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3] : 0;
}

static inline uint16_t
cur_le16(struct cur *c)
{
	const uint8_t *p = cur_take(c, 2);
	return p ? (uint16_t)(p[1] << 8 | p[0]) : 0;
}

static inline uint32_t
cur_le32(struct cur *c)
{
	const uint8_t *p = cur_take(c, 4);
	return p ? (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[1] << 8 | p[0] : 0;
}

#endif
