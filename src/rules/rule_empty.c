/* empty-accept-loop: a GET is accepted, ended at once, and asked again for
 * ever.  DETECTORS "empty-accept-loop".
 *
 * An empty accept is a GET stream that the server ends within two seconds of
 * its head with no more than one event with data, and not because another GET
 * of the session took its place.  Four of them from one listener, or with one
 * cursor, at equal intervals are the loop.  An answer that is no event stream
 * at all can never become one: two of them are enough. */
#include <stdio.h>
#include <stdlib.h>

#include "rule_gets.h"

#define SHORT (2 * NS_S)	/* an accepted stream that lives no longer */
#define EARLY (5 * NS_MS)	/* reordered capture, as leapfrog */
#define NEAR (50 * NS_MS)	/* + 2 RTT: an end that another GET caused */
#define WAIT (60 * NS_MS)	/* until that GET's head must have been seen */
#define AT_ONCE (50 * NS_MS)	/* spacing of a client that does not wait */
#define HELD (50 * NS_MS)	/* a stream that a polling server keeps open */
#define PAUSE (10 * NS_S)	/* the least interval that ends a loop */
#define MIN_LOOP 4
#define SURE 6			/* high confidence from so many on */
#define MIN_WRONG 2
#define N_GAPS 16		/* intervals that must be alike */
#define N_KEPT 4
#define MAX_LOOPS 32
#define MAX_RECENT 32
#define MAX_DUE 64
#define MAX_STREAMS 64

struct loop {
	uint32_t lineage;		/* 0: by cursor */
	uint64_t cursor;		/* then what they ask for */
	uint64_t asked;			/* cursor of its first GET */
	bool one_cursor;		/* all had that one */
	uint32_t n, useful, coupled, truncated, torn, events;
	ns_t gaps[N_GAPS], lives[N_GAPS];	/* rings */
	uint32_t n_gaps, n_lives;
	struct got kept[N_KEPT], last;
	uint32_t streams[MAX_STREAMS], n_streams;
	uint32_t others;		/* GET streams open beside it */
	bool fired;
};

struct wrong {				/* answers that are no event streams */
	uint32_t n;
	struct got kept[N_KEPT], last;
	ns_t gaps[N_GAPS];
	uint32_t n_gaps;
};

struct seen {				/* an accepted GET, for coupling */
	uint32_t x, lineage;
	ns_t request, head;
};

struct due {				/* an end not yet judged */
	struct got g;
	uint32_t others;
};

struct ea {				/* one session */
	struct kept of;
	struct loop *loops, *best;
	uint32_t n_loops, cap_loops, next_loop;
	struct seen *recent;		/* a ring */
	uint32_t n_recent, cap_recent, n_open;
	struct due *due;
	uint32_t n_due, cap_due;
	struct wrong *wrong, *worst;	/* NULL: none */
	struct gets *gets;
	struct got *finished;		/* empty answers to finished POSTs: first, last */
	uint32_t n_finished, n_gets, n_loops_fired;
	bool invites;			/* some GET stream said to come back */
	bool over;
};

struct empty {
	struct engine *engine;
	struct gets *gets;
	struct keeper sessions;
	uint64_t pending;
};

const struct rule rule_empty;

static const struct posts *
told(const struct ea *s)
{
	return gets_posts(s->gets, s->of.session);
}

static void
free_session(struct kept *k)
{
	struct ea *s = (struct ea *)k;

	free(s->loops);
	free(s->best);
	free(s->due);
	free(s->recent);
	free(s->wrong);
	free(s->worst);
	free(s->finished);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct empty *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->gets = engine_reader(e, &gets_reader);
	return r;
}

