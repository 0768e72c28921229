#!/usr/bin/env bash
# Every capture of captures/, played against mcpdiag serve in the mode that fits
# it: what was found in the capture is found again, and with a server that does
# as it should it is not.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh

if ! command -v python3 >/dev/null; then
	ok "captures, replayed # SKIP no python3"
	finish
fi
export MCPDIAG=$bin PYTHONDONTWRITEBYTECODE=1
python3 tests/cli/replay_captures.py tests/cli/replay_captures.txt captures || failed=1
finish
