#!/usr/bin/env bash
# Real clients against `mcpdiag serve`; `mcpdiag probe` and `mcpdiag replay`
# against real servers.
#   tests/interop/run.sh [PEER...]    conformance ts ts2 inspector sse resume
#                                     python go rust client probe_ts
#                                     probe_ts2 probe_python probe_go probe_rmcp
#                                     replay_ts replay_python replay_go
#                                     replay_rmcp; no PEER means all
# Prints "ok - peer: what" or "not ok - peer: what", "skip: peer: why" where a
# toolchain or its registry is absent, and "N passed, N failed, N skipped" as
# its last line.  Exit status 1 when one failed.
# Environment: MCPDIAG, the program; SERVE, another command to be the server
# (it gets the same options); INTEROP_DIR, where peers are installed (default
# build/interop; nothing else is written).
set -u
cd "$(dirname "$0")/../.." || exit 2
HERE=$PWD/tests/interop
D=${INTEROP_DIR:-$PWD/build/interop}
if [ -n "${SERVE-}" ]; then
	read -ra serve <<<"$SERVE"
else
	serve=("${MCPDIAG:-$PWD/build/mcpdiag}" serve)
fi

SUITE=0.1.16
NODE22=22.23.3		# what the suite and the inspector need
TS="1.23.1 1.29.0 1.32.2"
TS2=2.4.0
TS2_NODE=2.1.2
INSPECTOR=2.12.0
PYTHON="1.30.0 2.3.0"
GO=v1.8.0
# rmcp: the client is in rmcp_client/Cargo.toml; servers
RMCP="0.15.0 0.17.0 1.8.0"

passed=0 failed=0 skipped=0
mkdir -p "$D" || exit 2
tmp=$(mktemp -d "$D/run.XXXXXX") || exit 2
server=
trap 'stop_hard; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
stop_hard() { [ -z "$server" ] || kill -KILL "$server" 2>/dev/null; }

verdict()			# verdict STATUS TEXT
{
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok - $2"
	else
		failed=$((failed + 1))
		echo "not ok - $2"
	fi
}

skip()				# skip PEER WHY
{
	skipped=$((skipped + 1))
	echo "skip: $1: $2"
}

