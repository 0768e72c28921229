#include "ladder.h"

#include <inttypes.h>

#define MAX_WORD 160		/* bytes of one wire string in a row */
/* One keep-alive in so many items is a row in any case, so that the walk to
 * the next row is never long. */
#define BLOCK 512

static const struct store_item *
item(const struct ladder *l, uint64_t no)
{
	if (no == 0 || (l->limit && no > l->limit))
		return NULL;
	return store_item(l->store, no);
}

/* ---- what belongs together ---- */

static bool
is_answer(const struct ev *e)
{
	return e->type == EV_MESSAGE && e->dir == EV_S2C && !e->u.msg.sse;
}

/* Whether an item of type e is part of a row that `head` begins. */
static bool
part_of(const struct ev *head, const struct ev *e)
{
	if (head->x != e->x || e->x == 0)
		return false;
	switch (head->type) {
	case EV_REQUEST:
		return e->type == EV_MESSAGE && e->dir == EV_C2S;
	case EV_RESPONSE:
		return e->type == EV_STREAM || is_answer(e);
	case EV_SSE:
		return e->type == EV_MESSAGE && e->dir == EV_S2C && e->u.msg.sse;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END:
	case EV_RESPONSE_END: case EV_SESSION: case EV_SESSION_END: case EV_STREAM:
	case EV_STREAM_END: case EV_COMMENT: case EV_MESSAGE: case EV_OWNER:
	case EV_STALL: case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_FINDING:
	case EV_END: case EV_N_TYPES:
		break;
	}
	return false;
}

/* The item that begins the row which `it` is part of; NULL: it begins one
 * itself.  Only the first message of a kind is part of another's row. */
static const struct store_item *
head_of(const struct ladder *l, const struct store_item *it)
{
	const struct store_item *at = it;
	const struct ev *e = it->ev;

	if (e->type != EV_MESSAGE && e->type != EV_STREAM)
		return NULL;
	for (int i = 0; i < LADDER_NEAR; i++) {
		at = item(l, at->prev);
		if (at == NULL)
			return NULL;
		if (part_of(at->ev, e))
			return at;
		if (at->ev->x == e->x && at->ev->type == e->type && at->ev->dir == e->dir)
			return NULL;
	}
	return NULL;
}

/* The first item of that type in the row that `it` begins, or NULL. */
static const struct store_item *
part(const struct ladder *l, const struct store_item *it, enum ev_type type)
{
	const struct store_item *at = it;

	for (int i = 0; i < LADDER_NEAR; i++) {
		at = item(l, at->next);
		if (at == NULL)
			return NULL;
		if (at->ev->type == type && part_of(it->ev, at->ev))
			return at;
		if (at->ev->x == it->ev->x && at->ev->type == it->ev->type)
			return NULL;
	}
	return NULL;
}

/* Whether the stream's end, just before, says it all. */
static bool
was_stream(const struct ladder *l, const struct store_item *it)
{
	const struct store_item *at = it;

	for (int i = 0; i < LADDER_NEAR; i++) {
		at = item(l, at->prev);
		if (at == NULL)
			return false;
		if (at->ev->x == it->ev->x && at->ev->type == EV_STREAM_END)
			return true;
	}
	return false;
}

static bool
is_row(const struct ladder *l, const struct store_item *it)
{
	const struct ev *e = it->ev;

	switch (e->type) {
	case EV_REQUEST: case EV_RESPONSE: case EV_SSE: case EV_STREAM_END: case EV_STALL:
	case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_SESSION_END:
		return true;
	case EV_MESSAGE: case EV_STREAM:
		return head_of(l, it) == NULL;
	case EV_REQUEST_END:
		return l->detail || e->u.end.end != EV_COMPLETE;
	case EV_RESPONSE_END:
		return (l->detail || e->u.end.end != EV_COMPLETE) && !was_stream(l, it);
	case EV_OWNER:
		return l->detail || e->u.owner.to != EV_CLOSED;
	case EV_COMMENT:
		return l->detail || (it->next && it->next / BLOCK != it->no / BLOCK);
	case EV_CONN_END:
		return l->detail || str_eq(e->u.conn_end.how, STR("rst"));
	case EV_CONN: case EV_SESSION: case EV_FILE: case EV_END:
		return l->detail;
	case EV_FINDING: case EV_N_TYPES:
		break;
	}
	return false;
}

