#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mcpdiag/intern.h"

static void
test_shared(void **state)
{
	struct intern in = { NULL };
	char *a, *b, *c;

	(void)state;
	assert_null(intern_get(&in, STR_NONE));
	a = intern_get(&in, STR("rmcp"));
	b = intern_get(&in, str_of("rmcp/1", 4));
	c = intern_get(&in, str_of("rm\0p", 4));
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	assert_memory_equal(c, "rm\0p", 5);
	assert_int_equal(intern_count(&in), 2);
	intern_put(&in, a);
	assert_string_equal(b, "rmcp");			/* one holder left */
	intern_put(&in, b);
	assert_int_equal(intern_count(&in), 1);
	intern_put(&in, c);
	intern_put(&in, NULL);
	assert_int_equal(intern_count(&in), 0);
	a = intern_get(&in, STR(""));
	assert_string_equal(a, "");
	intern_put(&in, a);
	assert_null(in.table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shared) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
