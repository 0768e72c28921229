#!/usr/bin/env python3
"""The house rules that can be read off the C text: who includes whom, foreign
headers, cycles, banned functions, sizes, missing unit tests.

usage: lint_c.py [CHECK...]     in the top folder; no CHECK means all

Prints "file:line: message" for each error and "warning: ..." for what a person
should look at; exit 1 when there was an error.  The tables come first."""
import glob
import os
import re
import sys

# folder -> folders whose headers it may include.
LAYERS = {
    "base": {"base"},
    "net": {"base", "net"},
    "proto": {"base", "proto"},
    "mcp": {"base", "mcp"},
    "rules": {"base", "mcp", "rules"},
    "sink": {"base", "mcp", "sink"},
    "tui": {"base", "mcp", "tui"},
    "serve": {"base", "proto", "mcp", "serve"},
    "replay": {"base", "proto", "mcp", "replay"},
    "cmd": {"base", "net", "proto", "mcp", "rules", "sink", "serve", "replay", "tui",
            "cmd"},
}
# Beyond that: these files may, too.  Public headers are not among them, else
# their users would see what they may not include.
EXTRA = [
    (r"src/mcp/(observe|model)\w*\.[ch]", {"proto"}),
]
# Public headers that have no .c of their name.
HEADERS = {
    "ns": "base", "cur": "base",
    "finding": "mcp", "rule": "mcp",
    "sink": "sink",
}
# Foreign headers: the one file each may stand in, or None where any single
# one will do.  A header of ours may have one only when it is named here.
FOREIGN = {
    "pcap.h": "src/net/live.c",
    "pcap/pcap.h": "src/net/bpf.c",
    "zlib.h": "src/base/inflate.c",
    "zstd.h": "src/base/inflate.c",
    "zstd_errors.h": "src/base/inflate.c",
    "brotli/decode.h": "src/base/inflate.c",
    "llhttp.h": "src/proto/http1_parse.c",
    "uthash.h": "include/mcpdiag/map.h",
    "utlist.h": "include/mcpdiag/map.h",
    "emmintrin.h": None,
    "malloc.h": "src/base/xmem.c",
    "event2/event.h": "src/base/loop.c",
    "seccomp.h": "src/net/sandbox.c",
    "curl/curl.h": "src/replay/curl_late.h",
    "dlfcn.h": "src/replay/curl_late.c",
    "curses.h": "src/tui/term.c",
}
# C17, POSIX and the kernel's own: anybody's.
STANDARD = set("""
assert ctype errno fenv linux/capability linux/if_packet sys/prctl sys/syscall float inttypes limits locale math setjmp signal
stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn
string tgmath threads time uchar wchar wctype
arpa/inet dirent fcntl fnmatch getopt glob grp langinfo netdb netinet/in
netinet/tcp poll pthread pwd regex strings sys/epoll sys/ioctl sys/mman
sys/random sys/resource sys/select sys/signalfd sys/socket sys/stat
sys/statvfs sys/time sys/timerfd sys/types sys/uio sys/un sys/wait
sysexits syslog termios unistd
""".split())

# Never, as a word.
BANNED = set("""strcpy strcat sprintf vsprintf strncpy strtok atoi atol sscanf
alloca localtime gmtime""".split())
# Not called outside these folders.
ONLY_IN = [
    ({"gets"}, set(), "it knows no bound"),
    ({"realloc"}, {"base"}, "use xrealloc (xmem.h)"),
    (set("printf fprintf vprintf vfprintf puts fputs putchar fputc putc perror "
         "dprintf".split()), {"sink", "cmd"}, "only sink and cmd print"),
    ({"time", "gettimeofday", "clock_gettime"}, {"cmd"},
     "time comes from the packet"),
]
# xmem has one line to say before it ends the program.
# The loop is the clock of whoever runs on it.
EXEMPT = {("src/base/xmem.c", "fprintf"), ("src/base/xmem.c", "fputs"),
          ("src/base/loop.c", "clock_gettime")}

MAX_FILE, WARN_FUNCTION, MAX_FUNCTION, MAX_WIDTH = 800, 100, 150, 100
# Modules that are tested as a whole program (tests/cli, tests/golden).
NO_UNIT_TEST = {"main"}

errors, warnings = 0, []


