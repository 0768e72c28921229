/* reinit-storm: a client that initializes again and again and gets nowhere.
 * DETECTORS "reinit-storm".
 *
 * A link of the chain is: an initialize, a failure of that session or of the
 * initialize itself before the session was of use, and the next initialize of the
 * same client soon after.  Links follow each other in time, so that many clients
 * behind one address that recover once are no storm. */
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "rule_answer.h"
#include "rule_util.h"

#define MIN_INITS 3
#define WINDOW (60 * NS_S)	/* for MIN_INITS of them */
#define SOON (10 * NS_S)	/* from the failure to the next initialize */
#define USEFUL 2		/* answered requests that make a session one of use */
#define MAX_SEEN 8

struct seen {
	struct at at;
	uint32_t status, session;
	bool init;
};

struct client {			/* of one server */
	struct idnode node;	/* by digest */
	ns_t link;		/* the initialize that the chain ends with */
	ns_t times[MIN_INITS];	/* of the last ones, a ring */
	uint32_t inits, failures, refused, best;
	struct at failed;	/* since then; t 0: not yet */
	struct at first, last;
	ns_t shortest, longest;	/* between two of them */
	uint32_t session;	/* of the first one */
	uint32_t status;	/* of the last failure; 0: its stream ended */
	struct seen *seen;
	uint32_t n_seen, cap_seen;
	bool storm, torn;
};

struct ri {			/* one session */
	struct kept of;
	uint64_t client;	/* key */
	ns_t born;
	uint32_t useful;
	bool deleted, legacy;
};

struct reinit {
	struct engine *engine;
	struct keeper sessions;
	struct whos *whos;
	struct idmap clients;
	uint64_t max_clients;
};

extern const struct rule rule_reinit;

static void
free_session(struct kept *k)
{
	free(k);
}

static void
drop_client(struct reinit *r, struct client *c)
{
	idmap_del(&r->clients, &c->node);
	free(c->seen);
	free(c);
}

static void
free_rule(void *arg)
{
	struct reinit *r = arg;

	while (r->clients.first)
		drop_client(r, (struct client *)r->clients.first);
	idmap_fini(&r->clients);
	keeper_fini(&r->sessions);
	free(r);
}

static struct client *
client(struct reinit *r, uint64_t key, bool make)
{
	struct client *c = (struct client *)idmap_get(&r->clients, key);

	if (c || !make)
		return c;
	if (r->clients.n && r->clients.n >= r->max_clients)
		drop_client(r, (struct client *)r->clients.first);
	c = xcalloc(1, sizeof *c);
	idmap_put(&r->clients, &c->node, key);
	return c;
}

static struct ri *
session(struct reinit *r, uint32_t n)
{
	return keeper_get(&r->sessions, n, sizeof(struct ri));
}

static uint64_t
key_of(const struct reinit *r, const struct answer *a)
{
	uint64_t key[2] = { a->asked.client, a->asked.server };

	return who_of(r->whos, a->conn) ? map_digest(key, sizeof key) : 0;
}

/* ---- the chain ---- */

static void
see(struct client *c, struct at at, uint32_t status, uint32_t session, bool init)
{
	if (c->n_seen == MAX_SEEN)
		return;
	c->seen = xgrow(c->seen, c->n_seen, &c->cap_seen, sizeof *c->seen);
	c->seen[c->n_seen++] = (struct seen){ at, status, session, init };
}

static void
begin(struct client *c, const struct answer *a)
{
	c->inits = 1;
	c->failures = c->refused = c->n_seen = 0;
	c->shortest = c->longest = 0;
	c->first = a->asked.at;
	c->session = a->session;
}

static void
fail(struct client *c, ns_t born, struct at at, uint32_t status, uint32_t session)
{
	/* Of a session that an earlier link is about, or the same failure again. */
	if (born < c->link || c->failed.t || c->inits == 0)
		return;
	c->failed = at;
	c->status = status;
	c->failures++;
	see(c, at, status, session, false);
}

