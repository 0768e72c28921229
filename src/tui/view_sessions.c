/* The first screen: a row for each session, and below it what is going on in
 * the one under the cursor. */
#include <stdio.h>
#include <stdlib.h>

#include "changes.h"
#include "lines.h"
#include "mcpdiag/xmem.h"
#include "pulse.h"
#include "view.h"

#define DETAIL 5		/* rows about the session under the cursor, at least */
#define DETAIL_MORE 10		/* and so many more where there is room */
#define DETAIL_FROM 13		/* rows the area has at least for that */

enum column {
	COL_FINDINGS, COL_SESSION, COL_WHO, COL_TRANSPORT, COL_REVISION, COL_AGE,
	COL_STREAMS, COL_OWNER, COL_COUNTS, COL_CHANGES, COL_LAST, COL_N
};

static const struct {
	const char *head;
	int w;			/* columns; 0: takes what is left */
	int from;		/* shown on screens at least that wide */
	bool right;
} columns[COL_N] = {
	[COL_FINDINGS] = { "!", 3, 0, false },
	[COL_SESSION] = { "SESSION", 12, 96, false },
	[COL_WHO] = { "CLIENT > SERVER", 0, 0, false },
	[COL_TRANSPORT] = { "TRANSPORT", 10, 118, false },
	[COL_REVISION] = { "REVISION", 10, 108, false },
	[COL_AGE] = { "AGE", 4, 50, true },
	[COL_STREAMS] = { "OPEN", 4, 76, true },
	[COL_OWNER] = { "OWNER", 14, 40, false },
	[COL_COUNTS] = { "GET:POST", 8, 66, true },
	[COL_CHANGES] = { "TAKEN", 6, 90, true },
	[COL_LAST] = { "LAST", 16, 76, false },
};

struct row {
	uint32_t n;			/* session */
	uint64_t key;
	const char *word;
};

struct sessions {
	struct view v;
	struct list list;
	struct pulses *pulses;
	struct changes changes;		/* of the owner, in the session `changed` */
	uint32_t changed;
	struct row *rows;
	uint32_t cap;
	uint32_t selected;		/* session under the cursor; 0 none yet */
	enum column sort;		/* COL_N: as they appeared */
	bool down, end;			/* end: the cursor stays on the last */
	bool stale;			/* not as asked for: to be made even when paused */
	struct buf filter;
};

/* ---- which rows, in which order ---- */

static bool
has(const char *text, struct str what)
{
	return text && tui_match(str_c(text), what);
}

static bool
passes(const struct sessions *s, const struct tl_session *t)
{
	struct str f = buf_str(&s->filter);
	const struct pulse *p;

	if (f.n == 0 || has(t->key, f) || has(t->client, f) || has(t->server, f) ||
	    has(t->endpoint, f) || has(t->revision, f) || has(t->looks_like, f) ||
	    has(t->client_looks_like, f) || has(ev_transport_names[t->transport], f))
		return true;
	p = pulses_get(s->pulses, t->n);
	return p && (has(pulse_role_name(p), f) || has(p->last, f));
}

static uint64_t
badness(const struct tui *t, uint32_t session)
{
	uint32_t n[3];

	tui_count_findings(t, session, n);
	return (uint64_t)n[SEV_ERROR] << 40 | (uint64_t)n[SEV_WARNING] << 20 | n[SEV_INFO];
}

static void
set_key(const struct sessions *s, struct row *r, const struct tl_session *t)
{
	const struct pulse *p = pulses_get(s->pulses, t->n);

	r->word = NULL;
	r->key = 0;
	switch (s->sort) {
	case COL_FINDINGS:
		r->key = badness(s->v.tui, t->n);
		break;
	case COL_SESSION:
		r->word = t->key ? t->key : "";
		break;
	case COL_WHO:
		r->word = t->client ? t->client : "";
		break;
	case COL_TRANSPORT:
		r->key = t->transport;
		break;
	case COL_REVISION:
		r->word = t->revision ? t->revision : "";
		break;
	case COL_AGE:
		r->key = (uint64_t)(INT64_MAX - t->opened);
		break;
	case COL_STREAMS:
		r->key = p ? p->open : 0;
		break;
	case COL_OWNER:
		r->key = p ? p->owner : 0;
		break;
	case COL_COUNTS:
		r->key = t->gets;
		break;
	case COL_CHANGES:
		r->key = p ? p->changes : 0;
		break;
	case COL_LAST:
		r->key = (uint64_t)(p ? p->t : 0);
		break;
	case COL_N:
		r->key = t->n;
		break;
	}
}

