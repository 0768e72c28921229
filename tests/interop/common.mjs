// What the clients of both TypeScript SDKs do and look for.
let failed = 0;
export function check(good, what) {
  if (!good) failed++;
  console.log(`${good ? 'ok' : 'not ok'} - ${what}`);
}
export const finish = () => process.exit(failed ? 1 : 0);

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
export async function until(cond, ms = 5000) {
  for (const end = Date.now() + ms; !cond() && Date.now() < end;) await sleep(10);
  return cond();
}

// Answers to what the server asks.
export const sampled = async (req) => ({
  role: 'assistant',
  model: 'none',
  content: { type: 'text', text: `about ${req.params.messages[0].content.text}` },
});
export const declined = async () => ({ action: 'decline' });

// call(name, args, onprogress) -> result; changes() -> list_changed so far.
export async function everything(client, call, changes) {
  const said = async (name, args) => (await call(name, args)).content?.[0]?.text ?? '';
  const names = (await client.listTools()).tools.map((t) => t.name);
  check(['echo', 'slow', 'emit', 'fail'].every((n) => names.includes(n)), 'tools are listed');
  check(await said('echo', { text: 'Grüße ✓' }) === 'Grüße ✓', 'echo answers what was said');
  const seen = [];
  // The SDK drops a progress that comes in one piece with the result.
  await call('slow', { ms: 200, steps: 4 }, (p) => seen.push(p.progress));
  check(seen.length >= 3 && seen.every((p, i) => !i || p > seen[i - 1]),
    `progress grows before the result: ${seen}`);
  await call('emit', { n: 3, interval_ms: 20 });
  check(await until(() => changes() >= 3), `list_changed arrives unasked, ${changes()} times`);
  const bad = await call('fail', {}).then((r) => r.isError, (e) => e.code);
  check(bad, `fail is an error: ${bad}`);
  check((await said('big', { bytes: 300000 })).length >= 300000, 'a big result is whole');
  const none = await call('naïve', {}).then((r) => r.isError, (e) => e.code);
  check(none === true || none === -32602, `a tool that is not there: ${none}`);
  check((await said('ask', { prompt: 'rain' })).includes('about rain'),
    'sampling is asked and answered');
  check((await said('confirm', { message: 'sure?' })).includes('decline'),
    'elicitation is asked and declined');
  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: resources[0].uri });
  check(contents.length > 0, `a resource is read: ${resources[0].uri}`);
  check((await client.listPrompts()).prompts.length > 0, 'prompts are listed');
}
