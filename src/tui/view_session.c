/* A session: its streams over time, and who took the channel from whom. */
#include <limits.h>
#include <stdlib.h>

#include "lanes_draw.h"
#include "mcpdiag/xmem.h"

#define AUTO_STEP NS_S		/* a column is not more by itself */
#define MAX_STEP (86400 * NS_S)
#define MIN_STEP NS_US
#define LINGER (10 * NS_S)
#define MAX_TEXT 4096

enum fit {
	FIT_AUTO,		/* all of it, but no more than a second a column */
	FIT_ALL,
	FIT_HAND,		/* as zoomed and moved by keys */
};

struct session_view {
	struct view v;
	struct lanes lanes;
	struct changes changes;
	struct list lane_list, change_list;
	bool in_changes;		/* the keys go to the changes */
	bool moved;			/* the cursor of the lanes, by a key */
	enum fit fit;
	struct window w;		/* as drawn last */
	struct rows rows;
	struct area list_area;
	int top;			/* first row of the view */
	uint64_t gone;			/* lanes, as drawn last */
};

static const struct tl_session *
session_of(const struct session_view *s)
{
	return timeline_session_n(tui_timeline(s->v.tui), s->v.session);
}

/* ---- time ---- */

/* What is newer does not show: all that is known, unless the screen stands
 * still. */
static ns_t
latest(const struct session_view *s)
{
	const struct tl_session *ts = session_of(s);
	ns_t now = time_within(tui_now(s->v.tui));

	if (tui_paused(s->v.tui) || ts == NULL)
		return now;
	return time_within(ts->closed) > now ? time_within(ts->closed) : now;
}

static bool
any_open(const struct session_view *s)
{
	const struct tl_session *ts = session_of(s);
	const struct tl_stream *st;

	/* The newest are most likely to be open. */
	for (uint32_t i = ts ? ts->n_streams : 0; i > 0; i--)
		if ((st = timeline_stream_n(tui_timeline(s->v.tui), ts->streams[i - 1])) &&
		    st->is_open)
			return true;
	return ts == NULL;
}

/* The right edge: what is over does not run out of sight, though while it is
 * followed the pause after it may be that of a client that comes back. */
static ns_t
last_shown(const struct session_view *s, ns_t now)
{
	const struct tl_session *ts = session_of(s);
	ns_t end, span, linger;

	if (any_open(s))
		return now;
	end = time_within(ts->closed);
	span = s->fit == FIT_HAND ? s->w.step * s->w.w : end - time_within(ts->opened);
	linger = span / 4 < LINGER ? span / 4 : LINGER;
	if (tui_following(s->v.tui) && linger > 0)
		end += linger;
	return end < now ? end : now;
}

static ns_t
step_within(ns_t step)
{
	return step < MIN_STEP ? MIN_STEP : step > MAX_STEP ? MAX_STEP : step;
}

static void
place_window(struct session_view *s, int x, int w)
{
	const struct tl_session *ts = session_of(s);
	ns_t now = latest(s), end = last_shown(s, now);
	ns_t first = time_within(ts ? ts->opened : tui_first(s->v.tui));
	int cols = w > 1 ? w - 1 : 1;

	s->w.x = x;
	s->w.w = w > 0 ? w : 0;
	s->w.now = now;
	if (s->fit == FIT_HAND) {
		if (tui_following(s->v.tui))
			s->w.t0 = time_within(end - s->w.step * cols);
		return;
	}
	s->w.step = end > first ? (end - first) / cols + 1 : MIN_STEP;
	if (s->w.step < MIN_STEP)
		s->w.step = MIN_STEP;
	s->w.t0 = first;
	if (s->fit == FIT_AUTO && s->w.step > AUTO_STEP) {
		s->w.step = AUTO_STEP;
		s->w.t0 = time_within(end - AUTO_STEP * cols);
	}
}

/* The time under the middle, or the newest, stays where it is. */
static void
zoom(struct session_view *s, bool in)
{
	ns_t old = s->w.step, mid;

	if (s->w.w == 0)
		return;
	s->w.step = step_within(in ? old / 2 : old * 2);
	mid = s->w.t0 + old * (s->w.w / 2);
	s->w.t0 = time_within(mid - s->w.step * (s->w.w / 2));
	s->fit = FIT_HAND;
}

