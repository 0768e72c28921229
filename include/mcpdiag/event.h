/* event: the second waist.  Everything that is known of the traffic is said in
 * a sequence of `struct ev`; rules and sinks see nothing else.
 *
 * An event is borrowed until the callback returns, and so are its strings; use
 * ev_clone() to keep one.  Ids count from 1 in order of appearance and are 0
 * where they do not apply.  Times are packet times; they may go back by the
 * little that packets in a capture do.  `pkt` is the packet that completed
 * what the event tells.
 *
 * ev_fields[] describes every member by name and type: the NDJSON writer and
 * reader and mcpdiag-events(5) follow it. */
#ifndef MCPDIAG_EVENT_H
#define MCPDIAG_EVENT_H

#include "mcpdiag/buf.h"
#include "mcpdiag/finding.h"
#include "mcpdiag/ns.h"
#include "mcpdiag/str.h"

enum ev_type {
	EV_FILE,		/* an input file: u.file */
	EV_CONN,		/* TCP connection to an MCP server: u.conn */
	EV_CONN_END,		/* one direction closed: u.conn_end */
	EV_REQUEST,		/* request head: u.req */
	EV_REQUEST_END,		/* u.end */
	EV_RESPONSE,		/* final response head: u.resp */
	EV_RESPONSE_END,	/* u.end */
	EV_SESSION,		/* a session appeared, or more is known: u.session */
	EV_SESSION_END,		/* DELETE answered 2xx, or the legacy stream closed */
	EV_STREAM,		/* an event stream opened (its head): u.stream */
	EV_STREAM_END,		/* u.stream_end */
	EV_SSE,			/* an event block: u.sse */
	EV_COMMENT,		/* a comment line: u.comment */
	EV_MESSAGE,		/* a JSON-RPC message: u.msg */
	EV_OWNER,		/* a stream's role changed: u.owner */
	EV_STALL,		/* written, not acknowledged: u.stall */
	EV_GAP,			/* bytes missing from the capture: u.gap */
	EV_ANOMALY,		/* bytes that break a rule, a limit: u.note */
	EV_NOTE,		/* why a verdict may be missing: u.note */
	EV_FINDING,		/* u.finding */
	EV_END,			/* end of input: u.total */
	EV_N_TYPES
};

enum ev_dir { EV_C2S, EV_S2C };

enum ev_transport {
	EV_TRANSPORT_UNKNOWN,
	EV_LEGACY_SSE,		/* HTTP+SSE of 2024-11-05: an endpoint event */
	EV_STREAMABLE,		/* Streamable HTTP, session era */
	EV_MODERN,		/* 2026-07-28: no sessions */
};

enum ev_kind {			/* of a stream, DESIGN 5 */
	EV_POST_RESPONSE,	/* answers a POST */
	EV_STANDALONE,		/* GET without Last-Event-ID */
	EV_RESUMED,		/* GET with it */
	EV_LEGACY,		/* HTTP+SSE GET: first event is `endpoint` */
	EV_LISTEN,		/* answers subscriptions/listen */
	EV_UNKNOWN_KIND,	/* the request was not captured */
};

enum ev_end {			/* how a message or stream ended */
	EV_COMPLETE,		/* terminator, length reached, close where due */
	EV_TRUNCATED,		/* the server's FIN or RST came before that */
	EV_CLIENT,		/* the client left first */
	EV_LOST,		/* the capture does not show how */
	EV_OPEN,		/* not ended when the capture did */
};

enum ev_role {			/* of a GET stream of a session, DESIGN 5 */
	EV_PRESUMED,		/* oldest open one, nothing proven */
	EV_PRIMARY,		/* carried the last common message */
	EV_SHADOW,		/* open beside the primary */
	EV_ORPHAN,		/* open, but the primary is gone or elsewhere */
	EV_REQUEST_STREAM,	/* resumes the answer of one POST */
	EV_CLOSED,
};

enum ev_by {			/* what changed a role */
	EV_BY_OPEN,		/* the stream u.owner.cause opened */
	EV_BY_CLOSE,		/* the stream u.owner.cause ended */
	EV_BY_MESSAGE,		/* a common message was carried */
	EV_BY_RESPONSE,		/* a response was carried */
};

enum ev_msg {			/* kind of JSON-RPC message */
	EV_MSG_REQUEST, EV_MSG_NOTIFICATION, EV_MSG_RESPONSE, EV_MSG_ERROR,
	EV_MSG_INVALID,
};

/* Who speaks in a session's channel: DETECTORS "Primary". */
enum ev_channel {
	EV_CH_NONE,		/* client to server, or JSON bodies */
	EV_CH_REQUEST,		/* tied to a request: its response, its progress */
	EV_CH_COMMON,		/* server notification or request tied to none */
};

enum {				/* ev.flags */
	EVF_HEAD_LOST = 1,	/* the message's head was not captured */
	EVF_GAP = 2,		/* bytes of this connection are missing before */
	EVF_MIDSTREAM = 4,	/* the connection was open before the capture */
	EVF_INFERRED = 8,	/* an end that a gap hid, shown by what follows */
	EVF_UNDECODED = 16,	/* a body could not be decoded */
	EVF_CUT = 32,		/* a limit cut it short */
	EVF_LATE = 64,		/* the client had already closed this direction */
	EVF_REPLAY = 128,	/* EV_SSE: this event id was delivered before */
	EVF_FINAL = 256,	/* EV_FINDING: chained and aggregated, at the end */
};

