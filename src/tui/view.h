/* view: one screen of the stack.  Private to src/tui.
 * A view owns its state and draws into the area it is given: the rows between
 * the header line and the footer.  Keys go to the top view first; what it does
 * not take goes to tui.c: help, pause, time mode, ] [, q Esc, F-keys, search. */
#ifndef VIEW_H
#define VIEW_H

#include "mcpdiag/tui.h"
#include "mcpdiag/verdict.h"

struct area { int y, x, h, w; };

struct view;

struct view_ops {
	const char *name;		/* "Sessions" */
	const char *const *keys;	/* footer: pairs of key and word; NULL */
	const char *const *help;	/* F1: pairs of keys and sentence; NULL */
	void (*draw)(struct view *, struct grid *, struct area);
	bool (*key)(struct view *, uint32_t key);	/* taken */
	void (*event)(struct view *, const struct ev *);	/* or NULL */
	/* The cursor goes to the next row (dir 1; -1: the one before) that
	 * matches by tui_match(), around the end; false: there is none.  NULL:
	 * nothing to search here.  What matches is highlighted by tui.c. */
	bool (*search)(struct view *, struct str what, int dir);
	void (*title)(struct view *, struct buf *);	/* after the name */
	void (*free)(struct view *);
};

struct view {			/* first member of each view's own struct */
	const struct view_ops *ops;
	struct tui *tui;
	uint32_t session;	/* it is about; 0 none: for saving, ] and [ */
};

/* Makers; tui.c puts them on the stack. */
struct view *view_sessions_new(struct tui *);
struct view *view_session_new(struct tui *, uint32_t session);
struct view *view_ladder_new(struct tui *, uint32_t session, uint32_t pkt);	/* cursor there */
struct view *view_message_new(struct tui *, uint64_t item);
struct view *view_diff_new(struct tui *, uint64_t a, uint64_t b);
struct view *view_findings_new(struct tui *, uint32_t session);		/* 0: all */
struct view *view_help_new(struct tui *, const struct view *of);

/* For views: */
void tui_push(struct tui *, struct view *);
void tui_pop(struct tui *);
const struct timeline *tui_timeline(const struct tui *);
const struct store *tui_store(const struct tui *);
bool tui_paused(const struct tui *);		/* p: the screen stands still */
bool tui_following(const struct tui *);		/* A: the newest stays in sight */
void tui_follow(struct tui *, bool on);
ns_t tui_now(const struct tui *);		/* stands still while paused */
ns_t tui_first(const struct tui *);		/* time of the first event */
/* Up to 15 columns by the time mode (absolute 14:03:22.123, relative 12.345,
 * delta +0.012); previous: of the row above, for delta. */
void tui_time(const struct tui *, ns_t t, ns_t previous, char text[24]);
void tui_say(struct tui *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Asks for a line of text in the last row (search, filter, file name); calls
 * done with it, or not at all when the user gives up.  A modal state, no loop. */
void tui_prompt(struct tui *, const char *label, const char *initial,
    void (*done)(struct view *, struct str text), struct view *);
/* `what` is in `text`: in any case (ASCII), unless it has a capital letter. */
bool tui_match(struct str text, struct str what);
/* Where TUI_CLICK was, from the corner of the view's area. */
void tui_click(const struct tui *, int *y, int *x);
/* Findings told so far, of a session or 0; n-th from 0, NULL past the end. */
const struct finding *tui_finding(const struct tui *, uint32_t session, uint32_t n);
/* How many of a session there are, by enum severity. */
void tui_count_findings(const struct tui *, uint32_t session, uint32_t n[3]);
/* What it all amounts to; NULL until the input has ended. */
const struct verdict *tui_verdict(const struct tui *);
/* Opens the ladder of the finding's session at its first evidence. */
void tui_show_finding(struct tui *, const struct finding *);

/* list: a cursor over n rows of which an area shows some.  Only visible rows
 * are formatted. */
struct list {
	uint32_t n, at, top;
	int page;			/* rows shown by the last list_show() */
};

bool list_key(struct list *, uint32_t key);	/* arrows jk PgUp ^F ^B ^D ^U g G Home End */
void list_show(struct list *, int rows);	/* keeps `at` in sight */

/* The row of the area that was clicked; true: it was the cursor's already. */
bool list_click(struct list *, int row);

#endif
