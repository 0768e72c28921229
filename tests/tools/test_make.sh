#!/usr/bin/env bash
# The targets a person types first: help, demo, install and uninstall.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0
unset MAKEFLAGS MAKELEVEL MFLAGS

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

make -s help >"$tmp/out" 2>&1 && grep -q '^make check ' "$tmp/out" &&
    grep -q '^make demo ' "$tmp/out"
say "help lists the targets"

make -s demo >"$tmp/out" 2>&1 && grep -q '^leapfrog: ' "$tmp/out" &&
    grep -q '^no fault found in 1 MCP session' "$tmp/out"
say "demo shows the fault and its cure, and succeeds"

! make -s demo DEMO_ARGS="--policy replace --keep $tmp" >"$tmp/out" 2>&1 &&
    grep -q '^leapfrog: ' "$tmp/out" && [ -s "$tmp/demo-replace.pcapng" ]
say "demo of one policy, whose fault is found, fails and keeps the capture"

make -s install DESTDIR="$tmp/root" PREFIX=/usr >"$tmp/out" 2>&1 &&
    "$tmp/root/usr/bin/mcpdiag" --version >>"$tmp/out" 2>&1 &&
    [ -f "$tmp/root/usr/share/doc/mcpdiag/README.md" ]
say "install puts the program and its README in place"

for m in man/*.[1-8]; do
	[ ! -e "$m" ] || [ -f "$tmp/root/usr/share/man/man${m##*.}/${m##*/}" ] ||
	    echo "$m is not installed"
done >"$tmp/out"
[ ! -s "$tmp/out" ]
say "install puts the man pages in place"

make -s uninstall DESTDIR="$tmp/root" PREFIX=/usr >"$tmp/out" 2>&1
find "$tmp/root" -type f >"$tmp/out"
[ ! -s "$tmp/out" ]
say "uninstall leaves nothing"

exit $bad
