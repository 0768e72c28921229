/* contract: who asked, who answered.  spec-rules 2.1. */
#include <stdio.h>

#include "rule_contract_priv.h"

#define POSTED (1u << 16)	/* in idrec.a; below it: answered */
#define ANSWERED 0xffffu

static void
remember(struct cs *s, uint64_t id)
{
	struct idrec *r;
	int fresh;

	r = idtab_put(&s->reqs, id, &fresh);
	if (r->a < UINT32_MAX - POSTED)
		r->a += POSTED;
	r->b = 0;
	s->reqs_lost |= s->reqs.forgot;
}

/* 1 for "1" and "1" for 1: whether that one was asked with. */
static bool
other_type(const struct idtab *t, struct str id)
{
	char text[66];

	if (id.n > 2 && id.p[0] == '"')
		return idtab_get(t, map_digest(id.p + 1, id.n - 2)) != NULL;
	if (id.n == 0 || id.n > sizeof text - 2)
		return false;
	text[0] = text[id.n + 1] = '"';
	memcpy(text + 1, id.p, id.n);
	return idtab_get(t, map_digest(text, id.n + 2)) != NULL;
}

/* Nothing of that session can have been missed. */
static bool
all_seen(const struct cs *s)
{
	return engine_complete(s->c->engine, s->of.session) && !s->reqs_lost &&
	    !ct_torn(s->flags) && !engine_gaps(s->c->engine, 0);
}

static void
client_answers(struct cs *s, struct cx *x, const struct ev *e)
{
	struct at at = { e->t, e->pkt };

	if (e->u.msg.id.n == 0 || str_eq(e->u.msg.id, STR("null")) ||
	    idtab_get(&s->server_reqs, id_of(s->c->ids)))
		return;
	if (!all_seen(s) || s->server_reqs.forgot || engine_inferred(s->c->engine,
	    s->of.session) || !ct_holds(CT_RESPONSE_UNKNOWN_ID, ct_revs(s, x)))
		return;
	/* On two connections their order in the capture may not be the true one. */
	ct_hit(s, CT_RESPONSE_UNKNOWN_ID, SEV_WARNING, CONF_MEDIUM, at, 0,
	    "the client answers %.*s, which no request of the server had%s",
	    (int)(e->u.msg.id.n < 40 ? e->u.msg.id.n : 40), e->u.msg.id.p,
	    other_type(&s->server_reqs, e->u.msg.id) ? " (it had another JSON type)" : "");
}

void
ct_ids_posted(struct cs *s, struct cx *x, const struct ev *e)
{
	struct idrec *r;

	switch (e->u.msg.kind) {
	case EV_MSG_REQUEST:
		remember(s, id_of(s->c->ids));
		x->ids_bound = true;
		break;
	case EV_MSG_NOTIFICATION:
		/* What comes after the end of its exchange is too late. */
		r = e->u.msg.cancels.n ? idtab_get(&s->reqs,
		    map_digest(e->u.msg.cancels.p, e->u.msg.cancels.n)) : NULL;
		if (r)
			r->b = 1;
		break;
	case EV_MSG_RESPONSE: case EV_MSG_ERROR:
		client_answers(s, x, e);
		break;
	case EV_MSG_INVALID:
		break;
	}
}

void
ct_ids_bind(struct cs *s, struct cx *x)
{
	if (x->ids_bound)
		return;
	for (uint32_t i = 0; i < x->n_req && i < CT_IDS; i++)
		remember(s, x->ids[i]);
	s->reqs_lost |= x->n_req > CT_IDS;
	x->ids_bound = true;
}

static void
unknown(struct cs *s, struct cx *x, const struct ev *e)
{
	bool own = x->method == CT_POST && x->n_req;
	bool other = other_type(&s->reqs, e->u.msg.id);

	if (own) {		/* how bad it is, is known at the end */
		if (x->n_unknown++ > 0)
			return;
		x->unknown = (struct at){ e->t, e->pkt };
		(void)snprintf(x->unknown_id, sizeof x->unknown_id, "%.*s%s",
		    (int)(e->u.msg.id.n < 40 ? e->u.msg.id.n : 40), e->u.msg.id.p,
		    other ? " (it had another JSON type)" : "");
	} else if (all_seen(s) && !engine_inferred(s->c->engine, s->of.session)) {
		/* On two connections their order may not be the true one. */
		ct_hit(s, CT_RESPONSE_UNKNOWN_ID, ct_unless_told(CT_RESPONSE_UNKNOWN_ID,
		    SEV_WARNING), CONF_HIGH, (struct at){ e->t, e->pkt }, x->stream,
		    "a response has id %.*s, which no request of the session had%s",
		    (int)(e->u.msg.id.n < 40 ? e->u.msg.id.n : 40), e->u.msg.id.p,
		    other ? " (it had another JSON type)" : "");
	}
}

/* Where it came in place of the right one, that one is missed elsewhere. */
void
ct_ids_over(struct cs *s, struct cx *x)
{
	bool in_place = x->n_answers - x->n_unknown < x->n_req;
	enum severity sev = engine_inferred(s->c->engine, s->of.session) ? SEV_WARNING :
	    SEV_ERROR;

	if (x->n_unknown == 0 || x->session == 0 || !all_seen(s))
		return;
	ct_hit(s, CT_RESPONSE_UNKNOWN_ID, in_place ? ct_unless_told(CT_RESPONSE_UNKNOWN_ID,
	    sev) : sev, CONF_HIGH, x->unknown, x->stream,
	    "a response has id %s, which no request of the session had", x->unknown_id);
}

static void
twice(struct cs *s, const struct cx *x, const struct ev *e)
{
	/* A redelivery belongs to a resume; what is wrong with it is replay-loop's. */
	bool again = x->sse_replay || (x->is_stream && x->kind == EV_RESUMED);

	if (engine_inferred(s->c->engine, s->of.session) || s->reqs_lost ||
	    (e->flags & EVF_LATE))
		return;
	ct_hit(s, CT_RESPONSE_TWICE, again ? SEV_INFO :
	    ct_unless_told(CT_RESPONSE_TWICE, SEV_ERROR), CONF_HIGH,
	    (struct at){ e->t, e->pkt }, x->stream, "request %.*s is answered again",
	    (int)(e->u.msg.id.n < 40 ? e->u.msg.id.n : 40), e->u.msg.id.p);
}

void
ct_ids_message(struct cs *s, struct cx *x, const struct ev *e)
{
	uint64_t id = id_of(s->c->ids);
	struct idrec *r;
	int fresh;

	if (e->u.msg.kind == EV_MSG_REQUEST)
		(void)idtab_put(&s->server_reqs, id, &fresh);
	if (e->u.msg.kind != EV_MSG_RESPONSE && e->u.msg.kind != EV_MSG_ERROR)
		return;
	/* Errors that HTTP says as well may have any id: Python's "server-error". */
	if (x->status / 100 != 2 || e->u.msg.id.n == 0 || str_eq(e->u.msg.id, STR("null")) ||
	    (e->flags & EVF_CUT))
		return;
	r = idtab_get(&s->reqs, id);
	if (r == NULL) {
		if (ct_holds(CT_RESPONSE_UNKNOWN_ID, ct_revs(s, x)))
			unknown(s, x, e);
		return;
	}
	if ((r->a & ANSWERED) < ANSWERED)
		r->a++;
	if ((r->a & ANSWERED) > r->a / POSTED && ct_holds(CT_RESPONSE_TWICE, ct_revs(s, x)))
		twice(s, x, e);
}
