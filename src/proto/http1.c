#include "mcpdiag/http1.h"

#include <stdlib.h>

#include "http1_priv.h"
#include "mcpdiag/xmem.h"

enum place {
	IN_HEAD,		/* of the next message, or before it */
	IN_BODY,
	LOST,			/* until a piece starts with something known */
};

/* One direction.  A message is open from its head to its end. */
struct side {
	struct h1_head head;
	struct h1_body body;
	enum place place;
	uint32_t n;		/* number of the open message */
	bool open;
	bool seen;		/* a byte has come */
	bool last;		/* the last head said that nothing follows */
	bool told;		/* HTTP1_LENIENT is reported once */
	bool numbered;		/* n is given to the request being read: its
				 * response came first */
	bool chunks;		/* LOST: a chunk head is known, too */
	bool maybe_end;		/* LOST: exactly a last chunk is missing */
	bool shaky;		/* on at what looked like a chunk head */
	bool closed;
	bool own_close;		/* closed by the sender itself */
	bool after;		/* bytes came after the other side closed */
	struct at gap_at;	/* of maybe_end */
	struct at closed_at;
};

/* A request whose method decides how its response ends. */
struct special {
	uint32_t n;
	enum h1_asked asked;
};

struct http1 {
	const struct http1_cb *cb;
	void *arg;
	struct side side[2];	/* of the client, of the server */
	/* Requests answered..asked-1 wait for a response. */
	uint32_t asked, answered;
	/* Requests below this may have been answered in lost bytes. */
	uint32_t unsure;
	uint32_t pipeline;	/* the limit */
	uint32_t n_special, cap_special;
	struct special *special;	/* waiting ones, in order */
	bool ask_lost;		/* requests may be missing */
	bool told_pipeline;
	bool dead;		/* no HTTP/1 any more */
};

static void
odd(const struct http1 *h, enum http1_odd what, bool response, struct at at)
{
	if (h->cb->odd)
		h->cb->odd(h->arg, what, response, at);
}

static void
lenient(struct http1 *h, bool response, struct at at)
{
	if (!h->side[response].told)
		odd(h, HTTP1_LENIENT, response, at);
	h->side[response].told = true;
}

static void
body_gap(const struct http1 *h, bool response, uint64_t n, struct at at)
{
	if (h->cb->body_gap)
		h->cb->body_gap(h->arg, h->side[response].n, response, n, at);
}

static void
report_head(const struct http1 *h, bool response, const struct http1_head *head,
    struct at at)
{
	if (response && h->cb->response)
		h->cb->response(h->arg, head, at);
	else if (!response && h->cb->request)
		h->cb->request(h->arg, head, at);
}

static void
report_end(const struct http1 *h, bool response, uint32_t n,
    enum http1_end end, struct at at)
{
	if (response && h->cb->response_end)
		h->cb->response_end(h->arg, n, end, at);
	else if (!response && h->cb->request_end)
		h->cb->request_end(h->arg, n, end, at);
}

/* Ends the open message; where the direction stands is left to the caller. */
static void
finish(struct http1 *h, bool response, enum http1_end end, struct at at)
{
	struct side *s = &h->side[response];

	s->open = s->chunks = s->maybe_end = false;
	report_end(h, response, s->n, end, at);
}

static void
lose_sync(struct http1 *h, bool response, bool chunks)
{
	struct side *s = &h->side[response];

	h1_head_clear(&s->head);
	s->place = LOST;
	s->chunks = chunks;
	s->numbered = false;
	if (response)
		h->unsure = h->asked;
	else
		h->ask_lost = true;
}

static void
bad(struct http1 *h, bool response, struct at at)
{
	odd(h, HTTP1_BAD, response, at);
	if (h->side[response].open)
		finish(h, response, HTTP1_LOST, at);
	lose_sync(h, response, false);
}

/* No HTTP/1 from here on, in either direction. */
static void
die(struct http1 *h, struct at at)
{
	for (int i = 0; i < 2; i++) {
		h1_head_clear(&h->side[i].head);
		if (h->side[i].open)
			finish(h, i, HTTP1_LOST, at);
	}
	free(h->special);
	h->special = NULL;
	h->n_special = h->cap_special = 0;
	h->dead = true;
}

static void
remember(struct http1 *h, uint32_t n, enum h1_asked asked)
{
	if (h->n_special >= h->pipeline)
		return;
	if (h->n_special == h->cap_special) {
		h->cap_special = h->cap_special ? h->cap_special * 2 : 4;
		h->special = xrealloc(h->special,
		    h->cap_special * sizeof *h->special);
	}
	h->special[h->n_special++] = (struct special){ n, asked };
}

