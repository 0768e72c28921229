#include "mcpdiag/listener.h"

#include <assert.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/esc.h"
#include "mcpdiag/esource.h"
#include "mcpdiag/limits.h"
#include "mcpdiag/rpc.h"
#include "mcpdiag/xmem.h"

#define OWN_LINES 7U		/* headers that are ours, at most */
#define OWN_LINE_MAX 8192U		/* bytes of one of them */
#define REQUEST_MAX (1U << 20)
#define REPLIES 8U		/* to the server, under way at once */
#define BODY_LEAST 4096U	/* a reply fits: its id is bounded by rpc */
/* A server that says `retry: 0` gets no busy loop. */
#define RETRY_MIN NS_MS

enum state {
	IDLE,
	DUE,			/* its time has come, but not its turn */
	WAIT,			/* the timer runs */
	ASKED,			/* no answer yet */
	STREAM, JSON, PLAIN,	/* what the body is; PLAIN: of no interest */
	OVER,
};

struct slot {
	struct listener *l;
	enum listen_kind kind;
	unsigned index;
	enum state state;
	bool get;		/* the request is, or will be, a GET */
	bool answered;		/* of a POST: its response has come */
	unsigned gets;		/* so many of them were sent */
	unsigned failures, idle;	/* in a row: GETs that got no stream, and
				 * streams that brought no id */
	ns_t later;		/* when it is over: again, or -1 */
	struct esource *es;	/* NULL: no lineage */
	struct buf body;	/* JSON answer; of a reply, what to send */
};

struct listener {
	struct listener_opts opts;
	const struct listener_io *io;
	void *io_arg;
	listener_fn *fn;
	void *arg;
	struct slot *slots;
	unsigned n;
	struct str *lines;	/* room for a request's headers */
	struct buf session, version;	/* header lines; empty: none yet */
	uint32_t next_id;
	unsigned refetched;
	ns_t retry;		/* the last one told, or -1 */
	bool initialized, stepped, stopping, over;
	/* the message that is being looked at, and where it came */
	const struct listen_event *message;
	struct slot *at;
	bool gives_up;		/* the client ends the session */
	bool told, bad_initialize;
	unsigned changed;	/* list_changed notifications in it */
};

/* Each kind: the method it begins with, its name. */
static const struct {
	const char *method, *name;
} kinds[] = {
	[LISTEN_INITIALIZE] = { "POST", "initialize" },
	[LISTEN_STANDALONE] = { "GET", "standalone" },
	[LISTEN_LIST] = { "POST", "tools/list" },
	[LISTEN_CALL] = { "POST", "tools/call" },
	[LISTEN_EXTRA] = { "GET", "extra" },
	[LISTEN_INITIALIZED] = { "POST", "initialized" },
	[LISTEN_REPLY] = { "POST", "reply" },
	[LISTEN_DELETE] = { "DELETE", "delete" },
};

static const char *
method_of(const struct slot *s)
{
	return s->get ? "GET" : kinds[s->kind].method;
}

static ns_t
times(ns_t t, double factor)
{
	double v = (double)t * factor;

	return v < 1e18 ? (ns_t)v : (ns_t)1e18;
}

static ns_t
scaled(const struct listener *l, ns_t t)
{
	return times(t, l->opts.scale);
}

static struct slot *
slot_of(struct listener *l, enum listen_kind kind, unsigned index)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->slots[i].kind == kind && l->slots[i].index == index)
			return &l->slots[i];
	assert(false);
	return NULL;
}

static unsigned
number(const struct slot *s)
{
	return (unsigned)(s - s->l->slots);
}

static void
tell(struct slot *s, struct listen_event *e)
{
	e->kind = s->kind;
	e->index = s->index;
	if (e->why == NULL)
		e->why = "";
	if (!s->l->over || e->what == LISTEN_STOPPED)
		s->l->fn(s->l->arg, e);
}

static void
arm(struct slot *s, ns_t after)
{
	s->state = WAIT;
	s->l->io->timer(s->l->io_arg, number(s), after);
}

