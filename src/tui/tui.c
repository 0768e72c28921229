#include "mcpdiag/tui.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mcpdiag/xmem.h"
#include "tui_priv.h"

#define MAX_SEARCH 1024

/* ---- the stack of views ---- */

void
tui_push(struct tui *t, struct view *v)
{
	if (v == NULL)
		return;
	if (t->n == STACK) {
		v->ops->free(v);
		tui_say(t, "so many screens on top of each other: q goes back");
		return;
	}
	t->stack[t->n++] = v;
	t->dirty = true;
}

/* The view may be the one whose key is being dealt with. */
static void
bury(struct tui *t, struct view *v)
{
	t->gone[t->n_gone++] = v;
}

void
tui_pop(struct tui *t)
{
	if (t->n < 2 || t->n_gone == STACK)
		return;
	bury(t, t->stack[--t->n]);
	t->dirty = true;
}

static void
free_gone(struct tui *t)
{
	while (t->n_gone) {
		struct view *v = t->gone[--t->n_gone];

		v->ops->free(v);
	}
}

struct tui *
tui_new(const struct tui_opts *opts)
{
	struct tui *t = xcalloc(1, sizeof *t);

	t->opts = *opts;
	t->following = opts->live;
	t->state.done = -1;
	t->dirty = true;
	buf_init(&t->search, MAX_SEARCH);
	tui_push(t, view_sessions_new(t));
	return t;
}

void
tui_free(struct tui *t)
{
	if (t == NULL)
		return;
	free_gone(t);
	while (t->n) {
		struct view *v = t->stack[--t->n];

		v->ops->free(v);
	}
	told_fini(&t->told);
	verdict_free(t->verdict);
	buf_fini(&t->prompt.text);
	buf_fini(&t->search);
	free(t);
}

void
tui_event(struct tui *t, const struct ev *e)
{
	if (e->t) {
		if (t->first == 0)
			t->first = e->t;
		if (e->t > t->last)
			t->last = e->t;
	}
	if (e->type == EV_FINDING)
		(void)told_event(&t->told, e);
	if (e->type == EV_END && t->verdict == NULL)
		t->verdict = verdict_new(t->opts.timeline);
	for (uint32_t i = 0; i < t->n; i++)
		if (t->stack[i]->ops->event)
			t->stack[i]->ops->event(t->stack[i], e);
	t->dirty |= !t->paused;
}

/* ---- for views ---- */

const struct timeline *
tui_timeline(const struct tui *t)
{
	return t->opts.timeline;
}

const struct store *
tui_store(const struct tui *t)
{
	return t->opts.store;
}

bool
tui_paused(const struct tui *t)
{
	return t->paused;
}

bool
tui_following(const struct tui *t)
{
	return t->following && !t->paused;
}

void
tui_follow(struct tui *t, bool on)
{
	t->dirty |= t->following != on;
	t->following = on;
}

ns_t
tui_now(const struct tui *t)
{
	return t->now;
}

ns_t
tui_first(const struct tui *t)
{
	return t->first;
}

void
tui_time(const struct tui *t, ns_t at, ns_t previous, char text[24])
{
	time_t s = (time_t)(at / NS_S);
	ns_t from = t->mode == TIME_DELTA ? previous : t->first;
	int ms = (int)(at % NS_S / NS_MS);
	struct tm tm;
	char day[12];

	switch (t->mode) {
	case TIME_ABSOLUTE:
		if (at < 0 || localtime_r(&s, &tm) == NULL ||
		    strftime(day, sizeof day, "%H:%M:%S", &tm) == 0)
			break;
		(void)snprintf(text, 24, "%s.%03d", day, ms);
		return;
	case TIME_DELTA:
		if (previous == 0)
			from = at;
		/* FALLTHROUGH */
	case TIME_RELATIVE:
		if (__builtin_sub_overflow(at, from, &at))
			break;
		(void)snprintf(text, 24, t->mode == TIME_DELTA ? "%+.3f" : "%.3f",
		    (double)at / NS_S);
		text[15] = '\0';
		return;
	case TIME_N:
		break;
	}
	(void)snprintf(text, 24, "?");
}