/* What request n was; it and those before it are forgotten. */
static enum h1_asked
recall(struct http1 *h, uint32_t n)
{
	enum h1_asked asked = H1_ASKED_PLAIN;
	uint32_t k = 0;

	for (; k < h->n_special && h->special[k].n <= n; k++)
		if (h->special[k].n == n)
			asked = h->special[k].asked;
	if (k == 0)
		return asked;
	h->n_special -= k;
	if (h->n_special > 0) {
		memmove(h->special, h->special + k,
		    h->n_special * sizeof *h->special);
	} else {
		free(h->special);
		h->special = NULL;
		h->cap_special = 0;
	}
	return asked;
}

/* The number of the next response; *unasked: no request is known for it. */
static uint32_t
next_answer(struct http1 *h, bool *unasked)
{
	struct side *client = &h->side[0];

	*unasked = false;
	if (h->answered == h->asked) {
		/* Refused before its head was complete (408, 431)? */
		if (client->place == IN_HEAD && !client->numbered &&
		    h1_head_begun(&client->head)) {
			client->numbered = true;
			client->n = h->asked;
		} else {
			*unasked = !h->ask_lost;
		}
		h->asked++;
	}
	return h->answered++;
}

/* The responses to requests before `upto` are lost, head and all. */
static void
lost_answers(struct http1 *h, uint32_t upto, struct at at)
{
	while (h->answered < upto) {
		struct http1_head head = {
			.n = h->answered++,
			.head_lost = true,
			.framing = HTTP1_CLOSE,
		};

		(void)recall(h, head.n);
		report_head(h, true, &head, at);
		report_end(h, true, head.n, HTTP1_LOST, at);
	}
	h->unsure = h->answered;
}

/* A message has begun: where do its bytes go? */
static void
open_body(struct http1 *h, bool response, const struct http1_head *head,
    struct at at)
{
	struct side *s = &h->side[response];

	s->open = true;
	s->n = head->n;
	s->place = IN_BODY;
	s->shaky = false;
	if (head->framing != HTTP1_NONE)
		h1_body_init(&s->body, head->framing, head->length);
	if (head->framing == HTTP1_NONE || s->body.is == H1_OVER) {
		s->place = IN_HEAD;
		finish(h, response, HTTP1_COMPLETE, at);
	}
}

/* What one side sends can show that the other's last chunk was in a gap. */
static void
settle(struct http1 *h, bool response)
{
	struct side *s = &h->side[response];

	if (s->open && s->maybe_end)
		finish(h, response, HTTP1_INFERRED, s->gap_at);
}

static void
begin_request(struct http1 *h, struct h1_parsed *ps, struct at at)
{
	struct side *s = &h->side[0];
	enum h1_asked asked = H1_ASKED_PLAIN;

	settle(h, true);
	if (str_eq(ps->head.method, STR("HEAD")))
		asked = H1_ASKED_HEAD;
	else if (str_eq(ps->head.method, STR("CONNECT")))
		asked = H1_ASKED_CONNECT;
	ps->head.n = s->numbered ? s->n : h->asked++;
	if (!s->numbered && asked != H1_ASKED_PLAIN)
		remember(h, ps->head.n, asked);
	s->numbered = false;
	if (h->asked - h->answered > h->pipeline && !h->told_pipeline) {
		h->told_pipeline = true;
		odd(h, HTTP1_PIPELINE_LIMIT, false, at);
	}
	report_head(h, false, &ps->head, at);
}

/* Returns what the request was. */
static enum h1_asked
begin_response(struct http1 *h, struct h1_parsed *ps, struct at at)
{
	bool unasked;
	enum h1_asked asked;

	settle(h, false);
	ps->head.n = next_answer(h, &unasked);
	asked = recall(h, ps->head.n);
	if (unasked && !ps->head.head_lost)
		odd(h, HTTP1_UNASKED, true, at);
	h1_frame(ps, true, asked);
	if (ps->lenient)
		lenient(h, true, at);
	report_head(h, true, &ps->head, at);
	return asked;
}

/* 1xx but 101: RFC 9110 15.2; it does not answer the request. */
static bool
is_interim(bool response, const struct http1_head *head)
{
	return response && head->status / 100 == 1 && head->status != 101;
}

static void
interim(struct http1 *h, struct h1_parsed *ps, struct at at)
{
	ps->head.n = h->answered;
	h1_frame(ps, true, H1_ASKED_PLAIN);
	if (h->cb->interim)
		h->cb->interim(h->arg, &ps->head, at);
}

