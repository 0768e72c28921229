#!/usr/bin/env bash
# mcpdiag replay: captured clients against servers that have the fault, that do
# not, and that are none.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh

leap=captures/leapfrog-rmcp0.15.0-eventsource.pcap
leap_truth=${leap%.pcap}.json

prints "--help" '^ *--allow METHOD' replay --help
says "no capture" 2 'no capture given' replay
says "no URL" 2 'no URL given' replay "$leap"
says "two URLs" 2 'one URL is enough' replay "$leap" http://a http://b
says "an option misspelt" 2 'did you mean --max-wait' replay --maxwait 1
says "a call without its tool" 2 'tools/call:TOOL' replay --allow tools/call "$leap" http://a
says "a tool without another" 2 'CAPTURED=LIVE' replay --tool poke "$leap" http://a
says "a client that is none" 2 'did you mean eventsource' replay --client eventsourc "$leap" http://a
says "a client without waiting" 2 'give --speed a number' replay --client go -x max "$leap" http://a
says "nothing to compare" 2 'nothing to compare' replay --client go --strict "$leap" http://a
says "a speed that is none" 2 'give a number, or max' replay -x fast "$leap" http://a
says "a negative speed" 2 'give a number, or max' replay --speed=-1 "$leap" http://a
says "no time" 2 'give seconds' replay --timeout 0 "$leap" http://a
says "too many" 2 'from 1 to 10000' replay --sessions 10001 "$leap" http://a
says "a header that is none" 2 "give 'Name: value'" replay -H x "$leap" http://a
says "a format" 2 'it is text or json' replay -T xml "$leap" http://a
says "no token file" 2 'No such file' replay --bearer-file "$tmp/none" "$leap" http://a
says "no token variable" 2 'no such variable' replay --bearer-env MCPDIAG_NONE "$leap" http://a
says "a filter that is none" 2 'where' replay -Y 'session ==' "$leap" http://a
says "it is pointed at" 2 '^ *\^$' replay -Y 'sesion == a' "$leap" http://a
says "no such file" 3 'expect.*none: No such file' replay --expect "$tmp/none" "$leap" http://a
says "a file that is none" 3 'it is no report' replay --expect "$leap" "$leap" http://a
echo '{"schema": "mcpdiag/2", "findings": []}' >"$tmp/else"
says "another schema" 3 'it is no report' replay --expect "$tmp/else" "$leap" http://a
echo '{"schema": "mcpdiag/1", "findings": []' >"$tmp/else"
says "half a file" 3 'it is no report' replay --expect "$tmp/else" "$leap" http://a
says "nothing to expect" 2 'leaves nothing' replay --expect x --fail-on none "$leap" http://a
says "no such capture" 3 'No such file' replay "$tmp/none" http://a
says "no capture at all" 3 '' replay tests/cli/lib.sh http://a

prints "--dry-run: how many" '^12 of 17 exchanges to play, by 1 client' replay --dry-run "$leap"
prints "--dry-run: what a GET comes after" \
	'GET, Last-Event-ID 1 .*from the end of 8, answer of 4, last id of 8$' replay --dry-run "$leap"
prints "--dry-run: side effects" 'tools/call poke: may have side effects; --allow tools/call:poke$' \
	replay --dry-run "$leap"
prints "--allow" '^17 of 17 exchanges' replay --dry-run --allow tools/call:poke "$leap"
prints "--where" '^3 of 17 exchanges' replay --dry-run -Y 'method == tools/list' "$leap"

"$bin" analyze -T ndjson "$leap" >"$tmp/events" 2>/dev/null
prints "a file of events" '^12 of 17 exchanges' replay --dry-run "$tmp/events"
prints "a file of events: bodies" 'tools/call poke: its body is not known$' \
	replay --dry-run --allow 'tools/call:*' "$tmp/events"

# serve ARGS...: a server; its URL in $url, its process in $server.
serve()
{
	rm -f "$tmp/serve"
	mkfifo "$tmp/serve"
	"$bin" serve --port 0 "$@" >"$tmp/serve" 2>/dev/null &
	server=$!
	read -r _ _ url <"$tmp/serve"
}
stop() { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; }

