# mcpdiag: one plain GNU Makefile.
#   make              build/mcpdiag
#   make demo         set up, build, analyze a shipped capture of a leapfrog
#   make check        set up and run every test
#   make deps         install what is missing (DEPS=list only lists it)
#   make lint         architecture, banned functions, headers, man pages
#   make bench        speed against named peers; bench-smoke: floors only
#   make fuzz         libFuzzer targets (FUZZ_SECONDS for each)
#   make VARIANT=debug|asan|fuzz|afl   another build, in build/VARIANT
#   make install      PREFIX=/usr/local, DESTDIR

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
CFLAGS_debug   := -O0 -g3
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_afl     := -O1 -g
ifeq ($(VARIANT),fuzz)
CC := $(firstword $(shell command -v clang clang-19 clang-16 clang-15 clang-14 2>/dev/null) clang)
endif
ifeq ($(VARIANT),afl)
CC := afl-clang-fast
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
LIBS := $(LLHTTP_LIBS) -lpcap -lz -lbrotlidec -lzstd

ALLFLAGS = $(CSTD) $(WARN) $(CFLAGS_$(VARIANT)) $(CFLAGS) $(CPPFLAGS)

SRC  := $(sort $(wildcard src/*/*.c))
OBJ  := $(SRC:%.c=$B/%.o)
MAIN := $B/src/cmd/main.o
LIB  := $B/libmcpdiag.a
UNIT := $(patsubst tests/unit/%.c,$B/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
FUZZ := $(patsubst tests/fuzz/%.c,$B/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

.PHONY: all
all: build/mcpdiag

build/mcpdiag: $B/mcpdiag
	@cp -f $< $@.new && mv -f $@.new $@

$B/mcpdiag: $(MAIN) $(LIB)
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
	$(CC) $(CFLAGS_$(VARIANT)) $(LDFLAGS) -o $@ $< $(LIB) -lcmocka -ljansson $(LIBS)

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
	$(CC) $(CFLAGS_$(VARIANT)) $(LDFLAGS) -o $@ $< $(LIB) $(FUZZ_LINK) $(LIBS)

.PHONY: unit fuzzers
unit: $(UNIT)
fuzzers: $(FUZZ)

.SECONDARY:
-include $(wildcard $B/src/*/*.d $B/tests/*/*.d)

.PHONY: clean
clean:
	rm -rf build
