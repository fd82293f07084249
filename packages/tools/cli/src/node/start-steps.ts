import { readFileSync, watch } from 'node:fs';
import { escapeControls } from '../output/output.ts';
import { UserError } from '../user-error.ts';

/** Prints the steps of a start, each with its duration in seconds. */
export class Progress {
  readonly #stream: Pick<NodeJS.WriteStream, 'write'> | undefined;
  readonly #verbose: boolean;
  #step: { what: string; began: number; isLineOpen: boolean } | undefined;

  /** @param stream where to print; undefined: nowhere */
  constructor(stream: Pick<NodeJS.WriteStream, 'write'> | undefined, verbose = false) {
    this.#stream = stream;
    this.#verbose = verbose;
  }

  /** A step begins; the one before has ended. */
  begin(what: string): void {
    this.end();
    this.#step = { what, began: performance.now(), isLineOpen: true };
    this.#write(`kubus: ${what} ... `);
  }

  /** What happens within a step, for those who want to see everything. */
  detail(text: string): void {
    if (!this.#verbose) return;
    this.#write(`${this.#step?.isLineOpen === true ? '\n' : ''}  ${text}\n`);
    if (this.#step !== undefined) this.#step.isLineOpen = false;
  }

  /** The step has ended. */
  end(): void {
    if (this.#step === undefined) return;
    const { what, began, isLineOpen } = this.#step;
    const seconds = `${((performance.now() - began) / 1000).toFixed(1)} s\n`;
    this.#write(isLineOpen ? seconds : `kubus: ${what} ... ${seconds}`);
    this.#step = undefined;
  }

  /** A line that is no step. */
  line(text: string): void {
    this.end();
    this.#write(`${text}\n`);
  }

  #write(text: string): void {
    this.#stream?.write(escapeControls(text));
  }
}

/** Does something as one step. */
export async function step<T>(progress: Progress, what: string, action: () => Promise<T>): Promise<T> {
  progress.begin(what);
  const result = await action();
  progress.end();
  return result;
}

/**
 * Prints each step in the launcher's log with its duration in seconds, until the node is started.
 *
 * @param launcher.from where its part of the log begins
 * @param signal ends the waiting with its reason
 * @throws UserError when the node cannot be started.
 */
export async function showSteps(
  progress: Progress,
  { log, from, exited }: { log: string; from: number; exited: Promise<string> },
  signal: AbortSignal,
): Promise<void> {
  let shown = from;
  const watcher = watch(log);
  const outcome = Promise.withResolvers<string | undefined>();
  const look = () => {
    const text = readFileSync(log).subarray(shown).toString();
    const end = text.lastIndexOf('\n') + 1;
    shown += Buffer.byteLength(text.slice(0, end));
    for (const line of text.slice(0, end).split('\n')) {
      const entry = parse(line);
      if (entry?.step !== undefined) progress.begin(entry.step);
      else if (entry?.msg !== undefined) progress.detail(entry.msg);
      if (entry?.failed !== undefined) outcome.resolve(entry.failed);
      if (entry?.started === true) outcome.resolve(undefined);
    }
  };
  watcher.on('change', look);
  void exited.then((status) => {
    look();
    outcome.resolve(`the launcher ended (${status}): see ${log}`);
  });
  look();
  signal.addEventListener('abort', () => outcome.resolve(undefined));
  const failed = await outcome.promise;
  watcher.close();
  progress.end();
  signal.throwIfAborted();
  if (failed !== undefined) throw new UserError(failed);
}

function parse(line: string): { step?: string; msg?: string; failed?: string; started?: boolean } | undefined {
  try {
    return JSON.parse(line) as { step?: string };
  } catch {
    return undefined;
  }
}
