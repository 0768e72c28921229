#include "mcpdiag/store.h"

#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/xmem.h"

#define ALIGN 16
#define MIN_CHUNK (4U << 10)
#define MAX_CHUNK (1U << 20)
#define CHUNKS 64		/* of them make up the limit */
#define MIN_INDEX 64
#define SLACK 512		/* of an item: what keeps track of it */
#define MAX_USED 65536		/* connections whose session is known */
#define SHORT 256		/* bytes of a string when there is no room */

/* Items of one session; there while it has any. */
struct group {
	UT_hash_handle hh;
	uint32_t session;
	uint64_t first, last, forgot;
};

/* The newest item of an exchange whose session is not known. */
struct waiting {
	UT_hash_handle hh;
	uint32_t x;
	uint64_t last;
};

/* What a connection was last used for, while it is open. */
struct used {
	UT_hash_handle hh;
	uint32_t conn, session;
	bool half_closed;
};

/* An item as it lies in a chunk: the event, its strings and the text follow. */
struct rec {
	struct store_item item;
	struct ev *ev;
	struct group *group;
	uint64_t of_x;		/* the item before of an exchange that waits */
};

/* Items lie side by side in chunks, which go as a whole. */
struct chunk {
	struct chunk *next;
	size_t size, used;	/* of what follows */
	uint64_t last;		/* item in it */
	_Alignas(ALIGN) char p[];
};

struct store {
	size_t limit, chunk, bytes;
	struct chunk *oldest, *newest, *spare;
	struct rec **index;	/* item no is at no & (n_index - 1) */
	uint64_t n_index;
	uint64_t first, last;	/* first > last: empty */
	struct group *groups, *recent;
	struct waiting *waits;
	struct used *used;
	struct buf text;	/* of the next event */
	uint64_t text_bytes;
	bool has_text, text_cut;
};

/* Bytes of an event up to the end of the member that goes with its type. */
static size_t
ev_size(enum ev_type type)
{
	static const uint16_t sizes[EV_N_TYPES] = {
#define S(type, member) [type] = sizeof ((struct ev *)0)->u.member
		S(EV_FILE, file), S(EV_CONN, conn), S(EV_CONN_END, conn_end),
		S(EV_REQUEST, req), S(EV_REQUEST_END, end), S(EV_RESPONSE, resp),
		S(EV_RESPONSE_END, end), S(EV_SESSION, session), [EV_SESSION_END] = 0,
		S(EV_STREAM, stream), S(EV_STREAM_END, stream_end), S(EV_SSE, sse),
		S(EV_COMMENT, comment), S(EV_MESSAGE, msg), S(EV_OWNER, owner),
		S(EV_STALL, stall), S(EV_GAP, gap), S(EV_ANOMALY, note),
		S(EV_NOTE, note), S(EV_FINDING, finding), S(EV_END, total),
#undef S
	};

	return offsetof(struct ev, u) + sizes[type];
}

static struct rec *
rec_of(const struct store *s, uint64_t no)
{
	return no >= s->first && no <= s->last ? s->index[no & (s->n_index - 1)] : NULL;
}

/* ---- sessions ---- */

static struct group *
group_of(const struct store *s, uint32_t session)
{
	struct group *g = s->recent;

	if (g == NULL || g->session != session)
		HASH_FIND(hh, s->groups, &session, sizeof session, g);
	return g;
}

static struct group *
group_get(struct store *s, uint32_t session)
{
	struct group *g = group_of(s, session);

	if (g == NULL) {
		g = xcalloc(1, sizeof *g);
		g->session = session;
		HASH_ADD(hh, s->groups, session, sizeof g->session, g);
		s->bytes += sizeof *g;
	}
	s->recent = g;
	return g;
}

static void
leave(struct store *s, struct rec *r)
{
	struct group *g = r->group;
	struct rec *prev = rec_of(s, r->item.prev), *next = rec_of(s, r->item.next);

	if (prev)
		prev->item.next = r->item.next;
	else
		g->first = r->item.next;
	if (next)
		next->item.prev = r->item.prev;
	else
		g->last = r->item.prev;
	r->item.prev = r->item.next = 0;
	if (g->first)
		return;
	HASH_DEL(s->groups, g);
	if (s->recent == g)
		s->recent = NULL;
	s->bytes -= sizeof *g;
	free(g);
}

