/* lost-response: a request that was accepted and whose response never comes on
 * any stream of its session.  DETECTORS "lost-response".
 *
 * Nothing is said of a request whose response may be in what the capture does
 * not show, whose client cancelled it or went away for good, or that may still
 * be answered. */
#include "rule_lost_priv.h"

#include <stdlib.h>

#define TELL_LATE (60 * NS_S)	/* live: no client comes back after that */
#define TICK (5 * NS_S)
#define MAX_DELAY 60000		/* ms: whoever takes longer is somebody else */
#define COUPLED (60 * NS_MS)	/* an end this soon after a GET is a takeover */
#define ABORT (2 * NS_S)	/* a cancellation this soon after the client left */

ns_t
lost_patience(const struct lost *s)
{
	int64_t d = s->retry_ms > 1000 ? s->retry_ms : 1000;

	d = s->delay_ms > d && s->delay_ms < MAX_DELAY ? s->delay_ms : d;
	d = d < MAX_DELAY ? d : MAX_DELAY;
	return 2 * d * NS_MS;
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct lostrule *r = xcalloc(1, sizeof *r);

	r->engine = e;
	asking_init(&r->all, e, lim, sizeof(struct lost), sizeof(struct ans));
	idtab_init(&r->fins, (uint32_t)lim->ids * 4);
	return r;
}

static void
free_rule(void *arg)
{
	struct lostrule *r = arg;

	asking_fini(&r->all);
	idtab_fini(&r->fins);
	free(r);
}

/* ---- is it lost? ---- */

/* Bytes missing while it waited: on its own connection the response may be
 * among them (2), elsewhere a resumption (1). */
static unsigned
gaps_of(const struct lostrule *r, const struct lost *s, const struct ask *k)
{
	uint64_t max = sizeof r->gaps / sizeof r->gaps[0];
	unsigned worst = 0;

	for (uint64_t i = 0; i < r->n_gaps && i < max; i++) {
		if (r->gaps[i].t < k->asked.t || (k->ended.t &&
		    r->gaps[i].t - k->ended.t > lost_patience(s)))
			continue;
		if (r->gaps[i].conn == k->conn || s->legacy)
			return 2;
		worst = 1;
	}
	/* Forgotten ones may have been anywhere. */
	return r->n_gaps > max && r->gaps[r->n_gaps % max].t > k->asked.t ? 2 : worst;
}

static bool
unreadable(const struct ask *k)
{
	const struct ans *a = ans_of(k);

	return a->torn || a->data > a->messages ||
	    k->flags & (EVF_UNDECODED | EVF_CUT | EVF_HEAD_LOST);
}

/* Resumed by a stream that does not belong to it. */
static bool
astray(const struct ask *k)
{
	const struct ans *a = ans_of(k);

	return a->resumes && (a->givers > 1 || a->common || a->took_over);
}

/* Resumed, and the stream is still open. */
static bool
resumed_in_vain(const struct lost *s, const struct ask *k, ns_t now)
{
	const struct ans *a = ans_of(k);
	bool wrong = astray(k);
	ns_t since = a->last_byte > a->resumed_at.t && !wrong ? a->last_byte :
	    a->resumed_at.t;

	return now - since >= (wrong ? lost_patience(s) : SILENCE);
}

static bool
is_lost(const struct lost *s, const struct ask *k, ns_t now, bool final)
{
	const struct ans *a = ans_of(k);
	ns_t last = a->last_byte > k->head.t ? a->last_byte : k->head.t;

	if (k->answered || k->head.t == 0 || unreadable(k))
		return false;
	if (a->resumed_open)
		return final && resumed_in_vain(s, k, now);
	if (k->ended.t == 0 || k->end == EV_OPEN || k->end == EV_LOST)
		return final && !s->over && s->asked == 0 && now - last >= SILENCE;
	if (a->body == BODY_EMPTY)
		return final && now - k->ended.t >= SILENCE;
	if (k->collided)		/* the other one got the response */
		return final || now - k->ended.t >= TELL_LATE;
	/* A client that leaves and does nothing any more has gone home. */
	if (k->end == EV_CLIENT && a->active == 0 &&
	    !(astray(k) && k->ended.t - a->resumed_at.t >= lost_patience(s)))
		return false;
	if (final && (s->over || now - k->ended.t >= lost_patience(s)))
		return true;
	return now - k->ended.t >= TELL_LATE + lost_patience(s);
}