/* Nothing goes on any more, and the last word is said. */
static void
finish(struct listener *l, enum listen_stop how, const char *why)
{
	struct slot *last = slot_of(l, LISTEN_DELETE, 0);
	struct listen_event e = { .what = LISTEN_STOPPED, .stop = how, .why = why };

	if (l->over)
		return;
	l->stopping = l->over = true;
	for (unsigned i = 0; i < l->n; i++) {
		struct slot *s = &l->slots[i];

		l->io->clear(l->io_arg, i);
		if (s->state == ASKED || s->state == STREAM || s->state == JSON ||
		    s->state == PLAIN)
			l->io->cancel(l->io_arg, i);
		s->state = OVER;
	}
	tell(last, &e);
}

static void
append(struct buf *b, const char *before, const char *s, const char *after)
{
	(void)buf_adds(b, str_c(before));
	esc_json(b, str_c(s));
	(void)buf_adds(b, str_c(after));
}

/* What a slot POSTs; false when it has no body. */
static bool
put_body(struct slot *s, struct buf *b)
{
	struct listener *l = s->l;

	if (s->get)
		return false;
	switch (s->kind) {
	case LISTEN_INITIALIZE:
		append(b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
		    "\"params\":{\"protocolVersion\":\"", l->opts.protocol,
		    "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"mcpdiag\","
		    "\"version\":\"" MCPDIAG_VERSION "\"}}}");
		return true;
	case LISTEN_INITIALIZED:
		(void)buf_adds(b, STR("{\"jsonrpc\":\"2.0\","
		    "\"method\":\"notifications/initialized\"}"));
		return true;
	case LISTEN_LIST:
		(void)buf_fmt(b, "{\"jsonrpc\":\"2.0\",\"id\":%u,"
		    "\"method\":\"tools/list\"}", l->next_id++);
		return true;
	case LISTEN_CALL:
		(void)buf_fmt(b, "{\"jsonrpc\":\"2.0\",\"id\":%u,"
		    "\"method\":\"tools/call\",\"params\":", l->next_id++);
		(void)buf_adds(b, str_c(l->opts.call_params));
		(void)buf_addc(b, '}');
		return true;
	case LISTEN_REPLY:
		(void)buf_adds(b, buf_str(&s->body));
		return true;
	case LISTEN_STANDALONE: case LISTEN_EXTRA: case LISTEN_DELETE:
		break;
	}
	return false;
}

/* One of our header lines, where the user gave none of that name. */
static void
own_line(struct listener *l, unsigned *n, struct str line)
{
	struct str name = str_of(line.p, str_find(line, STR(":")) + 1);

	for (unsigned i = 0; i < l->opts.n_headers; i++)
		if (str_ipre(l->opts.headers[i], name))
			return;
	assert(*n < OWN_LINES);
	l->lines[(*n)++] = line;
}

/* The header lines of a request; how many. */
static unsigned
put_lines(struct slot *s, struct buf *cursor, bool body)
{
	struct listener *l = s->l;
	bool sends = l->opts.client == NULL || l->opts.client->cursor;
	struct str id = s->es != NULL && sends ? esource_cursor(s->es) : STR_NONE;
	unsigned n = 0;

	own_line(l, &n, STR("User-Agent: mcpdiag/" MCPDIAG_VERSION));
	if (body) {
		own_line(l, &n, STR("Accept: application/json, text/event-stream"));
		own_line(l, &n, STR("Content-Type: application/json"));
	} else if (s->get) {
		own_line(l, &n, STR("Accept: text/event-stream"));
	}
	if (l->session.n > 0)
		own_line(l, &n, buf_str(&l->session));
	if (l->version.n > 0)
		own_line(l, &n, buf_str(&l->version));
	if (id.n > 0) {
		(void)buf_adds(cursor, STR("Last-Event-ID: "));
		(void)buf_adds(cursor, id);
		own_line(l, &n, buf_str(cursor));
	}
	for (unsigned i = 0; i < l->opts.n_headers; i++)
		l->lines[n++] = l->opts.headers[i];
	return n;
}

static void
ask(struct slot *s)
{
	struct listener *l = s->l;
	struct buf body, cursor;
	struct errmsg em;
	struct client_request q = {
		.method = method_of(s), .url = l->opts.url, .headers = l->lines,
		.connect_timeout = l->opts.connect_timeout, .fresh = l->opts.fresh,
	};

	buf_init(&body, REQUEST_MAX);
	buf_init(&cursor, OWN_LINE_MAX);
	if (put_body(s, &body))
		q.body = buf_str(&body);
	q.n_headers = put_lines(s, &cursor, q.body.p != NULL);
	if (s->es == NULL)
		q.timeout = l->opts.post_timeout;
	s->state = ASKED;
	s->gets += s->get;
	s->later = -1;
	if (!l->io->send(l->io_arg, number(s), &q, &em))
		listener_end(l, number(s), CLIENT_BAD, em.text);
	buf_fini(&body);
	buf_fini(&cursor);
}

