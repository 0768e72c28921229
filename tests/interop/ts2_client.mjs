// The TypeScript SDK's 2.x client against our server.
//   node ts2_client.mjs PACKAGE-FOLDER URL legacy|auto|pin
import { pathToFileURL } from 'node:url';
import { check, declined, everything, finish, sampled } from './common.mjs';

const [dir, url, mode] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } =
  await import(pathToFileURL(`${dir}/dist/index.mjs`));

const verbs = new Set();
function watchingFetch(u, init) {
  verbs.add(init?.method ?? 'GET');
  return fetch(u, init);
}
const client = new Client({ name: 'interop-ts2', version: '1' }, {
  capabilities: { sampling: {}, elicitation: {} },
  versionNegotiation: { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode },
});
client.setRequestHandler('sampling/createMessage', sampled);
client.setRequestHandler('elicitation/create', declined);
let changes = 0;
client.setNotificationHandler('notifications/tools/list_changed', () => { changes++; });
const call = (name, args, onprogress) =>
  client.callTool({ name, arguments: args }, { onprogress });

const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: watchingFetch });
await client.connect(transport);
const modern = mode !== 'legacy';
const version = client.getNegotiatedProtocolVersion();
check(modern ? version === '2026-07-28' : version.startsWith('2025-'),
  `connected to ${client.getServerVersion()?.name}, version ${version}`);
let sub;
if (modern) {
  sub = await client.listen({ toolsListChanged: true });
  check(sub.honoredFilter.toolsListChanged, 'listen is acknowledged');
}
await everything(client, call, () => changes);
if (modern) {
  await sub.close();
  check(await sub.closed === 'local', 'the subscription is closed');
}
await transport.terminateSession();
const used = [...verbs].sort().join();
check(used === (modern ? 'POST' : 'DELETE,GET,POST'), `HTTP methods used: ${used}`);
await client.close();
finish();