static void
pan(struct session_view *s, int dir)
{
	ns_t by = s->w.step * (s->w.w > 8 ? s->w.w / 8 : 1), last;

	s->fit = FIT_HAND;
	tui_follow(s->v.tui, false);
	s->w.t0 = time_within(s->w.t0 + dir * by);
	last = time_within(s->w.now - s->w.step * (s->w.w / 2));
	if (s->w.t0 > last)
		s->w.t0 = last;
}

/* ---- the lines above ---- */

static void
time_at(const struct session_view *s, ns_t t, struct buf *b)
{
	char text[24];

	/* In any mode since the start, or of the day: there is no row above. */
	tui_time(s->v.tui, t, tui_first(s->v.tui), text);
	(void)buf_adds(b, str_c(text));
}

static const struct change *
last_change(const struct session_view *s)
{
	uint32_t n = changes_until(&s->changes, s->w.now);

	return n ? &s->changes.all[n - 1] : NULL;
}

static void
owner_text(const struct session_view *s, struct buf *b, enum ev_role *role)
{
	const struct timeline *tl = tui_timeline(s->v.tui);
	const struct change *ch = last_change(s);
	const struct tl_stream *st = ch ? timeline_stream_n(tl, ch->to) : NULL;

	*role = EV_CLOSED;
	if (s->v.session == 0) {
		(void)buf_fmt(b, "nobody: without a session there is no common channel");
		return;
	}
	if (ch == NULL) {
		(void)buf_fmt(b, "nobody: no GET stream so far");
		return;
	}
	if (st)
		(void)stream_role(st, s->w.now, role);
	if (ch->to == 0)
		(void)buf_fmt(b, "nobody");
	else
		(void)buf_fmt(b, "GET #%u, %s,", ch->to,
		    st ? role_word(*role) : "no longer known");
	(void)buf_fmt(b, " since ");
	time_at(s, ch->t, b);
	if (s->w.now > ch->t) {
		(void)buf_fmt(b, " (");
		span_text(s->w.now - time_within(ch->t), b);
		(void)buf_addc(b, ')');
	}
}

static void
draw_owner(const struct session_view *s, struct grid *g, struct area a)
{
	enum ev_role role;
	struct buf b;
	int x = a.x;

	buf_init(&b, MAX_TEXT);
	owner_text(s, &b, &role);
	x += grid_text(g, a.y, x, a.w, STYLE_DIM, STR("owner "));
	grid_glyph(g, a.y, x, role_style(role), role_glyph(role));
	(void)grid_text(g, a.y, x + 2, a.x + a.w - x - 2,
	    role == EV_CLOSED ? STYLE_WARNING : STYLE_BOLD, buf_str(&b));
	buf_fini(&b);
}

static void
draw_last(const struct session_view *s, struct grid *g, struct area a)
{
	const struct change *ch = last_change(s);
	struct buf b;
	int x = a.x;

	if (ch == NULL)
		return;
	buf_init(&b, MAX_TEXT);
	change_text(tui_timeline(s->v.tui), ch, &b);
	x += grid_text(g, a.y, x, a.w, STYLE_DIM, STR("last  "));
	if (ch->from && ch->to)
		grid_glyph(g, a.y, x, STYLE_WARNING, GLYPH_TAKEOVER);
	(void)grid_text(g, a.y, x + 2, a.x + a.w - x - 2, STYLE_PLAIN, buf_str(&b));
	buf_fini(&b);
}

/* ---- beside a lane ---- */

static const struct tl_stream *
newest(const struct session_view *s, const struct lane *l)
{
	const struct tl_stream *st;

	for (uint32_t i = l->n_streams; i > 0; i--) {
		st = timeline_stream_n(tui_timeline(s->v.tui), l->streams[i - 1]);
		if (st && st->opened <= s->w.now)
			return st;
	}
	return NULL;
}

static uint32_t
n_streams(const struct session_view *s, const struct lane *l)
{
	return lane_streams_until(l, tui_timeline(s->v.tui), s->w.now);
}