static int
compare(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;
	int c = 0;

	if (a->word)
		c = strcmp(a->word, b->word);
	else if (a->key != b->key)
		c = a->key < b->key ? -1 : 1;
	return c ? c : a->n < b->n ? -1 : a->n > b->n;
}

static void
turn(struct row *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		struct row r = rows[i];

		rows[i] = rows[n - 1 - i];
		rows[n - 1 - i] = r;
	}
}

/* The cursor stays on its session where that is still there. */
static void
find_selected(struct sessions *s)
{
	uint32_t i;

	if (s->end && tui_following(s->v.tui) && s->list.n) {
		s->list.at = s->list.n - 1;
		return;
	}
	if (s->list.at < s->list.n && s->rows[s->list.at].n == s->selected)
		return;
	for (i = 0; i < s->list.n && s->rows[i].n != s->selected; i++)
		;
	if (i < s->list.n)
		s->list.at = i;
}

static void
make_rows(struct sessions *s)
{
	const struct tl_session *t;

	if (tui_paused(s->v.tui) && !s->stale)
		return;
	s->stale = false;
	s->list.n = 0;
	for (uint32_t i = 0; (t = timeline_session(tui_timeline(s->v.tui), i)) != NULL; i++) {
		if (!passes(s, t))
			continue;
		s->rows = xgrow(s->rows, s->list.n, &s->cap, sizeof *s->rows);
		s->rows[s->list.n].n = t->n;
		set_key(s, &s->rows[s->list.n++], t);
	}
	if (s->sort != COL_N && s->list.n)
		qsort(s->rows, s->list.n, sizeof *s->rows, compare);
	if (s->down)
		turn(s->rows, s->list.n);
	find_selected(s);
}

/* ---- a row ---- */

static void
span(ns_t t, char text[16])
{
	long long s = t > 0 ? t / NS_S : 0;

	if (t < 10 * NS_S)
		(void)snprintf(text, 16, "%.1fs", t > 0 ? (double)t / NS_S : 0);
	else if (s < 100)
		(void)snprintf(text, 16, "%llds", s);
	else if (s < 100 * 60)
		(void)snprintf(text, 16, "%lldm", s / 60);
	else if (s < 100 * 3600)
		(void)snprintf(text, 16, "%lldh", s / 3600);
	else
		(void)snprintf(text, 16, "%lldd", s / 86400);
}

static void
count(uint64_t n, char text[16])
{
	if (n < 10000)
		(void)snprintf(text, 16, "%llu", (unsigned long long)n);
	else if (n < 1000000)
		(void)snprintf(text, 16, "%lluk", (unsigned long long)n / 1000);
	else
		(void)snprintf(text, 16, "%lluM", (unsigned long long)n / 1000000);
}

/* The worst there is, and how many there are. */
static void
draw_badge(const struct tui *t, struct grid *g, int y, int x, uint32_t session)
{
	static const enum glyph glyphs[] = { GLYPH_INFO, GLYPH_WARNING, GLYPH_ERROR };
	static const enum style styles[] = { STYLE_INFO, STYLE_WARNING, STYLE_ERROR };
	enum severity worst;
	uint32_t c[3], n;

	tui_count_findings(t, session, c);
	worst = c[SEV_ERROR] ? SEV_ERROR : c[SEV_WARNING] ? SEV_WARNING : SEV_INFO;
	n = c[SEV_ERROR] + c[SEV_WARNING] + c[SEV_INFO];
	if (n == 0)
		return;
	grid_glyph(g, y, x, styles[worst], glyphs[worst]);
	if (n < 100)
		(void)grid_fmt(g, y, x + 1, 2, styles[worst], "%u", n);
	else
		(void)grid_text(g, y, x + 1, 2, styles[worst], STR("++"));
}

static const char *
name_of(const char *name, const char *looks, const char *otherwise)
{
	return name && *name ? name : looks && *looks ? looks : otherwise ? otherwise : "?";
}

