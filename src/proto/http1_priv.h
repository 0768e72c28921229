/* http1_priv: what the files of http1 share.
 *
 *	http1.c        the connection: pairing, gaps, closes
 *	http1_head.c   bytes of a head in, one clean block out
 *	http1_parse.c  llhttp reads that block; how the message is framed
 *	http1_body.c   bytes of a body in: length, chunks, until close
 *	http1_guess.c  what the first bytes of a piece look like
 *
 * llhttp sees each head once and whole: where it is, when it is all in one
 * piece and in order; else collected and tidied.  It has no way to go on after lost
 * bytes, its two major versions differ in what they forgive, and 8 refuses
 * quoted chunk extensions: so bodies are framed here, where the place in a
 * chunk is known when bytes go missing, and no state of llhttp is kept
 * for an idle connection. */
#ifndef MCPDIAG_HTTP1_PRIV_H
#define MCPDIAG_HTTP1_PRIV_H

#include "mcpdiag/buf.h"
#include "mcpdiag/http1.h"

/* A head being collected.  Complete lines are kept with CRLF ends, unfolded
 * and without lines that are no header; the line being read follows them. */
struct h1_head {
	struct buf b;		/* nothing allocated between heads */
	size_t limit;		/* bytes kept; past it only framing headers */
	size_t line;		/* where the line being read starts in b */
	uint64_t length;	/* first Content-Length, when has_length */
	bool has_length;
	bool start;		/* the start line is complete */
	bool skip;		/* drop the rest of this line */
	bool kept;		/* the line before was kept: it may be folded */
	bool blank;		/* an empty line came before the start line */
	bool over;		/* the limit was reached */
	bool unframed;		/* a framing header was dropped there */
	bool lenient;		/* not as RFC 9112 wants it */
};

enum h1_head_is {
	H1_HEAD_MORE,
	H1_HEAD_DONE,		/* the empty line was read */
	H1_HEAD_BAD,		/* does not start like HTTP */
	H1_HEAD_PREFACE,	/* PRI * HTTP/2.0 */
};

void h1_head_init(struct h1_head *, size_t limit);
/* Back to nothing collected; frees. */
void h1_head_clear(struct h1_head *);
/* Bytes of the head that starts at p and is all here; 0: collect it. */
size_t h1_head_here(const struct h1_head *, bool response, const char *p,
    size_t n);
/* Takes bytes up to the end of the head; *used is how many. */
enum h1_head_is h1_head_feed(struct h1_head *, bool response, const char *,
    size_t, size_t *used);
/* Something of a head has come. */
bool h1_head_begun(const struct h1_head *);
/* No more of it will come: a start line that tells enough counts as whole. */
void h1_head_cut(struct h1_head *, bool response);
/* The complete lines so far. */
struct str h1_head_block(const struct h1_head *);

enum { H1_FEW = 32 };		/* headers for which nothing is allocated */

/* A head as llhttp reads it. */
struct h1_parsed {
	struct http1_head head;	/* borrows from the block and from here */
	bool start;		/* the start line is good */
	bool last;		/* says that no other message follows it */
	bool lenient;
	bool raw;		/* H1_BLOCK_RAW */
	bool open_name;		/* the last header's value has not come */
	bool done;
	uint32_t cap;		/* of `heap`, which is NULL while `few` do */
	struct http1_header *heap;
	struct http1_header few[H1_FEW];
};

enum h1_block {
	H1_BLOCK_CUT,		/* complete lines, collected */
	H1_BLOCK_WHOLE,		/* and the empty line */
	H1_BLOCK_RAW,		/* as sent, with the empty line: refused when
				 * anything in it is out of order */
};

/* Reads a block.  False when it has no start line or llhttp refuses it: then
 * what came before is there. */
bool h1_parse(struct h1_parsed *, bool response, enum h1_block, struct str);
void h1_parsed_fini(struct h1_parsed *);

enum h1_asked {			/* what the request was, for its response */
	H1_ASKED_PLAIN,
	H1_ASKED_HEAD,
	H1_ASKED_CONNECT,
};

/* Sets the framing (RFC 9112 6.3). */
void h1_frame(struct h1_parsed *, bool response, enum h1_asked);

enum h1_body_is {
	H1_LENGTH,		/* `left` bytes more */
	H1_UNTIL_CLOSE,
	H1_SIZE,		/* first digit of a chunk size */
	H1_DIGITS,
	H1_SIZE_LF,
	H1_EXT,			/* chunk extension, or spaces: to the LF */
	H1_DATA,		/* `left` bytes more of the chunk */
	H1_DATA_CR,		/* its CRLF */
	H1_DATA_LF,
	H1_TRAILER,		/* start of a trailer line */
	H1_TRAILER_NAME,
	H1_TRAILER_VALUE,
	H1_TRAILER_LF,		/* of the empty line */
	H1_OVER,		/* the body is complete */
	H1_BROKEN,		/* no chunk; after a gap: place unknown */
};

struct h1_body {
	enum h1_body_is is;
	bool cr;		/* the byte before was a CR */
	bool lenient;
	uint64_t left;
};

/* framing is not HTTP1_NONE. */
void h1_body_init(struct h1_body *, enum http1_framing, uint64_t length);
/* Takes bytes up to the next stretch of content (*span, perhaps empty), to a
 * deviation, to H1_OVER or H1_BROKEN; returns how many (> 0 for n > 0). */
size_t h1_body_feed(struct h1_body *, const char *, size_t n, struct str *span);
/* n bytes are missing.  Counts off what can be: *lost of them were content.
 * Returns how many are left over.  When some are: H1_SIZE says that they start
 * at a chunk head, H1_OVER that the body ended before them, H1_BROKEN that the
 * place is not known. */
uint64_t h1_body_gap(struct h1_body *, uint64_t n, uint64_t *lost);

/* A piece that could start with a chunk head; `text`: and what follows, if
 * anything, is text. */
bool h1_chunk_head(const void *, size_t, bool text);
bool h1_is_token(unsigned char);	/* tchar, RFC 9110 5.6.2 */

#endif
