#include "lanes.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"

#define N_GETS 4096		/* exchanges remembered */
#define N_GIVEN 256		/* and streams */
#define LANE_MARKS 64		/* a lane keeps as many when others need room */

static void
free_lane(struct lane *l)
{
	free(l->streams);
	free(l->opens);
	free(l->marks);
	free(l);
}

/* What is that old has nothing in the timeline any more. */
static void
drop_half(struct lanes *ls)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ls->n; i++) {
		struct lane *l = ls->all[i];

		if (i < ls->n / 2 && l->kind == LANE_LISTENER) {
			HASH_DEL(ls->table, l);
			ls->n_marks -= l->n_marks;
			ls->forgot += l->n_marks;
			ls->gone++;
			free_lane(l);
		} else {
			l->at = n;
			ls->all[n++] = l;
		}
	}
	ls->n = n;
}

void
lanes_fini(struct lanes *ls)
{
	HASH_CLEAR(hh, ls->table);
	for (uint32_t i = 0; i < ls->n; i++)
		free_lane(ls->all[i]);
	free(ls->all);
	free(ls->gets);
	free(ls->given);
	*ls = (struct lanes){ 0 };
}

static uint64_t
key_of(enum lane_kind kind, uint32_t lineage)
{
	return (uint64_t)kind << 32 | (kind == LANE_LISTENER ? lineage : 0);
}

static struct lane *
get_lane(struct lanes *ls, enum lane_kind kind, uint32_t lineage, ns_t t)
{
	uint64_t key = key_of(kind, lineage);
	struct lane *l;

	HASH_FIND(hh, ls->table, &key, sizeof key, l);
	if (l)
		return l;
	if (ls->n == LANES_MAX)
		drop_half(ls);
	l = xcalloc(1, sizeof *l);
	l->key = key;
	l->kind = kind;
	l->lineage = lineage;
	l->first = ls->n && ls->all[ls->n - 1]->first > t ? ls->all[ls->n - 1]->first : t;
	ls->all = xgrow(ls->all, ls->n, &ls->cap, sizeof(void *));
	l->at = ls->n;
	ls->all[ls->n++] = l;
	HASH_ADD(hh, ls->table, key, sizeof l->key, l);
	return l;
}

static struct lane *
lane_of(const struct lanes *ls, const struct timeline *tl, uint32_t stream)
{
	const struct tl_stream *st = timeline_stream_n(tl, stream);
	struct lane *l;
	uint64_t key;

	if (st == NULL)
		return NULL;
	key = key_of(st->kind == EV_POST_RESPONSE ? LANE_POST : LANE_LISTENER, st->lineage);
	HASH_FIND(hh, ls->table, &key, sizeof key, l);
	return l;
}

static void
add_stream(struct lanes *ls, const struct tl_stream *st)
{
	struct lane *l = get_lane(ls, st->kind == EV_POST_RESPONSE ? LANE_POST : LANE_LISTENER,
	    st->lineage, st->opened);

	/* Told again: its kind is known better. */
	if (l->n_streams && l->streams[l->n_streams - 1] >= st->n)
		return;
	if (l->n_streams == LANES_STREAMS) {
		uint32_t half = l->n_streams / 2;

		memmove(l->streams, l->streams + half, half * sizeof *l->streams);
		if (l->opens)
			memmove(l->opens, l->opens + half, half * sizeof *l->opens);
		l->n_streams = half;
	}
	l->streams = xgrow(l->streams, l->n_streams, &l->cap_streams, sizeof *l->streams);
	if (l->kind == LANE_LISTENER) {
		l->opens = xgrow(l->opens, l->n_streams, &l->cap_opens, sizeof *l->opens);
		l->opens[l->n_streams] = (struct cursor){ .known = false };
	}
	l->streams[l->n_streams++] = st->n;
}

