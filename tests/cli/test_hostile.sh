#!/usr/bin/env bash
# Hostile input, end to end: a clear message or a limit named in the answer, no
# crash, memory within bounds, and what comes after it is read.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
leap=captures/leapfrog-rmcp0.15.0-ts1.23.pcap

if ! command -v python3 >/dev/null; then
	ok "hostile input # SKIP no python3"
	finish
fi

# Runs the program on a file, or on "-", and judges the JSON document.
cat >"$tmp/judge.py" <<'END'
"""judge.py TMP STATUSES LIMIT TRUTH PROGRAM ARGS...
STATUSES: those allowed; LIMIT: what some sentence of "incomplete" or some
anomaly must hold ("": nothing); TRUTH: an expression over the document: verdict,
counts, rpc, sessions, streams, findings, said."""
import json, os, resource, subprocess, sys, threading
tmp, statuses, limit, truth, *argv = sys.argv[1:]
MAX = 300 << 20
# Sanitizers need room of their own.
sanitized = b"__asan_init" in open(argv[0], "rb").read()
if sanitized and limit == "limit memory=":  # their heap cannot be looked at
    limit, statuses = "", statuses + " 0"


def bounded():
    if not sanitized:           # a failure of the test, not of the machine
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


with open(tmp + "/out", "wb") as o, open(tmp + "/err", "wb") as e:
    p = subprocess.Popen(argv, stdout=o, stderr=e, preexec_fn=bounded)
    clock = threading.Timer(300 if sanitized else 60, p.kill)
    clock.start()
    _, st, ru = os.wait4(p.pid, 0)
    clock.cancel()
why = []
status = os.waitstatus_to_exitcode(st)
if str(status) not in statuses.split():
    why.append(f"exit status {status}, want {statuses}: {open(tmp + '/err', errors='replace').read(500)}")
if not sanitized and ru.ru_maxrss << 10 > MAX:
    why.append(f"{ru.ru_maxrss >> 10} MiB resident")
try:
    d = json.load(open(tmp + "/out"))
    said = d["incomplete"] + [f"{a['name']}: {a['text']}" for a in d["anomalies"]]
    names = dict(d["counts"], verdict=d["verdict"], rpc=d["counts"]["jsonrpc"], said=said,
                 sessions=d["sessions"], streams=d["streams"], findings=d["findings"])
    if limit and not any(limit in x for x in said):
        why.append(f"nothing says \"{limit}\": {said}")
    if truth and not eval(truth, names):
        why.append(f"not true: {truth}: {d['counts']} {said}")
except ValueError as x:
    why.append(f"no JSON document: {x}")
print("; ".join(why))
END

# judge NAME STATUSES LIMIT TRUTH FILE [ARGS...]
judge()
{
	local name=$1 statuses=$2 limit=$3 truth=$4 file=$5 why
	shift 5
	why=$(python3 "$tmp/judge.py" "$tmp" "$statuses" "$limit" "$truth" \
		"$bin" analyze -T json "$@" "$file" 2>&1)
	if [ -z "$why" ]; then ok "$name"; else not_ok "$name" "$why"; fi
}
# hostile NAME STATUSES LIMIT TRUTH [ARGS...] <description: through a file
hostile()
{
	local name=$1 statuses=$2 limit=$3 truth=$4
	shift 4
	python3 tests/tools/mkpcap.py "$tmp/x.pcap" || not_ok "$name" "mkpcap failed"
	judge "$name" "$statuses" "$limit" "$truth" "$tmp/x.pcap" "$@"
}
# piped NAME STATUSES LIMIT TRUTH <description: through a pipe, for large ones
piped()
{
	local name=$1 why
	why=$(python3 tests/tools/mkpcap.py - | python3 "$tmp/judge.py" "$tmp" "$2" "$3" "$4" \
		"$bin" analyze -T json - 2>&1)
	if [ -z "$why" ]; then ok "$name"; else not_ok "$name" "$why"; fi
}

# ---- files that are no captures, or no longer ----

truncate -s 4G "$tmp/zeros"
says "4 GB of zeros" 3 'zeros: not a capture file (starts with 00 00 00 00)' analyze "$tmp/zeros"
check "4 GB of zeros from a pipe" test "$(tail -c +1 "$tmp/zeros" 2>/dev/null |
	"$bin" analyze - 2>/dev/null; echo $?)" = 3
