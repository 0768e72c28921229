// The TypeScript SDK's 1.x client against our server.
//   node ts_client.mjs PACKAGE-FOLDER URL [streamable|sse|resume|loop]
// resume: the client resumes POSTs that were answered; in the end it is quiet.
// loop:   the same against a server that does not let it be quiet.
import { pathToFileURL } from 'node:url';
import { check, declined, everything, finish, sampled, sleep, until } from './common.mjs';

const [dir, url, mode = 'streamable'] = process.argv.slice(2);
const sdk = (p) => import(pathToFileURL(`${dir}/dist/esm/${p}`));
const { Client } = await sdk('client/index.js');
const { StreamableHTTPClientTransport } = await sdk('client/streamableHttp.js');
const { SSEClientTransport } = await sdk('client/sse.js');
const types = await sdk('types.js');

let gets = 0;
let resumes = 0;
function countingFetch(u, init) {
  if ((init?.method ?? 'GET') === 'GET') {
    gets++;
    if (new Headers(init?.headers).has('last-event-id')) resumes++;
  }
  return fetch(u, init);
}

const client = new Client({ name: 'interop-ts', version: '1' },
  { capabilities: { sampling: {}, elicitation: {} } });
client.setRequestHandler(types.CreateMessageRequestSchema, sampled);
client.setRequestHandler(types.ElicitRequestSchema, declined);
let changes = 0;
client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => { changes++; });
const call = (name, args, onprogress) =>
  client.callTool({ name, arguments: args }, undefined, { onprogress });

async function resume(loop) {
  for (let i = 0; i < 3; i++) await call('echo', { text: `${i}` });
  check(await until(() => resumes >= 3, 10000),
    `answered POSTs are resumed: ${resumes} GETs with Last-Event-ID`);
  await sleep(2000);
  const before = gets;
  await sleep(3000);
  const more = gets - before;
  if (loop) {
    check(more >= 4, `the streams push each other out: ${more} GETs in 3 s`);
    return;
  }
  check(more === 0, `no loop follows: ${more} GETs in 3 s, ${gets} in all`);
  await call('emit', { n: 1, interval_ms: 1 });
  check(await until(() => changes > 0), `list_changed arrives, ${changes} times`);
}

const transport = mode === 'sse'
  ? new SSEClientTransport(new URL(url))
  : new StreamableHTTPClientTransport(new URL(url), { fetch: countingFetch });
await client.connect(transport);
const version = transport.protocolVersion ?? transport._protocolVersion;
check(version, `connected to ${client.getServerVersion().name}, version ${version}`);
if (mode === 'resume' || mode === 'loop') await resume(mode === 'loop');
else await everything(client, call, () => changes);
if (mode !== 'sse') {
  await transport.terminateSession();
  check(transport.sessionId === undefined, 'the session is deleted');
  console.log(`# ${gets} GETs`);
}
await client.close();
finish();
