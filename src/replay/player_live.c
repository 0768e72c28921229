/* One exchange of a player: what is sent, and what comes of it. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/esource.h"
#include "mcpdiag/xmem.h"
#include "player_priv.h"

#define MAX_LINES 40
#define MAX_LINE_BYTES (1U << 20)
#define MAX_PAIRED 256U		/* messages of an exchange that are paired */

struct lines {
	struct buf text;
	size_t at[MAX_LINES + 1];
	unsigned n;
};

/* ---- the request ---- */

static bool
is_given(const struct player_opts *o, struct str name)
{
	for (unsigned i = 0; i < o->n_headers; i++)
		if (o->headers[i].n > name.n && o->headers[i].p[name.n] == ':' &&
		    str_ipre(o->headers[i], name))
			return true;
	return false;
}

static void
add_line(struct lines *v, const struct player_opts *o, struct str name, struct str value)
{
	if (value.p == NULL || v->n >= MAX_LINES || is_given(o, name))
		return;
	(void)buf_adds(&v->text, name);
	(void)buf_adds(&v->text, STR(": "));
	(void)buf_adds(&v->text, value);
	v->at[++v->n] = v->text.n;
}

/* What the live counterpart of the captured giver gave: its last one where the
 * capture had its last, else the one in the same place. */
static struct str
cursor_of(struct live *l)
{
	const struct plan_x *x = l->x.plan;
	const struct live *g = of(l->player, x->giver);

	if (x->cursor.p == NULL)
		return STR_NONE;
	if (g == NULL)
		return x->cursor;	/* nobody gave it: a made-up one */
	/* A listener keeps its last id through streams that give none. */
	if (g->x.n_ids == 0) {
		l->x.no_cursor = g->cursor.p == NULL;
		return g->cursor;
	}
	return g->x.ids[x->last_given || x->given > g->x.n_ids ? g->x.n_ids - 1 :
	    x->given - 1];
}

/* Members of the head that are MCP's own and not known by name. */
static void
add_mcp_lines(struct lines *v, const struct player_opts *o, struct str head)
{
	while (head.n > 0) {
		size_t n = str_find(head, STR("\n"));
		struct str line = str_of(head.p, n < head.n ? n : head.n), value;
		size_t colon = str_find(line, STR(":"));

		head.p += line.n + (n < head.n);
		head.n -= line.n + (n < head.n);
		if (colon == SIZE_MAX || !str_ipre(line, STR("mcp-")) ||
		    str_ipre(line, STR("mcp-session-id:")) ||
		    str_ipre(line, STR("mcp-protocol-version:")))
			continue;
		value = str_of(line.p + colon + 1, line.n - colon - 1);
		if (value.n > 0 && value.p[value.n - 1] == '\r')
			value.n--;
		add_line(v, o, str_of(line.p, colon), str_trim(value));
	}
}

static void
add_session_lines(struct lines *v, const struct player_opts *o, const struct plan_x *x,
    const struct live *h)
{
	if ((x->has_sid || x->sessionless) && h && h->sid.n > 0)
		add_line(v, o, STR("Mcp-Session-Id"), buf_str(&h->sid));
	if (x->version.p || x->made_up)
		add_line(v, o, STR("MCP-Protocol-Version"),
		    h && h->version.n > 0 && !x->initialize ? h->version : x->version);
}

/* scheme://host[:port] of a URL; absent: it has none. */
static struct str
origin_of(struct str url)
{
	size_t at = str_find(url, STR("://")), n;

	if (at == SIZE_MAX)
		return STR_NONE;
	for (n = at + 3; n < url.n && url.p[n] != '/' && url.p[n] != '?' && url.p[n] != '#';)
		n++;
	return str_of(url.p, n);
}

static void
set_lines(struct live *l, struct lines *v, struct str *out)
{
	const struct player_opts *o = &l->player->opts;
	const struct plan_x *x = l->x.plan;

	buf_init(&v->text, MAX_LINE_BYTES);
	v->n = 0;
	v->at[0] = 0;
	add_line(v, o, STR("Accept"), x->accept);
	add_line(v, o, STR("Content-Type"), x->content_type);
	add_line(v, o, STR("User-Agent"), x->agent);
	/* That of another page would be a lie here. */
	if (x->own_origin)
		add_line(v, o, STR("Origin"), origin_of(str_c(o->url)));
	add_session_lines(v, o, x, of(l->player, x->handshake));
	l->cursor = player_keep(l->player, cursor_of(l));
	add_line(v, o, STR("Last-Event-ID"), l->cursor);
	add_mcp_lines(v, o, x->head);
	for (unsigned i = 0; i < v->n; i++)
		out[i] = str_of(v->text.p + v->at[i], v->at[i + 1] - v->at[i]);
}

