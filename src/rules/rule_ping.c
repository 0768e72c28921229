/* ping-kill: the server pings, gets no answer (or an error), and ends the session.
 * DETECTORS "ping-kill".
 *
 * A stream that ends after a ping proves little: pings are frequent.  The session
 * must be gone, too, or the same must happen again after the same time; and no ping
 * may have gone unanswered without harm. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_util.h"

#define KILL (15 * NS_S)	/* from the ping to what it causes */
#define FLIGHT NS_S		/* sooner, the answer may be on its way */
#define COUPLED (60 * NS_MS)	/* ended by another GET: that is a takeover */
#define MAX_PINGS 16		/* without an answer */
#define MAX_KILLS 6

struct ping {
	uint32_t stream;
	uint64_t id;			/* digest */
	char text[40];
	struct at at;
	bool refused;			/* answered with an error */
};

struct killing {
	struct ping ping;
	struct at end;			/* of its stream; t 0: not seen */
	struct at gone;			/* the 404; t 0: none */
	bool outlived;			/* the session was known after it */
};

struct pk {				/* one session */
	struct kept of;
	struct ping *pings;		/* oldest first */
	struct killing *kills;
	uint32_t n_pings, cap_pings, n_kills, cap_kills;
	struct at last_get;		/* the last GET asked for */
	uint64_t answered, refused;
	ns_t last_post;
	bool tolerant;			/* an unanswered ping did no harm */
	bool leaving, torn;
};

struct pings {
	struct engine *engine;
	struct keeper sessions;
};

extern const struct rule rule_ping;

static void
free_session(struct kept *k)
{
	struct pk *s = (struct pk *)k;

	free(s->pings);
	free(s->kills);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct pings *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	return r;
}

