#include "mcpdiag/json.h"
#include "observe_priv.h"

#define MAX_HELD (1U << 20)	/* bytes of messages that wait for their event */
#define KEEP_HELD (64U << 10)	/* of which so many stay with the stream */

/* Scanners are the largest thing an exchange needs, and only while a document
 * is open; one is kept ready. */
static void
give_back(struct observe *o, struct body *b)
{
	if (b->rpc && o->spare == NULL)
		o->spare = b->rpc;
	else
		rpc_free(b->rpc);
	b->rpc = NULL;
}

/* Message strings, for those that wait for the event they belong to. */
static const size_t msg_strings[] = {
#define S(f) offsetof(struct rpc_msg, f)
	S(method), S(id), S(code), S(message), S(protocol_version),
	S(client_name), S(client_version), S(result_version), S(server_name),
	S(server_version), S(progress_token), S(meta_token), S(cancel_id),
	S(name), S(uri), S(meta_version), S(subscription_id),
#undef S
};

#define N_STRINGS (sizeof msg_strings / sizeof msg_strings[0])

static struct str *
string_at(struct rpc_msg *m, size_t i)
{
	return (struct str *)(void *)((char *)m + msg_strings[i]);
}

struct held {
	struct rpc_msg msg;
	struct span text;
};

/* The struct, then its strings, padded so that the next struct is aligned. */
static void
hold_msg(struct body *b, const struct rpc_msg *msg, struct span text)
{
	struct held copy = { *msg, text };
	size_t need = sizeof copy, pad;
	char *at;

	for (size_t i = 0; i < N_STRINGS; i++)
		need += string_at(&copy.msg, i)->n;
	pad = -need & 15;
	at = buf_room(&b->held, need + pad);
	if (at == NULL) {
		b->overheld = true;
		return;
	}
	memcpy(at, &copy, sizeof copy);
	at += sizeof copy;
	for (size_t i = 0; i < N_STRINGS; i++) {
		struct str *f = string_at(&copy.msg, i);
		if (f->n)
			memcpy(at, f->p, f->n);
		at += f->n;
	}
	memset(at, 0, pad);
	b->held.n += need + pad;
}

static void
deliver_held(struct observe *o, struct ox *x, uint64_t hash)
{
	struct buf *held = &x->resp.held;

	for (size_t at = 0; at < held->n;) {
		struct held h;
		size_t used = sizeof h;

		memcpy(&h, held->p + at, sizeof h);
		for (size_t i = 0; i < N_STRINGS; i++) {
			struct str *f = string_at(&h.msg, i);
			if (f->p)
				f->p = held->p + at + used;
			used += f->n;
		}
		text_msg(x, true, h.text);
		model_response_msg(o->m, x->x, &h.msg, hash, x->at);
		model_text_end(o->m);
		at += used + (-used & 15);
	}
	buf_clear(held);
}

/* Only ids decide what belongs together: of a cut one that is not sure. */
static void
tell_flaws(struct observe *o, struct ox *x, const struct rpc_msg *msg)
{
	static const struct {
		unsigned flaw;
		const char *name, *text;
	} words[] = {
		{ JSON_DEEP, "json-depth", "JSON nested deeper than --limit json-depth=; "
		    "below that it is not looked into" },
		{ JSON_CUT, "json-value", "a JSON-RPC id, method, name or error message "
		    "longer than --limit json-value=; its start is kept" },
		{ JSON_UTF8, "bad-utf8", "invalid UTF-8 in JSON" },
		{ JSON_SURROGATE, "bad-utf16", "half a surrogate pair in JSON" },
		{ JSON_DUPLICATE, "duplicate-key", "a member that comes twice in a "
		    "JSON-RPC message; the last one counts" },
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (msg->flaws & words[i].flaw)
			model_anomaly(o->m, x->conn->mc, words[i].name, words[i].text,
			    x->at);
	if (msg->id_cut)
		model_anomaly(o->m, x->conn->mc, "limit", "a JSON-RPC id is longer than "
		    "--limit json-value=; its start is compared", x->at);
}

static void
on_msg(void *arg, const struct rpc_msg *msg)
{
	struct observe *o = arg;
	struct ox *x = o->cur;
	struct span text = text_span(x, !o->cur_request, msg->batch);

	/* Some gateways answer a JSON-RPC request with a bare error object. */
	if (!msg->jsonrpc2 && (o->cur_request || msg->kind != RPC_ERROR || !x->rpc))
		return;
	x->rpc |= msg->jsonrpc2;
	if (msg->flaws || msg->id_cut)
		tell_flaws(o, x, msg);
	if (o->cur_hold) {
		o->stats.work -= x->resp.held.n;
		hold_msg(&x->resp, msg, text);
		o->stats.work += x->resp.held.n;
		return;
	}
	text_msg(x, !o->cur_request, text);
	if (o->cur_request)
		model_request_msg(o->m, x->x, msg, 0, x->at);
	else
		model_response_msg(o->m, x->x, msg, o->cur_hash, x->at);
	model_text_end(o->m);
}

static void
scan_begin(struct observe *o, struct body *b)
{
	b->rpc = o->spare;
	o->spare = NULL;
	if (b->rpc == NULL)
		b->rpc = rpc_new(&o->lim, on_msg, o);
	rpc_reset(b->rpc);
}

static void
scan(struct observe *o, struct ox *x, struct body *b, const void *p, size_t n)
{
	o->cur = x;
	o->cur_request = b == &x->req;
	(void)rpc_feed(b->rpc, p, n);	/* an error stays until rpc_eof() */
}

static bool
scan_end(struct observe *o, struct ox *x, struct body *b)
{
	bool ok;

	o->cur = x;
	o->cur_request = b == &x->req;
	ok = rpc_eof(b->rpc) == 0;
	give_back(o, b);
	return ok;
}

/* ---- JSON bodies ---- */

static size_t
white(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '\n'))
		i++;
	return i;
}

