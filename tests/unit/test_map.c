#include "mcpdiag/map.h"

#include <stdlib.h>

#include "util.h"

static void
test_sip13(void **state)
{
	/* SipHash-1-3 of 0, 1, 2 ... under the key 0 1 2 ... 15, by length. */
	static const struct {
		size_t n;
		uint64_t want;
	} rows[] = {
		{ 0, 0xabac0158050fc4dcULL }, { 1, 0xc9f49bf37d57ca93ULL },
		{ 2, 0x82cb9b024dc7d44dULL }, { 7, 0xd3927d989bb11140ULL },
		{ 8, 0x369095118d299a8eULL }, { 9, 0x25a48eb36c063de4ULL },
		{ 15, 0xd320d86d2a519956ULL }, { 16, 0xcc4fdd1a7d908b66ULL },
		{ 63, 0x9d199062b7bbb3a8ULL },
	};
	static const uint64_t key[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };
	uint8_t in[64];
	uint64_t all = 0;

	(void)state;
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)i;
	for (size_t i = 0; i < N_ROWS(rows); i++)
		assert_true(map_sip13(key, in, rows[i].n) == rows[i].want);
	for (size_t n = 0; n < 64; n++) {
		struct guard g = guard_of(in, n);	/* at any alignment */

		all = (all << 1 | all >> 63) ^ map_sip13(key, g.p, g.n);
		guard_free(&g);
	}
	assert_true(all == 0x7f4d5086694f99aaULL);
}

static void
test_digest_value(void **state)
{
	uint8_t in[300];

	(void)state;
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)i;
	/* Printed and stored: they never change. */
	assert_true(map_digest("", 0) == 0x54d9d56b229d240eULL);
	assert_true(map_digest("0/0", 3) == 0xf6b9db6b87532b67ULL);
	assert_true(map_digest(in, sizeof in) == 0x3bed052ba126d562ULL);
}

static void
test_digest_pieces(void **state)
{
	uint8_t in[64];

	(void)state;
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)(i * 37 + 1);
	for (size_t n = 0; n <= sizeof in; n++) {
		uint64_t want = map_digest(in, n);
		struct digest d;

		/* Every cut into three, the last ones empty too. */
		for (size_t i = 0; i <= n; i++) {
			for (size_t j = i; j <= n; j++) {
				digest_init(&d);
				digest_add(&d, in, i);
				digest_add(&d, in + i, j - i);
				(void)digest_end(&d);	/* changes nothing */
				digest_add(&d, in + j, n - j);
				assert_true(digest_end(&d) == want);
			}
		}
		digest_init(&d);
		for (size_t i = 0; i < n; i++)
			digest_add(&d, in + i, 1);
		assert_true(digest_end(&d) == want);
		digest_add(&d, NULL, 0);	/* an absent string */
		assert_true(digest_end(&d) == want);
	}
}

static void
test_hash_seed(void **state)
{
	(void)state;
	/* Set before the first use in main(): the key is 1, 7. */
	assert_int_equal(map_hash("abc", 3),
	    (uint32_t)map_sip13((const uint64_t[2]){ 1, 7 }, "abc", 3));
	assert_int_equal(map_hash("", 0),
	    (uint32_t)map_sip13((const uint64_t[2]){ 1, 7 }, "", 0));
	assert_int_not_equal(map_hash("abc", 3), map_hash("abd", 3));
}

struct row {
	UT_hash_handle hh;
	uint32_t key, value;
};

static void
test_table(void **state)
{
	struct row *table = NULL, *r, *tmp;
	uint32_t left = 0;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		r = xcalloc(1, sizeof *r);
		r->key = i * 65536;
		r->value = i;
		HASH_ADD(hh, table, key, sizeof r->key, r);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t key = i * 65536;

		HASH_FIND(hh, table, &key, sizeof key, r);
		assert_non_null(r);
		assert_int_equal(r->value, i);
	}
	HASH_ITER(hh, table, r, tmp) {
		assert_int_equal(r->value, left++);	/* in order of insertion */
		HASH_DEL(table, r);
		free(r);
	}
	assert_int_equal(left, 3000);
	assert_null(table);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sip13), cmocka_unit_test(test_digest_value),
		cmocka_unit_test(test_digest_pieces), cmocka_unit_test(test_hash_seed),
		cmocka_unit_test(test_table),
	};

	if (setenv("MCPDIAG_HASH_SEED", "7", 1) != 0)
		return 1;
	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
