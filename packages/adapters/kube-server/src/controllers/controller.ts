import { setTimeout as wait } from 'node:timers/promises';
import { toError } from '@kubus/ports';
import type { Store } from '../store.ts';

/** After which time a step that has failed, as on a full disk, is tried again, in milliseconds. */
const RETRY_MS = 5_000;

export interface ControllerOptions {
  readonly store: Store;
  /** The tables on whose changes it depends. */
  readonly tables: readonly string[];
  /** Brings the objects to where they belong. */
  readonly look: () => void;
  /** A step has failed; it is tried again. */
  readonly onError: (error: Error) => void;
}

/** Calls `look` now, and again after changes: once for all of a turn, when watches have got them. Returns a function that ends it. */
export function startController({ store, tables, look, onError }: ControllerOptions): () => void {
  const ended = new AbortController();
  let isDue = false;
  const run = () => {
    isDue = false;
    if (ended.signal.aborted) return;
    try {
      look();
    } catch (error) {
      onError(toError(error));
      wait(RETRY_MS, undefined, { signal: ended.signal, ref: false }).then(soon, () => undefined);
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
    ended.abort();
    unfollow();
  };
}
