#include "mcpdiag/decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "util.h"

/* Packets are written in hexadecimal; blanks do not count, "|" ends one. */
#define MACS "020000000001 020000000002 "
#define ETH4 MACS "0800 "
#define ETH6 MACS "86dd "
/* From 10.0.0.1 to 10.0.0.2; the total length and the fragment field vary. */
#define IP4F(total, frag) "45 00 " total " 0007 " frag " 40 06 0000 " \
	"0a000001 0a000002 "
#define IP4(total) IP4F(total, "4000")
/* From fe80::1 to fe80::2. */
#define IP6(length, next) "6 00 00000 " length " " next " 40 " \
	"fe80000000000000 0000000000000001 fe80000000000000 0000000000000002 "
#define TCP "04d2 1f90 00000001 80000002 50 18 0200 0000 0000 "
#define TCP_OPTIONS "04d2 1f90 00000001 80000002 60 12 0200 0000 0000 020405b4 "
#define GOT "tcp 10.0.0.1:1234 > 10.0.0.2:8080 seq 1 ack 2147483650 win 512 "
#define GOT6 "tcp [fe80::1]:1234 > [fe80::2]:8080 seq 1 ack 2147483650 win 512 "

static const struct row {
	const char *name;
	uint32_t linktype;
	const char *hex;
	const char *want;
	uint32_t more;		/* bytes on the wire beyond those captured */
} rows[] = {
	{ "Ethernet", 1, ETH4 IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "IPv6", 1, ETH6 IP6("0017", "06") TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "802.1Q", 1, MACS "8100 2005 0800 " IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "802.1ad, 9100 and 802.1Q", 1, MACS "88a8 0001 9100 0002 8100 0003 "
	  "86dd " IP6("0017", "06") TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "nothing but tags", 1, MACS "8100 0001 8100 0002 8100", "bad\n", 0 },
	{ "a trailer is not payload", 1, ETH4 IP4("0029") TCP "41 00000000",
	  GOT "flags 18 if 9 data 41 cut 0\n", 0 },
	{ "IPv6 trailer", 1, ETH6 IP6("0015", "06") TCP "41 00000000",
	  GOT6 "flags 18 if 9 data 41 cut 0\n", 0 },
	{ "padding after a pure acknowledgment", 1,
	  ETH4 IP4("0028") TCP "000000000000",
	  GOT "flags 18 if 9 data  cut 0\n", 0 },
	{ "cut by the snap length", 1, ETH4 IP4("0190") TCP "4142",
	  GOT "flags 18 if 9 data 4142 cut 358\n", 358 },
	{ "the IP length rules, not the record", 1, ETH4 IP4("0190") TCP "4142",
	  GOT "flags 18 if 9 data 4142 cut 358\n", 0 },
	{ "cut among the TCP options", 1,
	  ETH4 IP4("003c") "04d2 1f90 00000001 80000002 80 10 0200 0000 0000 01",
	  GOT "flags 10 if 9 data  cut 8\n", 19 },
	{ "total length 0: all that was captured", 1,
	  ETH4 IP4("0000") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "total length 0 and the snap length", 1,
	  ETH4 IP4("0000") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 70000\n", 70000 },
	{ "IPv6 length 0", 1, ETH6 IP6("0000", "06") TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "a length no capture can have is not believed", 1,
	  ETH4 IP4("0000") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 1u << 30 },
	{ "SYN with options", 1, ETH4 IP4("002c") TCP_OPTIONS,
	  GOT "flags 12 if 9 data  cut 0\n", 0 },
	{ "IPv4 options", 1, ETH4 "46 00 002f 0007 4000 40 06 0000 0a000001 "
	  "0a000002 94040000" TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "ECN bits are not flags", 1, ETH4 IP4("0028")
	  "04d2 1f90 00000001 80000002 50 d0 0200 0000 0000",
	  GOT "flags 10 if 9 data  cut 0\n", 0 },
	{ "IPv6 hop-by-hop, routing, destination, AH, mobility", 1,
	  ETH6 IP6("0057", "00")
	  "2b00 010400000000" "3c00 000000000000"
	  "3301 0104000000000000000000000000"
	  "8704 0000 00000001 00000001 000000000000000000000000"
	  "0600 000000000000" TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "an atomic fragment is whole", 1,
	  ETH6 IP6("001f", "2c") "0600 0000 12345678" TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "IPv6 no next header", 1, ETH6 IP6("0000", "3b"), "other\n", 0 },
	{ "IPv6 header longer than the packet", 1,
	  ETH6 IP6("0008", "00") "06ff 010400000000", "bad\n", 0 },
	{ "ICMPv6", 1, ETH6 IP6("0008", "3a") "8000000000000000", "other\n", 0 },
	{ "ARP", 1, MACS "0806 0001080006040001", "other\n", 0 },
	{ "802.3 length", 1, MACS "0026 424203", "other\n", 0 },
	{ "UDP", 1, ETH4 "45000021 00070000 40 11 0000 0a000001 0a000002 "
	  "00350035 000d0000 4142434445", "other\n", 0 },
	{ "an IPv4 packet in an IPv6 frame", 1, ETH6 IP4("002b") TCP "414243"
	  "0000000000", "bad\n", 0 },
	{ "an IPv6 packet in an IPv4 frame", 1, ETH4 IP6("0017", "06") TCP
	  "414243", "bad\n", 0 },
	{ "IPv4 header length below 20", 1, ETH4 "44 00 002b 0007 4000 40 06 "
	  "0000 0a000001 0a000002" TCP "414243", "bad\n", 0 },
	{ "total length below the header", 1, ETH4 IP4("0013") TCP, "bad\n", 0 },
	{ "TCP header length below 20", 1, ETH4 IP4("0028")
	  "04d2 1f90 00000001 80000002 40 10 0200 0000 0000", "bad\n", 0 },
	{ "TCP header beyond the packet", 1, ETH4 IP4("0028")
	  "04d2 1f90 00000001 80000002 60 10 0200 0000 0000 01010101",
	  "bad\n", 0 },
	{ "half a TCP header", 1, ETH4 IP4("0028") "04d2 1f90 00000001",
	  "bad\n", 12 },
	{ "empty record", 1, "", "bad\n", 60 },
	{ "SLL", 113, "0000 0304 0006 000000000000 0000 0800 "
	  IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "SLL with a tag", 113, "0000 0001 0006 000000000000 0000 8100 0005 "
	  "0800 " IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "SLL ARP", 113, "0000 0001 0006 000000000000 0000 0806 00010800",
	  "other\n", 0 },
	{ "SLL netlink", 113, "0000 0338 0006 000000000000 0000 0800 45",
	  "other\n", 0 },
	{ "SLL2 brings the interface", 276, "0800 0000 00000003 0304 00 06 "
	  "0000000000000000" IP4("002b") TCP "414243",
	  GOT "flags 18 if 3 data 414243 cut 0\n", 0 },
	{ "SLL2 with a tag", 276, "8100 0000 00000003 0001 00 06 "
	  "0000000000000000 0005 86dd" IP6("0017", "06") TCP "414243",
	  GOT6 "flags 18 if 3 data 414243 cut 0\n", 0 },
	{ "SLL2 cut", 276, "0800 0000 00000003 0304 00 06 00", "bad\n", 9 },
	{ "NULL, little-endian", 0, "02000000" IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "NULL, big-endian", 0, "00000002" IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "NULL IPv6 of Linux", 0, "0a000000" IP6("0017", "06") TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "NULL IPv6 of NetBSD", 0, "00000018" IP6("0017", "06") TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "NULL IPv6 of FreeBSD", 0, "1c000000" IP6("0017", "06") TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "NULL IPv6 of macOS", 0, "1e000000" IP6("0017", "06") TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "NULL, another family", 0, "07000000 0000", "other\n", 0 },
	{ "LOOP", 108, "00000002" IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "RAW", 101, IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "RAW with IPv6", 12, IP6("0017", "06") TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "RAW of OpenBSD", 14, IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "RAW, no version known", 101, "55", "bad\n", 0 },
	{ "IPV4", 228, IP4("002b") TCP "414243",
	  GOT "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "IPV6", 229, IP6("0017", "06") TCP "414243",
	  GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "802.11 is not known", 105, "0000", "linktype\n", 0 },
	{ "IPv4 fragments, last first", 101,
	  IP4F("001c", "0002") "4142434445464748 |"
	  IP4F("0024", "2000") "04d2 1f90 00000001 80000002 50 18 0200",
	  "fragment\n"
	  GOT "flags 18 if 9 data 45464748 cut 0\n", 0 },
	{ "fragments for another host do not fit", 101,
	  "45 00 001c 0007 0002 40 06 0000 0a000001 0a000003 4142434445464748 |"
	  IP4F("0024", "2000") "04d2 1f90 00000001 80000002 50 18 0200",
	  "fragment\nfragment\n", 0 },
	{ "IPv6 fragments", 101,
	  IP6("0018", "2c") "0600 0001 00000009 "
	  "04d2 1f90 00000001 80000002 50 18 0200 |"
	  IP6("000f", "2c") "0600 0010 00000009 00000000 414243",
	  "fragment\n" GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "IPv6 fragments of an extension header", 101,
	  IP6("0010", "2c") "3c00 0001 00000009 0600 010400000000 |"
	  IP6("001f", "2c") "3c00 0008 00000009 " TCP "414243",
	  "fragment\n" GOT6 "flags 18 if 9 data 414243 cut 0\n", 0 },
	{ "a fragment in a reassembled packet", 101,
	  IP6("0010", "2c") "2c00 0001 00000009 0600 0009 00000001 |"
	  IP6("0010", "2c") "2c00 0008 00000009 0600 010400000000",
	  "fragment\nbad\n", 0 },
	{ "fragments of UDP are not kept", 101,
	  "45 00 001c 0007 2000 40 11 0000 0a000001 0a000002 4142434445464748",
	  "other\n", 0 },
	{ "a fragment that is cut is of no use", 101,
	  IP4F("001c", "0002") "4142 |"
	  IP4F("0024", "2000") "04d2 1f90 00000001 80000002 50 18 0200",
	  "fragment\nfragment\n", 6 },
};

static size_t
unhex(const char **hex, uint8_t *out)
{
	size_t n = 0;
	const char *p = *hex;

	for (; *p && *p != '|'; p++) {
		char c = *p;
		uint8_t v;

		if (c == ' ')
			continue;
		v = (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		if (n % 2 == 0)
			out[n / 2] = (uint8_t)(v << 4);
		else
			out[n / 2] |= v;
		n++;
	}
	if (n % 2)
		fail_msg("odd: %s", *hex);
	*hex = *p ? p + 1 : p;
	return n / 2;
}

static void
spell(char *out, size_t room, enum decode_rc rc, const struct seg *s)
{
	static const char *const rcs[] = {
		"tcp", "other", "fragment", "bad", "linktype",
	};
	char src[54], dst[54];
	int n;

	if (rc != DECODE_TCP) {
		(void)snprintf(out, room, "%s\n", rcs[rc]);
		return;
	}
	(void)addr_print(&s->src, src);
	(void)addr_print(&s->dst, dst);
	n = snprintf(out, room, "tcp %s > %s seq %u ack %u win %u flags %x "
	    "if %u data ", src, dst, s->seq, s->ack, s->win, s->flags,
	    s->ifindex);
	for (uint32_t i = 0; i < s->len; i++)
		n += snprintf(out + n, room - (size_t)n, "%02x", s->data[i]);
	(void)snprintf(out + n, room - (size_t)n, " cut %u\n", s->cut);
}

/* Decodes all packets of a row, each cut to `cap` bytes. */
static void
run(const struct row *row, size_t cap, char *got, size_t room, struct seg *s)
{
	struct limits l;
	struct decode *d;
	const char *hex = row->hex;
	const struct decode_stats *st;
	uint64_t n = 0;

	limits_init(&l);
	d = decode_new(&l);
	got[0] = '\0';
	do {
		uint8_t bytes[512];
		size_t len = unhex(&hex, bytes);
		size_t have = len < cap ? len : cap;
		struct guard g = guard_of(bytes, have);
		struct packet pk = {
			.t = 5 * NS_S, .pkt = 7, .linktype = row->linktype,
			.ifindex = 9, .len = (uint32_t)have,
			.wire_len = (uint32_t)len + row->more, .data = g.p,
		};
		enum decode_rc rc = decode_packet(d, &pk, s);

		spell(got + strlen(got), room - strlen(got), rc, s);
		assert_true(s->at.t == 5 * NS_S && s->at.pkt == 7);
		guard_free(&g);
		n++;
	} while (*hex);
	st = decode_stats(d);
	assert_true(st->tcp + st->other + st->bad + st->unknown_linktype +
	    st->fragments >= n);
	decode_free(d);
}

static void
run_rows(void **state)
{
	char got[1024];
	struct seg s;

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		run(&rows[i], SIZE_MAX, got, sizeof got, &s);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s: got\n%s", rows[i].name, got);
	}
}

/* However short the capture: what is there and what is cut make up the same. */
static void
run_cut(void **state)
{
	char got[1024];
	struct seg whole, s;

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct row *row = &rows[i];

		run(row, SIZE_MAX, got, sizeof got, &whole);
		for (size_t cap = 0; cap < strlen(row->hex) / 2; cap++) {
			run(row, cap, got, sizeof got, &s);
			if (strncmp(got, "tcp", 3) != 0 || strchr(row->hex, '|') ||
			    row->more > 1u << 24)
				continue;
			if (s.len + s.cut != whole.len + whole.cut)
				fail_msg("%s at %u: %u + %u", row->name,
				    (unsigned)cap, s.len, s.cut);
		}
	}
}

