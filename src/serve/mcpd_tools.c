#include <stdlib.h>

#include "mcpd_priv.h"
#include "mcpdiag/xmem.h"

#define STEP_MS 50		/* of the fixtures that take a while */
#define BIG_MAX (4U << 20)
#define STATE "mcpdiag-1"	/* requestState of an input_required */
#define LEVEL_INFO 1

static void
open_content(struct buf *b, struct str id)
{
	rpc_open(b, id);
	(void)buf_adds(b, STR("\"content\":[{\"type\":\"text\",\"text\":\""));
}

static void
close_content(struct answer *a, struct buf *b, bool error)
{
	(void)buf_adds(b, STR("\"}]"));
	if (error)
		(void)buf_adds(b, STR(",\"isError\":true"));
	rpc_close(a, b);
}

/* `text` is the inside of a JSON string. */
static void
text_result(struct answer *a, struct str id, struct str text, bool error)
{
	struct buf *b = &a->m->out;

	open_content(b, id);
	(void)buf_adds(b, text);
	close_content(a, b, error);
}

static void
error(struct answer *a, struct str id, int code, const char *text, struct str data)
{
	rpc_error(&a->m->out, id, code, text, data);
	answer_done(a, buf_str(&a->m->out));
}

/* ---- jobs ---- */

static struct job **
job_list(struct answer *a)
{
	return a->s ? &a->s->jobs : &a->m->jobs;
}

static uint32_t *
job_count(struct answer *a)
{
	return a->s ? &a->s->n_jobs : &a->m->n_jobs;
}

void
job_free(struct job *j)
{
	DL_DELETE(*job_list(j->a), j);
	--*job_count(j->a);
	loop_timer_free(j->timer);
	answer_unref(j->a);
	free(j);
}

/* NULL, and answered, when there are as many as there may be. */
static struct job *
job_new(struct answer *a, const struct call *c, enum tool tool, loop_fn *run)
{
	struct val token = c->v[ARG_TOKEN];
	struct str uri = arg_str(c, ARG_ARG_URI);
	uint32_t max = a->s ? MAX_JOBS : MAX_LISTENS;
	bool quoted = token.kind == JSON_STRING;
	struct job *j;

	if (*job_count(a) >= max) {
		error(a, c->id, -32603, "Too many requests are running", STR_NONE);
		return NULL;
	}
	if (c->id.n > MAX_KEPT || token.raw.n > MAX_KEPT || uri.n > MAX_KEPT) {
		error(a, c->id, -32602, "An id, token or URI is too long", STR_NONE);
		return NULL;
	}
	j = xcalloc(1, sizeof *j + c->id.n + token.raw.n + 2 + uri.n);
	j->a = a;
	a->refs++;
	j->tool = tool;
	memcpy(j->text, c->id.p, c->id.n);
	j->id = str_of(j->text, c->id.n);
	j->uri = str_of(j->text + c->id.n + token.raw.n + 2, uri.n);
	if (uri.n > 0)
		memcpy(j->text + c->id.n + token.raw.n + 2, uri.p, uri.n);
	/* A string or a number: utilities/progress of the specification. */
	if (token.raw.p && (quoted || token.kind == JSON_NUMBER)) {
		char *p = j->text + c->id.n;

		j->token = str_of(p, token.raw.n + 2 * quoted);
		p[0] = p[j->token.n - 1] = '"';
		if (token.raw.n > 0)
			memcpy(p + quoted, token.raw.p, token.raw.n);
	}
	j->timer = loop_timer_new(a->m->loop, run, j);
	DL_APPEND(*job_list(a), j);
	++*job_count(a);
	return j;
}

static void
progress(struct job *j, uint64_t done, uint64_t total)
{
	struct buf *b = &j->a->m->out;

	if (j->token.p == NULL)
		return;
	buf_clear(b);
	(void)buf_fmt(b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
	    "\"params\":{\"progressToken\":%.*s,\"progress\":%llu,\"total\":%llu}}",
	    STR_ARG(j->token), (unsigned long long)done, (unsigned long long)total);
	answer_msg(j->a, buf_str(b));
}

static void
log_message(struct job *j, const char *text)
{
	struct buf *b = &j->a->m->out;

	if (j->a->level > LEVEL_INFO)
		return;
	buf_clear(b);
	(void)buf_fmt(b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
	    "\"params\":{\"level\":\"info\",\"data\":\"%s\"}}", text);
	answer_msg(j->a, buf_str(b));
}

