#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "facts.h"
#include "ladder.h"
#include "mcpdiag/xmem.h"

#define MAX_PARTS (LADDER_NEAR + 1)
#define FAR 100000		/* items looked at for the next one, or to count */

enum mode { MODE_READ, MODE_HEX, MODE_ESCAPED, MODE_N };

struct view_message {
	struct view v;
	struct ladder l;
	uint64_t item;
	enum mode mode;
	struct lines lines;
	struct list list;
	struct ladder_row row;	/* text: what it is called */
	char place[64];		/* "event 3 of 7 on #2" */
};

static const struct store_item *
item(const struct view_message *s, uint64_t no)
{
	return store_item(s->l.store, no);
}

/* ---- what is shown ---- */

static void
head(struct lines *l, struct str text)
{
	size_t eol = 0;

	while (eol < text.n && text.p[eol] != '\r' && text.p[eol] != '\n')
		eol++;
	lines_add(l, STYLE_BOLD, str_of(text.p, eol));
	while (eol < text.n && (text.p[eol] == '\r' || text.p[eol] == '\n'))
		eol++;
	lines_text(l, STYLE_PLAIN, str_of(text.p + eol, text.n - eol));
}

/* The fields of an event block; its data only when no message shows it. */
static void
block(struct lines *l, struct str text, bool data)
{
	size_t i = 0;

	while (i < text.n) {
		size_t from = i;
		struct str line;

		while (i < text.n && text.p[i] != '\r' && text.p[i] != '\n')
			i++;
		line = str_of(text.p + from, i - from);
		while (i < text.n && (text.p[i] == '\r' || text.p[i] == '\n'))
			i++;
		if (data || !str_pre(line, STR("data")))
			lines_add(l, STYLE_PLAIN, line);
	}
}

static bool
looks_json(struct str s)
{
	s = str_trim(s);
	return s.n && (s.p[0] == '{' || s.p[0] == '[');
}

static void
body(struct lines *l, struct str text)
{
	if (looks_json(text))
		lines_json(l, text);
	else
		lines_text(l, STYLE_PLAIN, text);
}

static void
part(struct view_message *s, const struct store_item *it, bool more)
{
	struct lines *l = &s->lines;
	struct str text = it->text;

	if (it->no != s->item)
		lines_add(l, STYLE_PLAIN, STR(""));
	if (text.p == NULL) {
		if (it->no != s->item)
			lines_fmt(l, STYLE_TITLE, "%s, packet %u", ev_type_name(it->ev->type),
			    it->ev->pkt);
		facts_add(l, it->ev);
		return;
	}
	if (s->mode == MODE_HEX)
		lines_hex(l, text);
	else if (s->mode == MODE_ESCAPED)
		lines_text(l, STYLE_PLAIN, text);
	else if (it->ev->type == EV_REQUEST || it->ev->type == EV_RESPONSE)
		head(l, text);
	else if (it->ev->type == EV_SSE)
		block(l, text, !more);
	else
		body(l, text);
	if (it->cut)
		lines_fmt(l, STYLE_WARNING, "... cut: %zu of %" PRIu64 " bytes are kept",
		    text.n, it->bytes);
}

/* Where it is in its stream; 0 when that cannot be told. */
static uint32_t
nth_event(const struct view_message *s, const struct store_item *it)
{
	const struct store_item *at = it;
	uint32_t n = 0;

	for (int i = 0; i < FAR && at; i++) {
		const struct ev *e = at->ev;

		if (e->x == it->ev->x) {
			n += e->type == EV_SSE;
			if (e->type == EV_RESPONSE || e->type == EV_REQUEST)
				return n;
		}
		at = item(s, at->prev);
	}
	return 0;
}

static void
find_place(struct view_message *s, const struct store_item *it)
{
	const struct ev *e = it->ev;
	const struct tl_stream *ts = timeline_stream_n(s->l.timeline, e->stream);
	uint32_t n;

	s->place[0] = '\0';
	if (e->type != EV_SSE)
		return;
	n = nth_event(s, it);
	if (n && ts)
		(void)snprintf(s->place, sizeof s->place, "event %u of %u on #%u", n,
		    ts->events > n ? ts->events : n, e->stream);
	else
		(void)snprintf(s->place, sizeof s->place, "event on #%u", e->stream);
}

/* False: it is gone. */
static bool
load(struct view_message *s)
{
	const struct store_item *it = item(s, s->item);
	uint64_t parts[MAX_PARTS];
	unsigned n;
	struct lines *l = &s->lines;
	char where[64] = "";

	if (it == NULL)
		return false;
	s->l.session = s->v.session = it->ev->session;
	lines_clear(l);
	find_place(s, it);
	if (it->ev->x)
		(void)snprintf(where, sizeof where, ", connection %u, exchange %u",
		    it->ev->conn, it->ev->x);
	(void)ladder_row(&s->l, s->item, &s->row);
	lines_fmt(l, STYLE_DIM, "%s packet %u%s%s%s", s->row.way == LADDER_NOTE ? "at" :
	    it->ev->dir == EV_C2S ? "client to server," : "server to client,", it->ev->pkt,
	    where, s->place[0] ? ", " : "", s->place);
	lines_add(l, STYLE_PLAIN, STR(""));
	n = ladder_items(&s->l, s->item, parts, MAX_PARTS);
	if (s->mode != MODE_READ && it->ev->type == EV_SSE && it->text.p)
		n = 1;			/* the message is in its lines */
	for (unsigned i = 0; i < n; i++)
		if ((it = item(s, parts[i])) != NULL)
			part(s, it, n > 1);
	it = item(s, s->item);
	if (it->text.p && s->mode == MODE_READ) {
		lines_add(l, STYLE_PLAIN, STR(""));
		lines_fmt(l, STYLE_TITLE, "What is known of this %s",
		    it->ev->type == EV_SSE ? "event" : ev_type_name(it->ev->type));
		facts_add(l, it->ev);
	}
	return true;
}