/* Of HTTP+SSE, where a 202 is all that a POST gets, the stream may have been
 * missed. */
static bool
streamable(const struct lostrule *r, const struct lost *s)
{
	return engine_complete(r->engine, s->asks.of.session) &&
	    !engine_inferred(r->engine, s->asks.of.session);
}

static void
judge(struct lostrule *r, struct lost *s, ns_t now, bool final)
{
	for (uint32_t i = 0; i < s->asks.n; i++) {
		struct ask *k = &s->asks.v[i];
		unsigned gap;

		if (!is_lost(s, k, now, final) ||
		    (ans_of(k)->body == BODY_EMPTY && !streamable(r, s)))
			continue;
		gap = gaps_of(r, s, k);
		if (gap < 2)
			lost_say(r, s, k, gap == 1, now);
		k->answered = true;	/* told of, or never to be */
	}
}

/* ---- events ---- */

static struct lost *
find(struct lostrule *r, uint32_t session)
{
	return (struct lost *)asking_find(&r->all, session);
}

/* When it ended, or its client closed the connection; 0: it goes on. */
static ns_t
gone(const struct ask *k)
{
	return k->ended.t && k->end != EV_OPEN ? k->ended.t : ans_of(k)->left;
}

static void
cancel(struct lost *s, const struct ev *e)
{
	uint64_t id = map_digest(e->u.msg.cancels.p, e->u.msg.cancels.n);

	for (uint32_t i = s->asks.n; i-- > 0;) {
		struct ask *k = &s->asks.v[i];
		bool going = gone(k) == 0 ||
		    ((k->ended.t == 0 || k->end == EV_CLIENT) && e->t - gone(k) <= ABORT);

		/* Resumed, it goes on, too. */
		if (k->id == id && (going || ans_of(k)->resumed_open))
			asks_remove(&s->asks, k);
	}
}

static void
on_client_message(struct lostrule *r, const struct ev *e)
{
	struct lost *s = find(r, e->session);

	if (e->u.msg.kind == EV_MSG_REQUEST) {
		if (!asks_waits_long(e->u.msg.method))
			(void)asking_message(&r->all, e);
		return;
	}
	if (s == NULL)
		return;
	if (e->u.msg.kind == EV_MSG_NOTIFICATION && e->u.msg.cancels.p)
		cancel(s, e);
	else if (e->u.msg.kind != EV_MSG_NOTIFICATION && s->asked)
		s->asked--;
}

/* An earlier exchange with the same request has had its answer after all. */
static void
forget_retried(struct lost *s, uint64_t id, uint64_t method, ns_t asked)
{
	for (uint32_t i = s->asks.n; i-- > 0;) {
		struct ask *k = &s->asks.v[i];

		if (k->id == id && k->method == method && !k->answered &&
		    k->ended.t && k->ended.t <= asked)
			asks_remove(&s->asks, k);
	}
}

static void
on_answer(struct lost *s, const struct ev *e)
{
	struct ask *k = asks_answered_by(&s->asks, e);
	uint64_t id, method;
	ns_t asked;

	if (k == NULL) {
		k = asks_own(&s->asks, e->x, id_of(s->asks.in->ids));
		for (uint32_t i = 0; i < s->asks.n && k == NULL; i++)
			if (s->asks.v[i].x == e->x && !e->u.msg.sse)
				ans_of(&s->asks.v[i])->body = BODY_RESPONSE;
		return;
	}
	if (e->flags & EVF_LATE && !ans_of(k)->half) {
		ans_of(k)->late = (struct at){ e->t, e->pkt };
		return;
	}
	id = k->id;
	method = k->method;
	asked = k->asked.t;
	k->answered = true;
	if (k->ended.t || s->legacy)
		asks_remove(&s->asks, k);
	forget_retried(s, id, method, asked);
}

