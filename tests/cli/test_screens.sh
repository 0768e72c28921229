#!/usr/bin/env bash
# mcpdiag watch on a terminal: the screens, by tmux.  What is on them is tested
# by grids (tests/unit); here it is the terminal.
# shellcheck disable=SC2317 # functions that until_ calls
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
if ! command -v tmux >/dev/null; then
	ok "screens # SKIP no tmux"
	finish
fi
C=captures/leapfrog-rmcp0.15.0-eventsource.pcap
export LC_ALL=C.UTF-8 TZ=UTC TERM=xterm-256color
unset TMUX
mux() { tmux -S "$tmp/tmux" -f "$tmp/tmux.conf" "$@"; }
trap 'mux kill-server 2>/dev/null; rm -rf "$tmp"' EXIT
echo 'set -s exit-empty off' >"$tmp/tmux.conf"
n=0

# begin W H COMMAND: in a terminal of that size; its modes before and after, the
# exit status and what is left on the normal screen can be asked for.
begin()
{
	rm -f "$tmp/before" "$tmp/after" "$tmp/status"
	cat >"$tmp/job.sh" <<-END
	cd "$PWD"
	stty -a | sed 's/rows [0-9]*; columns [0-9]*;//' >"$tmp/before"
	$3
	echo \$? >"$tmp/code"
	stty -a | sed 's/rows [0-9]*; columns [0-9]*;//' >"$tmp/after"
	mv "$tmp/code" "$tmp/status"
	read -r _
	END
	[ $n -eq 0 ] || mux kill-session -t "w$n" 2>/dev/null
	n=$((n + 1))
	mux new-session -d -s "w$n" -x "$1" -y "$2" "bash --norc $tmp/job.sh" || exit 2
}
pane() { mux capture-pane -p -t "w$n" 2>/dev/null || echo "(no such pane)"; }
keys() { mux send-keys -t "w$n" "$@"; }
# until_ COMMAND...: true before 20 s are over, else false and the screen.
until_()
{
	local end=$((SECONDS + 20))
	until "$@"; do
		if [ $SECONDS -ge $end ]; then
			pane | sed 's/^/# /'
			return 1
		fi
		sleep 0.02
	done
}
on_screen() { pane | grep -qe "$1"; }
not_on_screen() { ! on_screen "$1"; }
shows() { until_ on_screen "$1"; }
lacks() { until_ not_on_screen "$1"; }
state() { [ "$(mux display-message -p -t "w$n" '#{alternate_on}#{cursor_flag}')" = "$1" ]; }
ended() { [ -e "$tmp/status" ]; }
child()				# process of the program under test
{
	local p
	for p in $(pgrep -P "$(mux display-message -p -t "w$n" '#{pane_pid}')"); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" = mcpdiag ] && echo "$p"
	done
}
is_stopped() { grep -q '^State:[[:space:]]*T' "/proc/$1/status"; }

# The terminal is as it was: modes, normal screen, a cursor.
restored()			# restored NAME STATUS
{
	check "$1: ends" until_ ended
	check "$1: exit status" test "$(cat "$tmp/status")" -eq "$2"
	check "$1: the modes are those of before" diff "$tmp/before" "$tmp/after"
	check "$1: the normal screen, with a cursor" until_ state 01
}

# ---- a tour ----
begin 80 24 "$bin watch -r $C"
check "starts with the sessions" shows '^Sessions  1'
check "on the alternate screen, without a cursor" until_ state 10
check "the whole file is read" shows '203 packets'
check "says who owns the channel" shows 'GET #14 owns the channel'
check "and what took it away" shows 'GET #14 took over, #13 ended'
keys Enter
check "Enter: the session" shows '^Sessions ► Session'
keys x
keys q
keys x
check "x: the ladder" shows '► Ladder'
keys Enter
check "Enter: a message" shows '► Message'
keys q
check "q: back to the ladder" lacks '► Message'
keys Escape
keys '!'
check "!: the findings" shows '► Findings'
check "with the worst one" shows 'leapfrog'
keys F1
check "F1: help" shows '► Help'
keys q
check "q: back" shows '► Findings'
keys Enter
check "Enter on a finding: the ladder" shows '► Ladder'
keys q q q
check "back to the sessions" shows '^Sessions  1'
keys '?'
check "?: help" shows 'half of one'
keys G
check "G: its end" shows 'finding: for information'
keys Escape
keys '/' d r v Enter
check "/ finds" lacks 'Search:'
keys '/' n o s u c h Enter
check "/ and does not find" shows 'not found: nosuch'
keys f n o n e Enter
check "f: a filter" shows 'Sessions  0 with filter: none'
keys Escape
check "Esc: no filter" shows '^Sessions  1$'
keys p
check "p: paused" shows PAUSED
keys p
check "p: goes on" lacks PAUSED
keys w
check "w: another time" shows 'time from start'
keys ']'
check "]: a finding" shows '► Ladder'
keys q
mux resize-window -t "w$n" -x 120 -y 40
check "larger" shows 'TRANSPORT'
check "down to the last row" until_ bash -c "tmux -S '$tmp/tmux' capture-pane -p -t w$n |
    sed -n 40p | grep -q F1Help"
mux resize-window -t "w$n" -x 40 -y 10
check "smaller" until_ bash -c "tmux -S '$tmp/tmux' capture-pane -p -t w$n |
    sed -n 10p | grep -q F1Help"
