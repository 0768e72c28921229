/* lines: text of many lines, shown in an area of any width.
 * Lines are kept once; rows are made of them when the width is known: a line
 * that is too wide goes on in the rows below.  Text may be wire bytes. */
#ifndef LINES_H
#define LINES_H

#include "view.h"

struct line {
	uint32_t from, n;	/* of text */
	uint8_t style;
	bool json;		/* the name of a member is told apart */
};

struct lines_row {
	uint32_t line, from, n;	/* of text */
};

struct lines {
	struct buf text;
	struct line *line;
	uint32_t n, cap;
	struct lines_row *row;
	uint32_t n_rows, cap_rows;
	int width;		/* that the rows were made for; 0: none */
};

#define LINES_MAX (32U << 20)	/* bytes of text */

void lines_init(struct lines *);
void lines_fini(struct lines *);
void lines_clear(struct lines *);
/* One line, without its end; what does not fit is left out. */
void lines_add(struct lines *, unsigned style, struct str);
void lines_fmt(struct lines *, unsigned style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* All lines of a text: LF, CR or CRLF ends one. */
void lines_text(struct lines *, unsigned style, struct str);
/* JSON laid out for reading. */
void lines_json(struct lines *, struct str);
/* 16 bytes to a line, in hex and as text. */
void lines_hex(struct lines *, struct str);
struct str lines_str(const struct lines *, uint32_t line);
/* Bytes of s that take at most w columns; one character at least. */
size_t lines_fitting(struct str, int w);
/* Makes the rows for that width. */
void lines_wrap(struct lines *, int width);
void lines_draw_row(const struct lines *, struct grid *, int y, int x, int w, uint32_t row);
/* The next row from `at` on (dir 1; or back) whose line matches; UINT32_MAX. */
uint32_t lines_search(const struct lines *, uint32_t at, struct str what, int dir);

#endif