/* The GET, if this is when the client opens it. */
static void
open_get(struct listener *l, enum client_opens when)
{
	const struct client_row *c = l->opts.client;

	if (!l->opts.standalone || (c ? c->opens : OPENS_AFTER) != when ||
	    (c && !c->sessionless && l->session.n == 0) ||
	    slot_of(l, LISTEN_STANDALONE, 0)->state != IDLE)
		return;
	arm(slot_of(l, LISTEN_STANDALONE, 0),
	    when == OPENS_AFTER ? scaled(l, l->opts.delay_get) : 0);
}

/* After notifications/initialized was answered: the channel, the list. */
static void
steps(struct listener *l)
{
	const struct listener_opts *o = &l->opts;

	if (l->stepped)
		return;
	l->stepped = true;
	open_get(l, OPENS_AFTER);
	for (unsigned i = 0; i < o->extra; i++)
		arm(slot_of(l, LISTEN_EXTRA, i),
		    scaled(l, o->delay_get + (i + 1) * o->delay_extra));
	if (o->list)
		arm(slot_of(l, LISTEN_LIST, 0),
		    scaled(l, o->delay_get + o->delay_list));
	for (unsigned i = 0; i < l->n; i++)
		if (l->slots[i].state == DUE)
			ask(&l->slots[i]);
}

/* The answer to initialize is here. */
static void
initialized(struct listener *l, struct str version)
{
	bool sane = version.n > 0 && version.n <= 32;

	if (l->initialized)
		return;
	l->initialized = true;
	for (size_t i = 0; i < version.n && sane; i++)
		sane = version.p[i] > ' ' && version.p[i] <= '~';
	(void)buf_adds(&l->version, STR("MCP-Protocol-Version: "));
	(void)buf_adds(&l->version, sane ? version : str_c(l->opts.protocol));
	open_get(l, OPENS_BEFORE);
	arm(slot_of(l, LISTEN_INITIALIZED, 0), scaled(l, l->opts.delay_initialized));
}

