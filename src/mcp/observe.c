#include "mcpdiag/observe.h"

#include <stdlib.h>

#include "observe_priv.h"

#define LOOK_EVERY (4U << 20)	/* bytes of work, at memory use */
#define PIECE_WORK 1024
#define EXCHANGE_WORK 1024

static struct ox *
find(struct oconn *c, uint32_t n)
{
	struct ox *x;

	if (c->list && c->list->prev->n == n)	/* the newest */
		return c->list->prev;
	DL_FOREACH(c->list, x) {
		if (x->n == n)
			return x;
	}
	return NULL;
}

static void
free_ox(struct ox *x)
{
	struct observe *o = x->conn->o;

	DL_DELETE(x->conn->list, x);
	x->conn->n_list--;
	body_free(o, &x->req);
	body_free(o, &x->resp);
	sse_free(x->sse);
	text_free(x);
	free(x);
}

/* ---- http1 callbacks ---- */

static struct ox *
new_ox(struct oconn *c, uint32_t n, struct at at)
{
	struct ox *x = xcalloc(1, sizeof *x);

	x->conn = c;
	x->n = n;
	x->at = at;
	DL_APPEND(c->list, x);
	c->n_list++;
	c->o->stats.work += EXCHANGE_WORK;
	text_begin(x);
	return x;
}

/* One connection may ask for ever and never be answered: what has waited
 * longest is given up.  An answer that comes all the same is then one to a
 * request that was not captured. */
static void
give_up_oldest(struct oconn *c, struct at at)
{
	struct ox *x = c->list;

	while (x->answered && x->next)
		x = x->next;
	if (!x->req_over || x->answered)
		return;
	model_response_end(c->o->m, x->x, EV_LOST, 0, EVF_CUT, at);
	free_ox(x);
}

/* Headers that the model wants, and where they go; looked at once each. */
struct wanted {
	struct str name;
	size_t offset;
};

#define WANT(type, name, field) { { name, sizeof name - 1 }, offsetof(type, field) }

static const struct wanted of_request[] = {
	WANT(struct model_request, "Host", host),
	WANT(struct model_request, "Mcp-Session-Id", session_id),
	WANT(struct model_request, "Last-Event-ID", last_event_id),
	WANT(struct model_request, "MCP-Protocol-Version", protocol_version),
	WANT(struct model_request, "Accept", accept),
	WANT(struct model_request, "Content-Type", content_type),
	WANT(struct model_request, "Content-Encoding", coding),
	WANT(struct model_request, "User-Agent", user_agent),
	WANT(struct model_request, "Authorization", authorization),
	WANT(struct model_request, "Origin", origin),
	WANT(struct model_request, "Mcp-Method", mcp_method),
	{ { NULL, 0 }, 0 },
};

static const struct wanted of_response[] = {
	WANT(struct model_response, "Mcp-Session-Id", session_id),
	WANT(struct model_response, "Content-Type", content_type),
	WANT(struct model_response, "Server", server),
	WANT(struct model_response, "Content-Encoding", coding),
	WANT(struct model_response, "Cache-Control", cache_control),
	WANT(struct model_response, "X-Accel-Buffering", x_accel),
	WANT(struct model_response, "X-Powered-By", powered_by),
	WANT(struct model_response, "Location", location),
	WANT(struct model_response, "Via", via),
	WANT(struct model_response, "WWW-Authenticate", challenge),
	{ { NULL, 0 }, 0 },
};

/* The first header of a name counts, as in http1_header(). */
static void
take_headers(const struct http1_head *h, const struct wanted *table, void *out)
{
	for (uint32_t i = 0; i < h->n_headers; i++) {
		struct str name = h->headers[i].name, *to;

		for (const struct wanted *w = table; w->name.p; w++) {
			if (!str_ieq(name, w->name))
				continue;
			to = (struct str *)(void *)((char *)out + w->offset);
			if (to->p == NULL)
				*to = h->headers[i].value;
			break;
		}
	}
}

