/* auth-churn: reconnects that lose the Authorization, or repeat a token that was
 * refused.  DETECTORS "auth-churn".
 *
 * Only answers with a challenge count: some servers say 401 for an unknown session.
 * Requests that were under way when the first refusal came prove nothing. */
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "rule_util.h"
#include "rule_who.h"

#define MIN_REPEATS 2		/* after the first refusal */
#define MIN_BARE 2		/* refused GETs without the header */
#define MAX_TOKENS 256
#define MAX_FLIGHT 1024
#define MAX_SEEN 6

struct seen {
	struct at asked, answered;
};

struct refused {			/* the same refusal, again and again */
	uint64_t key;			/* server and token; the session, if bare */
	uint32_t session;		/* of the last, 0 none */
	struct seen seen[MAX_SEEN];	/* the last place holds the last */
	uint32_t n;
	bool bare;			/* the header is missing */
};

struct flight {				/* a request without an answer */
	uint32_t x, session;
	uint64_t server, token;		/* 0: none sent */
	struct at asked;
	bool get;
};

struct carried {			/* a session that sends a token */
	struct kept of;
	bool token;			/* and it was accepted */
};

struct churn {
	struct engine *engine;
	struct whos *whos;
	struct keeper sessions;
	struct refused *tokens;		/* oldest first */
	struct flight *flight;		/* oldest first */
	uint32_t n_tokens, cap_tokens, n_flight, cap_flight;
};

extern const struct rule rule_auth_churn;

static void
free_session(struct kept *k)
{
	free(k);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct churn *r = xcalloc(1, sizeof *r);

	r->engine = e;
	r->whos = engine_reader(e, &who_reader);
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	return r;
}

static void
free_rule(void *arg)
{
	struct churn *r = arg;

	keeper_fini(&r->sessions);
	free(r->tokens);
	free(r->flight);
	free(r);
}

/* ---- the verdict ---- */

static void
report(struct churn *r, const struct refused *t, bool early)
{
	enum confidence conf = CONF_HIGH;
	uint32_t kept = t->n < MAX_SEEN ? t->n : MAX_SEEN;
	struct draft *d;

	if (t->n < (t->bare ? MIN_BARE : MIN_REPEATS + 1))
		return;
	if (engine_gaps(r->engine, t->seen[0].asked.t))
		conf = CONF_MEDIUM;
	if (t->session && engine_inferred(r->engine, t->session))
		conf = CONF_LOW;
	d = draft_new(r->engine, &rule_auth_churn, t->bare ? "header-lost" : "same-token",
	    SEV_ERROR, conf, t->session);
	if (t->bare) {
		draft_title(d, "the client reconnects without the Authorization that its "
		    "session needs: %u GETs answered 401", t->n);
		draft_why(d, "Other requests of the session carry a token and are accepted; "
		    "these GETs carry none and are refused with 401 and a challenge.");
		draft_fix(d, "Client: send Authorization with each request, the reconnect "
		    "of an event stream included (an EventSource sends no headers of its "
		    "own).");
	} else {
		draft_title(d, "a token that was refused is sent again: %u requests answered "
		    "401", t->n);
		draft_why(d, "After the first 401 with a challenge the same Authorization was "
		    "sent %u times more, and never accepted since.", t->n - 1);
		draft_fix(d, "Client: after a 401 get a new token (or ask the user) before "
		    "the next request, and make the reconnect of the stream take the new "
		    "one.  Server: if the token should be good, the log of the token check "
		    "says why it is not; the capture cannot tell.");
	}
	draft_num(d, "refused", t->n);
	draft_num(d, "status", 401);
	for (uint32_t i = 0; i < kept; i++)
		draft_evidence(d, t->seen[i].answered, t->bare ?
		    "401 for a GET without Authorization" :
		    "401 for a request with that token");
	draft_span(d, t->seen[0].asked, t->seen[kept - 1].answered);
	draft_count(d, t->n, 0, 0);
	if (early)
		draft_tell(d);
	else
		draft_done(d);
}

/* ---- what is refused ---- */

static void
forget(struct churn *r, uint32_t i)
{
	memmove(&r->tokens[i], &r->tokens[i + 1], (--r->n_tokens - i) * sizeof *r->tokens);
}

