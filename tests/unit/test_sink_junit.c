/* sink_junit: the document of a small story, and nothing hostile in it. */
#include "sink_fix.h"

static const char *const detectors[] = { "leapfrog", "orphaned-channel", NULL };

static void
print(struct sink_fix *x, unsigned n_findings, uint64_t dropped, struct junit_opts opts)
{
	sink_fix_init(x, n_findings, dropped);
	opts.detectors = detectors;
	sink_junit(&x->o, x->tl, x->v, &opts);
	sink_clean(x);
	assert_false(sink_has(x, "\xef\xbf\xbe"));
	assert_false(sink_has(x, "</b>"));
	assert_int_equal(sink_times(x, "<testcase "), sink_times(x, "</testcase>"));
}

/* The counts, and what of the cases there is. */
static void
every_row(void **state)
{
	static const struct {
		const char *what;
		unsigned n;
		uint64_t dropped;
		struct junit_opts opts;
		const char *sums;
		unsigned failures, errors, skipped;
	} rows[] = {
		{ "nothing found", 0, 0, { .fail = true, .fail_on = SEV_ERROR },
		  "tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\" time=\"3.000\"", 0, 0, 0 },
		{ "an error", 1, 0, { .fail = true, .fail_on = SEV_ERROR },
		  "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\"", 1, 0, 0 },
		{ "an info of a detector that is not listed", 2, 0,
		  { .fail = true, .fail_on = SEV_ERROR },
		  "tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"0\"", 1, 0, 0 },
		{ "which counts too", 2, 0, { .fail = true, .fail_on = SEV_INFO },
		  "tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"0\"", 2, 0, 0 },
		{ "nothing fails", 2, 0, { .fail = false },
		  "tests=\"4\" failures=\"0\" errors=\"0\" skipped=\"0\"", 0, 0, 0 },
		{ "drops", 0, 7, { .fail = true, .fail_on = SEV_ERROR },
		  "tests=\"3\" failures=\"0\" errors=\"1\" skipped=\"0\"", 0, 1, 0 },
		{ "drops, allowed", 0, 7,
		  { .fail = true, .fail_on = SEV_ERROR, .allow_incomplete = true },
		  "tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"1\"", 0, 0, 1 },
		{ "drops, nothing fails", 0, 7, { .fail = false },
		  "tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"1\"", 0, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct sink_fix x;

		print(&x, rows[i].n, rows[i].dropped, rows[i].opts);
		if (sink_times(&x, rows[i].sums) != 2 ||
		    sink_times(&x, "<failure ") != rows[i].failures ||
		    sink_times(&x, "<error ") != rows[i].errors ||
		    sink_times(&x, "<skipped ") != rows[i].skipped)
			fail_msg("%s: %.*s", rows[i].what, (int)x.o.n, x.o.p);
		sink_fix_fini(&x);
	}
}

static void
words(void **state)
{
	struct sink_fix x;

	(void)state;
	print(&x, 2, 0, (struct junit_opts){ .fail = true, .fail_on = SEV_ERROR });
	assert_true(sink_has(&x, "<failure type=\"error\" message=\"T &lt;/b&gt;&amp;&quot;&#39;`"));
	assert_true(sink_has(&x, "\\x1b[31m\\x01\\x0a\\xff\\u{fffe}\\u{feff}\">error  leapfrog, high "
	    "confidence, 4 times, packets 5 to 9, session #12&lt;/b&gt;"));
	assert_true(sink_has(&x, "\npacket 5  +1.000 s  E &lt;"));
	assert_true(sink_has(&x, "\nfix: F &lt;"));
	assert_true(sink_has(&x, "<testcase classname=\"mcpdiag\" name=\"replay-loop\" time=\"0\">\n"
	    "      <system-out>info  replay-loop (inclusive)"));
	assert_true(sink_has(&x, "name=\"orphaned-channel\" time=\"0\">\n    </testcase>"));
	sink_fix_fini(&x);
}

static void
stale(void **state)
{
	struct junit_opts opts = { .detectors = detectors, .fail = true, .fail_on = SEV_ERROR };
	struct sink_fix x;

	(void)state;
	sink_fix_init(&x, 0, 0);
	verdict_note(x.v, "gate", "1 finding is left out");
	verdict_fail(x.v, "baseline", "x < y is stale");
	sink_junit(&x.o, x.tl, x.v, &opts);
	assert_int_equal(sink_times(&x, "tests=\"4\" failures=\"1\" errors=\"0\""), 2);
	assert_true(sink_has(&x, "<failure type=\"stale\" message=\"1 stale\">x &lt; y is stale\n<"));
	assert_true(sink_has(&x, "note: 1 finding is left out\n"));
	sink_fix_fini(&x);
	/* Nothing fails: nor does this. */
	sink_fix_init(&x, 0, 0);
	verdict_fail(x.v, "baseline", "x");
	opts.fail = false;
	sink_junit(&x.o, x.tl, x.v, &opts);
	assert_int_equal(sink_times(&x, "tests=\"3\" failures=\"0\""), 2);
	sink_fix_fini(&x);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row), cmocka_unit_test(words), cmocka_unit_test(stale),
	};

	return cmocka_run_group_tests_name("sink_junit", tests, NULL, NULL);
}
