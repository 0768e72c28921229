/* lost-response: the findings, in words. */
#include <stdio.h>

#include "rule_lost_priv.h"

enum way {
	BODY, LATE, WRONG_CHANNEL, ABSENT, NOT_RESUMED, NOT_RESUMABLE, STARVED, SILENT,
};

static enum way
way_of(const struct lost *s, const struct ask *k)
{
	const struct ans *a = k->more;

	if (a->body != BODY_NONE)
		return BODY;
	if (a->late.t)
		return LATE;
	if (a->resumes)
		return a->givers > 1 || a->common || a->took_over ? WRONG_CHANNEL : ABSENT;
	if (k->ended.t == 0 || k->end == EV_OPEN || k->end == EV_LOST)
		return SILENT;
	if (k->collided)
		return STARVED;
	return a->cursor && !s->legacy ? NOT_RESUMED : NOT_RESUMABLE;
}

static const struct {
	const char *variant, *title, *why, *fix;
} ways[] = {
	[BODY] = { "body-is-not-the-response",
	    "the answer's body is not its response",
	    "The body came whole, but what it holds is not the response to this request; "
	    "no stream of the session carried it either.",
	    "Server: a JSON body must be the response itself; send a notification that "
	    "comes first on an event stream, or drop it.  The Rust SDK does so from 3.0.0 on "
	    "(0.17 to 2.x send the notification instead)." },
	[LATE] = { "written-after-client-fin",
	    "its response was written when the client had already closed",
	    "The client closed the connection first; the server wrote the response to it, "
	    "where nobody reads any more, and nothing brought it again.",
	    "Client: wait longer than the server needs, or resume with the last event id.  "
	    "Server: keep the response for a resumption, and give out event ids." },
	[WRONG_CHANNEL] = { "resumed-on-the-wrong-channel",
	    "it was resumed on the wrong channel, where its response does not come",
	    "The GET that resumes it names an event id that does not say which stream it "
	    "belongs to; it was taken for the session's common channel.",
	    "Server: make event ids unique over all streams of the session.  The Rust SDK "
	    "names the request in them from 1.5.0 on." },
	[ABSENT] = { "resumed-but-absent",
	    "it was resumed, but its response did not come",
	    "A GET with the last event id of its stream was accepted and brought no "
	    "response.",
	    "Server: keep the response until it has been delivered, also when it is "
	    "finished while no stream is open." },
	[NOT_RESUMED] = { "not-resumed",
	    "its stream ended first, and the client did not resume it",
	    "The stream had given out event ids, so it could have been resumed by a GET "
	    "with Last-Event-ID; no such GET came, or it was refused.",
	    "Client: resume a stream that ends before its response with a GET and the last "
	    "event id; else tell the caller at once." },
	[NOT_RESUMABLE] = { "not-resumable",
	    "its stream ended first, without any event id to resume from",
	    "What carried its answer ended before the response, and no event id had come "
	    "with which it could be resumed.",
	    "Server, or what cut the stream: do not end it before the response; give out "
	    "event ids (an event store) so that it can be resumed.  Client: tell the caller "
	    "at once." },
	[STARVED] = { "not-resumable",
	    "another request with the same id got the response",
	    "A second request with the same id was sent while this one waited; only one of "
	    "the two was answered.",
	    "Client: never use a request id again while it waits.  Server: tie responses "
	    "to the exchange, not to the id alone." },
	[SILENT] = { NULL,
	    "no answer yet, and nothing at all comes any more",
	    "It was accepted; since then its stream is open and silent, up to the end of "
	    "the capture.",
	    "Server: find out what became of the call; answer it with an error when it "
	    "cannot be finished, and send comments while it runs." },
};

static const char *
closer_of(const struct ask *k)
{
	const struct ans *a = k->more;

	if (a->left && (k->ended.t == 0 || a->left <= k->ended.t))
		return "client";
	switch (k->end) {
	case EV_COMPLETE: case EV_TRUNCATED:
		return "server";
	case EV_CLIENT:
		return "client";
	case EV_LOST: case EV_OPEN:
		break;
	}
	return "nobody seen";
}

static const char *
body_name(enum lost_body b)
{
	switch (b) {
	case BODY_NOTIFICATION:
		return "notification";
	case BODY_REQUEST:
		return "request";
	case BODY_RESPONSE:
		return "response with another id";
	case BODY_EMPTY:
		return "nothing";
	case BODY_NONE:
		break;
	}
	return "";
}

static enum confidence
confidence(const struct lostrule *r, const struct lost *s, const struct ask *k, enum way way,
    bool gap)
{
	const struct ans *a = k->more;

	if (engine_inferred(r->engine, s->asks.of.session))
		return CONF_LOW;
	if (gap || k->flags & (EVF_GAP | EVF_MIDSTREAM) || way == SILENT ||
	    a->body == BODY_EMPTY || a->body == BODY_RESPONSE || k->end == EV_CLIENT)
		return CONF_MEDIUM;
	return CONF_HIGH;
}

static void
evidence(struct draft *d, const struct ask *k)
{
	const struct ans *a = k->more;

	draft_evidence(d, k->asked, "request %s, id %s", k->what, k->id_text);
	draft_evidence(d, k->head, "answered %u, %s", k->status,
	    k->json ? "no event stream" : "an event stream");
	if (a->late.t)
		draft_evidence(d, a->late, "the response, after the client has closed");
	if (a->resumes)
		draft_evidence(d, a->resumed_at, "resumed by stream %u, Last-Event-ID %s",
		    a->resumed, a->sent);
	if (k->ended.t && k->end != EV_OPEN)
		draft_evidence(d, k->ended, "ends without the response (%s)",
		    ev_end_names[k->end]);
}

void
lost_say(struct lostrule *r, const struct lost *s, const struct ask *k, bool gap, ns_t now)
{
	const struct ans *a = k->more;
	enum way way = way_of(s, k);
	struct at last = k->ended.t && k->ended.t >= k->head.t ? k->ended : k->head;
	struct draft *d = draft_new(r->engine, &rule_lost, ways[way].variant, SEV_ERROR,
	    confidence(r, s, k, way, gap), s->asks.of.session);
	char request[ASK_WHAT + ASK_ID + 2];

	(void)snprintf(request, sizeof request, "%s#%s", k->what, k->id_text);
	draft_title(d, "%s has no response: %s", request, ways[way].title);
	draft_why(d, "%s", ways[way].why);
	draft_fix(d, "%s", ways[way].fix);
	if (k->stream)
		draft_stream(d, k->stream);
	if (a->resumed)
		draft_stream(d, a->resumed);
	draft_text(d, "request", str_c(request));
	draft_num(d, "status", k->status);
	draft_text(d, "end", str_c(k->ended.t ? ev_end_names[k->end] : "open"));
	draft_text(d, "first_closer", str_c(closer_of(k)));
	draft_ms(d, "waited_ms", last.t - k->asked.t);
	draft_ms(d, "silent_ms", now - last.t);
	if (a->cursor)
		draft_text(d, "last_id_seen", str_c(a->cursor_text));
	if (a->resumes)
		draft_text(d, "last_event_id", str_c(a->sent));
	if (a->givers > 1)
		draft_num(d, "streams_with_that_id", a->givers);
	if (a->refused)
		draft_num(d, "resume_status", a->refused);
	if (a->body != BODY_NONE)
		draft_text(d, "body", str_c(body_name(a->body)));
	draft_num(d, "others_answered_since", a->others_ok);
	evidence(d, k);
	draft_span(d, k->asked, last);
	draft_count(d, 1, 0, 0);
	draft_add(d);
}
