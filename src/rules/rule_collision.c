/* id-collision: a request id that is used again while the first request with it
 * waits, or a response that comes out on another session's stream.  DETECTORS
 * "id-collision".
 *
 * Under way means: its connection lives, it has been neither answered nor
 * refused nor cancelled.  Requests without a session id have no session yet
 * when they are sent, and are left alone: two clients count their ids alike. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/idtab.h"
#include "mcpdiag/rule.h"
#include "rule_asks.h"

#define MAX_TOLD 8		/* pairs described in one finding */
#define TWIN (5 * NS_MS)
#define FORGOTTEN (300 * NS_S)	/* no client waits longer */

struct mine {				/* of one request */
	bool cancelled;
	uint32_t pair;			/* place in `pairs` + 1 */
	bool second;
};

struct pair {				/* two requests with one id */
	char id[ASK_ID], what[2][ASK_WHAT];
	struct at asked[2], answered[2];
	uint32_t conn[2], stream[2];
};

struct clash {				/* one session */
	struct asks asks;
	uint64_t n_pairs;		/* the first are in asks.extra */
	struct at first, last;
	uint32_t flags;
	bool gap, legacy, crossed;
	/* Two legs of one path carry everything twice. */
	uint64_t n_asks, twins;
	uint32_t inits;
};

struct collision {
	struct engine *engine;
	struct asking all;
	struct idtab ended;		/* connections, one side of which closed */
	struct idtab askers;		/* id -> the last two sessions that used it */
	struct idtab gaps;		/* connections with bytes missing */
	struct idtab used;		/* session and id, of all requests */
};

const struct rule rule_collision;

static void *
new(struct engine *e, const struct limits *lim)
{
	struct collision *r = xcalloc(1, sizeof *r);

	r->engine = e;
	asking_init(&r->all, e, lim, sizeof(struct clash), sizeof(struct mine));
	idtab_init(&r->ended, (uint32_t)lim->ids * 4);
	idtab_init(&r->askers, (uint32_t)lim->ids * 4);
	idtab_init(&r->gaps, (uint32_t)lim->ids);
	idtab_init(&r->used, (uint32_t)lim->ids * 4);
	return r;
}

static void
free_rule(void *arg)
{
	struct collision *r = arg;

	asking_fini(&r->all);
	idtab_fini(&r->ended);
	idtab_fini(&r->askers);
	idtab_fini(&r->gaps);
	idtab_fini(&r->used);
	free(r);
}

/* ---- reused while unanswered ---- */

static struct pair *
pair_of(const struct clash *s, uint64_t i)
{
	return (struct pair *)s->asks.extra + i;
}

static void
report(struct collision *r, const struct clash *s)
{
	enum confidence conf = s->gap || s->flags & (EVF_GAP | EVF_MIDSTREAM) ?
	    CONF_MEDIUM : CONF_HIGH;
	struct draft *d = draft_new(r->engine, &rule_collision, NULL, SEV_ERROR, conf,
	    s->asks.of.session);
	uint64_t n = s->n_pairs < MAX_TOLD ? s->n_pairs : MAX_TOLD;
	const struct pair *p = pair_of(s, 0);
	unsigned starved = 0;

	for (uint64_t i = 0; i < n; i++)
		starved += pair_of(s, i)->answered[0].t == 0 ||
		    pair_of(s, i)->answered[1].t == 0;
	draft_title(d, "request id %s is used again while the first request with it waits%s",
	    p->id, s->n_pairs > 1 ? "; other ids, too" : "");
	draft_why(d, "%s was sent while %s with the same id was unanswered.  Who keeps track "
	    "by the id alone gives both answers to one of them, or the wrong one to each.  %s",
	    p->what[1], p->what[0], starved ?
	    "Of two such requests not both were answered." : "Both were answered here.");
	draft_fix(d, "Client: count ids up over the whole session, and let no two parts of a "
	    "program that share a session count for themselves.  Server: tie a response to "
	    "the exchange that asked, not to the id alone.");
	draft_text(d, "id", str_c(p->id));
	draft_text(d, "first_request", str_c(p->what[0]));
	draft_text(d, "second_request", str_c(p->what[1]));
	draft_ms(d, "apart_ms", p->asked[1].t - p->asked[0].t);
	draft_bool(d, "same_connection", p->conn[0] == p->conn[1]);
	draft_num(d, "starved", starved);
	for (uint64_t i = 0; i < n; i++) {
		p = pair_of(s, i);
		for (int j = 0; j < 2; j++) {
			if (p->stream[j])
				draft_stream(d, p->stream[j]);
			draft_evidence(d, p->asked[j], "%s, id %s%s", p->what[j], p->id,
			    j ? ", again" : "");
		}
		for (int j = 0; j < 2; j++)
			if (p->answered[j].t)
				draft_evidence(d, p->answered[j], "the response to the %s",
				    j ? "second" : "first");
	}
	draft_span(d, s->first, s->last);
	draft_count(d, s->n_pairs, 0, 0);
	draft_done(d);
}