static void
free_rule(void *arg)
{
	struct pings *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct pk *
session(struct pings *r, uint32_t n)
{
	struct pk *s = (struct pk *)keeper_find(&r->sessions, n);

	if (s == NULL) {
		s = xcalloc(1, sizeof *s);
		keeper_add(&r->sessions, &s->of, n);
		engine_wake(r->engine, &rule_ping);
	}
	return s;
}

static void
forget(struct pk *s, uint32_t i)
{
	memmove(&s->pings[i], &s->pings[i + 1], (s->n_pings - i - 1) * sizeof s->pings[0]);
	s->n_pings--;
}

/* A ping that has had its time, and the stream is still there. */
static void
survived(struct pk *s, ns_t now)
{
	while (s->n_pings && now - s->pings[0].at.t > KILL) {
		s->tolerant = true;
		forget(s, 0);
	}
}

/* ---- the verdict ---- */

/* The times from ping to end are one and the same: a timer. */
static bool
steady(const struct pk *s)
{
	ns_t a = s->n_kills ? s->kills[0].end.t - s->kills[0].ping.at.t : 0;

	for (uint32_t i = 1; i < s->n_kills; i++) {
		ns_t b = s->kills[i].end.t - s->kills[i].ping.at.t;

		if ((a > b ? a - b : b - a) > a / 10 + 100 * NS_MS)
			return false;
	}
	return s->n_kills >= 2;
}

static void
write(const struct pk *s, struct draft *d, const struct killing *k)
{
	const char *what = k->ping.refused ? "answered with an error" : "not answered";
	ns_t after = (k->end.t ? k->end.t : k->gone.t) - k->ping.at.t;

	draft_title(d, "the server ends the %s %.1f s after a ping that the client has %s",
	    k->gone.t ? "session" : "stream", (double)after / 1e9, k->ping.refused ?
	    "refused" : "not answered");
	draft_why(d, "The server's ping on the stream was %s%s%s.", what, k->end.t ?
	    "; then the server ended that stream" : "", k->gone.t ?
	    ", and the session is answered 404 since" : ", and again after the same time");
	draft_fix(d, "Client: answer ping with an empty result at once, whatever it declared, "
	    "also while a call is running.  Server: do not take a client for dead that "
	    "goes on sending requests, nor one that answers ping with an error.");
	draft_text(d, "ping_id", str_c(k->ping.text));
	draft_text(d, "answer", k->ping.refused ? STR("error") : STR("none"));
	draft_ms(d, "from_ping_to_end_ms", after);
	draft_num(d, "pings_answered", (double)s->answered);
	draft_num(d, "pings_refused", (double)s->refused);
	draft_bool(d, "session_gone", k->gone.t != 0);
	draft_bool(d, "posts_while_unanswered", s->last_post > k->ping.at.t);
}

static void
report(struct pings *r, const struct pk *s, bool early)
{
	const struct killing *k = NULL;
	struct draft *d;
	enum confidence conf;

	for (uint32_t i = 0; i < s->n_kills && k == NULL; i++)
		k = s->kills[i].gone.t ? &s->kills[i] : NULL;
	if (s->tolerant || engine_inferred(r->engine, s->of.session) ||
	    (k == NULL && !steady(s)))
		return;
	if (k == NULL)
		k = &s->kills[s->n_kills - 1];
	conf = k->gone.t && k->end.t ? CONF_HIGH : CONF_MEDIUM;
	if (conf > CONF_MEDIUM && s->torn)
		conf = CONF_MEDIUM;
	d = draft_new(r->engine, &rule_ping, k->ping.refused ? "refused" : NULL,
	    k->gone.t ? SEV_ERROR : SEV_WARNING, conf, s->of.session);
	write(s, d, k);
	for (uint32_t i = 0; i < s->n_kills; i++) {
		const struct killing *v = &s->kills[i];

		draft_stream(d, v->ping.stream);
		draft_evidence(d, v->ping.at, "ping %s on stream %u", v->ping.text,
		    v->ping.stream);
		if (v->end.t)
			draft_evidence(d, v->end, "the server ends stream %u",
			    v->ping.stream);
		if (v->gone.t)
			draft_evidence(d, v->gone, "404 for the session");
	}
	draft_span(d, s->kills[0].ping.at, k->gone.t ? k->gone : k->end);
	draft_count(d, s->n_kills, 0, 0);
	if (early)
		draft_tell(d);
	else
		draft_done(d);
}

/* ---- events ---- */

static void
on_ping(struct pk *s, const struct ev *e)
{
	struct ping *p;
	size_t n = e->u.msg.id.n;

	if (s->n_pings == MAX_PINGS)
		forget(s, 0);
	s->pings = xgrow(s->pings, s->n_pings, &s->cap_pings, sizeof *s->pings);
	p = &s->pings[s->n_pings++];
	*p = (struct ping){ .stream = e->stream, .at = { e->t, e->pkt },
	    .id = map_digest(e->u.msg.id.p, n) };
	if (n)
		memcpy(p->text, e->u.msg.id.p, n < sizeof p->text ? n : sizeof p->text - 1);
}

static void
on_message(struct pings *r, const struct ev *e)
{
	bool error = e->u.msg.kind == EV_MSG_ERROR;
	struct pk *s;
	uint64_t id;

	if (e->dir == EV_S2C) {
		if (e->u.msg.kind == EV_MSG_REQUEST && e->stream && e->u.msg.id.n &&
		    str_eq(e->u.msg.method, STR("ping")))
			on_ping(session(r, e->session), e);
		return;
	}
	if ((s = (struct pk *)keeper_find(&r->sessions, e->session)) == NULL)
		return;
	s->last_post = e->t;
	if (e->u.msg.kind != EV_MSG_RESPONSE && !error)
		return;
	id = map_digest(e->u.msg.id.p, e->u.msg.id.n);
	for (uint32_t i = 0; i < s->n_pings; i++) {
		if (s->pings[i].id != id)
			continue;
		s->answered += !error;
		s->refused += error;
		if (error)
			s->pings[i].refused = true;
		else
			forget(s, i);
		return;
	}
}

static struct killing *
kill_of(struct pk *s)
{
	s->kills = xgrow(s->kills, s->n_kills, &s->cap_kills, sizeof *s->kills);
	return &s->kills[s->n_kills++];
}

static void
on_stream_end(struct pings *r, struct pk *s, const struct ev *e)
{
	bool server = e->u.stream_end.end == EV_COMPLETE ||
	    e->u.stream_end.end == EV_TRUNCATED;
	bool taken = s->last_get.t > e->t - COUPLED;
	struct killing *k = NULL;

	survived(s, e->t);
	s->torn |= (e->flags & (EVF_GAP | EVF_MIDSTREAM | EVF_INFERRED)) != 0;
	for (uint32_t i = 0; i < s->n_pings;) {
		if (s->pings[i].stream != e->stream) {
			i++;
			continue;
		}
		/* The first of those without an answer started the clock. */
		if (k == NULL && server && !taken && !e->u.stream_end.had_response &&
		    !s->leaving && s->n_kills < MAX_KILLS &&
		    e->t - s->pings[i].at.t >= FLIGHT &&
		    !engine_gaps(r->engine, s->pings[i].at.t)) {
			k = kill_of(s);
			*k = (struct killing){ s->pings[i], { e->t, e->pkt }, { 0, 0 },
			    false };
		}
		forget(s, i);
	}
	if (k && steady(s))
		report(r, s, true);
}

/* The session is unknown: the ping's doing, if it is not long ago. */
static void
on_gone(struct pings *r, struct pk *s, const struct ev *e)
{
	struct killing *k = s->n_kills ? &s->kills[s->n_kills - 1] : NULL;
	struct at at = { e->t, e->pkt };

	survived(s, e->t);
	if (s->leaving || (k && k->gone.t))
		return;
	if (k && !k->outlived) {
		k->gone = at;
	} else if (s->n_pings && s->n_kills < MAX_KILLS &&
	    e->t - s->pings[0].at.t >= FLIGHT &&
	    !engine_gaps(r->engine, s->pings[0].at.t)) {
		*kill_of(s) = (struct killing){ s->pings[0], { 0, 0 }, at, false };
		s->n_pings = 0;
	} else {
		return;
	}
	report(r, s, true);
}

/* A request was answered: the session outlived the end of that stream. */
static void
on_alive(struct pk *s, ns_t now)
{
	survived(s, now);
	if (s->n_kills && s->kills[s->n_kills - 1].gone.t == 0)
		s->kills[s->n_kills - 1].outlived = true;
}

static void
event(void *arg, const struct ev *e)
{
	struct pings *r = arg;
	struct pk *s;

	if (e->session == 0)
		return;
	if (e->type == EV_MESSAGE) {
		on_message(r, e);
		return;
	}
	if ((s = (struct pk *)keeper_find(&r->sessions, e->session)) == NULL)
		return;
	switch (e->type) {
	case EV_REQUEST:
		if (str_eq(e->u.req.method, STR("GET")))
			s->last_get = (struct at){ e->t, e->pkt };
		s->leaving |= str_eq(e->u.req.method, STR("DELETE"));
		break;
	case EV_RESPONSE:
		if (e->u.resp.status == 404)
			on_gone(r, s, e);
		else if (e->u.resp.status / 100 == 2)
			on_alive(s, e->t);
		break;
	case EV_STREAM_END:
		on_stream_end(r, s, e);
		break;
	case EV_SESSION_END:
		report(r, s, false);
		keeper_drop(&r->sessions, &s->of);
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END:
	case EV_RESPONSE_END: case EV_SESSION: case EV_STREAM: case EV_SSE: case EV_COMMENT:
	case EV_MESSAGE: case EV_OWNER: case EV_STALL: case EV_GAP: case EV_ANOMALY:
	case EV_NOTE: case EV_FINDING: case EV_END: case EV_N_TYPES:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct pings *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp) {
		report(r, (struct pk *)k, false);
		keeper_drop(&r->sessions, k);
	}
}

const struct rule rule_ping = {
	.name = "ping-kill",
	.summary = "a ping without an answer ends the session",
	.reference = "mcpdiag-analyze(1), DETECTORS, ping-kill",
	.wants = RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_RESPONSE) | RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_NEWS | SKIP_ANSWERS,
	.sleeps = RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_STREAM_END) | RULE_WANTS(EV_SESSION_END),
	.new = new, .event = event, .end = end, .free = free_rule,
};
