#include "rule_asks.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"

#define FEW 2			/* xgrow() begins so */
#define MAX_ASKS 128		/* under way in one session, or one exchange */

static void
free_asks(struct kept *k)
{
	struct asks *s = (struct asks *)k;

	s->in->n -= s->n;
	for (uint32_t i = 0; i < s->n; i++)
		free(s->v[i].more);
	free(s->v);
	free(s->extra);
	free(s);
}

void
asking_init(struct asking *a, struct engine *e, const struct limits *lim, size_t size,
    size_t more)
{
	*a = (struct asking){ .size = size, .more = more,
	    .ids = engine_reader(e, &id_reader) };
	keeper_init(&a->sessions, e, lim->sessions, free_asks);
	keeper_init(&a->waiting, e, lim->pipeline, free_asks);
}

void
asking_fini(struct asking *a)
{
	keeper_fini(&a->sessions);
	keeper_fini(&a->waiting);
	free(a->spare);
}

struct asks *
asking_find(struct asking *a, uint32_t session)
{
	return session ? (struct asks *)keeper_find(&a->sessions, session) : NULL;
}

static struct asks *
get(struct asking *a, struct keeper *kp, uint32_t key, size_t size)
{
	struct asks *s = (struct asks *)keeper_find(kp, key);

	if (s)
		return s;
	s = xcalloc(1, size);
	s->in = a;
	keeper_add(kp, &s->of, key);
	return s;
}

struct asks *
asking_session(struct asking *a, uint32_t session)
{
	return get(a, &a->sessions, session, a->size);
}

void
asking_drop(struct asking *a, struct asks *s)
{
	keeper_drop(&a->sessions, &s->of);
}

void
asks_remove(struct asks *s, struct ask *k)
{
	uint32_t i = (uint32_t)(k - s->v);

	free(k->more);
	memmove(k, k + 1, (s->n - i - 1) * sizeof *k);
	s->in->n--;
	if (--s->n > 0)
		return;
	/* Most sessions have nothing under way: they keep no room for it. */
	if (s->in->spare == NULL && s->cap == FEW)
		s->in->spare = s->v;
	else
		free(s->v);
	s->v = NULL;
	s->cap = 0;
}

/* Room for one more, as it comes. */
static struct ask *
add(struct asks *s)
{
	if (s->n == MAX_ASKS)
		asks_remove(s, s->v);
	if (s->v == NULL && s->in->spare) {
		s->v = s->in->spare;
		s->cap = FEW;
		s->in->spare = NULL;
	}
	s->v = xgrow(s->v, s->n, &s->cap, sizeof *s->v);
	s->in->n++;
	return &s->v[s->n++];
}

static size_t
keep_text(char *to, size_t size, struct str s)
{
	size_t n = s.n < size ? s.n : size - 1;

	if (n)
		memcpy(to, s.p, n);
	to[n] = '\0';
	return n;
}

struct ask *
asking_message(struct asking *a, const struct ev *e)
{
	struct asks *s = e->session ? asking_session(a, e->session) :
	    get(a, &a->waiting, e->x, sizeof *s);
	struct ask *k = add(s);
	size_t at;

	*k = (struct ask){ .x = e->x, .conn = e->conn, .flags = e->flags,
	    .asked = { e->t, e->pkt } };
	k->id = id_of(a->ids);
	k->method = map_digest(e->u.msg.method.p, e->u.msg.method.n);
	(void)keep_text(k->id_text, sizeof k->id_text, e->u.msg.id);
	at = keep_text(k->what, sizeof k->what / 2, e->u.msg.method);
	if (e->u.msg.name.n) {
		k->what[at++] = ' ';
		(void)keep_text(k->what + at, sizeof k->what - at, e->u.msg.name);
	}
	k->more = a->more ? xcalloc(1, a->more) : NULL;
	return e->session ? k : NULL;
}

/* The answer names the session at last. */
static void
adopt(struct asking *a, const struct ev *e)
{
	struct asks *w = (struct asks *)keeper_find(&a->waiting, e->x);

	if (w == NULL)
		return;
	if (e->session) {
		struct asks *s = asking_session(a, e->session);

		for (uint32_t i = 0; i < w->n; i++)
			*add(s) = w->v[i];
		a->n -= w->n;
		w->n = 0;
	}
	keeper_drop(&a->waiting, &w->of);
}

void
asking_response(struct asking *a, const struct ev *e)
{
	struct asks *s;

	adopt(a, e);
	s = asking_find(a, e->session);
	for (uint32_t i = s ? s->n : 0; i-- > 0;) {
		struct ask *k = &s->v[i];

		if (k->x != e->x)
			continue;
		k->flags |= e->flags;
		k->head = (struct at){ e->t, e->pkt };
		k->status = e->u.resp.status;
		k->json = !e->u.resp.event_stream;
		if (k->status / 100 != 2)
			asks_remove(s, k);
	}
}

void
asking_response_end(struct asks *s, const struct ev *e)
{
	for (uint32_t i = s->n; i-- > 0;) {
		struct ask *k = &s->v[i];

		if (k->x != e->x)
			continue;
		k->flags |= e->flags;
		k->ended = (struct at){ e->t, e->pkt };
		k->end = e->u.end.end;
		if (k->answered)
			asks_remove(s, k);
	}
}

struct ask *
asks_own(struct asks *s, uint32_t x, uint64_t id)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i].x == x && s->v[i].id == id)
			return &s->v[i];
	return NULL;
}

struct ask *
asks_answered_by(struct asks *s, const struct ev *e)
{
	struct str id = e->u.msg.id;
	uint64_t digest = id_of(s->in->ids);
	struct ask *own = asks_own(s, e->x, digest);
	bool nameless = id.n == 0 || str_eq(id, STR("null"));

	if (own)
		return own->answered ? NULL : own;
	for (uint32_t i = 0; i < s->n; i++) {
		struct ask *k = &s->v[i];

		if (!k->answered && (k->id == digest ||
		    (k->x == e->x && nameless && e->u.msg.kind == EV_MSG_ERROR)))
			return k;
	}
	return NULL;
}

bool
asks_waits_long(struct str method)
{
	return str_eq(method, STR("tasks/result")) ||
	    str_eq(method, STR("subscriptions/listen"));
}
