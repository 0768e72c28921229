#!/usr/bin/env bash
# Installs what is missing, and does nothing when nothing is.
#   tools/deps.sh [GROUP...]     build, test, bench; default: build test
#   tools/deps.sh list           what each group needs, and what is there
# Never asks a question.  Debian and its relatives; elsewhere it says what to
# install and leaves it to you.
set -u

# One package a word; a|b is the first of them that the system knows.  @clang-rt
# is the runtime library of the default clang, whose name has its version in it.
# a+ is good to have: where it cannot be had, what wants it is skipped.
packages()
{
	case $1 in
	build) echo "gcc libc6-dev make pkgconf|pkg-config libpcap-dev zlib1g-dev
	    libbrotli-dev libzstd-dev uthash-dev libllhttp-dev|node-llhttp
	    libevent-dev libcurl4-openssl-dev libncurses-dev
	    libseccomp-dev" ;;
	test) echo "clang @clang-rt libcmocka-dev libjansson-dev python3 shellcheck
	    mandoc tmux nginx+" ;;
	bench) echo "python3 tshark tcpflow tcpdump tcpreplay wrk nginx" ;;
	esac
}

elsewhere()
{
	cat >&2 <<-END
	deps: no apt-get here. mcpdiag needs, with headers:
	  to build  gcc or clang, GNU make, pkg-config, libpcap, zlib, brotli, zstd,
	            uthash, llhttp (8 or 9), libevent 2.1, libcurl,
	            ncurses with wide characters; libseccomp if it is to be used
	  to test   clang with its sanitizer runtime, cmocka, jansson, python3,
	            shellcheck, mandoc, tmux; nginx as a proxy that buffers or cuts
	  to bench  python3; tshark, tcpflow as peers of analyze; wrk and nginx
	            for serve and watch, tcpreplay and tcpdump for watch
	END
}

installed()
{
	dpkg-query -W -f '${Status}\n' "$1" 2>/dev/null | grep -q '^install ok installed$'
}

known()
{
	[ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]
}

# Names that stand for one requirement, as a list.
names()
{
	local v
	case $1 in
	@clang-rt)
		# clang-14 of "Depends: clang-14", without asking apt-cache when
		# one of the usual ones is there
		for v in libclang-rt-dev libclang-rt-{14..21}-dev; do
			if installed "$v"; then
				echo "$v"
				return
			fi
		done
		v=$(apt-cache depends clang 2>/dev/null |
		    sed -n 's/.*Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -n 1)
		echo "libclang-rt-dev ${v:+libclang-rt-$v-dev}"
		;;
	*+) echo "${1%+}" ;;
	*) echo "${1//|/ }" ;;
	esac
}

present()			# NAMES
{
	local p
	for p in $1; do
		installed "$p" && return 0
	done
	return 1
}

first_known()			# NAMES
{
	local p
	for p in $1; do
		if known "$p"; then
			echo "$p"
			return 0
		fi
	done
	return 1
}

list()
{
	local g w n mark
	for g in build test bench; do
		for w in $(packages "$g"); do
			n=$(names "$w")
			mark=missing
			present "$n" && mark=installed
			printf '%-6s %-10s %s\n' "$g" "$mark" "${n// / or }"
		done
	done
}

apt()
{
	if [ "$(id -u)" -eq 0 ]; then
		DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null
	else
		sudo -n env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null
	fi
}

# Sets `want` to the packages to install; 1 when one of them is not known.
choose()
{
	local w p ok=0
	want=()
	for w in "${missing[@]}"; do
		if p=$(first_known "$(names "$w")"); then
			want+=("$p")
		else
			unknown=$w
			ok=1
		fi
	done
	return $ok
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	elsewhere
	exit 0
fi
[ $# -gt 0 ] || set -- build test
# What is good to have, as far as that goes.
extras()
{
	local p
	for p in "${extra[@]}"; do
		if { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; } && known "$p" &&
		    apt install -y --no-install-recommends "$p"; then
			continue
		fi
		echo "deps: no $p: the tests that want it are skipped"
	done
}

missing=()
extra=()
want=()
unknown=
for g; do
	if [ "$g" = list ]; then
		list
		exit 0
	fi
	if [ -z "$(packages "$g")" ]; then
		echo "deps: no group $g; there are build, test, bench and list" >&2
		exit 2
	fi
	for w in $(packages "$g"); do
		present "$(names "$w")" && continue
		case $w in
		*+) extra+=("${w%+}") ;;
		*) missing+=("$w") ;;
		esac
	done
done
if [ ${#missing[@]} -eq 0 ]; then
	extras
	exit 0
fi

choose
known_all=$?
echo "deps: missing: ${want[*]:-}${unknown:+ $unknown}"
if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
	cat >&2 <<-END
	deps: installing needs root, and sudo is not there or would ask. Run
	  sudo apt-get install ${want[*]:-} ${unknown:+(and $unknown)}
	and then this again.
	END
	exit 1
fi
if [ $known_all -ne 0 ]; then
	apt update || exit 1
	if ! choose; then
		echo "deps: no package ${unknown//|/ or } in the lists of this system" >&2
		exit 1
	fi
fi
if ! apt install -y --no-install-recommends "${want[@]}"; then
	# most often the lists are older than the archive
	apt update && apt install -y --no-install-recommends "${want[@]}" || exit 1
fi
extras