/* What a lane is called, also for the search. */
static enum ev_role
label_text(const struct session_view *s, const struct lane *l, struct buf *b)
{
	const struct tl_stream *st = newest(s, l);
	enum ev_role role = EV_CLOSED;

	switch (l->kind) {
	case LANE_POST:
		(void)buf_fmt(b, "POST     %u stream%s", n_streams(s, l),
		    n_streams(s, l) == 1 ? "" : "s");
		return EV_REQUEST_STREAM;
	case LANE_REFUSED:
		(void)buf_fmt(b, "refused  %u (%u)",
		    lane_marks_until(l, s->w.now), l->status);
		return EV_CLOSED;
	case LANE_LISTENER:
		break;
	}
	if (st == NULL) {
		(void)buf_fmt(b, "forgotten");
		return EV_CLOSED;
	}
	if (stream_role(st, s->w.now, &role))
		(void)buf_fmt(b, "%-8s #%-4u L%u", role_word(role), st->n, l->lineage);
	else {
		role = st->is_open || st->ended > s->w.now ? EV_REQUEST_STREAM : EV_CLOSED;
		(void)buf_fmt(b, "%-8s #%-4u", ev_kind_names[st->kind], st->n);
	}
	return role;
}

static void
draw_label(const struct session_view *s, const struct lane *l, struct grid *g, int y, int x,
    int w)
{
	enum ev_role role;
	enum glyph glyph;
	struct buf b;

	buf_init(&b, MAX_TEXT);
	role = label_text(s, l, &b);
	glyph = l->kind == LANE_REFUSED ? GLYPH_REFUSED : role_glyph(role);
	grid_glyph(g, y, x, role_style(role), glyph);
	(void)grid_text(g, y, x + 2, w - 3, role_style(role), buf_str(&b));
	buf_fini(&b);
}

static void
cursor_text(const struct cursor *c, struct buf *b)
{
	if (c == NULL)
		(void)buf_fmt(b, "?");
	else if (c->n == 0)
		(void)buf_fmt(b, "none");
	else {
		(void)buf_addc(b, '"');
		(void)buf_add(b, c->text, c->n);
		(void)buf_fmt(b, c->cut ? "...\"" : "\"");
	}
}

/* What its client had been given when it asked, and what it said it had. */
static bool
cursors_text(const struct lane *l, const struct tl_stream *st, struct buf *b)
{
	const struct cursor *held = lane_held(l, st->n);
	struct str sent = str_c(st->cursor);
	bool wrong = held && !held->cut && sent.p &&
	    !str_eq(sent, str_of(held->text, held->n));

	if (sent.p == NULL && held == NULL) {
		(void)buf_fmt(b, "no cursor");
		return false;
	}
	(void)buf_fmt(b, "held ");
	cursor_text(held, b);
	(void)buf_fmt(b, ", sent ");
	if (sent.p == NULL)
		(void)buf_fmt(b, "none");
	else {
		(void)buf_addc(b, '"');
		(void)buf_add(b, sent.p, sent.n < LANES_CURSOR ? sent.n : LANES_CURSOR);
		(void)buf_fmt(b, sent.n > LANES_CURSOR ? "...\"" : "\"");
	}
	if (sent.p == NULL && held && held->n) {
		(void)buf_fmt(b, ": not resumed");
		return false;
	}
	if (wrong)
		(void)buf_fmt(b, ": another one");
	return wrong;
}

static void
counts_text(const struct session_view *s, const struct lane *l, const struct tl_stream *st,
    struct buf *b)
{
	uint32_t n = n_streams(s, l);

	(void)buf_fmt(b, "%u ev, %u ka", st->events, st->comments);
	if (n > 1)
		(void)buf_fmt(b, ", %u streams", n);
}

static void
draw_side(const struct session_view *s, const struct lane *l, struct grid *g, int y, int x,
    int w)
{
	const struct tl_stream *st = newest(s, l);
	unsigned style = STYLE_DIM;
	struct buf b;

	if (st == NULL || l->kind != LANE_LISTENER)
		return;
	buf_init(&b, MAX_TEXT);
	if (cursors_text(l, st, &b))
		style = STYLE_WARNING;
	(void)buf_fmt(&b, "; ");
	counts_text(s, l, st, &b);
	(void)grid_text(g, y, x + 1, w - 1, style, buf_str(&b));
	buf_fini(&b);
}

