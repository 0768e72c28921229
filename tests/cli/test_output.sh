#!/usr/bin/env bash
# Where the output goes, in which form and colour, and how it ends.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
leap=captures/leapfrog-rmcp0.15.0-ts1.23.pcap
clean=captures/01-clean-ts1.32.pcap
esc=$(printf '\033')
piped()				# piped FILE ARGS...: through a real pipe
{
	local file=$1
	shift
	tail -c +1 "$file" | "$bin" analyze "$@"
}

# The forms.
run analyze "$leap"
text=$out
check "text: the verdict is the first line" grep -q '^leapfrog: ' <(head -n 1 "$tmp/out")
check "nothing on stderr" test ! -s "$tmp/err"
run analyze -T json "$leap"
json=$out
check "json parses" python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$tmp/out"
run analyze -T ndjson "$leap"
cp "$tmp/out" "$tmp/events.ndjson"
check "each line of ndjson parses" python3 -c '
import json, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
assert all(x["v"] == 1 and x["type"] and isinstance(x["ns"], int) for x in lines)
assert lines[-1]["type"] == "end"
assert any(x["type"] == "finding" and "final" in x.get("flags", []) for x in lines)' "$tmp/out"

run analyze "$clean"
check "a clean wire is a verdict of its own" grep -q 'to the last byte: the wire is clean, look at the endpoints$' <(head -n 1 "$tmp/out")
check "with what was checked" grep -q '^next  *Sessions, streams' "$tmp/out"
run analyze -f 'tcp[tcpflags] & tcp-syn == 0' "$clean"
check "not of a part of the capture" test -z "$(grep -e 'wire is clean' "$tmp/out")"
# junit: the counts are those of the cases, and the cases those of the rules.
# shellcheck disable=SC2317 # check calls it
junit()				# junit WANT ARGS...: "failures errors skipped", and each case
{
	local want=$1
	shift
	"$bin" analyze -T junit "$@" >"$tmp/report.xml" 2>/dev/null
	python3 -c '
import sys, xml.etree.ElementTree as E
root = E.parse(sys.argv[1]).getroot()
suite, = root
cases = suite.findall("testcase")
assert root.tag == "testsuites" and suite.tag == "testsuite"
assert int(suite.get("tests")) == len(cases) == len({c.get("name") for c in cases})
assert all(c.get("classname") and c.get("time") is not None for c in cases)
got = [sum(len(c.findall(t)) for c in cases) for t in ("failure", "error", "skipped")]
for t, n in zip(("failures", "errors", "skipped"), got):
    assert int(suite.get(t)) == int(root.get(t)) == n, (t, n)
for c in cases:
    assert {x.tag for x in c} <= {"failure", "error", "skipped", "system-out"}, c
    for f in c.findall("failure"):
        assert f.get("message") and f.get("type") and "packet" in f.text
assert " ".join(map(str, got)) == sys.argv[2], got
want = sys.argv[3].split()
assert [c.get("name") for c in cases][:len(want)] == want, [c.get("name") for c in cases]
' "$tmp/report.xml" "$want" "$rules"
}
rules="$("$bin" explain | sed '/^$/,$d' | cut -d' ' -f1) capture"
check "junit of a leapfrog" junit "1 0 0" "$leap"
check "junit of a clean capture" junit "0 0 0" "$clean"
check "junit: what is not a failure" junit "0 0 0" --fail-on none "$leap"
rules=${rules/leapfrog/}
check "junit of losses" junit "0 1 0" --ignore leapfrog captures/19-random-loss-leapfrog.pcap
check "junit of losses that are allowed" junit "0 0 1" --allow-incomplete --ignore leapfrog captures/19-random-loss-leapfrog.pcap
rules="leapfrog replay-loop capture"
check "junit: --fail-on info" junit "2 0 0" --fail-on info --only leapfrog,replay-loop "$leap"
rules="replay-loop capture"
check "junit: the cases follow --only" junit "0 0 0" --only replay-loop "$leap"
run analyze -T markdown "$leap"
check "markdown: the verdict first" grep -q '^\*\*Verdict:\*\* leapfrog: ' <(head -n 1 "$tmp/out")
check "markdown: details closed" test "$(grep -c '^<details>$' "$tmp/out")" -eq "$(grep -c '^</details>$' "$tmp/out")"
for form in text json ndjson junit markdown; do
	check "$form: from events the same, twice the same" test \
		"$("$bin" analyze -T "$form" "$leap" | sha256sum)$("$bin" analyze -T "$form" "$leap" | sha256sum)" = \
		"$("$bin" analyze -T "$form" "$tmp/events.ndjson" | sha256sum)$("$bin" analyze -T "$form" "$leap" | sha256sum)"
