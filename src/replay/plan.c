#include "mcpdiag/plan.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "plan_priv.h"

struct plan *
plan_new(void)
{
	return xcalloc(1, sizeof(struct plan));
}

static void
free_table(struct by_number **t)
{
	struct by_number *b, *tmp;

	HASH_ITER(hh, *t, b, tmp) {
		HASH_DEL(*t, b);
		free(b);
	}
}

void
plan_free(struct plan *p)
{
	struct plan_session *s, *tmp;

	if (p == NULL)
		return;
	for (uint32_t i = 0; i < p->n; i++) {
		free(p->xs[i]->msgs);
		free(p->xs[i]->answers);
		free(p->xs[i]->events);
		free(p->xs[i]);
	}
	free(p->xs);
	free_table(&p->by_x);
	free_table(&p->by_stream);
	HASH_ITER(hh, p->sessions, s, tmp) {
		HASH_DEL(p->sessions, s);
		free(s->before);
		free(s->running);
		free(s);
	}
	keep_fini(&p->kept);
	for (uint32_t i = 0; i < p->n_allowed; i++)
		free(p->allowed[i]);
	free(p->allowed);
	for (uint32_t i = 0; i < p->n_renamed; i++) {
		free(p->renamed[i].from);
		free(p->renamed[i].to);
	}
	free(p->renamed);
	free(p);
}

struct str
plan_keep(struct plan *p, struct str s)
{
	return keep_str(&p->kept, s);
}

struct plan_x *
plan_add(struct plan *p)
{
	struct plan_x *x = xcalloc(1, sizeof *x);

	p->xs = xgrow(p->xs, p->n, &p->cap, sizeof *p->xs);
	p->xs[p->n++] = x;
	x->leave = x->head_at = x->end_at = -1;
	x->end = EV_OPEN;
	return x;
}

static void
enter(struct by_number **t, uint32_t key, struct plan_x *x)
{
	struct by_number *b = xcalloc(1, sizeof *b);

	b->key = key;
	b->x = x;
	HASH_ADD(hh, *t, key, sizeof b->key, b);
}

static struct plan_x *
look_up(struct by_number *t, uint32_t key)
{
	struct by_number *b;

	HASH_FIND(hh, t, &key, sizeof key, b);
	return b ? b->x : NULL;
}

struct plan_x *
plan_of_stream(const struct plan *p, uint32_t stream)
{
	return look_up(p->by_stream, stream);
}

struct plan_session *
plan_session(struct plan *p, uint32_t n)
{
	struct plan_session *s;

	HASH_FIND(hh, p->sessions, &n, sizeof n, s);
	if (s == NULL) {
		s = xcalloc(1, sizeof *s);
		s->n = n;
		HASH_ADD(hh, p->sessions, n, sizeof s->n, s);
	}
	return s;
}

/* ---- events ---- */

static enum plan_kind
kind_of(struct str method)
{
	return str_eq(method, STR("POST")) ? PLAN_POST :
	    str_eq(method, STR("GET")) ? PLAN_GET :
	    str_eq(method, STR("DELETE")) ? PLAN_DELETE : PLAN_OTHER;
}

/* A page of the server's own: scheme://host[:port], RFC 6454 6.2, with the host
 * that was asked.  The scheme may be another one, before a proxy. */
static bool
is_own(struct str origin, struct str host)
{
	static const struct str schemes[] = { { "http://", 7 }, { "https://", 8 } };

	for (int i = 0; i < 2; i++) {
		size_t n = schemes[i].n;

		if (host.n > 0 && str_ipre(origin, schemes[i]) &&
		    str_ieq(str_of(origin.p + n, origin.n - n), host))
			return true;
	}
	return false;
}

