import { runtimePod } from '@kubus/contracts';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { followLog, printLog } from '../container-log.ts';
import { type NodeLink, connectNode } from '../node-link.ts';
import { Pods } from '../pods.ts';
import { UserError } from '../user-error.ts';

interface LogsOptions {
  namespace: string;
  container?: string;
  follow?: boolean;
  previous?: boolean;
  tail: number;
  since?: number;
  timestamps?: boolean;
}

export function addLogs(program: Command): void {
  program
    .command('logs')
    .argument('<pod>', 'the pod')
    .argument('[container]', 'its container')
    .description('print what a container has written')
    .option('-n, --namespace <namespace>', 'its namespace', 'default')
    .option('-c, --container <name>', 'the container, if there is more than one')
    .option('-f, --follow', 'go on until the container ends')
    .option('-p, --previous', 'of the run before this one')
    .option('--tail <lines>', 'only the last lines', wholeNumber, Number.POSITIVE_INFINITY)
    .option('--since <duration>', 'only what is newer than a duration like 5s, 2m or 3h', duration)
    .option('--timestamps', 'with the time of each line')
    .action(async (pod: string, container: string | undefined, options: LogsOptions, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      await logs(link, pod, { ...options, ...(container !== undefined && { container }) });
    });
}

async function logs(link: NodeLink, name: string, options: LogsOptions): Promise<void> {
  const pod = (await Pods.read(link)).find(name, options.namespace, link.bus.node);
  const names = pod.work.pod?.spec.containers.map((one) => one.name) ?? [];
  const container = options.container ?? names[0] ?? '';
  if (!names.includes(container))
    throw new UserError(`container ${container} is not valid for pod ${pod.work.ref.name}`);
  if (options.container === undefined && names.length > 1) {
    console.error(`Defaulted container "${container}" out of: ${names.join(', ')}`);
  }
  const runs = await link.facts(runtimePod);
  const of = () => (runs.get(pod.uid)?.value.containers ?? []).filter((one) => one.name === container);
  const status = pod.status?.containerStatuses?.find((one) => one.name === container);
  // As for kubectl, the previous run is the one that the status tells of: while a container waits for its restart, that is
  // the newest one there is.
  const previous = status?.lastState?.terminated?.containerID;
  const run = options.previous === true ? of().find(({ id }) => previous?.endsWith(`//${id}`) === true) : of()[0];
  if (run === undefined) {
    if (options.previous === true) {
      throw new UserError(`previous terminated container "${container}" in pod "${pod.work.ref.name}" not found`);
    }
    const waiting = status?.state?.waiting;
    throw new UserError(
      `container "${container}" in pod "${pod.work.ref.name}" is waiting to start: ${waiting?.reason ?? 'ContainerCreating'}`,
    );
  }
  const view = {
    tail: options.tail,
    sinceMs: options.since === undefined ? undefined : Date.now() - options.since,
    timestamps: options.timestamps === true,
    write: (stream: 'stdout' | 'stderr', text: string) => process[stream].write(text),
  };
  if (options.follow !== true) await printLog(run.logPath, view);
  else await followLog(run.logPath, view, () => of().find(({ id }) => id === run.id)?.state !== 'running');
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('a whole number is needed');
  return Number(text);
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function duration(text: string): number {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  const unit = UNITS[match?.[2] ?? ''];
  if (match === null || unit === undefined) throw new InvalidArgumentError('a duration like 5s, 2m or 3h is needed');
  return Number(match[1]) * unit;
}
