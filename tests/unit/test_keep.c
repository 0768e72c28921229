#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mcpdiag/keep.h"

static void
test_copies(void **state)
{
	struct keep k = { 0 };
	char text[] = "id\0x";
	struct str a, b, none;

	(void)state;
	a = keep_str(&k, str_of(text, 4));
	b = keep_str(&k, str_of(text, 0));
	none = keep_str(&k, STR_NONE);
	text[0] = '-';
	assert_int_equal(a.n, 4);
	assert_memory_equal(a.p, "id\0x", 5);
	assert_non_null(b.p);
	assert_string_equal(b.p, "");
	assert_null(none.p);
	assert_true(k.bytes > 6);
	keep_fini(&k);
	assert_int_equal(k.bytes, 0);
	keep_fini(&k);
	assert_string_equal(keep_str(&k, STR("again")).p, "again");
	keep_fini(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_copies) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
