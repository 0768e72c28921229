/* contract: the table of the rules, and the findings in words. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "rule_contract_priv.h"

#define MAX_ALIKE 32		/* sessions told of for one rule and server */

#define T_SEND "transports, Sending Messages to the Server"
#define T_LISTEN "transports, Listening for Messages from the Server"
#define T_MANY "transports, Multiple Connections"
#define T_RESUME "transports, Resumability and Redelivery"
#define T_SESSION "transports, Session Management"
#define T_VERSION "transports, Protocol Version Header"
#define T_OLD "transports 2024-11-05, HTTP with SSE"
#define T_LIFECYCLE "lifecycle, Initialization"
#define B_MESSAGES "basic, Messages"

/* One row for each rule: where it stands, for which revisions it holds, which
 * detectors tell of the same symptom as a fault of its own (it is info then),
 * and the check of the official conformance suite (0.1.16, 0.2.0-alpha.12) that
 * looks for the same, by its id. */
static const struct {
	const char *id;
	unsigned revs;
	const char *told_by, *section, *check;
	const char *title, *fix;
} rows[CT_N] = {
	[CT_ACCEPT_POST] = { "accept-post", REV_BCD, NULL, T_SEND, NULL,
	    "the client's POSTs do not accept both application/json and text/event-stream",
	    "Client: send \"Accept: application/json, text/event-stream\" with every POST." },
	[CT_BODY_ARRAY] = { "body-array", REV_C | REV_D, NULL, T_SEND, NULL,
	    "the client posts an array of messages, which this revision does not have",
	    "Client: POST one JSON-RPC message at a time; batches exist in 2025-03-26 only." },
	[CT_NOTIF_NOT_202] = { "notif-not-202", REV_BCD, NULL, T_SEND, NULL,
	    "the server accepts a notification with another status than 202",
	    "Server: answer a POST that holds no request with 202 and no body." },
	[CT_REQUEST_202] = { "request-202", REV_BCD, NULL, T_SEND, NULL,
	    "the server answers a request with an empty 202 or 204 instead of its response",
	    "Server: answer a POST that holds a request with JSON or an event stream; 202 is "
	    "for notifications and responses only." },
	[CT_REQUEST_CONTENT_TYPE] = { "request-content-type", REV_BCD, NULL, T_SEND, NULL,
	    "the answer to a request is neither application/json nor text/event-stream",
	    "Server: send Content-Type application/json or text/event-stream. If it is a page "
	    "for people, something between client and server answered." },
	[CT_JSON_MULTI] = { "json-multi", REV_C | REV_D, NULL, T_SEND, NULL,
	    "the JSON answer to one request holds several messages",
	    "Server: answer with one JSON object, or open an event stream for more." },
	[CT_JSON_NOT_RESPONSE] = { "json-not-response", REV_BCD, NULL, T_SEND, NULL,
	    "the JSON answer to a request is not its response but another message",
	    "Server: in JSON mode send nothing but the response in the body; notifications "
	    "need an event stream." },
	[CT_UNANSWERED] = { "unanswered", REV_BCD, "lost-response", T_SEND, NULL,
	    "a request was accepted and never answered",
	    "Server: send the response before the stream ends, or give out event ids so that "
	    "the client can resume it." },
	[CT_RESPONSE_UNKNOWN_ID] = { "response-unknown-id", REV_A | REV_BCD,
	    "lost-response", B_MESSAGES, NULL, "a response has an id that nobody asked with",
	    "Answer with the id of the request, byte for byte: \"1\" and 1 are two ids." },
	[CT_RESPONSE_TWICE] = { "response-twice", REV_A | REV_BCD,
	    "duplicate-delivery", B_MESSAGES, NULL,
	    "the server answers the same request twice",
	    "Server: send each response once, on one stream." },
	[CT_VERSION_HEADER_MISSING] = { "version-header-missing", REV_C | REV_D, NULL,
	    T_VERSION, NULL,
	    "the client's requests lack MCP-Protocol-Version after the handshake",
	    "Client: send MCP-Protocol-Version with the negotiated revision in every request "
	    "after initialize; without it a server assumes 2025-03-26." },
	[CT_SID_CHARSET] = { "sid-charset", REV_BCD, NULL, T_SESSION,
	    "server-session-id-visible-ascii",
	    "the server's session id holds bytes outside of visible ASCII",
	    "Server: make session ids of the bytes 0x21 to 0x7E only." },
	[CT_SID_MISSING] = { "sid-missing", REV_BCD, NULL, T_SESSION, NULL,
	    "the client leaves out the session id that the server gave it",
	    "Client: send Mcp-Session-Id in every request after initialize." },
	[CT_SID_ALIVE_AFTER_END] = { "sid-alive-after-end", REV_BCD, "split-brain", T_SESSION,
	    "server-session-terminated-returns-404",
	    "the server goes on serving a session that it has ended",
	    "Server: answer 404 to a session id that was deleted; with several replicas, share "
	    "the end of a session among them." },
	[CT_SID_ENDED_NOT_404] = { "sid-ended-not-404", REV_BCD, "dead-session", T_SESSION,
	    "server-session-terminated-returns-404",
	    "the server refuses a deleted session with another status than 404",
	    "Server: answer 404 to a session id that has ended, so that the client knows to "
	    "initialize again." },
	[CT_NO_REINIT] = { "no-reinit", REV_BCD, "dead-session", T_SESSION, NULL,
	    "the client goes on with a session after 404 and does not initialize again",
	    "Client: on 404 drop the session id and send initialize without one." },
	[CT_REINIT_LOOP] = { "reinit-loop", REV_BCD, "reinit-storm", T_SESSION, NULL,
	    "the client initializes again and again and makes no use of it",
	    "Look at what the server answers right after each initialize; client: back off "
	    "between attempts and keep a session that works." },
	[CT_EARLY_CLOSE] = { "early-close", REV_B | REV_C, "lost-response", T_SEND, NULL,
	    "the server ends the stream of a request before its response",
	    "Server: keep the stream open until the response has been sent." },
	[CT_EARLY_CLOSE_UNPRIMED] = { "early-close-unprimed", REV_D, "lost-response", T_SEND,
	    "server-sse-priming-event",
	    "the server ends the stream of a request before its response, and gave no event id",
	    "Server: before closing early send an event with an id and empty data, so that the "
	    "client can come back for the response." },
	[CT_RETRY_EARLY] = { "retry-early", REV_D, "retry-violation", T_RESUME,
	    "client-sse-retry-timing",
	    "the client comes back to a closed stream sooner than the server's retry allows",
	    "Client: wait as many milliseconds as the last retry of that stream says." },
	[CT_LINGERING_REQUEST_STREAM] = { "lingering-request-stream", REV_BCD, NULL, T_SEND,
	    NULL, "the server keeps the stream of a request open after its response",
	    "Server: end the stream once the response has been sent." },
	[CT_REDIRECT] = { "redirect", REV_A | REV_BCD, NULL, NULL, NULL,
	    "a request for the MCP endpoint is redirected",
	    "Server, or what routes to it: serve the URL that clients are given, or give them "
	    "the other one; a redirect costs the message, the token or the method of many a "
	    "client. Often it is a slash at the end, or http for https behind a proxy." },
	[CT_INIT_REFUSED] = { "initialize-refused", REV_BCD, NULL, T_LIFECYCLE,
	    "server-initialize",
	    "the server accepts no initialize of a client",
	    "Client: POST initialize with Accept: application/json, text/event-stream and "
	    "Content-Type: application/json, without a session id. Server: accept such a one, "
	    "also without MCP-Protocol-Version. If it has all that, see what a proxy strips." },
	[CT_SSE_CUT] = { "sse-cut-event", REV_A | REV_BCD, NULL,
	    "HTML, Server-sent events, Interpreting an event stream", NULL,
	    "a stream ends in the middle of an event, which its reader must drop",
	    "Server, or the hop that cut it: end every event with an empty line, and let a "
	    "message come out whole; look for a limit on the size or the time of a response." },
	[CT_GET_200_NOT_SSE] = { "get-200-not-sse", REV_BCD, "empty-accept-loop", T_LISTEN,
	    NULL, "the server answers a GET for events with success but no event stream",
	    "Server: answer text/event-stream, or 405 where no stream is offered; some clients "
	    "ask again once a second for ever." },
	[CT_GET_NOT_405] = { "get-not-405", REV_BCD, "refused-get-loop", T_LISTEN, NULL,
	    "the server refuses the session's GET with another status than 405",
	    "Server: answer 405 where no stream is offered: clients take it for an answer, and "
	    "other statuses for a failure." },
	[CT_RESPONSE_ON_STANDALONE] = { "response-on-standalone", REV_BCD, "wrong-stream",
	    T_LISTEN, NULL, "the response of a POST comes on a GET stream that resumes nothing",
	    "Server: send a response on the stream of its request, or on a GET that resumes "
	    "that one." },
	[CT_BROADCAST] = { "broadcast", REV_BCD, "duplicate-delivery", T_MANY, NULL,
	    "the server sends one message on several streams at once",
	    "Server: send each message on one of the session's streams only." },
	[CT_EVENT_ID_DUP] = { "event-id-dup", REV_BCD, NULL, T_RESUME, NULL,
	    "the server gives one event id to several events of a session",
	    "Server: make event ids unique within the session, over all of its streams; else "
	    "Last-Event-ID does not say what to resume." },
	[CT_A_ENDPOINT_FIRST] = { "a-endpoint-first", REV_A, NULL, T_OLD, NULL,
	    "the first event of an HTTP+SSE stream is not `endpoint` with a URI",
	    "Server: send the endpoint event before anything else." },
	[CT_A_ENDPOINT_WRONG] = { "a-endpoint-wrong", REV_A, NULL, T_OLD, NULL,
	    "the endpoint event names a URI where POSTs are refused",
	    "Server: name the URI as clients see it, with the path prefix of the proxy or of "
	    "the mount; or let the proxy pass that path on." },
	[CT_A_RECONNECT_NO_INIT] = { "a-reconnect-no-init", REV_A, "dead-session", T_OLD, NULL,
	    "the client came back on HTTP+SSE, got a new endpoint and goes on without initialize",
	    "Client: an endpoint event on a new connection is a new session: initialize again." },
	[CT_TOKEN_IN_QUERY] = { "token-in-query", REV_BCD, NULL, "authorization, Token Handling",
	    NULL, "the client sends a token in the query of the URI",
	    "Client: send it in the Authorization header: URIs end up in logs. Change the "
	    "token." },
};

