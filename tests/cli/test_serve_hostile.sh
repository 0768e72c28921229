#!/usr/bin/env bash
# mcpdiag serve among hostile clients; under sanitizers where they are built.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh

if ! command -v python3 >/dev/null; then
	ok "hostile clients # SKIP no python3"
	finish
fi
[ ! -x build/asan/mcpdiag ] || bin=build/asan/mcpdiag
export MCPDIAG=$bin PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS=${ASAN_OPTIONS:-abort_on_error=1:detect_leaks=1}
python3 tests/cli/serve_hostile.py "$tmp" || failed=1
finish
