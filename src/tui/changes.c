#include "changes.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"

/* A stream that is ended this soon after another's request made way for it. */
#define MADE_WAY (2 * NS_S)

/* A role change before it is known what it means. */
struct step {
	ns_t t;
	uint32_t pkt, stream;
	enum ev_role to;
	enum ev_by by;
};

void
changes_fini(struct changes *c)
{
	free(c->all);
	*c = (struct changes){ 0 };
}

static bool
owns(enum ev_role role)
{
	return role == EV_PRIMARY || role == EV_PRESUMED;
}

static struct change *
add(struct changes *c, const struct step *s)
{
	if (c->n == CHANGES_MAX) {
		c->n /= 2;
		memmove(c->all, c->all + c->n, c->n * sizeof *c->all);
		c->forgot += CHANGES_MAX - c->n;
	}
	c->all = xgrow(c->all, c->n, &c->cap, sizeof *c->all);
	c->all[c->n] = (struct change){ .t = s->t, .pkt = s->pkt, .by = s->by };
	return &c->all[c->n++];
}

static void
lose(struct changes *c, const struct step *s)
{
	c->holder = 0;
	c->last = s->stream;
	/* What comes with this packet tells to whom it went. */
	if (s->to == EV_ORPHAN || s->to == EV_SHADOW)
		c->displaced = s->stream;
	else
		add(c, s)->from = s->stream;
}

static void
gain(struct changes *c, const struct timeline *tl, const struct step *s)
{
	const struct tl_stream *st = timeline_stream_n(tl, s->stream);
	struct change *ch = c->n ? &c->all[c->n - 1] : NULL;

	/* The owner went after this one had been asked for: one change. */
	if (c->displaced == 0 && ch && ch->to == 0 && st && st->requested <= ch->t) {
		ch->t = s->t;
		ch->pkt = s->pkt;
		ch->by = s->by;
	} else {
		ch = add(c, s);
		ch->from = c->displaced;
		ch->after = c->last;
	}
	c->displaced = 0;
	ch->to = c->holder = c->last = s->stream;
	if (s->to == EV_PRIMARY)
		ch->proven = s->pkt;
}

static void
step(struct changes *c, const struct timeline *tl, const struct step *s)
{
	struct change *ch = c->n ? &c->all[c->n - 1] : NULL;

	if (owns(s->to) && c->holder != s->stream) {
		if (c->holder)			/* nobody told that it lost it */
			c->displaced = c->holder;
		gain(c, tl, s);
	} else if (s->to == EV_PRIMARY && ch && ch->to == s->stream && ch->proven == 0)
		ch->proven = s->pkt;
	else if (!owns(s->to) && c->holder == s->stream)
		lose(c, s);
}

/* As the model tells them: of what one packet changes, losses come first. */
static int
cmp_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	if (x->pkt != y->pkt)
		return x->pkt < y->pkt ? -1 : 1;
	if (owns(x->to) != owns(y->to))
		return owns(x->to) ? 1 : -1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->to == EV_PRIMARY) - (y->to == EV_PRIMARY);
}

void
changes_fill(struct changes *c, const struct timeline *tl, const struct tl_session *ts)
{
	struct step *all = NULL;
	uint32_t n = 0, cap = 0;

	for (uint32_t i = 0; i < ts->n_streams; i++) {
		const struct tl_stream *st = timeline_stream_n(tl, ts->streams[i]);

		for (uint32_t k = 0; st && k < st->n_roles; k++) {
			const struct tl_role *r = &st->roles[k];

			all = xgrow(all, n, &cap, sizeof *all);
			all[n++] = (struct step){ r->t, r->pkt, st->n, r->role, r->by };
		}
	}
	if (n)
		qsort(all, n, sizeof *all, cmp_steps);
	for (uint32_t i = 0; i < n; i++)
		step(c, tl, &all[i]);
	free(all);
}

void
changes_event(struct changes *c, const struct timeline *tl, const struct ev *e)
{
	step(c, tl, &(struct step){ e->t, e->pkt, e->stream, e->u.owner.to, e->u.owner.by });
}

