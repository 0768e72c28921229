# What the command-line tests share; sourced, from the top folder.
# shellcheck shell=bash
set -u
bin=${MCPDIAG:-build/mcpdiag}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
failed=0
unset NO_COLOR FORCE_COLOR CLICOLOR_FORCE COLUMNS

ok() { printf 'ok - %s\n' "$1"; }
not_ok()			# not_ok NAME WHY
{
	printf 'not ok - %s\n' "$1"
	printf '%s\n' "${2-}" | sed 's/^/# /' | head -n 20
	failed=1
}
# check NAME COMMAND...: ok when the command succeeds.
check()
{
	local name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name" "failed: $*"; fi
}
# run ARGS...: stdout in $out, stderr in $err, exit status in $status.
run()
{
	"$bin" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	out=$(<"$tmp/out")
	err=$(<"$tmp/err")
}
# exits NAME STATUS ARGS...
exits()
{
	local name=$1 want=$2
	shift 2
	run "$@"
	if [ "$status" -eq "$want" ]; then
		ok "$name"
	else
		not_ok "$name" "exit status $status, want $want: $err"
	fi
}
# says NAME STATUS PATTERN ARGS...: that status, and stderr matches.
says()
{
	local name=$1 want=$2 pattern=$3
	shift 3
	run "$@"
	if [ "$status" -eq "$want" ] && grep -qe "$pattern" "$tmp/err" && [ ! -s "$tmp/out" ]; then
		ok "$name"
	else
		not_ok "$name" "exit status $status, want $want and \"$pattern\" on stderr: $err"
	fi
}
# prints NAME PATTERN ARGS...: stdout matches, stderr is empty.
prints()
{
	local name=$1 pattern=$2
	shift 2
	run "$@"
	if grep -qe "$pattern" "$tmp/out" && [ ! -s "$tmp/err" ]; then
		ok "$name"
	else
		not_ok "$name" "want \"$pattern\": $out $err"
	fi
}
# tls_page: a web page behind TLS at $page, with the certificate $tmp/cert, until
# tls_end.
tls_page()
{
	local port
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/key" -out "$tmp/cert" \
		-days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
	mkfifo "$tmp/said" "$tmp/hold"
	python3 tests/cli/replay_tls.py "$tmp/cert" "$tmp/key" <"$tmp/hold" >"$tmp/said" \
		2>/dev/null &
	tls_server=$!
	exec 9>"$tmp/hold"
	read -r port <"$tmp/said"
	# shellcheck disable=SC2034 # for the tests
	page="https://127.0.0.1:$port/mcp"
}
tls_end()
{
	exec 9>&-
	wait "$tls_server"
}
finish() { exit "$failed"; }