void
tui_say(struct tui *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(t->said, sizeof t->said, fmt, ap);
	va_end(ap);
	t->dirty = true;
}

void
tui_tell(struct tui *t, const char *text)
{
	tui_say(t, "%s", text);
}

bool
tui_match(struct str text, struct str what)
{
	bool any = true;

	for (size_t i = 0; i < what.n; i++)
		any &= !(what.p[i] >= 'A' && what.p[i] <= 'Z');
	if (!any)
		return str_find(text, what) != SIZE_MAX;
	if (what.n == 0)
		return true;
	for (; text.n >= what.n; text.p++, text.n--)
		if ((*text.p | 0x20) == (what.p[0] | 0x20) && str_ipre(text, what))
			return true;
	return false;
}

void
tui_click(const struct tui *t, int *y, int *x)
{
	*y = t->click_y;
	*x = t->click_x;
}

/* ---- findings ---- */

const struct finding *
tui_finding(const struct tui *t, uint32_t session, uint32_t n)
{
	return told_get(&t->told, session, n);
}

void
tui_count_findings(const struct tui *t, uint32_t session, uint32_t n[3])
{
	told_count(&t->told, session, n);
}

const struct verdict *
tui_verdict(const struct tui *t)
{
	return t->verdict;
}

void
tui_show_packet(struct tui *t, uint32_t session, uint32_t pkt)
{
	uint32_t i;

	/* Not one ladder upon the other. */
	for (i = 1; i < t->n && strcmp(t->stack[i]->ops->name, "Ladder") != 0; i++)
		;
	while (t->n > i)
		tui_pop(t);
	tui_push(t, view_ladder_new(t, session, pkt));
}

void
tui_show_finding(struct tui *t, const struct finding *f)
{
	tui_show_packet(t, f->session, f->n_evidence ? f->evidence[0].at.pkt : f->first.pkt);
	tui_say(t, "%s: %.*s", f->detector, (int)(f->title.n < 200 ? f->title.n : 200),
	    f->title.p ? f->title.p : "");
}

static void
step_finding(struct tui *t, int dir)
{
	uint32_t n = t->told.n, at = t->finding;

	if (n == 0) {
		tui_say(t, "no finding so far");
		return;
	}
	if (at > n)
		at = 0;
	if (at == 0)
		at = dir > 0 ? 1 : n;
	else
		at = (uint32_t)(((int64_t)at - 1 + dir + n) % n) + 1;
	t->finding = at;
	tui_show_finding(t, told_get(&t->told, 0, at - 1));
}

/* ---- keys ---- */

static void
search(struct tui *t, int dir)
{
	struct view *v = tui_top(t);

	if (v->ops->search == NULL)
		tui_say(t, "there is nothing to search here");
	else if (t->search.n == 0)
		tui_say(t, "search for what? / asks");
	else if (!v->ops->search(v, buf_str(&t->search), dir))
		tui_say(t, "not found: %.*s", (int)t->search.n, t->search.p);
}

static void
on_search(struct view *v, struct str text)
{
	struct tui *t = v->tui;

	buf_clear(&t->search);
	(void)buf_adds(&t->search, text);
	if (text.n)
		search(t, 1);
}

void
tui_quit(struct tui *t)
{
	if (t->opts.live && !t->opts.saved && t->state.packets && !t->asked) {
		tui_say(t, "the capture is not saved (F2 does): once more to leave");
		t->asked = true;
		return;
	}
	t->leave = true;
}

static void
help(struct tui *t)
{
	if (strcmp(tui_top(t)->ops->name, "Help") != 0)
		tui_push(t, view_help_new(t, tui_top(t)));
}

static void
pause_or_go(struct tui *t)
{
	t->paused = !t->paused;
}

