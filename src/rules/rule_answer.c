#include "rule_answer.h"

#include <stdlib.h>

#define MAX_WAITING 4096

void
answers_init(struct answers *a, const struct limits *lim)
{
	*a = (struct answers){ .max = MAX_WAITING };
	a->whos.max = lim->flows;
}

static void
drop(struct answers *a, struct answer *k)
{
	HASH_DEL(a->table, k);
	free(k);
}

void
answers_fini(struct answers *a)
{
	while (a->table)
		drop(a, a->table);
	who_fini(&a->whos);
}

static struct answer *
find(const struct answers *a, uint32_t x)
{
	struct answer *k;

	HASH_FIND(hh, a->table, &x, sizeof x, k);
	return k;
}

static void
on_request(struct answers *a, const struct ev *e)
{
	const struct asked *q = who_asked(&a->whos, e->conn, e->x);
	struct answer *k = find(a, e->x);

	if (k)
		drop(a, k);
	if (q == NULL || q->modern || !(q->get || q->post || q->del))
		return;
	if (HASH_COUNT(a->table) >= a->max)
		drop(a, a->table);	/* the oldest */
	k = xcalloc(1, sizeof *k);
	k->x = e->x;
	k->conn = e->conn;
	k->session = e->session;
	k->asked = *q;
	HASH_ADD(hh, a->table, x, sizeof k->x, k);
}

static void
judge(struct answer *k, struct str code, struct str text, answer_fn *fn, void *arg)
{
	uint32_t status = k->status;

	if (k->judged || status == 0)
		return;
	k->judged = true;
	if (!k->html && says_unknown(status, k->challenge, code, text))
		k->outcome = ANSWER_UNKNOWN;
	else if (status / 100 == 2)
		k->outcome = ANSWER_OK;
	else if ((status == 400 || status == 500 || status == 503) && !code.p && !k->html)
		k->outcome = ANSWER_MAYBE;
	else
		k->outcome = ANSWER_OTHER;
	fn(arg, k);
}

static void
on_response(struct answer *k, const struct ev *e, answer_fn *fn, void *arg)
{
	struct digest d;

	k->status = e->u.resp.status;
	k->challenge = e->u.resp.challenge;
	k->html = str_ipre(e->u.resp.content_type, STR("text/html"));
	k->session = e->session ? e->session : k->session;
	k->at = (struct at){ e->t, e->pkt };
	digest_init(&d);
	digest_add(&d, e->u.resp.server.p, e->u.resp.server.n);
	digest_add(&d, "\n", 1);
	digest_add(&d, e->u.resp.via.p, e->u.resp.via.n);
	k->server = digest_end(&d);
	/* A stream may be silent for hours. */
	if (k->status / 100 == 2 && (k->asked.get || k->status == 202 || k->status == 204))
		judge(k, STR_NONE, STR_NONE, fn, arg);
}

void
answers_event(struct answers *a, const struct ev *e, answer_fn *fn, void *arg)
{
	struct answer *k;

	who_event(&a->whos, e);
	if (e->type == EV_REQUEST) {
		on_request(a, e);
		return;
	}
	if (e->x == 0 || (k = find(a, e->x)) == NULL)
		return;
	if (e->type == EV_MESSAGE && e->dir == EV_C2S) {
		k->init |= e->u.msg.kind == EV_MSG_REQUEST &&
		    str_eq(e->u.msg.method, STR("initialize"));
	} else if (e->type == EV_MESSAGE) {
		judge(k, e->u.msg.kind == EV_MSG_ERROR ? e->u.msg.code : STR_NONE,
		    e->u.msg.kind == EV_MSG_ERROR ? e->u.msg.error : STR_NONE, fn, arg);
	} else if (e->type == EV_RESPONSE) {
		on_response(k, e, fn, arg);
	} else if (e->type == EV_RESPONSE_END) {
		judge(k, STR_NONE, STR_NONE, fn, arg);
		drop(a, k);
	}
}
