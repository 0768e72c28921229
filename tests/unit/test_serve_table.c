/* The policies against real sockets: the client of the measured table, its
 * times divided by five, all policies at once; and what the analysis makes of
 * the packets of each run. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/capsynth.h"
#include "mcpdiag/listener_live.h"
#include "mcpdiag/mcpd.h"
#include "read_fix.h"

#define SCALE 5
#define RETRY_MS (3000 / SCALE)
#define MAX_FOUND 16

enum { A, B, C, LINES };		/* initialize, standalone, tools/list */

struct run {
	struct loop *loop;
	unsigned *running;
	struct mcpd *server;
	struct listener_live *client;
	char path[40];
	struct capwrite *file;
	struct capsynth *synth;
	unsigned gets[LINES], status[LINES];
	char found[MAX_FOUND][64];	/* detector/variant, errors and warnings */
	unsigned n_found;
};

static void
on_opened(void *arg, uint32_t conn, const char *client, const char *server)
{
	struct run *r = arg;

	assert_int_equal(capsynth_open(r->synth, conn, client, server,
	    loop_now(r->loop)), 0);
}

static void
on_bytes(void *arg, uint32_t conn, bool response, const void *p, size_t n)
{
	struct run *r = arg;

	assert_int_equal(capsynth_data(r->synth, conn, response, p, n,
	    loop_now(r->loop)), 0);
}

static void
on_closed(void *arg, uint32_t conn, bool by_client, bool reset)
{
	struct run *r = arg;

	assert_int_equal(capsynth_close(r->synth, conn, by_client, reset,
	    loop_now(r->loop)), 0);
}

/* The server of a run, and the file that its traffic goes to. */
static void
open_run(struct run *r, struct loop *loop, enum chan_policy policy)
{
	struct capwrite_opts co = { .linktype = CAPSYNTH_LINKTYPE };
	struct mcpd_opts o;
	struct errmsg em;
	int fd;

	r->loop = loop;
	(void)snprintf(r->path, sizeof r->path, "/tmp/test_serve_table.XXXXXX");
	fd = mkstemp(r->path);
	assert_true(fd >= 0);
	(void)close(fd);
	r->file = capwrite_new(r->path, &co, &em);
	assert_non_null(r->file);
	r->synth = capsynth_new(r->file, 1024);
	mcpd_opts_init(&o, policy);
	o.http.port = 0;
	o.channel.retry_ms = RETRY_MS;
	o.keepalive = 15 * NS_S / SCALE;
	o.opened = on_opened;
	o.bytes = on_bytes;
	o.closed = on_closed;
	o.arg = r;
	r->server = mcpd_new(loop, &o, &em);
	assert_non_null(r->server);
}

static void
on_event(void *arg, const struct ev *e)
{
	struct run *r = arg;
	const struct finding *f = e->type == EV_FINDING ? e->u.finding : NULL;

	if (f == NULL || !(e->flags & EVF_FINAL) || f->severity == SEV_INFO)
		return;
	assert_true(r->n_found < MAX_FOUND);
	(void)snprintf(r->found[r->n_found++], sizeof r->found[0], "%s%s%s", f->detector,
	    f->variant ? "/" : "", f->variant ? f->variant : "");
}

/* Lets go of the server, and has its packets analyzed. */
static void
close_run(struct run *r)
{
	struct pipeline_opts po = { .tap = on_event, .arg = r };
	struct pipeline *p;

	mcpd_free(r->server);
	assert_int_equal(capwrite_flush(r->file), 0);
	capsynth_free(r->synth);
	capwrite_free(r->file);
	limits_init(&po.limits);
	p = pipeline_new(&po);
	read_packets_of(p, r->path);
	pipeline_free(p);
	(void)unlink(r->path);
}

static bool
found(const struct run *r, const char *what)
{
	for (unsigned i = 0; i < r->n_found; i++)
		if (strcmp(r->found[i], what) == 0)
			return true;
	return false;
}

/* All of a comma-separated list, and nothing else. */
static bool
found_just(const struct run *r, const char *list)
{
	unsigned n = 0;

	while (*list) {
		size_t k = strcspn(list, ",");
		char what[64];

		(void)snprintf(what, sizeof what, "%.*s", (int)k, list);
		if (!found(r, what))
			return false;
		n++;
		list += k + (list[k] == ',');
	}
	return n == r->n_found;
}

/* ---- the measured table ---- */

static void
on_listener(void *arg, const struct listen_event *e)
{
	struct run *r = arg;
	int line = e->kind == LISTEN_INITIALIZE ? A : e->kind == LISTEN_STANDALONE ? B : C;

	if (e->what == LISTEN_STOPPED) {
		assert_int_equal(e->stop, LISTEN_DONE);
		if (--*r->running == 0)
			loop_stop(r->loop);
	}
	if (e->what != LISTEN_ANSWER || strcmp(e->method, "GET") != 0)
		return;
	r->gets[line]++;
	if (e->status != 200)
		r->status[line] = e->status;
}

