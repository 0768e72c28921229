#include "mcpdiag/listener_live.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"

struct slot {
	struct listener_live *live;
	unsigned n;
	struct creq *req;	/* what runs, or NULL */
	struct loop_timer *timer;
};

struct listener_live {
	struct loop *loop;
	struct client *client;
	bool own;		/* it goes with us */
	struct listener *listener;
	struct slot *slots;
};

static void
on_head(void *arg, const struct client_head *h)
{
	struct slot *s = arg;

	listener_head(s->live->listener, s->n, h);
}

static void
on_body(void *arg, const void *p, size_t n)
{
	struct slot *s = arg;

	listener_body(s->live->listener, s->n, p, n);
}

static void
on_end(void *arg, enum client_end end, const char *why)
{
	struct slot *s = arg;

	s->req = NULL;
	listener_end(s->live->listener, s->n, end, why);
}

static void
on_timer(void *arg)
{
	struct slot *s = arg;

	listener_timer(s->live->listener, s->n);
}

static bool
start_request(void *arg, unsigned slot, const struct client_request *q, struct errmsg *em)
{
	static const struct client_cb cb = { on_head, on_body, on_end };
	struct listener_live *v = arg;
	struct slot *s = &v->slots[slot];

	s->req = client_start(v->client, q, &cb, s, em);
	return s->req != NULL;
}

static void
cancel(void *arg, unsigned slot)
{
	struct listener_live *v = arg;
	struct slot *s = &v->slots[slot];

	if (s->req != NULL)
		client_cancel(s->req);
	s->req = NULL;
}

static void
set_timer(void *arg, unsigned slot, ns_t after)
{
	struct listener_live *v = arg;
	struct slot *s = &v->slots[slot];

	if (s->timer == NULL)
		s->timer = loop_timer_new(v->loop, on_timer, s);
	loop_timer_set(s->timer, after);
}

static void
clear_timer(void *arg, unsigned slot)
{
	struct listener_live *v = arg;

	if (v->slots[slot].timer != NULL)
		loop_timer_clear(v->slots[slot].timer);
}

static const struct listener_io io = {
	start_request, cancel, set_timer, clear_timer,
};

struct listener_live *
listener_live_new(struct loop *loop, const struct client_opts *co,
    const struct listener_opts *lo, listener_fn *fn, void *arg, struct errmsg *em)
{
	struct client *client = client_new(loop, co, em);
	struct listener_live *v;

	if (client == NULL)
		return NULL;
	v = listener_live_new_on(loop, client, lo, fn, arg);
	v->own = true;
	return v;
}

struct listener_live *
listener_live_new_on(struct loop *loop, struct client *client,
    const struct listener_opts *lo, listener_fn *fn, void *arg)
{
	struct listener_live *v = xcalloc(1, sizeof *v);
	unsigned n;

	v->loop = loop;
	v->client = client;
	v->listener = listener_new(lo, &io, v, fn, arg);
	n = listener_slots(v->listener);
	v->slots = xcalloc(n, sizeof *v->slots);
	for (unsigned i = 0; i < n; i++)
		v->slots[i] = (struct slot){ .live = v, .n = i };
	return v;
}

void
listener_live_free(struct listener_live *v)
{
	if (v == NULL)
		return;
	for (unsigned i = 0; i < listener_slots(v->listener); i++) {
		cancel(v, i);
		loop_timer_free(v->slots[i].timer);
	}
	if (v->own)
		client_free(v->client);
	listener_free(v->listener);
	free(v->slots);
	free(v);
}

void
listener_live_start(struct listener_live *v)
{
	listener_start(v->listener);
}

void
listener_live_stop(struct listener_live *v)
{
	listener_stop(v->listener);
}