bool
ct_holds(enum ct_rule rule, unsigned revs)
{
	return revs && (revs & ~rows[rule].revs) == 0;
}

enum severity
ct_unless_told(enum ct_rule rule, enum severity severity)
{
	const char *by = rows[rule].told_by;

	return by && rule_find(by) ? SEV_INFO : severity;
}

static struct hit *
hit_of(struct cs *s, enum ct_rule rule)
{
	struct hit *h;

	LL_FOREACH(s->hits, h) {
		if (h->rule == rule)
			return h;
	}
	h = xcalloc(1, sizeof *h);
	h->rule = rule;
	LL_PREPEND(s->hits, h);
	return h;
}

static void
add_stream(struct hit *h, uint32_t stream)
{
	for (uint32_t i = 0; i < h->n_streams; i++)
		if (h->streams[i] == stream)
			return;
	if (stream && h->n_streams < sizeof h->streams / sizeof *h->streams)
		h->streams[h->n_streams++] = stream;
}

void
ct_raise(struct cs *s, enum ct_rule rule, uint32_t at_least, enum severity severity)
{
	struct hit *h;

	LL_FOREACH(s->hits, h) {
		if (h->rule == rule && h->count >= at_least && severity > h->severity)
			h->severity = severity;
	}
}

/* Whether it is one too many.  What is for information is told once for each
 * server, and no rule of this kind may crowd out the pathologies. */
