import { toError } from '@kubus/ports';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { type LogQuery, journalArguments } from './log-query.ts';
import { openSystemLog } from './system-logs.ts';

/** How long a query may take, in milliseconds; as in the reference. */
const LIMIT_MS = 30_000;
/** Size limit for the list of all units' names, in bytes. */
const MOST_BYTES = 16 * 1024 * 1024;

export interface JournalOptions {
  /** The program that reads the machine's journal, `journalctl`. */
  readonly program: string;
  /** The folder for the logs of services that do not write into the journal. */
  readonly folder: string;
}

/**
 * The logs of services: from the journal for units that it knows, for others from files of their name. An error while
 * reading is a line of the text, as in the reference. Destroying the text ends it and its programs.
 */
export function serviceLogs({ services, options }: LogQuery, { program, folder }: JournalOptions): Readable {
  const text = new PassThrough();
  const disconnected = new AbortController();
  text.once('close', () => disconnected.abort());
  const signal = AbortSignal.any([disconnected.signal, AbortSignal.timeout(LIMIT_MS)]);
  const write = async () => {
    const units = await unitsOf(program, signal);
    const others = services.filter((service) => !units.has(`${service}.service`));
    if (others.length === 0) return runInto(text, program, journalArguments(services, options), signal);
    if (Object.keys(options).length > 0) {
      text.write(
        `\noptions present and query resolved to log files for [${others.join(' ')}]\ntry without specifying options\n`,
      );
      return undefined;
    }
    for (const service of others) await copyLog(text, folder, service);
    return undefined;
  };
  write()
    .catch((error: unknown) => void text.write(`\nerror: ${toError(error).message}\n`))
    .finally(() => text.end());
  return text;
}

/** The units that the journal lists; empty when there is no journal. */
async function unitsOf(program: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--field=_SYSTEMD_UNIT'], { signal, maxBuffer: MOST_BYTES });
    return new Set(stdout.split('\n'));
  } catch (error) {
    if (signal.aborted) throw error;
    return new Set();
  }
}

async function runInto(
  text: PassThrough,
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], signal, killSignal: 'SIGKILL' });
  const ended = once(child, 'close');
  child.stdout.pipe(text, { end: false });
  child.stderr.pipe(text, { end: false });
  try {
    await ended;
  } catch (error) {
    if (signal.aborted) throw error;
    text.write('\nerror: journal output not available\n');
  }
}

/** The first of `NAME`, `NAME.log` and `NAME/NAME.log` that exists. */
async function copyLog(text: PassThrough, folder: string, service: string): Promise<void> {
  for (const path of [service, `${service}.log`, `${service}/${service}.log`]) {
    const found = await openSystemLog(folder, path);
    if (found !== undefined && 'file' in found) {
      await pipeline(found.file.createReadStream(), text, { end: false });
      return;
    }
  }
  text.write(`\nlog not found for ${service}\n`);
}