static void
on_server_message(struct lost *s, const struct ev *e)
{
	bool request = e->u.msg.kind == EV_MSG_REQUEST;

	for (uint32_t i = 0; i < s->asks.n; i++) {
		struct ask *k = &s->asks.v[i];
		struct ans *a = ans_of(k);

		if (k->x == e->x) {
			a->messages++;
			if (!e->u.msg.sse && a->body == BODY_NONE && e->u.msg.method.p)
				a->body = request ? BODY_REQUEST : BODY_NOTIFICATION;
		}
		if (a->resumed == e->stream && e->stream &&
		    e->u.msg.channel == EV_CH_COMMON)
			a->common = true;
	}
	if (e->u.msg.kind == EV_MSG_RESPONSE || e->u.msg.kind == EV_MSG_ERROR)
		on_answer(s, e);
	else if (request && !str_eq(e->u.msg.method, STR("ping")))
		s->asked++;
}

static void
keep_id(char *to, size_t size, struct str id)
{
	size_t n = id.n < size ? id.n : size - 1;

	if (n)
		memcpy(to, id.p, n);
	to[n] = '\0';
}

/* Messages come in events that have no name, or this one. */
static bool
carries(struct str name)
{
	return name.n == 0 || str_eq(name, STR("message"));
}

static void
on_sse(struct lost *s, const struct ev *e)
{
	if (e->u.sse.retry_ms >= 0)
		s->retry_ms = e->u.sse.retry_ms;
	for (uint32_t i = 0; i < s->asks.n; i++) {
		struct ask *k = &s->asks.v[i];
		struct ans *a = ans_of(k);

		if (k->x != e->x && (e->stream == 0 || a->resumed != e->stream))
			continue;
		a->torn |= (e->flags & (EVF_GAP | EVF_CUT | EVF_UNDECODED)) != 0 &&
		    e->u.sse.data;
		a->torn |= e->u.sse.tail;	/* part of it came */
		if (k->x == e->x && e->u.sse.dispatched && e->u.sse.data && carries(e->u.sse.name))
			a->data++;
		if (e->u.sse.id.p == NULL || e->u.sse.tail)
			continue;
		a->cursor = e->u.sse.id.n ? map_digest(e->u.sse.id.p, e->u.sse.id.n) : 0;
		keep_id(a->cursor_text, sizeof a->cursor_text, e->u.sse.id);
	}
}

static void
on_stream(struct lost *s, const struct ev *e)
{
	struct str sent = e->u.stream.cursor;
	uint64_t cursor = sent.n ? map_digest(sent.p, sent.n) : 0;

	if (e->u.stream.kind == EV_LEGACY)
		s->legacy = true;
	if (e->u.stream.delay_ms > 0)
		s->delay_ms = e->u.stream.delay_ms;
	for (uint32_t i = 0; i < s->asks.n; i++) {
		struct ask *k = &s->asks.v[i];
		struct ans *a = ans_of(k);

		if (k->x == e->x)
			k->stream = e->stream;
		if (!is_listener(e) || cursor == 0 || k->answered ||
		    (cursor != a->cursor && (e->u.stream.resumes == 0 ||
		    (e->u.stream.resumes != k->stream &&
		    e->u.stream.resumes != a->resumed))))
			continue;
		a->resumed = e->stream;
		a->resumed_at = (struct at){ e->t, e->pkt };
		a->resumed_open = true;
		a->resumes++;
		a->givers = e->u.stream.givers;
		keep_id(a->sent, sizeof a->sent, sent);
	}
}