static void
draw_who(struct grid *g, int y, int x, int w, const struct tl_session *t)
{
	struct str client = str_c(name_of(t->client, t->client_looks_like, NULL));
	struct str server = str_c(name_of(t->server, t->looks_like, t->endpoint));
	int want = grid_width(server), half = (w - 3) / 2, used;

	/* Each has half; who needs less leaves the rest to the other. */
	used = grid_text(g, y, x, want < half ? w - 3 - want : half, STYLE_CLIENT, client);
	grid_glyph(g, y, x + used + 1, STYLE_DIM, GLYPH_RIGHT);
	(void)grid_text(g, y, x + used + 3, w - used - 3, STYLE_SERVER, server);
}

static void
draw_owner(struct grid *g, int y, int x, int w, const struct pulse *p)
{
	bool primary;

	if (p == NULL || (p->owner == 0 && p->before == 0)) {
		(void)grid_text(g, y, x, w, STYLE_DIM, STR("-"));
		return;
	}
	if (p->owner == 0) {
		grid_glyph(g, y, x, STYLE_WARNING, GLYPH_CLOSED);
		(void)grid_fmt(g, y, x + 2, w - 2, STYLE_WARNING, "none, #%u", p->before);
		return;
	}
	primary = p->role == EV_PRIMARY;
	grid_glyph(g, y, x, STYLE_PRIMARY, primary ? GLYPH_PRIMARY : GLYPH_PRESUMED);
	(void)grid_fmt(g, y, x + 2, w - 2, STYLE_PRIMARY, "%s #%u", ev_role_names[p->role],
	    p->owner);
}

static void
draw_last(const struct sessions *s, struct grid *g, int y, int x, int w,
    const struct pulse *p)
{
	char ago[16];
	int n;

	if (p == NULL || p->last[0] == '\0')
		return;
	span(tui_now(s->v.tui) - p->t, ago);
	n = (int)strlen(ago);
	(void)grid_text(g, y, x, w - n - 1, STYLE_PLAIN, str_c(p->last));
	(void)grid_text(g, y, x + w - n, n, STYLE_DIM, str_c(ago));
}

static void
right(struct grid *g, int y, int x, int w, unsigned style, const char *text)
{
	int n = (int)strlen(text);

	(void)grid_text(g, y, n < w ? x + w - n : x, w, style, str_c(text));
}

static void
draw_cell(const struct sessions *s, struct grid *g, int y, int x, int w, enum column c,
    const struct tl_session *t)
{
	const struct pulse *p = pulses_get(s->pulses, t->n);
	char text[40], a[16], b[16];

	switch (c) {
	case COL_FINDINGS:
		draw_badge(s->v.tui, g, y, x, t->n);
		break;
	case COL_SESSION:
		(void)grid_text(g, y, x, w, t->deleted ? STYLE_DIM : STYLE_PLAIN,
		    str_c(t->key ? t->key : "?"));
		break;
	case COL_WHO:
		draw_who(g, y, x, w, t);
		break;
	case COL_TRANSPORT:
		(void)grid_text(g, y, x, w, STYLE_PLAIN, str_c(ev_transport_names[t->transport]));
		break;
	case COL_REVISION:
		(void)grid_text(g, y, x, w, t->offered ? STYLE_DIM : STYLE_PLAIN,
		    str_c(t->revision ? t->revision : "-"));
		break;
	case COL_AGE:
		span(tui_now(s->v.tui) - t->opened, text);
		right(g, y, x, w, STYLE_PLAIN, text);
		break;
	case COL_STREAMS:
		count(p ? p->open : 0, text);
		right(g, y, x, w, STYLE_PLAIN, text);
		break;
	case COL_OWNER:
		draw_owner(g, y, x, w, p);
		break;
	case COL_COUNTS:
		count(t->gets, a);
		count(t->posts, b);
		(void)snprintf(text, sizeof text, "%s:%s", a, b);
		right(g, y, x, w, STYLE_PLAIN, text);
		break;
	case COL_CHANGES:
		count(p ? p->changes : 0, text);
		right(g, y, x, w, p && p->changes ? STYLE_WARNING : STYLE_DIM, text);
		break;
	case COL_LAST:
		draw_last(s, g, y, x, w, p);
		break;
	case COL_N:
		break;
	}
}

