#!/usr/bin/env bash
# mcpdiag watch without a terminal.  Capturing itself needs the permission to,
# and is skipped without.
cd "$(dirname "$0")/../.." || exit 2
# Without the traffic of others, where that can be had.
if [ -z "${OWN_NET-}" ] && unshare -n ip link set lo up 2>/dev/null; then
	OWN_NET=1 exec unshare -n bash tests/cli/test_watch.sh
fi
[ -z "${OWN_NET-}" ] || ip link set lo up
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
C=captures/leapfrog-rmcp0.15.0-ts1.23.pcap

prints "--help" '^  -i, --interface NAME' watch --help
prints "the interfaces" '^lo  *up, loopback' watch -D
says "an option misspelt" 2 'did you mean --interface' watch --interfce lo
says "no such interface" 4 'no such interface\|no permission' watch -i nosuch0
says "a file that is not there" 3 'nosuch.pcap' watch -r nosuch.pcap
says "no capture" 3 'README.md' watch -r README.md
says "a count of nothing" 2 'from 1 up' watch -c 0 -r $C
says "a format" 2 'text or ndjson' watch -T json -r $C
says "a ring without a size" 2 'C says how large' watch -W 3 -w "$tmp/x" -r $C
says "a size without a file" 2 'w names the file' watch -C 3 -r $C
says "a filter twice" 2 'one or the other' watch -f tcp -r $C udp
says "a filter that is none" 2 'filter' watch -r $C frob
says "a user that is none" 2 'there is no user' watch -Z no-such-user -r $C
says "--follow of no file" 2 'r names the file' watch --follow -i lo
says "--follow of a pipe" 2 'read as it comes' watch --follow -r -
says "--speed of no file" 2 'r names the file' watch --speed 1 -i lo
says "--speed of a pipe" 2 'read as it comes' watch -x 2 -r -
says "both of them" 2 'read as it grows' watch --follow -x 2 -r $C
for x in 0 0.0001 1000001 1.2.3 .5 -1 fast; do
	says "a speed of $x" 2 'from 0.001 to 1000000' watch "--speed=$x" -r $C
done
says "--follow of no capture" 3 'README.md: not a capture' watch --follow -r README.md

# A file: a line for each event, then what analyze says of it.
run watch -r $C
check "the exit status says what was found" test "$status" -eq 1
check "a change of owner is a line" grep -q ' stream 5 is primary, was presumed$' "$tmp/out"
check "the finding is told when its condition is met" \
    grep -q ': leapfrog (medium confidence): .* 3 takeovers' "$tmp/out"
"$bin" analyze $C >"$tmp/report"
check "the report is that of analyze" \
    diff <(sed '1,/^$/d' "$tmp/out") "$tmp/report"
"$bin" analyze -T ndjson $C | grep -v '"type":"file"' >"$tmp/want"
run watch -T ndjson -r $C
check "the events are those of analyze" diff <(grep -v '"type":"file"' "$tmp/out") "$tmp/want"
(head -c 3000 $C; tail -c +3001 $C) | "$bin" watch -T ndjson -r - >"$tmp/out"
check "from a pipe, too" diff <(grep -v '"type":"file"' "$tmp/out") "$tmp/want"
"$bin" watch -T ndjson -r - <$C >"$tmp/out" 2>"$tmp/err"
check "and from a file as stdin" diff <(grep -v '"type":"file"' "$tmp/out") "$tmp/want"
check "without a word" test ! -s "$tmp/err"
run watch -q -r $C
check "-q: findings only" test "$(grep -c 'stream 5 opens' "$tmp/out")" -eq 0
exits "-c: the first packets" 0 watch -c 20 -r $C
exits "a filter by words" 0 watch -r $C udp port 53
exits "--fail-on none" 0 watch --fail-on none -r $C

# awaits PATTERN FILE PID: until the file has it, or the process is gone
awaits()
{
	until grep -qs "$1" "$2" || ! kill -0 "$3" 2>/dev/null; do :; done
}
# awaits_end FILE PID: until the process has read all of the file
awaits_end()
{
	local fd size
	size=$(stat -c %s "$1")
	while kill -0 "$2" 2>/dev/null; do
		for fd in /proc/"$2"/fd/*; do
			[ "$fd" -ef "$1" ] && grep -q "^pos:[[:space:]]*$size\$" \
			    "/proc/$2/fdinfo/${fd##*/}" && return
		done
	done
}
run watch -T ndjson -x 1000000 -r $C
check "at a speed it is the same" diff <(grep -v '"type":"file"' "$tmp/out") "$tmp/want"
"$bin" watch -x 0.001 -r $C >"$tmp/out" 2>"$tmp/err" &
watch=$!
awaits ' request initialize' "$tmp/out" $watch
kill -INT $watch
wait $watch
check "slow motion has not come to the end" grep -q '^seen  *[1-9][0-9]\? packets' "$tmp/out"

