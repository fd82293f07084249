import { COMPLETE, type FactDeclaration, decodeToken, factPattern } from '@kubus/contracts';
import { type Cancel, type Logger, toError } from '@kubus/ports';
import { z } from 'zod';
import { type Cause, type Envelope, HEADER, decodeEnvelope } from './envelope.ts';
import type { Refusals } from './refusals.ts';
import type { Transport, WireMessage } from './transport.ts';

/** The present value of one key, and where it came from. */
export interface Fact<T> {
  readonly key: string;
  readonly value: T;
  /** The owning instance and the epoch of the life in which it wrote this. */
  readonly source: string;
  readonly epoch: number;
  readonly version: number;
  readonly pod: string | undefined;
  readonly cause: Cause;
  /** RFC 3339: when the owner published it. */
  readonly time: string;
}

export interface FactHandlers<T> {
  /** A key is new or has a newer value. */
  changed?(fact: Fact<T>): void;
  /** A key is gone: removed by its owner, or not in a later life's complete set. `cause` is the message that said so. */
  removed?(last: Fact<T>, cause: Cause): void;
  /** `instance` has published its whole set in the life `epoch`; what earlier lives left is removed already. */
  complete?(instance: string, epoch: number, cause: Cause): void;
}

interface Held<T> {
  readonly fact: Fact<T> | undefined;
  readonly source: string;
  readonly epoch: number;
  readonly version: number;
}

interface Completion {
  readonly epoch: number;
  readonly version: number;
  readonly keys: readonly string[];
  readonly cause: Cause;
}

const completeSchema = z.object({ keys: z.array(z.string()) });

/** How many removed keys are remembered so that a value from before the removal is not taken for a new one. */
const TOMBSTONES = 4096;

/**
 * The reading side of one fact: the newest value per key by (epoch, version), whatever the order of arrival; equal or
 * older ones are dropped. A missing key never means deletion (DESIGN rule 1): only a removal mark does, or a completed
 * set of a later life that does not hold the key.
 */
export class FactReader<T> {
  readonly #declaration: FactDeclaration<T>;
  readonly #transport: Transport;
  readonly #handlers: FactHandlers<T>;
  readonly #refusals: Refusals;
  readonly #logger: Logger;
  readonly #held = new Map<string, Held<T>>();
  readonly #completed = new Map<string, Completion>();
  readonly #awaited = new Map<string, Completion>();
  readonly #prefix: string;
  #watch: Cancel | undefined;
  #present = false;
  #waiting: (() => void)[] = [];

  constructor(options: {
    declaration: FactDeclaration<T>;
    node: string;
    transport: Transport;
    handlers: FactHandlers<T>;
    refusals: Refusals;
    logger: Logger;
  }) {
    this.#declaration = options.declaration;
    this.#transport = options.transport;
    this.#handlers = options.handlers;
    this.#refusals = options.refusals;
    this.#logger = options.logger;
    this.#prefix = `${options.declaration.area}.fact.${options.declaration.name}.`;
    options.transport.onConnection((connected) => {
      this.#watch?.();
      this.#watch = undefined;
      if (connected) this.#open();
    });
    if (options.transport.connected) this.#open();
  }

  /** The newest value of `key`. */
  get(key: string): Fact<T> | undefined {
    return this.#held.get(key)?.fact;
  }