/* Where each column is on a screen that wide; w 0: not at all. */
static void
lay_out(int width, int x[COL_N], int w[COL_N])
{
	int used = 0, at = 0;

	for (int c = 0; c < COL_N; c++) {
		bool shown = width >= columns[c].from;

		w[c] = shown ? columns[c].w : 0;
		used += shown ? columns[c].w + 1 : 0;
	}
	w[COL_WHO] = width - used > 10 ? width - used : 10;
	/* On a wide screen the last event gets its share. */
	if (w[COL_LAST] && w[COL_WHO] > 44) {
		int share = (w[COL_WHO] - 44) / 3;

		if (share > 16)
			share = 16;
		w[COL_LAST] += share;
		w[COL_WHO] -= share;
	}
	for (int c = 0; c < COL_N; c++) {
		x[c] = at;
		at += w[c] ? w[c] + 1 : 0;
	}
}

static void
draw_head(const struct sessions *s, struct grid *g, struct area a, const int x[COL_N],
    const int w[COL_N])
{
	grid_mark(g, a.y, a.x, a.w, STYLE_BAR);
	for (int c = 0; c < COL_N; c++) {
		bool here = s->sort == (enum column)c;
		char text[40];

		if (w[c] == 0)
			continue;
		(void)snprintf(text, sizeof text, "%s%s", columns[c].head,
		    !here ? "" : s->down ? "-" : "+");
		if (columns[c].right)
			right(g, a.y, a.x + x[c], w[c], here ? STYLE_KEY : STYLE_BAR, text);
		else
			(void)grid_text(g, a.y, a.x + x[c], w[c], here ? STYLE_KEY : STYLE_BAR,
			    str_c(text));
	}
}

/* ---- the session under the cursor ---- */

static int
words(struct grid *g, int y, int x, int end, unsigned style, const char *before,
    const char *text)
{
	if (text == NULL || *text == '\0')
		return x;
	x += grid_text(g, y, x, end - x, STYLE_DIM, str_c(before));
	return x + grid_text(g, y, x, end - x, style, str_c(text));
}

static void
draw_owner_line(const struct sessions *s, struct grid *g, int y, struct area a,
    const struct pulse *p)
{
	const struct tl_stream *st = timeline_stream_n(tui_timeline(s->v.tui), p->owner);
	char held[16];
	int x = 3, end = a.w;

	if (p->owner == 0 || st == NULL) {
		grid_glyph(g, y, 1, STYLE_WARNING, GLYPH_CLOSED);
		(void)grid_text(g, y, x, end - x, p->before ? STYLE_WARNING : STYLE_DIM,
		    p->before ? STR("nobody owns the channel: who hears the server now?") :
		    STR("no GET stream so far: nobody could hear the server"));
		return;
	}
	grid_glyph(g, y, 1, STYLE_PRIMARY, p->role == EV_PRIMARY ? GLYPH_PRIMARY : GLYPH_PRESUMED);
	span(tui_now(s->v.tui) - p->since, held);
	x += grid_fmt(g, y, x, end - x, STYLE_PRIMARY, "GET #%u %s ", p->owner,
	    p->role == EV_PRIMARY ? "owns the channel" : "is presumed to own the channel");
	x += grid_fmt(g, y, x, end - x, STYLE_PLAIN, "for %s: %s", held,
	    ev_kind_names[st->kind]);
	x = words(g, y, x, end, STYLE_PLAIN, " after id ", st->cursor);
	(void)grid_fmt(g, y, x, end - x, STYLE_PLAIN, ", %u event%s", st->events,
	    st->events == 1 ? "" : "s");
}

/* The i-th change of owner, the latest first. */
static void
draw_change_line(const struct sessions *s, struct grid *g, int y, struct area a, uint32_t i)
{
	const struct timeline *tl = tui_timeline(s->v.tui);
	const struct change *c;
	bool taken, lost;
	unsigned style;
	char text[24];
	struct buf b;
	int x = 3;

	if (i >= s->changes.n)
		return;
	c = &s->changes.all[s->changes.n - 1 - i];
	taken = change_kind(tl, c) == CHANGE_TAKEOVER || change_kind(tl, c) == CHANGE_MESSAGE;
	lost = change_kind(tl, c) == CHANGE_LOST;
	style = i ? STYLE_DIM : taken || lost ? STYLE_WARNING : STYLE_PLAIN;
	grid_glyph(g, y, 1, style, lost ? GLYPH_CLOSED : taken ? GLYPH_TAKEOVER : GLYPH_OPEN);
	if (i == 0) {
		span(tui_now(s->v.tui) - c->t, text);
		x += grid_fmt(g, y, x, a.w - x, style, "%s ago: ", text);
	} else {
		tui_time(s->v.tui, c->t, tui_first(s->v.tui), text);
		x += grid_fmt(g, y, x, a.w - x, style, "%s ", text);
	}
	buf_init(&b, 512);
	change_text(tl, c, &b);
	(void)grid_text(g, y, x, a.w - x, style, buf_str(&b));
	buf_fini(&b);
}

