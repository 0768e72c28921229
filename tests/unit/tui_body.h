/* tui_body: the rows of a view alone: without the lines that all views share. */
#ifndef TUI_BODY_H
#define TUI_BODY_H

#include "tui_fix.h"

#define BODY_HEAD 2
#define BODY_FOOT 1

struct part {
	struct fix *f;
	uint32_t n, from, to;
};

static void
part_event(void *arg, const struct ev *e)
{
	struct part *p = arg;
	uint32_t n = p->n++;

	if (n >= p->from && n < p->to)
		pipeline_event(p->f->p, e);
}

/* Plays the events from the from-th (from 0) up to the to-th, which is left out. */
__attribute__((unused)) static void
body_play(struct fix *f, const char *path, uint32_t from, uint32_t to)
{
	struct part part = { f, 0, from, to };
	struct ndjson_in *in = ndjson_in_new(part_event, &part);
	char piece[4096];
	ssize_t n;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	while ((n = read(fd, piece, sizeof piece)) > 0)
		ndjson_in_feed(in, piece, (size_t)n);
	ndjson_in_eof(in);
	(void)close(fd);
	ndjson_in_free(in);
	if (to == UINT32_MAX)
		pipeline_end(f->p);
}

/* From the first screen into the session of its first row. */
__attribute__((unused)) static void
body_enter(struct fix *f)
{
	tui_draw(f->tui, &f->g, &f->state, f->now);
	fix_keys(f, "\n");
	tui_draw(f->tui, &f->g, &f->state, f->now);
}

/* The rows of the view, as text. */
static void
body_print(struct fix *f, struct buf *b)
{
	struct grid part = f->g;

	tui_draw(f->tui, &f->g, &f->state, f->now);
	assert_true(f->g.h > BODY_HEAD + BODY_FOOT);
	part.cells += BODY_HEAD * part.w;
	part.h -= BODY_HEAD + BODY_FOOT;
	buf_init(b, 1U << 20);
	grid_print(&part, b);
}

static bool
body_has(struct fix *f, const char *text)
{
	struct buf b;
	bool yes;

	body_print(f, &b);
	yes = str_find(buf_str(&b), str_c(text)) != SIZE_MAX;
	if (!yes)
		print_message("not there: \"%s\"\n%.*s", text, (int)b.n, b.p);
	buf_fini(&b);
	return yes;
}

/* They are those of tests/tui/NAME.txt; MCPDIAG_WRITE=1 writes it. */
static void
body_wants(struct fix *f, const char *name)
{
	struct buf b;

	body_print(f, &b);
	fix_compare(name, &b);
	buf_fini(&b);
}

/* The row of the view that the cursor is on, or -1: the first that is selected. */
__attribute__((unused)) static int
body_cursor(struct fix *f)
{
	tui_draw(f->tui, &f->g, &f->state, f->now);
	for (int y = BODY_HEAD; y < f->g.h - BODY_FOOT; y++)
		for (int x = 0; x < f->g.w; x++)
			if (grid_at(&f->g, y, x)->style & STYLE_SELECTED)
				return y - BODY_HEAD;
	return -1;
}

#endif
