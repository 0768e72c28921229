/* conns: whose a packet is. */
#include <arpa/inet.h>
#include <stdio.h>

#include "../../src/cmd/conns.h"
#include "util.h"

static void
open_conn(struct conns *c, uint32_t id, uint32_t pkt, const char *client, const char *server)
{
	struct ev e = { .type = EV_CONN, .conn = id, .pkt = pkt };

	e.u.conn.client = str_c(client);
	e.u.conn.server = str_c(server);
	conns_event(c, &e);
}

static void
carry(struct conns *c, uint32_t id, uint32_t session)
{
	conns_event(c, &(struct ev){ .type = EV_REQUEST, .conn = id, .session = session });
}

static void
close_conn(struct conns *c, uint32_t id)
{
	for (int d = 0; d < 2; d++)
		conns_event(c, &(struct ev){ .type = EV_CONN_END, .conn = id,
		    .dir = (enum ev_dir)d });
}

static struct addr
end_of(const char *ip, uint16_t port)
{
	struct addr a = { .port = port, .v6 = strchr(ip, ':') != NULL };

	assert_int_equal(inet_pton(a.v6 ? AF_INET6 : AF_INET, ip, a.ip), 1);
	return a;
}

static bool
has(const struct conns *c, const char *ip, uint16_t port, const char *to, uint32_t pkt)
{
	struct addr a = end_of(ip, port), b = end_of(to, 80);
	bool there = conns_has(c, &a, &b, pkt);

	/* Both directions are one connection. */
	assert_int_equal(conns_has(c, &b, &a, pkt), there);
	return there;
}

static void
one_of_several(void **state)
{
	struct conns *c = conns_new(100);
	struct conns_picked p;

	(void)state;
	open_conn(c, 1, 10, "10.0.0.1:4000", "10.0.0.2:80");
	open_conn(c, 2, 5, "10.0.0.1:4001", "10.0.0.2:80");
	open_conn(c, 3, 20, "[fe80::1]:4000", "[::1]:80");
	open_conn(c, 4, 30, "nonsense", "10.0.0.2:80");
	open_conn(c, 5, 31, "10.0.0.1:99999", "10.0.0.2:80");
	carry(c, 1, 7);
	carry(c, 2, 8);
	carry(c, 3, 7);
	carry(c, 3, 8);
	carry(c, 3, 9);
	carry(c, 9, 7);				/* never told */
	conns_pick(c, 7, &p);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.first_pkt, 10);
	assert_int_equal(p.others, 2);
	assert_int_equal(p.forgot, 0);
	assert_true(has(c, "10.0.0.1", 4000, "10.0.0.2", 10));
	assert_true(has(c, "fe80::1", 4000, "::1", 1000));
	assert_false(has(c, "10.0.0.1", 4001, "10.0.0.2", 10));
	assert_false(has(c, "10.0.0.1", 4000, "10.0.0.2", 9));
	assert_false(has(c, "10.0.0.1", 4000, "10.0.0.3", 10));
	assert_false(has(c, "10.0.0.9", 4000, "10.0.0.2", 10));
	conns_pick(c, 0, &p);
	assert_int_equal(p.n, 3);
	assert_true(has(c, "10.0.0.1", 4001, "10.0.0.2", 5));
	conns_pick(c, 77, &p);
	assert_int_equal(p.n, 0);
	assert_false(has(c, "10.0.0.1", 4000, "10.0.0.2", 10));
	conns_free(c);
	conns_free(NULL);
}

/* A port that is used again: each packet belongs to the connection of its time. */
static void
ports_come_again(void **state)
{
	struct conns *c = conns_new(100);
	struct conns_picked p;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		open_conn(c, i + 1, 100 * (i + 1), "10.0.0.1:4000", "10.0.0.2:80");
		carry(c, i + 1, i + 1);
		close_conn(c, i + 1);
	}
	conns_pick(c, 2, &p);
	assert_int_equal(p.n, 1);
	assert_false(has(c, "10.0.0.1", 4000, "10.0.0.2", 100));
	assert_false(has(c, "10.0.0.1", 4000, "10.0.0.2", 199));
	assert_true(has(c, "10.0.0.1", 4000, "10.0.0.2", 200));
	assert_true(has(c, "10.0.0.1", 4000, "10.0.0.2", 299));
	assert_false(has(c, "10.0.0.1", 4000, "10.0.0.2", 300));
	conns_free(c);
}

/* At the limit what ended goes before what is open, however old that is. */
static void
oldest_ended_go(void **state)
{
	struct conns *c = conns_new(3);
	struct conns_picked p;
	char client[32];

	(void)state;
	for (uint32_t i = 1; i <= 6; i++) {
		(void)snprintf(client, sizeof client, "10.0.0.1:%u", 4000 + i);
		open_conn(c, i, i, client, "10.0.0.2:80");
		carry(c, i, i);
		if (i > 1)
			close_conn(c, i);
	}
	conns_pick(c, 1, &p);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.forgot, 3);
	assert_true(has(c, "10.0.0.1", 4001, "10.0.0.2", 1));
	conns_pick(c, 0, &p);
	assert_int_equal(p.n, 3);
	assert_true(has(c, "10.0.0.1", 4006, "10.0.0.2", 6));
	assert_false(has(c, "10.0.0.1", 4002, "10.0.0.2", 6));
	/* When none has ended, the oldest goes. */
	for (uint32_t i = 11; i <= 13; i++) {
		(void)snprintf(client, sizeof client, "10.0.0.1:%u", 4000 + i);
		open_conn(c, i, i, client, "10.0.0.2:80");
	}
	open_conn(c, 14, 14, "10.0.0.1:4014", "10.0.0.2:80");
	conns_pick(c, 0, &p);
	assert_int_equal(p.n, 3);
	assert_false(has(c, "10.0.0.1", 4001, "10.0.0.2", 14));
	assert_true(has(c, "10.0.0.1", 4014, "10.0.0.2", 14));
	conns_free(c);
}

/* A proxy's connection that carries everybody is everybody's. */
static void
carries_many(void **state)
{
	struct conns *c = conns_new(3);
	struct conns_picked p;

	(void)state;
	open_conn(c, 1, 1, "10.0.0.1:4001", "10.0.0.2:80");
	for (uint32_t i = 1; i <= 1000; i++)
		carry(c, 1, i);
	conns_pick(c, 1000, &p);
	assert_int_equal(p.n, 1);
	assert_true(p.others > 0);
	conns_free(c);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_several),
		cmocka_unit_test(ports_come_again),
		cmocka_unit_test(oldest_ended_go),
		cmocka_unit_test(carries_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
