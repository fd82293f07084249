import { toError } from '@kubus/ports';
import type { Store } from '../store.ts';

/** After which time a step that has failed, as on a full disk, is tried again, in milliseconds. */
const RETRY_MS = 5_000;

export interface ControllerOptions {
  readonly store: Store;
  /** The tables on whose changes it depends. */
  readonly tables: readonly string[];
  /**
   * Brings the objects to where they belong.
   *
   * @param again has it called once more after so many milliseconds; the last call of it counts.
   */
  readonly look: (again: (ms: number) => void) => void;
  /** A step has failed; it is tried again. */
  readonly onError: (error: Error) => void;
}

/** Calls `look` now, and again after changes: once for all of a turn, when watches have got them. Returns a function that ends it. */
export function startController({ store, tables, look, onError }: ControllerOptions): () => void {
  let hasEnded = false;
  let isDue = false;
  let timer: NodeJS.Timeout | undefined;
  const again = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(soon, ms).unref();
  };
  const run = () => {
    isDue = false;
    if (hasEnded) return;
    try {
      look(again);
    } catch (error) {
      onError(toError(error));
      again(RETRY_MS);
    }
  };
  const soon = () => {
    if (isDue) return;
    isDue = true;
    setImmediate(run);
  };
  const unfollow = store.follow(({ resource }) => {
    if (tables.includes(resource)) soon();
  });
  soon();
  return () => {
    hasEnded = true;
    clearTimeout(timer);
    unfollow();
  };
}
