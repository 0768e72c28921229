/* orphaned-channel: a stream stays open while what it waits for goes elsewhere
 * or nowhere.  DETECTORS "orphaned-channel" (a) to (h).
 *
 * Everything is judged on the session's GET streams; streams that resume the
 * answer of one POST are no listeners of the common channel. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_util.h"

#define REPLAYED (50 * NS_MS)	/* events this soon after a head are a replay */
#define COUPLED (60 * NS_MS)	/* an end this soon after a GET is a takeover */
#define STAYS NS_S		/* how long an old stream must stay open */
#define ZOMBIE NS_S		/* silence of a resumed, finished request */
#define UNKNOWN (2 * NS_S)	/* silence of an unknown cursor */
#define KEEPALIVE (15 * NS_S)	/* when the server has not shown its own */
#define CHANNEL_LESS (60 * NS_S)
#define LATE_WRITE (200 * NS_MS) /* after the client's close: not in flight */
#define MAX_OPEN 128

struct open {				/* a GET stream of the session */
	uint32_t stream, conn, x, flags;
	struct at head;
	uint64_t cursor_n;		/* Last-Event-ID as a number */
	bool has_cursor, numeric, known, of_post, given_twice;
	bool first_id_seen, complained;
	enum ev_role role;
	bool was_primary, took_over;
	uint32_t events, comments, common;
	struct at superseded;		/* first common message elsewhere */
	uint32_t superseded_by, missed;
	struct at late, late_last;	/* written after the client's close */
	uint32_t n_late;
	ns_t client_closed;
};

struct silent {
	struct open o;
	struct at until;
};

struct oc {				/* one session */
	UT_hash_handle hh;
	uint32_t session;
	struct open *open;
	uint32_t n_open, cap_open;
	struct idtab given;		/* ids that were delivered with data */
	struct silent *silent;		/* ended without a byte */
	uint32_t n_silent, cap_silent;
	/* headless */
	struct at headless;		/* since the owner went; 0: not */
	uint32_t heir, gone, late_stream, posts_meanwhile;
	struct at late_first, late_last;
	uint32_t n_late_ids;
	char late_ids[48];
	bool gone_proven, judged_headless;
	/* the session as a whole */
	ns_t last_get_end, keepalive, deleted, last_request;
	struct at last_get_request;
	uint32_t last_get_x, posts_without;
	struct at channel_less;
	bool had_get, refused_405, takeovers, midstream, over, not_found;
	uint32_t carriers[3];		/* streams of the last common messages */
	uint32_t switches;
	bool split_told;
	uint64_t last_id, steps;	/* numeric ids that grow by one */
};

struct orphan {
	struct engine *engine;
	struct oc *sessions;
	struct limits lim;
};

const struct rule rule_orphan;

static void *
new(struct engine *e, const struct limits *lim)
{
	struct orphan *r = xcalloc(1, sizeof *r);

	r->engine = e;
	r->lim = *lim;
	return r;
}

static void
drop(struct orphan *r, struct oc *s)
{
	HASH_DEL(r->sessions, s);
	free(s->open);
	free(s->silent);
	idtab_fini(&s->given);
	free(s);
}

static void
free_rule(void *arg)
{
	struct orphan *r = arg;

	while (r->sessions)
		drop(r, r->sessions);
	free(r);
}

static struct oc *
find(struct orphan *r, uint32_t n)
{
	struct oc *s;

	HASH_FIND(hh, r->sessions, &n, sizeof n, s);
	return s;
}

static struct oc *
session(struct orphan *r, uint32_t n)
{
	struct oc *s = find(r, n);

	if (s)
		return s;
	if (HASH_COUNT(r->sessions) >= r->lim.sessions)
		drop(r, r->sessions);		/* the oldest */
	s = xcalloc(1, sizeof *s);
	s->session = n;
	idtab_init(&s->given, (uint32_t)r->lim.ids);
	HASH_ADD(hh, r->sessions, session, sizeof s->session, s);
	return s;
}

