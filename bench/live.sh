#!/usr/bin/env bash
# `watch` on live traffic: what it keeps up with, what it costs, how soon it
# tells.
#   bench/live.sh                about three minutes
#   bench/live.sh soak           50 million packets through a pipe
# Everything but the soak happens in a network namespace of its own, for the
# generator's frames must not meet a real interface: that takes root.  tcpreplay,
# wrk, nginx and tcpdump are wanted (make deps DEPS=bench); a row whose tool is
# missing is skipped.  A row fails when its number misses the gate, or when
# something was said wrongly; a rate counts only if nothing was lost.  Generator
# and watch want a processor each: beside other work a row that is missed twice
# is skipped.  Exit status 1 when a row failed.
# Environment: BENCH_DIR, BENCH_RUNS (pairs of W5), BENCH_JSON=FILE, MCPDIAG,
# SOAK_PACKETS.
set -u
cd "$(dirname "$0")/.." || exit 2
. bench/rows.sh
BIN=${MCPDIAG:-build/mcpdiag}
MKLOAD=build/bench/mkload
SSE=build/bench/sse
PTYLAT=build/bench/ptylat
RUNS=${BENCH_RUNS:-5}

mode=${1-}
case $mode in
'')
	if ! unshare -n true 2>/dev/null; then
		echo "bench-live: skipped, no network namespace can be made here (root?)"
		exit 0
	fi
	exec unshare -n -- "$0" inside
	;;
inside | soak) ;;
*)
	sed -n '3,7s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
for f in "$BIN" $MKLOAD $SSE $PTYLAT; do
	if [ ! -x "$f" ]; then
		echo "bench: $f is not built (make all bench-tools)" >&2
		exit 2
	fi
done
[ -z "${BENCH_DIR-}" ] || mkdir -p "$BENCH_DIR" || exit 2
D=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/mcpdiag-bench.XXXXXX") || exit 2
watch='' server='' nginx=''

cleanup()
{
	local p
	for p in $watch $server $nginx; do
		kill "$p" 2>/dev/null
	done
	wait
	rm -rf "$D"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

have() { command -v "$1" >/dev/null; }

# ---- watch, and what plays to it ----

# cpu_of PID: nanoseconds; peak_of PID: KiB
cpu_of() { cut -d' ' -f1 "/proc/$1/schedstat"; }
peak_of() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }

# watching ARGS...: started, and listening on lo
watching()
{
	: >"$D/err"		# not the one of the last run
	"$BIN" watch -i lo "$@" >"$D/out" 2>>"$D/err" &
	watch=$!
	until grep -q 'listening on' "$D/err"; do
		if ! kill -0 $watch 2>/dev/null; then
			echo "bench: $BIN watch does not start: $(cat "$D/err")" >&2
			exit 2
		fi
		sleep 0.01
	done
}

# ended: stopped by ^C; its CPU time in `cpu`, its memory in `peak`
ended()
{
	sleep 0.5
	cpu=$(cpu_of $watch)
	peak=$(peak_of $watch)
	kill -INT $watch
	wait $watch
	status=$?
	watch=
}

# play ARGS... FILE: packets a second in `pps`, bytes a second in `rate`
play()
{
	tcpreplay -q -i lo --preload-pcap "$@" >"$D/play" 2>&1
	pps=$(sed -n 's/^Rated: .* \([0-9.]*\) pps$/\1/p' "$D/play")
	rate=$(sed -n 's/^Rated: \([0-9.]*\) Bps.*/\1/p' "$D/play")
}

# seen FILE: what a report counted, in one line, without its times
seen()
{
	awk '/^seen/ { on = 1 } on { if (!/^seen/ && !/^ /) exit; printf "%s ", $0 }' "$1" |
	    sed 's/ in [0-9.]* s,/,/; s/  */ /g'
}

drops() { sed -n 's/.*: \([0-9]*\) packets dropped.*/\1/p' "$D/err" | tail -n 1; }

# lossless NUMBER: the number, or 0 when packets were dropped
lossless() { if [ -z "$(drops)" ]; then echo "$1"; else echo 0; fi; }
lost() { [ -z "$(drops)" ] || echo ", $(drops) dropped at $1"; }

