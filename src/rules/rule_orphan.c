/* orphaned-channel: a stream stays open while what it waits for goes elsewhere
 * or nowhere.  DETECTORS "orphaned-channel" (a) to (h).
 *
 * Everything is judged on the session's GET streams; streams that resume the
 * answer of one POST are no listeners of the common channel. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "rule_orphan_priv.h"
#include "rule_util.h"

static void
free_session(struct kept *k)
{
	struct oc *s = (struct oc *)k;

	free(s->open);
	free(s->silent);
	idtab_fini(&s->given);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct orphan *r = xcalloc(1, sizeof *r);

	r->engine = e;
	r->gets = engine_reader(e, &gets_reader);
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->lim = *lim;
	return r;
}

static void
free_rule(void *arg)
{
	struct orphan *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct oc *
find(struct orphan *r, uint32_t n)
{
	return (struct oc *)keeper_find(&r->sessions, n);
}

static struct oc *
session(struct orphan *r, uint32_t n)
{
	struct oc *s = find(r, n);

	if (s)
		return s;
	s = xcalloc(1, sizeof *s);
	idtab_init(&s->given, (uint32_t)r->lim.ids);
	keeper_add(&r->sessions, &s->of, n);
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

/* ---- (b) headless ---- */

/* The last call has had its time: did it bring a message, as it always does? */
static void
judge_call(struct oc *s, ns_t now)
{
	if (s->call.name == 0 || s->call.name != s->talker || s->call.heard) {
		s->call.name = 0;
		return;
	}
	if (s->headless.t && s->call.t > s->headless.t) {
		/* Too soon to say. */
		if (now - s->call.t < REPLAYED)
			return;
		s->unheard++;
		s->unheard_last.t = s->call.t;
	} else if (s->n_open > 0) {
		s->mute++;
	}
	s->call.name = 0;
}

static void
on_call(struct oc *s, const struct ev *e)
{
	judge_call(s, e->t);
	s->call.name = map_digest(e->u.msg.name.p, e->u.msg.name.n);
	s->call.t = e->t;
	s->call.heard = false;
	if (s->call.name == s->talker)
		s->unheard_last.pkt = e->pkt;
	else if (s->talks == 0)
		(void)snprintf(s->talker_name, sizeof s->talker_name, "%.*s",
		    (int)(e->u.msg.name.n < 60 ? e->u.msg.name.n : 60), e->u.msg.name.p);
}

/* A common message came; whose doing is it? */
static void
on_heard(struct oc *s, const struct ev *e)
{
	if (s->call.name == 0 || e->t - s->call.t > ECHO)
		return;
	s->call.heard = true;
	if (s->talks == 0)
		s->talker = s->call.name;
	s->talks += s->call.name == s->talker;
}

static void
end_headless(struct orphan *r, struct oc *s, ns_t now)
{
	judge_call(s, now);
	orphan_headless(r, s);
	orphan_unheard(r, s);
	s->headless = (struct at){ 0, 0 };
}

/* The owner's stream is over; is somebody left who will wait in vain? */
static void
begin_headless(struct orphan *r, struct oc *s, const struct open *o, enum ev_end end,
    struct at at)
{
	const struct open *heir = NULL;

	if (o->role != EV_PRIMARY && o->role != EV_PRESUMED)
		return;
	if (end == EV_LOST || end == EV_OPEN || (s->headless.t && s->gone == o->stream))
		return;
	for (uint32_t i = 0; i < s->n_open; i++) {
		const struct open *c = &s->open[i];

		if (c == o || c->of_post || c->client_closed)
			continue;
		/* Opened just now: it is what ended the other. */
		if (end != EV_CLIENT && c->head.t > at.t - COUPLED)
			return;
		heir = c;
	}
	/* That of the one who came late: what he was given shows the loss. */
	if (s->headless.t && o->stream == s->late_stream)
		end_headless(r, s, at.t);
	if (heir == NULL || s->judged_headless)
		return;
	s->headless = at;
	s->gone = o->stream;
	s->gone_proven = o->was_primary;
	s->heir = heir->stream;
	s->posts_meanwhile = s->n_late_ids = s->unheard = 0;
	s->late_stream = 0;
	s->late_ids[0] = '\0';
}

