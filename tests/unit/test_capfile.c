#include "mcpdiag/capfile.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/xmem.h"
#include "util.h"

/* Files are written in hex; blanks are for the eye.  The packets hold "abc"
 * and "wxyz". */
#define US "d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000 "
#define US_BE "a1b2c3d4 0002 0004 00000000 00000000 00040000 00000001 "
#define NS "4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000 "
#define NS_BE "a1b23c4d 0002 0004 00000000 00000000 00040000 00000001 "
#define MODIFIED "34cdb2a1 0200 0400 00000000 00000000 00000400 01000000 "
#define MODIFIED_BE \
	"a1b2cd34 0002 0004 00000000 00000000 00040000 00000001 "
#define ABC "01000000 05000000 03000000 03000000 616263 "
#define ABC_BE "00000001 00000005 00000003 00000003 616263 "
#define WXYZ "02000000 00000000 04000000 00010000 7778797a "

#define SHB "0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000 "
#define SHB_BE \
	"0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c "
#define IDB "01000000 14000000 0100 0000 00000400 14000000 "
#define IDB_BE "00000001 00000014 0001 0000 00040000 00000014 "
#define IDB_RAW "01000000 14000000 6500 0000 60000000 14000000 "
#define IDB_RES(v) "01000000 20000000 0100 0000 00000400 " \
	"0900 0100 " v "000000 00000000 20000000 "
#define IDB_OFFSET(res, v) "01000000 2c000000 0100 0000 00000400 " \
	"0900 0100 " res "000000 0e00 0800 " v " 00000000 2c000000 "
/* if, ticks: high and low */
#define EPB(id, ticks) "06000000 24000000 " id " " ticks \
	" 03000000 03000000 61626300 24000000 "
#define EPB_BE(id, ticks) "00000006 00000024 " id " " ticks \
	" 00000003 00000003 61626300 00000024 "
#define EPB_DROPS(id, n) "06000000 34000000 " id " 00000000 01000000" \
	" 03000000 03000000 61626300 0400 0800 " n " 00000000 34000000 "
#define ISB_DROPS(id, n, m) "05000000 30000000 " id " 00000000 00000000" \
	" 0500 0800 " n " 0700 0800 " m " 30000000 "
#define ISB_END(id, ticks) "05000000 24000000 " id " 00000000 00000000" \
	" 0300 0800 " ticks " 24000000 "
#define DSB "0a000000 18000000 4b534c54 04000000 23206b0a 18000000 "
#define UNKNOWN "ad0b0000 10000000 ffffffff 10000000 "

/* The trace: time in ns, file interface/link type, length/length on the wire
 * and the bytes of each packet; the end; the numbers that are not 0. */
