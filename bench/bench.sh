#!/usr/bin/env bash
# Speed and memory of `analyze`, and whether what it says is right.
#   bench/bench.sh [-t] smoke    20 MB files, no other program needed, < 1 min
#   bench/bench.sh [-t] full     100 MB and 1 GB, against named peers, ~ 10 min
# -t prints "ok"/"not ok" before each row (for tests/run.sh).  A row fails when
# its number misses the gate, or when the timed run itself said something that
# is not true of its file.  Exit status 1 when a row failed.
# Environment: BENCH_DIR (default: a temporary folder), BENCH_SIZE, BENCH_RUNS,
# BENCH_JSON=FILE (the rows as JSON lines), MCPDIAG.
#
# Numbers are user + system CPU seconds, the median of runs made in turn with
# the contender's on a file written just before: they hold to about 6 % where
# absolute times move by a factor of two.
set -u
cd "$(dirname "$0")/.." || exit 2
. bench/rows.sh
BIN=${MCPDIAG:-build/mcpdiag}
PAIR=build/bench/pair
MKLOAD=build/bench/mkload
FLOOR=build/bench/floor
HOSTILE=build/bench/hostile
TINY=captures/01-clean-ts1.32.pcap	# 53 packets

if [ "${1-}" = -t ]; then
	tap=1
	shift
fi
mode=${1-}
case $mode in
smoke) BIG=20M SMALL=5M RUNS=${BENCH_RUNS:-9} SLACK=1.25 SPACE=200 lenient=2 ;;
full) BIG=${BENCH_SIZE:-1G} SMALL=100M RUNS=${BENCH_RUNS:-5} SLACK=1 SPACE=3000 ;;
*)
	sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
for f in "$BIN" $PAIR $MKLOAD $FLOOR $HOSTILE; do
	if [ ! -x "$f" ]; then
		echo "bench: $f is not built (make all bench-tools)" >&2
		exit 2
	fi
done
if [ -n "${BENCH_DIR-}" ]; then
	mkdir -p "$BENCH_DIR" || exit 2
fi
D=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/mcpdiag-bench.XXXXXX") || exit 2
trap 'rm -rf "$D"' EXIT
trap 'exit 130' INT TERM
free=$(df -Pm "$D" | awk 'NR == 2 { print $4 }')
if [ "$free" -lt "$SPACE" ]; then
	echo "bench: $D has $free MB free, $SPACE are needed; set BENCH_DIR" >&2
	exit 2
fi
slack=$SLACK

size_of() { stat -c %s "$1"; }

# gen NAME SIZE FLAGS...: writes and warms NAME.pcap and its truth
gen()
{
	local name=$1 size=$2
	shift 2
	$MKLOAD --bytes "$size" "$@" -o "$D/$name.pcap" --truth "$D/$name.json" || exit 2
	cat "$D/$name.pcap" >/dev/null
}

# The run that counts is the one that is checked: this is what is timed.
analyze() { echo "$BIN analyze -T json --show-secrets"; }

# untrue NAME: what the last document says that its file's truth does not
untrue()
{
	python3 bench/truth.py "$D/$1.json" "$D/doc" | head -n 2 | tr '\n' ';'
}

# truth NAME: a row of its own for what is said about a file
truth()
{
	local why events=
	$BIN analyze -T json --show-secrets "$D/$1.pcap" >"$D/doc" 2>"$D/err"
	if [ "${2-}" = events ]; then
		events=$D/events
		$BIN analyze -T ndjson --show-secrets "$D/$1.pcap" >"$events" 2>>"$D/err"
	fi
	if why=$(python3 bench/truth.py "$D/$1.json" "$D/doc" ${events:+"$events"}); then
		say PASS "truth ${1%%.*} equal"
	else
		say FAIL "truth ${1%%.*}: $(head -n 3 <<<"$why" | tr '\n' ';') $(tail -n 1 "$D/err")"
	fi
	rm -f "$D/events"
}

