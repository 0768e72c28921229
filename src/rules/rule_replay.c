/* replay-loop: the same events delivered again at each reconnect.  DETECTORS
 * "replay-loop".
 *
 * An event is repeated when its id came with data before on the session
 * (EVF_REPLAY); priming events never count.  A stream is stale when at least
 * 0.8 of its data events are repeats and the last thing it delivered is old, so
 * that the cursor does not advance.  Three stale streams in a row, of a lineage
 * or of the session, are the loop. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_gets.h"
#include "rule_id.h"
#include "rule_util.h"

#define NEAR (50 * NS_MS)	/* as leapfrog: a GET that ends another stream */
#define REFETCH (2 * NS_S)	/* a list request this soon after a repeat */
#define MIN_RUN 3
#define MAX_KEPT 64
#define MAX_LIVE 256
#define MAX_ENDS 32
#define MAX_PLAIN 8		/* events without id compared for each stream */

struct live {				/* an open GET stream */
	uint32_t stream, lineage, resumes, givers, flags;
	struct at head, first_repeat, last;
	uint64_t cursor;		/* digest of Last-Event-ID, 0 none */
	bool of_post;			/* its cursor was given by a POST only */
	bool client_came_back;		/* its listener had left by itself */
	bool refetched;
	uint32_t data, repeats, named;	/* named: repeats of the cursor itself */
	bool last_old;
	uint64_t last_id;
	uint64_t plain[MAX_PLAIN];	/* hashes of events without id, in order */
	uint32_t n_plain;
};

struct stale {				/* a stale stream */
	uint32_t stream, data, repeats;
	struct at first, last;
	bool refetched;
};

struct run {				/* of a lineage (0: of the session) */
	uint32_t lineage;
	uint64_t last_id;		/* where its previous stream stopped */
	uint32_t now, best;		/* stale streams in a row */
	struct stale *kept;
	uint32_t n_kept, cap_kept;
	uint64_t streams, repeats, refetches;
	struct at first, last;
	uint64_t plain[MAX_PLAIN];	/* of the lineage's previous stream */
	uint32_t n_plain;
	bool by_payload;
};

struct left {				/* how a stream of the session ended */
	uint32_t stream;
	bool client;
};

struct rp {				/* one session */
	struct kept of;
	struct live *live;
	struct run *runs;
	struct left *ends;
	uint32_t n_live, cap_live, n_runs, cap_runs, n_ends, cap_ends, ring;
	struct idtab origin;		/* id and hash -> stream, channel */
	ns_t last_get, last_repeat;
	bool full, over, told;		/* told: to who watches */
	uint64_t inclusive;
	struct at incl_first, incl_last;
	bool crossed;
	ns_t born;			/* first seen here */
	uint32_t midstream;
};

struct replay {
	struct engine *engine;
	struct keeper sessions;
	struct ids *ids;
	struct gets *gets;
	struct limits lim;
	struct idtab everywhere;	/* server, long id and hash -> session */
};

const struct rule rule_replay;

static void
free_session(struct kept *k)
{
	struct rp *s = (struct rp *)k;

	for (uint32_t i = 0; i < s->n_runs; i++)
		free(s->runs[i].kept);
	free(s->runs);
	free(s->live);
	free(s->ends);
	idtab_fini(&s->origin);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct replay *r = xcalloc(1, sizeof *r);

	r->engine = e;
	r->ids = engine_reader(e, &id_reader);
	r->gets = engine_reader(e, &gets_reader);
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->lim = *lim;
	idtab_init(&r->everywhere, (uint32_t)lim->ids * 4);
	return r;
}

static void
free_rule(void *arg)
{
	struct replay *r = arg;

	keeper_fini(&r->sessions);
	idtab_fini(&r->everywhere);
	free(r);
}

static struct rp *
find(struct replay *r, uint32_t n)
{
	return (struct rp *)keeper_find(&r->sessions, n);
}

static struct rp *
session(struct replay *r, uint32_t n, ns_t now)
{
	struct rp *s = find(r, n);

	if (s)
		return s;
	s = xcalloc(1, sizeof *s);
	s->born = now;
	idtab_init(&s->origin, (uint32_t)r->lim.ids);
	keeper_add(&r->sessions, &s->of, n);
	return s;
}

static struct live *
live(struct rp *s, uint32_t stream)
{
	for (uint32_t i = 0; i < s->n_live; i++)
		if (s->live[i].stream == stream)
			return &s->live[i];
	return NULL;
}

