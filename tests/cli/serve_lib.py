"""What the tests of `mcpdiag serve` share: the program, and a client of bare
sockets.  Nothing sleeps: everything waits for what must come."""
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys

BIN = os.environ.get("MCPDIAG", "build/mcpdiag")
WAIT = 20
failed = 0
D11 = "2025-11-25"


def ok(name, good, why=""):
    global failed
    print(f"{'ok' if good else 'not ok'} - {name}", flush=True)
    if not good:
        failed = 1
        for line in str(why).splitlines()[:20]:
            print(f"# {line[:500]}", flush=True)
    return good


def tests(*functions):
    """Runs them; one that dies is a failure with its reason."""
    for f in functions:
        try:
            f()
        except Exception as e:  # the test goes on with the next one
            ok(f.__doc__ or f.__name__, False, f"{type(e).__name__}: {e}")
    sys.exit(failed)


class Server:
    """The program, until stop(); url and port as it says them."""

    def __init__(self, *args, binary=BIN, quiet=False, **how):
        self.p = subprocess.Popen([binary, "serve", "--port", "0", *args],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, **how)
        self.said = b""
        out = self.p.stderr if quiet else self.p.stdout
        while b"\n" not in self.said:
            if not select.select([out], [], [], WAIT)[0]:
                raise RuntimeError("it says nothing")
            piece = os.read(out.fileno(), 4096)
            if not piece:
                raise RuntimeError(f"it ended: {self.p.stderr.read()!r}")
            self.said += piece
        m = re.match(rb"listening on (http://127\.0\.0\.1:(\d+)/mcp)\n", self.said)
        if not m:
            raise RuntimeError(f"it says {self.said!r}")
        self.url, self.port = m.group(1).decode(), int(m.group(2))

    def stop(self, sig=signal.SIGTERM):
        """Its exit status."""
        if self.p.poll() is None:
            self.p.send_signal(sig)
        try:
            self.out, self.err = self.p.communicate(timeout=WAIT)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.out, self.err = self.p.communicate()
            return "it does not end"
        return self.p.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.p.poll() is None:
            self.p.kill()
        self.p.communicate()


class Conn:
    """A connection; what came is in self.got."""

    def __init__(self, server, host="127.0.0.1", small=False):
        """small: with hardly any room for what it does not read."""
        self.s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if small:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.s.settimeout(WAIT)
        self.s.connect((host, server.port))
        self.got = b""
        self.end = None

    def send(self, data):
        self.s.sendall(data.encode("latin-1") if isinstance(data, str) else data)
        return self

    def more(self):
        try:
            piece = self.s.recv(1 << 16)
        except ConnectionError:
            piece, self.end = b"", "reset"
        self.end = self.end or (None if piece else "closed")
        self.got += piece
        return bool(piece)

    def until(self, want):
        """Up to and with those bytes; they are taken off."""
        want = want.encode() if isinstance(want, str) else want
        at = 0
        while True:
            i = self.got.find(want, max(0, at - len(want)))
            if i >= 0:
                break
            at = len(self.got)
            if not self.more():
                raise RuntimeError(f"{self.end} before {want!r}: {self.got[-500:]!r}")
        r, self.got = self.got[:i + len(want)], self.got[i + len(want):]
        return r

    def response(self):
        """status, head, body of the next one, without chunks."""
        head = self.until(b"\r\n\r\n").decode("latin-1")
        status = int(head.split()[1])
        if "transfer-encoding: chunked" in head.lower():
            body = b""
            while True:
                n = int(self.until(b"\r\n"), 16)
                body += self.take(n)
                self.take(2)
                if n == 0:
                    return status, head, body
        m = re.search(r"content-length: (\d+)", head.lower())
        return status, head, self.take(int(m.group(1)) if m else 0)

    def take(self, n):
        while len(self.got) < n:
            if not self.more():
                raise RuntimeError(f"{self.end} after {self.got[-500:]!r}")
        r, self.got = self.got[:n], self.got[n:]
        return r

    def rest(self):
        """All that comes until the end of the connection, which is then closed."""
        while self.more():
            pass
        self.s.close()
        return self.got

    def close(self, reset=False):
        if reset and self.s.fileno() >= 0:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.s.close()


def http(method, body=b"", sid=None, headers=(), path="/mcp", accept=None):
    if not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    body = body.encode() if isinstance(body, str) else body
    accept = accept or ("application/json, text/event-stream" if method == "POST" else
                        "text/event-stream")
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Accept: {accept}"]
    if sid:
        lines.append(f"Mcp-Session-Id: {sid}")
    if method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    head = "\r\n".join([*lines, *headers]) + "\r\n\r\n"
    return head.encode("latin-1") + body


def rpc(method, id=None, **params):
    m = {"jsonrpc": "2.0", "method": method, "params": params}
    if id is not None:
        m["id"] = id
    return m


def call(id, name, **arguments):
    return rpc("tools/call", id, name=name, arguments=arguments)


def initialize(conn, version=D11):
    """A session's id."""
    conn.send(http("POST", rpc("initialize", 0, protocolVersion=version, capabilities={},
                               clientInfo={"name": "t", "version": "1"})))
    status, head, body = conn.response()
    if status != 200:
        raise RuntimeError(f"initialize: {status} {body!r}")
    return re.search(r"Mcp-Session-Id: (\S+)", head).group(1)


def alive(server):
    """Whether it serves a new session."""
    c = Conn(server)
    sid = initialize(c)
    c.send(http("POST", rpc("ping", 1), sid))
    good = c.response()[0] == 200
    c.send(http("DELETE", sid=sid))
    good = good and c.response()[0] == 204
    c.close()
    return good
