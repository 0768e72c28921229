// A server on @modelcontextprotocol/server: revision 2026-07-28, and older ones
// without sessions.
//   node ts2_server.mjs NODE_MODULES      prints "listening on URL"
import http from "node:http";
import { pathToFileURL } from "node:url";

const sdk = (name) => import(
	pathToFileURL(`${process.argv[2]}/@modelcontextprotocol/${name}/dist/index.mjs`));
const { createMcpHandler, Server } = await sdk("server");
const { toNodeHandler } = await sdk("node");

const handler = createMcpHandler(() => {
	const server = new Server({ name: "ts2", version: "1" },
		{ capabilities: { tools: { listChanged: true } } });
	server.setRequestHandler("tools/list", () => ({
		tools: [{ name: "emit", inputSchema: { type: "object" } }],
	}));
	server.setRequestHandler("tools/call", () => {
		handler.notify.toolsChanged();
		return { content: [] };
	});
	return server;
});
const listener = http.createServer(toNodeHandler(handler));
listener.listen(0, "127.0.0.1", () =>
	console.log(`listening on http://127.0.0.1:${listener.address().port}/mcp`));