static void
job_done(struct job *j, struct str text)
{
	text_result(j->a, j->id, text, false);
	job_free(j);
}

static void
again(struct job *j, uint64_t ms)
{
	loop_timer_set(j->timer, (ns_t)ms * NS_MS);
}

/* ---- slow, emit, and the fixtures that take a while ---- */

static void
slow_step(void *arg)
{
	struct job *j = arg;

	j->step++;
	progress(j, j->step, j->steps);
	if (j->step < j->steps)
		again(j, j->ms / j->steps);
	else
		job_done(j, STR("slow: done"));
}

static bool
numbers(struct answer *a, const struct call *c, enum arg k1, uint64_t max1,
    uint64_t def1, uint64_t *v1, enum arg k2, uint64_t max2, uint64_t def2, uint64_t *v2)
{
	if (arg_number(c, k1, 0, max1, def1, v1) && arg_number(c, k2, 0, max2, def2, v2))
		return true;
	text_result(a, c->id, STR("an argument is no whole number, or too large"), true);
	return false;
}

static void
slow(struct answer *a, const struct call *c)
{
	uint64_t ms, steps;
	struct job *j;

	if (!numbers(a, c, ARG_MS, 3600000, 1000, &ms, ARG_STEPS, 1000, 5, &steps))
		return;
	j = job_new(a, c, TOOL_SLOW, slow_step);
	if (j == NULL)
		return;
	j->ms = ms;
	j->steps = steps > 0 ? steps : 1;
	again(j, ms / j->steps);
}

static bool
is_true(const struct call *c, enum arg k)
{
	return c->v[k].raw.p && c->v[k].kind == JSON_TRUE;
}

static void
emit_one(struct answer *a, bool all, struct str uri)
{
	struct session *s = a->s;

	if (uri.n > 0)
		resource_updated(a->m, uri);
	else if (all)
		mcpd_emit(a->m);
	else if (s)
		session_emit(s, STR("{\"jsonrpc\":\"2.0\","
		    "\"method\":\"notifications/tools/list_changed\"}"));
	else
		modern_emit(a->m, "notifications/tools/list_changed", STR_NONE);
}

/* One message each interval; without one, as many as delay nobody else.  Those
 * to all sessions follow each other when all have had the one before. */
static void
emit_step(void *arg)
{
	struct job *j = arg;
	bool all = j->waits_for == 1;
	unsigned left = j->ms > 0 || all || j->uri.n > 0 ? 1 : EMIT_BATCH;

	if (all && j->a->m->untold) {
		again(j, 0);
		return;
	}
	for (; left > 0 && j->step < j->steps; left--, j->step++)
		emit_one(j->a, all, j->uri);
	if (j->step < j->steps)
		again(j, j->ms);
	else if (all && j->a->m->untold)
		again(j, 0);
	else
		job_done(j, STR("emitted"));
}

