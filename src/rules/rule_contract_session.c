/* contract: handshake, version and session.  spec-rules 2.2. */
#include <stdlib.h>

#include "rule_contract_priv.h"

#define LOOP (60 * NS_S)	/* three of them in so long are a loop */
#define REINIT (10 * NS_S)	/* so soon a client initializes after 404 */
#define ATTEMPTS 8

/* ---- clients: who initializes again and again ---- */

static void
drop_client(struct contract *c)
{
	struct cl *oldest = (struct cl *)c->clients.first;

	idmap_del(&c->clients, &oldest->node);
	free(oldest->at);
	free(oldest->barred);
	free(oldest);
}

struct cl *
ct_client(struct contract *c, const struct cx *x, bool make)
{
	struct cl *cl;

	if (x->client == 0)
		return NULL;
	cl = (struct cl *)idmap_get(&c->clients, x->client);
	if (cl || !make)
		return cl;
	if (c->clients.n && c->clients.n >= c->lim.sessions)
		drop_client(c);
	cl = xcalloc(1, sizeof *cl);
	idmap_put(&c->clients, &cl->node, x->client);
	return cl;
}

static void
say_loop(struct contract *c, struct cl *cl, const struct attempt *last)
{
	struct cs *s = ct_session(c, last->session);
	/* Probes and one-shot scripts do so as well, with success; windows of
	 * one product cannot be told apart without session ids. */
	bool harmless = cl->per_call || !cl->refused ||
	    engine_inferred(c->engine, last->session);

	ct_hit(s, CT_REINIT_LOOP, harmless ? SEV_INFO : ct_unless_told(CT_REINIT_LOOP,
	    SEV_WARNING), CONF_MEDIUM, cl->run_first, 0, "%u initializes in %.1f s%s",
	    cl->run + 1, (double)(last->at.t - cl->run_first.t) / 1e9,
	    cl->per_call ? ", one call each: a session for every call" :
	    cl->refused ? ", each after a refusal" : ", with hardly a request between");
}

/* What became of the oldest attempt, now that the next one is known. */
static void
judge_attempt(struct contract *c, struct cl *cl)
{
	const struct attempt *a = &cl->at[0], *next = &cl->at[1];
	bool given_up = !a->ended && a->useful < 2 && a->used <= next->at.t;

	if (a->status == 401 || a->status == 403 || next->status == 401)
		given_up = false;	/* asked again with a token */
	if (!given_up || next->at.t - cl->run_first.t > LOOP)
		cl->run = 0;
	if (given_up) {
		if (cl->run++ == 0) {
			cl->run_first = a->at;
			cl->per_call = cl->refused = true;
		}
		cl->refused &= a->refused;
		cl->per_call &= a->calls == 1;
		if (cl->run >= 2)
			say_loop(c, cl, next);
	}
	cl->n--;
	memmove(cl->at, cl->at + 1, cl->n * sizeof *cl->at);
}

static void
on_initialize(struct contract *c, const struct cx *x, const struct ev *e)
{
	struct cl *cl = ct_client(c, x, true);

	if (cl == NULL)
		return;
	if (cl->n == ATTEMPTS)
		judge_attempt(c, cl);
	cl->at = xgrow(cl->at, cl->n, &cl->cap, sizeof *cl->at);
	cl->at[cl->n++] = (struct attempt){ .x = x->x, .session = x->session,
	    .at = { e->t, e->pkt } };
	cl->last_init = e->t;
}

static struct attempt *
attempt_of(struct cl *cl, uint32_t session)
{
	for (uint32_t i = cl->n; i-- > 0;)
		if (cl->at[i].session == session)
			return &cl->at[i];
	return NULL;
}

void
ct_clients_end(struct contract *c)
{
	struct idnode *p, *tmp;

	IDMAP_EACH(&c->clients, p, tmp) {
		while (((struct cl *)p)->n > 1)
			judge_attempt(c, (struct cl *)p);
		ct_way_end(c, (struct cl *)p);
	}
}

void
ct_clients_free(struct contract *c)
{
	while (c->clients.first)
		drop_client(c);
	idmap_fini(&c->clients);
}

/* ---- requests ---- */

void
ct_session_request(struct contract *c, struct cs *s, struct cx *x, const struct ev *e)
{
	struct cl *cl;
	struct idrec *r;
	int fresh;

	if (!x->has_sid)
		return;
	s->n_sids++;
	r = idtab_put(&c->conn_sids, x->conn, &fresh);
	r->b |= !fresh && r->a != e->session;	/* a pool of connections */
	r->a = e->session;
	if (s->gone.t && x->requested.t > s->gone.t + CT_GRACE && x->method != CT_DELETE) {
		s->after = x->requested;
		s->n_after++;
		cl = ct_client(c, x, false);
		s->reinit |= cl && cl->last_init > s->gone.t &&
		    cl->last_init < s->gone.t + REINIT;
	}
}

