"""Faults of `mcpdiag serve` on real sockets, and what `mcpdiag analyze` says of
the capture that it writes.  Faults that are about time take that time."""
import json
import os
import select
import subprocess
import sys

from serve_lib import BIN, WAIT, Conn, Server, http, initialize, ok, rpc, tests

TMP = sys.argv[1]


def pause(seconds):
    """For faults whose definition is a span of time."""
    select.select([], [], [], seconds)


def findings(path):
    p = subprocess.run([BIN, "analyze", "-T", "json", path], capture_output=True, timeout=WAIT)
    return json.loads(p.stdout)["findings"]


def named(args, play):
    """What is found, as detector/variant severity, after play(server)."""
    path = os.path.join(TMP, "fault.pcap")
    with Server(*args, "--pcap", path) as s:
        held = play(s)          # connections that stay open until the server ends
        s.stop()
    del held
    return [f"{f['detector']}/{f['variant']} {f['severity']}" if f.get("variant") else
            f"{f['detector']} {f['severity']}" for f in findings(path)]


def wants(args, play, *want):
    got = named(args, play)
    ok(f"{play.__doc__} is {', '.join(want) or 'no fault'}",
       all(any(g.startswith(w) for g in got) for w in want) and
       (want or not any(g.endswith(("error", "warning")) for g in got)), got)


def listener(s, sid, *headers):
    g = Conn(s)
    g.send(http("GET", sid=sid, headers=headers))
    g.until(b"\r\n\r\n")
    return g


def posts(s, sid, n):
    c = Conn(s)
    status = []
    for i in range(n):
        c.send(http("POST", rpc("tools/list", i + 1), sid))
        status.append(c.response()[0])
    return c, status


def t_idle_cut():
    def play(s):
        """a stream cut after each second of silence"""
        sid = initialize(Conn(s))
        for _ in range(4):
            listener(s, sid).rest()
        return posts(s, sid, 1)
    wants(["--fault", "idle-cut=1", "--keepalive", "0"], play, "idle-cut/idle warning")


def t_session_idle():
    def play(s):
        """a session that ends two seconds after its last request"""
        streams = []
        for _ in range(3):
            sid = initialize(Conn(s))
            streams.append((listener(s, sid), sid))
            pause(0.4)
        for g, sid in streams:
            g.until("0\r\n\r\n")
            c = Conn(s)
            c.send(http("GET", sid=sid))
            c.response()
    wants(["--fault", "session-idle=2", "--keepalive", "1"], play,
          "idle-cut/session-idle warning")


def t_forgotten():
    def play(s):
        """a session that is forgotten, and a client that does not mind"""
        sid = initialize(Conn(s))
        posts(s, sid, 1)
        pause(2.1)
        for _ in range(2):
            posts(s, sid, 1)
            pause(2.6)
        posts(s, sid, 1)
    wants(["--fault", "forget-session=2"], play, "dead-session/client error")
    wants(["--fault", "forget-session=2", "--session-errors", "401"], play,
          "dead-session/server-status error")


def t_split_brain():
    def play(s):
        """a session that every second request does not find"""
        posts(s, initialize(Conn(s)), 8)
    wants(["--fault", "split-brain"], play, "split-brain error")


def t_shutdown():
    def play(s):
        """the end of a server that resets its connections"""
        held = []
        for i in range(2):
            c = Conn(s)
            sid = initialize(c)
            held += [c, listener(s, sid)]
            pause(0.5)
        return held
    wants(["--fault", "abrupt-shutdown"], play, "abrupt-shutdown")
    wants([], play)


def t_healthy():
    def play(s):
        """a client that does all as it should"""
        c = Conn(s)
        sid = initialize(c)
        g = listener(s, sid)
        for i in range(3):
            c.send(http("POST", rpc("tools/list", i + 1), sid))
            c.response()
        c.send(http("DELETE", sid=sid))
        c.response()
        g.until("0\r\n\r\n")
    wants([], play)


tests(t_idle_cut, t_session_idle, t_forgotten, t_split_brain, t_shutdown, t_healthy)
