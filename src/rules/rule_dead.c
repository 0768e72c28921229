/* dead-session: a session that the server no longer knows and the client does not
 * give up.  DETECTORS "dead-session".
 *
 * Failures are counted from the last answer that was served; they are judged when
 * the input ends, because a later one may still be served. */
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "rule_answer.h"
#include "rule_util.h"

#define MIN_FAILS 2
#define MIN_SPAN (5 * NS_S)
#define RECOVERS (10 * NS_S)	/* an initialize this soon is as it should be */
#define EXPIRES (60 * NS_S)	/* silence that hints at a limit on idle sessions */
#define MAX_SEEN 6
#define MAX_FAILING 1024

struct seen {
	struct at at;
	uint32_t status;
	bool get, init;
};

struct ds {				/* one session */
	struct kept of;
	/* served */
	uint64_t ok_posts, ok_gets, switches;
	struct at last_ok;
	uint64_t ok_path;
	/* since then refused, all with the same status */
	uint32_t fails, posts, gets, inits, others, maybe;
	uint32_t status;
	struct at first, last;
	uint64_t client;
	struct seen *seen;		/* the last place holds the last */
	uint32_t n_seen, cap_seen;
	bool recovered;
	/* how its streams ended */
	ns_t cut;
	bool alive;			/* a stream of it had bytes afterwards */
	bool torn, told;		/* to who watches */
	/* HTTP+SSE: used before any initialize */
	bool legacy, begun, opaque;
	uint32_t early, early_answered;
	struct at early_first, early_last;
	char early_method[32];
};

struct dead {
	struct engine *engine;
	struct keeper sessions;
	uint32_t failing[MAX_FAILING];	/* sessions */
	uint32_t n_failing;
	ns_t looked;
	bool failing_once, legacy;	/* some session was refused, is of HTTP+SSE */
};

extern const struct rule rule_dead;

static void
free_session(struct kept *k)
{
	free(((struct ds *)k)->seen);
	free(k);
}

static void
free_rule(void *arg)
{
	struct dead *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct ds *
find(struct dead *r, uint32_t n)
{
	return (struct ds *)keeper_find(&r->sessions, n);
}

static struct ds *
session(struct dead *r, uint32_t n)
{
	return keeper_get(&r->sessions, n, sizeof(struct ds));
}

/* ---- answers ---- */

/* Who initializes anew gives the dead session up. */
static void
recover(struct dead *r, const struct answer *a)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->n_failing; i++) {
		struct ds *s = find(r, r->failing[i]);

		if (s == NULL || s->fails == 0 || s->recovered)
			continue;
		if (s->of.session != a->session && s->client == a->asked.client &&
		    a->asked.at.t <= s->first.t + RECOVERS) {
			s->recovered = true;
			continue;
		}
		if (a->asked.at.t <= s->first.t + RECOVERS)
			r->failing[kept++] = r->failing[i];
	}
	r->n_failing = kept;
}

static void
served(struct ds *s, const struct answer *a)
{
	s->switches += s->fails > 0;
	s->fails = s->posts = s->gets = s->inits = s->others = s->maybe = 0;
	s->n_seen = 0;
	s->recovered = s->alive = false;
	s->cut = 0;
	s->last_ok = a->at;
	if (a->asked.get)
		s->ok_gets++;
	else {
		s->ok_posts++;
		s->ok_path = a->asked.path;
	}
}

static void
refused(struct dead *r, struct ds *s, const struct answer *a)
{
	/* On another path, or what was never served: another matter. */
	if (a->asked.post && s->ok_posts && a->asked.path != s->ok_path)
		return;
	if (a->asked.get && s->ok_gets == 0 && s->posts == 0)
		return;
	if (s->fails && a->status != s->status) {
		s->others++;
		return;
	}
	r->failing_once = true;
	engine_wake(r->engine, &rule_dead);
	if (s->fails++ == 0) {
		s->status = a->status;
		s->first = a->at;
		s->client = a->asked.client;
		if (r->n_failing < MAX_FAILING)
			r->failing[r->n_failing++] = s->of.session;
		else
			s->recovered = true;	/* it cannot be told any more */
	}
	s->last = a->at;
	s->posts += a->asked.post;
	s->gets += a->asked.get;
	s->inits += a->init;
	s->maybe += a->outcome == ANSWER_MAYBE;
	if (s->n_seen < MAX_SEEN) {
		s->seen = xgrow(s->seen, s->n_seen, &s->cap_seen, sizeof *s->seen);
		s->n_seen++;
	}
	s->seen[s->n_seen - 1] = (struct seen){ a->at, a->status, a->asked.get, a->init };
}

static void
on_answer(void *arg, const struct answer *a)
{
	struct dead *r = arg;
	struct ds *s;

	if (a->init && a->outcome == ANSWER_OK)
		recover(r, a);
	if (a->session == 0 || a->asked.del)
		return;
	s = session(r, a->session);
	switch (a->outcome) {
	case ANSWER_OK:
		served(s, a);
		break;
	case ANSWER_UNKNOWN: case ANSWER_MAYBE:
		if (s->ok_posts + s->ok_gets)
			refused(r, s, a);
		break;
	case ANSWER_OTHER:
		break;
	}
}

