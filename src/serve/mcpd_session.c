#include <stdlib.h>
#include <sys/random.h>

#include "mcpd_priv.h"
#include "mcpdiag/xmem.h"

#define LIST_CHANGED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"

static struct xchg *
find_stream(const struct session *s, uint32_t id)
{
	struct xchg *x;

	DL_FOREACH2(s->streams, x, snext)
		if (x->id == id)
			return x;
	return NULL;
}

static void
refuse_get(struct xchg *x, unsigned status, struct str text)
{
	struct mcpd *m = x->m;

	if (m->o.channel.policy != CHAN_SHADOW_PROMOTE) {
		reply_later(x, status, "text/plain", text);
		return;
	}
	buf_clear(&m->out);
	rpc_error(&m->out, STR("null"), -32000, text.p, STR_NONE);
	reply_later(x, status, "application/json", buf_str(&m->out));
}

/* What the channel wants done. */
static void
on_act(void *arg, const struct chan_act *a)
{
	struct session *s = arg;
	struct xchg *x = find_stream(s, a->stream);

	if (a->what == CHAN_ROLE) {
		log_role(s->m, a->stream, a->role, a->cause);
		return;
	}
	if (x == NULL)
		return;
	switch (a->what) {
	case CHAN_ACCEPT:
		log_stream(s->m, x->id, x->req);
		out_begin(x, false);
		break;
	case CHAN_REFUSE:
		refuse_get(x, a->status, a->data);
		break;
	case CHAN_SEND:
		out_event(x, STR_NONE, a->id, a->data, a->retry_ms);
		break;
	case CHAN_NOTE:
		out_comment(x, a->data);
		break;
	case CHAN_END:
		out_end(x);
		break;
	case CHAN_ROLE:
		break;
	}
}

static bool
is_alive(void *arg, uint32_t stream)
{
	const struct xchg *x = find_stream(arg, stream);

	return x && hreq_alive(x->req);
}

/* 128 random bits: not to be guessed, as the specification asks. */
static void
make_id(char id[SID_LEN + 1])
{
	unsigned char raw[SID_LEN / 2];

	if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
		abort();
	for (size_t i = 0; i < SID_LEN; i++)
		id[i] = "0123456789abcdef"[raw[i / 2] >> (i % 2 ? 0 : 4) & 15];
	id[SID_LEN] = '\0';
}

static void
on_session_timer(void *arg)
{
	session_end(arg);
}

static void
on_emitter(void *arg)
{
	struct session *s = arg;
	const struct mcpd_opts *o = &s->m->o;

	if (o->emissions == 0 || ++s->emitted < o->emissions)
		loop_timer_set(s->emitter, o->emit);
	session_emit(s, STR(LIST_CHANGED));
}

/* Room for one more: the longest idle session with nothing open goes.  What is
 * open counts as used now, so that it is not looked at again and again. */
static bool
make_room(struct mcpd *m)
{
	if (m->n_sessions < m->o.sessions)
		return true;
	for (uint32_t i = 0; i < m->n_sessions; i++) {
		struct session *s = m->by_use;

		if (s->streams == NULL && s->jobs == NULL) {
			session_end(s);
			return true;
		}
		DL_DELETE(m->by_use, s);
		DL_APPEND(m->by_use, s);
	}
	return false;
}

struct session *
session_new(struct mcpd *m, enum rev rev, bool legacy)
{
	struct chan_opts o = m->o.channel;
	struct session *s;

	if (!make_room(m))
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->m = m;
	s->rev = rev;
	s->legacy = legacy;
	make_id(s->id);
	/* An event of empty data is for clients that know it. */
	o.prime = rev >= REV_2025_11;
	o.alive = is_alive;
	if (!legacy)
		s->ch = chan_new(&o, on_act, s);
	HASH_ADD_STR(m->table, id, s);
	DL_APPEND(m->by_use, s);
	m->n_sessions++;
	s->born = loop_mono(m->loop);
	if (has_fault(m, FAULT_PING_KILL))
		s->timer = loop_timer_new(m->loop, ping_due, s);
	else if (has_fault(m, FAULT_FORGET) || has_fault(m, FAULT_SESSION_IDLE)) {
		s->timer = loop_timer_new(m->loop, on_session_timer, s);
		loop_timer_set(s->timer, has_fault(m, FAULT_FORGET) ?
		    fault_time(&m->o.faults, FAULT_FORGET) :
		    fault_time(&m->o.faults, FAULT_SESSION_IDLE));
	}
	if (m->o.emit > 0) {
		s->emitter = loop_timer_new(m->loop, on_emitter, s);
		loop_timer_set(s->emitter, m->o.emit);
	}
	return s;
}

struct session *
session_find(struct mcpd *m, struct str id)
{
	struct session *s = NULL;

	if (id.n == SID_LEN)
		HASH_FIND(hh, m->table, id.p, SID_LEN, s);
	return s;
}