static void
on_stream_end(struct lost *s, const struct ev *e, bool legacy)
{
	bool server = e->u.stream_end.end == EV_COMPLETE ||
	    e->u.stream_end.end == EV_TRUNCATED;

	for (uint32_t i = 0; i < s->asks.n; i++) {
		struct ask *k = &s->asks.v[i];
		struct ans *a = ans_of(k);

		if (k->x == e->x || a->resumed == e->stream || s->legacy)
			a->last_byte = e->u.stream_end.last_byte;
		if (a->resumed == e->stream && e->stream) {
			a->resumed_open = e->u.stream_end.end == EV_OPEN;
			k->ended = (struct at){ e->t, e->pkt };
			if (!a->resumed_open) {
				k->end = e->u.stream_end.end;
				a->active = 0;
			}
		} else if (a->resumed_open && server && k->x != e->x &&
		    e->t - a->resumed_at.t <= COUPLED && e->t >= a->resumed_at.t) {
			a->took_over = true;
		}
		if (legacy) {
			k->ended = (struct at){ e->t, e->pkt };
			k->end = e->u.stream_end.end;
		}
	}
}

static void
on_response_end(struct lost *s, const struct ev *e)
{
	struct ask *k;

	/* There the 202 only means that the answer will come elsewhere. */
	for (uint32_t i = 0; i < s->asks.n && s->legacy; i++)
		if (s->asks.v[i].x == e->x && !s->asks.v[i].answered)
			return;
	for (uint32_t i = 0; i < s->asks.n; i++) {
		struct ans *a = ans_of(k = &s->asks.v[i]);

		if (k->x != e->x || !k->json)
			continue;
		if (e->u.end.bytes == 0)
			a->body = BODY_EMPTY;
		else if (a->messages == 0 && e->u.end.end == EV_COMPLETE)
			a->torn = true;	/* not JSON-RPC: who says that? */
	}
	asking_response_end(&s->asks, e);
}

static void
on_request(struct lost *s, const struct ev *e)
{
	bool del = str_eq(e->u.req.method, STR("DELETE"));
	bool get = str_eq(e->u.req.method, STR("GET"));

	for (uint32_t i = s->asks.n; i-- > 0;) {
		struct ask *k = &s->asks.v[i];

		bool going = gone(k) == 0 ||
		    (ans_of(k)->resumed_open && !resumed_in_vain(s, k, e->t));

		if (!del && gone(k))
			ans_of(k)->active++;
		else if (del && going && !k->collided)	/* it is wanted no more */
			asks_remove(&s->asks, k);
	}
	if (!get || e->u.req.cursor.n == 0)
		return;
	s->get_x = e->x;
	s->get_cursor = map_digest(e->u.req.cursor.p, e->u.req.cursor.n);
}

static void
on_response(struct lostrule *r, const struct ev *e)
{
	bool fin = idtab_get(&r->fins, e->conn) != NULL;
	struct lost *s;

	asking_response(&r->all, e);
	if ((s = find(r, e->session)) == NULL)
		return;
	for (uint32_t i = 0; i < s->asks.n; i++) {
		struct ask *k = &s->asks.v[i];
		struct ans *a = ans_of(k);

		if (k->x == e->x)
			a->half = fin;
		else if (k->ended.t && e->u.resp.status / 100 == 2 && e->x != s->get_x)
			a->others_ok++;
		if (e->x == s->get_x && e->u.resp.status / 100 != 2 &&
		    a->cursor == s->get_cursor && a->cursor)
			a->refused = e->u.resp.status;
	}
}

static void
on_client_close(struct lost *s, const struct ev *e)
{
	struct str how = e->u.conn_end.how;

	if (!str_eq(how, STR("fin")) && !str_eq(how, STR("rst")))
		return;
	for (uint32_t i = 0; i < s->asks.n; i++) {
		struct ask *k = &s->asks.v[i];

		if (k->conn == e->conn && k->head.t && gone(k) == 0)
			ans_of(k)->left = e->t;
	}
}

