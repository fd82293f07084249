import { Command, InvalidArgumentError } from 'commander';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, release } from 'node:os';
import { BenchNode } from './bench-node.ts';
import { figuresOf } from './figures.ts';
import { Floor } from './floor.ts';
import { Measurements, hostedNode, withVolumes } from './measure.ts';
import { formatMessages, measureMessages } from './message-costs.ts';
import { describePath } from './path.ts';
import { measureStreams } from './streams.ts';
import { formatComparison } from './reference/comparison.ts';
import { type ReferencePrograms, compareWithReference } from './reference/compare.ts';
import { formatFigures, formatProcesses } from './report.ts';

interface Options {
  readonly runs: number;
  readonly single: number;
  readonly burst: number;
  readonly full: number;
  readonly idle: number;
  readonly stream: number;
  readonly json?: string;
  readonly kubelet?: string;
  readonly apiserver?: string;
  readonly etcd?: string;
}

const program = new Command('bench')
  .description('Compare a node with the CRI calls alone on this machine. Needs root; run nothing else meanwhile.')
  .option('--runs <n>', 'repetitions of the first two series', count, 3)
  .option('--single <n>', 'pods of the series one at a time', count, 10)
  .option('--burst <n>', 'pods of the series all at once', count, 30)
  .option('--full <n>', 'pods of the full node; 0: skip it', count, 100)
  .option('--idle <seconds>', 'how long the full node is observed', count, 30)
  .option('--stream <MiB>', 'MiB through each stream; 0: skip streams', count, 1024)
  .option('--json <file>', 'write all figures to this file')
  .option('--kubelet <path>', 'compare with this kubelet, too; needs --apiserver and --etcd')
  .option('--apiserver <path>', 'the kube-apiserver of that comparison')
  .option('--etcd <path>', 'its etcd')
  .action(bench);
await program.parseAsync();

async function bench(options: Options): Promise<void> {
  const { full, stream, json } = options;
  const programs = referenceOf(options);
  const measured = await withFloor(options);
  if (full > 0) say(`${full} pods at once on a node whose services run in one process`);
  const hosted = full > 0 ? await hostedNode(full) : undefined;
  say(`a node of a cluster: pods with volumes one at a time, then ${full} at once`);
  const volumes = full > 0 ? await withVolumes(options.single, full) : undefined;
  say(`${options.burst} pods at once, with the cost of each message`);
  const messages = [await measureMessages('separate', options.burst), await measureMessages('hosted', options.burst)];
  if (stream > 0) say(`${stream} MiB through streams of containers`);
  const streams = stream > 0 ? await measureStreams(stream * 1024 * 1024) : undefined;
  const reference = programs && (await compareWithReference(programs, options, say));
  const { path, ...rest } = measured;
  const more = { hosted, volumes, streams, burst: options.burst, busShare: path.busShare };
  const { figures, processes } = figuresOf({ ...rest, ...more });
  console.log(`\n${await machine()}\n\n${formatFigures(figures)}\n\n${formatProcesses(processes)}`);
  for (const one of messages) console.log(`\n${formatMessages(one)}`);
  if (path.middle !== undefined) console.log(`\n${describePath(path.middle).join('\n')}`);
  if (reference !== undefined) console.log(`\n${formatComparison(reference, options)}`);
  if (json === undefined) return;
  const all = {
    machine: await machine(),
    figures,
    processes,
    ...measured,
    hosted,
    volumes,
    streams,
    messages,
    reference,
  };
  await writeFile(json, JSON.stringify(all, undefined, 2));
}

/** The programs of the reference; undefined when there is no comparison with it. */
function referenceOf({ kubelet, apiserver, etcd }: Options): ReferencePrograms | undefined {
  if (kubelet === undefined && apiserver === undefined && etcd === undefined) return undefined;
  if (kubelet === undefined || apiserver === undefined || etcd === undefined) {
    return program.error('error: --kubelet, --apiserver and --etcd belong together');
  }
  return { kubelet, apiserver, etcd };
}

/** Everything that is compared with the CRI calls alone. */
async function withFloor({ runs, single, burst, full, idle }: Options) {
  const floor = await Floor.start();
  try {
    const node = await BenchNode.start();
    try {
      const measurements = new Measurements(floor, node, say);
      say('one pod to warm up');
      await measurements.oneAtATime(1);
      const singles = [];
      const bursts = [];
      for (let run = 1; run <= runs; run += 1) {
        say(`run ${run} of ${runs}: ${single} pods one at a time`);
        singles.push(await measurements.oneAtATime(single));
        say(`run ${run} of ${runs}: ${burst} pods at once`);
        bursts.push(await measurements.atOnce(burst));
      }
      say('critical paths');
      const path = await measurements.paths(5);
      if (full > 0) say(`${full} pods at once`);
      const fullNode = full > 0 ? await measurements.fullNode(full, idle * 1000) : undefined;
      return { singles, bursts, fullNode, path };
    } finally {
      await node.stop();
    }
  } finally {
    await floor.stop();
  }
}

/** The machine on which the figures were measured. */
async function machine(): Promise<string> {
  const [cpu] = cpus();
  const memory = /^MemTotal:\s+(\d+)/m.exec(await readFile('/proc/meminfo', 'utf8'))?.[1];
  const gib = (Number(memory) / 1024 / 1024).toFixed(0);
  return `${cpus().length} x ${cpu?.model ?? 'unknown'}, ${gib} GiB, Linux ${release()}, Node.js ${process.version}`;
}

function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('must be a whole number');
  return value;
}
