/* leapfrog: listeners that evict each other for ever.  DETECTORS "leapfrog".
 *
 * A takeover is a GET stream ended by the server because another GET of the
 * same session was accepted.  Leapfrog is takeovers in which the evicted come
 * back and evict in turn; it is a relation between lineages, not connections. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_util.h"

#define EARLY (5 * NS_MS)	/* reordered capture: the end before its GET */
#define NEAR (50 * NS_MS)	/* + 2 RTT, from the later of request and head */
#define WAIT (60 * NS_MS)	/* until the GET's head must have been seen */
#define AT_ONCE (50 * NS_MS)	/* the least D that a window is made of */
#define MAX_GETS 64		/* GETs of a session remembered */
#define MAX_OPEN 128		/* open GET streams of a session remembered */
#define MAX_KEPT 64		/* takeovers kept with their packets */
#define MAX_PARTIES 256
#define N_POSTS 256		/* recent POSTs, for where a lineage comes from */
#define SHADOW_CAP 32

struct get {
	uint32_t x, stream, lineage;
	struct at request, head;
	bool accepted, paired;
	bool comeback;			/* its listener had been evicted before */
};

struct watched {			/* an open GET stream */
	uint32_t stream, lineage, x, flags;
	bool was_primary;
};

struct ending {				/* ended by the server, cause not yet known */
	struct watched w;
	struct at at;
	uint32_t open;
	bool torn;
};

struct takeover {
	struct get by;
	struct at end;
	uint32_t victim, victim_lineage;
	bool shadow, torn;
};

struct party {
	uint32_t lineage;
	uint32_t evicted, evicts, comebacks;
	uint32_t last_victim;		/* its stream that was evicted last */
	char origin[24];		/* "POST initialize", "GET" */
};

struct lf {				/* one session */
	struct kept of;
	struct get *gets;		/* a ring once MAX_GETS are there */
	struct watched *open;
	struct ending *ending;
	struct takeover *kept;
	struct party *parties;
	ns_t *delays;			/* from an eviction to the comeback */
	uint32_t n_gets, cap_gets, n_open, cap_open, n_ending, cap_ending;
	uint32_t n_kept, cap_kept, n_parties, cap_parties, n_delays, cap_delays;
	uint32_t ring;
	uint64_t takeovers, returning, shadows, torn, early, requests, shared;
	ns_t gap_min, gap_max, first_get, last_get, deleted;
	ns_t last_two[2];		/* ends of the last takeovers */
	bool over;			/* SESSION_END came, streams still open */
	bool dense;			/* three within 10 D, two of them comebacks */
	int64_t retry_ms;
	bool announced;			/* it is known to be one */
};

struct post {
	uint32_t x, stream;
	char method[20];
};

struct leapfrog {
	struct engine *engine;
	struct keeper sessions;
	struct post posts[N_POSTS];
	uint64_t pending;		/* endings of all sessions not yet judged */
};

const struct rule rule_leapfrog;

static void
free_session(struct kept *k)
{
	struct lf *s = (struct lf *)k;

	free(s->gets);
	free(s->open);
	free(s->ending);
	free(s->kept);
	free(s->parties);
	free(s->delays);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct leapfrog *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	return r;
}