static void
close_session(struct lostrule *r, struct lost *s, ns_t now)
{
	judge(r, s, now, true);
	asking_drop(&r->all, &s->asks);
}

/* An id that is used again while the first one waits. */
static void
note_collision(struct lostrule *r, const struct ev *e)
{
	struct lost *s = find(r, e->session);
	uint64_t id = id_of(r->all.ids);

	for (uint32_t i = 0; i < (s ? s->asks.n : 0); i++) {
		struct ask *k = &s->asks.v[i];

		if (k->id == id && k->x != e->x && !k->answered && !k->ended.t &&
		    k->head.t && !s->legacy)
			k->collided = true;
	}
}

static void
rest(struct lostrule *r, struct lost *s, const struct ev *e)
{
	switch (e->type) {
	case EV_REQUEST:
		on_request(s, e);
		break;
	case EV_STREAM:
		on_stream(s, e);
		break;
	case EV_SSE:
		on_sse(s, e);
		break;
	case EV_STREAM_END:
		on_stream_end(s, e, s->legacy && e->u.stream_end.end != EV_OPEN);
		break;
	case EV_RESPONSE_END:
		on_response_end(s, e);
		break;
	case EV_SESSION_END:
		s->over = true;
		close_session(r, s, e->t);
		break;
	case EV_MESSAGE:
		on_server_message(s, e);
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END:
	case EV_RESPONSE: case EV_SESSION: case EV_COMMENT: case EV_OWNER:
	case EV_STALL: case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_FINDING:
	case EV_END: case EV_N_TYPES:
		break;
	}
}

static void
event(void *arg, const struct ev *e)
{
	struct lostrule *r = arg;
	struct lost *s;
	int fresh;

	if (e->type == EV_GAP) {
		r->gaps[r->n_gaps % 32].t = e->t;
		r->gaps[r->n_gaps++ % 32].conn = e->conn;
	} else if (e->type == EV_CONN_END) {
		if (e->dir == EV_C2S)
			(void)idtab_put(&r->fins, e->conn, &fresh);
		if (e->dir == EV_C2S && (s = find(r, e->session)) != NULL)
			on_client_close(s, e);
	} else if (e->type == EV_MESSAGE && e->dir == EV_C2S) {
		if (e->u.msg.kind == EV_MSG_REQUEST)
			note_collision(r, e);
		on_client_message(r, e);
	} else if (e->type == EV_RESPONSE) {
		on_response(r, e);
	} else if (e->type == EV_STREAM && e->session && e->u.stream.kind == EV_LEGACY) {
		on_stream((struct lost *)asking_session(&r->all, e->session), e);
	} else if ((s = find(r, e->session)) != NULL) {
		rest(r, s, e);
	}
}

static void
tick(void *arg, ns_t now)
{
	struct lostrule *r = arg;
	struct kept *k, *tmp;

	if (now < r->ticked + TICK)
		return;
	r->ticked = now;
	if (r->all.n == 0)
		return;
	KEEPER_EACH(&r->all.sessions, k, tmp)
		judge(r, (struct lost *)k, now, false);
}

static void
end(void *arg, ns_t now)
{
	struct lostrule *r = arg;
	struct kept *k, *tmp;

	KEEPER_EACH(&r->all.sessions, k, tmp)
		close_session(r, (struct lost *)k, now);
}

const struct rule rule_lost = {
	.name = "lost-response",
	.summary = "a request was accepted and its response never comes",
	.reference = "mcpdiag-analyze(1), DETECTORS, lost-response",
	.wants = RULE_WANTS(EV_REQUEST) |
	    RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_MESSAGE) |
	    RULE_WANTS(EV_CONN_END) |
	    RULE_WANTS(EV_SESSION_END) |
	    RULE_WANTS(EV_GAP),
	.new = new, .event = event, .tick = tick, .end = end, .free = free_rule,
};
