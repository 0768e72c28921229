#!/usr/bin/env bash
# tools/deps.sh against a package system of its own making: fake dpkg-query,
# apt-get, apt-cache, sudo and id, and a file that says what is installed.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0
mkdir "$tmp/bin" "$tmp/none"

cat >"$tmp/bin/dpkg-query" <<'END'
#!/bin/sh
for p; do :; done
grep -qx "$p" "$FAKE/installed" && echo "install ok installed"
END
cat >"$tmp/bin/apt-cache" <<'END'
#!/bin/sh
echo "apt-cache $*" >>"$FAKE/log"
for p; do :; done
case $1 in
depends) echo "  Depends: clang-19" ;;
show) grep -qx "$p" "$FAKE/known" && echo "Package: $p" ;;
esac
exit 0
END
cat >"$tmp/bin/apt-get" <<'END'
#!/bin/sh
echo "apt-get $*" >>"$FAKE/log"
if [ "$1" = update ]; then
	cat "$FAKE/archive" >"$FAKE/known"
else
	for p; do
		case $p in -* | install) ;; *) echo "$p" >>"$FAKE/installed" ;; esac
	done
fi
END
cat >"$tmp/bin/id" <<'END'
#!/bin/sh
echo "${FAKE_UID:-0}"
END
cat >"$tmp/bin/sudo" <<'END'
#!/bin/sh
echo "sudo $*" >>"$FAKE/log"
[ "$FAKE_SUDO" = yes ] || exit 1
[ "$1" = -n ] && shift
exec "$@"
END
chmod +x "$tmp"/bin/*
export FAKE=$tmp

ALL="gcc libc6-dev make pkgconf libpcap-dev zlib1g-dev libbrotli-dev libzstd-dev
uthash-dev libevent-dev libcurl4-openssl-dev clang libcmocka-dev libjansson-dev python3 shellcheck mandoc
libncurses-dev libseccomp-dev tmux nginx"

# run INSTALLED KNOWN ARCHIVE ARGS...: deps.sh with these package lists
run()
{
	tr -s ' \n' '\n' <<<"$1" >"$tmp/installed"
	tr -s ' \n' '\n' <<<"$2" >"$tmp/known"
	tr -s ' \n' '\n' <<<"$3" >"$tmp/archive"
	: >"$tmp/log"
	shift 3
	PATH="$tmp/bin:$PATH" tools/deps.sh "$@" >"$tmp/out" 2>&1
	status=$?
}

say()			# say DESCRIPTION, after a condition
{
	local ok=$?
	n=$((n + 1))
	if [ $ok -eq 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /' "$tmp/out" "$tmp/log"
		bad=1
	fi
}

run "$ALL node-llhttp libclang-rt-14-dev" "" ""
[ $status -eq 0 ] && [ ! -s "$tmp/out" ] && ! grep -q apt-get "$tmp/log"
say "nothing missing: nothing said, nothing asked"

run "$ALL libclang-rt-14-dev" "node-llhttp" "node-llhttp"
[ $status -eq 0 ] && grep -q 'install.* node-llhttp$' "$tmp/log" &&
    ! grep -q update "$tmp/log"
say "Debian 12: node-llhttp, and no update of the lists"

run "$ALL libclang-rt-19-dev" "libllhttp-dev node-llhttp" ""
[ $status -eq 0 ] && grep -q 'install.* libllhttp-dev$' "$tmp/log"
say "Debian 13: libllhttp-dev comes before node-llhttp"

run "$ALL node-llhttp" "libclang-rt-19-dev" ""
[ $status -eq 0 ] && grep -q 'install.* libclang-rt-19-dev$' "$tmp/log"
say "the sanitizer runtime of the default clang"

run "$ALL node-llhttp" "libclang-rt-dev libclang-rt-19-dev" ""
[ $status -eq 0 ] && grep -q 'install.* libclang-rt-dev$' "$tmp/log"
say "the sanitizer runtime without a version, where it exists"

run "gcc" "" "$ALL node-llhttp libclang-rt-dev"
[ $status -eq 0 ] && grep -q 'apt-get update' "$tmp/log" &&
    grep -q 'install.* libpcap-dev .*node-llhttp' "$tmp/log"
say "empty lists: updates them, then installs"

run "gcc" "" ""
[ $status -eq 1 ] && grep -q 'no package .* in the lists' "$tmp/out"
say "a package nobody has: a clear failure"

run "${ALL% nginx} node-llhttp libclang-rt-14-dev" "nginx" ""
[ $status -eq 0 ] && grep -q 'apt-get install.* nginx$' "$tmp/log"
say "what is good to have is installed, too"

run "${ALL% nginx} node-llhttp libclang-rt-14-dev" "" ""
[ $status -eq 0 ] && grep -q 'no nginx: .*skipped' "$tmp/out" &&
    ! grep -q 'apt-get' "$tmp/log"
say "where nobody has it, it goes without"

FAKE_UID=1000 FAKE_SUDO=no run "${ALL% nginx} node-llhttp libclang-rt-14-dev" "nginx" ""
[ $status -eq 0 ] && grep -q 'no nginx' "$tmp/out" && ! grep -q 'apt-get' "$tmp/log"
say "nor does it ask for a password"

FAKE_UID=1000 FAKE_SUDO=no run "$ALL libclang-rt-14-dev" "node-llhttp" ""
[ $status -eq 1 ] && grep -q 'sudo apt-get install node-llhttp' "$tmp/out" &&
    ! grep -q 'apt-get' "$tmp/log"
say "not root, no sudo: says what to run"

FAKE_UID=1000 FAKE_SUDO=yes run "$ALL libclang-rt-14-dev" "node-llhttp" ""
[ $status -eq 0 ] && grep -q '^sudo -n env .*apt-get install' "$tmp/log"
say "not root: sudo that never asks"

run "gcc" "" "" list
[ $status -eq 0 ] && grep -q '^build  *installed  *gcc$' "$tmp/out" &&
    grep -q '^build  *missing  *libllhttp-dev or node-llhttp$' "$tmp/out" &&
    ! grep -q apt-get "$tmp/log"
say "list: says what is there and installs nothing"

run "" "" "" nonsense
[ $status -eq 2 ] && grep -q 'no group nonsense' "$tmp/out"
say "an unknown group is a usage error"

for p in bash cat env sed grep dirname; do
	ln -s "$(command -v $p)" "$tmp/none/$p"
done
PATH="$tmp/none" tools/deps.sh >"$tmp/out" 2>&1 &&
    grep -q 'libpcap, zlib, brotli' "$tmp/out"
say "no apt-get: names the libraries"

exit $bad
