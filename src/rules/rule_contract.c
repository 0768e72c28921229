/* contract: what the text of the specification says and the traffic does not do.
 * spec-rules of 2024-11-05 to 2025-11-25: HTTP and JSON-RPC, handshake and
 * session, streams of requests, GET streams, HTTP+SSE.  Nothing here is a
 * pathology by itself: those are detectors of their own.
 *
 * This file keeps the exchanges and sessions; the rules are in the files that
 * rule_contract_priv.h names. */
#include <stdlib.h>

#include "rule_contract_priv.h"

static void
free_session(struct kept *k)
{
	struct cs *s = (struct cs *)k;

	ct_session_close(s);
	ct_stream_close(s);
	ct_report(s);
	ct_free_hits(s);
	free(s->pend);
	free(s->ended);
	free(s->sent);
	idtab_fini(&s->reqs);
	idtab_fini(&s->server_reqs);
	idtab_fini(&s->events);
	free(s);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct contract *c = xcalloc(1, sizeof *c);
	uint32_t many = (uint32_t)lim->sessions;

	c->engine = e;
	c->lim = *lim;
	keeper_init(&c->sessions, e, lim->sessions, free_session);
	idmap_init(&c->open);
	idmap_init(&c->clients);
	c->whos = engine_reader(e, &who_reader);
	c->ids = engine_reader(e, &id_reader);
	idtab_init(&c->conn_sids, (uint32_t)lim->flows);
	idtab_init(&c->paths, many);
	idtab_init(&c->legacy, many);
	idtab_init(&c->told, many);
	return c;
}

struct cs *
ct_session(struct contract *c, uint32_t n)
{
	struct cs *s = (struct cs *)keeper_find(&c->sessions, n);

	if (s)
		return s;
	s = xcalloc(1, sizeof *s);
	s->c = c;
	idtab_init(&s->reqs, (uint32_t)c->lim.ids);
	idtab_init(&s->server_reqs, (uint32_t)c->lim.ids);
	idtab_init(&s->events, (uint32_t)c->lim.ids);
	keeper_add(&c->sessions, &s->of, n);
	return s;
}

static void
drop(struct contract *c, struct cx *x)
{
	idmap_del(&c->open, &x->node);
	free(x);
}

/* What is told at the end is told while the engine still takes findings. */
static void
end(void *arg, ns_t now)
{
	struct contract *c = arg;

	c->now = now;
	ct_clients_end(c);
	keeper_fini(&c->sessions);
}

static void
free_rule(void *arg)
{
	struct contract *c = arg;
	struct kept *k, *tmp;

	while (c->open.first)
		drop(c, (struct cx *)c->open.first);
	idmap_fini(&c->open);
	ct_clients_free(c);
	KEEPER_EACH(&c->sessions, k, tmp) {
		/* The input had no end: say nothing. */
		ct_free_hits((struct cs *)k);
		((struct cs *)k)->n_pend = 0;
		((struct cs *)k)->gone.t = 0;
	}
	keeper_fini(&c->sessions);
	idtab_fini(&c->conn_sids);
	idtab_fini(&c->paths);
	idtab_fini(&c->legacy);
	idtab_fini(&c->told);
	free(c);
}

/* ---- what is known of an exchange ---- */

static unsigned
revs_of(struct str version, bool *modern)
{
	*modern = false;
	if (version.n != 10)		/* a date, or nobody knows what */
		return 0;
	*modern = str_cmp(version, STR("2026-01-01")) > 0;
	if (*modern)
		return 0;
	return str_cmp(version, STR("2025-11-25")) >= 0 ? REV_D :
	    str_cmp(version, STR("2025-06-18")) >= 0 ? REV_C : REV_B;
}

unsigned
ct_revs(const struct cs *s, const struct cx *x)
{
	if (x->modern)
		return 0;
	if (s && s->transport == EV_LEGACY_SSE)
		return REV_A;
	if (s == NULL || s->of.session == 0)
		return x->init ? REV_BCD : 0;
	if (s->transport != EV_STREAMABLE)
		return 0;
	return s->revs ? s->revs : x->revs ? x->revs : REV_BCD;
}

