import { Session } from 'node:inspector';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** Sources of the workspace; packages of others are not looked at, and neither is this one. */
export const ownSources = /^file:.*\/(packages|services|proto)\/(?!.*node_modules)(?!testing\/)/;

/** Counts differ by powers of two: a loop that runs once more is nothing new. */
const bucket = (count: number): number => Math.min(8, 32 - Math.clz32(count));

/** What of the workspace's code has run since the last look, by V8's own counters (the ones of c8 and Node.js' test runner). */
export class Coverage {
  readonly #session = new Session();
  readonly #seen = new Set<string>();

  readonly #watched: RegExp;

  /** @param watched the URLs of the sources that count */
  constructor(watched: RegExp) {
    this.#watched = watched;
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** The blocks, with how often they have run, that have run since the last look and were never {@link keep kept}. */
  look(): string[] {
    const found: string[] = [];
    // The answer of the own thread comes before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw new Error(`no coverage: ${error.message}`);
      for (const { url, functions } of answer.result) {
        if (!this.#watched.test(url)) continue;
        for (const { ranges } of functions) for (const range of ranges) found.push(...this.#unseen(url, range));
      }
    });
    return found;
  }

  keep(blocks: readonly string[]): void {
    for (const block of blocks) this.#seen.add(block);
  }

  get size(): number {
    return this.#seen.size;
  }

  close(): void {
    this.#session.disconnect();
  }

  #unseen(url: string, { startOffset, endOffset, count }: Range): string[] {
    if (count === 0) return [];
    const block = `${url}:${startOffset}:${endOffset}:${bucket(count)}`;
    return this.#seen.has(block) ? [] : [block];
  }
}
