/* standin: clients of the field for captured ones, against the reference server. */
#include "mcpdiag/standin.h"

#include <stdlib.h>

#include "mcpdiag/mcpd.h"
#include "mini_server.h"
#include "plan_fix.h"

static struct loop *loop;
static struct plan *plan;
static bool late;

static void
read_capture(const char *path)
{
	struct errmsg em;

	plan = plan_new();
	assert_int_equal(plan_rename(plan, "poke=emit", &em), 0);
	plan_read(plan, path);
}

static void
on_late(void *arg)
{
	(void)arg;
	late = true;
	loop_stop(loop);
}

static void
on_done(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

static struct standin *
play(const char *url, const char *kind, int want)
{
	struct loop_timer *guard = loop_timer_new(loop, on_late, NULL);
	struct standin_opts o = { .url = url, .row = clients_find(kind), .speed = 10,
		.answer_timeout = 500 * NS_MS };
	struct standin *s;
	struct errmsg em;

	assert_non_null(o.row);
	client_opts_init(&o.client);
	s = standin_new(loop, plan, &o, on_done, NULL);
	assert_int_equal(standin_start(s, &em), want);
	late = false;
	loop_timer_set(guard, 30 * NS_S);
	if (want == 0)
		loop_run(loop);
	loop_timer_free(guard);
	assert_false(late);
	standin_close(s);
	return s;
}

static const struct row {
	const char *file, *kind;
	enum chan_policy policy;
	unsigned least, most;	/* GETs */
} rows[] = {
	{ "leapfrog-rmcp0.15.0-eventsource", "eventsource", CHAN_REPLACE, 4, 400 },
	{ "leapfrog-rmcp0.15.0-eventsource", "eventsource", CHAN_SHADOW_PROMOTE, 1, 3 },
	{ "leapfrog-rmcp0.15.0-eventsource", "ts-1.32", CHAN_REPLACE, 1, 1 },
};

static void
kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct standin_x *x;
		struct standin *s;
		struct mcpd_opts mo;
		struct mcpd *m;
		struct errmsg em;
		char path[100];

		loop = loop_new(NULL);
		(void)snprintf(path, sizeof path, "captures/%s.pcap", rows[i].file);
		read_capture(path);
		mcpd_opts_init(&mo, rows[i].policy);
		mo.http.port = 0;
		m = mcpd_new(loop, &mo, &em);
		assert_non_null(m);
		s = play(mcpd_url(m), rows[i].kind, 0);
		assert_int_equal(standin_target(s, &em), 0);
		assert_int_equal(standin_left_out(s), 0);
		x = standin_x(s, 0);
		assert_true(x->stopped);
		assert_int_equal(x->stop, LISTEN_DONE);
		assert_true(x->calls >= 4);
		assert_true(x->messages >= 2);
		if (x->gets < rows[i].least || x->gets > rows[i].most)
			fail_msg("%s, %s: %u GETs", rows[i].file, rows[i].kind, x->gets);
		assert_null(standin_x(s, 1));
		standin_free(s);
		mcpd_free(m);
		plan_free(plan);
		loop_free(loop);
	}
}

/* All of them, also those that leave when the capture ends. */
static void
listeners(void **state)
{
	struct standin *s;
	struct mcpd_opts mo;
	struct mcpd *m;
	struct errmsg em;

	(void)state;
	loop = loop_new(NULL);
	read_capture("captures/shadow-eviction-loop-rmcp0.17.0.pcap");
	mcpd_opts_init(&mo, CHAN_SHADOW_PROMOTE);
	mo.http.port = 0;
	m = mcpd_new(loop, &mo, &em);
	assert_non_null(m);
	s = play(mcpd_url(m), "java", 0);	/* it never opens a second one */
	assert_int_equal(standin_x(s, 0)->gets, 37);
	standin_free(s);
	mcpd_free(m);
	plan_free(plan);
	loop_free(loop);
}

static const char *answer;

static void
on_request(void *arg, struct mini_conn *c, struct str q)
{
	(void)arg;
	(void)q;
	mini_say(c, answer);
}

/* No server, no MCP, no answer: a sentence each time. */
static void
targets(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\n<",
		"", NULL,
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(answers); i++) {
		struct errmsg em = { "" };
		struct standin *s;
		struct mini srv;
		char url[64];

		loop = loop_new(NULL);
		read_capture("captures/leapfrog-rmcp0.15.0-eventsource.pcap");
		mini_init(&srv, loop);
		srv.request = on_request;
		answer = answers[i];
		(void)snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", srv.port);
		if (answer == NULL)
			mini_shut(&srv);
		s = play(url, "ts-1.32", 0);
		if (standin_target(s, &em) != -E_IO)
			fail_msg("%zu: stop %d", i, standin_x(s, 0)->stop);
		assert_true(strlen(em.text) > strlen(url) + 4);
		standin_free(s);
		mini_fini(&srv);
		plan_free(plan);
		loop_free(loop);
	}
}

static void
nobody_to_stand_in_for(void **state)
{
	struct standin *s;

	(void)state;
	loop = loop_new(NULL);
	read_capture("captures/06-legacy-sse-ts1.32.pcap");
	s = play("http://127.0.0.1:1/", "go", -E_USAGE);
	assert_int_equal(standin_left_out(s), 1);
	standin_free(s);
	standin_free(NULL);
	plan_free(plan);
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(listeners),
		cmocka_unit_test(targets),
		cmocka_unit_test(nobody_to_stand_in_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
