"""A server on the Python SDK, with an event store or without.

usage: python_server.py none|store      prints "listening on URL"
"""
import contextlib
import socket
import sys

import mcp.types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount


class Store(EventStore):
    def __init__(self):
        self.events = []  # (id, stream, message)

    async def store_event(self, stream_id, message):
        self.events.append((f"e{len(self.events)}", stream_id, message))
        return self.events[-1][0]

    async def replay_events_after(self, last_event_id, send_callback):
        at = [i for i, e in enumerate(self.events) if e[0] == last_event_id]
        if not at:
            return None
        stream = self.events[at[0]][1]
        for i, s, m in self.events[at[0] + 1:]:
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


@contextlib.asynccontextmanager
async def life(app):
    async with manager.run():
        yield


app = Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=life)
sock = socket.socket()
sock.bind(("127.0.0.1", 0))
sock.listen()
print(f"listening on http://127.0.0.1:{sock.getsockname()[1]}/mcp/", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run([sock])
