/* refused-get-kills-stream: a GET is refused, and a healthy stream of the same
 * session ends with it.  DETECTORS "refused-get-kills-stream".
 *
 * The end must not be a takeover by a GET that was accepted, the end of the
 * session, or that of the whole server. */
#include <stdlib.h>

#include "rule_gets.h"

#define NEAR (100 * NS_MS)	/* + 2 RTT, from the refusal to the end */
#define TAKEN (50 * NS_MS)	/* + 2 RTT: an end by an accepted GET */
#define TOGETHER (100 * NS_MS)	/* ends of other sessions: a shutdown */
#define WAIT (200 * NS_MS)	/* until all that is known */
#define HEALTHY (100 * NS_MS)	/* the least age of a stream that was well */
#define MAX_RECENT 16
#define MAX_DUE 32
#define MAX_ENDS 64
#define N_KEPT 4

struct death {
	struct got victim, by;
};

struct opening {			/* a GET that was answered */
	uint32_t x;
	ns_t request, head;
};

struct rk {				/* one session */
	struct kept of;
	struct got *refused, *due;	/* the first is a ring, as is */
	struct opening *opened;
	uint32_t n_refused, n_opened, n_due, n, torn;
	uint32_t cap_refused, cap_opened, cap_due, cap_kept;
	struct death *kept, *last;
	struct gets *gets;
	bool deleted;
};

struct kills {
	struct engine *engine;
	struct gets *gets;
	struct keeper sessions;
	struct {
		uint32_t session;
		ns_t t;
	} ends[MAX_ENDS];		/* by servers, a ring */
	uint32_t n_ends, pending;
};

const struct rule rule_kills;

static const struct posts *
told(const struct rk *s)
{
	return gets_posts(s->gets, s->of.session);
}

static void
free_session(struct kept *k)
{
	struct rk *s = (struct rk *)k;

	free(s->refused);
	free(s->opened);
	free(s->due);
	free(s->kept);
	free(s->last);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct kills *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->gets = engine_reader(e, &gets_reader);
	return r;
}

static void
free_rule(void *arg)
{
	struct kills *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct rk *
session(struct kills *r, uint32_t n)
{
	struct rk *s = keeper_get(&r->sessions, n, sizeof *s);

	s->gets = r->gets;
	return s;
}

/* ---- findings ---- */

static void
report(struct kills *r, const struct rk *s)
{
	const struct death *f = &s->kept[0];
	enum confidence conf = s->n > 1 ? CONF_HIGH : CONF_MEDIUM;
	struct draft *d;
	char posts[120];

	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	else if (s->torn && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	posts_say(told(s), f->victim.end.t, posts, sizeof posts);
	d = draft_new(r->engine, &rule_kills, NULL, SEV_ERROR, conf, s->of.session);
	draft_title(d, "a GET is refused with %u, and with it the server ends the stream that "
	    "was well%s", f->by.status, s->n > 1 ? ", each time" : "");
	draft_why(d, "Stream %u had been open for %.1f s when another GET of the session was "
	    "refused; the server ended it %.1f ms after that request, and accepted no other GET "
	    "in its place.  After that %s.", f->victim.stream,
	    (double)(f->victim.end.t - f->victim.head.t) / 1e9,
	    (double)(f->victim.end.t - f->by.request.t) / 1e6, posts);
	draft_fix(d, "Server, or the gateway in front of it: refusing a second GET must leave "
	    "the first and its session alone (supergateway 3.4.3 ends both, 4.0.0 does not; "
	    "rmcp up to 0.16 ends the primary for a cursor that it then refuses).  Client: keep "
	    "one GET listener for each session.");
	draft_num(d, "times", s->n);
	draft_num(d, "status", f->by.status);
	draft_ms(d, "end_after_request_ms", f->victim.end.t - f->by.request.t);
	draft_ms(d, "stream_age_ms", f->victim.end.t - f->victim.head.t);
	draft_text(d, "end", f->victim.how == EV_COMPLETE ? STR("complete, by the server") :
	    STR("truncated, by the server"));
	if (f->by.cursor)
		draft_text(d, "last_event_id", str_c(f->by.cursor_text));
	draft_bool(d, "post_worked_after", told(s)->n_ok && told(s)->ok.t >= f->victim.end.t);
	draft_text(d, "posts", str_c(posts));
	for (uint32_t i = 0; i < s->n && i < N_KEPT; i++) {
		const struct death *k = &s->kept[i];

		draft_stream(d, k->victim.stream);
		draft_evidence(d, k->by.head, "%u for the GET in packet %u", k->by.status,
		    k->by.request.pkt);
		draft_evidence(d, k->victim.end, "the server ends stream %u", k->victim.stream);
	}
	draft_span(d, f->by.request, s->last->victim.end);
	draft_count(d, s->n, 0, 0);
	draft_done(d);
}

/* ---- ends ---- */

static struct opening
opening(const struct got *g)
{
	return (struct opening){ g->x, g->request.t, g->head.t };
}

static ns_t
rtt(const struct opening *o)
{
	ns_t t = o->head - o->request;

	return t < 0 ? 0 : t > 500 * NS_MS ? 500 * NS_MS : t;
}

/* The end comes with that GET.  One that comes even shortly after the end is a client
 * in a hurry, and the session may have ended. */
static bool
with(const struct got *g, const struct opening *by, ns_t near)
{
	ns_t later = by->head > by->request ? by->head : by->request;

	return by->x != g->x && by->request > g->head.t &&
	    by->request <= g->end.t && g->end.t <= later + near + 2 * rtt(by);
}

static bool
shutdown(const struct kills *r, const struct got *g)
{
	uint32_t n = r->n_ends < MAX_ENDS ? r->n_ends : MAX_ENDS;

	for (uint32_t i = 0; i < n; i++) {
		ns_t off = r->ends[i].t - g->end.t;

		if (r->ends[i].session != g->session && off <= TOGETHER && off >= -TOGETHER &&
		    engine_same_server(r->engine, r->ends[i].session, g->session))
			return true;
	}
	return false;
}

static void
judge(struct kills *r, struct rk *s, const struct got *g)
{
	uint32_t n = s->n_opened < MAX_RECENT ? s->n_opened : MAX_RECENT;
	const struct got *by = NULL;

	for (uint32_t i = 0; i < n; i++)
		if (with(g, &s->opened[i], TAKEN))
			return;
	n = s->n_refused < MAX_RECENT ? s->n_refused : MAX_RECENT;
	for (uint32_t i = 0; i < n; i++) {
		struct opening o = opening(&s->refused[i]);

		if (with(g, &o, NEAR) && (by == NULL || o.request > by->request.t))
			by = &s->refused[i];
	}
	if (by == NULL || s->deleted || shutdown(r, g))
		return;
	if (s->last == NULL)
		s->last = xmalloc(sizeof *s->last);
	*s->last = (struct death){ .victim = *g, .by = *by };
	if (s->n < N_KEPT) {
		s->kept = xgrow(s->kept, s->n, &s->cap_kept, sizeof *s->kept);
		s->kept[s->n] = *s->last;
	}
	s->n++;
	s->torn += got_torn(g) || got_torn(by);
	report(r, s);
}

static void
judge_due(struct kills *r, struct rk *s, ns_t now)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < s->n_due; i++) {
		if (now - s->due[i].end.t >= WAIT)
			judge(r, s, &s->due[i]);
		else
			s->due[left++] = s->due[i];
	}
	r->pending -= s->n_due - left;
	s->n_due = left;
}