static void
start_client(struct run *r)
{
	static const ns_t pokes[] = { 1 * NS_S, 6 * NS_S, 11 * NS_S, 16 * NS_S, 21 * NS_S };
	struct listener_opts o;
	struct client_opts co;
	struct errmsg em;

	listener_opts_init(&o);
	client_opts_init(&co);
	o.url = mcpd_url(r->server);
	o.scale = 1.0 / SCALE;
	o.retry = RETRY_MS * NS_MS;
	o.calls = pokes;
	o.n_calls = N_ROWS(pokes);
	o.call_params = "{\"name\":\"emit\"}";
	o.duration = 22 * NS_S;
	o.fresh = o.delete = true;
	r->client = listener_live_new(r->loop, &co, &o, on_listener, r, &em);
	assert_non_null(r->client);
	listener_live_start(r->client);
}

static const struct row {
	unsigned gets[LINES], status[LINES];
	const char *found;
} rows[CHAN_N_POLICIES] = {
	[CHAN_REPLACE] = { { 4, 4, 1 }, { 0, 0, 500 }, "leapfrog" },
	[CHAN_CONFLICT] = { { 1, 1, 1 }, { 409, 0, 500 }, "" },
	[CHAN_CONFLICT_FALLTHROUGH] = { { 1, 1, 1 }, { 409, 0, 409 }, "" },
	[CHAN_REPLACE_ALL] = { { 5, 5, 5 }, { 0, 0, 0 }, "leapfrog,replay-loop,replay-loop/cross-stream" },
	[CHAN_REPLACE_NOREPLAY] = { { 5, 5, 5 }, { 0, 0, 0 }, "leapfrog" },
	[CHAN_SHADOW] = { { 1, 1, 1 }, { 0, 0, 0 }, "" },
	[CHAN_SHADOW_REPLAY] = { { 1, 1, 1 }, { 0, 0, 0 }, "" },
	[CHAN_SHADOW_EMPTY] = { { 1, 1, 7 }, { 0, 0, 0 },
	    "empty-accept-loop/frozen-cursor" },
	[CHAN_SHADOW_PROMOTE] = { { 1, 1, 1 }, { 0, 0, 0 }, "" },
};

static void
test_table(void **state)
{
	struct run *runs = calloc(CHAN_N_POLICIES, sizeof *runs), *r;
	unsigned running = CHAN_N_POLICIES, bad = 0;
	struct errmsg em;
	struct loop *loop = loop_new(&em);

	(void)state;
	for (int i = 0; i < CHAN_N_POLICIES; i++) {
		runs[i].running = &running;
		open_run(&runs[i], loop, (enum chan_policy)i);
		start_client(&runs[i]);
	}
	loop_run(loop);
	for (int i = 0; i < CHAN_N_POLICIES; i++) {
		r = &runs[i];
		listener_live_free(r->client);
		close_run(r);
		bad += memcmp(r->gets, rows[i].gets, sizeof r->gets) != 0 ||
		    memcmp(r->status, rows[i].status, sizeof r->status) != 0 ||
		    !found_just(r, rows[i].found);
		print_message("%-21s A %u/%u B %u/%u C %u/%u  ", chan_policy_names[i],
		    r->gets[A], r->status[A], r->gets[B], r->status[B], r->gets[C],
		    r->status[C]);
		for (unsigned k = 0; k < r->n_found; k++)
			print_message("%s ", r->found[k]);
		print_message("\n");
	}
	loop_free(loop);
	free(runs);
	assert_int_equal(bad, 0);
}

/* ---- make before break ---- */

struct mbb;

struct part {			/* of a conversation: one request */
	struct mbb *m;
	bool second, get;
};

/* A session whose listener opens a second GET, then closes the first; what is
 * emitted meanwhile is for the second.  A third comes later. */
struct mbb {
	struct run run;
	struct client *client;
	struct creq *first;
	struct part *first_part;
	struct loop_timer *timer;	/* looks whether the server has noticed */
	struct loop_timer *pause;	/* between calls: no message came */
	char sid[64];
	unsigned step, got_second;	/* messages */
	unsigned open;			/* requests */
};

static void next_step(struct mbb *m);

static void
on_head(void *arg, const struct client_head *h)
{
	struct part *p = arg;
	struct str sid = client_header(h, STR("Mcp-Session-Id"));

	assert_true(h->status / 100 == 2);
	if (sid.n > 0)
		(void)snprintf(p->m->sid, sizeof p->m->sid, "%.*s", STR_ARG(sid));
	if (p->get)
		next_step(p->m);
}

