/* hread: one HTTP/1.x request off a client's bytes, strictly.
 *
 * Where the passive parser (http1) goes on with what real peers send, a server
 * must not: whoever stands between it and the client may have read the same
 * bytes in another way.  What http1 calls odd is refused here, and so is what
 * RFC 9112 leaves to the server: Host (3.2), Content-Length and
 * Transfer-Encoding in doubt (6.1, 6.3), more than the limits allow.
 *
 * One reader reads one request; bytes after its end are not taken.  However
 * the bytes are cut, the result is the same. */
#ifndef MCPDIAG_HREAD_H
#define MCPDIAG_HREAD_H

#include "mcpdiag/buf.h"
#include "mcpdiag/str.h"

struct hread_limits {
	uint64_t header;	/* bytes of the head with its empty line: 431;
				 * at most UINT32_MAX */
	uint32_t headers;	/* header lines: 431 */
	uint64_t body;		/* bytes: 413 */
};

enum hread_is {
	HREAD_MORE,		/* everything was taken, the end is not there */
	HREAD_CONTINUE,		/* the client waits for 100 (Continue) */
	HREAD_DONE,
	HREAD_REFUSED,		/* answer with hread_status(), then close */
};

/* The head of a request, in one piece of memory. */
struct hread_head {
	bool keep_alive;	/* another request may follow: RFC 9112 9.3 */
	bool head;		/* HEAD: the answer has no body */
	uint8_t minor;		/* HTTP/1.minor */
	uint32_t method_n, target_n, n_headers;
	/* Then the text: method, target, name, value, name, ... */
	struct hread_lens {
		uint32_t name, value;
	} lens[];
};

struct hread;

/* The limits are borrowed. */
struct hread *hread_new(const struct hread_limits *);
void hread_free(struct hread *);
/* Returns how many bytes were taken: all of them for HREAD_MORE. */
size_t hread_feed(struct hread *, const void *, size_t, enum hread_is *);
/* After HREAD_DONE: the head, to be free()d, and the body, for buf_fini(). */
struct hread_head *hread_take(struct hread *, struct buf *body);
/* After HREAD_REFUSED: 4xx or 5xx, and what was wrong, for the client. */
unsigned hread_status(const struct hread *);
const char *hread_why(const struct hread *);
/* Nothing but an empty line has come (RFC 9112 2.2). */
bool hread_blank(const struct hread *);

struct str hread_method(const struct hread_head *);
struct str hread_target(const struct hread_head *);
/* The k-th header of that name from 0, any case, or STR_NONE. */
struct str hread_header(const struct hread_head *, struct str name, unsigned k);

#endif
