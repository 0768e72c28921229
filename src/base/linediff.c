#include "mcpdiag/linediff.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"

struct diff {
	const uint64_t *a, *b;
	int64_t n, m;
	/* For d differences and diagonal k (x - y): how far x has come, at
	 * d * d + d + k. */
	int32_t *far;
};

static int32_t *
far_at(const struct diff *df, int64_t d, int64_t k)
{
	return &df->far[d * d + d + k];
}

/* Whether the way to diagonal k with d differences comes from above (a line is
 * new), not from the left (a line is gone). */
static bool
from_above(const struct diff *df, int64_t d, int64_t k)
{
	return k == -d || (k != d && *far_at(df, d - 1, k - 1) < *far_at(df, d - 1, k + 1));
}

/* How many differences there are, or -1: more than `max`. */
static int64_t
search(const struct diff *df, int64_t max)
{
	for (int64_t d = 0; d <= max; d++) {
		for (int64_t k = -d; k <= d; k += 2) {
			int64_t x = 0, y;

			if (d > 0)
				x = from_above(df, d, k) ? *far_at(df, d - 1, k + 1) :
				    *far_at(df, d - 1, k - 1) + 1;
			y = x - k;
			while (x < df->n && y < df->m && df->a[x] == df->b[y]) {
				x++;
				y++;
			}
			*far_at(df, d, k) = (int32_t)x;
			if (x >= df->n && y >= df->m)
				return d;
		}
	}
	return -1;
}

/* Runs that wait to be told: a change whose lines may go on. */
struct teller {
	linediff_fn *fn;
	void *arg;
	uint32_t a, b, n_gone, n_new;
};

static void
tell_change(struct teller *t)
{
	if (t->n_gone)
		t->fn(t->arg, LINEDIFF_GONE, t->a, t->b, t->n_gone);
	if (t->n_new)
		t->fn(t->arg, LINEDIFF_NEW, t->a + t->n_gone, t->b, t->n_new);
	t->a += t->n_gone;
	t->b += t->n_new;
	t->n_gone = t->n_new = 0;
}

static void
tell_same(struct teller *t, uint32_t n)
{
	if (n == 0)
		return;
	tell_change(t);
	t->fn(t->arg, LINEDIFF_SAME, t->a, t->b, n);
	t->a += n;
	t->b += n;
}

/* The way back from the end, then told forwards. */
static void
tell(const struct diff *df, int64_t d, struct teller *t)
{
	struct step {
		bool is_new;
		uint32_t same;		/* lines that follow */
	} *steps = xcalloc((size_t)d + 1, sizeof *steps);
	int64_t x = df->n, y = df->m;

	for (int64_t i = d; i > 0; i--) {
		int64_t k = x - y;
		bool above = from_above(df, i, k);
		int64_t pk = above ? k + 1 : k - 1, px = *far_at(df, i - 1, pk);

		steps[i].is_new = above;
		steps[i].same = (uint32_t)(x - px - !above);
		x = px;
		y = px - pk;
	}
	tell_same(t, (uint32_t)x);
	for (int64_t i = 1; i <= d; i++) {
		if (steps[i].is_new)
			t->n_new++;
		else
			t->n_gone++;
		tell_same(t, steps[i].same);
	}
	free(steps);
}

bool
linediff(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b,
    linediff_fn *fn, void *arg)
{
	struct teller t = { .fn = fn, .arg = arg };
	struct diff df;
	uint32_t same = 0, tail = 0;
	int64_t max, d;

	while (same < n_a && same < n_b && a[same] == b[same])
		same++;
	while (tail < n_a - same && tail < n_b - same &&
	    a[n_a - tail - 1] == b[n_b - tail - 1])
		tail++;
	tell_same(&t, same);
	df = (struct diff){ a + same, b + same, n_a - same - tail, n_b - same - tail, NULL };
	max = df.n + df.m < LINEDIFF_MAX ? df.n + df.m : LINEDIFF_MAX;
	df.far = xcalloc((size_t)((max + 1) * (max + 1)), sizeof *df.far);
	d = search(&df, max);
	if (d >= 0)
		tell(&df, d, &t);
	else {
		t.n_gone = (uint32_t)df.n;
		t.n_new = (uint32_t)df.m;
	}
	tell_change(&t);
	tell_same(&t, tail);
	free(df.far);
	return d >= 0;
}
