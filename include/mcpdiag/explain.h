/* explain: what each detector's name means, for a person.
 * One entry for each detector; an entry may be there before its rule is.  All
 * text is our own ASCII, static, in paragraphs without line ends; the reader
 * wraps them.  `known` is never stronger than its evidence: it says what was
 * measured on the wire, what was read in source, and what is only reported. */
#ifndef MCPDIAG_EXPLAIN_H
#define MCPDIAG_EXPLAIN_H

struct explain {
	const char *detector;
	const char *what;	/* when it is said */
	const char *wire;	/* picture: lines of at most 74 columns */
	const char *known;	/* who does it */
	/* The cure at each end; NULL where there is none, one is there. */
	const char *server, *client, *path;
	const char *not_it;	/* what looks like it and is not */
};

/* By detector, or NULL. */
const struct explain *explain_find(const char *detector);
/* i from 0; NULL past the end. */
const struct explain *explain_at(unsigned i);

#endif