/* The server asks; beyond REPLIES at once it gets no answer. */
static void
reply(struct listener *l, const struct rpc_msg *m)
{
	struct slot *s = NULL;

	for (unsigned i = 0; i < l->n && s == NULL; i++)
		if (l->slots[i].kind == LISTEN_REPLY && l->slots[i].state == IDLE)
			s = &l->slots[i];
	if (s == NULL || m->id_cut)
		return;
	buf_clear(&s->body);
	(void)buf_adds(&s->body, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
	(void)buf_adds(&s->body, m->id);
	(void)buf_adds(&s->body, str_eq(m->method, STR("ping")) ?
	    STR(",\"result\":{}}") :
	    STR(",\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}"));
	ask(s);
}

/* Told before it is acted on. */
static void
tell_message(struct listener *l, struct str method)
{
	struct listen_event e = *l->message;

	e.rpc_method = method;
	l->told = true;
	tell(l->at, &e);
}

static void
on_rpc(void *arg, const struct rpc_msg *m)
{
	struct listener *l = arg;

	if (!l->told)
		tell_message(l, m->method);
	if (l->stopping)
		return;
	switch (m->kind) {
	case RPC_RESPONSE:
		l->at->answered = true;
		if (str_eq(m->id, STR("1")))
			initialized(l, m->result_version);
		break;
	case RPC_ERROR:
		l->at->answered = true;
		if (str_eq(m->id, STR("1")))
			l->bad_initialize = true;
		break;
	case RPC_NOTIFICATION:
		if (str_eq(m->method, STR("notifications/tools/list_changed")))
			l->changed++;
		break;
	case RPC_REQUEST:
		reply(l, m);
		break;
	case RPC_INVALID:
		break;
	}
}

/* A reader takes kilobytes: thousands that wait for a message have none. */
static void
read_message(struct listener *l, struct str data)
{
	struct limits limits;
	struct rpc *rpc;

	limits_init(&limits);
	rpc = rpc_new(&limits, on_rpc, l);
	if (rpc_feed(rpc, data.p, data.n) == 0)
		(void)rpc_eof(rpc);
	rpc_free(rpc);
}

/* JSON-RPC of an event, or of a JSON answer: told, then acted on. */
static void
message(struct slot *s, struct listen_event *e)
{
	struct listener *l = s->l;

	e->what = LISTEN_MESSAGE;
	l->message = e;
	l->at = s;
	l->told = l->bad_initialize = false;
	l->changed = 0;
	if (!e->cut)
		read_message(l, e->data);
	if (!l->told)
		tell_message(l, STR_NONE);
	l->message = NULL;
	if (l->bad_initialize && !l->initialized)
		finish(l, LISTEN_REFUSED, "the server answered initialize with an error");
	for (; l->changed > 0 && l->stepped && !l->stopping &&
	    l->refetched < l->opts.refetch; l->changed--)
		ask(slot_of(l, LISTEN_LIST, ++l->refetched));
}

static void
on_message(void *arg, const struct esource_msg *m)
{
	struct slot *s = arg;
	struct listen_event e = { .id = m->id, .type = m->type, .data = m->data,
	    .cut = m->cut };

	if (!s->l->over)
		message(s, &e);
}

void
listener_opts_init(struct listener_opts *o)
{
	*o = (struct listener_opts){
		.protocol = "2025-06-18",
		.reconnect = 1U << LISTEN_INITIALIZE | 1U << LISTEN_STANDALONE |
		    1U << LISTEN_LIST | 1U << LISTEN_EXTRA,
		.standalone = true, .list = true, .scale = 1, .retry_scale = 1,
		.retry = 3 * NS_S,
		.delay_initialized = 150 * NS_MS, .delay_get = NS_MS,
		.delay_extra = 10 * NS_MS, .delay_list = 100 * NS_MS,
		.call_params = "{\"name\":\"poke\",\"arguments\":{}}",
		.connect_timeout = 10 * NS_S, .post_timeout = 10 * NS_S,
		.message = 1U << 20,
	};
}

static void
add_slots(struct listener *l, enum listen_kind kind, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct slot *s = &l->slots[l->n++];

		*s = (struct slot){ .l = l, .kind = kind, .index = i,
		    .get = kind == LISTEN_STANDALONE || kind == LISTEN_EXTRA };
		buf_init(&s->body, l->opts.message > BODY_LEAST ?
		    l->opts.message : BODY_LEAST);
		if (kind != LISTEN_INITIALIZED && kind != LISTEN_REPLY &&
		    kind != LISTEN_DELETE)
			s->es = esource_new(on_message, s, l->opts.message,
			    l->opts.client ? -1 : l->opts.retry);
	}
}

struct listener *
listener_new(const struct listener_opts *o, const struct listener_io *io, void *io_arg,
    listener_fn *fn, void *arg)
{
	struct listener *l = xcalloc(1, sizeof *l);

	l->opts = *o;
	l->io = io;
	l->io_arg = io_arg;
	l->fn = fn;
	l->arg = arg;
	l->next_id = 2;
	l->retry = -1;
	l->lines = xcalloc(OWN_LINES + o->n_headers, sizeof *l->lines);
	buf_init(&l->session, OWN_LINE_MAX);
	buf_init(&l->version, OWN_LINE_MAX);
	l->slots = xcalloc(5 + (size_t)REPLIES + o->refetch + o->n_calls + o->extra,
	    sizeof *l->slots);
	add_slots(l, LISTEN_INITIALIZE, 1);
	add_slots(l, LISTEN_INITIALIZED, 1);
	add_slots(l, LISTEN_STANDALONE, 1);
	add_slots(l, LISTEN_DELETE, 1);
	add_slots(l, LISTEN_LIST, 1 + o->refetch);
	add_slots(l, LISTEN_CALL, o->n_calls);
	add_slots(l, LISTEN_EXTRA, o->extra);
	add_slots(l, LISTEN_REPLY, REPLIES);
	return l;
}

void
listener_free(struct listener *l)
{
	if (l == NULL)
		return;
	for (unsigned i = 0; i < l->n; i++) {
		esource_free(l->slots[i].es);
		buf_fini(&l->slots[i].body);
	}
	buf_fini(&l->session);
	buf_fini(&l->version);
	free(l->lines);
	free(l->slots);
	free(l);
}

unsigned
listener_slots(const struct listener *l)
{
	return l->n;
}

