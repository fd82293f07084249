import { toError } from '@kubus/ports';
import { GuestError } from './errors.ts';
import type { Say } from './progress.ts';

/** One thing that a group has found to hold, or not. */
export interface Check {
  readonly what: string;
  /** Undefined: it holds. */
  readonly failure: string | undefined;
}

/** What a group has checked so far. A failed check does not end its group: each says something of its own. */
export class Checks {
  readonly done: Check[] = [];
  readonly #say: Say;

  constructor(say: Say) {
    this.#say = say;
  }

  /** Runs one check, which holds when nothing is thrown. Returns undefined when it does not. */
  async check<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    const start = performance.now();
    let failure: string | undefined;
    let result: T | undefined;
    try {
      result = await work();
    } catch (error) {
      failure = toError(error).message;
    }
    this.done.push({ what, failure });
    const seconds = Math.round((performance.now() - start) / 1_000);
    this.#say(
      `  ${failure === undefined ? 'ok' : 'FAILED'}: ${what} (${seconds} s)${failure === undefined ? '' : `\n${indented(failure)}`}`,
    );
    return result;
  }
}

/** @throws GuestError with the lines, where there are any. */
export function expectNone(what: string, lines: readonly string[]): void {
  if (lines.length > 0) throw new GuestError('Unexpected', `${what}:\n${lines.join('\n')}`);
}

/** @throws GuestError that names both, where they differ. */
export function expectSame(what: string, expected: string, found: string): void {
  if (expected !== found) throw new GuestError('Unexpected', `${what}: expected ${expected}, found ${found}`);
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}
