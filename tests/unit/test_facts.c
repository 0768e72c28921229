/* facts: every member of every event, and nothing that says nothing. */
#include "../../src/tui/facts.h"

#include "tui_fix.h"

static void
test_event(void **state)
{
	struct ev e = { .type = EV_SSE, .flags = EVF_REPLAY | EVF_GAP };
	struct lines l;

	(void)state;
	lines_init(&l);
	e.u.sse.id = STR("7");
	e.u.sse.data = true;
	e.u.sse.bytes = 12;
	e.u.sse.hash = 0xab;
	e.u.sse.retry_ms = -1;
	facts_add(&l, &e);
	assert_int_equal(l.n, 5);
	assert_true(str_eq(lines_str(&l, 0), STR("id               7")));
	assert_true(str_eq(lines_str(&l, 1), STR("data             yes")));
	assert_true(str_eq(lines_str(&l, 2), STR("bytes            12")));
	assert_true(str_eq(lines_str(&l, 3), STR("hash             00000000000000ab")));
	assert_true(str_eq(lines_str(&l, 4), STR("flags            gap, replay")));
	lines_fini(&l);
}

static void
test_all(void **state)
{
	(void)state;
	for (int type = 0; type < EV_N_TYPES; type++) {
		struct ev e = { .type = (enum ev_type)type };
		struct lines l;

		lines_init(&l);
		facts_add(&l, &e);
		for (const struct ev_field *f = ev_fields(e.type); f->name; f++)
			if (f->type == EVT_STR)
				memcpy((char *)&e + f->offset, &STR("x"), sizeof(struct str));
		lines_clear(&l);
		facts_add(&l, &e);
		for (uint32_t i = 0; i < l.n; i++)
			assert_true(lines_str(&l, i).n > 10);
		lines_fini(&l);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests_name("facts", tests, NULL, NULL);
}