/* Puts r behind the last of the group that came before it, which is looked for
 * from `from` on; *steps bounds how far. */
static void
join(struct store *s, struct rec *r, struct group *g, uint64_t from, unsigned *steps)
{
	struct rec *prev = rec_of(s, from), *next;

	while (prev && prev->item.no > r->item.no && *steps) {
		prev = rec_of(s, prev->item.prev);
		--*steps;
	}
	next = rec_of(s, prev ? prev->item.next : g->first);
	r->group = g;
	r->ev->session = g->session;
	r->item.prev = prev ? prev->item.no : 0;
	r->item.next = next ? next->item.no : 0;
	if (prev)
		prev->item.next = r->item.no;
	else
		g->first = r->item.no;
	if (next)
		next->item.prev = r->item.no;
	else
		g->last = r->item.no;
}

static struct waiting *
waiting_of(const struct store *s, uint32_t x)
{
	struct waiting *w;

	HASH_FIND(hh, s->waits, &x, sizeof x, w);
	return w;
}

static void
stop_waiting(struct store *s, struct waiting *w)
{
	HASH_DEL(s->waits, w);
	s->bytes -= sizeof *w;
	free(w);
}

/* The session of an exchange shows: what is kept of it moves there. */
static void
move(struct store *s, struct waiting *w, uint32_t session)
{
	struct group *g = group_get(s, session);
	unsigned steps = STORE_SEARCH;
	uint64_t from = g->last;
	struct rec *r;

	for (r = rec_of(s, w->last); r; r = rec_of(s, r->of_x)) {
		leave(s, r);
		join(s, r, g, from, &steps);
		from = r->item.no;
	}
	stop_waiting(s, w);
}

static void
wait_for_session(struct store *s, struct rec *r)
{
	uint32_t x = r->ev->x;
	struct waiting *w = waiting_of(s, x);

	if (w == NULL) {
		w = xcalloc(1, sizeof *w);
		w->x = x;
		HASH_ADD(hh, s->waits, x, sizeof w->x, w);
		s->bytes += sizeof *w;
	}
	r->of_x = w->last;
	w->last = r->item.no;
	if (r->ev->type == EV_RESPONSE_END)	/* nothing more comes of it */
		stop_waiting(s, w);
}

/* ---- connections ---- */

static void
forget_used(struct store *s, struct used *u)
{
	HASH_DEL(s->used, u);
	s->bytes -= sizeof *u;
	free(u);
}

static void
forget_all_used(struct store *s)
{
	struct used *u, *next;

	HASH_ITER(hh, s->used, u, next) {
		forget_used(s, u);
	}
}

static void
note_use(struct store *s, const struct ev *e)
{
	struct used *u;

	HASH_FIND(hh, s->used, &e->conn, sizeof e->conn, u);
	if (u == NULL) {
		if (HASH_COUNT(s->used) >= MAX_USED ||
		    HASH_COUNT(s->used) * sizeof *u > s->limit / 16)
			forget_all_used(s);
		u = xcalloc(1, sizeof *u);
		u->conn = e->conn;
		HASH_ADD(hh, s->used, conn, sizeof u->conn, u);
		s->bytes += sizeof *u;
	}
	u->session = e->session;
}

/* The session of an event: of a connection's, what it was last used for. */
static uint32_t
session_of(struct store *s, const struct ev *e)
{
	uint32_t session = e->session;
	struct used *u;

	if (e->conn == 0)
		return session;
	if (session && (e->type == EV_REQUEST || e->type == EV_RESPONSE))
		note_use(s, e);
	if (e->x != 0 && e->type != EV_CONN_END)
		return session;
	HASH_FIND(hh, s->used, &e->conn, sizeof e->conn, u);
	if (u == NULL)
		return session;
	session = session ? session : u->session;
	if (e->type == EV_CONN_END && u->half_closed)
		forget_used(s, u);
	else if (e->type == EV_CONN_END)
		u->half_closed = true;
	return session;
}

/* ---- memory ---- */

