#include <stdlib.h>

#include "facts.h"
#include "ladder.h"
#include "mcpdiag/linediff.h"
#include "mcpdiag/map.h"
#include "mcpdiag/xmem.h"

#define NONE UINT32_MAX
#define SIDES_W 90		/* from so many columns on, side by side at first */
#define SCROLL 8

/* A row: a line of each side, or of one. */
struct pair {
	uint32_t a, b;
	bool same;
};

struct pairs {
	struct pair *p;
	uint32_t n, cap;
};

struct view_diff {
	struct view v;
	struct lines side[2];
	struct buf name[2];
	struct pairs sides, unified;
	uint32_t n_changes;
	bool over;			/* too many differences to look closer */
	bool chosen, is_unified;	/* chosen: by key, not by width */
	struct list list;
	int x;				/* columns scrolled away */
	/* while the rows are made: lines gone that wait for the new ones */
	uint32_t gone_a, n_gone;
};

static void
add(struct pairs *p, uint32_t a, uint32_t b, bool same)
{
	p->p = xgrow(p->p, p->n, &p->cap, sizeof *p->p);
	p->p[p->n++] = (struct pair){ a, b, same };
}

/* Lines that are gone and have no new ones beside them. */
static void
flush_gone(struct view_diff *s)
{
	for (; s->n_gone; s->n_gone--)
		add(&s->sides, s->gone_a++, NONE, false);
}

static void
on_run(void *arg, enum linediff_op op, uint32_t a, uint32_t b, uint32_t n)
{
	struct view_diff *s = arg;

	switch (op) {
	case LINEDIFF_SAME:
		flush_gone(s);
		for (uint32_t i = 0; i < n; i++) {
			add(&s->sides, a + i, b + i, true);
			add(&s->unified, a + i, b + i, true);
		}
		return;
	case LINEDIFF_GONE:
		s->n_changes++;
		s->gone_a = a;
		s->n_gone = n;
		for (uint32_t i = 0; i < n; i++)
			add(&s->unified, a + i, NONE, false);
		return;
	case LINEDIFF_NEW:
		s->n_changes += s->n_gone == 0;
		for (uint32_t i = 0; i < n; i++) {
			add(&s->sides, s->n_gone ? s->gone_a++ : NONE, b + i, false);
			s->n_gone -= s->n_gone > 0;
			add(&s->unified, NONE, b + i, false);
		}
		return;
	}
}

/* What is compared: the text laid out, or what is known where there is none. */
static void
load(struct lines *l, const struct store_item *it)
{
	struct str text = str_trim(it->text);

	lines_init(l);
	if (it->text.p == NULL)
		facts_add(l, it->ev);
	else if (text.n && (text.p[0] == '{' || text.p[0] == '['))
		lines_json(l, text);
	else
		lines_text(l, STYLE_PLAIN, it->text);
	if (it->cut)
		lines_add(l, STYLE_WARNING, STR("... cut"));
}

/* As the ladder calls it. */
static void
name(struct view_diff *s, int side, const struct store_item *it)
{
	struct ladder l = { .store = tui_store(s->v.tui), .session = it->ev->session,
	    .timeline = tui_timeline(s->v.tui) };
	struct ladder_row row;

	buf_init(&s->name[side], 8192);
	buf_init(&row.text, 8000);
	(void)ladder_row(&l, ladder_row_of(&l, it->no), &row);
	(void)buf_fmt(&s->name[side], "Packet %u: ", it->ev->pkt);
	(void)buf_adds(&s->name[side], buf_str(&row.text));
	buf_fini(&row.text);
}

static void
compare(struct view_diff *s)
{
	uint64_t *h[2];

	for (int i = 0; i < 2; i++) {
		h[i] = xcalloc(s->side[i].n + 1, sizeof *h[i]);
		for (uint32_t k = 0; k < s->side[i].n; k++) {
			struct str line = lines_str(&s->side[i], k);

			/* A member that comes behind it is no change of this one. */
			if (s->side[i].line[k].json && line.n && line.p[line.n - 1] == ',')
				line.n--;
			h[i][k] = map_digest(line.p, line.n);
		}
	}
	s->over = !linediff(h[0], s->side[0].n, h[1], s->side[1].n, on_run, s);
	flush_gone(s);
	free(h[0]);
	free(h[1]);
}