/* Clients differ in how they write the name of this header. */
static void
look_at_accept(const struct http1_head *h, struct model_request *r)
{
	for (uint32_t i = 0; i < h->n_headers; i++) {
		r->accept_capital |= str_eq(h->headers[i].name, STR("Accept"));
		r->accept_lower |= str_eq(h->headers[i].name, STR("accept"));
	}
}

static void
on_request(void *arg, const struct http1_head *h, struct at at)
{
	struct oconn *c = arg;
	struct model_request r = { .n = h->n, .head_lost = h->head_lost };
	struct ox *x;

	if (c->n_list > c->o->lim.pipeline)
		give_up_oldest(c, at);
	x = new_ox(c, h->n, at);
	r.method = h->method;
	r.target = h->target;
	take_headers(h, of_request, &r);
	look_at_accept(h, &r);
	text_head(x, h, false);
	x->x = model_request(c->o->m, c->mc, &r, at);
	model_text_end(c->o->m);
	x->foreign = !h->head_lost && !str_eq(h->method, STR("POST")) &&
	    !str_eq(h->method, STR("GET")) && !str_eq(h->method, STR("DELETE"));
	body_begin(x, &x->req, r.coding);
}

static void
on_request_body(void *arg, uint32_t n, const void *p, size_t len, struct at at)
{
	struct ox *x = find(arg, n);

	if (x == NULL)
		return;
	x->at = at;
	body_feed(x, &x->req, p, len);
}

static enum ev_end
end_of(enum http1_end end, bool response, uint32_t *flags)
{
	*flags = 0;
	switch (end) {
	case HTTP1_COMPLETE:
		return EV_COMPLETE;
	case HTTP1_INFERRED:
		*flags = EVF_INFERRED | EVF_GAP;
		return EV_COMPLETE;
	case HTTP1_TRUNCATED:
		return response ? EV_TRUNCATED : EV_CLIENT;
	case HTTP1_ABORTED:
		return EV_CLIENT;
	case HTTP1_LOST:
		*flags = EVF_GAP;
		return EV_LOST;
	case HTTP1_OPEN:
		return EV_OPEN;
	}
	return EV_LOST;
}

static void
maybe_free_ox(struct ox *x)
{
	if (x->req_over && x->resp_over)
		free_ox(x);
}

static void
on_request_end(void *arg, uint32_t n, enum http1_end end, struct at at)
{
	struct oconn *c = arg;
	struct ox *x = find(c, n);
	uint32_t flags;
	enum ev_end e = end_of(end, false, &flags);

	if (x == NULL || x->req_over)
		return;
	x->at = at;
	body_end(x, &x->req, e == EV_COMPLETE);
	x->req_over = true;
	if (x->req.undecoded)
		flags |= EVF_UNDECODED;
	text_end(x, false);
	model_request_end(c->o->m, x->x, e, x->req.bytes, flags, at);
	model_text_end(c->o->m);
	maybe_free_ox(x);
}

static const char *
framing_name(enum http1_framing f)
{
	switch (f) {
	case HTTP1_NONE:
		return "none";
	case HTTP1_LENGTH:
		return "content-length";
	case HTTP1_CHUNKED:
		return "chunked";
	case HTTP1_CLOSE:
		return "until-close";
	}
	return "none";
}

static void
response_head(struct ox *x, const struct http1_head *h, bool event_stream, struct at at)
{
	struct oconn *c = x->conn;
	struct model_response r = { .head_lost = h->head_lost, .status = h->status };

	take_headers(h, of_response, &r);
	r.framing = framing_name(h->framing);
	r.event_stream = event_stream;
	if (event_stream) {
		body_event_stream(x);
		c->hot_sse = (const char *)x->sse;
		c->hot_x = (const char *)x->x;
	}
	body_begin(x, &x->resp, r.coding);
	text_head(x, h, true);
	model_response(c->o->m, x->x, &r, at);
	model_text_end(c->o->m);
}