static void
forget(struct store *s, struct rec *r)
{
	struct waiting *w;

	r->group->forgot++;
	leave(s, r);
	if (r->ev->session || r->ev->x == 0)
		return;
	w = waiting_of(s, r->ev->x);
	if (w && w->last == r->item.no)
		stop_waiting(s, w);
}

static void
drop_oldest(struct store *s)
{
	struct chunk *c = s->oldest;

	for (; s->first <= c->last; s->first++)
		forget(s, rec_of(s, s->first));
	s->oldest = c->next;
	if (s->oldest == NULL)
		s->newest = NULL;
	if (c->size == s->chunk && s->spare == NULL) {
		s->spare = c;			/* still counted */
		return;
	}
	s->bytes -= sizeof *c + c->size;
	free(c);
}

static void
free_spare(struct store *s)
{
	if (s->spare)
		s->bytes -= sizeof *s->spare + s->spare->size;
	free(s->spare);
	s->spare = NULL;
}

/* Makes room for `more` bytes within the limit, as far as that is possible. */
static void
make_room(struct store *s, size_t more)
{
	while (s->bytes + more > s->limit && (s->oldest || s->spare)) {
		free_spare(s);
		if (s->bytes + more > s->limit && s->oldest)
			drop_oldest(s);
	}
}

static struct chunk *
new_chunk(struct store *s, size_t need)
{
	size_t size = need > s->chunk ? need : s->chunk;
	struct chunk *c;

	if (size == s->chunk && s->spare == NULL && s->oldest &&
	    s->bytes + sizeof *c + size > s->limit)
		drop_oldest(s);			/* most likely gives a spare one */
	if (size == s->chunk && s->spare) {
		c = s->spare;
		s->spare = NULL;
		make_room(s, 0);
	} else {
		make_room(s, sizeof *c + size);
		c = xmalloc(sizeof *c + size);
		c->size = size;
		s->bytes += sizeof *c + size;
	}
	c->next = NULL;
	c->used = 0;
	if (s->newest)
		s->newest->next = c;
	else
		s->oldest = c;
	s->newest = c;
	return c;
}

