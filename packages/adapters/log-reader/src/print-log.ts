import { type LogEntry, LineJoiner } from '@kubus/container-log';
import { Changes } from './changes.ts';
import { lastLines } from './last-lines.ts';
import type { LogFile } from './log-file.ts';
import { LogFiles, closeAll } from './log-files.ts';
import { LogOutput, type LogView } from './log-output.ts';

/** A signal for output that is never stopped early. */
const NEVER = new AbortController().signal;

/**
 * Prints the existing log of a container's run, including rotated files, of which the reference kubelet shows only
 * the newest.
 *
 * @param path of the file that the runtime writes
 * @param stop aborted to stop the output, which then resolves as soon as it can
 *
 * Throws LogUnavailable when the log cannot be read.
 */
export async function printLog(path: string, view: LogView, stop: AbortSignal = NEVER): Promise<void> {
  const printing = new Printing(view, stop);
  const { files } = await new LogFiles(path).open();
  try {
    await printing.begin(files);
    await printing.end();
  } finally {
    await closeAll(files);
  }
}

export interface FollowOptions {
  /** Aborted when the log is complete. */
  readonly ended: AbortSignal;
  /** Aborted to stop the output, which then resolves as soon as it can. */
  readonly stop?: AbortSignal;
  /**
   * The runtime may still write to the previous file for a moment: after the new one exists, or after the container's
   * end. A file counts as complete after this many milliseconds without a write (default 100).
   */
  readonly quietMs?: number;
}

/**
 * Prints a log and follows it through all rotations, until the run has ended or the view's limit is reached.
 *
 * @param path of the file that the runtime writes
 *
 * Throws LogUnavailable when the log cannot be read.
 */
export async function followLog(path: string, view: LogView, options: FollowOptions): Promise<void> {
  const follower = new Follower(path, view, options);
  try {
    await follower.follow();
  } finally {
    await follower.close();
  }
}

/** Modification times of files are coarser than those of lines; this is the maximum difference in milliseconds. */
const CLOCKS_MS = 1_000;

/** Turns files into printed lines. */
class Printing {
  readonly #view: LogView;
  readonly #output: LogOutput;
  readonly #joiner = new LineJoiner();
  readonly #stop: AbortSignal;

  constructor(view: LogView, stop: AbortSignal) {
    this.#view = view;
    this.#output = new LogOutput(view);
    this.#stop = stop;
  }

  /** The output is finished: the limit is reached, or it was stopped. */
  get over(): boolean {
    return this.#output.full || this.#stop.aborted;
  }

  /** The existing lines, or the last of them. */
  async begin(files: readonly LogFile[]): Promise<void> {
    const { tail, sinceNanos } = this.#view;
    if (tail === Number.POSITIVE_INFINITY) {
      for (const file of files) {
        const isOld =
          sinceNanos !== undefined && (await file.writtenAt()) + CLOCKS_MS < Number(sinceNanos / 1_000_000n);
        if (!isOld && !this.over) await this.more(file);
      }
      return;
    }
    const { lines, open } = await lastLines(files, tail, this.#isWanted);
    await this.#output.print(lines);
    for (const entry of open) this.#joiner.add(entry);
  }

  /** Prints the additions to a file. True if there were any. */
  async more(file: LogFile): Promise<boolean> {
    let any = false;
    for await (const entries of file.entries()) {
      any ||= entries.length > 0;
      const wanted = entries.filter(this.#isWanted);
      await this.#output.print(wanted.flatMap((entry) => this.#joiner.add(entry) ?? []));
      if (this.over) break;
    }
    return any;
  }

  /** The log is complete. */
  async end(): Promise<void> {
    if (!this.over) await this.#output.print(this.#joiner.end());
  }

  readonly #isWanted = ({ stream }: LogEntry): boolean =>
    this.#view.stream === undefined || stream === this.#view.stream;
}

/** A file that is still written after this many milliseconds is read together with the next one. */
const SETTLED_MS = 2_000;

class Follower {
  readonly #files: LogFiles;
  readonly #printing: Printing;
  readonly #changes: Changes;
  readonly #ended: AbortSignal;
  readonly #quietMs: number;
  /** The current file, after the previous one, which may still get late lines. */
  #open: readonly LogFile[] = [];
  /** The newest rotated file at the time the last one was opened. */
  #newest = '';

  constructor(path: string, view: LogView, { ended, stop = NEVER, quietMs = 100 }: FollowOptions) {
    this.#files = new LogFiles(path);
    this.#printing = new Printing(view, stop);
    this.#ended = ended;
    this.#quietMs = quietMs;
    this.#changes = new Changes(this.#files.folder, [ended, stop]);
  }

  async follow(): Promise<void> {
    const { files, newest } = await this.#files.open();
    this.#newest = newest;
    this.#open = files;
    await this.#printing.begin(files);
    await this.#keepLast(1);
    while (!this.#printing.over) {
      // Checked before reading: lines written before the end are still printed.
      const last = this.#ended.aborted;
      await this.#more();
      if (await this.#isReplaced()) await this.#goOn();
      else if (!last) await this.#changes.next();
      else {
        await this.#settle();
        if (!(await this.#isReplaced())) break;
      }
    }
    await this.#printing.end();
  }

  close(): Promise<void> {
    this.#changes.close();
    return closeAll(this.#open);
  }

  #isReplaced(): Promise<boolean> {
    return this.#files.isReplaced(this.#open.at(-1));
  }

  async #more(): Promise<boolean> {
    let any = false;
    for (const file of this.#open) any = (await this.#printing.more(file)) || any;
    return any;
  }

  async #settle(): Promise<void> {
    const start = Date.now();
    for (let end = start + this.#quietMs; Date.now() < end && !this.#printing.over;) {
      await this.#changes.next(end - Date.now());
      if (await this.#more()) end = Math.min(Date.now() + this.#quietMs, start + SETTLED_MS);
    }
  }

  /** Switches from a rotated file to the next one; complete files may be in between if this program was delayed. */
  async #goOn(): Promise<void> {
    await this.#settle();
    const head = (await this.#open.at(-1)?.head()) ?? '';
    const { files, newest } = await this.#files.openAfter(this.#newest);
    const [first] = files;
    // The part that was already read exists again under its new name.
    const isOwn = first !== undefined && newest !== this.#newest && (await first.head()).startsWith(head);
    if (isOwn) await first.close();
    const next = isOwn ? files.slice(1) : files;
    this.#open = [...this.#open, ...next];
    this.#newest = newest;
    for (const file of next) await this.#printing.more(file);
    await this.#keepLast(2);
  }

  async #keepLast(count: number): Promise<void> {
    const old = this.#open.slice(0, -count);
    this.#open = this.#open.slice(-count);
    await closeAll(old);
  }
}