rm -f "$tmp/zeros"
python3 -c 'import random, sys
random.seed(7); sys.stdout.buffer.write(random.randbytes(1 << 20))' >"$tmp/random"
says "a megabyte of random bytes" 3 'random: not a capture file' analyze "$tmp/random"
: >"$tmp/empty"
says "an empty file" 3 'empty: empty; want a pcap or pcapng file' analyze "$tmp/empty"
printf '\324' >"$tmp/one"
says "one byte" 3 'ends inside the file header, after 1 byte' analyze "$tmp/one"

cat >"$tmp/small" <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(method="GET", sid="s1"))
c.say(stream() + chunk(event(message("notifications/tools/list_changed"), id="1")))
END
python3 tests/tools/mkpcap.py "$tmp/small.pcap" <"$tmp/small"
python3 tests/tools/mkpcap.py --ng "$tmp/small.pcapng" <"$tmp/small"
gzip -c "$tmp/small.pcap" >"$tmp/small.pcap.gz"
judge "what is cut is sound when it is whole" 0 "" 'rpc["notification"] == 1' "$tmp/small.pcap"
judge "as pcapng" 0 "" 'rpc["notification"] == 1' "$tmp/small.pcapng"

# cuts NAME FILE: at every place of its head, and some further ones.
cuts()
{
	local n size bad=
	size=$(stat -c %s "$2")
	for n in $(seq 1 3 70) 79 81 82 $((size / 3)) $((size / 2)) $((size - 3)) $((size - 1)); do
		head -c "$n" "$2" >"$tmp/cut"
		run analyze "$tmp/cut"
		case $status in
		0) grep -q 'ends inside a record' "$tmp/out" ||
			{ grep -q '^no packets' "$tmp/out" && [ "$n" -lt 72 ]; } ||
			bad="$bad, $n bytes: nothing says that it is cut" ;;
		3) grep -q "cut: .*\(ends inside\|empty\)" "$tmp/err" || bad="$bad, $n bytes: $err" ;;
		*) bad="$bad, $n bytes: status $status $err" ;;
		esac
	done
	if [ -z "$bad" ]; then ok "$1"; else not_ok "$1" "$bad"; fi
}
cuts "a pcap cut at any place" "$tmp/small.pcap"
cuts "a pcapng cut at any place" "$tmp/small.pcapng"
cuts "a gzip file cut at any place" "$tmp/small.pcap.gz"

# lies NAME LIMIT BYTES [--ng]: after a sound beginning, these bytes.
lies()
{
	local name=$1 limit=$2 bytes=$3
	shift 3
	{ cat "$tmp/small"; echo "raw($bytes)"; } |
		python3 tests/tools/mkpcap.py "$@" "$tmp/x.pcap"
	judge "$name" 6 "$limit" 'rpc["notification"] == 1 and verdict == "unknown"' "$tmp/x.pcap"
}
lies "a record that claims 4 GB" 'claims 4294967295 bytes' \
	'struct.pack("<IIII", 1, 1, 0xffffffff, 0xffffffff) + b"x" * 60'
lies "zeros where a record should be" 'only zeros from byte' 'bytes(1000)'
lies "a block of 4 GB" 'claims 4294967292 bytes' 'struct.pack("<II", 6, 0xfffffffc) + b"x" * 60' --ng
lies "a block of no length" 'claims 0 bytes' 'struct.pack("<II", 6, 0) + b"x" * 60' --ng
lies "a block of 33 bytes" 'claims 33 bytes' 'struct.pack("<II", 6, 33) + b"x" * 60' --ng
lies "two lengths of a block" 'two lengths that differ' \
	'struct.pack("<IIIIIIII", 6, 32, 0, 0, 0, 0, 0, 36)' --ng
lies "a packet larger than its block" 'too short for the packet in it' \
	'struct.pack("<IIIIIIII", 6, 32, 0, 0, 0, 0xffffffff, 0xffffffff, 32)' --ng
lies "an interface that is not there" 'interface 77' \
	'struct.pack("<IIIIIIII", 6, 32, 77, 0, 0, 0, 0, 32)' --ng
