import type { Cancel, Clock, Ids } from '@kubus/ports';
import type { Tape } from './tape.ts';

/** A clock on a tape. */
export function tapedClock(tape: Tape, real?: Clock): Clock {
  return {
    now: () => tape.now(),
    after: (ms, action): Cancel => {
      const cancel = tape.open(
        { what: 'after', detail: ms },
        (arrive) => real?.after(ms, () => arrive({ value: null })) ?? (() => undefined),
        () => {
          cancel();
          action();
        },
      );
      return cancel;
    },
  };
}

/** Random identity on a tape. */
export function tapedIds(tape: Tape, real: Ids): Ids {
  return {
    hex: (bytes) => tape.value(() => real.hex(bytes)),
    fraction: () => tape.value(() => real.fraction()),
  };
}
