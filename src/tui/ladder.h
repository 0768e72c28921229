/* ladder: the items of a session as rows between a client and a server.
 * Several items make one row where they belong together: a request and its
 * message, a response and its stream, an event and what it carries.  Nothing is
 * indexed: rows are found by walking, so that sessions may be of any length. */
#ifndef LADDER_H
#define LADDER_H

#include "changes.h"
#include "view.h"

#define LADDER_NEAR 16		/* items of the session that are looked at to
				 * find what belongs together */

struct ladder {
	const struct store *store;
	const struct timeline *timeline;
	uint32_t session;
	bool detail;		/* keep-alives, ends, connections, too */
	uint64_t limit;		/* nothing newer than this item; 0: all */
	const struct changes *changes;	/* of owner, for the words; or NULL */
};

enum ladder_way { LADDER_C2S, LADDER_S2C, LADDER_NOTE };

struct ladder_row {
	uint64_t no;		/* item */
	ns_t t;
	uint32_t pkt;
	enum ladder_way way;
	enum glyph glyph;	/* of a note; GLYPH_N: none */
	unsigned style;
	struct buf text;	/* wire bytes may be in it */
};

/* Rows are named by the item that begins them; 0 is none. */
uint64_t ladder_first(const struct ladder *);
uint64_t ladder_last(const struct ladder *);
uint64_t ladder_next(const struct ladder *, uint64_t row);
uint64_t ladder_prev(const struct ladder *, uint64_t row);
/* The row that an item is part of, or the last one before it. */
uint64_t ladder_row_of(const struct ladder *, uint64_t no);
/* The row of that packet, or the first after it; the last when there is none. */
uint64_t ladder_find_pkt(const struct ladder *, uint32_t pkt);
/* Fills a row whose text is initialised; false when the item is gone. */
bool ladder_row(const struct ladder *, uint64_t row, struct ladder_row *);
/* What a row is made of: its items in order, at most `max`; how many. */
unsigned ladder_items(const struct ladder *, uint64_t row, uint64_t *items, unsigned max);
/* The item of a row whose text is to be compared: its message, if it has one. */
uint64_t ladder_message(const struct ladder *, uint64_t row);

/* Draws one row; `previous`: time of the row above; `evidence`: GLYPH_N or how
 * severe a finding it is part of. */
void ladder_draw(struct tui *, struct grid *, struct area, int y,
    const struct ladder_row *, ns_t previous, bool marked, enum glyph evidence);
/* The names of the columns. */
void ladder_draw_head(struct tui *, struct grid *, struct area, uint32_t session);
/* The whole ladder of a session as text, as far as the buffer goes; a last line
 * says when it did not fit.  0: of every session, and of what is without. */
void ladder_print(struct tui *, uint32_t session, bool detail, struct buf *);

#endif
