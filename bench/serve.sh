#!/usr/bin/env bash
# Speed and memory of `serve`, and whether it loses or doubles anything while
# it is fast.
#   bench/serve.sh [-t]          a minute and a half; wrk and nginx for S4
# -t prints "ok"/"not ok" before each row.  A row fails when its number misses
# the gate, or when a stream did not get what it should.  Exit status 1 when a
# row failed.  Environment: BENCH_DIR, BENCH_RUNS (pairs of S4), BENCH_JSON=FILE,
# MCPDIAG.
#
# Times are wall-clock, of a server and a client that each want a processor.  A
# time that misses its gate is measured once more; when something else was
# running at the start it is then skipped, as it proves nothing.
set -u
cd "$(dirname "$0")/.." || exit 2
. bench/rows.sh
BIN=${MCPDIAG:-build/mcpdiag}
SSE=build/bench/sse
RUNS=${BENCH_RUNS:-5}

case ${1-} in
-t) tap=1 ;;
?*)
	sed -n '4,8s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
for f in "$BIN" $SSE; do
	if [ ! -x "$f" ]; then
		echo "bench: $f is not built (make all bench-tools)" >&2
		exit 2
	fi
done
[ -z "${BENCH_DIR-}" ] || mkdir -p "$BENCH_DIR" || exit 2
D=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/mcpdiag-bench.XXXXXX") || exit 2
server='' nginx=''

