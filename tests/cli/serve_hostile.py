"""Hostile clients of mcpdiag serve: what comes is a clear status or the end of
the connection, valid JSON, and no line of the client's making; the server lives,
and leaks nothing when it ends.  serve_hostile.py FOLDER"""
import json
import os
import re
import socket
import sys

from serve_lib import (BIN, D11, WAIT, Conn, Server, alive, call, http, initialize, ok, rpc,
                       tests)

tmp = sys.argv[1]
E = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": E,
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "elicitation": {}}}


def run(*args):
    return Server("--legacy", "--conformance", "--events", os.path.join(tmp, "e.ndjson"), *args)


def over(name, server):
    """The server is well and ends well."""
    good = alive(server)
    status = server.stop()
    ok(name, good and status == 0 and not server.err,
       f"alive {good}, status {status}\n{server.err.decode(errors='replace')}")
    for line in open(os.path.join(tmp, "e.ndjson"), "rb"):
        json.loads(line)


def answer(server, data):
    """Status of what is answered to those bytes, or how the connection ended."""
    c = Conn(server)
    try:
        c.send(data)
        c.s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    try:
        return c.response()[0]
    except RuntimeError:
        return c.end
    finally:
        c.close()


def check_json(body, where):
    try:
        return json.loads(body.decode("utf-8"))
    except ValueError as e:
        raise RuntimeError(f"{where}: no JSON: {body[:300]!r}") from e


def check_answer(head, body, where):
    """All JSON in a response is JSON; its lines are our fields."""
    for line in head.split("\r\n")[1:-2]:
        if not re.match(r"(Date|Content-(Type|Length)|Transfer-Encoding|Cache-Control|"
                        r"X-Accel-Buffering|Mcp-Session-Id|Vary|Connection|Allow|"
                        r"Access-Control-[A-Za-z-]+): [\x20-\x7e]*$", line):
            raise RuntimeError(f"{where}: header {line!r}")
    if "text/event-stream" in head:
        for line in body.split(b"\n"):
            if line.startswith(b"data: {") or line.startswith(b"data: ["):
                check_json(line[6:], where)
            elif not re.match(rb"$|:[ a-z]*$|data: $|id: [gr0-9/-]+$|retry: \d+$", line):
                raise RuntimeError(f"{where}: line {line!r}")
    elif "application/json" in head:
        check_json(body, where)


def garbage():
    """bytes that are no HTTP"""
    with run() as s:
        for name, data, want in (
                ("nothing", b"", ("closed",)),
                ("noise", bytes(range(256)) * 20, (400, 501, "closed", "reset")),
                ("TLS", b"\x16\x03\x01\x02\0\1\0\1\xfc\3\3" + bytes(500), (400,)),
                ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (505,)),
                ("a long line", b"GET /" + b"a" * 100000, (431, 414)),
                ("a header of 100 KB", http("GET", headers=["X: " + "y" * 100000]), (431,)),
                ("1,000 headers", http("GET", headers=["X: y"] * 1000), (431,)),
                ("two Hosts", http("GET", headers=["Host: localhost"]), (400,)),
                ("a bare LF", b"GET /mcp HTTP/1.1\nHost: localhost\n\n", (400,)),
                ("NUL in a header", http("GET", headers=["X: a\0b"]), (400,)),
                ("smuggling", http("POST", b"{}", headers=["Transfer-Encoding: chunked"]), (400,)),
                ("bad chunk", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                 b"chunked\r\n\r\nzz\r\n", (400,)),
                ("a chunk of 2^64", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                 b"chunked\r\n\r\nffffffffffffffffff\r\n", (400, 413)),
                ("8 MiB", http("POST", b" " * (8 << 20)), (413,)),
                ("a promise of 2^63", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                 b"9223372036854775808\r\n\r\n", (400, 413))):
            got = answer(s, data)
            if got not in want:
                ok(f"{name}", False, f"{got}, not {want}")
        over(garbage.__doc__, s)


