/* wrong-stream: what belongs to a running request comes on the session's GET
 * stream.  DETECTORS "wrong-stream".
 *
 * Only streams that can belong to no request count: a GET without cursor, or
 * one that resumes another such stream.  On HTTP+SSE all comes on the GET. */
#include <stdlib.h>

#include "mcpdiag/rule.h"
#include "mcpdiag/xmem.h"
#include "rule_asks.h"

#define UNANSWERED (30 * NS_S)
#define MAX_GETS 16
#define MAX_CASES 8		/* told of in one finding */

enum what { PROGRESS, QUESTION, RESPONSE, N_WHAT };

struct get {
	uint32_t stream, flags;
	bool standalone;
};

struct place {				/* one message on the wrong stream */
	char request[ASK_WHAT];
	uint32_t stream, post;		/* where it came, where it belongs */
	struct at at;
};

struct misplaced {			/* of one kind */
	struct place v[MAX_CASES];
	uint64_t n;
	uint32_t flags;
	bool json;			/* a body is all that the POST can carry */
	struct at first, last;
};

struct question {			/* a request of the server */
	uint64_t id;
	uint32_t x;			/* the request that runs meanwhile */
	struct at at;
	bool answered;
};

struct seen {				/* of one session, from the first on */
	struct misplaced of[N_WHAT];
	struct question questions[MAX_CASES];
	uint32_t n_questions;
};

struct astray {				/* one session; asks.extra: struct seen */
	struct asks asks;
	struct get gets[MAX_GETS];
	uint32_t n_gets;
};

struct wrong {
	struct engine *engine;
	struct asking all;
};

const struct rule rule_wrong;

static void *
new(struct engine *e, const struct limits *lim)
{
	struct wrong *r = xcalloc(1, sizeof *r);

	r->engine = e;
	asking_init(&r->all, e, lim, sizeof(struct astray), 0);
	return r;
}

static void
free_rule(void *arg)
{
	struct wrong *r = arg;

	asking_fini(&r->all);
	free(r);
}

static struct get *
get_of(struct astray *s, uint32_t stream)
{
	for (uint32_t i = 0; i < s->n_gets && stream; i++)
		if (s->gets[i].stream == stream)
			return &s->gets[i];
	return NULL;
}

static struct seen *
seen_of(struct astray *s)
{
	if (s->asks.extra == NULL)
		s->asks.extra = xcalloc(1, sizeof(struct seen));
	return s->asks.extra;
}

/* ---- findings ---- */

static const struct {
	const char *variant, *thing, *why, *fix;
} words[N_WHAT] = {
	[PROGRESS] = { "progress", "progress of a running request",
	    "The progress token is that of a request whose POST was still open.  Clients "
	    "that look for it there see none, and without a GET it is lost.",
	    "Server: send progress on the event stream of the POST that asked for it, not "
	    "on the session's common channel (give the notification the related request)." },
	[QUESTION] = { "request", "a request of the server while one request of the client "
	    "runs", "By the time it comes it belongs to that request; on the GET stream a "
	    "client may not expect it, or have no such stream.",
	    "Server: ask the client on the stream of the POST whose handler asks; the Rust "
	    "SDK does so from 3.0.0 on." },
	[RESPONSE] = { "response", "the response to a POST",
	    "A GET without Last-Event-ID must carry no response; many clients drop it "
	    "there, and the call hangs.",
	    "Server: send the response on the POST's own stream, or on a GET that resumes "
	    "that stream." },
};

static void
report(struct wrong *r, const struct astray *s, enum what w, enum severity sev,
    enum confidence conf)
{
	const struct misplaced *m = &((const struct seen *)s->asks.extra)->of[w];
	uint64_t shown = m->n < MAX_CASES ? m->n : MAX_CASES;
	struct draft *d;