void
listener_start(struct listener *l)
{
	/* The slot of DELETE has the timer of the end. */
	if (l->opts.duration > 0)
		l->io->timer(l->io_arg, number(slot_of(l, LISTEN_DELETE, 0)),
		    scaled(l, l->opts.duration));
	for (unsigned i = 0; i < l->opts.n_calls; i++)
		arm(slot_of(l, LISTEN_CALL, i), scaled(l, l->opts.calls[i]));
	ask(slot_of(l, LISTEN_INITIALIZE, 0));
}

void
listener_stop(struct listener *l)
{
	if (l->stopping)
		return;
	l->stopping = true;
	for (unsigned i = 0; i < l->n; i++)
		l->io->clear(l->io_arg, i);
	if (l->opts.delete && l->session.n > 0)
		ask(slot_of(l, LISTEN_DELETE, 0));
	else
		finish(l, LISTEN_DONE, "");
}

/* Takes the session id over; false when it is too long. */
static bool
take_session(struct listener *l, const struct client_head *h)
{
	struct str id = client_header(h, STR("mcp-session-id"));

	if (id.n == 0)
		return true;
	(void)buf_adds(&l->session, STR("Mcp-Session-Id: "));
	return buf_adds(&l->session, id) == 0;
}

/* What follows from an answer, once it is told. */
static void
answered(struct slot *s, unsigned status)
{
	struct listener *l = s->l;

	if (s->kind == LISTEN_DELETE)
		finish(l, LISTEN_DONE, "");
	else if (l->stopping)
		;
	else if (s->kind == LISTEN_INITIALIZE && !s->get && s->state == PLAIN)
		finish(l, LISTEN_REFUSED, status == 200 ?
		    "the answer to initialize is neither JSON nor an event stream" :
		    "the server refused initialize");
	else if (status == 404 && l->session.n > 0 && !(l->opts.client && s->get))
		finish(l, LISTEN_SESSION_GONE,
		    "the server does not know the session any more (404)");
	else if (s->kind == LISTEN_INITIALIZED)
		steps(l);
	else if (s->kind == LISTEN_INITIALIZE && !s->get)
		open_get(l, OPENS_ON_HEAD);
}

/* What the client does about an answer to a GET: when it asks again, or -1. */
static ns_t
react(struct slot *s, enum client_got got)
{
	struct listener *l = s->l;
	const struct client_row *c = l->opts.client;
	bool first = s->gets <= 1 && kinds[s->kind].method[0] == 'G';
	ns_t told = esource_retry(s->es);
	unsigned before = s->failures;

	if (told < 0 && c->shares)
		told = l->retry;
	if (got == GOT_STREAM) {
		s->failures = 0;
		return -1;
	}
	switch (clients_do(c, got, first, s->failures)) {
	case DOES_RETRY:
		/* What is no stream passes for one that ended. */
		if (got == GOT_END || got == GOT_TYPE)
			before = 0;
		if ((got != GOT_END && got != GOT_TYPE) || c->end_counts)
			s->failures = before + 1;
		return times(clients_delay(c, before, told), l->opts.retry_scale);
	case DOES_REINIT: case DOES_FAIL:
		l->gives_up = true;
		return -1;
	case DOES_UNTOLD: case DOES_LISTEN: case DOES_WITHOUT: case DOES_DEAF:
	case DOES_TRIES:
		break;
	}
	return -1;
}

static void
give_up(struct slot *s)
{
	if (s->l->gives_up && !s->l->over)
		finish(s->l, LISTEN_SESSION_GONE,
		    "this client takes that for the end of the session");
}

void
listener_head(struct listener *l, unsigned slot, const struct client_head *h)
{
	struct slot *s = &l->slots[slot];
	struct listen_event e = { .what = LISTEN_ANSWER, .method = method_of(s),
	    .status = h->status, .again = -1 };

	if (l->over)
		return;
	assert(s->state == ASKED);
	if (s->es != NULL)
		e.cursor = esource_cursor(s->es);
	if (s->es != NULL && esource_head(s->es, h->status, h->content_type))
		s->state = STREAM;
	else if (s->es != NULL && !s->get && h->status == 200 &&
	    content_type_is(h->content_type, STR("application/json")))
		s->state = JSON;
	else
		s->state = PLAIN;
	e.stream = s->state == STREAM;
	if (s->get && l->opts.client)
		e.again = s->later = react(s, clients_got(h->status, e.stream));
	if (s->kind == LISTEN_INITIALIZE && !s->get && !take_session(l, h)) {
		finish(l, LISTEN_REFUSED, "the session id is too long");
		return;
	}
	tell(s, &e);
	answered(s, h->status);
	give_up(s);
}

