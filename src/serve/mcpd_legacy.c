#include <stdio.h>

#include "mcpd_priv.h"

/* HTTP+SSE of 2024-11-05: the GET's stream is the session; its first event
 * names the place to POST to; all answers come on the stream. */

/* As where one transport serves all: the last that connected gets it. */
static struct session *
newest(struct session *s)
{
	struct session *o, *next;

	HASH_ITER(hh, s->m->table, o, next)
		if (o->legacy_stream)
			s = o;
	return s;
}

void
legacy_send(struct session *s, struct str msg)
{
	if (has_fault(s->m, FAULT_CROSSED))
		s = newest(s);
	if (s->legacy_stream)
		out_event(s->legacy_stream, STR("message"), STR_NONE, msg, -1);
}

void
legacy_get(struct mcpd *m, struct hreq *req)
{
	struct session *s = session_new(m, REV_2024, true);
	char uri[80];
	int n;

	if (s == NULL) {
		reply(m, req, 503, "text/plain", STR("Too many sessions\n"));
		return;
	}
	s->legacy_stream = xchg_new(m, s, req);
	out_begin(s->legacy_stream, false);
	n = snprintf(uri, sizeof uri, "%s/messages?sessionId=%s",
	    has_fault(m, FAULT_WRONG_URI) ? "/inner" : "", s->id);
	out_event(s->legacy_stream, STR("endpoint"), STR_NONE, str_of(uri, (size_t)n), -1);
}

static struct session *
session_of(struct mcpd *m, struct str query)
{
	struct str key = STR("sessionId=");
	struct session *s = NULL;

	if (str_pre(query, key))
		s = session_find(m, str_of(query.p + key.n, query.n - key.n));
	return s && s->legacy ? s : NULL;
}

void
legacy_post(struct mcpd *m, struct hreq *req, struct str query)
{
	struct session *s = session_of(m, query);
	struct calls *cs = &m->calls;
	struct answer *a;
	uint32_t requests = 0;

	if (s == NULL) {
		reply(m, req, 404, "text/plain", STR("Session not found\n"));
		return;
	}
	if (calls_read(cs, hreq_body(req)) != 0 || cs->n == 0 || cs->too_many) {
		reply(m, req, 400, "text/plain", STR("Could not parse message\n"));
		return;
	}
	session_touch(s);
	for (uint32_t i = 0; i < cs->n; i++) {
		const struct call *c = &cs->at[i];

		requests += c->kind == CALL_REQUEST;
		if (c->kind == CALL_REQUEST && str_eq(arg_str(c, ARG_METHOD), STR("initialize")))
			session_begin(s, c);
	}
	reply(m, req, 202, "text/plain", STR("Accepted"));
	a = answer_new(m, s, NULL, s->rev, requests, cs->batch, false);
	rpc_dispatch(a, s);
	answer_unref(a);
}