	if (engine_inferred(r->engine, s->asks.of.session))
		conf = CONF_LOW;
	else if (m->flags & (EVF_GAP | EVF_MIDSTREAM) && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	d = draft_new(r->engine, &rule_wrong, words[w].variant, sev, conf,
	    s->asks.of.session);
	draft_title(d, "%s (%s) comes on the GET stream %u instead of the POST's: %llu "
	    "message%s", words[w].thing, m->v[0].request, m->v[0].stream,
	    (unsigned long long)m->n, m->n == 1 ? "" : "s");
	draft_why(d, "%s%s", words[w].why, m->json ? "  The POST was answered by a JSON body, "
	    "which can carry nothing else." : "");
	draft_fix(d, "%s%s", words[w].fix, m->json ? "  Answer such calls with an event "
	    "stream." : "");
	draft_text(d, "request", str_c(m->v[0].request));
	draft_num(d, "messages", (double)m->n);
	draft_bool(d, "json_answer", m->json);
	for (uint64_t i = 0; i < shown; i++) {
		draft_stream(d, m->v[i].stream);
		if (m->v[i].post)
			draft_stream(d, m->v[i].post);
		draft_evidence(d, m->v[i].at, "%s of %s, on stream %u", words[w].variant,
		    m->v[i].request, m->v[i].stream);
	}
	draft_span(d, m->first, m->last);
	draft_count(d, m->n, 0, 0);
	draft_done(d);
}

static void
note(struct astray *s, enum what w, const struct get *g, const struct ask *k,
    const struct ev *e)
{
	struct misplaced *m = &seen_of(s)->of[w];

	m->last = (struct at){ e->t, e->pkt };
	m->flags |= g->flags | e->flags | k->flags;
	if (m->n < MAX_CASES) {
		m->v[m->n] = (struct place){ .stream = g->stream, .post = k->stream,
		    .at = m->last };
		memcpy(m->v[m->n].request, k->what, sizeof k->what);
	}
	if (m->n++ == 0)
		m->first = m->last;
}

/* ---- events ---- */

static bool
running(const struct ask *k)
{
	return !k->answered && k->ended.t == 0;
}

static void
on_progress(struct wrong *r, struct astray *s, const struct get *g, const struct ev *e)
{
	for (uint32_t i = 0; i < s->asks.n; i++) {
		const struct ask *k = &s->asks.v[i];

		if (k->x != e->u.msg.of || !running(k))
			continue;
		note(s, PROGRESS, g, k, e);
		report(r, s, PROGRESS, seen_of(s)->of[PROGRESS].json ? SEV_WARNING :
		    SEV_ERROR, CONF_HIGH);
		return;
	}
}

/* The head came after the progress: a body after all? */
static void
on_head(struct wrong *r, struct astray *s, const struct ev *e)
{
	struct misplaced *m = s->asks.extra ? &seen_of(s)->of[PROGRESS] : NULL;

	if (m == NULL || m->n == 0 || m->json || e->u.resp.event_stream)
		return;
	for (uint32_t i = 0; i < s->asks.n; i++)
		if (s->asks.v[i].x == e->x &&
		    strcmp(s->asks.v[i].what, m->v[0].request) == 0)
			m->json = true;
	if (m->json)
		report(r, s, PROGRESS, SEV_WARNING, CONF_HIGH);
}

static void
on_question(struct astray *s, const struct get *g, const struct ev *e)
{
	const struct ask *only = NULL;
	struct seen *seen;
	struct question *q;

	for (uint32_t i = 0; i < s->asks.n; i++) {
		if (!running(&s->asks.v[i]))
			continue;
		if (only)		/* whose is it? */
			return;
		only = &s->asks.v[i];
	}
	if (only == NULL)
		return;
	seen = seen_of(s);
	if (seen->n_questions == MAX_CASES)
		return;
	q = &seen->questions[seen->n_questions++];
	*q = (struct question){ .x = only->x, .at = { e->t, e->pkt } };
	q->id = id_of(s->asks.in->ids);
	note(s, QUESTION, g, only, e);
}

static void
on_response_message(struct wrong *r, struct astray *s, const struct ev *e)
{
	const struct get *g = get_of(s, e->stream);
	struct ask *k = asks_answered_by(&s->asks, e);

	if (k == NULL)
		return;
	if (g && g->standalone && k->x != e->x) {
		note(s, RESPONSE, g, k, e);
		report(r, s, RESPONSE, SEV_ERROR, CONF_HIGH);
	}
	k->answered = true;
	if (k->ended.t)
		asks_remove(&s->asks, k);
}

static void
on_server_message(struct wrong *r, struct astray *s, const struct ev *e)
{
	const struct get *g = get_of(s, e->stream);

	switch (e->u.msg.kind) {
	case EV_MSG_RESPONSE: case EV_MSG_ERROR:
		on_response_message(r, s, e);
		break;
	case EV_MSG_NOTIFICATION:
		if (g && str_eq(e->u.msg.method, STR("notifications/progress")))
			on_progress(r, s, g, e);
		break;
	case EV_MSG_REQUEST:
		if (g && !str_eq(e->u.msg.method, STR("ping")))
			on_question(s, g, e);
		break;
	case EV_MSG_INVALID:
		break;
	}
}

static void
on_client_message(struct wrong *r, const struct ev *e)
{
	struct astray *s;
	struct seen *seen;
	uint64_t id;

	if (e->u.msg.kind == EV_MSG_REQUEST) {
		(void)asking_message(&r->all, e);
		return;
	}
	s = (struct astray *)asking_find(&r->all, e->session);
	if (s == NULL || e->u.msg.kind == EV_MSG_NOTIFICATION || s->asks.extra == NULL)
		return;
	id = id_of(r->all.ids);
	seen = seen_of(s);
	for (uint32_t i = 0; i < seen->n_questions; i++)
		seen->questions[i].answered |= seen->questions[i].id == id;
}

/* A question that nobody answers, and the request that waits for it. */
static void
judge(struct wrong *r, struct astray *s, ns_t now)
{
	const struct seen *seen = s->asks.extra;
	bool hangs = false;

	if (seen == NULL || seen->n_questions == 0)
		return;
	for (uint32_t i = 0; i < seen->n_questions; i++) {
		const struct question *q = &seen->questions[i];

		for (uint32_t j = 0; j < s->asks.n; j++)
			hangs |= !q->answered && now - q->at.t >= UNANSWERED &&
			    s->asks.v[j].x == q->x && !s->asks.v[j].answered;
	}
	report(r, s, QUESTION, hangs ? SEV_ERROR : SEV_INFO, CONF_MEDIUM);
}

static void
on_stream(struct wrong *r, const struct ev *e)
{
	struct astray *s = (struct astray *)asking_session(&r->all, e->session);
	bool standalone = e->u.stream.kind == EV_STANDALONE;
	struct get *g;

	for (uint32_t i = 0; i < s->asks.n; i++)
		if (s->asks.v[i].x == e->x)
			s->asks.v[i].stream = e->stream;
	if (s->n_gets == MAX_GETS || !(standalone || (e->u.stream.kind == EV_RESUMED &&
	    e->u.stream.givers == 1 && get_of(s, e->u.stream.resumes))))
		return;
	g = &s->gets[s->n_gets++];
	*g = (struct get){ e->stream, e->flags, standalone };
}

/* Kept for a while after their end: a later one may resume them. */
static void
forget_get(struct astray *s)
{
	if (s->n_gets < MAX_GETS)
		return;
	memmove(s->gets, s->gets + 1, (--s->n_gets) * sizeof *s->gets);
}

static void
close_session(struct wrong *r, struct astray *s, ns_t now)
{
	judge(r, s, now);
	asking_drop(&r->all, &s->asks);
}

static void
event(void *arg, const struct ev *e)
{
	struct wrong *r = arg;
	struct astray *s;

	if (e->type == EV_MESSAGE && e->dir == EV_C2S) {
		on_client_message(r, e);
		return;
	}
	if (e->type == EV_STREAM && e->session) {
		on_stream(r, e);
		return;
	}
	if (e->type == EV_RESPONSE)
		asking_response(&r->all, e);
	if ((s = (struct astray *)asking_find(&r->all, e->session)) == NULL)
		return;
	if (e->type == EV_MESSAGE)
		on_server_message(r, s, e);
	else if (e->type == EV_RESPONSE)
		on_head(r, s, e);
	else if (e->type == EV_RESPONSE_END)
		asking_response_end(&s->asks, e);
	else if (e->type == EV_STREAM_END)
		forget_get(s);
	else if (e->type == EV_SESSION_END)
		close_session(r, s, e->t);
}

static void
end(void *arg, ns_t now)
{
	struct wrong *r = arg;
	struct kept *k, *tmp;

	KEEPER_EACH(&r->all.sessions, k, tmp)
		close_session(r, (struct astray *)k, now);
}

const struct rule rule_wrong = {
	.name = "wrong-stream",
	.summary = "what belongs to a running request comes on the GET stream",
	.reference = "mcpdiag-analyze(1), DETECTORS, wrong-stream",
	.wants = RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_SESSION_END),
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
