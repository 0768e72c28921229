/* listener: against the channel policies of rmcp, in virtual time.
 * The numbers wanted are those measured on the real servers with an EventSource
 * client: initialize, GET, tools/list; a poke at 1, 6, 11, 16, 21 s; 22 s.  (Who
 * saw the pokes of replace-noreplay was not written down: this is our order.) */
#include "mcpdiag/listener.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "util.h"

#define MAX_SLOTS 32
#define NOBODY MAX_SLOTS

/* How a GET is dealt with while the channel has a live owner, and when it
 * names a POST that is done (Last-Event-ID "k/n"). */
enum alive { REPLACE, REFUSE, REPLACE_NO_REPLAY, SHADOW };
enum done { FAILS, AS_COMMON, EMPTY };

static const struct policy {
	const char *name;
	enum alive alive;
	enum done done;
	const char *list_id;	/* of the answer to tools/list */
	const char *want[3];	/* answers to A's, B's and C's GETs */
	const char *seen;	/* who was given each poke; + : more of them */
} policies[] = {
	{ "replace (0.13 to 0.16)", REPLACE, FAILS, "0/0",
	    { "200 200 200 200 ", "200 200 200 200 ", "500 " }, "+" },
	{ "conflict", REFUSE, FAILS, "0/0",
	    { "409 ", "200 ", "500 " }, "BBBBB" },
	{ "conflict-fallthrough", REFUSE, AS_COMMON, "0/0",
	    { "409 ", "200 ", "409 " }, "BBBBB" },
	{ "replace-all", REPLACE, AS_COMMON, "0/0",
	    { "200 200 200 200 200 ", "200 200 200 200 200 ", "200 200 200 200 200 " }, "+" },
	{ "replace-noreplay", REPLACE_NO_REPLAY, AS_COMMON, "0/0",
	    { "200 200 200 200 200 ", "200 200 200 200 200 ", "200 200 200 200 200 " },
	    "BCBAB" },
	{ "shadow (0.17 to 1.4)", SHADOW, AS_COMMON, "0/0",
	    { "200 ", "200 ", "200 " }, "BBBBB" },
	{ "shadow-empty (1.5 to 3.1.4)", SHADOW, EMPTY, "1/0",
	    { "200 ", "200 ", "200 200 200 200 200 200 200 " }, "BBBBB" },
};

static const struct policy *policy;
static struct listener *l;
static ns_t now, timers[MAX_SLOTS];
static bool running[MAX_SLOTS];
static unsigned owner, emitted;
static struct buf got[3], seen;
static bool stopped;

/* What the server says, until the listener may hear it. */
static struct said {
	unsigned slot, status;	/* 0: a piece of body; 1: the end */
	const char *type;
	char text[200];
} said[200];
static unsigned n_said, n_heard;

static struct said *
say(unsigned slot, unsigned status, const char *type)
{
	struct said *s = &said[n_said++ % N_ROWS(said)];

	assert_true(n_said - n_heard < N_ROWS(said));
	*s = (struct said){ .slot = slot, .status = status, .type = type };
	return s;
}

static void
say_event(unsigned slot, const char *data, const char *id)
{
	(void)snprintf(say(slot, 0, "")->text, 200, "data: %s\n%s%s\n\n", data,
	    id ? "id: " : "", id ? id : "");
}

static void
say_poke(unsigned slot, unsigned n)
{
	char id[16];

	(void)snprintf(id, sizeof id, "%u", n);
	say_event(slot, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}",
	    id);
}

static void
say_priming(unsigned slot)
{
	(void)snprintf(say(slot, 0, "")->text, 200, "data: \nid: 0\nretry: 3000\n\n");
}

static void
emit(void)
{
	if (owner != NOBODY)
		say_poke(owner, emitted);
	emitted++;
}

static void
serve_get(unsigned slot, struct str id)
{
	bool of_post = str_find(id, STR("/")) < id.n, replay = true;
	size_t digits = str_find(id, STR("/"));
	uint64_t from = 0;

	if (id.n)
		(void)str_u64(str_of(id.p, digits < id.n ? digits : id.n), &from);
	if (of_post && policy->done == FAILS) {
		(void)say(slot, 500, "text/plain");
		(void)say(slot, 1, "");
		return;
	}
	if (of_post && policy->done == EMPTY) {
		(void)say(slot, 200, "text/event-stream");
		(void)say(slot, 1, "");
		return;
	}
	if (owner != NOBODY && policy->alive == REFUSE) {
		(void)say(slot, 409, "text/plain");
		(void)say(slot, 1, "");
		return;
	}
	(void)say(slot, 200, "text/event-stream");
	if (id.n == 0)
		say_priming(slot);
	if (owner != NOBODY && policy->alive == SHADOW)
		return;
	if (owner != NOBODY)
		(void)say(owner, 1, "");
	replay = owner == NOBODY || policy->alive == REPLACE;
	owner = slot;
	if (of_post)
		from = 0;
	for (unsigned k = (unsigned)from; replay && k < emitted; k++)
		say_poke(slot, k);
}

