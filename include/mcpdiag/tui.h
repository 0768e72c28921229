/* tui: the screens of watch, as a state machine.
 * Events, keys and the time go in, a grid comes out; no terminal, no clock, no
 * file in it.  Views read the timeline and the store, never change them.  What
 * needs the outside (saving, suspending, leaving) is asked for by a callback.
 * src/cmd/screen.c joins it with term and loop. */
#ifndef MCPDIAG_TUI_H
#define MCPDIAG_TUI_H

#include "mcpdiag/event.h"
#include "mcpdiag/grid.h"
#include "mcpdiag/store.h"
#include "mcpdiag/timeline.h"

/* A key: a Unicode code point (control characters as they are: 1 is ^A), or: */
enum tui_key {
	TUI_UP = 0x110000, TUI_DOWN, TUI_LEFT, TUI_RIGHT, TUI_HOME, TUI_END, TUI_PGUP,
	TUI_PGDN, TUI_BACKSPACE, TUI_DELETE, TUI_ENTER, TUI_ESC, TUI_TAB, TUI_BACKTAB,
	TUI_F1, TUI_F2, TUI_F3, TUI_F4, TUI_F5, TUI_F6, TUI_F7, TUI_F8, TUI_F9, TUI_F10,
	TUI_CLICK, TUI_WHEEL_UP, TUI_WHEEL_DOWN,	/* tui_mouse() */
};

enum tui_save {			/* what F2 writes */
	TUI_SAVE_PCAPNG, TUI_SAVE_TEXT, TUI_SAVE_JSON, TUI_SAVE_LADDER,
};

struct tui_ask {		/* the outside; called from tui_key() */
	void *arg;
	/* Writes the session (0: all) to the file; a sentence about what was
	 * written, or why it was not, in `said`. */
	bool (*save)(void *arg, enum tui_save, uint32_t session, struct str path,
	    const struct buf *ladder, char *said, size_t size);
	void *mouse_arg;
	void (*mouse)(void *mouse_arg, bool on);	/* or NULL: there is none */
};

struct tui_opts {
	const struct timeline *timeline;
	const struct store *store;
	struct tui_ask ask;
	const char *source;	/* "lo, port 3000", "leapfrog.pcap": first line */
	bool live;
	bool saved;		/* the packets are kept somewhere: leaving loses nothing */
};

struct tui_state {		/* of the input, for the first line */
	uint64_t packets, dropped;
	double done;		/* of a file, 0..1; < 0: unknown */
	bool ended;		/* no more will come */
};

struct tui;

struct tui *tui_new(const struct tui_opts *);
void tui_free(struct tui *);
/* After timeline and store have seen it. */
void tui_event(struct tui *, const struct ev *);
/* False: the user leaves. */
bool tui_key(struct tui *, uint32_t key);
bool tui_mouse(struct tui *, uint32_t key, int y, int x);
/* A line for who watches, where the keys are, until the next key. */
void tui_tell(struct tui *, const char *text);
/* Something on the screen has changed since the last tui_draw(). */
bool tui_dirty(const struct tui *);
/* now: packet time by which ages are told. */
void tui_draw(struct tui *, struct grid *, const struct tui_state *, ns_t now);

#endif
