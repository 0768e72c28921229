# shellcheck shell=bash
# What bench.sh, serve.sh and live.sh share: rows with a gate, their sum, the header.
# For whoever sources it: tap=1 prints "ok"/"not ok" before each row, slack
# widens the gates of times, lenient=1 skips a time that is missed beside other
# work, lenient=2 every such time.  Environment: BENCH_JSON=FILE.
passed=0 failed=0 skipped=0
slack=1 lenient=0 tap=0 trying=0 result=PASS

calc() { awk "BEGIN { printf \"%.$1f\", $2 }"; }
true_that() { awk "BEGIN { exit !($1) }"; }
# field NAME LINE: a value of a line of NAME=VALUE
field() { sed -n "s/.*\\b$1=\\([^ ]*\\).*/\\1/p" <<<"$2"; }

say()			# say PASS|FAIL|SKIP TEXT
{
	local word=$1
	shift
	case $word in
	PASS) passed=$((passed + 1)) ;;
	FAIL) failed=$((failed + 1)) ;;
	SKIP) skipped=$((skipped + 1)) ;;
	esac
	if [ $tap -eq 0 ]; then
		[ "$word" = SKIP ] && word=skipped
		echo "$* $word"
	elif [ "$word" = FAIL ]; then
		echo "not ok - $*"
	elif [ "$word" = SKIP ]; then
		echo "ok - $* # SKIP"
	else
		echo "ok - $*"
	fi
}

# busy: somebody else wants the processors too
busy() { awk '{ exit !($1 > 1.2) }' /proc/loadavg; }

# row ID WHAT VALUE UNIT OP GATE AIM [RANGE [WRONG]]: OP is <= or >=; AIM "-"
# when there is none; WRONG is what was untrue in the timed run.
row()
{
	local id=$1 what=$2 v=$3 unit=$4 op=$5 gate=$6 aim=$7 range=${8:-} wrong=${9:-}
	local far="" word=PASS
	# a gate with slack for a shared machine; memory needs none
	case $op in
	'<=') gate=$(calc 3 "$gate * $slack") ;;
	'>=') gate=$(calc 3 "$gate / $slack") ;;
	esac
	gate=$(awk "BEGIN { print $gate + 0 }")
	if [ "$aim" != - ]; then
		if true_that "$v $op $aim"; then
			far=" aim $op $aim met"
		else
			far=" aim $op $aim off by $(calc 0 "($v > $aim ? $v / $aim : $aim / $v) * 100 - 100") %"
		fi
	fi
	true_that "$v $op $gate" || word=FAIL
	[ -z "$wrong" ] || word=FAIL
	result=$word
	text="$id $what $v$unit${range:+ ($range)} gate $op $gate$far${wrong:+ WRONG: $wrong}"
	if [ $word = FAIL ] && [ $trying -eq 1 ]; then
		return
	fi
	# Beside other work a time proves nothing; instructions still do.
	if [ $word = FAIL ] && [ -z "$wrong" ] &&
	    { [ $lenient -eq 2 ] || { [ $lenient -eq 1 ] && busy; }; }; then
		case $unit in
		x | ' ms' | ' us' | 'k packets/s' | ' GB/s')
			if [ $lenient -eq 2 ]; then
				say SKIP "$text: missed; of times, full judges"
			else
				say SKIP "$text, but the machine is busy"
			fi
			return
			;;
		esac
	fi
	[ -z "${BENCH_JSON-}" ] ||
	    printf '{"id": "%s", "what": "%s", "value": %s, "unit": "%s", "gate": %s, "pass": %s}\n' \
		"$id" "$what" "$v" "$unit" "$gate" "$([ $word = PASS ] && echo true || echo false)" >>"$BENCH_JSON"
	say $word "$text"
}
# try FUNCTION...: once more when the first time fails: a neighbour may have
# been loud.
try()
{
	trying=1
	"$@"
	trying=0
	[ "$result" = PASS ] || "$@"
}

# nginx_start PORT BODY: one worker that answers BODY; its process in `nginx`
nginx_start()
{
	cat >"$D/nginx.conf" <<-END
	daemon off;
	master_process off;
	pid $D/nginx.pid;
	error_log $D/nginx.log;
	events { worker_connections 1024; }
	http {
		access_log off;
		keepalive_requests 1000000000;
		client_body_temp_path $D/nginx.1;
		proxy_temp_path $D/nginx.2;
		fastcgi_temp_path $D/nginx.3;
		uwsgi_temp_path $D/nginx.4;
		scgi_temp_path $D/nginx.5;
		server {
			listen 127.0.0.1:$1;
			default_type application/json;
			location / { return 200 '$2'; }
		}
	}
	END
	nginx -p "$D" -c "$D/nginx.conf" >/dev/null 2>&1 &
	# shellcheck disable=SC2034 # for who sourced this
	nginx=$!
}

# header: where this was measured; BIN is the program, D the folder
header()
{
	local load
	[ -z "${BENCH_JSON-}" ] || : >"$BENCH_JSON"
	load=$(cut -d' ' -f1 /proc/loadavg)
	echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, Linux $(uname -r)"
	echo "# $($BIN --version 2>/dev/null | head -n 1), $(${CC:-gcc} --version | head -n 1), -O2"
	echo "# load average $load, files in $D"
	! true_that "$load > 1" || echo "# warning: other work is going on, expect spread"
}