done

# An event file in place of the capture, in every way it may come.
run analyze "$tmp/events.ndjson"
check "text from events is the same" test "$out" = "$text"
check "and so is the exit status" test "$status" -eq 1
run analyze -T json "$tmp/events.ndjson"
check "json from events is the same" test "$out" = "$json"
check "events from events too" cmp -s "$tmp/events.ndjson" <("$bin" analyze -T ndjson "$tmp/events.ndjson")
check "events from a pipe" test "$("$bin" analyze - <"$tmp/events.ndjson")" = "$text"
check "events from standard input" test "$(piped "$tmp/events.ndjson")" = "$text"
says "events beside a capture" 2 'analyze it alone' analyze "$clean" "$tmp/events.ndjson"
says "events and a filter" 2 'need packets' analyze -f tcp "$tmp/events.ndjson"
{ sed 5d "$tmp/events.ndjson"; echo '{"v":1,"type":"gap"'; } >"$tmp/damaged.ndjson"
prints "a damaged line of events" '1 line of the event file could not be read' \
	analyze "$tmp/damaged.ndjson"
sed '$d' "$tmp/events.ndjson" >"$tmp/cut.ndjson"
prints "events without an end" "has no .end. event" analyze "$tmp/cut.ndjson"
echo '{"hello":"world"}' >"$tmp/other.json"
says "JSON that is no event file" 3 'no event in it can be read' analyze "$tmp/other.json"

