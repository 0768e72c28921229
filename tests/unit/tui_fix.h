/* tui_fix: screens without a terminal: events from a file, keys, a wanted grid.
 * Wanted screens are tests/tui/NAME.txt; MCPDIAG_WRITE=1 writes them anew, to be
 * looked at before they are committed.  Run from the top folder. */
#ifndef TUI_FIX_H
#define TUI_FIX_H

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mcpdiag/ndjson.h"
#include "mcpdiag/pipeline.h"
#include "mcpdiag/source.h"
#include "mcpdiag/tui.h"
#include "mcpdiag/xmem.h"
#include "util.h"

struct fix {
	struct pipeline *p;
	struct store *store;
	struct tui *tui;
	struct grid g;
	struct tui_state state;
	ns_t now;
	uint32_t until;			/* last packet played; 0: all */
	bool stopped;
};

static void
fix_tap(void *arg, const struct ev *e)
{
	struct fix *f = arg;

	if (e->t > f->now)
		f->now = e->t;
	if (e->pkt > f->state.packets)
		f->state.packets = e->pkt;
	if (f->store && e->type != EV_FINDING)
		store_event(f->store, e);
	tui_event(f->tui, e);
}

static void
fix_text(void *arg, struct str text, uint64_t bytes, bool cut)
{
	struct fix *f = arg;

	store_text(f->store, text, bytes, cut);
}

static void
fix_event(void *arg, const struct ev *e)
{
	struct fix *f = arg;

	if (f->until && (e->pkt > f->until || e->type == EV_END))
		f->stopped = true;
	if (!f->stopped)
		pipeline_event(f->p, e);
}

/* Without events yet: give them with pipeline_event(f->p, ...). */
__attribute__((unused)) static void
fix_init(struct fix *f, int w, int h)
{
	struct pipeline_opts po = { .tap = fix_tap,
	    .text = fix_text, .arg = f };
	struct tui_opts to = { .source = "test.pcap" };

	(void)setenv("TZ", "UTC", 1);
	tzset();
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	*f = (struct fix){ .state = { .done = -1 } };
	limits_init(&po.limits);
	f->p = pipeline_new(&po);
	f->store = store_new(&po.limits);
	to.timeline = pipeline_timeline(f->p);
	to.store = f->store;
	f->tui = tui_new(&to);
	grid_init(&f->g, w, h, false);
}

/* Plays a file of events up to a packet (0: all of it, and the end). */
__attribute__((unused)) static void
fix_play(struct fix *f, const char *path, uint32_t until)
{
	struct ndjson_in *in = ndjson_in_new(fix_event, f);
	char piece[4096];
	ssize_t n;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	f->until = until;
	while ((n = read(fd, piece, sizeof piece)) > 0)
		ndjson_in_feed(in, piece, (size_t)n);
	ndjson_in_eof(in);
	(void)close(fd);
	assert_int_equal(ndjson_in_stats(in)->bad, 0);
	ndjson_in_free(in);
	if (until == 0) {
		pipeline_end(f->p);
		f->state.ended = true;
	}
}

/* Plays a capture up to a packet (0: all of it, and the end). */
__attribute__((unused)) static void
fix_read(struct fix *f, const char *path, uint32_t until)
{
	struct source *src = source_new();
	struct errmsg em = { "" };
	struct packet pk;

	assert_int_equal(source_add(src, path, &em), 0);
	while (source_next(src, &pk) > 0 && (until == 0 || pk.pkt <= until))
		(void)pipeline_packets(f->p, &pk, 1);
	source_free(src);
	if (until == 0) {
		pipeline_end(f->p);
		f->state.ended = true;
	}
}

__attribute__((unused)) static void
fix_fini(struct fix *f)
{
	tui_free(f->tui);
	store_free(f->store);
	pipeline_free(f->p);
	grid_fini(&f->g);
}

/* Each character is a key. */
__attribute__((unused)) static void
fix_keys(struct fix *f, const char *keys)
{
	for (; *keys; keys++)
		assert_true(tui_key(f->tui, *keys == '\n' ? TUI_ENTER :
		    *keys == '\033' ? TUI_ESC : (uint32_t)(unsigned char)*keys));
}

__attribute__((unused)) static struct str
fix_draw(struct fix *f, struct buf *b)
{
	buf_init(b, 1U << 20);
	tui_draw(f->tui, &f->g, &f->state, f->now);
	grid_print(&f->g, b);
	return buf_str(b);
}

/* Is the text somewhere on the screen? */
__attribute__((unused)) static bool
fix_shows(struct fix *f, const char *text)
{
	struct buf b;
	bool yes = str_find(fix_draw(f, &b), str_c(text)) != SIZE_MAX;

	if (!yes)
		print_message("not on the screen: \"%s\"\n%.*s", text, (int)b.n, b.p);
	buf_fini(&b);
	return yes;
}

/* What is drawn is what tests/tui/NAME.txt holds. */
__attribute__((unused)) static void
fix_compare(const char *name, const struct buf *b)
{
	char path[128], *want = xmalloc(1U << 20);
	size_t n = 0;
	FILE *file;

	(void)snprintf(path, sizeof path, "tests/tui/%s.txt", name);
	if (getenv("MCPDIAG_WRITE")) {
		file = fopen(path, "w");
		assert_non_null(file);
		assert_int_equal(fwrite(b->p, 1, b->n, file), b->n);
		assert_int_equal(fclose(file), 0);
	}
	file = fopen(path, "r");
	if (file) {
		n = fread(want, 1, 1U << 20, file);
		(void)fclose(file);
	}
	if (!str_eq(buf_str(b), str_of(want, n))) {
		print_message("%s: it is\n%.*s", path, (int)b->n, b->p);
		fail();
	}
	free(want);
}

/* The screen is that of tests/tui/NAME.txt. */
__attribute__((unused)) static void
fix_wants(struct fix *f, const char *name)
{
	struct buf b;

	(void)fix_draw(f, &b);
	fix_compare(name, &b);
	buf_fini(&b);
}

/* All cells hold what a terminal can be given. */
__attribute__((unused)) static void
fix_is_clean(const struct fix *f)
{
	for (int i = 0; i < f->g.w * f->g.h; i++) {
		uint32_t c = f->g.cells[i].ch;

		assert_false((c > 0 && c < 0x20) || (c >= 0x7f && c < 0xa0));
		assert_false((c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e));
	}
}

#endif