/* ---- walking ---- */

static uint64_t
walk(const struct ladder *l, uint64_t no, bool back)
{
	const struct store_item *it;

	while ((it = item(l, no)) != NULL && !is_row(l, it))
		no = back ? it->prev : it->next;
	return it ? no : 0;
}

uint64_t
ladder_first(const struct ladder *l)
{
	return walk(l, store_session_first(l->store, l->session), false);
}

uint64_t
ladder_last(const struct ladder *l)
{
	uint64_t no = store_session_last(l->store, l->session);
	const struct store_item *it;

	while (l->limit && no > l->limit && (it = store_item(l->store, no)) != NULL)
		no = it->prev;
	return walk(l, no, true);
}

uint64_t
ladder_next(const struct ladder *l, uint64_t row)
{
	const struct store_item *it = item(l, row);

	return it ? walk(l, it->next, false) : 0;
}

uint64_t
ladder_prev(const struct ladder *l, uint64_t row)
{
	const struct store_item *it = item(l, row);

	return it ? walk(l, it->prev, true) : 0;
}

uint64_t
ladder_row_of(const struct ladder *l, uint64_t no)
{
	const struct store_item *it = item(l, no), *head = it ? head_of(l, it) : NULL;
	uint64_t row;

	if (head)
		return head->no;
	row = walk(l, no, true);
	return row ? row : ladder_first(l);
}

uint64_t
ladder_find_pkt(const struct ladder *l, uint32_t pkt)
{
	const struct store_item *it;
	uint64_t no = store_session_first(l->store, l->session), row = 0;

	for (; (it = item(l, no)) != NULL; no = it->next) {
		if (it->ev->pkt == pkt && (row == 0 || is_row(l, it)))
			row = ladder_row_of(l, no);
		if (row && it->ev->pkt == pkt && is_row(l, it))
			return row;
		if (it->ev->pkt > pkt)
			return row ? row : ladder_row_of(l, no);
	}
	return row ? row : ladder_last(l);
}

unsigned
ladder_items(const struct ladder *l, uint64_t row, uint64_t *items, unsigned max)
{
	const struct store_item *it = item(l, row), *at = it, *p;
	unsigned n = 0;

	if (it == NULL || max == 0)
		return 0;
	items[n++] = row;
	for (int i = 0; i < LADDER_NEAR && n < max; i++) {
		p = item(l, at->next);
		if (p == NULL || (p->ev->x == it->ev->x && p->ev->type == it->ev->type))
			break;
		if (part_of(it->ev, p->ev) || (p->ev->x == it->ev->x && p->text.p &&
		    ((it->ev->type == EV_REQUEST && p->ev->type == EV_REQUEST_END) ||
		    (it->ev->type == EV_RESPONSE && p->ev->type == EV_RESPONSE_END))))
			items[n++] = p->no;
		at = p;
	}
	return n;
}

uint64_t
ladder_message(const struct ladder *l, uint64_t row)
{
	const struct store_item *it = item(l, row), *msg;

	msg = it ? part(l, it, EV_MESSAGE) : NULL;
	return msg ? msg->no : row;
}

/* ---- what a row says ---- */

static void
word(struct buf *b, struct str s)
{
	if (s.n > MAX_WORD) {
		(void)buf_add(b, s.p, MAX_WORD);
		(void)buf_adds(b, STR("…"));
	} else
		(void)buf_adds(b, s);
}

static void
labelled(struct buf *b, const char *label, struct str s)
{
	if (s.p == NULL)
		return;
	(void)buf_adds(b, str_c(label));
	word(b, s);
}

