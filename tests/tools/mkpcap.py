#!/usr/bin/env python3
"""Makes a capture from a small description, for tests.

    mkpcap.py [--ng] OUT < description        ("-" is standard output)

The description is Python; these names are there:

    connect(client, server)     a Conn, handshake done: "10.0.0.1:4000";
                                mid=True: as if it had been open before
    conn.ask(data)              bytes of the client
    conn.say(data)              bytes of the server
    conn.fin(), conn.reset()    the client closes; server=True: the server does
    wait(seconds)               packets are 10 us apart otherwise
    raw(bytes)                  bytes into the file as they are
    record(bytes, claim=n)      a packet of any bytes, of any claimed length

    request(body, method="POST", target="/mcp", sid=None, *lines)
    response(body, status=200, *lines)         with Content-Length
    stream(*lines)              head of a chunked event stream
    chunk(data), event(data, id=None), message(method, **params)
    initialize(conn, sid)       request and answer
    zeros_gzip(n), zeros_deflate(n), zeros_zstd(n), zeros_br   bombs

Connections are interleaved as their calls are; whatever is said is cut into
segments of Conn.size bytes.  The link type is raw IP; checksums are left 0.
"""
import json
import struct
import sys
import zlib

ACK, PSH, RST, SYN, FIN = 16, 8, 4, 2, 1
US = 1000000


