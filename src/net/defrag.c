#include "mcpdiag/defrag.h"

#include <stdlib.h>

#include "mcpdiag/map.h"

/* Offsets and all lengths but the last are multiples of 8 bytes (RFC 791 3.1,
 * RFC 8200 4.5), so one bit for each 8 bytes tells what is there. */
enum { UNIT = 8, MAX_DATAGRAM = 65535 };
#define LIFETIME (30 * NS_S)

struct gram {
	UT_hash_handle hh;
	struct gram *prev, *next;	/* by age, oldest first */
	struct defrag_key key;
	ns_t first;
	uint8_t *data, *have;
	size_t cap;
	uint32_t total;			/* 0: the last fragment is not here */
	uint32_t front;			/* first unit that is missing */
	uint32_t fragments;
};

struct defrag {
	struct gram *table, *ages;
	struct gram *out;		/* lent to the caller */
	size_t bytes, max;
	uint64_t dropped, full, held;
};

static size_t
cost(size_t cap)
{
	return sizeof(struct gram) + cap + cap / UNIT / 8;
}

static void
gram_free(struct gram *g)
{
	if (g == NULL)
		return;
	free(g->data);
	free(g->have);
	free(g);
}

/* Out of the table; the caller frees it or lends it. */
static void
take_out(struct defrag *d, struct gram *g)
{
	HASH_DEL(d->table, g);
	DL_DELETE(d->ages, g);
	d->bytes -= cost(g->cap);
	d->held -= g->fragments;
}

static void
drop(struct defrag *d, struct gram *g)
{
	d->dropped += g->fragments;
	take_out(d, g);
	gram_free(g);
}

/* Makes room in the budget, the oldest first; false when that was `keep`. */
static bool
make_room(struct defrag *d, size_t n, const struct gram *keep)
{
	while (n > d->max || d->bytes > d->max - n) {
		struct gram *oldest = d->ages;
		bool self = oldest == keep;

		if (oldest == NULL)
			return false;
		d->full += oldest->fragments;
		drop(d, oldest);
		if (self)
			return false;
	}
	return true;
}

static bool
grow(struct defrag *d, struct gram *g, size_t end)
{
	size_t cap = g->cap ? g->cap : 1024;

	if (end <= g->cap)
		return true;
	while (cap < end)
		cap *= 2;
	if (!make_room(d, cost(cap) - cost(g->cap), g))
		return false;
	d->bytes += cost(cap) - cost(g->cap);
	g->data = xrealloc(g->data, cap);
	g->have = xrealloc(g->have, cap / UNIT / 8);
	memset(g->have + g->cap / UNIT / 8, 0, (cap - g->cap) / UNIT / 8);
	g->cap = cap;
	return true;
}

static struct gram *
gram_of(struct defrag *d, const struct defrag_key *key, ns_t t)
{
	struct gram *g;

	HASH_FIND(hh, d->table, key, sizeof *key, g);
	if (g)
		return g;
	if (!make_room(d, cost(0), NULL))
		return NULL;
	g = xcalloc(1, sizeof *g);
	g->key = *key;
	g->first = t;
	HASH_ADD(hh, d->table, key, sizeof g->key, g);
	DL_APPEND(d->ages, g);
	d->bytes += cost(0);
	return g;
}

/* The first copy of a unit stays. */
static void
fill(struct gram *g, uint32_t offset, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i += UNIT) {
		size_t unit = (offset + i) / UNIT;
		uint8_t bit = (uint8_t)(1u << unit % 8);

		if (g->have[unit / 8] & bit)
			continue;
		memcpy(g->data + offset + i, p + i, n - i < UNIT ? n - i : UNIT);
		g->have[unit / 8] |= bit;
	}
	while (g->front < g->cap / UNIT &&
	    g->have[g->front / 8] & 1u << g->front % 8)
		g->front++;
}

struct defrag *
defrag_new(size_t max_bytes)
{
	struct defrag *d = xcalloc(1, sizeof *d);

	d->max = max_bytes;
	return d;
}

void
defrag_free(struct defrag *d)
{
	struct gram *g, *tmp;

	if (d == NULL)
		return;
	HASH_ITER(hh, d->table, g, tmp) {
		HASH_DEL(d->table, g);
		gram_free(g);
	}
	gram_free(d->out);
	free(d);
}

struct str
defrag_add(struct defrag *d, const struct defrag_key *key, ns_t t,
    uint32_t offset, bool more, const uint8_t *p, size_t n)
{
	struct gram *g;

	gram_free(d->out);
	d->out = NULL;
	while (d->ages && t - d->ages->first > LIFETIME)
		drop(d, d->ages);
	if (n == 0 || offset % UNIT || (more && n % UNIT) ||
	    offset > MAX_DATAGRAM || n > MAX_DATAGRAM - offset) {
		d->dropped++;
		return STR_NONE;
	}
	g = gram_of(d, key, t);
	d->full += g == NULL;
	/* Of two ends, the second is as good as a lie. */
	if (g == NULL || (!more && g->total && g->total != offset + n)) {
		d->dropped++;
		return STR_NONE;
	}
	g->fragments++;
	d->held++;
	if (!more && g->total == 0)
		g->total = offset + (uint32_t)n;
	if (g->total && offset >= g->total)
		return STR_NONE;
	if (g->total && n > g->total - offset)
		n = g->total - offset;
	if (!grow(d, g, offset + n))
		return STR_NONE;
	fill(g, offset, p, n);
	if (g->total == 0 || (size_t)g->front * UNIT < g->total)
		return STR_NONE;
	take_out(d, g);
	d->out = g;
	return str_of(g->data, g->total);
}

uint64_t
defrag_dropped(const struct defrag *d)
{
	return d->dropped;
}

uint64_t
defrag_full(const struct defrag *d)
{
	return d->full;
}

uint64_t
defrag_held(const struct defrag *d)
{
	return d->held;
}
