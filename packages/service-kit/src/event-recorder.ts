import type { Bus, Cause } from '@kubus/bus';
import type { EventDeclaration, NodeEvent, PodEvent } from '@kubus/contracts';
import {
  type CorrelatedEvent,
  EventCorrelator,
  type Occurrence,
  type Rate,
  TokenBucket,
} from '@kubus/event-correlator';
import type { Clock } from '@kubus/ports';

/** eventRecordQPS and eventBurst as the reference has them when nothing is configured. */
const DEFAULT_RATE: Rate = { qps: 50, burst: 100 };
/** How many events may wait for their turn (the queue of the reference's broadcaster); what comes then is not told. */
const QUEUED = 1000;

export interface EventRecorderOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Left out: the reference's. With `qps` 0 there is no limit. */
  readonly rate?: Rate | undefined;
}

/**
 * Tells of something that happens now, and returns what later messages name as their cause: nothing when it is told later
 * or not at all.
 */
type Tell<Event> = (event: Event, causes: readonly Cause[]) => Cause | undefined;

/** Tells pods' users what happens. */
export interface PodEvents {
  readonly record: Tell<Pick<PodEvent, 'ref' | 'type' | 'reason' | 'message' | 'fieldPath'>>;
}

/** Tells the node's operators what happens. */
export interface NodeEvents {
  readonly record: Tell<Pick<NodeEvent, 'type' | 'reason' | 'message'>>;
}

/** One service's way to tell what happens: repeats are counted, and too many are not told or told later. */
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

  /** Events about pods, published as `declaration`. */
  ofPods(declaration: EventDeclaration<PodEvent>): PodEvents {
    const { bus } = this.#options;
    return {
      record: (event, causes) => {
        const { uid } = event.ref;
        const publish = (told: CorrelatedEvent) => bus.emit(declaration, uid, { ...event, ...told }, { causes });
        return this.#record({ ...event, object: uid }, publish);
      },
    };
  }

  /** Events about the node, published as `declaration`. */
  ofNode(declaration: EventDeclaration<NodeEvent>): NodeEvents {
    const { bus } = this.#options;
    const { node } = bus;
    return {
      record: (event, causes) => {
        const publish = (told: CorrelatedEvent) => bus.emit(declaration, node, { node, ...event, ...told }, { causes });
        return this.#record({ ...event, object: node }, publish);
      },
    };
  }

  #record(event: Occurrence, publish: (told: CorrelatedEvent) => Cause): Cause | undefined {
    const { clock } = this.#options;
    const now = clock.now();
    const told = this.#correlator.correlate(event, now);
    if (told === undefined) return undefined;
    const waitMs = this.#turns === undefined ? 0 : this.#turns.reserve(now, this.#maxWaitMs);
    if (waitMs === 0) return publish(told);
    if (waitMs !== undefined) clock.after(waitMs, () => publish(told));
    return undefined;
  }
}