static void
count(void **state)
{
	struct limits l;
	struct decode *d;
	struct seg s;
	uint8_t b[64];
	const char *hex = IP4F("001c", "0002") "4142434445464748";
	struct packet pk = { .t = -1, .linktype = 101, .data = b };

	(void)state;
	limits_init(&l);
	d = decode_new(&l);
	pk.len = pk.wire_len = (uint32_t)unhex(&hex, b);
	assert_int_equal(decode_packet(d, &pk, &s), DECODE_FRAGMENT);
	assert_int_equal(s.at.t, 0);
	assert_int_equal(decode_stats(d)->fragments, 1);
	assert_int_equal(decode_stats(d)->fragments_dropped, 1);
	pk.len--;
	assert_int_equal(decode_packet(d, &pk, &s), DECODE_FRAGMENT);
	assert_int_equal(decode_stats(d)->fragments_dropped, 2);
	pk.len++;
	pk.t = 60 * NS_S;
	assert_int_equal(decode_packet(d, &pk, &s), DECODE_FRAGMENT);
	assert_int_equal(decode_stats(d)->fragments_dropped, 3);
	pk.linktype = 99;
	assert_int_equal(decode_packet(d, &pk, &s), DECODE_LINKTYPE);
	assert_int_equal(decode_stats(d)->unknown_linktype, 1);
	assert_string_equal(decode_linktype_name(1), "Ethernet");
	assert_string_equal(decode_linktype_name(276), "Linux SLL2");
	assert_null(decode_linktype_name(99));
	decode_free(d);
	decode_free(NULL);
}

static void
print(void **state)
{
	struct addr a = { .port = 65535, .v6 = 1 };
	char out[54];

	(void)state;
	memset(a.ip, 0xff, sizeof a.ip);
	assert_int_equal(addr_print(&a, out), 47);
	assert_string_equal(out,
	    "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
	memset(a.ip, 0, 10);
	(void)addr_print(&a, out);
	assert_string_equal(out, "[::ffff:255.255.255.255]:65535");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_rows),
		cmocka_unit_test(run_cut),
		cmocka_unit_test(count),
		cmocka_unit_test(print),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