static struct run *
run_of(struct rp *s, uint32_t lineage)
{
	for (uint32_t i = 0; i < s->n_runs; i++)
		if (s->runs[i].lineage == lineage)
			return &s->runs[i];
	if (s->n_runs == MAX_ENDS)
		return &s->runs[MAX_ENDS - 1];
	s->runs = xgrow(s->runs, s->n_runs, &s->cap_runs, sizeof *s->runs);
	s->runs[s->n_runs] = (struct run){ .lineage = lineage };
	return &s->runs[s->n_runs++];
}

/* ---- one stream is over ---- */

static void
extend(struct run *r, const struct live *v)
{
	struct stale *k;

	if (r->now == 0 && r->best < MIN_RUN) {		/* a new beginning */
		r->n_kept = 0;
		r->streams = r->repeats = r->refetches = 0;
		r->first = v->first_repeat;
	}
	r->now++;
	r->best = r->now > r->best ? r->now : r->best;
	r->streams++;
	r->repeats += v->repeats;
	r->refetches += v->refetched;
	r->last = v->last;
	if (r->n_kept < MAX_KEPT) {
		r->kept = xgrow(r->kept, r->n_kept, &r->cap_kept, sizeof *r->kept);
		r->n_kept++;
	}
	k = &r->kept[r->n_kept - 1];
	*k = (struct stale){ v->stream, v->data, v->repeats, v->first_repeat, v->last,
	    v->refetched };
}

/* Events without id: the same two or more payloads in the same order as on
 * the lineage's previous stream. */
static bool
same_payloads(struct run *r, const struct live *v)
{
	bool same = v->n_plain >= 2 && r->n_plain >= 2 && v->plain[0] != v->plain[1];
	uint32_t n = v->n_plain < r->n_plain ? v->n_plain : r->n_plain;

	for (uint32_t i = 0; i < n && same; i++)
		same = v->plain[i] == r->plain[i];
	if (v->n_plain) {
		memcpy(r->plain, v->plain, sizeof r->plain);
		r->n_plain = v->n_plain;
	}
	return same;
}

static void
stream_over(struct rp *s, struct live *v)
{
	struct run *own, *all;
	bool stale = v->repeats > 0 && v->repeats * 5 >= v->data * 4 && v->last_old;
	bool again;

	if (v->data == 0)		/* neither breaks nor extends a run */
		return;
	(void)run_of(s, 0);		/* both exist before pointers are taken */
	own = run_of(s, v->lineage);
	all = run_of(s, 0);
	again = same_payloads(own, v);
	if (again) {
		v->repeats = v->n_plain;
		own->by_payload = all->by_payload = true;
		stale = true;
	}
	/* Replay that starts at the cursor, asked for by a client that left by
	 * itself: one event too many, not a loop. */
	if (stale && !again && v->named == v->repeats && v->client_came_back &&
	    !v->refetched) {
		if (s->inclusive++ == 0)
			s->incl_first = v->first_repeat;
		s->incl_last = v->last;
		stale = false;
	} else if (v->named && !stale) {
		if (s->inclusive++ == 0)
			s->incl_first = v->first_repeat;
		s->incl_last = v->last;
	}
	/* What is old for the session may be new for this listener: then its
	 * cursor advances, and it is no loop of its own. */
	if (stale && (again || v->last_id == own->last_id))
		extend(own, v);
	else
		own->now = 0;
	if (stale && (again || all->last_id == v->last_id))
		extend(all, v);
	else
		all->now = 0;
	own->last_id = all->last_id = v->last_id;
}

/* ---- findings ---- */

static bool
grows(const struct run *r)
{
	ns_t half = r->first.t + (r->last.t - r->first.t) / 2;
	uint64_t early = 0, late = 0;

	for (uint32_t i = 0; i < r->n_kept; i++) {
		if (r->kept[i].first.t <= half)
			early += r->kept[i].repeats;
		else
			late += r->kept[i].repeats;
	}
	return r->n_kept >= 5 && late * 2 > early * 5;
}

