"""A server on the Python SDK, with an event store or without.

usage: python_server.py none|store [greet]      prints "listening on URL"
greet: with each GET comes a notification, so that there is something to resume.
"""
import asyncio
import contextlib
import contextvars
import itertools
import json
import socket
import sys

import mcp.types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount


owner = contextvars.ContextVar("owner")  # the events of the session at work
owners = {}  # by session id


class Store(EventStore):
    """Keeps sessions apart: the stream ids of the SDK are alike in all of them."""

    async def store_event(self, stream_id, message):
        events = owner.get()  # (id, stream, message)
        events.append((f"e{len(events)}", stream_id, message))
        return events[-1][0]

    async def replay_events_after(self, last_event_id, send_callback):
        events = owner.get()
        at = [i for i, e in enumerate(events) if e[0] == last_event_id]
        if not at:
            return None
        stream = events[at[0]][1]
        for i, s, m in events[at[0] + 1:]:
            if s == stream and m is not None:
                await send_callback(EventMessage(m, i))
        return stream


TOOL = types.Tool(name="emit", inputSchema={"type": "object"})

try:  # 1.x
    server = Server("py")

    @server.list_tools()
    async def tools():
        return [TOOL]

    @server.call_tool()
    async def call(name, arguments):
        await server.request_context.session.send_tool_list_changed()
        return []
except AttributeError:  # 2.x
    async def on_list(ctx, params):
        return types.ListToolsResult(tools=[TOOL])

    async def on_call(ctx, params):
        await ctx.session.send_tool_list_changed()
        return types.CallToolResult(content=[])

    server = Server("py", on_list_tools=on_list, on_call_tool=on_call)

store = Store() if sys.argv[1] == "store" else None
manager = StreamableHTTPSessionManager(app=server, event_store=store)
greetings, numbers = set(), itertools.count()


async def greet(scope):
    """Calls emit on the session of a GET."""
    keep = (b"mcp-session-id", b"mcp-protocol-version", b"host")
    headers = [h for h in scope["headers"] if h[0] in keep]
    headers += [(b"accept", b"application/json, text/event-stream"),
                (b"content-type", b"application/json")]
    call = {"jsonrpc": "2.0", "id": f"greet{next(numbers)}", "method": "tools/call",
            "params": {"name": "emit", "arguments": {}}}
    parts = [{"type": "http.request", "body": json.dumps(call).encode()}]

    async def receive():
        return parts.pop() if parts else await asyncio.Future()

    async def send(message):
        pass

    await manager.handle_request(dict(scope, method="POST", headers=headers), receive, send)


async def handle(scope, receive, send):
    greets = scope["method"] == "GET" and "greet" in sys.argv
    # The task of a session inherits this from the request that begins it.
    owner.set(owners.get(dict(scope["headers"]).get(b"mcp-session-id"), []))

    async def told(message):
        if message["type"] == "http.response.start":
            owners.setdefault(dict(message["headers"]).get(b"mcp-session-id"), owner.get())
        await send(message)
        if message["type"] == "http.response.start" and message["status"] == 200 and greets:
            greetings.add(asyncio.create_task(greet(scope)))

    await manager.handle_request(scope, receive, told)


@contextlib.asynccontextmanager
async def life(app):
    async with manager.run():
        yield


app = Starlette(routes=[Mount("/mcp", app=handle)], lifespan=life)
sock = socket.socket()
sock.bind(("127.0.0.1", 0))
sock.listen()
print(f"listening on http://127.0.0.1:{sock.getsockname()[1]}/mcp/", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run([sock])
