# mcpdiag: one plain GNU Makefile.
#   make              build/mcpdiag
#   make demo         set up, build, show a leapfrog and its cure on loopback
#   make check        set up and run every test; the last line says how many
#   make check-fast   the quick ones, with one compiler
#   make deps         install what is missing (DEPS=list only lists it;
#                     DEPS="build test bench" picks the groups)
#   make lint         architecture, banned functions, headers, man pages
#   make fuzz         libFuzzer targets, FUZZ_SECONDS each (ONLY=fuzz_sse)
#   make bench        speed against named peers; bench-smoke: floors only;
#                     bench-serve: the server, with 19,000 streams;
#                     bench-replay: the captured clients;
#                     bench-live: watch, as root; soak: 50 million packets
#   make interop      real clients, from their registries, against the server,
#                     and probe and replay against real servers
#                     (PEERS="ts go"; not part of make check)
#   make install      PREFIX=/usr/local, DESTDIR; uninstall takes it away
#   make VARIANT=debug|asan|clang|fuzz|afl   another build, in build/VARIANT
#   make clean

VARIANT ?= release
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
ifeq ($(origin CC),default)
CC      := gcc
endif
VERSION := 0.1.0

B := build/$(VARIANT)
CSTD := -std=c17 -D_GNU_SOURCE -Iinclude -DMCPDIAG_VERSION='"$(VERSION)"'
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wswitch-enum -Wformat=2 -Werror
HARD := -fstack-protector-strong -D_FORTIFY_SOURCE=2
CFLAGS_release := -O2 -g $(HARD)
CFLAGS_clang   := -O2 -g $(HARD)
CFLAGS_debug   := -O0 -g3
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_afl     := -O1 -g
CLANG := $(firstword $(shell command -v clang clang-19 clang-16 clang-15 clang-14 2>/dev/null) clang)
ifneq ($(filter fuzz clang,$(VARIANT)),)
CC := $(CLANG)
endif
ifeq ($(VARIANT),afl)
CC := afl-clang-fast
endif

# gcc optimises the program across its files (a tenth on the benchmarks); the
# objects hold ordinary code too, which is what the tests link; the linker must
# be told, for it would optimise what it is given, once for each of them.
ifeq ($(VARIANT),release)
ifneq ($(shell $(CC) --version 2>/dev/null | grep -i 'free software'),)
LTO := -flto=auto
NO_LTO := -fno-lto
CFLAGS_release += $(LTO) -ffat-lto-objects
endif
endif

# llhttp: the library where it is packaged, else the release's C files as
# Debian 12 ships them in node-llhttp.
ifneq ($(shell pkg-config --exists libllhttp 2>/dev/null && echo yes),)
LLHTTP_CFLAGS := $(shell pkg-config --cflags libllhttp)
LLHTTP_LIBS   := $(shell pkg-config --libs libllhttp)
LLHTTP_OBJ    :=
else
LLHTTP_CFLAGS := -isystem /usr/share/include/llhttp
LLHTTP_LIBS   :=
LLHTTP_OBJ    := $(addprefix $B/llhttp/,api.o http.o llhttp.o)
endif
# libseccomp: watch gives up system calls where it is there.
ifneq ($(shell pkg-config --exists libseccomp 2>/dev/null && echo yes),)
SECCOMP_CFLAGS := -DHAVE_SECCOMP $(shell pkg-config --cflags libseccomp)
SECCOMP_LIBS   := $(shell pkg-config --libs libseccomp)
endif
CURSES_LIBS := $(or $(shell pkg-config --libs-only-l ncursesw 2>/dev/null),-lncursesw -ltinfo)
LIBS := $(LLHTTP_LIBS) $(SECCOMP_LIBS) -levent_core $(CURSES_LIBS) -lpcap -lz -lbrotlidec -lzstd -ldl

ALLFLAGS = $(CSTD) $(WARN) $(CFLAGS_$(VARIANT)) $(SECCOMP_CFLAGS) $(CFLAGS) $(CPPFLAGS)

