#include "lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/esc.h"
#include "mcpdiag/pretty.h"
#include "mcpdiag/xmem.h"

#define MAX_LINES (1U << 20)

void
lines_init(struct lines *l)
{
	*l = (struct lines){ .n = 0 };
	buf_init(&l->text, LINES_MAX);
}

void
lines_fini(struct lines *l)
{
	buf_fini(&l->text);
	free(l->line);
	free(l->row);
	lines_init(l);
}

void
lines_clear(struct lines *l)
{
	buf_clear(&l->text);
	l->n = l->n_rows = 0;
	l->width = 0;
}

/* A line of what has just been put at the end of the text. */
static void
note(struct lines *l, unsigned style, bool json, size_t from)
{
	if (l->n == MAX_LINES)
		return;
	l->line = xgrow(l->line, l->n, &l->cap, sizeof *l->line);
	l->line[l->n++] = (struct line){ (uint32_t)from, (uint32_t)(l->text.n - from),
	    (uint8_t)style, json };
	l->width = 0;
}

void
lines_add(struct lines *l, unsigned style, struct str s)
{
	size_t from = l->text.n;

	if (buf_adds(&l->text, s) == 0)
		note(l, style, false, from);
}

void
lines_fmt(struct lines *l, unsigned style, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (n >= 0)
		lines_add(l, style, str_of(text, (size_t)n < sizeof text ? (size_t)n :
		    sizeof text - 1));
}

static void
split(struct lines *l, unsigned style, bool json, struct str s)
{
	size_t i = 0;

	while (i < s.n) {
		const char *p = s.p + i, *end = s.p + s.n, *eol = p;
		size_t from = l->text.n;

		while (eol < end && *eol != '\n' && *eol != '\r')
			eol++;
		if (buf_add(&l->text, p, (size_t)(eol - p)) != 0)
			return;
		note(l, style, json, from);
		i = (size_t)(eol - s.p) + 1;
		if (eol < end && *eol == '\r' && i < s.n && s.p[i] == '\n')
			i++;
	}
}

void
lines_text(struct lines *l, unsigned style, struct str s)
{
	split(l, style, false, s);
}

void
lines_json(struct lines *l, struct str s)
{
	struct buf b;

	buf_init(&b, LINES_MAX);
	(void)pretty_json(s, &b);
	split(l, STYLE_PLAIN, true, buf_str(&b));
	buf_fini(&b);
}

void
lines_hex(struct lines *l, struct str s)
{
	for (size_t i = 0; i < s.n; i += 16) {
		char text[96];
		size_t n = s.n - i < 16 ? s.n - i : 16;
		int at = snprintf(text, sizeof text, "%08zx ", i);

		for (size_t k = 0; k < 16; k++) {
			unsigned c = k < n ? (unsigned char)s.p[i + k] : 0;

			at += snprintf(text + at, sizeof text - (size_t)at,
			    k < n ? "%s%02x" : "%s  ", k == 8 ? "  " : " ", c);
		}
		text[at++] = ' ';
		text[at++] = ' ';
		for (size_t k = 0; k < n; k++)
			text[at++] = s.p[i + k] >= 0x20 && s.p[i + k] < 0x7f ? s.p[i + k] : '.';
		lines_add(l, STYLE_PLAIN, str_of(text, (size_t)at));
	}
}

struct str
lines_str(const struct lines *l, uint32_t line)
{
	return str_of(buf_str(&l->text).p + l->line[line].from, l->line[line].n);
}

size_t
lines_fitting(struct str s, int w)
{
	size_t i = 0;
	int used = 0;

	while (i < s.n) {
		uint32_t cp;
		unsigned len = (unsigned char)s.p[i] < 0x80 ? 1 :
		    esc_utf8((const uint8_t *)s.p + i, s.n - i, &cp);
		int cols;

		len = len ? len : 1;
		cols = s.p[i] >= 0x20 && s.p[i] < 0x7f ? 1 : grid_width(str_of(s.p + i, len));
		if (i && used + cols > w)
			break;
		used += cols;
		i += len;
	}
	return i;
}

void
lines_wrap(struct lines *l, int width)
{
	if (width < 1)
		width = 1;
	if (l->width == width)
		return;
	l->width = width;
	l->n_rows = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		struct str s = lines_str(l, i);
		uint32_t from = l->line[i].from;

		do {
			size_t n = lines_fitting(s, width);

			if (l->n_rows == MAX_LINES)
				return;
			l->row = xgrow(l->row, l->n_rows, &l->cap_rows, sizeof *l->row);
			l->row[l->n_rows++] = (struct lines_row){ i, from, (uint32_t)n };
			from += (uint32_t)n;
			s = str_of(s.p + n, s.n - n);
		} while (s.n);
	}
}

/* Bytes of a line of laid-out JSON up to the colon behind a member's name. */
static size_t
name_len(struct str s)
{
	size_t i = 0;

	while (i < s.n && s.p[i] == ' ')
		i++;
	if (i == s.n || s.p[i] != '"')
		return 0;
	for (i++; i < s.n && s.p[i] != '"'; i++)
		i += s.p[i] == '\\';
	return i + 1 < s.n && s.p[i + 1] == ':' ? i + 1 : 0;
}

void
lines_draw_row(const struct lines *l, struct grid *g, int y, int x, int w, uint32_t row)
{
	const struct lines_row *r = &l->row[row];
	const struct line *line = &l->line[r->line];
	struct str s = str_of(buf_str(&l->text).p + r->from, r->n);
	size_t n = line->json && r->from == line->from ? name_len(s) : 0;
	int used = 0;

	if (n)
		used = grid_text(g, y, x, w, STYLE_KEY, str_of(s.p, n));
	(void)grid_text(g, y, x + used, w - used, line->style, str_of(s.p + n, s.n - n));
}

uint32_t
lines_search(const struct lines *l, uint32_t at, struct str what, int dir)
{
	uint32_t n = l->n_rows, line;

	if (n == 0)
		return UINT32_MAX;
	line = at < n ? l->row[at].line : 0;
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t row = dir > 0 ? (at + i) % n : (at + n - i % n) % n;

		/* A line that goes on in several rows is looked at once. */
		if (l->row[row].line == line && i < n)
			continue;
		line = l->row[row].line;
		if (!tui_match(lines_str(l, line), what))
			continue;
		while (row && l->row[row - 1].line == line)
			row--;
		return row;
	}
	return UINT32_MAX;
}