static void
on_response(void *arg, const struct http1_head *h, struct at at)
{
	struct oconn *c = arg;
	struct ox *x = find(c, h->n);
	struct str type = http1_header(h, STR("Content-Type"));

	if (x == NULL) {		/* its request was not captured */
		struct model_request r = { .n = h->n, .head_lost = true };

		x = new_ox(c, h->n, at);
		x->req_over = true;
		x->x = model_request(c->o->m, c->mc, &r, at);
		model_request_end(c->o->m, x->x, EV_LOST, 0, EVF_HEAD_LOST, at);
	}
	x->at = at;
	x->answered = true;
	if (h->head_lost) {
		x->sniff_sse = true;	/* the body tells what it is */
		return;
	}
	response_head(x, h, h->status / 100 == 2 && h->framing != HTTP1_NONE &&
	    str_ipre(str_trim(type), STR("text/event-stream")), at);
}

/* A body whose head was lost: an event stream when it starts with a field, as
 * far as that is here. */
static bool
looks_sse(const char *p, size_t n)
{
	static const char *const fields[] = { ":", "data:", "event:", "id:", "retry:" };

	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (str_pre(str_of(p, n), str_c(fields[i])) ||
		    str_pre(str_c(fields[i]), str_of(p, n)))
			return true;
	return false;
}

static void
on_response_body(void *arg, uint32_t n, const void *p, size_t len, struct at at)
{
	struct oconn *c = arg;
	struct ox *x = find(c, n);

	if (x == NULL || len == 0)
		return;
	x->at = at;
	if (x->sniff_sse) {
		struct http1_head h = { .n = n, .head_lost = true,
		    .framing = HTTP1_CHUNKED };

		x->sniff_sse = false;
		response_head(x, &h, looks_sse(p, len), at);
	}
	body_feed(x, &x->resp, p, len);
}

static void
on_body_gap(void *arg, uint32_t n, bool response, uint64_t bytes, struct at at)
{
	struct ox *x = find(arg, n);

	if (x == NULL)
		return;
	x->at = at;
	body_gap(x, response ? &x->resp : &x->req, bytes);
}

static void
on_response_end(void *arg, uint32_t n, enum http1_end end, struct at at)
{
	struct oconn *c = arg;
	struct ox *x = find(c, n);
	uint32_t flags;
	enum ev_end e = end_of(end, true, &flags);

	if (x == NULL || x->resp_over)
		return;
	x->at = at;
	body_end(x, &x->resp, e == EV_COMPLETE);
	x->resp_over = true;
	c->hot_sse = c->hot_x = NULL;
	if (x->resp.undecoded)
		flags |= EVF_UNDECODED;
	text_end(x, true);
	model_response_end(c->o->m, x->x, e, x->resp.bytes, flags, at);
	model_text_end(c->o->m);
	maybe_free_ox(x);
}

static void
on_odd(void *arg, enum http1_odd odd, bool response, struct at at)
{
	static const struct {
		const char *name, *text;
	} words[] = {
		[HTTP1_BAD] = { "bad-http", "bytes that are no HTTP/1.x" },
		[HTTP1_HEADER_LIMIT] = { "limit",
		    "a header block grew past --limit header=" },
		[HTTP1_PIPELINE_LIMIT] = { "limit",
		    "more unanswered requests than --limit pipeline=" },
		[HTTP1_UNASKED] = { "unasked", "a response to no request" },
		[HTTP1_LENIENT] = { "lenient-http",
		    "framing that RFC 9112 does not allow, read all the same" },
		[HTTP1_UPGRADE] = { "upgrade", "switched to another protocol" },
		[HTTP1_H2] = { "http2", "switched to HTTP/2" },
	};
	struct oconn *c = arg;

	(void)response;
	if (odd == HTTP1_H2)
		c->o->stats.http2++;
	/* Its request came before the capture, or in a gap. */
	if (odd == HTTP1_UNASKED && c->midstream)
		return;
	model_anomaly(c->o->m, c->mc, words[odd].name, words[odd].text, at);
}

