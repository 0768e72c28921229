/* source: capture files of one run, as one sequence of packets in time order.
 * Opens files (or stdin as "-"), takes gzip or zstd around them by their first
 * bytes, and merges several by packet time (the files of a ring, or of two
 * interfaces).  Packets of one file keep their order even where its times go
 * back.  Reads with read(2) in pieces of 256 KiB; a file is opened only when
 * its first packet is due, so a ring of hundreds is no problem. */
#ifndef MCPDIAG_SOURCE_H
#define MCPDIAG_SOURCE_H

#include "mcpdiag/capfile.h"

struct source;

struct source_file {
	const char *path;	/* as given; "-" for stdin */
	const char *format;	/* "pcap", "pcapng"; NULL: never got so far */
	const char *packing;	/* "gzip", "zstd" or NULL */
	struct capfile_stats stats;
	uint32_t linktypes[8], n_linktypes;
	const char *error;	/* why reading stopped early, or NULL */
};

struct source *source_new(void);
void source_free(struct source *);
/* Adds a file.  The path is kept.  -E_IO or -E_FORMAT with a sentence when it
 * cannot be opened or is no capture (an empty file is -E_FORMAT too). */
int source_add(struct source *, const char *path, struct errmsg *);
/* In place of source_add(), for the one file of a run that is read while it is
 * written: a pipe, or a regular file that grows (by whole records or by parts
 * of one).  Nothing is read yet, so whether it is a capture turns out later.
 * From then on source_next() never waits.  A pipe ends when its writers are
 * gone, a regular file never, unless it gets shorter, which is an error.  *fd
 * is what to watch for reading, -1 for a regular file: ask again after a while.
 * -E_IO with a sentence when it cannot be opened. */
int source_follow(struct source *, const char *path, int *fd, struct errmsg *);
#define SOURCE_LATER 2
/* 1 and a packet (numbered from 1), or 0 at the end of all, or SOURCE_LATER:
 * a followed file has no whole packet for now.  A file that turns bad after its
 * start ends there; source_file() says why. */
int source_next(struct source *, struct packet *out);
/* Packets that follow the one given last and are in memory already, up to max;
 * all stay valid together with it until the next source_next().  0 says only
 * that source_next() must be asked, not that there is no more. */
unsigned source_more(struct source *, struct packet *out, unsigned max);
/* The i-th file, in the order they were added; false past the end. */
bool source_file(const struct source *, unsigned i, struct source_file *);
/* Bytes consumed and bytes in all (0 when unknown: a pipe), for progress. */
void source_progress(const struct source *, uint64_t *done, uint64_t *total);

#endif
