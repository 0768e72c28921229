/* F2: the file name says what is written. */
#include <stdio.h>

#include "ladder.h"
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

void
tui_save_as(struct tui *t, struct str path)
{
	const struct view *v = tui_top(t);
	enum tui_save kind = kind_of(path);
	char said[256] = "";
	struct buf ladder;

	if (path.n == 0)
		return;
	if (t->opts.ask.save == NULL) {
		tui_say(t, "nothing can be saved here");
		return;
	}
	buf_init(&ladder, 64U << 20);
	if (kind == TUI_SAVE_LADDER)
		ladder_print(t, v->session, true, &ladder);
	(void)t->opts.ask.save(t->opts.ask.arg, kind, v->session, path,
	    kind == TUI_SAVE_LADDER ? &ladder : NULL, said, sizeof said);
	buf_fini(&ladder);
	tui_say(t, "%s", said);
}

static void
on_path(struct view *v, struct str path)
{
	tui_save_as(v->tui, path);
}

void
tui_save(struct tui *t)
{
	uint32_t session = tui_top(t)->session;
	char name[64] = "mcpdiag.pcapng";

	if (session)
		(void)snprintf(name, sizeof name, "session-%u.pcapng", session);
	tui_prompt(t, "Save as .pcapng .txt .json .ladder.txt", name, on_path, tui_top(t));
}
