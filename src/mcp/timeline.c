#include "mcpdiag/timeline.h"

#include <stdlib.h>

#include "mcpdiag/map.h"
#include "timeline_priv.h"

#define MAX_ROLES 256		/* of one stream */
#define MAX_NAME 256		/* bytes of an id, a name, a version */
#define MAX_STRING 4096		/* of a note, a file's name */
#define MAX_NOTES 512
#define MAX_FILES 4096
#define N_RECENT 16384		/* exchanges whose stream may still come */

/* Numbers to records: open addressing, multiply-shift by the golden ratio, which
 * spreads runs of numbers evenly, over a random salt, so that an event file
 * cannot choose collisions.  Neighbours, which are used together, share a line
 * of cache: only their eighth is hashed. */
#define GOLDEN 0x9e3779b97f4a7c15ULL

static uint32_t
home(const struct index *ix, uint32_t n)
{
	uint64_t group = ((n >> 3) ^ ix->salt) * GOLDEN >> (64 + 3 - ix->bits);

	return (uint32_t)group << 3 | (n & 7);
}

static const struct slot *
index_find(const struct index *ix, uint32_t n)
{
	uint32_t mask = (1u << ix->bits) - 1;

	if (ix->bits == 0 || n == 0)
		return NULL;
	for (uint32_t i = home(ix, n); ix->slot[i].n; i = (i + 1) & mask)
		if (ix->slot[i].n == n)
			return &ix->slot[i];
	return NULL;
}

static void *
index_get(struct index *ix, uint32_t n)
{
	const struct slot *at;

	/* Events come in runs of one session and one stream. */
	if (n && ix->bits && ix->slot[ix->last].n == n)
		return ix->slot[ix->last].p;
	at = index_find(ix, n);
	if (at == NULL)
		return NULL;
	ix->last = (uint32_t)(at - ix->slot);
	return at->p;
}

static void
index_put(struct index *ix, uint32_t n, void *p)
{
	uint32_t mask, i;

	if (ix->bits == 0 || ix->used >= 1u << (ix->bits - 1)) {
		struct index new = { .bits = ix->bits ? ix->bits + 1 : 4 };

		new.salt = map_hash("timeline", 8);
		new.slot = xcalloc((size_t)1 << new.bits, sizeof *new.slot);
		for (i = 0; ix->bits && i < 1u << ix->bits; i++)
			if (ix->slot[i].n)
				index_put(&new, ix->slot[i].n, ix->slot[i].p);
		free(ix->slot);
		*ix = new;
	}
	mask = (1u << ix->bits) - 1;
	for (i = home(ix, n); ix->slot[i].n; i = (i + 1) & mask)
		;
	ix->slot[i] = (struct slot){ n, p };
	ix->used++;
}

static void
index_del(struct index *ix, uint32_t n)
{
	uint32_t mask = (1u << ix->bits) - 1, i = home(ix, n), j;

	while (ix->slot[i].n != n)
		i = (i + 1) & mask;
	/* Later ones of the same run move up into the hole. */
	for (j = (i + 1) & mask; ix->slot[j].n; j = (j + 1) & mask) {
		uint32_t h = home(ix, ix->slot[j].n);

		if (((j - h) & mask) < ((j - i) & mask))
			continue;
		ix->slot[i] = ix->slot[j];
		i = j;
	}
	ix->slot[i].n = 0;
	ix->used--;
}

/* Strings come from the wire, or from an event file that may hold anything, and
 * there are thousands of them: one that is absurdly long is cut. */
