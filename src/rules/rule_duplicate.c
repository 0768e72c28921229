/* duplicate-delivery: one message on several streams at once.  DETECTORS
 * "duplicate-delivery".
 *
 * A second delivery is a copy only if its stream was open already when the
 * first came, and the first one's still is; all else is a replay.  Responses:
 * more of them than requests with that id. */
#include <stdlib.h>

#include "mcpdiag/idtab.h"
#include "mcpdiag/rule.h"
#include "mcpdiag/xmem.h"
#include "rule_id.h"
#include "rule_util.h"

#define AT_ONCE (100 * NS_MS)	/* copies of one message */
#define ROUND (50 * NS_MS)	/* and of one without parameters */
#define TWIN (5 * NS_MS)	/* GETs this close may be two legs of one path */
#define MIN_ROUNDS 3
#define BARE 53			/* bytes of a message around its method, if it has
				 * no parameters to speak of */
#define MAX_OPEN 32
#define ID_SALT 0x9e3779b97f4a7c15ULL

struct listener {
	uint32_t stream, flags;
	ns_t head, requested;
	bool cursor, legacy, in_round;
};

struct dup {				/* one session */
	struct kept of;
	struct listener *open;		/* its GET streams */
	uint32_t n_open, cap_open;
	bool crowded;			/* too many to follow */
	struct idtab seen;		/* common messages: stream, ms of the first */
	struct idtab ids;		/* request id: under way, ms of the answer */
	ns_t born;
	/* the event being told */
	uint32_t sse_stream;
	uint64_t sse_key, sse_bytes;
	/* a round of a message without parameters */
	uint64_t round_hash;
	ns_t round_t;
	uint32_t round_n;
	uint64_t rounds, broken;
	struct at round_first, round_last;
	/* what was found */
	uint64_t copies, responses;
	uint32_t streams[4], n_streams, most_open, flags;
	bool by_id;
	struct at first, last;
};

struct duplicate {
	struct engine *engine;
	struct keeper sessions;
	struct ids *ids;
	struct limits lim;
};

const struct rule rule_duplicate;

static void
free_session(struct kept *k)
{
	struct dup *s = (struct dup *)k;

	free(s->open);
	idtab_fini(&s->seen);
	idtab_fini(&s->ids);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct duplicate *r = xcalloc(1, sizeof *r);

	r->engine = e;
	r->ids = engine_reader(e, &id_reader);
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->lim = *lim;
	return r;
}