static void
add_mark(struct lanes *ls, struct lane *l, const struct ev *e, enum mark_kind kind)
{
	if (ls->n_marks >= LANES_MARKS && l->n_marks < LANE_MARKS) {
		ls->forgot++;
		return;
	}
	if (ls->n_marks >= LANES_MARKS) {
		uint32_t half = l->n_marks / 2;

		memmove(l->marks, l->marks + half, (l->n_marks - half) * sizeof *l->marks);
		l->n_marks -= half;
		ls->n_marks -= half;
		ls->forgot += half;
	}
	l->marks = xgrow(l->marks, l->n_marks, &l->cap_marks, sizeof *l->marks);
	/* Times go back by the little that packets do: the search wants order. */
	l->marks[l->n_marks] = (struct mark){ e->t, e->pkt, (uint8_t)kind };
	if (l->n_marks && l->marks[l->n_marks - 1].t > e->t)
		l->marks[l->n_marks].t = l->marks[l->n_marks - 1].t;
	l->n_marks++;
	ls->n_marks++;
}

static void
set_cursor(struct cursor *c, struct str id)
{
	c->known = true;
	c->cut = id.n > sizeof c->text;
	c->n = (uint8_t)(c->cut ? sizeof c->text : id.n);
	if (c->n)
		memcpy(c->text, id.p, c->n);
}

static void
on_sse(struct lanes *ls, const struct timeline *tl, const struct ev *e)
{
	struct lane *l = lane_of(ls, tl, e->stream);
	struct given *g;

	if (l == NULL)
		return;
	if (e->u.sse.dispatched)
		add_mark(ls, l, e, e->flags & EVF_REPLAY ? MARK_REPLAY : MARK_EVENT);
	if (e->u.sse.id.p == NULL || e->u.sse.tail)
		return;
	set_cursor(&l->held, e->u.sse.id);
	if (l->kind != LANE_POST)
		return;
	if (ls->given == NULL)
		ls->given = xcalloc(N_GIVEN, sizeof *ls->given);
	g = &ls->given[e->stream % N_GIVEN];
	g->stream = e->stream;
	g->cursor = l->held;
}

static void
on_response(struct lanes *ls, const struct ev *e)
{
	struct lane *l;

	if (e->x == 0 || ls->gets == NULL || ls->gets[e->x % N_GETS] != e->x ||
	    e->u.resp.status < 300)
		return;
	l = get_lane(ls, LANE_REFUSED, 0, e->t);
	l->status = e->u.resp.status;
	add_mark(ls, l, e, MARK_REFUSED);
}

/* Where a stream stands in its lane; n_streams when it does not. */
static uint32_t
stream_at(const struct lane *l, uint32_t n)
{
	uint32_t lo = 0, hi = l->n_streams;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->streams[mid] < n)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n_streams && l->streams[lo] == n ? lo : l->n_streams;
}

/* A listener may begin with the stream of a POST: its GETs have a lane of their
 * own, and hold what that has given. */
static void
on_stream(struct lanes *ls, const struct timeline *tl, const struct ev *e)
{
	struct lane *l = lane_of(ls, tl, e->stream);
	uint32_t before = e->u.stream.previous;
	const struct given *g = ls->given ? &ls->given[before % N_GIVEN] : NULL;
	uint32_t at;

	if (l == NULL)
		return;
	if (l->kind == LANE_LISTENER && g && before && g->stream == before)
		l->held = g->cursor;
	at = stream_at(l, e->stream);
	if (l->opens && at < l->n_streams)
		l->opens[at] = l->held;
}

/* What events tell beyond the timeline. */
static void
note(struct lanes *ls, const struct timeline *tl, const struct ev *e)
{
	struct lane *l;

	switch (e->type) {
	case EV_REQUEST:
		if (e->x == 0 || !str_eq(e->u.req.method, STR("GET")))
			return;
		if (ls->gets == NULL)
			ls->gets = xcalloc(N_GETS, sizeof *ls->gets);
		ls->gets[e->x % N_GETS] = e->x;
		return;
	case EV_RESPONSE:
		on_response(ls, e);
		return;
	case EV_SSE:
		on_sse(ls, tl, e);
		return;
	case EV_COMMENT:
		l = lane_of(ls, tl, e->stream);
		if (l)
			add_mark(ls, l, e, MARK_KEEPALIVE);
		return;
	case EV_STREAM:
		on_stream(ls, tl, e);
		return;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END:
	case EV_RESPONSE_END: case EV_SESSION: case EV_SESSION_END:
	case EV_STREAM_END: case EV_MESSAGE: case EV_OWNER: case EV_STALL: case EV_GAP:
	case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END: case EV_N_TYPES:
		return;
	}
}

