import { timeNanos } from '@kubus/container-log';
import { type NodeClient, type QueryParameters, apiPath } from '@kubus/node-client';
import { toError } from '@kubus/ports';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { findPod } from '../api-pods.ts';
import { chooseContainers } from '../choose-containers.ts';
import { parseDuration, sinceTime } from '../logs/since.ts';
import { WholeLines } from '../logs/whole-lines.ts';
import { nodeApi, rootDirOption } from '../node-socket.ts';
import { writeTo } from '../output-stream.ts';
import { UserError } from '../user-error.ts';

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
    .option('--tail <lines>', 'only the last lines; -1: all', lineCount)
    .option('--since <duration>', 'only what is newer than a duration like 5s, 2m or 1h30m', duration)
    .addOption(
      new Option('--since-time <time>', 'only what is not older than a time (RFC 3339)')
        .argParser(time)
        .conflicts('since'),
    )
    .option('--limit-bytes <bytes>', 'not more than so many bytes; 0: all', byteCount)
    .option('--timestamps', 'with the time of each line')
    .option('--prefix', 'with the names of pod and container before each line')
    .addOption(rootDirOption())
    .action(async (pod: string, container: string | undefined, options: LogsOptions, command: Command) => {
      if (container !== undefined && (options.container !== undefined || options.allContainers === true)) {
        command.error('error: the container can be named once, and not together with --all-containers');
      }
      await logs(nodeApi(command), pod, { ...options, ...(container !== undefined && { container }) });
    });
}

async function logs(client: NodeClient, name: string, options: LogsOptions): Promise<void> {
  const pod = await findPod(client, name, options.namespace);
  const { metadata } = pod;
  const { names, notice } = chooseContainers(pod, { container: options.container, all: options.allContainers });
  if (notice !== undefined) console.error(notice);
  const query = logQuery(options, Date.now());
  const show = async (container: string) => {
    const log = await client.begin(apiPath(['containerLogs', metadata.namespace, metadata.name, container], query));
    const prefix = options.prefix === true ? `[pod/${metadata.name}/${container}] ` : '';
    // Of one container everything is shown at once, also the beginning of a line.
    const lines = prefix === '' && names.length === 1 ? undefined : new WholeLines(prefix);
    try {
      for await (const chunk of log as AsyncIterable<Buffer>) await writeTo(process.stdout, lines?.add(chunk) ?? chunk);
    } catch (error) {
      throw new UserError(`the log of ${container} broke off: ${toError(error).message}`);
    } finally {
      if (lines !== undefined) await writeTo(process.stdout, lines.end());
    }
  };
  if (options.follow === true) await Promise.all(names.map(show));
  else for (const container of names) await show(container);
}

/** What of a log is asked for, as the query of /containerLogs. */
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

/** All where kubectl takes a number for that. */
function lineCount(text: string): number | undefined {
  return text === '-1' ? undefined : wholeNumber(text);
}

function byteCount(text: string): number | undefined {
  return wholeNumber(text) || undefined;
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