static bool
on_send(void *arg, unsigned slot, const struct client_request *q, struct errmsg *em)
{
	struct str id = STR_NONE, name = STR("Last-Event-ID: ");

	(void)arg;
	(void)em;
	running[slot] = true;
	if (strcmp(q->method, "GET") == 0) {
		for (unsigned i = 0; i < q->n_headers; i++)
			if (str_pre(q->headers[i], name))
				id = str_of(q->headers[i].p + name.n,
				    q->headers[i].n - name.n);
		serve_get(slot, id);
		return true;
	}
	if (str_find(q->body, STR("\"initialize\"")) < q->body.n) {
		(void)say(slot, 200, "text/event-stream");
		say_priming(slot);
		say_event(slot, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", NULL);
	} else if (str_find(q->body, STR("tools/list")) < q->body.n) {
		(void)say(slot, 200, "text/event-stream");
		say_priming(slot);
		say_event(slot, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
		    policy->list_id);
	} else {
		(void)say(slot, 202, "");
		if (str_find(q->body, STR("tools/call")) < q->body.n)
			emit();
	}
	(void)say(slot, 1, "");
	return true;
}

static void
on_cancel(void *arg, unsigned slot)
{
	(void)arg;
	running[slot] = false;
}

static void
on_set(void *arg, unsigned slot, ns_t after)
{
	(void)arg;
	timers[slot] = now + after;
}

static void
on_clear(void *arg, unsigned slot)
{
	(void)arg;
	timers[slot] = -1;
}

static void
on_event(void *arg, const struct listen_event *e)
{
	static const char letters[] = { [LISTEN_INITIALIZE] = 'A', [LISTEN_STANDALONE] = 'B',
		[LISTEN_LIST] = 'C' };

	(void)arg;
	if (e->what == LISTEN_ANSWER && strcmp(e->method, "GET") == 0)
		(void)buf_fmt(&got[letters[e->kind] - 'A'], "%u ", e->status);
	if (e->what == LISTEN_MESSAGE &&
	    str_eq(e->rpc_method, STR("notifications/tools/list_changed")))
		(void)buf_addc(&seen, letters[e->kind]);
	if (e->what == LISTEN_STOPPED)
		stopped = true;
}

/* The next thing the server said; false when it has said nothing more. */
static bool
hear(void)
{
	struct said *s = &said[n_heard % N_ROWS(said)];
	struct client_head h;

	if (n_heard == n_said)
		return false;
	n_heard++;
	if (!running[s->slot])
		return true;
	if (s->status >= 200) {
		now += NS_MS;		/* there and back */
		h = (struct client_head){ .status = s->status,
		    .content_type = str_c(s->type),
		    .lines = STR("Mcp-Session-Id: s1\r\n") };
		listener_head(l, s->slot, &h);
	} else if (s->status == 0) {
		listener_body(l, s->slot, s->text, strlen(s->text));
	} else {
		running[s->slot] = false;
		listener_end(l, s->slot, CLIENT_COMPLETE, "");
	}
	return true;
}

static void
run(void)
{
	while (!stopped) {
		unsigned next = 0;

		if (hear())
			continue;
		for (unsigned i = 1; i < listener_slots(l); i++)
			if (timers[i] >= 0 && (timers[next] < 0 || timers[i] < timers[next]))
				next = i;
		assert_true(timers[next] >= 0);
		now = timers[next];
		timers[next] = -1;
		listener_timer(l, next);
	}
}

static const char *
text_of(struct buf *b)
{
	(void)buf_addc(b, '\0');
	return b->p;
}

static void
as_measured(void **state)
{
	static const struct listener_io io = { on_send, on_cancel, on_set, on_clear };
	static const ns_t calls[] = { 1 * NS_S, 6 * NS_S, 11 * NS_S, 16 * NS_S, 21 * NS_S };

	(void)state;
	for (size_t i = 0; i < N_ROWS(policies); i++) {
		struct listener_opts o;

		policy = &policies[i];
		listener_opts_init(&o);
		o.url = "http://x/mcp";
		o.calls = calls;
		o.n_calls = N_ROWS(calls);
		o.duration = 22 * NS_S;
		now = 0;
		owner = NOBODY;
		emitted = n_said = n_heard = 0;
		stopped = false;
		for (unsigned k = 0; k < MAX_SLOTS; k++) {
			timers[k] = -1;
			running[k] = false;
		}
		for (unsigned k = 0; k < 3; k++)
			buf_init(&got[k], 1000);
		buf_init(&seen, 1000);
		l = listener_new(&o, &io, NULL, on_event, NULL);
		assert_true(listener_slots(l) <= MAX_SLOTS);
		listener_start(l);
		run();
		for (unsigned k = 0; k < 3; k++)
			if (strcmp(text_of(&got[k]), policy->want[k]) != 0)
				fail_msg("%s, %c: %s, not %s", policy->name, 'A' + (int)k,
				    got[k].p, policy->want[k]);
		if (policy->seen[0] == '+' ? seen.n <= 5 :
		    strcmp(text_of(&seen), policy->seen) != 0)
			fail_msg("%s: pokes to %.*s", policy->name, (int)seen.n, seen.p);
		listener_free(l);
		for (unsigned k = 0; k < 3; k++)
			buf_fini(&got[k]);
		buf_fini(&seen);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