  /** Every present fact. */
  *[Symbol.iterator](): Generator<Fact<T>> {
    for (const { fact } of this.#held.values()) if (fact !== undefined) yield fact;
  }

  /** The epoch of the last life of `instance` whose set has been seen whole. */
  completed(instance: string): number | undefined {
    return this.#completed.get(instance)?.epoch;
  }

  /** Resolves once everything that was stored has been delivered after some connection. */
  whenPresent(): Promise<void> {
    if (this.#present) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #open(): void {
    this.#watch = this.#transport.watchFacts(factPattern(this.#declaration), {
      message: (message) => {
        try {
          this.#receive(message);
        } catch (error) {
          this.#refusals.refuse(message, toError(error));
        }
      },
      present: () => {
        this.#present = true;
        for (const resolve of this.#waiting.splice(0)) resolve();
      },
    });
  }

  #receive(message: WireMessage): void {
    const envelope = decodeEnvelope(message.headers);
    const version = Number(message.headers[HEADER.version]);
    const tail = message.subject.slice(message.subject.indexOf(this.#prefix) + this.#prefix.length);
    if (tail.startsWith(`${COMPLETE}.`)) {
      this.#receiveComplete(envelope, version, message);
      return;
    }
    const key = decodeToken(tail);
    if (this.#stale(key, envelope, version)) return;
    const previous = this.#held.get(key)?.fact;
    if (message.headers[HEADER.removed] !== undefined) {
      this.#bury(key, envelope, version);
      if (previous !== undefined) this.#handlers.removed?.(previous, envelope.cause);
    } else {
      // Held even when it is refused: the same value is then refused once, and the last good one stays.
      this.#held.set(key, { fact: previous, source: envelope.source, epoch: envelope.epoch, version });
      const value = this.#declaration.payload.parse(JSON.parse(message.data));
      const fact: Fact<T> = {
        key,
        value,
        source: envelope.source,
        epoch: envelope.epoch,
        version,
        pod: envelope.pod,
        cause: envelope.cause,
        time: envelope.time,
      };
      this.#held.set(key, { fact, source: fact.source, epoch: fact.epoch, version });
      this.#handlers.changed?.(fact);
    }
    const awaited = this.#awaited.get(envelope.source);
    if (awaited !== undefined) this.#tryComplete(envelope.source, awaited);
  }

  #stale(key: string, envelope: Envelope, version: number): boolean {
    const held = this.#held.get(key);
    if (held !== undefined) {
      return envelope.epoch < held.epoch || (envelope.epoch === held.epoch && version <= held.version);
    }
    const completed = this.#completed.get(envelope.source);
    return completed !== undefined && envelope.epoch < completed.epoch;
  }

  /** Remembers a removal, the last {@link TOMBSTONES} of them. */
  #bury(key: string, envelope: Envelope, version: number): void {
    this.#held.delete(key);
    this.#held.set(key, { fact: undefined, source: envelope.source, epoch: envelope.epoch, version });
    if (this.#held.size <= TOMBSTONES) return;
    for (const [oldest, held] of this.#held) {
      if (held.fact !== undefined) continue;
      this.#held.delete(oldest);
      return;
    }
  }

  #receiveComplete(envelope: Envelope, version: number, message: WireMessage): void {
    const known = this.#awaited.get(envelope.source) ?? this.#completed.get(envelope.source);
    if (known !== undefined) {
      if (envelope.epoch < known.epoch) return;
      if (envelope.epoch === known.epoch && version <= known.version) return;
    }
    const { keys } = completeSchema.parse(JSON.parse(message.data));
    this.#tryComplete(envelope.source, {
      epoch: envelope.epoch,
      version,
      keys: keys.map((key) => decodeToken(key.slice(this.#prefix.length))),
      cause: envelope.cause,
    });
  }

  /** A set counts as whole only when every key that it lists has been seen in this life; else it waits for them. */
  #tryComplete(source: string, completion: Completion): void {
    const missing = completion.keys.filter((key) => (this.#held.get(key)?.epoch ?? -1) < completion.epoch);
    if (missing.length > 0) {
      this.#awaited.set(source, completion);
      return;
    }
    this.#awaited.delete(source);
    const first = this.#completed.get(source)?.epoch !== completion.epoch;
    this.#completed.set(source, completion);
    if (!first) return;
    for (const [key, held] of [...this.#held]) {
      if (held.source !== source || held.epoch >= completion.epoch) continue;
      this.#held.delete(key);
      if (held.fact === undefined) continue;
      this.#logger.debug({ key, fact: this.#declaration.name }, 'not in the complete set of a later life');
      this.#handlers.removed?.(held.fact, completion.cause);
    }
    this.#handlers.complete?.(source, completion.epoch, completion.cause);
  }
}