# start PEER OPTION...: the server, its address in $url.
start()
{
	local peer=$1 line=
	shift
	rm -f "$tmp/fifo"
	mkfifo "$tmp/fifo" || exit 2
	"${serve[@]}" --port 0 "$@" >"$tmp/fifo" 2>"$tmp/serve.err" &
	server=$!
	exec {lines}<"$tmp/fifo"
	read -r -t 10 -u "$lines" line
	url=${line#listening on }
	if [ "$url" = "$line" ] || [ -z "$url" ]; then
		verdict 1 "$peer: the server says where it listens, not '$line'"
		sed 's/^/# /' "$tmp/serve.err"
		stop_hard
		wait "$server"
		server=
		exec {lines}<&-
		return 1
	fi
}

# It must be there still, and go when it is told to.
stop()
{
	local status alive=0
	kill -TERM "$server" 2>/dev/null || alive=1
	timeout 10 tail --pid="$server" -f /dev/null || kill -KILL "$server"
	wait "$server"
	status=$?
	server=
	exec {lines}<&-
	if [ "$alive" -ne 0 ] || { [ "$status" -ne 0 ] && [ "$status" -ne 143 ]; }; then
		verdict 1 "$1: the server ends when it is told to (status $status)"
		tail -n 20 "$tmp/serve.err" | sed 's/^/# /'
	fi
}

# client PEER COMMAND...: its lines, counted.
client()
{
	local peer=$1 status p f
	shift
	timeout 120 "$@" </dev/null 2>"$tmp/client.err" |
	    awk -v peer="$peer" -v counts="$tmp/counts" '
	/^(not )?ok - / {
		bad = /^not/
		sub(/^(not )?ok - /, "")
		print (bad ? "not ok" : "ok") " - " peer ": " $0
		if (bad) f++; else p++
		next
	}
	{ print (/^#/ ? "" : "# ") $0 }
	END { print p + 0, f + 0 >counts }' | tee "$tmp/client.out"
	status=${PIPESTATUS[0]}
	read -r p f <"$tmp/counts"
	passed=$((passed + p)) failed=$((failed + f))
	if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$p" -eq 0 ]; }; then
		verdict 1 "$peer: exit status $status after $p checks"
	fi
	if [ "$f" -ne 0 ] || [ "$status" -ne 0 ]; then
		tail -n 20 "$tmp/client.err" | sed 's/^/# /'
	fi
}

# against PEER "SERVER OPTIONS" COMMAND...: URL in the command is the address.
against()
{
	local peer=$1 opt
	read -ra opt <<<"$2"
	shift 2
	start "$peer" ${opt[@]+"${opt[@]}"} || return
	client "$peer" "${@//URL/$url}"
	stop "$peer"
}

have()				# have PEER PROGRAM
{
	command -v "$2" >/dev/null 2>&1 && return
	skip "$1" "$2 is not installed"
	return 1
}

# installed PEER DIR WHAT COMMAND...: runs the command once for each WHAT.
installed()
{
	local peer=$1 dir=$D/$2 what=$3
	shift 3
	[ "$(cat "$dir/installed" 2>/dev/null)" = "$what" ] && return
	rm -rf "$dir"
	mkdir -p "$dir"
	if ! (cd "$dir" && "$@") >"$dir.log" 2>&1; then
		skip "$peer" "registry not reachable, or it fails to build (see $dir.log)"
		return 1
	fi
	echo "$what" >"$dir/installed"
}

npm_peer()			# npm_peer PEER DIR PACKAGE@VERSION...
{
	local peer=$1 dir=$2
	shift 2
	have "$peer" node && have "$peer" npm || return
	installed "$peer" "$dir" "$*" npm install --prefix . --no-audit --no-fund "$@"
}

with_node22() { PATH=$D/node22/node_modules/.bin:$PATH "$@"; }

conformance()			# conformance POLICY OPTION...
{
	local peer="conformance $1" word name rest n=0
	start "$peer" --conformance --policy "$@" || return
	echo 'server: []' >"$tmp/none.yml"	# so that warnings fail as well
	(cd "$tmp" && with_node22 timeout 300 node \
	    "$D/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js" \
	    server --url "$url" --suite all --expected-failures none.yml -o "$tmp/$1") \
	    >"$tmp/suite.out" 2>&1
	while read -r word name rest; do
		n=$((n + 1))
		name=${name%:}
		if [ "$word" = ✓ ] && ! grep -q "^  ✗ $name\$" "$tmp/suite.out"; then
			verdict 0 "$peer: $name, $rest"
		else
			verdict 1 "$peer: $name, $rest"
			sed -n 's/.*"errorMessage": /# /p' "$tmp/$1/server-$name"-*/checks.json
		fi
	done < <(grep '^[✓✗] .* passed, ' "$tmp/suite.out")
	verdict "$((n != 32))" "$peer: 32 scenarios were run ($n)"
	[ "$n" -gt 0 ] || tail -n 5 "$tmp/suite.out" | sed 's/^/# /'
	stop "$peer"
}

peer_conformance()
{
	npm_peer conformance node22 "node@$NODE22" || return
	npm_peer conformance conformance "@modelcontextprotocol/conformance@$SUITE" || return
	conformance shadow-promote
	# Bare ids are part of that fault: what resumes a POST gets the common
	# channel instead, and the suite warns of it.
	conformance replace --post-priming scoped
}

ts() { npm_peer "ts $1" "ts-$1" "@modelcontextprotocol/sdk@$1"; }
ts_dir() { echo "$D/ts-$1/node_modules/@modelcontextprotocol/sdk"; }

peer_ts()
{
	local v
	for v in $TS; do
		ts "$v" || continue
		against "ts $v" "" node "$HERE/ts_client.mjs" "$(ts_dir "$v")" URL
	done
}

peer_ts2()
{
	local dir=$D/ts2/node_modules/@modelcontextprotocol/client mode
	npm_peer "ts $TS2" ts2 "@modelcontextprotocol/client@$TS2" || return
	for mode in legacy auto pin; do
		against "ts $TS2 $mode" "" node "$HERE/ts2_client.mjs" "$dir" URL "$mode"
	done
}

# Streams of answered POSTs are resumed: each policy has its own end to that.
peer_resume()
{
	local v=1.23.1 said seen
	ts "$v" || return
	against "ts $v resume" "--policy shadow-promote --retry 300 --events $tmp/events" \
	    node "$HERE/ts_client.mjs" "$(ts_dir "$v")" URL resume
	said=$(sed -n 's/^# \([0-9]*\) GETs$/\1/p' "$tmp/client.out")
	seen=$(grep -E '"type": ?"request"' "$tmp/events" 2>/dev/null | grep -cE '"method": ?"GET"')
	verdict "$((${said:-0} != seen))" \
	    "ts $v resume: the server saw the ${said:-0} GETs of the client ($seen)"
	against "ts $v loop" "--policy replace --retry 300" \
	    node "$HERE/ts_client.mjs" "$(ts_dir "$v")" URL loop
}

peer_sse()
{
	local v=${TS##* }
	ts "$v" || return
	start "ts $v sse" --legacy || return
	client "ts $v sse" node "$HERE/ts_client.mjs" "$(ts_dir "$v")" "${url%/mcp}/sse" sse
	stop "ts $v sse"
}

peer_inspector()
{
	local peer="inspector $INSPECTOR" out
	npm_peer "$peer" node22 "node@$NODE22" || return
	npm_peer "$peer" inspector "@modelcontextprotocol/inspector@$INSPECTOR" || return
	start "$peer" || return
	inspect()
	{
		with_node22 timeout 60 "$D/inspector/node_modules/.bin/mcp-inspector" \
		    --cli "$url" --transport http "$@" </dev/null 2>&1
	}
	out=$(inspect --method tools/list)
	grep -q '"name": "echo"' <<<"$out"
	verdict $? "$peer: tools/list"
	out=$(inspect --method tools/call --tool-name echo --tool-arg text=hello)
	grep -q '"text": "hello"' <<<"$out"
	verdict $? "$peer: tools/call"
	out=$(inspect --method tools/call --tool-name nowhere)
	verdict "$((! $?))" "$peer: a tool that is not there is an error"
	out=$(inspect --method resources/list)
	grep -q '"uri": ' <<<"$out"
	verdict $? "$peer: resources/list"
	stop "$peer"
}

venv_with()			# venv_with PACKAGE==VERSION, in the folder
{
	python3 -m venv . && bin/pip install --quiet "$1"
}

python()			# python PEER VERSION
{
	have "$1" python3 || return
	installed "$1" "python-$2" "mcp==$2" venv_with "mcp==$2"
}

peer_python()
{
	local v peer py
	for v in $PYTHON; do
		peer="python $v"
		python "$peer" "$v" || continue
		py=$D/python-$v/bin/python
		against "$peer" "" "$py" "$HERE/python_client.py" URL
		start "$peer sse" --legacy || continue
		client "$peer sse" "$py" "$HERE/python_client.py" "${url%/mcp}/sse" sse
		stop "$peer sse"
		case $v in
		2.*)
			against "$peer modern" "" "$py" "$HERE/python_client.py" URL modern
			;;
		esac
	done
}

go_build()
{
	cp "$HERE/go_client/main.go" . && go mod init go_client &&
	    go get "github.com/modelcontextprotocol/go-sdk@$GO" && go mod tidy && go build .
}

peer_go()
{
	have "go $GO" go || return
	installed "go $GO" go "$GO $(cksum <"$HERE/go_client/main.go")" go_build || return
	against "go $GO" "" "$D/go/go_client" URL 2025-11-25
	against "go $GO modern" "" "$D/go/go_client" URL
}

rust_build()
{
	cp -r "$HERE/rmcp_client/." . && cargo build --quiet &&
	    mv target/debug/rmcp_client . && rm -r target
}

peer_rust()
{
	local v
	v="rmcp $(sed -n 's/^rmcp = .*"=\([^"]*\)".*/\1/p' "$HERE/rmcp_client/Cargo.toml")"
	have "$v" cargo || return
	installed "$v" rust "$(cat "$HERE"/rmcp_client/Cargo.toml "$HERE"/rmcp_client/src/*.rs | cksum)" \
	    rust_build || return
	against "$v" "" "$D/rust/rmcp_client" URL
	against "$v modern" "" "$D/rust/rmcp_client" URL modern
}

probe=("${MCPDIAG:-$PWD/build/mcpdiag}" probe)

# The suite's scenarios for clients; the listener is the client.
peer_client()
{
	local one name args dir=$D/conformance/node_modules/@modelcontextprotocol/conformance
	npm_peer client node22 "node@$NODE22" || return
	npm_peer client conformance "@modelcontextprotocol/conformance@$SUITE" || return
	for one in "initialize" "tools_call --emit-tool 'add_numbers={\"a\":5,\"b\":3}'" \
	    "sse-retry --emit-tool test_reconnection"; do
		read -r name args <<<"$one"
		(cd "$tmp" && with_node22 timeout 60 node "$dir/dist/index.js" client \
		    --command "${probe[*]} --only listeners --client ts-1.32 --duration 3 \
		    --fail-on none $args" --scenario "$name" -o "$tmp/client") >"$tmp/suite.out" 2>&1
		grep -q 'OVERALL: PASSED' "$tmp/suite.out"
		verdict $? "client: $name, $(sed -n 's/^Passed: //p' "$tmp/suite.out")"
	done
}

# probed PEER NAME COMMAND...: that server is what probe says it is.
probed()
{
	local peer=$1 name=$2 said
	shift 2
	local serve=("$@")
	start "$peer" || return
	timeout 120 "${probe[@]}" --emit-tool emit -T json "$url" >"$tmp/probe" 2>"$tmp/client.err"
	said=$(sed -n 's/.*"same_as": \[{"name": "\([^"]*\)".*/\1/p' "$tmp/probe")
	[ "$said" = "$name" ]
	verdict $? "$peer: is $name${said:+ ($said)}"
	stop "$peer"
}

peer_probe_ts()
{
	local v when kind
	for v in $TS; do
		ts "$v" || continue
		probed "probe ts $v" "TypeScript SDK, no event store" \
		    node "$HERE/ts_server.mjs" "$(ts_dir "$v")" none
		case $v in
		1.23.*) when="up to 1.24" ;;
		1.29.*) when="1.25-1.29" ;;
		*) when="from 1.30" ;;
		esac
		for kind in plain checked; do
			[ "$kind $when" != "checked up to 1.24" ] || when="1.23-1.24"
			probed "probe ts $v $kind" "TypeScript SDK $when, a $(
			    [ $kind = plain ] && echo plain store || echo store that looks up)" \
			    node "$HERE/ts_server.mjs" "$(ts_dir "$v")" "$kind"
		done
	done
}

# Revision 2026-07-28: no fault, and nothing of it unknown.
peer_probe_ts2()
{
	local peer="probe ts $TS2"
	npm_peer "$peer" ts2_server "@modelcontextprotocol/server@$TS2" \
	    "@modelcontextprotocol/node@$TS2_NODE" || return
	local serve=(node "$HERE/ts2_server.mjs" "$D/ts2_server/node_modules")
	start "$peer" || return
	timeout 120 "${probe[@]}" --emit-tool emit --only modern-get,two-listens,listen-cut,header-mismatch \
	    "$url" >"$tmp/probe" 2>"$tmp/client.err"
	grep -q '^0 faults, 0 warnings, 4 ok, 0 unknown' "$tmp/probe"
	verdict $? "$peer: $(sed -n '/ faults, /p' "$tmp/probe")"
	stop "$peer"
}

peer_probe_python()
{
	local v py
	for v in $PYTHON; do
		python "probe python $v" "$v" || continue
		py=$D/python-$v/bin/python
		probed "probe python $v" "Python SDK, no event store" "$py" \
		    "$HERE/python_server.py" none
		probed "probe python $v store" "Python SDK, an event store" "$py" \
		    "$HERE/python_server.py" store
	done
}

go_server_build()
{
	cp "$HERE/go_server/main.go" . && go mod init go_server &&
	    go get "github.com/modelcontextprotocol/go-sdk@$GO" && go mod tidy && go build .
}

go_server()			# go_server PEER
{
	have "$1" go || return
	installed "$1" go_server "$GO $(cksum <"$HERE/go_server/main.go")" go_server_build
}

peer_probe_go()
{
	go_server "probe go $GO" || return
	probed "probe go $GO" "Go SDK, no event store" "$D/go_server/go_server" none
	probed "probe go $GO store" "Go SDK, an event store" "$D/go_server/go_server" store
}

rmcp_server_build()		# rmcp_server_build VERSION, in the folder
{
	cp -r "$HERE/rmcp_server/." . && sed -i "s/=VERSION/=$1/" Cargo.toml &&
	    cargo build --quiet && mv target/debug/rmcp_server . && rm -r target
}

rmcp_server()			# rmcp_server PEER VERSION
{
	have "$1" cargo || return
	installed "$1" "rmcp-$2" "$2 $(cat "$HERE"/rmcp_server/Cargo.toml \
	    "$HERE"/rmcp_server/src/*.rs | cksum)" rmcp_server_build "$2"
}

peer_probe_rmcp()
{
	local v peer what
	for v in $RMCP; do
		peer="probe rmcp $v"
		rmcp_server "$peer" "$v" || continue
		case $v in
		0.15.*) what="rmcp 0.13-0.16: replace" ;;
		0.17.*) what="rmcp 0.17-1.4: shadow-replay" ;;
		*) what="rmcp 1.5-3.1: shadow-empty" ;;
		esac
		probed "$peer" "$what" "$D/rmcp-$v/rmcp_server"
	done
}

