import type { Cancel } from '@kubus/ports';
import type { ApiReader } from './api-reader.ts';

const FIRST_MS = 250;
const LONGEST_MS = 5_000;
/** Milliseconds between reads of something settled. */
const SETTLED_MS = 60_000;
/** Random fraction of a delay, so that polls that start together spread out. */
const JITTER = 0.2;

/**
 * Polls what a node may not watch: often while a change is expected, rarely afterwards. Returns the function that
 * stops it.
 *
 * @param look resolves with whether the state is settled; never rejects
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
