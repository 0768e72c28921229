/* Findings: what is wrong, why, and the packets that show it. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "view.h"

#define MAX_TEXT 65536		/* bytes of one finding's lower half */
#define MAX_LINES 2000
#define INDENT 10		/* columns of "evidence  " */
#define LIST_ROWS 12		/* at most, of a large screen */

/* The lower half: text broken into rows, some of which stand for packets. */
struct line {
	const char *label;		/* "why", first row only */
	uint32_t from, n;		/* in the text */
	uint32_t pkt;			/* what Enter opens; 0 nothing */
};

struct findings {
	struct view v;
	struct list list, detail;
	bool in_detail;			/* the keys go to the lower half */
	struct buf text;
	struct line lines[MAX_LINES];
	uint32_t n_lines;
	bool more;			/* there was no room for all */
	int top, list_y, list_h, detail_y, detail_h;	/* as drawn last */
};

static const struct finding *
at_cursor(const struct findings *s)
{
	return tui_finding(s->v.tui, s->v.session, s->list.at);
}

/* Findings may be a thousand: looked for by doubling. */
static uint32_t
count(const struct findings *s)
{
	uint32_t n = 0, step = 1;

	while (tui_finding(s->v.tui, s->v.session, n + step - 1) && step < 1U << 24) {
		n += step;
		step *= 2;
	}
	for (; step; step /= 2)
		if (tui_finding(s->v.tui, s->v.session, n + step - 1))
			n += step;
	return n;
}

static enum glyph
severity_glyph(enum severity sev)
{
	return sev == SEV_ERROR ? GLYPH_ERROR : sev == SEV_WARNING ? GLYPH_WARNING : GLYPH_INFO;
}

static unsigned
severity_style(enum severity sev)
{
	return sev == SEV_ERROR ? STYLE_ERROR : sev == SEV_WARNING ? STYLE_WARNING : STYLE_INFO;
}

/* ---- the lower half ---- */

/* Bytes of s that fit in w columns: broken at a blank where there is one. */
static size_t
fitting(struct str s, int w)
{
	size_t n = 0, blank = 0;
	int used = 0;

	while (n < s.n) {
		size_t to = n + 1;

		while (to < s.n && to < n + 4 && ((unsigned char)s.p[to] & 0xc0) == 0x80)
			to++;
		used += grid_width(str_of(s.p + n, to - n));
		if (used > w)
			break;
		if (s.p[n] == ' ')
			blank = n;
		n = to;
	}
	if (n == s.n)
		return n;
	return blank ? blank : n ? n : 1;
}

static void
add_line(struct findings *s, const char *label, struct str text, uint32_t pkt)
{
	struct line *l = &s->lines[s->n_lines];

	if (s->n_lines == MAX_LINES || text.n > MAX_TEXT - s->text.n) {
		s->more = true;
		return;
	}
	*l = (struct line){ .label = label, .from = (uint32_t)s->text.n,
	    .n = (uint32_t)text.n, .pkt = pkt };
	(void)buf_adds(&s->text, text);
	s->n_lines++;
}

static void
add_text(struct findings *s, const char *label, struct str text, uint32_t pkt, int w)
{
	if (text.p == NULL || text.n == 0)
		return;
	while (text.n && !s->more) {
		size_t n = fitting(text, w);

		add_line(s, label, str_of(text.p, n), pkt);
		label = NULL;
		while (n < text.n && text.p[n] == ' ')
			n++;
		text = str_of(text.p + n, text.n - n);
	}
}

