import type { Bus, Cause } from '@kubus/bus';
import type { EventDeclaration, NodeEvent, PodEvent } from '@kubus/contracts';
import { type CorrelatedEvent, EventCorrelator, type Occurrence } from '@kubus/event-correlator';
import { type Rate, TokenBucket } from '@kubus/flow';
import type { Clock } from '@kubus/ports';

/** eventRecordQPS and eventBurst, with the reference's defaults. */
const DEFAULT_RATE: Rate = { qps: 50, burst: 100 };
/** How many events may wait for their turn (the queue of the reference's broadcaster); further events are dropped. */
const QUEUED = 1000;

export interface EventRecorderOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Default: the reference's. With `qps` 0 there is no limit. */
  readonly rate?: Rate | undefined;
}

/**
 * Publishes an event, and returns the cause for later messages: undefined when the event is published later
 * or not at all.
 */
type RecordEvent<Event> = (event: Event, causes: readonly Cause[]) => Cause | undefined;

/** Publishes events about pods. */
export interface PodEvents {
  readonly record: RecordEvent<Pick<PodEvent, 'ref' | 'type' | 'reason' | 'message' | 'fieldPath' | 'annotations'>>;
  /** The pod does not exist any more: what is remembered of its events is released. @param uid of the pod */
  readonly forget: (uid: string) => void;
}

/** Publishes events about the node. */
export interface NodeEvents {
  readonly record: RecordEvent<Pick<NodeEvent, 'type' | 'reason' | 'message'>>;
}

/** Publishes the events of one service: repeats are counted, and events above the rate are delayed or dropped. */
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
        const publish = (correlated: CorrelatedEvent) =>
          bus.emit(declaration, uid, { ...event, ...correlated }, { causes });
        return this.#record({ ...event, object: uid }, publish);
      },
      forget: (uid) => this.#correlator.forget(uid),
    };
  }

  /** Events about the node, published as `declaration`. */
  ofNode(declaration: EventDeclaration<NodeEvent>): NodeEvents {
    const { bus } = this.#options;
    const { node } = bus;
    return {
      record: (event, causes) => {
        const publish = (correlated: CorrelatedEvent) =>
          bus.emit(declaration, node, { node, ...event, ...correlated }, { causes });
        return this.#record({ ...event, object: node }, publish);
      },
    };
  }

  #record(event: Occurrence, publish: (correlated: CorrelatedEvent) => Cause): Cause | undefined {
    const { clock } = this.#options;
    const now = clock.now();
    const correlated = this.#correlator.correlate(event, now);
    if (correlated === undefined) return undefined;
    const waitMs = this.#turns === undefined ? 0 : this.#turns.reserve(now, this.#maxWaitMs);
    if (waitMs === 0) return publish(correlated);
    if (waitMs !== undefined) clock.after(waitMs, () => publish(correlated));
    return undefined;
  }
}