static void
free_rule(void *arg)
{
	struct leapfrog *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct lf *
find(struct leapfrog *r, uint32_t n)
{
	return (struct lf *)keeper_find(&r->sessions, n);
}

static struct lf *
session(struct leapfrog *r, uint32_t n)
{
	struct lf *s = find(r, n);

	if (s)
		return s;
	s = xcalloc(1, sizeof *s);
	s->retry_ms = -1;
	s->gap_min = INT64_MAX;
	s->gap_max = INT64_MIN;
	keeper_add(&r->sessions, &s->of, n);
	return s;
}

static struct party *
party(struct lf *s, uint32_t lineage)
{
	struct party *p;

	for (uint32_t i = 0; i < s->n_parties; i++)
		if (s->parties[i].lineage == lineage)
			return &s->parties[i];
	if (s->n_parties == MAX_PARTIES)	/* the rest share the last place */
		return &s->parties[MAX_PARTIES - 1];
	s->parties = xgrow(s->parties, s->n_parties, &s->cap_parties, sizeof *s->parties);
	p = &s->parties[s->n_parties++];
	*p = (struct party){ .lineage = lineage, .origin = "GET" };
	return p;
}

/* Median comeback delay, else what the server asked for: DETECTORS "D". */
static ns_t
delay(const struct lf *s)
{
	ns_t min, max;

	if (s->n_delays)
		return median(s->delays, s->n_delays, &min, &max);
	return s->retry_ms >= 0 ? s->retry_ms * NS_MS : NS_S;
}

/* ---- takeovers ---- */

static void
count_takeover(struct lf *s, const struct takeover *t)
{
	struct party *p = party(s, t->victim_lineage);
	ns_t gap = t->end.t - t->by.head.t;

	p->evicted++;
	p->last_victim = t->victim;
	party(s, t->by.lineage)->evicts++;
	if (s->n_kept < MAX_KEPT) {
		s->kept = xgrow(s->kept, s->n_kept, &s->cap_kept, sizeof *s->kept);
		s->n_kept++;
	}
	s->kept[s->n_kept - 1] = *t;		/* the last place holds the last */
	s->takeovers++;
	s->shadows += t->shadow;
	s->torn += t->torn;
	s->early += t->end.t < t->by.request.t;
	s->returning += t->by.comeback;
	s->gap_min = gap < s->gap_min ? gap : s->gap_min;
	s->gap_max = gap > s->gap_max ? gap : s->gap_max;
	if (s->takeovers >= 3 && s->returning >= 2 && t->by.comeback &&
	    t->end.t - s->last_two[0] <= 10 * (delay(s) > AT_ONCE ? delay(s) : AT_ONCE))
		s->dense = true;
	s->last_two[0] = s->last_two[1];
	s->last_two[1] = t->end.t;
}

/* The last accepted GET, not its own, requested until `t`. */
static struct get *
last_get(struct lf *s, const struct ending *e, ns_t t)
{
	struct get *g = NULL;

	for (uint32_t i = 0; i < s->n_gets; i++) {
		struct get *c = &s->gets[i];

		if (c->x != e->w.x && c->accepted && c->request.t <= t &&
		    (g == NULL || c->request.t > g->request.t))
			g = c;
	}
	return g;
}

static ns_t
later_of(const struct get *g)
{
	return g->head.t > g->request.t ? g->head.t : g->request.t;
}

static bool
explains(const struct get *g, const struct ending *e)
{
	ns_t rtt = g->head.t - g->request.t;

	rtt = rtt < 0 ? 0 : rtt > 500 * NS_MS ? 500 * NS_MS : rtt;
	return !g->paired && g->lineage != e->w.lineage &&
	    e->at.t <= later_of(g) + NEAR + 2 * rtt;
}

/* The last accepted GET requested before that end, if it is what caused the
 * end.  A refused one in between is as good a cause: then nobody took over.
 * One requested after it counts where none before it does: of many listeners,
 * there is always a next one. */
static void
judge(struct lf *s, const struct ending *e)
{
	struct get *g = last_get(s, e, e->at.t + EARLY), *before;
	struct takeover t;

	if (g && g->request.t > e->at.t && g->lineage != e->w.lineage) {
		before = last_get(s, e, e->at.t);
		if (before && explains(before, e))
			g = before;
	}
	if (g == NULL || !explains(g, e))
		return;
	for (uint32_t i = 0; i < s->n_gets; i++)
		if (!s->gets[i].accepted && s->gets[i].request.t > later_of(g) &&
		    s->gets[i].request.t <= e->at.t)
			return;
	g->paired = true;
	t = (struct takeover){ *g, e->at, e->w.stream, e->w.lineage,
	    e->open >= SHADOW_CAP && !e->w.was_primary, e->torn };
	count_takeover(s, &t);
}

/* Judges the endings of which all that could explain them has been seen, and
 * that of `stream` in any case. */
static void
judge_due(struct leapfrog *r, struct lf *s, ns_t now, uint32_t stream)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n_ending; i++) {
		struct ending *e = &s->ending[i];

		if (e->at.t + WAIT <= now || e->w.stream == stream)
			judge(s, e);
		else
			s->ending[kept++] = *e;
	}
	r->pending -= s->n_ending - kept;
	s->n_ending = kept;
}

/* ---- the verdict ---- */

enum shape { NOTHING, ONE, CHAIN, SUSPECTED, LEAPFROG };

/* DETECTORS "Lineage": within a fifth of D; a small one needs some slack. */
static bool
about(ns_t t, ns_t d)
{
	return (t > d ? t - d : d - t) <= d / 5 + AT_ONCE;
}