static bool
under_way(const struct collision *r, const struct clash *s, const struct ask *k, ns_t now)
{
	const struct mine *m = k->more;

	if (k->answered || m->cancelled || k->ended.t || now - k->asked.t > FORGOTTEN ||
	    k->flags & EVF_HEAD_LOST || idtab_get(&r->gaps, k->conn))
		return false;
	if (s->legacy)		/* answered on the GET */
		return !engine_gaps(r->engine, k->asked.t);
	return k->status == 202 || idtab_get(&r->ended, k->conn) == NULL;
}

/* The capture shows the same path at two places, with one server address. */
static bool
two_legs(const struct collision *r, const struct clash *s)
{
	return s->inits > 1 || (!engine_complete(r->engine, s->asks.of.session) &&
	    s->twins == s->n_pairs && s->n_asks <= 2 * s->twins + 1);
}

static uint64_t
used_key(uint32_t session, uint64_t id)
{
	return id ^ (uint64_t)session << 32 ^ session;
}

static struct ask *
waiting(const struct collision *r, struct clash *s, uint64_t id, uint32_t x, ns_t now)
{
	for (uint32_t i = 0; i < s->asks.n; i++) {
		struct ask *k = &s->asks.v[i];

		if (k->id == id && k->x != x && under_way(r, s, k, now))
			return k;
	}
	return NULL;
}

static void
pair_up(struct clash *s, struct ask *first, struct ask *second)
{
	struct mine *m[2] = { first->more, second->more };
	struct ask *k[2] = { first, second };
	struct pair *p;

	if (s->n_pairs++ == 0) {
		s->first = first->asked;
		s->asks.extra = xcalloc(MAX_TOLD, sizeof(struct pair));
	}
	s->last = second->asked;
	s->twins += first->conn != second->conn && strcmp(first->what, second->what) == 0 &&
	    second->asked.t - first->asked.t <= TWIN;
	s->flags |= first->flags | second->flags;
	if (s->n_pairs > MAX_TOLD)
		return;
	p = pair_of(s, s->n_pairs - 1);
	memcpy(p->id, first->id_text, sizeof p->id);
	for (int i = 0; i < 2; i++) {
		memcpy(p->what[i], k[i]->what, sizeof p->what[i]);
		p->asked[i] = k[i]->asked;
		p->conn[i] = k[i]->conn;
		p->stream[i] = k[i]->stream;
		m[i]->pair = (uint32_t)s->n_pairs;
		m[i]->second = i == 1;
	}
}

static void
remember_asker(struct collision *r, const struct ev *e)
{
	int fresh;
	uint64_t id = id_of(r->all.ids);
	struct idrec *a = idtab_put(&r->askers, id, &fresh);

	(void)idtab_put(&r->used, used_key(e->session, id), &fresh);
	if (a->a == e->session)
		return;
	a->b = a->a;
	a->a = e->session;
}