static const struct row {
	const char *what, *hex, *want;
} rows[] = {
	{ "pcap, microseconds", US ABC WXYZ,
	    "1000005000 0/1 3/3 abc; 2000000000 0/1 4/256 wxyz; end pcap "
	    "n=2/7 truncated=1 if=1 snap=262144" },
	{ "pcap, the other byte order", US_BE ABC_BE,
	    "1000005000 0/1 3/3 abc; end pcap n=1/3 if=1 snap=262144" },
	{ "pcap, nanoseconds", NS ABC,
	    "1000000005 0/1 3/3 abc; end pcap n=1/3 if=1 snap=262144" },
	{ "pcap, nanoseconds, the other byte order", NS_BE ABC_BE,
	    "1000000005 0/1 3/3 abc; end pcap n=1/3 if=1 snap=262144" },
	{ "pcap, modified: 8 more bytes in each header", MODIFIED
	    "01000000 05000000 03000000 03000000 07000000 0008 00 00 616263"
	    "02000000 05000000 00000000 09000000 07000000 0008 00 00",
	    "1000005000 0/1 3/3 abc; 2000005000 0/1 0/9 ; end pcap "
	    "n=2/3 truncated=1 if=1 snap=262144" },
	{ "pcap, modified, the other byte order", MODIFIED_BE
	    "00000001 00000005 00000003 00000003 00000007 0800 00 00 616263",
	    "1000005000 0/1 3/3 abc; end pcap n=1/3 if=1 snap=262144" },
	{ "pcap, no packets", US, "end pcap n=0/0 if=1 snap=262144" },
	{ "pcap: the upper bits of the link type are of the FCS",
	    "d4c3b2a1 0200 0400 00000000 00000000 00000000 65000054" ABC,
	    "1000005000 0/101 3/3 abc; end pcap n=1/3 if=1" },
	{ "pcap: longer than it was on the wire", US
	    "01000000 05000000 03000000 02000000 616263",
	    "1000005000 0/1 3/3 abc; end pcap n=1/3 if=1 snap=262144" },
	{ "pcap: the latest time", US
	    "ffffffff ffffffff 00000000 01000000",
	    "4294971589967295000 0/1 0/1 ; end pcap n=1/0 truncated=1 if=1 "
	    "snap=262144" },
	{ "pcap: an empty packet with a time is fine", US
	    "01000000 00000000 00000000 00000000",
	    "1000000000 0/1 0/0 ; end pcap n=1/0 if=1 snap=262144" },
	{ "pcap: cut inside a record header", US ABC "0200",
	    "1000005000 0/1 3/3 abc; end pcap n=1/3 if=1 snap=262144 cut" },
	{ "pcap: cut inside a packet", US ABC
	    "02000000 00000000 04000000 00010000 777879",
	    "1000005000 0/1 3/3 abc; end pcap n=1/3 if=1 snap=262144 cut" },
	{ "pcap: zeros at the end", US ABC "00000000 00000000 00000000 00000000",
	    "1000005000 0/1 3/3 abc; bad: damaged: only zeros from byte 43 "
	    "on, where a packet should begin pcap n=1/3 if=1 snap=262144" },
	{ "pcap: a length beyond the snap length and 256 KiB", US ABC
	    "02000000 00000000 01000400 00010000",
	    "1000005000 0/1 3/3 abc; bad: damaged: the packet at byte 43 "
	    "claims 262145 bytes, and 262144 is the most pcap n=1/3 if=1 "
	    "snap=262144" },
	{ "pcap: a length beyond 16 MiB, whatever the snap length",
	    "d4c3b2a1 0200 0400 00000000 00000000 ffffffff 01000000 "
	    "02000000 00000000 01000001 00010000",
	    "bad: damaged: the packet at byte 24 claims 16777217 bytes, and "
	    "16777216 is the most pcap n=0/0 if=1 snap=4294967295" },
	{ "pcap: another version",
	    "d4c3b2a1 0300 0100 00000000 00000000 ffff0000 01000000",
	    "bad: pcap of version 3.1; want 2.4 - n=0/0" },
	{ "pcap: ends inside the file header", "d4c3b2a1 0200 0400 00",
	    "bad: not a capture file: ends inside the file header, after 9 "
	    "bytes - n=0/0" },
	{ "one byte", "d4", "bad: not a capture file: ends inside the file "
	    "header, after 1 byte - n=0/0" },
	{ "nothing", "", "bad: empty; want a pcap or pcapng file - n=0/0" },
	{ "zeros", "0000000000", "bad: not a capture file (starts with 00 00 "
	    "00 00); want pcap or pcapng, gzip or zstd around it - n=0/0" },
	{ "text", "474554202f20", "bad: not a capture file (starts with 47 45 "
	    "54 20); want pcap or pcapng, gzip or zstd around it - n=0/0" },

	{ "pcapng", SHB IDB EPB("00000000", "00000000 05000000"),
	    "5000 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng, the other byte order",
	    SHB_BE IDB_BE EPB_BE("00000000", "00000001 00000000"),
	    "4294967296000 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: two interfaces of different link types",
	    SHB IDB IDB_RAW EPB("01000000", "00000000 05000000")
	    EPB("00000000", "00000000 04000000"),
	    "5000 1/101 3/3 abc; 4000 0/1 3/3 abc; end pcapng n=2/6 if=2 "
	    "snap=96" },
	{ "pcapng: sections of both byte orders, each with its interfaces",
	    SHB IDB EPB("00000000", "00000000 05000000")
	    SHB_BE IDB_BE EPB_BE("00000000", "00000000 00000006")
	    SHB IDB_RAW EPB("00000000", "00000000 07000000"),
	    "5000 0/1 3/3 abc; 6000 1/1 3/3 abc; 7000 2/101 3/3 abc; "
	    "end pcapng n=3/9 if=3 snap=96" },
	{ "pcapng: a new section forgets the interfaces",
	    SHB IDB SHB EPB("00000000", "00000000 05000000"),
	    "bad: damaged: the packet at byte 76 is of interface 0, which the "
	    "file does not describe pcapng n=0/0 if=1 snap=262144" },
	{ "pcapng: seconds", SHB IDB_RES("00")
	    EPB("00000000", "00000000 05000000"),
	    "5000000000 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: nanoseconds", SHB IDB_RES("09")
	    EPB("00000000", "00000000 05000000"),
	    "5 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: picoseconds", SHB IDB_RES("0c")
	    EPB("00000000", "00000000 d1070000")
	    EPB("00000000", "01000000 00000000"),
	    "2 0/1 3/3 abc; 4294967 0/1 3/3 abc; end pcapng n=2/6 if=1 "
	    "snap=262144" },
	{ "pcapng: 10^-28, the finest that can give 1 ns", SHB IDB_RES("1c")
	    EPB("00000000", "ffffffff ffffffff"),
	    "1 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: 10^-127", SHB IDB_RES("7f")
	    EPB("00000000", "ffffffff ffffffff"),
	    "0 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: 2^0", SHB IDB_RES("80")
	    EPB("00000000", "00000000 05000000"),
	    "5000000000 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: 2^-10", SHB IDB_RES("8a")
	    EPB("00000000", "00000000 01060000"),
	    "1500976562 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: 2^-32", SHB IDB_RES("a0")
	    EPB("00000000", "03000000 00000080"),
	    "3500000000 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: 2^-63 and 2^-64", SHB IDB_RES("bf") IDB_RES("c0")
	    EPB("00000000", "00000080 00000000")
	    EPB("01000000", "00000080 00000000")
	    EPB("00000000", "ffffffff ffffffff"),
	    "1000000000 0/1 3/3 abc; 500000000 1/1 3/3 abc; 1999999999 0/1 "
	    "3/3 abc; end pcapng n=3/9 if=2 snap=262144" },
	{ "pcapng: 2^-127", SHB IDB_RES("ff")
	    EPB("00000000", "ffffffff ffffffff"),
	    "0 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: times too late for any unit stop at the latest",
	    SHB IDB_RES("00") IDB_RES("06") IDB_RES("81") IDB_RES("09")
	    EPB("00000000", "ffffffff ffffffff")
	    EPB("01000000", "ffffffff ffffffff")
	    EPB("02000000", "ffffffff ffffffff")
	    EPB("03000000", "ffffffff ffffffff"),
	    "4611686018427387903 0/1 3/3 abc; 4611686018427387903 1/1 3/3 "
	    "abc; 4611686018427387903 2/1 3/3 abc; 4611686018427387903 3/1 "
	    "3/3 abc; end pcapng n=4/12 if=4 snap=262144" },
	{ "pcapng: a later start", SHB IDB_OFFSET("06", "0a00000000000000")
	    EPB("00000000", "00000000 05000000"),
	    "10000005000 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: an earlier start, not before 1970",
	    SHB IDB_OFFSET("00", "ffffffffffffffff")
	    EPB("00000000", "00000000 05000000")
	    EPB("00000000", "00000000 00000000"),
	    "4000000000 0/1 3/3 abc; 0 0/1 3/3 abc; end pcapng n=2/6 if=1 "
	    "snap=262144" },
	{ "pcapng: the largest and the smallest start",
	    SHB IDB_OFFSET("09", "ffffffffffffff7f")
	    IDB_OFFSET("09", "0000000000000080")
	    EPB("00000000", "ffffffff ffffffff")
	    EPB("01000000", "ffffffff ffffffff")
	    EPB("01000000", "00000000 00000000"),
	    "4611686018427387903 0/1 3/3 abc; 4611686018427387903 1/1 3/3 "
	    "abc; 0 1/1 3/3 abc; end pcapng n=3/9 if=2 snap=262144" },
	{ "pcapng: the snap length cuts a simple packet; it has the time of "
	    "the one before",
	    SHB "01000000 14000000 0100 0000 02000000 14000000"
	    "03000000 14000000 03000000 61626300 14000000"
	    EPB("00000000", "00000000 05000000")
	    "03000000 14000000 03000000 61626300 14000000",
	    "0 0/1 2/3 ab; 5000 0/1 3/3 abc; 5000 0/1 2/3 ab; end pcapng "
	    "n=3/7 truncated=2 if=1 snap=2" },
	{ "pcapng: a simple packet without a snap length",
	    SHB "01000000 14000000 0100 0000 00000000 14000000"
	    "03000000 14000000 03000000 61626300 14000000",
	    "0 0/1 3/3 abc; end pcapng n=1/3 if=1" },
	{ "pcapng: a simple packet that does not fit",
	    SHB IDB "03000000 14000000 05000000 61626300 14000000",
	    "bad: damaged: the block at byte 48 is too short for the packet "
	    "in it pcapng n=0/0 if=1 snap=262144" },
	{ "pcapng: a simple packet and no interface",
	    SHB "03000000 14000000 03000000 61626300 14000000",
	    "bad: damaged: the packet at byte 28 is of interface 0, which the "
	    "file does not describe pcapng n=0/0" },
	{ "pcapng: the old packet block counts drops in 16 bits",
	    SHB IDB "02000000 24000000 0000 0500 00000000 01000000 03000000 "
	    "09000000 61626300 24000000"
	    "02000000 24000000 0000 ffff 00000000 01000000 03000000 "
	    "03000000 61626300 24000000",
	    "1000 0/1 3/9 abc; 1000 0/1 3/3 abc; end pcapng n=2/6 dropped=5 "
	    "truncated=1 if=1 snap=262144" },
	{ "pcapng: drops before packets add up",
	    SHB IDB EPB_DROPS("00000000", "0300000000000000")
	    EPB_DROPS("00000000", "0400000000000000"),
	    "1000 0/1 3/3 abc; 1000 0/1 3/3 abc; end pcapng n=2/6 dropped=7 "
	    "if=1 snap=262144" },
	{ "pcapng: statistics are totals, and not added to packets' drops",
	    SHB IDB IDB EPB_DROPS("00000000", "0300000000000000")
	    ISB_DROPS("00000000", "0200000000000000", "0300000000000000")
	    ISB_DROPS("00000000", "0400000000000000", "0500000000000000")
	    ISB_DROPS("00000000", "0100000000000000", "0500000000000000")
	    ISB_DROPS("01000000", "0000000000000000", "6400000000000000")
	    ISB_DROPS("02000000", "0000000000000000", "6400000000000000"),
	    "1000 0/1 3/3 abc; end pcapng n=1/3 dropped=109 if=2 "
	    "snap=262144" },
	{ "pcapng: drops beyond 64 bits",
	    SHB IDB IDB
	    ISB_DROPS("00000000", "ffffffffffffffff", "ffffffffffffffff")
	    ISB_DROPS("01000000", "ffffffffffffffff", "0000000000000000"),
	    "end pcapng n=0/0 dropped=18446744073709551615 if=2 "
	    "snap=262144" },
	{ "pcapng: the latest end of all interfaces",
	    SHB IDB IDB EPB("00000000", "00000000 05000000")
	    ISB_END("00000000", "00000000 09000000")
	    ISB_END("01000000", "00000000 08000000")
	    ISB_END("02000000", "00000000 ff000000"),
	    "5000 0/1 3/3 abc; end pcapng n=1/3 if=2 snap=262144 end=9000" },
	{ "pcapng: an end that is cut short",
	    SHB IDB "05000000 20000000 00000000 00000000 00000000 0300 0400 "
	    "00000000 20000000",
	    "end pcapng n=0/0 if=1 snap=262144" },
	{ "pcapng: secrets and unknown blocks are stepped over",
	    SHB DSB IDB UNKNOWN EPB("00000000", "00000000 05000000") DSB,
	    "5000 0/1 3/3 abc; end pcapng n=1/3 if=1 secrets=2 "
	    "snap=262144" },
	{ "pcapng: the options of a packet are damaged, the packet is not",
	    SHB IDB "06000000 28000000 00000000 00000000 05000000 03000000 "
	    "03000000 61626300 0400ff00 28000000",
	    "5000 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: options of an odd length are ignored",
	    SHB "01000000 24000000 0100 0000 00000400 0900 0200 09090000 "
	    "0e00 0400 01000000 24000000"
	    EPB("00000000", "00000000 05000000"),
	    "5000 0/1 3/3 abc; end pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: the options of an interface are damaged",
	    SHB "01000000 1c000000 0100 0000 00000400 0900 0500 09000000 "
	    "1c000000",
	    "bad: damaged: the block at byte 28 describes an interface and is "
	    "cut short pcapng n=0/0" },
	{ "pcapng: an interface block without room",
	    SHB "01000000 10000000 0100 0000 10000000",
	    "bad: damaged: the block at byte 28 describes an interface and is "
	    "cut short pcapng n=0/0" },
	{ "pcapng: the packet is longer than its block",
	    SHB IDB EPB("00000000", "00000000 05000000")
	    "06000000 24000000 00000000 00000000 05000000 05000000 03000000 "
	    "61626300 24000000",
	    "5000 0/1 3/3 abc; bad: damaged: the block at byte 84 is too "
	    "short for the packet in it pcapng n=1/3 if=1 snap=262144" },
	{ "pcapng: a packet block without room",
	    SHB IDB "06000000 10000000 00000000 10000000",
	    "bad: damaged: the block at byte 48 is too short for the packet "
	    "in it pcapng n=0/0 if=1 snap=262144" },
	{ "pcapng: a length below 12", SHB "01000000 08000000 08000000",
	    "bad: damaged: the block at byte 28 claims 8 bytes; want a "
	    "multiple of 4, from 12 to 16 MiB pcapng n=0/0" },
	{ "pcapng: a length that is no multiple of 4",
	    SHB "01000000 15000000 0100 0000 00000400 15000000 00",
	    "bad: damaged: the block at byte 28 claims 21 bytes; want a "
	    "multiple of 4, from 12 to 16 MiB pcapng n=0/0" },
	{ "pcapng: a length over 16 MiB", SHB "01000000 04000001 01000000",
	    "bad: damaged: the block at byte 28 claims 16777220 bytes; want a "
	    "multiple of 4, from 12 to 16 MiB pcapng n=0/0" },
	{ "pcapng: two lengths that differ",
	    SHB "01000000 14000000 0100 0000 00000400 18000000",
	    "bad: damaged: the block at byte 28 has two lengths that differ "
	    "pcapng n=0/0" },
	{ "pcapng: zeros at the end", SHB IDB "00000000 00000000 00000000",
	    "bad: damaged: the block at byte 48 claims 0 bytes; want a "
	    "multiple of 4, from 12 to 16 MiB pcapng n=0/0 if=1 "
	    "snap=262144" },
	{ "pcapng: the section header is too short",
	    "0a0d0d0a 10000000 4d3c2b1a 10000000",
	    "bad: damaged: the block at byte 0 is too short for a section "
	    "header pcapng n=0/0" },
	{ "pcapng: another version",
	    "0a0d0d0a 1c000000 4d3c2b1a 0200 0000 ffffffffffffffff 1c000000",
	    "bad: pcapng of version 2; want 1 pcapng n=0/0" },
	{ "pcapng: no byte order", "0a0d0d0a 1c000000 4d3c2b1b 01000000",
	    "bad: not a capture file (starts with 0a 0d 0d 0a); want pcap or "
	    "pcapng, gzip or zstd around it - n=0/0" },
	{ "pcapng: a second section without byte order",
	    SHB "0a0d0d0a 1c000000 4d3c2b1b 01000000",
	    "bad: damaged: the block at byte 28 is a section header without "
	    "a byte order pcapng n=0/0" },
	{ "pcapng: ends inside the first block's start", "0a0d0d0a 1c0000",
	    "bad: not a capture file: ends inside the file header, after 7 "
	    "bytes - n=0/0" },
	{ "pcapng: cut inside the section header",
	    "0a0d0d0a 1c000000 4d3c2b1a 0100", "end pcapng n=0/0 cut" },
	{ "pcapng: cut inside a packet", SHB IDB "06000000 24000000 00000000 "
	    "00000000 05000000 03000000 03000000 61626300 240000",
	    "end pcapng n=0/0 if=1 snap=262144 cut" },
	{ "pcapng: cut inside a block's start", SHB IDB "0600",
	    "end pcapng n=0/0 if=1 snap=262144 cut" },
};