void
ct_session_posted(struct contract *c, struct cs *s, struct cx *x, const struct ev *e)
{
	struct cl *cl;
	struct attempt *a;

	if (e->u.msg.kind != EV_MSG_REQUEST)
		return;
	if (str_eq(e->u.msg.method, STR("initialize"))) {
		if (ct_holds(CT_REINIT_LOOP, ct_revs(s, x)))
			on_initialize(c, x, e);
		return;
	}
	cl = ct_client(c, x, false);
	a = cl ? attempt_of(cl, s ? s->of.session : 0) : NULL;
	if (a == NULL || str_eq(e->u.msg.method, STR("ping")))
		return;
	a->useful++;
	a->calls += str_eq(e->u.msg.method, STR("tools/call"));
	a->used = e->t;
}

/* ---- responses ---- */

static void
on_init_answer(struct contract *c, struct cs *s, struct cx *x, const struct ev *e)
{
	struct cl *cl = ct_client(c, x, false);
	struct idrec *r;
	int fresh;

	for (uint32_t i = 0; cl && i < cl->n; i++)
		if (cl->at[i].x == x->x) {
			cl->at[i].session = x->session;
			cl->at[i].status = x->status;
			cl->at[i].refused = x->status >= 400;
		}
	if (x->status / 100 != 2 || x->session == 0)
		return;
	s->target = x->target;
	s->agent = x->agent;
	if (e->u.resp.sid.p == NULL)
		return;
	r = idtab_put(&c->conn_sids, x->conn, &fresh);
	r->b |= !fresh && r->a != x->session;
	r->a = x->session;
}

static bool
speaks(const struct cx *x)
{
	return x->n_req + x->n_notif + x->n_resp > 0 || x->get_sse;
}

/* The server gave this client an id, on this connection, and it is not sent. */
static void
check_sid_missing(struct contract *c, struct cx *x, const struct ev *e)
{
	bool refused = x->status / 100 == 4;
	struct idrec *r;
	struct cs *s;

	if (x->has_sid || x->init || x->discover || !speaks(x))
		return;
	r = idtab_get(&c->conn_sids, x->conn);
	s = r && r->b == 0 ? ct_session(c, r->a) : NULL;
	if (s == NULL ||
	    s->target != x->target || s->agent != x->agent || s->deleted || s->gone.t ||
	    !ct_holds(CT_SID_MISSING, ct_revs(s, x)) || ct_proxy(s, e))
		return;
	/* Probes of what a server without session would say are GETs. */
	s->sid_refused |= refused && x->method == CT_POST;
	ct_hit(s, CT_SID_MISSING, SEV_INFO, refused ? CONF_HIGH : CONF_MEDIUM, x->requested, 0,
	    "a %s without Mcp-Session-Id on a connection that had one is answered %u",
	    x->method == CT_POST ? "POST" : "GET", x->status);
}

static void
check_version(struct cs *s, struct cx *x)
{
	if (s->revs == 0 || x->has_version || x->init || !speaks(x) || x->session == 0 ||
	    !ct_holds(CT_VERSION_HEADER_MISSING, s->revs))
		return;
	/* Many a script and SDK does so all day, and servers let it pass. */
	ct_hit(s, CT_VERSION_HEADER_MISSING, SEV_INFO, CONF_HIGH, x->requested, 0,
	    "a %s without MCP-Protocol-Version, where the handshake agreed on %s",
	    x->method == CT_POST ? "POST" : "GET",
	    s->revs == REV_D ? "2025-11-25" : "2025-06-18");
}

/* Statuses that say something else about the request than about its session. */
static bool
other_reason(uint32_t status)
{
	static const uint16_t all[] = { 403, 405, 406, 408, 413, 415, 429 };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (status == all[i])
			return true;
	return status / 100 == 3;
}

static const char *
method_name(const struct cx *x)
{
	return x->method == CT_GET ? "GET" : "POST";
}

/* The session was ended by a DELETE that the server agreed to.  An error with
 * status 200 is a refusal as well. */
