#include "mcpdiag/select.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"

#define MAX_METHOD 64

struct exchange {
	uint32_t x, status;
	char http[16], rpc[MAX_METHOD];	/* NUL-terminated, cut */
};

struct select {
	const struct where *where;
	struct timeline *tl;
	ns_t zero;
	struct exchange *exchanges;
};

struct select *
select_new(const struct where *w, struct timeline *tl)
{
	struct select *s = xcalloc(1, sizeof *s);

	s->where = w;
	s->tl = tl;
	s->exchanges = xcalloc(SELECT_EXCHANGES, sizeof *s->exchanges);
	return s;
}

void
select_free(struct select *s)
{
	if (s == NULL)
		return;
	free(s->exchanges);
	free(s);
}

static void
keep(char *to, size_t size, struct str s)
{
	size_t n = s.n < size - 1 ? s.n : size - 1;

	if (s.p)
		memcpy(to, s.p, n);
	to[s.p ? n : 0] = '\0';
}

static struct exchange *
exchange_of(struct select *s, uint32_t x)
{
	struct exchange *e = &s->exchanges[x % SELECT_EXCHANGES];

	return x && e->x == x ? e : NULL;
}

static void
learn(struct select *s, const struct ev *e)
{
	struct exchange *x;

	if (e->x == 0)
		return;
	if (e->type == EV_REQUEST) {
		x = &s->exchanges[e->x % SELECT_EXCHANGES];
		*x = (struct exchange){ .x = e->x };
		keep(x->http, sizeof x->http, e->u.req.method);
	}
	x = exchange_of(s, e->x);
	if (x == NULL)
		return;
	if (e->type == EV_RESPONSE)
		x->status = e->u.resp.status;
	/* The first message is the request that was POSTed. */
	if (e->type == EV_MESSAGE && e->dir == EV_C2S && x->rpc[0] == '\0')
		keep(x->rpc, sizeof x->rpc, e->u.msg.method);
}

static struct str
some(const char *s)
{
	return s && *s ? str_c(s) : STR_NONE;
}

static void
add_session(const struct select *s, struct where_item *i, uint32_t n)
{
	const struct tl_session *t = timeline_session_n(s->tl, n);

	i->session = STR_NONE;
	if (t == NULL)
		return;
	i->session = some(t->key);
	i->client[0] = some(t->client);
	i->client[1] = some(t->client_looks_like);
	i->server[0] = some(t->server);
	i->server[1] = some(t->looks_like);
	i->server[2] = some(t->endpoint);
}

static struct str
method_of(enum ev_kind kind)
{
	switch (kind) {
	case EV_STANDALONE: case EV_RESUMED: case EV_LEGACY:
		return STR("GET");
	case EV_POST_RESPONSE: case EV_LISTEN:
		return STR("POST");
	case EV_UNKNOWN_KIND:
		break;
	}
	return STR_NONE;
}

static void
add_streams(const struct select *s, struct where_item *i, const uint32_t *v, uint32_t n)
{
	i->streams = v;
	i->n_streams = n;
	for (uint32_t k = 0; k < n; k++) {
		const struct tl_stream *t = timeline_stream_n(s->tl, v[k]);

		if (t == NULL)
			continue;
		i->kinds |= 1u << t->kind;
		/* One of each at most, whatever the number of streams. */
		if (str_eq(method_of(t->kind), STR("GET")))
			i->method[0] = STR("GET");
		else if (str_eq(method_of(t->kind), STR("POST")))
			i->method[1] = STR("POST");
	}
}

static void
add_time(const struct select *s, struct where_item *i, struct at from, struct at to)
{
	i->timed = from.t != 0;
	i->from = from.t - s->zero;
	i->to = to.t - s->zero;
	i->first_pkt = from.pkt;
	i->last_pkt = to.pkt > from.pkt ? to.pkt : from.pkt;
}

/* A finding as that of one of its sessions. */
static bool
match_in(const struct select *s, const struct finding *f, uint32_t session)
{
	struct where_item i = { .finding = f };

	add_streams(s, &i, f->streams, f->n_streams);
	add_time(s, &i, f->first, f->last);
	add_session(s, &i, session);
	return where_match(s->where, &i);
}

static bool
match_finding(const struct select *s, const struct finding *f)
{
	bool yes = match_in(s, f, f->session);

	for (uint32_t k = 0; f->alike && k < f->sessions_alike && !yes; k++)
		yes = match_in(s, f, f->alike[k]);
	return yes;
}

