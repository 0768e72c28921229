"""mcpdiag probe as a program: the nine policies told from each other, and
targets that are no MCP server: a clear line, and never a hang."""
import json
import signal
import socket
import subprocess
import sys
import threading

from serve_lib import BIN, Server, ok, tests

tmp = sys.argv[1]
POLICIES = ["replace", "conflict", "conflict-fallthrough", "replace-all",
            "replace-noreplay", "shadow", "shadow-replay", "shadow-empty",
            "shadow-promote"]
# All but the listeners, which are in a test of their own.
SCENARIOS = ("two-gets,broadcast,resume-live,resume,unknown-cursor,finished-post,"
             "post-resume,make-before-break,primary-dies,many-gets,delete,"
             "dead-session,modern-get,two-listens,listen-cut,header-mismatch")


def probe(*args, **how):
    return subprocess.Popen([BIN, "probe", *args], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **how)


def result(p):
    """Exit status, stdout, stderr."""
    try:
        out, err = p.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        return "it hangs", "", ""
    return p.returncode, out.decode(), err.decode()


def each_policy():
    """each policy is itself and no other"""
    servers = [Server("--policy", p) for p in POLICIES]
    probes = [probe("--emit-tool", "emit", "--only", SCENARIOS, "-T", "json", s.url)
              for s in servers]
    for policy, s, p in zip(POLICIES, servers, probes):
        status, out, err = result(p)
        d = json.loads(out) if out else {}
        same = [x["name"].split(": ")[-1] for x in d.get("same_as", [])]
        ours = [x for x in same if x in POLICIES]
        ok(f"{policy} is told from the others", ours == [policy] and same[0] == policy,
           f"{status} {same} {err}")
        faults = d.get("counts", {}).get("fault")
        ok(f"{policy}: the exit status is that of its {faults} faults",
           status == (1 if faults else 0) and (faults == 0) == (policy == "shadow-promote"),
           status)
        ok(f"{policy}: it is left as it was found", s.stop() == 0)


def without_messages():
    """what needs a message is unknown without, and says so"""
    with Server() as s:
        status, out, err = result(probe("--only", "two-gets,primary-dies", s.url))
        ok("unknown, and why", status == 0 and out.count("--emit-tool") == 2 and
           out.count("unknown  ") == 2, out + err)


def a_tool_that_is_none():
    """a tool that does not emit"""
    with Server() as s:
        status, out, err = result(probe("--emit-tool", "nowhere", "--only", "two-gets", s.url))
        ok("a tool that is not there", "answered with an error" in out and status == 0, out + err)


def listeners():
    """a closed loop, and the rules over it"""
    with Server("--policy", "replace", "--retry", "300") as s:
        status, out, err = result(probe("--only", "listeners", "--duration", "3", "-T", "json",
                                        "-w", f"{tmp}/loop.pcapng", s.url))
        d = json.loads(out)
        found = [f["detector"] for f in d["listeners"]["findings"]]
        ok("leapfrog", status == 1 and "leapfrog" in found and
           d["listeners"]["verdict"] == "fault", out + err)
        analyze = subprocess.run([BIN, "analyze", "-T", "json", f"{tmp}/loop.pcapng"],
                                 capture_output=True, check=False)
        ok("the capture that it wrote says the same", analyze.returncode == 1 and
           "leapfrog" in [f["detector"] for f in json.loads(analyze.stdout)["findings"]],
           analyze.stderr)
        status, out, err = result(probe("--only", "listeners", "--duration", "1",
                                        "--client", "ts-1.32", s.url))
        ok("a client that resumes less does not loop", status == 0, out + err)


def idle():
    """comments, none, and a cut"""
    for args, want, status in ((("--keepalive", "1"), "with comments", 0),
                               (("--fault", "no-keepalive"), "without a comment", 0),
                               (("--fault", "no-keepalive", "--fault", "idle-cut=1"),
                                "it is ended", 1)):
        with Server(*args) as s:
            got, out, err = result(probe("--idle", "2", "--only", "idle", s.url))
            ok(f"idle {args[1]}: {want}", got == status and want in out, f"{got} {out} {err}")