static bool
starts_json(const char *p, size_t n)
{
	size_t i = white(p, n);

	return i < n && (p[i] == '{' || p[i] == '[');
}

static void
json_body(struct observe *o, struct ox *x, struct body *b, const void *p, size_t n)
{
	/* White space alone does not tell yet. */
	if (!b->started && white(p, n) < n) {
		b->started = true;
		if (!x->foreign && starts_json(p, n))
			scan_begin(o, b);
	}
	text_keep(x, b == &x->resp, p, n);
	if (b->rpc) {
		o->cur_hold = false;
		o->cur_hash = 0;
		scan(o, x, b, p, n);
	}
}

static void
json_body_end(struct observe *o, struct ox *x, struct body *b, bool whole)
{
	if (b->rpc == NULL)
		return;
	o->cur_hold = false;
	if (!scan_end(o, x, b) && whole && !b->undecoded)
		model_anomaly(o->m, x->conn->mc, "bad-json",
		    b == &x->req ? "a request body is not JSON" :
		    "a response body is not JSON", x->at);
}

/* ---- event streams ---- */

/* What was lent must be scanned before the lender takes it back. */
static void
unstash(struct ox *x)
{
	struct observe *o = x->conn->o;
	struct body *b = &x->resp;

	if (x->stash == NULL)
		return;
	if (!b->started) {
		b->started = true;
		digest_init(&b->digest);
		if (starts_json(x->stash, x->n_stash))
			scan_begin(o, b);
	}
	digest_add(&b->digest, x->stash, x->n_stash);
	text_keep(x, true, x->stash, x->n_stash);
	if (b->rpc) {
		o->cur_hold = true;
		scan(o, x, b, x->stash, x->n_stash);
	}
	x->stash = NULL;
}

static void
on_data(void *arg, const void *p, size_t n)
{
	struct ox *x = arg;

	if (x->n_first < sizeof x->first) {
		size_t room = sizeof x->first - x->n_first;
		memcpy(x->first + x->n_first, p, n < room ? n : room);
		x->n_first += (uint32_t)(n < room ? n : room);
	}
	if (x->stash)
		unstash(x);
	x->stash = p;
	x->n_stash = n;
	if (x->resp.started)
		unstash(x);
}

static void
on_event(void *arg, const struct sse_event *v)
{
	struct ox *x = arg;
	struct observe *o = x->conn->o;
	struct body *b = &x->resp;
	bool whole = x->stash && !b->started;	/* the data came in one piece */
	struct model_sse s = {
		.name = v->type, .id = v->id, .dispatched = v->has_data,
		.data = v->data_len > 0, .tail = v->tail, .cut = v->cut,
		.torn = v->torn, .bytes = v->data_len, .retry_ms = v->retry_ms,
		.id_after_data = v->data_first,
	};

	if (str_eq(v->type, STR("endpoint")))
		s.uri = str_of(x->first, x->n_first);
	if (whole)
		s.hash = map_digest(x->stash, x->n_stash);
	else if (b->started) {
		unstash(x);
		s.hash = digest_end(&b->digest);
	}
	if (v->cut)
		model_anomaly(o->m, x->conn->mc, "limit", "an event grew past --limit "
		    "sse-event= or sse-line=; the rest of it is not read", x->at);
	if (b->overheld)
		model_anomaly(o->m, x->conn->mc, "limit", "the messages of one event "
		    "take more than 1 MiB; the last of them are not read", x->at);
	s.cut |= b->overheld;
	text_sse(x);
	model_sse(o->m, x->x, &s, x->at);
	model_text_end(o->m);
	if (!v->tail) {
		o->cur_hold = false;
		o->cur_hash = s.hash;
		if (whole && starts_json(x->stash, x->n_stash)) {
			text_keep(x, true, x->stash, x->n_stash);
			scan_begin(o, b);
			scan(o, x, b, x->stash, x->n_stash);
			(void)scan_end(o, x, b);
		} else if (b->rpc) {	/* what was whole in it counts, here too */
			(void)scan_end(o, x, b);
			deliver_held(o, x, s.hash);
		}
	}
	give_back(o, b);
	if (b->held.cap > KEEP_HELD)
		buf_fini(&b->held);
	buf_clear(&b->held);
	text_drop(x, true);
	b->started = b->overheld = false;
	x->stash = NULL;
	x->n_first = 0;
}