bool
ct_torn(uint32_t flags)
{
	return (flags & (EVF_GAP | EVF_MIDSTREAM | EVF_HEAD_LOST | EVF_INFERRED |
	    EVF_UNDECODED | EVF_CUT)) != 0;
}

uint64_t
ct_path(const struct contract *c, const struct cx *x)
{
	uint64_t key[2] = { x->target, x->server };

	(void)c;
	return map_digest(key, sizeof key);
}

static uint64_t
maker(const struct ev *e)
{
	struct digest d;

	digest_init(&d);
	digest_add(&d, e->u.resp.server.p, e->u.resp.server.n);
	digest_add(&d, "\n", 1);
	digest_add(&d, e->u.resp.via.p, e->u.resp.via.n);
	return digest_end(&d);
}

bool
ct_proxy(const struct cs *s, const struct ev *e)
{
	return e->u.resp.status == 502 || e->u.resp.status == 503 ||
	    e->u.resp.status == 504 || e->u.resp.challenge ||
	    (s->server_known && s->server != maker(e));
}

static struct cx *
find(struct contract *c, uint32_t x)
{
	return (struct cx *)idmap_get(&c->open, x);
}

/* ---- events ---- */

static void
on_session(struct contract *c, const struct ev *e)
{
	struct cs *s = e->session ? ct_session(c, e->session) : NULL;
	bool modern;

	if (s == NULL)
		return;
	s->transport = e->u.session.transport;
	s->endpoint = map_digest(e->u.session.endpoint.p, e->u.session.endpoint.n);
	/* Offered, or read off a header, it is not what was agreed on. */
	if (e->u.session.server.p && !e->u.session.offered)
		s->revs = revs_of(e->u.session.revision, &modern);
}

/* Of a head that a limit has cut nobody knows what it lacks. */
static uint32_t
cut(const struct contract *c, const struct ev *e)
{
	return e->pkt && e->conn == c->cut_conn && e->pkt == c->cut_pkt ? EVF_HEAD_LOST : 0;
}

/* What was asked and given on a session that ended long ago matters no more. */
static void
on_session_end(struct contract *c, const struct ev *e)
{
	uint32_t *last = &c->ended[c->n_ended++ % CT_ENDED];
	struct cs *s = *last ? (struct cs *)keeper_find(&c->sessions, *last) : NULL;

	if (s && s->n_pend == 0) {
		idtab_fini(&s->reqs);
		idtab_fini(&s->server_reqs);
		idtab_fini(&s->events);
		s->reqs_lost = s->server_reqs.forgot = true;
	}
	*last = e->session;
	ct_session(c, e->session)->deleted = e->t;
}

static uint64_t
client(const struct cx *x)
{
	uint64_t key[2] = { x->agent, x->server };

	return x->server ? map_digest(key, sizeof key) : 0;
}

static void
on_request(struct contract *c, const struct ev *e)
{
	const struct asked *a = who_asked(c->whos, e->conn, e->x);
	struct cx *x = find(c, e->x);

	if (x)				/* an event file may say anything */
		drop(c, x);
	if (c->open.n && c->open.n >= c->lim.streams)
		drop(c, (struct cx *)c->open.first);	/* the oldest */
	x = xcalloc(1, sizeof *x);
	x->x = e->x;
	x->session = e->session;
	x->conn = e->conn;
	x->flags = e->flags | cut(c, e);
	x->retry_ms = -1;
	x->requested = (struct at){ e->t, e->pkt };
	if (a) {
		x->method = a->get ? CT_GET : a->post ? CT_POST : a->del ? CT_DELETE : CT_OTHER;
		x->target = a->target;
		x->agent = a->client;
		x->server = a->server;
		x->client = client(x);
	}
	x->has_sid = e->u.req.sid.p != NULL;
	x->has_cursor = e->u.req.cursor.p != NULL;
	x->has_version = e->u.req.version.p != NULL;
	x->revs = revs_of(e->u.req.version, &x->modern);
	ct_http_request(x, e);
	idmap_put(&c->open, &x->node, x->x);
	if (x->modern)
		return;
	ct_way_request(c, x, e);
	if (e->session)
		ct_session_request(c, ct_session(c, e->session), x, e);
}