static bool
match_event(struct select *s, const struct ev *e)
{
	struct where_item i = { .status = 0 };
	const struct exchange *x = exchange_of(s, e->x);
	struct at at = { e->t, e->pkt };

	if (e->stream)
		add_streams(s, &i, &e->stream, 1);
	add_session(s, &i, e->session);
	add_time(s, &i, at, at);
	if (x) {
		i.method[0] = some(x->http);
		i.method[1] = some(x->rpc);
		i.status = x->status;
	}
	if (e->type == EV_MESSAGE && e->u.msg.method.p)
		i.method[1] = e->u.msg.method;
	else if (e->type == EV_MESSAGE && e->u.msg.answers.p)
		i.method[1] = e->u.msg.answers;
	return where_match(s->where, &i);
}

bool
select_event(struct select *s, const struct ev *e, ns_t zero)
{
	s->zero = zero;
	learn(s, e);
	if (e->type == EV_FILE || e->type == EV_END)
		return true;		/* of the run, not of the traffic */
	if (e->type == EV_FINDING)
		return match_finding(s, e->u.finding);
	if (!match_event(s, e))
		return false;
	timeline_pick(s->tl, e->session, e->stream);
	return true;
}

/* A stream as a whole, also as one that a finding is about. */
static bool
match_stream(const struct select *s, const struct tl_stream *t, const struct finding *f)
{
	struct where_item i = { .status = 200, .finding = f };
	struct at to = { t->is_open ? timeline_total(s->tl)->u.total.last : t->ended,
	    t->is_open ? UINT32_MAX : t->end_pkt };

	add_session(s, &i, t->session);
	add_streams(s, &i, &t->n, 1);
	add_time(s, &i, (struct at){ t->opened, t->pkt }, to);
	return where_match(s->where, &i);
}

static void
pick_lasting(struct select *s)
{
	const struct tl_stream *t;
	const struct tl_session *n;

	for (uint32_t k = 0; (t = timeline_stream(s->tl, k)) != NULL; k++)
		if (match_stream(s, t, NULL))
			timeline_pick(s->tl, t->session, t->n);
	for (uint32_t k = 0; (n = timeline_session(s->tl, k)) != NULL; k++) {
		struct where_item i = { .status = 0 };

		add_session(s, &i, n->n);
		add_time(s, &i, (struct at){ n->opened, 0 }, (struct at){ n->closed, 0 });
		if (where_match(s->where, &i))
			timeline_pick(s->tl, n->n, 0);
	}
}

/* What a finding that is shown is about. */
static void
pick_concerned(struct select *s, const struct finding *f)
{
	const struct tl_stream *t;

	if (match_in(s, f, f->session))
		timeline_pick(s->tl, f->session, 0);
	for (uint32_t k = 0; f->alike && k < f->sessions_alike; k++)
		if (match_in(s, f, f->alike[k]))
			timeline_pick(s->tl, f->alike[k], 0);
	for (uint32_t k = 0; k < f->n_streams; k++) {
		t = timeline_stream_n(s->tl, f->streams[k]);
		if (t && match_stream(s, t, f))
			timeline_pick(s->tl, 0, t->n);
	}
}

static bool
unmatched(void *arg, const struct finding *f)
{
	const struct select *s = arg;

	return !match_finding(s, f);
}

static void
count(const struct timeline *tl, uint32_t *findings, uint32_t *sessions, uint32_t *streams)
{
	for (*findings = 0; timeline_finding(tl, *findings); (*findings)++)
		;
	for (*sessions = 0; timeline_session(tl, *sessions); (*sessions)++)
		;
	for (*streams = 0; timeline_stream(tl, *streams); (*streams)++)
		;
}

void
select_end(struct select *s, struct select_sums *sums)
{
	const struct finding *f;

	s->zero = timeline_total(s->tl)->u.total.first;
	count(s->tl, &sums->all_findings, &sums->all_sessions, &sums->all_streams);
	pick_lasting(s);
	(void)timeline_hide(s->tl, unmatched, s);
	for (uint32_t k = 0; (f = timeline_finding(s->tl, k)) != NULL; k++)
		pick_concerned(s, f);
	timeline_show_picked(s->tl);
	count(s->tl, &sums->findings, &sums->sessions, &sums->streams);
}