/* ---- (d) channel-less ---- */

/* For who watches: an accepted resume that is silent for too long already. */
static void
look(struct orphan *r, const struct oc *s, const struct ev *e)
{
	for (uint32_t i = 0; i < s->n_open; i++) {
		struct open *o = &s->open[i], copy = *o;

		if (o->told || !o->has_cursor || o->events || s->keepalive == 0 ||
		    e->t - o->head.t <= 3 * s->keepalive)
			continue;
		o->told = true;
		draft_only_tell(r->engine, true);
		orphan_zombie(r, s, &copy, (struct at){ e->t, e->pkt });
		draft_only_tell(r->engine, false);
	}
}

static void
on_post_answer(struct orphan *r, struct oc *s, const struct ev *e)
{
	if (s->headless.t)
		s->posts_meanwhile++;
	if (s->n_open || !(s->had_get || s->declared) || s->deleted ||
	    e->t - s->last_get_end < CHANNEL_LESS ||
	    engine_gaps(r->engine, s->last_get_end))	/* a GET may be lost */
		return;
	s->posts_without++;
	s->channel_less = (struct at){ e->t, e->pkt };
	orphan_channel_less(r, s, s->channel_less);
}

/* ---- (g) split-delivery ---- */

static void
check_split(struct orphan *r, struct oc *s, const struct ev *e)
{
	uint32_t *c = s->carriers;
	struct open *o;

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
	orphan_split(r, s, o, e);
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

	/* Only where ids are seen to grow by one, the cursor was really given
	 * out, and what lies between went to nobody else. */
	if (!o->numeric || !o->known || o->of_post || s->steps < 3 ||
	    first <= o->cursor_n + 1 || s->midstream || orphan_torn(o) ||
	    idtab_get(&s->given, o->cursor_n + 2))
		return;
	orphan_cache_gap(r, s, o, first, e);
}

/* ---- events ---- */

static void
on_stream(struct orphan *r, struct oc *s, const struct ev *e)
{
	struct str cursor = e->u.stream.cursor;
	struct open *o;
	uint32_t x;

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
	o->finished = e->u.stream.givers == 1 &&
	    gets_stream(r->gets, e->session, e->u.stream.resumes, &x) & STREAM_ANSWERED;
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
	orphan_superseded(r, s, o, until);
	orphan_late_writes(r, s, o, until);
	orphan_after_end(r, s, o, until);
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
		end_headless(r, s, e->t);
	judge_open(r, s, o, at);
	if (!o->took_over)
		begin_headless(r, s, o, e->u.stream_end.end, at);
	*o = s->open[--s->n_open];
	if (s->n_open == 0)
		s->last_get_end = e->t;
}