# against ID NAME RUNS OP GATE AIM UNIT CONTENDER...: with >= the contender's
# cost in ours, with <= our cost in the contender's
against()
{
	local id=$1 name=$2 runs=$3 op=$4 gate=$5 aim=$6 line v lo hi
	shift 6
	# shellcheck disable=SC2046 # several words
	line=$($PAIR -n "$runs" -o "$D/doc" $(analyze) "$D/$name.pcap" -- "$@")
	v=$(field ratio "$line") lo=$(field min "$line") hi=$(field max "$line")
	if [ "$op" = '>=' ]; then
		v=$(calc 1 "1 / $v")
		lo=$(calc 1 "1 / $hi") hi=$(calc 1 "1 / $(field min "$line")")
	else
		v=$(calc 2 "$v") lo=$(calc 2 "$lo") hi=$(calc 2 "$hi")
	fi
	row "$id" "${name%%.*}" "$v" x "$op" "$gate" "$aim" "$lo-$hi" \
	    "$([ "$(field b_status "$line")" -lt 126 ] || echo "the contender failed; ")$(untrue "$name")"
}

peer()			# peer ID NAME PROGRAM RUNS GATE AIM ARGS...
{
	if ! command -v "$3" >/dev/null; then
		say SKIP "$1 $2: no $3 here"
		return
	fi
	try against "$1" "$2" "$4" '>=' "$5" "$6" "$3" "${@:7}"
}

# grows ID NAME BIG SMALL GATE AIM: seconds per byte of the one against the other
grows()
{
	local id=$1 what=$2 big=$3 small=$4 gate=$5 aim=$6 line per
	# shellcheck disable=SC2046
	line=$($PAIR -n "$RUNS" -o "$D/doc" $(analyze) "$D/$big.pcap" -- $(analyze) "$D/$small.pcap")
	per=$(calc 6 "$(size_of "$D/$small.pcap") / $(size_of "$D/$big.pcap")")
	row "$id" "$what" "$(calc 2 "$(field ratio "$line") * $per")" x '<=' "$gate" "$aim" \
	    "$(calc 2 "$(field min "$line") * $per")-$(calc 2 "$(field max "$line") * $per")" \
	    "$(untrue "$big")"
	big_rss=$(field a_rss "$line") small_rss=$(field b_rss "$line")
}

memory()		# memory ID NAME KIB GATE_MIB AIM_MIB
{
	slack=1
	row "$1" "$2" "$(calc 1 "$3 / 1024")" " MiB" '<=' "$4" "$5"
	slack=$SLACK
}

# A10: a capture of 53 packets, start to end.
tiny()
{
	local line
	# shellcheck disable=SC2046
	line=$($PAIR -n 15 -o "$D/doc" $(analyze) $TINY)
	row A10 "53 packets" "$(calc 1 "$(field a_wall "$line") * 1000")" " ms" '<=' 20 5 "" \
	    "$([ "$(field a_status "$line")" -le 1 ] || echo "exit status $(field a_status "$line")")"
}

# flags PROFILE: as in bench/README.md
flags()
{
	case $1 in
	chat) echo "--profile chat --sessions 256" ;;
	bulk) echo "--profile bulk --sessions 16" ;;
	idle) echo "--profile idle --streams $([ "$mode" = smoke ] && echo 500 || echo 5000)" ;;
	leapnoise)
		echo "--profile leapfrog --noise 50 --loss 0.5 --reorder 0.5 --dup 0.2"
		# a short file, yet with leapfrogs long enough to be seen
		[ "$mode" = full ] || echo "--retry 500 --ramp 1000"
		;;
	noise) echo "--profile noise" ;;
	impaired)
		echo "--profile leapfrog --noise 30 --loss 2 --reorder 2 --dup 1 --split 5
		    --ipv6 30 --retry 500 --ramp 1000"
		;;
	esac
}
gate3() { case $1 in chat) echo 12 7 ;; bulk) echo 25 14 ;; idle) echo 8 5 ;; *) echo 8 4 ;; esac }