static void
add_where(struct findings *s, const struct finding *f, int w)
{
	const struct tl_session *ts = timeline_session_n(tui_timeline(s->v.tui), f->session);
	struct buf b;

	buf_init(&b, 4096);
	if (ts && ts->key) {
		(void)buf_fmt(&b, "session ");
		(void)buf_adds(&b, str_c(ts->key));
	} else
		(void)buf_fmt(&b, f->session ? "session %u" : "no session", f->session);
	if (f->sessions_alike)
		(void)buf_fmt(&b, " and %u more", f->sessions_alike);
	for (uint32_t i = 0; i < f->n_streams && i < 100; i++)
		(void)buf_fmt(&b, "%s%u", i ? ", " : f->n_streams == 1 ? ", stream " :
		    ", streams ", f->streams[i]);
	if (f->first.pkt == f->last.pkt)
		(void)buf_fmt(&b, ", packet %u", f->first.pkt);
	else
		(void)buf_fmt(&b, ", packets %u to %u", f->first.pkt, f->last.pkt);
	add_text(s, "where", buf_str(&b), f->first.pkt, w);
	buf_fini(&b);
}

static void
add_facts(struct findings *s, const struct finding *f, int w)
{
	struct buf b;

	buf_init(&b, MAX_TEXT);
	for (uint32_t i = 0; i < f->n_facts; i++) {
		const struct fact *fact = &f->facts[i];

		(void)buf_fmt(&b, "%s%s ", i ? ", " : "", fact->name);
		switch (fact->type) {
		case FACT_NUM: case FACT_MS:	/* its name ends in _ms */
			(void)buf_fmt(&b, "%.6g", fact->num);
			break;
		case FACT_BOOL:
			(void)buf_fmt(&b, "%s", fact->num != 0 ? "yes" : "no");
			break;
		case FACT_TEXT:
			(void)buf_addc(&b, '"');
			(void)buf_adds(&b, fact->text);
			(void)buf_addc(&b, '"');
			break;
		}
	}
	add_text(s, "facts", buf_str(&b), 0, w);
	buf_fini(&b);
}

static void
add_evidence(struct findings *s, const struct finding *f, int w)
{
	struct buf b;

	buf_init(&b, MAX_TEXT);
	for (uint32_t i = 0; i < f->n_evidence; i++) {
		const struct evidence *e = &f->evidence[i];
		char text[24];

		tui_time(s->v.tui, e->at.t, i ? e[-1].at.t : 0, text);
		buf_clear(&b);
		(void)buf_fmt(&b, "packet %-6u %12s  ", e->at.pkt, text);
		(void)buf_adds(&b, e->what);
		add_text(s, i ? NULL : "evidence", buf_str(&b), e->at.pkt, w);
	}
	buf_fini(&b);
}

static void
break_up(struct findings *s, const struct finding *f, int w)
{
	char text[64];

	s->n_lines = 0;
	s->more = false;
	buf_clear(&s->text);
	if (f == NULL || w < 1)
		return;
	add_text(s, "what", f->title, f->first.pkt, w);
	add_where(s, f, w);
	add_text(s, "why", f->why, 0, w);
	add_text(s, "fix", f->fix, 0, w);
	add_evidence(s, f, w);
	add_facts(s, f, w);
	if (f->consequence_of) {
		(void)snprintf(text, sizeof text, "it follows from finding %u",
		    f->consequence_of);
		add_text(s, "root", str_c(text), 0, w);
	}
	add_text(s, "see", str_c(f->reference), 0, w);
	if (s->more)
		add_line(s, NULL, STR("there is more; `mcpdiag analyze` shows all"), 0);
	s->detail.n = s->n_lines;
}

static void
draw_detail(struct findings *s, struct grid *g, struct area a)
{
	int indent = a.w >= 40 ? INDENT : 0;

	break_up(s, at_cursor(s), a.w - indent);
	if (s->n_lines == 0)
		s->detail.n = 0;
	list_show(&s->detail, a.h);
	for (int i = 0; i < a.h && s->detail.top + (uint32_t)i < s->detail.n; i++) {
		const struct line *l = &s->lines[s->detail.top + (uint32_t)i];

		if (indent && l->label)
			(void)grid_text(g, a.y + i, a.x, indent, STYLE_KEY, str_c(l->label));
		(void)grid_text(g, a.y + i, a.x + indent, a.w - indent, STYLE_PLAIN,
		    str_of(s->text.p + l->from, l->n));
		if (s->in_detail && s->detail.top + (uint32_t)i == s->detail.at)
			grid_mark(g, a.y + i, a.x, a.w, STYLE_SELECTED);
	}
}

