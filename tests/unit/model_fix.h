/* model_fix: a model under test, told what happened, and what it said. */
#ifndef MCPDIAG_TEST_MODEL_FIX_H
#define MCPDIAG_TEST_MODEL_FIX_H

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/model.h"
#include "mcpdiag/rpc.h"
#include "util.h"

#define MAX_EV 512

struct rec {			/* what it said */
	struct ev *ev[MAX_EV];
	uint32_t n;
};

struct fix {
	struct limits lim;
	struct rec rec;
	struct model *m;
	uint32_t pkt;
};

static inline void
record(void *arg, const struct ev *e)
{
	struct rec *r = arg;

	assert_true(r->n < MAX_EV);
	r->ev[r->n++] = ev_clone(e);
}

static inline struct fix *
fix_new(bool show_secrets, uint64_t pending, uint64_t sessions)
{
	struct fix *f = xcalloc(1, sizeof *f);

	limits_init(&f->lim);
	f->lim.pending = pending ? pending : f->lim.pending;
	f->lim.sessions = sessions ? sessions : f->lim.sessions;
	f->m = model_new(&f->lim, show_secrets, record, &f->rec);
	return f;
}

static inline void
fix_free(struct fix *f)
{
	model_free(f->m);
	for (uint32_t i = 0; i < f->rec.n; i++)
		ev_free(f->rec.ev[i]);
	free(f);
}

static inline struct at
next(struct fix *f)
{
	f->pkt++;
	return (struct at){ f->pkt * NS_MS, f->pkt };
}

/* The n-th event of that type, from 0; NULL when there are fewer. */
static inline const struct ev *
nth(const struct fix *f, enum ev_type type, uint32_t n)
{
	for (uint32_t i = 0; i < f->rec.n; i++)
		if (f->rec.ev[i]->type == type && n-- == 0)
			return f->rec.ev[i];
	return NULL;
}

static inline uint32_t
count(const struct fix *f, enum ev_type type)
{
	uint32_t n = 0;

	while (nth(f, type, n))
		n++;
	return n;
}

static inline const struct ev *
last(const struct fix *f, enum ev_type type)
{
	uint32_t n = count(f, type);

	assert_true(n > 0);
	return nth(f, type, n - 1);
}

static inline bool
has_note(const struct fix *f, const char *name)
{
	for (uint32_t i = 0; nth(f, EV_NOTE, i); i++)
		if (str_eq(nth(f, EV_NOTE, i)->u.note.name, str_c(name)))
			return true;
	return false;
}

/* ---- things that happen ---- */

struct ask {
	const char *method, *sid, *version, *accept, *mcp_method, *agent, *auth, *cursor,
	    *target;
};

static inline struct mexch *
ask(struct fix *f, struct mconn *c, const struct ask *a)
{
	struct model_request r = {
		.method = str_c(a->method), .session_id = str_c(a->sid),
		.protocol_version = str_c(a->version), .accept = str_c(a->accept),
		.mcp_method = str_c(a->mcp_method), .user_agent = str_c(a->agent),
		.authorization = str_c(a->auth), .last_event_id = str_c(a->cursor),
		.target = str_c(a->target ? a->target : "/mcp"),
	};

	return model_request(f->m, c, &r, next(f));
}

struct said {
	struct fix *f;
	struct mexch *x;
	bool request;
};

static inline void
on_msg(void *arg, const struct rpc_msg *msg)
{
	struct said *s = arg;

	if (s->request)
		model_request_msg(s->f->m, s->x, msg, 1, next(s->f));
	else
		model_response_msg(s->f->m, s->x, msg, 1, next(s->f));
}

static inline void
say(struct fix *f, struct mexch *x, bool request, const char *json)
{
	struct said s = { f, x, request };
	struct rpc *rpc = rpc_new(&f->lim, on_msg, &s);

	assert_int_equal(rpc_feed(rpc, json, strlen(json)), 0);
	assert_int_equal(rpc_eof(rpc), 0);
	rpc_free(rpc);
}

static inline void
answer(struct fix *f, struct mexch *x, uint32_t status, const char *sid, bool sse)
{
	struct model_response r = { .status = status, .session_id = str_c(sid),
	    .framing = "chunked", .event_stream = sse,
	    .content_type = str_c(sse ? "text/event-stream" : "application/json") };

	model_response(f->m, x, &r, next(f));
}

static inline void
block(struct fix *f, struct mexch *x, const char *name, const char *id, const char *data)
{
	struct model_sse v = { .name = str_c(name), .id = str_c(id), .dispatched = data,
	    .data = data && *data, .retry_ms = -1, .uri = str_c(data) };

	model_sse(f->m, x, &v, next(f));
}

static inline void
over(struct fix *f, struct mexch *x, enum ev_end end)
{
	model_request_end(f->m, x, EV_COMPLETE, 0, 0, next(f));
	model_response_end(f->m, x, end, 0, 0, next(f));
}

static inline struct mconn *
conn(struct fix *f, const char *client, const char *server)
{
	return model_conn(f->m, client, server, false, next(f));
}

#define RPC "{\"jsonrpc\":\"2.0\","
#define INIT RPC "\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define INIT_RESULT RPC "\"id\":1,\"result\":{\"protocolVersion\":\"2025-03-26\"," \
	"\"capabilities\":{\"tools\":{\"listChanged\":true}}," \
	"\"serverInfo\":{\"name\":\"s\",\"version\":\"2\"}}}"

/* A session, opened and ready. */
static inline void
initialize(struct fix *f, struct mconn *c, const char *sid)
{
	struct mexch *x = ask(f, c, &(struct ask){ .method = "POST" });

	say(f, x, true, INIT);
	answer(f, x, 200, sid, false);
	say(f, x, false, INIT_RESULT);
	over(f, x, EV_COMPLETE);
}

#endif