static struct str
cut(struct str s, size_t max, char room[MAX_STRING])
{
	static const char more[] = "\xe2\x80\xa6";	/* U+2026 */
	size_t n = max - (sizeof more - 1);

	if (s.n <= max)
		return s;
	while (n > max - 8 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;				/* not inside a character */
	memcpy(room, s.p, n);
	memcpy(room + n, more, sizeof more - 1);
	return str_of(room, n + sizeof more - 1);
}

static void
set(char **field, struct str s)
{
	char room[MAX_STRING];

	s = cut(s, MAX_STRING, room);
	if (s.p == NULL || (*field && str_eq(str_c(*field), s)))
		return;
	free(*field);
	*field = xmemdup0(s.p, s.n);
}

static void
set_id(char **field, struct str s)
{
	char room[MAX_STRING];

	set(field, cut(s, MAX_NAME, room));
}

/* What thousands of sessions have in common. */
static void
set_name(struct timeline *tl, char **field, struct str s)
{
	char room[MAX_STRING];

	s = cut(s, MAX_NAME, room);
	if (s.p == NULL || (*field && str_eq(str_c(*field), s)))
		return;
	intern_put(&tl->names, *field);
	*field = intern_get(&tl->names, s);
}

static void
add_note(struct timeline *tl, struct str name, struct str text, bool anomaly,
    uint32_t pkt)
{
	struct tl_note *n = NULL, *same = NULL;
	char room[2][MAX_STRING];

	name = cut(name, MAX_NAME, room[0]);
	text = cut(text, MAX_STRING, room[1]);
	for (uint32_t i = 0; i < tl->n_notes; i++) {
		n = &tl->notes[i];
		if (n->anomaly != anomaly || !str_eq(str_c(n->name), name))
			continue;
		same = n;
		/* Counted by its words: one name, "limit", is many things.
		 * When there are too many of them, by its name alone. */
		if (str_eq(str_c(n->text), text))
			goto count;
	}
	n = same;
	if (tl->n_notes >= MAX_NOTES) {
		if (same == NULL)
			return;
		goto count;
	}
	tl->notes = xgrow(tl->notes, tl->n_notes, &tl->cap_notes, sizeof *n);
	n = &tl->notes[tl->n_notes++];
	*n = (struct tl_note){ .pkt = pkt, .anomaly = anomaly };
	n->name = xmemdup0(name.p ? name.p : "", name.n);
	n->text = xmemdup0(text.p ? text.p : "", text.n);
count:
	n->count++;
}

static void
free_stream(struct snode *s)
{
	free(s->s.cursor);
	free(s->s.roles);
	free(s);
}

static void
free_session(struct timeline *tl, struct sess *s)
{
	free(s->s.key);
	intern_put(&tl->names, s->s.revision);
	intern_put(&tl->names, s->s.client);
	intern_put(&tl->names, s->s.server);
	intern_put(&tl->names, s->s.endpoint);
	intern_put(&tl->names, s->s.looks_like);
	intern_put(&tl->names, s->s.evidence);
	intern_put(&tl->names, s->s.client_looks_like);
	intern_put(&tl->names, s->s.client_evidence);
	free(s->s.streams);
	free(s);
}

/* Takes the dropped ones out of the list of numbers. */
static void
tidy_session(const struct timeline *tl, struct sess *s)
{
	uint32_t n = 0;

	if (s->gone == 0)
		return;
	for (uint32_t i = 0; i < s->s.n_streams; i++)
		if (index_find(&tl->by_stream, s->s.streams[i]))
			s->s.streams[n++] = s->s.streams[i];
	s->s.n_streams = n;
	s->gone = 0;
}

static void
tidy_streams(struct timeline *tl)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < tl->n_order; i++) {
		if (tl->order[i] == NULL)
			continue;
		tl->order[n] = tl->order[i];
		tl->order[n]->at = n;
		n++;
	}
	tl->n_order = n;
}

static void
drop_stream(struct timeline *tl)
{
	struct snode *s;
	struct sess *ss;
	unsigned l = 0;

	while (tl->lists[l] == NULL)
		l++;
	s = tl->lists[l];
	DL_DELETE(tl->lists[l], s);
	index_del(&tl->by_stream, s->s.n);
	tl->order[s->at] = NULL;
	tl->n_streams--;
	tl->dropped_streams++;
	ss = index_get(&tl->by_session, s->s.session);
	if (ss) {
		ss->s.dropped_streams++;
		if (++ss->gone > ss->s.n_streams / 2)
			tidy_session(tl, ss);
	}
	free_stream(s);
	if (tl->n_order > 16 && tl->n_streams < tl->n_order / 2)
		tidy_streams(tl);
}

