import { Command } from 'commander';
import { setTimeout as wait } from 'node:timers/promises';
import { BenchNode } from './bench-node.ts';
import { count } from './count-option.ts';
import { type PerProcess, agentProcesses, medians, memoryOf } from './process-usage.ts';
import { formatProcesses } from './report.ts';
import { allAtOnce, podNames } from './subject.ts';

/**
 * Whether memory grows with the number of pods that have come and gone: creates and deletes pods, and measures the node at rest now and
 * then. Started as `pnpm --filter @kubus/bench memory [--pods N] [--first N] [--step N] [--hosted]`, as root.
 */
interface Options {
  readonly pods: number;
  readonly first: number;
  readonly step: number;
  readonly atOnce: number;
  readonly hosted?: boolean;
}

/**
 * Wait before memory is measured, in milliseconds: until what the pods' end has caused is over, and every process has given memory back. NATS
 * does so last: a Go program that allocates little collects its garbage every two minutes, and lets go of buffers at the second time.
 */
const REST_MS = 240_000;
/** Each figure is the median of so many readings, this far apart in milliseconds: garbage comes and goes at rest, too. */
const READINGS = 5;
const READING_MS = 15_000;

const { pods, first, step, atOnce, hosted } = new Command('memory')
  .option('--pods <n>', 'pods in all', count, 5_000)
  .option('--first <n>', 'pods before the first measurement', count, 200)
  .option('--step <n>', 'pods between two measurements', count, 1_200)
  .option('--at-once <n>', 'pods at the same time', count, 40)
  .option('--hosted', 'all services in one process')
  .parse()
  .opts<Options>();

/** Memory at rest: of each process the median of its readings. */
async function memoryAtRest(): Promise<PerProcess> {
  const readings: PerProcess[] = [];
  await wait(REST_MS);
  while (readings.length < READINGS) {
    await wait(READING_MS);
    readings.push(await memoryOf(await agentProcesses(node.dir)));
  }
  return medians(readings);
}

const node = await BenchNode.start(...(hosted === true ? ['--placement', 'hosted'] : []));
try {
  const measured: Record<string, PerProcess> = {};
  for (let done = 0; done < pods;) {
    const end = Math.min(done === 0 ? first : done + step, pods);
    while (done < end) {
      const names = podNames(`p${done}`, Math.min(atOnce, end - done));
      await allAtOnce(names, (name) => node.create(name));
      await allAtOnce(names, (name) => node.remove(name));
      done += names.length;
    }
    const memory = await memoryAtRest();
    measured[`after ${done}`] = memory;
    console.log(formatProcesses({ [`after ${done}`]: memory }));
  }
  const columns = Object.entries(measured);
  const shown = columns.filter((_, index) => index === 0 || index % Math.ceil(columns.length / 6) === 0);
  console.log(`\n${formatProcesses(Object.fromEntries([...shown, ...columns.slice(-1)]))}`);
} finally {
  await node.stop();
}