static void
message(struct buf *b, const struct ev *e, bool kind)
{
	switch (e->u.msg.kind) {
	case EV_MSG_REQUEST: case EV_MSG_NOTIFICATION:
		word(b, e->u.msg.method);
		break;
	case EV_MSG_RESPONSE:
		(void)buf_adds(b, STR("result"));
		break;
	case EV_MSG_ERROR:
		labelled(b, "error ", e->u.msg.code.p ? e->u.msg.code : STR(""));
		break;
	case EV_MSG_INVALID:
		(void)buf_adds(b, STR("no valid message"));
		break;
	}
	labelled(b, " id=", e->u.msg.id);
	if (e->u.msg.name.p) {
		labelled(b, " \"", e->u.msg.name);
		(void)buf_addc(b, '"');
	}
	if (e->u.msg.answers.p) {
		labelled(b, " (", e->u.msg.answers);
		(void)buf_addc(b, ')');
	}
	labelled(b, " of id=", e->u.msg.cancels);
	labelled(b, ": ", e->u.msg.error);
	if (kind && e->u.msg.channel == EV_CH_COMMON)
		(void)buf_adds(b, STR(" [common]"));
	if (e->u.msg.batch)
		(void)buf_adds(b, STR(" [batch]"));
}

static void
stream_name(struct buf *b, const struct ev *e)
{
	if (e->stream)
		(void)buf_fmt(b, "#%u", e->stream);
}

static void
request(const struct ladder *l, const struct store_item *it, struct ladder_row *r)
{
	const struct ev *e = it->ev;
	const struct store_item *msg = part(l, it, EV_MESSAGE);
	struct buf *b = &r->text;

	word(b, e->u.req.method.p ? e->u.req.method : STR("(head not captured)"));
	if (l->detail || (msg == NULL && e->u.req.cursor.p == NULL)) {
		(void)buf_addc(b, ' ');
		word(b, e->u.req.target);
	}
	labelled(b, " Last-Event-ID: ", e->u.req.cursor);
	if (msg) {
		(void)buf_addc(b, ' ');
		message(b, msg->ev, false);
		r->style = msg->ev->u.msg.kind >= EV_MSG_ERROR ? STYLE_ERROR : r->style;
	}
	if (l->detail && e->u.req.sid.p)
		labelled(b, " session ", e->u.req.sid);
}

static void
stream(struct buf *b, const struct ev *e)
{
	(void)buf_fmt(b, " #%u %s", e->stream, ev_kind_names[e->u.stream.kind]);
	if (e->u.stream.previous)
		(void)buf_fmt(b, ", after #%u", e->u.stream.previous);
	if (e->u.stream.resumes && e->u.stream.resumes != e->u.stream.previous)
		(void)buf_fmt(b, ", resumes #%u", e->u.stream.resumes);
}

static void
response(const struct ladder *l, const struct store_item *it, struct ladder_row *r)
{
	const struct ev *e = it->ev;
	const struct store_item *msg = part(l, it, EV_MESSAGE), *st = part(l, it, EV_STREAM);

	if (e->u.resp.status)
		(void)buf_fmt(&r->text, "%u", e->u.resp.status);
	else
		(void)buf_adds(&r->text, STR("(head not captured)"));
	labelled(&r->text, " ", e->u.resp.content_type);
	if (st)
		stream(&r->text, st->ev);
	if (msg) {
		(void)buf_addc(&r->text, ' ');
		message(&r->text, msg->ev, false);
	}
	if (e->u.resp.status >= 400 || (msg && msg->ev->u.msg.kind == EV_MSG_ERROR))
		r->style = STYLE_ERROR;
}