mux resize-window -t "w$n" -x 80 -y 24
check "and back" shows 'GET:POST'
keys q
restored q 1
check "the summary is on the normal screen" shows '^seen     203 packets'

# ---- ^Z and back: for a shell with jobs ----
begin 80 24 "set -m; $bin watch -r $C; read -r _; fg"
shows 'GET #14 owns' >/dev/null
pid=$(child)
keys C-z
check "^Z: stops" until_ is_stopped "$pid"
check "^Z: the normal screen, with a cursor" until_ state 01
keys Enter
check "fg: goes on where it was" shows 'GET #14 owns'
check "fg: on the alternate screen" until_ state 10
keys Enter
check "fg: keys are read" shows '► Session'
keys Q
restored "^Z and fg" 1

# ---- ways to end ----
begin 80 24 "$bin watch -r captures/01-clean-ts1.32.pcap"
check "a clean capture" shows 'no finding'
keys C-c
restored "^C at the end" 0

for s in SEGV ABRT BUS TERM HUP QUIT; do
	begin 80 24 "$bin watch -r $C"
	shows 'GET #14 owns' >/dev/null
	keys Enter
	shows '► Session' >/dev/null
	kill -s "$s" "$(child)"
	restored "SIG$s" $((128 + $(kill -l "$s")))
done

# ---- a pipe, keys from the terminal ----
mkfifo "$tmp/pipe"
begin 80 24 "$bin watch -r - <$tmp/pipe"
exec 9>"$tmp/pipe"
head -c 20000 $C >&9
check "a pipe: what has come is there" shows 'drv/1'
keys '?'
check "a pipe: keys are read all the same" shows 'half of one'
keys q
tail -c +20001 $C >&9
check "a pipe: more comes" shows '203 packets'
keys C-c
check "^C ends the capture" shows 'that was the capture'
exec 9>&-
keys q
check "q: what is not saved would be lost" shows 'not saved'
keys q
restored "a pipe" 1

# ---- a terminal that nobody reads ----
if command -v python3 >/dev/null; then
	cat >"$tmp/stall.py" <<-'END'
	import fcntl, os, pty, select, struct, sys, termios, time
	program, capture, fifo, saved = sys.argv[1:]
	pid, fd = pty.fork()
	if pid == 0:
	    os.execv("/bin/sh", ["sh", "-c", 'stty rows 500 cols 1000; exec "$0" watch -r - -w "$1" <"$2"',
	        program, saved, fifo])
	data = open(capture, "rb").read()
	pipe = os.open(fifo, os.O_WRONLY)
	os.write(pipe, data[:20000])

	def waits():    # bytes
	    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]

	end, full, same = time.time() + 20, 0, 0
	while same < 5 and time.time() < end:
	    os.write(fd, b"\x0c")
	    select.select([], [], [], 0.1)
	    same = same + 1 if waits() == full and full > 2000 else 0
	    full = waits()
	os.write(pipe, data[20000:])
	os.close(pipe)
	while time.time() < end and (not os.path.exists(saved) or
	        os.path.getsize(saved) < len(data)):
	    select.select([], [], [], 0.05)
	os.kill(pid, 9)
	sys.exit(os.path.getsize(saved) < len(data))
	END
	check "a terminal that is not read stops no capture" python3 "$tmp/stall.py" \
	    "$(realpath "$bin")" $C "$tmp/pipe" "$tmp/saved.pcapng"
fi

# ---- looks ----
colours() { mux capture-pane -p -e -t "w$n" | grep -q $'\033\[[0-9;]*[34]8;5;'; }
some_colours() { mux capture-pane -p -e -t "w$n" | grep -q $'\033\[[0-9;]*\(3\|4\)[1-7]'; }
begin 80 24 "$bin watch -r $C"
shows 'GET #14 owns' >/dev/null
check "256 colours" until_ colours
keys q
begin 80 24 "TERM=screen $bin watch -r $C"
shows 'GET #14 owns' >/dev/null
check "8 colours" some_colours
keys q
for how in "NO_COLOR=1 $bin watch" "$bin watch --color never" "TERM=vt100 $bin watch"; do
	begin 80 24 "$how -r $C"
	shows 'GET #14 owns' >/dev/null
	# shellcheck disable=SC2251 # the other way round is the test
	! colours && ! some_colours
	check "no colour: ${how%% *}" test $? -eq 0
	keys q
done
begin 80 24 "LC_ALL=C $bin watch -r $C"
check "ASCII without UTF-8" shows '\* primary #14'
check "and nothing else" bash -c "! tmux -S '$tmp/tmux' capture-pane -p -t w$n |
    LC_ALL=C grep -q '[^ -~]'"
keys q
until_ ended

# ---- no screens ----
begin 80 24 "TERM=dumb $bin watch -r $C"
restored "TERM=dumb: lines" 1
begin 80 24 "TERM=no-such-terminal $bin watch -r $C"
restored "an unknown TERM: lines" 1
begin 80 24 "$bin watch -T text -r $C"
restored "-T text: lines" 1
begin 80 24 "$bin watch -q -r $C"
restored "-q: findings" 1
begin 80 24 "$bin watch -r $C | cat; (exit \${PIPESTATUS[0]})"
restored "not a terminal: lines" 1
begin 80 24 "$bin watch -r README.md"
restored "not a capture" 3
check "says why" shows 'README.md'
finish