static void
free_rule(void *arg)
{
	struct empty *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct ea *
find(struct empty *r, uint32_t n)
{
	return (struct ea *)keeper_find(&r->sessions, n);
}

static struct ea *
session(struct empty *r, uint32_t n)
{
	struct ea *s = find(r, n);

	if (s)
		return s;
	s = xcalloc(1, sizeof *s);
	s->gets = r->gets;
	keeper_add(&r->sessions, &s->of, n);
	return s;
}

/* What a GET asks to go on with, if that is plain. */
enum resumed { NO_POST, POST_UNANSWERED, POST_ANSWERED };

static enum resumed
resumed(const struct ea *s, const struct got *g)
{
	uint32_t x, bits = g->givers == 1 ?
	    gets_stream(s->gets, s->of.session, g->resumes, &x) : 0;

	if (!(bits & STREAM_NO_GET) || !(bits & STREAM_OVER))
		return NO_POST;
	return bits & (STREAM_ANSWERED | STREAM_RESUMED) ? POST_ANSWERED : POST_UNANSWERED;
}

/* ---- one loop ---- */

/* All intervals alike, or all of no length: coefficient of variation 0.25. */
static bool
steady(const ns_t *v, uint32_t n)
{
	double sum = 0, squares = 0, mean;
	ns_t min, max;

	if (n == 0)
		return false;
	if (median(v, n, &min, &max) < AT_ONCE)
		return true;
	for (uint32_t i = 0; i < n; i++) {
		double d = (double)v[i] / 1e6;

		sum += d;
		squares += d * d;
	}
	mean = sum / n;
	return squares / n - mean * mean <= 0.0625 * mean * mean;
}

static uint32_t
kept_gaps(const struct loop *l)
{
	return l->n_gaps < N_GAPS ? l->n_gaps : N_GAPS;
}

static ns_t
life_of(const struct loop *l)
{
	ns_t min, max;

	return median(l->lives, l->n_lives < N_GAPS ? l->n_lives : N_GAPS, &min, &max);
}

static void
judge_loop(struct loop *l)
{
	uint32_t empty = l->n - l->useful;

	/* A few ends beside another GET's head are chance. */
	if (empty >= MIN_LOOP && l->useful * 2 < l->n && l->coupled * 5 <= l->n &&
	    steady(l->gaps, kept_gaps(l)))
		l->fired = true;
}

static void
loop_over(struct ea *s, struct loop *l)
{
	if (l->fired) {
		s->n_loops_fired += l->lineage != 0;
		if (s->best == NULL || (s->best->lineage == 0) > (l->lineage == 0) ||
		    ((s->best->lineage == 0) == (l->lineage == 0) && s->best->n < l->n)) {
			s->best = s->best ? s->best : xmalloc(sizeof *s->best);
			*s->best = *l;
		}
	}
	*l = (struct loop){ .lineage = l->lineage, .cursor = l->cursor };
}

static struct loop *
loop_of(struct ea *s, uint32_t lineage, uint64_t cursor, bool make)
{
	struct loop *l;

	for (uint32_t i = 0; i < s->n_loops; i++) {
		l = &s->loops[i];
		if (lineage ? l->lineage == lineage :
		    l->lineage == 0 && l->cursor == cursor)
			return l;
	}
	if (!make)
		return NULL;
	if (s->n_loops < MAX_LOOPS) {
		s->loops = xgrow(s->loops, s->n_loops, &s->cap_loops, sizeof *s->loops);
		l = &s->loops[s->n_loops++];
		*l = (struct loop){ 0 };
	} else {
		l = &s->loops[s->next_loop++ % MAX_LOOPS];
		loop_over(s, l);
	}
	*l = (struct loop){ .lineage = lineage, .cursor = cursor };
	return l;
}

static void
extend(struct ea *s, struct loop *l, const struct due *d, bool coupled)
{
	const struct got *g = &d->g;
	ns_t gap = g->request.t - l->last.request.t, min, max;

	if (l->n && (gap < 0 || (gap > PAUSE && l->n_gaps &&
	    gap > 3 * median(l->gaps, kept_gaps(l), &min, &max))))
		loop_over(s, l);
	if (l->fired && l->one_cursor && l->asked != g->cursor)
		loop_over(s, l);	/* it is frozen no longer: another one */
	if (l->n)
		l->gaps[l->n_gaps++ % N_GAPS] = gap;
	l->lives[l->n_lives++ % N_GAPS] = g->end.t - g->head.t;
	l->one_cursor = l->n == 0 ? g->cursor != 0 : l->one_cursor && l->asked == g->cursor;
	l->asked = l->n == 0 ? g->cursor : l->asked;
	if (l->n < N_KEPT)
		l->kept[l->n] = *g;
	l->last = *g;
	l->n++;
	l->useful += g->messages > 0;	/* repeats, too: replay-loop */
	l->events += g->data;
	l->coupled += coupled;
	l->truncated += g->how == EV_TRUNCATED;
	l->torn += got_torn(g);
	l->others = d->others > l->others ? d->others : l->others;
	if (l->n_streams < MAX_STREAMS)
		l->streams[l->n_streams++] = g->stream;
	judge_loop(l);
}

/* ---- findings ---- */

static enum confidence
cap(const struct empty *r, const struct ea *s, enum confidence conf, bool torn)
{
	if (engine_inferred(r->engine, s->of.session))
		return CONF_LOW;
	return torn && conf > CONF_MEDIUM ? CONF_MEDIUM : conf;
}

static void
say_common(const struct ea *s, struct draft *d, const struct got *first,
    const struct got *last, uint64_t n, const ns_t *gaps, uint32_t n_gaps)
{
	ns_t min = 0, max = 0, period = n_gaps ? median(gaps, n_gaps, &min, &max) : 0;
	char posts[120];

	posts_say(told(s), first->request.t, posts, sizeof posts);
	draft_num(d, "gets", (double)n);
	if (period) {
		draft_ms(d, "period_ms", period);
		draft_ms(d, "period_min_ms", min);
		draft_ms(d, "period_max_ms", max);
		draft_num(d, "gets_per_day_at_this_rate",
		    (double)(int64_t)(86400e9 / (double)period));
	}
	draft_num(d, "status", last->status);
	draft_text(d, "content_type", str_c(last->type));
	draft_text(d, "required", STR("200 text/event-stream that stays open, or 405"));
	if (last->cursor)
		draft_text(d, "last_event_id", str_c(last->cursor_text));
	draft_bool(d, "post_worked_meanwhile", told(s)->n_ok && told(s)->ok.t >= first->request.t);
	draft_text(d, "posts", str_c(posts));
	if (last->agent_text[0])
		draft_text(d, "user_agent", str_c(last->agent_text));
	draft_span(d, first->request, last->end.t ? last->end : last->head);
	draft_count(d, n, period, max - period > period - min ? max - period : period - min);
}

static void
report_wrong(struct empty *r, const struct ea *s, const struct wrong *w)
{
	const struct got *l = &w->last;
	const char *type = l->type[0] ? l->type : "no content type";
	bool proxy = got_by_proxy(l, told(s));
	struct draft *d;

	d = draft_new(r->engine, &rule_empty, "wrong-type", SEV_ERROR, cap(r, s,
	    w->n > MIN_WRONG ? CONF_HIGH : CONF_MEDIUM, got_torn(l) || proxy), s->of.session);
	draft_title(d, "GET is answered 200 with %.40s instead of an event stream, and asked "
	    "again: %u times", type, w->n);
	draft_why(d, "The client asks for text/event-stream; the answer is 200 and something "
	    "else, which a client may take for a stream that ended, and reconnect without ever "
	    "giving up.%s", proxy ? "  Another server software than that of the POSTs made the "
	    "answer: a proxy or a web page in front." : "");
	draft_fix(d, "%s: answer GET with an event stream that stays open, or with 405 and "
	    "Allow: POST if there is none.  Client: take a 200 that is not text/event-stream "
	    "for a refusal.", proxy ? "Server, or the hop before it" : "Server");
	say_common(s, d, &w->kept[0], l, w->n, w->gaps,
	    w->n_gaps < N_GAPS ? w->n_gaps : N_GAPS);
	for (uint32_t i = 0; i < w->n && i < N_KEPT; i++)
		draft_evidence(d, w->kept[i].head, "200 %.40s for the GET in packet %u",
		    w->kept[i].type, w->kept[i].request.pkt);
	if (w->n > N_KEPT)
		draft_evidence(d, l->head, "200 %.40s again", l->type);
	draft_done(d);
}

static void
fix_loop(const struct empty *r, const struct ea *s, struct draft *d, bool finished)
{
	if (finished && engine_looks(r->engine, s->of.session, "rmcp"))
		draft_fix(d, "Server: rmcp from 1.5.0 on, and 3.1.4 still, answers the resume of "
		    "an answered request 200 and ends it; an error status or a stream that "
		    "stays open would stop this.  Client: do not reconnect the stream of a POST "
		    "whose response has arrived (TypeScript SDK: from 1.24.0), and count "
		    "streams that end empty as failures.");
	else if (finished)
		draft_fix(d, "Client: do not reconnect the stream of a POST whose response has "
		    "arrived, and count streams that end empty as failures.  Server: refuse a "
		    "cursor that leads nowhere instead of answering 200 and ending the stream.");
	else
		draft_fix(d, "Server: keep the GET stream open, or answer 405 if there is "
		    "nothing to send on one.  Client: count streams that end without an event "
		    "as failures, wait longer each time, and give up.");
}

/* A server that polls says when to come back, if not on each stream, and
 * holds each a while. */
static bool
polls(const struct ea *s, const struct loop *l)
{
	return s->invites && l->truncated == 0 && life_of(l) >= HELD;
}

static void
report_loop(struct empty *r, struct ea *s, const struct loop *l)
{
	bool frozen = l->one_cursor, poll = polls(s, l);
	bool finished = frozen && resumed(s, &l->last) == POST_ANSWERED;
	ns_t min, max, period = median(l->gaps, kept_gaps(l), &min, &max);
	struct draft *d;

	d = draft_new(r->engine, &rule_empty, frozen ? "frozen-cursor" : NULL,
	    poll ? SEV_INFO : SEV_ERROR, cap(r, s, l->n >= SURE ? CONF_HIGH : CONF_MEDIUM,
	    l->torn > 0), s->of.session);
	draft_title(d, "GET is accepted and the stream ends %s: %u times, every %.2f s%s",
	    poll ? "after a while, as with polling" : "at once with nothing on it", l->n,
	    (double)period / 1e9, frozen ? ", always with the same Last-Event-ID" : "");
	draft_why(d, "Each stream was answered 200 and ended by the server %.0f ms later (%s) "
	    "with %u events with data in all, and the client, which takes that for a success, "
	    "came back after the same delay.  No other GET took the stream over%s.%s",
	    (double)life_of(l) / 1e6, l->truncated == 0 ? "with a terminator" :
	    l->truncated == l->n ? "by closing the connection" :
	    "with a terminator or by closing the connection", l->events,
	    l->others ? "; other GET streams of the session were open" : "", finished ?
	    "  The cursor belongs to a request whose response had been delivered." : "");
	if (poll)
		draft_fix(d, "Nothing, if the server means to be polled: it says when to come "
		    "back.  Otherwise keep the stream open.");
	else
		fix_loop(r, s, d, finished);
	say_common(s, d, &l->kept[0], &l->last, l->n, l->gaps, kept_gaps(l));
	draft_ms(d, "stream_age_ms", life_of(l));
	draft_text(d, "end", l->truncated == 0 ? STR("complete, by the server") :
	    STR("truncated, by the server"));
	draft_num(d, "other_gets_open", l->others);
	draft_bool(d, "cursor_of_finished_request", finished);
	if (s->n_loops_fired > 1)
		draft_num(d, "loops", s->n_loops_fired);
	for (uint32_t i = 0; i < l->n && i < N_KEPT; i++)
		draft_evidence(d, l->kept[i].end, "stream %u ends %.1f ms after its head; GET in "
		    "packet %u%s%.40s", l->kept[i].stream,
		    (double)(l->kept[i].end.t - l->kept[i].head.t) / 1e6,
		    l->kept[i].request.pkt, l->kept[i].cursor ? ", Last-Event-ID " : "",
		    l->kept[i].cursor_text);
	if (l->n > N_KEPT)
		draft_evidence(d, l->last.end, "stream %u ends so, too", l->last.stream);
	for (uint32_t i = 0; i < l->n_streams; i++)
		draft_stream(d, l->streams[i]);
	draft_done(d);
}

static void
report_finished(struct empty *r, const struct ea *s)
{
	struct draft *d = draft_new(r->engine, &rule_empty, "finished-post", SEV_INFO,
	    cap(r, s, CONF_HIGH, got_torn(&s->finished[0])), s->of.session);

	draft_title(d, "the resume of an answered request was given an empty 200, %u time%s, "
	    "and not repeated", s->n_finished, s->n_finished == 1 ? "" : "s");
	draft_why(d, "Some servers answer so by design (rmcp from 1.5.0 on); with a client that "
	    "asks again it would be a loop.");
	draft_fix(d, "Client: do not reconnect the stream of a POST whose response has "
	    "arrived.");
	draft_stream(d, s->finished[0].stream);
	draft_evidence(d, s->finished[0].end, "stream %u ends empty", s->finished[0].stream);
	draft_span(d, s->finished[0].request, s->finished[1].end);
	draft_count(d, s->n_finished, 0, 0);
	draft_done(d);
}

/* ---- ends ---- */

/* Another listener's GET was accepted just then: a takeover.  One that lived
 * no time at all was not taken over by what came a moment later. */
static bool
coupled(const struct ea *s, const struct got *g)
{
	ns_t early = g->end.t - g->head.t >= HELD ? EARLY : 0;
	uint32_t n = s->n_recent < MAX_RECENT ? s->n_recent : MAX_RECENT;

	for (uint32_t i = 0; i < n; i++) {
		const struct seen *b = &s->recent[i];
		ns_t later = b->head > b->request ? b->head : b->request;
		ns_t rtt = b->head - b->request;

		rtt = rtt < 0 ? 0 : rtt > 500 * NS_MS ? 500 * NS_MS : rtt;
		if (b->x != g->x && b->lineage != g->lineage && b->request > g->head.t &&
		    g->end.t >= b->request - early && g->end.t <= later + NEAR + 2 * rtt)
			return true;
	}
	return false;
}

static void
judge(struct empty *r, struct ea *s, const struct due *d)
{
	const struct got *g = &d->g;
	enum resumed post = resumed(s, g);
	bool empty = got_by_server(g) && g->end.t - g->head.t <= SHORT && g->data <= 1 &&
	    !g->had_response && !(g->flags & (EVF_UNDECODED | EVF_CUT));
	bool beside = coupled(s, g);
	struct loop *l;
	bool was;

	/* A long request that is polled for its answer: not a loop. */
	if (post == POST_UNANSWERED)
		empty = false;
	if (empty && post != NO_POST && g->data == 0 && !beside) {
		if (s->n_finished++ == 0) {
			s->finished = xmalloc(2 * sizeof *s->finished);
			s->finished[0] = *g;
		}
		s->finished[1] = *g;
	}
	if (empty) {
		l = loop_of(s, g->lineage, 0, true);
		was = l->fired;
		extend(s, l, d, beside);
		if (l->fired && !was)	/* for those who watch */
			report_loop(r, s, l);
		if (g->cursor)
			extend(s, loop_of(s, 0, g->cursor, true), d, beside);
		return;
	}
	if ((l = loop_of(s, g->lineage, 0, false)) != NULL)
		loop_over(s, l);
	if (g->cursor && (l = loop_of(s, 0, g->cursor, false)) != NULL)
		loop_over(s, l);
}

static void
judge_due(struct empty *r, struct ea *s, ns_t now)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < s->n_due; i++) {
		if (s->due[i].g.end.t + WAIT <= now)
			judge(r, s, &s->due[i]);
		else
			s->due[left++] = s->due[i];
	}
	r->pending -= s->n_due - left;
	s->n_due = left;
}

