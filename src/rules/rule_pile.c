/* shadow-pile-up: each finished POST of a session leaves one more silent GET
 * stream open.  DETECTORS "shadow-pile-up".
 *
 * A silent stream beside a live owner is no fault; that one more is added with
 * each call is. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_gets.h"
#include "rule_util.h"

#define SILENT NS_S		/* a stream younger than this says nothing */
#define MIN_SHADOWS 3		/* left by finished POSTs */
#define MANY 16			/* whoever opened them: half of what rmcp keeps */
#define SHADOW_CAP 32		/* rmcp: the next one pushes out the oldest */
#define MAX_OPEN 128

struct shadow {			/* an open GET stream */
	uint32_t stream, flags;
	struct at head;
	bool of_post;		/* its lineage began with a POST, answered since */
	bool owner;		/* PRIMARY or PRESUMED */
	bool heard;		/* it carried data */
};

struct pile {			/* one session */
	struct kept of;
	struct shadow *open;
	uint32_t n_open, cap_open;
	uint32_t answered;	/* POST streams that carried the response */
	uint32_t evicted;	/* silent ones that the server ended at its cap */
	/* at the worst moment */
	uint32_t most, most_posts, most_open;
	struct shadow *seen;	/* SHADOW_CAP at most */
	uint32_t n_seen, cap_seen;
	struct at first, last;
	bool torn, told;
};

struct piles {
	struct engine *engine;
	struct gets *gets;
	struct keeper sessions;
};

extern const struct rule rule_pile;

static void
free_session(struct kept *k)
{
	struct pile *s = (struct pile *)k;

	free(s->open);
	free(s->seen);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct piles *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->gets = engine_reader(e, &gets_reader);
	return r;
}

