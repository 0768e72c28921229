#include "lanes_draw.h"

#include <stdio.h>
#include <string.h>

#define LATEST (1LL << 62)
#define MAX_COLUMNS 1000
#define LABEL 14		/* columns between two times of the scale, */
#define LABEL_S 10		/* and when they are whole seconds */

/* What a column shows, by what matters more. */
enum rank { R_NONE, R_LINE, R_WORD, R_MARK, R_ROLE, R_END, R_OPEN };

struct row {
	struct grid *g;
	int y;
	const struct window *w;
	uint8_t rank[MAX_COLUMNS];
};

enum glyph
role_glyph(enum ev_role role)
{
	switch (role) {
	case EV_PRESUMED:
		return GLYPH_PRESUMED;
	case EV_PRIMARY:
		return GLYPH_PRIMARY;
	case EV_SHADOW:
		return GLYPH_SHADOW;
	case EV_ORPHAN:
		return GLYPH_ORPHAN;
	case EV_REQUEST_STREAM:
		return GLYPH_LANE_IDLE;
	case EV_CLOSED:
		return GLYPH_CLOSED;
	}
	return GLYPH_CLOSED;
}

unsigned
role_style(enum ev_role role)
{
	switch (role) {
	case EV_PRESUMED: case EV_PRIMARY:
		return STYLE_PRIMARY;
	case EV_SHADOW:
		return STYLE_SHADOW;
	case EV_ORPHAN:
		return STYLE_ORPHAN;
	case EV_REQUEST_STREAM:
		return STYLE_PLAIN;
	case EV_CLOSED:
		return STYLE_DIM;
	}
	return STYLE_DIM;
}

const char *
role_word(enum ev_role role)
{
	switch (role) {
	case EV_PRESUMED:
		return "presumed";
	case EV_PRIMARY:
		return "primary";
	case EV_SHADOW:
		return "shadow";
	case EV_ORPHAN:
		return "orphan";
	case EV_REQUEST_STREAM:
		return "answer";
	case EV_CLOSED:
		return "closed";
	}
	return "closed";
}

ns_t
time_within(ns_t t)
{
	return t < 0 ? 0 : t > LATEST ? LATEST : t;
}

int
window_column(const struct window *w, ns_t t)
{
	ns_t d = time_within(t) - w->t0;

	if (d < 0)
		return -1;
	return d / w->step < w->w ? (int)(d / w->step) : w->w;
}

ns_t
window_time(const struct window *w, int column)
{
	return w->step > LATEST / 2 / MAX_COLUMNS ? w->t0 : w->t0 + column * w->step;
}

static int
columns(const struct window *w)
{
	return w->w < MAX_COLUMNS ? w->w : MAX_COLUMNS;
}

/* ---- the scale ---- */

static ns_t
nice(ns_t least)
{
	static const ns_t above[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
	    7200, 14400, 43200, 86400 };
	ns_t unit = NS_US;

	for (; unit < NS_S; unit *= 10)
		for (int m = 1; m <= 5; m += m == 1 ? 1 : 3)
			if (unit * m >= least)
				return unit * m;
	for (size_t i = 0; i < sizeof above / sizeof above[0]; i++)
		if (above[i] * NS_S >= least)
			return above[i] * NS_S;
	return (least / (86400 * NS_S) + 1) * 86400 * NS_S;
}

void
scale_draw(const struct tui *t, struct grid *g, int y, const struct window *w)
{
	ns_t tick, base = time_within(tui_first(t)), at;
	int n = columns(w), x;
	char text[24];

	if (w->step > LATEST / 2 / MAX_COLUMNS)
		return;
	tick = nice(w->step * LABEL_S);
	if (tick % NS_S)
		tick = nice(w->step * LABEL);
	/* Times of day are round ones, others count from the first packet. */
	tui_time(t, base, 0, text);
	if (strchr(text, ':'))
		base = 0;
	at = base + (w->t0 - base) / tick * tick;
	if (at < w->t0)
		at += tick;
	grid_fill(g, y, w->x, n, STYLE_BORDER, GLYPH_HLINE);
	for (; at <= LATEST && (x = window_column(w, at)) < n; at += tick) {
		grid_glyph(g, y, w->x + x, STYLE_BORDER, GLYPH_TEE_UP);
		tui_time(t, at, at - tick, text);
		if (tick % NS_S == 0 && strlen(text) > 4 &&
		    strcmp(text + strlen(text) - 4, ".000") == 0)
			text[strlen(text) - 4] = '\0';
		if (x + 1 + (int)strlen(text) <= n)
			(void)grid_text(g, y, w->x + x + 1, n - x - 1, STYLE_DIM, str_c(text));
	}
}

