#include "mcpdiag/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "mcpdiag/esc.h"
#include "mcpdiag/xmem.h"

#define MAX_W 1000
#define MAX_H 500
#define MAX_FMT 1024		/* bytes of one grid_fmt() */
#define ONE 16			/* bytes of one escaped character */

/* Mostly of WGL4, which the fonts of terminals have; each one column wide. */
static const struct {
	uint16_t ch;
	char ascii;
} glyphs[GLYPH_N] = {
	[GLYPH_HLINE] = { 0x2500, '-' },
	[GLYPH_VLINE] = { 0x2502, '|' },
	[GLYPH_CORNER_UL] = { 0x250c, '+' },
	[GLYPH_CORNER_UR] = { 0x2510, '+' },
	[GLYPH_CORNER_LL] = { 0x2514, '+' },
	[GLYPH_CORNER_LR] = { 0x2518, '+' },
	[GLYPH_TEE_LEFT] = { 0x251c, '+' },
	[GLYPH_TEE_RIGHT] = { 0x2524, '+' },
	[GLYPH_TEE_UP] = { 0x252c, '+' },
	[GLYPH_TEE_DOWN] = { 0x2534, '+' },
	[GLYPH_RIGHT] = { 0x25ba, '>' },
	[GLYPH_LEFT] = { 0x25c4, '<' },
	[GLYPH_LANE] = { 0x2501, '=' },
	[GLYPH_LANE_IDLE] = { 0x2500, '-' },
	[GLYPH_OPEN] = { 0x251c, '[' },
	[GLYPH_CLOSE_SERVER] = { 0x25a0, ']' },
	[GLYPH_CLOSE_CLIENT] = { 0x25a1, ')' },
	[GLYPH_CUT] = { 0x00d7, 'X' },
	[GLYPH_EVENT] = { 0x2022, 'o' },
	[GLYPH_KEEPALIVE] = { 0x00b7, '.' },
	[GLYPH_TAKEOVER] = { 0x25bc, 'v' },
	[GLYPH_REPLAY] = { 0x00ab, '<' },
	[GLYPH_REFUSED] = { 0x2260, '!' },
	[GLYPH_PRIMARY] = { 0x25cf, '*' },
	[GLYPH_SHADOW] = { 0x25cb, 'o' },
	[GLYPH_ORPHAN] = { 0x25ca, '?' },
	[GLYPH_PRESUMED] = { 0x25d0, '%' },
	[GLYPH_CLOSED] = { 0x00d7, 'x' },
	[GLYPH_ERROR] = { 0x2717, 'E' },
	[GLYPH_WARNING] = { 0x25b2, 'W' },
	[GLYPH_INFO] = { 'i', 'i' },
	[GLYPH_OK] = { 0x2713, '+' },
	[GLYPH_MORE] = { 0x2026, '~' },
	[GLYPH_MARK] = { 0x2666, '#' },
};

static int
within(int v, int max)
{
	return v < 1 ? 1 : v > max ? max : v;
}

void
grid_clear(struct grid *g)
{
	for (size_t i = 0; i < (size_t)g->w * (size_t)g->h; i++)
		g->cells[i] = (struct cell){ ' ', STYLE_PLAIN };
}

void
grid_init(struct grid *g, int w, int h, bool ascii)
{
	*g = (struct grid){ .ascii = ascii };
	grid_resize(g, w, h);
}

void
grid_fini(struct grid *g)
{
	free(g->cells);
	*g = (struct grid){ 0 };
}

void
grid_resize(struct grid *g, int w, int h)
{
	w = within(w, MAX_W);
	h = within(h, MAX_H);
	if (w != g->w || h != g->h) {
		g->w = w;
		g->h = h;
		g->cells = xrealloc(g->cells, (size_t)w * (size_t)h * sizeof *g->cells);
	}
	grid_clear(g);
}

struct cell *
grid_at(const struct grid *g, int y, int x)
{
	if (y < 0 || x < 0 || y >= g->h || x >= g->w)
		return NULL;
	return &g->cells[(size_t)y * (size_t)g->w + (size_t)x];
}

/* A cell gets another character: where it was one half of a wide one, the
 * other half means nothing any more. */
static void
put(struct grid *g, int y, int x, uint32_t ch, unsigned style)
{
	struct cell *c = grid_at(g, y, x), *next;

	if (c == NULL)
		return;
	if (c->ch == 0 && x > 0)
		c[-1].ch = ' ';
	next = grid_at(g, y, x + 1);
	if (ch != 0 && next && next->ch == 0)
		next->ch = ' ';
	*c = (struct cell){ ch, (uint8_t)style };
}

static void
put_wide(struct grid *g, int y, int x, uint32_t ch, int width, unsigned style)
{
	if (width == 1) {
		put(g, y, x, ch, style);
		return;
	}
	/* Half of it would be outside. */
	if (x + 1 >= g->w || x < 0) {
		put(g, y, x, ' ', style);
		put(g, y, x + 1, ' ', style);
		return;
	}
	put(g, y, x, ch, style);
	put(g, y, x + 1, ' ', style);
	g->cells[(size_t)y * (size_t)g->w + (size_t)x + 1].ch = 0;
}

/* One character, or what stands for it: what cannot be shown by itself is
 * written out in ASCII. */
