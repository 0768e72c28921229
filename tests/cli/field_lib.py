"""What reproduces a fault of the field on loopback: a server that is at fault, or a
real proxy before one that is not, a client, and who looks on: `mcpdiag watch`
on the interface, and afterwards `mcpdiag analyze` on what it saved.  Where
capturing is not permitted, `analyze` on what `mcpdiag serve --pcap` wrote."""
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

from serve_lib import BIN, D11, WAIT, Conn, Server, call, http, initialize, rpc

VERSION = f"MCP-Protocol-Version: {D11}"
NGINX = shutil.which("nginx") or next((p for p in ("/usr/sbin/nginx", "/usr/local/sbin/nginx")
                                       if os.access(p, os.X_OK)), None)


def pause(seconds):
    """For what is by definition a span of time."""
    select.select([], [], [], seconds)


def until(condition, seconds=WAIT):
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        pause(0.02)
    return True


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def post(c, sid, message, *headers):
    """A POST of a session, as a good client sends it."""
    return c.send(http("POST", message, sid, [VERSION, *headers]))


def calls(c, sid, n, first=1):
    for i in range(n):
        post(c, sid, rpc("tools/list", first + i)).response()


def tool(c, sid, id, name, **arguments):
    return post(c, sid, call(id, name, **arguments))


class Tap:
    """`mcpdiag watch` on the loopback interface, one port."""

    def __init__(self, folder, port):
        self.path = os.path.join(folder, "watch.pcapng")
        self.out = os.path.join(folder, "watch.ndjson")
        self.file = open(self.out, "wb")
        self.p = subprocess.Popen([BIN, "watch", "-i", "lo", "-T", "ndjson", "-w", self.path,
                                   "tcp", "port", str(port)],
                                  stdout=self.file, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL)
        self.said = b""
        while b"listening on lo" not in self.said:
            piece = os.read(self.p.stderr.fileno(), 4096)
            if not piece:
                raise PermissionError(self.said.decode("utf-8", "replace"))
            self.said += piece

    def lines(self):
        with open(self.out, encoding="utf-8") as f:
            return [json.loads(x) for x in f if x.endswith("\n")]

    def saw(self, kind):
        with open(self.out, encoding="utf-8") as f:
            return sum(f'"type":"{kind}"' in x for x in f)

    def stop(self):
        self.p.send_signal(signal.SIGINT)
        try:
            self.p.communicate(timeout=WAIT)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.communicate()
        self.file.close()


def may_capture(folder):
    """'' or why not."""
    try:
        Tap(folder, 9).stop()
    except PermissionError as e:
        return str(e).strip() or "no permission"
    return ""


