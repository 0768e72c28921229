#include "pulse.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/map.h"

struct node {
	struct pulse p;
	UT_hash_handle hh;
};

struct pulses {
	const struct timeline *tl;
	struct node *all;
	struct node *latest;		/* events come in runs */
	uint32_t sweep;			/* so many are there when it is time */
};

struct pulses *
pulses_new(const struct timeline *tl)
{
	struct pulses *ps = xcalloc(1, sizeof *ps);

	ps->tl = tl;
	ps->sweep = 1024;
	return ps;
}

void
pulses_free(struct pulses *ps)
{
	struct node *n, *next;

	if (ps == NULL)
		return;
	HASH_ITER(hh, ps->all, n, next) {
		HASH_DEL(ps->all, n);
		free(n);
	}
	free(ps);
}

/* Those that are gone go when half of them may be. */
static void
sweep(struct pulses *ps)
{
	struct node *n, *next;

	if (HASH_COUNT(ps->all) < ps->sweep)
		return;
	HASH_ITER(hh, ps->all, n, next) {
		if (timeline_session_n(ps->tl, n->p.session))
			continue;
		HASH_DEL(ps->all, n);
		free(n);
	}
	ps->latest = NULL;
	ps->sweep = 2 * HASH_COUNT(ps->all) < 1024 ? 1024 : 2 * HASH_COUNT(ps->all);
}

static struct node *
find(const struct pulses *ps, uint32_t session)
{
	struct node *n;

	if (ps->latest && ps->latest->p.session == session)
		return ps->latest;
	HASH_FIND(hh, ps->all, &session, sizeof session, n);
	return n;
}

static struct pulse *
at(struct pulses *ps, uint32_t session)
{
	struct node *n = find(ps, session);

	if (n == NULL) {
		sweep(ps);
		n = xcalloc(1, sizeof *n);
		n->p.session = session;
		HASH_ADD(hh, ps->all, p.session, sizeof n->p.session, n);
	}
	ps->latest = n;
	return &n->p;
}

const struct pulse *
pulses_get(const struct pulses *ps, uint32_t session)
{
	struct node *n = find(ps, session);

	return n ? &n->p : NULL;
}

static bool
owns(enum ev_role r)
{
	return r == EV_PRIMARY || r == EV_PRESUMED;
}

static uint32_t
lineage(const struct pulses *ps, uint32_t stream)
{
	const struct tl_stream *s = timeline_stream_n(ps->tl, stream);

	return s ? s->lineage : 0;
}

static void
lose(struct pulse *p)
{
	p->before = p->owner;
	p->owner = 0;
}

static void
on_owner(struct pulses *ps, struct pulse *p, const struct ev *e)
{
	enum ev_role to = e->u.owner.to;

	if (owns(to)) {
		/* What is only presumed takes nothing from what is proven. */
		if (to == EV_PRESUMED && p->owner && p->role == EV_PRIMARY)
			return;
		if (p->owner != e->stream) {
			if (p->owner)
				lose(p);
			if (p->before && lineage(ps, p->before) != lineage(ps, e->stream))
				p->changes++;
			p->since = e->t;
		}
		p->owner = e->stream;
		p->role = to;
	} else if (p->owner == e->stream)
		lose(p);
}

static void
see(struct pulse *p, const struct ev *e, const char *before, struct str what)
{
	int n = (int)(what.n < sizeof p->last ? what.n : sizeof p->last);

	p->t = e->t;
	(void)snprintf(p->last, sizeof p->last, "%s%.*s", before, n, what.p ? what.p : "");
}

static struct str
message_name(const struct ev *e)
{
	struct str s = e->u.msg.method;

	if (s.p == NULL)
		s = e->u.msg.answers;
	if (s.p == NULL)
		return str_c(ev_msg_names[e->u.msg.kind]);
	if (str_pre(s, STR("notifications/")))
		s = str_of(s.p + 14, s.n - 14);
	return s;
}

void
pulses_event(struct pulses *ps, const struct ev *e)
{
	struct pulse *p;

	if (e->session == 0)
		return;
	p = at(ps, e->session);
	switch (e->type) {
	case EV_OWNER:
		on_owner(ps, p, e);
		return;
	case EV_STREAM:
		p->open++;
		see(p, e, "stream opens", STR(""));
		return;
	case EV_STREAM_END:
		if (e->u.stream_end.end == EV_OPEN)
			return;
		p->open -= p->open > 0;
		/* An answer that is complete is no news. */
		if (!e->u.stream_end.had_response)
			see(p, e, "stream ends", STR(""));
		return;
	case EV_REQUEST:
		/* The message in a POST says more. */
		if (!str_eq(e->u.req.method, STR("POST")))
			see(p, e, "", e->u.req.method);
		return;
	case EV_RESPONSE:
		if (e->u.resp.status < 300)
			return;
		see(p, e, "HTTP ", STR(""));
		(void)snprintf(p->last, sizeof p->last, "HTTP %u", e->u.resp.status);
		return;
	case EV_MESSAGE:
		if (e->u.msg.kind == EV_MSG_ERROR)
			see(p, e, "error: ", message_name(e));
		else
			see(p, e, e->dir == EV_C2S ? "> " : "< ", message_name(e));
		return;
	case EV_COMMENT:
		see(p, e, "keep-alive", STR(""));
		return;
	case EV_SESSION_END:
		see(p, e, "ended", STR(""));
		return;
	case EV_STALL:
		see(p, e, "stalled", STR(""));
		return;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END:
	case EV_RESPONSE_END: case EV_SESSION: case EV_SSE: case EV_GAP:
	case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END: case EV_N_TYPES:
		return;
	}
}

const char *
pulse_role_name(const struct pulse *p)
{
	return p->owner ? ev_role_names[p->role] : p->before ? "closed" : "none";
}