/* The id of the k-th request that the server made on it. */
static struct str
asked_id(const struct live *l, uint32_t k)
{
	for (uint32_t i = 0; i < l->x.n_msgs; i++)
		if (l->x.msgs[i].kind == EV_MSG_REQUEST && --k == 0)
			return l->x.msgs[i].id;
	return STR_NONE;
}

static void
set_body(struct live *l, struct buf *out)
{
	const struct plan_x *x = l->x.plan;
	const struct live *a = of(l->player, x->asker);
	struct str id = a ? asked_id(a, x->asked) : STR_NONE;
	struct buf mapped;

	minted_apply(l->player->minted, x->body, out);
	if (id.p == NULL)
		return;
	mapped = *out;
	buf_init(out, mapped.max);
	minted_set_id(buf_str(&mapped), id, out);
	buf_fini(&mapped);
}

/* ---- the response ---- */

/* The message that the capture has in this one's place. */
static struct str
captured(const struct live *l, const struct player_msg *m)
{
	const struct plan_x *x = l->x.plan;
	uint32_t k = 0;

	if (l->x.n_msgs > MAX_PAIRED)
		return STR_NONE;
	for (uint32_t i = 0; i + 1 < l->x.n_msgs; i++)
		k += l->x.msgs[i].kind == m->kind;
	for (uint32_t i = 0; i < x->n_answers && i < MAX_PAIRED; i++)
		if (x->answers[i].kind == m->kind && k-- == 0)
			return x->answers[i].text;
	return STR_NONE;
}

static enum ev_msg
kind_of(enum rpc_kind k)
{
	switch (k) {
	case RPC_REQUEST:
		return EV_MSG_REQUEST;
	case RPC_NOTIFICATION:
		return EV_MSG_NOTIFICATION;
	case RPC_RESPONSE:
		return EV_MSG_RESPONSE;
	case RPC_ERROR:
		return EV_MSG_ERROR;
	case RPC_INVALID:
		break;
	}
	return EV_MSG_INVALID;
}

void
player_on_message(void *arg, const struct rpc_msg *m)
{
	struct player *p = arg;
	struct live *l = p->parsing;
	struct player_msg msg = { .kind = kind_of(m->kind), .t = player_now(p),
		.method = player_keep(p, m->method), .id = player_keep(p, m->id),
		.text = p->parsed, .cut = l->cut };
	struct str text;

	if (l->x.n_msgs >= PLAN_EVENTS)
		return;
	l->x.msgs = xgrow(l->x.msgs, l->x.n_msgs, &l->x.cap_msgs, sizeof msg);
	l->x.msgs[l->x.n_msgs++] = msg;
	l->n_answers += m->kind == RPC_RESPONSE || m->kind == RPC_ERROR;
	if (m->result_version.p)
		l->version = player_keep(p, m->result_version);
	text = captured(l, &msg);
	if (text.p && msg.text.p)
		minted_learn(p->minted, text, msg.text);
	if (m->kind == RPC_REQUEST) {
		l->n_asked++;
		if (str_eq(m->method, STR("ping")) && l->n_asked > l->n_replied)
			player_pong(l, m->id);
	}
}

static void
parse(struct live *l)
{
	struct player *p = l->player;
	struct str text = buf_str(&l->text);

	p->parsing = l;
	p->parsed = player_keep(p, text);
	rpc_reset(p->rpc);
	if (!l->cut && rpc_feed(p->rpc, text.p, text.n) == 0)
		(void)rpc_eof(p->rpc);
	p->parsing = NULL;
	buf_clear(&l->text);
	l->cut = false;
}

static void
on_data(void *arg, const void *p, size_t n)
{
	struct live *l = arg;

	l->cut |= buf_add(&l->text, p, n) != 0;
}

/* Where HTTP+SSE wants its messages: a path, or a URL of the same origin. */
static void
set_endpoint(struct live *l, struct str data)
{
	struct str origin = origin_of(str_c(l->player->opts.url));

	if (origin.p == NULL)
		return;
	buf_clear(&l->endpoint);
	if (str_find(data, STR("://")) != SIZE_MAX) {
		/* A client must not be sent elsewhere. */
		if (str_pre(data, origin) && (data.n == origin.n ||
		    data.p[origin.n] == '/'))
			(void)buf_adds(&l->endpoint, data);
		return;
	}
	(void)buf_adds(&l->endpoint, origin);
	if (data.n == 0 || data.p[0] != '/')
		(void)buf_addc(&l->endpoint, '/');
	(void)buf_adds(&l->endpoint, data);
}

