# Hostile input, end to end: a clear message or a named limit, no crash, memory
# within bounds, and the analysis goes on.
# shellcheck shell=bash disable=SC2154
. tests/cli/lib.sh

if ! command -v python3 >/dev/null; then
	echo "ok - hostile input # SKIP: no python3 here"
	exit 0
fi
f=$tmp/x.pcap

# make < description: the capture $f
make_capture() { python3 tests/tools/mkpcap.py "$f"; }

# peak ARGS...: as run, and the largest resident size in $peak, MiB
peak()
{
	status=$(python3 - "$tmp" "$bin" "$@" <<'PY'
import os, subprocess, sys
tmp, argv = sys.argv[1], sys.argv[2:]
with open(tmp + "/out", "wb") as o, open(tmp + "/err", "wb") as e:
    p = subprocess.Popen(argv, stdout=o, stderr=e, stdin=subprocess.DEVNULL)
    _, st, ru = os.wait4(p.pid, 0)
open(tmp + "/peak", "w").write(str(ru.ru_maxrss >> 10))
print(os.waitstatus_to_exitcode(st))
PY
)
	peak=$(<"$tmp/peak")
}

# survives NAME PATTERN ARGS...: a status that is documented, under 300 MiB, and
# the JSON document has the pattern ("" for any).
survives()
{
	local name=$1 pattern=$2 why=
	shift 2
	peak analyze -T json "$@" "$f"
	case $status in
	0 | 1 | 6) ;;
	*) why="exit status $status: $(head -c 300 "$tmp/err")" ;;
	esac
	[ "$peak" -lt 300 ] || why="$why peak $peak MiB"
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$tmp/out" 2>/dev/null ||
	    why="$why; no JSON"
	grep -q -- "$pattern" "$tmp/out" || why="$why; no \"$pattern\": $(tail -c 500 "$tmp/out")"
	if [ -z "$why" ]; then ok "$name"; else not_ok "$name" "$why"; fi
}

# ---- files that are no captures, or no longer ----

truncate -s 4G "$tmp/zeros"
says "4 GB of zeros" 3 'not a capture' analyze "$tmp/zeros"
rm -f "$tmp/zeros"
python3 -c 'import random, sys
random.seed(7); sys.stdout.buffer.write(b"\1" + random.randbytes(1 << 20))' >"$tmp/random"
says "a megabyte of random bytes" 3 'not a capture' analyze "$tmp/random"
printf '\324' >"$tmp/one"
exits "one byte" 3 analyze "$tmp/one"

bad=
for n in 5 23 24 25 39 40 60 1000 4321; do
	head -c "$n" captures/leapfrog-rmcp0.15.0-ts1.23.pcap >"$f"
	peak analyze "$f"
	case $status in 0 | 1 | 3 | 6) ;; *) bad="$bad $n: $status" ;; esac
done
check "a capture cut at any place" test -z "$bad"

for kind in gzip zstd; do
	python3 - "$kind" >"$f" <<'PY'
import sys
sys.path.insert(0, "tests/tools")
import mkpcap
sys.stdout.buffer.write(mkpcap.zeros_gzip(256 << 20) if sys.argv[1] == "gzip"
                        else mkpcap.zeros_zstd(2 << 30))
PY
	says "zeros without end inside $kind" 3 'not a capture' analyze "$f"
done

make_capture <<'PY'
initialize(connect(), "s1")
record(b"E" * 40, claim=0xFFFFFF00)
PY
peak analyze "$f"
check "a record that claims 4 GB" test "$status" -ne 0 -a "$status" -lt 7 -a "$peak" -lt 100

# ---- HTTP ----

make_capture <<'PY'
c = connect()
c.ask(b"POST /mcp HTTP/1.1\r\nHost: s\r\nX: " + b"a" * (10 << 20) + b"\r\n\r\n")
initialize(connect("10.0.0.2:40000"), "s1")
PY
survives "a header line of 10 MB" 'limit header='
check "and the analysis goes on" grep -q '"transport": "streamable"' "$tmp/out"

make_capture <<'PY'
initialize(connect(), "s1")
c = connect("10.0.0.2:40000")
c.ask(b"GET /mcp HTTP/1.1\r\nMcp-Session-Id: s1\r\n" +
      b"".join(b"X-%d: y\r\n" % i for i in range(100000)) + b"\r\n")
PY
survives "100,000 headers" 'limit header='

make_capture <<'PY'
c = connect()
initialize(c, "s1")
for i in range(5000):
    c.ask(request(message("ping", i), sid="s1") * 4)
PY
survives "20,000 requests without an answer" 'limit pipeline='

make_capture <<'PY'
c = connect()
initialize(c, "s1")
c.ask(request(message("tools/list", 1), sid="s1"))
c.say(head("HTTP/1.1 200 OK", ["Transfer-Encoding: chunked", "Content-Type: application/json"]) +
      b"ffffffffffffffffffff\r\n" + b"x" * 1000)