static void
report_loop(struct replay *r, struct rp *s, const struct run *run)
{
	bool semantic = run->refetches >= MIN_RUN;
	enum confidence conf = run->by_payload || s->midstream ? CONF_MEDIUM : CONF_HIGH;
	struct draft *d;
	ns_t gaps[MAX_KEPT], min = 0, max = 0, period = 0;

	for (uint32_t i = 1; i < run->n_kept; i++)
		gaps[i - 1] = run->kept[i].first.t - run->kept[i - 1].first.t;
	if (run->n_kept > 1)
		period = median(gaps, run->n_kept - 1, &min, &max);
	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	d = draft_new(r->engine, &rule_replay, semantic ? "semantic" : NULL, SEV_ERROR,
	    conf, s->of.session);
	draft_title(d, "the same events are delivered again on each new GET: %llu "
	    "repeats on %llu streams, the cursor does not advance%s",
	    (unsigned long long)run->repeats, (unsigned long long)run->streams,
	    semantic ? ", and the client fetches again each time" : "");
	draft_why(d, "%u GET streams in a row carried only events that the session had "
	    "already been given (%s).  The deliveries grow %s.", run->best,
	    run->by_payload ? "equal payloads in equal order" : "same event ids, with data",
	    grows(run) ? "exponentially: each repeat creates a further listener" :
	    "linearly, one round for each reconnect");
	draft_fix(d, "Server: replay strictly after Last-Event-ID, and only to the stream "
	    "that the id belongs to; give nothing old to a GET without one.  Client: keep "
	    "the last event id over streams that ended without an event, and do not "
	    "reconnect the stream of a POST that was answered.");
	draft_text(d, "growth", grows(run) ? STR("exponential") : STR("linear"));
	draft_num(d, "streams_in_a_row", run->best);
	draft_num(d, "repeats", (double)run->repeats);
	draft_num(d, "refetches", (double)run->refetches);
	for (uint32_t i = 0; i < run->n_kept; i++) {
		const struct stale *k = &run->kept[i];

		draft_stream(d, k->stream);
		if (i < 4 || i + 1 == run->n_kept)
			draft_evidence(d, k->first, "stream %u repeats %u of %u events%s",
			    k->stream, k->repeats, k->data,
			    k->refetched ? ", and the client lists again" : "");
	}
	draft_span(d, run->first, run->last);
	draft_count(d, run->repeats, period, max - min);
	draft_done(d);
}

static void
report_inclusive(struct replay *r, const struct rp *s)
{
	struct draft *d = draft_new(r->engine, &rule_replay, "inclusive", SEV_INFO,
	    CONF_HIGH, s->of.session);

	draft_title(d, "replay starts at Last-Event-ID instead of after it: %llu streams "
	    "repeat one event each", (unsigned long long)s->inclusive);
	draft_why(d, "The event that the client names as its last one comes once more.  "
	    "Harmless by itself; with a takeover it makes a replay loop.");
	draft_fix(d, "Server: replay strictly after Last-Event-ID.");
	draft_span(d, s->incl_first, s->incl_last);
	draft_count(d, s->inclusive, 0, 0);
	draft_done(d);
}

/* cross-stream, cross-session, full-history: one is enough. */
static void
report_once(struct replay *r, struct rp *s, const char *variant, struct at at,
    uint32_t stream, const char *title, const char *why, const char *fix)
{
	struct draft *d = draft_new(r->engine, &rule_replay, variant, SEV_ERROR,
	    s->midstream ? CONF_MEDIUM : CONF_HIGH, s->of.session);

	draft_title(d, "%s", title);
	draft_why(d, "%s", why);
	draft_fix(d, "%s", fix);
	draft_stream(d, stream);
	draft_evidence(d, at, "event on stream %u", stream);
	draft_span(d, at, at);
	draft_count(d, 1, 0, 0);
	draft_done(d);
}

static const struct run *
best_run(const struct replay *r, const struct rp *s)
{
	const struct run *best = NULL;

	for (uint32_t i = 0; i < s->n_runs; i++)
		/* One stream in the row may have lost what was new on it. */
		if (s->runs[i].best >= MIN_RUN + (uint32_t)engine_gaps(r->engine, s->born) &&
		    (best == NULL || s->runs[i].streams > best->streams))
			best = &s->runs[i];
	return best;
}

/* For who watches: the loop goes on. */
static void
look(struct replay *r, struct rp *s)
{
	const struct run *best = s->told ? NULL : best_run(r, s);

	if (best == NULL)
		return;
	s->told = true;
	draft_only_tell(r->engine, true);
	report_loop(r, s, best);
	draft_only_tell(r->engine, false);
}

