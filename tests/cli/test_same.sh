#!/usr/bin/env bash
# Same input, same bytes: every format, all detectors, a second time and under
# other seeds of the hash tables.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
captures="leapfrog-rmcp0.15.0-ts1.23.pcap shadow-eviction-loop-rmcp0.17.0.pcap 19-random-loss-leapfrog.pcap 27-sse-torture.pcap
conflict-409-rmcp0.15.901-eventsource.pcap 19-pcapng-two-linktypes.pcapng 16-https-no-keys.pcap 28-http-shapes.pcap"

# outputs CAPTURE: all of them, one after the other
outputs()
{
	local f
	for f in text json ndjson junit markdown; do
		echo "== $f"
		"$bin" analyze --show-secrets -T "$f" "$1"
	done
	echo "== verbose"
	"$bin" analyze -v --lint "$1"
}

n=0
for c in $captures; do
	[ -e "captures/$c" ] || continue
	n=$((n + 1))
	MCPDIAG_HASH_SEED=1 outputs "captures/$c" >"$tmp/first" 2>&1
	same=yes
	for seed in 1 2 0x123456789abcdef ''; do
		if [ -n "$seed" ]; then
			MCPDIAG_HASH_SEED=$seed outputs "captures/$c"
		else
			outputs "captures/$c"	# one of its own
		fi >"$tmp/again" 2>&1
		cmp -s "$tmp/first" "$tmp/again" || same="no: seed $seed $(diff "$tmp/first" "$tmp/again" | head -n 4)"
	done
	if [ "$same" = yes ]; then ok "the same bytes: $c"; else not_ok "the same bytes: $c" "$same"; fi
	check "all formats say something of it" test "$(grep -c '^== ' "$tmp/first")" -eq 6
done
check "there were captures" test "$n" -ge 7
finish
