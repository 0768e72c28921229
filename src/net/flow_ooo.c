#include "flow_priv.h"

#include <stdlib.h>

#define HOLE_TIME  (20 * NS_MS)		/* that a hole stands before it is a gap */
#define HOLE_POLL  (5 * NS_MS)
enum { HOLE_PACKETS = 64 };		/* ... or so many, if somebody waits */
/* What a held piece costs beside its bytes: the allocator's part and its place
 * in the vector, which may be half empty. */
#define HELD_COST (sizeof(struct held) + 32)

struct extra *
flow_extra(struct flow *f)
{
	if (f->x == NULL) {
		f->x = xcalloc(1, sizeof *f->x);
		f->x->f = f;
	}
	return f->x;
}

void
flow_extra_free(struct flows *fs, struct flow *f)
{
	struct extra *x = f->x;

	if (x == NULL)
		return;
	if (x->watched)
		DL_DELETE(fs->gaps, x);
	for (int dir = 0; dir < 2; dir++) {
		struct extra_half *xh = &x->h[dir];

		for (uint32_t i = 0; i < xh->n; i++)
			free(xh->v[xh->off + i]);
		free(xh->v);
	}
	free(x);
	f->x = NULL;
}

struct held *
flow_head(const struct flow *f, int dir)
{
	const struct extra_half *xh;

	if (f->x == NULL || f->x->h[dir].n == 0)
		return NULL;
	xh = &f->x->h[dir];
	return xh->v[xh->off];
}

static void
watch(struct flows *fs, struct extra *x, ns_t now)
{
	if (x->watched)
		return;
	x->watched = true;
	x->since = now;
	DL_APPEND(fs->gaps, x);
}

bool
flow_waived(const struct flow *f, int dir, uint32_t seq)
{
	const struct extra_half *xh = f->x ? &f->x->h[dir] : NULL;

	return xh && xh->has_waived && !seq_lt(xh->waived, seq);
}

static void
waive(struct flow *f, int dir, uint32_t seq)
{
	f->x->h[dir].waived = seq;
	f->x->h[dir].has_waived = true;
}

void
flow_evidence(struct flows *fs, struct flow *f, int dir, struct at at, bool newer)
{
	struct extra_half *xh;

	if (flow_waived(f, dir, f->h[dir].ack))
		return;
	xh = &flow_extra(f)->h[dir];
	if (newer || xh->newest.pkt == 0)
		xh->newest = at;
	watch(fs, f->x, at.t);		/* flow_settle() marks it */
}

/* The first held piece of dir could come out but for the peer's bytes. */
static bool
blocked(const struct flow *f, int dir)
{
	const struct half *peer = &f->h[!dir];
	const struct held *it = flow_head(f, dir);

	return it && it->p.wait && !seq_lt(f->h[dir].nxt, it->p.seq) &&
	    peer->have && !peer->closed && seq_lt(peer->nxt, it->p.ack) &&
	    !flow_waived(f, !dir, it->p.ack);
}

static bool
drain_half(struct flows *fs, struct flow *f, int dir)
{
	struct half *h = &f->h[dir];
	struct held *it;
	bool moved = false;

	while ((it = flow_head(f, dir)) != NULL) {
		struct extra_half *xh = &f->x->h[dir];
		struct piece p = it->p;
		bool hole = seq_lt(h->nxt, p.seq);

		/* Nothing waits for what nobody wants: it goes at once. */
		if (!f->deaf && !h->closed && (hole || blocked(f, dir)))
			break;
		if (hole && !h->closed)
			h->nxt = p.seq;
		xh->off++;
		xh->n--;
		if (xh->n == 0)
			xh->limited = false;
		f->x->bytes -= HELD_COST + p.len;
		if (seq_lt(p.seq, h->nxt))
			piece_skip(&p, h->nxt - p.seq);
		if (piece_span(&p))
			flow_deliver(fs, f, dir, &p);
		free(it);
		moved = true;
	}
	return moved;
}

/* Lets out what neither has a hole before it nor waits. */
static void
drain(struct flows *fs, struct flow *f)
{
	bool moved;

	do {
		moved = drain_half(fs, f, 0);
		moved |= drain_half(fs, f, 1);
	} while (moved);
}