static void
free_rule(void *arg)
{
	struct piles *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct pile *
session(struct piles *r, uint32_t n)
{
	return keeper_get(&r->sessions, n, sizeof(struct pile));
}

static struct shadow *
open_of(struct pile *s, uint32_t stream)
{
	for (uint32_t i = 0; i < s->n_open; i++)
		if (s->open[i].stream == stream)
			return &s->open[i];
	return NULL;
}

static bool
is_silent(const struct shadow *o, ns_t now)
{
	return !o->owner && !o->heard && now - o->head.t >= SILENT;
}

/* ---- the verdict ---- */

static void
say_who(const struct pile *s, struct draft *d, bool by_posts)
{
	if (by_posts)
		draft_why(d, "Each of these GET streams continues the stream of a POST whose "
		    "response had arrived, got nothing but comments at most, and was ended by "
		    "nobody, while another stream is the session's channel (%u POSTs were "
		    "answered on streams)%s.", s->answered,
		    s->evicted ? "; the server has begun to end the oldest" : "");
	else
		draft_why(d, "All of them are open at the same time, get nothing but comments "
		    "at most, and are ended by nobody, while another stream is the session's "
		    "channel%s.", s->evicted ? "; the server has begun to end the oldest" :
		    "");
	draft_fix(d, by_posts ? "Client: do not reconnect the stream of a POST whose response "
	    "or error has arrived; in the TypeScript SDK that is so from 1.24.0 on for "
	    "results, and in 2.x for errors, too.  Server: end a resume that has nothing "
	    "left to bring instead of keeping it (rmcp 0.17 to 1.4 keeps it, up to 32 a "
	    "session)." :
	    "Client: keep one GET listener for each session and close a stream before "
	    "opening its successor.  Server: refuse further listeners with 409, or end idle "
	    "ones before their number hurts; rmcp from 0.17 on keeps 32 and pushes out the "
	    "oldest, which comes back.");
}

static void
report(struct piles *r, const struct pile *s, bool early)
{
	bool by_posts = s->most_posts >= MIN_SHADOWS;
	enum confidence conf = by_posts ? CONF_HIGH : CONF_MEDIUM;
	struct draft *d;

	if (!by_posts && s->most < MANY)
		return;
	/* Without a session id, GETs of clients that have nothing to do with
	 * each other. */
	if (engine_inferred(r->engine, s->of.session))
		return;
	if (conf > CONF_MEDIUM && (s->torn || engine_gaps(r->engine, s->first.t)))
		conf = CONF_MEDIUM;
	d = draft_new(r->engine, &rule_pile, by_posts ? NULL : "listeners", SEV_WARNING, conf,
	    s->of.session);
	if (by_posts)
		draft_title(d, "finished POSTs leave silent GET streams open, one more with "
		    "each: %u beside the session's channel", s->most_posts);
	else
		draft_title(d, "%u silent GET streams of one session are open beside its "
		    "channel", s->most);
	say_who(s, d, by_posts);
	draft_num(d, "shadows", by_posts ? s->most_posts : s->most);
	draft_num(d, "silent_streams", s->most);
	draft_num(d, "open_gets_at_most", s->most_open);
	draft_num(d, "posts_answered", s->answered);
	draft_num(d, "evicted", s->evicted);
	for (uint32_t i = 0; i < s->n_seen; i++) {
		const struct shadow *o = &s->seen[i];

		draft_stream(d, o->stream);
		if (i < 4 || i + 1 == s->n_seen)
			draft_evidence(d, o->head, "stream %u opens%s and stays silent",
			    o->stream, o->of_post ? ", of a POST that was answered," : "");
	}
	draft_span(d, s->first, s->last);
	draft_count(d, by_posts ? s->most_posts : s->most, 0, 0);
	if (early)
		draft_tell(d);
	else
		draft_done(d);
}

/* How many are silent now?  Called before anything that makes them fewer. */
static void
take_stock(struct piles *r, struct pile *s, struct at now)
{
	uint32_t n = 0, posts = 0, owners = 0;
	bool before = s->most_posts >= MIN_SHADOWS || s->most >= MANY;

	for (uint32_t i = 0; i < s->n_open; i++) {
		owners += s->open[i].owner;
		if (!is_silent(&s->open[i], now.t))
			continue;
		n++;
		posts += s->open[i].of_post;
	}
	if (owners == 0 || (posts <= s->most_posts && n <= s->most))
		return;
	s->most = n > s->most ? n : s->most;
	s->most_posts = posts > s->most_posts ? posts : s->most_posts;
	s->most_open = s->n_open > s->most_open ? s->n_open : s->most_open;
	s->n_seen = 0;
	s->first = now;
	s->last = now;
	for (uint32_t i = 0; i < s->n_open; i++) {
		const struct shadow *o = &s->open[i];

		if (!is_silent(o, now.t))
			continue;
		s->torn |= (o->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0;
		if (o->head.t < s->first.t)
			s->first = o->head;
		if (s->n_seen == SHADOW_CAP || (!o->of_post && s->most_posts >= MIN_SHADOWS))
			continue;
		s->seen = xgrow(s->seen, s->n_seen, &s->cap_seen, sizeof *s->seen);
		s->seen[s->n_seen++] = *o;
	}
	if (!before)
		report(r, s, true);
}

/* ---- events ---- */

/* The lineage of a POST bears the number of its stream. */
static bool
is_answered_post(struct piles *r, uint32_t session, uint32_t stream)
{
	uint32_t x, bits = gets_stream(r->gets, session, stream, &x);

	return (bits & STREAM_POST) && (bits & STREAM_ANSWERED);
}

static void
on_stream(struct piles *r, struct pile *s, const struct ev *e)
{
	struct shadow *o;

	if (!is_listener(e) || s->n_open == MAX_OPEN)
		return;
	s->open = xgrow(s->open, s->n_open, &s->cap_open, sizeof *s->open);
	o = &s->open[s->n_open++];
	*o = (struct shadow){ .stream = e->stream, .flags = e->flags,
	    .head = { e->t, e->pkt },
	    .of_post = is_answered_post(r, e->session, e->u.stream.lineage) };
}

static void
on_stream_end(struct piles *r, struct pile *s, const struct ev *e)
{
	struct shadow *o = open_of(s, e->stream);

	if (o == NULL) {
		s->answered += is_answered_post(r, e->session, e->stream);
		return;
	}
	if (s->n_open > SHADOW_CAP && is_silent(o, e->t) &&
	    (e->u.stream_end.end == EV_COMPLETE || e->u.stream_end.end == EV_TRUNCATED))
		s->evicted++;
	*o = s->open[--s->n_open];
}

static void
close_session(struct piles *r, struct pile *s, struct at now)
{
	take_stock(r, s, now);
	report(r, s, false);
	keeper_drop(&r->sessions, &s->of);
}

static void
event(void *arg, const struct ev *e)
{
	struct piles *r = arg;
	struct at now = { e->t, e->pkt };
	struct shadow *o;
	struct pile *s;

	if (e->session == 0)
		return;
	if (e->type == EV_STREAM) {
		s = session(r, e->session);
		take_stock(r, s, now);
		on_stream(r, s, e);
		return;
	}
	if ((s = (struct pile *)keeper_find(&r->sessions, e->session)) == NULL)
		return;
	switch (e->type) {
	case EV_STREAM_END:
		take_stock(r, s, now);
		on_stream_end(r, s, e);
		break;
	case EV_SSE:
		if (e->u.sse.data && e->u.sse.dispatched &&
		    (o = open_of(s, e->stream)) != NULL)
			o->heard = true;
		break;
	case EV_OWNER:
		if ((o = open_of(s, e->stream)) == NULL || e->u.owner.to == EV_CLOSED)
			break;
		take_stock(r, s, now);
		o->owner = e->u.owner.to == EV_PRIMARY || e->u.owner.to == EV_PRESUMED;
		break;
	case EV_SESSION_END:
		close_session(r, s, now);
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST: case EV_REQUEST_END:
	case EV_RESPONSE: case EV_RESPONSE_END: case EV_SESSION: case EV_STREAM:
	case EV_COMMENT: case EV_MESSAGE: case EV_STALL: case EV_GAP: case EV_ANOMALY:
	case EV_NOTE: case EV_FINDING: case EV_END: case EV_N_TYPES:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct piles *r = arg;
	struct kept *k, *tmp;

	KEEPER_EACH(&r->sessions, k, tmp)
		close_session(r, (struct pile *)k, (struct at){ now, 0 });
}

const struct rule rule_pile = {
	.name = "shadow-pile-up",
	.summary = "each finished POST leaves one more silent GET stream open",
	.reference = "mcpdiag-analyze(1), DETECTORS, shadow-pile-up",
	.wants = RULE_WANTS(EV_STREAM) | RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_OWNER) | RULE_WANTS(EV_SESSION_END),
	.new = new, .event = event, .end = end, .free = free_rule,
};
