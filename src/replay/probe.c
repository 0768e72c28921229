#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/esc.h"
#include "mcpdiag/xmem.h"
#include "probe_priv.h"

#define BYE NS_S		/* for the DELETE at the end of a scenario */
#define QUIET_MAX (2 * NS_S)	/* where the server is far or slow */
#define NO_SUCH_ID "mcpdiag-no-such-event"
#define NO_SUCH_SESSION "Mcp-Session-Id: 00000000-dead-4000-8000-6d6370646961"

/* ---- one scenario ---- */

static bool
emits(const struct act *a)
{
	return a->probe->o.emit_tool != NULL && !a->probe->tool_failed;
}

static struct str
cursor_of(const struct act *a, const struct step *st)
{
	const struct stream *s = &a->streams[st->of];

	switch (st->cursor) {
	case CUR_NONE:
		break;
	case CUR_FIRST:
		return buf_str(&s->first);
	case CUR_LAST:
		return buf_str(&s->last);
	case CUR_UNKNOWN:
		return STR(NO_SUCH_ID);
	}
	return STR_NONE;
}

static void
get(struct act *a, unsigned n, struct str cursor, unsigned flags)
{
	char *copy = xmemdup0(cursor.p ? cursor.p : "", cursor.n);

	ask(a, n, "GET", NULL, STR_NONE, str_of(copy, cursor.n), ASK_SESSION | flags);
	free(copy);
}

static void
initialize(struct act *a, unsigned n, unsigned flags)
{
	struct buf b;

	buf_init(&b, 1024);
	(void)buf_adds(&b, STR("\"protocolVersion\":\""));
	esc_json(&b, str_c(a->probe->o.protocol));
	(void)buf_adds(&b, STR("\",\"capabilities\":{},\"clientInfo\":{\"name\":\"mcpdiag-probe\","
	    "\"version\":\"" MCPDIAG_VERSION "\"}"));
	ask(a, n, "POST", "initialize", buf_str(&b), STR_NONE, flags);
	buf_fini(&b);
}

static bool
listening(const struct act *a)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (a->streams[i].is_stream && a->streams[i].req && i != CALL &&
		    i != HANDSHAKE && i != PROBE_P)
			return true;
	return false;
}

static void
emit(struct act *a)
{
	if (!emits(a) || a->seen.emitted >= 32)
		return;
	a->told = a->streams[PROBE_A].bytes;
	a->seen.missed += !listening(a);
	a->seen.emitted++;
	a->emitting = true;
	a->heard_now = false;
	ask_tool(a, CALL);
}

static void
listen_to(struct act *a, unsigned n)
{
	ask(a, n, "POST", "subscriptions/listen",
	    STR("\"notifications\":{\"toolsListChanged\":true}"), STR_NONE, ASK_MODERN);
}

static struct stream *
stream_at(struct act *a)
{
	const struct step *st = &a->script->steps[a->step];

	return &a->streams[st->op == OP_GETS ? st->stream + a->many : st->stream];
}

/* How long a step may take. */
static ns_t
limit(const struct act *a, enum op op)
{
	const struct probe_opts *o = &a->probe->o;

	switch (op) {
	case OP_END: case OP_DEAD: case OP_IF_REFUSED:
		return 0;
	case OP_NEED_ID: case OP_DROP: case OP_WAIT_END:
		return o->quiet;
	case OP_WAIT_RESPONSE:
		return 2 * o->quiet;
	case OP_IDLE:
		return o->idle;
	case OP_SESSION: case OP_GET: case OP_GETS: case OP_POST: case OP_POST_CUT:
	case OP_PING: case OP_DELETE: case OP_EMIT: case OP_DISCOVER:
	case OP_MODERN_GET: case OP_LISTEN: case OP_MISMATCH: case OP_SSE_ONLY:
	case OP_NARROW: case OP_FILL: case OP_READ: case OP_OTHER: case OP_OTHER_PING:
		break;
	}
	return o->answer;
}

