#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ladder.h"
#include "mcpdiag/xmem.h"

#define MAX_ROWS 500		/* of a screen */
#define MAX_CLUES 65536

struct clue {			/* a packet that a finding points at */
	uint32_t pkt, finding, evidence;	/* numbers for tui_finding() */
	enum severity severity;
};

struct view_ladder {
	struct view v;
	struct ladder l;
	struct changes changes;
	uint64_t at, top;	/* rows; 0: not set yet */
	uint32_t pkt;		/* where the cursor is wanted; 0: no more */
	uint64_t marks[2];
	unsigned n_marks;
	int page;
	uint64_t shown[MAX_ROWS];	/* rows of the last drawing */
	struct ladder_row row;
	struct clue *clues;	/* by packet, the gravest first */
	uint32_t n_clues, cap_clues;
	bool stale;		/* findings have come since */
	bool jumped;		/* show what is around the cursor, too */
};

/* ---- what findings point at ---- */

static int
cmp_clue(const void *a, const void *b)
{
	const struct clue *x = a, *y = b;

	if (x->pkt != y->pkt)
		return x->pkt < y->pkt ? -1 : 1;
	return (int)y->severity - (int)x->severity;
}

static void
look_at_findings(struct view_ladder *s)
{
	const struct finding *f;

	s->stale = false;
	s->n_clues = 0;
	for (uint32_t n = 0; (f = tui_finding(s->v.tui, s->l.session, n)) != NULL; n++) {
		/* Remarks would mark every other row. */
		for (uint32_t i = 0; !f->remark && i < f->n_evidence &&
		    s->n_clues < MAX_CLUES; i++) {
			s->clues = xgrow(s->clues, s->n_clues, &s->cap_clues, sizeof *s->clues);
			s->clues[s->n_clues++] = (struct clue){ f->evidence[i].at.pkt, n, i,
			    f->severity };
		}
	}
	if (s->n_clues)
		qsort(s->clues, s->n_clues, sizeof *s->clues, cmp_clue);
}

static const struct clue *
clue_of(const struct view_ladder *s, uint32_t pkt)
{
	uint32_t lo = 0, hi = s->n_clues;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->clues[mid].pkt < pkt)
			lo = mid + 1;
		else
			hi = mid;
	}
	return pkt && lo < s->n_clues && s->clues[lo].pkt == pkt ? &s->clues[lo] : NULL;
}

static enum glyph
glyph_of(const struct clue *c)
{
	static const enum glyph glyphs[] = {
		[SEV_INFO] = GLYPH_INFO, [SEV_WARNING] = GLYPH_WARNING,
		[SEV_ERROR] = GLYPH_ERROR,
	};

	return c ? glyphs[c->severity] : GLYPH_N;
}

/* ---- drawing ---- */

/* Puts the cursor on a row that is there. */
static void
settle(struct view_ladder *s)
{
	if (!tui_paused(s->v.tui))
		s->l.limit = 0;
	else if (s->l.limit == 0)
		s->l.limit = store_last(s->l.store);
	if (s->pkt) {
		s->at = ladder_find_pkt(&s->l, s->pkt);
		s->pkt = 0;
		s->jumped = true;
	} else if (tui_following(s->v.tui))
		s->at = ladder_last(&s->l);
	if (s->at == 0 || store_item(s->l.store, s->at) == NULL)
		s->at = ladder_first(&s->l);
	if (s->top == 0 || store_item(s->l.store, s->top) == NULL)
		s->top = ladder_first(&s->l);
}

/* Makes the cursor one of the h rows from s->top on. */
static void
scroll(struct view_ladder *s, int h)
{
	uint64_t no = s->top, prev;
	int n = 0;

	if (s->jumped) {
		no = s->top = s->at;
		for (int i = 0; i < h / 3 && (prev = ladder_prev(&s->l, s->top)) != 0; i++)
			no = s->top = prev;
		s->jumped = false;
	}
	while (no && no != s->at && ++n < h)
		no = ladder_next(&s->l, no);
	if (no != s->at || n >= h) {
		bool above = s->at < s->top;

		s->top = s->at;
		for (n = 1; !above && n < h && (prev = ladder_prev(&s->l, s->top)) != 0; n++)
			s->top = prev;
	}
	/* No empty rows at the end while there is something above. */
	for (n = 1, no = s->top; n < h && (no = ladder_next(&s->l, no)) != 0; n++)
		continue;
	for (; n < h && (prev = ladder_prev(&s->l, s->top)) != 0; n++)
		s->top = prev;
}

static bool
is_marked(const struct view_ladder *s, uint64_t no)
{
	return (s->n_marks > 0 && s->marks[0] == no) || (s->n_marks > 1 && s->marks[1] == no);
}

/* The last row: what a finding says of the cursor's packet, else all that the
 * row has no room for. */
