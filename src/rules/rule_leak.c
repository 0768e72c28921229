/* session-leak: sessions are created and never ended.  DETECTORS "session-leak".
 *
 * Judged for each client software of a server, at the end: a session counts as
 * left behind when it was not deleted, was not answered 404, has no open stream and
 * has had none for a minute, was asked nothing for a minute, and was in use for less
 * than five minutes: who comes back, or listens, for hours may come again. */
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/rule.h"
#include "rule_util.h"

#define MIN_SESSIONS 10
#define MIN_TIME (600 * NS_S)
#define IN_USE (60 * NS_S)	/* since it was used last */
#define LONG_USE (300 * NS_S)	/* from its first use to its last */
#define MAX_SHOWN 8

struct sl {			/* one session */
	struct kept of;
	uint64_t software;	/* of client and server */
	char client[48];
	struct at born;
	ns_t used;		/* its last request, or end of a stream */
	uint32_t open, del_x;
	bool ended, refused, known;
};

struct software {
	struct idnode node;	/* by digest */
	const struct sl *shown[MAX_SHOWN];
	uint32_t created, ended, used, left, refused;
	const struct sl *first, *last;
};

struct leak {
	struct engine *engine;
	struct keeper sessions;
};

extern const struct rule rule_leak;

static void
free_session(struct kept *k)
{
	free(k);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct leak *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	return r;
}

static void
free_rule(void *arg)
{
	struct leak *r = arg;

	keeper_fini(&r->sessions);
	free(r);
}

/* ---- the verdict ---- */

static void
report(struct leak *r, const struct software *w, ns_t now)
{
	double minutes = (double)(now - w->first->born.t) / 60e9;
	bool refused = w->refused * 2 > w->left;
	struct draft *d;

	if (w->created < MIN_SESSIONS || now - w->first->born.t < MIN_TIME ||
	    w->ended * 10 >= w->created || w->used * 4 >= w->created)
		return;
	d = draft_new(r->engine, &rule_leak, NULL, SEV_ERROR,
	    engine_gaps(r->engine, w->first->born.t) ? CONF_LOW : CONF_MEDIUM,
	    w->first->of.session);
	draft_title(d, "sessions are left behind: %u created in %.0f minutes, %u ended, %u "
	    "still in use", w->created, minutes, w->ended, w->used);
	draft_why(d, "%s creates a session and leaves it %s; a server that keeps them fills up. "
	    "Whether it drops them by a time limit of its own cannot be told from the "
	    "wire.", w->first->client[0] ? w->first->client : "The client", refused ?
	    "after a DELETE that the server refuses" : "without DELETE");
	if (refused)
		draft_fix(d, "Server: accept DELETE, and end sessions that are idle for long.");
	else
		draft_fix(d, "Client: end a session with DELETE, and use one for many calls.  "
		    "Server: end sessions that are idle for long (answer 404 from then on), "
		    "and bound how many one client may have.");
	draft_num(d, "created", w->created);
	draft_num(d, "ended", w->ended);
	draft_num(d, "in_use", w->used);
	draft_num(d, "left_behind", w->left);
	draft_num(d, "deletes_refused", w->refused);
	draft_num(d, "created_per_hour", w->created * 60 / minutes);
	draft_text(d, "client", str_c(w->first->client));
	for (uint32_t i = 0; i < MAX_SHOWN && w->shown[i]; i++)
		draft_evidence(d, w->shown[i]->born, "a session is created that is left behind");
	draft_span(d, w->first->born, w->last->born);
	draft_count(d, w->left, (w->last->born.t - w->first->born.t) / (w->created - 1), 0);
	draft_done(d);
}

static void
count(struct leak *r, struct idmap *all, const struct sl *s, ns_t now)
{
	struct software *w;

	if (!s->known || engine_inferred(r->engine, s->of.session))
		return;
	w = (struct software *)idmap_get(all, s->software);
	if (w == NULL) {
		w = xcalloc(1, sizeof *w);
		w->first = s;
		idmap_put(all, &w->node, s->software);
	}
	w->created++;
	w->last = s->born.t > (w->last ? w->last->born.t : 0) ? s : w->last;
	w->first = s->born.t < w->first->born.t ? s : w->first;
	if (s->ended) {
		w->ended++;
	} else if (s->open || now - s->used < IN_USE || s->used - s->born.t >= LONG_USE) {
		w->used++;
	} else {
		if (w->left < MAX_SHOWN)
			w->shown[w->left] = s;
		w->left++;
		w->refused += s->refused;
	}
}

static void
end(void *arg, ns_t now)
{
	struct leak *r = arg;
	struct kept *k, *tmp;
	struct idnode *p, *next;
	struct idmap all;

	idmap_init(&all);
	KEEPER_EACH(&r->sessions, k, tmp)
		count(r, &all, (struct sl *)k, now);
	IDMAP_EACH(&all, p, next) {
		struct software *w = (struct software *)p;

		if (w->last)
			report(r, w, now);
		idmap_del(&all, p);
		free(w);
	}
	idmap_fini(&all);
}

/* ---- events ---- */

static void
on_session(struct leak *r, const struct ev *e)
{
	struct sl *s = (struct sl *)keeper_find(&r->sessions, e->session);
	struct digest d;
	size_t n;

	if (s == NULL) {
		s = xcalloc(1, sizeof *s);
		s->born = (struct at){ e->t, e->pkt };
		s->used = e->t;
		keeper_add(&r->sessions, &s->of, e->session);
	}
	digest_init(&d);
	digest_add(&d, e->u.session.endpoint.p, e->u.session.endpoint.n);
	digest_add(&d, "\n", 1);
	digest_add(&d, e->u.session.client.p, e->u.session.client.n);
	s->software = digest_end(&d);
	s->known |= e->u.session.server.p != NULL;	/* its initialize was seen */
	n = e->u.session.client.n < 40 ? e->u.session.client.n : 40;
	if (n)
		memcpy(s->client, e->u.session.client.p, n);
	s->client[n] = '\0';
}

static void
event(void *arg, const struct ev *e)
{
	struct leak *r = arg;
	struct sl *s;

	if (e->session == 0)
		return;
	if (e->type == EV_SESSION) {
		on_session(r, e);
		return;
	}
	if ((s = (struct sl *)keeper_find(&r->sessions, e->session)) == NULL)
		return;
	if (e->type == EV_REQUEST) {
		s->used = e->t;
		if (str_eq(e->u.req.method, STR("DELETE")))
			s->del_x = e->x;
	} else if (e->type == EV_RESPONSE) {
		s->ended |= e->u.resp.status == 404;
		s->refused |= e->x == s->del_x && e->u.resp.status >= 400;
	} else if (e->type == EV_SESSION_END) {
		s->ended = true;
	} else if (e->type == EV_STREAM) {
		s->open++;
	} else if (e->type == EV_STREAM_END && e->u.stream_end.end != EV_OPEN && s->open) {
		s->open--;
		s->used = e->t;
	}
}

const struct rule rule_leak = {
	.name = "session-leak",
	.summary = "sessions are created and never ended",
	.reference = "mcpdiag-analyze(1), DETECTORS, session-leak",
	.wants = RULE_WANTS(EV_SESSION) |
	    RULE_WANTS(EV_SESSION_END) |
	    RULE_WANTS(EV_REQUEST) |
	    RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_STREAM_END),
	.new = new, .event = event, .end = end, .free = free_rule,
};