/* A head that is complete and that llhttp accepts. */
static void
whole_head(struct http1 *h, bool response, struct h1_parsed *ps, struct at at)
{
	enum h1_asked asked = H1_ASKED_PLAIN;
	const struct http1_head *head = &ps->head;

	if (is_interim(response, head)) {
		interim(h, ps, at);
		return;
	}
	if (response) {
		asked = begin_response(h, ps, at);
	} else {
		h1_frame(ps, false, asked);
		if (ps->lenient)
			lenient(h, false, at);
		begin_request(h, ps, at);
	}
	h->side[response].last = ps->last;
	open_body(h, response, head, at);
	if (response && (head->status == 101 ||
	    (asked == H1_ASKED_CONNECT && head->status / 100 == 2))) {
		odd(h, HTTP1_UPGRADE, true, at);
		die(h, at);
	}
}

/* A head of which only a part is known: the message is open, its bytes are
 * not understood. */
static void
part_of_head(struct http1 *h, bool response, struct h1_parsed *ps, struct at at)
{
	struct side *s = &h->side[response];

	ps->head.head_lost = true;
	if (is_interim(response, &ps->head)) {
		interim(h, ps, at);
		lose_sync(h, response, true);
		return;
	}
	if (response) {
		(void)begin_response(h, ps, at);
	} else {
		h1_frame(ps, false, H1_ASKED_PLAIN);
		begin_request(h, ps, at);
	}
	s->open = true;
	s->n = ps->head.n;
	/* No framing header seen is not the same as none sent. */
	lose_sync(h, response, ps->head.framing == HTTP1_CHUNKED ||
	    (response && ps->head.framing == HTTP1_CLOSE));
}

/* Reports the head that was collected; `whole`: up to its empty line. */
static void
report(struct http1 *h, bool response, bool whole, struct at at)
{
	struct side *s = &h->side[response];
	struct h1_parsed ps;
	struct str block;
	bool ok;

	if (!whole)
		h1_head_cut(&s->head, response);
	block = h1_head_block(&s->head);
	ok = h1_parse(&ps, response, whole ? H1_BLOCK_WHOLE : H1_BLOCK_CUT,
	    block);
	if (s->head.lenient || s->last)
		lenient(h, response, at);	/* after Connection: close */
	if (s->head.over)
		odd(h, HTTP1_HEADER_LIMIT, response, at);
	if (ok && whole && !s->head.unframed) {
		struct h1_head done = s->head;

		/* The next head may begin before this one is let go. */
		h1_head_init(&s->head, s->head.limit);
		whole_head(h, response, &ps, at);
		h1_head_clear(&done);
	} else if (block.n > 0 && !ps.start) {
		bad(h, response, at);
	} else {
		if (whole && !ok)
			odd(h, HTTP1_BAD, response, at);
		part_of_head(h, response, &ps, at);
		if (whole && !ok && s->open)
			finish(h, response, HTTP1_LOST, at);
	}
	h1_parsed_fini(&ps);
}

/* The usual head, all in one piece and in order: it is read where it is.
 * Returns its length, 0 when it is not of that kind. */
static size_t
head_here(struct http1 *h, bool response, const char *p, size_t n, struct at at)
{
	struct side *s = &h->side[response];
	size_t k = h1_head_here(&s->head, response, p, n);
	struct h1_parsed ps;

	if (k == 0)
		return 0;
	if (h1_parse(&ps, response, H1_BLOCK_RAW, str_of(p, k))) {
		if (s->last)
			lenient(h, response, at);
		whole_head(h, response, &ps, at);
	} else {
		k = 0;
	}
	h1_parsed_fini(&ps);
	return k;
}

static size_t
feed_head(struct http1 *h, bool response, const char *p, size_t n, struct at at)
{
	size_t used = head_here(h, response, p, n, at);

	if (used > 0)
		return used;
	switch (h1_head_feed(&h->side[response].head, response, p, n, &used)) {
	case H1_HEAD_MORE:
		break;
	case H1_HEAD_DONE:
		report(h, response, true, at);
		break;
	case H1_HEAD_BAD:
		bad(h, response, at);
		break;
	case H1_HEAD_PREFACE:
		odd(h, HTTP1_H2, response, at);
		die(h, at);
		break;
	}
	return used;
}

