#!/usr/bin/env bash
# The lint must be able to fail: one planted fault after the other, each in a
# fresh copy of the tree, and the words it is to be found by.
set -u
cd "$(dirname "$0")/../.." || exit 2
top=$PWD
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
bad=0 n=0

# A fresh copy of what lint looks at; the plants are made inside it.
fresh()
{
	local d
	rm -rf "${tmp:?}/t"
	for d in src include man tools bench tests/unit tests/fuzz tests/lint; do
		[ -d "$top/$d" ] || continue
		mkdir -p "$tmp/t/$d"
		tar -C "$top/$d" --exclude=corpus -cf - . | tar -C "$tmp/t/$d" -xf -
	done
	cd "$tmp/t" || exit 2
}

say()			# say OK? DESCRIPTION
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$tmp/out" | grep -v '^# warning' | head -n 20
		bad=1
	fi
}

# finds CHECK REGEX DESCRIPTION: must fail, with a line that matches.
finds()
{
	local status
	tools/lint.sh "$1" >"$tmp/out" 2>&1
	status=$?
	[ "$status" -eq 1 ] && grep -qE -e "$2" "$tmp/out"
	say $? "$3"
}

# spares CHECK REGEX DESCRIPTION: no line may match.
spares()
{
	tools/lint.sh "$1" >"$tmp/out" 2>&1
	! grep -qE -e "$2" "$tmp/out"
	say $? "$3"
}

has()
{
	command -v "$1" >/dev/null 2>&1 && return 0
	n=$((n + 1))
	echo "ok $n - $2 # SKIP no $1 here"
	return 1
}

fresh
echo '#include "mcpdiag/sse.h"' >>src/base/str.c
finds layers '^src/base/str\.c:[0-9]+: base may not include proto' \
    "base that includes proto"

fresh
mkdir -p src/mcp
printf '#include "mcpdiag/sse.h"\n' >src/mcp/zz.c
finds layers '^src/mcp/zz\.c:1: mcp may not include proto' \
    "mcp that includes proto outside observe and model"

fresh
mkdir -p src/mcp
printf '#include "mcpdiag/sse.h"\n' >src/mcp/observe_zz.c
spares layers '^src/mcp/observe_zz\.c' "observe may include proto"

fresh
printf '#include "mcpdiag/ns.h"\n' >include/mcpdiag/zz.h
finds layers '^include/mcpdiag/zz\.h:1: belongs to no layer' \
    "a header without a module"

fresh
echo 'struct zz;' >src/base/zz_private.h
printf '#include "../base/zz_private.h"\n' >src/net/zz.c
finds layers '^src/net/zz\.c:1: .*private header of another folder' \
    "a private header of another folder"

fresh
mkdir -p src/tools
finds layers '^src/tools:1: a folder without a row' "a folder nobody knows"

fresh
printf '#include <zlib.h>\n' >src/net/zz.c
finds foreign '^src/net/zz\.c:1: <zlib\.h>: belongs in src/base/inflate\.c only' \
    "zlib in a second file"

fresh
printf '#include <microhttpd.h>\n' >src/net/zz.c
finds foreign '^src/net/zz\.c:1: <microhttpd\.h>: a foreign header without a row' \
    "a library nobody chose"

fresh
printf '#include <emmintrin.h>\n' >src/net/zz1.c
printf '/* */\n#include <emmintrin.h>\n' >src/net/zz2.c
finds foreign '^src/.*<emmintrin\.h>: .* has it already' "a foreign header in two files"

fresh
sed -i '/^#define/a #include "mcpdiag/cur.h"' include/mcpdiag/err.h
finds cycles '^include/mcpdiag/[a-z]+\.h:[0-9]+: include cycle: .*(cur\.h -> err\.h|err\.h -> cur\.h)' \
    "an include cycle"

fresh
printf 'void f(char *a)\n{\n\tstrcpy(a, "x");\n}\n' >src/net/zz.c
finds banned '^src/net/zz\.c:3: strcpy is banned' "strcpy"

fresh
printf 'void f(void);\n/* never strcpy\n * or printf("x") */\nconst char *s = "strcpy(a, b)"; // atoi()\n' >src/net/zz.c
spares banned '^src/net/zz\.c' "banned words in comments and strings are no fault"

fresh
printf 'void *f(void *p)\n{\n\treturn realloc(p, 2);\n}\n' >src/proto/zz.c
finds banned '^src/proto/zz\.c:3: realloc outside src/base' "realloc outside base"