# wrong NAME: how the report of watch differs from that of the file, if all of
# it was captured
wrong()
{
	[ "$status" -le 1 ] || echo "exit status $status; "
	[ -n "$(drops)" ] || [ "$(seen "$D/out")" = "$(seen "$D/$1.seen")" ] ||
	    echo "$(seen "$D/out")instead of $(seen "$D/$1.seen")"
}

gen()			# gen NAME ARGS...: a capture, and what is in it
{
	local name=$1
	shift
	$MKLOAD "$@" -o "$D/$name.pcap" --truth "$D/$name.json" || exit 2
	$BIN analyze -T json --show-secrets "$D/$name.pcap" >"$D/doc"
	python3 bench/truth.py "$D/$name.json" "$D/doc" >"$D/untrue" ||
	    say FAIL "truth $name: $(head -n 2 "$D/untrue" | tr '\n' ';')"
	$BIN analyze "$D/$name.pcap" >"$D/$name.seen"
}

k() { calc 0 "$1 / 1000"; }

# ---- rows ----

play_chat()
{
	watching
	play --pps=205000 "$D/chat.pcap"
	ended
}
chat_paced()
{
	play_chat
	row W1 "chat, 10 s, nothing lost" "$(lossless "$(k "$pps")")" "k packets/s" '>=' 200 - \
	    "$(calc 0 "$peak / 1024") MiB$(lost "$(k "$pps")")" "$(wrong chat)"
}
# of the run before: the same packets
chat_cost()
{
	[ $trying -eq 1 ] || play_chat
	row W4 "CPU for each of these packets, a line for each event" \
	    "$(calc 3 "$cpu / 1000 / $packets")" " us" '<=' 2 1
}
chat_top()
{
	watching
	play --topspeed "$D/chat.pcap"
	ended
	row W1 "chat, as fast as tcpreplay goes" "$(lossless "$(k "$pps")")" "k packets/s" '>=' 200 500 \
	    "$(calc 3 "$cpu / 1000 / $packets") us each$(lost "$(k "$pps")")" "$(wrong chat)"
}
bulk()			# bulk MBIT WHAT AIM
{
	watching
	play --mbps="$1" "$D/bulk.pcap"
	ended
	row W3 "$2" "$(lossless "$(calc 2 "$rate / 1e9")")" " GB/s" '>=' 0.8 "$3" \
	    "$(calc 0 "$peak / 1024") MiB$(lost "$(calc 2 "$rate / 1e9")")" "$(wrong bulk)"
}

# W8: twice what fits; nothing breaks, and what is lost is said.
overload()
{
	local n why=
	watching
	play --topspeed --loop=2 "$D/bulk.pcap"
	ended
	n=$(drops)
	[ "$status" -le 1 ] || why="exit status $status; "
	if [ "${n:-0}" -gt 0 ]; then
		grep -q "lost $n packets" "$D/out" ||
		    why="${why}the report does not say that $n were dropped; "
		grep -q 'may hide' "$D/out" || why="${why}the verdict is not weakened; "
	fi
	row W8 "overload, $(calc 1 "$rate / 1e9") GB/s, ${n:-0} dropped and said: memory" \
	    "$(calc 0 "$peak / 1024")" " MiB" '<=' 320 - "64 of it the ring" "$why"
}

requests()		# requests FILTER_PROGRAM...: a second, while it captures
{
	local r
	wrk -t1 -c64 -d2s http://127.0.0.1:8080/mcp >"$D/wrk" 2>&1
	r=$(awk '/^Requests\/sec/ { print $2 }' "$D/wrk")
	echo "${r:-0}"
}

