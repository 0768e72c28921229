#include "mcpdiag/buf.h"

#include <stdlib.h>

#include "mcpdiag/err.h"
#include "mcpdiag/xmem.h"
#include "util.h"

static void
test_grow(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	assert_null(b.p);
	assert_int_equal(b.max, 1000);
	assert_non_null(buf_str(&b).p);		/* empty, not absent */
	assert_int_equal(buf_str(&b).n, 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_addc(&b, (char)('a' + i % 26)), 0);
	assert_int_equal(b.n, 1000);
	assert_true(b.cap <= 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(b.p[i], 'a' + i % 26);
	assert_int_equal(buf_addc(&b, 'x'), -E_LIMIT);
	assert_int_equal(b.n, 1000);
	buf_fini(&b);
	assert_null(b.p);
	assert_int_equal(b.n, 0);
	assert_int_equal(b.cap, 0);
	assert_int_equal(b.max, 1000);
	assert_int_equal(buf_adds(&b, STR("again")), 0);
	assert_true(str_eq(buf_str(&b), STR("again")));
	buf_fini(&b);
}

static void
test_limit(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 5);
	assert_int_equal(buf_add(&b, "abc", 3), 0);
	assert_int_equal(buf_add(&b, "def", 3), -E_LIMIT);
	assert_true(str_eq(buf_str(&b), STR("abc")));	/* all or nothing */
	assert_int_equal(buf_add(&b, "de", 2), 0);
	assert_int_equal(buf_add(&b, NULL, 0), 0);	/* nothing fits always */
	assert_int_equal(buf_adds(&b, STR_NONE), 0);
	assert_null(buf_room(&b, 1));
	assert_null(buf_room(&b, SIZE_MAX));
	assert_non_null(buf_room(&b, 0));
	assert_true(str_eq(buf_str(&b), STR("abcde")));
	buf_clear(&b);
	assert_int_equal(buf_add(&b, "vwxyz", 5), 0);
	assert_true(str_eq(buf_str(&b), STR("vwxyz")));
	buf_fini(&b);

	buf_init(&b, 0);
	assert_int_equal(buf_addc(&b, 'a'), -E_LIMIT);
	assert_int_equal(buf_add(&b, "", 0), 0);
	buf_fini(&b);
}

static void
test_room(void **state)
{
	struct buf b;
	char *at;

	(void)state;
	buf_init(&b, SIZE_MAX);
	assert_int_equal(buf_adds(&b, STR("0123456789")), 0);
	at = buf_room(&b, 5000);
	assert_non_null(at);
	assert_ptr_equal(at, b.p + 10);
	assert_int_equal(b.n, 10);		/* the caller adds to it */
	memset(at, 'x', 5000);
	b.n += 5000;
	assert_true(b.cap >= 5010);
	assert_true(str_pre(buf_str(&b), STR("0123456789xxx")));
	buf_fini(&b);
}

static void
test_fmt(void **state)
{
	char big[1000];
	struct buf b;

	(void)state;
	memset(big, 'z', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	buf_init(&b, 1200);
	assert_int_equal(buf_fmt(&b, "%d-%s", 7, "x"), 0);
	assert_true(str_eq(buf_str(&b), STR("7-x")));
	assert_int_equal(buf_fmt(&b, "%s", big), 0);	/* past its first buffer */
	assert_int_equal(b.n, 3 + 999);
	assert_int_equal(b.p[3 + 998], 'z');
	assert_int_equal(buf_fmt(&b, "%s", big), -E_LIMIT);
	assert_int_equal(b.n, 3 + 999);
	assert_int_equal(buf_fmt(&b, "%s", ""), 0);
	buf_clear(&b);
	for (int n = 250; n < 260; n++) {	/* around the small one's size */
		buf_clear(&b);
		assert_int_equal(buf_fmt(&b, "%.*s", n, big), 0);
		assert_int_equal(b.n, n);
		assert_int_equal(b.p[n - 1], 'z');
	}
	buf_fini(&b);
}

static void
test_drop(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	buf_drop(&b, 3);
	assert_int_equal(b.n, 0);
	assert_int_equal(buf_adds(&b, STR("abcdef")), 0);
	buf_drop(&b, 0);
	assert_true(str_eq(buf_str(&b), STR("abcdef")));
	buf_drop(&b, 2);
	assert_true(str_eq(buf_str(&b), STR("cdef")));
	buf_drop(&b, 4);
	assert_int_equal(b.n, 0);
	assert_int_equal(buf_adds(&b, STR("gh")), 0);
	buf_drop(&b, 100);
	assert_int_equal(b.n, 0);
	buf_fini(&b);
}

static void
test_xmem(void **state)
{
	uint32_t cap = 0;
	uint16_t *v = NULL;
	char *s;

	(void)state;
	for (uint16_t i = 0; i < 500; i++) {
		v = xgrow(v, i, &cap, sizeof *v);
		assert_true(cap > i);
		v[i] = i;
	}
	for (uint16_t i = 0; i < 500; i++)
		assert_int_equal(v[i], i);
	free(v);
	s = xmemdup0("ab\0c", 4);
	assert_memory_equal(s, "ab\0c", 5);
	free(s);
	s = xmemdup0("", 0);
	assert_string_equal(s, "");
	free(s);
}

static void
test_err(void **state)
{
	struct errmsg em;
	char big[600];

	(void)state;
	memset(big, 'e', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	assert_int_equal(err_set(&em, E_IO, "%s: no", "x"), -E_IO);
	assert_string_equal(em.text, "x: no");
	assert_int_equal(err_set(NULL, E_USAGE, "%s", "nobody asked"), -E_USAGE);
	assert_int_equal(err_set(&em, E_LIMIT, "%s", big), -E_LIMIT);
	assert_int_equal(strlen(em.text), sizeof em.text - 1);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grow), cmocka_unit_test(test_limit),
		cmocka_unit_test(test_room), cmocka_unit_test(test_fmt),
		cmocka_unit_test(test_drop), cmocka_unit_test(test_xmem),
		cmocka_unit_test(test_err),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
