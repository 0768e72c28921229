#include "mcpdiag/flow.h"

#include <assert.h>
#include <stdlib.h>

#include "flow_priv.h"

#define CLOSED_KEPT (30 * NS_S)		/* for late copies of the last packets */
#define HALF_KEPT   (3600 * NS_S)	/* idle after one FIN */
#define STALL       (10 * NS_S)
#define STALL_POLL  (1 * NS_S)
#define COPY_TIME   (5 * NS_MS)
/* How far apart a SYN and data of the same connection may be, and how many
 * packets old it may be, if they were swapped. */
enum { NEAR = 65536, YOUNG = 16 };
/* This many payloads in a row from nowhere are a new connection. */
enum { MAX_WILD = 3 };

static void
key_of(const struct seg *s, struct flow_key *k)
{
	const struct addr *a = &s->src, *b = &s->dst;
	int c = s->src.v6 ? memcmp(a->ip, b->ip, 16) : memcmp(a->ip, b->ip, 4);
	uint8_t *ports = k->b + (s->src.v6 ? 32 : 8);

	k->flip = c > 0 || (c == 0 && a->port > b->port);
	if (k->flip) {
		a = &s->dst;
		b = &s->src;
	}
	/* Constant sizes: these are moves, not calls. */
	if (s->src.v6) {
		memcpy(k->b, a->ip, 16);
		memcpy(k->b + 16, b->ip, 16);
	} else {
		memcpy(k->b, a->ip, 4);
		memcpy(k->b + 4, b->ip, 4);
	}
	memcpy(ports, &a->port, 2);
	memcpy(ports + 2, &b->port, 2);
	k->n = s->src.v6 ? 36 : 12;
	k->hash = map_hash(k->b, k->n);
}

uint32_t
piece_span(const struct piece *p)
{
	return p->len + p->cut + p->fin;
}

void
piece_skip(struct piece *p, uint32_t n)
{
	uint32_t k = n < p->len ? n : p->len;

	p->seq += n;
	p->data += k;
	p->len -= k;
	n -= k;
	k = n < p->cut ? n : p->cut;
	p->cut -= k;
	if (n > k)
		p->fin = false;
}

static struct piece
piece_of(const struct seg *s)
{
	uint32_t syn = s->flags & TCP_SYN ? 1 : 0;

	return (struct piece){
		.data = s->data, .at = s->at, .seq = s->seq + syn,
		.len = s->len, .cut = s->cut, .ack = s->ack,
		.ifindex = s->ifindex, .fin = s->flags & TCP_FIN,
	};
}

static void
set_state(struct flows *fs, struct flow *f, enum flow_state st)
{
	DL_DELETE(fs->lists[f->state], f);
	f->state = st;
	DL_APPEND(fs->lists[st], f);
}

static void
unwatch(struct flows *fs, struct flow *f)
{
	if (f->watched)
		DL_DELETE2(fs->stalls, f, sprev, snext);
	f->watched = false;
}

/* Queued flows are looked at once a second; most have been unwatched by an
 * acknowledgment long before. */
static void
watch(struct flows *fs, struct flow *f, ns_t now)
{
	if (f->watched || !f->h[0].seen || !f->h[1].seen)
		return;
	f->watched = true;
	f->since = now;
	DL_APPEND2(fs->stalls, f, sprev, snext);
}

static void
forget(struct flows *fs, struct flow *f)
{
	flow_extra_free(fs, f);
	unwatch(fs, f);
	DL_DELETE(fs->lists[f->state], f);
	HASH_DEL(fs->table, f);
	if (fs->recent == f)
		fs->recent = NULL;
	free(f);
}

void
flow_close(struct flows *fs, struct flow *f, int dir, enum flow_close why,
    int by, struct at at)
{
	if (f->h[dir].closed)
		return;
	f->h[dir].closed = true;
	f->h[dir].out = false;
	fs->ops.close(f->conn, dir, why, by, at);
	if (!f->h[!dir].closed) {
		set_state(fs, f, FLOW_HALF);
		return;
	}
	flow_extra_free(fs, f);
	unwatch(fs, f);
	fs->ops.end(f->conn, at);
	f->conn = NULL;
	f->since = at.t;
	set_state(fs, f, FLOW_CLOSED);
}

