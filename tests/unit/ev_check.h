/* ev_check: what holds for every sequence of events, whatever the traffic.
 * Used by the conversations and by fuzzing; a breach prints and aborts. */
#ifndef MCPDIAG_TEST_EV_CHECK_H
#define MCPDIAG_TEST_EV_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/event.h"
#include "mcpdiag/xmem.h"

struct ev_check_stream {
	bool told, ended;
	enum ev_role role;
	uint32_t session;
};

struct ev_check_x {
	bool request, request_end, response, response_end;
};

struct ev_check {
	struct ev_check_stream *stream;
	struct ev_check_x *x;
	uint32_t cap_stream, cap_x, n_stream, n_x;	/* one past the last id */
	bool *conn;		/* told */
	uint32_t cap_conn, n_conn, findings;
	bool dropped;		/* events from before a server was known */
	bool over;
};

#define EV_CHECK(cond, e) ((cond) ? (void)0 : ev_check_fail(#cond, (e)))

static inline void
ev_check_fail(const char *what, const struct ev *e)
{
	(void)fprintf(stderr, "event %s of stream %u, exchange %u, packet %u breaks: %s\n",
	    ev_type_name(e->type), e->stream, e->x, e->pkt, what);
	abort();
}

static inline void
ev_check_fini(struct ev_check *c)
{
	free(c->stream);
	free(c->x);
	free(c->conn);
}

static inline struct ev_check_stream *
ev_check_stream(struct ev_check *c, uint32_t n)
{
	while (c->n_stream <= n) {
		c->stream = xgrow(c->stream, c->n_stream, &c->cap_stream,
		    sizeof *c->stream);
		c->stream[c->n_stream++] = (struct ev_check_stream){
		    .role = EV_CLOSED };
	}
	return &c->stream[n];
}

static inline struct ev_check_x *
ev_check_x(struct ev_check *c, uint32_t n)
{
	while (c->n_x <= n) {
		c->x = xgrow(c->x, c->n_x, &c->cap_x, sizeof *c->x);
		c->x[c->n_x++] = (struct ev_check_x){ 0 };
	}
	return &c->x[n];
}

/* One stream of a session at most is the owner. */
static inline void
ev_check_owner(struct ev_check *c, const struct ev *e)
{
	struct ev_check_stream *s = ev_check_stream(c, e->stream);

	EV_CHECK(e->stream && e->session, e);
	EV_CHECK(e->u.owner.from != e->u.owner.to, e);
	EV_CHECK(c->dropped || e->u.owner.from == s->role, e);
	EV_CHECK(c->dropped || s->told, e);
	s->role = e->u.owner.to;
	s->session = e->session;
	if (s->role != EV_PRESUMED && s->role != EV_PRIMARY)
		return;
	for (uint32_t i = 0; i < c->n_stream; i++)
		if (i != e->stream && c->stream[i].session == e->session &&
		    !c->stream[i].ended)
			EV_CHECK(c->stream[i].role != EV_PRESUMED &&
			    c->stream[i].role != EV_PRIMARY, e);
}

static inline void
ev_check_finding(struct ev_check *c, const struct ev *e)
{
	const struct finding *f = e->u.finding;

	EV_CHECK(f->detector && f->title.n && f->reference, e);
	EV_CHECK(f->first.t <= f->last.t, e);
	EV_CHECK(f->count > 0, e);
	EV_CHECK(f->period >= 0 && f->spread >= 0, e);
	EV_CHECK(f->n_evidence <= FINDING_MAX_EVIDENCE, e);
	EV_CHECK(f->n_facts < FINDING_MAX_FACTS, e);
	for (uint32_t i = 0; i < f->n_streams; i++)
		EV_CHECK(f->streams[i] > 0 && f->streams[i] < c->n_stream, e);
	if (!(e->flags & EVF_FINAL))
		return;
	EV_CHECK(f->n == ++c->findings, e);
	EV_CHECK(f->consequence_of < f->n, e);
}

static inline void
ev_check_stream_ev(struct ev_check *c, const struct ev *e)
{
	struct ev_check_stream *s = ev_check_stream(c, e->stream);

	EV_CHECK(e->stream, e);
	if (e->type == EV_STREAM) {
		EV_CHECK(!s->told && !s->ended, e);
		EV_CHECK(e->u.stream.lineage && e->u.stream.lineage <= e->stream, e);
		EV_CHECK(e->u.stream.previous < e->stream, e);
		EV_CHECK(e->u.stream.delay_ms >= -1, e);
		s->told = true;
		return;
	}
	EV_CHECK(s->told || c->dropped, e);
	EV_CHECK(!s->ended, e);
	s->ended = e->type == EV_STREAM_END;
}

static inline void
ev_check(struct ev_check *c, const struct ev *e)
{
	struct ev_check_x *x;

	EV_CHECK(!c->over, e);
	EV_CHECK(e->type < EV_N_TYPES, e);
	while (c->n_conn <= e->conn) {
		c->conn = xgrow(c->conn, c->n_conn, &c->cap_conn, sizeof *c->conn);
		c->conn[c->n_conn++] = false;
	}
	EV_CHECK(e->type == EV_CONN || e->conn == 0 || c->conn[e->conn] || c->dropped, e);
	x = ev_check_x(c, e->x);
	switch (e->type) {
	case EV_STREAM: case EV_STREAM_END: case EV_SSE: case EV_COMMENT:
		ev_check_stream_ev(c, e);
		break;
	case EV_OWNER:
		ev_check_owner(c, e);
		break;
	case EV_REQUEST:
		EV_CHECK(e->x && e->conn && !x->request, e);
		x->request = true;
		break;
	case EV_REQUEST_END:
		EV_CHECK(!x->request_end && (x->request || c->dropped), e);
		x->request_end = true;
		break;
	case EV_RESPONSE:
		EV_CHECK(!x->response && !x->response_end && (x->request || c->dropped), e);
		x->response = true;
		break;
	case EV_RESPONSE_END:
		EV_CHECK(!x->response_end, e);
		x->response_end = true;
		break;
	case EV_MESSAGE:
		EV_CHECK(e->x && (x->request || c->dropped), e);
		if (e->dir == EV_C2S)
			EV_CHECK(!x->request_end, e);
		else
			EV_CHECK(!x->response_end, e);
		EV_CHECK(!e->u.msg.sse || e->stream, e);
		EV_CHECK(e->u.msg.channel != EV_CH_COMMON || e->u.msg.sse, e);
		break;
	case EV_SESSION:
		EV_CHECK(e->session && e->u.session.key.p, e);
		break;
	case EV_SESSION_END:
		EV_CHECK(e->session, e);
		break;
	case EV_NOTE:
		c->dropped |= str_eq(e->u.note.name, STR("late-mcp"));
		break;
	case EV_FINDING:
		ev_check_finding(c, e);
		break;
	case EV_END:
		c->over = true;
		for (uint32_t i = 0; i < c->n_stream; i++)
			EV_CHECK(!c->stream[i].told || c->stream[i].ended, e);
		break;
	case EV_CONN:
		EV_CHECK(e->conn && e->u.conn.client.p && e->u.conn.server.p, e);
		EV_CHECK(!c->conn[e->conn], e);
		c->conn[e->conn] = true;
		break;
	case EV_FILE: case EV_CONN_END: case EV_STALL: case EV_GAP: case EV_ANOMALY:
	case EV_N_TYPES:
		break;
	}
}

#endif
