#!/usr/bin/env bash
# Exit statuses, and the sentence that goes with each.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
leap=captures/leapfrog-rmcp0.15.0-ts1.23.pcap
clean=captures/01-clean-ts1.32.pcap

# A pcap header with this snap length and link type, no packets.
pcap_header() { printf '\324\303\262\241\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\001\0\0\0'; }

exits "an error is found" 1 analyze "$leap"
exits "nothing is found" 0 analyze "$clean"
exits "--fail-on none" 0 analyze --fail-on none "$leap"
exits "--fail-on info" 1 analyze --fail-on info "$leap"
exits "the same in json" 1 analyze -T json "$leap"
exits "the same in ndjson" 1 analyze -T ndjson "$leap"
exits "the same for nobody to read" 1 analyze -qq "$leap"
check "-qq prints nothing" test ! -s "$tmp/out"

says "a missing file" 3 'nowhere.pcap: No such file' analyze nowhere.pcap
says "a missing file among others" 3 'nowhere.pcap: No such file' analyze "$clean" nowhere.pcap
: >"$tmp/empty"
says "an empty file" 3 "empty: " analyze "$tmp/empty"
says "an empty standard input" 3 '^mcpdiag: -: ' analyze -
echo 'hello, this is no capture at all' >"$tmp/text"
says "no capture" 3 'text: ' analyze "$tmp/text"
says "a folder" 3 'captures: ' analyze captures
pcap_header >"$tmp/none.pcap"
exits "a capture without packets is sound" 0 analyze "$tmp/none.pcap"
prints "and it is said" '^no packets in the capture' analyze "$tmp/none.pcap"
prints "a filter that lets nothing pass is named" '^no packet passes the filter' analyze -f 'tcp port 1' captures/leapfrog-rmcp0.15.0-ts1.23.pcap
run analyze --require-mcp "$tmp/none.pcap"
check "but not with --require-mcp" test "$status" -eq 3
check "which is said too" grep -q 'no packets' "$tmp/err"
exits "--require-mcp with MCP" 0 analyze --require-mcp "$clean"
exits "a filter that keeps everything out" 0 analyze -f 'udp port 53' "$clean"
prints "says so" 'the filter let 0 of 53 packets pass' analyze -f 'udp port 53' "$clean"

# Ethernet frames that are no IP: a capture with packets, but no TCP.
{
	pcap_header
	printf '\1\0\0\0\0\0\0\0\074\0\0\0\074\0\0\0'
	printf '\377\377\377\377\377\377\2\0\0\0\0\1\10\6'
	head -c 46 /dev/zero
} >"$tmp/arp.pcap"
exits "packets but no TCP" 0 analyze "$tmp/arp.pcap"
prints "and it is said" '^no TCP in 1 packet: ' analyze "$tmp/arp.pcap"

# Cut in the last record: a note, no doubt about the answer.
head -c -3 "$clean" >"$tmp/cut.pcap"
exits "a file cut in its last record" 0 analyze "$tmp/cut.pcap"
prints "and it is said" 'cut.pcap ends inside a record' analyze "$tmp/cut.pcap"

# Every response body is cut away: nobody can tell.
if command -v editcap >/dev/null; then
	editcap -s 90 "$clean" "$tmp/snap.pcap"
	exits "cut by the snap length" 6 analyze "$tmp/snap.pcap"
	prints "says why" '^cannot tell: .*snap length' analyze "$tmp/snap.pcap"
	exits "--allow-incomplete" 0 analyze --allow-incomplete "$tmp/snap.pcap"
	exits "--fail-on none asks for no answer" 0 analyze --fail-on none "$tmp/snap.pcap"
	says "--require-mcp comes first" 3 'no MCP could be read' \
		analyze -qq --require-mcp "$tmp/snap.pcap"
else
	ok "cut by the snap length # SKIP no editcap"
fi

exits "an output that cannot be written" 4 analyze -o "$tmp/no/such/folder" "$clean"
exits "an output that is a folder" 4 analyze -o "$tmp" "$clean"
if [ -w /dev/full ]; then
	"$bin" analyze "$clean" >/dev/full 2>"$tmp/err"
	check "a full disk" test $? -eq 4
	check "is named" grep -q 'No space left' "$tmp/err"
fi
finish
