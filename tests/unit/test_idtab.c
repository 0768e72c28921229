#include "mcpdiag/idtab.h"

#include <stdlib.h>

#include "mcpdiag/map.h"
#include "util.h"

static void
test_empty(void **state)
{
	struct idtab t;
	int fresh;

	(void)state;
	idtab_init(&t, 100);
	assert_null(idtab_get(&t, 1));
	assert_null(idtab_get(&t, 0));
	assert_null(t.now.slot);		/* nothing until the first */
	idtab_fini(&t);
	idtab_fini(&t);
	assert_non_null(idtab_put(&t, 1, &fresh));	/* usable again */
	assert_int_equal(t.max, 100);
	idtab_fini(&t);
}

static void
test_put_get(void **state)
{
	/* Keys that collide in every small table, 0 and its stand-in among
	 * them. */
	static const uint64_t keys[] = { 0, 8, 16, 1ULL << 40, 3ULL << 40, 7, 15,
	    UINT64_MAX, 64, 128 };
	struct idtab t;
	struct idrec *r;
	int fresh;

	(void)state;
	idtab_init(&t, 1000);
	for (uint32_t i = 0; i < N_ROWS(keys); i++) {
		assert_null(idtab_get(&t, keys[i]));
		r = idtab_put(&t, keys[i], &fresh);
		assert_true(fresh);
		assert_int_equal(r->a, 0);
		assert_int_equal(r->b, 0);
		r->a = i;
		r->b = i * 7;
	}
	for (uint32_t i = 0; i < N_ROWS(keys); i++) {
		r = idtab_put(&t, keys[i], &fresh);
		assert_false(fresh);
		assert_int_equal(r->a, i);
		assert_int_equal(r->b, i * 7);
		assert_ptr_equal(idtab_get(&t, keys[i]), r);
	}
	/* 0 is stored as 1. */
	assert_ptr_equal(idtab_get(&t, 0), idtab_get(&t, 1));
	idtab_fini(&t);
}

/* Keys that are alike in all bits but some, wherever those are, do not make one
 * long run: each look-up would walk it. */
static void
test_alike(void **state)
{
	(void)state;
	for (unsigned shift = 0; shift <= 64 - 13; shift++) {
		uint32_t run = 0, longest = 0;
		struct idtab t;
		int fresh;

		idtab_init(&t, 8192);
		for (uint64_t i = 1; i <= 4096; i++)
			(void)idtab_put(&t, i << shift, &fresh);
		for (uint32_t i = 0; i < t.now.cap; i++) {
			run = t.now.slot[i].key ? run + 1 : 0;
			longest = run > longest ? run : longest;
		}
		assert_true(longest < 1000);
		idtab_fini(&t);
	}
}

/* Of a long sequence at least the last `max` keys are known, at most twice
 * that many are held, and what is known is right. */
static void
test_bound(void **state)
{
	static const uint32_t maxima[] = { 0, 1, 2, 3, 7, 8, 16, 100 };

	(void)state;
	for (size_t m = 0; m < N_ROWS(maxima); m++) {
		uint32_t max = maxima[m] < 2 ? 2 : maxima[m];
		struct idtab t;
		int fresh;

		idtab_init(&t, maxima[m]);
		for (uint32_t i = 0; i < 5000; i++) {
			uint64_t key = map_digest(&i, sizeof i);

			idtab_put(&t, key, &fresh)->a = i;
			assert_true(fresh);
			assert_int_equal(t.forgot, i >= 2 * max);
			assert_true(t.now.n <= max);
			assert_true(t.old.n <= max);
			assert_true(t.now.cap <= 8 || t.now.cap < 4 * max);
			for (uint32_t j = i < max ? 0 : i - max + 1; j <= i; j++) {
				struct idrec *r = idtab_get(&t, map_digest(&j, sizeof j));
				assert_non_null(r);
				assert_int_equal(r->a, j);
			}
		}
		assert_null(idtab_get(&t, map_digest(&(uint32_t){ 0 }, 4)));
		idtab_fini(&t);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty), cmocka_unit_test(test_put_get),
		cmocka_unit_test(test_alike), cmocka_unit_test(test_bound),
	};

	(void)setenv("MCPDIAG_HASH_SEED", "1", 1);	/* the same each time */

	return cmocka_run_group_tests_name("idtab", tests, NULL, NULL);
}