static void
draw_status(struct view_ladder *s, struct grid *g, struct area a)
{
	const struct clue *c;
	const struct finding *f;
	int used;

	if (!ladder_row(&s->l, s->at, &s->row))
		return;
	c = clue_of(s, s->row.pkt);
	f = c ? tui_finding(s->v.tui, s->l.session, c->finding) : NULL;
	if (f == NULL || c->evidence >= f->n_evidence) {
		(void)grid_text(g, a.y, a.x, a.w, STYLE_DIM, buf_str(&s->row.text));
		return;
	}
	grid_glyph(g, a.y, a.x, STYLE_WARNING, glyph_of(c));
	used = 2 + grid_text(g, a.y, a.x + 2, a.w - 2, STYLE_BOLD, str_c(f->detector));
	used += grid_text(g, a.y, a.x + used, a.w - used, STYLE_PLAIN, STR(": "));
	(void)grid_text(g, a.y, a.x + used, a.w - used, STYLE_PLAIN,
	    f->evidence[c->evidence].what);
}

static void
draw_nothing(const struct view_ladder *s, struct grid *g, struct area a)
{
	(void)grid_text(g, a.y, a.x, a.w, STYLE_DIM, store_forgot(s->l.store) ?
	    STR("Nothing of this session is kept any more (--limit store=)") :
	    STR("Nothing to show yet"));
}

static void
ladder_view_draw(struct view *v, struct grid *g, struct area a)
{
	struct view_ladder *s = (struct view_ladder *)v;
	uint64_t forgot = store_session_forgot(s->l.store, s->l.session), no, above;
	ns_t previous = 0;

	if (s->stale)
		look_at_findings(s);
	settle(s);
	s->page = 0;
	if (a.h < 1)
		return;
	if (a.h > 3) {
		ladder_draw_head(v->tui, g, (struct area){ a.y, a.x, 1, a.w }, s->l.session);
		a.y++;
		a.h--;
	}
	if (s->at == 0) {
		draw_nothing(s, g, a);
		return;
	}
	if (a.h > 6)
		draw_status(s, g, (struct area){ a.y + --a.h, a.x, 1, a.w });
	if (forgot && a.h > 3) {
		(void)grid_fmt(g, a.y++, a.x, a.w, STYLE_DIM,
		    "%" PRIu64 " earlier items are gone (--limit store=)", forgot);
		a.h--;
	}
	scroll(s, a.h);
	above = ladder_prev(&s->l, s->top);
	if (above)
		previous = store_item(s->l.store, above)->ev->t;
	for (no = s->top; no && s->page < a.h && s->page < MAX_ROWS;
	    no = ladder_next(&s->l, no)) {
		int y = a.y + s->page;

		(void)ladder_row(&s->l, no, &s->row);
		ladder_draw(v->tui, g, a, y, &s->row, previous, is_marked(s, no),
		    glyph_of(clue_of(s, s->row.pkt)));
		if (no == s->at)
			grid_mark(g, y, a.x, a.w, STYLE_SELECTED);
		previous = s->row.t;
		s->shown[s->page++] = no;
	}
}

/* ---- keys ---- */

static void
move(struct view_ladder *s, int by)
{
	uint64_t no;

	for (; by < 0 && (no = ladder_prev(&s->l, s->at)) != 0; by++)
		s->at = no;
	for (; by > 0 && (no = ladder_next(&s->l, s->at)) != 0; by--)
		s->at = no;
}

static void
mark(struct view_ladder *s)
{
	for (unsigned i = 0; i < s->n_marks; i++) {
		if (s->marks[i] != s->at)
			continue;
		s->marks[i] = s->marks[1];
		s->n_marks--;
		return;
	}
	if (s->n_marks == 2) {		/* the older one goes */
		s->marks[0] = s->marks[1];
		s->n_marks = 1;
	}
	s->marks[s->n_marks++] = s->at;
}

static void
diff(struct view_ladder *s)
{
	uint64_t a, b;

	if (s->n_marks == 0) {
		tui_say(s->v.tui, "mark a row with Space, then another, or go there: "
		    "d compares");
		return;
	}
	a = s->marks[0];
	b = s->n_marks == 2 ? s->marks[1] : s->at;
	if (a > b) {
		uint64_t c = a;

		a = b;
		b = c;
	}
	if (a == b) {
		tui_say(s->v.tui, "that is the marked row itself: go to another");
		return;
	}
	tui_push(s->v.tui, view_diff_new(s->v.tui, ladder_message(&s->l, a),
	    ladder_message(&s->l, b)));
}

static void
click(struct view_ladder *s)
{
	int y, x;

	tui_click(s->v.tui, &y, &x);
	y -= 1 + (store_session_forgot(s->l.store, s->l.session) > 0);
	if (y < 0 || y >= s->page)
		return;
	if (s->at == s->shown[y])
		tui_push(s->v.tui, view_message_new(s->v.tui, s->at));
	s->at = s->shown[y];
	tui_follow(s->v.tui, false);
}

