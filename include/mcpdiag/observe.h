/* observe: ordered bytes in, meaning out.
 * Sits between flow and model: tells HTTP/1 from TLS, HTTP/2 and the rest by
 * the first bytes, finds out who is the client when the handshake was not
 * captured, and runs http1, inflate, sse and rpc over each connection.
 * While the heap is over limits.memory by more than a sixteenth (the pipeline
 * keeps it below, but much may come at once) bytes count as missing. */
#ifndef MCPDIAG_OBSERVE_H
#define MCPDIAG_OBSERVE_H

#include "mcpdiag/model.h"

struct observe;
struct oconn;

struct observe_stats {
	uint64_t encrypted;	/* connections that start with TLS */
	uint64_t http2;		/* in the clear */
	uint64_t other;		/* neither HTTP nor TLS */
	uint64_t work;		/* bytes that came or were unpacked, bytes that
				 * decoders and held messages took, and 1 KiB
				 * for each piece and each exchange */
};

struct observe *observe_new(const struct limits *, struct model *);
void observe_free(struct observe *);

/* client0: dir 0 is known to be the client.  a0, a1: addresses in text. */
struct oconn *observe_open(struct observe *, const char *a0, const char *a1,
    bool client0, struct at);
/* false: this connection is of no interest, send no more bytes. */
bool observe_data(struct oconn *, int dir, const void *, size_t, struct at);
/* Bytes for it come soon; stage 0, then 1: fetches its memory ahead. */
void observe_expect(const struct oconn *, int stage);
void observe_gap(struct oconn *, int dir, uint64_t n, struct at);
/* how as in model_conn_close; by is the direction whose packet did it. */
void observe_close(struct oconn *, int dir, const char *how, int by, struct at);
void observe_stall(struct oconn *, int dir, uint64_t bytes, bool zero_window,
    struct at since, struct at now);
void observe_odd(struct oconn *, int dir, const char *name, const char *text, struct at);
void observe_end(struct oconn *, struct at);
const struct observe_stats *observe_stats(const struct observe *);

#endif
