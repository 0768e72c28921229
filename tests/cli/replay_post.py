"""A handshake, and a call of the tool echo with a text of SIZE bytes: URL SIZE
[ORIGIN].  Prints nothing; fails when the answer is none."""
import json
import sys
import urllib.request

url, size, origin = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
sid = None
CALLS = [("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                         "clientInfo": {"name": "post", "version": "1"}}),
         ("tools/call", {"name": "echo", "arguments": {"text": "x" * size}})]

for n, (method, params) in enumerate(CALLS):
    headers = {"Content-Type": "application/json",
               "Accept": "application/json, text/event-stream"}
    if sid:
        headers["Mcp-Session-Id"] = sid
    if origin:
        headers["Origin"] = origin[0]
    body = {"jsonrpc": "2.0", "id": n, "method": method, "params": params}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as a:
        assert b'"result"' in a.read()
        sid = a.headers["Mcp-Session-Id"] or sid
