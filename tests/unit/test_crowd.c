/* crowd: listeners left alone with the reference server. */
#include "mcpdiag/crowd.h"

#include "mcpdiag/mcpd.h"
#include "util.h"

static struct loop *loop;
static unsigned running;

static void
on_done(void *arg)
{
	(void)arg;
	if (--running == 0)
		loop_stop(loop);
}

/* retry is 200 ms, so that two seconds are ten rounds. */
static const struct row {
	enum chan_policy policy;
	const char *fault, *client;
	unsigned listeners;
	enum probe_verdict verdict;
	const char *say;
} rows[] = {
	{ CHAN_REPLACE, NULL, "eventsource", 2, PROBE_FAULT, "they are ended" },
	{ CHAN_REPLACE_ALL, NULL, "eventsource", 1, PROBE_FAULT, "they are ended" },
	{ CHAN_SHADOW_PROMOTE, NULL, "eventsource", 2, PROBE_OK, "stay open" },
	{ CHAN_SHADOW_PROMOTE, NULL, "eventsource", 8, PROBE_OK, "stay open" },
	{ CHAN_SHADOW_EMPTY, NULL, "eventsource", 1, PROBE_FAULT, "one of them" },
	{ CHAN_SHADOW_EMPTY, NULL, "ts-1.32", 1, PROBE_OK, "stay open" },
	{ CHAN_REPLACE, NULL, "ts-1.32", 1, PROBE_OK, "stay open" },
	{ CHAN_REPLACE_ALL, NULL, "ts-1.23", 1, PROBE_FAULT, "they are ended" },
	{ CHAN_SHADOW_PROMOTE, "finite-get", "eventsource", 3, PROBE_FAULT, "some of them" },
	{ CHAN_CONFLICT, NULL, "eventsource", 2, PROBE_OK, "do not come back" },
	{ CHAN_SHADOW_PROMOTE, "finite-get", "ts-1.32", 1, PROBE_FAULT, "one of them" },
	{ CHAN_SHADOW_PROMOTE, "refuse-get=405", "ts-1.32", 1, PROBE_OK, "none is accepted" },
	{ CHAN_SHADOW_PROMOTE, "refuse-get=404", "rmcp", 1, PROBE_FAULT, "gives its session up" },
};

static void
policies(void **state)
{
	struct mcpd *m[N_ROWS(rows)];
	struct crowd *c[N_ROWS(rows)];
	struct errmsg em;

	(void)state;
	loop = loop_new(&em);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct crowd_opts co = { .client = clients_find(rows[i].client),
			.listeners = rows[i].listeners, .duration = 2 * NS_S,
			.tool = "emit" };
		struct mcpd_opts mo;

		mcpd_opts_init(&mo, rows[i].policy);
		mo.channel.retry_ms = 200;
		if (rows[i].fault)
			assert_int_equal(fault_set(&mo.faults, str_c(rows[i].fault), &em), 0);
		m[i] = mcpd_new(loop, &mo, &em);
		assert_non_null(m[i]);
		client_opts_init(&co.http);
		co.url = mcpd_url(m[i]);
		c[i] = crowd_new(loop, &co, on_done, NULL, &em);
		assert_non_null(c[i]);
		running++;
		crowd_start(c[i]);
	}
	loop_run(loop);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct crowd_seen *s = crowd_seen(c[i]);
		struct probe_result r = crowd_judge(s);

		if (r.verdict != rows[i].verdict || strstr(r.say, rows[i].say) == NULL)
			fail_msg("row %zu: %d, %s (%u GETs, %u ended, %u looping, %u refused)",
			    i, (int)r.verdict, r.say, s->gets, s->ended, s->looping,
			    s->refused);
		crowd_free(c[i]);
		mcpd_free(m[i]);
	}
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(policies) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