def error(path, line, text):
    global errors
    errors += 1
    print(f"{path}:{line}: {text}")


TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def blank(text, strings):
    """Without comments (and strings); every line keeps its number."""
    def put(m):
        s = m.group(0)
        if s[0] == "/":
            return " " + "\n" * s.count("\n")
        return s[0] + s[0] if strings else s
    return TOKEN.sub(put, text)


class File:
    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8", errors="replace") as f:
            self.text = f.read()
        self.lines = self.text.split("\n")
        self.code = blank(self.text, True).split("\n")
        self.includes = []      # (line, "<" or '"', name)
        for i, s in enumerate(blank(self.text, False).split("\n"), 1):
            m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', s)
            if m:
                self.includes.append((i, m.group(1), m.group(2)))


FILES = {}


def files(*patterns):
    out = []
    for p in patterns:
        for path in sorted(glob.glob(p)):
            if path not in FILES:
                FILES[path] = File(path)
            out.append(FILES[path])
    return out


def ours():
    return files("src/*/*.[ch]", "include/mcpdiag/*.h")


def layer_of_header(name):
    """Layer of include/mcpdiag/NAME.h, or None."""
    if name in HEADERS:
        return HEADERS[name]
    for path in sorted(glob.glob(f"src/*/{name}.c")):
        return path.split("/")[1]
    return None


def layer_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" else layer_of_header(parts[-1][:-2])


def target(path, name):
    """The file that #include "NAME" in PATH means, or None."""
    if name.startswith("mcpdiag/"):
        return "include/" + name
    return os.path.normpath(os.path.join(os.path.dirname(path), name))


def check_layers():
    edges = 0
    for path in sorted(glob.glob("src/*")):
        if os.path.isdir(path) and os.path.basename(path) not in LAYERS:
            error(path, 1, "a folder without a row in the table of layers")
    for f in ours():
        layer = layer_of(f.path)
        if layer not in LAYERS:
            error(f.path, 1, "belongs to no layer: no src/*/NAME.c, no row in HEADERS")
            continue
        allowed = set(LAYERS[layer])
        for pattern, extra in EXTRA:
            if re.fullmatch(pattern, f.path):
                allowed |= extra
        for line, kind, name in f.includes:
            if kind == "<":
                if name.startswith("mcpdiag/"):
                    error(f.path, line, f'<{name}>: our own headers are included with ""')
                continue
            where = target(f.path, name)
            if not os.path.exists(where):
                error(f.path, line, f"{name}: no such header")
                continue
            if where.startswith("src/") and os.path.dirname(where) != os.path.dirname(f.path):
                error(f.path, line, f"{name}: a private header of another folder")
                continue
            edges += 1
            to = layer_of(where)
            if to is not None and to not in allowed:
                error(f.path, line, f"{layer} may not include {to} ({name})")
    return f"{edges} includes between {len(LAYERS)} folders"


def check_foreign():
    seen = {}
    for f in ours():
        for line, kind, name in f.includes:
            if kind != "<" or name.startswith("mcpdiag/"):
                continue
            if name.endswith(".h") and name[:-2] in STANDARD:
                continue
            if name not in FOREIGN:
                error(f.path, line, f"<{name}>: a foreign header without a row in the table")
            elif FOREIGN[name] not in (None, f.path):
                error(f.path, line, f"<{name}>: belongs in {FOREIGN[name]} only")
            elif FOREIGN[name] is None and f.path.startswith("include/"):
                error(f.path, line, f"<{name}>: no foreign header in a header of ours")
            elif seen.setdefault(name, f.path) != f.path:
                error(f.path, line, f"<{name}>: {seen[name]} has it already, one file only")
    return f"{len(seen)} foreign headers"


def check_cycles():
    graph, at = {}, {}
    for f in files("include/mcpdiag/*.h", "src/*/*.h"):
        graph[f.path] = []
        for line, kind, name in f.includes:
            if kind == '"':
                graph[f.path].append(target(f.path, name))
                at[f.path, target(f.path, name)] = line
    done = set()
    for start in graph:
        trail, stack = [], [(start, iter(graph[start]))]
        if start in done:
            continue
        trail.append(start)
        while stack:
            node, it = stack[-1]
            nxt = next(it, None)
            if nxt is None:
                done.add(node)
                stack.pop()
                trail.pop()
            elif nxt in trail:
                loop = trail[trail.index(nxt):] + [nxt]
                error(node, at[node, nxt], "include cycle: " +
                      " -> ".join(os.path.basename(x) for x in loop))
            elif nxt in graph and nxt not in done:
                trail.append(nxt)
                stack.append((nxt, iter(graph[nxt])))
    return f"{len(graph)} headers"