c = connect("10.0.0.3:40000")
c.ask(request(message("tools/list", 2), sid="s1"))
c.say(head("HTTP/1.1 200 OK", ["Content-Length: 99999999999999999999999"]) + b"{}")
PY
survives "lengths that overflow" '"http_exchanges": 3'

for coding in gzip deflate br zstd; do
	make_capture <<PY
coding = "$coding"
body = {"gzip": lambda: zeros_gzip(64 << 20), "deflate": lambda: zeros_deflate(64 << 20),
        "br": lambda: zeros_br, "zstd": lambda: zeros_zstd(64 << 20)}[coding]()
c = connect()
initialize(c, "s1")
c.ask(request(message("tools/list", 1), sid="s1"))
c.say(response(body, 200, "Content-Encoding: " + coding, "Content-Type: application/json"))
c.ask(request(message("tools/list", 2), sid="s1"))
c.say(response('{"jsonrpc":"2.0","id":2,"result":{}}'))
PY
	survives "a body that is a $coding bomb" 'limit \(decoded\|ratio\)='
done
check "and what follows is read" grep -q '"response": 2' "$tmp/out"

# ---- event streams ----

make_capture <<'PY'
c = connect()
initialize(c, "s1")
c.ask(request(method="GET", sid="s1"))
c.say(stream())
c.size = 60000
c.say(chunk(event(b'{"jsonrpc":"2.0","method":"x","params":"' + b"a" * (20 << 20) + b'"}')))
c.say(chunk(event('{"jsonrpc":"2.0","method":"notifications/message"}')))
PY
survives "an event of 20 MB" 'limit sse-event='
check "and the next event is read" grep -q '"notification": 1' "$tmp/out"

make_capture <<'PY'
c = connect()
initialize(c, "s1")
c.ask(request(method="GET", sid="s1"))
c.say(stream())
c.size = 60000
c.say(chunk(b"id: " + b"a" * (4 << 20) + b"\ndata: {}\n\n"))
c.say(chunk(b": hello\n\n" * 200000))
PY
survives "an id of 4 MB, 200,000 comments" '"sse_comments": 200000'

make_capture <<'PY'
initialize(connect(), "s1")
for i in range(20000):
    c = connect(f"10.1.{i >> 8}.{i & 255}:40000")
    c.ask(request(method="GET", sid="s1"))
    c.say(stream())
PY
survives "20,000 streams open at once" '"standalone": 20000'
survives "of which a thousand are followed" 'limit flows=' --limit flows=1000

make_capture <<'PY'
for i in range(3000):
    initialize(connect(f"10.1.{i >> 8}.{i & 255}:40000"), f"s{i}")
PY
survives "3,000 sessions, a hundred kept" 'limit sessions=' --limit sessions=100

# ---- JSON ----

make_capture <<'PY'
c = connect()
initialize(c, "s1")
for deep in ("[" * 100000 + "]" * 100000, '{"a":' * 100000 + "1" + "}" * 100000):
    c.ask(request('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + deep + "}", sid="s1"))
    c.say(response('{"jsonrpc":"2.0","id":1,"result":{}}'))
c.ask(request("[" + ",".join(message("ping", i) for i in range(20000)) + "]", sid="s1"))
c.say(response("", 202))
PY
survives "JSON 100,000 deep, and a batch of 20,000" '"request": 20003'

# ---- the terminal ----

make_capture <<'PY'
nasty = "\x1b[2J\x1b]0;x\x07\x9b31m\u202e\u200b"
c = connect()
initialize(c, "s1", client="evil" + nasty, server=nasty)
c.ask(request(message("tools/call", 1, name=nasty, arguments={}), "POST", "/mcp", "s1",
              b"User-Agent: " + nasty.encode()))
c.say(stream())
c.say(chunk(event('{"jsonrpc":"2.0","id":1,"result":{}}', nasty.encode())) + chunk(b""))
PY
for format in text json ndjson; do
	run analyze -v --show-secrets -T "$format" "$f"
	check "no escape sequence reaches $format" python3 - "$tmp/out" <<'PY'
import re, sys
text = open(sys.argv[1], "rb").read().decode("utf-8")
sys.exit(bool(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", text)))
PY
done

# ---- event files ----

printf '%s\n' '{"v":1,"type":"session","ns":1,"pkt":1,"session":4294967295,"key":"x"}' \
    '{"v":1,"type":"stream","ns":-9223372036854775808,"pkt":1,"stream":4294967295,"session":4294967295,"x":4294967295,"kind":"resumed"}' \
    '{"v":1,"type":"sse","ns":9223372036854775807,"pkt":2,"stream":4294967295,"session":4294967295,"id":"1","data":true,"dispatched":true}' \
    '{"v":1,"type":"nothing known"}' '{"v":1,"type":"stream","kind":[[[[[[1]]]]]]}' >"$f"
python3 -c 'print("{\"v\":1,\"type\":\"" + "a" * 10000000 + "\"}")' >>"$f"
survives "an event file with wild numbers and a line of 10 MB" ''

finish