struct ev {
	enum ev_type type;
	uint32_t flags;
	ns_t t;
	uint32_t pkt;
	uint32_t conn, x, stream, session;	/* x: exchange of the whole run */
	enum ev_dir dir;
	union {
		struct {
			struct str name, format, packing, linktypes, error;
			uint64_t packets, dropped, truncated;
		} file;
		struct {
			struct str client, server;	/* address:port */
		} conn;
		struct {
			struct str how;		/* fin, rst, evicted, eof, reused */
			bool by_peer;		/* an RST of the other side */
		} conn_end;
		struct {
			uint32_t n;		/* exchange of this connection, from 0 */
			struct str method, target, host;
			struct str sid;		/* hash of Mcp-Session-Id */
			struct str cursor;	/* Last-Event-ID; absent: none */
			struct str version;	/* MCP-Protocol-Version */
			struct str accept, content_type, agent;
			struct str auth;	/* hash of Authorization */
			struct str origin;
		} req;
		struct {
			uint32_t status;
			struct str sid, content_type, server, coding, framing;
			struct str location, via;
			bool challenge;		/* WWW-Authenticate is there */
			bool sid_odd;		/* the session id has a byte
						 * outside 0x21 to 0x7E */
			bool event_stream;
		} resp;
		struct {
			enum ev_end end;
			uint64_t bytes;		/* of the body, as sent */
		} end;
		struct {
			struct str key;		/* what ties it together */
			enum ev_transport transport;
			struct str revision;	/* negotiated, else offered */
			bool offered;		/* revision is the client's offer */
			struct str client, server;	/* name/version */
			struct str endpoint;	/* server address */
			struct str looks_like, evidence;	/* fingerprint */
			struct str client_looks_like, client_evidence;
			bool list_changed;	/* server declared listChanged
						 * or subscribe */
		} session;
		struct {
			enum ev_kind kind;
			struct str cursor;	/* Last-Event-ID of the request */
			uint32_t lineage;	/* listener it belongs to */
			uint32_t previous;	/* its stream before this one */
			uint32_t resumes;	/* stream that gave out the cursor */
			uint32_t givers;	/* streams that gave out that id */
			ns_t requested;		/* time of the request head */
			uint32_t request_pkt;
			int64_t delay_ms;	/* since the previous one ended; -1 */
		} stream;
		struct {
			enum ev_end end;
			bool had_response;	/* it carried a response */
			uint32_t events, comments;
			ns_t last_byte;
		} stream_end;
		struct {
			struct str name;	/* event field */
			struct str id;		/* absent: the block had none */
			bool data;		/* not empty */
			bool dispatched;	/* has a data field: counted */
			bool tail;		/* the stream ended inside it */
			uint64_t bytes, hash;	/* of the data */
			int64_t retry_ms;	/* or -1 */
		} sse;
		struct {
			struct str text;
		} comment;
		struct {
			enum ev_msg kind;
			struct str method, id;	/* id verbatim */
			struct str code, error;
			struct str name;	/* tool, resource or prompt */
			struct str answers;	/* method of the request answered */
			struct str cancels;	/* id of the request, verbatim */
			enum ev_channel channel;
			uint64_t hash;		/* of the message's bytes */
			bool sse;		/* carried by an event stream */
			bool batch;		/* one of an array of them */
			uint32_t of;		/* exchange of the request it is
						 * tied to, 0 unknown */
		} msg;
		struct {
			enum ev_role from, to;
			enum ev_by by;
			uint32_t cause;		/* stream */
		} owner;
		struct {
			uint64_t bytes;
			ns_t since;
			uint32_t since_pkt;
			bool zero_window;
		} stall;
		struct {
			uint64_t bytes;
		} gap;
		struct {
			struct str name, text;
		} note;
		const struct finding *finding;
		struct {
			uint64_t packets, tcp_connections, gaps, gap_bytes;
			uint64_t dropped, truncated;
			uint64_t encrypted, http2, other;	/* connections */
			uint64_t unread;	/* candidates never proven MCP */
			ns_t first, last;
		} total;
	} u;
};

typedef void ev_fn(void *arg, const struct ev *);

/* Deep copy in one allocation; EV_FINDING events cannot be cloned. */
struct ev *ev_clone(const struct ev *);
void ev_free(struct ev *);

enum ev_field_type {
	EVT_STR, EVT_BOOL, EVT_U32, EVT_U64, EVT_I64, EVT_NS, EVT_HASH,
	EVT_ENUM, EVT_FLAGS,
};

struct ev_field {
	const char *name;
	uint8_t type;			/* enum ev_field_type */
	uint16_t offset;
	const char *const *names;	/* EVT_ENUM: NULL-terminated */
};

/* Members of u for that type, ended by a row without name. */
const struct ev_field *ev_fields(enum ev_type);
/* "conn", "request", ... and back (EV_N_TYPES when unknown). */
const char *ev_type_name(enum ev_type);
enum ev_type ev_type_of(struct str name);

extern const char *const ev_dir_names[], *const ev_transport_names[],
    *const ev_kind_names[], *const ev_end_names[], *const ev_role_names[],
    *const ev_by_names[], *const ev_msg_names[], *const ev_channel_names[],
    *const ev_flag_names[];	/* flag names in bit order */

#endif
