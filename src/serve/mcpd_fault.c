#include "mcpd_priv.h"

/* Faults that wait for something: a stream's end, a client's answer, an age. */

bool
fault_wedged(const struct mcpd *m)
{
	const struct xchg *y;

	if (!has_fault(m, FAULT_WEDGE))
		return false;
	DL_FOREACH(m->streams, y)
		if (y->get && hreq_unsent(y->req) > 0)
			return true;
	return false;
}

bool
fault_holds(const struct xchg *x)
{
	const struct xchg *y;

	if (x->get || x->s == NULL || x->s->legacy)
		return false;
	if (has_fault(x->m, FAULT_HOLD))
		DL_FOREACH2(x->s->streams, y, snext)
			if (y->get && y->open)
				return true;
	return fault_wedged(x->m);
}

bool
fault_challenges(struct session *s, struct hreq *req)
{
	struct mcpd *m = s->m;

	if (!has_fault(m, FAULT_REFUSE_TOKEN) || loop_mono(m->loop) - s->born <
	    fault_time(&m->o.faults, FAULT_REFUSE_TOKEN))
		return false;
	head_lines(m, req, NULL);
	(void)buf_adds(&m->head, STR("WWW-Authenticate: Bearer error=\"invalid_token\"\r\n"));
	log_response(m, req, 401, NULL, STR_NONE);
	log_end(m, req, EV_COMPLETE);
	hreq_reply(req, 401, buf_str(&m->head), STR(""));
	return true;
}

bool
fault_redirects(struct mcpd *m, struct hreq *req, struct str path, struct str query)
{
	unsigned status = m->o.faults.value[FAULT_REDIRECT];

	if (!has_fault(m, FAULT_REDIRECT) || !str_eq(path, STR("/mcp")))
		return false;
	head_lines(m, req, NULL);
	(void)buf_fmt(&m->head, "Location: /mcp/%s%.*s\r\n", query.n ? "?" : "",
	    STR_ARG(query));
	log_response(m, req, status, NULL, STR_NONE);
	log_end(m, req, EV_COMPLETE);
	hreq_reply(req, status, buf_str(&m->head), STR(""));
	return true;
}

static void
ping(struct session *s)
{
	struct mcpd *m = s->m;

	s->pinged = ++m->next_ask;
	buf_clear(&m->out);
	(void)buf_fmt(&m->out, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"ping\"}",
	    (unsigned long long)s->pinged);
	session_emit(s, buf_str(&m->out));
	loop_timer_set(s->timer, fault_time(&m->o.faults, FAULT_PING_KILL));
}

void
ping_first(struct session *s)
{
	if (has_fault(s->m, FAULT_PING_KILL) && s->pinged == 0)
		ping(s);
}

void
ping_due(void *arg)
{
	struct session *s = arg;

	if (s->pinged)
		session_end(s);
	else
		ping(s);
}

void
ping_answered(struct session *s, const struct call *c)
{
	uint64_t n;

	if (s->pinged && str_u64(c->id, &n) && n == s->pinged && c->v[ARG_ERROR].raw.p == NULL)
		s->pinged = 0;
}
