/* The keys of a view, and those of all. */
#include <stdlib.h>
#include <string.h>

#include "mcpdiag/xmem.h"
#include "view.h"

#define KEYS_W 22

static const char *const common[] = {
	"Up Down j k", "a row up, down",
	"PgUp PgDn ^B ^F", "a page; ^U ^D: half of one",
	"g G Home End", "first, last",
	"Enter", "open what the cursor is on",
	"Esc q Left h", "back; q on the first screen: leave",
	"/ F3", "search; n next, N the one before; capitals make it exact",
	"] [", "next, previous finding, where it shows in the ladder",
	"x F4", "the session as a ladder of messages",
	"! F8", "findings of this session; on the first screen: all",
	"p", "pause: the screen stands still, the capture goes on",
	"A", "follow: the newest stays in sight",
	"w", "time of day, time from the start, time since the row above",
	"F2 s", "save: .pcapng .json .txt .ladder.txt",
	":", "a packet's number goes there; w FILE saves, q leaves",
	"M", "mouse on, off: click, wheel",
	"^L ^Z ^C", "draw anew; suspend; end of the capture, again: leave",
	"Q F10 ZZ", "leave from anywhere",
	NULL,
};

static const struct {
	enum glyph glyph;
	enum style style;
	const char *what;
} signs[] = {
	{ GLYPH_PRIMARY, STYLE_PRIMARY, "primary: owns the server-to-client channel, proven by a message" },
	{ GLYPH_PRESUMED, STYLE_PRIMARY, "presumed: the oldest open one, nothing proven yet" },
	{ GLYPH_SHADOW, STYLE_SHADOW, "shadow: open beside the owner" },
	{ GLYPH_ORPHAN, STYLE_ORPHAN, "orphan: still open, but the channel is elsewhere" },
	{ GLYPH_CLOSED, STYLE_DIM, "closed" },
	{ GLYPH_TAKEOVER, STYLE_WARNING, "the channel was taken over" },
	{ GLYPH_LANE, STYLE_PRIMARY, "lane: the stream that owns the channel, proven" },
	{ GLYPH_LANE_IDLE, STYLE_SHADOW, "lane: another open stream; an orphan's has holes" },
	{ GLYPH_OPEN, STYLE_PLAIN, "a stream opens" },
	{ GLYPH_CLOSE_SERVER, STYLE_SERVER, "the server ended it" },
	{ GLYPH_CLOSE_CLIENT, STYLE_CLIENT, "the client left" },
	{ GLYPH_CUT, STYLE_ERROR, "it was cut off, or its end was not captured" },
	{ GLYPH_EVENT, STYLE_PLAIN, "an event" },
	{ GLYPH_REPLAY, STYLE_WARNING, "an event that had been delivered before" },
	{ GLYPH_KEEPALIVE, STYLE_DIM, "a keep-alive" },
	{ GLYPH_REFUSED, STYLE_ERROR, "a GET that got no stream" },
	{ GLYPH_ERROR, STYLE_ERROR, "finding: error" },
	{ GLYPH_WARNING, STYLE_WARNING, "finding: warning" },
	{ GLYPH_INFO, STYLE_INFO, "finding: for information" },
};

#define N_SIGNS (uint32_t)(sizeof signs / sizeof signs[0])

struct help {
	struct view v;
	struct list list;
	const char *name;		/* of the view it is about */
	const char *const *own;
};

static uint32_t
count(const char *const *pairs)
{
	uint32_t n = 0;

	while (pairs && pairs[2 * n])
		n++;
	return n;
}

static void
draw_pair(struct grid *g, int y, struct area a, const char *keys, const char *what)
{
	int w = a.w > 50 ? KEYS_W : a.w / 3;

	(void)grid_text(g, y, a.x + 1, w - 2, STYLE_KEY, str_c(keys));
	(void)grid_text(g, y, a.x + w, a.w - w, STYLE_PLAIN, str_c(what));
}

static void
draw_line(const struct help *h, struct grid *g, int y, struct area a, uint32_t i)
{
	uint32_t n = count(h->own);

	if (n) {
		if (i == 0)
			(void)grid_text(g, y, a.x, a.w, STYLE_TITLE, str_c(h->name));
		else if (i <= n)
			draw_pair(g, y, a, h->own[2 * i - 2], h->own[2 * i - 1]);
		if (i <= n + 1)
			return;
		i -= n + 2;
	}
	n = count(common);
	if (i == 0)
		(void)grid_text(g, y, a.x, a.w, STYLE_TITLE, STR("Everywhere"));
	else if (i <= n)
		draw_pair(g, y, a, common[2 * i - 2], common[2 * i - 1]);
	else if (i == n + 2)
		(void)grid_text(g, y, a.x, a.w, STYLE_TITLE, STR("Signs"));
	else if (i > n + 2 && i - n - 3 < N_SIGNS) {
		i -= n + 3;
		grid_glyph(g, y, a.x + 1, signs[i].style, signs[i].glyph);
		(void)grid_text(g, y, a.x + 4, a.w - 4, STYLE_PLAIN, str_c(signs[i].what));
	}
}

static void
help_draw(struct view *v, struct grid *g, struct area a)
{
	struct help *h = (struct help *)v;
	uint32_t own = count(h->own);
	uint32_t lines = (own ? own + 2 : 0) + count(common) + 3 + N_SIGNS;

	/* A text to be scrolled: the cursor is its first line in sight. */
	h->list.n = lines > (uint32_t)a.h ? lines - (uint32_t)a.h + 1 : 1;
	list_show(&h->list, 1);
	h->list.page = a.h;
	for (int y = 0; y < a.h && h->list.at + (uint32_t)y < lines; y++)
		draw_line(h, g, a.y + y, a, h->list.at + (uint32_t)y);
}

static bool
help_key(struct view *v, uint32_t key)
{
	struct help *h = (struct help *)v;

	if (key == '?' || key == TUI_F1 || key == TUI_ENTER) {
		tui_pop(v->tui);
		return true;
	}
	return list_key(&h->list, key == ' ' ? TUI_PGDN : key);
}

static void
help_title(struct view *v, struct buf *b)
{
	(void)buf_fmt(b, "%s", ((struct help *)v)->name);
}

static void
help_free(struct view *v)
{
	free(v);
}

static const struct view_ops help_ops = {
	.name = "Help",
	.draw = help_draw,
	.key = help_key,
	.title = help_title,
	.free = help_free,
};

struct view *
view_help_new(struct tui *t, const struct view *of)
{
	struct help *h = xcalloc(1, sizeof *h);

	h->v = (struct view){ .ops = &help_ops, .tui = t, .session = of->session };
	h->name = of->ops->name;
	h->own = of->ops->help;
	return &h->v;
}