void
listener_body(struct listener *l, unsigned slot, const void *p, size_t n)
{
	struct slot *s = &l->slots[slot];

	if (l->over)
		return;
	if (s->state == STREAM)
		esource_feed(s->es, p, n);
	else if (s->state == JSON && buf_add(&s->body, p, n) < 0)
		s->state = PLAIN;	/* longer than any answer we want */
}

/* Opens the lineage again after that time; when, or -1. */
static ns_t
again(struct slot *s, ns_t after)
{
	struct listener *l = s->l;

	if (l->stopping || after < 0)
		return -1;
	if (after < RETRY_MIN)
		after = RETRY_MIN;
	s->get = true;
	arm(s, after);
	return after;
}

/* When an EventSource whose stream is over opens it again. */
static ns_t
retry(const struct slot *s)
{
	const struct listener *l = s->l;

	if ((l->opts.reconnect & 1U << s->kind) == 0)
		return -1;
	return times(esource_retry(s->es), l->opts.retry_scale);
}

/* A stream is over: what the client does. */
static ns_t
react_to_end(struct slot *s)
{
	struct listener *l = s->l;
	const struct client_row *c = l->opts.client;
	bool moved = esource_moved(s->es);

	if (esource_retry(s->es) >= 0)
		l->retry = esource_retry(s->es);
	if (!moved && !c->keeps)
		esource_forget(s->es);
	s->idle = moved ? 0 : s->idle + 1;
	if ((l->opts.reconnect & 1U << s->kind) == 0)
		return -1;
	if (kinds[s->kind].method[0] == 'P' && (!c->posts || (s->answered && !c->answered) ||
	    (!c->all && esource_cursor(s->es).n == 0)))
		return -1;
	if (c->idle > 0 && s->idle > c->idle) {
		l->gives_up = c->on_idle == DOES_FAIL;
		return -1;
	}
	return react(s, GOT_END);
}

/* A request is over; without an answer when it is still ASKED. */
static void
ended(struct slot *s, enum client_end end, const char *why)
{
	struct listener *l = s->l;
	struct listen_event e = { .method = method_of(s), .end = end, .why = why,
	    .again = -1 };
	enum state was = s->state;

	s->state = s->kind == LISTEN_REPLY ? IDLE : OVER;
	if (was == ASKED) {
		e.what = LISTEN_ANSWER;
		if (s->es != NULL && s->get) {
			e.cursor = esource_cursor(s->es);
			e.again = again(s, l->opts.client ? react(s, GOT_NOTHING) :
			    retry(s));
		}
		tell(s, &e);
		if (s->kind == LISTEN_INITIALIZE && !s->get)
			finish(l, LISTEN_UNREACHABLE, why);
		else
			answered(s, 0);
		give_up(s);
	} else if (was == STREAM) {
		esource_eof(s->es);
		e.what = LISTEN_ENDED;
		e.again = again(s, l->opts.client ? react_to_end(s) : retry(s));
		tell(s, &e);
		give_up(s);
	} else if (was == PLAIN && s->later >= 0) {
		(void)again(s, s->later);
	} else if (was == JSON) {
		struct listen_event m = { .data = buf_str(&s->body) };

		message(s, &m);
		buf_fini(&s->body);
	}
	if (s->kind == LISTEN_INITIALIZE && !l->initialized && s->state == OVER &&
	    !l->stopping)
		finish(l, LISTEN_REFUSED, "initialize was not answered");
}

void
listener_end(struct listener *l, unsigned slot, enum client_end end, const char *why)
{
	if (!l->over)
		ended(&l->slots[slot], end, why);
}

void
listener_timer(struct listener *l, unsigned slot)
{
	struct slot *s = &l->slots[slot];

	if (l->over)
		return;
	if (s->kind == LISTEN_DELETE)
		listener_stop(l);
	else if (s->kind == LISTEN_CALL && !s->get && !l->stepped)
		s->state = DUE;
	else
		ask(s);
	if (s->kind == LISTEN_INITIALIZED && !l->over)
		open_get(l, OPENS_BESIDE);
}

const char *
listen_kind_name(enum listen_kind k)
{
	return kinds[k].name;
}