/* Lets out what is held and closes what is open. */
static void
finish(struct flows *fs, struct flow *f, enum flow_close why, struct at at)
{
	if (f->state != FLOW_CLOSED)
		flow_flush(fs, f);
	for (int dir = 0; dir < 2; dir++)
		flow_close(fs, f, dir, why, -1, at);
}

static void
make_room(struct flows *fs, struct at at)
{
	struct flow *f = fs->lists[FLOW_CLOSED];
	struct flow *open = fs->lists[FLOW_OPEN], *half = fs->lists[FLOW_HALF];

	if (f == NULL) {
		f = open && (!half || open->last <= half->last) ? open : half;
		finish(fs, f, FLOW_EVICTED, at);
		fs->stats.evicted++;
	}
	forget(fs, f);
}

static struct flow *
flow_new(struct flows *fs, const struct flow_key *k, const struct seg *s)
{
	bool syn = s->flags & TCP_SYN;
	bool turn = syn && s->flags & TCP_ACK;	/* from the server */
	struct flow_conn conn = { .start = syn ? FLOW_SYN : FLOW_MID };
	struct flow *f;

	while (HASH_COUNT(fs->table) >= fs->max_flows)
		make_room(fs, s->at);
	f = xcalloc(1, sizeof *f);
	memcpy(f->key, k->b, k->n);
	f->last = s->at.t;
	f->flip = k->flip != turn;
	f->by_syn = syn;
	HASH_ADD_BYHASHVALUE(hh, fs->table, key, k->n, k->hash, f);
	DL_APPEND(fs->lists[FLOW_OPEN], f);
	fs->recent = f;
	fs->stats.connections++;
	conn.id = ++fs->id;
	conn.addr[turn] = s->src;
	conn.addr[!turn] = s->dst;
	f->conn = fs->ops.open(fs->arg, &conn, s->at);
	return f;
}

static struct flow *
find(struct flows *fs, const struct flow_key *k)
{
	struct flow *f = fs->recent;

	if (f && f->hh.hashv == k->hash && f->hh.keylen == k->n &&
	    memcmp(f->key, k->b, k->n) == 0)
		return f;
	HASH_FIND_BYHASHVALUE(hh, fs->table, k->b, k->n, k->hash, f);
	if (f)
		fs->recent = f;
	return f;
}

/* True when a and b are within n of each other. */
static bool
near(uint32_t a, uint32_t b, uint32_t n)
{
	return a - b + n <= 2 * n;
}

/* Does this SYN begin another connection than f? */
static bool
is_new_syn(const struct flow *f, int dir, const struct seg *s)
{
	const struct half *h = &f->h[dir], *peer = &f->h[!dir];
	bool ack = s->flags & TCP_ACK;

	if (h->have && h->first == s->seq + 1)
		return false;
	/* Data came before the SYN in a reordered capture. */
	if (h->have && !h->syn && f->packets < YOUNG &&
	    f->state != FLOW_CLOSED && h->first - (s->seq + 1) < NEAR)
		return false;
	/* Another ISN in answer to the same SYN: SYN cookies do that. */
	if (ack && peer->have && near(s->ack, peer->first, NEAR))
		return false;
	if (h->have || f->state == FLOW_CLOSED)
		return true;
	if (!ack && f->by_syn)			/* simultaneous open */
		return false;
	return !(h->hint && h->ack == s->seq + 1);
}

static void
set_base(struct half *h, uint32_t seq)
{
	h->nxt = h->ack = h->first = h->last = seq;
	h->have = true;
}

static void
take_syn(struct flow *f, int dir, const struct seg *s)
{
	struct half *h = &f->h[dir], *peer = &f->h[!dir];

	if (h->have && h->syn && h->nxt == h->first && !h->closed &&
	    f->x == NULL && s->flags & TCP_ACK)
		h->have = false;		/* nothing came yet: the newer ISN */
	if (!h->have) {
		set_base(h, s->seq + 1);
		h->syn = true;
	}
	if (s->flags & TCP_ACK && !peer->have) {
		set_base(peer, s->ack);
		peer->syn = true;
	}
}

/* Something to begin with.  One byte alone that is not pushed is a keep-alive
 * probe as some systems send them: RFC 9293 3.8.4. */
static bool
has_payload(const struct seg *s)
{
	uint32_t n = s->len + s->cut;

	return n > 1 || (n == 1 && s->flags & (TCP_PSH | TCP_FIN | TCP_SYN));
}