static bool
too_many(struct contract *c, const struct cs *s, const struct hit *h)
{
	uint64_t key = s->endpoint * 2 * CT_N + h->rule * 2ULL + (h->severity == SEV_INFO);
	struct idrec *r;
	int fresh;

	r = idtab_put(&c->told, map_digest(&key, sizeof key), &fresh);
	if (r->a >= (h->severity == SEV_INFO ? 1 : MAX_ALIKE))
		return true;
	if (c->n_told >= c->lim.findings / 2)
		return true;
	r->a++;
	c->n_told++;
	return false;
}

static void
report(struct cs *s, const struct hit *h)
{
	struct contract *c = s->c;
	enum confidence conf = h->confidence;
	uint32_t n = s->of.session;
	char names[8];
	unsigned used = 0;
	struct draft *d;

	if (n && engine_inferred(c->engine, n))
		conf = CONF_LOW;
	else if (ct_torn(s->flags) && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	d = draft_new(c->engine, &rule_contract, rows[h->rule].id, h->severity, conf, n);
	draft_title(d, "%s", rows[h->rule].title);
	if (rows[h->rule].section)
		draft_why(d, "It is against the specification (%s). First seen: %s.",
		    rows[h->rule].section, h->seen[0].text);
	else
		draft_why(d, "Nothing forbids it, and clients fail over it. First seen: %s.",
		    h->seen[0].text);
	draft_fix(d, "%s%s", rows[h->rule].fix, h->rule == CT_EVENT_ID_DUP && n &&
	    engine_looks(c->engine, n, "rmcp") ?
	    " rmcp does so for its request streams from 1.5.0 on." : "");
	for (uint32_t i = 0; i < h->n_streams; i++)
		draft_stream(d, h->streams[i]);
	for (uint32_t i = 0; i < h->n_seen; i++)
		draft_evidence(d, h->seen[i].at, "%s", h->seen[i].text);
	if (rows[h->rule].section)
		draft_text(d, "section", str_c(rows[h->rule].section));
	for (unsigned i = 0; i < 4; i++)
		if (rows[h->rule].revs & 1u << i)
			names[used++] = (char)('A' + i);
	draft_text(d, "revisions", str_of(names, used));
	if (rows[h->rule].check)
		draft_text(d, "conformance_check", str_c(rows[h->rule].check));
	draft_span(d, h->first, h->last);
	draft_count(d, h->count, 0, 0);
	draft_done(d);
}

/* For who watches, at once. */
static void
tell(struct cs *s, const struct hit *h)
{
	struct contract *c = s->c;

	if (c->n_early >= c->lim.findings / 2)
		return;
	c->n_early++;
	draft_only_tell(c->engine, true);
	report(s, h);
	draft_only_tell(c->engine, false);
}

struct hit *
ct_hit(struct cs *s, enum ct_rule rule, enum severity severity, enum confidence confidence,
    struct at at, uint32_t stream, const char *fmt, ...)
{
	struct hit *h = hit_of(s, rule);
	va_list ap;

	/* The loudest case is what is shown; lesser ones before it go. */
	if (h->count && severity > h->severity)
		h->n_seen = 0;
	if (h->count == 0 || at.t < h->first.t)
		h->first = at;
	if (h->count == 0 || at.t >= h->last.t)
		h->last = at;
	if (h->count++ == 0 || severity > h->severity) {
		h->severity = severity;
		h->confidence = confidence;
	} else if (severity == h->severity && confidence > h->confidence)
		h->confidence = confidence;
	add_stream(h, stream);
	if (severity == h->severity && h->n_seen < sizeof h->seen / sizeof *h->seen) {
		h->seen[h->n_seen].at = at;
		va_start(ap, fmt);
		(void)vsnprintf(h->seen[h->n_seen].text, sizeof h->seen->text, fmt, ap);
		va_end(ap);
		h->n_seen++;
	}
	if (h->severity >= SEV_WARNING && !h->told) {
		h->told = true;
		tell(s, h);
	}
	return h;
}

/* In the order of the table, whatever came first. */
void
ct_report(struct cs *s)
{
	const struct hit *h;

	for (int rule = 0; s->hits && rule < CT_N; rule++)
		LL_FOREACH(s->hits, h) {
			if ((int)h->rule == rule && !too_many(s->c, s, h))
				report(s, h);
		}
}

void
ct_free_hits(struct cs *s)
{
	while (s->hits) {
		struct hit *h = s->hits;

		LL_DELETE(s->hits, h);
		free(h);
	}
}
