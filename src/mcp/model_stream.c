/* Lineages and owners: DESIGN 5, DETECTORS "Common rules". */
#include "mcpdiag/model.h"

#include <stdlib.h>

#include "model_priv.h"

#define MAX_ENDED 64
/* In idrec.b, beside the number of streams that gave the id out: */
#define ID_DATA 0x80000000u	/* it came with data */
#define ID_GET 0x40000000u	/* some GET stream gave it */
#define ID_ANSWERED 0x20000000u	/* it was the last before a response's end */
#define ID_COUNT 0x1fffffffu

struct ev
model_ev(const struct mexch *x, enum ev_type type, enum ev_dir dir, struct at at)
{
	return (struct ev){
		.type = type, .t = at.t, .pkt = at.pkt, .dir = dir,
		.conn = x->conn_id, .x = x->id, .session = x->session_n,
		.stream = x->stream_n, .flags = x->flags,
	};
}

static void
emit_owner(struct model *m, const struct mstream *st, enum ev_role from,
    enum ev_role to, enum ev_by by, uint32_t cause, struct at at)
{
	struct ev e = model_ev(st->x, EV_OWNER, EV_S2C, at);

	e.stream = st->n;
	e.u.owner.from = from;
	e.u.owner.to = to;
	e.u.owner.by = by;
	e.u.owner.cause = cause;
	model_emit(m, st->x->ep, &e);
}

void
model_role(struct model *m, struct mexch *x, enum ev_role to, enum ev_by by,
    uint32_t cause, struct at at)
{
	struct mstream *st = x->st;

	if (st == NULL || st->told_role == to)
		return;
	emit_owner(m, st, st->told_role, to, by, cause, at);
	st->told_role = to;
}

uint32_t
model_stream(const struct mexch *x)
{
	return x->stream_n;
}

static void
owner(struct model *m, struct mstream *st, enum ev_role to, enum ev_by by,
    uint32_t cause, struct at at)
{
	struct session *s = st->x->s;

	if (to == EV_PRESUMED || to == EV_PRIMARY)
		s->holder = st;
	else if (s->holder == st)
		s->holder = NULL;
	if (st->role == to)
		return;
	if (!m->roles_told)
		emit_owner(m, st, st->role, to, by, cause, at);
	else if (to == EV_CLOSED && st->told_role != EV_CLOSED)
		emit_owner(m, st, st->told_role, to, by, cause, at);
	st->role = to;
}