static size_t
unhex(uint8_t *out, const char *hex)
{
	size_t n = 0;

	for (; *hex; hex++) {
		const char *digits = "0123456789abcdef";

		if (*hex == ' ')
			continue;
		out[n++] = (uint8_t)((strchr(digits, hex[0]) - digits) << 4 |
		    (strchr(digits, hex[1]) - digits));
		hex++;
	}
	return n;
}

static void
number(struct buf *b, const char *name, uint64_t n)
{
	if (n)
		assert_int_equal(buf_fmt(b, " %s=%llu", name,
		    (unsigned long long)n), 0);
}

/* Takes what there is; true when the file goes on. */
static bool
drain(struct capfile *c, struct buf *trace)
{
	struct packet p;

	for (;;) {
		switch (capfile_next(c, &p)) {
		case CAPFILE_PACKET:
			assert_int_equal(buf_fmt(trace, "%lld %u/%u %u/%u "
			    "%.*s; ", (long long)p.t, p.ifindex, p.linktype,
			    p.len, p.wire_len, (int)p.len,
			    (const char *)p.data), 0);
			continue;
		case CAPFILE_MORE:
			assert_null(p.data);
			return true;
		case CAPFILE_END:
			assert_null(capfile_error(c));
			assert_int_equal(buf_fmt(trace, "end"), 0);
			return false;
		case CAPFILE_BAD:
			assert_int_equal(buf_fmt(trace, "bad: %s",
			    capfile_error(c)), 0);
			return false;
		}
	}
}

