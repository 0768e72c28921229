#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "view.h"

struct sessions {
	struct view v;
	struct list list;
};

static void
sessions_draw(struct view *v, struct grid *g, struct area a)
{
	struct sessions *s = (struct sessions *)v;
	const struct tl_session *ts;

	for (s->list.n = 0; timeline_session(tui_timeline(v->tui), s->list.n); s->list.n++)
		;
	list_show(&s->list, a.h);
	for (int i = 0; i < a.h && s->list.top + (uint32_t)i < s->list.n; i++) {
		ts = timeline_session(tui_timeline(v->tui), s->list.top + (uint32_t)i);
		(void)grid_text(g, a.y + i, a.x, a.w, STYLE_PLAIN, str_c(ts->key));
		if (s->list.top + (uint32_t)i == s->list.at)
			grid_mark(g, a.y + i, a.x, a.w, STYLE_SELECTED);
	}
}

static bool
sessions_key(struct view *v, uint32_t key)
{
	struct sessions *s = (struct sessions *)v;
	const struct tl_session *ts;

	if (key == TUI_ENTER) {
		ts = timeline_session(tui_timeline(v->tui), s->list.at);
		if (ts)
			tui_push(v->tui, view_session_new(v->tui, ts->n));
		return true;
	}
	return list_key(&s->list, key);
}

static void
sessions_free(struct view *v)
{
	free(v);
}

static const struct view_ops sessions_ops = {
	.name = "Sessions",
	.draw = sessions_draw,
	.key = sessions_key,
	.free = sessions_free,
};

struct view *
view_sessions_new(struct tui *t)
{
	struct sessions *s = xcalloc(1, sizeof *s);

	s->v = (struct view){ .ops = &sessions_ops, .tui = t };
	return &s->v;
}