SRC  := $(sort $(wildcard src/*/*.c))
OBJ  := $(SRC:%.c=$B/%.o)
MAIN := $B/src/cmd/main.o
LIB  := $B/libmcpdiag.a
UNIT := $(patsubst tests/unit/%.c,$B/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
FUZZ := $(patsubst tests/fuzz/%.c,$B/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

.PHONY: all
ifeq ($(VARIANT),release)
all: build/mcpdiag
else
all: $B/mcpdiag
endif

build/mcpdiag: build/release/mcpdiag
	@cp -f $< $@.new && mv -f $@.new $@

$B/mcpdiag: $(OBJ) $(LLHTTP_OBJ)
	$(CC) $(CFLAGS_$(VARIANT)) $(LDFLAGS) -o $@ $^ $(LIBS)

$(LIB): $(filter-out $(MAIN),$(OBJ)) $(LLHTTP_OBJ)
	@rm -f $@
	ar rcs $@ $^

$B/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) $(LLHTTP_CFLAGS) -MMD -MP -c -o $@ $<

$B/llhttp/%.o: /usr/share/llhttp/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -w $(CFLAGS_$(VARIANT)) -I/usr/share/include/llhttp -c -o $@ $<

# Unit tests: one cmocka program for each module.
$B/unit/%: $B/tests/unit/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(filter-out $(LTO),$(CFLAGS_$(VARIANT))) $(NO_LTO) $(LDFLAGS) -o $@ $< $(LIB) -lcmocka -ljansson $(LIBS)

# Fuzz targets: libFuzzer (VARIANT=fuzz), AFL++ (VARIANT=afl), else a program
# that runs the files and folders named on its command line.
ifneq ($(filter fuzz afl,$(VARIANT)),)
FUZZ_LINK := -fsanitize=fuzzer
else
FUZZ_LINK := $B/tests/fuzz/replay.o
$(FUZZ): $B/tests/fuzz/replay.o
endif
$B/fuzz/%: $B/tests/fuzz/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(filter-out $(LTO),$(CFLAGS_$(VARIANT))) $(NO_LTO) $(LDFLAGS) -o $@ $< $(LIB) $(FUZZ_LINK) $(LIBS)

.PHONY: unit fuzzers
unit: $(UNIT)
fuzzers: $(FUZZ)

.SECONDARY:
-include $(wildcard $B/src/*/*.d $B/tests/*/*.d)

# Everything below runs make again where it needs another variant.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))
AGAIN = $(MAKE) --no-print-directory $(JOBS)

DEPS ?= build test
.PHONY: deps
deps:
	@tools/deps.sh $(DEPS)

# DEMO_ARGS: options of mcpdiag demo.
.PHONY: demo
demo:
	@tools/deps.sh build
	@$(AGAIN) -s VARIANT=release all
	@build/mcpdiag demo $(DEMO_ARGS)

# The shipped build and its clang twin, and one under ASan and UBSan; then all
# tests.  Warnings are errors in each of them.
.PHONY: check check-fast check-build
check-build:
	@tools/deps.sh build test
	$(AGAIN) -s VARIANT=release CC=gcc all unit bench-tools
	$(AGAIN) -s VARIANT=clang CC=$(CLANG) all unit fuzzers
	$(AGAIN) -s VARIANT=asan CC=gcc all unit fuzzers
check: check-build
	@tests/run.sh all
check-fast:
	@$(AGAIN) -s VARIANT=release all unit
	@tests/run.sh fast

.PHONY: lint
lint:
	@tools/deps.sh build test
	@$(AGAIN) -s VARIANT=release all
	@tools/lint.sh

FUZZ_SECONDS ?= 60
ONLY ?= $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
.PHONY: fuzz
fuzz:
	@tools/deps.sh build test
	@$(AGAIN) -s VARIANT=fuzz CC=$(CLANG) $(addprefix build/fuzz/fuzz/,$(ONLY))
	@for t in $(ONLY); do \
		mkdir -p build/fuzz/found/$$t; \
		echo "== $$t, $(FUZZ_SECONDS) s, log in build/fuzz/$$t.log"; \
		build/fuzz/fuzz/$$t -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
		    -artifact_prefix=build/fuzz/$$t- \
		    build/fuzz/found/$$t tests/fuzz/corpus/$$t >build/fuzz/$$t.log 2>&1 || \
		    { tail -n 40 build/fuzz/$$t.log; exit 1; }; \
		tail -n 1 build/fuzz/$$t.log; \
	done

# The benchmark's own programs; optimised, whatever VARIANT is.
BENCH := $(addprefix build/bench/,mkload floor pair hostile sse ptylat curlmulti)
.PHONY: bench bench-smoke bench-serve bench-replay bench-live soak bench-tools
bench-tools: $(BENCH)
build/bench/%: bench/%.c Makefile
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARN) $(CFLAGS) -o $@ $< $(BENCH_LIBS)
build/bench/curlmulti: BENCH_LIBS := -lcurl
build/bench/floor: BENCH_LIBS := -DHAVE_PCAP -lpcap
bench: all bench-tools
	@bench/bench.sh full
bench-smoke: all bench-tools
	@bench/bench.sh smoke
bench-serve: all bench-tools
	@bench/serve.sh
bench-replay: all bench-tools
	@bench/replay.sh
bench-live: all bench-tools
	@bench/live.sh
soak: all bench-tools
	@bench/live.sh soak

.PHONY: interop
interop: all
	@tests/interop/run.sh $(PEERS)

MAN1 := $(wildcard man/*.1)
MAN5 := $(wildcard man/*.5)
COMPLETION := $(wildcard completion/mcpdiag)
BINDIR := $(DESTDIR)$(PREFIX)/bin
MANDIR := $(DESTDIR)$(PREFIX)/share/man
DOCDIR := $(DESTDIR)$(PREFIX)/share/doc/mcpdiag
COMPDIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
.PHONY: install uninstall
install: all
	install -d $(BINDIR) $(DOCDIR) $(if $(MAN1),$(MANDIR)/man1) $(if $(MAN5),$(MANDIR)/man5)
	install -m 755 build/mcpdiag $(BINDIR)/mcpdiag
	install -m 644 README.md $(DOCDIR)/README.md
	$(if $(MAN1),install -m 644 $(MAN1) $(MANDIR)/man1)
	$(if $(MAN5),install -m 644 $(MAN5) $(MANDIR)/man5)
	$(if $(COMPLETION),install -d $(COMPDIR) && install -m 644 $(COMPLETION) $(COMPDIR)/mcpdiag)
uninstall:
	rm -f $(BINDIR)/mcpdiag $(DOCDIR)/README.md $(COMPDIR)/mcpdiag
	rm -f $(addprefix $(MANDIR)/man1/,$(notdir $(MAN1))) $(addprefix $(MANDIR)/man5/,$(notdir $(MAN5)))
	-rmdir $(DOCDIR) 2>/dev/null

.PHONY: clean help
clean:
	rm -rf build
help:
	@sed -n 's/^#   //p' Makefile | sed -n '/^make/,/^make clean/p'