static void
sse(const struct ladder *l, const struct store_item *it, struct ladder_row *r)
{
	const struct ev *e = it->ev;
	const struct store_item *msg = part(l, it, EV_MESSAGE);
	struct buf *b = &r->text;

	stream_name(b, e);
	if (e->flags & EVF_REPLAY)
		(void)buf_adds(b, STR(" replayed"));
	if (e->u.sse.name.n && !str_eq(e->u.sse.name, STR("message")))
		labelled(b, " ", e->u.sse.name);
	if (msg) {
		(void)buf_addc(b, ' ');
		message(b, msg->ev, true);
	} else if (!e->u.sse.data)
		(void)buf_adds(b, e->u.sse.dispatched ? STR(" priming event") :
		    STR(" no data"));
	else
		(void)buf_fmt(b, " %" PRIu64 " bytes", e->u.sse.bytes);
	labelled(b, e->u.sse.id.n ? ", event id " : ", empty event id", e->u.sse.id);
	if (e->u.sse.retry_ms >= 0)
		(void)buf_fmt(b, ", retry %" PRId64 " ms", e->u.sse.retry_ms);
	if (e->u.sse.tail)
		(void)buf_adds(b, STR(", cut off"));
	if (e->flags & EVF_LATE)
		(void)buf_adds(b, STR(", after the client left"));
	if (msg && msg->ev->u.msg.kind == EV_MSG_ERROR)
		r->style = STYLE_ERROR;
}

static void
end(struct ladder_row *r, const struct ev *e, const char *what, enum ev_end how)
{
	static const struct {
		enum glyph glyph;
		const char *text;
	} ends[] = {
		[EV_COMPLETE] = { GLYPH_CLOSE_SERVER, "ended by the server" },
		[EV_TRUNCATED] = { GLYPH_CUT, "cut off by the server" },
		[EV_CLIENT] = { GLYPH_CLOSE_CLIENT, "left by the client" },
		[EV_LOST] = { GLYPH_CUT, "ended, the capture does not show how" },
		[EV_OPEN] = { GLYPH_N, "open when the capture ended" },
	};
	bool request_side = e->type == EV_REQUEST_END;

	r->glyph = ends[how].glyph;
	if (request_side && how == EV_COMPLETE)
		r->glyph = GLYPH_N;
	r->way = how == EV_OPEN || how == EV_LOST ? LADDER_NOTE :
	    how == EV_CLIENT || request_side ? LADDER_C2S : LADDER_S2C;
	r->style = how == EV_TRUNCATED ? STYLE_WARNING : STYLE_DIM;
	stream_name(&r->text, e);
	(void)buf_fmt(&r->text, "%s%s %s", e->stream ? " " : "", what,
	    request_side && how == EV_COMPLETE ? "complete" : ends[how].text);
	if (e->flags & EVF_INFERRED)
		(void)buf_adds(&r->text, STR(" (inferred)"));
}

static void
stream_end(struct ladder_row *r, const struct ev *e)
{
	uint32_t events = e->u.stream_end.events, comments = e->u.stream_end.comments;

	end(r, e, "stream", e->u.stream_end.end);
	(void)buf_fmt(&r->text, ", %u event%s", events, events == 1 ? "" : "s");
	if (comments)
		(void)buf_fmt(&r->text, ", %u keep-alive%s", comments, comments == 1 ? "" : "s");
}

/* The change of owner that an event makes; NULL: it tells no more than a role. */
static const struct change *
change_of(const struct ladder *l, const struct ev *e)
{
	const struct changes *c = l->changes;
	uint32_t lo = 0, hi = c ? c->n : 0;

	if (e->u.owner.to != EV_PRESUMED &&
	    (e->u.owner.to != EV_PRIMARY || e->u.owner.from == EV_PRESUMED))
		return NULL;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->all[mid].pkt < e->pkt)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; c && lo < c->n && c->all[lo].pkt == e->pkt; lo++)
		if (c->all[lo].to == e->stream)
			return &c->all[lo];
	return NULL;
}