static void
finish(struct capfile *c, struct buf *trace)
{
	const struct capfile_stats *s = capfile_stats(c);
	struct packet p;
	enum capfile_rc rc = capfile_error(c) ? CAPFILE_BAD : CAPFILE_END;

	assert_int_equal(capfile_next(c, &p), rc);
	capfile_feed(c, "abc", 3);
	assert_int_equal(capfile_next(c, &p), rc);
	assert_int_equal(buf_fmt(trace, " %s n=%llu/%llu",
	    capfile_format(c) ? capfile_format(c) : "-",
	    (unsigned long long)s->packets, (unsigned long long)s->bytes), 0);
	number(trace, "dropped", s->dropped);
	number(trace, "truncated", s->truncated);
	number(trace, "if", s->interfaces);
	number(trace, "secrets", s->secrets);
	number(trace, "snap", s->snaplen);
	number(trace, "end", (uint64_t)s->end);
	if (s->cut)
		assert_int_equal(buf_fmt(trace, " cut"), 0);
}

static void
judge(const struct row *r, size_t at, struct buf *trace)
{
	if (!str_eq(buf_str(trace), str_c(r->want)))
		fail_msg("%s (cut at %zu):\n got \"%.*s\"\nwant \"%s\"",
		    r->what, at, STR_ARG(buf_str(trace)), r->want);
	buf_clear(trace);
}

