/* save: what F2 writes: a session's packets, or what they tell.
 * Sees every packet and event of the run.  Packets come again from the capture
 * file when there is one, else from a ring of the last ones (limits.ring).  A
 * session's packets are those of the TCP connections that carried it; another
 * session on the same connection comes along, and that is said.  Reports are
 * made from these packets by another pipeline, with the same packet numbers.
 *
 * One job at a time, in turns.  The file is written under another name and
 * takes its own when it is complete; one that is there already is never
 * replaced. */
#ifndef SAVE_H
#define SAVE_H

#include "mcpdiag/pipeline.h"
#include "mcpdiag/tui.h"

struct save;

struct save_opts {
	struct pipeline_opts pipe;	/* of the run; filter borrowed, tap unused */
	const char *file;		/* the capture, borrowed; NULL: not a file
					 * that could be read again */
	const char *interface;		/* its name; NULL: not known; borrowed */
};

struct save *save_new(const struct save_opts *);
void save_free(struct save *);		/* a job in work leaves nothing behind */
/* The next n packets, before or after the pipeline has them. */
void save_packets(struct save *, const struct packet *, unsigned n);
void save_event(struct save *, const struct ev *);
/* Where sessions have their names from; borrowed, before the first job. */
void save_timeline(struct save *, const struct timeline *);

/* Begins a job: session 0 is all of them.  `ladder` is the text to be written
 * for TUI_SAVE_LADDER.  0, or a negative code and a sentence. */
int save_begin(struct save *, enum tui_save, uint32_t session, struct str path,
    struct str ladder, struct errmsg *);
/* Goes on for about n packets.  1: there is more to do; 0: done, and a sentence
 * about what was written in *said; negative: failed, and why. */
int save_turn(struct save *, unsigned n, struct errmsg *said);
/* Part of the job that is done, 0 to 1. */
double save_progress(const struct save *);

/* The whole job at once, as tui_ask.save wants it; arg is the save. */
bool save_ask(void *arg, enum tui_save, uint32_t session, struct str path,
    const struct buf *ladder, char *said, size_t size);

#endif
