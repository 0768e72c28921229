#!/usr/bin/env bash
# The driver of the tests must be able to fail: a tree of its own, with scripts
# that pass, fail, skip, crash and say nothing.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0

# run NAME=SCRIPT...: a tree with these in tests/cli, and the driver over them
run()
{
	local a
	rm -rf "$tmp/t"
	mkdir -p "$tmp/t/tests/cli"
	cp tests/run.sh "$tmp/t/tests/"
	for a; do
		printf '%s\n' "${a#*=}" >"$tmp/t/tests/cli/test_${a%%=*}.sh"
	done
	"$tmp/t/tests/run.sh" cli >"$tmp/out" 2>&1
	status=$?
	last=$(tail -n 1 "$tmp/out")
}

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

run "a=echo ok 1 - x; echo ok 2 - y" "b=echo ok - z"
[ $status -eq 0 ] && [ "$last" = "3 passed, 0 failed" ]
say "adds up what passed"

run "a=echo ok 1 - x; echo not ok 2 - y; echo ok 3 - z"
[ $status -eq 1 ] && [ "$last" = "2 passed, 1 failed" ] &&
    grep -q '^  cli test_a: y$' "$tmp/out"
say "one failed: status 1, and its name at the end"

run "a=echo ok 1 - x; echo 'ok 2 - y # SKIP no tool'"
[ $status -eq 0 ] && [ "$last" = "1 passed, 0 failed, 1 skipped" ]
say "what was skipped is said"

run "a=echo ok 1 - x; exit 3"
[ $status -eq 1 ] && [ "$last" = "1 passed, 1 failed" ] &&
    grep -q 'test_a: exit status 3' "$tmp/out"
say "a script that ends badly is a failure"

run "a=echo ok 1 - x; kill -SEGV \$\$"
[ $status -eq 1 ] && [ "$last" = "1 passed, 1 failed" ]
say "so is one that crashes"

run "a=:" "b=echo ok - z"
[ $status -eq 1 ] && [ "$last" = "1 passed, 1 failed" ] &&
    grep -q 'printed no result' "$tmp/out"
say "so is one that says nothing"

"$tmp/t/tests/run.sh" nonsense >"$tmp/out" 2>&1
[ $? -eq 2 ] && grep -q 'no suite nonsense' "$tmp/out"
say "an unknown suite is a usage error"

exit $bad