static int
cmp_i64(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Median delay of the returns seen so far, or -1: DETECTORS "D". */
static int64_t
median_return(const struct session *s)
{
	int64_t v[N_RETURNS];
	uint32_t n = s->n_returns < N_RETURNS ? s->n_returns : N_RETURNS;

	if (n == 0)
		return -1;
	memcpy(v, s->returns, n * sizeof *v);
	qsort(v, n, sizeof *v, cmp_i64);
	return v[n / 2];
}

/* |age - D| as a part of D; small D get 50 ms of slack for scheduling. */
static double
miss(int64_t age_ms, int64_t d)
{
	double diff = (double)(age_ms > d ? age_ms - d : d - age_ms);

	if (d < 0)
		return 9;
	if (d < 250)
		return diff / 250;
	return diff / (double)d;
}

/* Which ended stream this GET comes back from.  Age first, the cursor
 * confirms; both unknown, only a lone candidate will do. */
static struct ended *
comes_from(struct session *s, const struct mstream *st, bool has_cursor, uint64_t cursor)
{
	int64_t d = median_return(s);
	struct ended *best = NULL, *lone = NULL;
	int64_t longest = d > s->retry_ms ? d : s->retry_ms;
	double best_miss = 0;
	unsigned best_rank = 0, lones = 0;

	if (longest >= 0 && longest < 1000)
		longest = 1000;

	for (uint32_t i = 0; i < s->n_ended; i++) {
		struct ended *c = &s->ended[i];
		int64_t age = (st->requested - c->t) / NS_MS;
		bool same = has_cursor && c->id == cursor;
		double off, off_retry = miss(age, s->retry_ms);
		unsigned rank;

		if (st->requested < c->t)	/* it was still open then */
			continue;
		if (has_cursor && !same && c->id)
			continue;
		if (!c->get && !same)		/* a POST needs its cursor */
			continue;
		off = miss(age, d);
		off = off_retry < off ? off_retry : off;
		rank = off <= 0.2 ? 4 : 0;
		rank += same ? 1 : 0;
		rank += has_cursor == (c->id != 0) ? 1 : 0;
		/* Much sooner than asked, much later than any backoff, or
		 * without the cursor it holds, it is somebody else. */
		if (c->get && has_cursor == (c->id != 0) &&
		    age * 2 >= (s->retry_ms > 0 ? s->retry_ms : 0) &&
		    (longest < 0 || age <= 10 * longest)) {
			lones++;
			lone = c;
		}
		if (rank < 4)
			continue;
		if (rank > best_rank || (rank == best_rank && off < best_miss)) {
			best = c;
			best_rank = rank;
			best_miss = off;
		}
	}
	if (best)
		return best;
	if (lones == 1)
		return lone;
	/* Late start and several listeners: the one whose cursor it is, if
	 * only one; the longest gone otherwise, since delays are constant. */
	for (uint32_t i = 0; i < s->n_ended; i++) {
		struct ended *c = &s->ended[i];

		if (has_cursor && c->id == cursor && d < 0 &&
		    (c->get || (lones == 0 && s->retry_ms < 0)) &&
		    (st->requested - c->t) / NS_MS * 2 >= s->retry_ms &&
		    st->requested >= c->t && (best == NULL || c->t < best->t))
			best = c;
	}
	return best;
}

static uint32_t
link_lineage(struct session *s, struct mstream *st, bool has_cursor, uint64_t cursor,
    struct ev *e)
{
	struct ended *c = comes_from(s, st, has_cursor, cursor);
	uint32_t lineage = st->n;

	e->u.stream.delay_ms = -1;
	if (c) {
		int64_t age = (st->requested - c->t) / NS_MS;

		lineage = c->lineage;
		e->u.stream.previous = c->stream;
		e->u.stream.delay_ms = age < 0 ? 0 : age;
		s->returns[s->n_returns++ % N_RETURNS] = age < 0 ? 0 : age;
		if (s->n_returns > 1u << 30)
			s->n_returns = N_RETURNS;
		*c = s->ended[--s->n_ended];
	}
	return lineage;
}

/* A role for a GET stream that opens: DETECTORS "Primary", "Shadow". */
static void
take_place(struct model *m, struct mexch *x, bool of_post, struct at at)
{
	struct mstream *st = x->st;
	bool beside = x->s->holder != NULL;

	st->role = st->told_role = EV_CLOSED;
	owner(m, st, of_post ? EV_REQUEST_STREAM : beside ? EV_SHADOW : EV_PRESUMED,
	    EV_BY_OPEN, st->n, at);
}

void
stream_tell(struct model *m, struct mexch *x, enum ev_kind kind)
{
	struct mstream *st = x->st;
	struct session *s = x->s;
	struct at at = { st->opened, st->opened_pkt };
	struct ev e = model_ev(x, EV_STREAM, EV_S2C, at);
	uint64_t cursor = x->cursor ? map_digest(x->cursor, strlen(x->cursor)) : 0;
	bool of_post = false;
	struct idrec *r;

	e.u.stream.delay_ms = -1;
	st->told = true;
	st->kind = kind;
	st->lineage = st->n;
	st->cursor_id = cursor;
	st->giver = st->n;
	e.u.stream.kind = kind;
	e.u.stream.cursor = str_c(x->cursor);
	e.u.stream.requested = st->requested;
	e.u.stream.request_pkt = x->requested.pkt;
	if (s && x->get) {
		if (x->cursor && (r = idtab_get(&s->ids, cursor)) != NULL) {
			e.u.stream.resumes = r->a;
			e.u.stream.givers = r->b & ID_COUNT;
			of_post = (r->b & ID_COUNT) == 1 && !(r->b & ID_GET);
			st->finished = (r->b & ID_ANSWERED) != 0;
			st->giver = of_post ? r->a : st->n;
		}
		st->lineage = link_lineage(s, st, x->cursor != NULL, cursor, &e);
	}
	e.u.stream.lineage = st->lineage;
	model_emit(m, x->ep, &e);
	if (s && x->get && kind != EV_UNKNOWN_KIND) {
		st->owned = true;
		DL_APPEND(s->open, st);
		take_place(m, x, of_post, at);
	}
}

void
stream_open(struct model *m, struct mexch *x, struct at at)
{
	struct mstream *st = &x->stream;

	*st = (struct mstream){ 0 };
	x->stream_n = st->n = ++m->n_stream;
	st->x = x;
	st->opened = x->last_byte = at.t;
	st->opened_pkt = at.pkt;
	st->requested = x->head_lost ? at.t : x->requested.t;
	x->st = st;
	if (x->post)
		stream_tell(m, x, x->listen ? EV_LISTEN : EV_POST_RESPONSE);
	else if (x->head_lost)
		stream_tell(m, x, EV_UNKNOWN_KIND);
	else if (x->get && x->has_sid)
		stream_tell(m, x, x->cursor ? EV_RESUMED : EV_STANDALONE);
	/* Otherwise the first event tells whether it is HTTP+SSE. */
}

/* Event ids, retry and the signs that a block's form gives. */
static void
learn(struct model *m, struct mexch *x, const struct model_sse *v, uint32_t *flags)
{
	struct session *s = x->s;
	struct mstream *st = x->st;
	struct idrec *r;
	uint64_t id;
	int fresh;

	if (s == NULL)
		return;
	if (v->retry_ms >= 0) {
		s->retry_ms = v->retry_ms;
		s->signs |= v->retry_ms == 3000 ? SIGN_RETRY_3000 : 0;
	}
	if (x->get && v->dispatched && !v->data && v->id.p == NULL && v->name.p == NULL &&
	    st->events == 0 && x->cursor == NULL)
		s->signs |= SIGN_EMPTY_FIRST;
	if (v->id.p == NULL)
		return;
	if (session_has_sid(s, v->id))
		s->signs |= SIGN_ID_IS_SID;
	s->signs |= v->id_after_data ? SIGN_DATA_FIRST : 0;
	if (x->post && v->dispatched && !v->data && st->events == 0) {
		if (str_eq(v->id, STR("0")))
			s->signs |= x->init ? SIGN_INIT_PRIME_0 : SIGN_BARE_PRIME;
		else if (str_pre(v->id, STR("0/")))
			s->signs |= SIGN_SCOPED_PRIME;
	}
	if (str_eq(v->name, STR("prime")) || str_eq(v->name, STR("close")))
		s->signs |= SIGN_PRIME_EVENT;
	id = map_digest(v->id.p, v->id.n);
	st->cursor_id = v->id.n ? id : 0;	/* an empty id clears it */
	r = idtab_put(&s->ids, id, &fresh);
	session_forgot(m, s);
	if (r->a != st->giver) {
		r->a = st->giver;
		r->b = (r->b & ~ID_COUNT) | (((r->b & ID_COUNT) + 1) & ID_COUNT);
	}
	r->b |= st->giver == st->n && x->get ? ID_GET : 0;
	if (v->data) {
		if (r->b & ID_DATA)
			*flags |= EVF_REPLAY;
		r->b |= ID_DATA;
	}
}

void
stream_event(struct model *m, struct mexch *x, const struct model_sse *v, struct at at)
{
	struct mstream *st = x->st;
	struct ev e;

	if (!st->told) {
		bool legacy = str_eq(v->name, STR("endpoint"));

		if (legacy) {
			exchange_score(m, x, 5);
			session_hold(m, x, session_by_uri(m, x->conn->ep, v->uri, at));
		} else if (x->s == NULL && x->conn->ep->mcp)
			session_hold(m, x, session_logical(m, x, at));
		stream_tell(m, x, legacy ? EV_LEGACY :
		    x->cursor ? EV_RESUMED : EV_STANDALONE);
	}
	e = model_ev(x, EV_SSE, EV_S2C, at);
	if (v->cut)
		e.flags |= EVF_CUT;
	if (v->torn)
		e.flags |= EVF_GAP;
	if (x->client_closed)
		e.flags |= EVF_LATE;
	if (!v->tail)
		learn(m, x, v, &e.flags);
	x->last_byte = at.t;
	if (v->dispatched && !v->tail)
		st->events++;
	e.u.sse.name = v->name;
	e.u.sse.id = v->id;
	e.u.sse.data = v->data;
	e.u.sse.dispatched = v->dispatched && !v->tail;
	e.u.sse.tail = v->tail;
	e.u.sse.bytes = v->bytes;
	e.u.sse.hash = v->hash;
	e.u.sse.retry_ms = v->retry_ms;
	model_emit(m, x->ep, &e);
}

bool
stream_of_request(const struct mstream *st)
{
	return st->role == EV_REQUEST_STREAM && st->owned && !st->finished &&
	    st->giver != st->n;
}

/* A common message proves its stream to be the primary. */
void
stream_common(struct model *m, struct mexch *x, struct at at)
{
	struct mstream *st = x->st, *other;

	if (!st->owned || st->role == EV_PRIMARY)
		return;
	other = x->s->holder;
	if (other && other != st)
		owner(m, other, other->role == EV_PRIMARY ? EV_ORPHAN : EV_SHADOW,
		    EV_BY_MESSAGE, st->n, at);
	owner(m, st, EV_PRIMARY, EV_BY_MESSAGE, st->n, at);
	st->giver = st->n;		/* it was no request's, after all */
}

static void
remember_end(struct session *s, const struct mexch *x, struct at at)
{
	const struct mstream *st = x->st;
	struct ended *c;
	struct idrec *r = st->had_response && st->cursor_id ?
	    idtab_get(&s->ids, st->cursor_id) : NULL;

	if (r)
		r->b |= ID_ANSWERED;
	if (!x->get && st->cursor_id == 0)	/* no browser comes back to it */
		return;
	if (s->n_ended == MAX_ENDED) {
		uint32_t oldest = 0;

		for (uint32_t i = 1; i < s->n_ended; i++)
			if (s->ended[i].t < s->ended[oldest].t)
				oldest = i;
		c = &s->ended[oldest];
	} else {
		s->ended = xgrow(s->ended, s->n_ended, &s->cap_ended, sizeof *s->ended);
		c = &s->ended[s->n_ended++];
	}
	*c = (struct ended){ st->n, st->lineage, at.t, st->cursor_id,
	    x->get && !stream_of_request(st) };
}

/* Not the whole list: a session may have any number of open streams. */
static struct mstream *
heir_of(const struct session *s, ns_t now)
{
	struct mstream *st;

	for (st = s->open ? s->open->prev : NULL; st && st->opened > now - 50 * NS_MS;
	    st = st == s->open ? NULL : st->prev)
		if (st->role != EV_REQUEST_STREAM)
			return st;
	DL_FOREACH(s->open, st) {
		if (st->role != EV_REQUEST_STREAM)
			return st;
	}
	return NULL;
}

/* After the owner is gone the oldest open stream is presumed to follow, unless
 * one opened so shortly before that it is what ended the owner. */
static void
pass_place(struct model *m, struct session *s, const struct mstream *gone, enum ev_role was,
    enum ev_by by, struct at at)
{
	struct mstream *heir;

	if ((was != EV_PRESUMED && was != EV_PRIMARY) || s->holder)
		return;
	heir = heir_of(s, at.t);
	if (heir)
		owner(m, heir, EV_PRESUMED, by, gone->n, at);
}

void
stream_answers(struct model *m, struct mexch *x, struct at at)
{
	enum ev_role was = x->st->role;

	owner(m, x->st, EV_REQUEST_STREAM, EV_BY_RESPONSE, x->st->n, at);
	pass_place(m, x->s, x->st, was, EV_BY_RESPONSE, at);
}

void
stream_close(struct model *m, struct mexch *x, enum ev_end end, uint32_t flags, struct at at)
{
	struct mstream *st = x->st;
	struct session *s;
	struct ev e;

	if (!st->told) {
		if (x->s == NULL && x->get && x->asks_stream && !x->modern)
			session_hold(m, x, session_find_logical(m, x));
		stream_tell(m, x, x->cursor ? EV_RESUMED : EV_STANDALONE);
	}
	s = x->s;
	e = model_ev(x, EV_STREAM_END, EV_S2C, at);
	e.flags |= flags;
	e.u.stream_end.end = end;
	e.u.stream_end.had_response = st->had_response;
	e.u.stream_end.events = st->events;
	e.u.stream_end.comments = x->comments;
	e.u.stream_end.last_byte = x->last_byte;
	model_emit(m, x->ep, &e);
	if (s && st->owned) {
		DL_DELETE(s->open, st);
		if (s->holder == st)
			s->holder = NULL;
		if (s->open && at.t - s->open->opened > NS_S &&
		    at.t - st->opened > NS_S)
			s->signs |= SIGN_SHADOW;
		if (end != EV_OPEN) {
			enum ev_role was = st->role;

			owner(m, st, EV_CLOSED, EV_BY_CLOSE, st->n, at);
			st->role = was;
			pass_place(m, s, st, was, EV_BY_CLOSE, at);
		}
		if (end == EV_COMPLETE && x->cursor && st->events == 0 &&
		    x->comments == 0 && at.t - st->opened < NS_S)
			s->signs |= SIGN_EMPTY;
		if (end == EV_COMPLETE && s->open && s->open->prev->opened > st->opened &&
		    at.t - s->open->prev->opened < 50 * NS_MS)
			s->signs |= SIGN_TAKEOVER;
	}
	if (s && end != EV_OPEN)
		remember_end(s, x, at);
	if (s && (s->signs != s->told_signs || s->csigns != s->told_csigns))
		session_tell(m, s, at);
	x->st = NULL;
	x->stream_n = 0;
}