static void
on_comment(void *arg, struct str text)
{
	struct ox *x = arg;
	struct observe *o = x->conn->o;

	model_comment(o->m, x->x, text, x->at);
	if (text.n >= o->lim.sse_line)
		model_anomaly(o->m, x->conn->mc, "long-comment", "a comment that fills "
		    "--limit sse-line=; its start is kept", x->at);
}

static const struct sse_cb sse_cb = { on_data, on_event, on_comment };

/* ---- content codings ---- */

/* A decoder is large: it goes as soon as it is of no more use. */
static void
drop_inflate(struct body *b)
{
	inflate_free(b->inflate);
	b->inflate = NULL;
}

static void
plain(struct ox *x, struct body *b, const void *p, size_t n)
{
	struct observe *o = x->conn->o;

	if (b == &x->resp && x->sse) {
		if (x->text)
			text_feed_sse(x, p, n);
		else
			sse_feed(x->sse, p, n);
		unstash(x);
	} else
		json_body(o, x, b, p, n);
}

static void
plain_request(void *arg, const void *p, size_t n)
{
	struct ox *x = arg;

	plain(x, &x->req, p, n);
}

static void
plain_response(void *arg, const void *p, size_t n)
{
	struct ox *x = arg;

	plain(x, &x->resp, p, n);
}

void
body_begin(struct ox *x, struct body *b, struct str coding)
{
	struct observe *o = x->conn->o;

	buf_init(&b->held, MAX_HELD);
	b->coding = inflate_kind_of(coding);
	if (b->coding == INFLATE_UNKNOWN) {
		b->undecoded = true;
		model_anomaly(o->m, x->conn->mc, "coding",
		    "a Content-Encoding that cannot be read", x->at);
	} else if (b->coding != INFLATE_NONE) {
		b->inflate = inflate_new(b->coding, x->sse ? UINT64_MAX : o->lim.decoded,
		    o->lim.ratio, b == &x->req ? plain_request : plain_response, x);
		o->stats.work += inflate_cost(b->inflate);
	}
}

void
body_feed(struct ox *x, struct body *b, const void *p, size_t n)
{
	struct observe *o = x->conn->o;
	uint64_t cost;
	int rc;

	b->bytes += n;
	if (b->undecoded)
		return;
	if (b->inflate == NULL) {
		plain(x, b, p, n);
		return;
	}
	cost = inflate_cost(b->inflate);
	rc = inflate_feed(b->inflate, p, n);
	if (inflate_cost(b->inflate) > cost)
		o->stats.work += inflate_cost(b->inflate) - cost;
	if (rc == 0)
		return;
	drop_inflate(b);
	b->undecoded = true;
	model_anomaly(o->m, x->conn->mc, rc == -E_LIMIT ? "limit" : "bad-coding",
	    rc == -E_LIMIT ? "a body grew past --limit decoded= or ratio=" :
	    "a compressed body is damaged", x->at);
}

void
body_gap(struct ox *x, struct body *b, uint64_t bytes)
{
	if (b->inflate) {		/* a torn compressed stream stays torn */
		drop_inflate(b);
		b->undecoded = true;
	}
	if (b == &x->resp && x->sse) {
		sse_gap(x->sse, bytes);
		text_drop(x, true);
		return;
	}
	text_drop(x, b == &x->resp);
	give_back(x->conn->o, b);
	b->started = true;		/* and the rest is not scanned */
}

void
body_end(struct ox *x, struct body *b, bool whole)
{
	drop_inflate(b);
	if (b == &x->resp && x->sse) {
		sse_eof(x->sse);
		sse_free(x->sse);
		x->sse = NULL;
	} else
		json_body_end(x->conn->o, x, b, whole);
}

void
body_free(struct observe *o, struct body *b)
{
	give_back(o, b);
	drop_inflate(b);
	buf_fini(&b->held);
}

void
body_event_stream(struct ox *x)
{
	const struct limits *lim = &x->conn->o->lim;

	x->sse = sse_new(&sse_cb, x, (size_t)lim->sse_line, lim->sse_event);
}