static void
split(const struct row *r, const uint8_t *p, size_t n, size_t at)
{
	struct guard a = guard_of(p, at), b = guard_of(p + at, n - at);
	struct capfile *c = capfile_new();
	struct buf trace;

	buf_init(&trace, 4096);
	capfile_feed(c, NULL, 0);
	assert_true(drain(c, &trace));
	capfile_feed(c, a.p, a.n);
	if (drain(c, &trace)) {
		guard_free(&a);		/* given back */
		capfile_feed(c, b.p, b.n);
		if (drain(c, &trace)) {
			capfile_eof(c);
			assert_false(drain(c, &trace));
		}
	}
	finish(c, &trace);
	judge(r, at, &trace);
	buf_fini(&trace);
	capfile_free(c);
	if (a.p)
		guard_free(&a);
	guard_free(&b);
}

static void
bytewise(const struct row *r, const uint8_t *p, size_t n)
{
	struct capfile *c = capfile_new();
	struct buf trace;
	bool more = true;

	buf_init(&trace, 4096);
	for (size_t i = 0; more && i < n; i++) {
		uint8_t one = p[i];

		capfile_feed(c, &one, 1);
		more = drain(c, &trace);
		one = 0xee;
	}
	if (more) {
		capfile_eof(c);
		assert_false(drain(c, &trace));
	}
	finish(c, &trace);
	judge(r, SIZE_MAX, &trace);
	buf_fini(&trace);
	capfile_free(c);
}