/* ---- one lane ---- */

static void
put(struct row *r, int x, enum rank rank, unsigned style, enum glyph glyph)
{
	if (x < 0 || x >= columns(r->w) || r->rank[x] > rank)
		return;
	r->rank[x] = (uint8_t)rank;
	grid_glyph(r->g, r->y, r->w->x + x, style, glyph);
}

static int
inside(const struct row *r, int x)
{
	return x < 0 ? 0 : x > columns(r->w) ? columns(r->w) : x;
}

/* A word where there is nothing but the line. */
static void
word(struct row *r, int from, int to, unsigned style, const char *text)
{
	int n = (int)strlen(text), x = from;

	for (; x < to && x - from < n + 2 && r->rank[x] == R_LINE; x++)
		;
	if (x - from < n + 2)
		return;
	for (x = from; x < from + n; x++)
		r->rank[x] = R_WORD;
	(void)grid_text(r->g, r->y, r->w->x + from, n, style, str_c(text));
}

/* Thick where it owns the channel for certain; an orphan's line has holes. */
static void
line(struct row *r, int from, int to, enum ev_role role)
{
	unsigned style = role_style(role);

	from = inside(r, from);
	to = inside(r, to);
	for (int x = from; x < to; x++)
		if (role != EV_ORPHAN || (x - from) % 2 == 0)
			put(r, x, R_LINE, style,
			    role == EV_PRIMARY ? GLYPH_LANE : GLYPH_LANE_IDLE);
		else if (r->rank[x] == R_NONE)
			r->rank[x] = R_LINE;
}

static ns_t
end_of(const struct tl_stream *st, const struct window *w)
{
	ns_t end = st->is_open ? w->now : st->ended;

	return time_within(end < w->now ? end : w->now);
}

static void
roles(struct row *r, const struct tl_stream *st, int to)
{
	int first = window_column(r->w, st->opened);

	for (uint32_t i = 0; i < st->n_roles && st->roles[i].t <= r->w->now; i++) {
		enum ev_role role = st->roles[i].role;
		int a = window_column(r->w, st->roles[i].t), b = to;

		if (i + 1 < st->n_roles && st->roles[i + 1].t <= r->w->now)
			b = window_column(r->w, st->roles[i + 1].t);
		if (b > to)
			b = to;
		if (role == EV_CLOSED)
			break;
		line(r, a, b, role);
		if (a == first)
			a++;		/* there it opens */
		if (role != EV_REQUEST_STREAM && (a < b || i + 1 == st->n_roles))
			put(r, a, R_ROLE, role_style(role), role_glyph(role));
	}
}

static void
end_mark(struct row *r, const struct tl_stream *st, int x)
{
	switch (st->end) {
	case EV_COMPLETE:
		put(r, x, R_END, STYLE_SERVER, GLYPH_CLOSE_SERVER);
		break;
	case EV_CLIENT:
		put(r, x, R_END, STYLE_CLIENT, GLYPH_CLOSE_CLIENT);
		break;
	case EV_TRUNCATED: case EV_LOST:
		put(r, x, R_END, STYLE_ERROR, GLYPH_CUT);
		break;
	case EV_OPEN:
		break;
	}
}

static void
stream(struct row *r, const struct tl_stream *st, bool post)
{
	int from = window_column(r->w, st->opened), to = window_column(r->w, end_of(st, r->w));
	bool ended = !st->is_open && st->ended <= r->w->now;

	if (post || st->n_roles == 0)
		line(r, from, ended ? to : to + 1, EV_REQUEST_STREAM);
	else
		roles(r, st, ended ? to : to + 1);
	if (ended)
		end_mark(r, st, to);
	put(r, from, post ? R_ROLE : R_OPEN, STYLE_PLAIN, GLYPH_OPEN);
}

