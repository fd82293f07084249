import { HEADER, formatTime } from '@kubus/bus';
import type { StoredMessage } from '@kubus/causality';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordingReader, RecordingWriter } from '../src/index.ts';

/**
 * What a recording of a million messages (or as many as the first argument says) costs to write, and how long the questions
 * take that a page begins with: `pnpm --filter @kubus/recording measure [MESSAGES] [FOLDER]`.
 */
const [, , count = '1000000', parent = tmpdir()] = process.argv;
const total = Number(count);
const PER_POD = 100;
const BATCH = 500;
const EPOCH = 1_800_000_000_000;
const services = ['config-sources', 'sync-loop', 'pod-workers', 'cri-bridge', 'cni-bridge', 'prober', 'volume-manager'];
const types = [
  'sync.fact.pod/1',
  'worker.fact.status/1',
  'worker.fact.state/1',
  'runtime.fact.pod/1',
  'runtime.cmd.X/1',
];

const folder = mkdtempSync(join(parent, 'kubus-measure-'));
try {
  const path = join(folder, 'large.kubus');
  const cpu = process.cpuUsage();
  write(path);
  const { user, system } = process.cpuUsage(cpu);
  console.log(`CPU to write 1000 messages: ${((user + system) / total).toFixed(2)} ms`);
  console.log(
    `file: ${(statSync(path).size / 2 ** 20).toFixed(0)} MiB, ${Math.round(statSync(path).size / total)} B each`,
  );
  read(path);
} finally {
  rmSync(folder, { recursive: true });
}

function write(path: string): void {
  const meta = { name: 'large', node: 'node0', version: '0', state: 'recording', began: EPOCH } as const;
  const writer = RecordingWriter.create(path, meta, { contract: '1' });
  const numbers = new Map<string, number>();
  for (let from = 0; from < total; from += BATCH) {
    writer.append(Array.from({ length: Math.min(BATCH, total - from) }, (_, index) => message(from + index, numbers)));
  }
  writer.finish(EPOCH + total);
}

function message(index: number, numbers: Map<string, number>): StoredMessage {
  const source = `${services[index % services.length] ?? ''}-0`;
  const number = (numbers.get(source) ?? 0) + 1;
  const before = `${services[(index - 1) % services.length] ?? ''}-0`;
  const cause = numbers.get(before);
  numbers.set(source, number);
  const uid = `pod-${Math.floor(index / PER_POD / 10) * 10 + (index % 10)}`;
  const at = EPOCH + index;
  const ref = { namespace: 'default', name: `web-${uid}`, uid };
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const type = types[index % types.length] ?? '';
  const headers = {
    [HEADER.type]: type,
    [HEADER.source]: source,
    [HEADER.epoch]: '1',
    [HEADER.seq]: String(number),
    [HEADER.time]: formatTime(at),
    [HEADER.node]: 'node0',
    [HEADER.pod]: uid,
    [HEADER.trace]: `00-${'1'.repeat(32)}-${number.toString(16).padStart(16, '0')}-01`,
    ...(cause !== undefined && { [HEADER.causes]: `${before}.1.${cause}` }),
  };
  const data = JSON.stringify({ ref, status, state: 'syncing', filling: 'x'.repeat(600) });
  return { seq: index + 1, stored: at + 0.3, message: { subject: `kubus.node0.sync.fact.pod.${uid}`, headers, data } };
}

function read(path: string): void {
  const reader = new RecordingReader(path);
  const middle = EPOCH + total / 2;
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
}