/* Whether the evicted come back after one and the same delay, as a lineage
 * does.  Clients that come and go by chance look like comebacks, too. */
static bool
steady(const struct lf *s)
{
	ns_t min, max, d = s->n_delays ? median(s->delays, s->n_delays, &min, &max) : 0;
	uint32_t alike = 0;

	for (uint32_t i = 0; i < s->n_delays; i++)
		alike += about(s->delays[i], d) ||
		    (s->retry_ms >= 0 && about(s->delays[i], s->retry_ms * NS_MS));
	return alike >= 2 && alike * 2 > s->n_delays;
}

static enum shape
shape_of(const struct lf *s)
{
	/* Early ends are believed only beside ones in the right order. */
	if (s->takeovers < 1 || s->early > s->takeovers / 2 + 1)
		return NOTHING;
	if (s->dense && steady(s))
		return LEAPFROG;
	if (s->returning && (s->takeovers == 2 || steady(s)))
		return SUSPECTED;
	/* Evicted, back, and it evicts nobody: they were cut together. */
	if (s->returning == 0 && s->n_delays * 2 > s->takeovers)
		return NOTHING;
	return s->takeovers >= 3 ? CHAIN : ONE;
}

/* DETECTORS: high at four and more, each comeback within 15 % of D. */
static enum confidence
confidence_of(const struct lf *s, ns_t d, bool inferred)
{
	uint32_t off = 0;

	for (uint32_t i = 0; i < s->n_delays; i++) {
		ns_t diff = s->delays[i] > d ? s->delays[i] - d : d - s->delays[i];
		off += diff > d * 15 / 100 + 20 * NS_MS;
	}
	if (s->torn == s->takeovers || s->takeovers < 4 || off * 4 > s->n_delays ||
	    s->shadows * 2 > s->takeovers || inferred)
		return CONF_MEDIUM;
	return s->torn * 2 > s->takeovers ? CONF_MEDIUM : CONF_HIGH;
}

static void
write_facts(const struct lf *s, struct draft *d, uint32_t listeners)
{
	ns_t min = 0, max = 0, span = s->last_get - s->first_get;
	ns_t back = s->n_delays ? median(s->delays, s->n_delays, &min, &max) : 0;

	draft_num(d, "takeovers", (double)s->takeovers);
	draft_num(d, "returns", (double)s->returning);
	draft_num(d, "lineages", listeners);
	draft_ms(d, "takeover_gap_min_ms", s->gap_min);
	draft_ms(d, "takeover_gap_max_ms", s->gap_max);
	if (s->retry_ms >= 0)
		draft_num(d, "retry_ms", (double)s->retry_ms);
	if (back) {
		draft_ms(d, "return_after_ms", back);
		draft_ms(d, "return_after_min_ms", min);
		draft_ms(d, "return_after_max_ms", max);
	}
	if (span > 0)
		draft_num(d, "gets_per_minute",
		    (double)(s->requests - 1) * 60e9 / (double)span);
	if (back && s->takeovers > 1) {
		/* Each listener comes back once in D: K - 1 evict meanwhile. */
		ns_t first = s->kept[0].end.t, last = s->kept[s->n_kept - 1].end.t;
		if (last > first)
			draft_num(d, "listeners_by_rate", 1 + (double)
			    (s->takeovers - 1) * (double)back / (double)(last - first));
	}
	draft_num(d, "event_ids_on_several_streams", (double)s->shared);
}

static void
write_evidence(const struct lf *s, struct draft *d)
{
	for (uint32_t i = 0; i < s->n_kept; i++) {
		const struct takeover *t = &s->kept[i];

		draft_stream(d, t->victim);
		draft_stream(d, t->by.stream);
		if (i >= 3 && i + 1 < s->n_kept)
			continue;
		draft_evidence(d, t->by.request, "GET opens stream %u%s", t->by.stream,
		    t->by.comeback ? " (its listener was evicted before)" : "");
		draft_evidence(d, t->end, "the server ends stream %u, %.1f ms from the "
		    "head of stream %u%s", t->victim,
		    (double)(t->end.t - t->by.head.t) / 1e6, t->by.stream,
		    t->torn ? " (the capture has a gap here)" : "");
	}
}