static void
on_event(void *arg, const struct sse_event *e)
{
	struct live *l = arg;
	struct player_x *x = &l->x;

	x->n_events++;
	if (e->id.p && x->n_ids < PLAN_EVENTS && !e->cut) {
		struct str id = player_keep(l->player, e->id);

		x->ids = xgrow(x->ids, x->n_ids, &x->cap_ids, sizeof *x->ids);
		if (id.p)
			x->ids[x->n_ids++] = id;
	}
	if (str_eq(e->type, STR("endpoint")))
		set_endpoint(l, buf_str(&l->text));
	else if (l->text.n > 0 && !e->tail)
		parse(l);
	buf_clear(&l->text);
	l->cut = false;
	player_progress(l);
}

static bool
is_json(struct str type)
{
	return content_type_is(type, STR("application/json"));
}

static void
on_head(void *arg, const struct client_head *h)
{
	static const struct sse_cb cb = { .data = on_data, .event = on_event };
	struct live *l = arg;
	struct str sid = client_header(h, STR("mcp-session-id"));

	l->x.status = h->status;
	l->x.head = player_now(l->player);
	l->x.type = player_keep(l->player, h->content_type);
	l->x.location = player_keep(l->player, client_header(h, STR("location")));
	if (sid.p)
		(void)buf_adds(&l->sid, sid);
	l->x.is_stream = h->status == 200 &&
	    content_type_is(h->content_type, STR("text/event-stream"));
	if (l->x.is_stream)
		l->sse = sse_new(&cb, l, ESOURCE_ID, l->player->opts.message + 1);
	player_progress(l);
}

static void
on_body(void *arg, const void *p, size_t n)
{
	struct live *l = arg;

	l->x.bytes += n;
	if (l->sse)
		sse_feed(l->sse, p, n);
	else if (is_json(l->x.type))
		on_data(l, p, n);
}

static void
on_end(void *arg, enum client_end how, const char *why)
{
	struct live *l = arg;

	l->req = NULL;
	if (l->sse)
		sse_eof(l->sse);
	else if (how == CLIENT_COMPLETE && l->text.n > 0)
		parse(l);
	l->x.how = how;
	if (how != CLIENT_COMPLETE)
		l->x.why = player_keep(l->player, str_c(why));
	player_ended(l);
}

/* ---- both ---- */

bool
live_send(struct live *l)
{
	static const struct client_cb cb = { on_head, on_body, on_end };
	const struct plan_x *x = l->x.plan;
	struct player *p = l->player;
	const struct live *h = of(p, x->handshake);
	bool legacy = h && h->x.plan->legacy && x->kind == PLAN_POST;
	struct str lines[MAX_LINES + 64];
	struct lines own;
	struct buf body;
	struct errmsg em;
	char *method = xmemdup0(x->method.p, x->method.n), *url = NULL;
	struct client_request q = { .method = method, .url = p->opts.url, .headers = lines,
		.connect_timeout = p->opts.connect_timeout,
		.fresh = x->x != 0 && x->xn == 0 };

	buf_init(&body, 32U << 20);
	if (legacy) {
		url = xmemdup0(buf_str(&h->endpoint).p, h->endpoint.n);
		q.url = url;
	}
	set_lines(l, &own, lines);
	q.n_headers = own.n;
	for (unsigned i = 0; i < p->opts.n_headers && q.n_headers < MAX_LINES + 64; i++)
		lines[q.n_headers++] = p->opts.headers[i];
	if (x->body.p) {
		set_body(l, &body);
		q.body = buf_str(&body);
	}
	l->req = client_start(player_client(p, x->client), &q, &cb, l, &em);
	if (l->req == NULL)
		l->x.why = player_keep(p, str_c(em.text));
	buf_fini(&own.text);
	buf_fini(&body);
	free(method);
	free(url);
	return l->req != NULL;
}

void
live_leave(struct live *l)
{
	if (l->req)
		client_cancel(l->req);
	l->req = NULL;
	l->x.left = true;
	player_ended(l);
}

void
live_init(struct live *l, struct player *p, const struct plan_x *x)
{
	l->player = p;
	l->x = (struct player_x){ .plan = x, .due = -1, .sent = -1, .head = -1, .end = -1,
		.state = x->skip == PLAN_PLAYED ? PLAYED_WAITING : PLAYED_NOT };
	buf_init(&l->text, p->opts.message);
	buf_init(&l->sid, 8192);
	buf_init(&l->endpoint, 16384);
}

void
live_fini(struct live *l)
{
	loop_timer_free(l->timer);
	sse_free(l->sse);
	buf_fini(&l->text);
	buf_fini(&l->sid);
	buf_fini(&l->endpoint);
	free(l->x.msgs);
	free(l->x.ids);
	free(l);
}
