#include "mcpdiag/idmap.h"

#include <stdbool.h>

#include "util.h"

struct item {
	struct idnode node;
	uint32_t n;
};

static void
test_empty(void **state)
{
	struct idmap t;

	(void)state;
	idmap_init(&t);
	assert_null(idmap_get(&t, 0));
	assert_null(idmap_get(&t, 1));
	assert_null(t.slot);			/* nothing until the first */
	idmap_fini(&t);
	idmap_fini(&t);
}

static void
test_order(void **state)
{
	static const uint64_t ids[] = { 7, 0, UINT64_MAX, 1ULL << 40, 3ULL << 40, 16, 8 };
	struct item items[N_ROWS(ids)];
	struct idnode *p, *tmp;
	struct idmap t;
	uint32_t i;

	(void)state;
	idmap_init(&t);
	for (i = 0; i < N_ROWS(ids); i++)
		idmap_put(&t, &items[i].node, ids[i]);
	assert_int_equal(t.n, N_ROWS(ids));
	i = 0;
	IDMAP_EACH(&t, p, tmp) {
		assert_int_equal(p->id, ids[i]);
		assert_ptr_equal(idmap_get(&t, ids[i]), p);
		i++;
	}
	assert_int_equal(i, N_ROWS(ids));
	idmap_del(&t, &items[0].node);		/* the first, one between, the last */
	idmap_del(&t, &items[3].node);
	idmap_del(&t, &items[6].node);
	assert_ptr_equal(t.first, &items[1]);
	assert_ptr_equal(t.last, &items[5]);
	assert_null(idmap_get(&t, ids[3]));
	i = 0;
	IDMAP_EACH(&t, p, tmp) {		/* taken out meanwhile */
		idmap_del(&t, p);
		i++;
	}
	assert_int_equal(i, 4);
	assert_null(t.first);
	assert_null(t.last);
	idmap_put(&t, &items[2].node, 5);	/* usable again */
	assert_ptr_equal(idmap_get(&t, 5), &items[2]);
	idmap_fini(&t);
}

/* Against an array that says what is there.  Few ids, so that they come and go
 * and stand in each other's way; `step` makes some tables long runs. */
static void
come_and_go(uint64_t odd, uint64_t step)
{
	enum { N = 512 };
	struct item items[N];
	bool in[N] = { false };
	uint64_t seed = step + 1;
	struct idmap t;
	uint32_t n = 0;

	idmap_init(&t);
	t.odd = odd ? odd : t.odd;
	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t i;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		i = (uint32_t)(seed >> 40) % N;
		if (in[i])
			idmap_del(&t, &items[i].node);
		else
			idmap_put(&t, &items[i].node, i * step);
		n = in[i] ? n - 1 : n + 1;
		in[i] = !in[i];
		assert_int_equal(t.n, n);
		i = (uint32_t)(seed >> 20) % N;
		assert_ptr_equal(idmap_get(&t, i * step), in[i] ? &items[i] : NULL);
	}
	for (uint32_t i = 0; i < N; i++)
		assert_ptr_equal(idmap_get(&t, i * step), in[i] ? &items[i] : NULL);
	idmap_fini(&t);
}

static void
test_come_and_go(void **state)
{
	(void)state;
	come_and_go(0, 1);
	come_and_go(0, 1ULL << 32);
	come_and_go(1, 1);		/* all of them in one run */
	come_and_go(1ULL << 54 | 1, 1);	/* runs that wrap around */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