static void
wrong_over(struct ea *s)
{
	if (s->wrong && (s->worst == NULL || s->wrong->n > s->worst->n)) {
		free(s->worst);
		s->worst = s->wrong;
	} else {
		free(s->wrong);
	}
	s->wrong = NULL;
}

static void
close_session(struct empty *r, struct ea *s)
{
	judge_due(r, s, INT64_MAX);
	for (uint32_t i = 0; i < s->n_loops; i++)
		loop_over(s, &s->loops[i]);
	wrong_over(s);
	if (s->worst && s->worst->n >= MIN_WRONG)
		report_wrong(r, s, s->worst);
	if (s->best)
		report_loop(r, s, s->best);
	else if (s->n_finished)
		report_finished(r, s);
	keeper_drop(&r->sessions, &s->of);
}

/* ---- events ---- */

static void
on_refused(struct empty *r, struct ea *s, const struct got *g)
{
	struct wrong *w;

	if (g->status != 200 || !g->asks_stream ||
	    (!g->named && told(s)->path && told(s)->path != g->path))
		return;
	if (s->wrong == NULL)
		s->wrong = xcalloc(1, sizeof *s->wrong);
	w = s->wrong;
	if (w->n)
		w->gaps[w->n_gaps++ % N_GAPS] = g->request.t - w->last.request.t;
	if (w->n < N_KEPT)
		w->kept[w->n] = *g;
	w->last = *g;
	if (++w->n != MIN_WRONG)
		return;
	draft_only_tell(r->engine, true);	/* for who watches */
	report_wrong(r, s, w);
	draft_only_tell(r->engine, false);
}

