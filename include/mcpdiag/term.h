/* term: the terminal: paints grids, reads keys.  The only file that knows
 * curses; one terminal at a time.
 * Whatever ends the program, the terminal is given back as it was: also when it
 * crashes, for which signal handlers are there while it is open.  What is
 * written to stderr meanwhile appears when the screen is gone, if it is a
 * terminal. */
#ifndef MCPDIAG_TERM_H
#define MCPDIAG_TERM_H

#include <stdbool.h>

#include "mcpdiag/err.h"
#include "mcpdiag/grid.h"
#include "mcpdiag/tui.h"

struct term;

/* Paints on stdout; reads keys from `in`, or from the controlling terminal when
 * that is none.  NULL and a sentence when there is nothing to paint on: no
 * terminal, TERM=dumb, TERM unknown.  Reads LC_CTYPE. */
struct term *term_open(int in, bool color, struct errmsg *);
void term_close(struct term *);
/* To be watched for reading. */
int term_fd(const struct term *);
/* Nothing but ASCII can be shown. */
bool term_ascii(const struct term *);
void term_size(const struct term *, int *w, int *h);
/* The terminal has not taken yet what was painted before. */
bool term_busy(const struct term *);
/* Gives it what it takes without blocking; true: that was all.  Else again when
 * the descriptor of term_out() can be written to (-1: not needed). */
bool term_flush(struct term *);
int term_out(const struct term *);
/* What has changed since the last time; term_flush() is to follow. */
void term_paint(struct term *, const struct grid *);
/* The next paint is of everything: something else has written there. */
void term_redraw(struct term *);
/* After SIGWINCH: term_size() is new. */
void term_resized(struct term *);
/* The next key, false: there is none now.  y and x are -1, or where the mouse
 * was: then tui_mouse() is to be asked. */
bool term_key(struct term *, uint32_t *key, int *y, int *x);
void term_mouse(struct term *, bool on);
/* The terminal has been closed at its other end. */
bool term_gone(const struct term *);
/* To the normal screen (to be suspended), and from there. */
void term_leave(struct term *);
void term_back(struct term *);
/* What has been written to stderr since, from that byte on; how many bytes. */
size_t term_said(const struct term *, size_t from, char *text, size_t size);

#endif
