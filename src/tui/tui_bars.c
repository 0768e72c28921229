/* The first rows of the screen, and the last. */
#include <stdio.h>
#include <time.h>

#include "tui_priv.h"

#define MAX_PARTS 10

/* A word of the first line; the least important ones go when there is no room. */
struct part {
	char text[96];
	unsigned style;
	int rank;			/* 0: stays */
};

struct line {
	struct part part[MAX_PARTS];
	int n;
};

static void
add(struct line *l, int rank, unsigned style, const char *text)
{
	struct part *p = &l->part[l->n++];

	(void)snprintf(p->text, sizeof p->text, "%s", text);
	p->rank = rank;
	p->style = style;
}

/* 1234567 as 1,234,567. */
static const char *
thousands(uint64_t v, char text[32])
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)v), to = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			text[to++] = ',';
		text[to++] = digits[i];
	}
	text[to] = '\0';
	return text;
}

static void
add_count(struct line *l, int rank, unsigned style, uint64_t n, const char *one,
    const char *many)
{
	char text[96], number[32];

	(void)snprintf(text, sizeof text, "%s %s", thousands(n, number), n == 1 ? one : many);
	add(l, rank, style, text);
}

static uint64_t
n_sessions(const struct tui *t)
{
	uint64_t n = 0;

	/* Sessions are kept in order: doubling, then halving, finds the last. */
	uint32_t step = 1;

	while (timeline_session(t->opts.timeline, (uint32_t)n + step - 1) && step < 1u << 24)
		step *= 2;
	for (; step; step /= 2)
		if (timeline_session(t->opts.timeline, (uint32_t)n + step - 1))
			n += step;
	return n + timeline_dropped_sessions(t->opts.timeline);
}

/* Nothing was found: is that good news? */
static void
add_nothing(const struct tui *t, struct line *l)
{
	const struct verdict *v = t->verdict;

	if (v == NULL)
		add(l, 4, STYLE_PLAIN, n_sessions(t) || timeline_counts(t->opts.timeline)->http_exchanges ?
		    "no finding so far" : "no MCP so far");
	else if (v->kind == VERDICT_CLEAN)
		add(l, 4, STYLE_GOOD, "no finding");
	else if (v->kind == VERDICT_UNKNOWN)
		add(l, 1, STYLE_WARNING, "verdict incomplete");
	else
		add(l, 1, STYLE_WARNING, v->kind == VERDICT_EMPTY ? "no packets" : "no MCP");
}

static void
add_findings(const struct tui *t, struct line *l)
{
	const uint32_t *n = t->told.n_severity;

	if (n[SEV_ERROR])
		add_count(l, 1, STYLE_ERROR, n[SEV_ERROR], "error", "errors");
	if (n[SEV_WARNING])
		add_count(l, 1, STYLE_WARNING, n[SEV_WARNING], "warning", "warnings");
	if (t->told.n == 0)
		add_nothing(t, l);
	else if (n[SEV_ERROR] + n[SEV_WARNING] == 0)
		add_count(l, 4, STYLE_INFO, n[SEV_INFO], "remark", "remarks");
}

const char *
tui_mode_name(enum time_mode m)
{
	static const char *const names[TIME_N] = { "time of day", "time from start",
	    "time since the row above" };

	return names[m];
}

static void
add_progress(const struct tui *t, struct line *l)
{
	char text[32];

	if (t->opts.live) {
		if (t->state.ended)
			add(l, 2, STYLE_INFO, "ended");
		return;
	}
	if (t->state.ended)
		add(l, 6, STYLE_PLAIN, "all read");
	else if (t->state.done >= 0) {
		(void)snprintf(text, sizeof text, "reading %d%%",
		    (int)(t->state.done * 100));
		add(l, 2, STYLE_INFO, text);
	} else
		add(l, 2, STYLE_INFO, "reading");
}

static void
make(const struct tui *t, struct line *l)
{
	*l = (struct line){ .n = 0 };
	add_findings(t, l);
	add_count(l, 5, STYLE_PLAIN, n_sessions(t), "session", "sessions");
	add_count(l, 3, STYLE_PLAIN, t->state.packets, "packet", "packets");
	if (t->state.dropped)
		add_count(l, 2, STYLE_ERROR, t->state.dropped, "dropped", "dropped");
	else if (t->opts.live)
		add(l, 8, STYLE_PLAIN, "0 dropped");
	add_progress(t, l);
	add(l, 7, STYLE_PLAIN, tui_mode_name(t->mode));
	if (t->paused)
		add(l, 0, STYLE_WARNING, "PAUSED");
	else if (t->following && !t->state.ended)
		add(l, 0, STYLE_GOOD, "FOLLOW");
}

