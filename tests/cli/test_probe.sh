#!/usr/bin/env bash
# mcpdiag probe: its options, its verdicts, and targets that are none.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh

prints "--help" '^ *--emit-tool NAME' probe --help
prints "--list: scenarios" '^  two-gets  *a second GET' probe --list
prints "--list: clients" '^  ts-1.32 ' probe --list
run probe --list
check "all of them" test "$(grep -c '^  ' "$tmp/out")" -ge 28

U=http://127.0.0.1:1/mcp
says "no URL" 2 'give one URL' probe
says "two" 2 'give one URL' probe $U $U
says "no URL at all" 2 'begins with http://' probe localhost:3000
says "a scenario misspelt" 2 'did you mean two-gets' probe --only two-get $U
says "one that is not" 2 '--list has them' probe --only resume,frobnicate $U
says "a client misspelt" 2 'did you mean python' probe --client pythn $U
says "no such client" 2 '--list has them' probe --client netscape $U
says "a format" 2 'text or json' probe -T xml $U
says "a level" 2 'warning, error or none' probe --fail-on info $U
says "a color" 2 'auto, always or never' probe --color red $U
says "listeners" 2 'from 1 to 1000' probe --listeners 0 $U
says "too many" 2 'from 1 to 1000' probe --listeners 1001 $U
says "a duration" 2 'from 1 to 86400' probe --duration x $U
says "idle" 2 'from 1 to 86400' probe --idle 0 $U
says "a tool without a name" 2 'name of a tool' probe --emit-tool ={} $U
says "arguments that are none" 2 'JSON object' probe --emit-tool a=b $U
says "an object without quotes" 2 'JSON object' probe --emit-tool 'a={b:1}' $U
says "a header without a name" 2 "Name: value" probe -H frobnicate $U
says "a file of headers that is not there" 2 'No such file' probe -H "@$tmp/none" $U
says "a token's file that is not there" 2 'No such file' probe --bearer-file "$tmp/none" $U
: >"$tmp/empty"
says "an empty one" 2 'is empty' probe --bearer-file "$tmp/empty" $U
says "a variable that is not there" 2 'no such variable' probe --bearer-env MCPDIAG_NONE $U
says "certificates that are not there" 2 'No such file' probe --cacert "$tmp/none" $U
says "a capture that cannot be written" 4 'none' probe -w "$tmp/none/x" $U
says "an option misspelt" 2 'did you mean --only' probe --onyl resume $U

if ! command -v python3 >/dev/null; then
	ok "the rest # SKIP no python3"
	finish
fi
export MCPDIAG=$bin PYTHONDONTWRITEBYTECODE=1
python3 tests/cli/probe_run.py "$tmp" || failed=1

if ! command -v openssl >/dev/null; then
	ok "TLS # SKIP no openssl"
	finish
fi
tls_page
says "a certificate of nobody" 5 'certificate' probe "$page"
says "-k: a web page" 5 'answered with text/html' probe -k "$page"
says "--cacert: a web page" 5 'answered with text/html' probe --cacert "$tmp/cert" \
	"$page"
tls_end
finish
