import { KubusError, type Random, toError } from '@kubus/ports';
import { Coverage, ownSources } from './coverage.ts';
import { mutate } from './mutate.ts';

/** A parser of bytes that come from outside. */
export interface Target {
  readonly about: string;
  /** Reads them. A KubusError is a refusal as it should be; any other error, and a false statement about the result, is a finding. */
  readonly read: (bytes: Buffer) => unknown;
}

interface Finding {
  readonly input: Buffer;
  readonly error: string;
}

export interface Outcome {
  readonly inputs: number;
  /** Blocks of code that were reached, times how often. */
  readonly blocks: number;
  readonly findings: readonly Finding[];
  /** The inputs that reached something which no one before them had reached, seeds included. */
  readonly corpus: readonly Buffer[];
}

/** Looking at the counters takes as long as hundreds of inputs, so it is done for many, and again for parts only of those that found something. */
const BATCH = 128;
/** Of one kind of error one example is enough. */
const MOST_FINDINGS = 20;

/**
 * Gives a parser the seeds and then changed ones, until the time is over. Inputs that reach code which was not reached before become seeds.
 *
 * @param until milliseconds of `performance.now()`
 * @param begins called with each input before it is read, so that one that is never finished is known
 */
export async function fuzz(
  target: Target,
  options: {
    seeds: readonly Buffer[];
    random: Random;
    until: number;
    begins?: (input: Buffer) => void;
    /** Of which sources the code counts. Default: those of the workspace. */
    watched?: RegExp;
  },
): Promise<Outcome> {
  const { random, begins } = options;
  const coverage = new Coverage(options.watched ?? ownSources);
  const corpus: Buffer[] = [];
  const findings = new Map<string, Finding>();
  let inputs = 0;

  const run = async (input: Buffer): Promise<void> => {
    inputs += 1;
    begins?.(input);
    try {
      await target.read(input);
    } catch (thrown) {
      if (thrown instanceof KubusError) return;
      const error = toError(thrown);
      const text = error.stack ?? error.message;
      const kind = text
        .split('\n')
        .slice(0, 2)
        .join('\n')
        .replaceAll(/"[^"]*"|\d+/g, '');
      if (!findings.has(kind)) findings.set(kind, { input, error: text });
    }
  };
  const learn = async (batch: readonly Buffer[], isRepeated = false): Promise<void> => {
    if (isRepeated) coverage.look();
    for (const input of batch) await run(input);
    const blocks = coverage.look();
    if (blocks.length === 0) return;
    const [first] = batch;
    if (batch.length === 1 && first !== undefined) {
      corpus.push(first);
    } else {
      const half = batch.length >> 1;
      await learn(batch.slice(0, half), true);
      await learn(batch.slice(half), true);
    }
    // Also what a part alone did not reach again, such as what runs only once.
    coverage.keep(blocks);
  };

  try {
    for (const seed of options.seeds) await learn([seed]);
    while (performance.now() < options.until && findings.size < MOST_FINDINGS) {
      const known = corpus.length > 0 ? corpus : options.seeds;
      // The latest ones reach the farthest.
      const pick = () =>
        known[
          random.chance(0.5) ? random.below(known.length) : known.length - 1 - random.below(Math.min(16, known.length))
        ];
      await learn(
        Array.from({ length: BATCH }, () => mutate(random, pick() ?? Buffer.alloc(0), pick() ?? Buffer.alloc(0))),
      );
    }
    return { inputs, blocks: coverage.size, findings: [...findings.values()], corpus };
  } finally {
    coverage.close();
  }
}