# A file that grows; the half record at its end is whole later.
head -c 1000 $C >"$tmp/grows"
"$bin" watch -T ndjson --follow -r "$tmp/grows" >"$tmp/out" 2>"$tmp/err" &
watch=$!
awaits '"type":"request"' "$tmp/out" $watch
tail -c +1001 $C | head -c 2000 >>"$tmp/grows"
awaits_end "$tmp/grows" $watch
tail -c +3001 $C >>"$tmp/grows"
head -c 44 $C | tail -c 20 >>"$tmp/grows"
awaits_end "$tmp/grows" $watch
kill -INT $watch
wait $watch
check "--follow: all of it, and ^C ends it" \
    diff <(grep -v '"type":"file"' "$tmp/out") "$tmp/want"
exits "--follow -c" 0 watch --follow -c 20 -r $C
exits "--follow --duration" 1 watch --follow --duration 1 -r $C

# Saved while watching.
exits "-w" 1 watch -w "$tmp/saved.pcapng" -q -r $C
check "what is saved is what was read" diff <("$bin" analyze -T json "$tmp/saved.pcapng" |
    grep -v '"files"') <("$bin" analyze -T json $C | grep -v '"files"')
"$bin" watch -w - -r $C 2>"$tmp/err" | "$bin" analyze -T json - >"$tmp/piped"
check "-w -: packets to stdout" diff <(grep -v '"files"' "$tmp/piped") \
    <("$bin" analyze -T json $C | grep -v '"files"')
check "and the rest to stderr" grep -q ': leapfrog ' "$tmp/err"
says "-w - is no ring" 2 'have names' watch -w - -C 1 -r $C
exits "-w where nothing can be" 4 watch -q -w "$tmp/no/x" -r captures/01-clean-ts1.32.pcap
check "is said" grep -q 'no more is saved' "$tmp/err"
if command -v python3 >/dev/null; then
	python3 - "$tmp/big.pcap" <<'END'
import struct, sys
with open(sys.argv[1], "wb") as f:
    f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
    for i in range(4000):
        f.write(struct.pack("<IIII", i, 0, 1000, 1000) + bytes(1000))
END
	run watch -q -r "$tmp/big.pcap" -w "$tmp/ring" -C 1 -W 3
	check "-C and -W: a ring of files" test "$(cd "$tmp" && echo ring*)" = "ring0 ring1 ring2"
	check "of about that size" test "$(stat -c %s "$tmp/ring2")" -lt 1010000
fi

# confined WHAT PID: no capability is left, and none can come back
confined()
{
	local status=/proc/$2/status
	check "$1 none can come back" grep -q '^NoNewPrivs:[[:space:]]*1' "$status"
	check "$1 no capability is left" test \
	    "$(grep -c '^Cap\(Inh\|Prm\|Eff\|Amb\):[[:space:]]*0*$' "$status")" -eq 4
	if ! ldd "$bin" 2>/dev/null | grep -q libseccomp ||
	    [ ! -e /proc/sys/kernel/seccomp/actions_avail ]; then
		ok "$1 few system calls are left # SKIP no seccomp here"
		return
	fi
	check "$1 few system calls are left" grep -q '^Seccomp:[[:space:]]*2' "$status"
}

# Live.  The demo is the traffic; nothing but packets goes from it to watch.
"$bin" watch -i lo -w "$tmp/live.pcapng" tcp >"$tmp/out" 2>"$tmp/err" &
watch=$!
until grep -q 'listening on lo' "$tmp/err" || ! kill -0 $watch 2>/dev/null; do :; done
if grep -q 'no permission' "$tmp/err"; then
	ok "live # SKIP no permission to capture"
	finish
fi
if [ "$(id -u)" -eq 0 ]; then
	check "root is given up" grep -q '^Uid:[[:space:]]*65534' /proc/$watch/status