/* Payload that is neither near what was sent nor in any window: this is no
 * longer the connection we know, and its SYN was not captured. */
static bool
is_wild(struct flow *f, int dir, const struct seg *s)
{
	const struct half *h = &f->h[dir];
	int32_t off = (int32_t)(s->seq - h->nxt);

	if (!has_payload(s) || s->flags & (TCP_SYN | TCP_RST) || !h->have)
		return false;
	if (off > -FLOW_MAX_ACK && off <= (f->state == FLOW_CLOSED ?
	    FLOW_MAX_ACK : FLOW_MAX_WINDOW)) {
		f->wild = 0;
		return false;
	}
	return f->state == FLOW_CLOSED || ++f->wild >= MAX_WILD;
}

/* The connection of a segment, which may begin with it; NULL for nothing worth
 * a connection. */
static struct flow *
flow_of(struct flows *fs, const struct seg *s, int *dir)
{
	struct flow_key own, *k = s->ahead ? &fs->ahead[s->ahead - 1] : &own;
	struct flow *f;
	bool syn = s->flags & TCP_SYN && !(s->flags & (TCP_RST | TCP_FIN));

	if (k == &own)
		key_of(s, k);
	f = find(fs, k);
	*dir = f ? k->flip != f->flip : 0;
	if (f && (syn ? is_new_syn(f, *dir, s) : is_wild(f, *dir, s))) {
		finish(fs, f, FLOW_REUSED, s->at);
		forget(fs, f);
		f = NULL;
	} else if (f && f->state == FLOW_CLOSED &&
	    s->at.t - f->since > CLOSED_KEPT) {
		forget(fs, f);
		f = NULL;
	}
	if (f)
		return f;
	if (!syn && (!has_payload(s) || s->flags & (TCP_RST | TCP_SYN)))
		return NULL;
	f = flow_new(fs, k, s);
	*dir = k->flip != f->flip;
	return f;
}

static void
advance(struct half *h, uint32_t n)
{
	h->nxt += n;
	if ((int32_t)(h->nxt - h->ack) > FLOW_MAX_LAG)
		h->ack = h->nxt - FLOW_MAX_LAG;
}

void
flow_gap(struct flows *fs, struct flow *f, int dir, uint32_t n, struct at at)
{
	advance(&f->h[dir], n);
	if (f->deaf)
		return;
	fs->stats.gaps++;
	fs->stats.gap_bytes += n;
	fs->ops.gap(f->conn, dir, n, at);
}

static void
since(struct half *h, struct at at)
{
	h->una_t = at.t;
	h->una_pkt = at.pkt;
}

static void
outstanding(struct flows *fs, struct flow *f, struct half *h, struct at at)
{
	if (!seq_lt(h->ack, h->nxt))
		return;
	if (h->out) {
		if (at.t - h->una_t >= STALL_POLL)
			h->more = true;
	} else {
		h->out = true;
		h->resent = h->more = h->stalled = false;
		since(h, at);
	}
	watch(fs, f, at.t);
}

static void
after_fin(struct flows *fs, struct flow *f, int dir, struct at at)
{
	if (!f->h[dir].after_fin && !f->deaf)
		fs->ops.odd(f->conn, dir, FLOW_DATA_AFTER_FIN, at);
	f->h[dir].after_fin = true;
}

void
flow_deliver(struct flows *fs, struct flow *f, int dir, const struct piece *p)
{
	struct half *h = &f->h[dir];

	if (h->closed) {
		if (p->len + p->cut)
			after_fin(fs, f, dir, p->at);
		return;
	}
	h->last = h->nxt;
	advance(h, p->len);
	if (p->len && !f->deaf &&
	    !fs->ops.data(f->conn, dir, p->data, p->len, p->at))
		f->deaf = true;
	if (p->cut)
		flow_gap(fs, f, dir, p->cut, p->at);
	if (!f->deaf)
		outstanding(fs, f, h, p->at);
	if (p->fin) {
		h->nxt++;
		flow_close(fs, f, dir, FLOW_FIN, dir, p->at);
	}
}

static uint64_t
unacked(const struct half *h)
{
	return seq_lt(h->ack, h->nxt) ? h->nxt - h->ack : 0;
}