static void
on_refused(struct rk *s, const struct got *g)
{
	s->refused = ring_room(s->refused, s->n_refused, MAX_RECENT, &s->cap_refused,
	    sizeof *s->refused);
	s->refused[s->n_refused++ % MAX_RECENT] = *g;
}

static void
on_opened(struct rk *s, const struct got *g)
{
	s->opened = ring_room(s->opened, s->n_opened, MAX_RECENT, &s->cap_opened,
	    sizeof *s->opened);
	s->opened[s->n_opened++ % MAX_RECENT] = opening(g);
}

static void
on_ended(struct kills *r, struct rk *s, const struct got *g)
{
	if (!got_by_server(g) || g->left)
		return;
	r->ends[r->n_ends % MAX_ENDS].session = g->session;
	r->ends[r->n_ends++ % MAX_ENDS].t = g->end.t;
	if (g->had_response || s->deleted || g->end.t - g->head.t < HEALTHY ||
	    s->n_due == MAX_DUE)
		return;
	s->due = xgrow(s->due, s->n_due, &s->cap_due, sizeof *s->due);
	s->due[s->n_due++] = *g;
	r->pending++;
}

static void
event(void *arg, const struct ev *e)
{
	struct kills *r = arg;
	const struct got *g;
	enum step step = gets_step(r->gets, e, &g);
	struct rk *s;

	if (step == STEP_NONE || step == STEP_ANSWERED || g->session == 0)
		return;
	s = session(r, g->session);
	switch (step) {
	case STEP_REFUSED:
		if (g->status >= 400)
			on_refused(s, g);
		break;
	case STEP_OPENED:
		on_opened(s, g);
		break;
	case STEP_ENDED:
		on_ended(r, s, g);
		break;
	case STEP_DELETED:
		s->deleted = true;
		break;
	case STEP_NONE: case STEP_ASKED: case STEP_LEFT: case STEP_POSTED:
	case STEP_ANSWERED:
		break;
	}
}

static void
tick(void *arg, ns_t now)
{
	struct kills *r = arg;
	struct kept *k, *tmp;

	if (r->pending == 0)
		return;
	KEEPER_EACH(&r->sessions, k, tmp)
		judge_due(r, (struct rk *)k, now);
}

static void
end(void *arg, ns_t now)
{
	struct kills *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp) {
		struct rk *s = (struct rk *)k;

		for (uint32_t i = 0; i < s->n_due; i++)
			judge(r, s, &s->due[i]);
		if (s->n)		/* what became of POSTs is known now */
			report(r, s);
	}
}

const struct rule rule_kills = {
	.name = "refused-get-kills-stream",
	.summary = "a refused GET ends a healthy stream",
	.reference = "mcpdiag-analyze(1), DETECTORS, refused-get-kills-stream",
	.wants = GETS_WANTS,
	.skips = SKIP_POSTS,
	.new = new, .event = event, .tick = tick, .end = end, .free = free_rule,
};
