/* listener_fake: a listener whose requests are traced and answered by the test,
 * and whose time is the test's. */
#ifndef MCPDIAG_TEST_LISTENER_FAKE_H
#define MCPDIAG_TEST_LISTENER_FAKE_H

#include "mcpdiag/listener.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "util.h"

/* The order of slots, as long as nothing else is asked for. */
enum { INIT, NOTE, GET, DEL, LIST, MORE };
#define MAX_SLOTS 64

static struct listener_opts opts;
static struct listener *l;
static struct buf trace;
static ns_t now, timers[MAX_SLOTS];	/* -1: not running */
static bool running[MAX_SLOTS];
/* Called after a request was traced; or NULL. */
static void (*at_send)(unsigned slot, const struct client_request *);
static void (*at_event)(const struct listen_event *);

static struct str
line_of(const struct client_request *q, struct str name)
{
	for (unsigned i = 0; i < q->n_headers; i++)
		if (str_pre(q->headers[i], name))
			return str_of(q->headers[i].p + name.n, q->headers[i].n - name.n);
	return STR_NONE;
}

/* The word after `key` in a JSON text of ours. */
static struct str
word_of(struct str s, struct str key)
{
	size_t at = str_find(s, key), n = 0;

	if (at == SIZE_MAX)
		return STR_NONE;
	s = str_of(s.p + at + key.n, s.n - at - key.n);
	while (n < s.n && s.p[n] != '"' && s.p[n] != ',' && s.p[n] != '}')
		n++;
	return str_of(s.p, n);
}

static bool
on_send(void *arg, unsigned slot, const struct client_request *q, struct errmsg *em)
{
	struct str v;

	(void)arg;
	(void)em;
	assert_true(slot < listener_slots(l));
	assert_false(running[slot]);
	assert_true(timers[slot] < 0 || slot == DEL);
	running[slot] = true;
	(void)buf_fmt(&trace, "%lld %s", (long long)(now / NS_MS), q->method);
	if (q->body.p != NULL) {
		v = word_of(q->body, STR("\"method\":\""));
		if (v.p != NULL)
			(void)buf_fmt(&trace, " %.*s", STR_ARG(v));
		v = word_of(q->body, STR("\"id\":"));
		if (v.p != NULL)
			(void)buf_fmt(&trace, "#%.*s", STR_ARG(v));
		if (str_find(q->body, STR("\"method\"")) > q->body.n)
			(void)buf_fmt(&trace, " %.*s", STR_ARG(q->body));
	}
	v = line_of(q, STR("Mcp-Session-Id: "));
	if (v.p != NULL)
		(void)buf_fmt(&trace, " S=%.*s", STR_ARG(v));
	v = line_of(q, STR("MCP-Protocol-Version: "));
	if (v.p != NULL)
		(void)buf_fmt(&trace, " V=%.*s", STR_ARG(v));
	v = line_of(q, STR("Last-Event-ID: "));
	if (v.p != NULL)
		(void)buf_fmt(&trace, " after %.*s", STR_ARG(v));
	(void)buf_adds(&trace, STR("\n"));
	if (at_send)
		at_send(slot, q);
	return true;
}

static void
on_cancel(void *arg, unsigned slot)
{
	(void)arg;
	assert_true(running[slot]);
	running[slot] = false;
}

static void
on_set(void *arg, unsigned slot, ns_t after)
{
	(void)arg;
	assert_true(after >= 0);
	timers[slot] = now + after;
}

static void
on_clear(void *arg, unsigned slot)
{
	(void)arg;
	timers[slot] = -1;
}

static const struct listener_io io = { on_send, on_cancel, on_set, on_clear };

