#include <stdlib.h>

#include "mcpd_priv.h"
#include "mcpdiag/xmem.h"

void
answer_stream(struct answer *a)
{
	if (a->x == NULL)
		a->x = xchg_new(a->m, a->s, a->req);
	a->x->answer = a;
	out_begin(a->x, a->initialize);
	if (a->s == NULL) {
		a->how = ANSWER_STREAM;
		return;
	}
	a->how = ANSWER_CHANNEL;
	a->n = chan_request(a->s->ch, a->x->id, a->initialize);
	/* What a batch's JSON already holds; the specification lets responses
	 * come as a batch on a stream, too. */
	if (a->json.n > 0) {
		(void)buf_addc(&a->json, ']');
		chan_request_send(a->s->ch, a->n, buf_str(&a->json), false);
		buf_fini(&a->json);
	}
}

struct answer *
answer_new(struct mcpd *m, struct session *s, struct hreq *req, enum rev rev,
    uint32_t left, bool batch, bool initialize)
{
	struct answer *a = xcalloc(1, sizeof *a);

	a->m = m;
	a->s = s;
	a->req = req;
	a->rev = rev;
	a->left = left;
	a->refs = 1;
	a->status = 200;
	a->batch = batch;
	a->initialize = initialize;
	a->how = ANSWER_JSON;
	buf_init(&a->json, MAX_TEXT);
	if (s) {
		a->sampling = s->sampling;
		a->elicitation = s->elicitation;
		a->level = s->level;
	}
	if (s && s->legacy)
		a->how = ANSWER_LEGACY;
	else if (s && !m->o.json)
		answer_stream(a);
	return a;
}

static void
answer_free(struct answer *a)
{
	if (a->x)
		a->x->answer = NULL;
	buf_fini(&a->json);
	free(a);
}

void
answer_unref(struct answer *a)
{
	if (--a->refs == 0) {
		answer_free(a);
		return;
	}
	/* Jobs hold on to it: the request of HTTP waits with them. */
	if (a->how == ANSWER_JSON && a->x == NULL && a->left > 0) {
		a->x = xchg_new(a->m, a->s, a->req);
		a->x->answer = a;
	}
}

static void
reply_json(struct answer *a, struct str body)
{
	struct mcpd *m = a->m;
	struct hreq *req = a->req;
	struct str sid = a->initialize ? str_c(a->s->id) : STR_NONE;

	if (a->x) {
		xchg_free(a->x);
		a->x = NULL;
	}
	a->how = ANSWER_LOST;
	head_lines(m, req, "application/json");
	if (sid.p)
		(void)buf_fmt(&m->head, "Mcp-Session-Id: %s\r\n", a->s->id);
	log_response(m, req, a->status, "application/json", sid);
	log_body(m, req, body);
	log_end(m, req, EV_COMPLETE);
	hreq_reply(req, a->status, buf_str(&m->head), body);
}

static void
add_to_batch(struct answer *a, struct str msg)
{
	/* More than one body may hold: message by message. */
	if (msg.n + 2 > MAX_TEXT - a->json.n) {
		answer_stream(a);
		chan_request_send(a->s->ch, a->n, msg, a->left == 0);
		return;
	}
	(void)buf_addc(&a->json, a->json.n == 0 ? '[' : ',');
	(void)buf_adds(&a->json, msg);
	if (a->left > 0)
		return;
	(void)buf_addc(&a->json, ']');
	reply_json(a, buf_str(&a->json));
}

void
answer_msg(struct answer *a, struct str msg)
{
	if (a->tool && a->s && has_fault(a->m, FAULT_WRONG_STREAM)) {
		session_emit(a->s, msg);
		return;
	}
	if (a->how == ANSWER_JSON)
		answer_stream(a);
	switch (a->how) {
	case ANSWER_CHANNEL:
		chan_request_send(a->s->ch, a->n, msg, false);
		break;
	case ANSWER_STREAM:
		if (a->x)
			out_event(a->x, STR_NONE, STR_NONE, msg, -1);
		break;
	case ANSWER_LEGACY:
		legacy_send(a->s, msg);
		break;
	case ANSWER_JSON: case ANSWER_LOST:
		break;
	}
}

/* The response goes astray: two faults. */
static bool
misled(struct answer *a, struct str msg)
{
	if (!a->tool || a->how != ANSWER_CHANNEL)
		return false;
	if (has_fault(a->m, FAULT_WRONG_STREAM))
		session_emit(a->s, msg);
	else if (!has_fault(a->m, FAULT_DROP_RESPONSE))
		return false;
	if (a->left == 0)
		chan_request_drop(a->s->ch, a->n);
	return true;
}

void
answer_done(struct answer *a, struct str msg)
{
	a->left--;
	if (misled(a, msg))
		return;
	if (a->tool && a->x && has_fault(a->m, FAULT_CUT_EVENT))
		a->x->torn = true;
	switch (a->how) {
	case ANSWER_JSON:
		if (a->batch)
			add_to_batch(a, msg);
		else
			reply_json(a, msg);
		break;
	case ANSWER_CHANNEL:
		chan_request_send(a->s->ch, a->n, msg, a->left == 0);
		break;
	case ANSWER_STREAM:
		if (a->x)
			out_event(a->x, STR_NONE, STR_NONE, msg, -1);
		if (a->x && a->left == 0)
			out_end(a->x);
		break;
	case ANSWER_LEGACY:
		legacy_send(a->s, msg);
		break;
	case ANSWER_LOST:
		break;
	}
}

void
answer_cancel(struct answer *a)
{
	if (--a->left > 0)
		return;
	if (a->how == ANSWER_JSON && a->json.n > 0) {
		(void)buf_addc(&a->json, ']');
		reply_json(a, buf_str(&a->json));
		return;
	}
	/* HTTP wants an answer although JSON-RPC has none: a stream without. */
	if (a->how == ANSWER_JSON)
		answer_stream(a);
	if (a->how == ANSWER_CHANNEL)
		chan_request_drop(a->s->ch, a->n);
	else if (a->how == ANSWER_STREAM && a->x)
		out_end(a->x);
}