static void
emit(struct answer *a, const struct call *c)
{
	uint64_t n, ms;
	struct job *j;

	if (!numbers(a, c, ARG_N, 10000, 1, &n, ARG_INTERVAL, 3600000, 0, &ms))
		return;
	if ((n > 1 && ms > 0) || n > EMIT_BATCH ||
	    (is_true(c, ARG_ALL) && n * a->m->n_sessions > EMIT_BATCH)) {
		j = job_new(a, c, TOOL_EMIT, emit_step);
		if (j == NULL)
			return;
		j->ms = ms;
		j->steps = n;
		j->waits_for = is_true(c, ARG_ALL);
		loop_timer_set(j->timer, 0);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		emit_one(a, is_true(c, ARG_ALL), arg_str(c, ARG_ARG_URI));
	text_result(a, c->id, STR("emitted"), false);
}

static void
big(struct answer *a, const struct call *c)
{
	struct buf *b = &a->m->out;
	uint64_t n;
	char *p;

	if (!arg_number(c, ARG_BYTES, 0, BIG_MAX, 1024, &n)) {
		text_result(a, c->id, STR("bytes: a whole number up to 4194304"), true);
		return;
	}
	open_content(b, c->id);
	p = buf_room(b, n);
	if (p)
		memset(p, 'x', n);
	b->n += p ? n : 0;
	close_content(a, b, false);
}

static void
fixture_step(void *arg)
{
	static const char *const lines[] = { "Tool execution started",
		"Tool processing data", "Tool execution completed" };
	struct job *j = arg;

	if (j->tool == TOOL_LOGGING && j->step < 3)
		log_message(j, lines[j->step]);
	else if (j->tool == TOOL_PROGRESS && j->step < 3)
		progress(j, j->step * 50, 100);
	/* SEP-1699: the stream is closed, the answer comes on the one that
	 * resumes it. */
	else if (j->tool == TOOL_RECONNECTION && j->step == 2 && j->a->how == ANSWER_CHANNEL)
		chan_request_poll(j->a->s->ch, j->a->n);
	if (j->step++ < 4)
		again(j, STEP_MS);
	else
		job_done(j, STR("done"));
}

/* ---- what only the client can answer ---- */

static void
ask_body(struct buf *b, enum tool tool, struct str text)
{
	if (tool == TOOL_ASK || tool == TOOL_SAMPLING)
		(void)buf_fmt(b, "\"method\":\"sampling/createMessage\",\"params\":{"
		    "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
		    "\"text\":\"%.*s\"}}],\"maxTokens\":100}", STR_ARG(text));
	else
		(void)buf_fmt(b, "\"method\":\"elicitation/create\",\"params\":{"
		    "\"mode\":\"form\",\"message\":\"%.*s\",\"requestedSchema\":%s}",
		    STR_ARG(text), tool_form(tool));
}

/* 2026-07-28: not a request of ours, but a result that wants more input. */
static void
input_required(struct answer *a, const struct call *c, enum tool tool, struct str text)
{
	struct buf *b = &a->m->out;

	rpc_open(b, c->id);
	(void)buf_adds(b, STR("\"resultType\":\"input_required\",\"inputRequests\":{\"q\":{"));
	ask_body(b, tool, text);
	(void)buf_adds(b, STR("}},\"requestState\":\"" STATE "\",\"_meta\":{"
	    "\"io.modelcontextprotocol/serverInfo\":"));
	say_server(b);
	(void)buf_adds(b, STR("}}}"));
	answer_done(a, buf_str(b));
}

/* What the client said, as the text of the result. */
static void
say_answer(struct answer *a, struct str id, enum tool tool, struct str text,
    struct str action)
{
	struct buf *b = &a->m->out;
	const char *what = tool == TOOL_ELICITATION ? "User response" :
	    "Elicitation completed";

	open_content(b, id);
	if (tool == TOOL_ASK || tool == TOOL_SAMPLING)
		(void)buf_fmt(b, "LLM response: %.*s", STR_ARG(text));
	else
		(void)buf_fmt(b, "%s: action=%.*s", what, STR_ARG(action));
	close_content(a, b, false);
}

static void
ask_modern(struct answer *a, const struct call *c, enum tool tool, bool able,
    struct str text)
{
	bool sampling = tool == TOOL_ASK || tool == TOOL_SAMPLING;

	if (!able) {
		a->status = 400;
		error(a, c->id, -32021, "The client cannot answer that",
		    sampling ? STR("{\"requiredCapabilities\":{\"sampling\":{}}}") :
		    STR("{\"requiredCapabilities\":{\"elicitation\":{\"form\":{}}}}"));
	} else if (c->v[ARG_INPUT].raw.p == NULL) {
		input_required(a, c, tool, text);
	} else if (!str_eq(arg_str(c, ARG_STATE), STR(STATE))) {
		error(a, c->id, -32602, "requestState is not what was sent",
		    STR("{\"reason\":\"invalid_request_state\"}"));
	} else {
		say_answer(a, c->id, tool, arg_str(c, ARG_INPUT_TEXT),
		    arg_str(c, ARG_INPUT_ACTION));
	}
}

static void
never(void *arg)
{
	(void)arg;
}

static void
ask(struct answer *a, const struct call *c, enum tool tool)
{
	bool sampling = tool == TOOL_ASK || tool == TOOL_SAMPLING;
	bool able = sampling ? a->sampling : a->elicitation;
	struct str text = arg_str(c, sampling ? ARG_PROMPT : ARG_MESSAGE);
	struct buf *b = &a->m->out;
	struct job *j;

	if (text.n == 0)
		text = STR("Please answer");
	if (a->rev == REV_2026) {
		ask_modern(a, c, tool, able, text);
		return;
	}
	if (!able) {
		text_result(a, c->id, STR("the client has not declared that it can "
		    "answer this"), true);
		return;
	}
	j = job_new(a, c, tool, never);
	if (j == NULL)
		return;
	j->waits_for = ++a->m->next_ask;
	buf_clear(b);
	(void)buf_fmt(b, "{\"jsonrpc\":\"2.0\",\"id\":%llu,",
	    (unsigned long long)j->waits_for);
	ask_body(b, tool, text);
	(void)buf_addc(b, '}');
	answer_msg(a, buf_str(b));
}

void
job_answered(struct session *s, const struct call *c)
{
	uint64_t n;
	struct job *j;

	if (!str_u64(c->id, &n) || n == 0)
		return;
	DL_FOREACH(s->jobs, j)
		if (j->waits_for == n && j->tool != TOOL_EMIT)
			break;
	if (j == NULL)
		return;
	if (c->v[ARG_ERROR].raw.p)
		text_result(j->a, j->id, STR("the client answered with an error"), true);
	else
		say_answer(j->a, j->id, (enum tool)j->tool, arg_str(c, ARG_ANSWER_TEXT),
		    arg_str(c, ARG_ANSWER_ACTION));
	job_free(j);
}

void
job_cancel(struct session *s, const struct call *c)
{
	struct val id = c->v[ARG_REQUEST_ID];
	struct job *j;

	DL_FOREACH(s->jobs, j) {
		struct str own = j->id;

		if (id.kind == JSON_STRING && own.n >= 2 && own.p[0] == '"')
			own = str_of(own.p + 1, own.n - 2);
		else if (id.kind == JSON_STRING)
			continue;
		if (!str_eq(own, id.raw))
			continue;
		answer_cancel(j->a);
		job_free(j);
		return;
	}
}

void
resource_updated(struct mcpd *m, struct str uri)
{
	struct session *s;
	struct buf b;

	buf_init(&b, uri.n + 128);
	(void)buf_fmt(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
	    "\"params\":{\"uri\":\"%.*s\"}}", STR_ARG(uri));
	DL_FOREACH(m->by_use, s)
		if (session_subscribed(s, uri))
			session_emit(s, buf_str(&b));
	buf_fini(&b);
	modern_emit(m, "notifications/resources/updated", uri);
}

/* ---- tools/call ---- */

void
tool_call(struct answer *a, const struct call *c)
{
	enum tool tool = tool_named(a->m, arg_str(c, ARG_NAME));
	struct buf *b = &a->m->out;
	struct job *j;

	a->tool = true;
	switch (tool) {
	case TOOL_ECHO:
		if (c->v[ARG_TEXT].kind == JSON_STRING)
			text_result(a, c->id, arg_str(c, ARG_TEXT), false);
		else
			text_result(a, c->id, STR("text is missing"), true);
		break;
	case TOOL_SLOW:
		slow(a, c);
		break;
	case TOOL_EMIT:
		emit(a, c);
		break;
	case TOOL_BIG:
		big(a, c);
		break;
	case TOOL_FAIL:
		if (is_true(c, ARG_RPC))
			error(a, c->id, -32603, "This tool always fails", STR_NONE);
		else
			text_result(a, c->id, STR("this tool always fails"), true);
		break;
	case TOOL_ASK: case TOOL_CONFIRM: case TOOL_SAMPLING: case TOOL_ELICITATION:
	case TOOL_DEFAULTS: case TOOL_ENUMS:
		ask(a, c, tool);
		break;
	case TOOL_LOGGING: case TOOL_PROGRESS: case TOOL_RECONNECTION:
		j = job_new(a, c, tool, fixture_step);
		if (j)
			loop_timer_set(j->timer, 0);
		break;
	case TOOL_ERROR:
		text_result(a, c->id, STR("This tool intentionally returns an error for "
		    "testing"), true);
		break;
	case TOOL_TEXT: case TOOL_IMAGE: case TOOL_AUDIO: case TOOL_RESOURCE:
	case TOOL_MIXED: case TOOL_SCHEMA:
		rpc_open(b, c->id);
		(void)buf_fmt(b, "\"content\":%s", tool_content(tool));
		rpc_close(a, b);
		break;
	case TOOL_N:
		error(a, c->id, -32602, "Unknown tool", STR_NONE);
		break;
	}
}