void
session_touch(struct session *s)
{
	struct mcpd *m = s->m;

	DL_DELETE(m->by_use, s);
	DL_APPEND(m->by_use, s);
	if (has_fault(m, FAULT_SESSION_IDLE) && !has_fault(m, FAULT_PING_KILL))
		loop_timer_set(s->timer, fault_time(&m->o.faults, FAULT_SESSION_IDLE));
}

/* Its streams: ended, or, with that fault, forgotten. */
static void
end_streams(struct session *s)
{
	struct xchg *x, *next;

	if (s->ch && !has_fault(s->m, FAULT_AFTER_DELETE))
		chan_end(s->ch);
	out_release(s->m);
	if (s->legacy_stream)
		out_end(s->legacy_stream);
	DL_FOREACH_SAFE2(s->streams, x, next, snext) {
		if (!x->open) {
			reply_later(x, 404, NULL, STR(""));
			continue;
		}
		DL_DELETE2(s->streams, x, sprev, snext);
		x->s = NULL;
	}
}

void
session_end(struct session *s)
{
	struct mcpd *m = s->m;

	while (s->jobs)
		job_free(s->jobs);
	end_streams(s);
	chan_free(s->ch);
	loop_timer_free(s->timer);
	loop_timer_free(s->emitter);
	while (s->n_subs > 0)
		free(s->subscriptions[--s->n_subs]);
	free(s->subscriptions);
	HASH_DEL(m->table, s);
	DL_DELETE(m->by_use, s);
	if (s->untold > 0)
		DL_DELETE2(m->untold, s, uprev, unext);
	m->n_sessions--;
	free(s);
}

void
session_emit(struct session *s, struct str msg)
{
	if (s->legacy)
		legacy_send(s, msg);
	else
		chan_emit(s->ch, msg);
}

void
sessions_tell(void *arg)
{
	struct mcpd *m = arg;
	struct session *s;

	for (int i = 0; i < EMIT_BATCH && (s = m->untold) != NULL; i++) {
		DL_DELETE2(m->untold, s, uprev, unext);
		if (--s->untold > 0)
			DL_APPEND2(m->untold, s, uprev, unext);
		session_emit(s, STR(LIST_CHANGED));
	}
	if (m->untold)
		loop_timer_set(m->tell, 0);
}

void
sessions_emit(struct mcpd *m)
{
	bool waiting = m->untold != NULL;
	struct session *s;

	DL_FOREACH(m->by_use, s)
		if (s->untold++ == 0)
			DL_APPEND2(m->untold, s, uprev, unext);
	if (!waiting)
		sessions_tell(m);
}

static uint32_t
subscription(const struct session *s, struct str uri)
{
	uint32_t i = 0;

	while (i < s->n_subs && !str_eq(str_c(s->subscriptions[i]), uri))
		i++;
	return i;
}

bool
session_subscribed(const struct session *s, struct str uri)
{
	return subscription(s, uri) < s->n_subs;
}

bool
session_subscribe(struct session *s, struct str uri, bool on)
{
	uint32_t i = subscription(s, uri);

	if (!on && i < s->n_subs) {
		free(s->subscriptions[i]);
		s->subscriptions[i] = s->subscriptions[--s->n_subs];
	}
	if (!on || i < s->n_subs)
		return true;
	if (s->n_subs >= MAX_SUBSCRIPTIONS)
		return false;
	s->subscriptions = xgrow(s->subscriptions, s->n_subs, &s->cap_subs,
	    sizeof *s->subscriptions);
	s->subscriptions[s->n_subs++] = xmemdup0(uri.p, uri.n);
	return true;
}

/* 2026-07-28: who leaves cancels.  The last job takes the answer with it. */
static void
cancel_jobs(struct mcpd *m, const struct answer *a)
{
	struct job *j, *next;

	DL_FOREACH_SAFE(m->jobs, j, next)
		if (j->a == a)
			job_free(j);
}

void
xchg_gone(struct xchg *x, enum http_gone why)
{
	struct session *s = x->s;
	struct mcpd *m = x->m;
	struct listen *l, *next;
	ns_t stale = fault_time(&m->o.faults, FAULT_STALE_SLOT);
	bool legacy = s && s->legacy_stream == x, get;
	uint32_t unsent = out_unsent(x);
	uint32_t id = x->id;
	struct answer *a = x->answer;

	log_end(m, x->req, why == HTTP_GONE_SLOW || why == HTTP_GONE_SHUTDOWN ?
	    EV_TRUNCATED : EV_CLIENT);
	if (s && s->slot_taken && a == NULL)
		s->slot_free = stale > 0 ? loop_mono(m->loop) + stale : INT64_MAX;
	if (a && a->how != ANSWER_CHANNEL)
		a->how = ANSWER_LOST;
	DL_FOREACH_SAFE(m->listens, l, next)
		if (l->a == a)
			listen_free(l);
	get = x->get;
	xchg_free(x);
	if (a && s == NULL)
		cancel_jobs(m, a);
	if (s && s->ch)
		chan_closed(s->ch, id, unsent);
	if (legacy)
		session_end(s);
	/* Not before the close is on record. */
	if (get && (has_fault(m, FAULT_HOLD) || has_fault(m, FAULT_WEDGE)))
		loop_timer_set(m->tick, 0);
}
