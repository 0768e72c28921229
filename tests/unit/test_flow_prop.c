#include "mcpdiag/flow.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "util.h"

/* Two simulated hosts talk; what they send is captured with every kind of
 * harm, and what comes out is compared with what they sent.  The seeds are
 * fixed; MCPDIAG_TEST_SEED adds one. */

enum { MAX_BYTES = 1 << 14, MAX_PACKETS = 4096, MAX_TURNS = 24 };

struct rng {
	uint64_t s;
};

static uint32_t
below(struct rng *r, uint32_t n)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15u;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) % n);
}

static bool
chance(struct rng *r, unsigned percent)
{
	return below(r, 100) < percent;
}

struct plan {
	const char *name;
	unsigned lost;		/* % of segments that never reach the tap */
	unsigned dropped;	/* % that the capture misses, though received */
	unsigned again;		/* % of steps that send something once more */
	unsigned twice;		/* % of packets captured twice */
	unsigned swapped;	/* % of packets swapped with a later one */
	unsigned cut;		/* % of packets cut by a snap length */
	bool mid;		/* the handshake is not captured */
	bool vague;		/* which came first cannot always be known */
};

/* Content is a function of place, so any byte can be judged. */
static uint8_t
content(int dir, uint32_t i)
{
	uint32_t x = (i + 1) * 2654435761u ^ (uint32_t)(dir + 1) * 40503u;

	return (uint8_t)(x >> 13);
}

struct host {
	uint32_t isn, nxt;		/* next byte to send, from 0 */
	uint32_t room;			/* bytes it may send in all by now */
	uint32_t turn[MAX_TURNS];	/* where each message ends */
	uint8_t got[MAX_BYTES];		/* bytes of the peer that arrived */
	uint32_t have;			/* of these without a hole */
	bool fin;
};

struct sim {
	struct rng r;
	struct plan plan;
	uint64_t seed;
	struct host h[2];
	unsigned turns;
	struct seg seg[MAX_PACKETS];
	unsigned n;
	uint32_t first[2];	/* first byte captured, when mid */
	bool began[2];
	/* what comes out */
	uint32_t pos[2];
	uint64_t gaps[2];
	bool closed[2], ended, fin[2];
};

static uint8_t bytes[2][MAX_BYTES];

#define CHECK(s, what) do { \
	if (!(what)) \
		fail_msg("%s, seed %llu: %s", (s)->plan.name, \
		    (unsigned long long)(s)->seed, #what); \
} while (0)

static void
emit(struct sim *s, int dir, uint32_t from, uint32_t len, uint8_t flags)
{
	struct host *h = &s->h[dir], *peer = &s->h[!dir];
	struct seg *g = &s->seg[s->n];
	bool peer_done = h->have == peer->turn[s->turns - 1] && peer->fin;

	assert_true(s->n < MAX_PACKETS);
	*g = (struct seg){
		.src = { .ip = { 10, 0, 0, (uint8_t)dir }, .port = 99 },
		.dst = { .ip = { 10, 0, 0, (uint8_t)!dir }, .port = 99 },
		.seq = h->isn + 1 + from, .flags = flags,
		.ack = peer->isn + 1 + h->have + peer_done, .win = 1000,
		.data = bytes[dir] + (len ? from : 0), .len = len,
	};
	if (chance(&s->r, s->plan.cut) && len > 1) {
		g->cut = 1 + below(&s->r, len - 1);
		g->len -= g->cut;
	}
	s->n++;
}

static void
arrive(struct sim *s, int dir, uint32_t from, uint32_t len)
{
	struct host *to = &s->h[!dir];

	memset(to->got + from, 1, len);
	while (to->have < MAX_BYTES && to->got[to->have])
		to->have++;
}

static void
send_part(struct sim *s, int dir, uint32_t from, uint32_t len)
{
	if (chance(&s->r, s->plan.lost))
		return;
	if (!chance(&s->r, s->plan.dropped))
		emit(s, dir, from, len, TCP_ACK | TCP_PSH);
	arrive(s, dir, from, len);
}

/* One host does something: sends on, sends again, or acknowledges. */
static void
step(struct sim *s, int dir)
{
	struct host *h = &s->h[dir], *to = &s->h[!dir];

	if (chance(&s->r, s->plan.again) && h->nxt > 0) {
		uint32_t from = to->have < h->nxt && chance(&s->r, 70) ?
		    to->have : below(&s->r, h->nxt);
		uint32_t len = 1 + below(&s->r, 400);
		send_part(s, dir, from, len < h->nxt - from ? len : h->nxt - from);
	} else if (h->nxt < h->room) {
		uint32_t len = 1 + below(&s->r, chance(&s->r, 30) ? 3 : 400);
		len = len < h->room - h->nxt ? len : h->room - h->nxt;
		send_part(s, dir, h->nxt, len);
		h->nxt += len;
	} else
		emit(s, dir, h->nxt, 0, TCP_ACK);
}

