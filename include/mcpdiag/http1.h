/* http1: both directions of an HTTP/1.x connection in, exchanges out.
 *
 * A passive push parser on llhttp for what real peers send: keep-alive,
 * pipelining, 1xx, HEAD, chunked with extensions and trailers, until-close,
 * HTTP/1.0.  Requests and responses are paired in order: the k-th final
 * response belongs to the k-th request.  Response head and response end are
 * separate events with their own packet and time.
 *
 * After a gap the parser goes on where it can: inside a fixed-length or
 * chunk body the missing bytes are counted off, otherwise it drops input until
 * a segment starts with a request line, a status line or (in a chunked body) a
 * chunk head.  What started before the capture or in a gap is reported with
 * what is known (`head_lost`).  A response whose request was not seen takes the
 * next number, for which there are no request callbacks.
 *
 * Callback strings are borrowed until the callback returns. */
#ifndef MCPDIAG_HTTP1_H
#define MCPDIAG_HTTP1_H

#include "mcpdiag/limits.h"
#include "mcpdiag/ns.h"
#include "mcpdiag/str.h"

enum http1_framing {
	HTTP1_NONE,		/* no body: RFC 9112 6.3, rule 1 and others */
	HTTP1_LENGTH,		/* Content-Length */
	HTTP1_CHUNKED,
	HTTP1_CLOSE,		/* until the connection closes */
};

enum http1_end {
	HTTP1_COMPLETE,		/* terminator, length reached, or close where
				 * the close is the end */
	HTTP1_INFERRED,		/* a gap hid the end, but what follows shows
				 * that it came */
	HTTP1_TRUNCATED,	/* the sender closed before the end */
	HTTP1_ABORTED,		/* the other side closed or reset first */
	HTTP1_LOST,		/* a gap hid how it ended */
	HTTP1_OPEN,		/* still going when the input ended */
};

enum http1_odd {
	HTTP1_BAD,		/* bytes that are no HTTP */
	HTTP1_HEADER_LIMIT,	/* header block over the limit */
	HTTP1_PIPELINE_LIMIT,	/* more requests waiting than the limit */
	HTTP1_UNASKED,		/* a response to no request */
	HTTP1_LENIENT,		/* accepted, but not as RFC 9112 wants it */
	HTTP1_UPGRADE,		/* 101 or CONNECT: no HTTP from here on */
	HTTP1_H2,		/* the HTTP/2 connection preface */
};

struct http1_header {
	struct str name, value;	/* value without surrounding white space */
};

struct http1_head {
	uint32_t n;		/* exchange number on this connection, from 0 */
	bool head_lost;		/* made up: the head itself was not seen */
	struct str method, target;	/* request */
	uint16_t status;		/* response */
	struct str reason;		/* phrase behind it, any bytes */
	uint8_t major, minor;
	bool chunked;
	bool has_length;
	uint64_t length;		/* Content-Length when has_length */
	enum http1_framing framing;
	const struct http1_header *headers;	/* in order of arrival */
	uint32_t n_headers;
};

/* First header of that name (any case), or STR_NONE. */
struct str http1_header(const struct http1_head *, struct str name);

struct http1_cb {
	void (*request)(void *arg, const struct http1_head *, struct at);
	void (*request_body)(void *arg, uint32_t n, const void *, size_t, struct at);
	void (*request_end)(void *arg, uint32_t n, enum http1_end, struct at);
	/* An interim response (1xx except 101); no body, no end. */
	void (*interim)(void *arg, const struct http1_head *, struct at);
	void (*response)(void *arg, const struct http1_head *, struct at);
	void (*response_body)(void *arg, uint32_t n, const void *, size_t, struct at);
	/* `bytes` bytes are missing here from the body of response (or request)
	 * n, chunk heads among them when no more is known. */
	void (*body_gap)(void *arg, uint32_t n, bool response, uint64_t bytes, struct at);
	void (*response_end)(void *arg, uint32_t n, enum http1_end, struct at);
	void (*odd)(void *arg, enum http1_odd, bool response, struct at);
};

enum http1_guess {
	HTTP1_IS_REQUEST,	/* starts like a request line */
	HTTP1_IS_RESPONSE,	/* starts like a status line */
	HTTP1_IS_CHUNK,		/* like a chunk head followed by text (server) */
	HTTP1_IS_H2,		/* HTTP/2 connection preface, or server frames */
	HTTP1_IS_TLS,		/* a TLS record: handshake, or application data */
	HTTP1_IS_UNKNOWN,	/* too short to say: give more */
	HTTP1_IS_OTHER,		/* something else */
};

/* What the first bytes of one direction look like. */
enum http1_guess http1_guess(const void *, size_t);

struct http1;

struct http1 *http1_new(const struct limits *, const struct http1_cb *, void *arg);
void http1_free(struct http1 *);
/* One call for each piece; `response` is true for bytes of the server.  A
 * piece is taken as starting where a TCP segment starts (for resync). */
void http1_feed(struct http1 *, bool response, const void *, size_t, struct at);
/* For who answers the requests himself: takes client bytes up to the next
 * event (a head, a stretch of body, an end, something odd) and returns how
 * many.  0: no HTTP comes any more. */
size_t http1_step(struct http1 *, const void *, size_t, struct at);
/* n bytes are missing; 0, before the first piece: it is not known how much. */
void http1_gap(struct http1 *, bool response, uint64_t n, struct at);
/* That direction is closed; `reset`: by RST; `by_peer`: the RST or end came
 * from the other side. */
void http1_close(struct http1 *, bool response, bool reset, bool by_peer, struct at);
/* The capture ended: whatever is open ends as HTTP1_OPEN. */
void http1_eof(struct http1 *, struct at);
/* Memory held beyond the struct itself, bytes. */
size_t http1_held(const struct http1 *);

#endif