fi
confined "when it captures" $watch
"$bin" watch -i lo -T ndjson -w "$tmp/events.pcapng" tcp >"$tmp/events" 2>"$tmp/err2" &
second=$!
awaits 'listening on lo' "$tmp/err2" $second
# two listeners that take the channel from each other
"$bin" demo --policy replace --duration 5 >"$tmp/demo" 2>&1 &
demo=$!
awaits ': leapfrog ' "$tmp/out" $demo
awaits '"detector": "leapfrog"' "$tmp/events" $demo
check "the finding is told while it runs" kill -0 $demo
wait $demo
kill -INT $watch $second
wait $watch
check "^C is a normal end, the exit status says what was found" test $? -eq 1
wait $second
check "the first exchange is seen" grep -q 'request initialize' "$tmp/out"
check "the finding, too" grep -q 'error: leapfrog' "$tmp/out"
"$bin" analyze "$tmp/live.pcapng" >"$tmp/again"
check "offline equals live: the same findings of what was saved" \
    diff <(sed '1,/^$/d' "$tmp/out" | sed '/^session #/,$d') <(sed '/^session #/,$d' "$tmp/again")
# Only "file" differs, which names the input.
"$bin" analyze -T ndjson "$tmp/events.pcapng" | grep -v '"type":"file"' >"$tmp/want"
check "the very same events, byte by byte" \
    diff <(grep -v '"type":"file"' "$tmp/events") "$tmp/want"
check "changes of owner among them" test "$(grep -c '"type":"owner"' "$tmp/want")" -gt 8

# live NAME ARGS...: capturing on lo until the process is stopped; in `watch`
live()
{
	rm -f "$tmp/err"
	: >"$tmp/err"
	"$@" >"$tmp/out" 2>>"$tmp/err" &
	watch=$!
	awaits 'listening on lo' "$tmp/err" $watch
}
# stopped: by ^C, with its exit status
stopped()
{
	kill -INT $watch
	wait $watch
}

# What is forbidden after the start is not needed: files of a ring are made, and
# overwritten, by the user that it has become.
mkdir "$tmp/ring.d"
chmod 777 "$tmp/ring.d"
chmod 711 "$tmp"
"$bin" serve --port 0 >"$tmp/serve" 2>&1 &
serve=$!
awaits 'listening on' "$tmp/serve" $serve
url=$(sed -n 's/^listening on \(.*\)$/\1/p' "$tmp/serve")
port=${url##*:}
live "$bin" watch -i lo -w "$tmp/ring.d/r" -C 1 -W 2 "port ${port%/mcp}"
if command -v python3 >/dev/null; then
	python3 - "$url" <<'END'
import json, sys, urllib.request
text = "x" * 60000
for i in range(40):
    body = {"jsonrpc": "2.0", "id": i, "method": "ping", "params": {"text": text}}
    req = urllib.request.Request(sys.argv[1], json.dumps(body).encode(),
                                 {"Content-Type": "application/json",
                                  "Accept": "application/json, text/event-stream"})
    try:
        urllib.request.urlopen(req).read()
    except urllib.error.HTTPError as e:
        e.read()
END
	until [ -e "$tmp/ring.d/r1" ] || ! kill -0 $watch 2>/dev/null; do :; done
	stopped
	check "a ring of files, as another user" test "$(cd "$tmp/ring.d" && echo r*)" = "r0 r1"
	check "all of it" test "$(grep -c 'request ping' "$tmp/out")" -eq 40
	check "nothing of it failed" test -z "$(grep -v 'listening on' "$tmp/err")"
else
	stopped
fi
kill $serve
wait $serve

if [ "$(id -u)" -eq 0 ]; then
	mkdir -m 700 "$tmp/root.d"
	says "a ring where that user may not write" 4 'user says as whom' \
	    watch -i lo -C 1 -w "$tmp/root.d/r"
fi

# Without root, with the one capability that it takes.
if [ "$(id -u)" -ne 0 ] || ! command -v setcap >/dev/null || ! command -v setpriv >/dev/null; then
	ok "a capability instead of root # SKIP no root, setcap or setpriv"
	finish
fi
cp "$bin" "$tmp/capable"
chmod 755 "$tmp/capable"
if ! setcap cap_net_raw=ep "$tmp/capable" 2>/dev/null; then
	ok "a capability instead of root # SKIP a file cannot have one here"
	finish
fi
user="setpriv --reuid=65534 --regid=65534 --clear-groups"
# shellcheck disable=SC2086 # several words
live $user "$tmp/capable" watch -i lo
check "a capability instead of root: it listens" grep -q 'listening on lo' "$tmp/err"
confined "a capability instead of root:" $watch
stopped
check "and ^C ends it" test $? -eq 0
# shellcheck disable=SC2086
$user "$bin" watch -i lo >"$tmp/out" 2>"$tmp/err"
check "without it, what to do is said" grep -q 'setcap cap_net_raw=ep' "$tmp/err"
finish