/* ---- the lane of the cursor, in two rows ---- */

static void
detail_listener(const struct session_view *s, const struct lane *l, struct buf *b,
    struct buf *more)
{
	const struct tl_stream *st = newest(s, l);

	if (st == NULL)
		return;
	(void)buf_fmt(b, "#%u %s, packet %u: ", st->n, ev_kind_names[st->kind], st->pkt);
	(void)cursors_text(l, st, b);
	if (!st->is_open && st->ended <= s->w.now)
		(void)buf_fmt(b, "; ended %s", end_by(st->end));
	(void)buf_fmt(more, "listener %u: ", l->lineage);
	counts_text(s, l, st, more);
	if (st->is_open && l->held.known && !tui_paused(s->v.tui)) {
		(void)buf_fmt(more, "; holds ");
		cursor_text(&l->held, more);
		(void)buf_fmt(more, " now");
	}
	if (st->retry_ms >= 0) {
		(void)buf_fmt(more, "; retry ");
		span_text(st->retry_ms < LLONG_MAX / NS_MS ? st->retry_ms * NS_MS : 0, more);
	}
	if (st->previous && st->delay_ms >= 0) {
		(void)buf_fmt(more, "; back ");
		span_text(st->delay_ms < LLONG_MAX / NS_MS ? st->delay_ms * NS_MS : 0, more);
		(void)buf_fmt(more, " after #%u ended", st->previous);
	}
}

static void
draw_detail(const struct session_view *s, struct grid *g, struct area a)
{
	const struct lane *l;
	struct buf b, more;

	if (a.h < 1 || s->lane_list.at >= s->lanes.n)
		return;
	l = s->lanes.all[s->lane_list.at];
	buf_init(&b, MAX_TEXT);
	buf_init(&more, MAX_TEXT);
	switch (l->kind) {
	case LANE_LISTENER:
		detail_listener(s, l, &b, &more);
		break;
	case LANE_POST:
		(void)buf_fmt(&b, "streams that answered POSTs: %u", n_streams(s, l));
		break;
	case LANE_REFUSED:
		(void)buf_fmt(&b, "GETs that got no stream: %u, the last one %u",
		    lane_marks_until(l, s->w.now), l->status);
		break;
	}
	if (s->lanes.forgot)
		(void)buf_fmt(&more, "%solder events are not shown", more.n ? "; " : "");
	(void)grid_text(g, a.y, a.x, a.w, STYLE_PLAIN, buf_str(&b));
	if (a.h > 1)
		(void)grid_text(g, a.y + 1, a.x, a.w, STYLE_DIM, buf_str(&more));
	buf_fini(&b);
	buf_fini(&more);
}

/* ---- lanes and changes ---- */

static void
draw_lanes(struct session_view *s, struct grid *g, struct area a, int label, int side)
{
	const struct timeline *tl = tui_timeline(s->v.tui);
	uint32_t shown = (uint32_t)(a.h + s->rows.pitch - 1) / (uint32_t)s->rows.pitch;

	list_show(&s->lane_list, (int)shown);
	s->rows.y = a.y;
	s->rows.rows = a.h;
	s->rows.top = s->lane_list.top;
	for (uint32_t i = 0; i < shown && s->lane_list.top + i < s->lane_list.n; i++) {
		const struct lane *l = s->lanes.all[s->lane_list.top + i];
		int y = a.y + (int)i * s->rows.pitch;

		lane_draw(l, tl, g, y, &s->w);
		draw_label(s, l, g, y, a.x, label);
		if (side)
			draw_side(s, l, g, y, a.x + a.w - side, side);
	}
	takeovers_draw(&s->changes, &s->lanes, tl, g, &s->rows, &s->w);
	if (s->lane_list.n)
		grid_mark(g, a.y + (int)(s->lane_list.at - s->lane_list.top) * s->rows.pitch,
		    a.x, s->in_changes ? label : a.w, STYLE_SELECTED);
}