static void
report(struct reinit *r, const struct client *c)
{
	bool refused = c->refused * 2 > c->failures;
	struct draft *d;

	if (!c->storm)
		return;
	d = draft_new(r->engine, &rule_reinit, refused ? "refused" : NULL, SEV_ERROR,
	    engine_inferred(r->engine, c->session) ? CONF_LOW : c->torn ||
	    engine_gaps(r->engine, c->first.t) || c->best == MIN_INITS ? CONF_MEDIUM :
	    CONF_HIGH, c->session);
	draft_title(d, "the client initializes again and again: %u times in %.1f s, and no "
	    "session is of use", c->inits, (double)(c->last.t - c->first.t) / 1e9);
	draft_why(d, "%s, and the client initializes anew within %.0f s each time; fewer than "
	    "%d requests of each session were answered.", refused ?
	    "Each initialize is refused" : c->status ?
	    "In each session a request is refused" :
	    "The stream of each session is ended by the server", (double)SOON / 1e9, USEFUL);
	if (refused)
		draft_fix(d, "Server: see why it refuses initialize (status %u).  Client: give up, "
		    "or wait longer each time.", c->status);
	else if (c->status == 409 || c->status == 405)
		draft_fix(d, "Client: a refused GET (%u) is no reason to give the session up; "
		    "POSTs work without it.", c->status);
	else if (c->status == 0)
		draft_fix(d, "Server or hop: find what ends the streams so soon.  Client: wait "
		    "longer each time.");
	else
		draft_fix(d, "Find why new sessions are refused with %u: replicas that do not "
		    "share them, a server that forgets them, a header that is lost on the way.  "
		    "Client: wait longer each time.", c->status);
	draft_num(d, "initializes", c->inits);
	draft_num(d, "failures", c->failures);
	draft_num(d, "initializes_refused", c->refused);
	if (c->status)
		draft_num(d, "last_status", c->status);
	draft_ms(d, "interval_min_ms", c->shortest);
	draft_ms(d, "interval_max_ms", c->longest);
	for (uint32_t i = 0; i < c->n_seen; i++) {
		const struct seen *s = &c->seen[i];

		if (s->init)
			draft_evidence(d, s->at, "initialize");
		else if (s->status)
			draft_evidence(d, s->at, "%u%s", s->status, s->session ? "" :
			    " for the initialize");
		else
			draft_evidence(d, s->at, "its stream is ended");
	}
	draft_span(d, c->first, c->last);
	draft_count(d, c->inits, (c->last.t - c->first.t) / (ns_t)(c->inits - 1),
	    c->longest - c->shortest);
	draft_done(d);
}

static void
on_init(struct reinit *r, const struct answer *a)
{
	uint64_t key = key_of(r, a);
	struct client *c = key ? client(r, key, true) : NULL;
	struct at at = a->asked.at;
	ns_t apart;

	if (c == NULL)
		return;
	/* Others of that client's kind may initialize at any time; only what
	 * follows a failure is a link. */
	if (c->inits && c->failed.t && at.t >= c->failed.t && at.t <= c->failed.t + SOON) {
		apart = at.t - c->link;
		c->shortest = c->inits == 1 || apart < c->shortest ? apart : c->shortest;
		c->longest = apart > c->longest ? apart : c->longest;
		c->inits++;
	} else if (c->inits <= 1 || c->failed.t || at.t > c->link + WINDOW) {
		report(r, c);
		c->storm = false;
		c->best = 0;
		begin(c, a);
	} else {
		return;			/* beside the chain */
	}
	c->session = c->session ? c->session : a->session;
	c->link = at.t;
	c->last = at;
	c->failed.t = 0;
	c->times[c->inits % MIN_INITS] = at.t;
	see(c, at, a->status, a->session, true);
	if (c->inits >= MIN_INITS && at.t - c->times[(c->inits + 1) % MIN_INITS] <= WINDOW) {
		c->storm = true;
		c->best = c->inits;
		report(r, c);
	}
}

/* What makes a client give up a session or an initialize; not what asks for
 * credentials, and not what a hop says. */
static bool
is_failure(const struct answer *a)
{
	if (a->status < 400 || a->challenge || a->html)
		return a->outcome == ANSWER_UNKNOWN;
	switch (a->status) {
	case 403: case 407: case 408: case 429: case 502: case 503: case 504:
		return a->outcome == ANSWER_UNKNOWN;
	case 405:			/* a GET that is not served: no failure */
		return !a->asked.get;
	default:
		return true;
	}
}

