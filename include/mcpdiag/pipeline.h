/* pipeline: all the wiring from packets to the timeline, and nothing else.
 * Packets go in (or events, from an event file, in their place);
 * pipeline_end() closes what is open, runs the rules to their end, and makes
 * the timeline complete.  Reads no file, looks at no clock. */
#ifndef MCPDIAG_PIPELINE_H
#define MCPDIAG_PIPELINE_H

#include "mcpdiag/bpf.h"
#include "mcpdiag/event.h"
#include "mcpdiag/limits.h"
#include "mcpdiag/model.h"
#include "mcpdiag/source.h"
#include "mcpdiag/timeline.h"

struct pipeline_opts {
	struct limits limits;
	bool show_secrets;
	struct bpf *filter;	/* NULL: everything passes; not owned */
	ev_fn *tap;		/* sees every event, findings too; or NULL */
	/* What was on the wire, just before tap sees the event it belongs to
	 * (model.h); or NULL, and no text is kept.  Not with events. */
	ev_text_fn *text;
	size_t request_text;	/* of a request's body: bytes; 0: 64 KiB */
	void *arg;
};

struct pipeline;

struct pipeline *pipeline_new(const struct pipeline_opts *);
void pipeline_free(struct pipeline *);
/* The next n packets in order, all valid at once (several are faster than one
 * by one); how many the filter has let pass. */
unsigned pipeline_packets(struct pipeline *, const struct packet *, unsigned n);
/* No packet has come for a while, and it is `now`: what waits for time to pass
 * (data behind a hole, rules) waits no longer.  For live captures. */
void pipeline_tick(struct pipeline *, ns_t now);
/* An event of an event file; not to be mixed with packets. */
void pipeline_event(struct pipeline *, const struct ev *);
/* What is known of an input file when it has been read. */
void pipeline_file(struct pipeline *, const struct source_file *);
/* Something that keeps the run from a full verdict: see verdict.c. */
void pipeline_note(struct pipeline *, const char *name, const char *text);
void pipeline_end(struct pipeline *);
/* Time of the first packet, as far as it is known by now. */
ns_t pipeline_first(const struct pipeline *);
/* Owned by the pipeline; complete after pipeline_end(). */
struct timeline *pipeline_timeline(const struct pipeline *);

#endif
