"""mcpdiag serve as a program: what it says, writes and how it ends.
serve_run.py FOLDER"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from serve_lib import BIN, WAIT, Conn, Server, alive, call, http, initialize, ok, rpc, tests

tmp = sys.argv[1]


def analyze(path, *args):
    r = subprocess.run([BIN, "analyze", "-T", "json", *args, path], capture_output=True,
                       timeout=WAIT, check=False)
    return r.returncode, json.loads(r.stdout)


def addresses():
    """IPv4 and IPv6 both answer, at one port"""
    with Server() as s:
        ok("it says where it listens", s.url == f"http://127.0.0.1:{s.port}/mcp", s.said)
        initialize(Conn(s))
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            print("ok - IPv6 # SKIP there is none")
        else:
            initialize(Conn(s, "::1"))
        ok(addresses.__doc__, True)
        r = subprocess.run([BIN, "serve", "--port", str(s.port)], capture_output=True,
                           timeout=WAIT, check=False)
        err = r.stderr.decode()
        ok("a port in use: exit 4 and a sentence", r.returncode == 4 and str(s.port) in err and
           "in use" in err and err.count("\n") == 1 and not r.stdout, f"{r}")
    r = subprocess.run([BIN, "serve", "--port", "0", "--host", "192.0.2.1"],
                       capture_output=True, timeout=WAIT, check=False)
    ok("an address of another machine", r.returncode == 4 and b"192.0.2.1" in r.stderr, f"{r}")
    with Server("--host", "127.0.0.1") as s:
        initialize(Conn(s))
        try:
            Conn(s, "::1")
            ok("--host binds that only", False)
        except OSError:
            ok("--host binds that only", True)


def signals():
    """graceful"""
    for sig in (signal.SIGTERM, signal.SIGINT):
        with Server() as s:
            c, g, p = Conn(s), Conn(s), Conn(s)
            sid = initialize(c)
            g.send(http("GET", sid=sid)).until("id: g1-0")
            p.send(http("POST", call(1, "slow", ms=3600000), sid)).until("id: r1-0")
            status = s.stop(sig)
            end = [x.rest().endswith(b"\r\n0\r\n\r\n") for x in (g, p)]
            ok(f"{sig.name}: streams end properly, exit 0", status == 0 and all(end) and
               not s.err, f"{status} {end} {s.err}")
    with Server() as s:
        c, g = Conn(s), Conn(s)
        sid = initialize(c)
        g.send(http("GET", sid=sid)).until("id: g1-0")
        s.p.send_signal(signal.SIGUSR1)
        g.until("id: g1-1")
        ok("SIGUSR1 emits", b"list_changed" in g.until("\n\n"))
        s.stop()
    with Server("--fault", "abrupt-shutdown") as s:
        c, g = Conn(s), Conn(s)
        sid = initialize(c)
        g.send(http("GET", sid=sid)).until("id: g1-0")
        status = s.stop()
        g.rest()
        ok("abrupt-shutdown resets", status == 0 and g.end == "reset", f"{status} {g.end}")


def events():
    """--events"""
    path = os.path.join(tmp, "events.ndjson")
    with Server("--events", path) as s:
        good = alive(s)
        status = s.stop()
    lines = [json.loads(x) for x in open(path, encoding="utf-8")]
    ok("--events FILE: complete NDJSON", good and status == 0 and lines[-1]["type"] == "end" and
       {"conn", "request", "response", "session", "stream", "sse", "message",
        "session-end"} <= {x["type"].replace("_", "-") for x in lines},
       f"{status} {sorted({x['type'] for x in lines})}")
    status, d = analyze(path)
    ok("analyze reads it", status == 0 and d["counts"]["tcp_connections"] == 1 and
       len(d["sessions"]) == 1 and d["sessions"][0]["deleted"], f"{status} {d['counts']}")
    ok("ids are hashes", not any("mcp-session-id" in json.dumps(x).lower() for x in lines))
    with Server("--events", "-", quiet=True) as s:
        good = alive(s)
        s.stop()
    types = [json.loads(x)["type"] for x in s.out.splitlines()]
    ok("--events -: nothing else on stdout", good and "request" in types and types[-1] == "end",
       s.out[:300])
    with Server("-v") as s:
        good = alive(s)
        s.stop()
    ok("-v tells it on stderr", good and b"initialize" in s.err, s.err[:300])
    r = subprocess.run([BIN, "serve", "--port", "0", "--events", tmp], capture_output=True,
                       timeout=WAIT, check=False)
    ok("--events that cannot be written", r.returncode == 4 and r.stderr, f"{r}")


class Listener:
    """An EventSource: when its stream ends it comes back with its last id."""

    def __init__(self, server, sid):
        self.server, self.sid, self.last, self.gets = server, sid, None, 0

    def get(self):
        if self.gets:
            time.sleep(0.2)     # as the server told it
        self.c = Conn(self.server)
        self.c.send(http("GET", sid=self.sid, headers=[f"Last-Event-ID: {self.last}"]
                         if self.last else []))
        self.gets += 1
        self.c.until("\r\n\r\n")
        return self

    def ended(self):
        data = self.c.until("0\r\n\r\n").decode()
        ids = [x[4:] for x in data.split("\n") if x.startswith("id: ")]
        self.last = ids[-1] if ids else self.last
        return self


def verdict():
    """--pcap"""
    path = os.path.join(tmp, "leapfrog.pcap")
    with Server("--policy", "replace", "--retry", "200", "--keepalive", "1",
                "--pcap", path) as s:
        c = Conn(s)
        sid = initialize(c)
        c.send(http("POST", rpc("notifications/initialized"), sid)).response()
        a, b = Listener(s, sid), Listener(s, sid)
        a.get().c.until("retry: 200")
        for _ in range(6):
            b.get()
            a.ended()
            a.get()
            b.ended()
        c.send(http("POST", call(1, "emit"), sid)).response()
        status = s.stop()
    st, d = analyze(path)
    found = [f["detector"] for f in d["findings"]]
    ok("replace, two listeners: leapfrog", status == 0 and st == 1 and "leapfrog" in found,
       f"{status} {st} {found}")
    path = os.path.join(tmp, "clean.pcap")
    with Server("--pcap", path) as s:
        c, g, h = Conn(s), Conn(s), Conn(s)
        sid = initialize(c)
        c.send(http("POST", rpc("notifications/initialized"), sid)).response()
        g.send(http("GET", sid=sid)).until("id: g1-0")
        h.send(http("GET", sid=sid)).until("id: g2-0")
        c.send(http("POST", call(1, "emit"), sid)).response()
        g.until("id: g1-1")
        c.send(http("DELETE", sid=sid)).response()
        status = s.stop()
    st, d = analyze(path)
    ok("shadow-promote, two listeners: nothing", status == 0 and st == 0 and
       d["counts"]["sse_streams"] == 4, f"{status} {st} {d['findings']} {d['counts']}")
    ok("the file says that it is made up", b"synthesised" in open(path, "rb").read())
    r = subprocess.run([BIN, "serve", "--port", "0", "--pcap", os.path.join(tmp, "no/such")],
                       capture_output=True, timeout=WAIT, check=False)
    ok("--pcap that cannot be written", r.returncode == 4 and b"no/such" in r.stderr, f"{r}")


def options():
    """options"""
    with Server("--json") as s:
        c = Conn(s).send(http("POST", rpc("initialize", 0, protocolVersion="2025-06-18")))
        status, head, body = c.response()
        ok("--json", status == 200 and "application/json" in head and
           json.loads(body)["result"]["protocolVersion"] == "2025-06-18", head)
    with Server("--legacy") as s:
        c = Conn(s).send(http("GET", path="/sse"))
        ok("--legacy", b"endpoint" in c.until("data: /messages?sessionId=") and
           f"HTTP+SSE at http://127.0.0.1:{s.port}/sse" in s.said.decode() +
           ("" if b"\nHTTP" in s.said else s.p.stdout.readline().decode()), s.said)
    with Server("--session-errors", "401") as s:
        ok("--session-errors", Conn(s).send(http("GET", sid="x")).response()[0] == 401)
    with Server("--allow-host", "a.example", "--allow-host", "b.example") as s:
        got = [Conn(s).send(http("GET", headers=[f"Origin: https://{h}"])).response()[0]
               for h in ("a.example", "b.example:8", "c.example")]
        ok("--allow-host", got == [400, 400, 403], got)
    with Server("--keepalive", "1", "--retry", "7", "--cap", "0", "--post-priming", "bare") as s:
        c, g, h = Conn(s), Conn(s), Conn(s)
        sid = initialize(c)
        ok("--retry", b"id: g1-0\nretry: 7\n" in
           g.send(http("GET", sid=sid)).until("data: \n\n"))
        ok("--keepalive", g.until("\n:\n\n") is not None)
        ok("--cap", h.send(http("GET", sid=sid)).response()[0] in (200, 429))
        body = c.send(http("POST", rpc("ping", 1), sid)).response()[2]
        ok("--post-priming bare", body.startswith(b"id: 0\n"), body)
    with Server("--conformance") as s:
        c = Conn(s)
        body = c.send(http("POST", rpc("tools/list", 1), initialize(c))).response()[2]
        ok("--conformance", b"test_reconnection" in body)


def closed():
    """stdout closed early, as by | head -n 1"""
    with Server("--events", "-", quiet=True) as s:
        c = Conn(s)
        sid = initialize(c)
        first = s.p.stdout.readline()
        s.p.stdout.close()
        c.send(http("POST", rpc("ping", 1), sid))
        ok("the first line was whole", json.loads(first)["type"] == "conn", first)
        try:
            good = c.response()[0] == 200 and alive(s)
        except (OSError, RuntimeError):
            good = s.p.wait(timeout=WAIT) is not None
        ok("without a reader it serves on, or ends", good)
        s.p.send_signal(signal.SIGTERM)
        status, err = s.p.wait(timeout=WAIT), s.p.stderr.read().decode()
        ok("and says so, or not, but is not killed", status in (0, 4), f"{status} {err}")


def nobody():
    """not root"""
    if os.geteuid() != 0:
        print("ok - as nobody # SKIP this is not root")
        return
    # Our own folder may be inside one that nobody else can enter.
    place = tempfile.mkdtemp(dir="/tmp")
    try:
        copy = os.path.join(place, "mcpdiag")
        shutil.copy(BIN, copy)
        os.chmod(copy, 0o755)
        os.chmod(place, 0o755)
        with Server(binary=copy, user=65534, group=65534, extra_groups=[]) as s:
            good = alive(s)
            ok("it needs no root", s.stop() == 0 and good, s.err)
    finally:
        shutil.rmtree(place)


tests(addresses, signals, events, verdict, options, closed, nobody)