# Ten times as fast, and so the server's retry.
serve --policy replace --retry 300
run replay -x 10 -w "$tmp/live.pcapng" "$leap" "$url"
check "the fault is there: exit 1" test "$status" -eq 1
check "the fault is there: leapfrog" grep -q '^leapfrog: 2 listeners' "$tmp/out"
check "what was played" grep -q '^replay *12 of 17 exchanges played$' "$tmp/out"
check "the comparison" grep -q '^compare *[0-9]* of 12 exchanges differ' "$tmp/out"
run analyze "$tmp/live.pcapng"
check "-w: a capture with the same finding" test "$status" -eq 1
run replay -x 10 -T json "$leap" "$url"
check "-T json: exit 1" test "$status" -eq 1
if command -v python3 >/dev/null; then
	check "-T json" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "mcpdiag-replay/1"
assert len(d["exchanges"]) == 17 and d["played"] == 12
assert d["exchanges"][4]["allow"] == "tools/call:poke"
assert any(f["detector"] == "leapfrog" for f in d["analysis"]["findings"])
assert all(0 <= x["live"]["sent"] - x["live"]["due"] for x in d["exchanges"] if "live" in x)
' "$tmp/out"
else
	ok "-T json # SKIP no python3"
fi
run replay -qq -x 10 --fail-on none "$leap" "$url"
check "--fail-on none, -qq" test "$status" -eq 0 -a ! -s "$tmp/out"
run replay -qq -x 10 --write-baseline "$tmp/known" "$leap" "$url"
check "--write-baseline" grep -q '^leapfrog ' "$tmp/known"
run replay -x 10 --baseline "$tmp/known" "$leap" "$url"
check "--baseline: as expected" test "$status" -eq 0
run replay -x 10 -T json "$leap" "$url"
cp "$tmp/out" "$tmp/replay.json"
expects()
{
	run replay -x 10 --expect "$@" "$leap" "$url"
}
expects "$tmp/replay.json"
check "--expect: it is as it was, exit 0" test "$status" -eq 0 -a ! -s "$tmp/err"
check "--expect: and that is said" grep -q 'replay.json says: 1 expected' "$tmp/out"
"$bin" analyze -T json "$leap" >"$tmp/analyze.json" 2>/dev/null
expects "$tmp/analyze.json"
check "--expect: as in the capture" test "$status" -eq 0
expects "$leap_truth"
check "--expect: as is known of the capture" test "$status" -eq 0
"$bin" analyze -T json captures/01-clean-ts1.32.pcap >"$tmp/clean.json" 2>/dev/null
expects "$tmp/clean.json"
check "--expect: more than expected" test "$status" -eq 1
check "--expect: which" test "$(cat "$tmp/err")" = \
	"mcpdiag: --expect $tmp/clean.json: error leapfrog was found, and is not expected"
expects "$tmp/clean.json" -qq
check "--expect, -qq: the status only" test "$status" -eq 1 -a ! -s "$tmp/err"
sed 's/"severity": "error"/"severity": "warning"/' "$tmp/replay.json" >"$tmp/less.json"
expects "$tmp/less.json" --fail-on warning
check "--expect: of another severity" test "$status" -eq 1
check "--expect: missing and new" test "$(grep -c 'warning leapfrog is ex\|error leapfrog was' "$tmp/err")" = 2
expects captures/01-clean-ts1.32.json
check "--expect: what is known to be absent" test "$status" -eq 1
run replay -x 10 --tool poke=emit "$leap" "$url"
check "--tool: all are played" grep -q '^replay *17 of 17' "$tmp/out"
check "--tool: the server emits" grep -q 'presumed -> primary' "$tmp/out"
run replay -x 10 --sessions 3 "$leap" "$url"
check "--sessions: three leapfrogs" grep -q '2 further sessions alike' "$tmp/out"
run replay -x 10 --client eventsource "$leap" "$url"
check "--client: it loops" grep -q '^error  leapfrog' "$tmp/out"
check "--client: what it did" grep -q '^replay   client 1 as an EventSource' "$tmp/out"
stop

serve --policy shadow-promote --retry 300
run replay -x 10 "$leap" "$url"
check "the cure: exit 0" test "$status" -eq 0
check "the cure: nothing is found" grep -q '^no fault found' "$tmp/out"
check "the cure: nobody comes back" grep -q \
	'GET, Last-Event-ID 0: the stream that it comes after did not end$' "$tmp/out"
run replay -x 10 --client eventsource "$leap" "$url"
check "--client: it does not" test "$status" -eq 0
run replay -x 10 --baseline "$tmp/known" "$leap" "$url"
check "--baseline: it is gone" test "$status" -eq 1
check "--baseline: and that is said" grep -q 'leapfrog .*was not found' "$tmp/err"
expects "$tmp/replay.json"
check "--expect: it is gone" test "$status" -eq 1
check "--expect: what" test "$(cat "$tmp/err")" = \
	"mcpdiag: --expect $tmp/replay.json: error leapfrog is expected, and was not found"