/* As many findings as there are rows, the worst first. */
static void
draw_findings(const struct sessions *s, struct grid *g, struct area a, uint32_t session)
{
	static const enum glyph glyphs[] = { GLYPH_INFO, GLYPH_WARNING, GLYPH_ERROR };
	static const enum style styles[] = { STYLE_INFO, STYLE_WARNING, STYLE_ERROR };
	const struct finding *f;
	int y = a.y;

	for (int sev = SEV_ERROR; sev >= SEV_INFO; sev--)
		for (uint32_t i = 0; y < a.y + a.h &&
		    (f = tui_finding(s->v.tui, session, i)) != NULL; i++) {
			int x = 3;

			if ((int)f->severity != sev)
				continue;
			grid_glyph(g, y, 1, styles[sev], glyphs[sev]);
			x += grid_fmt(g, y, x, a.w - x, styles[sev], "%s %s: ",
			    severity_name(f->severity), f->detector);
			(void)grid_text(g, y++, x, a.w - x, STYLE_PLAIN, f->title);
		}
	if (y > a.y)
		return;
	grid_glyph(g, y, 1, STYLE_GOOD, GLYPH_OK);
	(void)grid_text(g, y, 3, a.w - 3, STYLE_GOOD, STR("no finding so far"));
}

static void
draw_detail(const struct sessions *s, struct grid *g, struct area a, uint32_t n)
{
	const struct tl_session *t = timeline_session_n(tui_timeline(s->v.tui), n);
	const struct pulse *p = pulses_get(s->pulses, n);
	static const struct pulse none;
	int x = 2, more = a.h - DETAIL, changes = 1 + more - more / 3, y = a.y + 2;

	grid_fill(g, a.y, a.x, a.w, STYLE_BORDER, GLYPH_HLINE);
	if (t == NULL)
		return;
	x = words(g, a.y, x, a.w, STYLE_TITLE, " ", t->key);
	x = words(g, a.y, x, a.w, STYLE_PLAIN, "  ", ev_transport_names[t->transport]);
	x = words(g, a.y, x, a.w, STYLE_PLAIN, " ", t->revision);
	x += grid_fmt(g, a.y, x, a.w - x, STYLE_PLAIN, "  %u exchanges%s ", t->exchanges,
	    t->deleted ? ", deleted" : "");
	draw_owner_line(s, g, a.y + 1, a, p ? p : &none);
	for (int i = 0; i < changes; i++)
		draw_change_line(s, g, y++, a, (uint32_t)i);
	draw_findings(s, g, (struct area){ y, a.x, 1 + more / 3, a.w }, n);
	y = a.y + a.h - 1;
	x = words(g, y, 3, a.w, STYLE_SERVER, "server ", t->server);
	x = words(g, y, x, a.w, STYLE_SERVER, " at ", t->endpoint);
	x = words(g, y, x, a.w, STYLE_PLAIN, ", looks like ", t->looks_like);
	x = words(g, y, x, a.w, STYLE_CLIENT, "; client ", t->client);
	(void)words(g, y, x, a.w, STYLE_PLAIN, ", looks like ", t->client_looks_like);
}

/* Rows for the detail: the list has half of the screen, or all it needs. */
static int
detail_rows(int h, uint32_t n)
{
	int list = n < (uint32_t)h / 2 ? (int)n : h / 2, more;

	if (h < DETAIL_FROM)
		return 0;
	more = h - 2 - list - DETAIL;
	return DETAIL + (more < 0 ? 0 : more > DETAIL_MORE ? DETAIL_MORE : more);
}

static void
know_changes(struct sessions *s)
{
	const struct tl_session *t;

	if (s->changed == s->selected)
		return;
	changes_fini(&s->changes);
	s->changed = s->selected;
	t = timeline_session_n(tui_timeline(s->v.tui), s->selected);
	if (t)
		changes_fill(&s->changes, tui_timeline(s->v.tui), t);
}