static void
owner(const struct ladder *l, struct ladder_row *r, const struct ev *e)
{
	static const struct {
		enum glyph glyph;
		unsigned style;
		const char *text;
	} roles[] = {
		[EV_PRESUMED] = { GLYPH_PRESUMED, STYLE_PRIMARY, "is presumed owner" },
		[EV_PRIMARY] = { GLYPH_PRIMARY, STYLE_PRIMARY, "is primary: owns the channel" },
		[EV_SHADOW] = { GLYPH_SHADOW, STYLE_SHADOW, "is a shadow" },
		[EV_ORPHAN] = { GLYPH_ORPHAN, STYLE_ORPHAN,
		    "is an orphan: cut off from the channel" },
		[EV_REQUEST_STREAM] = { GLYPH_EVENT, STYLE_INFO, "belongs to one request" },
		[EV_CLOSED] = { GLYPH_CLOSED, STYLE_DIM, "is closed" },
	};
	uint32_t cause = e->u.owner.cause;
	const struct change *change = change_of(l, e);

	r->way = LADDER_NOTE;
	r->glyph = roles[e->u.owner.to].glyph;
	r->style = roles[e->u.owner.to].style;
	if (change) {
		if (change_kind(l->timeline, change) == CHANGE_TAKEOVER) {
			r->glyph = GLYPH_TAKEOVER;
			r->style = STYLE_WARNING;
		}
		change_text(l->timeline, change, &r->text);
		return;
	}
	stream_name(&r->text, e);
	(void)buf_fmt(&r->text, " %s", roles[e->u.owner.to].text);
	if (e->u.owner.from != EV_CLOSED)
		(void)buf_fmt(&r->text, " (was %s)", ev_role_names[e->u.owner.from]);
	switch (e->u.owner.by) {
	case EV_BY_OPEN:
		if (cause && cause != e->stream)
			(void)buf_fmt(&r->text, ", since #%u opened", cause);
		break;
	case EV_BY_CLOSE:
		if (cause && cause != e->stream)
			(void)buf_fmt(&r->text, ", since #%u ended", cause);
		break;
	case EV_BY_MESSAGE:
		(void)buf_adds(&r->text, STR(", shown by a message"));
		if (cause && cause != e->stream)
			(void)buf_fmt(&r->text, " on #%u", cause);
		break;
	case EV_BY_RESPONSE:
		(void)buf_adds(&r->text, STR(", shown by a response"));
		break;
	}
}

static void
conn_end(struct ladder_row *r, const struct ev *e)
{
	bool reset = str_eq(e->u.conn_end.how, STR("rst"));

	r->way = (e->dir == EV_C2S) != e->u.conn_end.by_peer ? LADDER_C2S : LADDER_S2C;
	r->style = reset ? STYLE_WARNING : STYLE_DIM;
	if (reset || str_eq(e->u.conn_end.how, STR("fin")))
		(void)buf_adds(&r->text, reset ? STR("RST") : STR("FIN"));
	else
		word(&r->text, e->u.conn_end.how);
	(void)buf_fmt(&r->text, " of connection %u", e->conn);
}

static void
session(struct ladder_row *r, const struct ev *e)
{
	r->way = LADDER_NOTE;
	r->style = STYLE_DIM;
	labelled(&r->text, "session ", e->u.session.key);
	(void)buf_fmt(&r->text, ", %s", ev_transport_names[e->u.session.transport]);
	labelled(&r->text, " ", e->u.session.revision);
	labelled(&r->text, ", client ", e->u.session.client);
	labelled(&r->text, ", server ", e->u.session.server);
}

