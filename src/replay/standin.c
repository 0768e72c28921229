#include "mcpdiag/standin.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"

#define MAX_EXTRA 64U		/* GETs of one client beside its first */
#define MODERN "2026-07-28"

struct one {
	struct standin *all;
	struct standin_x x;
	struct listener_live *live;
	struct loop_timer *timer;	/* till it begins */
	ns_t begin, last;		/* its first request, and the last one
					 * but DELETE; since the first packet */
	struct listener_opts opts;
	char *revision, *params;
	ns_t *calls;
	uint32_t n_calls, cap_calls;
	bool has_session;
};

struct standin {
	struct loop *loop;
	const struct plan *plan;
	struct standin_opts opts;
	void (*done)(void *arg);
	void *arg;
	struct one *ones;
	uint32_t n, cap, running, left_out;
	uint32_t *of;		/* by client of the plan: its index, plus 1 */
};

/* ---- what the captured client did ---- */

/* The value of "params" at the top of a message, an object; absent: none. */
static struct str
params_of(struct str body)
{
	size_t at = str_find(body, STR("\"params\"")), from;
	unsigned depth = 0;
	bool quoted = false;

	if (at == SIZE_MAX)
		return STR_NONE;
	for (at += 8; at < body.n && body.p[at] != '{'; at++)
		if (body.p[at] != ':' && body.p[at] != ' ' && body.p[at] != '\n')
			return STR_NONE;
	for (from = at; at < body.n; at++) {
		char c = body.p[at];

		if (quoted && c == '\\')
			at++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && c == '{')
			depth++;
		else if (!quoted && c == '}' && --depth == 0)
			return str_of(body.p + from, at + 1 - from);
	}
	return STR_NONE;
}

static void
learn_call(struct one *o, const struct plan_x *x)
{
	struct str params = params_of(x->body);

	if (x->skip != PLAN_PLAYED || x->n_msgs != 1 || params.p == NULL)
		return;
	if (o->params == NULL)
		o->params = xmemdup0(params.p, params.n);
	if (!str_eq(params, str_c(o->params)))
		return;
	o->calls = xgrow(o->calls, o->n_calls, &o->cap_calls, sizeof *o->calls);
	o->calls[o->n_calls++] = x->at - o->begin;
}

static void
learn(struct one *o, const struct plan_x *x)
{
	struct str method = x->n_msgs ? x->msgs[0].method : STR_NONE;

	if (x->version.p && o->revision == NULL)
		o->revision = xmemdup0(x->version.p, x->version.n);
	/* Who leaves for a while is one listener; who leaves in the end, too. */
	if (x->kind == PLAN_GET && x->cursor.p == NULL && x->prev == 0 &&
	    (x->leave < 0 || x->leave >= o->last)) {
		o->opts.extra += o->opts.standalone && o->opts.extra < MAX_EXTRA;
		o->opts.standalone = true;
	} else if (x->kind == PLAN_GET) {
		o->opts.standalone = true;
	}
	o->opts.delete |= x->kind == PLAN_DELETE;
	o->opts.list |= str_eq(method, STR("tools/list"));
	if (str_eq(method, STR("tools/call")))
		learn_call(o, x);
}

/* A revision without sessions is not one to offer. */
static void
set_opts(struct one *o)
{
	const struct standin *s = o->all;

	if (o->revision && strcmp(o->revision, MODERN) >= 0)
		o->revision[0] = '\0';
	if (o->revision && o->revision[0])
		o->opts.protocol = o->revision;
	o->opts.url = s->opts.url;
	o->opts.headers = s->opts.headers;
	o->opts.n_headers = s->opts.n_headers;
	o->opts.client = s->opts.row;
	o->opts.scale = o->opts.retry_scale = 1 / s->opts.speed;
	o->opts.calls = o->calls;
	o->opts.n_calls = o->n_calls;
	if (o->params)
		o->opts.call_params = o->params;
	o->opts.duration = plan_duration(s->plan) - o->begin;
	if (o->opts.duration <= 0)
		o->opts.duration = NS_MS;
	o->opts.post_timeout = s->opts.answer_timeout;
	if (o->opts.connect_timeout > s->opts.answer_timeout)
		o->opts.connect_timeout = s->opts.answer_timeout;
}

static struct one *
add(struct standin *s, const struct plan_x *x)
{
	struct one *o;

	s->ones = xgrow(s->ones, s->n, &s->cap, sizeof *s->ones);
	o = &s->ones[s->n++];
	*o = (struct one){ .all = s, .x.client = x->client, .begin = x->at };
	listener_opts_init(&o->opts);
	o->opts.standalone = o->opts.list = false;
	s->of[x->client] = s->n;
	return o;
}

