/* baseline: what a line means, and what line a finding has. */
#include "mcpdiag/baseline.h"

#include <stdlib.h>

#include "util.h"

struct who {
	const char *server, *client;
};

static struct timeline *
timeline_with(struct who who)
{
	struct ev e = { .type = EV_SESSION, .t = NS_S, .pkt = 1, .session = 1 };
	struct timeline *tl;
	struct limits lim;

	limits_init(&lim);
	tl = timeline_new(&lim);
	e.u.session.server = str_c(who.server);
	e.u.session.client = str_c(who.client);
	timeline_event(tl, &e);
	return tl;
}

static void
line_of_a_finding(void **state)
{
	static const struct {
		const char *detector, *variant;
		uint32_t session;
		struct who who;
		const char *line;
	} rows[] = {
		{ "leapfrog", NULL, 1, { "srv/1.2", "cli/3" }, "leapfrog srv cli" },
		{ "replay-loop", "inclusive", 1, { "srv", "cli/3" }, "replay-loop/inclusive srv cli" },
		{ "leapfrog", NULL, 1, { "@a/b/1", "a b#*/2" }, "leapfrog @a%2Fb a%20b%23%2A" },
		{ "leapfrog", NULL, 1, { NULL, "-/1" }, "leapfrog - %2D" },
		{ "leapfrog", NULL, 1, { "/1", "\x1b[31m\xc3\xa9/1" }, "leapfrog %2F1 %1B%5B31m%C3%A9" },
		{ "leapfrog", NULL, 0, { "srv/1", "cli/1" }, "leapfrog - -" },
		{ "leapfrog", NULL, 7, { "srv/1", "cli/1" }, "leapfrog - -" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct finding f = { .detector = rows[i].detector,
			.variant = rows[i].variant, .session = rows[i].session };
		struct timeline *tl = timeline_with(rows[i].who);
		struct baseline *b = baseline_new();
		struct errmsg em;
		struct buf line;

		buf_init(&line, 1024);
		baseline_line(tl, &f, &line);
		if (!str_eq(buf_str(&line), str_c(rows[i].line)))
			fail_msg("%s: %.*s", rows[i].line, STR_ARG(buf_str(&line)));
		/* What is written is known when it is read. */
		assert_int_equal(baseline_parse(b, buf_str(&line), &em), 0);
		assert_true(baseline_known(b, tl, &f, false));
		assert_false(baseline_entry(b, 0)->found);
		assert_true(baseline_known(b, tl, &f, true));
		assert_true(baseline_entry(b, 0)->found);
		assert_null(baseline_entry(b, 1));
		baseline_free(b);
		buf_fini(&line);
		timeline_free(tl);
	}
}

static void
lines(void **state)
{
	static const struct {
		const char *text;
		int rc;
		unsigned n;
		bool known;		/* leapfrog srv cli */
		const char *says;
	} rows[] = {
		{ "", 0, 0, false, NULL },
		{ "\n\n# leapfrog srv cli\n  \t\n", 0, 0, false, NULL },
		{ "leapfrog srv cli\n", 0, 1, true, NULL },
		{ "leapfrog srv cli", 0, 1, true, NULL },
		{ " leapfrog\tsrv   cli  # known, #12\r\n", 0, 1, true, NULL },
		{ "leapfrog * *\n", 0, 1, true, NULL },
		{ "leapfrog srv *\nleapfrog * cli\n", 0, 2, true, NULL },
		{ "leapfrog/chain srv cli\n", 0, 1, false, NULL },
		{ "leapfrog srv2 cli\nleapfrog srv cl\n", 0, 2, false, NULL },
		{ "* srv cli\n", 0, 1, false, NULL },
		{ "leapfrog srv\n", -E_SYNTAX, 0, false, "line 1: an entry is" },
		{ "leapfrog a b\n\nleapfrog a b c\n", -E_SYNTAX, 1, false, "line 3: an entry is" },
		{ "leapfrog a \xc3\xa9\n", -E_SYNTAX, 0, false, "line 1: bytes" },
		{ "leapfrog a \x1b[m\n", -E_SYNTAX, 0, false, "line 1: bytes" },
	};
	const struct finding f = { .detector = "leapfrog", .session = 1 };

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct guard g = guard_of(rows[i].text, strlen(rows[i].text));
		struct timeline *tl = timeline_with((struct who){ "srv/1", "cli/1" });
		struct baseline *b = baseline_new();
		struct errmsg em = { "" };
		unsigned n = 0;

		if (baseline_parse(b, str_of(g.p, g.n), &em) != rows[i].rc)
			fail_msg("%zu: %s", i, em.text);
		while (baseline_entry(b, n))
			n++;
		assert_int_equal(n, rows[i].n);
		assert_true(baseline_known(b, tl, &f, true) == rows[i].known);
		for (unsigned k = 0; k < n; k++)
			assert_true(baseline_entry(b, k)->found == rows[i].known);
		if (rows[i].says && strstr(em.text, rows[i].says) == NULL)
			fail_msg("%zu: %s", i, em.text);
		baseline_free(b);
		timeline_free(tl);
		guard_free(&g);
	}
}

static void
too_many(void **state)
{
	static const char one[] = "leapfrog a b\n";
	struct baseline *b = baseline_new();
	struct errmsg em;
	struct buf text;

	(void)state;
	buf_init(&text, BASELINE_MAX_BYTES);
	for (int i = 0; i < BASELINE_MAX_ENTRIES; i++)
		(void)buf_adds(&text, str_c(one));
	assert_int_equal(baseline_parse(b, buf_str(&text), &em), 0);
	assert_int_equal(baseline_parse(b, str_c(one), &em), -E_LIMIT);
	buf_fini(&text);
	baseline_free(b);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_of_a_finding), cmocka_unit_test(lines),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests_name("baseline", tests, NULL, NULL);
}