/* "GET, POST initialize, 3 x POST tools/call", and how many in all. */
static void
name_parties(const struct lf *s, struct draft *d, uint32_t *listeners)
{
	char names[160] = "", *at = names;

	*listeners = 0;
	for (uint32_t i = 0; i < s->n_parties; i++) {
		const struct party *p = &s->parties[i];
		size_t left = sizeof names - (size_t)(at - names);
		uint32_t alike = 0;
		bool named = false;
		int n;

		if (p->evicted + p->evicts == 0)
			continue;
		++*listeners;
		for (uint32_t j = 0; j < s->n_parties; j++) {
			const struct party *q = &s->parties[j];

			if (q->evicted + q->evicts == 0 || strcmp(p->origin, q->origin) != 0)
				continue;
			named |= j < i;
			alike++;
		}
		if (named)
			continue;
		n = alike > 1 ? snprintf(at, left, "%s%u x %s", at == names ? "" : ", ",
		    alike, p->origin) : snprintf(at, left, "%s%s",
		    at == names ? "" : ", ", p->origin);
		if (n > 0 && (size_t)n < left)
			at += n;
	}
	draft_text(d, "lineage_origins", str_c(names));
}

static void
write_fix(const struct leapfrog *r, const struct lf *s, struct draft *d)
{
	if (engine_looks(r->engine, s->of.session, "rmcp 0.13-0.16"))
		draft_fix(d, "Server: this looks like rmcp 0.13-0.16; take rmcp 0.17.0 or "
		    "later, where a further GET becomes an idle shadow stream.  Client: do "
		    "not reconnect the stream of a POST whose response has arrived.");
	else if (engine_looks(r->engine, s->of.session, "TypeScript SDK"))
		draft_fix(d, "Server: give the event store getStreamIdForEventId, so that a "
		    "resume of a live stream is refused with 409 instead of taking it over. "
		    "Client: keep one GET listener for each session.");
	else
		draft_fix(d, "Server: while the primary stream is alive, keep a further GET "
		    "as an idle stream (or refuse it with 409) instead of ending the "
		    "primary.  Client: keep one GET listener for each session, and do not "
		    "reconnect the stream of a POST whose response has arrived.");
}

static void
write_leapfrog(const struct lf *s, struct draft *d, uint32_t listeners, bool sure)
{
	ns_t min, max, back = s->n_delays ? median(s->delays, s->n_delays, &min, &max) : 0;
	bool shadows = s->shadows * 2 > s->takeovers;

	if (shadows)
		draft_title(d, "%s evict each other's idle streams at the server's limit: "
		    "%llu evictions, each evicted one back after %.1f s",
		    sure ? "listeners" : "listeners seem to",
		    (unsigned long long)s->takeovers, (double)back / 1e9);
	else
		draft_title(d, "%u listeners %s the channel from each other: %llu "
		    "takeovers, each evicted one back after %.1f s", listeners,
		    sure ? "take" : "seem to take", (unsigned long long)s->takeovers,
		    (double)back / 1e9);
	draft_why(d, "Each new GET of the session makes the server end another listener's "
	    "stream; that listener reconnects %.2f s after its own end (%s) and does the "
	    "same.  %llu of %llu takeovers are by a listener that had been evicted before.  "
	    "Nothing on the client side closed the streams.", (double)back / 1e9,
	    s->retry_ms >= 0 && llabs(back / NS_MS - s->retry_ms) * 5 <= s->retry_ms ?
	    "as the server's retry asks" : "the client's own delay",
	    (unsigned long long)s->returning, (unsigned long long)s->takeovers);
}

/* An end may be judged after later ones, and come before its request. */
static struct at
first_of(const struct lf *s)
{
	struct at first = s->kept[0].by.request;

	for (uint32_t i = 0; i < s->n_kept; i++) {
		if (s->kept[i].by.request.t < first.t)
			first = s->kept[i].by.request;
		if (s->kept[i].end.t < first.t)
			first = s->kept[i].end;
	}
	return first;
}

static struct at
last_of(const struct lf *s)
{
	struct at last = s->kept[0].end;

	for (uint32_t i = 1; i < s->n_kept; i++)
		if (s->kept[i].end.t >= last.t)
			last = s->kept[i].end;
	return last;
}