/* ---- drawing ---- */

/* The line from column s->x on. */
static void
draw_line(const struct view_diff *s, struct grid *g, int y, int x, int w, int side,
    uint32_t line, unsigned style)
{
	struct str text = lines_str(&s->side[side], line);
	size_t skip = lines_fitting(text, s->x);

	if (s->x > 0)
		text = str_of(text.p + skip, text.n - skip);
	(void)grid_text(g, y, x, w, style, text);
}

static void
draw_sides(const struct view_diff *s, struct grid *g, struct area a, int y,
    const struct pair *p)
{
	int half = (a.w - 3) / 2, right = a.x + half + 3;
	unsigned style = p->same ? STYLE_PLAIN : STYLE_BOLD;

	if (p->a != NONE)
		draw_line(s, g, y, a.x, half, 0, p->a, p->same ? style : STYLE_ERROR);
	if (p->b != NONE)
		draw_line(s, g, y, right, a.x + a.w - right, 1, p->b,
		    p->same ? style : STYLE_GOOD);
	if (p->same)
		grid_glyph(g, y, a.x + half + 1, STYLE_BORDER, GLYPH_VLINE);
	else
		(void)grid_text(g, y, a.x + half + 1, 1, STYLE_MARK,
		    p->a == NONE ? STR(">") : p->b == NONE ? STR("<") : STR("#"));
}

static void
draw_unified(const struct view_diff *s, struct grid *g, struct area a, int y,
    const struct pair *p)
{
	bool gone = !p->same && p->a != NONE;
	unsigned style = p->same ? STYLE_PLAIN : gone ? STYLE_ERROR : STYLE_GOOD;

	(void)grid_text(g, y, a.x, 1, style, p->same ? STR(" ") : gone ? STR("-") : STR("+"));
	draw_line(s, g, y, a.x + 2, a.w - 2, p->a == NONE, p->a == NONE ? p->b : p->a, style);
}

static void
draw_names(const struct view_diff *s, struct grid *g, struct area a)
{
	int half = (a.w - 3) / 2, right = a.x + half + 3;

	if (s->is_unified) {
		(void)grid_text(g, a.y, a.x, half, STYLE_ERROR, STR("-"));
		(void)grid_text(g, a.y, right - 2, 2, STYLE_GOOD, STR("+"));
	}
	(void)grid_text(g, a.y, a.x + 2 * s->is_unified, half - 2 * s->is_unified, STYLE_TITLE,
	    buf_str(&s->name[0]));
	(void)grid_text(g, a.y, right, a.x + a.w - right, STYLE_TITLE, buf_str(&s->name[1]));
}

static const struct pairs *
rows(const struct view_diff *s)
{
	return s->is_unified ? &s->unified : &s->sides;
}

static void
diff_draw(struct view *v, struct grid *g, struct area a)
{
	struct view_diff *s = (struct view_diff *)v;
	const struct pairs *p;

	if (!s->chosen)
		s->is_unified = a.w < SIDES_W;
	p = rows(s);
	if (a.h > 2) {
		draw_names(s, g, a);
		a.y++;
		a.h--;
	}
	s->list.n = p->n;
	list_show(&s->list, a.h);
	if (p->n == 0)
		(void)grid_text(g, a.y, a.x, a.w, STYLE_DIM, STR("Both are empty"));
	for (int i = 0; i < a.h && s->list.top + (uint32_t)i < p->n; i++) {
		uint32_t row = s->list.top + (uint32_t)i;

		(s->is_unified ? draw_unified : draw_sides)(s, g, a, a.y + i, &p->p[row]);
		if (row == s->list.at)
			grid_mark(g, a.y + i, a.x, a.w, STYLE_SELECTED);
	}
}

/* ---- keys ---- */

/* To the start of the next difference, or of the one before. */
static void
step(struct view_diff *s, int dir)
{
	const struct pairs *p = rows(s);
	int64_t at = s->list.at;

	for (at += dir; at >= 0 && at < p->n; at += dir)
		if (!p->p[at].same && (at == 0 || p->p[at - 1].same)) {
			s->list.at = (uint32_t)at;
			return;
		}
	tui_say(s->v.tui, s->n_changes == 0 ? "they do not differ" : dir > 0 ?
	    "no further difference" : "no difference before this");
}

