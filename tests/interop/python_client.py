"""The Python SDK's client, 1.x or 2.x, against our server.

python python_client.py URL [streamable|sse|modern]
modern: 2026-07-28, for 2.x only.
"""
import asyncio
import sys
from importlib.metadata import version

import mcp.shared.exceptions
import mcp.types as types
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

V2 = version("mcp").startswith("2.")
MCPError = getattr(mcp.shared.exceptions, "MCPError" if V2 else "McpError")
failed = 0


def check(good, what):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} - {what}", flush=True)


def attr(obj, snake, camel):
    return getattr(obj, snake if V2 else camel)


def text(result):
    return result.content[0].text


async def sampling(_ctx, params):
    said = params.messages[0].content.text
    return types.CreateMessageResult(
        role="assistant", model="none",
        content=types.TextContent(type="text", text=f"about {said}"))


async def elicit(_ctx, _params):
    return types.ElicitResult(action="decline")


class Changes:
    count = 0

    async def __call__(self, message):
        if "ToolListChanged" in type(getattr(message, "root", message)).__name__:
            self.count += 1

    async def wait(self, n):
        for _ in range(500):
            if self.count >= n:
                break
            await asyncio.sleep(0.01)
        return self.count


async def everything(session, changes):
    names = [t.name for t in (await session.list_tools()).tools]
    check({"echo", "slow", "emit", "fail"} <= set(names), "tools are listed")
    check(text(await session.call_tool("echo", {"text": "Grüße ✓"})) == "Grüße ✓",
          "echo answers what was said")
    seen = []

    async def progress(done, _total, _message):
        seen.append(done)
    await session.call_tool("slow", {"ms": 200, "steps": 4}, progress_callback=progress)
    check(len(seen) >= 3 and seen == sorted(seen), f"progress comes: {seen}")
    await session.call_tool("emit", {"n": 3, "interval_ms": 20})
    check(await changes.wait(3) >= 3, f"list_changed arrives {changes.count} times")
    try:
        bad = attr(await session.call_tool("fail", {}), "is_error", "isError")
    except MCPError as e:
        bad = str(e)
    check(bad, f"fail is an error: {bad}")
    big = text(await session.call_tool("big", {"bytes": 300000}))
    check(len(big) >= 300000, "a big result is whole")
    check("about rain" in text(await session.call_tool("ask", {"prompt": "rain"})),
          "sampling is asked and answered")
    check("decline" in text(await session.call_tool("confirm", {"message": "sure?"})),
          "elicitation is asked and declined")
    resources = (await session.list_resources()).resources
    read = await session.read_resource(resources[0].uri)
    check(len(read.contents) > 0, f"a resource is read: {resources[0].uri}")
    check(len((await session.list_prompts()).prompts) > 0, "prompts are listed")


async def handshake(url, mode):
    changes = Changes()
    client = sse_client if mode == "sse" else streamable_http_client
    async with client(url) as streams:
        async with ClientSession(*streams[:2], sampling_callback=sampling,
                                 elicitation_callback=elicit, message_handler=changes) as session:
            result = await session.initialize()
            who = attr(result, "server_info", "serverInfo")
            check(True, f"connected to {who.name}, version "
                  f"{attr(result, 'protocol_version', 'protocolVersion')}")
            await everything(session, changes)


async def modern(url):
    from mcp import Client
    async with Client(url, mode="2026-07-28", sampling_callback=sampling,
                      elicitation_callback=elicit) as client:
        check(client.protocol_version == "2026-07-28", f"version {client.protocol_version}")
        changes = Changes()
        async with client.listen(tools_list_changed=True) as events:
            async def count():
                async for _ in events:
                    changes.count += 1
            counting = asyncio.create_task(count())
            await everything(client, changes)
            counting.cancel()


async def main():
    url, mode = (sys.argv[1:] + ["streamable"])[:2]
    await (modern(url) if mode == "modern" else handshake(url, mode))
    check(True, "closed")

asyncio.run(asyncio.wait_for(main(), 60))
sys.exit(failed > 0)