lies "100,000 interfaces" 'one interface too many' \
	'struct.pack("<IIHHII", 1, 20, 101, 0, 0, 20) * 100000' --ng

hostile "lengths on the wire that are lies" 0 "" 'rpc["response"] == 2' <<'END'
c = connect()
initialize(c, "s1")
record(b"E" * 40, claim=40, wire=0xffffffff)
record(b"E" * 40, claim=40, wire=0)
record(b"", claim=0)
c.ask(request(message("ping", 1), sid="s1"))
c.say(response('{"jsonrpc":"2.0","id":1,"result":{}}'))
END

python3 - "$tmp" <<'END'
import sys
sys.path.insert(0, "tests/tools")
import mkpcap
tmp = sys.argv[1]
small = open(tmp + "/small.pcap", "rb").read()
packed = open(tmp + "/small.pcap.gz", "rb").read()
for name, data in (("zeros.gz", mkpcap.zeros_gzip(64 << 20)),
                   ("zeros.zst", mkpcap.zeros_zstd(4 << 30)),
                   ("after.gz", packed + mkpcap.zeros_gzip(64 << 20)),
                   ("after.zst", mkpcap.zeros_zstd(4 << 30, small)),
                   ("damaged.gz", packed[:200] + bytes(200))):
    open(f"{tmp}/{name}", "wb").write(data)
END
for kind in gz zst; do
	says "zeros without end in $kind" 3 'inside .*not a capture file' analyze "$tmp/zeros.$kind"
	judge "a capture and zeros without end in $kind" 6 'only zeros from byte' \
		'rpc["notification"] == 1' "$tmp/after.$kind"
done
judge "a damaged gzip file" 6 'cannot be unpacked as gzip' "" "$tmp/damaged.gz"

# ---- HTTP ----

hostile "a header line of 10 MB" 6 'limit header=' 'rpc["response"] == 3 and rpc["request"] == 3' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(message("ping", 1), "POST", "/mcp", "s1", "X: " + "a" * (10 << 20)))
c.say(response('{"jsonrpc":"2.0","id":1,"result":{}}', 200, "X: " + "a" * (10 << 20)))
c.ask(request(message("ping", 2), sid="s1"))
c.say(response('{"jsonrpc":"2.0","id":2,"result":{}}'))
END
hostile "10 MB of header lines, 100,000 headers" 6 'limit header=' 'rpc["response"] == 3' <<'END'
c = connect()
initialize(c, "s1")
for i, lines in enumerate(([f"X-{i}: " + "a" * 1000 for i in range(10000)], ["X: "] * 100000)):
    c.ask(request(message("ping", i), "POST", "/mcp", "s1", *lines))
    c.say(response('{"jsonrpc":"2.0","id":1,"result":{}}', 200, *lines))
END
hostile "a request line and a status line of 10 MB" 6 'limit header=' 'rpc["response"] == 3' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(message("ping", 1), "POST", "/mcp?" + "a" * (10 << 20), "s1"))
c.say(response('{"jsonrpc":"2.0","id":1,"result":{}}'))
c.ask(request(message("ping", 2), sid="s1"))
c.say(b"HTTP/1.1 200 " + b"A" * (10 << 20) +
      b"\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n" +
      b'{"jsonrpc":"2.0","id":2,"result":{}}')
END
hostile "10 MB that might be a method" 6 'no HTTP/1.x' 'rpc["response"] == 1' <<'END'
c = connect()
initialize(c, "s1")
c.ask("A" * (10 << 20))
END
hostile "chunk heads of 1 MB" 0 "" 'sse_comments == 1 and rpc["response"] == 2' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(message("ping", 1), sid="s1"))
c.say(stream() + b"0" * (1 << 20) + b"1\r\n\n\r\n")
c.say(chunk(event('{"jsonrpc":"2.0","id":1,"result":{}}')))
c.say(b"5;x=" + b"y" * (1 << 20) + b"\r\n:hi\n\n\r\n" + chunk(b""))
END
hostile "chunk sizes that overflow" 6 'no HTTP/1.x' 'rpc["request"] == 7 and http_exchanges >= 7' <<'END'
initialize(connect(), "s1")
for i, size in enumerate((b"10000000000000000", b"ffffffffffffffff", b"7fffffffffffffff", b"-1",
                          b"0x10", b"f" * 5000)):
    c = connect(f"10.0.1.{i}:999")
    c.ask(request(message("ping", i), sid="s1"))
    c.say(stream() + size + b"\r\n" + event("{}") + chunk(b""))
    c.fin()