/* Why there is nothing to be seen. */
static void
draw_empty(const struct sessions *s, struct grid *g, struct area a)
{
	const struct verdict *v = tui_verdict(s->v.tui);
	struct lines l;

	lines_init(&l);
	lines_fmt(&l, STYLE_PLAIN, "%s", s->filter.n ?
	    "no session passes the filter: f changes it" :
	    timeline_counts(tui_timeline(s->v.tui))->http_exchanges ?
	    "no session, but MCP without one: Enter shows its streams" :
	    "no MCP session so far");
	if (v && s->filter.n == 0) {
		lines_add(&l, STYLE_PLAIN, STR(""));
		lines_add(&l, STYLE_BOLD, str_c(v->text));
	}
	for (uint32_t i = 0; v && s->filter.n == 0 && i < v->n_reasons; i++)
		lines_fmt(&l, v->reasons[i].hides ? STYLE_WARNING : STYLE_PLAIN, "%s: %s",
		    v->reasons[i].name, v->reasons[i].text);
	lines_wrap(&l, a.w - 4);
	for (uint32_t i = 0; i < l.n_rows && (int)i < a.h - 3; i++)
		lines_draw_row(&l, g, a.y + 2 + (int)i, a.x + 2, a.w - 4, i);
	lines_fini(&l);
}

static void
sessions_draw(struct view *v, struct grid *g, struct area a)
{
	struct sessions *s = (struct sessions *)v;
	int detail, rows, x[COL_N], w[COL_N];

	make_rows(s);
	detail = detail_rows(a.h, s->list.n);
	rows = a.h - 1 - detail;
	list_show(&s->list, rows);
	v->session = s->selected = s->list.n ? s->rows[s->list.at].n : 0;
	know_changes(s);
	lay_out(a.w, x, w);
	draw_head(s, g, a, x, w);
	for (int i = 0; i < rows && s->list.top + (uint32_t)i < s->list.n; i++) {
		uint32_t at = s->list.top + (uint32_t)i;
		const struct tl_session *t = timeline_session_n(tui_timeline(v->tui),
		    s->rows[at].n);
		int y = a.y + 1 + i;

		for (int c = 0; t && c < COL_N; c++)
			if (w[c])
				draw_cell(s, g, y, a.x + x[c], w[c], (enum column)c, t);
		if (t && t->deleted)
			grid_mark(g, y, a.x, a.w, STYLE_DIM);
		if (at == s->list.at)
			grid_mark(g, y, a.x, a.w, STYLE_SELECTED);
	}
	if (s->list.n == 0)
		draw_empty(s, g, a);
	if (detail && s->list.n)
		draw_detail(s, g, (struct area){ a.y + a.h - detail, a.x, detail, a.w },
		    s->selected);
}

/* ---- keys ---- */

static void
on_filter(struct view *v, struct str text)
{
	struct sessions *s = (struct sessions *)v;

	buf_clear(&s->filter);
	(void)buf_adds(&s->filter, text);
	s->stale = true;
}

static void
sort_by(struct sessions *s, int dir)
{
	s->sort = (enum column)(((int)s->sort + dir + COL_N + 1) % (COL_N + 1));
	/* Of these the most is of interest. */
	s->down = s->sort == COL_FINDINGS || s->sort == COL_STREAMS ||
	    s->sort == COL_COUNTS || s->sort == COL_CHANGES || s->sort == COL_LAST;
	s->stale = true;
	tui_say(s->v.tui, "sorted %s%s; z turns it", s->sort == COL_N ?
	    "as they appeared" : "by ", s->sort == COL_N ? "" : columns[s->sort].head);
}

static bool
open_selected(struct sessions *s)
{
	/* None at all: since 2026-07-28 there are exchanges without. */
	tui_push(s->v.tui, view_session_new(s->v.tui,
	    s->list.n ? s->rows[s->list.at].n : 0));
	return true;
}