static void *
room_for(struct store *s, size_t need)
{
	struct chunk *c = s->newest;

	need = (need + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (c == NULL || c->size - c->used < need)
		c = new_chunk(s, need);
	c->used += need;
	c->last = s->last + 1;
	return c->p + c->used - need;
}

/* Room for one more in the index: it doubles up to an eighth of the limit. */
static void
index_room(struct store *s)
{
	uint64_t n = s->n_index * 2;
	struct rec **new;

	if (s->last + 1 - s->first < s->n_index)
		return;
	if (n * sizeof *new > s->limit / 8) {
		drop_oldest(s);
		return;
	}
	new = xcalloc(n, sizeof *new);
	for (uint64_t no = s->first; no <= s->last; no++)
		new[no & (n - 1)] = rec_of(s, no);
	s->bytes += (n - s->n_index) * sizeof *new;
	free(s->index);
	s->index = new;
	s->n_index = n;
	make_room(s, 0);
}

struct store *
store_new(const struct limits *lim)
{
	struct store *s = xcalloc(1, sizeof *s);

	s->limit = (size_t)(lim->store < lim->memory / 2 ? lim->store : lim->memory / 2) - SLACK;
	s->chunk = s->limit / CHUNKS;
	if (s->chunk < MIN_CHUNK)
		s->chunk = MIN_CHUNK;
	if (s->chunk > MAX_CHUNK)
		s->chunk = MAX_CHUNK;
	s->chunk -= sizeof(struct chunk);
	s->n_index = MIN_INDEX;
	s->index = xcalloc(MIN_INDEX, sizeof *s->index);
	s->bytes = sizeof *s + MIN_INDEX * sizeof *s->index;
	s->first = 1;
	buf_init(&s->text, s->limit / 8);
	return s;
}

void
store_free(struct store *s)
{
	if (s == NULL)
		return;
	while (s->oldest)
		drop_oldest(s);
	free_spare(s);
	forget_all_used(s);
	free(s->index);
	buf_fini(&s->text);
	free(s);
}

void
store_text(struct store *s, struct str text, uint64_t bytes, bool cut)
{
	size_t cap = s->text.cap;

	buf_clear(&s->text);
	if (text.n > s->text.max) {
		text.n = s->text.max;
		cut = true;
	}
	(void)buf_adds(&s->text, text);
	s->bytes += s->text.cap - cap;
	s->has_text = text.p != NULL;
	s->text_bytes = bytes;
	s->text_cut = cut;
}

static struct str *
str_at(struct ev *e, const struct ev_field *f)
{
	return (struct str *)(void *)((char *)e + f->offset);
}

static size_t
strings_size(struct ev *e, size_t most)
{
	size_t n = 0;

	for (const struct ev_field *f = ev_fields(e->type); f->name; f++) {
		if (f->type != EVT_STR)
			continue;
		if (str_at(e, f)->n > most) {
			str_at(e, f)->n = most;
			e->flags |= EVF_CUT;
		}
		n += str_at(e, f)->n;
	}
	return n;
}

static char *
copy(char *to, struct str *s)
{
	if (s->p == NULL)
		return to;
	if (s->n)
		memcpy(to, s->p, s->n);
	s->p = to;
	return to + s->n;
}

/* The record with its event, strings and text; not linked yet. */
static struct rec *
keep(struct store *s, const struct ev *e)
{
	struct ev all = *e;
	size_t fixed = sizeof(struct rec) + ev_size(e->type);
	size_t strings = strings_size(&all, SIZE_MAX);
	struct str text = s->has_text ? buf_str(&s->text) : STR_NONE;
	bool cut = s->has_text && s->text_cut;
	struct rec *r;
	char *to;

	if (fixed + strings > s->limit / 8)
		strings = strings_size(&all, SHORT);
	/* One byte more: an empty string is not an absent one. */
	r = room_for(s, fixed + strings + text.n + 1);
	*r = (struct rec){ .item = { .no = s->last + 1, .text = text, .cut = cut,
	    .bytes = s->has_text ? s->text_bytes : 0 } };
	r->ev = (struct ev *)(void *)(r + 1);
	r->item.ev = r->ev;
	memcpy(r->ev, &all, ev_size(e->type));
	to = (char *)r + fixed;
	for (const struct ev_field *f = ev_fields(e->type); f->name; f++)
		if (f->type == EVT_STR)
			to = copy(to, str_at(r->ev, f));
	(void)copy(to, &r->item.text);
	s->has_text = false;
	return r;
}

void
store_event(struct store *s, const struct ev *e)
{
	unsigned steps = STORE_SEARCH;
	uint32_t session;
	struct waiting *w;
	struct rec *r;
	struct group *g;

	if (e->type == EV_FINDING)
		return;
	make_room(s, 0);
	index_room(s);
	session = session_of(s, e);
	r = keep(s, e);
	s->last++;
	s->index[s->last & (s->n_index - 1)] = r;
	if (session && e->x && s->waits && (w = waiting_of(s, e->x)) != NULL)
		move(s, w, session);
	g = group_get(s, session);
	join(s, r, g, g->last, &steps);
	if (e->x && session == 0)
		wait_for_session(s, r);
}

uint64_t
store_first(const struct store *s)
{
	return s->first <= s->last ? s->first : 0;
}

uint64_t
store_last(const struct store *s)
{
	return s->first <= s->last ? s->last : 0;
}

const struct store_item *
store_item(const struct store *s, uint64_t no)
{
	const struct rec *r = rec_of(s, no);

	return r ? &r->item : NULL;
}

uint64_t
store_session_first(const struct store *s, uint32_t session)
{
	const struct group *g = group_of(s, session);

	return g ? g->first : 0;
}

uint64_t
store_session_last(const struct store *s, uint32_t session)
{
	const struct group *g = group_of(s, session);

	return g ? g->last : 0;
}

uint64_t
store_session_forgot(const struct store *s, uint32_t session)
{
	const struct group *g = group_of(s, session);

	return g ? g->forgot : 0;
}

uint64_t
store_forgot(const struct store *s)
{
	return s->first - 1;
}

size_t
store_bytes(const struct store *s)
{
	return s->bytes;
}
