"""The clients of test_watch_netns.sh, and the judge of what was seen of them.

watch_netns.py clients HOST4 PORT4 HOST6 PORT6   in the clients' namespace
watch_netns.py compare SERVED4 SERVED6 WATCHED   the event files of one run"""
import json
import os
import signal
import sys

from serve_lib import Conn, call, http, initialize, ok, rpc


class There:
    """A server, as Conn wants one."""

    def __init__(self, host, port):
        self.host, self.port = host, int(port)

    def conn(self):
        return Conn(self, self.host)


def stream(server, sid):
    """A GET whose head has come."""
    c = server.conn().send(http("GET", sid=sid))
    c.until(b"\r\n\r\n")
    return c


def emit(server, sid, reader):
    """A message on the common channel, and read there."""
    c = server.conn().send(http("POST", call(7, "emit", n=1), sid))
    c.response()
    c.close()
    reader.until(b"notifications/")


def takes_over(server):
    """Two streams after each other; the second one takes the channel."""
    c = server.conn()
    sid = initialize(c)
    first = stream(server, sid)
    emit(server, sid, first)
    second = stream(server, sid)
    first.until(b"0\r\n\r\n")
    emit(server, sid, second)
    return c, sid, first, second


def killed(server, ready):
    """A client that holds a stream until it is killed."""
    c = server.conn()
    sid = initialize(c)
    s = stream(server, sid)
    emit(server, sid, s)
    os.write(ready, b"x")
    s.until(b"never comes")


def clients(host4, port4, host6, port6):
    v4, v6 = There(host4, port4), There(host6, port6)
    c, sid, _, second = takes_over(v4)
    c.send(http("DELETE", sid=sid)).response()
    second.until(b"0\r\n\r\n")
    _, _, _, left = takes_over(v6)
    left.close()                # the client leaves first
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        killed(v6, told)
        os._exit(1)
    if os.read(ready, 1) != b"x":
        raise RuntimeError("the client to be killed did not start")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    c = v4.conn()               # idle, open until the server ends
    sid = initialize(c)
    idle = stream(v4, sid)
    c.send(http("POST", rpc("ping", 1), sid)).response()
    print("done", flush=True)
    sys.stdin.read()
    idle.close()


def sessions(path):
    """For each session's key what became of its streams: kind, owner, end.
    What a server knows, packets may only let presume: that counts as the same."""
    key, out, place = {}, {}, {}
    with open(path, encoding="utf-8") as f:
        for e in map(json.loads, f):
            if e["type"] == "session" and e.get("key"):
                key[e["session"]] = e["key"]
                s = out.setdefault(e["key"], {"streams": []})
                for k in ("transport", "revision", "client", "endpoint"):
                    if e.get(k):
                        s[k] = e[k]
            elif e["type"] == "stream":
                place[e["stream"]] = {"kind": e["kind"], "owner": []}
                out[key[e["session"]]]["streams"].append(place[e["stream"]])
            elif e["type"] == "stream_end":
                place[e["stream"]]["end"] = e["end"]
            elif e["type"] == "owner":
                to = "primary" if e["to"] == "presumed" else e["to"]
                was = place[e["stream"]]["owner"]
                if not was or was[-1] != to:
                    was.append(to)
    return out


def compare(served4, served6, watched):
    a, b = {**sessions(served4), **sessions(served6)}, sessions(watched)
    ok("the sessions are those of the server", len(a) == 4 and a.keys() == b.keys(),
       f"{sorted(a)} {sorted(b)}")
    n = 0
    for key in a.keys() & b.keys():
        n += len(a[key]["streams"])
        if a[key] != b[key]:
            ok(f"session {key}: what the server did is what is seen", False,
               f"{json.dumps(a[key])}\n{json.dumps(b[key])}")
    ends = sorted(s["end"] for x in b.values() for s in x["streams"] if s["kind"] == "standalone")
    ok(f"kinds, owners and ends of {n} streams", n > 12)
    ok("a client that is killed, and one that leaves, are told from a server that ends",
       ends.count("client") == 2, ends)
    ok("both address families", {x["endpoint"][0] for x in b.values()} == {"1", "["},
       [x["endpoint"] for x in b.values()])


if __name__ == "__main__":
    if sys.argv[1] == "clients":
        clients(*sys.argv[2:])
    else:
        compare(*sys.argv[2:])
        from serve_lib import failed
        sys.exit(failed)