static void
report(struct leapfrog *r, struct lf *s, bool early)
{
	enum shape shape = shape_of(s);
	bool inferred = engine_inferred(r->engine, s->of.session);
	bool sure = shape == LEAPFROG, chain = shape == CHAIN || shape == ONE;
	ns_t min = 0, max = 0, back;
	const char *variant;
	struct draft *d;
	uint32_t listeners;

	if (shape == NOTHING || (shape == ONE && s->torn))
		return;
	back = s->n_delays ? median(s->delays, s->n_delays, &min, &max) : 0;
	variant = chain ? "chain" : s->shadows * 2 > s->takeovers ? "shadow-eviction" : NULL;
	d = draft_new(r->engine, &rule_leapfrog, variant,
	    sure ? SEV_ERROR : shape == ONE ? SEV_INFO : SEV_WARNING,
	    sure ? confidence_of(s, back, inferred) : chain ? CONF_MEDIUM : CONF_LOW,
	    s->of.session);
	name_parties(s, d, &listeners);
	if (chain) {
		draft_title(d, "%llu GET stream%s replaced by a later GET, and %s",
		    (unsigned long long)s->takeovers, s->takeovers == 1 ? " was" : "s were",
		    s->n_delays ? "no delay is common to those that came back" :
		    "nobody came back");
		draft_why(d, "The server ends a stream when another GET of its session is "
		    "accepted.  No evicted listener reconnected by itself in this capture, "
		    "so it is no loop; with clients that reconnect it would become one.");
	} else
		write_leapfrog(s, d, listeners, sure);
	write_fix(r, s, d);
	write_facts(s, d, listeners);
	write_evidence(s, d);
	draft_span(d, first_of(s), last_of(s));
	draft_count(d, s->takeovers, back, max - back > back - min ? max - back : back - min);
	if (early)
		draft_tell(d);
	else
		draft_done(d);
}

/* For who watches: it is one now. */
static void
announce(struct leapfrog *r, struct lf *s)
{
	if (s->announced || s->takeovers < 3 || shape_of(s) != LEAPFROG)
		return;
	s->announced = true;
	report(r, s, true);
}

/* ---- events ---- */

static void
on_request(struct lf *s, const struct ev *e)
{
	struct get *g;

	if (s->n_gets < MAX_GETS) {
		s->gets = xgrow(s->gets, s->n_gets, &s->cap_gets, sizeof *s->gets);
		g = &s->gets[s->n_gets++];
	} else
		g = &s->gets[s->ring++ % MAX_GETS];
	*g = (struct get){ .x = e->x, .request = { e->t, e->pkt } };
	if (s->requests++ == 0)
		s->first_get = e->t;
	s->last_get = e->t;
}

static void
name_origin(const struct leapfrog *r, struct party *p)
{
	for (uint32_t i = 0; i < N_POSTS; i++)
		if (r->posts[i].stream == p->lineage)
			(void)snprintf(p->origin, sizeof p->origin, "POST %.18s",
			    r->posts[i].method);
}

static void
on_stream(struct leapfrog *r, struct lf *s, const struct ev *e)
{
	struct party *p;
	bool comeback;

	if (e->u.stream.previous)
		judge_due(r, s, e->t - WAIT, e->u.stream.previous);
	announce(r, s);
	p = party(s, e->u.stream.lineage);
	if (p->evicts + p->evicted + p->comebacks == 0)
		name_origin(r, p);
	comeback = e->u.stream.previous && e->u.stream.previous == p->last_victim;
	if (comeback) {
		p->comebacks++;
		p->last_victim = 0;
		if (s->n_delays < MAX_KEPT) {
			s->delays = xgrow(s->delays, s->n_delays, &s->cap_delays,
			    sizeof *s->delays);
			s->delays[s->n_delays++] = e->u.stream.delay_ms * NS_MS;
		}
	}
	for (uint32_t i = 0; i < s->n_gets; i++) {
		struct get *g = &s->gets[i];

		if (g->x != e->x)
			continue;
		g->accepted = true;
		g->head = (struct at){ e->t, e->pkt };
		g->stream = e->stream;
		g->lineage = e->u.stream.lineage;
		g->comeback = comeback;
	}
	if (s->n_open == MAX_OPEN)
		return;
	s->open = xgrow(s->open, s->n_open, &s->cap_open, sizeof *s->open);
	s->open[s->n_open++] = (struct watched){ e->stream, e->u.stream.lineage, e->x,
	    e->flags, false };
}

