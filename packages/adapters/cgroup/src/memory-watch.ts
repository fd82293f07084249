import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

type Watcher = ChildProcessByStdio<Writable, Readable, Readable>;

/** How much of what the program says about its end is kept, in characters. */
const LONGEST = 500;

export interface MemoryWatchOptions {
  /** The compiled native/memory-watch.c. */
  readonly program: string;
  /** The group's folder in the hierarchy of the memory controller. */
  readonly folder: string;
  /** The group uses as much more as was set. */
  readonly reached: () => void;
  /** The program has ended by itself: nothing is watched any more. */
  readonly failed: (message: string) => void;
}

/** Waits for the kernel to say that a control group uses more memory (cgroup v1), with a native program that stays. */
export class MemoryWatch {
  readonly #child: Watcher;
  #stopped = false;

  constructor({ program, folder, reached, failed }: MemoryWatchOptions) {
    const child = spawn(program, [folder], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    let said = '';
    child.stdout.on('data', () => {
      if (!this.#stopped) reached();
    });
    child.stderr.setEncoding('utf8').on('data', (part: string) => (said = (said + part).slice(0, LONGEST)));
    const ended = (message: string) => {
      if (this.#stopped) return;
      this.#stopped = true;
      failed(message);
    };
    child.once('error', ({ message }) => ended(message));
    child.once('close', (code) => ended(said === '' ? `ended with ${String(code)}` : said.trim()));
    child.stdin.on('error', () => undefined);
  }

  /** From now on this many bytes more than the group uses now are waited for, once; earlier values do not count any more. */
  set(bytes: bigint): void {
    if (!this.#stopped) this.#child.stdin.write(`${bytes}\n`);
  }

  stop(): void {
    this.#stopped = true;
    this.#child.stdin.end();
  }
}
