/* contract: HTTP+SSE of 2024-11-05.  spec-rules 2.6. */
#include "rule_contract_priv.h"

void
ct_legacy_sse(struct cs *s, struct cx *x, const struct ev *e)
{
	bool pings = x->pings == x->events;

	/* A session id says that it is another transport. */
	if (!str_eq(e->u.sse.name, STR("endpoint")) || x->method != CT_GET || x->has_sid ||
	    x->modern || ct_torn(x->flags) || e->u.sse.tail)
		return;
	if (x->events == 0 && e->u.sse.data)
		return;
	ct_hit(s, CT_A_ENDPOINT_FIRST, x->events && pings ? SEV_INFO : SEV_ERROR, CONF_HIGH,
	    (struct at){ e->t, e->pkt }, x->stream, x->events ?
	    "%u event%s before `endpoint` on stream %u" :
	    "%u event%s, and `endpoint` has no URI, on stream %u", x->events,
	    x->events == 1 ? "" : "s", x->stream);
}

/* POSTs go where the endpoint event said, and nobody is there; a session that was
 * served before is dead-session's. */
void
ct_legacy_head(struct cs *s, struct cx *x)
{
	if (s->transport != EV_LEGACY_SSE || x->method != CT_POST || x->modern ||
	    x->n_req + x->n_notif == 0 || (x->flags & EVF_HEAD_LOST))
		return;
	if (x->status / 100 == 2)
		s->last_ok = x->head.t;
	if ((x->status == 404 || x->status == 405) && s->last_ok == 0 && s->from_start)
		ct_hit(s, CT_A_ENDPOINT_WRONG, SEV_ERROR, CONF_HIGH, x->head, 0,
		    "a POST to the URI of the endpoint event is answered %u", x->status);
}

/* The client's address and the server's, if known. */
static uint64_t
pair(const struct contract *c, const struct cx *x)
{
	const struct who *w = who_of(c->whos, x->conn);
	uint64_t key[2] = { w ? w->host : 0, x->server };

	return w ? map_digest(key, sizeof key) : 0;
}

/* The first message on an endpoint. */
void
ct_legacy_posted(struct contract *c, struct cs *s, struct cx *x, const struct ev *e)
{
	struct idrec *r;

	if (s->transport != EV_LEGACY_SSE || s->had_message)
		return;
	s->had_message = true;
	if (!s->from_start || e->u.msg.kind == EV_MSG_RESPONSE ||
	    str_eq(e->u.msg.method, STR("initialize")) ||
	    str_eq(e->u.msg.method, STR("ping")) ||
	    (r = idtab_get(&c->legacy, pair(c, x))) == NULL || r->a == s->of.session)
		return;
	ct_hit(s, CT_A_RECONNECT_NO_INIT, ct_unless_told(CT_A_RECONNECT_NO_INIT, SEV_ERROR),
	    CONF_MEDIUM, (struct at){ e->t, e->pkt }, 0, "%.*s is the first message on a "
	    "new endpoint; the client's stream before had ended",
	    (int)(e->u.msg.method.n < 60 ? e->u.msg.method.n : 60),
	    e->u.msg.method.n ? e->u.msg.method.p : "");
}

void
ct_legacy_end(struct contract *c, struct cs *s, struct cx *x)
{
	uint64_t key = pair(c, x);
	struct idrec *r;
	int fresh;

	if (key == 0)
		return;
	r = idtab_put(&c->legacy, key, &fresh);
	r->a = s->of.session;
}