static struct open *
open_of(struct oc *s, uint32_t stream)
{
	for (uint32_t i = 0; i < s->n_open; i++)
		if (s->open[i].stream == stream)
			return &s->open[i];
	return NULL;
}

static struct draft *
draft(struct orphan *r, const struct oc *s, const char *variant, enum severity sev,
    enum confidence conf, bool doubt)
{
	if (engine_inferred(r->engine, s->session))
		conf = CONF_LOW;
	else if (doubt && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	return draft_new(r->engine, &rule_orphan, variant, sev, conf, s->session);
}

static bool
torn(const struct open *o)
{
	return (o->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0;
}

/* ---- (b) headless ---- */

static void
report_headless(struct orphan *r, struct oc *s)
{
	bool many = s->n_late_ids >= 2 || s->posts_meanwhile;
	struct draft *d;

	if (s->n_late_ids == 0 || s->judged_headless)
		return;
	s->judged_headless = true;
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

/* The owner's stream is over; is somebody left who will wait in vain? */
static void
begin_headless(struct oc *s, const struct open *o, const struct ev *e)
{
	const struct open *heir = NULL;

	if (o->role != EV_PRIMARY && o->role != EV_PRESUMED)
		return;
	if (e->u.stream_end.end == EV_LOST || e->u.stream_end.end == EV_OPEN)
		return;
	for (uint32_t i = 0; i < s->n_open; i++) {
		const struct open *c = &s->open[i];

		if (c == o || c->of_post)
			continue;
		/* Opened just now: it is what ended the other. */
		if (e->u.stream_end.end != EV_CLIENT && c->head.t > e->t - COUPLED)
			return;
		heir = c;
	}
	if (heir == NULL || s->judged_headless)
		return;
	s->headless = (struct at){ e->t, e->pkt };
	s->gone = o->stream;
	s->gone_proven = o->was_primary;
	s->heir = heir->stream;
	s->posts_meanwhile = s->n_late_ids = 0;
	s->late_stream = 0;
	s->late_ids[0] = '\0';
}

static void
end_headless(struct orphan *r, struct oc *s)
{
	report_headless(r, s);
	s->headless = (struct at){ 0, 0 };
}

/* ---- (a) superseded ---- */

static void
report_superseded(struct orphan *r, const struct oc *s, struct open *o, struct at until)
{
	bool hard = o->was_primary || o->missed >= 2;
	struct draft *d;

	if (o->missed == 0 || o->complained || until.t - o->superseded.t < STAYS ||
	    torn(o))
		return;
	o->complained = true;
	d = draft(r, s, "superseded", hard ? SEV_ERROR : SEV_WARNING,
	    o->was_primary ? CONF_HIGH : CONF_MEDIUM, s->midstream);
	draft_title(d, "stream %u stays open but silent: %u message%s went to stream %u "
	    "instead", o->stream, o->missed, o->missed == 1 ? "" : "s", o->superseded_by);
	draft_why(d, "A later GET of the session was accepted and gets the session's "
	    "messages; the earlier stream was neither ended nor told, so a client that "
	    "listens there is deaf.");
	draft_fix(d, "Server: end the stream that is replaced (with a terminator), or refuse "
	    "the second GET with 409, or keep it as an idle shadow.  Client: close a stream "
	    "before opening its successor.");
	draft_stream(d, o->stream);
	draft_stream(d, o->superseded_by);
	draft_num(d, "messages_missed", o->missed);
	draft_ms(d, "silent_for_ms", until.t - o->superseded.t);
	draft_evidence(d, o->head, "stream %u opens", o->stream);
	draft_evidence(d, o->superseded, "the first message on stream %u instead",
	    o->superseded_by);
	draft_span(d, o->superseded, until);
	draft_count(d, o->missed, 0, 0);
	draft_done(d);
}

/* ---- (c) written-to-dead ---- */

static void
on_stall(struct orphan *r, struct oc *s, const struct ev *e)
{
	struct open *o = open_of(s, e->stream), *other = NULL;
	struct draft *d;

	if (o == NULL || e->u.stall.zero_window)
		return;
	for (uint32_t i = 0; i < s->n_open; i++)
		if (&s->open[i] != o)
			other = &s->open[i];
	if (other == NULL || o->complained)
		return;
	o->complained = true;
	d = draft(r, s, "written-to-dead", SEV_ERROR, CONF_HIGH, torn(o));
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

static void
report_late_writes(struct orphan *r, const struct oc *s, struct open *o, struct at until)
{
	struct draft *d;

	if (o->n_late == 0 || o->complained || s->n_open < 2)
		return;
	o->complained = true;
	d = draft(r, s, "written-to-dead", SEV_ERROR, CONF_HIGH, torn(o));
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
	draft_done(d);
}

/* ---- (e) zombie-resume ---- */

static const char *
zombie_why(const struct orphan *r, const struct oc *s, const struct open *o, ns_t life,
    enum confidence *conf)
{
	ns_t interval = s->keepalive ? s->keepalive : KEEPALIVE;

	*conf = CONF_MEDIUM;
	if (!o->has_cursor || o->events || o->comments || o->took_over || torn(o))
		return NULL;
	if (life > 3 * interval) {
		*conf = CONF_HIGH;
		return "not one byte came in more than three keep-alive intervals";
	}
	/* Sooner, where the stream can be shown to lead nowhere; servers that
	 * make such a GET a shadow of the common channel are not judged so. */
	if (s->keepalive || s->takeovers || s->midstream ||
	    engine_looks(r->engine, s->session, "rmcp"))
		return NULL;
	if (o->of_post && life >= ZOMBIE)
		return "its cursor belongs to a request that had been answered";
	if (!o->known && life >= UNKNOWN) {
		*conf = CONF_LOW;
		return "its cursor was never given out on this session";
	}
	return NULL;
}

static void
report_zombie(struct orphan *r, const struct oc *s, struct open *o, struct at until)
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
	draft_bool(d, "cursor_of_finished_request", o->of_post);
	draft_evidence(d, o->head, "200 for the GET with Last-Event-ID");
	draft_span(d, o->head, until);
	draft_count(d, 1, 0, 0);
	draft_done(d);
}

/* ---- (f) after-session-end ---- */

static void
report_after_end(struct orphan *r, const struct oc *s, struct open *o, struct at until)
{
	struct draft *d;

	if (s->deleted == 0 || o->complained || o->head.t > s->deleted ||
	    until.t - s->deleted < STAYS || torn(o))
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
	draft_done(d);
}

/* ---- (d) channel-less ---- */

static void
report_channel_less(struct orphan *r, const struct oc *s, struct at now)
{
	struct draft *d;

	if (s->channel_less.t == 0 || s->refused_405)
		return;
	d = draft(r, s, "channel-less", SEV_WARNING, CONF_MEDIUM, s->midstream);
	draft_title(d, "no GET stream for %.0f s while the client went on with POSTs",
	    (double)(now.t - s->last_get_end) / 1e9);
	draft_why(d, "The session had a GET stream; it ended and was not opened again, while "
	    "%u requests were answered.  Notifications of the server reach nobody.",
	    s->posts_without);
	draft_fix(d, "Client: reopen the GET stream after it ends, with Last-Event-ID.");
	draft_num(d, "posts_without_channel", s->posts_without);
	draft_evidence(d, s->channel_less, "a POST is answered, no GET stream is open");
	draft_span(d, (struct at){ s->last_get_end, 0 }, now);
	draft_count(d, s->posts_without, 0, 0);
	draft_done(d);
}

static void
on_post_answer(struct orphan *r, struct oc *s, const struct ev *e)
{
	if (s->headless.t)
		s->posts_meanwhile++;
	if (s->n_open || !s->had_get || s->deleted ||
	    e->t - s->last_get_end < CHANNEL_LESS)
		return;
	s->posts_without++;
	s->channel_less = (struct at){ e->t, e->pkt };
	report_channel_less(r, s, s->channel_less);
}

/* ---- (g) split-delivery ---- */

static void
check_split(struct orphan *r, struct oc *s, const struct ev *e)
{
	uint32_t *c = s->carriers;
	struct open *o;
	struct draft *d;

	if (c[2] == e->stream)
		return;
	c[0] = c[1];
	c[1] = c[2];
	c[2] = e->stream;
	if (c[0] != c[2] || c[1] == 0 || s->split_told)
		return;
	o = open_of(s, c[1]);
	if (o == NULL)			/* it was replaced, not beside */
		return;
	if (++s->switches < 2)
		return;
	s->split_told = true;
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

/* ---- (h) cache-gap ---- */

static bool
number_of(struct str id, uint64_t *n)
{
	return str_u64(id, n) && id.n < 10;
}

static void
check_cache_gap(struct orphan *r, struct oc *s, struct open *o, uint64_t first,
    const struct ev *e)
{
	char text[24];
	int len = snprintf(text, sizeof text, "%llu",
	    (unsigned long long)(o->cursor_n + 1));
	struct draft *d;

	/* Only where ids are seen to grow by one, the cursor was really given
	 * out, and what lies between went to nobody else. */
	if (!o->numeric || !o->known || o->of_post || s->steps < 3 ||
	    first <= o->cursor_n + 1 || s->midstream || torn(o) ||
	    idtab_get(&s->given, map_digest(text, (size_t)len)))
		return;
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

/* ---- events ---- */

static void
on_stream(struct orphan *r, struct oc *s, const struct ev *e)
{
	struct open *o;
	struct str cursor = e->u.stream.cursor;

	s->had_get = true;
	s->channel_less = (struct at){ 0, 0 };
	s->midstream |= (e->flags & EVF_MIDSTREAM) != 0;
	if (s->n_open == MAX_OPEN) {
		s->midstream = true;	/* no longer sure of anything */
		return;
	}
	s->open = xgrow(s->open, s->n_open, &s->cap_open, sizeof *s->open);
	o = &s->open[s->n_open++];
	*o = (struct open){ .stream = e->stream, .conn = e->conn, .x = e->x,
	    .flags = e->flags, .head = { e->t, e->pkt }, .role = EV_SHADOW,
	    .has_cursor = cursor.p != NULL, .known = e->u.stream.givers > 0 };
	o->numeric = cursor.p && number_of(cursor, &o->cursor_n);
	if (s->headless.t && s->late_stream == 0)
		s->late_stream = e->stream;
	(void)r;
}

/* Silence is judged when the session is over: only then is it known how often
 * this server sends comments. */
static void
keep_silent(struct oc *s, const struct open *o, struct at until)
{
	if (!o->has_cursor || o->events || o->comments || o->took_over || o->complained)
		return;
	s->silent = xgrow(s->silent, s->n_silent, &s->cap_silent, sizeof *s->silent);
	s->silent[s->n_silent++] = (struct silent){ *o, until };
}

static void
judge_open(struct orphan *r, struct oc *s, struct open *o, struct at until)
{
	report_superseded(r, s, o, until);
	report_late_writes(r, s, o, until);
	report_after_end(r, s, o, until);
	if (s->n_silent < MAX_OPEN)
		keep_silent(s, o, until);
}

static void
on_stream_end(struct orphan *r, struct oc *s, const struct ev *e)
{
	struct open *o = open_of(s, e->stream);
	struct at at = { e->t, e->pkt };
	ns_t age;

	if (o == NULL)
		return;
	o->flags |= e->flags;
	o->comments = e->u.stream_end.comments;
	if (o->comments) {
		age = (e->u.stream_end.last_byte - o->head.t) / (ns_t)o->comments;
		s->keepalive = age > s->keepalive ? age : s->keepalive;
	}
	if ((e->u.stream_end.end == EV_COMPLETE || e->u.stream_end.end == EV_TRUNCATED) &&
	    s->last_get_x != o->x && s->last_get_request.t > e->t - COUPLED &&
	    s->last_get_request.t > o->head.t) {
		s->takeovers = true;
		o->took_over = true;	/* or was taken over: no dead end */
	}
	if (s->headless.t && e->stream == s->late_stream)
		end_headless(r, s);
	judge_open(r, s, o, at);
	if (!o->took_over)
		begin_headless(s, o, e);
	*o = s->open[--s->n_open];
	if (s->n_open == 0)
		s->last_get_end = e->t;
}

static void
on_sse(struct orphan *r, struct oc *s, const struct ev *e)
{
	struct open *o = open_of(s, e->stream);
	bool known = (e->flags & EVF_REPLAY) != 0;
	uint64_t n;
	int fresh;

	if (e->u.sse.data && e->u.sse.id.p)
		(void)idtab_put(&s->given, map_digest(e->u.sse.id.p, e->u.sse.id.n), &fresh);
	if (o == NULL || !e->u.sse.dispatched)
		return;
	o->events++;
	if (!e->u.sse.data)
		return;
	if (e->u.sse.id.p && number_of(e->u.sse.id, &n)) {
		if (!o->first_id_seen)
			check_cache_gap(r, s, o, n, e);
		o->first_id_seen = true;
		s->steps = n == s->last_id + 1 ? s->steps + 1 : n > s->last_id ? 0 : s->steps;
		s->last_id = n;
	}
	/* What comes with the head of the first GET after the owner's death and
	 * was never delivered before had been emitted in between. */
	if (s->headless.t && e->stream == s->late_stream && !known &&
	    e->t - o->head.t <= REPLAYED) {
		size_t used = strlen(s->late_ids);

		if (s->n_late_ids++ == 0)
			s->late_first = (struct at){ e->t, e->pkt };
		s->late_last = (struct at){ e->t, e->pkt };
		if (e->u.sse.id.n && e->u.sse.id.n < 12)
			(void)snprintf(s->late_ids + used, sizeof s->late_ids - used,
			    "%s%.*s", used ? ", " : "", STR_ARG(e->u.sse.id));
	}
}

static void
on_common(struct orphan *r, struct oc *s, const struct ev *e)
{
	struct open *o = open_of(s, e->stream);

	if (o == NULL)
		return;
	o->common++;
	if (o->client_closed && e->t - o->client_closed > LATE_WRITE) {
		o->late_last = (struct at){ e->t, e->pkt };
		if (o->n_late++ == 0)
			o->late = o->late_last;
	}
	o->missed = 0;			/* it is not deaf after all */
	/* The heir delivers: somebody was promoted. */
	if (s->headless.t && e->stream != s->late_stream)
		s->headless = (struct at){ 0, 0 };
	else if (s->headless.t && e->t - o->head.t > REPLAYED)
		end_headless(r, s);
	for (uint32_t i = 0; i < s->n_open; i++) {
		struct open *other = &s->open[i];

		/* Only one that had the channel, or was thought to, loses it. */
		if (other == o || other->of_post || other->head.t > o->head.t ||
		    !(other->was_primary || other->role == EV_PRESUMED || other->missed))
			continue;
		if (other->missed++ == 0)
			other->superseded = (struct at){ e->t, e->pkt };
		other->superseded_by = e->stream;
	}
	check_split(r, s, e);
}

static void
on_owner(struct oc *s, const struct ev *e)
{
	struct open *o = open_of(s, e->stream);

	if (o == NULL || e->u.owner.to == EV_CLOSED)
		return;
	o->role = e->u.owner.to;
	o->was_primary |= o->role == EV_PRIMARY;
	if (o->role == EV_REQUEST_STREAM)
		o->of_post = true;
	else if (o->role == EV_PRIMARY)
		o->of_post = false;
}

static void
on_request(struct oc *s, const struct ev *e)
{
	s->last_get_request = (struct at){ e->t, e->pkt };
	s->last_get_x = e->x;
}

static void
on_response(struct orphan *r, struct oc *s, const struct ev *e)
{
	bool get = e->x == s->last_get_x;

	if (e->u.resp.status == 405 && get)
		s->refused_405 = true;
	if (e->u.resp.status == 404 && !s->deleted && !get) {
		s->deleted = e->t;
		s->not_found = true;
	}
	if (e->u.resp.status / 100 == 2 && !get)
		on_post_answer(r, s, e);
}

static void
close_session(struct orphan *r, struct oc *s, struct at now)
{
	if (s->headless.t)
		end_headless(r, s);
	for (uint32_t i = 0; i < s->n_open; i++)
		judge_open(r, s, &s->open[i], now);
	for (uint32_t i = 0; i < s->n_silent; i++)
		report_zombie(r, s, &s->silent[i].o, s->silent[i].until);
	drop(r, s);
}

static void
on_conn_end(struct orphan *r, const struct ev *e)
{
	struct oc *s;

	/* One direction of a connection; its stream is looked up by number. */
	if (e->dir != EV_C2S || (s = find(r, e->session)) == NULL)
		return;
	for (uint32_t i = 0; i < s->n_open; i++)
		if (s->open[i].conn == e->conn)
			s->open[i].client_closed = e->t;
}

static void
event(void *arg, const struct ev *e)
{
	struct orphan *r = arg;
	struct oc *s;

	if (e->session == 0 || e->type == EV_COMMENT)
		return;
	if (e->type == EV_STREAM && is_listener(e)) {
		on_stream(r, session(r, e->session), e);
		return;
	}
	if (e->type == EV_REQUEST) {
		if (str_eq(e->u.req.method, STR("GET")))
			on_request(session(r, e->session), e);
		return;
	}
	if ((s = find(r, e->session)) == NULL)
		return;
	switch (e->type) {
	case EV_STREAM_END:
		on_stream_end(r, s, e);
		if (s->over && s->n_open == 0)
			close_session(r, s, (struct at){ e->t, e->pkt });
		break;
	case EV_SSE:
		on_sse(r, s, e);
		break;
	case EV_MESSAGE:
		if (e->u.msg.channel == EV_CH_COMMON)
			on_common(r, s, e);
		break;
	case EV_OWNER:
		on_owner(s, e);
		break;
	case EV_RESPONSE:
		on_response(r, s, e);
		break;
	case EV_STALL:
		on_stall(r, s, e);
		break;
	case EV_CONN_END:
		on_conn_end(r, e);
		break;
	case EV_SESSION_END:
		s->over = true;
		s->deleted = s->deleted ? s->deleted : e->t;
		if (s->n_open == 0)
			close_session(r, s, (struct at){ e->t, e->pkt });
		break;
	case EV_COMMENT: case EV_STREAM: case EV_REQUEST: case EV_FILE: case EV_CONN:
	case EV_REQUEST_END: case EV_RESPONSE_END: case EV_SESSION: case EV_GAP:
	case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END: case EV_N_TYPES:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct orphan *r = arg;
	struct oc *s, *tmp;

	HASH_ITER(hh, r->sessions, s, tmp)
		close_session(r, s, (struct at){ now, 0 });
}

const struct rule rule_orphan = {
	.name = "orphaned-channel",
	.summary = "a stream stays open while its messages go elsewhere or nowhere",
	.reference = "mcpdiag-analyze(1), DETECTORS, orphaned-channel",
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
