/* plan_fix: exchanges of a capture that there never was, event by event. */
#ifndef MCPDIAG_TEST_PLAN_FIX_H
#define MCPDIAG_TEST_PLAN_FIX_H

#include "mcpdiag/plan.h"
#include "read_fix.h"

#define T(ms) (1000 * NS_S + (ms) * NS_MS)

static inline void
plan_on_text(void *arg, struct str text, uint64_t bytes, bool cut)
{
	(void)bytes;
	plan_text(arg, text, cut);
}

/* The plan of a capture, with its texts. */
static inline void
plan_read(struct plan *plan, const char *path)
{
	struct pipeline_opts po = { .tap = plan_event, .text = plan_on_text, .arg = plan };
	struct pipeline *p;

	limits_init(&po.limits);
	p = pipeline_new(&po);
	read_packets_of(p, path);
	pipeline_free(p);
	plan_make(plan, NULL);
}

static inline void
plan_request(struct plan *p, uint32_t x, ns_t t, const char *method, const char *rpc, const char *id,
    const char *cursor, const char *body)
{
	struct ev e = { .type = EV_REQUEST, .t = t, .pkt = x, .conn = 1, .x = x };

	e.u.req.n = x;
	e.u.req.method = str_c(method);
	e.u.req.target = STR("/mcp");
	e.u.req.accept = STR("text/event-stream");
	e.u.req.cursor = cursor ? str_c(cursor) : STR_NONE;
	e.u.req.sid = x > 1 ? STR("#1234") : STR_NONE;
	e.u.req.version = x > 1 ? STR("2025-06-18") : STR_NONE;
	plan_event(p, &e);
	if (body == NULL)
		return;
	plan_text(p, str_c(body), false);
	e = (struct ev){ .type = EV_MESSAGE, .t = t, .pkt = x, .conn = 1, .x = x,
		.session = 1, .dir = EV_C2S };
	e.u.msg.kind = rpc == NULL ? EV_MSG_RESPONSE : id ? EV_MSG_REQUEST :
	    EV_MSG_NOTIFICATION;
	e.u.msg.method = rpc ? str_c(rpc) : STR_NONE;
	e.u.msg.id = id ? str_c(id) : STR_NONE;
	plan_event(p, &e);
}

static inline void
plan_response(struct plan *p, uint32_t x, ns_t t, unsigned status, uint32_t stream, uint32_t previous)
{
	struct ev e = { .type = EV_RESPONSE, .t = t, .pkt = x, .conn = 1, .x = x,
		.session = 1, .dir = EV_S2C };

	e.u.resp.status = status;
	e.u.resp.event_stream = stream != 0;
	if (stream == 0)
		e.u.resp.content_type = STR("application/json");
	plan_event(p, &e);
	if (stream == 0)
		return;
	e = (struct ev){ .type = EV_STREAM, .t = t, .pkt = x, .conn = 1, .x = x,
		.session = 1, .stream = stream };
	e.u.stream.kind = previous ? EV_RESUMED : EV_STANDALONE;
	e.u.stream.previous = previous;
	plan_event(p, &e);
}

static inline void
plan_message(struct plan *p, uint32_t x, ns_t t, enum ev_msg kind, const char *method, const char *id,
    const char *text)
{
	struct ev e = { .type = EV_MESSAGE, .t = t, .pkt = x, .conn = 1, .x = x,
		.session = 1, .dir = EV_S2C };

	plan_text(p, str_c(text), false);
	e.u.msg.kind = kind;
	e.u.msg.method = method ? str_c(method) : STR_NONE;
	e.u.msg.id = id ? str_c(id) : STR_NONE;
	plan_event(p, &e);
}

static inline void
plan_sse(struct plan *p, uint32_t x, uint32_t stream, ns_t t, const char *id)
{
	struct ev e = { .type = EV_SSE, .t = t, .pkt = x, .conn = 1, .x = x, .session = 1,
		.stream = stream };

	e.u.sse.id = str_c(id);
	plan_event(p, &e);
}

static inline void
plan_ended(struct plan *p, uint32_t x, ns_t t)
{
	struct ev e = { .type = EV_RESPONSE_END, .t = t, .pkt = x, .conn = 1, .x = x,
		.session = 1, .dir = EV_S2C };

	e.u.end.end = EV_COMPLETE;
	plan_event(p, &e);
}

#endif
