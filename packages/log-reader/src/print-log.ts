import { type LogEntry, LineJoiner } from '@kubus/container-log';
import { Changes } from './changes.ts';
import { lastLines } from './last-lines.ts';
import type { LogFile } from './log-file.ts';
import { LogFiles, closeAll } from './log-files.ts';
import { LogOutput, type LogView } from './log-output.ts';

/** Nobody ends the printing before it is through. */
const NEVER = new AbortController().signal;

/**
 * Prints what there is of the log of a container's run, the rotated files too: what is on disk is shown, where the
 * reference kubelet shows the newest file alone.
 *
 * @param path of the file that the runtime writes
 * @param stop aborted when nobody wants more of it: the printing then ends as soon as it can, and resolves
 *
 * Throws LogUnavailable when the log can not be read.
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
  /** Aborted when nothing more will be written. */
  readonly ended: AbortSignal;
  /** Aborted when nobody wants more of it: the printing then ends as soon as it can, and resolves. */
  readonly stop?: AbortSignal;
  /**
   * The runtime goes on for a moment with the file that it had: after the new one is there, or after the container's end.
   * It counts as through when nothing came for so many milliseconds (100 unless told).
   */
  readonly quietMs?: number;
}

/**
 * Prints a log and what is added to it, through all rotations, until the run has ended or the view's limit is reached.
 *
 * @param path of the file that the runtime writes
 *
 * Throws LogUnavailable when the log can not be read.
 */
export async function followLog(path: string, view: LogView, options: FollowOptions): Promise<void> {
  const follower = new Follower(path, view, options);
  try {
    await follower.follow();
  } finally {
    await follower.close();
  }
}

/** A file's times are coarser than those of its lines; so many milliseconds are between them at most. */
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

  /** Nothing more is to be printed: the limit is reached, or nobody wants it. */
  get over(): boolean {
    return this.#output.full || this.#stop.aborted;
  }

  /** What there is, or the end of it. */
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

  /** What was added to a file. True when something was. */
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

  /** Nothing more is to come. */
  async end(): Promise<void> {
    if (!this.over) await this.#output.print(this.#joiner.end());
  }

  readonly #isWanted = ({ stream }: LogEntry): boolean =>
    this.#view.stream === undefined || stream === this.#view.stream;
}

/** A file that is still written to after so many milliseconds is read along with the next one. */
const SETTLED_MS = 2_000;

class Follower {
  readonly #files: LogFiles;
  readonly #printing: Printing;
  readonly #changes: Changes;
  readonly #ended: AbortSignal;
  readonly #quietMs: number;
  /** The file that is written, after the one before it: lines may come late into that. */
  #open: readonly LogFile[] = [];
  /** The newest rotated file that there was when the last one was opened. */
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
      // Asked before the reading: what was written before the end is still printed.
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
    const begun = Date.now();
    for (let end = begun + this.#quietMs; Date.now() < end && !this.#printing.over;) {
      await this.#changes.next(end - Date.now());
      if (await this.#more()) end = Math.min(Date.now() + this.#quietMs, begun + SETTLED_MS);
    }
  }

  /** Leaves a file that was rotated for the next one; whole files may lie between when this program was held up. */
  async #goOn(): Promise<void> {
    await this.#settle();
    const head = (await this.#open.at(-1)?.head()) ?? '';
    const { files, newest } = await this.#files.openAfter(this.#newest);
    const [first] = files;
    // What was read so far is there once more, under its new name.
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