static void
on_ask(struct collision *r, const struct ev *e)
{
	struct ask *k = asking_message(&r->all, e), *first;
	struct clash *s;

	if (k == NULL)
		return;
	remember_asker(r, e);
	s = (struct clash *)asking_find(&r->all, e->session);
	s->n_asks++;
	first = waiting(r, s, k->id, k->x, e->t);
	if (first == NULL)
		return;
	s->gap |= engine_gaps(r->engine, first->asked.t);
	pair_up(s, first, k);
	if (!two_legs(r, s))
		report(r, s);
}

/* ---- answered on another session's stream ---- */

static struct ask *
asked_by(struct collision *r, uint32_t session, uint32_t not, uint64_t id, ns_t now)
{
	struct clash *s = session == not ? NULL :
	    (struct clash *)asking_find(&r->all, session);

	if (s == NULL || !engine_same_server(r->engine, session, not))
		return NULL;
	return waiting(r, s, id, 0, now);
}

static void
report_crossed(struct collision *r, const struct clash *to, uint32_t from,
    const struct ask *k, const struct ev *e)
{
	struct draft *d = draft_new(r->engine, &rule_collision, "crossed", SEV_ERROR,
	    to->gap ? CONF_LOW : CONF_MEDIUM, to->asks.of.session);

	draft_title(d, "a response comes on a session that did not ask: id %s, which another "
	    "session waits for", k->id_text);
	draft_why(d, "No request with that id was under way in this session; in session number "
	    "%u of the same server %s with that id was, and has not been answered.", from,
	    k->what);
	draft_fix(d, "Server: make one server or transport object for each session; connecting "
	    "a second client to the same one redirects the answers of the first.  This gives "
	    "data of one user to another.");
	draft_stream(d, e->stream);
	draft_text(d, "id", str_c(k->id_text));
	draft_text(d, "request", str_c(k->what));
	draft_num(d, "asked_by_session", from);
	draft_evidence(d, k->asked, "%s, id %s, in the other session", k->what, k->id_text);
	draft_evidence(d, (struct at){ e->t, e->pkt }, "response with that id, here");
	draft_span(d, k->asked, (struct at){ e->t, e->pkt });
	draft_count(d, 1, 0, 0);
	draft_done(d);
}

/* Nobody of this session waits for that response. */
static void
on_stray(struct collision *r, struct clash *s, const struct ev *e)
{
	uint64_t id = id_of(r->all.ids);
	struct idrec *a = idtab_get(&r->askers, id);
	uint32_t session = s->asks.of.session;
	struct ask *k = NULL;
	uint32_t from = 0;

	/* Delivered again, or asked before the capture: then it is not. */
	if (a == NULL || s->crossed || !engine_complete(r->engine, session) ||
	    engine_inferred(r->engine, session) || e->flags & (EVF_GAP | EVF_MIDSTREAM) ||
	    e->stream == 0 || r->used.forgot || engine_gaps(r->engine, 0) ||
	    (!s->legacy && idtab_get(&r->used, used_key(session, id))))
		return;
	for (int i = 0; i < 2 && k == NULL; i++) {
		from = i ? a->b : a->a;
		k = asked_by(r, from, session, id, e->t);
	}
	if (k == NULL)
		return;
	s->crossed = true;
	report_crossed(r, s, from, k, e);
}

static void
on_answer(struct collision *r, struct clash *s, const struct ev *e)
{
	struct ask *k = asks_answered_by(&s->asks, e);
	struct mine *m;

	if (k == NULL) {
		on_stray(r, s, e);
		return;
	}
	k->answered = true;
	m = k->more;
	if (m->pair && m->pair <= MAX_TOLD) {
		struct pair *p = pair_of(s, m->pair - 1);

		p->answered[m->second] = (struct at){ e->t, e->pkt };
		p->stream[m->second] = e->stream;
		if (!two_legs(r, s))
			report(r, s);
	}
	if (k->ended.t || s->legacy)
		asks_remove(&s->asks, k);
}

/* ---- events ---- */