static void
on_event(void *arg, const struct listen_event *e)
{
	static const char *const stops[] = { "done", "unreachable", "refused", "gone" };

	(void)arg;
	(void)buf_fmt(&trace, "  %s", e->what == LISTEN_STOPPED ? "stopped" :
	    listen_kind_name(e->kind));
	if (e->index > 0)
		(void)buf_fmt(&trace, "-%u", e->index);
	switch (e->what) {
	case LISTEN_ANSWER:
		(void)buf_fmt(&trace, " %s %u%s", e->method, e->status,
		    e->stream ? " stream" : "");
		if (e->cursor.n)
			(void)buf_fmt(&trace, " after %.*s", STR_ARG(e->cursor));
		if (e->status == 0)
			(void)buf_fmt(&trace, " %s", client_end_name(e->end));
		break;
	case LISTEN_MESSAGE:
		(void)buf_fmt(&trace, " message %.*s id=%.*s%s", STR_ARG(e->rpc_method),
		    STR_ARG(e->id), e->cut ? " cut" : "");
		break;
	case LISTEN_ENDED:
		(void)buf_fmt(&trace, " ended %s", client_end_name(e->end));
		break;
	case LISTEN_STOPPED:
		(void)buf_fmt(&trace, " %s", stops[e->stop]);
		break;
	}
	if (e->what != LISTEN_MESSAGE && e->what != LISTEN_STOPPED && e->again >= 0)
		(void)buf_fmt(&trace, ", again in %lld", (long long)(e->again / NS_MS));
	(void)buf_adds(&trace, STR("\n"));
	if (at_event)
		at_event(e);
}

static int
setup(void **state)
{
	(void)state;
	listener_opts_init(&opts);
	opts.url = "http://x/mcp";
	buf_init(&trace, 1 << 20);
	now = 0;
	at_send = NULL;
	at_event = NULL;
	for (unsigned i = 0; i < MAX_SLOTS; i++) {
		timers[i] = -1;
		running[i] = false;
	}
	l = NULL;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	listener_free(l);
	buf_fini(&trace);
	return 0;
}

static void
again(void **state)
{
	assert_int_equal(teardown(state), 0);
	assert_int_equal(setup(state), 0);
}

static void
start(void)
{
	l = listener_new(&opts, &io, NULL, on_event, NULL);
	assert_true(listener_slots(l) <= MAX_SLOTS);
	listener_start(l);
}

static void
head(unsigned slot, unsigned status, const char *type, const char *lines)
{
	struct client_head h = { .status = status, .content_type = str_c(type),
	    .lines = str_c(lines) };

	assert_true(running[slot]);
	listener_head(l, slot, &h);
}

static void
body(unsigned slot, const char *s)
{
	if (running[slot])
		listener_body(l, slot, s, strlen(s));
}

static void
end(unsigned slot, enum client_end how)
{
	if (!running[slot])
		return;
	running[slot] = false;
	listener_end(l, slot, how, how == CLIENT_COMPLETE ? "" : "it broke");
}

/* A whole answer. */
static void
answer(unsigned slot, unsigned status, const char *type, const char *text)
{
	head(slot, status, type, "");
	body(slot, text);
	end(slot, CLIENT_COMPLETE);
}

#define SSE "text/event-stream"
#define JSON "application/json"
#define PRIMING "data: \nid: 0\nretry: 3000\n\n"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":" \
	"\"2025-03-26\",\"capabilities\":{},\"serverInfo\":{}}}"
#define CHANGED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"

/* Lets the next timer run out; false when there is none. */
static bool
pass(void)
{
	unsigned next = MAX_SLOTS;

	for (unsigned i = 0; i < MAX_SLOTS; i++)
		if (timers[i] >= 0 && (next == MAX_SLOTS || timers[i] < timers[next]))
			next = i;
	if (next == MAX_SLOTS)
		return false;
	now = timers[next];
	timers[next] = -1;
	listener_timer(l, next);
	return true;
}

/* Initialized, the GET is open and primed, tools/list was answered; its trace
 * is dropped. */
static inline void
under_way(void)
{
	start();
	head(INIT, 200, SSE, "Mcp-Session-Id: s1\r\n");
	body(INIT, PRIMING "data: " RESULT "\n\n");
	end(INIT, CLIENT_COMPLETE);
	assert_true(pass());
	answer(NOTE, 202, "", "");
	if (opts.standalone) {
		assert_true(pass());
		head(GET, 200, SSE, "");
		body(GET, PRIMING);
	}
	if (opts.list) {
		assert_true(pass());
		answer(LIST, 200, JSON, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	}
	buf_clear(&trace);
}

static void
expect(const char *want)
{
	(void)buf_addc(&trace, '\0');
	assert_string_equal(trace.p, want);
	buf_clear(&trace);
}

#endif
