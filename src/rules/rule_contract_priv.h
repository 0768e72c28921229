/* What the files of the rule `contract` share.  rule_contract.c hands events to
 * the others, by subject: _http (one exchange), _ids (JSON-RPC ids), _session
 * (handshake, version, session), _way (redirects, handshakes that fail), _stream
 * (answers of POSTs), _get (GET streams), _legacy (HTTP+SSE).  They say ct_hit();
 * rule_contract_say.c keeps the table of what is said, and puts it together for each
 * session. */
#ifndef RULE_CONTRACT_PRIV_H
#define RULE_CONTRACT_PRIV_H

#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_id.h"
#include "rule_util.h"
#include "rule_who.h"

/* Revisions of the transport.  A is HTTP+SSE, which servers of later revisions
 * speak too; B to D are Streamable HTTP.  Later ones draw nothing here. */
#define REV_A 1u
#define REV_B 2u		/* 2025-03-26 */
#define REV_C 4u		/* 2025-06-18 */
#define REV_D 8u		/* 2025-11-25 */
#define REV_BCD (REV_B | REV_C | REV_D)

#define CT_GRACE NS_S		/* requests that were under way */
#define CT_IDS 8		/* requests of one POST that are told apart */
#define CT_RING 16
#define CT_ENDED 64		/* sessions that are over, and are known in full */

enum ct_rule {
	CT_ACCEPT_POST, CT_BODY_ARRAY, CT_NOTIF_NOT_202, CT_REQUEST_202,
	CT_REQUEST_CONTENT_TYPE, CT_JSON_MULTI, CT_JSON_NOT_RESPONSE, CT_UNANSWERED,
	CT_RESPONSE_UNKNOWN_ID, CT_RESPONSE_TWICE,
	CT_VERSION_HEADER_MISSING, CT_SID_CHARSET, CT_SID_MISSING,
	CT_SID_ALIVE_AFTER_END, CT_SID_ENDED_NOT_404, CT_NO_REINIT, CT_REINIT_LOOP,
	CT_EARLY_CLOSE, CT_EARLY_CLOSE_UNPRIMED, CT_RETRY_EARLY,
	CT_LINGERING_REQUEST_STREAM,
	CT_REDIRECT, CT_INIT_REFUSED, CT_SSE_CUT,
	CT_GET_200_NOT_SSE, CT_GET_NOT_405, CT_RESPONSE_ON_STANDALONE, CT_BROADCAST,
	CT_EVENT_ID_DUP,
	CT_A_ENDPOINT_FIRST, CT_A_ENDPOINT_WRONG, CT_A_RECONNECT_NO_INIT,
	CT_TOKEN_IN_QUERY,
	CT_N
};

enum ct_method { CT_OTHER, CT_GET, CT_POST, CT_DELETE };

struct hit {				/* what a session did against one rule */
	struct hit *next;
	enum ct_rule rule;
	enum severity severity;
	enum confidence confidence;
	uint64_t count;
	struct at first, last;
	uint32_t streams[4], n_streams, n_seen;
	bool told;			/* to who watches */
	struct {
		struct at at;
		char text[160];
	} seen[4];
};

struct cx {				/* an exchange that is not over */
	struct idnode node;		/* by x */
	uint32_t x, session, conn, flags, stream;
	enum ct_method method;
	enum ev_kind kind;
	struct at requested, head, answered;
	bool has_sid, has_cursor, modern, get_sse;
	bool init, discover, event_stream, json, html, is_stream;
	bool accept_none, accept_json, accept_sse, accept_any;
	bool json_body;			/* its Content-Type is application/json */
	bool tail;			/* its stream ended in the middle of an event */
	bool token, ids_seen, sse_replay, ids_bound;
	unsigned revs;			/* of its version header, else 0 */
	bool has_version;
	uint32_t status, resumes, givers;
	uint32_t n_req, n_notif, n_resp, batched;
	uint32_t n_answers, n_results, n_other, reply_batched;
	uint32_t events, pings;
	uint32_t n_unknown;		/* answers with ids that nobody asked with */
	struct at unknown;		/* the first of these */
	char unknown_id[72];
	uint64_t ids[CT_IDS];
	uint64_t target, agent, event_id;	/* agent: address and software */
	uint64_t server;		/* address */
	uint64_t client;		/* agent and server; 0: not known */
	int64_t retry_ms;
	char type[48];			/* content type of the response */
};

struct pending {			/* a POST whose answer did not come with it */
	uint32_t x, stream;
	uint64_t id;
	struct at requested, ended;
	enum ev_end end;
	unsigned revs;
	bool stream_kind, primed, resumed, cut;
	uint32_t flags;
};

struct ended {				/* a stream, for who comes back to it */
	uint32_t stream;
	ns_t t;
	int64_t retry_ms;
};

struct sent {				/* a message of the server on a stream */
	uint32_t stream;
	ns_t t;
	uint64_t hash, event_id, id;
	bool get;
};

struct cs {				/* a session; number 0: what has none */
	struct kept of;
	struct contract *c;
	struct hit *hits;
	enum ev_transport transport;
	unsigned revs;			/* negotiated, else 0 */
	uint64_t endpoint;		/* digest of the server's address */
	uint32_t flags;			/* EVF_GAP, EVF_MIDSTREAM of all it had */
	struct idtab reqs;		/* request id -> posted << 16 | answered, and
					 * whether it was cancelled */
	struct idtab server_reqs;	/* ids of the server's requests */
	struct idtab events;		/* event id -> stream, 32 bits of the data */
	bool reqs_lost;			/* some requests cannot be known */
	uint64_t target, agent, server;	/* of its initialize; its Server header */
	ns_t deleted, last_ok;
	struct at gone;			/* the first 404 */
	struct at after;		/* the last request after it */
	uint32_t n_after;
	bool ok_after, reinit, server_known, had_message, from_start;
	uint32_t n_accepts, n_sids;	/* POSTs that accept both; with its id */
	bool sid_refused;		/* one without it was */
	uint32_t n_gets, n_open_gets;
	struct pending *pend;		/* CT_RING at most, of each of these */
	struct ended *ended;
	struct sent *sent;
	uint32_t n_pend, cap_pend, n_ended, cap_ended, n_sent, cap_sent;
};

