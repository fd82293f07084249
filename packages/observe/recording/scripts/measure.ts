import type { StoredMessage } from '@kubus/bus';
import { latencyOf } from '@kubus/causality';
import { serviceContracts } from '@kubus/contracts';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordingReader, RecordingWriter, sealRecording } from '../src/index.ts';
import { LIVES_BEGAN, podLives } from '../test/pod-lives.ts';

/**
 * Measures the cost of writing a recording of a million messages (or the number in the first argument), the duration of
 * the page's queries, and the memory: `pnpm --filter @kubus/recording measure [MESSAGES] [FOLDER]`. With a file as third
 * argument the recording stays there.
 */
const [, , count = '1000000', parent = tmpdir(), kept] = process.argv;
const PER_POD = 100;
/** The number of them in a start and a stop. */
const OF_WAYS = 21;
const BATCH = 500;
const pods = Math.ceil(Number(count) / PER_POD);
let total = 0;

const folder = mkdtempSync(join(parent, 'kubus-measure-'));
try {
  const path = kept ?? join(folder, 'large.kubus');
  const cpu = process.cpuUsage();
  write(path);
  const { user, system } = process.cpuUsage(cpu);
  console.log(`CPU to write 1000 messages: ${((user + system) / total).toFixed(2)} ms (including their generation)`);
  const { size } = statSync(path);
  console.log(`file: ${(size / 2 ** 20).toFixed(0)} MiB, ${Math.round(size / total)} B each of ${total}`);
  read(path);
} finally {
  rmSync(folder, { recursive: true });
}

function write(path: string): void {
  const meta = { name: 'large', node: 'node0', version: '0', state: 'recording', began: LIVES_BEGAN } as const;
  const writer = RecordingWriter.create(path, meta, { contract: '1' });
  let batch: StoredMessage[] = [];
  for (const message of podLives({ pods, parallel: 10, between: PER_POD - OF_WAYS, filling: 600 })) {
    batch.push(message);
    if (batch.length < BATCH) continue;
    writer.append(batch);
    total += batch.length;
    batch = [];
  }
  writer.append(batch);
  total += batch.length;
  writer.finish(LIVES_BEGAN + total);
  sealRecording(path);
}

function read(path: string): void {
  const reader = new RecordingReader(path);
  const middle = LIVES_BEGAN + total / 2;
  const questions: Record<string, () => unknown> = {
    'the recording': () => reader.document(),
    'list of pods': () => reader.pods(),
    density: () => reader.density(500),
    'first page': () => reader.messages({}, 1000),
    'first page of a service': () => reader.messages({ source: 'prober' }, 1000),
    'first page of a type': () => reader.messages({ type: 'worker.fact.status' }, 1000),
    'first page of a kind': () => reader.messages({ kind: 'cmd' }, 1000),
    'first page from the middle': () => reader.messages({ from: middle, to: middle + total / 4 }, 1000),
    'last page': () => reader.messages({ after: total - 1000 }, 1000),
    'timeline of a pod': () => reader.podMessages('pod-0'),
    'latency of all starts': () => JSON.stringify(latencyOf('start', reader.paths('start'))),
    'latency of all stops': () => JSON.stringify(latencyOf('stop', reader.paths('stop'))),
    'map of services': () => JSON.stringify(reader.serviceMap(serviceContracts)),
    'effects of a message': () => reader.effects(Math.floor(total / 2), 100),
  };
  for (const [what, ask] of Object.entries(questions)) {
    const took = [0, 1, 2].map(() => {
      const began = performance.now();
      ask();
      return performance.now() - began;
    });
    console.log(`${what}: ${took.map((ms) => ms.toFixed(1)).join(', ')} ms`);
  }
  reader.close();
  console.log(`memory: ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB (RSS)`);
}
