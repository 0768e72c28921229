#!/usr/bin/env bash
# watch on one end of a veth pair: the server in one network namespace, clients
# in another, IPv4 and IPv6, one of them killed.  What is seen must be what the
# server did.  Needs root and network namespaces, else it is skipped.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
here=mcpdiag-a$$ there=mcpdiag-b$$
pids=

# shellcheck disable=SC2317 # by trap
clean()
{
	local p
	for p in $pids; do
		kill "$p" 2>/dev/null
	done
	ip netns del "$here" 2>/dev/null
	ip netns del "$there" 2>/dev/null
	rm -rf "$tmp"
}
# pair: the two namespaces, joined
pair()
{
	ip netns add $here && ip netns add $there &&
	    ip -n $here link add veth0 type veth peer name veth0 netns $there &&
	    ip -n $here addr add 10.111.0.1/24 dev veth0 &&
	    ip -n $there addr add 10.111.0.2/24 dev veth0 &&
	    ip -n $here addr add fd11::1/64 dev veth0 nodad &&
	    ip -n $there addr add fd11::2/64 dev veth0 nodad &&
	    ip -n $here link set lo up && ip -n $here link set veth0 up &&
	    ip -n $there link set veth0 up
}
# awaits PATTERN FILE PID
awaits()
{
	until grep -qs "$1" "$2" || ! kill -0 "$3" 2>/dev/null; do :; done
}

if [ "$(id -u)" -ne 0 ] || ! command -v ip >/dev/null || ! command -v python3 >/dev/null; then
	ok "watch between namespaces # SKIP no root, ip or python3"
	finish
fi
trap clean EXIT
if ! pair 2>"$tmp/err"; then
	ok "watch between namespaces # SKIP $(head -n 1 "$tmp/err")"
	finish
fi
# routes of IPv6 come a moment after the link
for _ in {1..500}; do
	ip -n $there -6 route get fd11::1 2>/dev/null | grep -q veth0 && break
done

# serving HOST NAME: its process in `server`, its port in `port`
serving()
{
	ip netns exec $here "$bin" serve --policy replace --host "$1" --port 0 \
	    --events "$tmp/served$2" >"$tmp/serve$2" 2>&1 &
	server=$!
	pids="$pids $server"
	awaits '^listening on' "$tmp/serve$2" $server
	port=$(sed -n 's/^listening on .*:\([0-9]*\)\/mcp$/\1/p' "$tmp/serve$2")
}
serving 10.111.0.1 4
server4=$server port4=$port
serving fd11::1 6
ip netns exec $here "$bin" watch -i veth0 -T ndjson -w "$tmp/saved" tcp >"$tmp/watched" 2>"$tmp/err" &
watch=$!
pids="$pids $watch"
awaits 'listening on veth0' "$tmp/err" $watch
mkfifo "$tmp/go"
ip netns exec $there python3 tests/cli/watch_netns.py clients 10.111.0.1 "$port4" fd11::1 "$port" \
    <"$tmp/go" >"$tmp/clients" 2>&1 &
clients=$!
pids="$pids $clients"
exec 9>"$tmp/go"
awaits '^done' "$tmp/clients" $clients
# told while it runs: a listener took over, another was killed
told()
{
	[ "$(grep -c '"type":"owner".*"to":"closed"' "$tmp/watched")" -ge 5 ]
}
for _ in {1..2000}; do
	told && break
done
check "changes of owner are told at once" told
kill $server $server4
wait $server $server4
exec 9>&-
wait $clients
check "the clients got what they should" test "$(cat "$tmp/clients")" = "done"
kill -INT $watch
wait $watch
pids=
python3 tests/cli/watch_netns.py compare "$tmp/served4" "$tmp/served6" "$tmp/watched" | tee "$tmp/result"
grep -q '^not ok' "$tmp/result" && failed=1
"$bin" analyze -T ndjson "$tmp/saved" >"$tmp/again"
check "live equals offline: the same events, but for the name of the input" \
    diff <(grep -v '"type":"file"' "$tmp/watched") <(grep -v '"type":"file"' "$tmp/again")
finish
