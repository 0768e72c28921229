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
print(*(f["detector"] for f in d["findings"] if f["detector"] != "contract"))'
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

# -Y
shown()				# shown EXPR ARGS...: findings, sessions, streams
{
	local expr=$1
	shift
	"$bin" analyze -T json -Y "$expr" "$@" "$leap" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print("+".join(f["detector"] for f in d["findings"] if f["detector"] != "contract"), len(d["sessions"]),
    ",".join(str(s["n"]) for s in d["streams"]))
for s in d["sessions"]:
    assert set(s["streams"]) <= {t["n"] for t in d["streams"]}, s["streams"]'
}
every="$all 1 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
every=${every/ /+}
filters()			# filters EXPR WANT
{
	local got
	got=$(shown "$1")
	if [ "$got" = "$2" ]; then ok "-Y $1"; else not_ok "-Y $1" "got $got, want $2"; fi
}
id=$("$bin" analyze -T json "$leap" | python3 -c 'import json, sys
print(json.load(sys.stdin)["sessions"][0]["id"])')
filters "session == $id" "$every"
filters "session == ${id:1:4}" "$every"
filters "session != ${id:1:4}" " 0 "
filters 'kind == standalone' 'leapfrog 1 2'
filters 'detector == replay-loop' 'replay-loop 1 '
filters 'detector == leapfrog and kind == standalone' 'leapfrog 1 2'
filters 'stream in {2, 5}' 'leapfrog 1 2,5'
filters 'severity >= warning && stream < 6' 'leapfrog 1 2,5'
filters 'status == 500' ' 1 '
filters 'method == DELETE' ' 0 '
filters 'time == 10.5..10.6' 'leapfrog+replay-loop 1 8'
filters 'packet == 118' 'leapfrog 1 13'
filters 'client ~ typescript && !(kind == post-response)' 'leapfrog+replay-loop 1 2,5,6,8,9,10,12,13,15'
run analyze -Y 'method == DELETE' "$leap"
check "-Y leaves the verdict" grep -q '^leapfrog: ' <(head -n 1 "$tmp/out")
check "-Y leaves the exit status" test "$status" -eq 1
check "-Y is said in a note" grep -q 'shows 0 of [0-9]* findings, 0 of 1 session, 0 of 15 event streams' "$tmp/out"
run analyze -Y 'detector == replay-loop' "$leap"
check "-Y: the first finding shown has its title" grep -q '^  [0-9A-Za-z].*event' <(sed -n 4p "$tmp/out")
check "-Y and --ignore" test "$(shown 'kind == standalone' --ignore leapfrog)" = " 1 2"
run analyze -T ndjson -Y 'status == 500' "$leap"
check "-Y: the events that match" python3 -c 'import json, sys
e = [json.loads(x) for x in open(sys.argv[1])]
assert [x["type"] for x in e if x["type"] in ("file", "end")] == ["file", "end"]
e = e[:-2] if e[-2]["type"] == "file" else [x for x in e if x["type"] not in ("file", "end")]
assert e and all(x["type"] == "response_end" or x["status"] == 500 for x in e if x["type"].startswith("response"))
assert not [x for x in e if x["type"] in ("sse", "stream", "finding")]' "$tmp/out"
"$bin" analyze -T ndjson "$leap" >"$tmp/events.ndjson"
check "-Y of events is that of the capture" cmp -s \
	<("$bin" analyze -Y 'method == tools/call or packet > 100' "$leap") \
	<("$bin" analyze -Y 'method == tools/call or packet > 100' "$tmp/events.ndjson")
says "-Y: where the fault is" 2 '^mcpdiag analyze: --where: column 6: equality is ==' analyze -Y 'kind = legacy' "$leap"
check "-Y: and a caret under it" grep -q '^       ^$' "$tmp/err"
says "-Y: what is possible" 2 'no kind standlone; there are post-response, standalone' analyze -Y 'kind == standlone' "$leap"
says "-Y: no such detector" 2 'no detector frog; .mcpdiag explain' analyze --where 'detector == frog' "$leap"
esc=$(printf '\033[31m')
says "-Y: an expression is not obeyed" 2 '\\x1b' analyze -Y "kind == $esc" "$leap"
finish
