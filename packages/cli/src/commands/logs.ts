import { runtimePod } from '@kubus/contracts';
import { bareContainerId, chooseRun, timeNanos } from '@kubus/container-log';
import { type LogView, followLog, printLog } from '@kubus/log-reader';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { chooseContainers } from '../logs/choose-containers.ts';
import { parseDuration, sinceNanos } from '../logs/since.ts';
import { type NodeLink, connectNode } from '../node-link.ts';
import { type PodView, Pods } from '../pods.ts';
import { UserError } from '../user-error.ts';

interface LogsOptions {
  namespace: string;
  container?: string;
  allContainers?: boolean;
  follow?: boolean;
  previous?: boolean;
  prefix?: boolean;
  tail: number;
  since?: bigint;
  sinceTime?: string;
  limitBytes: number;
  timestamps?: boolean;
}

export function addLogs(program: Command): void {
  program
    .command('logs')
    .argument('<pod>', 'the pod')
    .argument('[container]', 'its container')
    .description(
      'print what a container has written, stdout and stderr; also what lies in rotated files, which kubectl does not show',
    )
    .option('-n, --namespace <namespace>', 'its namespace', 'default')
    .option('-c, --container <name>', 'the container, if there is more than one')
    .addOption(new Option('--all-containers', 'all containers of the pod').conflicts('container'))
    .option('-f, --follow', 'go on until the container ends')
    .option('-p, --previous', 'of the run before this one')
    .option('--tail <lines>', 'only the last lines; -1: all', lineCount, Number.POSITIVE_INFINITY)
    .option('--since <duration>', 'only what is newer than a duration like 5s, 2m or 1h30m', duration)
    .addOption(
      new Option('--since-time <time>', 'only what is not older than a time (RFC 3339)')
        .argParser(time)
        .conflicts('since'),
    )
    .option('--limit-bytes <bytes>', 'not more than so many bytes; 0: all', byteCount, Number.POSITIVE_INFINITY)
    .option('--timestamps', 'with the time of each line')
    .option('--prefix', 'with the names of pod and container before each line')
    .action(async (pod: string, container: string | undefined, options: LogsOptions, command: Command) => {
      if (container !== undefined && (options.container !== undefined || options.allContainers === true)) {
        command.error('error: the container can be named once, and not together with --all-containers');
      }
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      await logs(link, pod, { ...options, ...(container !== undefined && { container }) });
    });
}

async function logs(link: NodeLink, name: string, options: LogsOptions): Promise<void> {
  const pod = (await Pods.read(link)).find(name, options.namespace, link.bus.node);
  const { work } = pod;
  if (work.pod === undefined) throw new UserError(`pod ${work.ref.name} is not wanted any more and is being removed`);
  const { names, notice } = chooseContainers(work.pod, { container: options.container, all: options.allContainers });
  if (notice !== undefined) console.error(notice);
  // Whoever reads has enough, such as `head`.
  process.stdout.once('error', () => process.exit());
  const runs = await Runs.read(link, pod);
  const since = sinceNanos(options, Date.now());
  const show = async (container: string) => {
    const id = chooseRun(work.ref.name, container, pod.status, { previous: options.previous === true });
    const view: LogView = {
      tail: options.tail,
      sinceNanos: since,
      limitBytes: options.limitBytes,
      timestamps: options.timestamps === true,
      prefix: options.prefix === true ? `[pod/${work.ref.name}/${container}] ` : '',
      write: toStdout,
    };
    const path = runs.logPath(id);
    await (options.follow === true ? followLog(path, view, { ended: runs.ended(id) }) : printLog(path, view));
  };
  if (options.follow === true) await Promise.all(names.map(show));
  else for (const container of names) await show(container);
}

/** As fast as whoever reads it. */
async function toStdout(bytes: Uint8Array): Promise<void> {
  await new Promise((resolve) => process.stdout.write(bytes, resolve));
}

/** The runs of one pod's containers, as the runtime has them. */
class Runs {
  readonly #uid: string;
  readonly #ends = new Map<string, AbortController>();
  #state: (id: string) => { readonly state: string; readonly logPath: string } | undefined = () => undefined;

  private constructor(uid: string) {
    this.#uid = uid;
  }

  static async read(link: NodeLink, { uid }: PodView): Promise<Runs> {
    const runs = new Runs(uid);
    const look = () => runs.#look();
    const facts = await link.facts(runtimePod, { changed: look, removed: look });
    runs.#state = (id) => facts.get(runs.#uid)?.value.containers.find((one) => one.id === bareContainerId(id));
    return runs;
  }

  /** Where a run's log is. Throws a {@link UserError} when the runtime has forgotten the run. */
  logPath(id: string): string {
    const path = this.#state(id)?.logPath ?? '';
    if (path === '') throw new UserError(`unable to retrieve container logs for ${id}`);
    return path;
  }

  /** Aborted when a run has ended. */
  ended(id: string): AbortSignal {
    const end = new AbortController();
    this.#ends.set(id, end);
    this.#look();
    return end.signal;
  }

  #look(): void {
    for (const [id, end] of this.#ends) if (this.#state(id)?.state !== 'running') end.abort();
  }
}

/** All where kubectl takes a number for that. */
function lineCount(text: string): number {
  return text === '-1' ? Number.POSITIVE_INFINITY : wholeNumber(text);
}

function byteCount(text: string): number {
  return wholeNumber(text) || Number.POSITIVE_INFINITY;
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('a whole number is needed');
  return Number(text);
}

function duration(text: string): bigint | undefined {
  const nanos = parseDuration(text);
  if (nanos === undefined) throw new InvalidArgumentError('a duration like 5s, 2m or 1h30m is needed');
  return nanos === 0n ? undefined : nanos;
}

function time(text: string): string {
  if (timeNanos(text) === undefined) throw new InvalidArgumentError('a time like 2030-01-01T00:00:00Z is needed');
  return text;
}