/* ---- the verdict ---- */

static bool
is_dead(const struct ds *s)
{
	if (s->fails < MIN_FAILS || s->last.t - s->first.t < MIN_SPAN || s->recovered ||
	    s->switches >= 2 || s->others * 2 > s->fails)
		return false;
	/* GETs may be refused for reasons of their own. */
	if (s->posts == 0 && (s->ok_gets == 0 || !(s->status == 404 || s->status == 410 ||
	    s->status == 401)))
		return false;
	return s->maybe == 0 || (s->fails > MIN_FAILS && s->posts >= MIN_FAILS);
}

static void
say_fix(struct dead *r, struct draft *d, const struct ds *s, const char *variant)
{
	if (variant[0] == 'i')
		draft_fix(d, "Client: send initialize without Mcp-Session-Id; the id belongs to "
		    "the session that is gone.");
	else if (variant[0] == 'c')
		draft_fix(d, "Client: take 404 for a request with a session id as the end of that "
		    "session, and initialize without it.  The server's status is right.  (The "
		    "TypeScript and Python SDKs leave it to the application; rmcp does it from "
		    "1.2, Java's and VS Code's client by themselves.)");
	else
		draft_fix(d, "Server: answer an unknown session id with 404; %u does not make "
		    "clients initialize anew%s.%s", s->status, s->status == 401 ?
		    " but ask for credentials" : s->status >= 500 ? " but wait" : "",
		    engine_looks(r->engine, s->of.session, "rmcp") ?
		    "  rmcp does so from 0.17.0 on." : "");
}

static void
report(struct dead *r, const struct ds *s)
{
	const char *variant = s->inits ? "initialize-with-id" : s->status == 404 ? "client" :
	    "server-status";
	ns_t silence = s->first.t - s->last_ok.t;
	enum confidence conf = s->maybe ? CONF_LOW : s->torn ||
	    engine_gaps(r->engine, s->last_ok.t) ? CONF_MEDIUM : CONF_HIGH;
	const char *hint = s->cut ? "restart" : silence >= EXPIRES ? "idle expiry" : "unknown";
	struct draft *d;

	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	d = draft_new(r->engine, &rule_dead, variant, SEV_ERROR, conf, s->of.session);
	draft_title(d, "the server no longer knows the session: %u requests in %.1f s get %u"
	    "%s, and the client %s", s->fails, (double)(s->last.t - s->first.t) / 1e9,
	    s->status, s->status == 200 ? " with an error in it" : "",
	    s->inits ? "initializes with the dead id" : "does not initialize anew");
	draft_why(d, "The session had been served until %.1f s before; since then %u POST%s and "
	    "%u GET%s were refused and nothing was served.  %s%s", (double)silence / 1e9,
	    s->posts, s->posts == 1 ? "" : "s", s->gets, s->gets == 1 ? "" : "s", s->cut ?
	    "A stream of the session was cut before: the server was probably restarted." :
	    silence >= EXPIRES ? "Nothing was asked for so long before: the server probably "
	    "lets idle sessions expire." : "Why it is gone cannot be seen here.", s->alive ?
	    "  A GET stream of it still carries bytes: another replica may know it." : "");
	say_fix(r, d, s, variant);
	draft_num(d, "requests_refused", s->fails);
	draft_num(d, "posts_refused", s->posts);
	draft_num(d, "gets_refused", s->gets);
	draft_num(d, "status", s->status);
	draft_num(d, "required_status", 404);
	draft_num(d, "initializes_with_id", s->inits);
	draft_ms(d, "silence_before_ms", silence);
	draft_text(d, "hint", str_c(hint));
	draft_bool(d, "stream_alive", s->alive);
	draft_evidence(d, s->last_ok, "the last answer of the session that was served");
	for (uint32_t i = 0; i < s->n_seen; i++)
		draft_evidence(d, s->seen[i].at, "%u for %s", s->seen[i].status,
		    s->seen[i].init ? "an initialize with the dead id" : s->seen[i].get ?
		    "a GET" : "a POST");
	draft_span(d, s->first, s->last);
	draft_count(d, s->fails, 0, 0);
	draft_done(d);
}

static void
report_early(struct dead *r, const struct ds *s)
{
	bool all = s->early_answered >= s->early;
	struct draft *d;

	if (s->early == 0 || s->begun || s->opaque || !s->legacy ||
	    engine_gaps(r->engine, s->last_ok.t))
		return;
	d = draft_new(r->engine, &rule_dead, "legacy-without-initialize",
	    all ? SEV_WARNING : SEV_ERROR, all ? CONF_MEDIUM : CONF_HIGH, s->of.session);
	draft_title(d, "the client was given a new endpoint and goes on without initialize: "
	    "%u request%s%s", s->early, s->early == 1 ? "" : "s", all ?
	    ", which this server answers all the same" : "");
	draft_why(d, "The HTTP+SSE stream opened in this capture and its endpoint is a new "
	    "session, but the first request on it is %s.  That happens where the event source "
	    "reconnects by itself and the client above it does not notice.  %u of %u "
	    "requests were answered.", s->early_method, s->early_answered, s->early);
	draft_fix(d, "Client: on each endpoint event, initialize before anything else.");
	draft_num(d, "requests_without_initialize", s->early);
	draft_num(d, "answered", s->early_answered);
	draft_text(d, "first_method", str_c(s->early_method));
	draft_evidence(d, s->early_first, "the first request on the new endpoint");
	draft_span(d, s->early_first, s->early_last);
	draft_count(d, s->early, 0, 0);
	draft_done(d);
}