/* ---- the list ---- */

static void
name_text(const struct finding *f, struct buf *b)
{
	(void)buf_fmt(b, "%s%s%s", f->detector, f->variant ? "/" : "",
	    f->variant ? f->variant : "");
}

static void
draw_row(const struct findings *s, struct grid *g, struct area a, const struct finding *f)
{
	const struct tl_session *ts = timeline_session_n(tui_timeline(s->v.tui), f->session);
	int name = a.w >= 100 ? 32 : 22, x = a.x;
	struct buf b;

	buf_init(&b, 4096);
	grid_glyph(g, a.y, x, severity_style(f->severity), severity_glyph(f->severity));
	(void)grid_text(g, a.y, x + 2, a.w - 2 < 7 ? a.w - 2 : 7, severity_style(f->severity),
	    str_c(severity_name(f->severity)));
	x += 10;
	name_text(f, &b);
	(void)grid_text(g, a.y, x, a.x + a.w - x < name ? a.x + a.w - x : name, STYLE_BOLD,
	    buf_str(&b));
	x += name + 1;
	if (a.x + a.w - x > 8)
		(void)grid_fmt(g, a.y, x, 7, STYLE_PLAIN, "%6llux", (unsigned long long)f->count);
	x += 8;
	if (a.w >= 100 && s->v.session == 0) {
		(void)grid_text(g, a.y, x, 11, STYLE_DIM, str_c(ts && ts->key ? ts->key : "-"));
		x += 12;
	}
	(void)grid_text(g, a.y, x, a.x + a.w - x, STYLE_PLAIN, f->title);
	buf_fini(&b);
}

static void
draw_list(struct findings *s, struct grid *g, struct area a)
{
	list_show(&s->list, a.h);
	for (int i = 0; i < a.h && s->list.top + (uint32_t)i < s->list.n; i++) {
		const struct finding *f = tui_finding(s->v.tui, s->v.session,
		    s->list.top + (uint32_t)i);

		if (f == NULL)
			break;
		draw_row(s, g, (struct area){ a.y + i, a.x, 1, a.w }, f);
		/* Where the keys do not go only the sign tells which one it is. */
		if (s->list.top + (uint32_t)i == s->list.at)
			grid_mark(g, a.y + i, a.x, s->in_detail ? 10 : a.w, STYLE_SELECTED);
	}
	if (s->list.n == 0 && a.h > 0)
		(void)grid_text(g, a.y, a.x, a.w, STYLE_DIM, STR("no finding so far"));
}

static void
findings_draw(struct view *v, struct grid *g, struct area a)
{
	struct findings *s = (struct findings *)v;
	int half = a.h / 2 < LIST_ROWS ? a.h / 2 : LIST_ROWS, rows;

	s->list.n = count(s);
	rows = s->list.n < (uint32_t)half ? (int)s->list.n : half;
	if (rows < 1)
		rows = a.h > 0;
	s->top = a.y;
	s->list_y = a.y;
	s->list_h = rows;
	draw_list(s, g, (struct area){ a.y, a.x, rows, a.w });
	if (a.h > rows + 1) {
		grid_fill(g, a.y + rows, a.x, a.w, STYLE_BORDER, GLYPH_HLINE);
		rows++;
	}
	s->detail_y = a.y + rows;
	s->detail_h = a.h - rows;
	draw_detail(s, g, (struct area){ a.y + rows, a.x, a.h - rows, a.w });
}

/* ---- keys ---- */

static void
open_ladder(struct findings *s)
{
	const struct finding *f = at_cursor(s);
	const struct line *l = s->detail.at < s->n_lines ? &s->lines[s->detail.at] : NULL;

	if (f == NULL)
		return;
	if (!s->in_detail) {
		tui_show_finding(s->v.tui, f);
		return;
	}
	if (l && l->pkt)
		tui_push(s->v.tui, view_ladder_new(s->v.tui, f->session, l->pkt));
	else
		tui_say(s->v.tui, "no packet belongs to this row: those of the evidence do");
}