static void
tidy_sessions(struct timeline *tl)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < tl->n_sorder; i++) {
		if (tl->sorder[i] == NULL)
			continue;
		tl->sorder[n] = tl->sorder[i];
		tl->sorder[n]->at = n;
		n++;
	}
	tl->n_sorder = n;
}

static void
drop_session(struct timeline *tl)
{
	struct sess *s = tl->lru;

	DL_DELETE(tl->lru, s);
	index_del(&tl->by_session, s->s.n);
	tl->sorder[s->at] = NULL;
	tl->n_sessions--;
	tl->dropped_sessions++;
	free_session(tl, s);
	if (tl->n_sorder > 16 && tl->n_sessions < tl->n_sorder / 2)
		tidy_sessions(tl);
}

static struct recent *
recent_of(const struct timeline *tl, uint32_t x)
{
	struct recent *r = tl->recent ? &tl->recent[x % N_RECENT] : NULL;

	return r && x && r->x == x ? r : NULL;
}

static void
count_exchange(struct sess *s, struct recent *r)
{
	if (r->counted)
		return;
	r->counted = true;
	s->s.exchanges++;
	s->s.posts += r->post;
	s->s.gets += r->get;
	if (r->t < s->s.opened)
		s->s.opened = r->t;
}

/* The session of an event, with what every event tells of it: its time, and
 * that its exchange belongs to it.  An initialize is known to belong to a
 * session only when that has been answered. */
static struct sess *
touch_session(struct timeline *tl, const struct ev *e)
{
	struct sess *s = index_get(&tl->by_session, e->session);
	struct recent *r;

	if (s == NULL)
		return NULL;
	if (s != tl->lru->prev) {
		DL_DELETE(tl->lru, s);
		DL_APPEND(tl->lru, s);
	}
	if (e->t > s->s.closed)
		s->s.closed = e->t;
	if ((e->type == EV_REQUEST || e->type == EV_RESPONSE ||
	    e->type == EV_STREAM) && (r = recent_of(tl, e->x)) != NULL)
		count_exchange(s, r);
	return s;
}

static void
on_session(struct timeline *tl, const struct ev *e)
{
	struct sess *s = index_get(&tl->by_session, e->session);

	if (e->session == 0)
		return;
	if (s == NULL) {
		if (tl->n_sessions >= tl->lim.sessions)
			drop_session(tl);
		s = xcalloc(1, sizeof *s);
		s->s.n = e->session;
		s->s.opened = s->s.closed = e->t;
		s->at = tl->n_sorder;
		tl->sorder = xgrow(tl->sorder, tl->n_sorder, &tl->cap_sorder,
		    sizeof(void *));
		tl->sorder[tl->n_sorder++] = s;
		tl->n_sessions++;
		DL_APPEND(tl->lru, s);
		index_put(&tl->by_session, s->s.n, s);
	}
	set_id(&s->s.key, e->u.session.key);
	set_name(tl, &s->s.revision, e->u.session.revision);
	set_name(tl, &s->s.client, e->u.session.client);
	set_name(tl, &s->s.server, e->u.session.server);
	set_name(tl, &s->s.endpoint, e->u.session.endpoint);
	set_name(tl, &s->s.looks_like, e->u.session.looks_like);
	set_name(tl, &s->s.evidence, e->u.session.evidence);
	set_name(tl, &s->s.client_looks_like, e->u.session.client_looks_like);
	set_name(tl, &s->s.client_evidence, e->u.session.client_evidence);
	s->s.transport = e->u.session.transport;
	s->s.inferred = (e->flags & EVF_INFERRED) != 0;
	s->s.offered = e->u.session.offered;
	s->s.list_changed = e->u.session.list_changed;
}

static void
list_in_session(struct sess *s, uint32_t n)
{
	s->s.streams = xgrow(s->s.streams, s->s.n_streams, &s->cap_streams,
	    sizeof *s->s.streams);
	s->s.streams[s->s.n_streams++] = n;
}

