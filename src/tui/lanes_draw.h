/* lanes_draw: lanes over time, as cells. */
#ifndef LANES_DRAW_H
#define LANES_DRAW_H

#include "changes.h"
#include "lanes.h"
#include "view.h"

struct window {
	ns_t t0, step;			/* time of column 0, time a column stands for */
	ns_t now;			/* later does not show */
	int x, w;			/* columns of the grid */
};

/* Times of events may be anything; these can be reckoned with. */
ns_t time_within(ns_t);
/* The column of a time, -1 to w. */
int window_column(const struct window *, ns_t);
ns_t window_time(const struct window *, int column);

void scale_draw(const struct tui *, struct grid *, int y, const struct window *);
void lane_draw(const struct lane *, const struct timeline *, struct grid *, int y,
    const struct window *);

/* Where lanes stand: that of index `top` in row y, then one every `pitch` rows;
 * `rows` in all. */
struct rows { int y, rows, pitch; uint32_t top; };

/* Marks takeovers in the taker's lane, and joins it with the lane it took from. */
void takeovers_draw(const struct changes *, const struct lanes *, const struct timeline *,
    struct grid *, const struct rows *, const struct window *);

enum glyph role_glyph(enum ev_role);
unsigned role_style(enum ev_role);
const char *role_word(enum ev_role);

#endif