static const struct http1_cb http1_cb = {
	.request = on_request, .request_body = on_request_body,
	.request_end = on_request_end, .response = on_response,
	.response_body = on_response_body, .body_gap = on_body_gap,
	.response_end = on_response_end, .odd = on_odd,
};

/* ---- connections ---- */

struct observe *
observe_new(const struct limits *lim, struct model *m)
{
	struct observe *o = xcalloc(1, sizeof *o);

	o->lim = *lim;
	o->m = m;
	o->next_look = LOOK_EVERY;
	text_init(o);
	return o;
}

void
observe_free(struct observe *o)
{
	if (o == NULL)
		return;
	rpc_free(o->spare);
	buf_fini(&o->text);
	free(o);
}

const struct observe_stats *
observe_stats(const struct observe *o)
{
	return &o->stats;
}

struct oconn *
observe_open(struct observe *o, const char *a0, const char *a1, bool client0, struct at at)
{
	struct oconn *c = xcalloc(1, sizeof *c);

	c->o = o;
	c->a0 = xmemdup0(a0, strlen(a0));
	c->a1 = xmemdup0(a1, strlen(a1));
	c->client0 = client0;
	c->midstream = !client0;
	c->opened = at;
	c->seen_dir = -1;
	return c;
}

/* The first bytes are HTTP: from here on both directions are parsed. */
static void
start_http(struct oconn *c, int client_dir)
{
	c->client_dir = client_dir;
	c->http = http1_new(&c->o->lim, &http1_cb, c);
	c->mc = model_conn(c->o->m, client_dir ? c->a1 : c->a0,
	    client_dir ? c->a0 : c->a1, c->midstream, c->opened);
	free(c->a0);
	free(c->a1);
	c->a0 = c->a1 = NULL;
}

enum sniffed { SNIFF_HTTP, SNIFF_WAIT, SNIFF_SKIP, SNIFF_DEAD };

static enum sniffed
give_up(struct oconn *c, uint64_t *counter)
{
	++*counter;
	c->dead = true;
	return SNIFF_DEAD;
}

/* What is this connection? */
static enum sniffed
sniff(struct oconn *c, int dir, const void *p, size_t n)
{
	switch (http1_guess(p, n)) {
	case HTTP1_IS_REQUEST:
		start_http(c, c->client0 ? 0 : dir);
		return SNIFF_HTTP;
	case HTTP1_IS_RESPONSE:
	case HTTP1_IS_CHUNK:
		start_http(c, c->client0 ? 0 : !dir);
		return SNIFF_HTTP;
	case HTTP1_IS_TLS:
		return give_up(c, &c->o->stats.encrypted);
	case HTTP1_IS_H2:
		return give_up(c, &c->o->stats.http2);
	case HTTP1_IS_UNKNOWN:
		return SNIFF_WAIT;
	case HTTP1_IS_OTHER:
		break;
	}
	/* Picked up in the middle of a body, a head may yet come. */
	return c->midstream ? SNIFF_SKIP : give_up(c, &c->o->stats.other);
}

/* The first pieces of a connection, until it is clear what it is.  Pieces too
 * short to tell are put together, up to SNIFF_MAX bytes, and read as one; *used
 * is how many bytes of p went into that. */
static bool
first_data(struct oconn *c, int dir, const void *p, size_t n, size_t *used, struct at at)
{
	uint8_t had = c->seen_dir == dir ? c->n_seen : 0;
	size_t room = sizeof c->seen - had, add = n < room ? n : room;

	*used = 0;
	if (had) {
		memcpy(c->seen + had, p, add);
		p = c->seen;
		n = had + add;
	}
	switch (sniff(c, dir, p, n)) {
	case SNIFF_HTTP:
		if (had) {
			http1_feed(c->http, dir != c->client_dir, p, n, at);
			*used = add;
		}
		return true;
	case SNIFF_DEAD:
		return false;
	case SNIFF_SKIP:
		c->n_seen = 0;
		return true;
	case SNIFF_WAIT:
		break;
	}
	c->seen_dir = dir;
	c->n_seen = 0;
	if (n < sizeof c->seen) {
		if (!had)
			memcpy(c->seen, p, n);
		c->n_seen = (uint8_t)n;
	}
	return true;
}

