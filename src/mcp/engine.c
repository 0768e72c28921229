#include "mcpdiag/engine.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/idtab.h"
#include "mcpdiag/map.h"
#include "seen.h"

#define TICK (100 * NS_MS)
#define MAX_RULES 64
#define MAX_READERS 8

struct draft {
	struct finding f;
	const struct rule *rule;
	struct engine *engine;
	uint32_t order;		/* in which it was first reported */
	uint32_t cap_streams, cap_alike, cap_owned;
	uint32_t *streams, *alike;
	char **owned;		/* texts */
	uint32_t n_owned;
	uint64_t software;	/* of its session: aggregation */
	uint32_t more;		/* cases added to the first one */
	size_t title_n;		/* of the first one's title */
	bool gone;		/* aggregated into another */
	struct draft *root;
	enum severity weight;	/* the worst of it and its consequences */
};

/* Who wants to see events of one type, in the order they do. */
struct hands {
	uint32_t n;
	struct {
		void (*event)(void *, const struct ev *);
		void *state;
	} v[MAX_READERS + MAX_RULES];
};

/* Parts of a type that some skip. */
enum {
	CLASS_POST = EV_N_TYPES, CLASS_NEWS, CLASS_ANSWER, CLASS_PLAIN, CLASS_END,
	N_CLASSES = CLASS_END - EV_N_TYPES
};

static const struct {
	enum ev_type type;
	uint32_t skip;
} classes[N_CLASSES] = {
	{ EV_REQUEST, SKIP_POSTS }, { EV_MESSAGE, SKIP_NEWS }, { EV_MESSAGE, SKIP_ANSWERS },
	{ EV_SSE, SKIP_PLAIN },
};

struct engine {
	struct limits lim;
	ev_fn *out;
	void *arg;
	const struct rule *const *rules;
	void *state[MAX_RULES];
	uint32_t n_rules;
	uint32_t n_ticks, ticks[MAX_RULES];	/* the rules that have a tick() */
	const struct reader *readers[MAX_READERS];
	void *facts[MAX_READERS];
	uint32_t n_readers;
	struct {
		void (*shed)(void *);
		void *arg;
	} *keeps;
	uint32_t n_keeps, cap_keeps;
	bool awake[MAX_RULES], woken;	/* woken: since hands were made */
	struct hands hands[EV_N_TYPES + N_CLASSES];
	struct hands torn[EV_N_TYPES];	/* of EVF_GAP, EVF_MIDSTREAM */
	ns_t ticked;
	struct idtab software;	/* session -> digest of who is who */
	struct idtab looks;	/* session -> place in names + 1, complete,
				 * inferred; digest of the server's address */
	char *names[64];	/* looks_like strings; few are different */
	uint32_t n_names;
	struct idtab told;	/* by draft_tell() */
	struct seen seen;
	struct draft **found;
	uint32_t n_found, cap_found;
	bool full, only_tell;
	ns_t now, gap;		/* of the last event; of the last gap */
	uint32_t pkt;
};

/* Which finding explains which, on the same session: DETECTORS "Causes". */
static const struct {
	const char *cause, *effect;
} chains[] = {
	{ "leapfrog", "replay-loop" },
	{ "leapfrog", "notification-storm" },
	{ "replay-loop", "notification-storm" },
	{ "orphaned-channel", "half-open" },
	{ "half-open", "session-wedge" },
	{ "abrupt-shutdown", "lost-response" },
	{ "id-collision", "lost-response" },
	{ "stale-slot", "collateral-teardown" },
	{ "refused-get-loop", "collateral-teardown" },
	{ "empty-accept-loop", "collateral-teardown" },
};

/* The same where the cause is a warning and its effects are errors. */
static const struct {
	const char *cause, *effect;
} mild_chains[] = {
	{ "idle-cut", "stale-slot" },
	{ "idle-cut", "empty-accept-loop" },
	{ "idle-cut", "refused-get-loop" },
	{ "idle-cut", "cursor-loss" },
	{ "idle-cut", "collateral-teardown" },
	{ "idle-cut", "dead-session" },
	{ "idle-cut", "lost-response" },
	{ "idle-cut", "reconnect-storm" },
	{ "abrupt-shutdown", "dead-session" },
	{ "cursor-loss", "collateral-teardown" },
};

