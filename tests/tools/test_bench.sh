#!/usr/bin/env bash
# What judges the benchmark must be able to fail: the runner of pairs, the client
# of the server, and the comparison with the generator's truth.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0

say()
{
	local ok=$?
	n=$((n + 1))
	if [ $ok -eq 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /' "$tmp/out"
		bad=1
	fi
}

pair() { build/bench/pair "$@" >"$tmp/out" 2>&1; }
value() { sed -n "s/.*\\b$1=\\([^ ]*\\).*/\\1/p" "$tmp/out"; }
between() { awk "BEGIN { exit !($2 <= $1 && $1 <= $3) }"; }

cat >"$tmp/spin" <<'END'
i=0
while [ $i -lt "$1" ]; do i=$((i + 1)); done
END
# Neighbours on the machine can double a time; they do not make it thirty times.
pair -n 3 sh "$tmp/spin" 300000 -- sh "$tmp/spin" 10000
between "$(value ratio)" 3 300 && between "$(value a_cpu)" "$(value b_cpu)" 60
say "pair: the more work costs the more CPU time"
pair -w -n 3 sleep 0.1 -- sleep 0.3
between "$(value ratio)" 0.2 0.6 && between "$(value a_wall)" 0.1 60
say "pair: wall time"
pair -n 1 false -- sh -c 'exit 7'
[ "$(value a_status)" = 1 ] && [ "$(value b_status)" = 7 ]
say "pair: exit statuses"
pair -n 1 /nonexistent
[ "$(value a_status)" = 127 ]
say "pair: a program that is not there"
pair -n 1 -t 1 sleep 20
[ "$(value a_status)" = 142 ] && between "$(value a_wall)" 0.9 10
say "pair: a program that does not end"
pair -n 1 -o "$tmp/a" echo hello -- echo other
[ "$(cat "$tmp/a")" = hello ]
say "pair: the first one's output is kept"
pair -n 1 true
between "$(value a_rss)" 1 2600
say "pair: it puts no weight on what it runs"

for what in syn gaps back; do
	build/bench/hostile $what 50 >"$tmp/a" 2>"$tmp/out"
	[ "$(stat -c %s "$tmp/a")" -ge $((24 + 50 * 70)) ]
	say "hostile: $what"
done

# sse STATUS MODE N ROUNDS FLAGS...: the client against a server of its own
sse()
{
	local want=$1 mode=$2 count=$3 rounds=$4 server port='' status i
	shift 4
	: >"$tmp/serve"		# not the port of the one before
	"${MCPDIAG:-build/mcpdiag}" serve --port 0 "$@" >"$tmp/serve" 2>&1 &
	server=$!
	for ((i = 0; i < 1000 && ${#port} == 0; i++)); do
		port=$(sed -n 's/^listening on .*:\([0-9]*\)\/mcp$/\1/p' "$tmp/serve")
		[ -n "$port" ] || sleep 0.02
	done
	# shellcheck disable=SC2086 # none of some
	build/bench/sse "$mode" "$port" $server $count $rounds >"$tmp/out" 2>&1
	status=$?
	kill $server
	wait $server 2>/dev/null
	[ $status -eq "$want" ]
}

sse 0 idle 50 '' && between "$(value rss)" 0 100
say "sse: a stream each, a message each"
sse 0 storm 20 2 && [ "$(value left)" = 0 ]
say "sse: primaries closed, shadows promoted"
sse 0 flood '' 1 && between "$(value resumed)" 1 256
say "sse: a reader that does not read"
sse 1 storm 20 1 --fault broadcast
say "sse: a message that comes twice"
sse 1 storm 20 1 --policy replace
say "sse: a message on the wrong stream"

build/bench/mkload --profile leapfrog --noise 30 --retry 500 --ramp 1000 --bytes 8M \
    -o /dev/null --truth "$tmp/leap.json" &&
    build/bench/mkload --profile chat --sessions 20 --bytes 300k -o /dev/null --truth "$tmp/chat.json"
say "mkload: two files"
python3 - "$PWD/bench/truth.py" "$tmp" "$n" <<'END' || bad=1
import copy, json, subprocess, sys

TRUTH_PY, tmp, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
failed = 0
truths = {x: json.load(open(f"{tmp}/{x}.json")) for x in ("leap", "chat")}


def right(t):
    """The document that agrees with a truth."""
    c = t["counts"]
    both = lambda k: c["c2s_" + k] + c["s2c_" + k]
    return {
        "capture": {"packets": t["file"]["packets"]},
        "counts": {
            "tcp_connections": t["tcp"]["connections"] + t["noise"]["tcp_connections"],
            "http_exchanges": c["http_req_post"] + c["http_req_get"] + c["http_req_delete"],
            "sse_streams": c["sse_post"] + c["sse_standalone"] + c["sse_resumed"],
            "sse_by_kind": {"post-response": c["sse_post"], "standalone": c["sse_standalone"],
                            "resumed": c["sse_resumed"], "legacy": 0},
            "sse_events": c["sse_events"] + c["sse_primes"], "sse_comments": c["sse_comments"],
            "jsonrpc": {k: both(k) for k in ("request", "response", "notification")},
        },
        "sessions": [{}] * c["session_opened"],
        "findings": [{"detector": "leapfrog", "severity": "error", "session": x["id"], "sessions_alike": 0}
                     for x in t["leapfrog"]],
    }


def case(what, which, wanted, change=lambda d: None, events=None):
    global n, failed
    n += 1
    doc = copy.deepcopy(right(truths[which]))
    change(doc)
    with open(f"{tmp}/doc", "w") as f:
        json.dump(doc, f)
    args = [sys.executable, TRUTH_PY, f"{tmp}/{which}.json", f"{tmp}/doc"]
    if events:
        with open(f"{tmp}/ev", "w") as f:
            f.writelines(json.dumps(e, separators=(",", ":")) + "\n" for e in events)
        args.append(f"{tmp}/ev")
    p = subprocess.run(args, capture_output=True, text=True)
    good = p.returncode == 0 and not p.stdout if wanted is None else \
        p.returncode == 1 and wanted in p.stdout
    print(f"{'ok' if good else 'not ok'} {n} - truth: {what}")
    if not good:
        failed = 1
        print("# " + p.stdout + p.stderr)


ids = [x["id"] for x in truths["leap"]["leapfrog"]]


def one_for_all(d):
    del d["findings"][1:]
    d["findings"][0]["sessions_alike"] = len(ids) - 1


def named(d):
    del d["findings"][1:]
    d["findings"][0].update(sessions_alike=len(ids) - 1, alike=ids[1:])


case("equal", "leap", None)
case("equal, nothing wrong", "chat", None)
case("one event too few", "chat", "sse_events", lambda d: d["counts"].update(sse_events=1))
case("a response that was missed", "leap", "jsonrpc",
     lambda d: d["counts"]["jsonrpc"].update(response=d["counts"]["jsonrpc"]["response"] - 1))
case("a connection too many", "chat", "tcp_connections",
     lambda d: d["counts"].update(tcp_connections=d["counts"]["tcp_connections"] + 1))
case("packets", "chat", "packets", lambda d: d["capture"].update(packets=3))
case("a session that was split", "chat", "sessions, want", lambda d: d["sessions"].append({}))
case("a leapfrog that was missed", "leap", "not found on 1 of", lambda d: d["findings"].pop())
case("a look-alike that was flagged", "leap", "leapfrog on 1 sessions that have none",
     lambda d: d["findings"][0].update(session=truths["leap"]["shadow"][0]["id"]))
case("info is no finding", "leap", "not found on 1 of", lambda d: d["findings"][0].update(severity="info"))
case("a false alarm on clean traffic", "chat", "idle-cut found where nothing is wrong",
     lambda d: d["findings"].append({"detector": "idle-cut", "severity": "warning", "session": "x"}))
case("one finding for all sessions alike", "leap", None, one_for_all)
case("one finding for too few", "leap", "want",
     lambda d: one_for_all(d) or d["findings"][0].update(sessions_alike=2))
case("one finding that names them all", "leap", None, named)
case("one finding that names another", "leap", "that have none",
     lambda d: named(d) or d["findings"][0].update(alike=ids[1:-1] + ["x"]))
events = [{"type": "session", "session": i, "key": k} for i, k in enumerate(ids, 1)]
events += [{"type": "finding", "session": i, "detector": "leapfrog", "severity": "error"}
           for i, k in enumerate(ids, 1)]
case("one finding, and the events name them", "leap", None, one_for_all, events)
case("one finding, and the events lack one", "leap", "not found on 1", one_for_all, events[:-1])
sys.exit(failed)
END
exit $bad