replay=("${MCPDIAG:-$PWD/build/mcpdiag}" replay)

# Of a JSON report on stdin: the faults that were found, "leapfrog(chain)".
faults()
{
	sed -n 's/^    {"n": [0-9]*, "detector": "\([^"]*\)", "variant": \([^,]*\), "severity": "\(error\|warning\)".*/\1(\2)/p' |
	    sed 's/(null)//; s/"//g' | sort -u | paste -sd' '
}

# And the GETs that were played: "3:200/4", the third exchange, 4 events.
gets()
{
	sed -n 's/^    {"n": \([0-9]*\), .*"method": "GET", .*"live": {"status": \([0-9]*\), "event_stream": [a-z]*, "events": \([0-9]*\), .*/\1:\2\/\3/p' |
	    paste -sd' '
}

# Events are compared where the row wants them.
same_gets()			# same_gets WANTED SEEN
{
	local i wanted seen
	read -ra wanted <<<"$1"
	read -ra seen <<<"$2"
	[ ${#wanted[@]} -eq ${#seen[@]} ] || return
	for i in "${!wanted[@]}"; do
		[ "${wanted[i]}" = "${seen[i]}" ] || [ "${wanted[i]}" = "${seen[i]%/*}" ] || return
	done
}

# replayed PEER SERVER...: rows on stdin, played at once against that server,
# each a session of its own.  "EXIT | FAULTS | GETS | CAPTURE OPTION...": the
# exit status, the faults that are found or "-", and what the GETs of the capture
# get or "-", anything.
replayed()
{
	local peer=$1 row rows=() pids=() opt i
	shift
	local serve=("$@")
	start "$peer" || return
	while read -r row; do
		read -ra opt <<<"${row##*|}"
		timeout 120 "${replay[@]}" "${opt[@]:1}" -T json -o "$tmp/replay.${#rows[@]}" \
		    "captures/${opt[0]}.pcap" "$url" </dev/null 2>"$tmp/replay.${#rows[@]}.err" &
		pids+=($!)
		rows+=("$row")
	done
	for i in "${!rows[@]}"; do
		wait "${pids[i]}"
		as_wanted "$peer" "${rows[i]}" $? "$tmp/replay.$i"
	done
	stop "$peer"
}

as_wanted()			# as_wanted PEER ROW STATUS REPORT
{
	local want faults gets what found sent
	IFS='|' read -r want faults gets what <<<"$2"
	read -r want <<<"$want"
	read -r faults <<<"$faults"
	read -r gets <<<"$gets"
	found=$(faults <"$4")
	[ "$gets" = - ] || sent=$(gets <"$4")
	[ "$3" = "$want" ] && [ "${found:--}" = "$faults" ] &&
	    same_gets "$gets" "${sent:--}"
	verdict $? "$1:$what: ${found:-no fault}${sent:+ ($sent)}, exit $3"
	sed 's/^/# /' "$4.err"
}

TS_LEAP=11-leapfrog-ts1.32-eventsource
LEAP=leapfrog-rmcp0.15.0-eventsource
BEFORE=silent-loss-make-before-break-rmcp0.17.0
RECYCLE="recycle-with-events-rmcp1.8.0 --tool poke=emit --max-wait 1"
UNKNOWN=03-resume-unknown-id-ts1.32
MANY=shadow-eviction-loop-rmcp0.17.0
LINEAR="replay-linear-rmcp0.15.0-eventsource --tool poke=emit"

# Who resumes a stream that is open: it is closed, left open in silence, or the
# resume refused.  1.25 to 1.29 do not free the place of a resumed stream.
peer_replay_ts()
{
	local v peer plain slot
	for v in $TS; do
		peer="replay ts $v"
		ts "$v" || continue
		case $v in
		1.2*) plain="1 | orphaned-channel(superseded) | 3:200 4:200" ;;
		*) plain="1 | leapfrog | 3:200 4:200 5:200 6:200 7:200 8:200" ;;
		esac
		case $v in
		1.2[5-9].*) slot="1 | stale-slot | 3:200 5:200 6:409 8:409 9:409 11:409" ;;
		*) slot="0 | - | 3:200 5:200 6:200 8:200 9:200 11:200" ;;
		esac
		replayed "$peer" node "$HERE/ts_server.mjs" "$(ts_dir "$v")" none greet <<-END
			0 | - | 3:200 4:409 | $TS_LEAP
			0 | - | - | $TS_LEAP --client eventsource
		END
		replayed "$peer plain" node "$HERE/ts_server.mjs" "$(ts_dir "$v")" plain greet <<-END
			$plain | $TS_LEAP
			0 | orphaned-channel(zombie-resume) | - | $TS_LEAP --client eventsource
		END
		replayed "$peer checked" node "$HERE/ts_server.mjs" "$(ts_dir "$v")" checked greet <<-END
			0 | - | 3:200 4:409 | $TS_LEAP
			0 | orphaned-channel(zombie-resume) | - | $TS_LEAP --client eventsource
			$slot | $RECYCLE
		END
	done
}

