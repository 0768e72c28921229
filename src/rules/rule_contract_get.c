/* contract: GET streams and event ids.  spec-rules 2.4; replay-cross-stream and
 * replay-inclusive are replay-loop's. */
#include <stdlib.h>

#include "rule_contract_priv.h"

#define AT_ONCE (50 * NS_MS)

/* The session that a GET without an id asks about: that of the POSTs to the
 * same path. */
static struct cs *
session_of_path(struct contract *c, const struct cx *x)
{
	const struct idrec *r = idtab_get(&c->paths, ct_path(c, x));

	if (x->session)
		return ct_session(c, x->session);
	return r ? (struct cs *)keeper_find(&c->sessions, r->a) : NULL;
}

/* Refusals that have another reason than "no stream here". */
static bool
other_reason(uint32_t status)
{
	static const uint16_t all[] = { 401, 403, 404, 405, 406, 408, 409, 429 };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (status == all[i])
			return true;
	return status < 400;
}

void
ct_get_head(struct contract *c, struct cx *x, const struct ev *e)
{
	struct cs *of;
	unsigned revs;

	if (!x->get_sse || (x->flags & EVF_HEAD_LOST))
		return;
	of = session_of_path(c, x);
	revs = of ? ct_revs(of, x) : 0;
	if (revs == 0)
		return;
	if (x->status / 100 == 2 && !x->event_stream && ct_holds(CT_GET_200_NOT_SSE, revs))
		ct_hit(of, CT_GET_200_NOT_SSE, ct_unless_told(CT_GET_200_NOT_SSE,
		    x->html ? SEV_WARNING : SEV_ERROR), CONF_HIGH, x->head, 0,
		    "a GET for text/event-stream is answered %u with %s%s", x->status,
		    x->type[0] ? "Content-Type " : "no Content-Type", x->type);
	/* A cursor may be refused for what it is. */
	if (!other_reason(x->status) && !x->has_cursor && of->n_gets == 0 && !of->deleted &&
	    of->gone.t == 0 && !ct_proxy(of, e) && ct_holds(CT_GET_NOT_405, revs))
		ct_hit(of, CT_GET_NOT_405, ct_unless_told(CT_GET_NOT_405, SEV_WARNING),
		    CONF_HIGH, x->head, 0,
		    "the GET of a live session is refused with %u", x->status);
	if (x->event_stream) {
		of->n_gets++;
		of->n_open_gets++;
	}
}

/* ---- event ids ---- */

enum {				/* low bits of idrec.b; the rest is of the data */
	HAS_DATA = 1,
	DIFFERENT = 2,		/* two streams gave that id, with other data */
	TOLD = 4,		/* so, once: streams have no common order */
};
#define OF_DATA (~(uint32_t)(DIFFERENT | TOLD))

/* An id that two streams gave does harm when a client resumes from it: nobody
 * can say which of the two is meant. */
void
ct_get_resumed(struct cs *s, struct cx *x, const struct ev *e)
{
	struct str id = e->u.stream.cursor;
	const struct idrec *r = id.n ? idtab_get(&s->events, map_digest(id.p, id.n)) : NULL;

	if (r && (r->b & DIFFERENT) && ct_holds(CT_EVENT_ID_DUP, ct_revs(s, x)))
		ct_hit(s, CT_EVENT_ID_DUP, SEV_ERROR, CONF_HIGH, (struct at){ e->t, e->pkt },
		    x->stream, "the client resumes from id %.*s, which two streams gave to "
		    "different events", (int)(id.n < 40 ? id.n : 40), id.p);
}

static void
another_stream(struct cs *s, struct cx *x, const struct ev *e, struct idrec *r, uint32_t part)
{
	bool differs = part && (r->b & HAS_DATA) && part != (r->b & OF_DATA);
	bool bare = part == 0;

	/* Equal data on a GET is a replay.  Priming with one id for all is what
	 * some SDKs do all day. */
	if (bare || ((differs || x->method == CT_POST) && (r->b & TOLD) == 0)) {
		ct_hit(s, CT_EVENT_ID_DUP, SEV_INFO, CONF_HIGH, (struct at){ e->t, e->pkt },
		    x->stream, "id %.*s comes on stream %u and on stream %u%s",
		    (int)(e->u.sse.id.n < 40 ? e->u.sse.id.n : 40), e->u.sse.id.p, r->a,
		    x->stream, differs ? ", with other data" :
		    bare ? ", here without data" : "");
		r->b |= bare ? 0 : TOLD;
	}
	r->b |= differs ? DIFFERENT : 0;
}

