#!/usr/bin/env bash
# Speed, memory and punctuality of `replay`.
#   bench/replay.sh [-t]         a minute
# -t prints "ok"/"not ok" before each row.  A row fails when its number misses
# the gate, or when something was not played.  Exit status 1 when a row failed.
# Environment: BENCH_DIR, BENCH_RUNS (pairs of R1), BENCH_JSON=FILE, MCPDIAG.
#
# Times are wall-clock, of a client and a server that each want a processor.
set -u
cd "$(dirname "$0")/.." || exit 2
. bench/rows.sh
BIN=${MCPDIAG:-build/mcpdiag}
BARE=build/bench/curlmulti
RUNS=${BENCH_RUNS:-5}
lenient=1

case ${1-} in
-t) tap=1 ;;
?*)
	sed -n '3,6s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
for f in "$BIN" $BARE; do
	if [ ! -x "$f" ]; then
		echo "bench: $f is not built (make all bench-tools)" >&2
		exit 2
	fi
done
if ! command -v python3 >/dev/null; then
	echo "bench: no python3 here" >&2
	exit 2
fi
[ -z "${BENCH_DIR-}" ] || mkdir -p "$BENCH_DIR" || exit 2
D=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/mcpdiag-bench.XXXXXX") || exit 2
server=''

cleanup()
{
	[ -z "$server" ] || kill "$server"
	wait
	rm -rf "$D"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# start: a server; its URL in `url`
start()
{
	mkfifo "$D/said"
	"$BIN" serve --port 0 --json --keepalive 60 >"$D/said" 2>"$D/err" &
	server=$!
	read -r _ _ url <"$D/said"
	rm "$D/said"
	if [ -z "$url" ]; then
		echo "bench: $BIN serve does not start: $(cat "$D/err")" >&2
		exit 2
	fi
}
replay() { line=$(python3 bench/replay.py run "$BIN" replay -T json "$@" "$url" 2>"$D/err"); }
f() { field "$1" "$line"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# Pairs, in turn, so that both have the same neighbours.
fast()
{
	local i bare ours
	: >"$D/ratios"
	for ((i = 0; i < RUNS; i++)); do
		bare=$($BARE "$url" 64 64000) || return
		replay -x max --sessions 64 "$D/pings"
		[ "$(f bad)" = 0 ] || say FAIL "R1: $line $(cat "$D/err")"
		ours=$line
		calc 3 "($(field requests "$ours") / $(field wall "$ours")) / (64000 / $(field wall "$bare"))" >>"$D/ratios"
		echo >>"$D/ratios"
	done
	row R1 "requests/s beside bare libcurl, 64 at once" "$(median <"$D/ratios")" " x" '>=' 0.5 0.75 \
	    "$(sort -n "$D/ratios" | head -n 1)-$(sort -n "$D/ratios" | tail -n 1); CPU of a request $(calc 0 "1e6 * $(field cpu "$ours") / $(field requests "$ours")") and $(calc 0 "1e6 * $(field cpu "$bare") / 64000") us"
}

analyze() { line=$(python3 bench/replay.py run "$BIN" analyze -T json "$@" 2>"$D/err"); }

# listen ID N OPEN_MS AIM_MS: what the analysis takes for as many is not the
# listeners', and is told apart.
listen()
{
	local few all rest wrong=
	replay --client eventsource --sessions 100 -w "$D/few" "$D/one"
	few=$(f rss)
	replay --client eventsource --sessions "$2" -w "$D/all" "$D/one"
	all=$line
	[ "$(f streams)" = "$2" ] || wrong="$(f streams) streams"
	analyze "$D/few"
	rest=$(f rss)
	analyze "$D/all"
	rest=$(calc 1 "($(f rss) - $rest) / ($2 - 100)")
	line=$all
	row "$1" "$2 listeners open" "$(calc 0 "$(f open) * 1000")" " ms" '<=' "$3" "$4" "" "$wrong"
	[ "$1" = R2 ] || return
	row "$1" "each" "$(calc 1 "($(f rss) - $few) / ($2 - 100) - $rest")" " KiB" '<=' 24 16 \
	    "and $rest for the verdict"
}

punctual()
{
	local wrong=
	replay "$D/paced"
	[ "$(f bad)" = 0 ] && [ "$(f played)" = 10040 ] || wrong=$line
	row R3 "lateness at 1x, 2000 requests/s, p99" "$(calc 1 "$(f p99) * 1000")" " ms" '<=' 5 2 "" "$wrong"
	row R3 "longest" "$(calc 1 "$(f max) * 1000")" " ms" '<=' 20 - "" "$wrong"
}

header
python3 bench/replay.py pings "$D/pings" 1000
python3 bench/replay.py listeners "$D/one" 1 15
python3 bench/replay.py paced "$D/paced" 20 2000 5
start
fast
listen R2 5000 2000 1000
punctual
if [ "$(ulimit -Hn)" != unlimited ] && [ "$(ulimit -Hn)" -lt 10200 ]; then
	say SKIP "R4 10000 listeners: no more than $(ulimit -Hn) open files"
else
	listen R4 10000 60000 3000
fi
echo "# $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