fresh
mkdir -p src/rules
printf 'void f(void)\n{\n\tprintf("x");\n}\n' >src/rules/zz.c
finds banned '^src/rules/zz\.c:3: printf outside src/cmd, src/sink' \
    "printf outside sink and cmd"

fresh
printf 'void f(void)\n{\n\tlong t = time(0);\n}\n' >src/proto/zz.c
finds banned '^src/proto/zz\.c:3: time outside src/cmd' "a clock below cmd"

fresh
{
	printf 'int\nzz_long(void)\n{\n'
	yes '	;' | head -n 160
	printf '}\n'
} >src/net/zz.c
finds size '^src/net/zz\.c:3: zz_long\(\) has 162 lines, at most 150' \
    "a function of 162 lines"

fresh
{
	printf 'int\nzz_long(void)\n{\n'
	yes '	;' | head -n 110
	printf '}\n'
	yes '' | head -n 800
} >src/net/zz.c
tools/lint.sh size >"$tmp/out" 2>&1
grep -q '^warning: src/net/zz\.c:3: zz_long() has 112 lines' "$tmp/out" &&
    grep -q '^warning: src/net/zz\.c:.* split a file over 800' "$tmp/out"
say $? "warnings: a long function, a long file"

fresh
printf 'int\nzz(void) {\n\treturn 0;\n}\n' >src/net/zz.c
finds size '^src/net/zz\.c:2: the brace of a function' "a function opened on its own line"

fresh
echo 'int zz;' >src/net/zz.c
tools/lint.sh tested >"$tmp/out" 2>&1
grep -q '^warning: src/net/zz\.c:1: no tests/unit/test_zz\.c' "$tmp/out"
say $? "warnings: a module without a unit test"

fresh
printf 'int zz(size_t);\n' >include/mcpdiag/zz.h
finds alone '^include/mcpdiag/zz\.h:1' "a header that needs another before it"

fresh
printf 'struct zz { int a; };\n' >include/mcpdiag/zz.h
finds alone '^include/mcpdiag/zz\.h:1' "a header that may not be included twice"

if has mandoc "man pages"; then
	fresh
	mkdir -p man
	printf '.Dd January 1, 2026\n.Dt ZZ 1\n.Os\n.Sh NAME\n.Nm zz\n.Nd zz\n.Bl -tag\n.It x\n' >man/zz.1
	finds man '^man/zz\.1:[0-9]+: ' "a man page with an unclosed list"

	fresh
	rm -rf man
	mkdir -p man
	cat >man/mcpdiag-analyze.1 <<-'END'
	.Dd January 1, 2026
	.Dt MCPDIAG-ANALYZE 1
	.Os
	.Sh NAME
	.Nm mcpdiag-analyze
	.Nd x
	.Sh OPTIONS
	.Bl -tag -width Ds
	.It Fl T Ar format , Fl -format Ar format
	A.
	.It Fl -zz-stale
	Gone; see
	.Fl -zz-mention .
	.It Fl z , -zz-both
	Both.
	.El
	END
	printf '#!/bin/sh\nprintf -- "-T --format\\n--zz-new\\n-z --zz-both\\n"\n' >fake
	chmod +x fake
	export MCPDIAG=./fake
	finds options '^man/mcpdiag-analyze\.1:1: --zz-new of analyze is not documented' \
	    "an option without a man page entry"
	finds options '^man/mcpdiag-analyze\.1:11: --zz-stale is documented' \
	    "a man page entry without an option"
	spares options '(format|-T|-z|both|mention) ' "options that agree"
	unset MCPDIAG
fi

fresh
mkdir -p src/rules man
printf 'const struct rule rule_zz = {\n\t.name = "zz-top",\n};\n' >src/rules/rule_zz.c
echo '.\"' >man/zz.1
finds rules '^src/rules/rule_zz\.c:2: zz-top is in no man page' \
    "a detector without a man page entry"

fresh
printf 'const struct rule rule_zz = {\n\t.name = "zz-top",\n};\n' >src/rules/rule_zz.c
printf '.\\" zz-top\n' >man/zz.1
finds rules '^src/rules/rule_zz\.c:1: zz-top is not in src/rules/explain\.c' \
    "a detector that mcpdiag explain does not know"

if has shellcheck "shell scripts"; then
	fresh
	printf '#!/bin/sh\nrm -rf %s1/x\n' '$' >tools/zz.sh
	finds shell '^tools/zz\.sh:2:' "a shell script with an unquoted variable"
fi

exit "$bad"