END
hostile "a Content-Length that overflows" 6 'no HTTP/1.x' 'rpc["response"] >= 1' <<'END'
initialize(connect(), "s1")
for i, size in enumerate(("18446744073709551616", "18446744073709551615", "9223372036854775807", "-1",
                          "1e3", "9" * 5000, "5, 6")):
    c = connect(f"10.0.1.{i}:999")
    c.ask(head("POST /mcp HTTP/1.1", ["Mcp-Session-Id: s1", "Content-Length: " + size]) + b"{}")
    c.say(head("HTTP/1.1 200 OK", ["Content-Length: " + size]) + b'{"jsonrpc":"2.0","id":1,"result":{}}')
    c.fin()
END
hostile "100,000 requests without an answer" 6 'limit pipeline=' 'rpc["request"] == 100001' <<'END'
c = connect()
initialize(c, "s1")
c.ask(b"".join(request(message("ping", i), sid="s1") for i in range(100000)))
END
hostile "a thousand on each of 3,000 connections" 6 'limit memory=' 'tcp_connections == 3001' <<'END'
c = connect()
initialize(c, "s1")
Conn.size = 60000
for i in range(3000):
    connect(f"10.1.{i >> 8}.{i & 255}:4000").ask(b"GET / HTTP/1.1\r\n\r\n" * 1024)
END

# ---- content codings ----

hostile "bodies that are bombs" 6 'limit decoded= or ratio=' \
	'rpc["response"] == 7 and "12 bodies could not be decoded" in said' <<'END'
c = connect()
initialize(c, "s1")
raw_deflate = zeros(64 << 20, -15)
for i, (coding, body) in enumerate((
        ("gzip", zeros_gzip(64 << 20)), ("deflate", zeros_deflate(64 << 20)), ("deflate", raw_deflate),
        ("br", zeros_br), ("zstd", zeros_zstd(1 << 30)),
        ("zstd", zeros_zstd(1 << 30, b'{"jsonrpc":"2.0","id":1,"result":"')))):
    c.ask(request(message("ping", i), sid="s1"))
    c.say(response(body, 200, "Content-Encoding: " + coding, "Content-Type: application/json"))
    c.ask(request(body, "POST", "/mcp", "s1", "Content-Encoding: " + coding))
    c.say(response(b"", 202))
    c.ask(request(message("ping", i), sid="s1"))
    c.say(response('{"jsonrpc":"2.0","id":1,"result":{}}'))
END
hostile "event streams that are bombs" 6 'limit decoded= or ratio=' \
	'sse_streams == 5 and "5 bodies could not be decoded" in said' <<'END'
initialize(connect(), "s1")
for i, (coding, body) in enumerate((
        ("gzip", zeros_gzip(64 << 20)), ("deflate", zeros_deflate(64 << 20)),
        ("deflate", zeros(64 << 20, -15)), ("br", zeros_br), ("zstd", zeros_zstd(1 << 30, b"data: ")))):
    c = connect(f"10.0.1.{i}:999")
    c.ask(request(method="GET", sid="s1"))
    c.say(stream("Content-Encoding: " + coding) + chunk(body) + chunk(b""))
END
hostile "codings that are nested, unknown, damaged" 6 'bodies could not be decoded' \
	'rpc["response"] == 2 and {x.split(":")[0] for x in said} >= {"coding", "bad-coding"}' <<'END'
plain = b'{"jsonrpc":"2.0","id":1,"result":{}}'
z = zlib.compressobj(9, zlib.DEFLATED, 31)
gz = z.compress(plain) + z.flush()
c = connect()
initialize(c, "s1")
for i, (coding, body) in enumerate((
        ("gzip, gzip", gz), ("gzip,br", gz), ("nonsense", plain), ("x" * 60000, plain), ("gzip", plain),
        ("gzip", gz[:12] + b"\xff" * 20), ("br", b"\xff" * 99), ("zstd", plain), ("deflate", plain),
        ("zstd", b"\x28\xb5\x2f\xfd" + b"\xff" * 99), ("identity", plain))):
    c.ask(request(message("ping", i), sid="s1"))
    c.say(response(body, 200, "Content-Encoding: " + coding, "Content-Type: application/json"))