static void
test_rows(void **state)
{
	uint8_t file[1024];

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		size_t n = unhex(file, rows[i].hex);

		assert_true(n <= sizeof file);
		for (size_t at = 0; at <= n; at++)
			split(&rows[i], file, n, at);
		bytewise(&rows[i], file, n);
	}
}

/* Whole records are lent from the piece, not copied. */
static void
test_lent(void **state)
{
	uint8_t file[256];
	struct capfile *c = capfile_new();
	struct packet p;
	size_t n = unhex(file, US ABC WXYZ);

	(void)state;
	assert_null(capfile_format(c));
	capfile_feed(c, file, n);
	assert_int_equal(capfile_next(c, &p), CAPFILE_PACKET);
	assert_ptr_equal(p.data, file + 24 + 16);
	assert_int_equal(capfile_next(c, &p), CAPFILE_PACKET);
	assert_ptr_equal(p.data, file + 24 + 16 + 3 + 16);
	capfile_free(c);
	capfile_free(NULL);
}

/* The longest packet that is believed, in pieces of 64 KiB. */
static void
test_longest(void **state)
{
	enum { MOST = 16 << 20, STEP = 65536 };
	size_t n = 24 + 16 + MOST;
	uint8_t *file = xcalloc(1, n);
	struct capfile *c = capfile_new();
	struct packet p = { 0 };
	enum capfile_rc rc = CAPFILE_MORE;

	(void)state;
	(void)unhex(file, "d4c3b2a1 0200 0400 00000000 00000000 00000001 "
	    "01000000 01000000 00000000 00000001 00000001");
	file[n - 1] = 0x5a;
	for (size_t at = 0; at < n; at += STEP) {
		assert_int_equal(rc, CAPFILE_MORE);
		capfile_feed(c, file + at, n - at < STEP ? n - at : STEP);
		rc = capfile_next(c, &p);
	}
	assert_int_equal(rc, CAPFILE_PACKET);
	assert_int_equal(p.len, MOST);
	assert_int_equal(p.data[MOST - 1], 0x5a);
	capfile_eof(c);
	assert_int_equal(capfile_next(c, &p), CAPFILE_END);
	assert_false(capfile_stats(c)->cut);
	capfile_free(c);
	free(file);
}

static void
test_interfaces(void **state)
{
	uint8_t file[64];
	struct capfile *c = capfile_new();
	struct packet p;
	size_t n = unhex(file, SHB);

	(void)state;
	capfile_feed(c, file, n);
	assert_int_equal(capfile_next(c, &p), CAPFILE_MORE);
	n = unhex(file, IDB);
	for (int i = 0; i < 65536; i++) {
		capfile_feed(c, file, n);
		assert_int_equal(capfile_next(c, &p), CAPFILE_MORE);
	}
	capfile_feed(c, file, n);
	assert_int_equal(capfile_next(c, &p), CAPFILE_BAD);
	assert_non_null(strstr(capfile_error(c), "one interface too many"));
	capfile_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