static void
on_answer(void *arg, const struct answer *a)
{
	struct reinit *r = arg;
	struct ri *s;
	struct client *c;
	uint64_t key;

	if (a->init && (a->outcome == ANSWER_OK || is_failure(a))) {
		on_init(r, a);
		if (a->outcome != ANSWER_OK && (key = key_of(r, a)) != 0 &&
		    (c = client(r, key, false)) != NULL) {
			c->refused += c->failed.t == 0;
			fail(c, a->asked.at.t, a->at, a->status, 0);
			return;
		}
		s = a->session ? session(r, a->session) : NULL;
		if (s && s->client == 0) {
			s->client = key_of(r, a);
			s->born = a->asked.at.t;
		}
		return;
	}
	s = (struct ri *)keeper_find(&r->sessions, a->session);
	if (s == NULL || a->asked.del)
		return;
	if (!is_failure(a) || s->useful >= USEFUL || s->deleted)
		return;
	if ((c = client(r, s->client, false)) != NULL)
		fail(c, s->born, a->at, a->status, a->session);
}

/* ---- events ---- */

static void
on_response(struct reinit *r, struct ri *s, const struct ev *e)
{
	struct client *c;

	if (str_eq(e->u.msg.answers, STR("initialize")) || str_eq(e->u.msg.answers, STR("ping")))
		return;
	s->useful += s->useful < USEFUL;
	/* A session of use ends the chain. */
	if (s->useful >= USEFUL && (c = client(r, s->client, false)) != NULL &&
	    s->born >= c->link) {
		report(r, c);
		c->storm = false;
		c->inits = 0;
		c->failed.t = 0;
	}
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct reinit *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	r->max_clients = lim->endpoints;
	idmap_init(&r->clients);
	r->whos = engine_reader(e, &who_reader);
	answers_tell(engine_reader(e, &answer_reader), on_answer, r);
	return r;
}

static void
event(void *arg, const struct ev *e)
{
	struct reinit *r = arg;
	struct client *c;
	struct ri *s;

	if (e->session == 0)
		return;
	if (e->type == EV_STREAM && e->u.stream.kind == EV_LEGACY)
		session(r, e->session)->legacy = true;
	if ((s = (struct ri *)keeper_find(&r->sessions, e->session)) == NULL)
		return;
	if (e->type == EV_REQUEST && str_eq(e->u.req.method, STR("DELETE"))) {
		s->deleted = true;
	} else if (e->type == EV_MESSAGE && e->dir == EV_S2C &&
	    e->u.msg.kind == EV_MSG_RESPONSE) {
		on_response(r, s, e);
	} else if (e->type == EV_STREAM_END && !s->deleted && s->useful < USEFUL &&
	    !(e->flags & EVF_INFERRED) && s->legacy &&
	    (e->u.stream_end.end == EV_COMPLETE || e->u.stream_end.end == EV_TRUNCATED) &&
	    (c = client(r, s->client, false)) != NULL) {
		/* With HTTP+SSE the session goes with its stream. */
		fail(c, s->born, (struct at){ e->t, e->pkt }, 0, e->session);
	}
	if (e->flags & (EVF_GAP | EVF_MIDSTREAM) && (c = client(r, s->client, false)) != NULL)
		c->torn = true;
}

static void
end(void *arg, ns_t now)
{
	struct reinit *r = arg;
	struct idnode *p, *tmp;

	(void)now;
	IDMAP_EACH(&r->clients, p, tmp)
		report(r, (struct client *)p);
}

const struct rule rule_reinit = {
	.name = "reinit-storm",
	.summary = "a client initializes again and again and gets nowhere",
	.reference = "mcpdiag-analyze(1), DETECTORS, reinit-storm",
	.wants = RULE_WANTS(EV_MESSAGE) | RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END) | RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_STREAM) | RULE_WANTS(EV_STREAM_END),
	.skips = SKIP_POSTS | SKIP_NEWS,
	.sleeps = RULE_WANTS(EV_RESPONSE) | RULE_WANTS(EV_RESPONSE_END),
	.new = new, .event = event, .end = end, .free = free_rule,
};