# counted PROFILE GATE: instructions for each byte of a small file, which are
# the same on every run and every day.
counted()
{
	local n
	if ! command -v valgrind >/dev/null; then
		say SKIP "I $1: no valgrind here"
		return
	fi
	# shellcheck disable=SC2046
	gen count 4M $(flags "$1" | sed 's/--sessions 256/--sessions 32/; s/--streams 500/--streams 50/')
	n=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
	    "$BIN" analyze -qq "$D/count.pcap" 2>&1 | sed -n 's/.*Collected : //p')
	row I "$1" "$(calc 1 "${n:-1e12} / $(stat -c %s "$D/count.pcap")")" " instructions/byte" '<=' "$2" -
	rm -f "$D"/count.*
}

smoke()
{
	local p
	slack=1			# what is counted needs none
	counted chat 26
	counted bulk 9
	counted idle 24
	counted leapnoise 18
	slack=$SLACK
	for p in chat bulk idle leapnoise noise impaired; do
		# shellcheck disable=SC2046
		gen "$p" "$BIG" $(flags "$p")
		truth "$p" "$([ "$p" = leapnoise ] && echo events)"
		case $p in noise | impaired) continue ;; esac
		# shellcheck disable=SC2046
		gen "$p.small" "$SMALL" $(flags "$p")
		# shellcheck disable=SC2046
		try against A3 "$p" "$RUNS" '<=' $(gate3 "$p") $FLOOR rscan "$D/$p.pcap"
		try against A4 "$p" "$RUNS" '<=' 6 4 $FLOOR count "$D/$p.pcap"
		try grows A6 "$p" "$p" "$p.small" 1.25 1.1
		# a fiftieth of the file: what does not grow may stay as it is
		case $p in
		bulk) memory A7 "$p" "$big_rss" 60 40 ;;
		*) memory A7 "$p" "$big_rss" 32 20 ;;
		esac
		rm -f "$D/$p".* "$D/$p.small".*
	done
	# shellcheck disable=SC2046
	gen pipe "$SMALL" $(flags chat)
	# shellcheck disable=SC2046
	$MKLOAD --bytes "$SMALL" $(flags chat) | $BIN analyze -T json --show-secrets - >"$D/doc" 2>/dev/null
	row pipe "differences from a pipe" "$(python3 bench/truth.py "$D/pipe.json" "$D/doc" | wc -l)" "" '<=' 0 -
	try tiny
}

# Seconds for N against N/4, of what is made to cost.
hostile()
{
	local what=$1 n=$2 line
	$HOSTILE "$what" "$n" >"$D/h.pcap" && $HOSTILE "$what" $((n / 4)) >"$D/h4.pcap"
	# shellcheck disable=SC2046
	line=$($PAIR -n 3 -t 120 $(analyze) "$D/h.pcap" -- $(analyze) "$D/h4.pcap")
	row A13 "$n $what against $((n / 4)), per packet" "$(calc 2 "$(field ratio "$line") / 4")" x '<=' 1.25 - \
	    "$(calc 2 "$(field min "$line") / 4")-$(calc 2 "$(field max "$line") / 4")" \
	    "$([ "$(field a_status "$line")" -lt 126 ] || echo "exit status $(field a_status "$line")")"
	memory A13 "$n $what" "$(field a_rss "$line")" 256 -
	rm -f "$D/h.pcap" "$D/h4.pcap"
}