static void
check_deleted(struct cs *s, const struct cx *x, bool ok)
{
	double after = (double)(x->requested.t - s->deleted) / 1e9;

	if (x->requested.t <= s->deleted + CT_GRACE)
		return;
	if (ok && ct_holds(CT_SID_ALIVE_AFTER_END, ct_revs(s, x)))
		ct_hit(s, CT_SID_ALIVE_AFTER_END, ct_unless_told(CT_SID_ALIVE_AFTER_END,
		    SEV_ERROR), CONF_HIGH, x->head, x->stream, "%.1f s after DELETE a %s of "
		    "the session is answered %u", after, method_name(x), x->status);
	if (!ok && x->status != 404 && !other_reason(x->status) &&
	    ct_holds(CT_SID_ENDED_NOT_404, ct_revs(s, x)))
		/* SDKs answer 400 or 401; he who deleted it knows all the same. */
		ct_hit(s, CT_SID_ENDED_NOT_404, x->status < 500 ? SEV_INFO :
		    ct_unless_told(CT_SID_ENDED_NOT_404, SEV_WARNING), CONF_HIGH, x->head, 0,
		    "%.1f s after DELETE a %s of the session is answered %u", after,
		    method_name(x), x->status);
}

/* It was answered 404 before. */
static void
check_gone(struct cs *s, const struct cx *x, bool ok)
{
	if (!ok || x->requested.t <= s->gone.t + CT_GRACE ||
	    !ct_holds(CT_SID_ALIVE_AFTER_END, ct_revs(s, x)))
		return;
	s->ok_after = true;
	/* One of several replicas may not have known it. */
	ct_hit(s, CT_SID_ALIVE_AFTER_END, ct_unless_told(CT_SID_ALIVE_AFTER_END, SEV_WARNING),
	    CONF_MEDIUM, x->head, x->stream, "%.1f s after 404 a %s of the session is "
	    "answered %u", (double)(x->requested.t - s->gone.t) / 1e9, method_name(x),
	    x->status);
}

static void
check_end(struct cs *s, const struct cx *x, bool ok)
{
	if (ok)
		s->last_ok = x->requested.t;
	if (x->method == CT_DELETE)
		return;
	if (s->deleted)
		check_deleted(s, x, ok);
	else if (s->gone.t)
		check_gone(s, x, ok);
	else if (x->status == 404 && !ct_torn(x->flags))
		s->gone = x->head;
}

/* What the answer to a request says is known when it is over. */
static bool
is_later(const struct cx *x)
{
	return x->status / 100 == 2 && x->n_req > 0;
}

void
ct_session_over(struct cs *s, struct cx *x)
{
	if (x->has_sid && x->session && is_later(x) && x->n_answers &&
	    ct_holds(CT_NO_REINIT, ct_revs(s, x)))
		check_end(s, x, x->n_results > 0);
}

void
ct_session_head(struct contract *c, struct cs *s, struct cx *x, const struct ev *e)
{
	unsigned revs = ct_revs(s, x);
	struct cl *cl;
	struct attempt *a;

	if (x->init)
		on_init_answer(c, s, x, e);
	if (e->u.resp.sid_odd && ct_holds(CT_SID_CHARSET, revs))
		ct_hit(s, CT_SID_CHARSET, SEV_ERROR, CONF_HIGH, x->head, 0,
		    "Mcp-Session-Id has a byte that is no visible ASCII character");
	check_sid_missing(c, x, e);
	check_version(s, x);
	cl = ct_client(c, x, false);
	if (x->session && cl && (a = attempt_of(cl, x->session)) != NULL) {
		a->ended |= x->method == CT_DELETE && x->status / 100 == 2;
		a->refused |= x->status >= 400 && x->status != 405;
	}
	if (x->has_sid && x->session && ct_holds(CT_NO_REINIT, revs) && !is_later(x) &&
	    !ct_proxy(s, e))
		check_end(s, x, x->status / 100 == 2);
}

void
ct_session_close(struct cs *s)
{
	if (s->n_accepts == 0)
		ct_raise(s, CT_ACCEPT_POST, 2, SEV_WARNING);
	/* One slip is a test or a second client; never, or often, is a fault. */
	if (s->sid_refused)
		ct_raise(s, CT_SID_MISSING, s->n_sids ? 3 : 1, SEV_ERROR);
	else if (s->n_sids == 0)
		ct_raise(s, CT_SID_MISSING, 2, SEV_WARNING);
	if (s->gone.t == 0 || s->n_after < 2 || s->ok_after || s->reinit || s->deleted)
		return;
	ct_hit(s, CT_NO_REINIT, ct_unless_told(CT_NO_REINIT, SEV_ERROR), CONF_MEDIUM, s->gone, 0,
	    "the session is answered 404; %u more requests come with its id, the last "
	    "%.1f s later", s->n_after, (double)(s->after.t - s->gone.t) / 1e9);
}