static void
draw_rule(const struct session_view *s, struct grid *g, struct area a)
{
	uint32_t n = s->change_list.n;
	int x = a.x + 2;

	grid_fill(g, a.y, a.x, a.w, STYLE_BORDER, GLYPH_HLINE);
	x += grid_fmt(g, a.y, x, a.w - 4, STYLE_TITLE, " %u change%s of owner ", n,
	    n == 1 ? "" : "s");
	if (s->changes.forgot)
		(void)grid_fmt(g, a.y, x, a.x + a.w - x, STYLE_WARNING,
		    "(%llu older ones no longer kept) ", (unsigned long long)s->changes.forgot);
}

static void
draw_changes(struct session_view *s, struct grid *g, struct area a)
{
	const struct timeline *tl = tui_timeline(s->v.tui);
	struct buf b;

	s->list_area = a;
	list_show(&s->change_list, a.h);
	buf_init(&b, MAX_TEXT);
	for (int i = 0; i < a.h && s->change_list.top + (uint32_t)i < s->change_list.n; i++) {
		uint32_t at = s->change_list.top + (uint32_t)i;
		const struct change *ch = &s->changes.all[at];
		char text[24];
		int x = a.x;

		tui_time(s->v.tui, ch->t, at ? ch[-1].t : 0, text);
		x += grid_fmt(g, a.y + i, x, a.w, STYLE_DIM, "%12s %6u ", text, ch->pkt);
		grid_glyph(g, a.y + i, x, ch->to ? STYLE_WARNING : STYLE_ERROR,
		    ch->to == 0 ? GLYPH_CLOSED : ch->from ? GLYPH_TAKEOVER : GLYPH_OPEN);
		buf_clear(&b);
		change_text(tl, ch, &b);
		(void)grid_text(g, a.y + i, x + 2, a.x + a.w - x - 2, STYLE_PLAIN, buf_str(&b));
		if (at == s->change_list.at && s->in_changes)
			grid_mark(g, a.y + i, a.x, a.w, STYLE_SELECTED);
	}
	buf_fini(&b);
}

/* The cursor of the changes stays at the newest, that of the lanes with the
 * owner, until keys move them. */
static void
place_cursors(struct session_view *s)
{
	bool at_end = s->change_list.n == 0 || s->change_list.at + 1 >= s->change_list.n;
	const struct change *ch;
	uint32_t at;

	/* The cursor stays on its lane while older ones go. */
	if (s->gone != s->lanes.gone) {
		uint64_t by = s->lanes.gone - s->gone;

		s->lane_list.at = by < s->lane_list.at ? s->lane_list.at - (uint32_t)by : 0;
		s->gone = s->lanes.gone;
	}
	s->change_list.n = changes_until(&s->changes, s->w.now);
	s->lane_list.n = lanes_until(&s->lanes, s->w.now);
	if ((at_end || !s->in_changes) && s->change_list.n && !tui_paused(s->v.tui))
		s->change_list.at = s->change_list.n - 1;
	ch = last_change(s);
	at = ch ? lanes_of(&s->lanes, tui_timeline(s->v.tui), ch->to ? ch->to : ch->from) :
	    UINT32_MAX;
	if (!s->moved && at < s->lane_list.n)
		s->lane_list.at = at;
}

/* How many rows each part gets; what is not worth it in a small area is 0. */
struct layout { int owner, last, scale, lanes, detail, rule, list; };

static void
lay_out(struct session_view *s, struct area a, struct layout *o)
{
	int left, want, list, n = s->lane_list.n < 500 ? (int)s->lane_list.n : 500;
	int changes = s->change_list.n < 500 ? (int)s->change_list.n : 500;

	*o = (struct layout){ .owner = a.h >= 1, .last = a.h >= 12, .scale = a.h >= 5,
	    .detail = a.h >= 16 ? 2 : a.h >= 10, .rule = a.h >= 8 };
	left = a.h - o->owner - o->last - o->scale - o->detail - o->rule;
	list = o->rule ? (changes < left / 2 ? changes : left / 2) : 0;
	if (list < 1)
		list = o->rule;
	/* A row between lanes shows what joins them. */
	s->rows.pitch = 2 * n - 1 <= left - list && n > 1 ? 2 : 1;
	want = n * s->rows.pitch - (s->rows.pitch - 1);
	o->lanes = want < left - list ? want : left - list;
	if (o->lanes < 1)
		o->lanes = left > 0;
	o->list = o->rule ? left - o->lanes : 0;
}