static void
on_body(void *arg, const void *bytes, size_t n)
{
	struct part *p = arg;

	if (p->second && str_find(str_of(bytes, n), STR("list_changed")) != SIZE_MAX)
		p->m->got_second++;
}

static void
on_end(void *arg, enum client_end end, const char *why)
{
	struct part *p = arg;
	struct mbb *m = p->m;
	bool get = p->get;

	(void)end;
	(void)why;
	free(p);
	m->open--;
	if (!get)
		loop_timer_set(m->pause, 100 * NS_MS);
	else if (m->open == 0)
		loop_stop(m->run.loop);
}

static struct creq *
send_request(struct mbb *m, const char *method, const char *body, bool second)
{
	static const struct client_cb cb = { on_head, on_body, on_end };
	struct part *p = calloc(1, sizeof *p);
	char sid[128];
	struct str headers[] = {
		STR("Accept: application/json, text/event-stream"),
		STR("Content-Type: application/json"),
		str_of(sid, (size_t)snprintf(sid, sizeof sid, "Mcp-Session-Id: %s", m->sid)),
	};
	struct client_request q = { .method = method, .url = mcpd_url(m->run.server),
		.headers = headers, .n_headers = m->sid[0] ? 3 : 2, .body = str_c(body),
		.fresh = true };
	struct errmsg em;
	struct creq *c;

	p->m = m;
	p->second = second;
	p->get = strcmp(method, "GET") == 0;
	m->open++;
	if (m->first_part == NULL && p->get)
		m->first_part = p;
	c = client_start(m->client, &q, &cb, p, &em);
	assert_non_null(c);
	return c;
}

/* The server has noticed that the first stream's client is gone. */
static void
on_timer(void *arg)
{
	struct mbb *m = arg;
	struct mcpd_stats stats;

	mcpd_stats(m->run.server, &stats);
	if (stats.streams == 1)
		next_step(m);
	else
		loop_timer_set(m->timer, NS_MS);
}

static void
on_pause(void *arg)
{
	next_step(arg);
}

/* Each follows from what the one before has brought. */
static void
next_step(struct mbb *m)
{
	static const char init[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}";
	static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
	    "\"params\":{\"name\":\"emit\"}}";

	switch (m->step++) {
	case 0:
		(void)send_request(m, "POST", init, false);
		break;
	case 1:
		m->first = send_request(m, "GET", NULL, false);
		break;
	case 2:
		(void)send_request(m, "POST", call, false);
		break;
	case 3:
		(void)send_request(m, "GET", NULL, true);
		break;
	case 4:
		client_cancel(m->first);
		free(m->first_part);	/* of which nothing more is told */
		m->open--;
		loop_timer_set(m->timer, 0);
		break;
	case 5: case 6:
		(void)send_request(m, "POST", call, false);
		break;
	case 7:
		(void)send_request(m, "GET", NULL, false);
		break;
	case 8:			/* ends the two streams */
		(void)send_request(m, "DELETE", NULL, false);
		break;
	}
}

static void
play_mbb(struct mbb *m, enum chan_policy policy)
{
	struct client_opts co;
	struct errmsg em;
	struct loop *loop = loop_new(&em);

	*m = (struct mbb){ .step = 0 };
	open_run(&m->run, loop, policy);
	client_opts_init(&co);
	m->client = client_new(loop, &co, &em);
	assert_non_null(m->client);
	m->timer = loop_timer_new(loop, on_timer, m);
	m->pause = loop_timer_new(loop, on_pause, m);
	next_step(m);
	loop_run(loop);
	client_free(m->client);
	loop_timer_free(m->timer);
	loop_timer_free(m->pause);
	close_run(&m->run);
	loop_free(loop);
}

static void
test_make_before_break(void **state)
{
	struct mbb m;

	(void)state;
	/* Nothing is replayed: that the calls were followed by a message before
	 * is what tells. */
	play_mbb(&m, CHAN_SHADOW);
	assert_int_equal(m.got_second, 0);
	assert_true(found_just(&m.run, "orphaned-channel/headless"));
	play_mbb(&m, CHAN_SHADOW_REPLAY);
	assert_int_equal(m.got_second, 0);
	assert_true(found_just(&m.run, "orphaned-channel/headless"));
	play_mbb(&m, CHAN_SHADOW_EMPTY);
	assert_int_equal(m.got_second, 0);
	assert_true(found_just(&m.run, "orphaned-channel/headless"));
	play_mbb(&m, CHAN_SHADOW_PROMOTE);
	assert_int_equal(m.got_second, 2);
	assert_true(found_just(&m.run, ""));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_make_before_break),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
