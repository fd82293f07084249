import type { Bus, Cause } from '@kubus/bus';
import type { EventDeclaration, PodEvent } from '@kubus/contracts';
import { EventCorrelator, type Rate, TokenBucket } from '@kubus/event-correlator';
import type { Clock } from '@kubus/ports';

/** eventRecordQPS and eventBurst as the reference has them when nothing is configured. */
const DEFAULT_RATE: Rate = { qps: 50, burst: 100 };
/** How many events may wait for their turn (the queue of the reference's broadcaster); what comes then is not told. */
const QUEUED = 1000;

export interface EventRecorderOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  /** As which message the service's events are published. */
  readonly declaration: EventDeclaration<PodEvent>;
  /** Left out: the reference's. With `qps` 0 there is no limit. */
  readonly rate?: Rate | undefined;
}

/** One service's way to tell pods' users what happens: repeats are counted, and too many are not told or told later. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #correlator: EventCorrelator;
  /** Undefined: there is no limit. */
  readonly #turns: TokenBucket | undefined;
  readonly #maxWaitMs: number;

  constructor(options: EventRecorderOptions) {
    const { bus, rate = DEFAULT_RATE } = options;
    this.#options = options;
    this.#correlator = new EventCorrelator(`${bus.instance}.${bus.epoch}`);
    this.#turns = rate.qps === 0 ? undefined : new TokenBucket(rate);
    this.#maxWaitMs = (QUEUED / rate.qps) * 1000;
  }

  /** Tells of something that happens now. What later messages name as their cause, where it was told at once. */
  record(
    event: Pick<PodEvent, 'ref' | 'type' | 'reason' | 'message' | 'fieldPath'>,
    causes: readonly Cause[],
  ): Cause | undefined {
    const { bus, clock, declaration } = this.#options;
    const now = clock.now();
    const correlated = this.#correlator.correlate(event, now);
    if (correlated === undefined) return undefined;
    const waitMs = this.#turns === undefined ? 0 : this.#turns.reserve(now, this.#maxWaitMs);
    const publish = () => bus.emit(declaration, event.ref.uid, { ...event, ...correlated }, { causes });
    if (waitMs === 0) return publish();
    if (waitMs !== undefined) clock.after(waitMs, publish);
    return undefined;
  }
}