static void
on_sse(struct orphan *r, struct oc *s, const struct ev *e)
{
	struct open *o = open_of(s, e->stream);
	bool known = (e->flags & EVF_REPLAY) != 0;
	bool counted;
	uint64_t n;
	int fresh;

	/* Only ids that are numbers can show a gap. */
	counted = e->u.sse.data && e->u.sse.id.p && number_of(e->u.sse.id, &n);
	if (counted)
		(void)idtab_put(&s->given, n + 1, &fresh);
	if (o == NULL || !e->u.sse.dispatched)
		return;
	o->events++;
	if (!e->u.sse.data)
		return;
	if (counted) {
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
	bool copy;

	if (o == NULL)
		return;
	o->common++;
	on_heard(s, e);
	if (o->client_closed && e->t - o->client_closed > LATE_WRITE) {
		o->late_last = (struct at){ e->t, e->pkt };
		if (o->n_late++ == 0)
			o->late = o->late_last;
	}
	o->missed = 0;			/* it is not deaf after all */
	/* A copy of what another stream was given at the same time: all get it. */
	copy = e->u.msg.hash == s->last_hash && e->stream != s->carriers[2] &&
	    e->t - s->last_common <= REPLAYED;
	s->last_hash = e->u.msg.hash;
	s->last_common = e->t;
	/* The heir delivers: somebody was promoted. */
	if (s->headless.t && e->stream != s->late_stream)
		s->headless = (struct at){ 0, 0 };
	else if (s->headless.t && e->t - o->head.t > REPLAYED)
		end_headless(r, s, e->t);
	if (copy)
		return;
	for (uint32_t i = 0; i < s->n_open; i++) {
		struct open *other = &s->open[i];

		/* Only one that had the channel, or was thought to, loses it. */
		if (other == o || other->of_post || other->client_closed ||
		    other->head.t > o->head.t ||
		    !(other->was_primary || other->role == EV_PRESUMED || other->missed))
			continue;
		if (other->missed++ == 0) {
			other->superseded = (struct at){ e->t, e->pkt };
			other->superseded_first = e->stream;
		}
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
	if (e->u.resp.status / 100 == 2 && !get) {
		on_post_answer(r, s, e);
		look(r, s, e);
	}
}

static void
on_stall(struct orphan *r, struct oc *s, const struct ev *e)
{
	struct open *o = open_of(s, e->stream), *other = NULL;

	if (o == NULL || e->u.stall.zero_window)
		return;
	for (uint32_t i = 0; i < s->n_open; i++)
		if (&s->open[i] != o)
			other = &s->open[i];
	if (other && !o->complained)
		orphan_stalled(r, s, o, other, e);
}

static void
close_session(struct orphan *r, struct oc *s, struct at now)
{
	if (s->headless.t)
		end_headless(r, s, now.t);
	for (uint32_t i = 0; i < s->n_open; i++)
		judge_open(r, s, &s->open[i], now);
	for (uint32_t i = 0; i < s->n_silent; i++)
		orphan_zombie(r, s, &s->silent[i].o, s->silent[i].until);
	keeper_drop(&r->sessions, &s->of);
}

static void
on_conn_end(struct orphan *r, const struct ev *e)
{
	struct str how = e->u.conn_end.how;
	struct oc *s;

	/* One direction of a connection; its stream is looked up by number. */
	if (e->dir != EV_C2S || (s = find(r, e->session)) == NULL)
		return;
	for (uint32_t i = 0; i < s->n_open; i++) {
		struct open *o = &s->open[i];

		if (o->conn != e->conn || o->client_closed || str_eq(how, STR("eof")))
			continue;
		o->client_closed = e->t;
		/* Its server may take its time to end it, but nobody listens. */
		if (!str_eq(how, STR("evicted")) && !str_eq(how, STR("reused")))
			begin_headless(r, s, o, EV_CLIENT,
			    (struct at){ e->t, e->pkt });
	}
}

/* The server will have something to say to those who listen. */
static void
on_session(struct orphan *r, const struct ev *e)
{
	struct oc *s = e->u.session.list_changed ? session(r, e->session) : NULL;

	if (s == NULL || s->declared)
		return;
	s->declared = true;
	if (s->last_get_end == 0)
		s->last_get_end = e->t;
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
	if (e->type == EV_SESSION) {
		on_session(r, e);
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
		else if (e->dir == EV_C2S && e->u.msg.kind == EV_MSG_REQUEST && e->u.msg.name.n)
			on_call(s, e);
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
	struct kept *k, *tmp;

	KEEPER_EACH(&r->sessions, k, tmp)
		close_session(r, (struct oc *)k, (struct at){ now, 0 });
}

const struct rule rule_orphan = {
	.name = "orphaned-channel",
	.summary = "a stream stays open while its messages go elsewhere or nowhere",
	.reference = "mcpdiag-analyze(1), DETECTORS, orphaned-channel",
	.wants = RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_REQUEST) |
	    RULE_WANTS(EV_SESSION) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_OWNER) |
	    RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_STALL) |
	    RULE_WANTS(EV_CONN_END) |
	    RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_POSTS | SKIP_NEWS | SKIP_ANSWERS,
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
