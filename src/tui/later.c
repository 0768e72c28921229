/* Views that are not there yet. */
#include "view.h"

struct view *
view_ladder_new(struct tui *t, uint32_t session, uint32_t pkt)
{
	(void)session;
	(void)pkt;
	tui_say(t, "not there yet");
	return NULL;
}

struct view *
view_message_new(struct tui *t, uint64_t item)
{
	(void)item;
	tui_say(t, "not there yet");
	return NULL;
}

struct view *
view_diff_new(struct tui *t, uint64_t a, uint64_t b)
{
	(void)a;
	(void)b;
	tui_say(t, "not there yet");
	return NULL;
}