observer()
{
	local i a b dump
	nginx_start 8080 '{"jsonrpc":"2.0","id":1,"result":{}}'
	rm -f "$D/pairs"
	requests >/dev/null
	for ((i = 0; i < RUNS; i++)); do
		watching -q port 8080
		a=$(requests)
		ended
		: >"$D/dump"
		tcpdump -i lo -B 65536 -w /dev/null port 8080 2>>"$D/dump" &
		dump=$!
		until grep -q listening "$D/dump"; do sleep 0.01; done
		b=$(requests)
		kill -INT $dump
		wait $dump
		echo "$(calc 3 "$a / ($b + 0.001)") $a $b" >>"$D/pairs"
	done
	kill "$nginx"
	wait "$nginx"
	nginx=
	sort -n "$D/pairs" >"$D/sorted"
	read -r i a b < <(sed -n "$((RUNS / 2 + 1))p" "$D/sorted")
	row W5 "requests/s of nginx, watched / with tcpdump" "$i" x '>=' 0.9 1.1 \
	    "$(head -n 1 "$D/sorted" | cut -d' ' -f1)-$(tail -n 1 "$D/sorted" | cut -d' ' -f1); $(k "$a")k and $(k "$b")k"
}

serving()		# serving ARGS...: a server, its port in `port`
{
	"$BIN" serve --port 0 "$@" >"$D/served" 2>"$D/said" &
	server=$!
	port=
	while [ -z "$port" ]; do
		kill -0 $server || exit 2
		sleep 0.02
		port=$(sed -n 's/^listening on .*:\([0-9]*\)\/mcp$/\1/p' "$D/served")
	done
}
served()
{
	kill $server
	wait $server
	server=
}

# W6: what is sent after the line "listening" is seen.
starts()
{
	local i j n=0
	serving
	for ((i = 0; i < 20; i++)); do
		watching
		$SSE session "$port" >/dev/null
		for ((j = 0; j < 100; j++)); do
			grep -q 'request initialize' "$D/out" && break
			sleep 0.02
		done
		[ $j -eq 100 ] || n=$((n + 1))
		kill -INT $watch
		wait $watch
	done
	watch=
	served
	row W6 "first exchange seen, of 20 starts" $n "" '>=' 20 -
}

# W7: packet to line; and what the server did to the line that tells of it.
watch_evictions()
{
	local i
	mkfifo "$D/lines"
	: >"$D/err"
	serving --policy replace --events "$D/events"
	python3 bench/delay.py "$D/events" <"$D/lines" >"$D/delay" &
	i=$!
	"$BIN" watch -i lo -T ndjson "port $port" >"$D/lines" 2>>"$D/err" &
	watch=$!
	until grep -q 'listening on' "$D/err"; do sleep 0.01; done
	for _ in {1..150}; do
		$SSE evict "$port" 1 >/dev/null
		sleep 0.03
	done
	sleep 0.5
	served
	kill -INT $watch
	wait $watch $i
	watch=
	rm "$D/lines"
	line=$(cat "$D/delay")
}
latency()
{
	watch_evictions
	row W7 "packet to line, p99 of $(field n "$line")" "$(field p99 "$line")" " ms" '<=' 80 40 \
	    "median $(field p50 "$line"), longest $(field max "$line")"
}
owners()
{
	[ $trying -eq 1 ] || watch_evictions
	row W7 "owner changed to line, longest of $(field changes "$line")" \
	    "$(field owner_max "$line")" " ms" '<=' 200 - \
	    "median $(field owner_p50 "$line"), p99 $(field owner_p99 "$line")" \
	    "$([ "$(field missed "$line")" = 0 ] || echo "$(field missed "$line") not told")"
}