def check_banned():
    n = 0
    word = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)(\s*\()?")
    for f in files("src/*/*.[ch]", "include/mcpdiag/*.h", "tests/unit/*.[ch]",
                   "tests/fuzz/*.[ch]", "bench/*.[ch]"):
        n += 1
        product = f.path.startswith(("src/", "include/"))
        layer = layer_of(f.path) if product else None
        for i, s in enumerate(f.code, 1):
            for m in word.finditer(s):
                name, call = m.group(1), m.group(2)
                if name in BANNED:
                    error(f.path, i, f"{name} is banned")
                if not product or not call or (f.path, name) in EXEMPT:
                    continue
                for names, where, why in ONLY_IN:
                    # after an identifier it is a declaration's own name
                    if name in names and layer not in where and \
                            not re.search(r"format\s*\(\s*$", s[:m.start()]):
                        place = " outside src/" + ", src/".join(sorted(where)) if where else ""
                        error(f.path, i, f"{name}{place}: {why}")
    return f"{n} files"


def check_size():
    functions = 0
    for f in files("src/*/*.[ch]", "include/mcpdiag/*.h", "tests/unit/*.[ch]",
                   "tests/fuzz/*.[ch]"):
        if len(f.lines) > MAX_FILE:
            warnings.append(f"{f.path}:{len(f.lines)}: {len(f.lines)} lines, "
                            f"split a file over {MAX_FILE}")
        for i, s in enumerate(f.lines, 1):
            if len(s.expandtabs(8)) > MAX_WIDTH:
                warnings.append(f"{f.path}:{i}: {len(s.expandtabs(8))} columns")
        start = name = None
        for i, s in enumerate(f.code, 1):
            if re.match(r"[A-Za-z_][^;={]*\)\s*\{\s*$", s):
                error(f.path, i, "the brace of a function stands on a line of its own")
            if s.rstrip() == "{":
                start, name = i, "?"
                for j in range(i - 2, max(i - 12, -1), -1):
                    m = re.match(r"([A-Za-z_]\w*)\s*\(", f.code[j])
                    if m:
                        name = m.group(1)
                        break
            elif s.startswith("}") and start is not None:
                functions += 1
                n = i - start + 1
                if n > MAX_FUNCTION:
                    error(f.path, start, f"{name}() has {n} lines, at most {MAX_FUNCTION}")
                elif n > WARN_FUNCTION:
                    warnings.append(f"{f.path}:{start}: {name}() has {n} lines")
                start = None
    return f"{functions} functions"


def check_tested():
    n = 0
    for path in sorted(glob.glob("src/*/*.c")):
        name = os.path.basename(path)[:-2]
        if name in NO_UNIT_TEST:
            continue
        n += 1
        # model_session.c is a part of model.c: test_model.c will do
        parts = name.split("_")
        # a rule is tested by conversations that fire it and that must not
        if path.startswith("src/rules/") and glob.glob("tests/conv/*.conv"):
            continue
        if not any(os.path.exists(f"tests/unit/test_{'_'.join(parts[:k])}.c")
                   for k in range(len(parts), 0, -1)):
            warnings.append(f"{path}:1: no tests/unit/test_{name}.c")
    return f"{n} modules"


CHECKS = {
    "layers": check_layers, "foreign": check_foreign, "cycles": check_cycles,
    "banned": check_banned, "size": check_size, "tested": check_tested,
}


def main(names):
    for n in names or CHECKS:
        if n not in CHECKS:
            print(f"lint_c.py: no check {n}; there are {' '.join(CHECKS)}", file=sys.stderr)
            return 2
        before = errors
        what = CHECKS[n]()
        print(f"{n}: {what}, {errors - before} errors" if errors > before else f"{n}: {what}, ok")
    for w in warnings:
        print(f"warning: {w}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