void *
engine_reader(struct engine *e, const struct reader *reader)
{
	void *facts;

	for (uint32_t i = 0; i < e->n_readers; i++)
		if (e->readers[i] == reader)
			return e->facts[i];
	facts = reader->new(e, &e->lim);	/* may ask for others, first */
	assert(e->n_readers < MAX_READERS);
	e->readers[e->n_readers] = reader;
	e->facts[e->n_readers++] = facts;
	return facts;
}

void
engine_sheds(struct engine *e, void (*shed)(void *), void *arg)
{
	e->keeps = xgrow(e->keeps, e->n_keeps, &e->cap_keeps, sizeof *e->keeps);
	e->keeps[e->n_keeps].shed = shed;
	e->keeps[e->n_keeps++].arg = arg;
}

void
engine_shed(struct engine *e)
{
	for (uint32_t i = 0; i < e->n_keeps; i++)
		e->keeps[i].shed(e->keeps[i].arg);
}

static void
hand(struct hands *h, void (*event)(void *, const struct ev *), void *state)
{
	h->v[h->n].event = event;
	h->v[h->n++].state = state;
}

static void
hand_all(struct engine *e, uint32_t wants, uint32_t skips, uint32_t sleeps,
    void (*event)(void *, const struct ev *), void *state)
{
	wants = wants ? wants : ~0u;
	for (uint32_t type = 0; type < EV_N_TYPES; type++) {
		if ((wants & RULE_WANTS(type)) == 0)
			continue;
		hand(&e->torn[type], event, state);
		if ((sleeps & RULE_WANTS(type)) == 0)
			hand(&e->hands[type], event, state);
	}
	for (uint32_t c = 0; c < N_CLASSES; c++) {
		uint32_t bit = RULE_WANTS(classes[c].type);

		if (wants & bit && !(sleeps & bit) && !(skips & classes[c].skip))
			hand(&e->hands[EV_N_TYPES + c], event, state);
	}
}

/* Who sees what, readers first. */
static void
hand_out(struct engine *e)
{
	memset(e->hands, 0, sizeof e->hands);
	memset(e->torn, 0, sizeof e->torn);
	for (uint32_t i = 0; i < e->n_readers; i++)
		hand_all(e, e->readers[i]->wants, e->readers[i]->skips, 0,
		    e->readers[i]->event, e->facts[i]);
	for (uint32_t i = 0; i < e->n_rules; i++)
		hand_all(e, e->rules[i]->wants, e->rules[i]->skips,
		    e->awake[i] ? 0 : e->rules[i]->sleeps, e->rules[i]->event,
		    e->state[i]);
	e->woken = false;
}

void
engine_wake(struct engine *e, const struct rule *rule)
{
	for (uint32_t i = 0; i < e->n_rules; i++) {
		if (e->rules[i] != rule || e->awake[i])
			continue;
		e->awake[i] = e->woken = true;
	}
}

static const struct hands *
hands_of(struct engine *e, const struct ev *v)
{
	if (e->woken)
		hand_out(e);
	if (v->flags & (EVF_GAP | EVF_MIDSTREAM))
		return &e->torn[v->type];
	if (v->type == EV_MESSAGE && v->dir == EV_S2C) {
		if (v->u.msg.kind == EV_MSG_RESPONSE || v->u.msg.kind == EV_MSG_ERROR)
			return &e->hands[CLASS_ANSWER];
		if (v->u.msg.kind == EV_MSG_NOTIFICATION &&
		    v->u.msg.channel == EV_CH_REQUEST)
			return &e->hands[CLASS_NEWS];
	} else if (v->type == EV_SSE) {
		if (v->u.sse.id.n == 0 && v->u.sse.retry_ms < 0)
			return &e->hands[CLASS_PLAIN];
	} else if (v->type == EV_REQUEST) {
		if (str_eq(v->u.req.method, STR("POST")))
			return &e->hands[CLASS_POST];
	}
	return &e->hands[v->type];
}

struct engine *
engine_new(const struct limits *lim, const struct rule *const *rules, ev_fn *out, void *arg)
{
	struct engine *e = xcalloc(1, sizeof *e);

	e->lim = *lim;
	e->out = out;
	e->arg = arg;
	e->rules = rules;
	idtab_init(&e->software, (uint32_t)lim->sessions);
	idtab_init(&e->told, (uint32_t)lim->sessions);
	seen_init(&e->seen, lim);
	idtab_init(&e->looks, (uint32_t)lim->sessions);
	for (; rules[e->n_rules] && e->n_rules < MAX_RULES; e->n_rules++) {
		e->state[e->n_rules] = rules[e->n_rules]->new(e, lim);
		if (rules[e->n_rules]->tick)
			e->ticks[e->n_ticks++] = e->n_rules;
	}
	hand_out(e);
	return e;
}

