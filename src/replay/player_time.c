/* When it is time: those of the capture, with pauses cut, and sped up. */
#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "player_priv.h"

ns_t
player_scaled(const struct player *p, ns_t t)
{
	double v = p->opts.speed > 0 ? (double)t / p->opts.speed : 0;

	return v < (double)INT64_MAX / 2 ? (ns_t)v : INT64_MAX / 2;
}

ns_t
player_timetable(const struct player *p, ns_t t)
{
	uint32_t from = 0, to = p->n_marks;
	ns_t more;

	while (from < to) {		/* the last that is not later */
		uint32_t mid = from + (to - from) / 2;

		if (p->marks[mid].captured <= t)
			from = mid + 1;
		else
			to = mid;
	}
	if (from == 0)
		return 0;
	more = t - p->marks[from - 1].captured;
	if (p->opts.max_wait > 0 && more > p->opts.max_wait)
		more = p->opts.max_wait;
	return p->marks[from - 1].at + more;
}

static int
by_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return (x->captured > y->captured) - (x->captured < y->captured);
}

/* Requests, and when clients left what they had asked for. */
void
player_make_timetable(struct player *p)
{
	p->marks = xcalloc(p->n ? 2 * (size_t)p->n : 1, sizeof *p->marks);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct plan_x *x = p->lives[i]->x.plan;

		p->marks[p->n_marks++].captured = x->at;
		if (x->leave >= 0 && x->skip == PLAN_PLAYED)
			p->marks[p->n_marks++].captured = x->leave;
	}
	qsort(p->marks, p->n_marks, sizeof *p->marks, by_time);
	for (uint32_t i = 1; i < p->n_marks; i++) {
		ns_t pause = p->marks[i].captured - p->marks[i - 1].captured;

		if (p->opts.max_wait > 0 && pause > p->opts.max_wait)
			pause = p->opts.max_wait;
		p->marks[i].at = p->marks[i - 1].at + pause;
	}
	for (uint32_t i = 0; i < p->n; i++)
		p->at[i] = player_timetable(p, p->lives[i]->x.plan->at);
}

ns_t
player_due(const struct player *p, uint32_t i)
{
	return p->slip + player_scaled(p, p->at[i]);
}
