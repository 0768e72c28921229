#!/usr/bin/env bash
# Known findings: written, left out, stale.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
leap=captures/leapfrog-rmcp0.15.0-ts1.23.pcap
clean=captures/01-clean-ts1.32.pcap
b=$tmp/known.txt
# Remarks on the specification are left out, so that others may come.
run()
{
	local verb=$1
	shift
	"$bin" "$verb" --ignore contract "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	out=$(<"$tmp/out")
	err=$(<"$tmp/err")
}

exits "--write-baseline leaves the exit status" 1 analyze -qq --write-baseline "$b" "$leap"
check "what is found, a line each" test "$(grep -v '^#' "$b")" = \
	"leapfrog rmcp-probe ts"$'\n'"replay-loop/inclusive rmcp-probe ts"
exits "all known: exit 0" 0 analyze --baseline "$b" "$leap"
check "a note says how many" grep -q '^note  *2 known findings of the baseline' "$tmp/out"
check "they are not shown" test -z "$(grep '^error' "$tmp/out")"
check "the verdict does not call it clean" grep -q '^no fault found beside the 1 left out' "$tmp/out"
check "nothing on stderr" test ! -s "$tmp/err"
run analyze -T json --baseline "$b" "$leap"
check "nor are they in json" grep -q '"findings": \[\]' "$tmp/out"
run analyze -T ndjson --baseline "$b" "$leap"
check "nor in ndjson" test -z "$(grep '"finding"' "$tmp/out")"
run analyze -T ndjson "$leap"
check "where they would be" grep -q '"finding"' "$tmp/out"

sed -i '/^leapfrog/d' "$b"
exits "what is not listed counts" 1 analyze --baseline "$b" "$leap"
check "and is shown alone" test "$(grep -c '^error\|^  *info' "$tmp/out")" -eq 1
{
	echo "# a comment"
	echo "leapfrog * ts   # any server"
	echo "replay-loop/inclusive rmcp-probe *"
} >"$b"
exits "names that stand for any" 0 analyze --baseline "$b" "$leap"

echo "stale-slot rmcp-probe ts" >>"$b"
exits "a stale entry: exit 1" 1 analyze --baseline "$b" "$leap"
check "named on stderr" grep -q 'known.txt, line 4 is stale: "stale-slot rmcp-probe ts" was not found; take it out$' "$tmp/err"
check "and in a note" grep -q '^note .*line 4 is stale' "$tmp/out"
run analyze -qq --baseline "$b" "$leap"
check "-qq: only the status" test "$status$out$err" = 1
exits "all stale in a clean capture" 1 analyze --baseline "$b" "$clean"
check "each one is named" test "$(grep -c 'is stale' "$tmp/err")" -eq 3
exits "an entry that --ignore leaves out is not stale" 0 analyze --baseline "$b" --ignore stale-slot "$leap"
exits "nor one that --only leaves out" 0 analyze --baseline "$b" --only leapfrog "$leap"
exits "nor any when something hides findings" 6 analyze --baseline "$b" --ignore leapfrog captures/19-random-loss-leapfrog.pcap
check "then none is named" test ! -s "$tmp/err"
exits "--fail-on none" 0 analyze --baseline "$b" --fail-on none "$leap"

run analyze -qq --baseline "$b" --write-baseline "$b" "$leap"
check "both on one file: what is found" test "$(grep -c '^[a-z]' "$b")" -eq 2
run analyze -qq --write-baseline "$b" "$clean"
check "nothing found: no entry" test "$(grep -c '^[a-z]' "$b")" -eq 0
exits "which is a baseline too" 0 analyze --baseline "$b" "$clean"
run analyze -qq --only leapfrog --write-baseline "$b" "$leap"
check "--only goes for what is written" test "$(grep -c '^[a-z]' "$b")" -eq 1

says "no such file" 3 'baseline.*nowhere: No such file' analyze --baseline "$tmp/nowhere" "$leap"
echo "leapfrog" >"$tmp/bad.txt"
says "a line that is no entry" 3 'bad.txt: line 1: an entry is DETECTOR' analyze --baseline "$tmp/bad.txt" "$leap"
says "a capture for a baseline" 3 'line 1: ' analyze --baseline "$leap" "$leap"
cp "$leap" "$tmp/in.pcap"
says "over an input" 2 'is an input too' analyze -qq --write-baseline "$tmp/in.pcap" "$tmp/in.pcap"
says "where nothing can be written" 4 'write-baseline .*nowhere' analyze -qq --write-baseline "$tmp/nowhere/b" "$leap"
finish