static void
report(struct replay *r, struct rp *s)
{
	const struct run *best;

	for (uint32_t i = 0; i < s->n_live; i++)
		stream_over(s, &s->live[i]);
	best = best_run(r, s);
	if (best)
		report_loop(r, s, best);
	else if (s->inclusive >= 2)
		report_inclusive(r, s);
}

/* ---- events ---- */

static void
on_stream(struct rp *s, const struct ev *e)
{
	struct live *v;

	if (s->n_live == MAX_LIVE) {
		s->crossed = true;	/* channels cannot be told any more */
		return;
	}
	s->live = xgrow(s->live, s->n_live, &s->cap_live, sizeof *s->live);
	v = &s->live[s->n_live++];
	*v = (struct live){ .stream = e->stream, .lineage = e->u.stream.lineage,
	    .resumes = e->u.stream.resumes, .givers = e->u.stream.givers,
	    .flags = e->flags, .head = { e->t, e->pkt } };
	if (e->u.stream.cursor.p)
		v->cursor = map_digest(e->u.stream.cursor.p, e->u.stream.cursor.n);
	for (uint32_t i = 0; i < s->n_ends; i++)
		if (s->ends[i].stream == e->u.stream.previous)
			v->client_came_back = s->ends[i].client;
	s->midstream |= e->flags & (EVF_MIDSTREAM | EVF_GAP);
}

static void
on_stream_end(struct rp *s, const struct ev *e)
{
	struct live *v = live(s, e->stream);
	struct left *l;

	if (v == NULL)
		return;
	stream_over(s, v);
	*v = s->live[--s->n_live];
	if (s->n_ends < MAX_ENDS) {
		s->ends = xgrow(s->ends, s->n_ends, &s->cap_ends, sizeof *s->ends);
		l = &s->ends[s->n_ends++];
	} else
		l = &s->ends[s->ring++ % MAX_ENDS];
	*l = (struct left){ e->stream, e->u.stream_end.end == EV_CLIENT };
}

static bool
unguessable(struct str id)
{
	if (id.n < 16)
		return false;
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] < '0' || id.p[i] > '9')
			return true;
	return false;
}

static void
check_session(struct replay *r, struct rp *s, const struct ev *e)
{
	struct idrec *rec;
	int fresh;

	if (!unguessable(e->u.sse.id))
		return;
	rec = idtab_put(&r->everywhere, id_of(r->ids) ^
	    e->u.sse.hash, &fresh);
	if (fresh) {
		rec->a = e->session;
		rec->b = e->conn;
		return;
	}
	/* The same server address: two legs of a proxy carry the same ids. */
	if (rec->a == e->session || s->crossed ||
	    !engine_same_server(r->engine, rec->a, e->session))
		return;
	s->crossed = true;
	report_once(r, s, "cross-session", (struct at){ e->t, e->pkt }, e->stream,
	    "events of another session are delivered to this one",
	    "An event id that cannot be guessed came with the same data on another session "
	    "of the same server before.",
	    "Server: key the event store by session; an event id of one session must "
	    "never be replayed to another.  This leaks data between users.");
}

static void
crossed(struct replay *r, struct rp *s, const struct ev *e)
{
	/* Where bytes are missing, the first delivery may be among them. */
	if (s->crossed || engine_gaps(r->engine, s->born))
		return;
	s->crossed = true;
	report_once(r, s, "cross-stream", (struct at){ e->t, e->pkt }, e->stream,
	    "a resumed stream delivers what belongs to another stream of the session",
	    "The event came before, with the same id and data, on a channel that is not the "
	    "one which the Last-Event-ID of this stream belongs to.",
	    "Server: replay only events of the stream that Last-Event-ID belongs to; "
	    "make event ids unique for each stream.");
}

/* A resumed stream must carry its own channel only.  Channels: the stream of
 * the POST, or 0 for what is common to the session. */
static void
check_channel(struct replay *r, struct rp *s, const struct live *v, const struct ev *e)
{
	uint32_t channel = v == NULL ? e->stream : v->of_post ? v->resumes : 0;
	struct idrec *rec;
	int fresh;

	rec = idtab_put(&s->origin, id_of(r->ids) ^
	    e->u.sse.hash, &fresh);
	if (fresh) {
		rec->a = channel;
		rec->b = e->stream;
		return;
	}
	if (v && v->cursor && v->givers == 1 && rec->a != channel)
		crossed(r, s, e);
}

