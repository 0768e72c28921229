#include "mcpdiag/crowd.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/esc.h"
#include "mcpdiag/listener_live.h"
#include "mcpdiag/xmem.h"

#define CALL_EVERY (2 * NS_S)
#define MAX_CALLS 64U
#define KINDS (LISTEN_DELETE + 1)
/* One stream ends for another: they are told within so long, in either order. */
#define TOGETHER (25 * NS_MS)

struct crowd {
	struct loop *loop;
	struct listener_live *live;
	struct listener_opts o;
	loop_fn *done;
	void *arg;
	struct buf params;
	ns_t calls[MAX_CALLS];
	/* Ends of each lineage: by kind, and each further listener. */
	unsigned ends[KINDS + CROWD_MAX];
	/* The last opening and the last end that no other is paired with. */
	struct {
		const unsigned *of;
		ns_t t;
	} opened, ended;
	bool started;
	struct crowd_seen seen;
};

static unsigned *
ends_of(struct crowd *c, const struct listen_event *e)
{
	if (e->kind == LISTEN_EXTRA)
		return &c->ends[KINDS + (e->index < CROWD_MAX ? e->index : 0)];
	return &c->ends[e->kind];
}

/* A stream opens; whose end goes with it is a takeover, if it is another's. */
static void
on_open(struct crowd *c, const unsigned *of)
{
	ns_t t = loop_mono(c->loop);

	if (c->ended.of && c->ended.of != of && t - c->ended.t < TOGETHER) {
		c->seen.takeovers++;
		c->ended.of = NULL;
		return;
	}
	c->opened.of = of;
	c->opened.t = t;
}

static void
on_end(struct crowd *c, const unsigned *of)
{
	ns_t t = loop_mono(c->loop);

	if (c->opened.of && c->opened.of != of && t - c->opened.t < TOGETHER) {
		c->seen.takeovers++;
		c->opened.of = NULL;
		return;
	}
	/* One that ends as soon as it is open takes nobody's place. */
	if (c->opened.of == of && t - c->opened.t < TOGETHER)
		c->opened.of = NULL;
	else
		c->ended.of = of;
	c->ended.t = t;
}

static void
on_answer(struct crowd *c, const struct listen_event *e)
{
	struct crowd_seen *s = &c->seen;

	if (strcmp(e->method, "GET") != 0)
		return;
	s->gets++;
	if (e->stream) {
		s->streams++;
		on_open(c, ends_of(c, e));
	} else if (e->status == 0) {
		s->unanswered++;
	} else if (e->status < 300) {
		s->untyped++;
		if (e->again >= 0 && ++*ends_of(c, e) == 2)
			s->looping++;
	} else {
		s->refused++;
		s->status = e->status;
		if (e->again >= 0 && ++*ends_of(c, e) == 3)
			s->looping++;
	}
}

static void
on_listen(void *arg, const struct listen_event *e)
{
	struct crowd *c = arg;

	switch (e->what) {
	case LISTEN_ANSWER:
		on_answer(c, e);
		break;
	case LISTEN_MESSAGE:
		c->seen.messages += e->rpc_method.p != NULL && e->kind != LISTEN_CALL;
		break;
	case LISTEN_ENDED:
		/* The first end of a POST's stream is its response's. */
		if (strcmp(e->method, "GET") != 0)
			break;
		c->seen.ended++;
		on_end(c, ends_of(c, e));
		if (e->again >= 0 && ++*ends_of(c, e) == 2)
			c->seen.looping++;
		break;
	case LISTEN_STOPPED:
		c->seen.stop = e->stop;
		c->seen.over = true;
		(void)snprintf(c->seen.why, sizeof c->seen.why, "%s", e->why);
		c->done(c->arg);
		break;
	}
}

static void
set_calls(struct crowd *c, const struct crowd_opts *o)
{
	unsigned n = 0;

	if (o->tool == NULL)
		return;
	(void)buf_adds(&c->params, STR("{\"name\":\""));
	esc_json(&c->params, str_c(o->tool));
	(void)buf_adds(&c->params, STR("\",\"arguments\":"));
	(void)buf_adds(&c->params, str_c(o->args ? o->args : "{}"));
	(void)buf_add(&c->params, "}", 2);
	for (ns_t t = NS_S; t < o->duration && n < MAX_CALLS; t += CALL_EVERY)
		c->calls[n++] = t;
	c->o.calls = c->calls;
	c->o.n_calls = n;
	c->o.call_params = c->params.p;
}

struct crowd *
crowd_new(struct loop *loop, const struct crowd_opts *o, loop_fn *done, void *arg,
    struct errmsg *em)
{
	struct crowd *c = xcalloc(1, sizeof *c);

	c->loop = loop;
	c->done = done;
	c->arg = arg;
	c->seen.listeners = o->listeners;
	buf_init(&c->params, 1U << 20);
	listener_opts_init(&c->o);
	c->o.url = o->url;
	c->o.headers = o->headers;
	c->o.n_headers = o->n_headers;
	c->o.protocol = "2025-11-25";
	c->o.client = o->client;
	c->o.extra = o->listeners - 1;
	c->o.duration = o->duration;
	c->o.delete = true;
	c->o.fresh = true;
	c->o.connect_timeout = c->o.post_timeout = 5 * NS_S;
	if (o->client && !o->client->all)
		c->o.reconnect |= 1U << LISTEN_CALL;
	set_calls(c, o);
	c->live = listener_live_new(loop, &o->http, &c->o, on_listen, c, em);
	if (c->live == NULL) {
		crowd_free(c);
		return NULL;
	}
	return c;
}

void
crowd_free(struct crowd *c)
{
	if (c == NULL)
		return;
	listener_live_free(c->live);
	buf_fini(&c->params);
	free(c);
}

void
crowd_start(struct crowd *c)
{
	c->started = true;
	listener_live_start(c->live);
}

void
crowd_stop(struct crowd *c)
{
	if (c->started && !c->seen.over)
		listener_live_stop(c->live);
}

const struct crowd_seen *
crowd_seen(const struct crowd *c)
{
	return &c->seen;
}

struct probe_result
crowd_judge(const struct crowd_seen *s)
{
	struct probe_result r = { PROBE_OK, 0, "", "" };

	if (!s->over || s->stop == LISTEN_UNREACHABLE || s->stop == LISTEN_REFUSED) {
		r.verdict = PROBE_UNKNOWN;
		r.say = "no session could be begun";
	} else if (s->stop == LISTEN_SESSION_GONE) {
		r.verdict = PROBE_FAULT;
		r.say = "the client gives its session up";
		r.note = "over the answer to a GET, or 404";
	} else if (s->looping >= 2 && s->takeovers >= 2) {
		r.verdict = PROBE_FAULT;
		r.say = "they are ended and come back, again and again";
		r.note = "each that comes back ends another one: leapfrog";
	} else if (s->looping > 0) {
		r.verdict = PROBE_FAULT;
		r.say = s->looping == 1 ? "one of them comes back again and again" :
		    "some of them come back again and again";
		r.note = "what they are answered does not make them stop: empty-accept-loop or "
		    "refused-get-loop";
	} else if (s->gets == 0) {
		r.say = "this client opens no stream";
	} else if (s->streams == 0) {
		r.say = "none is accepted, and none comes back";
	} else if (s->refused + s->untyped > 0) {
		r.say = "some are refused, and do not come back; the others stay";
	} else if (s->ended > 0) {
		r.verdict = PROBE_WARNING;
		r.say = "some are ended, and come back";
	} else {
		r.say = "all that are accepted stay open";
	}
	return r;
}
