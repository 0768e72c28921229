#!/usr/bin/env bash
# Holds the tree to the rules of the house.
#   tools/lint.sh [CHECK...]     no CHECK means all of them
#   tools/lint.sh --self-test    plants one fault for each check in a copy of
#                                the tree and wants to see it found
# Faults are printed as file:line: message; exit status 1 when there was one.
set -u
cd "$(dirname "$0")/.." || exit 2

C_CHECKS="layers foreign cycles banned size tested"
CHECKS="$C_CHECKS alone man options rules shell"
COMMANDS="analyze explain replay probe watch"
# As in the Makefile, without what needs optimisation.
CFLAGS="-std=c17 -D_GNU_SOURCE -Iinclude -Wall -Wextra -Wpedantic -Wshadow
	-Wstrict-prototypes -Wundef -Wvla -Werror -fsyntax-only"

failed=0
skip() { printf '%s: skipped, %s\n' "$1" "$2"; }
have() { command -v "$1" >/dev/null 2>&1; }
# verdict NAME WHAT STATUS
verdict()
{
	if [ "$3" -eq 0 ]; then
		printf '%s: %s, ok\n' "$1" "$2"
	else
		printf '%s: %s, failed\n' "$1" "$2"
		failed=1
	fi
}

# Every header says all it needs and may be included twice.
check_alone()
{
	local bad=0 n=0 cc h used=""
	for cc in gcc clang; do
		if ! have "$cc"; then
			skip alone "no $cc here"
			continue
		fi
		used="$used $cc"
		for h in include/mcpdiag/*.h; do
			n=$((n + 1))
			# shellcheck disable=SC2086 # CFLAGS is a list
			printf '#include "%s"\n#include "%s"\n' "${h#include/}" "${h#include/}" |
			    $cc $CFLAGS -x c - 2>&1 | sed "s|^<stdin>:|$h:|" >&3
			if [ "${PIPESTATUS[1]}" -ne 0 ]; then
				printf '%s:1: does not compile alone with %s\n' "$h" "$cc"
				bad=1
			fi
		done
	done 3>&1
	verdict alone "$n compilations,$used" "$bad"
}

check_man()
{
	local bad=0 n=0 m
	if ! have mandoc; then
		skip man "no mandoc here"
		return
	fi
	for m in man/*.[1-8]; do
		[ -e "$m" ] || continue
		n=$((n + 1))
		mandoc -T lint -W warning "$m" | sed -E 's/^mandoc: ([^:]*):([0-9]+):[0-9]+:/\1:\2:/'
		[ "${PIPESTATUS[0]}" -eq 0 ] || bad=1
	done
	if [ "$n" -eq 0 ]; then
		skip man "no man pages yet"
		return
	fi
	verdict man "$n pages" "$bad"
}

# The options a man page documents: the tags of its option lists.
man_options()
{
	mandoc -T ascii "$1" | sed 's/.\x08//g' | awk '
	/^[A-Z]/ { on = /OPTION|DESCRIPTION|COMMANDS/ }
	on && /^ ? ? ? ? ? ?-/ {
		sub(/^ */, "")
		sub(/   *.*/, "")		# the text that follows a short tag
		gsub(/[,=\[]/, " ")
		for (i = 1; i <= NF; i++)
			if ($i ~ /^--?[A-Za-z0-9][A-Za-z0-9-]*$/)
				print $i
	}' | sort -u
}

# Each command lists its options as "-x --long", one a line; its man page is
# mcpdiag-COMMAND.1, else mcpdiag.1.
check_options()
{
	local bad=0 n=0 bin=${MCPDIAG:-build/mcpdiag} cmd page opts line o
	if ! have mandoc; then
		skip options "no mandoc here"
		return
	fi
	if [ ! -x "$bin" ]; then
		skip options "$bin is not built"
		return
	fi
	for cmd in $COMMANDS; do
		page=man/mcpdiag-$cmd.1
		[ -e "$page" ] || page=man/mcpdiag.1
		if [ ! -e "$page" ]; then
			skip options "no man page of $cmd"
			continue
		fi
		if ! opts=$("$bin" "$cmd" --list-options 2>/dev/null) || [ -z "$opts" ]; then
			skip options "$bin $cmd has no --list-options"
			continue
		fi
		while read -r line; do
			n=$((n + 1))
			for o in $line; do
				man_options "$page" | grep -qx -e "$o" && continue
				echo "$page:1: $o of $cmd is not documented"
				bad=1
			done
		done <<<"$opts"
		for o in $(man_options "$page"); do
			tr ' ' '\n' <<<"$opts" | grep -qx -e "$o" && continue
			line=$(grep -n -we "Fl ${o#-}" "$page" | head -n 1 | cut -d: -f1)
			echo "$page:${line:-1}: $o is documented, but $cmd has no such option"
			bad=1
		done
	done
	[ "$n" -eq 0 ] || verdict options "$n options" "$bad"
}

# A detector is one file, one row, one man page entry, one unit test row, and
# one entry of `mcpdiag explain`.
check_rules()
{
	local bad=0 n=0 f name
	for f in src/rules/*.c; do
		[ -e "$f" ] || continue
		name=$(sed -n 's/^[ \t]*\.name = "\([a-z-]*\)".*/\1/p' "$f" | head -n 1)
		[ -n "$name" ] || continue
		n=$((n + 1))
		if compgen -G 'man/*.[1-8]' >/dev/null &&
		    ! grep -qe "$name" man/*.[1-8]; then
			echo "$f:$(grep -n "\"$name\"" "$f" | head -n 1 | cut -d: -f1): $name is in no man page"
			bad=1
		fi
		if compgen -G 'tests/unit/test_rule*.c' >/dev/null &&
		    ! grep -qe "\"$name\"" tests/unit/test_rule*.c tests/unit/test_"${name//-/_}".c 2>/dev/null; then
			echo "$f:1: $name is in no tests/unit/test_rule*.c"
			bad=1
		fi
		if ! grep -qe "\.detector = \"$name\"" src/rules/explain*.c; then
			echo "$f:1: $name is not in src/rules/explain.c"
			bad=1
		fi
	done
	if [ "$n" -eq 0 ]; then
		skip rules "no detectors yet"
		return
	fi
	verdict rules "$n detectors" "$bad"
}

check_shell()
{
	local bad=0 n=0 f list=()
	if ! have shellcheck; then
		skip shell "no shellcheck here"
		return
	fi
	for f in tools/*.sh tests/*.sh tests/*/*.sh bench/*.sh .ci/run; do
		[ -e "$f" ] || continue
		n=$((n + 1))
		list+=("$f")
	done
	shellcheck -x -f gcc "${list[@]}" || bad=1
	verdict shell "$n scripts" "$bad"
}

case ${1-} in
--self-test)
	shift
	exec tests/lint/self_test.sh "$@"
	;;
-h | --help)
	sed -n '2,6s/^# \{0,1\}//p' "$0"
	echo "checks: $CHECKS"
	exit 0
	;;
esac

for c in "${@:-$CHECKS}"; do
	for one in $c; do		# $CHECKS comes as one word
		case " $C_CHECKS " in
		*" $one "*)
			python3 tools/lint_c.py "$one" || failed=1
			continue
			;;
		esac
		case $one in
		alone) check_alone ;;
		man) check_man ;;
		options) check_options ;;
		rules) check_rules ;;
		shell) check_shell ;;
		*)
			echo "lint.sh: no check $one; there are $CHECKS" >&2
			exit 2
			;;
		esac
	done
done
exit "$failed"