END
# 1 MB out of 300 bytes, on each of many connections that stay open: in windows
# of 8 and 16 MiB, and as ids of servers that are not known to be MCP.
hostile "windows of many decoders" 6 'limit memory=' 'tcp_connections == 1000' <<'END'
def block(kind, size, data):
    return (kind << 1 | size << 3).to_bytes(3, "little") + data
frame = b"\x28\xb5\x2f\xfd\x00\x68" + block(1, 1 << 17, b"a") * 7
ids = b"\x28\xb5\x2f\xfd\x00\x38" + (block(0, 3, b"id:") + block(1, 60000, b"a") + block(0, 2, b"\n\n")) * 15
for i in range(500):
    for j, body in enumerate((frame, ids)):
        c = connect(f"10.{j}.{i >> 8}.{i & 255}:999", f"11.{j}.{i >> 8}.{i & 255}:80", mid=True)
        c.ask(request(method="GET", sid=None if j else "s1"))
        c.say(stream("Content-Encoding: zstd") + chunk(body))
END
hostile "brotli windows of 100 connections" 6 'limit decoded= or ratio=' 'sse_streams == 100' <<'END'
for i in range(100):
    c = connect(f"10.0.0.{i}:999")
    c.ask(request(method="GET", sid="s1"))
    c.say(stream("Content-Encoding: br") + chunk(zeros_br))
END

# ---- event streams ----

hostile "an event of 64 MB" 6 'limit sse-event=' 'sse_events == 2 and rpc["notification"] == 1' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(method="GET", sid="s1"))
c.say(stream())
c.say(chunk(event(b'{"jsonrpc":"2.0","method":"x","params":"' + b"a" * (64 << 20) + b'"}')))
c.say(chunk(event(message("notifications/message"))))
END
hostile "an id, a name, a retry, a field of 10 MB" 6 'or sse-line=' \
	'sse_events == 3 and rpc["notification"] == 1' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(method="GET", sid="s1"))
c.say(stream())
big = b"1" * (10 << 20)
for line in (b"id: " + big + b"\ndata: x", b"event: " + big + b"\ndata: x", b"retry: " + big, big + b": x"):
    c.say(chunk(line + b"\n\n"))
c.say(chunk(event(message("notifications/message"))))
END
hostile "a comment of 10 MB" 0 'limit sse-line=' 'sse_comments == 1 and rpc["notification"] == 1' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(method="GET", sid="s1"))
c.say(stream() + chunk(b":" + b"a" * (10 << 20) + b"\n\n"))
c.say(chunk(event(message("notifications/message"))))
END
hostile "a million events" 0 'limit ids=' 'sse_events == rpc["notification"] == 1000000' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(method="GET", sid="s1"))
c.say(stream())
m = to_bytes(message("notifications/message"))
for k in range(100):
    c.say(chunk(b"".join(b"id: %d\ndata: %s\n\n" % (i, m) for i in range(k * 10000, k * 10000 + 10000))))
END
hostile "a million comments, lines, ids, blank lines" 0 "" 'sse_comments == 1000000 and sse_events == 1' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(method="GET", sid="s1"))
c.say(stream())
for text in (b":\n" * 1000000, b"data:\n" * 1000000 + b"\n", b"id:\n" * 1000000 + b"\n", b"\r" * 1000000):
    c.say(chunk(text))
END
piped "300,000 open streams of one session" 6 'limit flows=' \
	'sse_streams == 300000 and len(streams) == 16384 and any("limit streams=" in x for x in said)' <<'END'
get, answer = request(method="GET", sid="s1"), stream()
for i in range(300000):
    c = connect(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}:4000", mid=True)
    c.ask(get)
    c.say(answer)