struct standin *
standin_new(struct loop *loop, const struct plan *plan, const struct standin_opts *opts,
    void (*done)(void *arg), void *arg)
{
	struct standin *s = xcalloc(1, sizeof *s);
	const struct plan_x *x;

	s->loop = loop;
	s->plan = plan;
	s->opts = *opts;
	s->done = done;
	s->arg = arg;
	s->of = xcalloc(plan_clients(plan) + 1, sizeof *s->of);
	for (uint32_t i = 1; (x = plan_x(plan, i)) != NULL; i++) {
		struct one *o = s->of[x->client] ? &s->ones[s->of[x->client] - 1] : NULL;

		/* The handshake of HTTP+SSE waits for the stream with its endpoint. */
		if (o == NULL && x->initialize && x->skip == PLAN_PLAYED && !x->handshake)
			o = add(s, x);
		if (o && x->kind != PLAN_DELETE)
			o->last = x->at;
	}
	for (uint32_t i = 1; (x = plan_x(plan, i)) != NULL; i++) {
		struct one *o = s->of[x->client] ? &s->ones[s->of[x->client] - 1] : NULL;

		if (o && x->at >= o->begin && x->skip != PLAN_NOT_CHOSEN)
			learn(o, x);
	}
	s->left_out = plan_clients(plan) - s->n;
	for (uint32_t i = 0; i < s->n; i++)
		set_opts(&s->ones[i]);
	return s;
}

/* ---- the run ---- */

static void
on_event(void *arg, const struct listen_event *e)
{
	struct one *o = arg;
	struct standin *s = o->all;

	switch (e->what) {
	case LISTEN_ANSWER:
		o->has_session |= e->kind == LISTEN_INITIALIZE && e->status / 100 == 2 &&
		    strcmp(e->method, "POST") == 0;
		o->x.calls += e->kind == LISTEN_CALL && strcmp(e->method, "POST") == 0;
		if (strcmp(e->method, "GET") != 0)
			break;
		o->x.gets++;
		o->x.streams += e->stream;
		o->x.refused += e->status >= 400;
		break;
	case LISTEN_MESSAGE:
		o->x.messages++;
		break;
	case LISTEN_ENDED:
		break;
	case LISTEN_STOPPED:
		o->x.stopped = true;
		o->x.stop = e->stop;
		(void)snprintf(o->x.why, sizeof o->x.why, "%s", e->why);
		if (--s->running == 0)
			s->done(s->arg);
		break;
	}
}

static void
on_begin(void *arg)
{
	struct one *o = arg;

	listener_live_start(o->live);
}

int
standin_start(struct standin *s, struct errmsg *em)
{
	if (s->n == 0)
		return err_set(em, E_USAGE, "no client of the capture begins a session of "
		    "Streamable HTTP: there is none to stand in for");
	s->running = s->n;
	for (uint32_t i = 0; i < s->n; i++) {
		struct one *o = &s->ones[i];

		if (s->opts.pools)
			o->live = listener_live_new_on(s->loop,
			    s->opts.pools[(s->opts.first_pool + i) % s->opts.n_pools],
			    &o->opts, on_event, o);
		else
			o->live = listener_live_new(s->loop, &s->opts.client, &o->opts,
			    on_event, o, em);
		if (o->live == NULL)
			return -E_IO;
		o->timer = loop_timer_new(s->loop, on_begin, o);
		loop_timer_set(o->timer,
		    (ns_t)((double)(o->begin - s->ones[0].begin) / s->opts.speed));
	}
	return 0;
}

void
standin_stop(struct standin *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		loop_timer_clear(s->ones[i].timer);
		if (!s->ones[i].x.stopped)
			listener_live_stop(s->ones[i].live);
	}
}

void
standin_close(struct standin *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		listener_live_free(s->ones[i].live);
		s->ones[i].live = NULL;
	}
}

void
standin_free(struct standin *s)
{
	if (s == NULL)
		return;
	standin_close(s);
	for (uint32_t i = 0; i < s->n; i++) {
		loop_timer_free(s->ones[i].timer);
		free(s->ones[i].calls);
		free(s->ones[i].params);
		free(s->ones[i].revision);
	}
	free(s->ones);
	free(s->of);
	free(s);
}

const struct standin_x *
standin_x(const struct standin *s, uint32_t i)
{
	return i < s->n ? &s->ones[i].x : NULL;
}

uint32_t
standin_left_out(const struct standin *s)
{
	return s->left_out;
}

int
standin_target(const struct standin *s, struct errmsg *em)
{
	const char *why = "no answer in time";

	for (uint32_t i = 0; i < s->n; i++) {
		const struct one *o = &s->ones[i];

		if (o->has_session && o->x.stop != LISTEN_UNREACHABLE &&
		    o->x.stop != LISTEN_REFUSED)
			return 0;
		if (o->x.why[0])
			why = o->x.why;
	}
	return err_set(em, E_IO, "%s: %s", s->opts.url, why);
}
