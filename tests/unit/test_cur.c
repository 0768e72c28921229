#include "mcpdiag/cur.h"

#include "util.h"

static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xff };

static void
test_reads(void **state)
{
	struct guard g = guard_of(bytes, sizeof bytes);
	struct cur c = cur_of(g.p, g.n);

	(void)state;
	assert_int_equal(cur_u8(&c), 1);
	assert_int_equal(cur_be16(&c), 0x0203);
	assert_int_equal(cur_le16(&c), 0x0504);
	assert_int_equal(cur_be32(&c), 0x06070809);
	assert_int_equal(cur_left(&c), 4);
	assert_true(cur_le32(&c) == 0xff0c0b0aU);
	assert_int_equal(cur_left(&c), 0);
	assert_int_equal(c.err, 0);
	assert_non_null(cur_take(&c, 0));	/* nothing may be taken at the end */
	assert_int_equal(c.err, 0);
	assert_int_equal(cur_u8(&c), 0);
	assert_int_equal(c.err, -E_SYNTAX);
	guard_free(&g);
}

/* Each read from each place: it gives its value, or 0, moves nothing and
 * spoils all that follow. */
static void
test_ends(void **state)
{
	(void)state;
	for (size_t n = 0; n <= 5; n++) {
		for (int what = 0; what < 7; what++) {
			static const size_t need[] = { 1, 2, 4, 2, 4, 3, 3 };
			struct guard g = guard_of(bytes, n);
			struct cur c = cur_of(g.p, g.n);
			const uint8_t *p = c.p;
			uint32_t v = 0;

			switch (what) {
			case 0: v = cur_u8(&c); break;
			case 1: v = cur_be16(&c); break;
			case 2: v = cur_be32(&c); break;
			case 3: v = cur_le16(&c); break;
			case 4: v = cur_le32(&c); break;
			case 5: v = cur_take(&c, 3) != NULL; break;
			case 6: cur_skip(&c, 3); v = c.err == 0; break;
			}
			if (n >= need[what]) {
				assert_int_equal(c.err, 0);
				assert_int_equal(c.p - p, need[what]);
				assert_true(v != 0);
			} else {
				assert_int_equal(c.err, -E_SYNTAX);
				assert_ptr_equal(c.p, p);
				assert_int_equal(v, 0);
				assert_int_equal(cur_u8(&c), 0);	/* sticky */
				assert_null(cur_take(&c, 0));
				assert_ptr_equal(c.p, p);
			}
			guard_free(&g);
		}
	}
}

static void
test_huge(void **state)
{
	struct cur c = cur_of(bytes, sizeof bytes);

	(void)state;
	(void)cur_u8(&c);
	assert_null(cur_take(&c, SIZE_MAX));	/* no wrap around */
	assert_int_equal(c.err, -E_SYNTAX);
	assert_int_equal(cur_left(&c), sizeof bytes - 1);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_huge),
	};

	return cmocka_run_group_tests_name("cur", tests, NULL, NULL);
}
