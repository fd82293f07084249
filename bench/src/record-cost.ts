import { LIVE, type RecordingDocument } from '@kubus/contracts/observatory';
import { observatorySocket } from '@kubus/launcher';
import { Command } from 'commander';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { BenchNode } from './bench-node.ts';
import { count } from './count-option.ts';
import { type PerProcess, agentProcesses, cpuOf, memoryOf } from './process-usage.ts';

/**
 * The cost of the observatory: pods one at a time, alternately on a node with an observatory and on one without.
 * Started as `pnpm --filter @kubus/bench record-cost [--pods N] [--runs N] [--quiet SECONDS]`, as root, with nothing else running.
 */
interface Options {
  readonly pods: number;
  readonly runs: number;
  readonly quiet: number;
}

const { pods, runs, quiet } = new Command('record-cost')
  .option('--pods <n>', 'pods of a series', count, 10)
  .option('--runs <n>', 'series on each node', count, 3)
  .option('--quiet <seconds>', 'how long a node without pods is observed', count, 30)
  .parse()
  .opts<Options>();

const [recorded, plain] = [await BenchNode.start('--observatory'), await BenchNode.start()];
try {
  await series(recorded, 'warm-r', 1);
  await series(plain, 'warm-p', 1);
  const before = await recordedSoFar();
  const times: { recorded: number[]; plain: number[] } = { recorded: [], plain: [] };
  for (let run = 0; run < runs; run += 1) {
    times.recorded.push(...(await series(recorded, `r${run}`, pods)));
    times.plain.push(...(await series(plain, `p${run}`, pods)));
  }
  const after = await recordedSoFar();
  await wait(quiet * 1000);
  const end = await recordedSoFar();
  const cpu = after.cpu - before.cpuAfter;
  const messages = after.messages - before.messages;
  console.log(`create to Ready: ${median(times.recorded)} ms recorded, ${median(times.plain)} ms not (medians)`);
  console.log(`${(messages / pods / runs).toFixed(0)} messages for a pod's start and stop`);
  console.log(`CPU of the observatory: ${((cpu / messages) * 1000).toFixed(0)} ms for 1000 messages`);
  console.log(`CPU of the observatory: ${(cpu / pods / runs).toFixed(1)} ms for a pod's start and stop`);
  console.log(`CPU of the observatory: ${((end.cpu - after.cpuAfter) / quiet).toFixed(1)} ms a second in a quiet node`);
  console.log(`memory of the observatory: ${after.pss.toFixed(0)} MiB (PSS), ${after.rss.toFixed(0)} MiB (RSS)`);
  const each = (after.bytes - before.bytes) / messages / 1024;
  console.log(`disk: ${each.toFixed(1)} KB for a message`);
} finally {
  await recorded.stop();
  await plain.stop();
}

async function series(node: BenchNode, name: string, length: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < length; index += 1) {
    times.push(await node.create(`${name}-${index}`));
    await node.remove(`${name}-${index}`);
  }
  return times;
}

interface Recorded {
  /** CPU time before and after the request for the number of recorded messages, which itself costs CPU time. */
  readonly cpu: number;
  readonly cpuAfter: number;
  readonly pss: number;
  readonly rss: number;
  readonly messages: number;
  readonly bytes: number;
}

async function recordedSoFar(): Promise<Recorded> {
  const pid = (await agentProcesses(recorded.dir)).get('observatory') ?? 0;
  const processes = new Map([['observatory', pid]]);
  const of = (figures: PerProcess) => figures['observatory'] ?? 0;
  const [cpu, pss, rss] = await Promise.all([cpuOf(processes), memoryOf(processes), memoryOf(processes, 'Rss')]);
  const { messages, bytes } = JSON.parse(await liveRecording()) as RecordingDocument;
  const cpuAfter = of(await cpuOf(processes));
  return { cpu: of(cpu), cpuAfter, pss: of(pss), rss: of(rss), messages, bytes };
}

function liveRecording(): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const asking = request({ socketPath: observatorySocket(recorded.dir), path: `/api/v1/recordings/${LIVE}` });
  asking.on('response', (answer) => void text(answer).then(resolve, reject));
  asking.on('error', reject);
  asking.end();
  return promise;
}

function median(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor(sorted.length / 2)] ?? Number.NaN).toFixed(0);
}
