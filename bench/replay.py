"""What bench/replay.sh needs: event files to replay, and the numbers of a run.
usage: replay.py pings FILE N              one client, N pings one after the other
       replay.py listeners FILE N SECONDS  N clients, each with a GET that stays
       replay.py paced FILE N RATE SECONDS N clients, RATE pings a second in all
       replay.py run COMMAND...            runs it, prints NAME=VALUE; it writes
                                           JSON of replay or of analyze"""
import json
import os
import subprocess
import sys
import time

ZERO = 1700000000 * 10**9
ACCEPT = "application/json, text/event-stream"


class Events:
    def __init__(self, path):
        self.f = open(path, "w", encoding="ascii")
        self.x = 0

    def put(self, **members):
        self.f.write(json.dumps(dict(v=1, **members)) + "\n")

    def exchange(self, s, ns, method, rpc=None, id=None, status=200):
        """One of session s; without rpc a GET whose stream stays open."""
        self.x += 1
        at = dict(ns=ZERO + ns, pkt=self.x, conn=s, x=self.x)
        of = {} if rpc == "initialize" else {"session": s}
        request = dict(type="request", **at, **of, dir="c2s", n=1, method=method,
                       target="/mcp", accept=ACCEPT)
        if rpc:
            request["content_type"] = "application/json"
        if of:
            request.update(sid=f"#{s}", version="2025-06-18")
        self.put(**request)
        if rpc:
            message = dict(type="message", **at, **of, dir="c2s", method=rpc,
                           kind="request" if id else "notification", of=self.x)
            if id:
                message["id"] = str(id)
            self.put(**message)
        self.put(type="request_end", **at, dir="c2s", end="complete", bytes=0)
        if not of:
            self.put(type="session", ns=at["ns"], pkt=self.x, session=s, key=f"#{s}",
                     transport="streamable", revision="2025-06-18", client="b/1")
        self.put(type="response", **at, session=s, dir="s2c", status=status,
                 content_type="application/json" if rpc else "text/event-stream",
                 event_stream=not rpc)
        if rpc:
            self.put(type="response_end", **at, session=s, dir="s2c", end="complete", bytes=0)
        else:
            self.put(type="stream", **at, session=s, stream=self.x, dir="s2c",
                     kind="standalone", lineage=self.x, requested_ns=at["ns"],
                     request_pkt=self.x, delay_ms=-1)

    def begin(self, clients):
        for s in range(1, clients + 1):
            self.exchange(s, 0, "POST", "initialize", 1)
            self.exchange(s, 0, "POST", "notifications/initialized", status=202)

    def end(self, ns):
        self.put(type="end", ns=ZERO + ns, pkt=self.x + 1, packets=self.x + 1)
        self.f.close()


def pings(path, n):
    e = Events(path)
    e.begin(1)
    for i in range(n):
        e.exchange(1, i * 1000, "POST", "ping", i + 2)
    e.end(n * 1000)


def listeners(path, n, seconds):
    e = Events(path)
    e.begin(n)
    for s in range(1, n + 1):
        e.exchange(s, 1000, "GET")
    e.end(seconds * 10**9)


def paced(path, n, rate, seconds):
    e = Events(path)
    e.begin(n)
    for i in range(rate * seconds):
        e.exchange(i % n + 1, 10**9 + i * 10**9 // rate, "POST", "ping", i + 2)
    e.end((seconds + 1) * 10**9)


def run(*command):
    start = time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.PIPE)
    text = p.stdout.read()
    _, status, used = os.wait4(p.pid, 0)
    wall = time.monotonic() - start
    d = json.loads(text)
    analysis = d.get("analysis", d)
    live = [x for x in d.get("exchanges", []) if "live" in x]
    late = sorted(x["live"]["sent"] - x["live"]["due"] for x in live if x["at"] >= 1)
    streams = [s["opened"] for s in analysis["streams"] if s["kind"] == "standalone"]
    bad = sum(x["live"]["status"] not in (200, 202) for x in live)
    print(f"status={os.waitstatus_to_exitcode(status)} wall={wall:.6f} "
          f"cpu={used.ru_utime + used.ru_stime:.6f} rss={used.ru_maxrss} "
          f"played={len(live)} bad={bad} streams={len(streams)} "
          f"open={max(streams, default=0):.6f} "
          f"p99={late[int(len(late) * .99)] if late else 0:.6f} "
          f"max={late[-1] if late else 0:.6f} "
          f"requests={analysis['counts']['http_exchanges']}")


{"pings": lambda f, n: pings(f, int(n)),
 "listeners": lambda f, n, t: listeners(f, int(n), int(t)),
 "paced": lambda f, n, r, t: paced(f, int(n), int(r), int(t)),
 "run": run}[sys.argv[1]](*sys.argv[2:])