/* Rows that nobody sends. */
static void
note(struct ladder_row *r, const struct ev *e, const struct store_item *it)
{
	r->way = LADDER_NOTE;
	r->style = STYLE_DIM;
	switch (e->type) {
	case EV_SESSION:
		session(r, e);
		break;
	case EV_SESSION_END:
		(void)buf_adds(&r->text, STR("session ended"));
		break;
	case EV_STALL:
		r->style = STYLE_WARNING;
		r->glyph = GLYPH_WARNING;
		(void)buf_fmt(&r->text, "%" PRIu64 " bytes not acknowledged since packet %u%s",
		    e->u.stall.bytes, e->u.stall.since_pkt,
		    e->u.stall.zero_window ? ", window closed" : "");
		break;
	case EV_GAP:
		r->style = STYLE_WARNING;
		r->glyph = GLYPH_WARNING;
		(void)buf_fmt(&r->text, "%" PRIu64 " bytes of the %s not captured, connection %u",
		    e->u.gap.bytes, e->dir == EV_C2S ? "client" : "server", e->conn);
		break;
	case EV_ANOMALY: case EV_NOTE:
		r->style = STYLE_WARNING;
		word(&r->text, e->u.note.name);
		labelled(&r->text, ": ", e->u.note.text);
		break;
	case EV_CONN:
		(void)buf_fmt(&r->text, "connection %u", e->conn);
		labelled(&r->text, ", ", e->u.conn.client);
		labelled(&r->text, " to ", e->u.conn.server);
		break;
	case EV_FILE:
		labelled(&r->text, "file ", e->u.file.name);
		break;
	case EV_END:
		(void)buf_adds(&r->text, STR("end of the capture"));
		break;
	case EV_CONN_END: case EV_REQUEST: case EV_REQUEST_END: case EV_RESPONSE:
	case EV_RESPONSE_END: case EV_STREAM: case EV_STREAM_END: case EV_SSE:
	case EV_COMMENT: case EV_MESSAGE: case EV_OWNER: case EV_FINDING: case EV_N_TYPES:
		(void)buf_fmt(&r->text, "item %" PRIu64, it->no);
		break;
	}
}

static void
comment(const struct ladder *l, struct ladder_row *r, const struct ev *e)
{
	r->way = LADDER_S2C;
	r->style = STYLE_DIM;
	stream_name(&r->text, e);
	if (!l->detail) {
		(void)buf_adds(&r->text, STR(" keep-alives (x shows each)"));
		return;
	}
	labelled(&r->text, " :", e->u.comment.text.p ? e->u.comment.text : STR(""));
}

bool
ladder_row(const struct ladder *l, uint64_t row, struct ladder_row *r)
{
	const struct store_item *it = item(l, row);
	const struct ev *e;

	buf_clear(&r->text);
	if (it == NULL)
		return false;
	e = it->ev;
	r->no = row;
	r->t = e->t;
	r->pkt = e->pkt;
	r->glyph = GLYPH_N;
	r->way = e->dir == EV_C2S ? LADDER_C2S : LADDER_S2C;
	r->style = e->dir == EV_C2S ? STYLE_CLIENT : STYLE_SERVER;
	switch (e->type) {
	case EV_REQUEST:
		request(l, it, r);
		break;
	case EV_RESPONSE:
		response(l, it, r);
		break;
	case EV_SSE:
		sse(l, it, r);
		break;
	case EV_MESSAGE:
		stream_name(&r->text, e);
		if (e->stream)
			(void)buf_addc(&r->text, ' ');
		message(&r->text, e, true);
		r->style = e->u.msg.kind >= EV_MSG_ERROR ? STYLE_ERROR : r->style;
		break;
	case EV_STREAM:
		(void)buf_adds(&r->text, STR("stream"));
		stream(&r->text, e);
		break;
	case EV_STREAM_END:
		stream_end(r, e);
		break;
	case EV_REQUEST_END:
		end(r, e, "request", e->u.end.end);
		break;
	case EV_RESPONSE_END:
		end(r, e, "response", e->u.end.end);
		break;
	case EV_COMMENT:
		comment(l, r, e);
		break;
	case EV_OWNER:
		owner(l, r, e);
		break;
	case EV_CONN_END:
		conn_end(r, e);
		break;
	case EV_FILE: case EV_CONN: case EV_SESSION: case EV_SESSION_END: case EV_STALL:
	case EV_GAP: case EV_ANOMALY: case EV_NOTE: case EV_FINDING: case EV_END:
	case EV_N_TYPES:
		note(r, e, it);
		break;
	}
	return true;
}