class Nginx:
    """nginx before servers; `location` is what stands in its only location, and
    UPSTREAM there is the name of the servers behind it."""

    def __init__(self, folder, servers, location):
        behind = "".join(f"server 127.0.0.1:{s.port};" for s in servers)
        for _ in range(5):      # somebody else may take the port meanwhile
            self.port = free_port()
            conf = os.path.join(folder, "nginx.conf")
            with open(conf, "w", encoding="ascii") as f:
                f.write("daemon off; master_process off; pid nginx.pid; error_log error.log;\n"
                        "events { worker_connections 64; }\n"
                        "http { access_log off; client_body_temp_path t1; proxy_temp_path t2;\n"
                        "fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n"
                        f"upstream behind {{ {behind} }}\n"
                        f"server {{ listen 127.0.0.1:{self.port}; location / {{\n"
                        f"proxy_set_header Host localhost;\n{location}\n}} }} }}\n")
            self.p = subprocess.Popen([NGINX, "-p", folder, "-c", conf, "-e", "error.log"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL)
            if until(lambda: self.p.poll() is not None or self.answers()) and \
                    self.p.poll() is None:
                return
            self.stop()
        raise RuntimeError(f"nginx: {self.p.stderr.read()!r}")

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def stop(self):
        if self.p.poll() is None:
            self.p.terminate()
        self.p.wait(timeout=WAIT)


class Place:
    """Where a client plays: the address it speaks to, and what it opened."""

    def __init__(self, server, port):
        self.server, self.port, self.conns = server, port, []
        self.lock = threading.Lock()

    def conn(self, small=False):
        c = Conn(self, small=small)
        with self.lock:
            self.conns.append(c)
        return c

    def session(self, ready=True):
        """A connection and the id of its session."""
        c = self.conn()
        sid = initialize(c)
        if ready:
            post(c, sid, rpc("notifications/initialized")).response()
        return c, sid

    def get(self, sid, last=None, c=None):
        """A GET, up to the end of the response's head; its status is .status."""
        g = c or self.conn()
        g.send(http("GET", sid=sid, headers=[VERSION] +
                    ([f"Last-Event-ID: {last}"] if last else [])))
        g.status = int(g.until(b"\r\n\r\n").split()[1])
        return g

    def restart(self, *args):
        """The server is killed, and another takes its address."""
        self.server.stop(signal.SIGKILL)
        self.server = Server("--port", str(self.port), *args)

    def sse(self):
        """HTTP+SSE: the stream, and where its endpoint event leads."""
        g = self.conn()
        g.send(http("GET", path="/sse"))
        g.until("data: ")
        return g, g.until("\n").decode().strip()

    def close(self):
        for c in self.conns:
            c.close()


class Listener:
    """An EventSource: when its stream ends it comes back with its last id."""

    def __init__(self, place, sid, delay, cursor=True):
        self.place, self.sid, self.delay, self.cursor = place, sid, delay, cursor
        self.last, self.gets, self.c = None, 0, None

    def get(self):
        if self.gets:
            pause(self.delay)
        self.gets += 1
        self.c = self.place.get(self.sid, self.last if self.cursor else None)
        return self

    def ended(self):
        """After the end of its stream, by a terminator or without."""
        data = self.c.got
        while not data.endswith(b"0\r\n\r\n") and self.c.more():
            data = self.c.got
        if self.c.end:
            self.c.close()
        ids = [x[4:] for x in data.decode("latin-1").split("\n") if x.startswith("id: ")]
        self.last = ids[-1].strip() if ids else self.last
        return self


def name_of(f):
    return f"{f['detector']}{'/' + f['variant'] if f.get('variant') else ''} {f['severity']}"


def is_it(name, wanted):
    """`wanted` is DETECTOR[/VARIANT] [SEVERITY]."""
    detector, _, severity = wanted.partition(" ")
    got, _, loud = name.partition(" ")
    return (got == detector or got.startswith(detector + "/")) and \
        (not severity or loud == severity)


def stretch(path, to, times):
    """A pcapng file whose clock goes that much slower: for what takes minutes."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    at, first = 0, None
    while at + 12 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low = struct.unpack_from("<II", data, at + 12)
            t = high << 32 | low
            first = first or t
            t = first + (t - first) * times
            struct.pack_into("<II", data, at + 12, t >> 32, t & 0xffffffff)
        at += size
    with open(to, "wb") as f:
        f.write(data)


def analyzed(path):
    p = subprocess.run([BIN, "analyze", "-T", "json", path],
                       capture_output=True, timeout=WAIT, check=False)
    return [name_of(f) for f in json.loads(p.stdout)["findings"]]


def watched(path):
    """What watch says of a capture that comes through a pipe."""
    with open(path, "rb") as f:
        p = subprocess.run([BIN, "watch", "-T", "ndjson", "-r", "-"],
                           stdin=f, capture_output=True, timeout=WAIT, check=False)
    return [json.loads(x) for x in p.stdout.splitlines()]


def finals(lines):
    return [name_of(x) for x in lines
            if x["type"] == "finding" and "final" in x.get("flags", [])]


class Case:
    """One row of the table, played: what analyze and watch say of it."""

    def __init__(self, row, folder, live, late):
        self.row, self.live, self.late = row, live, late
        self.folder = os.path.join(folder, row.name)
        os.mkdir(self.folder)
        self.offline, self.early, self.final, self.why = [], [], [], ""

    def play(self):
        try:
            self.run()
        except Exception as e:          # the others go on
            self.why = f"{type(e).__name__}: {e}"

    def told(self, tap):
        """Whether watch has told of all that is wanted."""
        self.early = [name_of(x) for x in tap.lines() if x["type"] == "finding"]
        names = {n.partition(" ")[0].partition("/")[0] for n in self.early}
        return self.late or all(w.partition(" ")[0].partition("/")[0] in names
                                for w in self.row.want)

    def run(self):
        pcap = os.path.join(self.folder, "serve.pcap")
        made = [] if self.row.nginx else ["--pcap", pcap]
        servers = [Server(*self.row.args, *made) for _ in range(self.row.servers)]
        proxy = tap = None
        try:
            if self.row.nginx:
                proxy = Nginx(self.folder, servers, self.row.nginx)
            place = Place(servers[0], (proxy or servers[0]).port)
            if self.live:
                tap = Tap(self.folder, place.port)
            try:
                self.row.play(place)
            finally:
                servers[0] = place.server
                place.server.stop()
                place.close()
            if tap:
                until(lambda: tap.saw("conn_end") >= 2 * tap.saw("conn"), 3)
                until(lambda: self.told(tap), 5)
                tap.stop()
                pcap = tap.path
        finally:
            if tap and tap.p.poll() is None:
                tap.stop()
            if proxy:
                proxy.stop()
            for s in servers:
                s.stop()
        lines = tap.lines() if tap else None
        if self.row.stretch:
            stretch(pcap, pcap + ".slow", self.row.stretch)
            pcap += ".slow"
            lines = watched(pcap) if tap else None
        self.offline = analyzed(pcap)
        self.final = finals(lines) if lines else []


def play_all(cases, threads=8):
    left = list(cases)
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                if not left:
                    return
                case = left.pop(0)
            case.play()

    ts = [threading.Thread(target=work) for _ in range(threads)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