# A resume without a store is a 500; of a stream that is open, it replays and
# ends (so that 6 and 8 come).
peer_replay_python()
{
	local v py
	for v in $PYTHON; do
		python "replay python $v" "$v" || continue
		py=$D/python-$v/bin/python
		replayed "replay python $v" "$py" "$HERE/python_server.py" none greet <<-END
			0 | - | 3:200 4:409 | $TS_LEAP
			0 | - | 3:200 4:500 | $UNKNOWN
			0 | - | - | $LEAP --client eventsource
		END
		replayed "replay python $v store" "$py" "$HERE/python_server.py" store greet <<-END
			0 | - | 3:200/4 4:200/0 6:200/1 8:200/1 | $TS_LEAP
			0 | - | 3:200 4:200 | $UNKNOWN
			0 | - | 3:200 5:200 6:200 8:200 9:200 11:200 | $RECYCLE
			0 | - | - | $LEAP --client eventsource
		END
	done
}

# A plain GET gets all that the standalone stream ever carried; the resume of an
# answered POST is an empty stream.
peer_replay_go()
{
	local before="$BEFORE --tool poke=emit --max-wait 2"
	go_server "replay go $GO" || return
	replayed "replay go $GO" "$D/go_server/go_server" none <<-END
		0 | - | 3:200 4:409 | $TS_LEAP
		0 | - | 3:200 4:400 | $UNKNOWN
		0 | - | 3:200/1 5:409 8:200/1 11:404 | $before
		0 | - | - | $LEAP --client eventsource
	END
	replayed "replay go $GO store" "$D/go_server/go_server" store <<-END
		0 | - | 3:200 4:409 | $TS_LEAP
		0 | - | 3:200 4:400 | $UNKNOWN
		0 | - | 3:200/1 5:409 8:200/4 11:404 | $before
		0 | - | 3:200 5:200 6:200 8:200 9:200 11:200 | $RECYCLE
		1 | empty-accept-loop(frozen-cursor) | - | $LEAP --client eventsource
	END
}