def interrupted():
    """^C ends with what is known"""
    with Server("--policy", "replace", "--events", "-", quiet=True) as s:
        p = probe("--idle", "600", "--only", "two-gets,idle", s.url)
        gets = 0
        for line in s.p.stdout:
            e = json.loads(line)
            gets += e["type"] == "request" and e["method"] == "GET"
            if gets == 3:       # two, and the one that idles
                break
        p.send_signal(signal.SIGINT)
        status, out, err = result(p)
        ok("^C: what is known", status == 1 and "fault    two-gets" in out and
           "not run" in out, f"{status} {out} {err}")


def slow_readers():
    """one who does not read: kept, cut off, too little, and who is blocked by it"""
    for fault, tool, want, status in (
            ("", "emit", "what it has not read is kept", 0),
            ("", 'emit={"n":10000}', "its stream is ended", 0),
            ("", 'emit={"n":9,"all":true}', "is kept", 0),
            ("wedge", "emit", "no session is served as long as it is not read", 1),
            ("wedge", 'emit={"n":50}', "no session is served as long as it is not read", 1),
            ("refuse-get=405", "emit", "there is no GET stream", 0)):
        with Server(*(("--fault", fault) if fault else ())) as s:
            got, out, err = result(probe("--emit-tool", tool, "--only", "slow-reader", s.url))
            ok(f"slow-reader {fault} {tool}: {want}",
               got == status and want in " ".join(out.split()), f"{got} {out} {err}")
    with Server() as s:
        _, out, _ = result(probe("--only", "slow-reader", s.url))
        ok("slow-reader without --emit-tool", "unknown" in out and "--emit-tool" in out, out)
        _, out, _ = result(probe("--only", "slow-reader", "--emit-tool", "echo", s.url))
        ok("slow-reader with a tool that emits nothing",
           "do not come on it" in " ".join(out.split()) or "answered with an error" in out, out)


# ---- bad targets ----

class Bad:
    """A server that says what it is told to each connection, until closed."""

    def __init__(self, say, hold=False, drip=None, tell=None, options=()):
        self.s = socket.create_server(("127.0.0.1", 0))
        self.port = self.s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.say, self.hold, self.drip, self.tell, self.open = say, hold, drip, tell, []
        self.options = options
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                c, _ = self.s.accept()
            except OSError:
                return
            self.open.append(c)
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        try:
            got = b""
            while b"\r\n\r\n" not in got:
                got += c.recv(65536)
            if self.tell:
                self.tell(got)
            c.sendall(self.say)
            while self.drip:
                c.sendall(self.drip)
            if not self.hold:
                c.shutdown(socket.SHUT_WR)
            while c.recv(65536):
                pass
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.s.close()
        for c in self.open:
            c.close()