static bool
stall_one(struct flows *fs, struct flow *f, int dir, struct at now)
{
	struct half *h = &f->h[dir];
	struct extra_half *xh = f->x ? &f->x->h[dir] : NULL;

	if (h->closed)
		return false;
	if (xh && xh->zero_window) {
		if (xh->zero_told)
			return false;
		if (now.t - xh->zero.t < STALL || !(h->out || xh->probed))
			return true;
		xh->zero_told = true;
		fs->ops.stall(f->conn, dir, unacked(h), true, xh->zero, now);
		return false;
	}
	if (!h->out || h->stalled)
		return false;
	if (now.t - h->una_t < STALL || !(h->resent ||
	    (h->more && now.t - f->last >= STALL_POLL)))
		return true;
	h->stalled = true;
	fs->ops.stall(f->conn, dir, unacked(h), false,
	    (struct at){ h->una_t, h->una_pkt }, now);
	return false;
}

/* A sender without an answer sends again within seconds (RFC 6298); if it has
 * not, it is more likely that the capture has lost the answer.
 * Returns whether there is something left to watch. */
static bool
stall_check(struct flows *fs, struct flow *f, struct at now)
{
	bool left;

	if (f->state == FLOW_CLOSED || f->deaf)
		return false;
	left = stall_one(fs, f, 0, now);
	return stall_one(fs, f, 1, now) || left;
}

void
flow_copy(struct flows *fs, struct flow *f, int dir, const struct piece *p,
    bool same_start)
{
	struct half *h = &f->h[dir];

	/* The same packet on another interface, or at once on the same one. */
	if (p->ifindex != h->ifindex ||
	    (same_start && p->at.t - f->last < COPY_TIME)) {
		fs->stats.duplicates++;
		return;
	}
	fs->stats.retransmits++;
	if (h->out) {
		h->resent = true;
		(void)stall_check(fs, f, p->at);
	}
}

static void
take_window(struct flows *fs, struct flow *f, int dir, const struct seg *s)
{
	struct extra_half *xh;

	if (s->win && f->x == NULL)
		return;
	if (f->h[!dir].closed || f->deaf)
		return;
	xh = &flow_extra(f)->h[!dir];
	if (s->win)
		xh->zero_window = false;
	else if (!xh->zero_window) {
		xh->zero_window = true;
		xh->zero_told = xh->probed = false;
		xh->zero = s->at;
		watch(fs, f, s->at.t);
	}
}

static void
take_ack(struct flows *fs, struct flow *f, int dir, const struct seg *s)
{
	struct half *h = &f->h[!dir], *own = &f->h[dir];
	int32_t ahead = (int32_t)(s->ack - h->nxt);
	bool newer;

	if (!h->have) {
		/* The end of the handshake tells where the peer starts. */
		if (own->syn && s->seq == own->first && !h->hint) {
			h->hint = true;
			h->ack = s->ack;
		}
		return;
	}
	if (ahead > FLOW_MAX_ACK || ahead < -FLOW_MAX_LAG || f->deaf)
		return;
	newer = seq_lt(h->ack, s->ack);
	if (newer) {
		h->ack = s->ack;
		h->stalled = h->resent = h->more = false;
		since(h, s->at);
		if (ahead >= 0)
			h->out = false;
		if (!f->h[0].out && !f->h[1].out && f->x == NULL)
			unwatch(fs, f);
		else if (h->out)
			watch(fs, f, s->at.t);
	}
	if (ahead > 0 && !h->closed)
		flow_evidence(fs, f, !dir, s->at, newer);
	if (!(s->flags & (TCP_SYN | TCP_RST)))
		take_window(fs, f, dir, s);
}

static bool
must_wait(const struct flow *f, int dir, const struct seg *s)
{
	const struct half *peer = &f->h[!dir];
	int32_t ahead = (int32_t)(s->ack - peer->nxt);

	return ahead > 0 && ahead <= FLOW_MAX_ACK && s->flags & TCP_ACK &&
	    peer->have && !peer->closed && !flow_waived(f, !dir, s->ack);
}