check "--expect: in the report, too" grep -q '^note .*is expected' "$tmp/out"
expects "$leap_truth"
check "--expect: nor as is known" test "$status" -eq 1
check "--expect: with its severity" grep -q ": error leapfrog is expected" "$tmp/err"
sed "s/\"severity\": \"error\"/\"x\": 1/" "$leap_truth" >"$tmp/any.json"
expects "$tmp/any.json"
check "--expect: with any" grep -q ": leapfrog is expected" "$tmp/err"
expects "$tmp/clean.json"
check "--expect: nothing, and nothing comes" test "$status" -eq 0
sed 's/"present"/"allowed"/' "$leap_truth" >"$tmp/may.json"
expects "$tmp/may.json"
check "--expect: what may come" test "$status" -eq 0
run replay -x 10 --strict -q "$leap" "$url"
check "--strict: it differs" test "$status" -eq 1
run replay -x 10 -Y 'method == tools/list' "$leap" "$url"
check "--where: three are played" grep -q '^replay *3 of 17' "$tmp/out"
says "not its path" 5 'answers 404' replay -x max "$leap" "${url%/mcp}/other"
url=${url#http://}
port=${url%/mcp}
port=${port##*:}
run replay -x max --resolve "mcp.test:$port:127.0.0.1" -H "Host: localhost:$port" "$leap" \
	"http://mcp.test:$port/mcp"
check "--resolve" test "$status" -eq 0
says "TLS where there is none" 5 '^mcpdiag replay: https://' replay -x max "$leap" "https://$url"
stop
says "nobody there, --client" 5 'onnect' replay --client go "$leap" "http://127.0.0.1:$port/mcp"
says "nobody there" 5 'onnect' replay -x max "$leap" "http://127.0.0.1:$port/mcp"

if ! command -v python3 >/dev/null; then
	ok "long bodies # SKIP no python3"
	finish
fi
serve --pcap "$tmp/long.pcap"
python3 tests/cli/replay_post.py "$url" 1000000 2>"$tmp/err"
check "a call of a million bytes" test $? -eq 0
stop
serve
run replay -x max --allow tools/call:echo "$tmp/long.pcap" "$url"
check "is played" grep -q '2 of 2 exchanges played' "$tmp/out"
check "as it was: so is its result" test -z "$(grep 'result:' "$tmp/out")"
stop

serve --pcap "$tmp/own.pcap"
python3 tests/cli/replay_post.py "$url" 1 "${url%/mcp}" 2>"$tmp/err"
stop
serve --pcap "$tmp/other.pcap"
python3 tests/cli/replay_post.py "$url" 1 http://localhost:6274 2>"$tmp/err"
check "a page elsewhere" test $? -eq 0
stop
# asks ARGS...: what a server is asked then, in $tmp/asked.
asks()
{
	serve --events "$tmp/asked"
	run replay -x max "$@" "$url"
	stop
}
asks "$tmp/own.pcap"
check "Origin, the server's own" grep -q "\"origin\": *\"${url%/mcp}\"" "$tmp/asked"
asks "$tmp/other.pcap"
check "Origin of a page elsewhere: none" test -z "$(grep '"origin": *"' "$tmp/asked")"
asks -H "Origin: http://localhost:99" "$tmp/own.pcap"
check "Origin, given" grep -q '"origin": *"http://localhost:99"' "$tmp/asked"
prints "--dry-run: Origin" '^Origin is left out of 1: of 1, http://localhost:6274; -H' \
	replay --dry-run "$tmp/other.pcap"
run replay --dry-run "$tmp/own.pcap"
check "--dry-run: not of the server's own" test -z "$(grep Origin "$tmp/out")"

if ! command -v python3 >/dev/null || ! command -v openssl >/dev/null; then
	ok "TLS # SKIP no python3 or no openssl"
	finish
fi
tls_page
says "a certificate of nobody" 5 'certificate' replay -x max "$leap" "$page"
says "-k: a web page" 5 'answers 200 text/html, which is no MCP' replay -k -x max "$leap" "$page"
says "--cacert: a web page" 5 'which is no MCP' replay --cacert "$tmp/cert" -x max "$leap" "$page"
says "no such --cacert" 2 'No such file' replay --cacert "$tmp/none" "$leap" "$page"
tls_end
finish