/* ---- events ---- */

static void
put_method(struct ds *s, struct str m)
{
	size_t n = m.n < sizeof s->early_method ? m.n : sizeof s->early_method - 1;

	for (size_t i = 0; i < n; i++)
		s->early_method[i] = m.p[i];
	s->early_method[n] = '\0';
}

static void
on_message(struct ds *s, const struct ev *e)
{
	bool ask = e->dir == EV_C2S && e->u.msg.kind == EV_MSG_REQUEST;

	if (ask && str_eq(e->u.msg.method, STR("initialize"))) {
		s->begun = true;
	} else if (ask && !str_eq(e->u.msg.method, STR("ping"))) {
		s->early_last = (struct at){ e->t, e->pkt };
		if (s->early++ > 0)
			return;
		s->early_first = s->early_last;
		put_method(s, e->u.msg.method);
	} else if (e->dir == EV_S2C && e->u.msg.kind == EV_MSG_RESPONSE && e->u.msg.of) {
		s->early_answered++;
	}
}

/* Most events: of streams, where no session fails, and of messages, where none
 * is of HTTP+SSE. */
static bool
says_nothing(const struct dead *r, const struct ev *e)
{
	if (e->flags & (EVF_GAP | EVF_MIDSTREAM))
		return false;
	switch (e->type) {
	case EV_SSE: case EV_COMMENT:
		return !r->failing_once;
	case EV_MESSAGE:
		return !r->legacy;
	case EV_REQUEST: case EV_RESPONSE: case EV_RESPONSE_END:
		return true;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END: case EV_SESSION:
	case EV_SESSION_END: case EV_STREAM: case EV_STREAM_END: case EV_OWNER:
	case EV_STALL: case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_FINDING:
	case EV_END: case EV_N_TYPES:
		break;
	}
	return false;
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct dead *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	answers_tell(engine_reader(e, &answer_reader), on_answer, r);
	return r;
}

static void
event(void *arg, const struct ev *e)
{
	struct dead *r = arg;
	struct ds *s;

	if (e->session == 0 || says_nothing(r, e))
		return;
	if (e->type == EV_STREAM && e->u.stream.kind == EV_LEGACY) {
		r->legacy = true;
		engine_wake(r->engine, &rule_dead);
		s = session(r, e->session);
		s->legacy = !(e->flags & (EVF_MIDSTREAM | EVF_HEAD_LOST | EVF_GAP));
	}
	if ((s = find(r, e->session)) == NULL)
		return;
	s->torn |= (e->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0;
	if (e->type == EV_STREAM_END && e->u.stream_end.end == EV_TRUNCATED)
		s->cut = e->t;
	else if (e->type == EV_SSE || e->type == EV_COMMENT)
		s->alive |= s->fails > 0;
	else if (e->type == EV_REQUEST_END)
		s->opaque |= (e->flags & (EVF_UNDECODED | EVF_CUT)) != 0 ||
		    e->u.end.end != EV_COMPLETE;
	else if (e->type == EV_MESSAGE && s->legacy)
		on_message(s, e);
}

/* For who watches: so it has been for as long as an initialize may take. */
static void
tick(void *arg, ns_t now)
{
	struct dead *r = arg;

	if (r->n_failing == 0 || now - r->looked < NS_S)
		return;
	r->looked = now;
	for (uint32_t i = 0; i < r->n_failing; i++) {
		struct ds *s = find(r, r->failing[i]);

		if (s == NULL || s->told || s->maybe || s->posts < MIN_FAILS || !is_dead(s) ||
		    now - s->first.t < RECOVERS)
			continue;
		s->told = true;
		draft_only_tell(r->engine, true);
		report(r, s);
		draft_only_tell(r->engine, false);
	}
}

static void
end(void *arg, ns_t now)
{
	struct dead *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp) {
		const struct ds *s = (struct ds *)k;

		if (is_dead(s))
			report(r, s);
		report_early(r, s);
	}
}

const struct rule rule_dead = {
	.name = "dead-session",
	.summary = "the server forgot the session and the client goes on using it",
	.reference = "mcpdiag-analyze(1), DETECTORS, dead-session",
	.wants = RULE_WANTS(EV_MESSAGE) | RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END) |
	    RULE_WANTS(EV_REQUEST) |
	    RULE_WANTS(EV_REQUEST_END) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_COMMENT),
	.sleeps = RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_MESSAGE) | RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END) | RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_COMMENT),
	.new = new, .event = event, .tick = tick, .end = end, .free = free_rule,
};