/* Steps that are one request, always the same. */
static const struct plain {
	const char *method, *rpc_method;
	unsigned flags;
} plain[] = {
	[OP_POST] = { "POST", "tools/list", ASK_SESSION },
	[OP_POST_CUT] = { "POST", "tools/list", ASK_SESSION },
	[OP_PING] = { "POST", "ping", ASK_SESSION },
	[OP_DELETE] = { "DELETE", NULL, ASK_SESSION },
	[OP_DISCOVER] = { "POST", "server/discover", ASK_MODERN },
	[OP_MODERN_GET] = { "GET", NULL, ASK_MODERN },
	[OP_MISMATCH] = { "POST", "tools/list", ASK_MODERN | ASK_MISMATCH },
	[OP_SSE_ONLY] = { "GET", NULL, 0 },
	[OP_OTHER_PING] = { "POST", "ping", ASK_SESSION | ASK_OTHER },
};

static void
ask_plainly(struct act *a, const struct step *st)
{
	const struct plain *p = &plain[st->op];

	ask(a, st->stream, p->method, p->rpc_method, STR_NONE, STR_NONE, p->flags);
}

static void
begin(struct act *a)
{
	const struct step *st = &a->script->steps[a->step];
	const struct probe_server *v = &a->probe->server;

	a->late = a->settled = a->settling = false;
	loop_timer_set(a->timer, limit(a, st->op));
	switch (st->op) {
	case OP_SESSION:
		initialize(a, HANDSHAKE, 0);
		break;
	case OP_OTHER:
		initialize(a, st->stream, ASK_OTHER);
		break;
	case OP_OTHER_PING:
		if (a->other.n > 0)
			ask_plainly(a, st);
		break;
	case OP_GET:
		get(a, st->stream, cursor_of(a, st), 0);
		break;
	case OP_NARROW:
		get(a, st->stream, STR_NONE, ASK_NARROW);
		break;
	case OP_GETS:
		get(a, st->stream + a->many, STR_NONE, 0);
		break;
	case OP_FILL:
		slow_fill(a);
		break;
	case OP_READ:
		slow_read(a);
		break;
	case OP_POST: case OP_POST_CUT: case OP_PING: case OP_DELETE:
	case OP_DISCOVER: case OP_MODERN_GET: case OP_MISMATCH:
		ask_plainly(a, st);
		break;
	case OP_DROP:
		ask_drop(a, st->stream);
		break;
	case OP_EMIT:
		emit(a);
		break;
	case OP_DEAD:
		(void)buf_adds(&a->real, buf_str(&a->session));
		buf_clear(&a->session);
		(void)buf_adds(&a->session, STR(NO_SUCH_SESSION));
		break;
	case OP_LISTEN:
		listen_to(a, st->stream);
		break;
	case OP_SSE_ONLY:
		if (!v->legacy && !v->modern)
			ask_plainly(a, st);
		break;
	case OP_IDLE:
		/* Those at the opening keep nothing alive. */
		a->streams[st->stream].p.comments = 0;
		break;
	case OP_NEED_ID: case OP_WAIT_END: case OP_WAIT_RESPONSE:
	case OP_IF_REFUSED: case OP_END:
		break;
	}
}

/* The call is answered, and whoever hears of it has had the time to. */
static bool
emitted(struct act *a)
{
	const struct stream *call = &a->streams[CALL];

	if (!a->emitting)
		return true;
	if (!call->p.response && !call->over)
		return false;
	if (call->error || !call->p.response)
		return true;
	if (!a->settling || (a->heard_now && !a->heard_then)) {
		a->settling = true;
		a->heard_then = a->heard_now;
		loop_timer_set(a->settle, a->heard_now ? a->probe->o.quiet / 4 :
		    2 * a->probe->o.quiet);
	}
	return a->settled;
}

/* initialize is answered, and initialized. */
static bool
in_session(struct act *a)
{
	const struct stream *s = &a->streams[HANDSHAKE], *note = &a->streams[NOTE];

	if (note->p.asked >= 0)
		return note->p.head >= 0 || note->over;
	if (s->over && !s->p.response)
		return true;
	if (!s->p.response)
		return false;
	if (s->error)
		return true;
	ask(a, NOTE, "POST", "notifications/initialized", STR_NONE, STR_NONE, ASK_SESSION);
	return false;
}

