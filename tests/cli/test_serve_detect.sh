#!/usr/bin/env bash
# What mcpdiag serve does wrong, analyze names from the packets.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh

if ! command -v python3 >/dev/null; then
	ok "faults of serve, named by analyze # SKIP no python3"
	finish
fi
export MCPDIAG=$bin PYTHONDONTWRITEBYTECODE=1
python3 tests/cli/serve_detect.py "$tmp" || failed=1
finish