static struct snode *
new_stream(struct timeline *tl, const struct ev *e, struct sess *ss)
{
	struct snode *s;

	if (tl->n_streams >= tl->lim.streams)
		drop_stream(tl);
	s = xcalloc(1, sizeof *s);
	s->s.n = e->stream;
	s->s.is_open = true;
	s->s.retry_ms = -1;
	s->s.xn = TL_NO_XN;
	s->list = L_LIVE;
	s->at = tl->n_order;
	tl->order = xgrow(tl->order, tl->n_order, &tl->cap_order, sizeof(void *));
	tl->order[tl->n_order++] = s;
	tl->n_streams++;
	DL_APPEND(tl->lists[L_LIVE], s);
	index_put(&tl->by_stream, s->s.n, s);
	s->s.session = e->session;
	if (ss)
		list_in_session(ss, s->s.n);
	return s;
}

static void
on_stream(struct timeline *tl, const struct ev *e, struct sess *ss)
{
	struct snode *s = index_get(&tl->by_stream, e->stream);
	struct recent *r = recent_of(tl, e->x);

	if (e->stream == 0)
		return;
	if (s == NULL) {
		s = new_stream(tl, e, ss);
		tl->counts.sse_streams++;
	} else
		tl->counts.sse_by_kind[s->s.kind]--;
	s->s.kind = e->u.stream.kind;
	tl->counts.sse_by_kind[s->s.kind]++;
	s->s.conn = e->conn;
	s->s.x = e->x;
	s->s.flags |= e->flags;
	s->s.pkt = e->pkt;
	s->s.opened = e->t;
	s->s.requested = e->u.stream.requested;
	s->s.request_pkt = e->u.stream.request_pkt;
	s->s.lineage = e->u.stream.lineage;
	s->s.previous = e->u.stream.previous;
	s->s.resumes = e->u.stream.resumes;
	s->s.givers = e->u.stream.givers;
	s->s.delay_ms = e->u.stream.delay_ms;
	set_id(&s->s.cursor, e->u.stream.cursor);
	if (r)
		s->s.xn = r->xn;
}

static void
on_stream_end(struct timeline *tl, const struct ev *e, struct sess *ss)
{
	struct snode *s = index_get(&tl->by_stream, e->stream);
	enum list to = L_ENDED;

	if (s == NULL)
		return;
	s->s.end = e->u.stream_end.end;
	s->s.events = e->u.stream_end.events;
	s->s.comments = e->u.stream_end.comments;
	s->s.ended = e->t;
	s->s.end_pkt = e->pkt;
	s->s.flags |= e->flags;
	s->s.is_open = s->s.end == EV_OPEN;
	/* A stream may learn of its session while it runs. */
	if (s->s.session == 0 && ss) {
		s->s.session = e->session;
		list_in_session(ss, s->s.n);
	}
	if (s->s.kind == EV_POST_RESPONSE && s->s.end == EV_COMPLETE &&
	    s->s.flags == 0)
		to = L_ANSWERED;
	else if (s->s.is_open)
		to = L_LIVE;
	DL_DELETE(tl->lists[s->list], s);
	DL_APPEND(tl->lists[to], s);
	s->list = (uint8_t)to;
}

static void
on_owner(struct timeline *tl, const struct ev *e)
{
	struct snode *s = index_get(&tl->by_stream, e->stream);
	uint32_t cap;

	if (s == NULL)
		return;
	if (s->s.n_roles == MAX_ROLES) {
		s->s.n_roles--;
		s->s.more_roles++;
	}
	cap = s->cap_roles;
	s->s.roles = xgrow(s->s.roles, s->s.n_roles, &cap, sizeof *s->s.roles);
	s->cap_roles = (uint16_t)cap;
	s->s.roles[s->s.n_roles++] = (struct tl_role){ .t = e->t, .pkt = e->pkt,
	    .cause = e->u.owner.cause, .role = e->u.owner.to, .by = e->u.owner.by };
}