# What is known to be in a canonical file, by its hash (bench/README.md).
canonical()
{
	local name=$1 size=$2 want got
	want=$(awk -F'|' -v n="$name" -v s="$size" '
	    { gsub(/ /, "") } $2 != "" { last = $2 }
	    last == n && $4 == s { print $5 }' bench/README.md)
	[ -n "$want" ] || return 0
	got=$(sha256sum "$D/$3.pcap" | cut -c1-16)
	[ "$got" = "$want" ] || say FAIL "workload $name $size has hash $got, want $want"
}

full()
{
	local p n s c line
	for p in chat bulk idle leapnoise; do
		# shellcheck disable=SC2046
		gen "$p.small" "$SMALL" $(flags "$p")
		canonical "$p" "$SMALL" "$p.small"
		truth "$p.small" "$([ "$p" = leapnoise ] && echo events)"
		case $p in
		chat | leapnoise) peer A1 "$p.small" tshark "$RUNS" 15 25 -n -r "$D/$p.small.pcap" -Y http ;;
		bulk) peer A2 "$p.small" tshark 3 40 80 -n -r "$D/$p.small.pcap" -Y http ;;
		idle) peer A2 "$p.small" tshark 3 50 100 -n -r "$D/$p.small.pcap" -Y http ;;
		esac
		peer A5 "$p.small" tcpflow "$RUNS" 3 5 -C -r "$D/$p.small.pcap"

		# shellcheck disable=SC2046
		gen "$p" "$BIG" $(flags "$p")
		canonical "$p" "$BIG" "$p"
		# shellcheck disable=SC2046
		try against A3 "$p" "$RUNS" '<=' $(gate3 "$p") $FLOOR rscan "$D/$p.pcap"
		try against A4 "$p" "$RUNS" '<=' 6 4 $FLOOR count "$D/$p.pcap"
		try grows A6 "$p" "$p" "$p.small" 1.25 1.1
		case $p in
		chat | leapnoise) memory A7 "$p" "$big_rss" 64 40 ;;
		bulk) memory A7 "$p" "$big_rss" 96 48 ;;
		idle) memory A7 "$p" "$big_rss" 48 24 ;;
		esac
		read -r s c n < <(python3 - "$D/$p.json" "$D/$p.small.json" <<-'END'
		import json, sys
		a, b = (json.load(open(f)) for f in sys.argv[1:])
		print(a["counts"]["session_opened"] - b["counts"]["session_opened"],
		      a["tcp"]["connections"] - b["tcp"]["connections"],
		      # at most so many connections open at once, so many sessions
		      16384 + 2 * 2 * max(a["peak_sessions"], a["peak_open_sse"]) + a["counts"]["session_opened"])
		END
		)
		if [ $p = chat ]; then
			slack=1
			row A8 "$p: growth over $s sessions, $c connections" $((big_rss - small_rss)) " KiB" \
			    '<=' "$(calc 0 "$s + $c / 4")" -
			slack=$SLACK
		fi
		# two connections a session, and 16 MiB for messages under way
		memory A9 "$p against the model" "$big_rss" "$(calc 1 "($n + 16384) / 1024")" -
		if [ $p = chat ]; then
			line=$($PAIR -n "$RUNS" "$BIN" analyze -T ndjson "$D/$p.small.pcap" -- "$BIN" analyze -q "$D/$p.small.pcap")
			row A11 "chat as NDJSON against text" "$(calc 2 "$(field ratio "$line")")" x '<=' 1.6 1.3 \
			    "$(calc 2 "$(field min "$line")")-$(calc 2 "$(field max "$line")")"
		fi
		rm -f "$D/$p".* "$D/$p.small".*
	done

	gen clean "$SMALL" --profile leapfrog --noise 50
	gen lossy "$SMALL" --profile leapfrog --noise 50 --loss 5 --reorder 5
	try grows A12 "5 % loss and reorder against none" lossy clean 1.3 -
	rm -f "$D"/clean.* "$D"/lossy.*
	hostile syn 1000000
	hostile gaps 1000000
	hostile back 1000000
	try tiny
}

header
$mode
[ $tap -eq 1 ] || echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
