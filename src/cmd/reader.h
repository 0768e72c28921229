/* reader: a capture file on the loop, with bounded work for each turn of it.
 * In one of three ways: as fast as it can be read; in the time of its packets;
 * or as it grows.  A pipe is read as it fills, whichever is asked. */
#ifndef READER_H
#define READER_H

#include "mcpdiag/loop.h"
#include "mcpdiag/source.h"

/* With a speed, no pause between two packets lasts longer than this. */
#define READER_PAUSE_MAX (60 * NS_S)
#define READER_SPEED_MAX 1000000000U	/* a million times */

/* The next packet, borrowed; false: no more are wanted. */
typedef bool reader_packet_fn(void *arg, const struct packet *);

struct reader_opts {
	const char *path;	/* "-": stdin */
	bool follow;		/* the end of the file is not the end */
	uint32_t speed;		/* in thousandths of capture time, 0: no waiting */
	reader_packet_fn *packet;
	loop_fn *turn;		/* the packets of a turn of the loop have come */
	loop_fn *end;		/* nothing more comes, not even later */
	void *arg;
};

struct reader;

/* NULL and a sentence when it cannot be opened (-E_IO) or is no capture
 * (-E_FORMAT); of a pipe, and with follow, the latter shows only later, at its
 * end.  The first packet comes from the loop.  Strings are borrowed for as long
 * as the reader lives. */
struct reader *reader_new(struct loop *, const struct reader_opts *, struct errmsg *);
void reader_free(struct reader *);
/* What has become of the file so far. */
const struct source *reader_source(const struct reader *);

#endif
