#!/usr/bin/env bash
# mcpdiag serve: its options, and what it does as a program.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh

prints "--help" '^ *--policy NAME' serve --help
prints "--list: policies" '^  shadow-promote$' serve --list
prints "--list: faults with their detectors" '^  idle-cut=SECONDS *idle-cut ' serve --list
run serve --list
check "all of them" test "$(grep -c '^  ' "$tmp/out")" -ge 30

says "a policy misspelt" 2 'did you mean shadow-promote' serve --policy shadow-promot
says "no such policy" 2 'serve --list' serve --policy frobnicate
says "a fault misspelt" 2 'did you mean idle-cut' serve --fault idlecut=3
says "no such fault" 2 'serve --list' serve --fault frobnicate
says "a fault without a value" 2 'takes no value' serve --fault broadcast=3
says "a fault with a wrong value" 2 'wants a number' serve --fault idle-cut=x
says "a status that is none" 2 'wants 204, 4xx or 5xx' serve --fault refuse-get=200
says "a redirect that is none" 2 'wants 301, 302, 303, 307 or 308' serve --fault redirect=304
says "an option misspelt" 2 'did you mean --policy' serve --polcy replace
says "a port that is none" 2 'from 0 to 65535' serve --port 65536
says "a port of letters" 2 'from 0 to 65535' serve --port http
says "a negative one" 2 'from 0 to 65535' serve --port=-1
says "a retry of years" 2 'from 0 to 86400000' serve --retry 86400001
says "keepalive" 2 'from 0 to 86400' serve --keepalive x
says "keepalive of microseconds" 2 'such as 0.5' serve --keepalive 0.0005
says "emit" 2 'from 0 to 86400' serve --emit x3
says "emit never" 2 'how many times' serve --emit 1x0
says "a fault of weeks" 2 'wants a number' serve --fault idle-cut=1000000.001
says "a fault with a comma" 2 'wants a number' serve --fault idle-cut=0,5
says "cap" 2 'from 0 to 1000' serve --cap 1001
says "session errors" 2 'it is 401 or 404' serve --session-errors 403
says "priming" 2 'it is bare or scoped' serve --post-priming none
says "replay" 2 'it is inclusive or exclusive' serve --replay x
says "a value missing" 2 'needs a value' serve --port
says "an operand" 2 'takes no operands' serve 3000

if ! command -v python3 >/dev/null; then
	ok "the server # SKIP no python3"
	finish
fi
export MCPDIAG=$bin PYTHONDONTWRITEBYTECODE=1
python3 tests/cli/serve_run.py "$tmp" || failed=1
finish