static void
free_rule(void *arg)
{
	struct duplicate *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct dup *
session(struct duplicate *r, uint32_t n, ns_t now)
{
	struct dup *s = (struct dup *)keeper_find(&r->sessions, n);

	if (s)
		return s;
	s = xcalloc(1, sizeof *s);
	s->born = now;
	idtab_init(&s->seen, (uint32_t)r->lim.ids);
	idtab_init(&s->ids, (uint32_t)r->lim.ids);
	keeper_add(&r->sessions, &s->of, n);
	return s;
}

static struct listener *
listener(struct dup *s, uint32_t stream)
{
	for (uint32_t i = 0; i < s->n_open && stream; i++)
		if (s->open[i].stream == stream)
			return &s->open[i];
	return NULL;
}

/* ---- findings ---- */

static enum confidence
limited(const struct duplicate *r, const struct dup *s, enum confidence conf)
{
	if ((s->flags & (EVF_GAP | EVF_MIDSTREAM) || engine_gaps(r->engine, s->born)) &&
	    conf > CONF_MEDIUM)
		return CONF_MEDIUM;
	return conf;
}

static void
report(struct duplicate *r, const struct dup *s)
{
	bool rounds = s->copies == 0;
	enum confidence conf = !rounds && (s->by_id || s->copies > 1) ? CONF_HIGH :
	    CONF_MEDIUM;
	uint64_t n = rounds ? s->rounds : s->copies;
	struct draft *d = draft_new(r->engine, &rule_duplicate, NULL, SEV_ERROR,
	    limited(r, s, conf), s->of.session);

	draft_title(d, "the same messages come on several GET streams of the session at once: "
	    "%llu cop%s", (unsigned long long)n, n == 1 ? "y" : "ies");
	draft_why(d, "%s  The client acts on each copy; a question is asked twice.", rounds ?
	    "Each time, every open GET stream of the session got an equal notification within "
	    "50 ms." : "The streams were open side by side; none of the copies is a replay "
	    "after a reconnect.");
	draft_fix(d, "Server: send each message on one of the session's streams only, never on "
	    "all of them; the specification forbids the broadcast.");
	draft_num(d, "copies", (double)n);
	draft_num(d, "open_streams", s->most_open);
	draft_bool(d, "same_event_ids", s->by_id);
	for (uint32_t i = 0; i < s->n_streams; i++)
		draft_stream(d, s->streams[i]);
	draft_evidence(d, rounds ? s->round_first : s->first, "the first copy");
	draft_evidence(d, rounds ? s->round_last : s->last, "the last");
	draft_span(d, rounds ? s->round_first : s->first, rounds ? s->round_last : s->last);
	draft_count(d, n, 0, 0);
	draft_done(d);
}

static void
report_response(struct duplicate *r, const struct dup *s, const struct ev *e)
{
	struct draft *d = draft_new(r->engine, &rule_duplicate, "response", SEV_ERROR,
	    limited(r, s, CONF_HIGH), s->of.session);
	struct at at = { e->t, e->pkt };

	draft_title(d, "the response to request %.*s comes a second time",
	    (int)(e->u.msg.id.n < 40 ? e->u.msg.id.n : 40), e->u.msg.id.p);
	draft_why(d, "One request was sent with that id and answered; this is another answer, "
	    "and no resumption asked for it.");
	draft_fix(d, "Server, or what stands before it: answer each request once, on one "
	    "stream.");
	if (e->stream)
		draft_stream(d, e->stream);
	draft_text(d, "id", e->u.msg.id);
	draft_evidence(d, at, "a further response with id %.*s",
	    (int)(e->u.msg.id.n < 40 ? e->u.msg.id.n : 40), e->u.msg.id.p);
	draft_span(d, at, at);
	draft_count(d, 1, 0, 0);
	draft_add(d);
}

/* ---- common messages ---- */

static void
involve(struct dup *s, uint32_t stream)
{
	for (uint32_t i = 0; i < s->n_streams; i++)
		if (s->streams[i] == stream)
			return;
	if (s->n_streams < sizeof s->streams / sizeof s->streams[0])
		s->streams[s->n_streams++] = stream;
}

/* Both seen at two places of one path? */
static bool
twins(const struct listener *a, const struct listener *b)
{
	ns_t apart = a->requested - b->requested;

	return a->cursor == b->cursor && apart <= TWIN && apart >= -TWIN;
}

static void
on_key(struct duplicate *r, struct dup *s, const struct listener *l, uint64_t key,
    bool by_id, ns_t within, const struct ev *e)
{
	const struct listener *first;
	uint32_t ms = (uint32_t)(e->t / NS_MS);
	struct idrec *rec;
	int fresh;

	rec = idtab_put(&s->seen, key, &fresh);
	if (fresh || (first = listener(s, rec->a)) == NULL ||
	    ms - rec->b > (uint32_t)(within / NS_MS)) {
		rec->a = l->stream;
		rec->b = ms;
		return;
	}
	if (rec->a == l->stream || (int32_t)((uint32_t)(l->head / NS_MS) - rec->b) > 0 ||
	    twins(first, l))
		return;
	s->last = (struct at){ e->t, e->pkt };
	if (s->copies++ == 0)
		s->first = s->last;
	s->by_id |= by_id;
	s->flags |= l->flags | first->flags;
	s->most_open = s->n_open > s->most_open ? s->n_open : s->most_open;
	involve(s, first->stream);
	involve(s, l->stream);
	report(r, s);
}

/* A notification without parameters proves nothing once; but if, time after
 * time, every open stream gets one, that is no chance. */
static void
on_bare(struct duplicate *r, struct dup *s, struct listener *l, const struct ev *e)
{
	uint32_t old = 0;
	bool same = s->round_hash == e->u.msg.hash && e->t - s->round_t <= ROUND;

	if (!same || l->in_round) {
		s->broken += s->round_hash != 0;	/* until it is whole */
		for (uint32_t i = 0; i < s->n_open; i++)
			s->open[i].in_round = false;
		s->round_hash = e->u.msg.hash;
		s->round_t = e->t;
		s->round_n = 0;
	}
	l->in_round = true;
	s->round_n++;
	for (uint32_t i = 0; i < s->n_open; i++)
		old += s->open[i].head < s->round_t - ROUND && !s->open[i].legacy;
	if (s->round_n < 2 || s->round_n != old || s->crowded)
		return;
	s->round_hash = 0;
	s->round_last = (struct at){ e->t, e->pkt };
	if (s->rounds++ == 0)
		s->round_first = s->round_last;
	for (uint32_t i = 0; i < s->n_open; i++) {
		if (s->copies == 0 && s->open[i].in_round)
			involve(s, s->open[i].stream);
		s->flags |= s->open[i].flags;
		if (i && twins(&s->open[0], &s->open[i]))
			return;
	}
	s->most_open = old > s->most_open ? old : s->most_open;
	if (s->rounds >= MIN_ROUNDS && s->rounds > 2 * s->broken && s->copies == 0)
		report(r, s);
}

static void
on_common(struct duplicate *r, struct dup *s, const struct ev *e)
{
	struct listener *l = listener(s, e->stream);
	bool told = s->sse_stream == e->stream;
	bool bare;

	if (l == NULL || engine_inferred(r->engine, s->of.session))
		return;
	bare = e->u.msg.kind == EV_MSG_NOTIFICATION &&
	    (!told || s->sse_bytes <= BARE + e->u.msg.method.n);
	if (told && s->sse_key)
		on_key(r, s, l, s->sse_key ^ ID_SALT, true, bare ? AT_ONCE : 3600 * NS_S, e);
	if (!bare && (!told || s->sse_key == 0 || !s->by_id))
		on_key(r, s, l, e->u.msg.hash, false, AT_ONCE, e);
	if (bare)
		on_bare(r, s, l, e);
}

/* ---- responses ---- */

static void
on_answer(struct duplicate *r, struct dup *s, const struct ev *e)
{
	const struct listener *l = listener(s, e->stream);
	struct idrec *rec = e->u.msg.id.n == 0 ? NULL :
	    idtab_get(&s->ids, id_of(r->ids));

	if (rec == NULL)		/* asked before the capture */
		return;
	if (rec->a) {
		rec->a--;
		rec->b = (uint32_t)(e->t / NS_MS) | 1;
		return;
	}
	/* A replay: to a cursor, or of all that there was to a new GET. */
	if (rec->b == 0 || (l && l->cursor) || (l == NULL && e->stream == 0) ||
	    (l && !l->legacy && (int32_t)((uint32_t)(l->head / NS_MS) - rec->b) > 0) ||
	    s->crowded || engine_gaps(r->engine, s->born) ||
	    engine_inferred(r->engine, s->of.session))
		return;
	s->flags |= e->flags;
	report_response(r, s, e);
}

/* ---- events ---- */

static void
on_stream(struct duplicate *r, const struct ev *e)
{
	struct dup *s = session(r, e->session, e->t);

	if (s->n_open == MAX_OPEN) {
		s->crowded = true;
		return;
	}
	s->open = xgrow(s->open, s->n_open, &s->cap_open, sizeof *s->open);
	s->open[s->n_open++] = (struct listener){ .stream = e->stream, .flags = e->flags,
	    .head = e->t, .requested = e->u.stream.requested,
	    .cursor = e->u.stream.cursor.p != NULL,
	    .legacy = e->u.stream.kind == EV_LEGACY };
}

static void
on_sse(const struct duplicate *r, struct dup *s, const struct ev *e)
{
	s->sse_stream = e->stream;
	s->sse_bytes = e->u.sse.bytes;
	s->sse_key = e->u.sse.id.n && e->u.sse.data ?
	    id_of(r->ids) ^ e->u.sse.hash : 0;
}

static void
on_message(struct duplicate *r, const struct ev *e)
{
	struct dup *s;
	int fresh;

	if (e->dir == EV_C2S) {
		if (e->u.msg.kind == EV_MSG_REQUEST)
			idtab_put(&session(r, e->session, e->t)->ids,
			    id_of(r->ids), &fresh)->a++;
		return;
	}
	if ((s = (struct dup *)keeper_find(&r->sessions, e->session)) == NULL)
		return;
	if (e->u.msg.kind == EV_MSG_RESPONSE || e->u.msg.kind == EV_MSG_ERROR)
		on_answer(r, s, e);
	else if (e->u.msg.channel == EV_CH_COMMON)
		on_common(r, s, e);
}

static void
event(void *arg, const struct ev *e)
{
	struct duplicate *r = arg;
	struct listener *l;
	struct dup *s;

	if (e->session == 0)
		return;
	if (e->type == EV_MESSAGE) {
		on_message(r, e);
		return;
	}
	if (e->type == EV_STREAM) {
		if (is_listener(e))
			on_stream(r, e);
		return;
	}
	if ((s = (struct dup *)keeper_find(&r->sessions, e->session)) == NULL)
		return;
	if (e->type == EV_SSE)
		on_sse(r, s, e);
	else if (e->type == EV_STREAM_END && (l = listener(s, e->stream)) != NULL)
		*l = s->open[--s->n_open];
	else if (e->type == EV_SESSION_END)
		keeper_drop(&r->sessions, &s->of);
}

static void
end(void *arg, ns_t now)
{
	(void)arg;
	(void)now;
}

const struct rule rule_duplicate = {
	.name = "duplicate-delivery",
	.summary = "one message comes on several streams at once",
	.reference = "mcpdiag-analyze(1), DETECTORS, duplicate-delivery",
	.wants = RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_NEWS,
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
