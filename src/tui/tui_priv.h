/* tui_priv: what a tui is made of, for its own files. */
#ifndef TUI_PRIV_H
#define TUI_PRIV_H

#include "mcpdiag/verdict.h"
#include "told.h"
#include "view.h"

#define STACK 32		/* screens on top of each other */

enum time_mode { TIME_ABSOLUTE, TIME_RELATIVE, TIME_DELTA, TIME_N };

struct prompt {			/* a line of text is asked for */
	bool on;
	char label[48];
	struct buf text;
	size_t at;		/* cursor, bytes */
	void (*done)(struct view *, struct str);
	struct view *view;
};

struct tui {
	struct tui_opts opts;
	struct view *stack[STACK], *gone[STACK];
	uint32_t n, n_gone;	/* gone: freed when the key is dealt with */
	struct told told;
	struct verdict *verdict;	/* NULL until the input has ended */
	uint32_t finding;	/* last one shown by ] and [, from 1; 0 none */
	struct prompt prompt;
	struct buf search;
	char said[256];
	struct tui_state state;
	enum time_mode mode;
	ns_t now, first, last;	/* last: of the latest event */
	bool dirty, paused, following, leave, mouse, asked;	/* asked: really leave? */
	struct area body;	/* where the view has been drawn */
	int click_y, click_x;
	uint32_t last_key;	/* for ZZ */
};

void prompt_key(struct tui *, uint32_t key);
void prompt_draw(struct tui *, struct grid *, int y);
/* The first two rows (h rows of the grid are there for them), and the last. */
void tui_draw_head(struct tui *, struct grid *, int rows);
const char *tui_mode_name(enum time_mode);
void tui_draw_foot(struct tui *, struct grid *, int y);
/* F2: asks for a file name, then for the writing. */
void tui_save(struct tui *);
void tui_save_as(struct tui *, struct str path);
/* Asks for a line such as "w file". */
void tui_command(struct tui *);
void tui_quit(struct tui *);		/* but for what would be lost */
/* The ladder, at that packet; in place of one that is there. */
void tui_show_packet(struct tui *, uint32_t session, uint32_t pkt);

static inline struct view *
tui_top(const struct tui *t)
{
	return t->stack[t->n - 1];
}

#endif
