import { LineJoiner } from '@kubus/container-log';
import { Changes } from './changes.ts';
import { lastLines } from './last-lines.ts';
import type { LogFile } from './log-file.ts';
import { LogFiles, closeAll } from './log-files.ts';
import { LogOutput, type LogView } from './log-output.ts';

/**
 * Prints what there is of the log of a container's run, the rotated files too: what is on disk is shown, where the
 * reference kubelet shows the newest file alone.
 *
 * @param path of the file that the runtime writes
 *
 * Throws a UserError when the log can not be read.
 */
export async function printLog(path: string, view: LogView): Promise<void> {
  const printing = new Printing(view);
  const { files } = await new LogFiles(path).open();
  try {
    await printing.begin(files);
    printing.end();
  } finally {
    await closeAll(files);
  }
}

/**
 * Prints a log and what is added to it, through all rotations, until the run has ended or the view's limit is reached.
 *
 * @param ended aborted when nothing more will be written
 * @param quietMs The runtime goes on for a moment with the file that it had: after the new one is there, or after the
 * container's end. It counts as through when nothing came for so many milliseconds.
 */
export async function followLog(path: string, view: LogView, ended: AbortSignal, quietMs = 100): Promise<void> {
  const follower = new Follower({ path, view, ended, quietMs });
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

  constructor(view: LogView) {
    this.#view = view;
    this.#output = new LogOutput(view);
  }

  get full(): boolean {
    return this.#output.full;
  }

  /** What there is, or the end of it. */
  async begin(files: readonly LogFile[]): Promise<void> {
    const { tail, sinceNanos } = this.#view;
    if (tail === Number.POSITIVE_INFINITY) {
      for (const file of files) {
        const isOld =
          sinceNanos !== undefined && (await file.writtenAt()) + CLOCKS_MS < Number(sinceNanos / 1_000_000n);
        if (!isOld && !this.full) await this.more(file);
      }
      return;
    }
    const { lines, open } = await lastLines(files, tail);
    this.#output.print(lines);
    for (const entry of open) this.#joiner.add(entry);
  }

  /** What was added to a file. True when something was. */
  async more(file: LogFile): Promise<boolean> {
    let any = false;
    for await (const entries of file.entries()) {
      any ||= entries.length > 0;
      this.#output.print(entries.flatMap((entry) => this.#joiner.add(entry) ?? []));
      if (this.full) break;
    }
    return any;
  }

  /** Nothing more is to come. */
  end(): void {
    this.#output.print(this.#joiner.end());
  }
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

  constructor(options: { path: string; view: LogView; ended: AbortSignal; quietMs: number }) {
    this.#files = new LogFiles(options.path);
    this.#printing = new Printing(options.view);
    this.#ended = options.ended;
    this.#quietMs = options.quietMs;
    this.#changes = new Changes(this.#files.folder, options.ended);
  }

  async follow(): Promise<void> {
    const { files, newest } = await this.#files.open();
    this.#newest = newest;
    this.#open = files;
    await this.#printing.begin(files);
    await this.#keepLast(1);
    while (!this.#printing.full) {
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
    this.#printing.end();
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
    for (let end = begun + this.#quietMs; Date.now() < end;) {
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
