/* split-brain: replicas behind one address that do not know each other's sessions.
 * DETECTORS "split-brain".
 *
 * Only POSTs are judged, and only on a path where the session was known before: a
 * GET may be refused for reasons of its own. */
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "rule_answer.h"
#include "rule_util.h"

#define MIN_SWITCHES 2
#define MAX_PATHS 4
#define MAX_SEEN 8

struct seen {
	struct at at;
	uint32_t status;
};

struct sb {				/* one session */
	struct kept of;
	uint64_t paths[MAX_PATHS];	/* on which it was known */
	uint32_t n_paths;
	enum { NEVER, KNOWN, UNKNOWN } last;
	uint64_t switches, known, unknown;
	uint64_t known_by, unknown_by;	/* Server and Via of the last ones */
	uint32_t conn;			/* of the first answer */
	bool several_conns, torn;
	uint32_t open_gets;
	bool get_open;			/* while it was not known */
	struct seen *seen;
	uint32_t n_seen, cap_seen;
	struct at first, end;		/* of the alternation */
	uint32_t status;
};

struct split {
	struct engine *engine;
	struct keeper sessions;
};

extern const struct rule rule_split;

static void
free_session(struct kept *k)
{
	free(((struct sb *)k)->seen);
	free(k);
}

static void
free_rule(void *arg)
{
	struct split *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

static struct sb *
session(struct split *r, uint32_t n)
{
	return keeper_get(&r->sessions, n, sizeof(struct sb));
}

static bool
known_path(const struct sb *s, uint64_t path)
{
	for (uint32_t i = 0; i < s->n_paths; i++)
		if (s->paths[i] == path)
			return true;
	return false;
}

static void
report(struct split *r, const struct sb *s)
{
	bool torn = s->torn || engine_gaps(r->engine, s->first.t);
	enum confidence conf = s->switches > MIN_SWITCHES ? CONF_HIGH : CONF_MEDIUM;
	struct draft *d;

	if (s->switches < MIN_SWITCHES)
		return;
	if (torn && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	d = draft_new(r->engine, &rule_split, NULL, SEV_ERROR, conf, s->of.session);
	draft_title(d, "some replica does not know the session: %llu POSTs answered, %llu "
	    "refused with %u, in turns", (unsigned long long)s->known,
	    (unsigned long long)s->unknown, s->status);
	draft_why(d, "The same session id is known, unknown and known again, %llu times, and "
	    "no initialize came between: several servers stand behind this address, and each "
	    "keeps its own sessions.%s", (unsigned long long)s->switches, s->get_open ?
	    "  The session's GET stream stayed open meanwhile, so it is not dead." : "");
	draft_fix(d, "Deployment: route by Mcp-Session-Id (clients send no cookies and may "
	    "share an address), or keep sessions in a store that all replicas share, or run "
	    "one replica, or a server without sessions.  Which replica answered cannot be "
	    "told from this capture point; capture behind the balancer.");
	draft_num(d, "known", (double)s->known);
	draft_num(d, "unknown", (double)s->unknown);
	draft_num(d, "known_share", (double)s->known / (double)(s->known + s->unknown));
	draft_num(d, "switches", (double)s->switches);
	draft_num(d, "status", s->status);
	draft_num(d, "required_status", 200);
	draft_bool(d, "get_open_meanwhile", s->get_open);
	draft_bool(d, "several_connections", s->several_conns);
	draft_bool(d, "server_header_differs", s->known_by != s->unknown_by);
	for (uint32_t i = 0; i < s->n_seen; i++)
		draft_evidence(d, s->seen[i].at, "answered %u%s", s->seen[i].status,
		    s->seen[i].status / 100 == 2 ? "" : ": session not known");
	draft_span(d, s->first, s->end);
	draft_count(d, s->switches, 0, 0);
	draft_done(d);
}

static void
on_answer(void *arg, const struct answer *a)
{
	struct split *r = arg;
	struct sb *s;
	bool known;

	if (a->session == 0 || !a->asked.post ||
	    (a->outcome != ANSWER_OK && a->outcome != ANSWER_UNKNOWN))
		return;
	s = session(r, a->session);
	known = a->outcome == ANSWER_OK;
	if (known && !known_path(s, a->asked.path) && s->n_paths < MAX_PATHS)
		s->paths[s->n_paths++] = a->asked.path;
	if (a->init)			/* a new beginning */
		s->last = NEVER;
	if (!known && (a->init || !known_path(s, a->asked.path)))
		return;
	s->several_conns |= s->conn && s->conn != a->conn;
	s->conn = s->conn ? s->conn : a->conn;
	*(known ? &s->known : &s->unknown) += 1;
	*(known ? &s->known_by : &s->unknown_by) = a->server;
	if (!known) {
		s->get_open |= s->open_gets > 0;
		s->status = a->status;
		if (s->unknown == 1)
			s->first = a->at;
	}
	s->switches += known && s->last == UNKNOWN;
	if ((known ? KNOWN : UNKNOWN) != s->last && s->n_seen < MAX_SEEN) {
		s->seen = xgrow(s->seen, s->n_seen, &s->cap_seen, sizeof *s->seen);
		s->seen[s->n_seen++] = (struct seen){ a->at, a->status };
	}
	s->last = known ? KNOWN : UNKNOWN;
	s->end = a->at;
	if (known && s->switches >= MIN_SWITCHES)
		report(r, s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct split *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	answers_tell(engine_reader(e, &answer_reader), on_answer, r);
	return r;
}

static void
event(void *arg, const struct ev *e)
{
	struct split *r = arg;
	struct sb *s;

	/* Most events. */
	if (e->type != EV_STREAM && e->type != EV_STREAM_END &&
	    !(e->flags & (EVF_GAP | EVF_MIDSTREAM)))
		return;
	if (e->session == 0 || (s = (struct sb *)keeper_find(&r->sessions, e->session)) == NULL)
		return;
	s->torn |= (e->flags & (EVF_GAP | EVF_MIDSTREAM)) != 0;
	if (e->type == EV_STREAM && is_listener(e))
		s->open_gets++;
	else if (e->type == EV_STREAM_END && s->open_gets > 0)
		s->open_gets--;
}

static void
end(void *arg, ns_t now)
{
	struct split *r = arg;
	struct kept *k, *tmp;

	(void)now;
	KEEPER_EACH(&r->sessions, k, tmp)
		report(r, (struct sb *)k);
}

const struct rule rule_split = {
	.name = "split-brain",
	.summary = "replicas that do not know each other's sessions",
	.reference = "mcpdiag-analyze(1), DETECTORS, split-brain",
	.wants = RULE_WANTS(EV_MESSAGE) | RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END) | RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_STREAM) | RULE_WANTS(EV_STREAM_END),
	.sleeps = RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_MESSAGE) | RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END),
	.new = new, .event = event, .end = end, .free = free_rule,
};
