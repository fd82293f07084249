import { silentLogger } from '@kubus/ports';
import { systemIds } from '@kubus/service-kit';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { FileRecordings, Threads, createApp } from '../src/index.ts';

/**
 * How long the observatory takes to answer questions about a whole recording, the first time and again, and how long
 * short questions wait meanwhile: `pnpm --filter @kubus/observatory measure FILE`. The file may come from `pnpm
 * --filter @kubus/recording measure 1000000 /tmp FILE`.
 */
const [, , file = ''] = process.argv;
const threads = new Threads();
const app = await createApp({
  ...{ recordings: new FileRecordings([file], threads), threads, version: '0', ids: systemIds, logger: silentLogger },
});
const [recording] = (await app.inject('/api/v1/recordings')).json<[{ name: string; messages: number }]>();
const base = `/api/v1/recordings/${recording.name}`;
const memory = () => `${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB`;
console.log(`${recording.messages} messages; memory before (RSS): ${memory()}`);
const loop = monitorEventLoopDelay({ resolution: 5 });

await ask('density', `${base}/density?buckets=500`);
for (const path of ['map', 'latency?what=start', 'latency?what=stop']) {
  await ask(`${path}, the first time`, `${base}/${path}`);
  await ask(`${path}, again`, `${base}/${path}`);
}
const compared = `/api/v1/compare?left=${recording.name}&right=${recording.name}`;
const waits: number[] = [];
const asking = { long: true };
loop.enable();
const long = Promise.all([
  ask('a comparison, while other requests are answered', compared),
  ask('another comparison', `${compared}&what=stop`),
  ask('a trace of all messages', `${base}/trace?format=jsonl`),
]).then(() => (asking.long = false));
while (asking.long) {
  const began = performance.now();
  await app.inject(`${base}/messages?limit=100`);
  waits.push(performance.now() - began);
}
await long;
loop.disable();
waits.sort((one, other) => one - other);
const longest = [0.5, 0.99, 1].map((share) => (waits[Math.ceil(share * waits.length) - 1] ?? 0).toFixed(0));
console.log(`${waits.length} pages of messages meanwhile: ${longest.join(', ')} ms (median, 99th percentile, longest)`);
const held = [loop.percentile(50), loop.percentile(99), loop.max].map((ns) => (ns / 1e6).toFixed(0));
console.log(`event-loop delay of the main thread: ${held.join(', ')} ms (median, 99th percentile, longest)`);
console.log(`memory after (RSS): ${memory()}`);
await app.close();
await threads.close();
console.log(`after its threads have ended: ${memory()}`);

/** The answer is dropped as it arrives. */
async function ask(what: string, url: string): Promise<void> {
  const began = performance.now();
  const answer = await app.inject({ url, payloadAsStream: true });
  let bytes = 0;
  for await (const piece of answer.stream()) bytes += (piece as Buffer).length;
  const ms = (performance.now() - began).toFixed(0);
  console.log(`${what}: ${ms} ms, ${(bytes / 2 ** 20).toFixed(1)} MiB, ${answer.statusCode}`);
}