static void
fetch(const void *p, size_t n)
{
	for (size_t at = 0; p && at < n; at += 64)
		__builtin_prefetch((const char *)p + at);
}

/* Of thousands of idle streams none is in the cache when its comment comes. */
void
observe_expect(const struct oconn *c, int stage)
{
	if (stage == 0) {
		fetch(c, 64);
		return;
	}
	fetch(c->http, 320);
	fetch(c->list, offsetof(struct ox, req));
	fetch(c->hot_x, 256);
	fetch(c->hot_sse, 192);
}

void
observe_gap(struct oconn *c, int dir, uint64_t n, struct at at)
{
	c->n_seen = 0;
	c->midstream = true;
	if (c->http == NULL)
		return;
	model_gap(c->o->m, c->mc, dir == c->client_dir ? EV_C2S : EV_S2C, n, at);
	http1_gap(c->http, dir != c->client_dir, n, at);
}

/* Held segments of all connections may come in one tick, and unpack to a
 * thousand times their size: too late for anybody else to make room. */
static bool
no_room(struct observe *o, size_t n)
{
	o->stats.work += PIECE_WORK + n;
	if (o->stats.work < o->next_look)
		return o->full;
	o->next_look = o->stats.work + LOOK_EVERY;
	o->full = xmem_peak() > o->lim.memory &&
	    xmem_used() > o->lim.memory + o->lim.memory / 16;
	if (o->full && !o->told_full)
		model_note(o->m, "limit", "memory use passed --limit memory=; "
		    "what came until there was room is not read", (struct at){ 0, 0 });
	o->told_full |= o->full;
	return o->full;
}

bool
observe_data(struct oconn *c, int dir, const void *p, size_t n, struct at at)
{
	size_t used = 0;

	if (no_room(c->o, n)) {
		observe_gap(c, dir, n, at);
		return true;
	}
	if (c->http == NULL && (c->dead || !first_data(c, dir, p, n, &used, at)))
		return false;
	if (c->http && used < n)
		http1_feed(c->http, dir != c->client_dir, (const char *)p + used,
		    n - used, at);
	return true;
}

void
observe_close(struct oconn *c, int dir, const char *how, int by, struct at at)
{
	bool response = dir != c->client_dir;
	bool reset = strcmp(how, "rst") == 0;

	if (c->http == NULL)
		return;
	model_conn_close(c->o->m, c->mc, response ? EV_S2C : EV_C2S, how,
	    by >= 0 && by != dir, at);
	if (strcmp(how, "fin") == 0 || reset)
		http1_close(c->http, response, reset, by >= 0 && by != dir, at);
	else if (strcmp(how, "eof") == 0)
		http1_eof(c->http, at);
	else			/* evicted, reused: how it ended is not known */
		http1_gap(c->http, response, UINT32_MAX, at);
}

void
observe_stall(struct oconn *c, int dir, uint64_t bytes, bool zero_window,
    struct at since, struct at now)
{
	if (c->mc && dir != c->client_dir)
		model_stall(c->o->m, c->mc, bytes, zero_window, since, now);
}

void
observe_odd(struct oconn *c, int dir, const char *name, const char *text, struct at at)
{
	(void)dir;
	if (c->mc)
		model_anomaly(c->o->m, c->mc, name, text, at);
}

void
observe_end(struct oconn *c, struct at at)
{
	if (c->http == NULL && !c->dead)
		c->o->stats.other++;
	http1_free(c->http);
	while (c->list)
		free_ox(c->list);
	model_conn_end(c->o->m, c->mc, at);
	free(c->a0);
	free(c->a1);
	free(c);
}
