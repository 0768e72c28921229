/* collateral-teardown: GETs fail, and the client gives up a session whose POSTs
 * work.  DETECTORS "collateral-teardown".
 *
 * Given up: within five seconds of the failure, and with no POST between, the
 * same client initializes anew, and the old session gets nothing more but a
 * DELETE.  A client that merely ends looks alike up to the initialize. */
#include <stdlib.h>

#include "rule_gets.h"

#define SOON (5 * NS_S)		/* from the failure to the new initialize */
#define QUIET (10 * NS_S)	/* of a session that was left without DELETE */
#define MIN_ENDS 2		/* in a row: one may be anything */
#define MAX_FAILING 64

struct ct {				/* one session */
	struct kept of;
	struct gets *gets;
	uint32_t n_open, n_refused, n_ended, status, torn;
	struct got *failed;		/* the first and last GET of a row; NULL: none */
	struct at deleted;
	uint64_t client;
	uint32_t heir;			/* the session made instead */
	struct at left;			/* when that was */
	bool had_get, weak, back;	/* back: it was used again */
	ns_t seen;			/* last request but DELETE */
};

struct collateral {
	struct engine *engine;
	struct gets *gets;
	struct keeper sessions;
	struct idtab clients;		/* client -> sessions it gave up so */
	uint32_t failing[MAX_FAILING], n_failing;
};

const struct rule rule_collateral;

static const struct posts *
told(const struct ct *s)
{
	return gets_posts(s->gets, s->of.session);
}

static void
free_session(struct kept *k)
{
	free(((struct ct *)k)->failed);
	free(k);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct collateral *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->gets = engine_reader(e, &gets_reader);
	idtab_init(&r->clients, (uint32_t)lim->sessions);
	return r;
}

static void
free_rule(void *arg)
{
	struct collateral *r = arg;

	idtab_fini(&r->clients);
	keeper_fini(&r->sessions);
	free(r);
}

static struct ct *
session(struct collateral *r, uint32_t n)
{
	struct ct *s = keeper_get(&r->sessions, n, sizeof *s);

	s->gets = r->gets;
	return s;
}

static uint64_t
client(const struct got *g)
{
	uint64_t key[2] = { g->client, g->address };

	return g->address ? map_digest(key, sizeof key) : 0;
}

/* ---- failures ---- */

static void
failed(struct collateral *r, struct ct *s, const struct got *g)
{
	if (s->failed == NULL)
		s->failed = xmalloc(2 * sizeof *s->failed);
	if (s->n_refused + s->n_ended == 0)
		s->failed[0] = *g;
	s->failed[1] = *g;
	s->torn += got_torn(g);
	s->client = client(g);
	r->failing[r->n_failing++ % MAX_FAILING] = s->of.session;
}

static void
on_refused(struct collateral *r, struct ct *s, const struct got *g)
{
	/* 405 to the first GET is an answer, and no failure. */
	if (g->status < 400 || !(g->asks_stream || g->named) ||
	    (g->status == 405 && !s->had_get))
		return;
	failed(r, s, g);
	s->n_refused++;
	s->status = g->status;
	s->weak = s->n_open > 0;
}

static void
on_ended(struct collateral *r, struct ct *s, const struct got *g)
{
	s->n_open -= s->n_open > 0;
	if (g->of_post || g->had_response || g->left || g->how != EV_COMPLETE || g->data) {
		s->n_refused = s->n_ended = s->torn = 0;
		return;
	}
	failed(r, s, g);
	s->n_ended++;
}

/* Whether POSTs of the session still work, as far as they tell.  Statuses that
 * may mean the whole session need one answered after the first failure. */
static bool
well(const struct ct *s)
{
	const struct posts *p = told(s);

	if (p->n_ok == 0 || (p->n_failed && p->failed.t > p->ok.t))
		return false;
	switch (s->n_refused ? s->status : 405) {
	case 403: case 405: case 406: case 409:
		return true;
	default:
		return p->ok.t >= s->failed[0].request.t;
	}
}

static void
on_initialized(struct collateral *r, const struct got *g)
{
	uint32_t n = r->n_failing < MAX_FAILING ? r->n_failing : MAX_FAILING;
	uint64_t who = client(g);

	for (uint32_t i = 0; i < n && who; i++) {
		struct ct *s = (struct ct *)keeper_find(&r->sessions, r->failing[i]);
		struct at at;

		if (s == NULL || s->heir || s->of.session == g->session || s->client != who)
			continue;
		at = s->failed[1].end.t ? s->failed[1].end : s->failed[1].head;
		if (g->request.t < at.t || g->request.t - at.t > SOON || s->seen > at.t ||
		    (s->n_refused == 0 && s->n_ended < MIN_ENDS) || !well(s))
			continue;
		s->weak |= s->n_refused == 0;
		s->heir = g->session;
		s->left = g->request;
	}
}

/* ---- the verdict ---- */

static bool
gave_up(const struct ct *s, ns_t now)
{
	return s->heir && !s->back && (s->deleted.t || now - s->left.t >= QUIET);
}