static struct area
cut_rows(struct area *a, int h)
{
	struct area top = { a->y, a->x, h, a->w };

	a->y += h;
	a->h -= h;
	return top;
}

static void
session_draw(struct view *v, struct grid *g, struct area a)
{
	struct session_view *s = (struct session_view *)v;
	int label = a.w >= 100 ? 24 : a.w >= 60 ? 21 : a.w >= 36 ? 11 : 2;
	int side = a.w >= 150 ? 52 : 0;
	struct layout o;
	struct area part;

	s->top = a.y;
	place_window(s, a.x + label, a.w - label - side);
	place_cursors(s);
	lay_out(s, a, &o);
	if (o.owner)
		draw_owner(s, g, cut_rows(&a, 1));
	if (o.last)
		draw_last(s, g, cut_rows(&a, 1));
	if (o.scale)
		scale_draw(v->tui, g, cut_rows(&a, 1).y, &s->w);
	part = cut_rows(&a, o.lanes);
	draw_lanes(s, g, part, label, side);
	if (s->lane_list.n == 0 && o.lanes)
		(void)grid_text(g, part.y, part.x, part.w, STYLE_DIM,
		    STR("no event stream so far"));
	draw_detail(s, g, cut_rows(&a, o.detail));
	if (o.rule)
		draw_rule(s, g, cut_rows(&a, 1));
	draw_changes(s, g, cut_rows(&a, o.list));
}

/* ---- keys ---- */

/* Events since the screen was drawn may have made room for themselves. */
static void
shrink_lists(struct session_view *s)
{
	if (s->lane_list.n > s->lanes.n)
		s->lane_list.n = s->lanes.n;
	if (s->change_list.n > s->changes.n)
		s->change_list.n = s->changes.n;
}

static void
open_ladder(struct session_view *s)
{
	const struct tl_stream *st;
	const struct lane *l;
	uint32_t pkt = 0;

	if (s->in_changes && s->change_list.at < s->change_list.n)
		pkt = s->changes.all[s->change_list.at].pkt;
	else if (!s->in_changes && s->lane_list.at < s->lane_list.n) {
		l = s->lanes.all[s->lane_list.at];
		st = newest(s, l);
		pkt = st ? st->request_pkt ? st->request_pkt : st->pkt :
		    l->n_marks ? l->marks[l->n_marks - 1].pkt : 0;
	}
	tui_push(s->v.tui, view_ladder_new(s->v.tui, s->v.session, pkt));
}

/* A row that the cursor is on already is opened. */
static bool
click(struct session_view *s)
{
	int y, x;

	tui_click(s->v.tui, &y, &x);
	y += s->top;
	if (y >= s->list_area.y && s->list_area.h > 0) {
		bool there = s->in_changes;

		s->in_changes = true;
		if (list_click(&s->change_list, y - s->list_area.y) && there)
			open_ladder(s);
	} else if (y >= s->rows.y && y < s->rows.y + s->rows.rows) {
		bool there = !s->in_changes;

		s->in_changes = false;
		s->moved = true;
		if (list_click(&s->lane_list, (y - s->rows.y) / s->rows.pitch) && there)
			open_ladder(s);
	}
	return true;
}

static bool
session_key(struct view *v, uint32_t key)
{
	struct session_view *s = (struct session_view *)v;

	shrink_lists(s);
	switch (key) {
	case '+': case '=':
		zoom(s, true);
		return true;
	case '-': case '_':
		zoom(s, false);
		return true;
	case '0':
		s->fit = FIT_ALL;
		return true;
	case TUI_LEFT: case 'h':
		pan(s, -1);
		return true;
	case TUI_RIGHT: case 'l':
		pan(s, 1);
		return true;
	case TUI_TAB: case TUI_BACKTAB:
		s->in_changes = !s->in_changes;
		return true;
	case TUI_ENTER:
		open_ladder(s);
		return true;
	case 'x': case TUI_F4:
		tui_push(v->tui, view_ladder_new(v->tui, v->session, 0));
		return true;
	case TUI_CLICK:
		return click(s);
	}
	if (s->in_changes)
		return list_key(&s->change_list, key);
	if (!list_key(&s->lane_list, key))
		return false;
	s->moved = true;
	return true;
}