static void
message_draw(struct view *v, struct grid *g, struct area a)
{
	struct view_message *s = (struct view_message *)v;

	lines_wrap(&s->lines, a.w);
	s->list.n = s->lines.n_rows;
	list_show(&s->list, a.h);
	for (int i = 0; i < a.h && s->list.top + (uint32_t)i < s->list.n; i++) {
		uint32_t row = s->list.top + (uint32_t)i;

		lines_draw_row(&s->lines, g, a.y + i, a.x, a.w, row);
		if (row == s->list.at)
			grid_mark(g, a.y + i, a.x, a.w, STYLE_SELECTED);
	}
}

/* ---- going on ---- */

/* What can be read by itself, and is of the same exchange. */
static bool
is_next(const struct store_item *it, uint32_t x)
{
	const struct ev *e = it->ev;

	return e->x == x && (e->type == EV_REQUEST || e->type == EV_RESPONSE ||
	    e->type == EV_SSE || e->type == EV_MESSAGE);
}

static void
step(struct view_message *s, bool back)
{
	const struct store_item *it = item(s, s->item);
	uint32_t x = it ? it->ev->x : 0;
	uint64_t no = s->item;

	if (it == NULL) {
		tui_say(s->v.tui, "its neighbours cannot be told: it is gone from the store");
		return;
	}
	for (int i = 0; i < FAR && no; i++) {
		no = back ? ladder_prev(&s->l, no) : ladder_next(&s->l, no);
		it = item(s, no);
		if (it == NULL || !is_next(it, x))
			continue;
		s->item = no;
		s->list.at = s->list.top = 0;
		(void)load(s);
		return;
	}
	tui_say(s->v.tui, back ? "that is the first of this exchange" :
	    "that is the last of this exchange so far");
}

static bool
message_key(struct view *v, uint32_t key)
{
	struct view_message *s = (struct view_message *)v;

	switch (key) {
	case 'r': case TUI_F6:
		s->mode = (s->mode + 1) % MODE_N;
		if (!load(s)) {
			s->mode = (s->mode + MODE_N - 1) % MODE_N;
			tui_say(v->tui, "it is gone from the store: this is all there is");
		} else
			tui_say(v->tui, "%s", s->mode == MODE_READ ? "laid out for reading" :
			    s->mode == MODE_HEX ? "bytes in hex" : "as it came");
		return true;
	case TUI_LEFT: case TUI_BACKTAB:
		step(s, true);
		return true;
	case TUI_RIGHT: case TUI_TAB:
		step(s, false);
		return true;
	case TUI_ENTER:
		return true;
	case TUI_CLICK: {
		int y, x;

		tui_click(v->tui, &y, &x);
		(void)list_click(&s->list, y);
		return true;
	}
	}
	return list_key(&s->list, key);
}

static bool
message_search(struct view *v, struct str what, int dir)
{
	struct view_message *s = (struct view_message *)v;
	uint32_t row = lines_search(&s->lines, s->list.at, what, dir);

	if (row == UINT32_MAX)
		return false;
	s->list.at = row;
	return true;
}

static void
message_title(struct view *v, struct buf *b)
{
	const struct view_message *s = (const struct view_message *)v;

	(void)buf_adds(b, buf_str(&s->row.text));
}

static void
message_free(struct view *v)
{
	struct view_message *s = (struct view_message *)v;

	buf_fini(&s->row.text);
	lines_fini(&s->lines);
	free(s);
}

static const char *const keys[] = {
	"r", "raw", "<-->", "previous, next", NULL,
};

static const char *const help[] = {
	"r F6", "the bytes in hex; as they came; laid out again",
	"Left Right Tab", "the one before, the next of this exchange: request, response, "
	    "and the events of its stream one by one",
	"Up Down PgUp PgDn", "scroll",
	"q Esc", "back",
	NULL,
};

static const struct view_ops message_ops = {
	.name = "Message",
	.keys = keys,
	.help = help,
	.draw = message_draw,
	.key = message_key,
	.search = message_search,
	.title = message_title,
	.free = message_free,
};

struct view *
view_message_new(struct tui *t, uint64_t no)
{
	struct view_message *s;

	if (store_item(tui_store(t), no) == NULL) {
		tui_say(t, "that is gone: only the last of it all is kept (--limit store=)");
		return NULL;
	}
	s = xcalloc(1, sizeof *s);
	s->v = (struct view){ .ops = &message_ops, .tui = t };
	s->l = (struct ladder){ .store = tui_store(t), .timeline = tui_timeline(t),
	    .detail = true };
	s->item = no;
	lines_init(&s->lines);
	buf_init(&s->row.text, 8192);
	(void)load(s);
	return &s->v;
}
