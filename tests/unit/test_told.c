/* told: findings are kept as they were told last. */
#include "../../src/tui/told.h"
#include "util.h"

static bool
tell(struct told *t, const char *detector, const char *variant, uint32_t session,
    enum severity sev, const char *title, uint32_t flags)
{
	static const uint32_t streams[] = { 3, 7 };
	char text[64];
	uint32_t alike[] = { 300 + session, 200 + session, 100 + session };
	struct finding f = { .detector = detector, .variant = variant, .severity = sev,
	    .session = session, .streams = streams, .n_streams = 2, .alike = alike,
	    .sessions_alike = flags & EVF_FINAL ? 3 : 0, .n_evidence = 1, .n_facts = 2 };
	struct ev e = { .type = EV_FINDING, .flags = flags, .session = session };
	bool changed;

	strncat(memset(text, 0, sizeof text), title, sizeof text - 1);
	f.title = str_c(text);
	f.evidence[0].what = str_c(text);
	f.facts[1] = (struct fact){ .name = "x", .type = FACT_TEXT, .text = str_c(text) };
	e.u.finding = &f;
	changed = told_event(t, &e);
	/* What was borrowed is gone. */
	memset(text, 'X', sizeof text);
	alike[0] = 0;
	return changed;
}

static void
test_replaced(void **state)
{
	struct told t = { 0 };
	const struct finding *f;

	(void)state;
	assert_null(told_get(&t, 0, 0));
	assert_true(tell(&t, "leapfrog", NULL, 1, SEV_WARNING, "two", 0));
	assert_true(tell(&t, "leapfrog", NULL, 1, SEV_ERROR, "three", 0));
	assert_true(tell(&t, "leapfrog", "half", 1, SEV_INFO, "", 0));
	assert_true(tell(&t, "leapfrog", NULL, 2, SEV_ERROR, "other", 0));
	assert_int_equal(t.n, 3);
	assert_int_equal(t.n_severity[SEV_ERROR], 2);
	assert_int_equal(t.n_severity[SEV_WARNING], 0);
	f = told_get(&t, 1, 0);
	assert_true(str_eq(f->title, STR("three")));
	assert_true(str_eq(f->evidence[0].what, STR("three")));
	assert_true(str_eq(f->facts[1].text, STR("three")));
	assert_null(f->facts[0].text.p);
	assert_int_equal(f->streams[1], 7);
	assert_string_equal(told_get(&t, 1, 1)->variant, "half");
	assert_null(told_get(&t, 1, 2));
	assert_true(str_eq(told_get(&t, 2, 0)->title, STR("other")));
	told_fini(&t);
}

/* The final ones are all there are, each as often as it is told. */
static void
test_final(void **state)
{
	struct told t = { 0 };
	uint32_t n[3];

	(void)state;
	assert_true(tell(&t, "leapfrog", NULL, 1, SEV_ERROR, "a", 0));
	assert_true(tell(&t, "stale-slot", NULL, 1, SEV_ERROR, "b", 0));
	assert_true(tell(&t, "leapfrog", NULL, 1, SEV_WARNING, "c", EVF_FINAL));
	assert_true(tell(&t, "leapfrog", NULL, 1, SEV_WARNING, "d", EVF_FINAL));
	assert_int_equal(t.n, 2);
	assert_int_equal(t.n_severity[SEV_ERROR], 0);
	assert_int_equal(t.n_severity[SEV_WARNING], 2);
	assert_true(str_eq(told_get(&t, 101, 1)->title, STR("d")));
	assert_true(str_eq(told_get(&t, 301, 0)->title, STR("c")));
	assert_null(told_get(&t, 102, 0));
	told_count(&t, 201, n);
	assert_int_equal(n[SEV_WARNING], 2);
	assert_int_equal(n[SEV_ERROR], 0);
	told_count(&t, 202, n);
	assert_int_equal(n[SEV_WARNING], 0);
	told_count(&t, 0, n);
	assert_int_equal(n[SEV_WARNING], 2);
	told_fini(&t);
}

static void
test_bounded(void **state)
{
	struct told t = { 0 };
	struct ev none = { .type = EV_FINDING };

	(void)state;
	assert_false(told_event(&t, &none));
	for (uint32_t i = 1; i <= TOLD_MAX + 5; i++)
		assert_true(tell(&t, "leapfrog", NULL, i, SEV_INFO, "x", 0));
	assert_int_equal(t.n, TOLD_MAX);
	assert_int_equal(t.more, 5);
	assert_int_equal(t.n_severity[SEV_INFO], TOLD_MAX);
	told_fini(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_final),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