/* What a view does not take. */
static void
common(struct tui *t, uint32_t key)
{
	switch (key) {
	case '?': case TUI_F1:
		help(t);
		break;
	case TUI_F2: case 's':
		tui_save(t);
		break;
	case '/': case TUI_F3:
		if (tui_top(t)->ops->search)
			tui_prompt(t, "Search", "", on_search, tui_top(t));
		else
			search(t, 1);
		break;
	case ':':
		tui_command(t);
		break;
	case 'n':
		search(t, 1);
		break;
	case 'N':
		search(t, -1);
		break;
	case '!': case TUI_F8:
		tui_push(t, view_findings_new(t, tui_top(t)->session));
		break;
	case 'x': case TUI_F4:
		tui_push(t, view_ladder_new(t, tui_top(t)->session, 0));
		break;
	case ']':
		step_finding(t, 1);
		break;
	case '[':
		step_finding(t, -1);
		break;
	case 'p':
		pause_or_go(t);
		break;
	case 'A':
		t->following = !t->following;
		break;
	case 'M':
		if (t->opts.ask.mouse == NULL)
			break;
		t->mouse = !t->mouse;
		t->opts.ask.mouse(t->opts.ask.mouse_arg, t->mouse);
		tui_say(t, t->mouse ? "the mouse is ours: hold shift to mark text with it" :
		    "the mouse is the terminal's");
		break;
	case 'w':
		t->mode = (t->mode + 1) % TIME_N;
		tui_say(t, "%s", tui_mode_name(t->mode));
		break;
	case 'q': case TUI_ESC: case TUI_LEFT: case 'h': case TUI_BACKSPACE:
		if (t->n > 1)
			tui_pop(t);
		else if (key == 'q')
			tui_quit(t);
		else if (key == TUI_ESC)
			buf_clear(&t->search);
		break;
	case 'Z':
		if (t->last_key == 'Z')
			tui_quit(t);
		break;
	case 'Q': case TUI_F10:
		tui_quit(t);
		break;
	}
}

bool
tui_key(struct tui *t, uint32_t key)
{
	struct view *v = tui_top(t);
	bool asked = t->asked;

	t->dirty = true;
	if (t->prompt.on)
		prompt_key(t, key);
	else {
		t->said[0] = '\0';
		if (!v->ops->key(v, key))
			common(t, key);
		if (asked)
			t->asked = false;
	}
	t->last_key = key;
	free_gone(t);
	return !t->leave;
}

bool
tui_mouse(struct tui *t, uint32_t key, int y, int x)
{
	struct area a = t->body;

	if (t->prompt.on)
		return true;
	if (key != TUI_CLICK)
		return tui_key(t, key);
	t->click_y = y - a.y;
	t->click_x = x - a.x;
	if (y < a.y || y >= a.y + a.h || x < a.x || x >= a.x + a.w)
		return true;
	return tui_key(t, TUI_CLICK);
}

bool
tui_dirty(const struct tui *t)
{
	return t->dirty;
}

/* ---- drawing ---- */

static uint32_t
lower(uint32_t c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* Cells that the search finds, as they are on the screen. */
static void
highlight(const struct tui *t, struct grid *g)
{
	struct str s = buf_str(&t->search);
	int n = (int)s.n;
	bool any = true;

	for (int i = 0; i < n; i++)
		any &= !(s.p[i] >= 'A' && s.p[i] <= 'Z');
	for (int y = t->body.y; n && y < t->body.y + t->body.h; y++) {
		const struct cell *row = grid_at(g, y, 0);

		for (int x = 0; row && x + n <= g->w; x++) {
			int i = 0;

			while (i < n && (any ? lower(row[x + i].ch) : row[x + i].ch) ==
			    (uint8_t)s.p[i])
				i++;
			for (int k = 0; i == n && k < n; k++)
				grid_at(g, y, x + k)->style = (uint8_t)(STYLE_MATCH |
				    (row[x + k].style & STYLE_SELECTED));
		}
	}
}

void
tui_draw(struct tui *t, struct grid *g, const struct tui_state *state, ns_t now)
{
	int head = g->h >= 5 ? 2 : g->h >= 3 ? 1 : 0, foot = g->h >= 3;
	struct view *v = tui_top(t);

	t->state = *state;
	if (!t->paused)
		t->now = now;
	t->body = (struct area){ .y = head, .x = 0, .h = g->h - head - foot, .w = g->w };
	grid_clear(g);
	v->ops->draw(v, g, t->body);
	highlight(t, g);
	tui_draw_head(t, g, head);
	if (foot)
		tui_draw_foot(t, g, g->h - 1);
	else if (t->prompt.on)
		prompt_draw(t, g, g->h - 1);
	t->dirty = false;
}