void
ct_get_sse(struct cs *s, struct cx *x, const struct ev *e)
{
	uint32_t part = e->u.sse.data ? ((uint32_t)e->u.sse.hash | HAS_DATA) & OF_DATA : 0;
	struct idrec *r;
	int fresh;

	if (e->u.sse.id.n == 0 || e->u.sse.tail || (e->flags & (EVF_GAP | EVF_CUT)) ||
	    x->kind == EV_LEGACY || !ct_holds(CT_EVENT_ID_DUP, ct_revs(s, x)) ||
	    engine_inferred(s->c->engine, s->of.session))
		return;
	r = idtab_put(&s->events, id_of(s->c->ids), &fresh);
	if (!fresh && r->a != x->stream)
		another_stream(s, x, e, r, part);
	else if (!fresh && part && (r->b & HAS_DATA) && part != (r->b & OF_DATA))
		/* On answers of POSTs only, no cursor can go astray that is used. */
		ct_hit(s, CT_EVENT_ID_DUP, x->method == CT_GET ? SEV_ERROR : SEV_WARNING,
		    CONF_HIGH, (struct at){ e->t, e->pkt }, x->stream,
		    "id %.*s comes with other data than before on stream %u",
		    (int)(e->u.sse.id.n < 40 ? e->u.sse.id.n : 40), e->u.sse.id.p, r->a);
	r->a = x->stream;
	if (part)
		r->b = part | (r->b & (DIFFERENT | TOLD));
}

/* ---- messages ---- */

static void
forget_sent(struct cs *s, uint32_t stream)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_sent; i++)
		if (s->sent[i].stream != stream)
			s->sent[n++] = s->sent[i];
	s->n_sent = n;
	if (n == 0) {
		free(s->sent);
		s->sent = NULL;
		s->cap_sent = 0;
	}
}

static bool
listed(const uint32_t *v, uint32_t n, uint32_t stream)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i] == stream)
			return true;
	return false;
}

/* The same bytes on two streams that were open together: what proves that it is
 * one message, and not two that say the same. */
static const char *
proof(const struct cs *s, const struct cx *x, const struct sent *now)
{
	uint32_t gets[CT_RING], n = 0;

	for (uint32_t i = 0; i < s->n_sent; i++) {
		const struct sent *m = &s->sent[i];

		if (m->hash != now->hash || m->stream == now->stream || m->t < x->head.t)
			continue;
		if (now->event_id && m->event_id == now->event_id)
			return "with the same event id";
		if (now->id && m->id == now->id)
			return "with the same request id";
		if (m->get && now->t - m->t <= AT_ONCE && !listed(gets, n, m->stream))
			gets[n++] = m->stream;
	}
	return now->get && n && n + 1 >= s->n_open_gets ?
	    "on every open GET within 50 ms" : NULL;
}

static void
check_broadcast(struct cs *s, struct cx *x, const struct ev *e)
{
	struct sent now = { .stream = x->stream, .t = e->t, .hash = e->u.msg.hash,
	    .event_id = x->event_id, .get = x->method == CT_GET,
	    .id = e->u.msg.kind == EV_MSG_REQUEST ?
	    id_of(s->c->ids) : 0 };
	const char *how;

	if ((how = proof(s, x, &now)) != NULL && ct_holds(CT_BROADCAST, ct_revs(s, x)))
		ct_hit(s, CT_BROADCAST, ct_unless_told(CT_BROADCAST, SEV_ERROR), CONF_HIGH,
		    (struct at){ e->t, e->pkt }, x->stream, "%.*s on stream %u was sent on "
		    "another one too, %s", e->u.msg.method.n ?
		    (int)(e->u.msg.method.n < 60 ? e->u.msg.method.n : 60) : 10,
		    e->u.msg.method.n ? e->u.msg.method.p : "a response", x->stream, how);
	if (s->n_sent == CT_RING) {
		s->n_sent--;
		memmove(s->sent, s->sent + 1, s->n_sent * sizeof *s->sent);
	}
	s->sent = xgrow(s->sent, s->n_sent, &s->cap_sent, sizeof *s->sent);
	s->sent[s->n_sent++] = now;
}

void
ct_get_message(struct cs *s, struct cx *x, const struct ev *e)
{
	bool answer = e->u.msg.kind == EV_MSG_RESPONSE || e->u.msg.kind == EV_MSG_ERROR;

	if (!x->is_stream || x->kind == EV_LEGACY || (e->flags & (EVF_GAP | EVF_LATE)))
		return;
	if (answer && x->kind == EV_STANDALONE && x->has_sid && !ct_torn(x->flags) &&
	    ct_holds(CT_RESPONSE_ON_STANDALONE, ct_revs(s, x)))
		ct_hit(s, CT_RESPONSE_ON_STANDALONE, ct_unless_told(CT_RESPONSE_ON_STANDALONE,
		    SEV_ERROR), CONF_HIGH, (struct at){ e->t, e->pkt }, x->stream,
		    "the response with id %.*s comes on stream %u, a GET without Last-Event-ID",
		    (int)(e->u.msg.id.n < 40 ? e->u.msg.id.n : 40),
		    e->u.msg.id.n ? e->u.msg.id.p : "", x->stream);
	if (!answer && !engine_inferred(s->c->engine, s->of.session))
		check_broadcast(s, x, e);
}

void
ct_get_end(struct cs *s, struct cx *x, const struct ev *e)
{
	(void)e;
	forget_sent(s, x->stream);
	if (x->get_sse && s->n_open_gets)
		s->n_open_gets--;
}
