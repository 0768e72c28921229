/* screen: the screens of watch on a terminal: joins tui, term and loop.
 * Paints when something has changed, at most ten times a second, and at once
 * for a key; once a second where ages are told.  Signals of the terminal are
 * dealt with here: its size, ^Z, ^C (the first ends the input, the second
 * leaves), and those that end the program, which give the terminal back. */
#ifndef SCREEN_H
#define SCREEN_H

#include "mcpdiag/loop.h"
#include "mcpdiag/pipeline.h"
#include "mcpdiag/tui.h"

struct screen_opts {
	const struct pipeline_opts *pipe;	/* of the run */
	const struct timeline *timeline;
	const char *file;	/* the capture, borrowed; NULL: not to be read again */
	const char *interface;	/* or NULL */
	const char *source;	/* for the first line */
	bool live;		/* packets come as they are sent: ages grow by themselves */
	bool saved;		/* they are kept somewhere */
	void *arg;
	void (*state)(void *arg, struct tui_state *);	/* what is known of the input */
	void (*finish)(void *arg);	/* ^C: no more packets are wanted */
};

struct screen;

/* Takes the terminal over; to be called while there are privileges to open it
 * with.  color: "always", "never", or NULL for what the environment wants.  NULL
 * when there is none that can be painted. */
struct screen *screen_open(struct loop *, const char *color);
int screen_start(struct screen *, const struct screen_opts *, struct errmsg *);
/* Gives the terminal back; nothing has to have been started.  Returns the
 * signal that is to end the program, or 0. */
int screen_close(struct screen *);
/* Each packet, before the pipeline has it, then what the pipeline tells, after
 * its timeline. */
void screen_packet(struct screen *, const struct packet *);
void screen_text(struct screen *, struct str text, uint64_t bytes, bool cut);
void screen_event(struct screen *, const struct ev *);
/* The input has ended: no more events come. */
void screen_ended(struct screen *);

#endif