/* A message of one host lets the other send its next one. */
static void
grant(struct sim *s)
{
	for (unsigned i = 0; i < s->turns; i++) {
		if (s->h[1].have >= s->h[0].turn[i])
			s->h[1].room = s->h[1].turn[i];
		if (i + 1 < s->turns && s->h[0].have >= s->h[1].turn[i])
			s->h[0].room = s->h[0].turn[i + 1];
	}
}

static bool
all_sent(const struct sim *s)
{
	return s->h[1].have >= s->h[0].turn[s->turns - 1] &&
	    s->h[0].have >= s->h[1].turn[s->turns - 1];
}

static void
simulate(struct sim *s)
{
	s->turns = 1 + below(&s->r, MAX_TURNS - 1);
	for (int dir = 0; dir < 2; dir++) {
		struct host *h = &s->h[dir];
		uint32_t end = 0;

		for (unsigned i = 0; i < s->turns; i++) {
			end += 1 + below(&s->r, chance(&s->r, 80) ? 300 : 1200);
			h->turn[i] = end < MAX_BYTES ? end : MAX_BYTES;
		}
		h->isn = chance(&s->r, 50) ? 0u - below(&s->r, 5000) :
		    below(&s->r, UINT32_MAX);
	}
	s->h[0].room = s->h[0].turn[0];
	if (!s->plan.mid) {
		emit(s, 0, UINT32_MAX, 0, TCP_SYN);
		s->seg[0].ack = 0;
		emit(s, 1, UINT32_MAX, 0, TCP_SYN | TCP_ACK);
		emit(s, 0, 0, 0, TCP_ACK);
	}
	while (!all_sent(s) && s->n < MAX_PACKETS - 16) {
		grant(s);
		step(s, below(&s->r, 2) ? 1 : 0);
	}
	CHECK(s, all_sent(s));
	for (int dir = 0; dir < 2; dir++) {
		s->h[dir].fin = true;
		emit(s, dir, s->h[dir].turn[s->turns - 1], 0, TCP_FIN | TCP_ACK);
	}
	emit(s, 0, s->h[0].turn[s->turns - 1] + 1, 0, TCP_ACK);
}

/* Copies and swaps, the handshake and the end excepted. */
static void
harm(struct sim *s)
{
	unsigned first = s->plan.mid ? 4 : 3;
	struct seg *copy = xmalloc(sizeof s->seg);
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++) {
		copy[n++] = s->seg[i];
		if (n < MAX_PACKETS - s->n && chance(&s->r, s->plan.twice))
			copy[n++] = s->seg[i];
	}
	memcpy(s->seg, copy, n * sizeof *copy);
	free(copy);
	s->n = n;
	for (unsigned i = first; i + 8 < s->n; i++) {
		if (chance(&s->r, s->plan.swapped)) {
			unsigned j = i + 1 + below(&s->r, 4);
			struct seg t = s->seg[i];
			s->seg[i] = s->seg[j];
			s->seg[j] = t;
		}
	}
	for (unsigned i = 0; i < s->n; i++)
		s->seg[i].at = (struct at){
			1000 * NS_S + (ns_t)i * NS_MS / 10, i + 1,
		};
}

static void *
on_open(void *arg, const struct flow_conn *fc, struct at at)
{
	struct sim *s = arg;

	(void)at;
	assert_int_equal(fc->id, 1);
	assert_int_equal(fc->start, s->plan.mid ? FLOW_MID : FLOW_SYN);
	return s;
}

/* Nobody answers what has not been asked. */
static void
check_order(const struct sim *s, int dir, uint32_t end)
{
	for (unsigned i = 0; i < s->turns; i++) {
		uint32_t begin = i ? s->h[dir].turn[i - 1] : 0;

		if (begin >= end)
			break;
		if (dir == 1)
			CHECK(s, s->pos[0] >= s->h[0].turn[i]);
		else if (i > 0)
			CHECK(s, s->pos[1] >= s->h[1].turn[i - 1]);
	}
}

static bool
on_data(void *arg, int dir, const uint8_t *p, size_t n, struct at at)
{
	struct sim *s = arg;

	(void)at;
	CHECK(s, !s->closed[dir] && !s->ended);
	if (s->plan.mid && !s->began[dir]) {
		/* Where it begins only the bytes' address tells. */
		s->pos[dir] = s->first[dir];
		s->began[dir] = true;
	}
	for (size_t i = 0; i < n; i++)
		CHECK(s, p[i] == content(dir, s->pos[dir] + (uint32_t)i));
	s->pos[dir] += (uint32_t)n;
	if (!s->plan.mid && !s->plan.vague)
		check_order(s, dir, s->pos[dir]);
	return true;
}

static void
on_gap(void *arg, int dir, uint64_t n, struct at at)
{
	struct sim *s = arg;

	(void)at;
	CHECK(s, !s->closed[dir] && !s->ended);
	CHECK(s, n > 0 && n <= MAX_BYTES);
	s->pos[dir] += (uint32_t)n;
	s->gaps[dir] += n;
}

static void
on_close(void *arg, int dir, enum flow_close why, int by, struct at at)
{
	struct sim *s = arg;

	(void)at;
	CHECK(s, !s->closed[dir] && !s->ended);
	s->closed[dir] = true;
	s->fin[dir] = why == FLOW_FIN && by == dir;
}