static int
width(const struct line *l)
{
	int w = 0;

	for (int i = 0; i < l->n; i++)
		if (l->part[i].text[0])
			w += 2 + (int)strlen(l->part[i].text);
	return w;
}

/* Takes out the least important part; false: all that is left must stay. */
static bool
drop(struct line *l)
{
	int worst = -1;

	for (int i = 0; i < l->n; i++)
		if (l->part[i].text[0] && l->part[i].rank > 0 &&
		    (worst < 0 || l->part[i].rank > l->part[worst].rank))
			worst = i;
	if (worst < 0)
		return false;
	l->part[worst].text[0] = '\0';
	return true;
}

static void
draw_status(struct tui *t, struct grid *g)
{
	struct str source = str_c(t->opts.source ? t->opts.source : "");
	int want = 9 + grid_width(source), x;
	struct line l;

	make(t, &l);
	if (want > g->w / 3)
		want = g->w / 3;
	while (width(&l) > g->w - want && drop(&l))
		;
	x = grid_text(g, 0, 0, g->w, STYLE_BOLD, STR("mcpdiag "));
	x += grid_text(g, 0, x, g->w - width(&l) - x, STYLE_TITLE, source);
	for (int i = 0; i < l.n; i++)
		if (l.part[i].text[0])
			x += 2 + grid_text(g, 0, x + 2, g->w - x - 2,
			    l.part[i].style, str_c(l.part[i].text));
}

static void
draw_title(struct tui *t, struct grid *g)
{
	const struct view *v = tui_top(t);
	struct buf b;
	int x = 0;

	buf_init(&b, 4096);
	for (uint32_t i = t->n > 3 ? t->n - 3 : 0; i + 1 < t->n; i++) {
		x += grid_text(g, 1, x, g->w - x, STYLE_DIM, str_c(t->stack[i]->ops->name));
		grid_glyph(g, 1, x + 1, STYLE_DIM, GLYPH_RIGHT);
		x += 3;
	}
	x += grid_text(g, 1, x, g->w - x, STYLE_TITLE, str_c(v->ops->name));
	if (v->ops->title)
		v->ops->title((struct view *)(uintptr_t)v, &b);
	if (b.n)
		(void)grid_text(g, 1, x + 2, g->w - x - 2, STYLE_PLAIN, buf_str(&b));
	buf_fini(&b);
}

void
tui_draw_head(struct tui *t, struct grid *g, int rows)
{
	if (rows > 0)
		draw_status(t, g);
	if (rows > 1)
		draw_title(t, g);
}

static int
draw_key(struct grid *g, int y, int x, int end, const char *key, const char *word)
{
	int w = (int)strlen(key) + (int)strlen(word);

	if (x + w > end)
		return x;
	x += grid_text(g, y, x, end - x, STYLE_KEY, str_c(key));
	x += grid_text(g, y, x, end - x, STYLE_BAR, str_c(word));
	return x + 1;
}

void
tui_draw_foot(struct tui *t, struct grid *g, int y)
{
	const char *const *keys = tui_top(t)->ops->keys;
	const char *back = t->n > 1 ? "Back" : "Quit";
	int x = 0, end = g->w - (int)strlen(back) - 2;

	if (t->prompt.on) {
		prompt_draw(t, g, y);
		return;
	}
	if (t->said[0]) {
		grid_mark(g, y, 0, g->w, STYLE_MARK);
		(void)grid_text(g, y, 0, g->w, STYLE_MARK, str_c(t->said));
		return;
	}
	grid_mark(g, y, 0, g->w, STYLE_BAR);
	x = draw_key(g, y, x, end, "F1", "Help");
	for (; keys && keys[0]; keys += 2)
		x = draw_key(g, y, x, end, keys[0], keys[1]);
	if (tui_top(t)->ops->search)
		x = draw_key(g, y, x, end, "/", "Search");
	if (t->told.n)
		x = draw_key(g, y, x, end, "]", "Finding");
	x = draw_key(g, y, x, end, "p", t->paused ? "Go on" : "Pause");
	x = draw_key(g, y, x, end, "w", "Time");
	(void)draw_key(g, y, x, end, "F2", "Save");
	(void)draw_key(g, y, end + 1, g->w + 1, "q", back);
}
