/* fingerprint: what software a peer looks like, with the evidence.
 * Never stronger than the evidence; every sign can be forged.  The table is in
 * fingerprint.c; sources: measured captures, reference tables of SDKs. */
#ifndef MCPDIAG_FINGERPRINT_H
#define MCPDIAG_FINGERPRINT_H

#include "mcpdiag/buf.h"

enum {				/* what a session has shown of its server */
	SIGN_DATA_FIRST = 1,	/* data before id */
	SIGN_RETRY_3000 = 2,
	SIGN_BARE_PRIME = 4,	/* a request's POST stream primed with id 0 */
	SIGN_SCOPED_PRIME = 8,	/* primed with 0/N */
	SIGN_X_ACCEL = 16,	/* x-accel-buffering: no */
	SIGN_TAKEOVER = 32,	/* a GET ended another */
	SIGN_SHADOW = 64,	/* a GET opened beside another */
	SIGN_CONFLICT = 128,	/* a GET was refused with 409 */
	SIGN_EMPTY = 256,	/* a resuming GET got an empty stream */
	SIGN_401 = 512,		/* the session was refused with 401 */
	SIGN_404 = 1024,	/* with 404 */
	SIGN_NO_TRANSFORM = 2048, /* cache-control: no-cache, no-transform */
	SIGN_EXPRESS = 4096,
	SIGN_UVICORN = 8192,
	SIGN_KESTREL = 16384,
	SIGN_PING_TS = 1 << 15,	/* ": ping - <time>" */
	SIGN_OK = 1 << 16,	/* ": ok" */
	SIGN_KEEPALIVE = 1 << 17, /* ": keepalive" */
	SIGN_BARE_COMMENT = 1 << 18, /* ":" alone */
	SIGN_PRIME_EVENT = 1 << 19, /* event: prime or close */
	SIGN_INIT_PRIME_0 = 1 << 20, /* initialize primed with id 0 */
	SIGN_ID_IS_SID = 1 << 21, /* an event id equals the session id */
	SIGN_EMPTY_FIRST = 1 << 22, /* a GET stream begins with empty data, no id */
	SIGN_NO_STORE = 1 << 23, /* cache-control: no-cache,no-store, coding identity */
	SIGN_CHARSET = 1 << 24,	/* charset on text/event-stream */
	SIGN_SERVER_ERROR = 1 << 25, /* an error with the id "server-error" */
	SIGN_ONE_STREAM = 1 << 26, /* "Conflict: Only one SSE stream is allowed ..." */
};

enum {				/* what it has shown of its client */
	CSIGN_NO_AGENT = 1,	/* a GET without User-Agent */
	CSIGN_SSE_JSON = 2,	/* that accepts text/event-stream, application/json */
	CSIGN_CAPITAL = 4,	/* a GET with Accept, */
	CSIGN_LOWER = 8,	/* with accept, */
	CSIGN_BOTH = 16,	/* with both */
	CSIGN_EARLY_GET = 32,	/* a GET before notifications/initialized */
	CSIGN_JAVA_ID = 64,	/* initialize has the id "XXXXXXXX-0" */
};

/* Shape of an Mcp-Session-Id: 'u' UUID, 'h' 32 hex digits, 'H' 64 hex digits,
 * 'b' 26 base32 characters, 'w' 22 base64url characters, 'm' mcp-session-UUID,
 * '?' anything else. */
char fingerprint_sid(struct str sid);
/* signs: SIGN_ bits of the model.  Appends to both; leaves them empty when
 * nothing is known. */
void fingerprint_server(uint32_t signs, char sid_shape, struct buf *looks, struct buf *evidence);
/* signs: CSIGN_ bits. */
void fingerprint_client(struct str agent, struct str client, uint32_t signs,
    struct buf *looks, struct buf *evidence);
/* CSIGN_JAVA_ID or 0, by the id of an initialize, verbatim. */
uint32_t fingerprint_first_id(struct str id);

#endif