static bool
met(struct act *a)
{
	const struct step *st = &a->script->steps[a->step];
	const struct stream *s = stream_at(a);

	switch (st->op) {
	case OP_SESSION:
		return in_session(a);
	case OP_GET: case OP_GETS: case OP_MODERN_GET: case OP_NARROW:
		return s->p.head >= 0 || s->over;
	case OP_DELETE:
		return s->p.head >= 0 || s->over;
	case OP_POST: case OP_PING: case OP_DISCOVER: case OP_LISTEN: case OP_MISMATCH:
	case OP_WAIT_RESPONSE: case OP_OTHER:
		return s->p.response || s->over;
	case OP_OTHER_PING:
		return s->p.response || s->over || s->p.asked < 0;
	case OP_POST_CUT:
		return s->p.response || s->over || s->first.n > 0;
	case OP_NEED_ID:
		return s->first.n > 0 || s->over;
	case OP_WAIT_END: case OP_IDLE:
		return s->over || s->req == NULL;
	case OP_SSE_ONLY:
		return s->p.asked < 0 || s->over || s->endpoint ||
		    (s->p.head >= 0 && !s->is_stream);
	case OP_EMIT:
		return emitted(a);
	case OP_FILL:
		return slow_filled(a);
	case OP_READ:
		return slow_drained(a);
	case OP_DEAD: case OP_IF_REFUSED: case OP_END:
		return true;
	case OP_DROP:
		break;
	}
	return false;
}

static void
text(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from);
}

/* What the handshake has shown; false: there is no session to go on with. */
static bool
learn(struct act *a)
{
	struct probe_server *v = &a->probe->server;
	const struct stream *s = &a->streams[HANDSHAKE];

	/* What is quiet depends on how long an answer takes. */
	if (s->p.head >= 0) {
		ns_t quiet = 4 * (s->p.head - s->p.asked);

		if (quiet > QUIET_MAX)
			quiet = QUIET_MAX;
		if (quiet > a->probe->o.quiet)
			a->probe->o.quiet = quiet;
	}
	v->status = s->p.status;
	v->end = s->p.how;
	v->retry_ms = s->p.retry_ms;
	v->session = a->session.n > 0;
	v->answered_sse = s->is_stream;
	v->primed = s->first.n > 0;
	text(v->type, sizeof v->type, s->type);
	text(v->location, sizeof v->location, s->location);
	text(v->why, sizeof v->why, s->over && s->p.status == 0 ? s->why : "");
	v->legacy = s->p.response && !s->error;
	v->reached |= s->p.response;
	return v->legacy;
}

/* A step is over; false: the rest of the script is of no use. */
static bool
conclude(struct act *a)
{
	const struct step *st = &a->script->steps[a->step];
	struct stream *s = stream_at(a);
	struct probe_server *v = &a->probe->server;

	switch (st->op) {
	case OP_SESSION:
		if (a->script->id == PROBE_HANDSHAKE)
			return learn(a) || v->status != 0;
		if (!a->streams[HANDSHAKE].p.response || a->streams[HANDSHAKE].error)
			a->seen.why = PROBE_NO_SESSION;
		return a->seen.why == PROBE_JUDGED;
	case OP_GET: case OP_MODERN_GET: case OP_NARROW:
		if (a->late)
			ask_drop(a, st->stream);
		return s->is_stream || st->stream != PROBE_A;
	case OP_GETS:
		if (!s->is_stream || ++a->many >= st->of)
			return true;
		begin(a);
		return true;
	case OP_NEED_ID:
		if (s->first.n == 0)
			a->seen.why = s->is_stream ? PROBE_NO_ID : PROBE_NO_STREAM;
		return s->first.n > 0;
	case OP_POST_CUT:
		ask_drop(a, st->stream);
		s->p.dropped = true;
		return true;
	case OP_IF_REFUSED:
		return !s->is_stream;
	case OP_EMIT:
		/* It is not asked again: each time might take as long. */
		if (a->emitting && (a->streams[CALL].error || !a->streams[CALL].p.response))
			a->probe->tool_failed = true;
		a->emitting = false;
		return a->script->id != PROBE_SLOW_READER || a->streams[PROBE_A].p.heard;
	case OP_DISCOVER:
		v->modern = s->p.response && !s->error && s->modern;
		v->reached |= v->modern;
		return true;
	case OP_SSE_ONLY:
		v->sse_only = s->endpoint;
		v->reached |= v->sse_only;
		return true;
	case OP_FILL:
		if (a->late)
			slow_stuck(a);
		return true;
	case OP_PING: case OP_OTHER: case OP_OTHER_PING:
		s->p.late = a->late;
		return true;
	case OP_POST: case OP_DELETE: case OP_DROP: case OP_WAIT_END:
	case OP_WAIT_RESPONSE: case OP_IDLE: case OP_DEAD: case OP_LISTEN:
	case OP_MISMATCH: case OP_END: case OP_READ:
		break;
	}
	return true;
}

