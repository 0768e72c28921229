#include "mcpdiag/packring.h"

#include <assert.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"

#define PIECE (256U << 10)	/* and not above a quarter of the limit */
#define MIN_MAX 4096U

struct piece {
	struct piece *next;
	uint64_t no;			/* from 1 */
	size_t used, cap;
	uint64_t packets;
	uint8_t bytes[];		/* struct packet and data, in turn; unaligned */
};

struct packring {
	struct piece *oldest, *newest;
	uint64_t n_pieces;		/* made so far */
	size_t max, piece, used;
	uint64_t forgot;
};

struct packring *
packring_new(size_t max)
{
	struct packring *r = xcalloc(1, sizeof *r);

	assert(max >= MIN_MAX);
	r->max = max;
	r->piece = max / 4 < PIECE ? max / 4 : PIECE;
	return r;
}

static void
drop_oldest(struct packring *r)
{
	struct piece *p = r->oldest;

	r->oldest = p->next;
	if (r->oldest == NULL)
		r->newest = NULL;
	r->used -= sizeof *p + p->cap;
	r->forgot += p->packets;
	free(p);
}

void
packring_free(struct packring *r)
{
	if (r == NULL)
		return;
	while (r->oldest)
		drop_oldest(r);
	free(r);
}

/* A piece with room for n bytes; NULL when the limit is below that. */
static struct piece *
room(struct packring *r, size_t n)
{
	struct piece *p = r->newest;
	size_t cap = n + sizeof *p > r->piece ? n : r->piece - sizeof *p;

	if (p && n <= p->cap - p->used)
		return p;
	if (sizeof *p + cap > r->max)
		return NULL;
	while (r->used > r->max - sizeof *p - cap)
		drop_oldest(r);
	p = xmalloc(sizeof *p + cap);
	*p = (struct piece){ .no = ++r->n_pieces, .cap = cap };
	if (r->newest)
		r->newest->next = p;
	else
		r->oldest = p;
	r->newest = p;
	r->used += sizeof *p + cap;
	return p;
}

void
packring_add(struct packring *r, const struct packet *pk)
{
	size_t n = sizeof *pk + pk->len;
	struct piece *p = room(r, n);

	if (p == NULL) {
		r->forgot++;
		return;
	}
	memcpy(p->bytes + p->used, pk, sizeof *pk);
	if (pk->len)
		memcpy(p->bytes + p->used + sizeof *pk, pk->data, pk->len);
	p->used += n;
	p->packets++;
}

uint64_t
packring_forgot(const struct packring *r)
{
	return r->forgot;
}

size_t
packring_used(const struct packring *r)
{
	return r->used;
}

bool
packring_next(const struct packring *r, struct packring_at *at, struct packet *out)
{
	const struct piece *p = r->oldest;

	/* Pieces go oldest first: one that is not older is still there. */
	if (p && at->no >= p->no)
		p = at->piece;
	else
		at->offset = 0;
	while (p && at->offset == p->used) {
		p = p->next;
		if (p)
			at->offset = 0;
		else
			return false;	/* more may come into that piece */
	}
	if (p == NULL)
		return false;
	at->piece = p;
	at->no = p->no;
	memcpy(out, p->bytes + at->offset, sizeof *out);
	out->data = p->bytes + at->offset + sizeof *out;
	at->offset += sizeof *out + out->len;
	return true;
}