static bool
sessions_key(struct view *v, uint32_t key)
{
	struct sessions *s = (struct sessions *)v;
	bool moved;
	int y, x;

	if (s->rows == NULL)
		make_rows(s);
	switch (key) {
	case TUI_ENTER: case TUI_RIGHT: case 'l':
		return open_selected(s);
	case 'o':
		tui_push(v->tui, view_session_new(v->tui, 0));
		return true;
	case '<':
		sort_by(s, -1);
		return true;
	case '>': case TUI_F6:
		sort_by(s, 1);
		return true;
	case 'z':
		s->down = !s->down;
		s->stale = true;
		return true;
	case 'f': case '&': case TUI_F7:
		tui_prompt(v->tui, "Filter", "", on_filter, v);
		return true;
	case TUI_ESC:
		if (s->filter.n == 0)
			return false;
		buf_clear(&s->filter);
		s->stale = true;
		return true;
	case '!': case TUI_F8:
		tui_push(v->tui, view_findings_new(v->tui, 0));
		return true;
	case TUI_CLICK:
		tui_click(v->tui, &y, &x);
		if (list_click(&s->list, y - 1))
			return open_selected(s);
		moved = true;
		break;
	default:
		moved = list_key(&s->list, key);
	}
	if (moved) {
		s->end = s->list.n && s->list.at == s->list.n - 1;
		s->selected = s->list.n ? s->rows[s->list.at].n : 0;
		v->session = s->selected;
	}
	return moved;
}

static void
sessions_event(struct view *v, const struct ev *e)
{
	struct sessions *s = (struct sessions *)v;

	pulses_event(s->pulses, e);
	if (e->type == EV_OWNER && e->session && e->session == s->changed)
		changes_event(&s->changes, tui_timeline(v->tui), e);
}

static bool
row_matches(const struct sessions *s, uint32_t at, struct str what)
{
	const struct tl_session *t = timeline_session_n(tui_timeline(s->v.tui), s->rows[at].n);
	struct sessions one = { .v = s->v, .pulses = s->pulses,
	    .filter = { (char *)(uintptr_t)what.p, what.n, what.n, what.n } };

	return t && passes(&one, t);
}

static bool
sessions_search(struct view *v, struct str what, int dir)
{
	struct sessions *s = (struct sessions *)v;
	uint32_t n = s->list.n, at = s->list.at;

	for (uint32_t i = 0; i < n; i++) {
		at = dir > 0 ? (at + 1) % n : (at + n - 1) % n;
		if (!row_matches(s, at, what))
			continue;
		s->list.at = at;
		s->selected = v->session = s->rows[at].n;
		s->end = false;
		return true;
	}
	return false;
}

static void
sessions_title(struct view *v, struct buf *b)
{
	const struct verdict *vd = tui_verdict(v->tui);
	struct sessions *s = (struct sessions *)v;

	(void)buf_fmt(b, "%u", s->list.n);
	if (s->filter.n) {
		(void)buf_adds(b, STR(" with filter: "));
		(void)buf_adds(b, buf_str(&s->filter));
	}
	if (vd && vd->hidden) {
		(void)buf_adds(b, STR("   more may be hidden: "));
		(void)buf_adds(b, str_c(vd->reasons[0].text));
	}
}

static void
sessions_free(struct view *v)
{
	struct sessions *s = (struct sessions *)v;

	pulses_free(s->pulses);
	changes_fini(&s->changes);
	buf_fini(&s->filter);
	free(s->rows);
	free(s);
}

static const char *const keys[] = { "Enter", "Session", "x", "Ladder", "!", "Findings",
	"f", "Filter", "<>", "Sort", NULL };
static const char *const help[] = {
	"Enter Right l", "the session: who has the channel, over time",
	"o", "streams that belong to no session (2026-07-28)",
	"! F8", "findings of all sessions",
	"< > F6", "sort by the column to the left, to the right",
	"z", "turn the order",
	"f F7 &", "show only sessions that have these letters somewhere; Esc: all",
	NULL,
};

static const struct view_ops sessions_ops = {
	.name = "Sessions",
	.keys = keys,
	.help = help,
	.draw = sessions_draw,
	.key = sessions_key,
	.event = sessions_event,
	.search = sessions_search,
	.title = sessions_title,
	.free = sessions_free,
};

struct view *
view_sessions_new(struct tui *t)
{
	struct sessions *s = xcalloc(1, sizeof *s);

	s->v = (struct view){ .ops = &sessions_ops, .tui = t };
	s->pulses = pulses_new(tui_timeline(t));
	s->sort = COL_N;
	buf_init(&s->filter, 1024);
	return &s->v;
}
