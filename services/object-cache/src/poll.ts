import type { Cancel } from '@kubus/ports';
import type { ApiReader } from './api-reader.ts';

const FIRST_MS = 250;
const LONGEST_MS = 5_000;
/** Between two looks at what is as it is to be. */
const SETTLED_MS = 60_000;
/** The part of a wait that is random, so that what began together does not go on together. */
const JITTER = 0.2;

/**
 * Looks at once, and then again and again, at what a node may not watch: soon as long as something is still to come, later
 * when it has. Returns how to end it.
 *
 * @param look resolves with whether everything is there; never rejects
 */
export function poll(
  { clock, random }: Pick<ApiReader, 'clock' | 'random'>,
  look: (signal: AbortSignal) => Promise<boolean>,
): () => void {
  const ending = new AbortController();
  let timer: Cancel | undefined;
  let waitMs = FIRST_MS;
  const next = async (): Promise<void> => {
    const settled = await look(ending.signal);
    if (ending.signal.aborted) return;
    const ms = settled ? SETTLED_MS : waitMs;
    waitMs = settled ? FIRST_MS : Math.min(waitMs * 2, LONGEST_MS);
    timer = clock.after(ms * (1 + JITTER * random()), () => void next());
  };
  void next();
  return () => {
    ending.abort();
    timer?.();
  };
}
