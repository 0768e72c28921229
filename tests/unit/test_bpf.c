#include "mcpdiag/bpf.h"

#include <stdio.h>
#include <stdlib.h>

#include "util.h"

/* TCP from 10.0.0.1:3000 to 10.0.0.2:80, without data. */
#define IP4 "\x45\x00\x00\x28\x00\x01\x00\x00\x40\x06\x00\x00" \
	"\x0a\x00\x00\x01\x0a\x00\x00\x02"
#define TCP "\x0b\xb8\x00\x50\x00\x00\x00\x01\x00\x00\x00\x00" \
	"\x50\x02\xff\xff\x00\x00\x00\x00"
/* The same from ::1 to ::1. */
#define IP6 "\x60\x00\x00\x00\x00\x14\x06\x40" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1" "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
#define MACS "\2\0\0\0\0\1\2\0\0\0\0\2"
#define ETH4 MACS "\x08\x00" IP4 TCP
#define ETH6 MACS "\x86\xdd" IP6 TCP
#define VLAN MACS "\x81\x00\x00\x05\x08\x00" IP4 TCP
/* tcpdump.org/linktypes.html: LINUX_SLL 113, LINUX_SLL2 276 */
#define SLL "\0\0\3\4\0\6\0\0\0\0\0\0\0\0\x08\x00" IP4 TCP
#define SLL2 "\x08\x00\0\0\0\0\0\1\3\4\0\6\0\0\0\0\0\0\0\0" IP4 TCP

static const struct row {
	const char *what, *filter;
	uint32_t linktype;
	struct str p;
	uint32_t wire_len;	/* 0: the same */
	bool want;
} rows[] = {
#define IN(lit) { lit, sizeof(lit) - 1 }
	{ "the port", "tcp port 3000", 1, IN(ETH4), 0, true },
	{ "another port", "tcp port 3001", 1, IN(ETH4), 0, false },
	{ "everything", "", 1, IN(ETH4), 0, true },
	{ "no packet at all", "", 1, IN(""), 0, true },
	{ "IPv6", "tcp port 3000", 1, IN(ETH6), 0, true },
	{ "a host", "host 10.0.0.2 and port 80", 1, IN(ETH4), 0, true },
	{ "behind a VLAN tag, unasked", "tcp port 3000", 1, IN(VLAN), 0,
	    false },
	{ "behind a VLAN tag", "vlan and tcp port 3000", 1, IN(VLAN), 0,
	    true },
	{ "cut before the port", "tcp port 3000", 1,
	    IN(MACS "\x08\x00" IP4 "\x0b"), 54, false },
	{ "the length is that on the wire", "greater 1000", 1, IN(ETH4), 1000,
	    true },
	{ "not the captured one", "greater 1000", 1, IN(ETH4), 999, false },
	{ "Linux cooked", "tcp port 3000", 113, IN(SLL), 0, true },
	{ "Linux cooked, version 2", "tcp port 3000", 276, IN(SLL2), 0, true },
	{ "raw IP, as files number it", "tcp port 3000", 101, IN(IP4 TCP), 0,
	    true },
	{ "raw IP, as systems number it", "tcp port 3000", 12, IN(IP4 TCP), 0,
	    true },
	{ "IPv4 only", "tcp port 3000", 228, IN(IP4 TCP), 0, true },
	{ "IPv6 only", "tcp port 3000", 229, IN(IP6 TCP), 0, true },
	{ "loopback, little-endian", "tcp port 3000", 0,
	    IN("\2\0\0\0" IP4 TCP), 0, true },
	{ "loopback, big-endian", "tcp port 3000", 0,
	    IN("\0\0\0\2" IP4 TCP), 0, true },
	{ "loopback, IPv6 as macOS numbers it", "tcp port 3000", 0,
	    IN("\x1e\0\0\0" IP6 TCP), 0, true },
	{ "loopback, IPv6 as FreeBSD numbers it", "ip6", 0,
	    IN("\x1c\0\0\0" IP6 TCP), 0, true },
	{ "loopback of OpenBSD", "tcp port 3000", 108,
	    IN("\0\0\0\x18" IP6 TCP), 0, true },
	{ "loopback, shorter than its header", "", 0, IN("\2\0\0"), 0, false },
	{ "loopback, cut before the port", "tcp port 3000", 0,
	    IN("\2\0\0\0" IP4 "\x0b"), 44, false },
	{ "loopback, the length has the header in it", "greater 44", 0,
	    IN("\2\0\0\0" IP4 TCP), 0, true },
	{ "what does not exist for a link type", "vlan", 101, IN(IP4 TCP), 0,
	    false },
	{ "nor as an alternative", "vlan or tcp", 101, IN(IP4 TCP), 0, false },
	{ "a link type nobody knows", "tcp", 65535, IN(ETH4), 0, false },
};

static bool
match(struct bpf *b, const struct row *r)
{
	struct guard g = guard_of(r->p.p, r->p.n);
	struct packet p = { .linktype = r->linktype, .data = g.p,
	    .len = (uint32_t)g.n };
	bool got;

	p.wire_len = r->wire_len ? r->wire_len : p.len;
	got = bpf_match(b, &p);
	assert_int_equal(bpf_match(b, &p), got);
	guard_free(&g);
	return got;
}

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct errmsg em;
		struct bpf *b = bpf_new(rows[i].filter, &em);

		if (b == NULL)
			fail_msg("%s: %s", rows[i].what, em.text);
		if (match(b, &rows[i]) != rows[i].want)
			fail_msg("%s: want %d", rows[i].what, rows[i].want);
		bpf_free(b);
	}
}

/* One filter, packets of all link types in turn. */
static void
test_mixed(void **state)
{
	struct bpf *b = bpf_new("tcp port 3000", NULL);

	(void)state;
	assert_non_null(b);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < N_ROWS(rows); i++)
			if (strcmp(rows[i].filter, "tcp port 3000") == 0)
				assert_int_equal(match(b, &rows[i]),
				    rows[i].want);
	for (uint32_t t = 0; t < 2000; t++) {
		struct row r = { .linktype = t, .p = { "", 0 } };
		assert_false(match(b, &r));
	}
	bpf_free(b);
	bpf_free(NULL);
}

static void
test_wrong(void **state)
{
	struct errmsg em = { "" };

	(void)state;
	assert_null(bpf_new("tcp prot 3000", &em));
	assert_ptr_equal(strstr(em.text, "filter \"tcp prot 3000\": "), em.text);
	assert_true(strlen(em.text) > 25);
	assert_null(bpf_new("(", NULL));
	assert_null(bpf_new("tcp port 70000", NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