static void
on_posted(struct contract *c, struct cx *x, const struct ev *e)
{
	struct cs *s = x->session ? ct_session(c, x->session) : NULL;

	switch (e->u.msg.kind) {
	case EV_MSG_REQUEST:
		x->init |= str_eq(e->u.msg.method, STR("initialize"));
		x->discover |= str_eq(e->u.msg.method, STR("server/discover"));
		if (x->n_req < CT_IDS)
			x->ids[x->n_req] = id_of(c->ids);
		x->n_req++;
		break;
	case EV_MSG_NOTIFICATION:
		x->n_notif++;
		break;
	case EV_MSG_RESPONSE: case EV_MSG_ERROR:
		x->n_resp++;
		break;
	case EV_MSG_INVALID:
		break;
	}
	x->batched += e->u.msg.batch;
	if (x->modern)
		return;
	ct_session_posted(c, s, x, e);
	if (s == NULL)
		return;
	ct_legacy_posted(c, s, x, e);
	ct_ids_posted(s, x, e);
}

static void
on_response(struct contract *c, struct cx *x, const struct ev *e)
{
	struct cs *s;

	x->flags |= e->flags | cut(c, e);
	x->head = (struct at){ e->t, e->pkt };
	x->status = e->u.resp.status;
	x->event_stream = e->u.resp.event_stream;
	if (x->modern)
		return;
	if (e->session && e->session != x->session) {
		x->session = e->session;
		ct_ids_bind(ct_session(c, e->session), x);
	}
	s = ct_session(c, x->session);
	s->flags |= x->flags;
	if (x->status / 100 == 2 && x->n_req && !s->server_known) {
		s->server = maker(e);
		s->server_known = true;
	}
	ct_http_head(c, s, x, e);
	ct_session_head(c, s, x, e);
	ct_way_head(c, x, e);
	ct_get_head(c, x, e);
	ct_legacy_head(s, x);
}

static void
on_message(struct contract *c, struct cx *x, const struct ev *e)
{
	struct cs *s = ct_session(c, x->session);

	x->flags |= e->flags;
	if (e->u.msg.kind == EV_MSG_RESPONSE || e->u.msg.kind == EV_MSG_ERROR)
		x->n_answers++;
	else
		x->n_other++;
	x->n_results += e->u.msg.kind == EV_MSG_RESPONSE;
	x->reply_batched += e->u.msg.batch;
	if (x->n_answers && x->n_answers >= x->n_req && x->answered.t == 0)
		x->answered = (struct at){ e->t, e->pkt };
	if (x->modern || x->session == 0)
		return;
	ct_ids_message(s, x, e);
	ct_get_message(s, x, e);
}

static void
on_sse(struct contract *c, struct cx *x, const struct ev *e)
{
	struct cs *s = ct_session(c, x->session);

	x->flags |= e->flags & ~(uint32_t)(EVF_REPLAY | EVF_LATE);
	x->sse_replay = (e->flags & EVF_REPLAY) != 0;
	x->event_id = e->u.sse.id.n && e->u.sse.data ?
	    id_of(c->ids) : 0;
	x->ids_seen |= e->u.sse.id.n > 0;
	if (e->u.sse.retry_ms >= 0)
		x->retry_ms = e->u.sse.retry_ms;
	x->tail |= e->u.sse.tail && e->u.sse.data;
	ct_legacy_sse(s, x, e);
	if (x->session)
		ct_get_sse(s, x, e);
	x->events += e->u.sse.dispatched;
	x->pings += e->u.sse.dispatched && str_eq(e->u.sse.name, STR("ping"));
}