static void
session_event(struct view *v, const struct ev *e)
{
	struct session_view *s = (struct session_view *)v;
	const struct timeline *tl = tui_timeline(v->tui);

	if (e->session != v->session)
		return;
	lanes_event(&s->lanes, tl, e);
	if (e->type == EV_OWNER)
		changes_event(&s->changes, tl, e);
}

static bool
row_matches(struct session_view *s, uint32_t at, struct str what)
{
	struct buf b;
	bool yes;

	buf_init(&b, MAX_TEXT);
	if (s->in_changes)
		change_text(tui_timeline(s->v.tui), &s->changes.all[at], &b);
	else
		(void)label_text(s, s->lanes.all[at], &b);
	yes = tui_match(buf_str(&b), what);
	buf_fini(&b);
	return yes;
}

static bool
session_search(struct view *v, struct str what, int dir)
{
	struct session_view *s = (struct session_view *)v;
	struct list *l = s->in_changes ? &s->change_list : &s->lane_list;

	shrink_lists(s);
	for (uint32_t i = 1; i <= l->n; i++) {
		uint32_t at = dir > 0 ? (l->at + i) % l->n : (l->at + l->n - i) % l->n;

		if (!row_matches(s, at, what))
			continue;
		l->at = at;
		s->moved |= !s->in_changes;
		return true;
	}
	return false;
}

static void
word(struct buf *b, const char *before, const char *text)
{
	if (text && *text) {
		(void)buf_fmt(b, "%s", before);
		(void)buf_adds(b, str_c(text));
	}
}

static void
session_title(struct view *v, struct buf *b)
{
	const struct tl_session *ts = timeline_session_n(tui_timeline(v->tui), v->session);

	if (ts == NULL) {
		(void)buf_fmt(b, v->session ? "no longer kept" : "streams of no session");
		return;
	}
	word(b, "", ts->key);
	word(b, "  ", ts->client ? ts->client : ts->client_looks_like);
	word(b, " to ", ts->server ? ts->server : ts->looks_like ? ts->looks_like : ts->endpoint);
	(void)buf_fmt(b, "  %s", ev_transport_names[ts->transport]);
	word(b, " ", ts->revision);
	if (ts->offered)
		(void)buf_fmt(b, " (offered)");
	if (ts->deleted)
		(void)buf_fmt(b, "  deleted");
}

static void
session_free(struct view *v)
{
	struct session_view *s = (struct session_view *)v;

	lanes_fini(&s->lanes);
	changes_fini(&s->changes);
	free(s);
}

static const char *const keys[] = {
	"Enter", "Ladder", "Tab", "Changes", "+-0", "Zoom", "<-->", "Move", "!", "Findings", NULL,
};

static const char *const help[] = {
	"Tab", "from the lanes to the changes of owner, and back",
	"Enter", "the ladder, where the change or the lane's last stream begins",
	"+ -", "less time, more time on the screen",
	"0", "all of the session on the screen",
	"Left Right h l", "earlier, later",
	NULL,
};

static const struct view_ops session_ops = {
	.name = "Session",
	.keys = keys,
	.help = help,
	.draw = session_draw,
	.key = session_key,
	.event = session_event,
	.search = session_search,
	.title = session_title,
	.free = session_free,
};

struct view *
view_session_new(struct tui *t, uint32_t session)
{
	struct session_view *s = xcalloc(1, sizeof *s);
	const struct timeline *tl = tui_timeline(t);
	const struct tl_session *ts = timeline_session_n(tl, session);

	s->v = (struct view){ .ops = &session_ops, .tui = t, .session = session };
	s->rows.pitch = 1;
	s->w.step = MIN_STEP;
	lanes_fill(&s->lanes, tl, tui_store(t), session);
	if (ts)
		changes_fill(&s->changes, tl, ts);
	return &s->v;
}