static void
on_opened(struct ea *s, const struct got *g)
{
	s->recent = ring_room(s->recent, s->n_recent, MAX_RECENT, &s->cap_recent,
	    sizeof *s->recent);
	s->recent[s->n_recent++ % MAX_RECENT] = (struct seen){ g->x, g->lineage,
	    g->request.t, g->head.t };
	s->n_open++;
	wrong_over(s);
}

static void
on_ended(struct empty *r, struct ea *s, const struct got *g)
{
	s->n_open -= s->n_open > 0;
	s->invites |= g->primed;
	if (s->n_due == MAX_DUE)
		judge_due(r, s, INT64_MAX);
	s->due = xgrow(s->due, s->n_due, &s->cap_due, sizeof *s->due);
	s->due[s->n_due++] = (struct due){ *g, s->n_open };
	r->pending++;
}

static void
event(void *arg, const struct ev *e)
{
	struct empty *r = arg;
	const struct got *g;
	enum step step = gets_step(r->gets, e, &g);
	struct ea *s;

	if (e->type == EV_SESSION_END && (s = find(r, e->session)) != NULL) {
		s->over = true;
		if (s->n_open == 0)
			close_session(r, s);
		return;
	}
	if (step == STEP_NONE || step == STEP_POSTED || g->session == 0)
		return;
	s = step == STEP_ANSWERED ? find(r, g->session) : session(r, g->session);
	if (s == NULL)
		return;
	switch (step) {
	case STEP_REFUSED:
		on_refused(r, s, g);
		break;
	case STEP_OPENED:
		on_opened(s, g);
		break;
	case STEP_ENDED:
		on_ended(r, s, g);
		if (s->over && s->n_open == 0)
			close_session(r, s);
		break;
	case STEP_ANSWERED:
		/* Without a session id a new run of the client begins here. */
		if (g->init && engine_inferred(r->engine, g->session))
			wrong_over(s);
		break;
	case STEP_NONE: case STEP_ASKED: case STEP_LEFT: case STEP_POSTED: case STEP_DELETED:
		break;
	}
}

static void
tick(void *arg, ns_t now)
{
	struct empty *r = arg;
	struct kept *k, *tmp;

	if (r->pending == 0)
		return;
	KEEPER_EACH(&r->sessions, k, tmp)
		judge_due(r, (struct ea *)k, now);
}

static void
end(void *arg, ns_t now)
{
	struct empty *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp)
		close_session(r, (struct ea *)k);
}

const struct rule rule_empty = {
	.name = "empty-accept-loop",
	.summary = "a GET is accepted, ended at once and asked again for ever",
	.reference = "mcpdiag-analyze(1), DETECTORS, empty-accept-loop",
	.wants = GETS_WANTS | RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_POSTS,
	.new = new, .event = event, .tick = tick, .end = end, .free = free_rule,
};