# piped ID WHAT GATE PROFILE_ARGS...: memory of watch -r - while it reads all
# that, with watch_args; the first `ramp`th is where it may grow.  GATE "-": only
# the memory counts.
watch_args='' ramp=5
piped()
{
	local id=$1 what=$2 gate=$3 rss early late n
	local wrong counts
	shift 3
	mkfifo "$D/pipe" "$D/lines"
	$MKLOAD "$@" --truth "$D/pipe.json" >"$D/pipe" 2>"$D/said" &
	tail -n 100 <"$D/lines" >"$D/out" &
	# shellcheck disable=SC2086 # several words
	"$BIN" watch $watch_args -r - <"$D/pipe" >"$D/lines" 2>"$D/err" &
	watch=$!
	: >"$D/rss"
	while rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$watch/status" 2>/dev/null) && [ -n "$rss" ]; do
		echo "$rss" >>"$D/rss"
		sleep 0.1
	done
	wait
	watch=
	rm "$D/pipe" "$D/lines"
	n=$(wc -l <"$D/rss")
	early=$(sort -n <(head -n $((n / ramp)) "$D/rss") | tail -n 1)
	late=$(sort -n "$D/rss" | tail -n 1)
	wrong=$(grep -q '^seen' "$D/out" || cat "$D/err")
	counts="$(seen "$D/out" | cut -d, -f1), $(calc 0 "$n / 10") s"
	if [ "$gate" = - ]; then
		row "$id" "$what: memory" "$(calc 0 "$late / 1024")" " MiB" '<=' 384 - "$counts" "$wrong"
		return
	fi
	row "$id" "$what: growth behind the first 1/$ramp" \
	    "$(calc 1 "($late - ${early:-$late}) * 100 / $late")" " %" '<=' "$gate" 0 \
	    "$(calc 1 "$late / 1024") MiB, $counts" "$wrong"
}

# ---- screens ----

# on_terminal ARGS... PROGRAM...: keys into a terminal of 200x50, in `line`
on_terminal() { line=$($PTYLAT -s 200x50 "$@"); }
ms() { calc "${2:-1}" "$(field "$1" "$line")"; }
# unanswered: when no key at all has an answer, or the program failed
unanswered()
{
	[ "$(field missed "$line")" -lt "$(($(field n "$line") + 1))" ] &&
	    [ "$(field status "$line")" -le 1 ] ||
	    echo "$(field missed "$line") keys without an answer, exit status $(field status "$line")"
}

# busy_screen PPS TRIES: a chat at that rate while keys are sent, over in time
busy_screen()
{
	: >"$D/out"
	(
		sleep 1
		tcpreplay -q -i lo --preload-pcap --pps="$1" "$D/chat.pcap" >"$D/play" 2>&1
	) &
	on_terminal -o "$D/raw" -t :8931 -n "$2" -w 1500 -a "$3" "$BIN" watch -i lo
	wait
	status=$(field status "$line")
	tr -d '\r' <"$D/raw" | sed 's/\x1b[^A-Za-z]*[A-Za-z]//g' >"$D/out"
	sed -n 's/.*lost \([0-9]*\) packets.*/x: \1 packets dropped/p' "$D/out" >"$D/err"
	pps=$(sed -n 's/^Rated: .* \([0-9.]*\) pps$/\1/p' "$D/play")
}
screen_rate()
{
	busy_screen 155000 60 10000
	row W2 "chat on a screen, nothing lost" "$(lossless "$(k "$pps")")" "k packets/s" '>=' 150 300 \
	    "key p99 $(ms p99) ms$(lost "$(k "$pps")")" "$(wrong chat)"
}
screen_keys()
{
	busy_screen 103000 120 12000
	row T1 "key to changed screen, p99, $(k "$pps") k packets/s" "$(ms p99)" " ms" '<=' 60 30 \
	    "median $(ms p50), longest $(ms max)" "$(unanswered)"
}
frame()
{
	on_terminal -t 10000 -w 3000 -n 60 "$BIN" watch -r "$D/many.pcap"
	row T2 "CPU for a frame, 10,000 sessions" "$(ms key_cpu 2)" " ms" '<=' 5 2 \
	    "key p99 $(ms p99)" "$(unanswered)"
}
resting()
{
	on_terminal -w 2000 -i 10000 -n 0 "$BIN" watch -i lo
	row T3 "CPU with no traffic" "$(ms idle_cpu 2)" " %" '<=' 0.5 0.1 \
	    "$(field paints "$line") repaints in 10 s"
}
first_paint()
{
	on_terminal -t Sessions -w 0 -n 0 "$BIN" watch -i lo
	row T4 "first paint, live" "$(ms text)" " ms" '<=' 150 - "" "$(unanswered)"
}
first_progress()
{
	on_terminal -t reading -w 0 -n 0 "$BIN" watch -r "$D/chat.pcap"
	row T4 "first progress of $(calc 0 "$(stat -c %s "$D/chat.pcap") / 1e6") MB" "$(ms text)" " ms" \
	    '<=' 100 - "" "$(unanswered)"
}
sorting()		# sorting WHAT KEYS
{
	on_terminal -t 10000 -w 3000 -n 60 -k "$2" "$BIN" watch -r "$D/many.pcap"
	row T5 "$1 10,000 sessions, p99" "$(ms p99)" " ms" '<=' 50 15 \
	    "median $(ms p50), longest $(ms max)" "$(unanswered)"
}