# The fault, its cure, what the cure brought, and what the cure of that did.
peer_replay_rmcp()
{
	local v before="$BEFORE --tool poke=emit"
	local many="leapfrog(shadow-eviction) shadow-pile-up(listeners)"
	for v in $RMCP; do
		rmcp_server "replay rmcp $v" "$v" || continue
		case $v in
		0.15.*) cat <<-END ;;
			1 | leapfrog | 3:200 6:200 7:500 8:200 10:200 12:200 13:200 15:200 16:200 | $LEAP
			1 | leapfrog | - | $LEAP --client eventsource
			0 | - | 3:200/2 5:200/4 8:200/5 11:401 | $before
			1 | leapfrog replay-loop(semantic) | - | $LINEAR
			1 | leapfrog | - | $MANY
			1 | leapfrog | - | $MANY --client eventsource
		END
		0.17.*) cat <<-END ;;
			0 | - | 3:200 6:200 7:200 | $LEAP
			0 | - | - | $LEAP --client eventsource
			1 | orphaned-channel(headless) | 3:200/2 5:200/1 8:200/5 11:404 | $before
			0 | shadow-pile-up | - | $LINEAR
			1 | $many | - | $MANY
			1 | $many | - | $MANY --client eventsource
		END
		*) cat <<-END ;;
			0 | - | 3:200 6:200 7:200/0 | $LEAP
			1 | empty-accept-loop(frozen-cursor) | - | $LEAP --client eventsource
			1 | orphaned-channel(headless) | 3:200/2 5:200/1 8:200/5 11:404 | $before
			1 | $many | - | $MANY
			1 | $many | - | $MANY --client eventsource
		END
		esac >"$tmp/rows"
		replayed "replay rmcp $v" "$D/rmcp-$v/rmcp_server" <"$tmp/rows"
	done
}

ALL="conformance ts ts2 inspector sse resume python go rust"
ALL="$ALL client probe_ts probe_ts2 probe_python probe_go probe_rmcp"
ALL="$ALL replay_ts replay_python replay_go replay_rmcp"
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- $ALL
for one; do
	case " $ALL " in
	*" $one "*) "peer_$one" ;;
	*)
		echo "run.sh: no peer $one; there are $ALL" >&2
		exit 2
		;;
	esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