# The ways to name an input.
check "- is standard input" test "$("$bin" analyze -T json - <"$leap" |
	sed 's/"name": "-"/X/')" = "${json/\"name\": \"$leap\"/X}"
check "-r and standard input" test "$(piped "$leap" -r -)" = "$text"
check "no name is standard input" test "$("$bin" analyze <"$leap")" = "$text"
check "a name after other options" test "$("$bin" analyze -r "$leap")" = "$text"
gzip -c "$leap" >"$tmp/leap.pcap.gz"
check "gzip" test "$("$bin" analyze "$tmp/leap.pcap.gz")" = "$text"
check "gzip from a pipe" test "$(piped "$tmp/leap.pcap.gz")" = "$text"
prints "two files" '^seen     174 packets' analyze "$leap" "$clean"
prints "-c" '^seen     20 packets' analyze -c 20 "$leap"
prints "-f" '^seen     121 packets' analyze -f tcp "$leap"

# -q, -v
run analyze -q "$leap"
check "-q: findings only" grep -q '^error  leapfrog' <(head -n 1 "$tmp/out")
check "-q: no session" test -z "$(grep '^session' "$tmp/out")"
run analyze -q "$clean"
check "-q: nothing without a finding" test ! -s "$tmp/out"
run analyze -v "$leap"
check "-v: facts" grep -q '^  facts ' "$tmp/out"
check "-v: no elision" test -z "$(grep -e 'more (-v' "$tmp/out")"

# Remarks on the specification
run analyze "$leap"
check "remarks are one line" test "$(grep -c 'remark.* on the specification: --lint shows' "$tmp/out")" -eq 1
check "they are not shown" test -z "$(grep '^info  contract' "$tmp/out")"
run analyze --lint "$leap"
check "--lint shows them" grep -q '^info  contract (event-id-dup)' "$tmp/out"
check "and no longer counts them" test -z "$(grep 'on the specification' "$tmp/out")"
check "after the fault" grep -q '^error  leapfrog' <(sed '/contract/q' "$tmp/out")
check "--lint changes no status" test "$status" -eq 1
all=$("$bin" analyze -T json "$leap")
check "json has them anyway" grep -q '"detector": "contract"' <<<"$all"
check "--lint changes no json" test "$("$bin" analyze --lint -T json "$leap")" = "$all"

# -o
run analyze -o "$tmp/report.txt" "$leap"
check "-o writes the file" test "$(<"$tmp/report.txt")" = "$text"
check "-o leaves stdout empty" test ! -s "$tmp/out"
check "-o leaves nothing else" test "$(find "$tmp" -name 'report.txt*' | wc -l)" -eq 1
check "-o keeps the exit status" test "$status" -eq 1
echo old >"$tmp/old.txt"
chmod 600 "$tmp/old.txt"
"$bin" analyze -o "$tmp/old.txt" "$leap"
check "-o replaces a file" test "$(<"$tmp/old.txt")" = "$text"
check "-o keeps its mode" test "$(stat -c %a "$tmp/old.txt")" = 600
cp "$clean" "$tmp/in.pcap"
says "-o over an input" 2 'is an input too' analyze -o "$tmp/in.pcap" "$tmp/in.pcap"
ln "$tmp/in.pcap" "$tmp/link.pcap"
says "-o over an input by another name" 2 'is an input too' analyze -o "$tmp/link.pcap" "$tmp/in.pcap"
check "the input is still there" cmp -s "$clean" "$tmp/in.pcap"
run analyze -o "$tmp/never.txt" nowhere.pcap
check "-o writes nothing on an error" test ! -e "$tmp/never.txt"
check "-o - is stdout" test "$("$bin" analyze -o - "$leap")" = "$text"
check "-o of a device" "$bin" analyze --fail-on none -o /dev/null "$leap"

# Colour
run analyze "$leap"
check "no colour into a file" test -z "$(grep "$esc" "$tmp/out")"
run analyze --color always "$leap"
check "--color always" grep -q "^$esc\[1;31mleapfrog: " "$tmp/out"
check "colour changes no word" test "$(sed "s/$esc\[[0-9;]*m//g" "$tmp/out")" = "$text"
FORCE_COLOR=1 run analyze "$leap"
check "FORCE_COLOR" grep -q "$esc" "$tmp/out"
CLICOLOR_FORCE=1 run analyze "$leap"
check "CLICOLOR_FORCE" grep -q "$esc" "$tmp/out"
NO_COLOR=1 FORCE_COLOR=1 run analyze "$leap"
check "NO_COLOR wins over it" test -z "$(grep "$esc" "$tmp/out")"
NO_COLOR=1 run analyze --color always "$leap"
check "--color wins over NO_COLOR" grep -q "$esc" "$tmp/out"
FORCE_COLOR=1 run analyze --color never "$leap"
check "--color never" test -z "$(grep "$esc" "$tmp/out")"
FORCE_COLOR=1 run analyze -T json "$leap"
check "no colour in json" test "$out" = "$json"
if command -v script >/dev/null; then
	TERM=xterm script -qec "$bin analyze $leap" /dev/null >"$tmp/out"
	check "colour in a terminal" grep -q "$esc" "$tmp/out"
	TERM=dumb script -qec "$bin analyze $leap" /dev/null >"$tmp/out"
	check "but not in a dumb one" test -z "$(grep "$esc" "$tmp/out")"
	TERM=dumb COLUMNS=60 script -qec "$bin analyze -q $leap" /dev/null | tr -d '\r' >"$tmp/out"
	check "wraps at the terminal's width" \
		test "$(grep -v '^  stream\|^ *[0-9]' "$tmp/out" | awk '{ if (length > m) m = length } END { print m }')" -le 60
fi

# The ends of a pipe
"$bin" analyze -v -T ndjson "$leap" 2>"$tmp/err" | head -n 1 >/dev/null
check "| head is quiet" test ! -s "$tmp/err"
# with SIGPIPE ignored, as some parents have it
python3 -c '
import os, signal, subprocess, sys
r, w = os.pipe()
os.close(r)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
sys.exit(subprocess.run(sys.argv[1:], stdout=w, restore_signals=False).returncode)
' "$bin" analyze "$leap" 2>"$tmp/err"
status=$?
check "a reader that has gone is no error message" test ! -s "$tmp/err"
check "but a status of its own" test "$status" -eq 141

# Line by line while the input still comes
mkfifo "$tmp/fifo"
"$bin" analyze -l -T ndjson - <"$tmp/fifo" >"$tmp/live" &
pid=$!
exec 9>"$tmp/fifo"
head -c 12000 "$leap" >&9
for _ in $(seq 200); do
	[ -s "$tmp/live" ] && break
	sleep 0.05
done
check "-l: lines come before the end" test -s "$tmp/live"
kill -INT "$pid"
wait "$pid"
check "^C sums up what has come" grep -q '"type":"end"' <(tail -n 1 "$tmp/live")
exec 9>&-


# The same input gives the same bytes
check "deterministic" cmp -s <("$bin" analyze -T json "$leap") <("$bin" analyze -T json "$leap")
finish