static void
on_stream(struct contract *c, struct cx *x, const struct ev *e)
{
	struct cs *s;

	x->stream = e->stream;
	x->is_stream = true;
	x->kind = e->u.stream.kind;
	x->resumes = e->u.stream.resumes;
	x->givers = e->u.stream.givers;
	x->modern |= x->kind == EV_LISTEN;
	if (x->head.t == 0)
		x->head = (struct at){ e->t, e->pkt };
	if (e->session)			/* HTTP+SSE learns it here */
		x->session = e->session;
	s = ct_session(c, x->session);
	if (x->modern || x->session == 0)
		return;
	s->from_start |= x->kind == EV_LEGACY && !ct_torn(x->flags);
	ct_stream_open(s, x, e);
	ct_get_resumed(s, x, e);
}

static void
on_stream_end(struct contract *c, struct cx *x, const struct ev *e)
{
	struct cs *s = ct_session(c, x->session);

	x->flags |= e->flags & ~(uint32_t)(EVF_REPLAY | EVF_LATE);
	s->flags |= x->flags & (EVF_GAP | EVF_MIDSTREAM);
	if (x->modern || x->session == 0)
		return;
	ct_stream_end(s, x, e);
	ct_get_end(s, x, e);
	if (x->kind == EV_LEGACY)
		ct_legacy_end(c, s, x);
}

static void
on_response_end(struct contract *c, struct cx *x, const struct ev *e)
{
	struct cs *s = ct_session(c, x->session);

	x->flags |= e->flags;
	if (!x->modern) {
		ct_http_end(s, x, e);
		ct_session_over(s, x);
		ct_ids_over(s, x);
		ct_stream_over(s, x, e);
	}
	drop(c, x);
}

static void
event(void *arg, const struct ev *e)
{
	struct contract *c = arg;
	struct cx *x;

	switch (e->type) {
	case EV_SESSION:
		on_session(c, e);
		return;
	case EV_ANOMALY:
		if (str_eq(e->u.note.name, STR("limit"))) {
			c->cut_conn = e->conn;
			c->cut_pkt = e->pkt;
		}
		return;
	case EV_REQUEST:
		on_request(c, e);
		return;
	case EV_SESSION_END:
		if (e->session)
			on_session_end(c, e);
		return;
	case EV_RESPONSE: case EV_RESPONSE_END: case EV_STREAM: case EV_STREAM_END:
	case EV_SSE: case EV_MESSAGE:
		break;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END: case EV_COMMENT: case EV_OWNER:
	case EV_STALL: case EV_GAP: case EV_NOTE: case EV_FINDING: case EV_END:
	case EV_N_TYPES:
		return;
	}
	if ((x = find(c, e->x)) == NULL)
		return;
	if (e->type == EV_RESPONSE)
		on_response(c, x, e);
	else if (e->type == EV_RESPONSE_END)
		on_response_end(c, x, e);
	else if (e->type == EV_STREAM)
		on_stream(c, x, e);
	else if (e->type == EV_STREAM_END)
		on_stream_end(c, x, e);
	else if (e->type == EV_SSE)
		on_sse(c, x, e);
	else if (e->dir == EV_C2S)
		on_posted(c, x, e);
	else
		on_message(c, x, e);
}

const struct rule rule_contract = {
	.name = "contract",
	.summary = "what the specification says and the traffic does not do",
	.reference = "mcpdiag-analyze(1), DETECTORS, contract",
	.remark = true,
	.wants = RULE_WANTS(EV_SESSION) |
	    RULE_WANTS(EV_ANOMALY) |
	    RULE_WANTS(EV_SESSION_END) |
	    RULE_WANTS(EV_REQUEST) |
	    RULE_WANTS(EV_RESPONSE) |
	    RULE_WANTS(EV_RESPONSE_END) |
	    RULE_WANTS(EV_STREAM) |
	    RULE_WANTS(EV_STREAM_END) |
	    RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_MESSAGE),
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