uint32_t
changes_until(const struct changes *c, ns_t t)
{
	uint32_t lo = 0, hi = c->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->all[mid].t <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* How long after the request for `to` the stream `from` ended; false: not yet,
 * or not known. */
static bool
ended_after(const struct tl_stream *from, const struct tl_stream *to, ns_t *d)
{
	*d = 0;
	return from && to && !from->is_open &&
	    !__builtin_sub_overflow(from->ended, to->requested, d) && *d != INT64_MIN;
}

enum change_kind
change_kind(const struct timeline *tl, const struct change *ch)
{
	ns_t d;

	if (ch->to == 0)
		return CHANGE_LOST;
	if (ch->from == 0)
		return ch->after ? CHANGE_FREE : CHANGE_FIRST;
	if (!ended_after(timeline_stream_n(tl, ch->from), timeline_stream_n(tl, ch->to), &d))
		return ch->by == EV_BY_MESSAGE ? CHANGE_MESSAGE : CHANGE_TAKEOVER;
	if (d < 0)
		return CHANGE_FOLLOW;
	if (d <= MADE_WAY)
		return CHANGE_TAKEOVER;
	return ch->by == EV_BY_MESSAGE ? CHANGE_MESSAGE : CHANGE_INHERIT;
}

void
span_text(ns_t d, struct buf *b)
{
	double s = (double)d / NS_S;
	unsigned long long whole = d > 0 ? (unsigned long long)(d / NS_S) : 0;

	if (d < 10 * NS_MS)
		(void)buf_fmt(b, "%.1f ms", s * 1000);
	else if (d < NS_S)
		(void)buf_fmt(b, "%.0f ms", s * 1000);
	else if (d < 10 * NS_S)
		(void)buf_fmt(b, "%.2f s", s);
	else if (d < 120 * NS_S)
		(void)buf_fmt(b, "%.1f s", s);
	else if (whole < 7200)
		(void)buf_fmt(b, "%llu min %llu s", whole / 60, whole % 60);
	else
		(void)buf_fmt(b, "%llu h %llu min", whole / 3600, whole / 60 % 60);
}

const char *
end_by(enum ev_end end)
{
	switch (end) {
	case EV_COMPLETE:
		return "by the server";
	case EV_TRUNCATED:
		return "cut off";
	case EV_CLIENT:
		return "the client left";
	case EV_LOST:
		return "not captured how";
	case EV_OPEN:
		return "still open";
	}
	return "?";
}

static void
by_whom(const struct tl_stream *st, struct buf *b)
{
	if (st)
		(void)buf_fmt(b, " (%s)", end_by(st->end));
}

static void
lost_text(const struct timeline *tl, const struct change *ch, struct buf *b)
{
	const struct tl_stream *st = timeline_stream_n(tl, ch->from);

	if (ch->by == EV_BY_RESPONSE)
		(void)buf_fmt(b, "#%u turned out to carry an answer", ch->from);
	else {
		(void)buf_fmt(b, "#%u ended", ch->from);
		by_whom(st, b);
	}
	(void)buf_fmt(b, ": nobody owns the channel");
}

static void
gained_text(const struct timeline *tl, const struct change *ch, struct buf *b)
{
	uint32_t from = ch->from ? ch->from : ch->after;
	const struct tl_stream *f = timeline_stream_n(tl, from);
	bool known;
	ns_t d;

	known = ended_after(f, timeline_stream_n(tl, ch->to), &d);
	switch (change_kind(tl, ch)) {
	case CHANGE_FIRST:
		(void)buf_fmt(b, "GET #%u came first, owns the channel", ch->to);
		break;
	case CHANGE_FREE: case CHANGE_FOLLOW:
		(void)buf_fmt(b, "GET #%u took the free channel", ch->to);
		if (!known || d > 0)
			break;
		(void)buf_fmt(b, ", #%u had ended ", from);
		span_text(-d, b);
		(void)buf_fmt(b, " before");
		by_whom(f, b);
		break;
	case CHANGE_TAKEOVER:
		(void)buf_fmt(b, "GET #%u took over, #%u ", ch->to, from);
		if (!known) {
			(void)buf_fmt(b, "stays open");
			break;
		}
		(void)buf_fmt(b, "ended ");
		span_text(d, b);
		(void)buf_fmt(b, " later");
		if (f->end != EV_COMPLETE)
			by_whom(f, b);
		break;
	case CHANGE_INHERIT:
		(void)buf_fmt(b, "#%u inherits: #%u ended", ch->to, from);
		by_whom(f, b);
		break;
	case CHANGE_MESSAGE:
		(void)buf_fmt(b, "message on #%u: it took over, #%u stays open", ch->to, from);
		break;
	case CHANGE_LOST:
		break;
	}
}

void
change_text(const struct timeline *tl, const struct change *ch, struct buf *b)
{
	if (ch->to == 0) {
		lost_text(tl, ch, b);
		return;
	}
	gained_text(tl, ch, b);
	if (ch->proven == 0)
		(void)buf_fmt(b, "; presumed");
	else if (ch->proven != ch->pkt)
		(void)buf_fmt(b, "; proven by packet %u", ch->proven);
}