END
hostile "a session whose streams come and go" 6 'limit flows=' 'sse_streams == 20000' --limit flows=1000 <<'END'
for i in range(20000):
    c = connect(f"10.0.{i >> 8}.{i & 255}:4000", mid=True)
    c.ask(request(method="GET", sid="s1"))
    c.say(stream() + chunk(event(message("notifications/message"), id=str(i))))
    if i % 3:
        c.say(chunk(b""))
END

# ---- sessions and servers ----

hostile "100,000 sessions" 6 'limit sessions=' 'http_exchanges == 100000 and len(sessions) == 65536' <<'END'
for i in range(100000):
    if i % 1000 == 0:
        c = connect(f"10.0.0.{i // 1000}:4000")
    c.ask(request(message("ping", 1), sid=str(i)))
    c.say(response('{"jsonrpc":"2.0","id":1,"result":{}}'))
END
piped "100,000 sessions with a stream each" 6 'limit memory=' 'rpc["notification"] == 100000' <<'END'
answer = stream() + chunk(event(message("notifications/message"), id="1"))
for i in range(100000):
    c = connect(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}:4000", mid=True)
    c.ask(request(method="GET", sid=str(i)))
    c.say(answer)
END
hostile "100,000 servers, no MCP" 6 'limit endpoints=' 'verdict == "unknown" and http_exchanges == 0' <<'END'
for i in range(100000):
    c = connect("10.0.0.1:4000", f"11.{i >> 16}.{i >> 8 & 255}.{i & 255}:80", mid=True)
    c.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
END
hostile "100,000 servers of MCP" 6 'limit endpoints=' 'rpc["request"] == 100000' <<'END'
ask = request(message("tools/list", 1), sid="s1")
for i in range(100000):
    connect("10.0.0.1:4000", f"11.{i >> 16}.{i >> 8 & 255}.{i & 255}:80", mid=True).ask(ask)
END
hostile "names, ids and cursors of some kB" 0 "" 'len(sessions) == 2000 and rpc["response"] == 2000' <<'END'
for i in range(2000):
    c = connect(f"10.0.{i >> 8}.{i & 255}:4000", mid=True)
    initialize(c, f"{i}" + "s" * 4000, f"{i}" + "c" * 4000, f"{i}" + "d" * 4000)
    c.ask(request("", "GET", "/mcp", f"{i}" + "s" * 4000, f"Last-Event-ID: {i}" + "e" * 4000))
    c.say(stream())
END

# ---- JSON ----

hostile "JSON 100,000 deep" 0 'limit json-depth=' 'rpc["request"] == rpc["response"] == 3' <<'END'
c = connect()
initialize(c, "s1")
for deep in ("[" * 100000 + "]" * 100000, '{"a":' * 100000 + "1" + "}" * 100000):
    c.ask(request('{"jsonrpc":"2.0","id":1,"method":"ping","params":' + deep + "}", sid="s1"))
    c.say(response('{"jsonrpc":"2.0","id":1,"result":' + deep + "}"))
for bad in ("[" * 1000000, '{"a":1' * 1000000, '{"jsonrpc":"2.0","id":1,"method":"ping","params":' + "[" * 100000):
    c.ask(request(bad, sid="s1"))
    c.say(response("", 202))
END
hostile "a batch of 100,000 messages" 1 'limit ids=' 'rpc["request"] == rpc["response"] == 100001' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request("[" + ",".join(message("ping", i) for i in range(100000)) + "]", sid="s1"))
c.say(response("[" + ",".join('{"jsonrpc":"2.0","id":%d,"result":{}}' % i for i in range(100000)) + "]"))
END
hostile "such a batch as one event" 6 'limit: the messages of one event' 'rpc["notification"] == 1' <<'END'
c = connect()
initialize(c, "s1")
c.ask(request(method="GET", sid="s1"))
c.say(stream())
c.say(chunk(event("[" + ",".join('{"jsonrpc":"2.0","id":%d,"result":{}}' % i for i in range(100000)) + "]")))
c.say(chunk(event(message("notifications/message"))))
END
hostile "an id and a method of 10 MB" 1 'limit: a JSON-RPC id is longer than --limit json-value=' \
	'rpc["request"] == 4' <<'END'