static void
on_end(struct leapfrog *r, struct lf *s, const struct ev *e)
{
	bool by_server = e->u.stream_end.end == EV_COMPLETE ||
	    e->u.stream_end.end == EV_TRUNCATED;
	struct watched w;
	uint32_t i;

	for (i = 0; i < s->n_open && s->open[i].stream != e->stream; i++)
		;
	if (i == s->n_open)
		return;
	w = s->open[i];
	s->open[i] = s->open[--s->n_open];
	if (!by_server || e->u.stream_end.had_response ||
	    (s->deleted && e->t >= s->deleted))
		return;
	r->pending++;
	s->ending = xgrow(s->ending, s->n_ending, &s->cap_ending, sizeof *s->ending);
	s->ending[s->n_ending++] = (struct ending){ w, { e->t, e->pkt }, s->n_open,
	    ((e->flags | w.flags) & (EVF_GAP | EVF_MIDSTREAM | EVF_INFERRED)) != 0 };
}

static void
remember_post(struct leapfrog *r, const struct ev *e)
{
	struct post *p = &r->posts[e->x % N_POSTS];
	size_t n = e->u.msg.method.n;

	*p = (struct post){ .x = e->x };
	n = n < sizeof p->method ? n : sizeof p->method - 1;
	if (n)
		memcpy(p->method, e->u.msg.method.p, n);
}

static void
close_session(struct leapfrog *r, struct lf *s)
{
	judge_due(r, s, INT64_MAX, 0);
	report(r, s, false);
	keeper_drop(&r->sessions, &s->of);
}

static void
event(void *arg, const struct ev *e)
{
	struct leapfrog *r = arg;
	struct lf *s;

	switch (e->type) {
	case EV_MESSAGE:
		if (e->dir == EV_C2S && e->u.msg.kind == EV_MSG_REQUEST)
			remember_post(r, e);
		break;
	case EV_REQUEST:
		if (e->session == 0)
			break;
		if (str_eq(e->u.req.method, STR("GET")))
			on_request(session(r, e->session), e);
		else if (str_eq(e->u.req.method, STR("DELETE")) &&
		    (s = find(r, e->session)) != NULL)
			s->deleted = e->t;
		break;
	case EV_STREAM:
		if (e->u.stream.kind == EV_POST_RESPONSE) {
			if (r->posts[e->x % N_POSTS].x == e->x)
				r->posts[e->x % N_POSTS].stream = e->stream;
		} else if (is_listener(e))
			on_stream(r, session(r, e->session), e);
		break;
	case EV_STREAM_END:
		if ((s = find(r, e->session)) == NULL)
			break;
		on_end(r, s, e);
		if (s->over && s->n_open == 0)
			close_session(r, s);
		break;
	case EV_OWNER:
		if (e->u.owner.to != EV_PRIMARY || (s = find(r, e->session)) == NULL)
			break;
		for (uint32_t i = 0; i < s->n_open; i++)
			if (s->open[i].stream == e->stream)
				s->open[i].was_primary = true;
		break;
	case EV_SSE:
		if (e->u.sse.retry_ms < 0 && !(e->flags & EVF_REPLAY))
			break;
		if ((s = find(r, e->session)) != NULL) {
			s->shared += (e->flags & EVF_REPLAY) != 0;
			if (e->u.sse.retry_ms >= 0)
				s->retry_ms = e->u.sse.retry_ms;
		}
		break;
	case EV_SESSION_END:
		if ((s = find(r, e->session)) == NULL)
			break;
		s->over = true;
		if (s->n_open == 0)
			close_session(r, s);
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END:
	case EV_RESPONSE: case EV_RESPONSE_END: case EV_COMMENT: case EV_STALL:
	case EV_SESSION: case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END:
	case EV_N_TYPES:
		break;
	}
}

static void
tick(void *arg, ns_t now)
{
	struct leapfrog *r = arg;
	struct kept *k, *tmp;
	uint64_t left = 0;

	if (r->pending == 0)
		return;
	KEEPER_EACH(&r->sessions, k, tmp) {
		struct lf *s = (struct lf *)k;

		if (s->n_ending)
			judge_due(r, s, now, 0);
		announce(r, s);
		left += s->n_ending;
	}
	r->pending = left;
}

static void
end(void *arg, ns_t now)
{
	struct leapfrog *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp)
		close_session(r, (struct lf *)k);
}

const struct rule rule_leapfrog = {
	.name = "leapfrog",
	.summary = "listeners of one session evict each other for ever",
	.reference = "mcpdiag-analyze(1), DETECTORS, leapfrog",
	.wants = RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_REQUEST) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_OWNER) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_POSTS | SKIP_NEWS | SKIP_ANSWERS | SKIP_PLAIN,
	.new = new, .event = event, .tick = tick, .end = end, .free = free_rule,
};