# What is forgotten must be said: such a chat has more sessions than are kept.
evicted()
{
	local n
	n=$(sed -n 's/.*"session_opened": \([0-9]*\).*/\1/p' "$D/pipe.json")
	if grep -q 'limit sessions=' "$D/out"; then
		say PASS "soak of ${n:-many} sessions those forgotten are told"
	else
		say FAIL "soak of ${n:-many} sessions nothing is told of those forgotten"
	fi
}

# A key while a chat comes through a pipe as fast as it can.
soak_keys()
{
	line=$($MKLOAD --profile chat --sessions 256 --packets "$n" --bytes 1T 2>"$D/said" |
	    $PTYLAT -s 200x50 -p -t Sessions -w 3000 -n 200 "$BIN" watch -r -)
	row soak "key to changed screen meanwhile, p99 of $(field n "$line")" "$(ms p99)" " ms" '<=' 50 - \
	    "median $(ms p50), longest $(ms max)" "$(unanswered)"
}

# The load average would count what this script did a minute ago.
others=0
for _ in {1..10}; do
	others=$((others + $(sed 's/.* \([0-9]*\)\/.*/\1/' /proc/loadavg) - 1))
	sleep 0.05
done
header
if [ $others -ge 10 ]; then
	echo "# other work: $((others / 10)) processes want to run"
	lenient=1
fi
if [ "$mode" = soak ]; then
	n=${SOAK_PACKETS:-50000000}
	ramp=2		# tables that have a limit are full then
	piped soak "$n packets, idle" 5 --profile idle --streams 5000 --packets "$n" --bytes 1T
	watch_args="--limit sessions=4096 --limit streams=4096"
	piped soak "$n packets, chat, 4096 sessions kept" 5 \
	    --profile chat --sessions 256 --packets "$n" --bytes 1T
	evicted
	watch_args=
	piped soak "$n packets, chat" - --profile chat --sessions 256 --packets "$n" --bytes 1T
	try soak_keys
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed -eq 0 ]
	exit
fi

ip link set lo up || exit 2
if have tcpreplay; then
	gen chat --profile chat --sessions 256 --packets 2050000 --bytes 10G
	packets=$(sed -n 's/.*"file": .*"packets": \([0-9]*\),.*/\1/p' "$D/chat.json")
	try chat_paced
	try chat_cost
	try chat_top
	on_terminal -t Sessions -w 0 -n 0 "$BIN" watch -r captures/01-clean-ts1.32.pcap
	screens=$([ "$(field text "$line")" = -1.0 ] || echo yes)
	if [ -n "$screens" ]; then
		try screen_rate
		try screen_keys
		try first_progress
	else
		say SKIP "W2 T1-T5: this watch draws no screens"
	fi
	rm "$D/chat.pcap"
	gen bulk --profile bulk --sessions 16 --mss 32768 --bytes 2400M
	try bulk 6600 "32 KB segments, 3 s, nothing lost" -
	try bulk 13200 "the same, twice as fast" 1.6
	overload
	rm "$D/bulk.pcap"
else
	say SKIP "W1 W3 W4 W8: no tcpreplay here"
fi
if have wrk && have nginx && have tcpdump; then
	try observer
else
	say SKIP "W5: no wrk, nginx or tcpdump here"
fi
starts
try latency
try owners
if [ -n "${screens-}" ]; then
	try first_paint
	try resting
	$MKLOAD --profile idle --streams 10000 --packets 150000 --bytes 1T -o "$D/many.pcap" || exit 2
	try frame
	try sorting sort '>'
	try sorting filter $'f1\r'
fi
piped W9 "idle 1 GB through a pipe" 5 --profile idle --streams 5000 --bytes 1G
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