/* Nobody listens: only the end matters. */
static void
take_deaf(struct flows *fs, struct flow *f, int dir, const struct piece *p)
{
	struct half *h = &f->h[dir];
	uint32_t end = p->seq + p->len + p->cut;

	if ((int32_t)(end - h->nxt) > FLOW_MAX_WINDOW)
		return;
	if (seq_lt(h->nxt, end))
		h->nxt = end;
	if (p->fin && !h->closed) {
		h->nxt++;
		flow_close(fs, f, dir, FLOW_FIN, dir, p->at);
	}
}

/* Trims what came before; false when nothing is left. */
static bool
trim_old(struct flows *fs, struct flow *f, int dir, struct piece *p)
{
	struct half *h = &f->h[dir];
	uint32_t old = h->nxt - p->seq, payload = p->len + p->cut;

	/* Keep-alive and window probes repeat a byte or pretend to. */
	if (f->x && payload <= 1)
		f->x->h[dir].probed = true;
	if (payload && old != 1)
		flow_copy(fs, f, dir, p, p->seq == h->last);
	if (old >= piece_span(p))
		return false;
	piece_skip(p, old);
	return true;
}

static void
take_data(struct flows *fs, struct flow *f, int dir, const struct seg *s)
{
	struct half *h = &f->h[dir];
	struct piece p = piece_of(s);
	struct held *head;

	if (!h->have && !p.fin && !h->hint && !has_payload(s))
		return;
	if (!h->have)
		set_base(h, h->hint && p.seq - h->ack <= FLOW_MAX_ACK ?
		    h->ack : p.seq);
	if (f->deaf) {
		take_deaf(fs, f, dir, &p);
		return;
	}
	if (f->x && f->x->rst && f->x->rst_dir == dir &&
	    !seq_lt(p.seq, f->x->rst_seq))
		return;
	if (seq_lt(p.seq, h->nxt) && !trim_old(fs, f, dir, &p))
		return;
	head = flow_head(f, dir);
	p.wait = must_wait(f, dir, s);
	if (p.seq == h->nxt && !p.wait && (head == NULL ||
	    head->p.seq - p.seq >= piece_span(&p)))
		flow_deliver(fs, f, dir, &p);
	else if (h->closed)
		after_fin(fs, f, dir, s->at);
	else if ((int32_t)(p.seq - h->nxt) <= FLOW_MAX_WINDOW) {
		flow_hold(fs, f, dir, &p);
		if (f->deaf)
			take_deaf(fs, f, dir, &p);
	}
}

static void
touch(struct flows *fs, struct flow *f, struct half *h, const struct seg *s)
{
	/* About once a second: near enough to know the longest idle ones. */
	if (f->state != FLOW_CLOSED && f->last >> 30 != s->at.t >> 30)
		set_state(fs, f, f->state);
	f->packets++;
	if (!h->seen)
		h->ifindex = s->ifindex;
	h->seen = true;
}

void
flows_seg(struct flows *fs, const struct seg *s)
{
	int dir;
	struct flow *f = flow_of(fs, s, &dir);

	fs->pkt = s->at.pkt;
	if (f == NULL)
		return;
	touch(fs, f, &f->h[dir], s);
	if (f->state == FLOW_CLOSED)
		return;
	if (f->watched)
		(void)stall_check(fs, f, s->at);
	if (s->flags & TCP_SYN && !(s->flags & (TCP_RST | TCP_FIN)))
		take_syn(f, dir, s);
	if (s->flags & TCP_ACK)
		take_ack(fs, f, dir, s);
	if (s->flags & TCP_RST)
		flow_reset(fs, f, dir, s);
	else if (s->len + s->cut || s->flags & TCP_FIN)
		take_data(fs, f, dir, s);
	else if (f->x && seq_lt(s->seq, f->h[dir].nxt))
		f->x->h[dir].probed = true;
	f->last = s->at.t;
	if (f->x)
		flow_settle(fs, f, s->at);
}

/* A head of a list is due when it is old, and also when time has gone back by
 * more than it can stay in the list: it must not block the others. */
static bool
is_due(ns_t now, ns_t since, ns_t delay)
{
	return now - since >= delay || since - now > delay;
}