static void
keep(struct act *a)
{
	struct probe_seen *seen = &a->seen;

	for (unsigned i = 0; i < STREAMS; i++)
		a->streams[i].p.answer = ask_answer(&a->streams[i]);
	for (unsigned i = 0; i < PROBE_SLOTS; i++)
		seen->s[i] = a->streams[i].p;
	if (a->script->id == PROBE_MANY_GETS) {
		unsigned last = MANY;

		while (last + 1 < STREAMS && a->streams[last + 1].p.asked >= 0)
			last++;
		seen->s[PROBE_B] = a->streams[MANY].p;
		seen->s[PROBE_C] = a->streams[last].p;
	}
	seen->took = loop_mono(a->probe->loop) - a->start;
	seen->tool = a->probe->tool_failed ? PROBE_TOOL_FAILED : a->own ? PROBE_OWN_STREAM :
	    a->probe->o.emit_tool == NULL ? PROBE_NO_MESSAGES : PROBE_JUDGED;
	a->probe->seen[a->script->id] = *seen;
}

static bool
left(const struct stream *s)
{
	return s->p.head >= 0 || s->over || s->req == NULL;
}

/* All streams are closed; the session, if there is one, is deleted. */
static void
leave(struct act *a)
{
	keep(a);
	a->closing = true;
	for (unsigned i = 0; i < STREAMS; i++)
		ask_drop(a, i);
	loop_timer_clear(a->settle);
	a->late = false;
	if (a->script->id == PROBE_DEAD_SESSION) {
		buf_clear(&a->session);
		(void)buf_adds(&a->session, buf_str(&a->real));
	}
	if (a->other.n > 0 && !a->probe->stopping)
		ask(a, PROBE_X, "DELETE", NULL, STR_NONE, STR_NONE, ASK_SESSION | ASK_OTHER);
	if (a->session.n > 0 && a->script->id != PROBE_DELETE && !a->probe->stopping) {
		ask(a, SPARE, "DELETE", NULL, STR_NONE, STR_NONE, ASK_SESSION);
		loop_timer_set(a->timer, BYE);
	} else {
		a->late = true;
	}
}

static void
act_free(struct act *a)
{
	if (a == NULL)
		return;
	ask_fini(a);
	client_free(a->client);
	loop_timer_free(a->timer);
	loop_timer_free(a->settle);
	loop_timer_free(a->look);
	free(a);
}

static void
over(struct act *a)
{
	struct probe *p = a->probe;
	enum probe_id id = a->script->id;

	act_free(a);
	p->act = NULL;
	if (p->each)
		p->each(p->arg, id);
	loop_timer_set(p->turn, 0);
}

static void
on_look(void *arg)
{
	struct act *a = arg;

	while (!a->closing && (a->late || met(a))) {
		unsigned at = a->step, many = a->many;
		bool more = conclude(a);

		if (a->many != many && a->many < a->script->steps[at].of)
			continue;
		a->step++;
		if (!more || a->step >= SCRIPT_STEPS ||
		    a->script->steps[a->step].op == OP_END)
			leave(a);
		else
			begin(a);
	}
	if (a->closing && (a->late || (left(&a->streams[SPARE]) && left(&a->streams[PROBE_X]))))
		over(a);
}

/* Not at once: the caller may be in the middle of a stream's bytes. */
void
act_look(struct act *a)
{
	loop_timer_set(a->look, 0);
}

static void
on_late(void *arg)
{
	struct act *a = arg;

	a->late = true;
	on_look(a);
}

static void
on_settle(void *arg)
{
	struct act *a = arg;

	a->settled = true;
	on_look(a);
}