/* The answer of one request on the resumed stream of another. */
static void
check_answer(struct replay *r, struct rp *s, const struct ev *e)
{
	const struct live *v = live(s, e->stream);
	uint32_t x, bits = v && v->of_post && v->givers == 1 ?
	    gets_stream(r->gets, s->of.session, v->resumes, &x) : 0;

	if (bits & STREAM_NO_GET && e->u.msg.of && e->u.msg.of != x)
		crossed(r, s, e);
}

static void
on_sse(struct replay *r, struct rp *s, const struct ev *e)
{
	struct live *v = live(s, e->stream);
	struct at at = { e->t, e->pkt };
	bool old = (e->flags & EVF_REPLAY) != 0;

	if (!e->u.sse.data || !e->u.sse.dispatched)
		return;
	if (e->u.sse.id.p) {
		check_session(r, s, e);
		check_channel(r, s, v, e);
	}
	if (v == NULL)
		return;
	v->data++;
	v->last = at;
	v->last_old = old;
	v->last_id = e->u.sse.id.p ? id_of(r->ids) : 0;
	if (e->u.sse.id.p == NULL) {
		if (v->n_plain < MAX_PLAIN)
			v->plain[v->n_plain++] = e->u.sse.hash;
		return;
	}
	if (!old)
		return;
	if (v->repeats++ == 0)
		v->first_repeat = at;
	v->named += v->cursor == id_of(r->ids);
	s->last_repeat = e->t;
	if (v->cursor && v->givers == 0 && v->repeats == 5 && !s->midstream &&
	    engine_complete(r->engine, s->of.session))
		report_once(r, s, "full-history", at, e->stream,
		    "a cursor that was never given out gets the whole history",
		    "The session was captured from its start and never got that id; the answer "
		    "repeats five or more events that it had been given.",
		    "Server: answer an unknown Last-Event-ID with an error or with new "
		    "events only.");
}

/* A list request right after a repeat: DETECTORS "semantic". */
static void
on_request(struct rp *s, const struct ev *e)
{
	struct str m = e->u.msg.method;

	if (e->u.msg.kind != EV_MSG_REQUEST || m.n < 5 ||
	    memcmp(m.p + m.n - 5, "/list", 5) != 0 || s->last_repeat == 0 ||
	    e->t - s->last_repeat > REFETCH)
		return;
	for (uint32_t i = 0; i < s->n_live; i++)
		if (s->live[i].repeats && s->live[i].last.t == s->last_repeat)
			s->live[i].refetched = true;
	s->last_repeat = 0;
}

static void
close_session(struct replay *r, struct rp *s)
{
	report(r, s);
	keeper_drop(&r->sessions, &s->of);
}

static void
event(void *arg, const struct ev *e)
{
	struct replay *r = arg;
	struct rp *s;
	struct live *v;

	if (e->session == 0)
		return;
	switch (e->type) {
	case EV_STREAM:
		if (is_listener(e))
			on_stream(session(r, e->session, e->t), e);
		break;
	case EV_SSE:
		on_sse(r, session(r, e->session, e->t), e);
		break;
	case EV_OWNER:
		if (e->u.owner.to == EV_REQUEST_STREAM &&
		    (s = find(r, e->session)) != NULL && (v = live(s, e->stream)) != NULL)
			v->of_post = true;
		break;
	case EV_STREAM_END:
		if ((s = find(r, e->session)) == NULL)
			break;
		on_stream_end(s, e);
		look(r, s);
		if (s->over && s->n_live == 0)
			close_session(r, s);
		break;
	case EV_MESSAGE:
		if ((s = find(r, e->session)) == NULL)
			break;
		if (e->dir == EV_C2S)
			on_request(s, e);
		else if (e->u.msg.kind == EV_MSG_RESPONSE || e->u.msg.kind == EV_MSG_ERROR)
			check_answer(r, s, e);
		break;
	case EV_SESSION_END:
		if ((s = find(r, e->session)) == NULL)
			break;
		s->over = true;
		if (s->n_live == 0)
			close_session(r, s);
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST:
	case EV_REQUEST_END: case EV_RESPONSE: case EV_RESPONSE_END:
	case EV_SESSION: case EV_COMMENT: case EV_STALL:
	case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END:
	case EV_N_TYPES:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct replay *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp)
		close_session(r, (struct rp *)k);
}

const struct rule rule_replay = {
	.name = "replay-loop",
	.summary = "cached events are delivered again at each reconnect",
	.reference = "mcpdiag-analyze(1), DETECTORS, replay-loop",
	.wants = RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_OWNER) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_NEWS,
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