class Writer:
    """A capture file: packets with their times."""

    def __init__(self, out, ng=False):
        self.out, self.ng, self.now = out, ng, 1790000000 * US
        self.held, self.n_held = [], 0
        if ng:
            self.raw(struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28))
            self.raw(struct.pack("<IIHHII", 1, 20, 101, 0, 0, 20))
        else:
            self.raw(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 0, 101))

    def raw(self, data):
        self.held.append(data)
        self.n_held += len(data)
        if self.n_held > 1 << 20:
            self.flush()

    def flush(self):
        self.out.write(b"".join(self.held))
        self.held, self.n_held = [], 0

    def record(self, data, claim=None, wire=None):
        n = len(data) if claim is None else claim
        wire = n if wire is None else wire
        self.now += 10
        if not self.ng:
            self.raw(struct.pack("<IIII", self.now // US, self.now % US, n, wire) + data)
            return
        pad = -len(data) % 4
        size = 32 + len(data) + pad
        self.raw(struct.pack("<IIIIIII", 6, size, 0, self.now >> 32, self.now & 0xFFFFFFFF,
                             n, wire) + data + bytes(pad) + struct.pack("<I", size))


class Conn:
    """One TCP connection; [0] is the client's side, [1] the server's."""

    size = 16000

    def __init__(self, writer, client, server, mid=False):
        self.w = writer
        a, b = self.address(client), self.address(server)
        self.head = [(a, b), (b, a)]
        self.seq = [1000, 5000]
        if not mid:
            self.send(0, SYN)
            self.send(1, SYN | ACK)

    @staticmethod
    def address(text):
        ip, port = text.rsplit(":", 1)
        return bytes(int(x) for x in ip.split(".")), int(port)

    def send(self, side, flags, data=b""):
        (ip0, port0), (ip1, port1) = self.head[side]
        ack = 0 if flags == SYN else self.seq[1 - side]
        self.w.record(struct.pack(
            ">BBHHHBBH4s4sHHIIBBHHH", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0, ip0, ip1,
            port0, port1, self.seq[side], ack, 0x50, flags, 65535, 0, 0) + data)
        n = len(data) + (1 if flags & (SYN | FIN) else 0)
        self.seq[side] = (self.seq[side] + n) & 0xFFFFFFFF

    def put(self, side, data):
        data = data.encode() if isinstance(data, str) else data
        for i in range(0, len(data), self.size):
            self.send(side, PSH | ACK, data[i:i + self.size])

    def ask(self, data):
        self.put(0, data)

    def say(self, data):
        self.put(1, data)

    def fin(self, server=False):
        self.send(int(server), FIN | ACK)
        self.send(int(not server), FIN | ACK)

    def reset(self, server=False):
        self.send(int(server), RST | ACK)


def to_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


def head(first, lines):
    return b"\r\n".join([to_bytes(first), *map(to_bytes, lines), b"", b""])


def request(body=b"", method="POST", target="/mcp", sid=None, *lines):
    body = to_bytes(body)
    more = ["Host: s", "Accept: application/json, text/event-stream"]
    if body:
        more += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    if sid is not None:
        more.append(b"Mcp-Session-Id: " + to_bytes(sid))
    return head(b"%s %s HTTP/1.1" % (to_bytes(method), to_bytes(target)), [*more, *lines]) + body


def response(body=b"", status=200, *lines):
    body = to_bytes(body)
    more = [f"Content-Length: {len(body)}"]
    if body and not any(to_bytes(x).lower().startswith(b"content-type") for x in lines):
        more.append("Content-Type: application/json")
    return head(f"HTTP/1.1 {status} X", [*more, *lines]) + body


def stream(*lines):
    return head("HTTP/1.1 200 OK", ["Content-Type: text/event-stream",
                                    "Transfer-Encoding: chunked", *lines])


def chunk(data):
    data = to_bytes(data)
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(data, id=None):
    return (b"" if id is None else b"id: %s\n" % to_bytes(id)) + b"data: %s\n\n" % to_bytes(data)


def message(method, id=None, **params):
    m = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        m["id"] = id
    if params:
        m["params"] = params
    return json.dumps(m, separators=(",", ":"))


def initialize(conn, sid=None, client="test", server="test"):
    conn.ask(request(message("initialize", 0, protocolVersion="2025-06-18", capabilities={},
                             clientInfo={"name": client, "version": "1"})))
    result = {"protocolVersion": "2025-06-18", "capabilities": {},
              "serverInfo": {"name": server, "version": "1"}}
    lines = [] if sid is None else [b"Mcp-Session-Id: " + to_bytes(sid)]
    conn.say(response(json.dumps({"jsonrpc": "2.0", "id": 0, "result": result}), 200, *lines))


def zeros(n, wbits):
    z = zlib.compressobj(9, zlib.DEFLATED, wbits)
    piece, out = bytes(1 << 20), []
    for _ in range(n >> 20):
        out.append(z.compress(piece))
    return b"".join(out) + z.flush()


def zeros_gzip(n):
    return zeros(n, 31)


def zeros_deflate(n):
    return zeros(n, 15)


def zeros_zstd(n, before=b""):
    """RFC 8878: a frame of RLE blocks of 128 KiB, after one raw block."""
    def block(last, kind, size, data):
        return (last | kind << 1 | size << 3).to_bytes(3, "little") + data
    return (b"\x28\xb5\x2f\xfd\x00\x50" + (block(0, 0, len(before), before) if before else b"") +
            block(0, 1, 1 << 17, b"\0") * (n >> 17) + block(1, 0, 0, b""))


# 64 MiB of zeros by brotli -9.
zeros_br = bytes.fromhex("cfffff7f002400e2b14072effff9ffff0f8004401c1680eefd3fffffff01900088c302d0bdffe7ffff3f001200715800baf7ff03")


def main():
    args = sys.argv[1:]
    ng = args[:1] == ["--ng"]
    args = args[ng:]
    if len(args) != 1:
        sys.exit(__doc__)
    with sys.stdout.buffer if args[0] == "-" else open(args[0], "wb") as out:
        w = Writer(out, ng)

        def connect(client="10.0.0.1:40000", server="10.9.9.9:80", mid=False):
            return Conn(w, client, server, mid)

        def wait(seconds):
            w.now += int(seconds * US)
        names = dict(globals(), connect=connect, wait=wait, raw=w.raw, record=w.record, writer=w)
        exec(compile(sys.stdin.read(), "description", "exec"), names)
        w.flush()


if __name__ == "__main__":
    main()