static struct refused *
token(struct churn *r, uint64_t key, bool bare)
{
	for (uint32_t i = 0; i < r->n_tokens; i++)
		if (r->tokens[i].key == key && r->tokens[i].bare == bare)
			return &r->tokens[i];
	return NULL;
}

static void
on_refused(struct churn *r, const struct flight *f, uint64_t key, bool bare, struct at at)
{
	struct refused *t = token(r, key, bare);

	if (t == NULL) {
		if (r->n_tokens == MAX_TOKENS) {
			report(r, &r->tokens[0], false);
			forget(r, 0);
		}
		r->tokens = xgrow(r->tokens, r->n_tokens, &r->cap_tokens, sizeof *r->tokens);
		t = &r->tokens[r->n_tokens++];
		*t = (struct refused){ .key = key, .bare = bare };
	} else if (f->asked.t < t->seen[0].answered.t) {
		return;			/* under way when the first was refused */
	}
	t->session = f->session ? f->session : t->session;
	t->seen[t->n < MAX_SEEN ? t->n : MAX_SEEN - 1] = (struct seen){ f->asked, at };
	if (++t->n == (bare ? MIN_BARE : MIN_REPEATS + 1))
		report(r, t, true);
}

/* Accepted: whatever was wrong, the token is good now. */
static void
on_accepted(struct churn *r, const struct flight *f, uint64_t key)
{
	struct carried *s;

	for (uint32_t i = r->n_tokens; i-- > 0;)
		if (r->tokens[i].key == key && !r->tokens[i].bare)
			forget(r, i);
	if (f->session == 0)
		return;
	s = (struct carried *)keeper_find(&r->sessions, f->session);
	if (s == NULL) {
		s = xcalloc(1, sizeof *s);
		keeper_add(&r->sessions, &s->of, f->session);
	}
	s->token = true;
}

/* ---- events ---- */

static void
on_request(struct churn *r, const struct ev *e)
{
	const struct asked *a = who_asked(r->whos, e->conn, e->x);
	const struct who *w = who_of(r->whos, e->conn);

	if (a == NULL || !(a->post || a->get) || a->modern || w == NULL)
		return;
	if (r->n_flight == MAX_FLIGHT)
		memmove(r->flight, r->flight + 1, --r->n_flight * sizeof *r->flight);
	r->flight = xgrow(r->flight, r->n_flight, &r->cap_flight, sizeof *r->flight);
	r->flight[r->n_flight++] = (struct flight){ e->x, e->session, w->server,
	    e->u.req.auth.n ? map_digest(e->u.req.auth.p, e->u.req.auth.n) | 1 : 0,
	    { e->t, e->pkt }, a->get };
}

static void
on_response(struct churn *r, const struct ev *e)
{
	struct flight f;
	uint64_t key;
	uint32_t i;

	for (i = 0; i < r->n_flight && r->flight[i].x != e->x; i++)
		;
	if (i == r->n_flight)
		return;
	f = r->flight[i];
	memmove(&r->flight[i], &r->flight[i + 1], (--r->n_flight - i) * sizeof *r->flight);
	f.session = e->session ? e->session : f.session;
	key = f.token ^ f.server;
	if (e->u.resp.status / 100 == 2 && f.token) {
		on_accepted(r, &f, key);
	} else if (e->u.resp.status == 401 && e->u.resp.challenge) {
		if (f.token)
			on_refused(r, &f, key, false, (struct at){ e->t, e->pkt });
		else if (f.get && f.session && keeper_find(&r->sessions, f.session))
			on_refused(r, &f, f.session, true, (struct at){ e->t, e->pkt });
	}
}

static void
event(void *arg, const struct ev *e)
{
	struct churn *r = arg;

	if (e->type == EV_REQUEST)
		on_request(r, e);
	else if (e->type == EV_RESPONSE)
		on_response(r, e);
}

static void
end(void *arg, ns_t now)
{
	struct churn *r = arg;

	(void)now;
	for (uint32_t i = 0; i < r->n_tokens; i++)
		report(r, &r->tokens[i], false);
}

const struct rule rule_auth_churn = {
	.name = "auth-churn",
	.summary = "reconnects that lose the token or repeat a refused one",
	.reference = "mcpdiag-analyze(1), DETECTORS, auth-churn",
	.wants = RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_RESPONSE),
	.new = new, .event = event, .end = end, .free = free_rule,
};