static void
click(struct findings *s)
{
	bool there;
	int y, x;

	tui_click(s->v.tui, &y, &x);
	y += s->top;
	if (y >= s->detail_y) {
		there = s->in_detail;
		s->in_detail = true;
		if (list_click(&s->detail, y - s->detail_y) && there)
			open_ladder(s);
	} else if (y < s->list_y + s->list_h) {
		there = !s->in_detail;
		s->in_detail = false;
		if (list_click(&s->list, y - s->list_y) && there)
			open_ladder(s);
	}
}

static bool
findings_key(struct view *v, uint32_t key)
{
	struct findings *s = (struct findings *)v;
	uint32_t was = s->list.at;

	switch (key) {
	case TUI_TAB: case TUI_BACKTAB:
		s->in_detail = !s->in_detail;
		return true;
	case TUI_ENTER:
		open_ladder(s);
		return true;
	case TUI_CLICK:
		click(s);
		break;
	case TUI_F8: case '!':		/* it is here */
		return true;
	default:
		if (!list_key(s->in_detail ? &s->detail : &s->list, key))
			return false;
		break;
	}
	if (s->list.at != was)
		s->detail.at = 0;
	return true;
}

static bool
finding_matches(const struct finding *f, struct str what)
{
	struct buf b;
	bool yes;

	buf_init(&b, 1U << 20);
	(void)buf_fmt(&b, "%s ", severity_name(f->severity));
	name_text(f, &b);
	(void)buf_addc(&b, ' ');
	(void)buf_adds(&b, f->title);
	yes = tui_match(buf_str(&b), what);
	buf_fini(&b);
	return yes;
}

static bool
row_matches(const struct findings *s, uint32_t at, struct str what)
{
	const struct line *l = &s->lines[at];
	const struct finding *f;

	if (s->in_detail)
		return tui_match(str_of(s->text.p + l->from, l->n), what);
	f = tui_finding(s->v.tui, s->v.session, at);
	return f && finding_matches(f, what);
}

static bool
findings_search(struct view *v, struct str what, int dir)
{
	struct findings *s = (struct findings *)v;
	struct list *l = s->in_detail ? &s->detail : &s->list;

	for (uint32_t i = 1; i <= l->n; i++) {
		uint32_t at = dir > 0 ? (l->at + i) % l->n : (l->at + l->n - i) % l->n;

		if (!row_matches(s, at, what))
			continue;
		if (!s->in_detail && at != l->at)
			s->detail.at = 0;
		l->at = at;
		return true;
	}
	return false;
}

static void
findings_title(struct view *v, struct buf *b)
{
	const struct tl_session *ts = timeline_session_n(tui_timeline(v->tui), v->session);

	if (v->session == 0)
		(void)buf_fmt(b, "of all sessions");
	else {
		(void)buf_fmt(b, "of session ");
		if (ts && ts->key)
			(void)buf_adds(b, str_c(ts->key));
		else
			(void)buf_fmt(b, "%u", v->session);
	}
}

static void
findings_free(struct view *v)
{
	struct findings *s = (struct findings *)v;

	buf_fini(&s->text);
	free(s);
}

static const char *const keys[] = {
	"Enter", "Ladder", "Tab", "Detail", NULL,
};

static const char *const help[] = {
	"Tab", "from the list to the finding below it, and back",
	"Enter", "on a finding: the ladder at its first evidence",
	"Enter", "on evidence: the ladder at that packet",
	NULL,
};

static const struct view_ops findings_ops = {
	.name = "Findings",
	.keys = keys,
	.help = help,
	.draw = findings_draw,
	.key = findings_key,
	.search = findings_search,
	.title = findings_title,
	.free = findings_free,
};

struct view *
view_findings_new(struct tui *t, uint32_t session)
{
	struct findings *s = xcalloc(1, sizeof *s);

	s->v = (struct view){ .ops = &findings_ops, .tui = t, .session = session };
	buf_init(&s->text, MAX_TEXT);
	return &s->v;
}