/* Keys that move the cursor. */
static bool
moves(struct view_ladder *s, uint32_t key)
{
	int page = s->page > 1 ? s->page : 1, half = page > 1 ? page / 2 : 1, by;

	switch (key) {
	case TUI_UP: case TUI_WHEEL_UP: case 'k':
		by = -1;
		break;
	case TUI_DOWN: case TUI_WHEEL_DOWN: case 'j':
		by = 1;
		break;
	case TUI_PGUP: case 'B' - '@': case 'b':
		by = -page;
		break;
	case TUI_PGDN: case 'F' - '@':
		by = page;
		break;
	case 'U' - '@':
		by = -half;
		break;
	case 'D' - '@':
		by = half;
		break;
	case TUI_HOME: case 'g':
		tui_follow(s->v.tui, false);
		s->at = ladder_first(&s->l);
		return true;
	case TUI_END: case 'G':
		s->at = ladder_last(&s->l);
		tui_follow(s->v.tui, true);
		return true;
	default:
		return false;
	}
	if (by < 0)
		tui_follow(s->v.tui, false);
	move(s, by);
	return true;
}

static bool
ladder_view_key(struct view *v, uint32_t key)
{
	struct view_ladder *s = (struct view_ladder *)v;

	if (s->at == 0 || store_item(s->l.store, s->at) == NULL)
		settle(s);
	if (moves(s, key))
		return true;
	switch (key) {
	case TUI_ENTER: case 'l': case TUI_RIGHT:
		if (s->at)
			tui_push(v->tui, view_message_new(v->tui, s->at));
		return true;
	case TUI_CLICK:
		click(s);
		return true;
	case ' ':
		if (s->at) {
			mark(s);
			move(s, 1);
			tui_follow(v->tui, false);
		}
		return true;
	case 'd':
		diff(s);
		return true;
	case 'x':
		s->l.detail = !s->l.detail;
		if (s->at)
			s->at = ladder_row_of(&s->l, s->at);
		s->top = s->top ? ladder_row_of(&s->l, s->top) : 0;
		return true;
	}
	return false;
}

static void
ladder_view_event(struct view *v, const struct ev *e)
{
	struct view_ladder *s = (struct view_ladder *)v;

	s->stale |= e->type == EV_FINDING;
	if (e->type == EV_OWNER && e->session == s->l.session)
		changes_event(&s->changes, s->l.timeline, e);
}

static bool
ladder_view_search(struct view *v, struct str what, int dir)
{
	struct view_ladder *s = (struct view_ladder *)v;
	uint64_t no = s->at;

	if (no == 0)
		return false;
	do {
		no = dir > 0 ? ladder_next(&s->l, no) : ladder_prev(&s->l, no);
		if (no == 0)
			no = dir > 0 ? ladder_first(&s->l) : ladder_last(&s->l);
		if (!ladder_row(&s->l, no, &s->row))
			return false;
		if (tui_match(buf_str(&s->row.text), what)) {
			s->at = no;
			tui_follow(v->tui, false);
			return true;
		}
	} while (no != s->at);
	return false;
}

static void
ladder_view_title(struct view *v, struct buf *b)
{
	const struct view_ladder *s = (const struct view_ladder *)v;
	const struct tl_session *ts = timeline_session_n(s->l.timeline, s->l.session);

	if (s->l.session == 0)
		(void)buf_adds(b, STR("without a session"));
	else if (ts && ts->key)
		(void)buf_adds(b, str_c(ts->key));
	else
		(void)buf_fmt(b, "session %u", s->l.session);
	if (s->l.detail)
		(void)buf_adds(b, STR(", in detail"));
}

static void
ladder_view_free(struct view *v)
{
	struct view_ladder *s = (struct view_ladder *)v;

	buf_fini(&s->row.text);
	changes_fini(&s->changes);
	free(s->clues);
	free(s);
}

static const char *const keys[] = {
	"Enter", "message", "x", "detail", "Space", "mark", "d", "diff", NULL,
};

static const char *const help[] = {
	"Enter l Right", "the message: head, JSON, bytes",
	"x", "keep-alives, heads, ends and connections, too; or not",
	"Space", "mark this row, or no longer; two can be marked",
	"d", "compare the two that are marked, or the marked one with this",
	"G End", "the newest row, and stay there (follow)",
	"", "left: the client; right: the server; between them what was sent",
	NULL,
};

static const struct view_ops ladder_ops = {
	.name = "Ladder",
	.keys = keys,
	.help = help,
	.draw = ladder_view_draw,
	.key = ladder_view_key,
	.event = ladder_view_event,
	.search = ladder_view_search,
	.title = ladder_view_title,
	.free = ladder_view_free,
};

struct view *
view_ladder_new(struct tui *t, uint32_t session, uint32_t pkt)
{
	struct view_ladder *s = xcalloc(1, sizeof *s);
	const struct tl_session *ts;

	s->v = (struct view){ .ops = &ladder_ops, .tui = t, .session = session };
	s->l = (struct ladder){ .store = tui_store(t), .timeline = tui_timeline(t),
	    .session = session, .changes = &s->changes };
	ts = timeline_session_n(s->l.timeline, session);
	if (ts)
		changes_fill(&s->changes, s->l.timeline, ts);
	s->pkt = pkt;
	s->stale = true;
	if (pkt)
		tui_follow(t, false);
	buf_init(&s->row.text, 8192);
	return &s->v;
}