static void
cancel(struct clash *s, const struct ev *e)
{
	uint64_t id = map_digest(e->u.msg.cancels.p, e->u.msg.cancels.n);

	for (uint32_t i = 0; i < s->asks.n; i++)
		if (s->asks.v[i].id == id)
			((struct mine *)s->asks.v[i].more)->cancelled = true;
}

static void
on_end(struct clash *s, const struct ev *e)
{
	/* There the answer comes later, on the GET. */
	if (s->legacy)
		return;
	asking_response_end(&s->asks, e);
	for (uint32_t i = s->asks.n; i-- > 0;) {
		struct ask *k = &s->asks.v[i];

		/* A 202 for a request is not its answer; all else ends it. */
		if (k->x == e->x && k->status == 202)
			k->ended.t = 0;
		else if (k->ended.t)
			asks_remove(&s->asks, k);
	}
}

static void
on_stream(struct collision *r, const struct ev *e)
{
	struct clash *s = (struct clash *)asking_session(&r->all, e->session);

	s->legacy |= e->u.stream.kind == EV_LEGACY;
	for (uint32_t i = 0; i < s->asks.n; i++)
		if (s->asks.v[i].x == e->x)
			s->asks.v[i].stream = e->stream;
	(void)r;
}

static void
on_response(struct collision *r, const struct ev *e)
{
	bool waited = keeper_find(&r->all.waiting, e->x) != NULL;
	struct clash *s;
	int fresh;

	asking_response(&r->all, e);
	s = (struct clash *)asking_find(&r->all, e->session);
	if (s == NULL || !waited)
		return;
	s->inits++;
	for (uint32_t i = 0; i < s->asks.n; i++)
		if (s->asks.v[i].x == e->x)
			(void)idtab_put(&r->used, used_key(e->session, s->asks.v[i].id),
			    &fresh);
}

static void
on_message(struct collision *r, const struct ev *e)
{
	struct clash *s;

	if (e->dir == EV_C2S && e->u.msg.kind == EV_MSG_REQUEST) {
		on_ask(r, e);
		return;
	}
	if ((s = (struct clash *)asking_find(&r->all, e->session)) == NULL)
		return;
	if (e->dir == EV_C2S) {
		if (e->u.msg.kind == EV_MSG_NOTIFICATION && e->u.msg.cancels.p)
			cancel(s, e);
	} else if (e->u.msg.kind == EV_MSG_RESPONSE || e->u.msg.kind == EV_MSG_ERROR) {
		on_answer(r, s, e);
	}
}

static void
event(void *arg, const struct ev *e)
{
	struct collision *r = arg;
	struct asks *s;
	int fresh;

	switch (e->type) {
	case EV_MESSAGE:
		on_message(r, e);
		break;
	case EV_RESPONSE:
		on_response(r, e);
		break;
	case EV_STREAM:
		if (e->session)
			on_stream(r, e);
		break;
	case EV_RESPONSE_END:
		if ((s = asking_find(&r->all, e->session)) != NULL)
			on_end((struct clash *)s, e);
		break;
	case EV_CONN_END:
		(void)idtab_put(&r->ended, e->conn, &fresh);
		break;
	case EV_GAP:
		(void)idtab_put(&r->gaps, e->conn, &fresh);
		break;
	case EV_SESSION_END:
		if ((s = asking_find(&r->all, e->session)) != NULL)
			asking_drop(&r->all, s);
		break;
	case EV_FILE: case EV_CONN: case EV_REQUEST: case EV_REQUEST_END:
	case EV_SESSION: case EV_STREAM_END: case EV_SSE: case EV_COMMENT: case EV_OWNER:
	case EV_STALL: case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END:
	case EV_N_TYPES:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	(void)arg;
	(void)now;
}

const struct rule rule_collision = {
	.name = "id-collision",
	.summary = "a request id is used again while the first request with it waits",
	.reference = "mcpdiag-analyze(1), DETECTORS, id-collision",
	.wants = RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_CONN_END) |
	    RULE_WANTS(EV_GAP) |
	    RULE_WANTS(EV_SESSION_END),
	.skips = SKIP_NEWS,
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
