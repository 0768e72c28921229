/* contract: the streams that answer POSTs, and who comes back to them.
 * spec-rules 2.3, and requests that were never answered, of 2.1. */
#include "rule_contract_priv.h"

#define LINGER (5 * NS_S)
#define EARLY (50 * NS_MS)	/* what the conformance suite lets pass */
#define WAIT (30 * NS_S)

static bool
by_server(enum ev_end end)
{
	return end == EV_COMPLETE || end == EV_TRUNCATED;
}

void
ct_stream_open(struct cs *s, struct cx *x, const struct ev *e)
{
	struct ended *w = NULL;
	ns_t gap;

	if (x->kind != EV_RESUMED || x->resumes == 0 || x->givers != 1)
		return;
	for (uint32_t i = 0; i < s->n_pend; i++)
		s->pend[i].resumed |= s->pend[i].stream == x->resumes;
	for (uint32_t i = 0; i < s->n_ended; i++)
		if (s->ended[i].stream == x->resumes)
			w = &s->ended[i];
	if (w == NULL)
		return;
	gap = e->u.stream.requested - w->t;
	/* Asked for before the end arrived, it is no return. */
	if (gap >= 0 && gap < w->retry_ms * NS_MS - EARLY && ct_holds(CT_RETRY_EARLY, s->revs) &&
	    !ct_torn(x->flags))
		ct_hit(s, CT_RETRY_EARLY, ct_unless_told(CT_RETRY_EARLY, SEV_ERROR), CONF_HIGH,
		    x->requested, x->stream, "stream %u said retry %lld ms; it is resumed "
		    "%lld ms after its end", w->stream, (long long)w->retry_ms,
		    (long long)(gap / NS_MS));
	*w = s->ended[--s->n_ended];	/* the first return counts */
}

static void
remember(struct cs *s, const struct cx *x, const struct ev *e)
{
	if (x->retry_ms <= 0 || x->retry_ms > 3600000 || x->n_answers ||
	    !by_server(e->u.stream_end.end) || ct_torn(x->flags))
		return;
	if (s->n_ended == CT_RING) {
		s->n_ended--;
		memmove(s->ended, s->ended + 1, s->n_ended * sizeof *s->ended);
	}
	s->ended = xgrow(s->ended, s->n_ended, &s->cap_ended, sizeof *s->ended);
	s->ended[s->n_ended++] = (struct ended){ x->stream, e->t, x->retry_ms };
}

/* Only an end that was seen, or a sign of life after the response, proves that
 * the terminator was not lost by the capture. */
static void
check_lingering(struct cs *s, const struct cx *x, const struct ev *e)
{
	ns_t last = e->u.stream_end.end == EV_OPEN ? e->u.stream_end.last_byte : e->t;

	if (x->kind != EV_POST_RESPONSE || x->answered.t == 0 || ct_torn(x->flags) ||
	    e->u.stream_end.end == EV_LOST || last - x->answered.t <= LINGER ||
	    !ct_holds(CT_LINGERING_REQUEST_STREAM, ct_revs(s, x)))
		return;
	ct_hit(s, CT_LINGERING_REQUEST_STREAM, SEV_WARNING, CONF_HIGH, x->answered, x->stream,
	    "stream %u is still open %.1f s after its response", x->stream,
	    (double)(last - x->answered.t) / 1e9);
}

void
ct_stream_end(struct cs *s, struct cx *x, const struct ev *e)
{
	unsigned revs = ct_revs(s, x);

	if (x->tail && by_server(e->u.stream_end.end) && !ct_torn(x->flags) &&
	    ct_holds(CT_SSE_CUT, revs))
		ct_hit(s, CT_SSE_CUT, x->method == CT_POST && x->n_answers < x->n_req ?
		    SEV_WARNING : SEV_INFO, CONF_HIGH, (struct at){ e->t, e->pkt }, x->stream,
		    "stream %u ends %s the terminator, and no empty line ends its last event",
		    x->stream, e->u.stream_end.end == EV_COMPLETE ? "by" : "without");
	remember(s, x, e);
	check_lingering(s, x, e);
}

/* A POST is over; what has come for it? */
void
ct_stream_over(struct cs *s, struct cx *x, const struct ev *e)
{
	struct pending *p;
	struct idrec *r = x->n_req ? idtab_get(&s->reqs, x->ids[0]) : NULL;

	if (r && r->b)			/* the client gave it up */
		return;
	if (x->method != CT_POST || x->n_req == 0 || x->n_req > CT_IDS || x->session == 0 ||
	    x->n_answers >= x->n_req || x->status != 200 || !by_server(e->u.end.end) ||
	    ct_torn(x->flags) || s->transport != EV_STREAMABLE || s->deleted)
		return;
	if (!x->is_stream && x->n_other)	/* json-not-response */
		return;
	if (s->n_pend == CT_RING)	/* one of many that look the same */
		return;
	s->pend = xgrow(s->pend, s->n_pend, &s->cap_pend, sizeof *s->pend);
	p = &s->pend[s->n_pend++];
	*p = (struct pending){ .x = x->x, .stream = x->stream, .id = x->ids[0],
	    .requested = x->requested, .ended = { e->t, e->pkt }, .end = e->u.end.end,
	    .revs = ct_revs(s, x), .stream_kind = x->is_stream, .primed = x->ids_seen };
}

/* The session's server said something to a later request. */
static bool
was_alive(const struct cs *s, const struct pending *p)
{
	return s->last_ok > p->ended.t;
}

static void
early(struct cs *s, const struct pending *p, bool answered)
{
	enum ct_rule rule = p->revs == REV_D ? CT_EARLY_CLOSE_UNPRIMED : CT_EARLY_CLOSE;
	/* What is come back for and answered is polling, agreed on or not. */
	enum severity sev = answered ? SEV_INFO : ct_unless_told(rule, SEV_ERROR);

	if (!p->stream_kind || !was_alive(s, p) || (rule == CT_EARLY_CLOSE_UNPRIMED && p->primed) ||
	    !ct_holds(rule, p->revs))
		return;
	if (sev == SEV_ERROR && p->end == EV_TRUNCATED)
		sev = SEV_WARNING;	/* a hop may have cut it */
	ct_hit(s, rule, sev, p->end == EV_TRUNCATED ? CONF_MEDIUM : CONF_HIGH, p->ended,
	    p->stream, "stream %u ends %.3f s after the request%s, with no response%s",
	    p->stream, (double)(p->ended.t - p->requested.t) / 1e9,
	    p->end == EV_TRUNCATED ? ", cut by the server's side" : "",
	    answered ? "; it came later elsewhere" : "");
}

void
ct_stream_close(struct cs *s)
{
	for (uint32_t i = 0; i < s->n_pend; i++) {
		const struct pending *p = &s->pend[i];
		struct idrec *r = idtab_get(&s->reqs, p->id);
		bool answered = r && (r->a & 0xffff) >= r->a >> 16;

		early(s, p, answered);
		if (answered || p->resumed || s->reqs_lost || s->c->now - p->ended.t < WAIT ||
		    !ct_holds(CT_UNANSWERED, p->revs) || engine_gaps(s->c->engine, p->requested.t))
			continue;
		ct_hit(s, CT_UNANSWERED, ct_unless_told(CT_UNANSWERED, SEV_ERROR), CONF_MEDIUM,
		    p->ended, p->stream, "a request is answered 200, but its response does not "
		    "come, nor does anybody resume it in %.0f s",
		    (double)(s->c->now - p->ended.t) / 1e9);
	}
}