static void
on_request(struct timeline *tl, const struct ev *e)
{
	tl->counts.http_exchanges++;
	if (e->x == 0)
		return;
	if (tl->recent == NULL)
		tl->recent = xcalloc(N_RECENT, sizeof *tl->recent);
	tl->recent[e->x % N_RECENT] = (struct recent){ .x = e->x,
	    .xn = e->flags & EVF_HEAD_LOST ? TL_NO_XN : e->u.req.n, .t = e->t,
	    .post = str_eq(e->u.req.method, STR("POST")),
	    .get = str_eq(e->u.req.method, STR("GET")) };
}

static void
on_sse(struct timeline *tl, const struct ev *e)
{
	struct snode *s = index_get(&tl->by_stream, e->stream);

	tl->counts.sse_events += e->u.sse.dispatched;
	if (s == NULL)
		return;
	s->s.events += e->u.sse.dispatched;
	s->s.flags |= e->flags & EVF_CUT;
	if (e->u.sse.retry_ms >= 0)
		s->s.retry_ms = e->u.sse.retry_ms;
}

static void
on_file(struct timeline *tl, const struct ev *e)
{
	struct tl_file *f;

	if (tl->n_files >= MAX_FILES) {
		add_note(tl, STR("files"), STR("more input files than are "
		    "listed here; all were read"), false, 0);
		return;
	}
	tl->files = xgrow(tl->files, tl->n_files, &tl->cap_files, sizeof *f);
	f = &tl->files[tl->n_files++];
	*f = (struct tl_file){ .packets = e->u.file.packets,
	    .dropped = e->u.file.dropped, .truncated = e->u.file.truncated };
	set(&f->name, e->u.file.name);
	set(&f->format, e->u.file.format);
	set(&f->packing, e->u.file.packing);
	set(&f->linktypes, e->u.file.linktypes);
	set(&f->error, e->u.file.error);
}

static void
on_finding(struct timeline *tl, const struct ev *e)
{
	if (!(e->flags & EVF_FINAL) || e->u.finding == NULL)
		return;
	tl->findings = xgrow(tl->findings, tl->n_findings, &tl->cap_findings,
	    sizeof(void *));
	tl->findings[tl->n_findings++] = e->u.finding;
}

struct timeline *
timeline_new(const struct limits *lim)
{
	struct timeline *tl = xcalloc(1, sizeof *tl);

	tl->lim = *lim;
	tl->total.type = EV_END;
	return tl;
}

void
timeline_free(struct timeline *tl)
{
	if (tl == NULL)
		return;
	for (uint32_t i = 0; i < tl->n_order; i++)
		if (tl->order[i])
			free_stream(tl->order[i]);
	for (uint32_t i = 0; i < tl->n_sorder; i++)
		if (tl->sorder[i])
			free_session(tl, tl->sorder[i]);
	for (uint32_t i = 0; i < tl->n_notes; i++) {
		free(tl->notes[i].name);
		free(tl->notes[i].text);
	}
	for (uint32_t i = 0; i < tl->n_files; i++) {
		free(tl->files[i].name);
		free(tl->files[i].format);
		free(tl->files[i].packing);
		free(tl->files[i].linktypes);
		free(tl->files[i].error);
	}
	free(tl->order);
	free(tl->sorder);
	free(tl->notes);
	free(tl->files);
	free(tl->findings);
	free(tl->recent);
	free(tl->by_stream.slot);
	free(tl->by_session.slot);
	free(tl->shown_sessions);
	free(tl->shown_streams);
	free(tl);
}

