#include "mcpdiag/flow.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "util.h"

/* A scenario is a list of packets.  Time advances 0.1 ms for each.
 *
 *   > <        from A (port 1001) to B (port 80), or back
 *   S F R P    flags;  a7: ACK of 7;  7: sequence number;  both from the ISN,
 *              so that a SYN is 0 and the first byte 1
 *   'text'     payload;  *9: so many bytes of it;  c9: 9 bytes more were cut
 *   w0         window (else 500);  i2: interface (else 1);  @3: A's port 1003
 *   +20        20 ms more pass first
 *   tick  deaf  end    flows_tick();  data() says no from now on;  flows_eof()
 *
 * Every scenario ends with flows_eof() and is run with several ISNs.  In the
 * trace, #n is the packet; "0" and "1" are the directions. */
static const struct row {
	const char *name;
	const char *in;
	const char *want;
	const char *stats;	/* retransmits copies ooo conflicts gaps bytes */
	uint64_t ooo;		/* limits.ooo, or 0 */
} rows[] = {
#define HANDSHAKE "> S 0, < S 0 a1, > 1 a1, "
#define OPEN "#1 open syn\n"
	{ "request and response", HANDSHAKE
	  "> 1 a1 'GET', < 1 a4 'OK', > 4 a3, > F 4 a3, < F 3 a5, > 5 a4",
	  OPEN "#4 0 GET\n#5 1 OK\n#7 0 fin/0\n#8 1 fin/1\n#8 end\n",
	  "0 0 0 0 0 0", 0 },
	{ "the first packet is the SYN+ACK", "< S 0 a1, > 1 a1 'GET'",
	  OPEN "#2 0 GET\n#2 0 eof\n#2 1 eof\n#2 end\n", NULL, 0 },
	{ "which tells where both begin", "< S 0 a1, > 4 a1 'GET', < 1 a7, "
	  "+21 tick",
	  OPEN "#2 0 gap 3\n#2 0 GET\n#3 0 eof\n#3 1 eof\n#3 end\n", NULL, 0 },
	{ "data in the SYN", "> S 0 'ab', < S 0 a3, > 3 a1 'cd'",
	  OPEN "#1 0 ab\n#3 0 cd\n#3 0 eof\n#3 1 eof\n#3 end\n", NULL, 0 },
	{ "mid-stream: from the first payload", "> 50 a70, < 70 a50, "
	  "< 70 a50 'OK', > 50 a72 'GET'",
	  "#3 open mid\n#3 0 OK\n#4 1 GET\n#4 0 eof\n#4 1 eof\n#4 end\n",
	  NULL, 0 },
	{ "mid-stream: what is older is late", "> 50 a1 'cd', > 48 a1 'ab', "
	  "> 52 a1 'ef'",
	  "#1 open mid\n#1 0 cd\n#3 0 ef\n#3 0 eof\n#3 1 eof\n#3 end\n",
	  "1 0 0 0 0 0", 0 },
	{ "nothing opens for these", "> R 5, > 5 a1, > F 5 a1, < R 5 a1, "
	  "> S R 5, > R 1 'x'", "", NULL, 0 },
	{ "nor does a keep-alive probe, in either direction", "> 5 a1 'x', "
	  "> 6 a1 'GET', < 1 a9 'x', < 2 a9 P 'y'",
	  "#2 open mid\n#2 0 GET\n#4 1 y\n#4 0 eof\n#4 1 eof\n#4 end\n",
	  NULL, 0 },
	{ "FIN with payload opens", "> F 5 a1 'x'",
	  "#1 open mid\n#1 0 x\n#1 0 fin/0\n#1 1 eof\n#1 end\n", NULL, 0 },
	{ "refused", "> S 0, < R 0 a1",
	  OPEN "#2 1 rst/1\n#2 0 rst/1\n#2 end\n", NULL, 0 },
	{ "reset by the client", HANDSHAKE "> 1 a1 'GET', < 1 a4 'OK', > R 4",
	  OPEN "#4 0 GET\n#5 1 OK\n#6 0 rst/0\n#6 1 rst/0\n#6 end\n", NULL, 0 },
	{ "reset after FIN", HANDSHAKE "< F 1 a1, > R 1",
	  OPEN "#4 1 fin/1\n#5 0 rst/0\n#5 end\n", NULL, 0 },
	{ "reset far from the window is forged", HANDSHAKE "< R 20000000, "
	  "> 1 a1 'GET'",
	  OPEN "#5 0 GET\n#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 0 },
	{ "nothing after a reset", HANDSHAKE "> R 1, < 1 a1 'x', > 1 a1 'y'",
	  OPEN "#4 0 rst/0\n#4 1 rst/0\n#4 end\n", NULL, 0 },
	{ "half close", HANDSHAKE "> F 1 a1, < 1 a2 'more', < F 5 a2",
	  OPEN "#4 0 fin/0\n#5 1 more\n#6 1 fin/1\n#6 end\n", NULL, 0 },
	{ "data after FIN", HANDSHAKE "> F 1 a1 'x', > 3 a1 'y', > 4 a1 'z'",
	  OPEN "#4 0 x\n#4 0 fin/0\n#5 0 after-fin\n#6 1 eof\n#6 end\n",
	  NULL, 0 },
	{ "FIN twice", HANDSHAKE "> F 1 a1, > F 1 a1",
	  OPEN "#4 0 fin/0\n#5 1 eof\n#5 end\n", "0 0 0 0 0 0", 0 },

	{ "retransmission", HANDSHAKE "> 1 a1 'abc', +200 > 1 a1 'abc', "
	  "> 4 a1 'd'",
	  OPEN "#4 0 abc\n#6 0 d\n#6 0 eof\n#6 1 eof\n#6 end\n",
	  "1 0 0 0 0 0", 0 },
	{ "retransmission and more", HANDSHAKE "> 1 a1 'abc', "
	  "+200 > 1 a1 'abcde'",
	  OPEN "#4 0 abc\n#5 0 de\n#5 0 eof\n#5 1 eof\n#5 end\n",
	  "1 0 0 0 0 0", 0 },
	{ "a packet captured twice", HANDSHAKE "> 1 a1 'abc', > 1 a1 'abc'",
	  OPEN "#4 0 abc\n#5 0 eof\n#5 1 eof\n#5 end\n", "0 1 0 0 0 0", 0 },
	{ "on two interfaces", HANDSHAKE "> 1 a1 'abc', > 4 a1 'de', "
	  "> 1 a1 i2 'abc', > 4 a1 i2 'de'",
	  OPEN "#4 0 abc\n#5 0 de\n#7 0 eof\n#7 1 eof\n#7 end\n",
	  "0 2 0 0 0 0", 0 },
	{ "keep-alive probes", HANDSHAKE "> 1 a1 'abc', +900 > 3 a1 'c', "
	  "+900 > 3 a1 'x', +900 > 3 a1",
	  OPEN "#4 0 abc\n#7 0 eof\n#7 1 eof\n#7 end\n", "0 0 0 0 0 0", 0 },

	{ "reordered", HANDSHAKE "> 4 a1 'def', > 1 a1 'abc'",
	  OPEN "#5 0 abc\n#4 0 def\n#5 0 eof\n#5 1 eof\n#5 end\n",
	  "0 0 1 0 0 0", 0 },
	{ "FIN before the last data", HANDSHAKE "> F 4 a1, > 1 a1 'abc'",
	  OPEN "#5 0 abc\n#4 0 fin/0\n#5 1 eof\n#5 end\n", NULL, 0 },
	{ "overlap of what is held: the first copy wins", HANDSHAKE
	  "> 3 a1 'cd', > 2 a1 'bCDe', > 1 a1 'a'",
	  OPEN "#5 0 conflict\n#6 0 a\n#5 0 b\n#4 0 cd\n#5 0 e\n"
	  "#6 0 eof\n#6 1 eof\n#6 end\n", "0 0 2 1 0 0", 0 },
	{ "overlap of the same bytes", HANDSHAKE
	  "> 3 a1 'cd', > 2 a1 'bcde', +9 > 3 a1 'cd', > 1 a1 'abcdef'",
	  OPEN "#7 0 a\n#5 0 b\n#4 0 cd\n#5 0 e\n#7 0 f\n"
	  "#7 0 eof\n#7 1 eof\n#7 end\n", "1 0 2 0 0 0", 0 },
	{ "out of order twice", HANDSHAKE
	  "> 3 a1 'cd', > 3 a1 'cd', +9 > 3 a1 'cd', > 1 a1 'ab'",
	  OPEN "#7 0 ab\n#4 0 cd\n#7 0 eof\n#7 1 eof\n#7 end\n",
	  "1 1 1 0 0 0", 0 },
	{ "out of order twice on two interfaces", HANDSHAKE
	  "> 3 a1 'cd', > 3 a1 i2 'cd', > 1 a1 'ab'",
	  OPEN "#6 0 ab\n#4 0 cd\n#6 0 eof\n#6 1 eof\n#6 end\n",
	  "0 1 1 0 0 0", 0 },
	{ "SYN and SYN+ACK swapped", "< S 0 a1, > S 0, > 1 a1 'GET'",
	  OPEN "#3 0 GET\n#3 0 eof\n#3 1 eof\n#3 end\n", NULL, 0 },
	{ "data before the SYN", "> 1 a1 'GET', > S 0, < S 0 a1, < 1 a4 'OK'",
	  "#1 open mid\n#1 0 GET\n#4 1 OK\n#4 0 eof\n#4 1 eof\n#4 end\n",
	  NULL, 0 },

	{ "a response waits for its request", HANDSHAKE
	  "< 1 a4 'OK', > 1 a1 'GET', > 4 a3",
	  OPEN "#5 0 GET\n#4 1 OK\n#6 0 eof\n#6 1 eof\n#6 end\n",
	  "0 0 0 0 0 0", 0 },
	{ "part of the request is not enough", HANDSHAKE
	  "< 1 a6 'OK', > 1 a1 'GET', > 4 a1 '/ '",
	  OPEN "#5 0 GET\n#6 0 / \n#4 1 OK\n#6 0 eof\n#6 1 eof\n#6 end\n",
	  NULL, 0 },
	{ "a FIN waits too", HANDSHAKE "< F 1 a4, > 1 a1 'GET'",
	  OPEN "#5 0 GET\n#4 1 fin/1\n#5 0 eof\n#5 end\n", NULL, 0 },
	{ "a reset waits for data of either side", HANDSHAKE
	  "< 3 a1 'cd', > R 1 a1, < 1 a1 'ab'",
	  OPEN "#6 1 ab\n#4 1 cd\n#5 0 rst/0\n#5 1 rst/0\n#5 end\n", NULL, 0 },
	{ "and for data before it", HANDSHAKE "> R 4 a1, > 1 a1 'abc'",
	  OPEN "#5 0 abc\n#4 0 rst/0\n#4 1 rst/0\n#4 end\n", NULL, 0 },
	{ "but not for long", HANDSHAKE "> R 4 a1, +25 tick, > 1 a1 'abc'",
	  OPEN "#4 0 rst/0\n#4 1 rst/0\n#4 end\n", "0 0 0 0 0 0", 0 },
	{ "data beyond the reset is nothing", HANDSHAKE
	  "> R 4 a1, > 4 a1 'x', > 1 a1 'abc'",
	  OPEN "#6 0 abc\n#4 0 rst/0\n#4 1 rst/0\n#4 end\n", NULL, 0 },
	{ "a retransmitted request with a newer ACK: no deadlock", HANDSHAKE
	  "< 1 a4 'OK', > 1 a3 'GET'",
	  OPEN "#5 0 GET\n#4 1 OK\n#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 0 },

	{ "a hole that was acknowledged is a gap after 20 ms", HANDSHAKE
	  "> 4 a1 'def', < 1 a7, +19 < 1 a7, +2 < 1 a7",
	  OPEN "#4 0 gap 3\n#4 0 def\n#7 0 eof\n#7 1 eof\n#7 end\n",
	  "0 0 1 0 1 3", 0 },
	{ "flows_tick() sees it", HANDSHAKE
	  "> 4 a1 'def', < 1 a7, +21 tick, > 7 a1 'g'",
	  OPEN "#4 0 gap 3\n#4 0 def\n#6 0 g\n#6 0 eof\n#6 1 eof\n#6 end\n",
	  NULL, 0 },
	{ "filled in time", HANDSHAKE
	  "> 4 a1 'def', < 1 a7, +15 tick, > 1 a1 'abc', +9 tick",
	  OPEN "#6 0 abc\n#4 0 def\n#6 0 eof\n#6 1 eof\n#6 end\n",
	  "0 0 1 0 0 0", 0 },
	{ "not acknowledged: no gap before the end", HANDSHAKE
	  "> 4 a1 'def', < 1 a1, +500 tick, < 1 a1",
	  OPEN "#4 0 gap 3\n#4 0 def\n#6 0 eof\n#6 1 eof\n#6 end\n", NULL, 0 },
	{ "only the part that was acknowledged", HANDSHAKE
	  "> 9 a1 'x', < 1 a4, +21 tick, > 4 a1 'cdefg'",
	  OPEN "#5 0 gap 3\n#6 0 cdefg\n#4 0 x\n#6 0 eof\n#6 1 eof\n#6 end\n",
	  NULL, 0 },
	{ "a second hole counts from its own ACK", HANDSHAKE
	  "> 3 a1 'cd', > 7 a1 'gh', < 1 a5, +10 < 1 a9, +11 tick, "
	  "> 5 a1 'ef'",
	  OPEN "#4 0 gap 2\n#4 0 cd\n#8 0 ef\n#5 0 gh\n"
	  "#8 0 eof\n#8 1 eof\n#8 end\n", NULL, 0 },
	{ "a hole at the tail", HANDSHAKE "> 1 a1 'ab', < 1 a9, +21 tick, "
	  "> 9 a1 'x'",
	  OPEN "#4 0 ab\n#5 0 gap 6\n#6 0 x\n#6 0 eof\n#6 1 eof\n#6 end\n",
	  NULL, 0 },
	{ "a hole at the tail at the end", HANDSHAKE "> 1 a1 'ab', < 1 a9",
	  OPEN "#4 0 ab\n#5 0 gap 6\n#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 0 },
	{ "the ACK of a FIN is no gap", HANDSHAKE "> F 1 a1, < 1 a2, +21 tick",
	  OPEN "#4 0 fin/0\n#5 1 eof\n#5 end\n", "0 0 0 0 0 0", 0 },
	{ "nor that of a FIN that was lost", HANDSHAKE
	  "> 1 a1 'ab', < 1 a4, +21 tick, < 1 a4 'x', < 2 a4 'y', < F 3 a4",
	  OPEN "#4 0 ab\n#6 1 x\n#7 1 y\n#8 1 fin/1\n#8 0 eof\n#8 end\n",
	  "0 0 0 0 0 0", 0 },
	{ "which may come late", HANDSHAKE
	  "> 1 a1 'ab', < 1 a4, +21 tick, > F 3 a1",
	  OPEN "#4 0 ab\n#6 0 fin/0\n#6 1 eof\n#6 end\n", "0 0 0 0 0 0", 0 },
	{ "one byte was lost after all", HANDSHAKE
	  "> 1 a1 'ab', < 1 a4, +21 tick, > 4 a1 'd', < 1 a5, +21 tick",
	  OPEN "#4 0 ab\n#6 0 gap 1\n#6 0 d\n#7 0 eof\n#7 1 eof\n#7 end\n",
	  NULL, 0 },
	{ "wild ACKs are no evidence", HANDSHAKE
	  "> 1 a1 'ab', < 1 a20000000, +21 < 1 a0, +21 tick, < 1 a3 'x'",
	  OPEN "#4 0 ab\n#7 1 x\n#7 0 eof\n#7 1 eof\n#7 end\n",
	  "0 0 0 0 0 0", 0 },
	{ "a lost request: the response comes after the gap", HANDSHAKE
	  "< 1 a4 'OK', +21 tick, > 4 a3 'GET2'",
	  OPEN "#4 0 gap 3\n#4 1 OK\n#5 0 GET2\n#5 0 eof\n#5 1 eof\n#5 end\n",
	  NULL, 0 },
	{ "or after 64 packets", HANDSHAKE "< 1 a4 'OK', <64 1 a4, < 1 a4",
	  OPEN "#4 0 gap 3\n#4 1 OK\n#69 0 eof\n#69 1 eof\n#69 end\n",
	  NULL, 0 },
	{ "one byte may be a FIN: no gap", HANDSHAKE "< 1 a2 'OK'",
	  OPEN "#4 1 OK\n#4 0 eof\n#4 1 eof\n#4 end\n", "0 0 0 0 0 0", 0 },
	{ "or at the end", HANDSHAKE "< 1 a4 'OK'",
	  OPEN "#4 0 gap 3\n#4 1 OK\n#4 0 eof\n#4 1 eof\n#4 end\n", NULL, 0 },
	{ "a lost SYN+ACK: the handshake's ACK tells the start",
	  "> S 0, > 1 a1, > 1 a1 'GET', < 5 a4 'K', > 4 a6, +21 tick",
	  OPEN "#3 0 GET\n#4 1 gap 4\n#4 1 K\n#5 0 eof\n#5 1 eof\n#5 end\n",
	  NULL, 0 },
	{ "only one direction captured: nothing waits, no gap",
	  "> S 0, > 1 a1, > 1 a1 'GET', +900 > 4 a700 'GET', +900 tick",
	  OPEN "#3 0 GET\n#4 0 GET\n#4 0 eof\n#4 1 eof\n#4 end\n",
	  "0 0 0 0 0 0", 0 },
	{ "everything held comes out at a reset", HANDSHAKE
	  "< 3 a1 'cd', > R 1, +21 tick",
	  OPEN "#4 1 gap 2\n#4 1 cd\n#5 0 rst/0\n#5 1 rst/0\n#5 end\n",
	  NULL, 0 },

	{ "cut by the snap length", HANDSHAKE "> 1 a1 'ab' c8, > 11 a1 'c' c1",
	  OPEN "#4 0 ab\n#4 0 gap 8\n#5 0 c\n#5 0 gap 1\n"
	  "#5 0 eof\n#5 1 eof\n#5 end\n", "0 0 0 0 2 9", 0 },
	{ "cut and out of order", HANDSHAKE "> F 11 a1 'c' c1, > 1 a1 'ab' c8",
	  OPEN "#5 0 ab\n#5 0 gap 8\n#4 0 c\n#4 0 gap 1\n#4 0 fin/0\n"
	  "#5 1 eof\n#5 end\n", NULL, 0 },
	{ "a retransmission does not fill what was cut", HANDSHAKE
	  "> 1 a1 'ab' c8, > 5 a1 'ef' c8",
	  OPEN "#4 0 ab\n#4 0 gap 8\n#5 0 gap 4\n"
	  "#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 0 },

	{ "the limit: a gap before the earliest", HANDSHAKE
	  "> 11 a1 'aaaa', > 21 a1 'bbbb', > 31 a1 'cccc', > 25 a1 'xxxxxx'",
	  OPEN "#6 0 limit\n#4 0 gap 10\n#4 0 aaaa\n"
	  "#5 0 gap 6\n#5 0 bbbb\n#7 0 xxxxxx\n#6 0 cccc\n"
	  "#7 0 eof\n#7 1 eof\n#7 end\n", NULL, 200 },
	{ "no room at all: the segment itself comes out", HANDSHAKE
	  "> 11 a1 'aaaa', > 9 a1 'zzaaaab'",
	  OPEN "#4 0 limit\n#4 0 gap 10\n#4 0 aaaa\n#5 0 b\n"
	  "#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 64 },
	{ "no room to wait", HANDSHAKE "< 1 a4 'OK', > 1 a1 'GET'",
	  OPEN "#4 1 limit\n#4 1 OK\n#5 0 GET\n"
	  "#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 64 },

	{ "nobody listens: the ends stay right", HANDSHAKE
	  "> 1 a1 'ab', deaf, > 3 a1 'cd', > 9 a1 'x', > 5 a1 'efgh', "
	  "< 5 a1 'y', > F 10 a1, < F 6 a11, < 7 a11 'z'",
	  OPEN "#4 0 ab\n#5 0 cd\n#9 0 fin/0\n#10 1 fin/1\n#10 end\n",
	  "0 0 0 0 0 0", 0 },
	{ "nobody listens, in the middle of a segment", HANDSHAKE
	  "> 5 a1 'ef', > 15 a1 'op', deaf, > F 3 a1 'cdefgh', < R 1",
	  OPEN "#6 0 limit\n#6 0 gap 2\n#6 0 cd\n#6 0 fin/0\n"
	  "#7 1 rst/1\n#7 end\n", NULL, 200 },
	{ "nobody listens to what is held", HANDSHAKE
	  "> 3 a1 'cd', > F 7 a1 'gh', deaf, > 1 a1 'ab', < R 1 a1",
	  OPEN "#6 0 ab\n#5 0 fin/0\n#7 1 rst/1\n#7 end\n", NULL, 0 },

	{ "a new SYN is a new connection", HANDSHAKE "> 1 a1 'GET', "
	  "> S 90000, < S 70000 a90001, > 90001 a70001 'PUT'",
	  OPEN "#4 0 GET\n#5 0 reused\n#5 1 reused\n#5 end\n"
	  "#5 open syn [2]\n#7 0 PUT [2]\n"
	  "#7 0 eof [2]\n#7 1 eof [2]\n#7 end [2]\n", NULL, 0 },
	{ "also after the old one was closed", HANDSHAKE "> R 1, > S 90000",
	  OPEN "#4 0 rst/0\n#4 1 rst/0\n#4 end\n#5 open syn [2]\n"
	  "#5 0 eof [2]\n#5 1 eof [2]\n#5 end [2]\n", NULL, 0 },
	{ "the SYN and the SYN+ACK again", "> S 0, > S 0, < S 0 a1, < S 0 a1, "
	  "> 1 a1 'GET', > S 0",
	  OPEN "#5 0 GET\n#6 0 eof\n#6 1 eof\n#6 end\n", NULL, 0 },
	{ "the SYN again after the close", HANDSHAKE "> R 1, > S 0, < S 0 a1",
	  OPEN "#4 0 rst/0\n#4 1 rst/0\n#4 end\n", NULL, 0 },
	{ "another ISN for the same SYN", "> S 0, < S 0 a1, < S 5000 a1, "
	  "> 1 a5001 'GET', < 5001 a4 'OK'",
	  OPEN "#4 0 GET\n#5 1 OK\n#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 0 },
	{ "only the SYN+ACK of the new one", HANDSHAKE "> 1 a1 'GET', "
	  "< S 70000 a90001, > 90001 a70001 'PUT'",
	  OPEN "#4 0 GET\n#5 0 reused\n#5 1 reused\n#5 end\n"
	  "#5 open syn [2]\n#6 0 PUT [2]\n"
	  "#6 0 eof [2]\n#6 1 eof [2]\n#6 end [2]\n", NULL, 0 },
	{ "neither: payload from nowhere", HANDSHAKE "> R 1, "
	  "> 30000000 a1 'PUT'",
	  OPEN "#4 0 rst/0\n#4 1 rst/0\n#4 end\n#5 open mid [2]\n"
	  "#5 0 PUT [2]\n#5 0 eof [2]\n#5 1 eof [2]\n#5 end [2]\n", NULL, 0 },
	{ "on an open one it takes three", HANDSHAKE "> 2000000000 a1 'aa', "
	  "> 2000000002 a1 'bb', > 2000000004 a1 'cc', > 2000000006 a1 'd'",
	  OPEN "#6 0 reused\n#6 1 reused\n#6 end\n#6 open mid [2]\n"
	  "#6 0 cc [2]\n#7 0 d [2]\n#7 0 eof [2]\n#7 1 eof [2]\n#7 end [2]\n",
	  NULL, 0 },
	{ "three in a row", HANDSHAKE "> 2000000000 a1 'aa', "
	  "> 2000000002 a1 'bb', > 1 a1 'cc', > 2000000004 a1 'dd', "
	  "> 2000000006 a1 'ee', > 3 a1 'ff'",
	  OPEN "#6 0 cc\n#9 0 ff\n#9 0 eof\n#9 1 eof\n#9 end\n", NULL, 0 },
	{ "late copies find the closed one", HANDSHAKE
	  "> 1 a1 'GET', > R 4, +29000 > 1 a1 'GET', +2000 tick, > 1 a1 'GET'",
	  OPEN "#4 0 GET\n#5 0 rst/0\n#5 1 rst/0\n#5 end\n#7 open mid [2]\n"
	  "#7 0 GET [2]\n#7 0 eof [2]\n#7 1 eof [2]\n#7 end [2]\n", NULL, 0 },
	{ "long idle after FIN", HANDSHAKE "> F 1 a1, +2000000 < 1 a2 'x', "
	  "+3599000 tick, +2000 tick, < 2 a2 'y'",
	  OPEN "#4 0 fin/0\n#5 1 x\n#5 1 evicted\n#5 end\n", NULL, 0 },

	{ "unanswered for 10 s", HANDSHAKE "< 1 a1 'abc', +300 < 1 a1 'abc', "
	  "+9500 tick, +300 tick, +90000 tick, < 1 a1 'abc', < 4 a1 'd', "
	  "+90000 tick",
	  OPEN "#4 1 abc\n#5 1 stall 3 since 4\n#7 1 d\n"
	  "#7 0 eof\n#7 1 eof\n#7 end\n", NULL, 0 },
	{ "again only after an answer", HANDSHAKE "< 1 a1 'abc', "
	  "+300 < 1 a1 'abc', +10000 tick, > 1 a4, < 4 a1 'd', +1200 < 5 a1 'e', "
	  "+9000 tick",
	  OPEN "#4 1 abc\n#5 1 stall 3 since 4\n#7 1 d\n#8 1 e\n"
	  "#8 1 stall 2 since 7\n#8 0 eof\n#8 1 eof\n#8 end\n", NULL, 0 },
	{ "answered in time", HANDSHAKE "< 1 a1 'abc', +300 < 1 a1 'abc', "
	  "+9000 > 1 a4, +2000 tick, > 1 a4",
	  OPEN "#4 1 abc\n#7 0 eof\n#7 1 eof\n#7 end\n", NULL, 0 },
	{ "not sent again: it is the ACK that was lost", HANDSHAKE
	  "< 1 a1 'abc', +12000 tick, +12000 < 4 a1 'def', > 1 a7, +12000 tick",
	  OPEN "#4 1 abc\n#5 1 def\n#6 0 eof\n#6 1 eof\n#6 end\n", NULL, 0 },
	{ "more after it, and still no answer", HANDSHAKE "< 1 a1 'abc', "
	  "+12000 tick, +12000 < 4 a1 'def', +1000 tick",
	  OPEN "#4 1 abc\n#5 1 def\n#5 1 stall 6 since 4\n"
	  "#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 0 },
	{ "a later segment sees it", HANDSHAKE "< 1 a1 'abc', "
	  "+300 < 1 a1 'abc', +11000 > 1 a4",
	  OPEN "#4 1 abc\n#6 1 stall 3 since 4\n#6 0 eof\n#6 1 eof\n#6 end\n",
	  NULL, 0 },
	{ "one direction only: who knows",
	  "> S 0, > 1 a1, > 1 a1 'GET', +300 > 1 a1 'GET', +20000 tick",
	  OPEN "#3 0 GET\n#4 0 eof\n#4 1 eof\n#4 end\n", NULL, 0 },
	{ "zero window", HANDSHAKE "< 1 a1 'abc', > 1 a4 w0, +300 < 3 a1, "
	  "> 1 a4 w0, +9500 tick, +300 tick, +90000 tick",
	  OPEN "#4 1 abc\n#7 1 zero 0 since 5\n#7 0 eof\n#7 1 eof\n#7 end\n",
	  "0 0 0 0 0 0", 0 },
	{ "zero window, nothing to send", HANDSHAKE "< 1 a1 'abc', "
	  "> 1 a4 w0, +12000 tick",
	  OPEN "#4 1 abc\n#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 0 },
	{ "the window opens", HANDSHAKE "< 1 a1 'abc', > 1 a4 w0, +300 < 3 a1, "
	  "+5000 > 1 a4 w9, +9000 tick",
	  OPEN "#4 1 abc\n#7 0 eof\n#7 1 eof\n#7 end\n", NULL, 0 },
	{ "each direction on its own interface", HANDSHAKE "< 1 a1 i2 'ab', "
	  "+300 < 1 a1 i2 'ab', < 1 a1 i1 'ab', +300 < 1 a1 i1 'ab'",
	  OPEN "#4 1 ab\n#7 0 eof\n#7 1 eof\n#7 end\n", NULL, 0 },
	{ "two connections", "@1 > S 0, @2 > S 0, @2 > 1 'b', @1 > 1 'a', "
	  "@2 < R 0 a2",
	  OPEN "#2 open syn [2]\n#3 0 b [2]\n#4 0 a\n#5 1 rst/1 [2]\n"
	  "#5 0 rst/1 [2]\n#5 end [2]\n#5 0 eof\n#5 1 eof\n#5 end\n", NULL, 0 },
};

struct world {
	struct buf out;
	struct flows *fs;
	struct at at;
	uint32_t isn[2];
	bool deaf;
	unsigned open;		/* connections not ended */
};

struct conn {
	struct world *w;
	uint32_t id;
	bool closed[2];
};

static void
note(const struct conn *c, struct at at, int dir, const char *what, size_t n)
{
	struct buf *out = &c->w->out;

	(void)buf_fmt(out, "#%u ", at.pkt);
	if (dir >= 0)
		(void)buf_fmt(out, "%d ", dir);
	(void)buf_add(out, what, n);
	if (c->id > 1)
		(void)buf_fmt(out, " [%u]", c->id);
	(void)buf_addc(out, '\n');
}

static void *
on_open(void *arg, const struct flow_conn *fc, struct at at)
{
	struct conn *c = calloc(1, sizeof *c);

	assert_non_null(c);
	c->w = arg;
	c->w->open++;
	c->id = fc->id;
	note(c, at, -1, fc->start == FLOW_SYN ? "open syn" : "open mid", 8);
	if (fc->start == FLOW_SYN)
		assert_int_equal(fc->addr[1].port, 80);
	return c;
}

static bool
on_data(void *arg, int dir, const uint8_t *p, size_t n, struct at at)
{
	struct conn *c = arg;

	assert_false(c->closed[dir]);
	assert_true(n > 0);
	note(c, at, dir, (const char *)p, n);
	return !c->w->deaf;
}

static void
on_gap(void *arg, int dir, uint64_t n, struct at at)
{
	struct conn *c = arg;
	char text[32];

	assert_false(c->closed[dir]);
	assert_true(n > 0);
	note(c, at, dir, text, (size_t)snprintf(text, sizeof text, "gap %u",
	    (unsigned)n));
}

static void
on_close(void *arg, int dir, enum flow_close why, int by, struct at at)
{
	static const char *const names[] = {
		"fin", "rst", "evicted", "eof", "reused",
	};
	struct conn *c = arg;
	char text[32];
	int n;

	assert_false(c->closed[dir]);
	c->closed[dir] = true;
	n = snprintf(text, sizeof text, by < 0 ? "%s" : "%s/%d", names[why], by);
	note(c, at, dir, text, (size_t)n);
}

static void
on_stall(void *arg, int dir, uint64_t bytes, bool zero, struct at since,
    struct at now)
{
	char text[64];

	note(arg, now, dir, text, (size_t)snprintf(text, sizeof text,
	    "%s %u since %u", zero ? "zero" : "stall", (unsigned)bytes,
	    since.pkt));
}

static void
on_odd(void *arg, int dir, enum flow_odd odd, struct at at)
{
	static const char *const names[] = { "conflict", "limit", "after-fin" };

	note(arg, at, dir, names[odd], strlen(names[odd]));
}

static void
on_end(void *arg, struct at at)
{
	struct conn *c = arg;

	assert_true(c->closed[0] && c->closed[1]);
	note(c, at, -1, "end", 3);
	c->w->open--;
	free(c);
}

static const struct flow_ops ops = {
	on_open, on_data, on_gap, on_close, on_stall, on_odd, on_end, NULL,
};

static uint32_t
number(const char **p)
{
	char *end;
	unsigned long v = strtoul(*p, &end, 10);

	assert_ptr_not_equal(*p, end);
	*p = end;
	return (uint32_t)v;
}

static struct addr
end_of(uint16_t port)
{
	return (struct addr){ .ip = { 10, 0, 0, port == 80 }, .port = port };
}

/* One packet of a scenario, from its > or <; the payload ends at a guard. */
static void
packet(struct world *w, const char **in, uint16_t port)
{
	int dir = *(*in)++ == '<';
	uint32_t times = **in >= '0' && **in <= '9' ? number(in) : 1;
	struct seg s = {
		.src = end_of(dir ? 80 : port), .dst = end_of(dir ? port : 80),
		.win = 500, .ifindex = 1, .seq = w->isn[dir],
	};
	const char *text = "";
	struct guard g;

	for (; **in && **in != ','; ) {
		char c = *(*in)++;

		switch (c) {
		case ' ': break;
		case 'S': s.flags |= TCP_SYN; break;
		case 'F': s.flags |= TCP_FIN; break;
		case 'R': s.flags |= TCP_RST; break;
		case 'P': s.flags |= TCP_PSH; break;
		case 'a':
			s.flags |= TCP_ACK;
			s.ack = w->isn[!dir] + number(in);
			break;
		case 'w': s.win = number(in); break;
		case 'i': s.ifindex = number(in); break;
		case 'c': s.cut = number(in); break;
		case '\'':
			text = *in;
			*in = strchr(text, '\'') + 1;
			s.len = (uint32_t)(*in - text - 1);
			break;
		default:
			--*in;
			s.seq += number(in);
		}
	}
	g = guard_of(text, s.len);
	s.data = g.p;
	while (times-- > 0) {
		w->at.t += NS_MS / 10;
		w->at.pkt++;
		s.at = w->at;
		flows_seg(w->fs, &s);
	}
	guard_free(&g);
}

static void
play(struct world *w, const char *in)
{
	uint16_t port = 1001;

	while (*in) {
		if (*in == ' ' || *in == ',')
			in++;
		else if (*in == '+') {
			in++;
			w->at.t += number(&in) * NS_MS;
		} else if (*in == '@') {
			in++;
			port = (uint16_t)(1000 + number(&in));
		} else if (*in == '>' || *in == '<')
			packet(w, &in, port);
		else if (strncmp(in, "tick", 4) == 0) {
			flows_tick(w->fs, w->at.t);
			in += 4;
		} else if (strncmp(in, "deaf", 4) == 0) {
			w->deaf = true;
			in += 4;
		} else
			fail_msg("scenario: %s", in);
	}
	flows_eof(w->fs, w->at);
	assert_int_equal(w->open, 0);
}

static void
run_rows(void **state)
{
	static const uint32_t isns[][2] = {
		{ 0, 0 }, { 1000, 0xfffffffd }, { 0xffffffff, 0xfffffffe },
		{ 0x7ffffffe, 0x7fffffff }, { 0xfffffff6, 0x80000000 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows) * N_ROWS(isns); i++) {
		const struct row *row = &rows[i / N_ROWS(isns)];
		struct world w = { .at = { 1000 * NS_S, 0 } };
		const struct flow_stats *st;
		struct limits l;
		char stats[128];

		limits_init(&l);
		if (row->ooo)
			l.ooo = row->ooo;
		buf_init(&w.out, 4096);
		memcpy(w.isn, isns[i % N_ROWS(isns)], sizeof w.isn);
		w.fs = flows_new(&l, &ops, &w);
		play(&w, row->in);
		st = flows_stats(w.fs);
		(void)snprintf(stats, sizeof stats, "%u %u %u %u %u %u",
		    (unsigned)st->retransmits, (unsigned)st->duplicates,
		    (unsigned)st->out_of_order, (unsigned)st->conflicts,
		    (unsigned)st->gaps, (unsigned)st->gap_bytes);
		if (!str_eq(buf_str(&w.out), str_c(row->want)))
			fail_msg("%s (ISN %u): got\n%.*s", row->name,
			    (unsigned)(i % N_ROWS(isns)), STR_ARG(buf_str(&w.out)));
		if (row->stats && strcmp(stats, row->stats) != 0)
			fail_msg("%s: stats %s", row->name, stats);
		flows_free(w.fs);
		buf_fini(&w.out);
	}
	flows_free(NULL);
}

/* What many packets come to. */
struct sums {
	uint64_t data, gap, ends, evicted, limit;
	uint32_t last_ended;
};

struct sum_conn {
	struct sums *s;
	uint32_t id;
};

static void *
sum_open(void *arg, const struct flow_conn *fc, struct at at)
{
	struct sum_conn *c = calloc(1, sizeof *c);

	(void)at;
	assert_non_null(c);
	*c = (struct sum_conn){ arg, fc->id };
	return c;
}

static bool
sum_data(void *c, int dir, const uint8_t *p, size_t n, struct at at)
{
	(void)c, (void)dir, (void)p, (void)at;
	((struct sum_conn *)c)->s->data += n;
	return true;
}

static void
sum_gap(void *c, int dir, uint64_t n, struct at at)
{
	(void)c, (void)dir, (void)at;
	((struct sum_conn *)c)->s->gap += n;
}

static void
sum_close(void *c, int dir, enum flow_close why, int by, struct at at)
{
	(void)c, (void)dir, (void)by, (void)at;
	((struct sum_conn *)c)->s->evicted += why == FLOW_EVICTED;
}

static void
sum_odd(void *c, int dir, enum flow_odd odd, struct at at)
{
	(void)c, (void)dir, (void)at;
	((struct sum_conn *)c)->s->limit += odd == FLOW_OOO_LIMIT;
}

static void
sum_end(void *arg, struct at at)
{
	struct sum_conn *c = arg;

	(void)at;
	c->s->last_ended = c->id;
	c->s->ends++;
	free(c);
}

static const struct flow_ops sum_ops = {
	sum_open, sum_data, sum_gap, sum_close, NULL, sum_odd, sum_end, NULL,
};

static struct flows *
sum_new(struct sums *sums, uint64_t flows)
{
	struct limits l;

	limits_init(&l);
	l.flows = flows;
	*sums = (struct sums){ .data = 0 };
	return flows_new(&l, &sum_ops, sums);
}

/* A packet from client number i. */
static struct seg
from_client(uint32_t i, ns_t t, uint8_t flags)
{
	return (struct seg){
		.src = { .ip = { 10, 1, (uint8_t)(i >> 8), (uint8_t)i },
		    .port = (uint16_t)(1024 + (i >> 16)) },
		.dst = end_of(80), .flags = flags, .seq = i, .win = 1,
		.at = { t, i + 1 }, .data = (const uint8_t *)"x",
	};
}

/* The longest idle one goes; closed ones go first. */
static void
evict(void **state)
{
	struct sums sums;
	struct flows *fs = sum_new(&sums, 16);
	struct seg s;

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		s = from_client(i, (1000 + i * 2) * NS_S, TCP_SYN);
		flows_seg(fs, &s);
	}
	s = from_client(0, 1040 * NS_S, TCP_ACK);
	flows_seg(fs, &s);
	s = from_client(5, 1040 * NS_S, TCP_RST);
	flows_seg(fs, &s);
	assert_int_equal(sums.ends, 1);
	s = from_client(20, 1041 * NS_S, TCP_SYN);
	flows_seg(fs, &s);
	assert_int_equal(sums.ends, 1);
	s = from_client(21, 1042 * NS_S, TCP_SYN);
	flows_seg(fs, &s);
	assert_int_equal(sums.last_ended, 2);
	s = from_client(2, 1043 * NS_S, TCP_FIN | TCP_ACK);
	s.seq++;
	flows_seg(fs, &s);		/* half closed, and now the newest */
	s = from_client(22, 1044 * NS_S, TCP_SYN);
	flows_seg(fs, &s);
	assert_int_equal(sums.last_ended, 4);
	assert_int_equal(flows_stats(fs)->evicted, 2);
	assert_int_equal(sums.evicted, 4);
	flows_eof(fs, s.at);
	assert_int_equal(sums.ends, 19);
	assert_int_equal(flows_stats(fs)->connections, 19);
	flows_free(fs);
}

static void
syn_flood(void **state)
{
	const uint32_t n = 200000, kept = 5000;
	struct sums sums;
	struct flows *fs = sum_new(&sums, kept);

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		struct seg s = from_client(i, (ns_t)i * NS_US, TCP_SYN);

		flows_seg(fs, &s);
		assert_int_equal(sums.ends, i < kept ? 0 : i + 1 - kept);
		if (i % 10000 == 0)
			flows_tick(fs, s.at.t);
	}
	assert_int_equal(sums.last_ended, n - kept);
	flows_eof(fs, (struct at){ n * NS_US, n });
	assert_int_equal(sums.ends, n);
	flows_free(fs);
}

/* One byte each, in orders that are hard on lists; every byte is accounted
 * for, and nothing takes for ever. */
static void
one_byte_each(void **state)
{
	enum { N = 100000 };

	(void)state;
	for (int order = 0; order < 5; order++) {
		struct sums sums;
		struct flows *fs = sum_new(&sums, 16);
		struct seg s = from_client(0, NS_S, TCP_SYN);
		uint64_t top = N;

		flows_seg(fs, &s);
		s.flags = TCP_ACK;
		s.len = 1;
		for (uint32_t i = 1; i < N; i++) {
			uint32_t at = i;	/* 0 is never sent */

			if (order == 1)
				at = N - i;
			else if (order == 2)	/* every byte, scattered */
				at = (uint32_t)((uint64_t)i * 7919 % N);
			else if (order == 3)	/* holes everywhere */
				at = i * 2;
			else if (order == 4)	/* from both sides inwards */
				at = i % 2 ? i : 2 * N - i;
			top = at >= top ? at + 1 : top;
			s.seq = 1 + at;
			s.at = (struct at){ NS_S + i, i + 1 };
			flows_seg(fs, &s);
		}
		flows_eof(fs, s.at);
		assert_true(sums.data + sums.gap == top);
		assert_true(sums.limit > 0);
		flows_free(fs);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_rows),
		cmocka_unit_test(evict),
		cmocka_unit_test(syn_flood),
		cmocka_unit_test(one_byte_each),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