static void
draft_free(struct draft *d)
{
	for (uint32_t i = 0; i < d->n_owned; i++)
		free(d->owned[i]);
	free(d->owned);
	free(d->streams);
	free(d->alike);
	free(d);
}

void
engine_free(struct engine *e)
{
	if (e == NULL)
		return;
	for (uint32_t i = 0; i < e->n_rules; i++)
		e->rules[i]->free(e->state[i]);
	for (uint32_t i = e->n_readers; i-- > 0;)
		e->readers[i]->free(e->facts[i]);
	for (uint32_t i = 0; i < e->n_found; i++)
		draft_free(e->found[i]);
	free(e->found);
	free(e->keeps);
	idtab_fini(&e->software);
	idtab_fini(&e->told);
	seen_fini(&e->seen);
	idtab_fini(&e->looks);
	for (uint32_t i = 0; i < e->n_names; i++)
		free(e->names[i]);
	free(e);
}

static void
tell(struct engine *e, const struct draft *d, uint32_t flags)
{
	struct ev v = { .type = EV_FINDING, .flags = flags, .session = d->f.session,
	    .t = d->f.last.t, .pkt = d->f.last.pkt };

	v.u.finding = &d->f;
	e->out(e->arg, &v);
}

/* ---- the end: chain, aggregate, sort ---- */

static bool
explains(const struct draft *a, const struct draft *b)
{
	ns_t slack = 2 * (a->f.period > NS_S ? a->f.period : NS_S);

	if (a->f.session != b->f.session || a == b)
		return false;
	if (b->f.first.t > a->f.last.t + slack || b->f.last.t < a->f.first.t)
		return false;
	for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++)
		if (strcmp(a->f.detector, chains[i].cause) == 0 &&
		    strcmp(b->f.detector, chains[i].effect) == 0)
			return a->f.severity >= b->f.severity;
	for (size_t i = 0; i < sizeof mild_chains / sizeof mild_chains[0]; i++)
		if (strcmp(a->f.detector, mild_chains[i].cause) == 0 &&
		    strcmp(b->f.detector, mild_chains[i].effect) == 0)
			return a->f.severity >= SEV_WARNING;
	return false;
}

static void
chain(struct engine *e)
{
	for (uint32_t i = 0; i < e->n_found; i++) {
		struct draft *b = e->found[i];

		for (uint32_t j = 0; j < e->n_found && b->root == NULL; j++) {
			struct draft *a = e->found[j];
			if (explains(a, b))
				b->root = a;
		}
	}
	for (uint32_t i = 0; i < e->n_found; i++) {
		struct draft *b = e->found[i];
		while (b->root && b->root->root)	/* two links at most */
			b->root = b->root->root;
	}
}

static bool
same_kind(const struct draft *a, const struct draft *b)
{
	return a->rule == b->rule && str_eq(str_c(a->f.variant), str_c(b->f.variant));
}

static bool
same_fault(const struct draft *a, const struct draft *b)
{
	return same_kind(a, b) && a->f.severity == b->f.severity &&
	    a->software == b->software && (a->root == NULL) == (b->root == NULL);
}

static void
aggregate(struct engine *e)
{
	for (uint32_t i = 0; i < e->n_found; i++) {
		struct draft *a = e->found[i];
		struct idrec *r = idtab_get(&e->software, a->f.session);

		a->software = r ? (uint64_t)r->a << 32 | r->b : a->f.session;
	}
	for (uint32_t i = 0; i < e->n_found; i++) {
		struct draft *a = e->found[i];

		if (a->gone || a->f.session == 0)
			continue;
		for (uint32_t j = i + 1; j < e->n_found; j++) {
			struct draft *b = e->found[j];

			if (b->gone || b->f.session == a->f.session || !same_fault(a, b))
				continue;
			b->gone = true;
			a->alike = xgrow(a->alike, a->f.sessions_alike, &a->cap_alike,
			    sizeof *a->alike);
			a->alike[a->f.sessions_alike++] = b->f.session;
			a->f.alike = a->alike;
		}
	}
	/* A consequence whose root was merged away hangs on what it merged into;
	 * those were merged alike, so its own root's keeper is known by kind. */
	for (uint32_t i = 0; i < e->n_found; i++) {
		struct draft *b = e->found[i];

		if (b->gone || b->root == NULL || !b->root->gone)
			continue;
		for (uint32_t j = 0; j < e->n_found; j++)
			if (!e->found[j]->gone && same_fault(e->found[j], b->root)) {
				b->root = e->found[j];
				break;
			}
	}
}

