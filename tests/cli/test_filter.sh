#!/usr/bin/env bash
# Which findings, sessions, streams and events are shown, and which count.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
leap=captures/leapfrog-rmcp0.15.0-ts1.23.pcap

# detectors ARGS...: those of the JSON document, in one line.
detectors()
{
	"$bin" analyze -T json "$@" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(*(f["detector"] for f in d["findings"]))'
}
all=$(detectors "$leap")
check "a capture with two findings" test "$all" = "leapfrog replay-loop"

# --only, --ignore
check "--only" test "$(detectors --only replay-loop "$leap")" = replay-loop
check "--ignore" test "$(detectors --ignore leapfrog "$leap")" = replay-loop
check "--only of two" test "$(detectors --only replay-loop,leapfrog "$leap")" = "$all"
check "--only twice" test "$(detectors --only replay-loop --only leapfrog "$leap")" = "$all"
check "--ignore wins" test -z "$(detectors --only leapfrog --ignore leapfrog "$leap")"
variant=$("$bin" analyze -T json "$leap" | python3 -c 'import json, sys
print(json.load(sys.stdin)["findings"][1]["variant"])')
check "--ignore of a variant" test "$(detectors --ignore "replay-loop/$variant" "$leap")" = leapfrog
check "--ignore of another variant" test "$(detectors --ignore replay-loop/other "$leap")" = "$all"
check "a variant is not an absent one" test "$(detectors --only leapfrog/chain,replay-loop "$leap")" = replay-loop
exits "what is ignored does not count" 0 analyze --ignore leapfrog "$leap"
exits "what is left counts" 1 analyze --ignore replay-loop "$leap"
exits "unless it is below the level" 1 analyze --ignore leapfrog --fail-on info "$leap"
run analyze --ignore leapfrog,replay-loop "$leap"
check "a note says how many" grep -q '^note  *2 findings are left out by --only or --ignore' "$tmp/out"
check "the verdict does not call it clean" grep -q '^no fault found beside the 1 left out' "$tmp/out"
run analyze --ignore leapfrog "$leap"
check "no word of what is above" test -z "$(grep 'follows from the above' "$tmp/out")"
run analyze -T ndjson --only replay-loop "$leap"
check "ndjson too" test "$(grep -c '"type":"finding"' "$tmp/out")" -eq "$(grep -c '"detector": "replay-loop"' "$tmp/out")"
check "ndjson has the one" grep -q '"detector": "replay-loop"' "$tmp/out"
says "--only of no detector" 2 '--only: no detector leapfork; did you mean leapfrog' analyze --only leapfork "$leap"
says "--ignore of an empty name" 2 '--ignore: no detector ;' analyze --ignore leapfrog, "$leap"
finish