static void
on_stall(void *arg, int dir, uint64_t n, bool zero, struct at since,
    struct at now)
{
	struct sim *s = arg;

	(void)dir, (void)n, (void)zero, (void)since, (void)now;
	CHECK(s, !"stall");
}

static void
on_odd(void *arg, int dir, enum flow_odd odd, struct at at)
{
	struct sim *s = arg;

	(void)dir, (void)at;
	CHECK(s, odd > FLOW_DATA_AFTER_FIN);
}

static void
on_end(void *arg, struct at at)
{
	struct sim *s = arg;

	(void)at;
	CHECK(s, s->closed[0] && s->closed[1] && !s->ended);
	s->ended = true;
}

/* What is fetched ahead must be a connection that is still there. */
static void
on_expect(const void *conn, int stage)
{
	const struct sim *s = conn;

	CHECK(s, !s->ended && (stage == 0 || stage == 1));
}

static const struct flow_ops ops = {
	on_open, on_data, on_gap, on_close, on_stall, on_odd, on_end, on_expect,
};

/* Mid-stream the first payload of a direction is where it begins. */
static void
find_first(struct sim *s)
{
	bool found[2] = { false, false };

	for (unsigned i = 0; i < s->n; i++) {
		const struct seg *g = &s->seg[i];
		int dir = g->src.ip[3];

		if (found[dir] || g->len + g->cut == 0)
			continue;
		s->first[dir] = g->seq - s->h[dir].isn - 1;
		found[dir] = true;
	}
}

static void
run_one(const struct plan *plan, uint64_t seed)
{
	struct sim *s = xcalloc(1, sizeof *s);
	struct limits l;
	struct flows *fs;
	struct seg next[2] = { { .ahead = 0 }, { .ahead = 0 } };
	bool whole = plan->dropped == 0 && plan->cut == 0;

	s->r.s = s->seed = seed;
	s->plan = *plan;
	simulate(s);
	harm(s);
	find_first(s);
	limits_init(&l);
	fs = flows_new(&l, &ops, s);
	for (unsigned i = 0; i < s->n; i++) {
		struct seg g = s->seg[i];
		uint8_t *exact = xmalloc(g.len);

		/* A copy of just that size, so that ASan sees a read beyond. */
		memcpy(exact, g.data, g.len);
		g.data = exact;
		if (i % 3 == 0 && i + 1 < s->n) {	/* two are expected */
			next[0] = g;
			next[1] = s->seg[i + 1];
			flows_expect(fs, next, 2);
			g.ahead = next[0].ahead;
		} else if (i % 3 == 1)
			g.ahead = next[1].ahead;
		flows_seg(fs, &g);
		free(exact);
		if (i % 20 == 0)
			flows_tick(fs, g.at.t);
	}
	flows_eof(fs, s->seg[s->n - 1].at);
	CHECK(s, s->ended);
	for (int dir = 0; dir < 2; dir++) {
		uint32_t end = s->h[dir].turn[s->turns - 1];

		CHECK(s, s->pos[dir] == end);
		CHECK(s, s->fin[dir]);
		CHECK(s, !whole || s->gaps[dir] == 0);
	}
	flows_free(fs);
	free(s);
}

static void
run_plan(const struct plan *plan, unsigned times)
{
	const char *more = getenv("MCPDIAG_TEST_SEED");

	for (uint64_t seed = 1; seed <= times; seed++)
		run_one(plan, seed);
	if (more) {
		uint64_t seed = strtoull(more, NULL, 0);
		print_message("%s: seed %llu\n", plan->name,
		    (unsigned long long)seed);
		for (uint64_t i = 0; i < times; i++)
			run_one(plan, seed * 1000003 + i);
	}
}

static void
whole(void **state)
{
	static const struct plan plans[] = {
		{ "clean", .again = 0 },
		{ "sent again", .again = 20 },
		{ "lost on the way", .again = 15, .lost = 15 },
		{ "twice", .again = 5, .lost = 5, .twice = 30 },
		{ "swapped", .swapped = 25 },
		{ "all of it", .again = 15, .lost = 10, .twice = 15,
		  .swapped = 25 },
		{ "mid-stream", .again = 10, .twice = 10, .mid = true },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(plans); i++)
		run_plan(&plans[i], 400);
}

static void
with_loss(void **state)
{
	static const struct plan plans[] = {
		{ "dropped", .dropped = 10 },
		{ "dropped and swapped", .dropped = 10, .swapped = 25,
		  .twice = 10 },
		{ "cut", .cut = 30, .swapped = 10 },
		{ "everything", .dropped = 10, .again = 15, .lost = 10,
		  .swapped = 20, .twice = 10, .cut = 10, .vague = true },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(plans); i++)
		run_plan(&plans[i], 400);
}

static int
fill(void **state)
{
	(void)state;
	for (int dir = 0; dir < 2; dir++)
		for (uint32_t i = 0; i < MAX_BYTES; i++)
			bytes[dir][i] = content(dir, i);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(with_loss),
	};
	return cmocka_run_group_tests(tests, fill, NULL);
}
