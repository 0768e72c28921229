#include "rule_answer.h"

#include <assert.h>
#include <stdlib.h>

#define MAX_WAITING 4096
#define MAX_TOLD 8		/* rules */

struct answers {
	struct idmap open;
	struct whos *whos;
	uint32_t n_told;
	struct {
		answer_fn *fn;
		void *arg;
	} told[MAX_TOLD];
};

static void *
new(struct engine *e, const struct limits *lim)
{
	struct answers *a = xcalloc(1, sizeof *a);

	(void)lim;
	a->whos = engine_reader(e, &who_reader);
	idmap_init(&a->open);
	return a;
}

static void
drop(struct answers *a, struct answer *k)
{
	idmap_del(&a->open, &k->node);
	free(k);
}

static void
free_reader(void *arg)
{
	struct answers *a = arg;

	while (a->open.first)
		drop(a, (struct answer *)a->open.first);
	idmap_fini(&a->open);
	free(a);
}

static struct answer *
find(const struct answers *a, uint32_t x)
{
	return (struct answer *)idmap_get(&a->open, x);
}

static void
on_request(struct answers *a, const struct ev *e)
{
	const struct asked *q = who_asked(a->whos, e->conn, e->x);
	struct answer *k = find(a, e->x);

	if (k)
		drop(a, k);
	if (q == NULL || q->modern || !(q->get || q->post || q->del))
		return;
	if (a->open.n >= MAX_WAITING)
		drop(a, (struct answer *)a->open.first);	/* the oldest */
	k = xcalloc(1, sizeof *k);
	k->x = e->x;
	k->conn = e->conn;
	k->session = e->session;
	k->asked = *q;
	idmap_put(&a->open, &k->node, k->x);
}

static void
judge(struct answers *a, struct answer *k, struct str code, struct str text)
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
	for (uint32_t i = 0; i < a->n_told; i++)
		a->told[i].fn(a->told[i].arg, k);
}

static void
on_response(struct answers *a, struct answer *k, const struct ev *e)
{
	k->status = e->u.resp.status;
	k->challenge = e->u.resp.challenge;
	k->html = str_ipre(e->u.resp.content_type, STR("text/html"));
	k->session = e->session ? e->session : k->session;
	k->at = (struct at){ e->t, e->pkt };
	k->server = map_digest(e->u.resp.server.p, e->u.resp.server.n) ^
	    (e->u.resp.via.n ? 3 * map_digest(e->u.resp.via.p, e->u.resp.via.n) : 0);
	/* A stream may be silent for hours. */
	if (k->status / 100 == 2 && (k->asked.get || k->status == 202 || k->status == 204))
		judge(a, k, STR_NONE, STR_NONE);
}

static void
event(void *arg, const struct ev *e)
{
	struct answers *a = arg;
	struct answer *k;

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
		judge(a, k, e->u.msg.kind == EV_MSG_ERROR ? e->u.msg.code : STR_NONE,
		    e->u.msg.kind == EV_MSG_ERROR ? e->u.msg.error : STR_NONE);
	} else if (e->type == EV_RESPONSE) {
		on_response(a, k, e);
	} else if (e->type == EV_RESPONSE_END) {
		judge(a, k, STR_NONE, STR_NONE);
		drop(a, k);
	}
}

const struct reader answer_reader = {
	.wants = RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_MESSAGE) | RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END),
	.new = new, .event = event, .free = free_reader,
};

void
answers_tell(struct answers *a, answer_fn *fn, void *arg)
{
	assert(a->n_told < MAX_TOLD);
	a->told[a->n_told].fn = fn;
	a->told[a->n_told++].arg = arg;
}