c = connect()
initialize(c, "s1")
big = "1" * (10 << 20)
for text in (f'"id":"{big}","method":"ping"', f'"id":{big},"method":"ping"', f'"id":5,"method":"{big}"'):
    c.ask(request('{"jsonrpc":"2.0",' + text + "}", sid="s1"))
    c.say(response("", 202))
END
hostile "no UTF-8, half a pair, a key twice" 1 'bad-utf8' \
	'{x.split(":")[0] for x in said} == {"bad-utf8", "bad-utf16", "duplicate-key"} and rpc["request"] == 4' <<'END'
c = connect()
initialize(c, "s1")
for text in (b'"id":1,"method":"pi\xff\xfeng"', rb'"id":"\ud800","method":"ping"',
             b'"id":1,"id":2,"method":"a","method":"ping"'):
    c.ask(request(b'{"jsonrpc":"2.0",' + text + b"}", sid="s1"))
    c.say(response("", 202))
END

# ---- IP fragments, segments out of order ----

hostile "fragments that are never whole" 0 'limit fragments=' 'rpc["response"] == 1' <<'END'
initialize(connect(), "s1")
for i in range(2000):
    record(struct.pack(">BBHHHBBH4s4s", 0x45, 0, 1420, i, 0x2000, 64, 6, 0, b"abcd", b"efgh") + b"x" * 1400)
END
hostile "segments that are never in order" 6 'limit: out-of-order bytes given up at --limit ooo=' "" <<'END'
c = connect()
initialize(c, "s1")
c.ask("POST /mcp HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n")
for i in range(200):
    c.seq[0] += 1
    c.ask("x" * 16000)
END

# ---- the terminal ----

python3 tests/tools/mkpcap.py "$tmp/x.pcap" <<'END'
nasty = "\x1b[2J\x1b]0;pwn\x07\x9b31m\u202e\u2066\u200f\u061c\u2028\u200b\ufeff\x7f\x08"
wire = nasty.encode() + b"\x9b\xff\xc2"
js = json.dumps(nasty)[1:-1]
c = connect()
initialize(c, wire, client="evil" + nasty, server="evil" + nasty)
c.ask(request('{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"%s","uri":"%s"}}' %
              (js, nasty, js), "POST", b"/mcp?a" + wire.replace(b" ", b"") + b"=" + wire, wire,
              *(name + wire for name in (b"User-Agent: ", b"Origin: ", b"Accept: ", b"MCP-Protocol-Version: ",
                                         b"Authorization: ", b"Host: "))))
c.say(stream(b"Server: " + wire, b"Mcp-Session-Id: " + wire))
c.say(chunk(b"event: " + wire + b"\nid: " + wire + b"\ndata: " + to_bytes(
    '{"jsonrpc":"2.0","id":"%s","error":{"code":-1,"message":"%s"}}' % (js, js)) + b"\n\n:" + wire + b"\n\n"))
c.say(chunk(event('{"jsonrpc":"2.0","method":"%s"}' % js, wire)) + chunk(b""))
for i in range(6):          # a leapfrog, whose finding quotes what it knows
    d = connect(f"10.0.0.{i % 2 + 3}:500{i}")
    d.ask(request("", "GET", "/mcp", wire, b"Last-Event-ID: " + wire, b"User-Agent: " + wire))
    d.say(stream() + chunk(event(message("notifications/message"), wire)))
    if i:
        old.say(chunk(b""))
        old.fin()
    old = d
    wait(3)