static void
on_request(struct plan *p, const struct ev *e, struct str text)
{
	struct plan_x *x;

	if (p->n >= PLAN_MAX) {
		p->left_out++;
		return;
	}
	if (look_up(p->by_x, e->x))
		return;
	x = plan_add(p);
	enter(&p->by_x, e->x, x);
	x->x = e->x;
	x->conn = e->conn;
	x->xn = e->u.req.n;
	x->pkt = e->pkt;
	x->at = e->t - p->zero;
	x->kind = kind_of(e->u.req.method);
	x->skip = e->flags & EVF_HEAD_LOST ? PLAN_NO_HEAD : PLAN_PLAYED;
	x->method = plan_keep(p, e->u.req.method);
	x->target = plan_keep(p, e->u.req.target);
	x->accept = plan_keep(p, e->u.req.accept);
	x->content_type = plan_keep(p, e->u.req.content_type);
	x->version = plan_keep(p, e->u.req.version);
	x->agent = plan_keep(p, e->u.req.agent);
	x->origin = plan_keep(p, e->u.req.origin);
	x->own_origin = is_own(x->origin, e->u.req.host);
	x->cursor = plan_keep(p, e->u.req.cursor);
	x->has_sid = e->u.req.sid.p != NULL;
	x->head = text;
}

static void
on_message(struct plan *p, struct plan_x *x, const struct ev *e, struct str text,
    bool too_long)
{
	struct plan_msg m = { .kind = e->u.msg.kind, .hash = e->u.msg.hash,
		.text = text, .too_long = too_long, .t = e->t - p->zero };

	m.method = plan_keep(p, e->u.msg.method);
	m.id = e->flags & EVF_CUT ? STR_NONE : plan_keep(p, e->u.msg.id);
	m.name = plan_keep(p, e->u.msg.name);
	if (e->dir == EV_C2S) {
		x->msgs = xgrow(x->msgs, x->n_msgs, &x->cap_msgs, sizeof m);
		x->msgs[x->n_msgs++] = m;
		x->batch |= e->u.msg.batch;
		x->initialize |= str_eq(m.method, STR("initialize"));
	} else if (x->n_answers < PLAN_EVENTS) {
		x->answers = xgrow(x->answers, x->n_answers, &x->cap_answers, sizeof m);
		x->answers[x->n_answers++] = m;
	} else {
		p->left_out++;
	}
}

static void
on_response(struct plan *p, struct plan_x *x, const struct ev *e)
{
	x->status = e->u.resp.status;
	x->response_type = plan_keep(p, e->u.resp.content_type);
	x->is_stream = e->u.resp.event_stream;
	x->gave_sid = e->u.resp.sid.p != NULL;
	x->head_at = e->t - p->zero;
}

static void
on_end(struct plan *p, struct plan_x *x, const struct ev *e)
{
	x->end = e->u.end.end;
	x->end_at = e->t - p->zero;
	if (x->end == EV_CLIENT)
		x->leave = x->end_at;
}

static void
on_stream(struct plan *p, struct plan_x *x, const struct ev *e)
{
	if (look_up(p->by_stream, e->stream) == NULL)
		enter(&p->by_stream, e->stream, x);
	x->stream = e->stream;
	x->stream_kind = e->u.stream.kind;
	x->lineage = e->u.stream.lineage;
	x->previous = e->u.stream.previous;
	x->resumes = e->u.stream.resumes;
	x->is_stream = true;
	x->legacy = x->stream_kind == EV_LEGACY;
}

static void
on_sse(struct plan *p, struct plan_x *x, const struct ev *e)
{
	struct plan_sse s = { .hash = e->u.sse.hash, .t = e->t - p->zero };

	if (e->u.sse.id.p == NULL)
		return;
	if (x->n_events >= PLAN_EVENTS) {
		p->left_out++;
		return;
	}
	s.id = plan_keep(p, e->u.sse.id);
	x->events = xgrow(x->events, x->n_events, &x->cap_events, sizeof s);
	x->events[x->n_events++] = s;
}

