#!/usr/bin/env bash
# What README.md shows is what the program prints, but for lines marked [...];
# its commands exist, and so do the folders it names.
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

# The first fenced block that starts with a command, and the command.
awk '/^```/ { on = !on; next } on' README.md >"$tmp/block"
read -r _ program args < <(head -n 1 "$tmp/block")
# shellcheck disable=SC2086 # words of a command line
"$program" $args >"$tmp/real" 2>/dev/null
# every line of the block is in the output, in this order
awk 'NR == FNR { real[++m] = $0; next }
FNR == 1 || $0 == "" { next }
$0 == "[...]" { next }
{
	while (++k <= m && real[k] != $0)
		;
	if (k > m) {
		print "not printed, or not there: " $0
		exit 1
	}
	lines++
}
END { if (lines < 10) { print "only " lines + 0 " lines shown"; exit 1 } }' \
    "$tmp/real" "$tmp/block" >"$tmp/out"
say "the report is what the program prints"

# and where nothing is marked as left out, nothing is
awk 'NR == FNR { real[++m] = $0; next }
FNR == 1 || $0 == "" { next }
$0 == "[...]" { skip = 1; next }
{
	k++
	while (k <= m && real[k] == "")
		k++
	while (skip && k <= m && real[k] != $0)
		k++
	skip = 0
	if (real[k] != $0) {
		print "left out without a mark, before: " $0
		exit 1
	}
}' "$tmp/real" "$tmp/block" >"$tmp/out"
say "what is left out is marked"

sed -n 's/^    make \([a-z-]*\).*/\1/p' README.md | sort -u | while read -r t; do
	grep -qE "^([a-z -]* )?$t( [a-z -]*)?:" Makefile || echo "no target $t"
done >"$tmp/out"
[ ! -s "$tmp/out" ]
say "its make targets exist"

# first columns of its tables, in code quotes: folders, and detectors
sed -n 's/^| .\([a-z/-]*\). |.*/\1/p' README.md >"$tmp/rows"
grep / "$tmp/rows" | while read -r d; do
	[ -d "$d" ] || echo "no folder $d"
done >"$tmp/out"
[ ! -s "$tmp/out" ]
say "its folders exist"

sed -n 's/^[ \t]*\.name = "\([a-z-]*\)".*/\1/p' src/rules/*.c | while read -r d; do
	grep -qx "$d" "$tmp/rows" || echo "no row for $d"
done >"$tmp/out"
[ ! -s "$tmp/out" ]
say "every detector has its row"

exit $bad