/* The first item to be looked at: a screen is to open at once. */
static uint64_t
past(const struct store *store, uint32_t session, uint64_t *forgot)
{
	uint64_t no = store_session_last(store, session);
	const struct store_item *it = store_item(store, no);

	for (uint32_t i = 1; i < LANES_PAST && it && it->prev; i++) {
		no = it->prev;
		it = store_item(store, no);
	}
	*forgot += it && it->prev;
	return no;
}

void
lanes_fill(struct lanes *ls, const struct timeline *tl, const struct store *store,
    uint32_t session)
{
	const struct tl_session *ts = timeline_session_n(tl, session);
	const struct tl_stream *st;
	const struct store_item *it;
	uint64_t no;

	for (uint32_t i = 0; ts && i < ts->n_streams; i++)
		if ((st = timeline_stream_n(tl, ts->streams[i])) != NULL)
			add_stream(ls, st);
	for (uint32_t i = 0; session == 0 && (st = timeline_stream(tl, i)) != NULL; i++)
		if (st->session == 0)
			add_stream(ls, st);
	if (store == NULL)
		return;
	no = past(store, session, &ls->forgot);
	for (; no && (it = store_item(store, no)) != NULL; no = it->next)
		note(ls, tl, it->ev);
}

void
lanes_event(struct lanes *ls, const struct timeline *tl, const struct ev *e)
{
	const struct tl_stream *st;

	if (e->type == EV_STREAM && (st = timeline_stream_n(tl, e->stream)) != NULL)
		add_stream(ls, st);
	note(ls, tl, e);
}

uint32_t
lanes_until(const struct lanes *ls, ns_t t)
{
	uint32_t lo = 0, hi = ls->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (ls->all[mid]->first <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t
lanes_of(const struct lanes *ls, const struct timeline *tl, uint32_t stream)
{
	const struct lane *l = lane_of(ls, tl, stream);

	return l ? l->at : UINT32_MAX;
}

/* The first mark at or after t. */
static uint32_t
first_mark(const struct lane *l, ns_t t)
{
	uint32_t lo = 0, hi = l->n_marks;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->marks[mid].t < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct mark *
lane_mark(const struct lane *l, ns_t from, ns_t to)
{
	const struct mark *best = NULL;
	uint32_t a = first_mark(l, from), b = first_mark(l, to);

	/* A column may stand for an hour: its last marks will do. */
	if (b - a > LANE_MARKS)
		a = b - LANE_MARKS;
	for (; a < b; a++)
		if (best == NULL || l->marks[a].kind >= best->kind)
			best = &l->marks[a];
	return best;
}

const struct cursor *
lane_held(const struct lane *l, uint32_t stream)
{
	uint32_t at = stream_at(l, stream);

	return l->opens && at < l->n_streams && l->opens[at].known ? &l->opens[at] : NULL;
}

uint32_t
lane_marks_until(const struct lane *l, ns_t t)
{
	return t == INT64_MAX ? l->n_marks : first_mark(l, t + 1);
}

uint32_t
lane_streams_until(const struct lane *l, const struct timeline *tl, ns_t t)
{
	uint32_t n = l->n_streams;
	const struct tl_stream *st;

	/* All of them, but when the screen stands still. */
	while (n > 0 && (st = timeline_stream_n(tl, l->streams[n - 1])) != NULL && st->opened > t)
		n--;
	return n;
}

uint32_t
lane_stream_from(const struct lane *l, const struct timeline *tl, ns_t t)
{
	uint32_t lo = 0, hi = l->n_streams;

	/* Streams of one listener come one after the other; those of POSTs
	 * run beside each other. */
	if (l->kind == LANE_POST)
		return 0;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct tl_stream *st = timeline_stream_n(tl, l->streams[mid]);

		if (st == NULL || st->opened < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? lo - 1 : 0;
}

bool
stream_role(const struct tl_stream *st, ns_t t, enum ev_role *role)
{
	*role = EV_CLOSED;
	if (st->n_roles == 0)
		return false;
	if (!st->is_open && st->ended <= t)
		return true;
	for (uint32_t i = 0; i < st->n_roles && st->roles[i].t <= t; i++)
		*role = st->roles[i].role;
	return true;
}