/* The latest event of a session says most. */
static void
on_session(struct plan *p, const struct ev *e)
{
	struct plan_session *s = plan_session(p, e->session);
	struct {
		struct str *to, from;
	} fields[] = {
		{ &s->key, e->u.session.key }, { &s->program, e->u.session.client },
		{ &s->server, e->u.session.server },
		{ &s->revision, e->u.session.revision },
		{ &s->endpoint, e->u.session.endpoint },
	};

	s->transport = e->u.session.transport;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (fields[i].from.p && !str_eq(*fields[i].to, fields[i].from))
			*fields[i].to = plan_keep(p, fields[i].from);
}

void
plan_text(struct plan *p, struct str text, bool cut)
{
	p->next_text = STR_NONE;
	p->next_long = cut || text.n > PLAN_TEXT - p->text;
	if (p->next_long) {
		p->left_out += !cut;
		return;
	}
	p->next_text = plan_keep(p, text);
	p->text += text.n;
}

static void
of_exchange(struct plan *p, struct plan_x *x, const struct ev *e, struct str text,
    bool too_long)
{
	switch ((int)e->type) {
	case EV_RESPONSE:
		on_response(p, x, e);
		break;
	case EV_RESPONSE_END:
		on_end(p, x, e);
		break;
	case EV_STREAM:
		on_stream(p, x, e);
		break;
	case EV_SSE:
		on_sse(p, x, e);
		break;
	case EV_MESSAGE:
		on_message(p, x, e, text, too_long);
		break;
	case EV_REQUEST_END:
		/* Half a body is none. */
		if (e->u.end.end != EV_COMPLETE && x->kind == PLAN_POST &&
		    x->skip == PLAN_PLAYED)
			x->skip = PLAN_NO_BODY;
		break;
	}
	if (e->session)
		x->session = e->session;
}

void
plan_event(void *arg, const struct ev *e)
{
	struct plan *p = arg;
	struct str text;
	struct plan_x *x;
	bool too_long;

	if (e->type == EV_FINDING || e->type == EV_FILE || e->type == EV_NOTE)
		return;
	text = p->next_text;
	too_long = p->next_long;
	p->next_text = STR_NONE;
	p->next_long = false;
	if (!p->begun && e->pkt) {
		p->begun = true;
		p->zero = p->last = e->t;
	}
	if (e->pkt && e->t > p->last)
		p->last = e->t;
	if (e->type == EV_SESSION)
		on_session(p, e);
	else if (e->type == EV_REQUEST)
		on_request(p, e, text);
	else if (e->x && (x = look_up(p->by_x, e->x)) != NULL)
		of_exchange(p, x, e, text, too_long);
}

/* ---- the rest ---- */

const struct plan_x *
plan_x(const struct plan *p, uint32_t n)
{
	return n >= 1 && n <= p->n ? p->xs[n - 1] : NULL;
}

uint32_t
plan_count(const struct plan *p)
{
	return p->n;
}

uint32_t
plan_clients(const struct plan *p)
{
	return p->n_clients;
}

ns_t
plan_duration(const struct plan *p)
{
	return p->last - p->zero;
}

uint64_t
plan_left_out(const struct plan *p)
{
	return p->left_out;
}

const char *
plan_skip_text(enum plan_skip s)
{
	static const char *const texts[PLAN_N_SKIPS] = {
		[PLAN_PLAYED] = "is played",
		[PLAN_NOT_CHOSEN] = "the filter leaves it out",
		[PLAN_NO_MCP] = "is no request of MCP",
		[PLAN_SIDE_EFFECTS] = "may have side effects",
		[PLAN_NO_BODY] = "its body is not known",
		[PLAN_LONG_BODY] = "its body is over 16 MiB, or all texts together over 64 MiB",
		[PLAN_NO_HEAD] = "its head was not captured",
		[PLAN_NO_STREAM] = "the stream that names its endpoint was not captured",
		[PLAN_NO_GIVER] = "the stream that gave its Last-Event-ID is not played",
		[PLAN_NO_QUESTION] = "the request that it answers was not captured",
	};

	return texts[s];
}