static bool
act_new(struct probe *p, enum probe_id id)
{
	struct act *a = xcalloc(1, sizeof *a);
	struct errmsg em;

	a->probe = p;
	a->script = probe_script(id);
	a->client = client_new(p->loop, &p->o.client, &em);
	if (a->client == NULL) {
		free(a);
		return false;
	}
	a->timer = loop_timer_new(p->loop, on_late, a);
	a->settle = loop_timer_new(p->loop, on_settle, a);
	a->look = loop_timer_new(p->loop, on_look, a);
	a->start = loop_mono(p->loop);
	ask_init(a);
	p->act = a;
	begin(a);
	return true;
}

/* ---- all of them ---- */

/* Why a scenario is not tried at all. */
static enum probe_why
why_not(const struct probe *p, enum probe_id id)
{
	const struct probe_server *v = &p->server;

	if (!(p->o.only >> id & 1))
		return PROBE_NOT_CHOSEN;
	if (p->stopping)
		return PROBE_NOT_RUN;
	if (!v->reached)
		return PROBE_NO_SESSION;
	if (probe_script(id)->modern)
		return v->modern ? PROBE_JUDGED : PROBE_NOT_MODERN;
	if (!v->legacy)
		return PROBE_NOT_LEGACY;
	if (!v->session && (id == PROBE_DELETE || id == PROBE_DEAD_SESSION))
		return PROBE_STATELESS;
	if (id == PROBE_SLOW_READER && p->o.emit_tool == NULL)
		return PROBE_NO_MESSAGES;
	if (id == PROBE_SLOW_READER && p->tool_failed)
		return PROBE_TOOL_FAILED;
	return id == PROBE_IDLE && p->o.idle == 0 ? PROBE_NOT_ASKED_FOR : PROBE_JUDGED;
}

static void
on_turn(void *arg)
{
	struct probe *p = arg;

	while (p->next < PROBE_N) {
		enum probe_id id = p->next++;
		enum probe_why why = id == PROBE_HANDSHAKE ? PROBE_JUDGED : why_not(p, id);

		/* What the user waits for is not cut off by the rest. */
		if (id == PROBE_IDLE)
			loop_timer_set(p->total, p->o.total + p->o.idle);
		if (why == PROBE_JUDGED && act_new(p, id))
			return;
		p->seen[id] = (struct probe_seen){ .why = why };
	}
	if (!p->over) {
		p->over = true;
		loop_timer_clear(p->total);
		p->done(p->arg);
	}
}

void
probe_opts_init(struct probe_opts *o)
{
	*o = (struct probe_opts){ .protocol = "2025-11-25", .answer = 5 * NS_S,
		.quiet = 300 * NS_MS, .total = 60 * NS_S, .only = UINT64_MAX };
	client_opts_init(&o->client);
}

static void
on_total(void *arg)
{
	probe_stop(arg);
}

struct probe *
probe_new(struct loop *loop, const struct probe_opts *o,
    void (*each)(void *arg, enum probe_id), loop_fn *done, void *arg, struct errmsg *em)
{
	struct client *first = client_new(loop, &o->client, em);
	struct probe *p;

	if (first == NULL)
		return NULL;
	client_free(first);
	p = xcalloc(1, sizeof *p);
	p->loop = loop;
	p->o = *o;
	p->each = each;
	p->done = done;
	p->arg = arg;
	for (unsigned i = 0; i < PROBE_N; i++)
		p->seen[i].why = PROBE_NOT_RUN;
	p->turn = loop_timer_new(loop, on_turn, p);
	p->total = loop_timer_new(loop, on_total, p);
	return p;
}

void
probe_free(struct probe *p)
{
	if (p == NULL)
		return;
	act_free(p->act);
	loop_timer_free(p->turn);
	loop_timer_free(p->total);
	free(p);
}

void
probe_start(struct probe *p)
{
	loop_timer_set(p->total, p->o.total);
	loop_timer_set(p->turn, 0);
}

void
probe_stop(struct probe *p)
{
	struct act *a = p->act;

	if (p->stopping)
		return;
	p->stopping = true;
	if (a && !a->closing)
		a->seen.why = PROBE_NOT_RUN;
	if (a && !a->closing)
		leave(a);
	if (a)
		act_look(a);
}

const struct probe_server *
probe_server(const struct probe *p)
{
	return &p->server;
}

const struct probe_seen *
probe_seen(const struct probe *p, enum probe_id id)
{
	assert(id < PROBE_N);
	return &p->seen[id];
}
