#include "mcpdiag/packring.h"

#include "util.h"

#define PACKET(n_) { .t = (n_) * 10, .pkt = (n_), .linktype = (n_) % 3, .ifindex = (n_) % 2 }

/* Packet n: n % 200 bytes of the value n, of which more were on the wire. */
static void
add(struct packring *r, uint32_t n)
{
	uint8_t bytes[200];
	struct packet pk = PACKET(n);

	memset(bytes, (int)n, sizeof bytes);
	pk.data = bytes;
	pk.len = n % 200;
	pk.wire_len = pk.len + 7;
	packring_add(r, &pk);
}

static void
expect(const struct packet *pk, uint32_t n)
{
	assert_int_equal(pk->pkt, n);
	assert_int_equal(pk->t, n * 10);
	assert_int_equal(pk->linktype, n % 3);
	assert_int_equal(pk->ifindex, n % 2);
	assert_int_equal(pk->len, n % 200);
	assert_int_equal(pk->wire_len, n % 200 + 7);
	for (uint32_t i = 0; i < pk->len; i++)
		assert_int_equal(pk->data[i], (uint8_t)n);
}

static void
all_come_back_in_order(void **state)
{
	struct packring *r = packring_new(1 << 20);
	struct packring_at at = { 0 };
	struct packet pk;
	uint32_t n;

	(void)state;
	assert_false(packring_next(r, &at, &pk));
	for (n = 1; n <= 2000; n++)
		add(r, n);
	for (n = 1; packring_next(r, &at, &pk); n++)
		expect(&pk, n);
	assert_int_equal(n, 2001);
	assert_int_equal(packring_forgot(r), 0);
	/* A reader at the end goes on with what comes. */
	for (; n <= 4000; n++) {
		add(r, n);
		assert_true(packring_next(r, &at, &pk));
		expect(&pk, n);
		assert_false(packring_next(r, &at, &pk));
	}
	packring_free(r);
}

static void
oldest_go_and_are_counted(void **state)
{
	struct packring *r = packring_new(1 << 16);
	struct packring_at at = { 0 };
	struct packet pk;
	uint32_t n, kept = 0;

	(void)state;
	for (n = 1; n <= 20000; n++) {
		add(r, n);
		assert_true(packring_used(r) <= 1 << 16);
	}
	for (; packring_next(r, &at, &pk); kept++)
		expect(&pk, (uint32_t)packring_forgot(r) + 1 + kept);
	assert_int_equal(packring_forgot(r) + kept, 20000);
	/* It is used: no more than one piece is free. */
	assert_true(kept * 150 > (1 << 16) / 2);
	packring_free(r);
}

/* A reader that is too slow goes on with the oldest packet there is. */
static void
reader_is_overtaken(void **state)
{
	struct packring *r = packring_new(1 << 16);
	struct packring_at at = { 0 };
	struct packet pk;
	uint32_t n;

	(void)state;
	for (n = 1; n <= 10; n++)
		add(r, n);
	assert_true(packring_next(r, &at, &pk));
	expect(&pk, 1);
	for (; n <= 20000; n++)
		add(r, n);
	assert_true(packring_next(r, &at, &pk));
	expect(&pk, (uint32_t)packring_forgot(r) + 1);
	packring_free(r);
}

static void
packets_of_any_size(void **state)
{
	static uint8_t big[70000];
	struct packring *r = packring_new(1 << 16);
	struct packet pk = PACKET(1);
	struct packring_at at = { 0 };

	(void)state;
	pk.data = big;
	pk.len = pk.wire_len = sizeof big;
	packring_add(r, &pk);			/* larger than all */
	assert_int_equal(packring_forgot(r), 1);
	assert_int_equal(packring_used(r), 0);
	assert_false(packring_next(r, &at, &pk));
	add(r, 2);
	pk = (struct packet)PACKET(3);
	pk.data = big;
	pk.len = 60000;				/* larger than a piece */
	packring_add(r, &pk);
	assert_int_equal(packring_forgot(r), 2);
	assert_true(packring_next(r, &at, &pk));
	assert_int_equal(pk.len, 60000);
	pk = (struct packet)PACKET(4);		/* nothing in it */
	packring_add(r, &pk);
	add(r, 199);
	at = (struct packring_at){ 0 };
	assert_true(packring_next(r, &at, &pk));
	assert_int_equal(pk.pkt, 4);
	assert_int_equal(pk.len, 0);
	assert_true(packring_next(r, &at, &pk));
	expect(&pk, 199);
	packring_free(r);
	packring_free(NULL);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_back_in_order),
		cmocka_unit_test(oldest_go_and_are_counted),
		cmocka_unit_test(reader_is_overtaken),
		cmocka_unit_test(packets_of_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