struct piece {
	char text[ONE];		/* n > 0: in its place */
	int n;
	uint32_t ch;		/* else itself */
	int width;
	unsigned len;		/* bytes taken */
};

static void
escape(struct piece *pc, const uint8_t *p, unsigned len, uint32_t ch)
{
	struct buf b;

	buf_init(&b, ONE);
	esc_text(&b, str_of(p, len ? len : 1), ONE);
	/* What is safe, but has no place of its own: combining characters, and
	 * what the locale cannot show. */
	if (len > 1 && b.n == len && memcmp(b.p, p, len) == 0) {
		buf_clear(&b);
		(void)buf_fmt(&b, ch < 0x100 ? "\\x%02x" : "\\u{%x}", ch);
	}
	pc->n = (int)b.n;
	memcpy(pc->text, b.p ? b.p : "", b.n);
	pc->width = pc->n;
	buf_fini(&b);
}

static bool
harmless(const uint8_t *p, unsigned len)
{
	struct buf b;
	bool ok;

	buf_init(&b, ONE);
	esc_text(&b, str_of(p, len), ONE);
	ok = b.n == len;
	buf_fini(&b);
	return ok;
}

static void
next_piece(struct str s, bool ascii, struct piece *pc)
{
	const uint8_t *p = (const uint8_t *)s.p;
	int width;

	pc->n = 0;
	pc->len = 1;
	pc->ch = *p;
	pc->width = 1;
	if (*p >= 0x20 && *p < 0x7f)
		return;
	pc->len = esc_utf8(p, s.n, &pc->ch);
	width = pc->len > 1 && !ascii ? wcwidth((wchar_t)pc->ch) : -1;
	if ((width == 1 || width == 2) && harmless(p, pc->len))
		pc->width = width;
	else
		escape(pc, p, pc->len, pc->ch);
	if (pc->len == 0)
		pc->len = 1;
}

int
grid_text(struct grid *g, int y, int x, int w, unsigned style, struct str s)
{
	int used = 0;
	struct piece pc;

	while (s.n && used < w) {
		next_piece(s, g->ascii, &pc);
		s.p += pc.len;
		s.n -= pc.len;
		if (pc.width > w - used || (pc.width == w - used && s.n)) {
			grid_fill(g, y, x + used, w - used, style, GLYPH_MORE);
			for (int i = used; i < w - 1; i++)
				put(g, y, x + i, ' ', style);
			return w;
		}
		if (pc.n == 0)
			put_wide(g, y, x + used, pc.ch, pc.width, style);
		for (int i = 0; i < pc.n; i++)
			put(g, y, x + used + i, (uint8_t)pc.text[i], style);
		used += pc.width;
	}
	return used;
}

int
grid_fmt(struct grid *g, int y, int x, int w, unsigned style, const char *fmt, ...)
{
	char text[MAX_FMT];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return 0;
	return grid_text(g, y, x, w, style,
	    str_of(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1));
}

void
grid_glyph(struct grid *g, int y, int x, unsigned style, enum glyph gl)
{
	put(g, y, x, g->ascii ? (uint8_t)glyphs[gl].ascii : glyphs[gl].ch, style);
}

void
grid_fill(struct grid *g, int y, int x, int w, unsigned style, enum glyph gl)
{
	int from = x < 0 ? 0 : x, to = w < g->w - x ? x + w : g->w;

	for (int i = from; i < to; i++)
		grid_glyph(g, y, i, style, gl);
}

void
grid_mark(struct grid *g, int y, int x, int w, unsigned flag)
{
	int from = x < 0 ? 0 : x, to = w < g->w - x ? x + w : g->w;

	for (int i = from; i < to; i++) {
		struct cell *c = grid_at(g, y, i);

		if (c == NULL)
			return;
		if (flag & STYLE_SELECTED)
			c->style |= STYLE_SELECTED;
		if ((flag & ~(unsigned)STYLE_SELECTED) &&
		    (c->style & ~(unsigned)STYLE_SELECTED) == STYLE_PLAIN)
			c->style |= (uint8_t)(flag & ~(unsigned)STYLE_SELECTED);
	}
}

int
grid_width(struct str s)
{
	struct piece pc;
	int used = 0;

	/* No screen is wider: the rest of a megabyte makes no difference. */
	while (s.n && used <= 2 * MAX_W) {
		next_piece(s, false, &pc);
		s.p += pc.len;
		s.n -= pc.len;
		used += pc.width;
	}
	return used;
}

static void
print_char(struct buf *b, uint32_t c)
{
	char u[4];
	size_t n = 0;

	if (c < 0x80)
		u[n++] = (char)c;
	else if (c < 0x800) {
		u[n++] = (char)(0xc0 | c >> 6);
		u[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		u[n++] = (char)(0xe0 | c >> 12);
		u[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		u[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		u[n++] = (char)(0xf0 | c >> 18);
		u[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		u[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		u[n++] = (char)(0x80 | (c & 0x3f));
	}
	(void)buf_add(b, u, n);
}

void
grid_print(const struct grid *g, struct buf *b)
{
	for (int y = 0; y < g->h; y++) {
		const struct cell *row = grid_at(g, y, 0);
		int end = g->w;

		while (end > 0 && row[end - 1].ch == ' ')
			end--;
		for (int x = 0; x < end; x++)
			if (row[x].ch)
				print_char(b, row[x].ch);
		(void)buf_addc(b, '\n');
	}
}