static size_t
feed_body(struct http1 *h, bool response, const char *p, size_t n, struct at at)
{
	struct side *s = &h->side[response];
	struct str span;
	size_t used = h1_body_feed(&s->body, p, n, &span);

	if (span.n > 0) {
		if (response && h->cb->response_body)
			h->cb->response_body(h->arg, s->n, span.p, span.n, at);
		else if (!response && h->cb->request_body)
			h->cb->request_body(h->arg, s->n, span.p, span.n, at);
	}
	if (s->body.lenient && !s->told)
		lenient(h, response, at);
	if (s->body.is == H1_OVER) {
		s->place = IN_HEAD;
		finish(h, response, HTTP1_COMPLETE, at);
	} else if (s->body.is == H1_SIZE) {
		s->shaky = false;
	} else if (s->body.is == H1_BROKEN && s->shaky) {
		body_gap(h, response, 1, at);
		lose_sync(h, response, true);
	} else if (s->body.is == H1_BROKEN) {
		bad(h, response, at);
	}
	return used;
}

/* The piece starts with a head: what was open before has ended, unseen. */
static void
resync_head(struct http1 *h, bool response, struct at at)
{
	struct side *s = &h->side[response];

	settle(h, response);
	if (s->open)
		finish(h, response, HTTP1_LOST, at);
	/* Clients do not pipeline: of the requests that wait, all but the last
	 * were answered in what is lost. */
	if (response && h->unsure > h->answered)
		lost_answers(h, h->asked - 1, at);
	s->place = IN_HEAD;
}

/* The piece starts with a chunk head. */
static void
resync_chunk(struct http1 *h, bool response, struct at at)
{
	struct side *s = &h->side[response];
	struct http1_head head = {
		.head_lost = true, .chunked = true, .framing = HTTP1_CHUNKED,
	};

	if (s->maybe_end)
		body_gap(h, response, 5, at);
	if (!s->open) {
		bool unasked;

		if (h->unsure > h->answered)
			lost_answers(h, h->asked - 1, at);
		head.n = next_answer(h, &unasked);
		(void)recall(h, head.n);
		report_head(h, true, &head, at);
		s->open = true;
		s->n = head.n;
	}
	s->place = IN_BODY;
	s->chunks = s->maybe_end = false;
	s->shaky = true;
	h1_body_init(&s->body, HTTP1_CHUNKED, 0);
}

/* LOST: does the piece start with something known?  Else it is dropped. */
static bool
resync(struct http1 *h, bool response, const char *p, size_t n, struct at at)
{
	struct side *s = &h->side[response];
	enum http1_guess guess = http1_guess(p, n);

	if (guess == (response ? HTTP1_IS_RESPONSE : HTTP1_IS_REQUEST) ||
	    (guess == HTTP1_IS_H2 && !response)) {
		resync_head(h, response, at);
		return true;
	}
	if (s->chunks && h1_chunk_head(p, n, !s->open)) {
		resync_chunk(h, response, at);
		return true;
	}
	settle(h, response);
	if (s->open)
		body_gap(h, response, n, at);
	if (response)
		h->unsure = h->asked;
	return false;
}

struct http1 *
http1_new(const struct limits *limits, const struct http1_cb *cb, void *arg)
{
	struct http1 *h = xcalloc(1, sizeof *h);
	size_t header = SIZE_MAX / 4;

	if (limits->header < header)
		header = (size_t)limits->header;
	h->cb = cb;
	h->arg = arg;
	h->pipeline = UINT32_MAX / 64;
	if (limits->pipeline < h->pipeline)
		h->pipeline = (uint32_t)limits->pipeline;
	h1_head_init(&h->side[0].head, header);
	h1_head_init(&h->side[1].head, header);
	return h;
}

void
http1_free(struct http1 *h)
{
	if (h == NULL)
		return;
	h1_head_clear(&h->side[0].head);
	h1_head_clear(&h->side[1].head);
	free(h->special);
	free(h);
}

void
http1_feed(struct http1 *h, bool response, const void *data, size_t n,
    struct at at)
{
	struct side *s = &h->side[response];
	const char *p = data;

	if (n == 0 || h->dead || s->closed)
		return;
	/* Picked up in the middle of a response: the first piece decides. */
	if (response && !s->seen && memcmp(p, "HTTP/", n < 5 ? n : 5) != 0 &&
	    s->place == IN_HEAD && (h->asked == 0 || h1_chunk_head(p, n, true)))
		lose_sync(h, true, true);
	s->seen = true;
	s->after |= h->side[!response].closed;
	if (s->place == LOST && !resync(h, response, p, n, at))
		return;
	while (n > 0 && s->place != LOST && !h->dead) {
		size_t used = s->place == IN_BODY ?
		    feed_body(h, response, p, n, at) :
		    feed_head(h, response, p, n, at);

		p += used;
		n -= used;
	}
	if (s->place == LOST && s->open && n > 0)
		body_gap(h, response, n, at);
}

