#!/usr/bin/env bash
# Runs tests and adds them up.
#   tests/run.sh SUITE...     the suites are below, one function each
# Every test prints "ok - what" or "not ok - what"; the last line is
# "N passed, N failed", with ", N skipped" when any were.  Exit status 1 when
# one failed.  What runs must have been built before: see `make check`.
set -u
cd "$(dirname "$0")/.." || exit 2

# What the program can tell, and what it cannot read yet.
DETECTORS=leapfrog,orphaned-channel,replay-loop,empty-accept-loop,refused-get-loop,stale-slot
DETECTORS=$DETECTORS,idle-cut,dead-session,lost-response,cursor-loss,split-brain,buffered-stream
DETECTORS=$DETECTORS,duplicate-delivery,wrong-stream,id-collision,half-open,notification-storm
DETECTORS=$DETECTORS,contract
WITHOUT=tls,h2
# Further captures with their truth, judged where they are there.
MORE_CAPTURES=${MORE_CAPTURES-../shared/captures/ts ../shared/captures/rmcp}

passed=0 failed=0 skipped=0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
chmod 711 "$tmp"		# some tests are another user for a while
export TMPDIR=$tmp
: >"$tmp/failed"
export MCPDIAG=${MCPDIAG:-$PWD/build/mcpdiag}
export ASAN_OPTIONS=${ASAN_OPTIONS:-abort_on_error=1:detect_leaks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

# report NAME COMMAND...: its lines, counted; a command that fails without
# saying which test, or that says nothing, is a failure of its own.
report()
{
	local name=$1 status p f s
	shift
	timeout 900 "$@" 2>&1 </dev/null |
	    awk -v name="$name" -v counts="$tmp/counts" -v list="$tmp/failed" '
	/^(not )?ok( |$)/ {
		bad = /^not/
		text = $0
		sub(/^(not )?ok *[0-9]* *-? */, "", text)
		text = name ": " text
		if (/# *SKIP/) s++
		else if (bad) { f++; print text >>list }
		else p++
		print (bad ? "not ok" : "ok") " - " text
		next
	}
	/^(1\.\.[0-9]+|TAP version .*)$/ { next }
	{ print (/^#/ ? "" : "# ") $0 }
	END { print p + 0, f + 0, s + 0 >counts }'
	status=${PIPESTATUS[0]}
	read -r p f s <"$tmp/counts"
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		f=1
		echo "not ok - $name: exit status $status"
		echo "$name: exit status $status" >>"$tmp/failed"
	elif [ $((p + f + s)) -eq 0 ]; then
		f=1
		echo "not ok - $name: it printed no result"
		echo "$name: it printed no result" >>"$tmp/failed"
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

skip()				# skip NAME WHY
{
	echo "ok - $1 # SKIP $2"
	skipped=$((skipped + 1))
}

unit_in()			# unit_in VARIANT
{
	local t name
	for t in tests/unit/test_*.c; do
		name=$(basename "$t" .c)
		report "unit $1 $name" env CMOCKA_MESSAGE_OUTPUT=TAP "build/$1/unit/$name"
	done
}
suite_unit() { unit_in release; }
suite_unit_asan() { unit_in asan; }

one_corpus()			# one_corpus TARGET: a fuzz target over its files
{
	local out
	if out=$("build/asan/fuzz/$1" "tests/fuzz/corpus/$1" 2>&1) &&
	    [[ $out =~ ^[1-9][0-9]*\ inputs ]]; then
		echo "ok - $out"
	else
		printf '%s\n' "$out"
		echo "not ok - corpus"
		return 1
	fi
}
suite_fuzz()
{
	local t
	export -f one_corpus
	for t in tests/fuzz/fuzz_*.c; do
		t=$(basename "$t" .c)
		report "fuzz $t" bash -c "one_corpus $t"
	done
}

golden()			# golden NAME PROGRAM OPTIONS... FOLDER
{
	local name=$1 program=$2
	shift 2
	report "$name" python3 tests/golden/golden.py --detectors "$DETECTORS" \
	    --without "$WITHOUT" "${@:1:$#-1}" "$program" "${@: -1}"
}
table_is_complete()		# every capture has its row in the table
{
	local f bad=0
	for f in captures/*.pcap captures/*.pcapng captures/*.pcap.gz; do
		grep -qF "| \`${f##*/}\` |" captures/README.md && continue
		echo "not ok - $f has no row in captures/README.md"
		bad=1
	done
	[ $bad -eq 0 ] && echo "ok - every capture has its row in captures/README.md"
}
recall()			# precision and recall over all that is there
{
	local d folders=captures talks=
	[ ! -x build/release/unit/test_conv ] ||
	    talks="--conversations build/release/unit/test_conv tests/conv"
	for d in $MORE_CAPTURES; do
		[ ! -d "$d" ] || folders="$folders $d"
	done
	# shellcheck disable=SC2086 # words
	report recall python3 tests/golden/recall.py --without "$WITHOUT" $talks \
	    build/mcpdiag $folders
}
suite_golden()
{
	export -f table_is_complete
	report captures bash -c table_is_complete
	golden golden build/mcpdiag captures
	recall
}
suite_golden_more()
{
	local d
	for d in $MORE_CAPTURES; do
		if [ -d "$d" ]; then
			golden "golden ${d##*/}" build/mcpdiag "$d"
		else
			skip "golden ${d##*/}" "$d is not here"
		fi
	done
}
suite_golden_asan() { golden "golden asan" build/asan/mcpdiag captures; }
suite_golden_tight()
{
	local d
	golden "golden 1/64" build/asan/mcpdiag --divide 64 captures
	for d in $MORE_CAPTURES; do
		[ ! -d "$d" ] || golden "golden 1/64 ${d##*/}" build/asan/mcpdiag --divide 64 "$d"
	done
}

scripts()			# scripts NAME FILE...
{
	local name=$1 t
	shift
	for t; do
		if [ ! -e "$t" ]; then
			skip "$name" "no $t yet"
			continue
		fi
		report "$name $(basename "$t" .sh)" bash "$t"
	done
}
suite_cli() { scripts cli tests/cli/test_*.sh; }
suite_tools() { scripts tools tests/tools/test_*.sh; }
suite_lint() { report lint tools/lint.sh --self-test; }
suite_bench() { report bench-smoke bench/bench.sh -t smoke; }

FAST="unit golden cli tools"
ALL="unit unit_asan fuzz golden golden_asan golden_more golden_tight cli tools lint bench"
[ $# -gt 0 ] || set -- all
suites=
for s; do
	case $s in
	all) suites="$suites $ALL" ;;
	fast) suites="$suites $FAST" ;;
	*)
		case " $ALL " in
		*" $s "*) suites="$suites $s" ;;
		*)
			echo "run.sh: no suite $s; there are all, fast, ${ALL// /, }" >&2
			exit 2
			;;
		esac
		;;
	esac
done
for s in $suites; do
	echo "== $s"
	begun=$SECONDS
	case $s in
	unit) suite_unit ;;
	unit_asan) suite_unit_asan ;;
	fuzz) suite_fuzz ;;
	golden) suite_golden ;;
	golden_asan) suite_golden_asan ;;
	golden_more) suite_golden_more ;;
	golden_tight) suite_golden_tight ;;
	cli) suite_cli ;;
	tools) suite_tools ;;
	lint) suite_lint ;;
	bench) suite_bench ;;
	esac
	echo "== $s: $((SECONDS - begun)) s"
done

if [ -s "$tmp/failed" ]; then
	echo
	echo "failed:"
	sed 's/^/  /' "$tmp/failed"
fi
echo
echo "$passed passed, $failed failed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
[ "$failed" -eq 0 ]