/* First held piece that ends after seq. */
static uint32_t
position(const struct extra_half *xh, uint32_t seq)
{
	struct held **v;
	uint32_t lo = 0, hi = xh->n;

	if (hi == 0)
		return 0;
	v = xh->v + xh->off;
	if (!seq_lt(seq, v[hi - 1]->p.seq + piece_span(&v[hi - 1]->p)))
		return hi;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (seq_lt(seq, v[mid]->p.seq + piece_span(&v[mid]->p)))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* A place in the vector; the shorter side moves. */
static void
insert(struct extra_half *xh, uint32_t i, struct held *it)
{
	struct held **v;

	if (xh->off + xh->n == xh->cap && xh->off <= xh->cap / 4) {
		xh->cap = xh->cap ? xh->cap * 2 : 8;
		xh->v = xrealloc(xh->v, xh->cap * sizeof *xh->v);
	}
	if (xh->off + xh->n == xh->cap || (xh->off == 0 && i < xh->n / 2)) {
		uint32_t off = (xh->cap - xh->n) / 2;

		memmove(xh->v + off, xh->v + xh->off, xh->n * sizeof *xh->v);
		xh->off = off;
	}
	v = xh->v + xh->off;
	if (i < xh->n / 2 && xh->off) {
		memmove(v - 1, v, i * sizeof *v);
		xh->off--;
		v--;
	} else
		memmove(v + i + 1, v + i, (xh->n - i) * sizeof *v);
	v[i] = it;
	xh->n++;
}

static bool
store(struct flows *fs, struct flow *f, int dir, uint32_t i,
    const struct piece *p)
{
	size_t cost = HELD_COST + p->len;
	struct held *it;

	if (cost > fs->max_ooo || f->x->bytes > fs->max_ooo - cost)
		return false;
	it = xmalloc(sizeof *it + p->len);
	it->p = *p;
	it->p.data = it->data;
	if (p->len)
		memcpy(it->data, p->data, p->len);
	insert(&f->x->h[dir], i, it);
	f->x->bytes += cost;
	return true;
}

static struct piece
piece_head(const struct piece *p, uint32_t n)
{
	struct piece a = *p;

	a.fin = p->fin && n == piece_span(p);
	n -= a.fin;
	a.len = n < p->len ? n : p->len;
	a.cut = n - a.len;
	return a;
}

/* No room for p: the earliest of what is held and p itself comes out, behind a
 * gap if need be.  Returns how much of p has. */
static uint32_t
give_up(struct flows *fs, struct flow *f, int dir, const struct piece *p)
{
	struct half *h = &f->h[dir];
	struct held *head = flow_head(f, dir);
	uint32_t span = piece_span(p);

	if (!f->x->h[dir].limited)
		fs->ops.odd(f->conn, dir, FLOW_OOO_LIMIT, p->at);
	f->x->h[dir].limited = true;
	if (head && seq_lt(head->p.seq, p->seq)) {
		if (seq_lt(h->nxt, head->p.seq))
			flow_gap(fs, f, dir, head->p.seq - h->nxt, head->p.at);
		head->p.wait = false;
		span = 0;
	} else {
		if (seq_lt(h->nxt, p->seq))
			flow_gap(fs, f, dir, p->seq - h->nxt, p->at);
		flow_deliver(fs, f, dir, p);
	}
	drain(fs, f);
	return span;
}

/* Makes two of the i-th held piece, the first with n sequence numbers. */
static bool
split(struct flows *fs, struct flow *f, int dir, uint32_t i, uint32_t n)
{
	struct extra_half *xh = &f->x->h[dir];
	struct held *it = xh->v[xh->off + i];
	struct piece rest = it->p;

	piece_skip(&rest, n);
	if (!store(fs, f, dir, i + 1, &rest))
		return false;
	f->x->bytes -= rest.len;
	it->p = piece_head(&it->p, n);
	return true;
}

/* A retransmission acknowledges more than its original did, so of two copies
 * the one that waits for less tells better where the bytes belong.  Splits the
 * i-th held piece where p, which begins in it, begins and ends.  True when p
 * has to be compared with what follows. */
static bool
wait_less(struct flows *fs, struct flow *f, int dir, uint32_t i,
    const struct piece *p)
{
	struct extra_half *xh = &f->x->h[dir];
	struct held *it = xh->v[xh->off + i];
	uint32_t skip = p->seq - it->p.seq, span = piece_span(p);

	if (!it->p.wait || (p->wait && !seq_lt(p->ack, it->p.ack)))
		return false;
	if (skip)
		return split(fs, f, dir, i, skip);
	if (span < piece_span(&it->p) && !split(fs, f, dir, i, span))
		return false;
	it->p.wait = p->wait;
	it->p.ack = p->ack;
	return false;
}

/* Bytes of p that are held already: the first copy stays.  Returns how many
 * of p's sequence numbers that covers. */
static uint32_t
overlap(struct flows *fs, struct flow *f, int dir, const struct held *it,
    const struct piece *p)
{
	uint32_t skip = p->seq - it->p.seq, span = piece_span(p);
	uint32_t n = piece_span(&it->p) - skip, both;

	both = skip < it->p.len ? it->p.len - skip : 0;
	if (both > p->len)
		both = p->len;
	if (both && memcmp(it->data + skip, p->data, both) != 0) {
		fs->stats.conflicts++;
		fs->ops.odd(f->conn, dir, FLOW_OVERLAP_CONFLICT, p->at);
	}
	return n < span ? n : span;
}

void
flow_hold(struct flows *fs, struct flow *f, int dir, struct piece *p)
{
	struct half *h = &f->h[dir];
	const struct piece whole = *p;
	bool hole = seq_lt(h->nxt, p->seq), fresh = false, same = false;

	while (piece_span(p) && !h->closed && !f->deaf) {
		struct extra_half *xh = &flow_extra(f)->h[dir];
		uint32_t i, n = piece_span(p);
		struct held *it;
		struct piece part;

		if (seq_lt(p->seq, h->nxt)) {
			uint32_t old = h->nxt - p->seq;
			piece_skip(p, old < n ? old : n);
			continue;
		}
		i = position(xh, p->seq);
		it = i < xh->n ? xh->v[xh->off + i] : NULL;
		if (it && !seq_lt(p->seq, it->p.seq)) {
			same |= it->p.seq == whole.seq;
			if (!wait_less(fs, f, dir, i, p))
				piece_skip(p, overlap(fs, f, dir, it, p));
			continue;
		}
		if (it && it->p.seq - p->seq < n)
			n = it->p.seq - p->seq;
		part = piece_head(p, n);
		if (!store(fs, f, dir, i, &part))
			n = give_up(fs, f, dir, &part);
		piece_skip(p, n);
		fresh = true;
	}
	if (!fresh && whole.len + whole.cut)
		flow_copy(fs, f, dir, &whole, same);
	else if (hole && fresh)
		fs->stats.out_of_order++;
}

static bool
mark_is_old(const struct flow *f, int dir, ns_t now)
{
	const struct extra_half *xh = &f->x->h[dir];

	return xh->marked && (now - xh->mark_at.t >= HOLE_TIME ||
	    (blocked(f, !dir) && f->packets - xh->mark_packets > HOLE_PACKETS));
}

/* Is there a hole in dir whose end has been asked for, old enough by now? */
static bool
hole_is_due(const struct flow *f, int dir, ns_t now)
{
	const struct held *head = flow_head(f, dir);

	return !(head && !seq_lt(f->h[dir].nxt, head->p.seq)) &&
	    mark_is_old(f, dir, now);
}

/* Both directions wait for each other: one is a retransmission, and as a rule
 * the one that was captured later. */
static bool
end_deadlock(struct flow *f, ns_t now, bool at_once)
{
	if (!blocked(f, 0) || !blocked(f, 1))
		return false;
	if (!at_once && !(mark_is_old(f, 0, now) && mark_is_old(f, 1, now)))
		return false;
	if (flow_head(f, 0)->p.at.pkt > flow_head(f, 1)->p.at.pkt)
		flow_head(f, 0)->p.wait = false;
	else
		flow_head(f, 1)->p.wait = false;
	return true;
}

/* One number acknowledged and nothing after it: that is a FIN we did not see
 * rather than a lost byte, so nothing is declared and nobody waits for it. */
static void
declare_hole(struct flows *fs, struct flow *f, int dir)
{
	struct extra_half *xh = &f->x->h[dir];
	const struct held *head = flow_head(f, dir);
	uint32_t nxt = f->h[dir].nxt, end = xh->mark;
	struct at at = xh->mark_at;

	if (head && seq_lt(head->p.seq, end)) {
		end = head->p.seq;
		at = head->p.at;
	}
	if (head == NULL && end - nxt == 1) {
		waive(f, dir, end);
		xh->marked = false;
	} else
		flow_gap(fs, f, dir, end - nxt, at);
}

/* Evidence that has been answered goes; what was acknowledged later counts
 * from then. */
static void
renew_mark(struct flow *f, int dir)
{
	struct half *h = &f->h[dir];
	struct extra_half *xh = &f->x->h[dir];
	bool over = f->deaf || h->closed;

	if (xh->has_waived && !seq_lt(h->nxt, xh->waived))
		xh->has_waived = false;
	if (xh->marked && seq_lt(h->nxt, xh->mark) && !over)
		return;
	xh->marked = !over && seq_lt(h->nxt, h->ack) &&
	    !flow_waived(f, dir, h->ack);
	xh->mark = h->ack;
	xh->mark_at = xh->newest;
	xh->mark_packets = f->packets;
}

static void
reset_now(struct flows *fs, struct flow *f)
{
	int by = f->x->rst_dir;
	struct at at = f->x->rst_at;

	f->x->rst = false;
	flow_flush(fs, f);
	flow_close(fs, f, by, FLOW_RST, by, at);
	flow_close(fs, f, !by, FLOW_RST, by, at);
}

static bool
reset_is_due(const struct flow *f, ns_t now)
{
	const struct extra *x = f->x;
	const struct half *h = &f->h[x->rst_dir];

	if (now - x->rst_at.t >= HOLE_TIME ||
	    f->packets - x->rst_packets > HOLE_PACKETS)
		return true;
	return x->h[0].n == 0 && x->h[1].n == 0 && !x->h[0].marked &&
	    !x->h[1].marked && !(h->have && seq_lt(h->nxt, x->rst_seq));
}

void
flow_reset(struct flows *fs, struct flow *f, int dir, const struct seg *s)
{
	const struct half *h = &f->h[dir];
	int32_t ahead = h->have ? (int32_t)(s->seq - h->nxt) : 0;
	struct extra *x;

	/* RFC 5961 3: a receiver would not take it. */
	if (ahead > FLOW_MAX_ACK || ahead < -FLOW_MAX_ACK ||
	    (f->x && f->x->rst))
		return;
	x = flow_extra(f);
	x->rst = true;
	x->rst_dir = (uint8_t)dir;
	x->rst_seq = s->seq;
	x->rst_at = s->at;
	x->rst_packets = f->packets;
	watch(fs, x, s->at.t);
}

static bool
is_calm(const struct flow *f, int dir)
{
	const struct extra_half *xh = &f->x->h[dir];

	return xh->n == 0 && !xh->marked && !xh->zero_window &&
	    !xh->has_waived;
}

void
flow_settle(struct flows *fs, struct flow *f, struct at now)
{
	bool again = true;

	while (again) {
		again = false;
		drain(fs, f);
		for (int dir = 0; dir < 2 && f->x && !again; dir++) {
			renew_mark(f, dir);
			if (hole_is_due(f, dir, now.t)) {
				declare_hole(fs, f, dir);
				again = true;
			}
		}
		if (f->x && !again)
			again = end_deadlock(f, now.t, false);
	}
	if (f->x && f->x->rst && (f->deaf || reset_is_due(f, now.t)))
		reset_now(fs, f);
	if (f->x && !f->x->rst && is_calm(f, 0) && is_calm(f, 1))
		flow_extra_free(fs, f);
}

/* The one that the other waits for; else the one captured first. */
static int
next_to_flush(const struct flow *f)
{
	const struct held *a = flow_head(f, 0), *b = flow_head(f, 1);

	if (a == NULL || b == NULL)
		return a == NULL;
	if (blocked(f, 0) != blocked(f, 1))
		return blocked(f, 0);
	return a->p.at.pkt > b->p.at.pkt;
}

/* Lets the first held piece of dir out, whatever stands before it. */
static void
force(struct flows *fs, struct flow *f, int dir)
{
	struct held *head = flow_head(f, dir);
	uint32_t nxt = f->h[dir].nxt, peer = f->h[!dir].nxt;

	if (seq_lt(nxt, head->p.seq))
		flow_gap(fs, f, dir, head->p.seq - nxt, head->p.at);
	else if (head->p.ack - peer == 1 || flow_head(f, !dir))
		head->p.wait = false;
	else
		flow_gap(fs, f, !dir, head->p.ack - peer, head->p.at);
}

void
flow_flush(struct flows *fs, struct flow *f)
{
	if (f->x && f->x->rst) {
		reset_now(fs, f);
		return;
	}
	for (;;) {
		drain(fs, f);
		if (flow_head(f, 0) == NULL && flow_head(f, 1) == NULL)
			break;
		if (!end_deadlock(f, 0, true))
			force(fs, f, next_to_flush(f));
	}
	for (int dir = 0; dir < 2; dir++) {
		struct half *h = &f->h[dir];

		if (f->x == NULL || h->closed || !h->have ||
		    !seq_lt(h->nxt, h->ack) || h->ack - h->nxt == 1)
			continue;
		flow_gap(fs, f, dir, h->ack - h->nxt, f->x->h[dir].newest);
	}
}

void
flow_gaps_tick(struct flows *fs, struct at now)
{
	struct extra *x;

	while ((x = fs->gaps) != NULL) {
		struct flow *f = x->f;
		ns_t age = now.t - x->since;

		/* Time that has gone back must not block the list. */
		if (age < HOLE_POLL && age > -HOLE_POLL)
			break;
		DL_DELETE(fs->gaps, x);
		x->watched = false;
		flow_settle(fs, f, now);
		if (f->x && (f->x->rst || f->x->h[0].marked || f->x->h[1].marked))
			watch(fs, f->x, now.t);
	}
}