cleanup()
{
	stop
	[ -z "$nginx" ] || kill "$nginx"
	wait
	rm -rf "$D"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# start ARGS...: a server; its process in `server`, its port in `port`
start()
{
	local i
	"$BIN" serve --port 0 "$@" >"$D/out" 2>"$D/err" &
	server=$!
	port=
	for ((i = 0; i < 500 && ${#port} == 0; i++)); do
		sleep 0.02
		port=$(sed -n 's/^listening on .*:\([0-9]*\)\/mcp$/\1/p' "$D/out")
	done
	if [ -z "$port" ]; then
		echo "bench: $BIN serve does not start: $(cat "$D/err")" >&2
		exit 2
	fi
}

stop()
{
	[ -n "$server" ] || return 0
	kill "$server"
	wait "$server"
	server=
}

# run ID SERVER_ARGS MODE ARGS...: one run of the client against a server of its
# own; its numbers in `line`.  The same again is not run again, unless try asks
# for a second time.  False, and a failed row, when a stream did not get what it
# should.
last=
run()
{
	local id=$1 serve=$2 mode=$3 ok pid=
	shift 3
	if [ $trying -eq 1 ] && [ "$last" = "$serve $mode $*" ]; then
		return 0
	fi
	last=
	# shellcheck disable=SC2086 # several words
	start $serve
	case $mode in evict | promote) ;; *) pid=$server ;; esac
	# shellcheck disable=SC2086
	line=$($SSE "$mode" "$port" $pid "$@" 2>"$D/said")
	ok=$?
	stop
	if [ $ok -ne 0 ]; then
		# not a matter of time: no second try
		result=PASS
		say FAIL "$id $mode: $(cat "$D/said")"
		return 1
	fi
	last="$serve $mode $*"
}

f() { calc "${2:-0}" "$(field "$1" "$line")"; }
# scaled N VALUE: what 10,000 may take, for N
scaled() { calc 0 "$2 * $1 / 10000"; }

memory()
{
	run S1 "--keepalive 0" idle "$1" || return
	row S1 "$1 idle streams, each" "$(f rss 2)" " KiB" '<=' 4 2
}

opening()
{
	run S2 "--keepalive 0" idle "$1" || return
	row S2 "open $1" "$(f open)" " ms" '<=' "$(scaled "$1" 1500)" "$(scaled "$1" 600)" \
	    "of it GET $(f get); the server's CPU $(f open_cpu)"
}

comments()
{
	run S3 "--keepalive 2" round "$1" 3 || return
	row S3 "comments to $1" "$(f round)" " ms" '<=' "$(scaled "$1" 200)" - \
	    "$(f round_min)-$(f round_max)"
}

stall()
{
	run S3 "--keepalive 2" round "$1" 3 || return
	row S3 "longest wait of a ping meanwhile" "$(f stall 1)" " ms" '<=' 20 - \
	    "$(f stall_min 1)-$(f stall_max 1), without comments $(f quiet 1)"
}

told()
{
	run S6 "--keepalive 2" round "$1" 3 || return
	row S6 "and while a signal goes to all" "$(f told 1)" " ms" '<=' 20 - \
	    "$(f told_min 1)-$(f told_max 1)"
}

decision()
{
	run S5 "$1" "$2" 1000 || return
	row S5 "$3, p99 of 1000" "$(f "$2_p99" 2)" " ms" '<=' 5 - \
	    "median $(f "$2_p50" 2), longest $(f "$2_max" 2)"
}

# Not in time, but exactly once.
signals()
{
	run S6 "--keepalive 0" idle "$1" || return
	say PASS "S6 each of 5 signals once on $1 streams, in $(f emit) ms, at most $(f emit_max)"
}

storm()
{
	run S6 "--keepalive 0" storm "$1" 3 || return
	say PASS "S6 $1 primaries closed at once, $1 shadows promoted and told all, 3 times," \
	    "in $(f storm) ms, at most $(f storm_max)"
	row S6 "memory that a round leaves behind" "$(f grown)" " KiB" '<=' 256 -
}

slow()
{
	run S7 "--keepalive 0" flood 10 || return
	row S7 "a ping beside a flood, p99 of $(f pings)" "$(f ping_p99 2)" " ms" '<=' 5 - \
	    "median $(f ping_p50 2), longest $(f ping_max 2)"
}

slow_memory()
{
	run S7 "--keepalive 0" flood 10 || return
	row S7 "memory that 10 dropped readers leave behind" "$(f after)" " KiB" '<=' 1024 - \
	    "$(f grown) with one; $(f resumed) messages kept for each"
}

# ---- S4: wrk against us and nginx in turn ----

BODY='{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello, world"}]}}'
CALL='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello, world"}}}'

wrk_script()			# for session $1
{
	cat <<-END
	wrk.method = "POST"
	wrk.body = '$CALL'
	wrk.headers["Content-Type"] = "application/json"
	wrk.headers["Accept"] = "application/json, text/event-stream"
	wrk.headers["MCP-Protocol-Version"] = "2025-11-25"
	wrk.headers["Mcp-Session-Id"] = "$1"
	END
}

# load PORT PID: requests a second, and us of CPU for each
load()
{
	local before after rate
	before=$(cut -d' ' -f1 "/proc/$2/schedstat")
	wrk -t1 -c64 -d2s -s "$D/call.lua" "http://127.0.0.1:$1/mcp" >"$D/wrk" 2>&1
	after=$(cut -d' ' -f1 "/proc/$2/schedstat")
	grep 'Non-2xx\|Socket errors' "$D/wrk" >>"$D/wrong"
	rate=$(awk '/^Requests\/sec/ { print $2 }' "$D/wrk")
	echo "${rate:-0} $(calc 2 "($after - $before) / 1000 / (2 * ${rate:-0} + 1)")"
}

against_nginx()			# against_nginx WHAT SERVER_ARGS
{
	local peer i a b ac bc
	start			# for a port that is free
	peer=$port
	stop
	nginx_start "$peer" "$BODY"
	# shellcheck disable=SC2086 # none or one
	start $2
	wrk_script "$($SSE session "$port")" >"$D/call.lua"
	rm -f "$D/wrong" "$D/pairs"
	for ((i = 0; i < RUNS; i++)); do
		read -r a ac < <(load "$port" "$server")
		read -r b bc < <(load "$peer" "$nginx")
		echo "$(calc 3 "$a / ($b + 0.001)") $a $ac $b $bc" >>"$D/pairs"
	done
	stop
	kill "$nginx"
	wait "$nginx"
	nginx=
	sort -n "$D/pairs" >"$D/sorted"
	read -r i a ac b bc < <(sed -n "$((RUNS / 2 + 1))p" "$D/sorted")
	row S4 "tools/call a second, $1, against nginx" "$i" x '>=' 0.3 0.5 \
	    "$(head -n 1 "$D/sorted" | cut -d' ' -f1)-$(tail -n 1 "$D/sorted" | cut -d' ' -f1); \
$(calc 0 "$a") and $(calc 0 "$b"), CPU of each $ac and $bc us" "$(cat "$D/wrong" 2>/dev/null)"
}

# The client and the server have some descriptors of their own.
files=$(ulimit -Hn)
[ "$files" != unlimited ] || files=1000000
room=$((files - 100))
few=10000 many=19000
if [ $room -lt $many ]; then
	many=$room
	[ $few -le $room ] || few=$room
	echo "# $files files may be open: at most $many streams instead of 19000"
fi

# The load average would count what this script did a minute ago.
others=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	others=$((others + $(sed 's/.* \([0-9]*\)\/.*/\1/' /proc/loadavg) - 1))
	sleep 0.05
done
header
if [ $others -ge 10 ]; then
	echo "# other work: $((others / 10)) processes want to run"
	lenient=1
fi

try memory $few
try opening $few
signals $few
if [ $many -gt $few ]; then
	try memory $many
	try opening $many
fi
try comments $few
try stall $few
try told $few
if command -v wrk >/dev/null && command -v nginx >/dev/null; then
	try against_nginx "as JSON" --json
	try against_nginx "as a stream" ""
else
	say SKIP "S4 tools/call a second: no wrk or no nginx here"
fi
try decision "--policy replace" evict "a GET ends the one before"
try decision "" promote "a primary's close promotes its shadow"
storm $((few / 2))
try slow
try slow_memory
[ $tap -eq 1 ] || echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