def bodies():
    """bodies"""
    with run() as s:
        c = Conn(s)
        sid = initialize(c)
        deep = 100000
        for name, body, want in (
                ("arrays 100,000 deep", b"[" * deep + b"]" * deep, 400),
                ("objects 100,000 deep", b'{"a":' * deep + b"1" + b"}" * deep, 400),
                ("params 100,000 deep", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' +
                 b"[" * deep + b"]" * deep + b"}}", 200),
                ("4 MiB of spaces", b" " * (4 << 20), 400),
                ("4 MiB of brackets", b"[" * (4 << 20), 400),
                ("4 MiB of []", b"[" + b"[]," * 1398000 + b"[]]", 400),
                ("4 MiB of an id", json.dumps(rpc("ping", "i" * 4194000)), 200),
                ("4 MiB of keys", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{' +
                 b'"uri":"",' * 460000 + b'"uri":""}}', 200),
                ("4 MiB of ids", b'{"jsonrpc":"2.0","method":"ping"' + b',"id":""' * 500000 +
                 b"}", 200),
                ("UTF-16", json.dumps(rpc("ping", 1)).encode("utf-16"), 400),
                ("a BOM", b"\xef\xbb\xbf" + json.dumps(rpc("ping", 1)).encode(), 400),
                ("half a surrogate", b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', 200),
                ("bad UTF-8", b'{"jsonrpc":"2.0","id":"\xc3","method":"ping"}', 400)):
            c.send(http("POST", body, sid))
            status, head, got = c.response()
            if name != "half a surrogate":
                check_answer(head, got, name)
            if status != want:
                ok(name, False, f"{status}, not {want}: {got[:300]!r}")
        c.send(http("POST", call(1, "big", bytes=4194304), sid))
        status, head, got = c.response()
        check_answer(head, got, "big")
        ok("an answer of 4 MiB", status == 200 and got.count(b"x" * 4194304) == 1)
        over(bodies.__doc__, s)


ODD = ["", "x" * 70000, '"', "\\", "\n", "\r\n", "\0", "\u2028", "a\ndata: {\"evil\":1}\n\n",
       "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "</script>", "\u001b[31m", "\ud83d\ude00", "%s%n",
       "', '", "\x7f\x80"]
NONE = [None, True, {"a": ["\n"]}, ["\n", "\r"], 1e308, -0.0, 10 ** 40]


def echoes(*args):
    """whatever is echoed"""
    with run(*args) as s:
        c = Conn(s)
        c.send(http("POST", rpc("initialize", "\n\"", protocolVersion="\n2025-11-25\r\n",
                                capabilities={"sampling": {}, "elicitation": {}},
                                clientInfo={"name": "\n", "version": "\r"})))
        status, head, body = c.response()
        check_answer(head, body, "initialize")
        sid = re.search(r"Mcp-Session-Id: (\S+)", head).group(1)
        g = Conn(s)
        g.send(http("GET", sid=sid)).until("retry: 3000\n")
        n = 0
        for v in ODD + NONE:
            # Tokens and values between them, with newlines where JSON has them.
            for m in (rpc("ping", v), rpc("resources/subscribe", 1, uri=v),
                      rpc("resources/read", 2, uri=v),
                      rpc("resources/read", 2, uri=f"test://template/{v}/data"),
                      rpc("prompts/get", 3, name="test_prompt_with_arguments",
                          arguments={"arg1": v, "arg2": v}),
                      rpc("prompts/get", 3, name="test_prompt_with_embedded_resource",
                          arguments={"resourceUri": v}),
                      rpc("logging/setLevel", 4, level=v), rpc(str(v), 5), call(6, "echo", text=v),
                      call(7, str(v)), call(8, "emit", uri=v), call(8, "big", bytes=v),
                      call(9, "slow", ms=v, steps=1),
                      rpc("tools/call", v, name="slow", arguments={"ms": 0, "steps": 1},
                          _meta={"progressToken": v}),
                      rpc("notifications/cancelled", requestId=v)):
                for indent in (None, 0):
                    c.send(http("POST", json.dumps(m, indent=indent), sid))
                    status, head, body = c.response()
                    check_answer(head, body, f"{m}")
                    n += 1
                    if status not in (200, 202, 400):
                        raise RuntimeError(f"{m}: {status}")
        for v in ODD + NONE:
            for tool, key in (("ask", "prompt"), ("confirm", "message")):
                p = Conn(s)
                p.send(http("POST", call(1, tool, **{key: v}), sid))
                p.until("\ndata: {")
                q = check_json(b"{" + p.until("\n").strip(), f"{tool} {v}")
                c.send(http("POST", json.dumps(
                    {"jsonrpc": "2.0", "id": q["id"], "result": {
                        "action": v, "content": {"type": "text", "text": v}}}, indent=0), sid))
                c.response()
                p.until("\ndata: {")
                check_json(b"{" + p.until("\n").strip(), f"{tool} {v}")
                p.until("\r\n0\r\n\r\n")
                p.close()
        c.send(http("POST", call(1, "emit"), sid)).response()
        text = g.until("list_changed") + g.until("\n\n")
        for line in text.replace(b"\r\n", b"\r").split(b"\n"):
            line = line.split(b"\r")[-1]
            if line.startswith(b"data: {"):
                check_json(line[6:], "GET")
            elif not re.match(rb"$|:[ a-z]*$|data: $|id: (g1-)?\d+$|retry: \d+$", line):
                raise RuntimeError(f"GET: {line!r}")
        ok(f"{n} odd messages", True)
        over(" ".join([echoes.__doc__, *args]), s)


def echoes_json():
    """whatever is echoed, in JSON"""
    echoes("--json")


def echoes_rmcp():
    """whatever is echoed, by rmcp's server"""
    echoes("--policy", "replace")


def modern():
    """whatever is echoed, 2026-07-28"""
    with run() as s:
        c = Conn(s)
        for v in ODD + NONE:
            text = v if isinstance(v, str) else json.dumps(v)
            line = re.sub(r"[\x00-\x1f\x7f-\uffff]|[^\x00-\uffff]", "?", text)[:8000]
            for method, params in (
                    ("tools/list", {}), ("server/discover", {}), (line or "x", {}),
                    ("tools/call", {"name": v}), ("resources/read", {"uri": v}),
                    ("tools/call", {"name": "ask", "arguments": {"prompt": v}}),
                    ("tools/call", {"name": "ask", "requestState": "mcpdiag-1", "inputResponses": {
                        "q": {"content": {"text": v}, "action": v}}}),
                    ("tools/call", {"name": "ask", "requestState": v, "inputResponses": {}}),
                    ("tools/call", {"name": "slow", "arguments": {"ms": 0, "steps": 1}}),
                    ("subscriptions/listen", {"notifications": {"toolsListChanged": v}}),
                    ("subscriptions/listen", {"notifications": v})):
                for meta in (META, dict(META, **{"io.modelcontextprotocol/protocolVersion": v}),
                             dict(META, **{"io.modelcontextprotocol/clientCapabilities": v}),
                             dict(META, progressToken=v), v):
                    listens = method == "subscriptions/listen" and \
                        params["notifications"] == {"toolsListChanged": True}
                    d = Conn(s) if listens else c
                    name = params.get("name", params.get("uri"))
                    headers = [f"MCP-Protocol-Version: {E if meta is META else line or E}",
                               f"Mcp-Method: {method}"]
                    if name is not None:
                        headers.append(f"Mcp-Name: {name if name == 'ask' else line}")
                    d.send(http("POST", json.dumps(rpc(method, v, _meta=meta, **params), indent=0),
                                headers=headers))
                    if listens:
                        d.until("\r\n\r\n")
                        d.close()
                        continue
                    status, head, body = d.response()
                    check_answer(head, body, f"{method} {params} {meta}")
                    if status not in (200, 202, 400, 404):
                        raise RuntimeError(f"{method} {params} {meta}: {status}")
        over(modern.__doc__, s)


def headers():
    """odd headers"""
    with run("--allow-host", "*") as s:
        c = Conn(s)
        sid = initialize(c)
        for v in ["", "0", "-1", "1/2", "g1-", "g1-1-1", "g0-0", "r0-0", "r0-99", "g1-" + "9" * 60,
                  "g99999999999999999999-1", "r4294967295-1", "r4294967296-1", '"\\"', "\t", "'",
                  "\xff\xfe", "g1-0, g1-0", "x" * 20000]:
            d = Conn(s)
            d.send(http("GET", sid=sid, headers=[f"Last-Event-ID: {v}"]))
            head = d.until("\r\n\r\n").decode("latin-1")
            check_answer(head, b"", v)
            if not re.match("HTTP/1.1 (200|429) ", head):
                raise RuntimeError(f"Last-Event-ID {v}: {head}")
            d.close()
        for name in ("Origin", "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name",
                     "User-Agent", "Authorization"):
            for v in ["", " ", '"\\', "http://a b", "http://a\tb", "http://localhost:1;x",
                      "http://" + "a" * 20000, "=?base64?", "=?base64??=", "\xff", "*", "null"]:
                for body in (rpc("ping", 1), rpc("initialize", 1, protocolVersion=D11),
                             rpc("tools/call", 1, name="echo", _meta=META)):
                    c.send(http("POST", body, headers=[f"{name}: {v}"]))
                    status, head, got = c.response()
                    plain = head.encode("latin-1").replace(b"\xff", b"?").replace(b"\t", b" ")
                    check_answer(plain.decode(), got, f"{name}: {v}")
                    if status not in (200, 400, 403, 404):
                        raise RuntimeError(f"{name}: {v}: {status}")
        c = Conn(s)
        c.send(http("GET", headers=["Origin: http://a\r\n X-Evil: 1"]))
        head = c.response()[1]
        ok("no folded header comes back", "X-Evil" not in head and " 400 " in head, head)
        over(headers.__doc__, s)


CONVERSATION = (
    lambda sid: http("POST", rpc("notifications/initialized"), sid),
    lambda sid: http("POST", rpc("tools/call", 1, name="slow", arguments={"ms": 0, "steps": 1},
                                 _meta={"progressToken": 1}), sid),
    lambda sid: http("GET", sid=sid),
    lambda sid: http("POST", call(2, "emit"), sid),
    lambda sid: http("DELETE", sid=sid))


def early():
    """a close behind every byte of a conversation"""
    with run() as s:
        owner = Conn(s)
        whole = http("POST", rpc("initialize", 0, protocolVersion=D11))
        for part in (None, *CONVERSATION):
            sid = initialize(owner)
            data = part(sid) if part else whole
            for n in range(len(data)):
                c = Conn(s)
                c.send(data[:n])
                if n % 3 == 2:
                    c.s.shutdown(socket.SHUT_WR)
                c.close(reset=n % 3 == 1)
            c = Conn(s).send(data)
            c.until("HTTP/1.1 2")
            c.close()
        over(early.__doc__, s)


def pipelined():
    """requests behind a stream"""
    with run() as s:
        c = Conn(s)
        sid = initialize(c)
        c.send(http("GET", sid=sid) + http("POST", rpc("ping", 1), sid) * 3)
        c.until("id: g1-0")
        o = Conn(s)
        o.send(http("DELETE", sid=sid)).response()
        c.until("\r\n0\r\n\r\n")
        got = [c.response()[0] for _ in range(3)]
        ok("are answered behind its end", got == [404] * 3, got)
        c = Conn(s)
        sid = initialize(c)
        c.send(http("GET", sid=sid)).until("id: g1-0")
        try:
            for _ in range(300):
                c.send(b"x" * 1000)
        except OSError:
            pass
        try:
            c.rest()
        except OSError:
            pass
        ok("who sends too much is cut off", c.end in ("reset", "closed"), c.end)
        over(pipelined.__doc__, s)


def many():
    """10,000 sessions"""
    with run() as s:
        c = Conn(s)
        n = 10000
        body = http("POST", rpc("initialize", 0, protocolVersion="2025-06-18"))
        for _ in range(n // 100):
            c.send(body * 100)
            for _ in range(100):
                if c.response()[0] != 200:
                    raise RuntimeError("not 200")
        sid = initialize(c)
        for i in range(64):
            c.send(http("POST", rpc("resources/subscribe", i, uri="u" * 60000 + str(i)), sid))
            c.response()
        for m in (rpc("resources/subscribe", 1, uri="u" * 70000), call("i" * 70000, "slow", ms=9),
                  call(1, "emit", uri="u" * 70000, n=2, interval_ms=9),
                  rpc("tools/call", 1, name="slow", _meta={"progressToken": "t" * 70000})):
            c.send(http("POST", m, sid))
            body = c.response()[2]
            if b"-32602" not in body:
                raise RuntimeError(f"{m['method']}: {body[:300]!r}")
        over(many.__doc__, s)


def slow():
    """half of a request"""
    with run() as s:
        held = [Conn(s).send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ") for _ in range(500)]
        for c in held:
            c.send(b"a")
        good = alive(s)
        ok("500 slow ones delay nobody", good)
        over(slow.__doc__, s)


tests(garbage, bodies, echoes, echoes_json, echoes_rmcp, modern, headers, early, pipelined,
      many, slow)
