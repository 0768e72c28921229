/* grid: a screen as data: cells of one character and one style.
 * Drawn by the views, painted by term.c, compared and printed by tests.  Text
 * may be wire bytes: control characters and what is not UTF-8 are escaped as
 * elsewhere (esc.h), so that no cell ever holds anything a terminal would obey.
 * Wide characters take two cells; one that does not fit is left out.  Writing
 * outside the grid is clipped, never an error.  Needs a UTF-8 LC_CTYPE for the
 * widths of characters (wcwidth). */
#ifndef MCPDIAG_GRID_H
#define MCPDIAG_GRID_H

#include <stdbool.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/str.h"

/* What a cell means; term.c gives it a look.  Never the only carrier of a
 * meaning: a glyph or a word says it, too. */
enum style {
	STYLE_PLAIN, STYLE_DIM, STYLE_BOLD, STYLE_TITLE, STYLE_KEY, STYLE_ERROR,
	STYLE_WARNING, STYLE_INFO, STYLE_GOOD, STYLE_PRIMARY, STYLE_SHADOW, STYLE_ORPHAN,
	STYLE_CLIENT, STYLE_SERVER, STYLE_MATCH, STYLE_MARK, STYLE_BAR, STYLE_BORDER,
	STYLE_N,
	STYLE_SELECTED = 64,		/* flag: the cursor is on this row */
};

enum glyph {			/* one cell each, also as ASCII */
	GLYPH_HLINE, GLYPH_VLINE, GLYPH_CORNER_UL, GLYPH_CORNER_UR, GLYPH_CORNER_LL,
	GLYPH_CORNER_LR, GLYPH_TEE_LEFT, GLYPH_TEE_RIGHT, GLYPH_TEE_UP, GLYPH_TEE_DOWN,
	GLYPH_RIGHT, GLYPH_LEFT,	/* arrow heads */
	GLYPH_LANE, GLYPH_LANE_IDLE,	/* an open stream: owner, not owner */
	GLYPH_OPEN, GLYPH_CLOSE_SERVER, GLYPH_CLOSE_CLIENT, GLYPH_CUT,
	GLYPH_EVENT, GLYPH_KEEPALIVE, GLYPH_TAKEOVER, GLYPH_REPLAY, GLYPH_REFUSED,
	GLYPH_PRIMARY, GLYPH_SHADOW, GLYPH_ORPHAN, GLYPH_PRESUMED, GLYPH_CLOSED,
	GLYPH_ERROR, GLYPH_WARNING, GLYPH_INFO, GLYPH_OK, GLYPH_MORE, GLYPH_MARK,
	GLYPH_N
};

struct cell {
	uint32_t ch;		/* code point; 0: right half of a wide one */
	uint8_t style;
};

struct grid {
	int w, h;
	bool ascii;		/* glyphs and line drawing as ASCII */
	struct cell *cells;	/* h rows of w */
};

/* The caller's storage; 1x1 at least, 1000x500 at most. */
void grid_init(struct grid *, int w, int h, bool ascii);
void grid_fini(struct grid *);
void grid_resize(struct grid *, int w, int h);		/* and clears */
void grid_clear(struct grid *);
struct cell *grid_at(const struct grid *, int y, int x);	/* NULL outside */

/* Text in at most w columns from (y, x), cut with GLYPH_MORE in the last one
 * where it does not fit; returns the columns used. */
int grid_text(struct grid *, int y, int x, int w, unsigned style, struct str);
int grid_fmt(struct grid *, int y, int x, int w, unsigned style, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
void grid_glyph(struct grid *, int y, int x, unsigned style, enum glyph);
void grid_fill(struct grid *, int y, int x, int w, unsigned style, enum glyph);
/* Adds a flag (or sets a style where the cell's is plain) over w cells. */
void grid_mark(struct grid *, int y, int x, int w, unsigned flag);
/* Columns the text takes as grid_text() would write it. */
int grid_width(struct str);
/* As lines of UTF-8 without trailing blanks, for tests and for saving. */
void grid_print(const struct grid *, struct buf *);

#endif
