#!/usr/bin/env bash
# What a detector's name means.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh

prints "alone: a line for each detector" '^leapfrog  *[A-Za-z]' explain
n=$(grep -c '^[a-z-]*  ' "$tmp/out")
check "as many as there are rules" test "$n" -eq "$(sed -n '/rules_table/,/NULL/p' src/rules/table.c | grep -c '&rule_')"
exits "exit 0" 0 explain
bad=
while read -r name _; do
	run explain "$name"
	grep -q "^$name: " "$tmp/out" && grep -q '^what ' "$tmp/out" && grep -q '^wire$' "$tmp/out" &&
		grep -q '^known ' "$tmp/out" && grep -q '^fix$' "$tmp/out" && grep -q '^not ' "$tmp/out" ||
		bad="$bad $name"
	awk 'length > 80 { exit 1 }' "$tmp/out" || bad="$bad $name(wide)"
done < <("$bin" explain | sed '/^$/,$d')
check "each one is explained, within 80 columns" test -z "$bad"
prints "one whose rule is not there yet, or is" '^auth-churn: ' explain auth-churn
run explain leapfrog replay-loop
check "several" test "$(grep -c '^known ' "$tmp/out")" -eq 2
says "a typo" 2 'did you mean leapfrog' explain leapfork
says "nothing like it" 2 'no detector zzzzzzz.*lists' explain zzzzzzz
says "one wrong name of two: nothing is printed" 2 'did you mean replay-loop' explain leapfrog replay-lop
esc=$(printf '\033[31m')
says "a name is not obeyed" 2 'no detector \\x1b\[31m' explain "$esc"
prints "--help" '^usage: mcpdiag explain ' explain --help
says "an option misspelt" 2 'did you mean --help' explain --hepl
check "the short help lists it" grep -q '^  explain ' <("$bin" help)
finish