void
timeline_event(struct timeline *tl, const struct ev *e)
{
	struct sess *s = NULL;

	if (e->type == EV_REQUEST)
		on_request(tl, e);
	/* The frequent ones change nothing that the stream's end does not tell. */
	if (e->session && e->type != EV_COMMENT && e->type != EV_SSE &&
	    e->type != EV_MESSAGE)
		s = touch_session(tl, e);
	switch (e->type) {
	case EV_FILE:
		on_file(tl, e);
		return;
	case EV_CONN:
		tl->counts.conns++;
		tl->counts.midstream += (e->flags & EVF_MIDSTREAM) != 0;
		return;
	case EV_RESPONSE_END:
	case EV_REQUEST_END:
		tl->counts.undecoded += (e->flags & EVF_UNDECODED) != 0;
		return;
	case EV_SESSION:
		on_session(tl, e);
		return;
	case EV_SESSION_END:
		if (s && s->s.transport != EV_LEGACY_SSE)
			s->s.deleted = true;
		return;
	case EV_STREAM:
		on_stream(tl, e, s);
		return;
	case EV_STREAM_END:
		on_stream_end(tl, e, s);
		return;
	case EV_SSE:
		on_sse(tl, e);
		return;
	case EV_COMMENT:		/* for its stream: told at the end */
		tl->counts.sse_comments++;
		return;
	case EV_MESSAGE:
		tl->counts.jsonrpc[e->u.msg.kind]++;
		return;
	case EV_OWNER:
		on_owner(tl, e);
		return;
	case EV_GAP:
		tl->counts.gaps++;
		tl->counts.gap_bytes += e->u.gap.bytes;
		return;
	case EV_ANOMALY:
	case EV_NOTE:
		add_note(tl, e->u.note.name, e->u.note.text,
		    e->type == EV_ANOMALY, e->pkt);
		return;
	case EV_FINDING:
		on_finding(tl, e);
		return;
	case EV_END:
		tl->total = *e;
		tl->counts.tcp_connections = e->u.total.tcp_connections;
		return;
	case EV_REQUEST: case EV_RESPONSE: case EV_CONN_END: case EV_STALL:
	case EV_N_TYPES:
		return;
	}
}

const struct tl_counts *
timeline_counts(const struct timeline *tl)
{
	return &tl->counts;
}

const struct tl_session *
timeline_session(const struct timeline *tl, uint32_t i)
{
	if (tl->shown_sessions)
		return i > tl->n_sorder ? NULL : tl->shown_sessions[i];
	if (tl->n_sessions < tl->n_sorder)
		tidy_sessions((struct timeline *)(uintptr_t)tl);
	if (i >= tl->n_sorder)
		return NULL;
	tidy_session(tl, tl->sorder[i]);
	return &tl->sorder[i]->s;
}

const struct tl_stream *
timeline_stream(const struct timeline *tl, uint32_t i)
{
	if (tl->shown_streams)
		return i > tl->n_order ? NULL : tl->shown_streams[i];
	if (tl->n_streams < tl->n_order)
		tidy_streams((struct timeline *)(uintptr_t)tl);
	return i < tl->n_order ? &tl->order[i]->s : NULL;
}

const struct tl_note *
timeline_note(const struct timeline *tl, uint32_t i)
{
	return i < tl->n_notes ? &tl->notes[i] : NULL;
}

const struct tl_file *
timeline_file(const struct timeline *tl, uint32_t i)
{
	return i < tl->n_files ? &tl->files[i] : NULL;
}

struct tl_session *
timeline_find_session(struct timeline *tl, uint32_t n)
{
	struct sess *s = index_get(&tl->by_session, n);

	return s ? &s->s : NULL;
}

struct tl_stream *
timeline_find_stream(struct timeline *tl, uint32_t n)
{
	struct snode *s = index_get(&tl->by_stream, n);

	return s ? &s->s : NULL;
}

const struct tl_session *
timeline_session_n(const struct timeline *tl, uint32_t n)
{
	const struct slot *at = index_find(&tl->by_session, n);
	struct sess *s = at ? at->p : NULL;

	if (s == NULL)
		return NULL;
	tidy_session(tl, s);
	return &s->s;
}

const struct tl_stream *
timeline_stream_n(const struct timeline *tl, uint32_t n)
{
	const struct slot *at = index_find(&tl->by_stream, n);
	const struct snode *s = at ? at->p : NULL;

	return s ? &s->s : NULL;
}

const struct finding *
timeline_finding(const struct timeline *tl, uint32_t i)
{
	return i < tl->n_findings ? tl->findings[i] : NULL;
}

const struct ev *
timeline_total(const struct timeline *tl)
{
	return &tl->total;
}

uint64_t
timeline_dropped_streams(const struct timeline *tl)
{
	return tl->dropped_streams;
}

uint64_t
timeline_dropped_sessions(const struct timeline *tl)
{
	return tl->dropped_sessions;
}