static void
marks(struct row *r, const struct lane *l)
{
	static const struct {
		enum glyph glyph;
		unsigned style;
	} looks[] = {
		[MARK_KEEPALIVE] = { GLYPH_KEEPALIVE, STYLE_DIM },
		[MARK_EVENT] = { GLYPH_EVENT, STYLE_PLAIN },
		[MARK_REPLAY] = { GLYPH_REPLAY, STYLE_WARNING },
		[MARK_REFUSED] = { GLYPH_REFUSED, STYLE_ERROR },
	};
	const struct window *w = r->w;

	for (int x = 0; l->n_marks && x < columns(w); x++) {
		ns_t from = window_time(w, x), to = window_time(w, x + 1);
		const struct mark *m;

		if (from > w->now)
			break;
		m = lane_mark(l, from, to <= w->now ? to : w->now + 1);
		if (m)
			put(r, x, R_MARK, looks[m->kind].style, looks[m->kind].glyph);
	}
}

/* Numbers of streams and the word for an orphan, where there is room. */
static void
words(struct row *r, const struct tl_stream *st)
{
	int from = window_column(r->w, st->opened), to = window_column(r->w, end_of(st, r->w));
	char text[16];

	(void)snprintf(text, sizeof text, "#%u", st->n);
	word(r, inside(r, from + 2), inside(r, to), STYLE_PLAIN, text);
	for (uint32_t i = 0; i < st->n_roles && st->roles[i].t <= r->w->now; i++)
		if (st->roles[i].role == EV_ORPHAN)
			word(r, inside(r, window_column(r->w, st->roles[i].t) + 1),
			    inside(r, to), STYLE_ORPHAN, "orphan");
}

void
lane_draw(const struct lane *l, const struct timeline *tl, struct grid *g, int y,
    const struct window *w)
{
	struct row r = { .g = g, .y = y, .w = w };
	uint32_t from = lane_stream_from(l, tl, w->t0);
	ns_t end = window_time(w, columns(w));
	const struct tl_stream *st;

	for (uint32_t i = from; i < l->n_streams; i++) {
		st = timeline_stream_n(tl, l->streams[i]);
		if (st && (st->opened >= end || st->opened > w->now))
			break;
		if (st && (st->is_open || st->ended >= w->t0))
			stream(&r, st, l->kind == LANE_POST);
	}
	marks(&r, l);
	for (uint32_t i = from; l->kind == LANE_LISTENER && i < l->n_streams; i++) {
		st = timeline_stream_n(tl, l->streams[i]);
		if (st && (st->opened >= end || st->opened > w->now))
			break;
		if (st)
			words(&r, st);
	}
}

/* ---- takeovers ---- */

static int
row_of(const struct lanes *ls, const struct timeline *tl, const struct rows *rows,
    uint32_t of)
{
	uint32_t at = lanes_of(ls, tl, of);

	if (at == UINT32_MAX || at < rows->top ||
	    at - rows->top > (uint32_t)(rows->rows - 1) / (uint32_t)rows->pitch)
		return -1;
	return rows->y + (int)(at - rows->top) * rows->pitch;
}

void
takeovers_draw(const struct changes *c, const struct lanes *ls, const struct timeline *tl,
    struct grid *g, const struct rows *rows, const struct window *w)
{
	for (int x = 0; x < columns(w) && rows->rows > 0; x++) {
		ns_t to = window_time(w, x + 1);
		uint32_t i = changes_until(c, to <= w->now ? to - 1 : w->now);
		const struct change *ch = i ? &c->all[i - 1] : NULL;
		int a, b;

		if (ch == NULL || ch->t < window_time(w, x) || ch->to == 0 || ch->from == 0)
			continue;
		b = row_of(ls, tl, rows, ch->to);
		if (b < 0)
			continue;
		grid_glyph(g, b, w->x + x, STYLE_WARNING, GLYPH_TAKEOVER);
		a = row_of(ls, tl, rows, ch->from);
		for (int y = (a < b ? a : b) + 1; a >= 0 && y < (a < b ? b : a); y++) {
			const struct cell *cell = grid_at(g, y, w->x + x);

			if (cell && cell->ch == ' ')
				grid_glyph(g, y, w->x + x, STYLE_WARNING, GLYPH_VLINE);
		}
	}
}
