// A server on @modelcontextprotocol/sdk, with an event store or without.
//   node ts_server.mjs SDK_DIR none|plain|checked [greet]
// Prints "listening on URL".  plain: an event store as the SDK's example has
// it; checked: one that can tell the stream of an event id.  greet: with each
// GET comes a notification, so that there is something to resume.
import http from "node:http";
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";

const [dir, kind, greet] = process.argv.slice(2);
const sdk = (path) => import(pathToFileURL(`${dir}/dist/esm/${path}`));
const { Server } = await sdk("server/index.js");
const { StreamableHTTPServerTransport } = await sdk("server/streamableHttp.js");
const types = await sdk("types.js");

class Store {
	events = [];	// { id, stream, message }, in order

	async storeEvent(stream, message) {
		const id = `${stream}_${this.events.length}`;
		this.events.push({ id, stream, message });
		return id;
	}

	async replayEventsAfter(last, { send }) {
		const at = this.events.findIndex((e) => e.id === last);
		if (at < 0)
			return "";
		const { stream } = this.events[at];
		for (const e of this.events.slice(at + 1))
			if (e.stream === stream)
				await send(e.id, e.message);
		return stream;
	}
}

class Checked extends Store {
	async getStreamIdForEventId(id) {
		return this.events.find((e) => e.id === id)?.stream;
	}
}

const stores = { none: () => undefined, plain: () => new Store(), checked: () => new Checked() };
const sessions = new Map();

async function begin() {
	const server = new Server({ name: "ts", version: "1" },
		{ capabilities: { tools: { listChanged: true } } });
	const transport = new StreamableHTTPServerTransport({
		sessionIdGenerator: randomUUID,
		eventStore: stores[kind](),
		onsessioninitialized: (id) => sessions.set(id, { transport, server }),
	});
	transport.onclose = () => sessions.delete(transport.sessionId);
	server.setRequestHandler(types.ListToolsRequestSchema, () => ({
		tools: [{ name: "emit", inputSchema: { type: "object" } }],
	}));
	server.setRequestHandler(types.CallToolRequestSchema, async () => {
		await server.sendToolListChanged();
		return { content: [] };
	});
	await server.connect(transport);
	return { transport, server };
}

// Once the stream is there, which is when its head is sent.
function greeted(res, server) {
	if (res.headersSent && res.statusCode === 200)
		server.sendToolListChanged().catch(() => {});	// the session is over
	else if (!res.headersSent && !res.destroyed)
		setTimeout(greeted, 1, res, server);
}

const listener = http.createServer(async (req, res) => {
	const id = req.headers["mcp-session-id"];
	let body = "";
	for await (const piece of req)
		body += piece;
	const json = body ? JSON.parse(body) : undefined;
	let session = sessions.get(id);
	if (!session && !id && json && types.isInitializeRequest(json))
		session = await begin();
	if (!session) {
		res.writeHead(id ? 404 : 400, { "content-type": "application/json" });
		res.end(JSON.stringify({ jsonrpc: "2.0", id: null,
			error: { code: -32001, message: "Session not found" } }));
		return;
	}
	if (greet === "greet" && req.method === "GET")
		greeted(res, session.server);
	await session.transport.handleRequest(req, res, json);
});
listener.listen(0, "127.0.0.1", () =>
	console.log(`listening on http://127.0.0.1:${listener.address().port}/mcp`));