void
flows_tick(struct flows *fs, ns_t t)
{
	struct at now = { t, fs->pkt };
	struct flow *f;

	while ((f = fs->lists[FLOW_CLOSED]) && is_due(t, f->since, CLOSED_KEPT))
		forget(fs, f);
	while ((f = fs->lists[FLOW_HALF]) && is_due(t, f->last, HALF_KEPT)) {
		if (f->last > t) {
			f->last = t;
			set_state(fs, f, FLOW_HALF);
		} else
			finish(fs, f, FLOW_EVICTED, now);
	}
	flow_gaps_tick(fs, now);
	while ((f = fs->stalls) && is_due(t, f->since, STALL_POLL)) {
		unwatch(fs, f);
		if (stall_check(fs, f, now))
			watch(fs, f, t);
	}
}

void
flows_shed(struct flows *fs, struct at at)
{
	static const enum flow_state order[] = { FLOW_CLOSED, FLOW_HALF, FLOW_OPEN };
	unsigned n = (HASH_COUNT(fs->table) + 1) / 2;

	for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++)
		for (; n && fs->lists[order[i]]; n--) {
			struct flow *f = fs->lists[order[i]];

			if (f->state != FLOW_CLOSED) {
				finish(fs, f, FLOW_EVICTED, at);
				fs->stats.shed++;
			}
			forget(fs, f);
		}
}

void
flows_eof(struct flows *fs, struct at at)
{
	struct flow *f, *tmp;

	/* In order of appearance: that is how uthash walks. */
	HASH_ITER(hh, fs->table, f, tmp) {
		finish(fs, f, FLOW_EOF, at);
		forget(fs, f);
	}
}

struct flows *
flows_new(const struct limits *l, const struct flow_ops *ops, void *arg)
{
	struct flows *fs = xcalloc(1, sizeof *fs);

	fs->ops = *ops;
	fs->arg = arg;
	fs->max_flows = l->flows;
	fs->max_ooo = l->ooo;
	return fs;
}

void
flows_free(struct flows *fs)
{
	struct flow *f, *tmp;

	if (fs == NULL)
		return;
	HASH_ITER(hh, fs->table, f, tmp)
		forget(fs, f);
	free(fs);
}

const struct flow_stats *
flows_stats(const struct flows *fs)
{
	return &fs->stats;
}

/* Whether b is the answer to a, on the same two ends. */
static bool
turned(const struct seg *a, const struct seg *b)
{
	return a->src.port == b->dst.port && a->dst.port == b->src.port &&
	    a->src.v6 == b->src.v6 && a->src.port != a->dst.port &&
	    memcmp(a->src.ip, b->dst.ip, 16) == 0 &&
	    memcmp(a->dst.ip, b->src.ip, 16) == 0;
}

/* Only the first entry of a bucket is looked at: there is rarely another. */
void
flows_expect(struct flows *fs, struct seg *s, unsigned n)
{
	const UT_hash_bucket *bucket[FLOWS_EXPECT];
	const UT_hash_table *t = fs->table ? fs->table->hh.tbl : NULL;
	const void *conn[FLOWS_EXPECT];

	assert(n <= FLOWS_EXPECT);
	if (t == NULL)
		return;
	for (unsigned i = 0; i < n; i++) {
		/* Data and its acknowledgment often follow each other. */
		if (i > 0 && turned(&s[i - 1], &s[i])) {
			fs->ahead[i] = fs->ahead[i - 1];
			fs->ahead[i].flip = !fs->ahead[i].flip;
		} else
			key_of(&s[i], &fs->ahead[i]);
		s[i].ahead = (uint8_t)(i + 1);
		bucket[i] = &t->buckets[fs->ahead[i].hash & (t->num_buckets - 1)];
		__builtin_prefetch(bucket[i]);
	}
	for (unsigned i = 0; i < n; i++) {
		const char *p = (const char *)bucket[i]->hh_head;

		for (size_t at = 0; p && at < sizeof(struct flow); at += 64)
			__builtin_prefetch(p + at);
	}
	for (unsigned i = 0; i < n; i++) {
		const UT_hash_handle *hh = bucket[i]->hh_head;
		const struct flow *f;

		conn[i] = NULL;
		if (hh == NULL || hh->hashv != fs->ahead[i].hash || s[i].len == 0)
			continue;
		f = ELMT_FROM_HH(t, hh);
		if (f->deaf || f->conn == NULL || fs->ops.expect == NULL)
			continue;
		conn[i] = f->conn;
		fs->ops.expect(conn[i], 0);
	}
	for (unsigned i = 0; i < n; i++)
		if (conn[i])
			fs->ops.expect(conn[i], 1);
}