struct barred {				/* what stood in a client's way, the first each */
	struct at refused, away;	/* an initialize; a redirect */
	uint32_t n_refused, refused_session, n_away, away_session;
	uint64_t from;			/* target that was redirected */
	bool post, followed, lost;	/* what: a POST; with its message, or without */
	char refused_how[160], away_how[160];
};

struct attempt {			/* an initialize */
	uint32_t x, session, status, useful, calls;
	struct at at;
	ns_t used;
	bool ended, refused;
};

struct cl {				/* a client: address, software, server */
	struct idnode node;		/* by digest */
	struct attempt *at;		/* 8 at most */
	uint32_t n, cap;
	uint32_t run;			/* attempts in a row given up at once */
	struct at run_first;
	bool init_ok;			/* one of them was accepted */
	bool legacy;			/* it fell back to HTTP+SSE */
	struct barred *barred;		/* NULL: nothing stood in its way */
	bool per_call;			/* each of them had its one call */
	bool refused;			/* in each of them something was */
	ns_t last_init;
};

struct contract {
	struct engine *engine;
	struct limits lim;
	struct keeper sessions;
	struct idmap open, clients;
	struct whos *whos;
	struct ids *ids;
	struct idtab conn_sids;		/* session that it carried; more than one */
	struct idtab paths;		/* target with JSON-RPC POSTs -> session */
	struct idtab legacy;		/* client and server with an ended stream */
	struct idtab told;		/* rule and server, of what was reported */
	uint32_t n_told, n_early;	/* in the end; to who watches */
	uint32_t ended[CT_ENDED], n_ended;	/* sessions, a ring */
	uint32_t cut_conn, cut_pkt;	/* where a limit was met last */
	ns_t now;
};

/* rule_contract_say.c */
extern const struct rule rule_contract;
struct hit *ct_hit(struct cs *, enum ct_rule, enum severity, enum confidence, struct at,
    uint32_t stream, const char *fmt, ...) __attribute__((format(printf, 7, 8)));
/* Whether the rule holds for whatever the revision may be. */
bool ct_holds(enum ct_rule, unsigned revs);
/* That severity, or info where a detector of the table tells of it. */
enum severity ct_unless_told(enum ct_rule, enum severity);
/* What looked like one slip has turned out to be a habit. */
void ct_raise(struct cs *, enum ct_rule, uint32_t at_least, enum severity);
void ct_report(struct cs *);
void ct_free_hits(struct cs *);

/* rule_contract.c */
struct cs *ct_session(struct contract *, uint32_t n);
/* Revisions that the exchange may be of; 0: none that is known here. */
unsigned ct_revs(const struct cs *, const struct cx *);
/* Whether something else than the MCP server may have made that answer. */
bool ct_proxy(const struct cs *, const struct ev *response);
bool ct_torn(uint32_t flags);
/* Digest of the server and the target that it asks. */
uint64_t ct_path(const struct contract *, const struct cx *);

/* Each subject: what it wants to see.  `x` is the exchange of the event. */
void ct_http_request(struct cx *, const struct ev *);
void ct_http_head(struct contract *, struct cs *, struct cx *, const struct ev *);
void ct_http_end(struct cs *, struct cx *, const struct ev *);
void ct_ids_posted(struct cs *, struct cx *, const struct ev *);
void ct_ids_bind(struct cs *, struct cx *);	/* its session is known now */
void ct_ids_over(struct cs *, struct cx *);
void ct_ids_message(struct cs *, struct cx *, const struct ev *);
void ct_session_request(struct contract *, struct cs *, struct cx *, const struct ev *);
void ct_session_posted(struct contract *, struct cs *, struct cx *, const struct ev *);
void ct_session_head(struct contract *, struct cs *, struct cx *, const struct ev *);
void ct_session_over(struct cs *, struct cx *);
void ct_session_close(struct cs *);
void ct_clients_free(struct contract *);
void ct_clients_end(struct contract *);
void ct_way_request(struct contract *, struct cx *, const struct ev *);
void ct_way_head(struct contract *, struct cx *, const struct ev *);
void ct_way_end(struct contract *, const struct cl *);
struct cl *ct_client(struct contract *, const struct cx *, bool make);
void ct_stream_open(struct cs *, struct cx *, const struct ev *);
void ct_stream_end(struct cs *, struct cx *, const struct ev *);
void ct_stream_over(struct cs *, struct cx *, const struct ev *);
void ct_stream_close(struct cs *);	/* what never was answered */
void ct_get_head(struct contract *, struct cx *, const struct ev *);
void ct_get_resumed(struct cs *, struct cx *, const struct ev *);
void ct_get_sse(struct cs *, struct cx *, const struct ev *);
void ct_get_message(struct cs *, struct cx *, const struct ev *);
void ct_get_end(struct cs *, struct cx *, const struct ev *);
void ct_legacy_head(struct cs *, struct cx *);
void ct_legacy_sse(struct cs *, struct cx *, const struct ev *);
void ct_legacy_posted(struct contract *, struct cs *, struct cx *, const struct ev *);
void ct_legacy_end(struct contract *, struct cs *, struct cx *);

#endif