/* The row of the other form that shows the same lines. */
static void
toggle(struct view_diff *s)
{
	const struct pairs *from = rows(s), *to;
	struct pair want = from->n ? from->p[s->list.at] : (struct pair){ NONE, NONE, true };

	s->chosen = true;
	s->is_unified = !s->is_unified;
	to = rows(s);
	for (uint32_t i = 0; i < to->n; i++) {
		if ((want.a == NONE || to->p[i].a != want.a) &&
		    (want.b == NONE || to->p[i].b != want.b))
			continue;
		s->list.at = i;
		return;
	}
}

static bool
diff_key(struct view *v, uint32_t key)
{
	struct view_diff *s = (struct view_diff *)v;
	int y, x;

	switch (key) {
	case 'u':
		toggle(s);
		return true;
	case TUI_TAB: case '}':
		step(s, 1);
		return true;
	case TUI_BACKTAB: case '{':
		step(s, -1);
		return true;
	case TUI_RIGHT: case 'l':
		s->x += s->x < 100000 ? SCROLL : 0;
		return true;
	case TUI_LEFT:
		if (s->x == 0)
			return false;		/* back */
		s->x -= SCROLL;
		return true;
	case TUI_CLICK:
		tui_click(v->tui, &y, &x);
		(void)list_click(&s->list, y - 1);
		return true;
	case TUI_ENTER:
		return true;
	}
	return list_key(&s->list, key);
}

static bool
diff_search(struct view *v, struct str what, int dir)
{
	struct view_diff *s = (struct view_diff *)v;
	const struct pairs *p = rows(s);
	uint32_t n = p->n;

	for (uint32_t i = 1; i <= n; i++) {
		uint32_t at = (s->list.at + (dir > 0 ? i : n - i)) % n;
		const struct pair *r = &p->p[at];

		if ((r->a != NONE && tui_match(lines_str(&s->side[0], r->a), what)) ||
		    (r->b != NONE && tui_match(lines_str(&s->side[1], r->b), what))) {
			s->list.at = at;
			return true;
		}
	}
	return false;
}

static void
diff_title(struct view *v, struct buf *b)
{
	const struct view_diff *s = (const struct view_diff *)v;

	if (s->n_changes == 0)
		(void)buf_adds(b, STR("no difference"));
	else
		(void)buf_fmt(b, "%u difference%s%s", s->n_changes, s->n_changes == 1 ? "" : "s",
		    s->over ? " (too many to look closer)" : "");
}

static void
diff_free(struct view *v)
{
	struct view_diff *s = (struct view_diff *)v;

	for (int i = 0; i < 2; i++) {
		lines_fini(&s->side[i]);
		buf_fini(&s->name[i]);
	}
	free(s->sides.p);
	free(s->unified.p);
	free(s);
}

static const char *const keys[] = {
	"Tab", "next difference", "u", "unified", NULL,
};

static const char *const help[] = {
	"Tab }", "next difference; Shift-Tab {: the one before",
	"u", "one below the other, or side by side",
	"Right Left", "scroll lines that are too long",
	"< > #", "only on the left; only on the right; differs",
	NULL,
};

static const struct view_ops diff_ops = {
	.name = "Diff",
	.keys = keys,
	.help = help,
	.draw = diff_draw,
	.key = diff_key,
	.search = diff_search,
	.title = diff_title,
	.free = diff_free,
};

struct view *
view_diff_new(struct tui *t, uint64_t a, uint64_t b)
{
	const struct store_item *it[2] = { store_item(tui_store(t), a),
	    store_item(tui_store(t), b) };
	struct view_diff *s;

	if (it[0] == NULL || it[1] == NULL) {
		tui_say(t, "one of the two is gone: only the last of it all is kept");
		return NULL;
	}
	s = xcalloc(1, sizeof *s);
	s->v = (struct view){ .ops = &diff_ops, .tui = t, .session = it[0]->ev->session };
	for (int i = 0; i < 2; i++) {
		load(&s->side[i], it[i]);
		name(s, i, it[i]);
	}
	compare(s);
	return &s->v;
}
