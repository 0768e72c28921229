#!/usr/bin/env bash
# Help, version, and what is said to a slip.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
leap=captures/leapfrog-rmcp0.15.0-ts1.23.pcap

says "alone: short help, exit 2" 2 '^usage: mcpdiag COMMAND'
check "with three examples" test "$(grep -c 'mcpdiag analyze' "$tmp/err")" -ge 3
prints "help" '^  analyze ' help
prints "--help" '^  analyze ' --help
prints "-h" '^  analyze ' -h
prints "help of a command" '^  -T, --format FORMAT' help analyze
prints "--help of a command" '^  -T, --format FORMAT' analyze --help
exits "-h anywhere" 0 analyze -q "$leap" -h
prints "-h anywhere shows the help" '^usage: mcpdiag analyze' analyze -q "$leap" -h
prints "--version" '^mcpdiag [0-9]' --version
prints "-V" '^mcpdiag [0-9]' -V
prints "-V of a command" '^mcpdiag [0-9]' analyze -V
prints "--list-options" '^-T --format$' analyze --list-options

says "a command misspelt" 2 'did you mean analyze' analyse "$leap"
says "no such command" 2 'no command frobnicate.*mcpdiag help' frobnicate
says "help of no such command" 2 'did you mean analyze' help analyz
says "a file for a command" 2 "try: mcpdiag analyze $leap" "$leap"
says "an option before the command" 2 'options come after the command' --fail-on none analyze
says "an option misspelt" 2 'did you mean --format' analyze --fromat json "$leap"
says "an unknown letter" 2 'no option -z' analyze -z "$leap"
says "a value missing" 2 'needs a value: --fail-on LEVEL' analyze "$leap" --fail-on
says "a value too many" 2 'takes no value' analyze --quiet=yes "$leap"
says "an ambiguous abbreviation" 2 'may mean --filter --format' analyze --f x "$leap"
exits "an abbreviation" 1 analyze --form json "$leap"
says "a format misspelt" 2 'did you mean json' analyze -T jsno "$leap"
says "no such format" 2 'text, json, ndjson, junit or markdown' analyze -T yaml "$leap"
says "no such colour" 2 'auto, always or never' analyze --color sometimes "$leap"
says "no such level" 2 'did you mean warning' analyze --fail-on warn "$leap"
says "no such limit" 2 'no limit of that name' analyze --limit bananas=3 "$leap"
says "a limit too low" 2 'at least 16' analyze --limit streams=1 "$leap"
says "a limit without a value" 2 'NAME=VALUE' analyze --limit streams "$leap"
says "a count of nothing" 2 'from 1 up' analyze -c 0 "$leap"
says "a wrong filter" 2 '^mcpdiag analyze: --filter tcp prot 3:' analyze -f 'tcp prot 3' "$leap"
esc=$(printf '\033[31m')
says "a file name is not obeyed" 3 '^mcpdiag: \\x1b\[31mx: No such file' analyze "${esc}x"
says "nor is an option" 2 'no option --x\\x1b\[31m;' analyze "--x$esc" "$leap"
says "nor is a command" 2 'no command \\x1b\[31m;' "$esc"
exits "-- ends the options" 3 analyze -- -q
check "the man page tells the limits as they are" python3 - <<'END'
import re
unit = {"": 1, "k": 1 << 10, "M": 1 << 20}
header = {n: eval(v.replace("ULL", "")) for n, v in re.findall(
    r'X\("([^"]+)",\s*\w+,\s*([^,]+),', open("include/mcpdiag/limits.h").read())}
page = {n: int(v) * unit[u] for n, v, u in re.findall(
    r"^\.It Cm (\S+) Ta (\d+)([kM]?) Ta", open("man/mcpdiag-analyze.1").read(), re.M)}
assert header and header == page, set(header.items()) ^ set(page.items())
END
exits "-n is accepted" 1 analyze -n "$leap"
if command -v script >/dev/null; then
	script -qec "$bin analyze" /dev/null >"$tmp/out" 2>&1
	check "no file and a terminal" grep -q 'no capture given; name a file' "$tmp/out"
else
	ok "no file and a terminal # SKIP no script(1)"
fi
finish