b = connect("10.0.0.9:1")
b.ask(wire + b" / HTTP/1.1\r\n\r\n" + request(b"{\x1b}", sid=wire))
b.say(response(b"\x1b[31m", 200, b"Content-Encoding: " + wire))
old = connect("10.0.0.10:1", "10.9.9.9:81")
old.ask(request("", "GET", "/sse"))
old.say(stream() + chunk(b"event: endpoint\ndata: /m?" + wire + b"\n\n"))
old.ask(request(message("initialize", 0, clientInfo={"name": nasty}), "POST", b"/m?" + wire))
END
# The name of the file is hostile too.
f="$tmp/$(printf 'x\033[31m\302\233\342\200\256').pcap"
mv "$tmp/x.pcap" "$f"
cat >"$tmp/clean.py" <<'END'
import re, sys
text = open(sys.argv[1], "rb").read().decode("utf-8")
assert "pwn" in text or len(text) < 5000
assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\u061c\u2028\u2029\ufeff]", text)
END
for format in text json ndjson; do
	bad=
	for opts in "" "-v" "-q" "-v --show-secrets"; do
		# shellcheck disable=SC2086 # a list
		run analyze $opts -T "$format" "$f"
		[ "$status" -eq 1 ] || bad="$bad, $opts: status $status $err"
		python3 "$tmp/clean.py" "$tmp/out" 2>"$tmp/why" || bad="$bad, $opts: $(tail -n 1 "$tmp/why")"
	done
	if [ -z "$bad" ]; then
		ok "no escape sequence in $format"
	else
		not_ok "no escape sequence in $format" "$bad"
	fi
done
cp "$tmp/out" "$tmp/nasty.ndjson"
run analyze -v "$tmp/nasty.ndjson"
check "nor in text from events" python3 "$tmp/clean.py" "$tmp/out"
says "nor in a message" 3 'x\\x1b\[31m\\x9b\\u{202e}: not a capture' analyze "$(
	printf 'hello, hello' >"${f%.pcap}"; printf %s "${f%.pcap}")"

# ---- event files ----

python3 - >"$tmp/events.ndjson" <<'END'
import json, sys
out = sys.stdout
def line(type, **members):
    out.write(json.dumps(dict({"v": 1, "type": type, "ns": 1, "pkt": 1}, **members)) + "\n")
types = ("file conn conn_end request request_end response response_end session session_end stream stream_end "
         "sse comment message owner stall gap anomaly note finding").split()
line("session", session=4294967295, key="k" * 900000, client="c" * 900000, transport="streamable")
for n in (0, 1, 4294967295, 4294967296, -1, 1.5, "x", None, True, [[[]]]):
    for t in types:
        line(t, pkt=n, conn=n, x=n, stream=n, session=n, lineage=n, previous=n, resumes=n, n=n, of=n, cause=n,
             events=n, bytes=n)
for ns in (-1, -2**63, 2**63 - 1, 2**62, 2**62 - 1, 2**64, 0):
    for t in types:
        line(t, ns=ns, stream=4294967295, session=4294967295, x=4294967295, requested=ns, since=ns, last_byte=ns,
             delay_ms=ns, retry_ms=ns, kind="standalone", transport="streamable")
line("finding", detector="leapfrog", severity="error", flags=["final"])
out.write('{"v":1,"type":"' + "a" * 10000000 + '"}\n')
for junk in ("[" * 100000, '{"a":' * 100000, '{"v":1,"type":"conn","ns":1,"x":' + "[" * 63 + "]" * 63 + "}", "{" * 99):
    out.write(junk + "\n")
line("request", conn=1, x=1, method="POST")
line("message", conn=1, x=1, kind="request", method="ping", id="1")
END
judge "wild numbers, times, types and lines in an event file" "1 6" 'lines of the event file could not be read' \
	'rpc["request"] >= 1' "$tmp/events.ndjson"
check "the first of them is named" grep -q 'first line [0-9]*: ' "$tmp/out"
python3 - >"$tmp/events.ndjson" <<'END'
for i in range(1, 150001):
    ids = '"v":1,"ns":%d,"pkt":%d,"session":%d,"stream":%d,"x":%d,"conn":%d' % (i, i, i, i, i, i)
    print('{%s,"type":"session","key":"%d%s","transport":"streamable"}' % (ids, i, "k" * 300))
    print('{%s,"type":"stream","kind":"resumed","cursor":"%d"}' % (ids, i))
    print('{%s,"type":"sse","id":"%d","data":true,"dispatched":true}' % (ids, i))
END
judge "150,000 sessions and streams in an event file" "0 6" 'limit sessions=' \
	'sse_streams == 150000 and len(sessions) == 65536' "$tmp/events.ndjson"
head -c 300000 "$leap" | tr '\0-\377' '{-\377\0-z' >"$tmp/junk"
printf '{' | cat - "$tmp/junk" >"$tmp/events.ndjson"
exits "a brace and random bytes" 3 analyze "$tmp/events.ndjson"
finish
