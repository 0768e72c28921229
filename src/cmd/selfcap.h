/* selfcap: what our own clients saw, through the same wiring as a capture.
 * A witness (witness.h) tells it; packets that could have carried it go to a
 * pipeline and, when asked for, to a file.  Needs no right to capture.  Packet
 * numbers are those of the file. */
#ifndef SELFCAP_H
#define SELFCAP_H

#include "mcpdiag/loop.h"
#include "mcpdiag/pipeline.h"
#include "mcpdiag/witness.h"

struct selfcap_opts {
	struct pipeline_opts pipeline;	/* its texts must stay */
	const char *file;	/* pcapng; NULL: none */
	const char *application;	/* said in the file: "mcpdiag replay ..." */
};

struct selfcap;

/* NULL and a sentence when the file cannot be made. */
struct selfcap *selfcap_new(struct loop *, const struct selfcap_opts *, struct errmsg *);
/* The clients that have its witness are freed before. */
void selfcap_free(struct selfcap *);
/* For client_opts.witness. */
struct witness *selfcap_witness(const struct selfcap *);
/* Nothing more comes: pipeline_end().  Negative, and a sentence, when the file
 * or the record in memory is not complete. */
int selfcap_end(struct selfcap *, struct errmsg *);
/* Complete after selfcap_end(). */
struct pipeline *selfcap_pipeline(const struct selfcap *);

#endif
