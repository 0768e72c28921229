/* F2: the file name says what is written. */
#include <stdio.h>

#include "tui_priv.h"

static enum tui_save
kind_of(struct str path)
{
	static const struct {
		struct str end;
		enum tui_save kind;
	} ends[] = {
		{ { ".json", 5 }, TUI_SAVE_JSON },
		{ { ".ladder.txt", 11 }, TUI_SAVE_LADDER },
		{ { ".txt", 4 }, TUI_SAVE_TEXT },
	};

	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (path.n > ends[i].end.n && str_eq(ends[i].end,
		    str_of(path.p + path.n - ends[i].end.n, ends[i].end.n)))
			return ends[i].kind;
	return TUI_SAVE_PCAPNG;
}

/* The ladder as it would be on a screen long enough. */
static void
print_ladder(struct tui *t, uint32_t session, struct buf *out)
{
	struct view *v = view_ladder_new(t, session, 0);
	struct grid g;

	if (v == NULL)
		return;
	grid_init(&g, 160, 500, false);
	v->ops->draw(v, &g, (struct area){ 0, 0, g.h, g.w });
	grid_print(&g, out);
	grid_fini(&g);
	v->ops->free(v);
}

static void
on_path(struct view *v, struct str path)
{
	struct tui *t = v->tui;
	enum tui_save kind = kind_of(path);
	char said[256] = "";
	struct buf ladder;

	if (path.n == 0)
		return;
	buf_init(&ladder, 1U << 20);
	if (kind == TUI_SAVE_LADDER)
		print_ladder(t, v->session, &ladder);
	(void)t->opts.ask.save(t->opts.ask.arg, kind, v->session, path,
	    kind == TUI_SAVE_LADDER ? &ladder : NULL, said, sizeof said);
	buf_fini(&ladder);
	tui_say(t, "%s", said);
}

void
tui_save(struct tui *t)
{
	uint32_t session = tui_top(t)->session;
	char name[64] = "mcpdiag.pcapng";

	if (t->opts.ask.save == NULL) {
		tui_say(t, "nothing can be saved here");
		return;
	}
	if (session)
		(void)snprintf(name, sizeof name, "session-%u.pcapng", session);
	tui_prompt(t, "Save as .pcapng .txt .json .ladder.txt", name, on_path, tui_top(t));
}