static void
weigh(struct engine *e)
{
	for (uint32_t i = 0; i < e->n_found; i++)
		e->found[i]->weight = e->found[i]->f.severity;
	for (uint32_t i = 0; i < e->n_found; i++) {
		struct draft *d = e->found[i];

		if (d->root && d->root->weight < d->f.severity)
			d->root->weight = d->f.severity;
	}
}

/* Remarks come after all that hurts, and before what is for information. */
static int
class(const struct draft *d)
{
	if (d->weight == SEV_INFO)
		return d->rule->remark ? 3 : 2;
	return d->rule->remark ? 1 : 0;
}

static int
by_weight(const void *pa, const void *pb)
{
	const struct draft *a = *(struct draft *const *)pa;
	const struct draft *b = *(struct draft *const *)pb;
	const struct draft *ra = a->root ? a->root : a, *rb = b->root ? b->root : b;

	if (ra != rb) {
		if (class(ra) != class(rb))
			return class(ra) - class(rb);
		if (ra->weight != rb->weight)
			return (int)rb->weight - (int)ra->weight;
		if (ra->f.first.t != rb->f.first.t)
			return ra->f.first.t < rb->f.first.t ? -1 : 1;
		return ra->order < rb->order ? -1 : 1;
	}
	if ((a->root == NULL) != (b->root == NULL))
		return a->root == NULL ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void
finish(struct engine *e, ns_t now)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < e->n_rules; i++)
		e->rules[i]->end(e->state[i], now);
	chain(e);
	aggregate(e);
	for (uint32_t i = 0; i < e->n_found; i++) {
		if (e->found[i]->gone)
			draft_free(e->found[i]);
		else
			e->found[kept++] = e->found[i];
	}
	e->n_found = kept;
	weigh(e);
	if (kept)
		qsort(e->found, kept, sizeof *e->found, by_weight);
	for (uint32_t i = 0; i < kept; i++) {
		e->found[i]->f.n = i + 1;
		/* What is against the specification needs no such words. */
		if (!e->found[i]->rule->remark)
			seen_say(&e->seen, e->found[i], &e->found[i]->f);
	}
	for (uint32_t i = 0; i < kept; i++) {
		struct draft *d = e->found[i];

		d->f.consequence_of = d->root ? d->root->f.n : 0;
		tell(e, d, EVF_FINAL);
	}
}

static void
learn_software(struct engine *e, const struct ev *v)
{
	struct digest d;
	struct idrec *r;
	uint64_t h;
	int fresh;

	digest_init(&d);
	digest_add(&d, v->u.session.endpoint.p, v->u.session.endpoint.n);
	digest_add(&d, "\n", 1);
	digest_add(&d, v->u.session.server.p, v->u.session.server.n);
	digest_add(&d, "\n", 1);
	digest_add(&d, v->u.session.client.p, v->u.session.client.n);
	h = digest_end(&d);
	r = idtab_put(&e->software, v->session, &fresh);
	r->a = (uint32_t)(h >> 32);
	r->b = (uint32_t)h;
}

static uint32_t
intern(struct engine *e, struct str name)
{
	uint32_t i;

	if (name.p == NULL)
		return 0;
	for (i = 0; i < e->n_names; i++)
		if (str_eq(str_c(e->names[i]), name))
			return i + 1;
	if (i == sizeof e->names / sizeof e->names[0])
		return 0;
	e->names[e->n_names++] = xmemdup0(name.p, name.n);
	return e->n_names;
}

static void
learn_looks(struct engine *e, const struct ev *v)
{
	uint32_t inferred = (v->flags & EVF_INFERRED) != 0;
	uint32_t name = intern(e, v->u.session.looks_like);
	struct idrec *r;
	int fresh;

	r = idtab_put(&e->looks, v->session, &fresh);
	r->a = name << 2 | (uint32_t)(v->u.session.server.p != NULL) << 1 | inferred;
	r->b = (uint32_t)map_digest(v->u.session.endpoint.p, v->u.session.endpoint.n);
}

bool
engine_looks(const struct engine *e, uint32_t session, const char *prefix)
{
	const struct idrec *r = idtab_get(&e->looks, session);

	return r && r->a > 3 &&
	    str_pre(str_c(e->names[(r->a >> 2) - 1]), str_c(prefix));
}

