/* A line after a colon, for those whose fingers know it. */
#include "tui_priv.h"

/* Session of the first item kept of that packet or a later one. */
static const struct store_item *
find_packet(const struct tui *t, uint64_t pkt)
{
	const struct store *s = t->opts.store;
	uint32_t session = tui_top(t)->session;
	const struct store_item *it = NULL;
	uint64_t no = s ? store_first(s) : 0;

	if (session)
		for (no = store_session_first(s, session); no; no = it->next) {
			it = store_item(s, no);
			if (it == NULL || it->ev->pkt >= pkt)
				return it;
		}
	for (; no && no <= store_last(s); no++) {
		it = store_item(s, no);
		if (it && it->ev->session && it->ev->pkt >= pkt)
			return it;
	}
	return NULL;
}

static void
go_to(struct tui *t, uint64_t pkt)
{
	const struct store_item *it = find_packet(t, pkt);

	if (it)
		tui_show_packet(t, it->ev->session, it->ev->pkt);
	else
		tui_say(t, "nothing is kept of packet %llu and later",
		    (unsigned long long)pkt);
}

static void
on_command(struct view *v, struct str line)
{
	struct tui *t = v->tui;
	uint64_t pkt;

	line = str_trim(line);
	if (line.n == 0)
		return;
	if (str_eq(line, STR("q")) || str_eq(line, STR("q!")) || str_eq(line, STR("quit"))) {
		t->asked |= line.p[line.n - 1] == '!';
		tui_quit(t);
	} else if (str_pre(line, STR("w ")))
		tui_save_as(t, str_trim(str_of(line.p + 2, line.n - 2)));
	else if (str_u64(line, &pkt))
		go_to(t, pkt);
	else
		tui_say(t, ":q leaves, :w FILE saves, :NUMBER goes to that packet");
}

void
tui_command(struct tui *t)
{
	tui_prompt(t, "q, w FILE, or a packet", "", on_command, tui_top(t));
}