def answer(status, *lines, body=b""):
    head = [f"HTTP/1.1 {status}", *lines, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(head).encode() + body


# RFC 9113 6.5 and 6.8: type 4, empty; type 7, no stream was looked at, no error.
SETTINGS = b"\0\0\0\x04\0\0\0\0\0"
GOAWAY = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0"

BAD = [
    ("nothing but silence", b"", {"hold": True}, "no answer to initialize"),
    ("a close", b"", {}, "mpty reply|closed"),
    ("401", answer("401 Unauthorized", "WWW-Authenticate: Bearer"), {}, "--bearer-file"),
    ("403", answer("403 Forbidden"), {}, "--bearer-file"),
    ("404", answer("404 Not Found"), {}, "answered 404"),
    ("500", answer("500 Oops"), {}, "answered 500"),
    ("a page", answer("200 OK", "Content-Type: text/html", body=b"<html>"), {}, "text/html"),
    ("JSON that is no MCP", answer("200 OK", "Content-Type: application/json", body=b"{}"), {},
     "application/json"),
    ("a redirect to itself", answer("307 Moved", "Location: /mcp"), {},
     "redirects are not followed"),
    ("a head without end", b"HTTP/1.1 200 OK\r\n", {"drip": b"X-Filler: " + b"x" * 500 + b"\r\n"},
     "header is too long"),
    ("a body without end", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
     {"drip": b"[" * 5000}, "."),
    ("no HTTP", b"SSH-2.0-OpenSSH_9.2\r\n", {}, "."),
    ("HTTP/2 where it is not spoken", GOAWAY, {}, "."),
    ("HTTP/2 and GOAWAY", SETTINGS + GOAWAY, {"options": ["--http2"]}, "."),
    ("HTTP/2 and silence", SETTINGS, {"hold": True, "options": ["--http2"]}, "no answer"),
    ("HTTP/1.1 where HTTP/2 is wanted", answer("400 Bad Request"), {"options": ["--http2"]}, "."),
]


def bad_targets():
    """whatever is there, a line says what"""
    bads = [(what, Bad(say, **how), line) for what, say, how, line in BAD]
    probes = [probe(*b.options, b.url) for _, b, _ in bads]
    for (what, b, line), p in zip(bads, probes):
        status, out, err = result(p)
        good = status == 5 and out == "" and err.count("\n") == 1 and \
            any(word in err for word in line.split("|")) and b.url in err
        ok(what, good, f"{status} {out} {err}")
        b.__exit__()


def nobody():
    """nobody there, and TLS that is none"""
    s = socket.create_server(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    status, out, err = result(probe(f"http://127.0.0.1:{port}/mcp"))
    ok("refused", status == 5 and "connect" in err and out == "", f"{status} {err}")
    with Server() as server:
        status, out, err = result(probe(server.url.replace("http", "https")))
        ok("https where there is none", status == 5 and out == "" and err.count("\n") == 1,
           f"{status} {err}")
    with Server() as server:
        port = server.url.split(":")[2].split("/")[0]
        status, out, err = result(probe(
            "--only", "two-gets", "--resolve", f"localhost.test:{port}:127.0.0.1", "-H",
            f"Host: localhost:{port}", f"http://localhost.test:{port}/mcp"))
        ok("--resolve", status == 0 and "two-gets" in out, f"{status} {out} {err}")
    status, out, err = result(probe("http://no-such-host.invalid/mcp"))
    ok("no such name", status == 5 and out == "", f"{status} {err}")


def old_transport():
    """HTTP+SSE of 2024-11-05, and its other address"""
    with Server("--legacy") as s:
        status, out, err = result(probe(s.url.replace("/mcp", "/sse")))
        ok("HTTP+SSE", status == 0 and "HTTP+SSE of 2024-11-05" in out, f"{status} {out} {err}")


def far_away():
    """headers of the user, and a token that is on no command line"""
    seen = []
    with Bad(answer("404 Not Found"), tell=seen.append) as b:
        with open(f"{tmp}/token", "w", encoding="ascii") as f:
            f.write("s3cret\nmore\n")
        with open(f"{tmp}/headers", "w", encoding="ascii") as f:
            f.write("X-A: 1\n\nX-B: 2\n")
        result(probe("--bearer-file", f"{tmp}/token", "-H", f"@{tmp}/headers",
                     "-H", "User-Agent: me", b.url))
    head = seen[0].decode()
    ok("headers", "Authorization: Bearer s3cret\r\n" in head and "X-A: 1\r\nX-B: 2" in head and
       "User-Agent: me\r\n" in head and "mcpdiag/" not in head, head)


def odd_gets():
    """initialize is well, and GETs are not"""
    for fault, want, status in (("refuse-get=405", "no standalone stream", 0),
                                ("refuse-get=500", "error of the server", 1),
                                ("finite-get", "accepted and ends at once", 1),
                                ("get-text", "no event stream", 1),
                                ("zombie-resume", "two-gets", 0),
                                ("keep-after-delete", "the GET stays open", 1),
                                ("broadcast", "both have each message", 1),
                                ("split-delivery", "in turns", 1),
                                ("supersede", "the second has the messages", 1)):
        with Server("--fault", fault) as s:
            got, out, err = result(probe("--emit-tool", "emit", "--only", "two-gets,delete",
                                         s.url))
            ok(fault, got == status and want in " ".join(out.split()), f"{got} {out} {err}")


tests(each_policy, without_messages, a_tool_that_is_none, listeners, slow_readers, idle,
      interrupted, bad_targets, nobody, old_transport, far_away, odd_gets)
