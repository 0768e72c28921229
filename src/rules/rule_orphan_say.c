/* orphaned-channel: the findings, in words. */
#include "rule_orphan_priv.h"

static struct draft *
draft(struct orphan *r, const struct oc *s, const char *variant, enum severity sev,
    enum confidence conf, bool doubt)
{
	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	else if (doubt && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	return draft_new(r->engine, &rule_orphan, variant, sev, conf, s->of.session);
}

/* Without a session id the listeners may be windows of one product that have
 * nothing to do with each other. */
static bool
windows(const struct orphan *r, const struct oc *s)
{
	return engine_inferred(r->engine, s->of.session);
}

bool
orphan_torn(const struct open *o)
{
	return (o->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0;
}

void
orphan_headless(struct orphan *r, struct oc *s)
{
	bool many = s->n_late_ids >= 2 || s->posts_meanwhile;
	struct draft *d;

	if (s->n_late_ids == 0 || s->judged_headless || windows(r, s))
		return;
	s->judged_headless = true;
	/* It wins over superseded: those that went on waiting are told of here. */
	for (uint32_t i = 0; i < s->n_open; i++)
		if (s->open[i].stream != s->late_stream && s->open[i].head.t <= s->headless.t)
			s->open[i].complained = true;
	d = draft(r, s, "headless", SEV_ERROR, many ? CONF_HIGH : CONF_MEDIUM, s->midstream);
	draft_title(d, "the owner of the channel closed and nobody took its place: %u "
	    "message%s undelivered for %.1f s while stream %u stayed open", s->n_late_ids,
	    s->n_late_ids == 1 ? "" : "s",
	    (double)(s->late_first.t - s->headless.t) / 1e9, s->heir);
	draft_why(d, "Stream %u (%s) ended; stream %u of the same session stayed open and "
	    "got nothing.  A later GET (stream %u) was given ids %s at once: they had been "
	    "emitted meanwhile and reached nobody.", s->gone, s->gone_proven ?
	    "it carried the session's messages" : "the session's first",
	    s->heir, s->late_stream, s->late_ids);
	draft_fix(d, "Server: when the primary stream dies, promote the newest live shadow at "
	    "once and send it what was emitted since the last delivery.  Client: close the "
	    "old stream before opening the new one, or re-open after closing.");
	draft_stream(d, s->gone);
	draft_stream(d, s->heir);
	draft_stream(d, s->late_stream);
	draft_ms(d, "headless_ms", s->late_first.t - s->headless.t);
	draft_num(d, "delivered_late", s->n_late_ids);
	draft_text(d, "late_ids", str_c(s->late_ids));
	draft_num(d, "posts_meanwhile", s->posts_meanwhile);
	draft_evidence(d, s->headless, "stream %u, the owner, ends", s->gone);
	draft_evidence(d, s->late_first, "stream %u gets what was emitted since",
	    s->late_stream);
	draft_span(d, s->headless, s->late_last);
	draft_count(d, s->n_late_ids, 0, 0);
	draft_done(d);
}

/* No replay has shown what was lost, but there was reason for a message. */
void
orphan_unheard(struct orphan *r, struct oc *s)
{
	struct draft *d;

	if (s->judged_headless || s->unheard < 2 || s->mute > 0 || windows(r, s))
		return;
	s->judged_headless = true;
	d = draft(r, s, "headless", SEV_WARNING, CONF_MEDIUM, s->midstream);
	draft_title(d, "the owner of the channel closed, and what had always brought a message "
	    "brings none since, while stream %u stays open", s->heir);
	draft_why(d, "Stream %u (%s) ended; stream %u of the same session stayed open and "
	    "got nothing.  Each of %u calls of %s before that was followed by a message on the "
	    "channel; none of %u calls since was.", s->gone, s->gone_proven ?
	    "it carried the session's messages" : "the session's first",
	    s->heir, s->talks, s->talker_name, s->unheard);
	draft_fix(d, "Server: when the primary stream dies, promote the newest live shadow at "
	    "once and send it what was emitted since the last delivery.");
	draft_stream(d, s->gone);
	draft_stream(d, s->heir);
	draft_num(d, "calls_before", s->talks);
	draft_num(d, "calls_unheard", s->unheard);
	draft_evidence(d, s->headless, "stream %u, the owner, ends", s->gone);
	draft_evidence(d, s->unheard_last, "a call that brings no message");
	draft_span(d, s->headless, s->unheard_last);
	draft_count(d, s->unheard, 0, 0);
	draft_done(d);
}

void
orphan_superseded(struct orphan *r, const struct oc *s, struct open *o, struct at until)
{
	bool hard = o->was_primary || o->missed >= 2;
	struct draft *d;

	if (o->missed == 0 || o->complained || until.t - o->superseded.t < STAYS ||
	    orphan_torn(o) || windows(r, s) ||
	    (s->headless.t && s->n_late_ids && o->head.t <= s->headless.t))
		return;
	o->complained = true;
	d = draft(r, s, "superseded", hard ? SEV_ERROR : SEV_WARNING,
	    o->was_primary ? CONF_HIGH : CONF_MEDIUM, s->midstream);
	draft_title(d, "stream %u stays open but silent: %u message%s went to stream %u%s "
	    "instead", o->stream, o->missed, o->missed == 1 ? "" : "s", o->superseded_first,
	    o->superseded_by == o->superseded_first ? "" : " and later ones");
	draft_why(d, "A later GET of the session was accepted and gets the session's "
	    "messages; the earlier stream was neither ended nor told, so a client that "
	    "listens there is deaf.");
	draft_fix(d, "Server: end the stream that is replaced (with a terminator), or refuse "
	    "the second GET with 409, or keep it as an idle shadow.  Client: close a stream "
	    "before opening its successor.");
	draft_stream(d, o->stream);
	draft_stream(d, o->superseded_first);
	draft_stream(d, o->superseded_by);
	draft_num(d, "messages_missed", o->missed);
	draft_ms(d, "silent_for_ms", until.t - o->superseded.t);
	draft_evidence(d, o->head, "stream %u opens", o->stream);
	draft_evidence(d, o->superseded, "the first message on stream %u instead",
	    o->superseded_first);
	draft_span(d, o->superseded, until);
	draft_count(d, o->missed, 0, 0);
	draft_add(d);
}

void
orphan_stalled(struct orphan *r, const struct oc *s, struct open *o, const struct open *other,
    const struct ev *e)
{
	struct draft *d;

	o->complained = true;
	d = draft(r, s, "written-to-dead", SEV_ERROR, CONF_HIGH, orphan_torn(o));
	draft_title(d, "the server writes to a client that is gone: %llu bytes on stream %u "
	    "unacknowledged for %.0f s while stream %u is open",
	    (unsigned long long)e->u.stall.bytes, o->stream,
	    (double)(e->t - e->u.stall.since) / 1e9, other->stream);
	draft_why(d, "What was written since packet %u has not been acknowledged and the "
	    "connection was not closed: the host of that listener has vanished.  The server "
	    "still takes its stream for the owner, so at least %u message%s did not arrive; "
	    "the kernel may hold back more.", e->u.stall.since_pkt,
	    o->common ? o->common : 1, o->common > 1 ? "s" : "");
	draft_fix(d, "Server: send keep-alive comments and set a write timeout "
	    "(TCP_USER_TIMEOUT), and let a newer listener take over when the owner does not "
	    "acknowledge.");
	draft_stream(d, o->stream);
	draft_stream(d, other->stream);
	draft_num(d, "bytes_unacknowledged", (double)e->u.stall.bytes);
	draft_evidence(d, (struct at){ e->u.stall.since, e->u.stall.since_pkt },
	    "written on stream %u, never acknowledged", o->stream);
	draft_evidence(d, other->head, "stream %u of the same session is open", other->stream);
	draft_span(d, (struct at){ e->u.stall.since, e->u.stall.since_pkt },
	    (struct at){ e->t, e->pkt });
	draft_count(d, 1, 0, 0);
	draft_done(d);
}

void
orphan_late_writes(struct orphan *r, const struct oc *s, struct open *o, struct at until)
{
	struct draft *d;

	if (o->n_late == 0 || o->complained || s->n_open < 2)
		return;
	o->complained = true;
	d = draft(r, s, "written-to-dead", SEV_ERROR, CONF_HIGH, orphan_torn(o));
	draft_title(d, "the server writes to a stream its client has closed: at least %u "
	    "message%s on stream %u", o->n_late, o->n_late == 1 ? "" : "s", o->stream);
	draft_why(d, "The client had closed the connection of that stream before; another "
	    "stream of the session is open and did not get the messages.");
	draft_fix(d, "Server: notice the client's close (FIN or RST) on an idle stream and "
	    "move the channel to a stream that is alive.");
	draft_stream(d, o->stream);
	draft_evidence(d, o->late, "written after the client's close");
	/* The end of such a stream is told with the time of that close. */
	draft_span(d, o->late, until.t > o->late_last.t ? until : o->late_last);
	draft_count(d, o->n_late, 0, 0);
	draft_add(d);
}

static const char *
zombie_why(const struct orphan *r, const struct oc *s, const struct open *o, ns_t life,
    enum confidence *conf)
{
	*conf = CONF_MEDIUM;
	if (!o->has_cursor || o->events || o->comments || o->took_over || orphan_torn(o))
		return NULL;
	if (s->keepalive >= INTERVAL && life > 3 * s->keepalive) {
		*conf = CONF_HIGH;
		return "not one byte came in more than three keep-alive intervals";
	}
	/* Sooner, where the stream can be shown to lead nowhere; servers that
	 * make such a GET a shadow of the common channel are not judged so. */
	if (s->keepalive >= INTERVAL || s->takeovers || s->midstream ||
	    engine_looks(r->engine, s->of.session, "rmcp"))
		return NULL;
	if (o->finished && life >= ZOMBIE)
		return "its cursor belongs to a request that had been answered";
	if (!o->known && life >= UNKNOWN && engine_complete(r->engine, s->of.session)) {
		*conf = CONF_LOW;
		return "its cursor was never given out on this session";
	}
	return NULL;
}

void
orphan_zombie(struct orphan *r, const struct oc *s, struct open *o, struct at until)
{
	ns_t life = until.t - o->head.t;
	enum confidence conf;
	const char *why = zombie_why(r, s, o, life, &conf);
	struct draft *d;

	if (why == NULL || o->complained)
		return;
	o->complained = true;
	d = draft(r, s, "zombie-resume", conf == CONF_HIGH ? SEV_ERROR : SEV_WARNING, conf,
	    false);
	draft_title(d, "stream %u was accepted with Last-Event-ID and then stayed silent for "
	    "%.1f s", o->stream, (double)life / 1e9);
	draft_why(d, "The server answered the resume with 200 and an open stream, but %s; "
	    "nothing can ever come on it.", why);
	draft_fix(d, "Server: answer a cursor that leads nowhere with an error (or an ended "
	    "stream and no invitation to come back).  Client: do not resume the stream of a "
	    "request whose response has arrived.");
	draft_stream(d, o->stream);
	draft_ms(d, "silent_for_ms", life);
	draft_bool(d, "cursor_of_finished_request", o->finished);
	draft_evidence(d, o->head, "200 for the GET with Last-Event-ID");
	draft_span(d, o->head, until);
	draft_count(d, 1, 0, 0);
	draft_add(d);
}

void
orphan_after_end(struct orphan *r, const struct oc *s, struct open *o, struct at until)
{
	struct draft *d;

	if (s->deleted == 0 || o->complained || o->head.t > s->deleted ||
	    until.t - s->deleted < STAYS || orphan_torn(o))
		return;
	o->complained = true;
	d = draft(r, s, "after-session-end", SEV_WARNING, CONF_HIGH, s->midstream);
	draft_title(d, "stream %u stayed open %.1f s after its session had ended", o->stream,
	    (double)(until.t - s->deleted) / 1e9);
	draft_why(d, "The session was %s, yet the server kept the stream open.",
	    s->not_found ? "answered 404" : "deleted");
	draft_fix(d, "Server: end all streams of a session when it ends.");
	draft_stream(d, o->stream);
	draft_evidence(d, until, "the stream is still open, or ends only now");
	draft_span(d, (struct at){ s->deleted, 0 }, until);
	draft_count(d, 1, 0, 0);
	draft_add(d);
}

void
orphan_channel_less(struct orphan *r, const struct oc *s, struct at now)
{
	enum severity sev = s->refused_405 ? SEV_INFO : SEV_WARNING;
	struct draft *d;

	if (s->channel_less.t == 0)
		return;
	d = draft(r, s, "channel-less", sev, s->had_get || s->refused_405 ? CONF_MEDIUM :
	    CONF_LOW, s->midstream);
	draft_title(d, "no GET stream for %.0f s while the client went on with POSTs",
	    (double)(now.t - s->last_get_end) / 1e9);
	draft_why(d, "%s, while %u requests were answered.  %s.", s->had_get ?
	    "The session had a GET stream; it ended and was not opened again" :
	    s->refused_405 ? "The server answers GET with 405" :
	    "The server declares that it tells of changes; the client never opened a GET "
	    "stream", s->posts_without, s->refused_405 ? "It has nothing to tell on one" :
	    "Notifications of the server reach nobody");
	if (s->had_get)
		draft_fix(d, "Client: reopen the GET stream after it ends, with "
		    "Last-Event-ID.");
	else
		draft_fix(d, "Client: open a GET stream after initialize, or do not count on "
		    "notifications.");
	draft_num(d, "posts_without_channel", s->posts_without);
	draft_evidence(d, s->channel_less, "a POST is answered, no GET stream is open");
	draft_span(d, (struct at){ s->last_get_end, 0 }, now);
	draft_count(d, s->posts_without, 0, 0);
	draft_done(d);
}

void
orphan_split(struct orphan *r, const struct oc *s, const struct open *o, const struct ev *e)
{
	const uint32_t *c = s->carriers;
	struct draft *d;

	if (windows(r, s))
		return;
	d = draft(r, s, "split-delivery", SEV_ERROR, CONF_MEDIUM, s->midstream);
	draft_title(d, "messages of the session are dealt out between open streams %u and %u",
	    c[1], c[2]);
	draft_why(d, "Both streams are open and each gets what the other does not; a client "
	    "that listens on one of them misses the rest.");
	draft_fix(d, "Server: give the common channel of a session to one stream at a time.");
	draft_stream(d, c[1]);
	draft_stream(d, c[2]);
	draft_evidence(d, (struct at){ e->t, e->pkt }, "a message on stream %u after one on "
	    "stream %u", c[2], c[1]);
	draft_span(d, o->head, (struct at){ e->t, e->pkt });
	draft_count(d, s->switches, 0, 0);
	draft_done(d);
}

void
orphan_cache_gap(struct orphan *r, const struct oc *s, const struct open *o, uint64_t first,
    const struct ev *e)
{
	struct draft *d;

	d = draft(r, s, "cache-gap", SEV_WARNING, CONF_MEDIUM, false);
	draft_title(d, "events %llu to %llu were lost: the resume asked after %llu and got "
	    "%llu first", (unsigned long long)o->cursor_n + 1, (unsigned long long)first - 1,
	    (unsigned long long)o->cursor_n, (unsigned long long)first);
	draft_why(d, "The server's cache no longer held them, and nothing on the wire says "
	    "so; the client believes that it is complete.");
	draft_fix(d, "Server: refuse a cursor that the cache has passed, or enlarge the "
	    "cache.  Client: list again after a resume that skips ids.");
	draft_stream(d, o->stream);
	draft_num(d, "cursor", (double)o->cursor_n);
	draft_num(d, "first_id", (double)first);
	draft_evidence(d, (struct at){ e->t, e->pkt }, "first event after the cursor");
	draft_span(d, o->head, (struct at){ e->t, e->pkt });
	draft_count(d, first - o->cursor_n - 1, 0, 0);
	draft_done(d);
}