size_t
http1_step(struct http1 *h, const void *p, size_t n, struct at at)
{
	struct side *s = &h->side[0];

	if (n == 0 || h->dead || s->closed || s->place == LOST)
		return 0;
	s->seen = true;
	return s->place == IN_BODY ? feed_body(h, false, p, n, at) :
	    feed_head(h, false, p, n, at);
}

static void
gap_in_body(struct http1 *h, bool response, uint64_t n, struct at at)
{
	struct side *s = &h->side[response];
	uint64_t lost, left = h1_body_gap(&s->body, n, &lost);
	bool maybe_end = s->body.is == H1_SIZE && left == 5;

	if (left > 0 && !maybe_end && s->body.is != H1_OVER)
		lost += left;
	if (lost > 0)
		body_gap(h, response, lost, at);
	if (s->body.is == H1_OVER) {
		s->place = IN_HEAD;
		finish(h, response, HTTP1_INFERRED, at);
	}
	if (left == 0)
		return;
	lose_sync(h, response, s->open || response);
	s->maybe_end = maybe_end;
	s->gap_at = at;
}

void
http1_gap(struct http1 *h, bool response, uint64_t n, struct at at)
{
	struct side *s = &h->side[response];

	if (h->dead || s->closed)
		return;
	s->seen = true;
	switch (s->place) {
	case IN_HEAD:
		if (h1_head_begun(&s->head))
			report(h, response, false, at);
		else
			lose_sync(h, response, response);
		break;
	case IN_BODY:
		gap_in_body(h, response, n, at);
		break;
	case LOST:
		n += s->maybe_end ? 5 : 0;
		if (s->open && n > 0)
			body_gap(h, response, n, at);
		s->maybe_end = false;
		lose_sync(h, response, s->chunks);
		break;
	}
}

/* How the open message of a direction that closes, or of a capture that ends,
 * has ended; `torn`: its place is lost. */
static void
end_open(struct http1 *h, bool response, bool torn, bool by_peer, bool eof,
    bool proper, struct at at)
{
	struct side *s = &h->side[response], *peer = &h->side[!response];

	if (s->maybe_end)
		finish(h, response, HTTP1_INFERRED, s->gap_at);
	else if (torn && (!eof || peer->own_close))
		finish(h, response, HTTP1_LOST, at);
	else if (proper && (!peer->own_close || s->after))
		finish(h, response, HTTP1_COMPLETE, at);
	else if (peer->own_close)
		finish(h, response, HTTP1_ABORTED, peer->closed_at);
	else if (eof)
		finish(h, response, HTTP1_OPEN, at);
	else
		finish(h, response, by_peer ? HTTP1_ABORTED : HTTP1_TRUNCATED,
		    at);
}

static void
close_side(struct http1 *h, bool response, bool reset, bool by_peer, bool eof,
    struct at at)
{
	struct side *s = &h->side[response];
	bool torn = s->place == LOST;
	bool proper = s->place == IN_BODY && s->body.is == H1_UNTIL_CLOSE &&
	    !reset && !by_peer && !eof;

	if (s->closed)
		return;
	if (!h->dead) {
		if (s->place == IN_HEAD && h1_head_begun(&s->head))
			report(h, response, false, at);
		if (response && torn && !s->open && h->unsure > h->answered)
			lost_answers(h, h->unsure, at);
		if (s->open)
			end_open(h, response, torn, by_peer, eof, proper, at);
	}
	h1_head_clear(&s->head);
	s->closed = true;
	s->own_close = !by_peer && !eof;
	s->closed_at = at;
	settle(h, !response);
}

void
http1_close(struct http1 *h, bool response, bool reset, bool by_peer,
    struct at at)
{
	close_side(h, response, reset, by_peer, false, at);
	if (reset)
		close_side(h, !response, reset, !by_peer, false, at);
}

void
http1_eof(struct http1 *h, struct at at)
{
	close_side(h, false, false, false, true, at);
	close_side(h, true, false, false, true, at);
}

size_t
http1_held(const struct http1 *h)
{
	return h->side[0].head.b.cap + h->side[1].head.b.cap +
	    h->cap_special * sizeof *h->special;
}

struct str
http1_header(const struct http1_head *head, struct str name)
{
	for (uint32_t i = 0; i < head->n_headers; i++)
		if (str_ieq(head->headers[i].name, name))
			return head->headers[i].value;
	return STR_NONE;
}