bool
engine_inferred(const struct engine *e, uint32_t session)
{
	const struct idrec *r = idtab_get(&e->looks, session);

	return r && (r->a & 1);
}

bool
engine_complete(const struct engine *e, uint32_t session)
{
	const struct idrec *r = idtab_get(&e->looks, session);

	return r && (r->a & 2);
}

bool
engine_gaps(const struct engine *e, ns_t since)
{
	return e->gap && e->gap >= since;
}

bool
engine_same_server(const struct engine *e, uint32_t a, uint32_t b)
{
	const struct idrec *ra = idtab_get(&e->looks, a), *rb = idtab_get(&e->looks, b);

	return ra && rb && ra->b == rb->b;
}

void
engine_tick(struct engine *e, ns_t now)
{
	if (now < e->ticked + TICK)
		return;
	e->ticked = now;
	for (uint32_t i = 0; i < e->n_ticks; i++)
		e->rules[e->ticks[i]]->tick(e->state[e->ticks[i]], now);
}

void
engine_event(struct engine *e, const struct ev *v)
{
	const struct hands *h;

	if (v->t) {
		e->now = v->t;
		e->pkt = v->pkt;
	}
	engine_tick(e, v->t);
	if (v->type == EV_GAP)
		e->gap = v->t;
	if (v->type == EV_SESSION) {
		learn_software(e, v);
		learn_looks(e, v);
	}
	seen_event(&e->seen, v);
	if (v->type == EV_END) {
		finish(e, v->t);
		e->out(e->arg, v);
		return;
	}
	e->out(e->arg, v);		/* before what is found in it */
	h = hands_of(e, v);
	for (uint32_t i = 0; i < h->n; i++)
		h->v[i].event(h->v[i].state, v);
}

const struct finding *
engine_finding(const struct engine *e, uint32_t n)
{
	return n < e->n_found ? &e->found[n]->f : NULL;
}

/* ---- drafts ---- */

struct draft *
draft_new(struct engine *e, const struct rule *rule, const char *variant,
    enum severity severity, enum confidence confidence, uint32_t session)
{
	struct draft *d = xcalloc(1, sizeof *d);

	d->engine = e;
	d->rule = rule;
	d->f.detector = rule->name;
	d->f.variant = variant;
	d->f.severity = severity;
	d->f.confidence = confidence;
	d->f.session = session;
	d->f.reference = rule->reference;
	d->f.remark = rule->remark && severity < SEV_ERROR;
	return d;
}

static struct str
own(struct draft *d, const char *p, size_t n)
{
	char *s = xmemdup0(p, n);

	d->owned = xgrow(d->owned, d->n_owned, &d->cap_owned, sizeof *d->owned);
	d->owned[d->n_owned++] = s;
	return str_of(s, n);
}

static struct str own_fmt(struct draft *, const char *, va_list)
    __attribute__((format(printf, 2, 0)));