static void
report(struct collateral *r, const struct ct *s, uint32_t times)
{
	enum confidence conf = times > 1 && !s->weak ? CONF_HIGH : CONF_MEDIUM;
	struct at fail = s->failed[1].end.t ? s->failed[1].end : s->failed[1].head;
	struct draft *d;

	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	else if (s->torn && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	d = draft_new(r->engine, &rule_collateral, NULL, SEV_ERROR, conf, s->of.session);
	draft_title(d, "the client gives up a session whose POSTs work, because its GET fails "
	    "(%u time%s)", s->n_refused + s->n_ended, s->n_refused + s->n_ended == 1 ? "" : "s");
	draft_why(d, "%s; the last POST of the session was answered, but %.1f s after the last "
	    "failure the same client began a new session%s and left this one.  Calls in flight "
	    "and what the session held are lost.", s->n_refused ? "GET was refused" :
	    "Each GET stream was ended by the server with nothing on it",
	    (double)(s->left.t - fail.t) / 1e9, s->deleted.t ? ", after a DELETE," : "");
	draft_fix(d, "Client: the GET stream is optional; keep the session while its POSTs work "
	    "(go-sdk 1.7 gives up after five GETs without progress, and on 405 to a later one). "
	    " Server: keep the stream open, with comments and event ids, or answer the first GET "
	    "with 405.");
	draft_num(d, "get_failures", s->n_refused + s->n_ended);
	if (s->n_refused)
		draft_num(d, "status", s->status);
	draft_text(d, "end", s->n_refused ? STR("refused") : STR("complete, by the server"));
	draft_ms(d, "new_session_after_ms", s->left.t - fail.t);
	draft_num(d, "new_session", s->heir);
	draft_num(d, "sessions_given_up", times);
	draft_bool(d, "deleted", s->deleted.t != 0);
	draft_bool(d, "post_worked_meanwhile", told(s)->ok.t >= s->failed[0].request.t);
	if (s->failed[1].agent_text[0])
		draft_text(d, "user_agent", str_c(s->failed[1].agent_text));
	draft_evidence(d, s->failed[0].request, "the first GET that fails");
	draft_evidence(d, fail, "the last one fails");
	draft_evidence(d, told(s)->ok, "a POST of the session is answered");
	if (s->deleted.t)
		draft_evidence(d, s->deleted, "the client deletes the session");
	draft_evidence(d, s->left, "and initializes another");
	draft_span(d, s->failed[0].request, s->left);
	draft_count(d, 1, 0, 0);
	draft_done(d);
}

/* For who watches: what was deleted will not be used again. */
static void
look(struct collateral *r, const struct got *g)
{
	uint32_t n = r->n_failing < MAX_FAILING ? r->n_failing : MAX_FAILING;

	for (uint32_t i = 0; i < n; i++) {
		const struct ct *s = (struct ct *)keeper_find(&r->sessions, r->failing[i]);

		if (s == NULL || s->heir != g->session || s->deleted.t == 0 || s->weak || s->back)
			continue;
		draft_only_tell(r->engine, true);
		report(r, s, 1);
		draft_only_tell(r->engine, false);
	}
}

static void
event(void *arg, const struct ev *e)
{
	struct collateral *r = arg;
	const struct got *g;
	enum step step;
	struct ct *s;

	step = gets_step(r->gets, e, &g);
	if (step == STEP_NONE || g->session == 0)
		return;
	if (step == STEP_ANSWERED && g->init && g->status / 100 == 2) {
		on_initialized(r, g);
		look(r, g);
	}
	/* Before its first GET nothing of a session matters. */
	s = step == STEP_POSTED || step == STEP_ANSWERED ?
	    (struct ct *)keeper_find(&r->sessions, g->session) : session(r, g->session);
	if (s == NULL)
		return;
	switch (step) {
	case STEP_ASKED: case STEP_POSTED:
		s->back |= s->heir != 0;
		s->seen = g->request.t;
		break;
	case STEP_REFUSED:
		on_refused(r, s, g);
		break;
	case STEP_OPENED:
		s->n_open++;
		s->had_get = true;
		break;
	case STEP_ENDED:
		on_ended(r, s, g);
		break;
	case STEP_DELETED:
		s->deleted = g->request;
		break;
	case STEP_NONE: case STEP_LEFT: case STEP_ANSWERED:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct collateral *r = arg;
	struct kept *k, *tmp;
	int fresh;

	KEEPER_EACH(&r->sessions, k, tmp)
		if (gave_up((struct ct *)k, now))
			idtab_put(&r->clients, ((struct ct *)k)->client, &fresh)->a++;
	KEEPER_EACH(&r->sessions, k, tmp) {
		const struct ct *s = (const struct ct *)k;
		struct idrec *c;

		if (gave_up(s, now) && (c = idtab_get(&r->clients, s->client)) != NULL &&
		    (c->a > 1 || !s->weak))
			report(r, s, c->a);
	}
}

const struct rule rule_collateral = {
	.name = "collateral-teardown",
	.summary = "failing GETs make the client give up a live session",
	.reference = "mcpdiag-analyze(1), DETECTORS, collateral-teardown",
	.wants = GETS_WANTS,
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
