import { type NodeClient, type QueryParameters, apiPath } from '@kubus/node-client';
import { parseGoDuration, timeNanos } from '@kubus/pod';
import { toError } from '@kubus/ports';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { findPod } from '../pods/api-pods.ts';
import { chooseContainers } from '../pods/choose-containers.ts';
import { sinceTime } from '../logs/since.ts';
import { WholeLines } from '../logs/whole-lines.ts';
import { nodeApi, rootDirOption } from '../node/node-socket.ts';
import { writeTo } from '../output/output-stream.ts';
import { UserError } from '../user-error.ts';
import { printError } from '../output/output.ts';

interface LogsOptions {
  namespace: string;
  container?: string;
  allContainers?: boolean;
  follow?: boolean;
  previous?: boolean;
  prefix?: boolean;
  tail?: number;
  since?: bigint;
  sinceTime?: string;
  limitBytes?: number;
  timestamps?: boolean;
}

export function addLogs(program: Command): void {
  program
    .command('logs')
    .argument('<pod>', 'name of the pod')
    .argument('[container]', 'container of the pod, as with --container')
    .description('print the log of a container, including rotated files, which kubectl does not show')
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option('-c, --container <name>', 'container of the pod; default: the annotated or the first one')
    .addOption(new Option('--all-containers', 'print the logs of all containers of the pod').conflicts('container'))
    .option('-f, --follow', 'keep printing new lines until the container ends')
    .option('-p, --previous', 'print the log of the previous run of the container')
    .option('--tail <lines>', 'print only this many last lines; -1: all', lineCount)
    .option('--since <duration>', 'print only lines newer than a duration like 5s, 2m or 1h30m', duration)
    .addOption(
      new Option('--since-time <time>', 'print only lines from this time on (RFC 3339)')
        .argParser(time)
        .conflicts('since'),
    )
    .option('--limit-bytes <bytes>', 'print at most this many bytes; 0: all', byteCount)
    .option('--timestamps', 'print the time of each line')
    .option('--prefix', 'print the names of pod and container before each line')
    .addOption(rootDirOption())
    .action(async (pod: string, container: string | undefined, options: LogsOptions, command: Command) => {
      if (container !== undefined && (options.container !== undefined || options.allContainers === true)) {
        command.error('error: name the container once, and not together with --all-containers');
      }
      await logs(nodeApi(command), pod, { ...options, ...(container !== undefined && { container }) });
    });
}

async function logs(client: NodeClient, name: string, options: LogsOptions): Promise<void> {
  const pod = await findPod(client, name, options.namespace);
  const { metadata } = pod;
  const { names, notice } = chooseContainers(pod, { container: options.container, all: options.allContainers });
  if (notice !== undefined) printError(notice);
  const query = logQuery(options, Date.now());
  const show = async (container: string) => {
    const log = await client.begin(apiPath(['containerLogs', metadata.namespace, metadata.name, container], query));
    const prefix = options.prefix === true ? `[pod/${metadata.name}/${container}] ` : '';
    // The output of a single container is shown as it arrives, incomplete lines too.
    const lines = prefix === '' && names.length === 1 ? undefined : new WholeLines(prefix);
    try {
      for await (const chunk of log as AsyncIterable<Buffer>) await writeTo(process.stdout, lines?.add(chunk) ?? chunk);
    } catch (error) {
      throw new UserError(`reading the log of container ${container} failed: ${toError(error).message}`);
    } finally {
      if (lines !== undefined) await writeTo(process.stdout, lines.end());
    }
  };
  if (options.follow === true) await Promise.all(names.map(show));
  else for (const container of names) await show(container);
}

/** The options as a query of /containerLogs. `now` in milliseconds since the Unix epoch. */
export function logQuery(options: Omit<LogsOptions, 'namespace'>, now: number): QueryParameters {
  const since = sinceTime(options, now);
  const { follow, previous, timestamps, tail, limitBytes } = options;
  return [
    ...(follow === true ? [['follow', 'true'] as const] : []),
    ...(previous === true ? [['previous', 'true'] as const] : []),
    ...(timestamps === true ? [['timestamps', 'true'] as const] : []),
    ...(tail === undefined ? [] : [['tailLines', String(tail)] as const]),
    ...(since === undefined ? [] : [['sinceTime', since] as const]),
    ...(limitBytes === undefined ? [] : [['limitBytes', String(limitBytes)] as const]),
  ];
}

/** Undefined for -1, with which kubectl asks for all lines. */
function lineCount(text: string): number | undefined {
  return text === '-1' ? undefined : wholeNumber(text);
}

function byteCount(text: string): number | undefined {
  return wholeNumber(text) || undefined;
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
}

function duration(text: string): bigint | undefined {
  const ms = parseGoDuration(text);
  if (ms === undefined || ms < 0) throw new InvalidArgumentError('must be a duration like 5s, 2m or 1h30m');
  return ms === 0 ? undefined : BigInt(Math.round(ms * 1e6));
}

function time(text: string): string {
  if (timeNanos(text) === undefined) throw new InvalidArgumentError('must be a time like 2030-01-01T00:00:00Z');
  return text;
}