static struct str
own_fmt(struct draft *d, const char *fmt, va_list ap)
{
	char text[1024];
	int n = vsnprintf(text, sizeof text, fmt, ap);

	if (n < 0)
		return STR("");
	return own(d, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void
draft_stream(struct draft *d, uint32_t stream)
{
	for (uint32_t i = 0; i < d->f.n_streams; i++)
		if (d->streams[i] == stream)
			return;
	d->streams = xgrow(d->streams, d->f.n_streams, &d->cap_streams, sizeof *d->streams);
	d->streams[d->f.n_streams++] = stream;
	d->f.streams = d->streams;
}

void
draft_span(struct draft *d, struct at first, struct at last)
{
	d->f.first = first;
	d->f.last = last;
}

void
draft_count(struct draft *d, uint64_t count, ns_t period, ns_t spread)
{
	d->f.count = count;
	d->f.period = period;
	d->f.spread = spread;
}

void
draft_title(struct draft *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	d->f.title = own_fmt(d, fmt, ap);
	va_end(ap);
}

void
draft_why(struct draft *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	d->f.why = own_fmt(d, fmt, ap);
	va_end(ap);
}

void
draft_fix(struct draft *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	d->f.fix = own_fmt(d, fmt, ap);
	va_end(ap);
}

void
draft_evidence(struct draft *d, struct at at, const char *fmt, ...)
{
	uint64_t max = d->engine->lim.evidence;
	va_list ap;

	if (d->f.n_evidence >= FINDING_MAX_EVIDENCE || d->f.n_evidence >= max)
		return;
	va_start(ap, fmt);
	d->f.evidence[d->f.n_evidence++] = (struct evidence){ at, own_fmt(d, fmt, ap) };
	va_end(ap);
}

static void
fact(struct draft *d, struct fact f)
{
	if (d->f.n_facts < FINDING_MAX_FACTS)	/* sized for our own rules */
		d->f.facts[d->f.n_facts++] = f;
}

void
draft_num(struct draft *d, const char *name, double v)
{
	fact(d, (struct fact){ .name = name, .type = FACT_NUM, .num = v });
}

void
draft_ms(struct draft *d, const char *name, ns_t v)
{
	fact(d, (struct fact){ .name = name, .type = FACT_MS, .num = (double)v / 1e6 });
}

void
draft_text(struct draft *d, const char *name, struct str v)
{
	fact(d, (struct fact){ .name = name, .type = FACT_TEXT,
	    .text = own(d, v.p ? v.p : "", v.n) });
}

void
draft_bool(struct draft *d, const char *name, bool v)
{
	fact(d, (struct fact){ .name = name, .type = FACT_BOOL, .num = v });
}

static bool
same_place(const struct draft *a, const struct draft *b)
{
	return same_kind(a, b) && a->f.session == b->f.session;
}

static uint32_t
place_of(const struct engine *e, const struct draft *d)
{
	for (uint32_t i = e->n_found; i-- > 0;)
		if (same_place(e->found[i], d))
			return i;
	return UINT32_MAX;
}

static uint64_t
told_key(const struct draft *d)
{
	struct digest h;

	digest_init(&h);
	digest_add(&h, d->f.detector, strlen(d->f.detector) + 1);
	if (d->f.variant)
		digest_add(&h, d->f.variant, strlen(d->f.variant));
	digest_add(&h, &d->f.session, sizeof d->f.session);
	return digest_end(&h);
}

static void
enter(struct engine *e, struct draft *d)
{
	if (e->n_found >= e->lim.findings) {
		if (!e->full) {
			struct ev v = { .type = EV_NOTE, .t = e->now, .pkt = e->pkt };
			v.u.note.name = STR("limit");
			v.u.note.text = STR("more findings than --limit findings=; "
			    "further ones are left out");
			e->full = true;
			e->out(e->arg, &v);
		}
		draft_free(d);
		return;
	}
	e->found = xgrow(e->found, e->n_found, &e->cap_found, sizeof *e->found);
	d->order = e->n_found;
	e->found[e->n_found++] = d;
	if (idtab_get(&e->told, told_key(d)) == NULL)
		tell(e, d, 0);
}

void
draft_tell(struct draft *d)
{
	int fresh;

	(void)idtab_put(&d->engine->told, told_key(d), &fresh);
	if (fresh)
		tell(d->engine, d, 0);
	draft_free(d);
}

void
draft_only_tell(struct engine *e, bool on)
{
	e->only_tell = on;
}

void
draft_done(struct draft *d)
{
	struct engine *e = d->engine;
	uint32_t i;

	if (e->only_tell) {
		draft_tell(d);
		return;
	}
	i = place_of(e, d);
	if (i == UINT32_MAX) {
		enter(e, d);
		return;
	}
	d->order = e->found[i]->order;
	draft_free(e->found[i]);
	e->found[i] = d;
}

void
draft_add(struct draft *d)
{
	struct engine *e = d->engine;
	struct draft *to;
	uint32_t i;

	if (e->only_tell) {
		draft_tell(d);
		return;
	}
	i = place_of(e, d);
	if (i == UINT32_MAX) {
		enter(e, d);
		return;
	}
	to = e->found[i];
	for (uint32_t j = 0; j < d->f.n_streams; j++)
		draft_stream(to, d->streams[j]);
	for (uint32_t j = 0; j < d->f.n_evidence; j++)
		draft_evidence(to, d->f.evidence[j].at, "%.*s",
		    STR_ARG(d->f.evidence[j].what));
	if (d->f.first.t < to->f.first.t)
		to->f.first = d->f.first;
	if (d->f.last.t > to->f.last.t)
		to->f.last = d->f.last;
	if (d->f.severity > to->f.severity)
		to->f.severity = d->f.severity;
	to->f.remark &= d->f.remark;
	if (d->f.confidence > to->f.confidence)
		to->f.confidence = d->f.confidence;
	to->f.count += d->f.count;
	if (to->more++ == 0)
		to->title_n = to->f.title.n;
	draft_title(to, "%.*s; so with %u further stream%s", (int)to->title_n,
	    to->f.title.p, to->more, to->more == 1 ? "" : "s");
	draft_free(d);
}
