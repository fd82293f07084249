import { COMPLETE, type FactDeclaration, decodeToken, factPattern, typeOf } from '@kubus/contracts';
import { type Cancel, type Clock, toError } from '@kubus/ports';
import * as z from 'zod';
import { type Cause, type Envelope, HEADER, checkType, decodeEnvelope } from './envelope.ts';
import { type FactRank, compareRanks, rankOf } from './fact-rank.ts';
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
  /** A key is gone: removed by its owner, or not in a later complete set. `cause` is the message that said so. */
  removed?(last: Fact<T>, cause: Cause): void;
  /** `instance` has published its whole set in the life `epoch`; what earlier lives left is removed already. */
  complete?(instance: string, epoch: number, cause: Cause): void;
}

interface Held<T> extends FactRank {
  readonly fact: Fact<T> | undefined;
  readonly source: string;
  /** The message that brought the value or its removal. */
  readonly cause: Cause;
}

interface Completion {
  readonly epoch: number;
  readonly version: number;
  readonly keys: readonly string[];
  readonly cause: Cause;
}

/** The payload of a completion mark: the store's keys of the whole set. */
export const completionSchema = z.object({ keys: z.array(z.string()) });

/** How many removed keys are remembered so that a value from before the removal is not taken for a new one. */
const TOMBSTONES = 4096;

/**
 * The reading side of one fact: the newest value per key by its rank (term, epoch, version), whatever the order of arrival;
 * equal or older ones are dropped. A missing key never means deletion (DESIGN rule 1): only a removal mark does, or a later mark
 * of a complete set that does not list the key.
 */
export class FactReader<T> {
  readonly #declaration: FactDeclaration<T>;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #handlers: FactHandlers<T>;
  readonly #refusals: Refusals;
  readonly #held = new Map<string, Held<T>>();
  readonly #completed = new Map<string, Completion>();
  readonly #awaited = new Map<string, Completion>();
  readonly #prefix: string;
  readonly #type: string;
  /** What the handlers have been told last, and which keys they have to be told about once everything is loaded. */
  readonly #told = new Map<string, Fact<T>>();
  readonly #untold = new Set<string>();
  #watch: Cancel | undefined;
  #present = false;
  /** Everything that was stored when the watch was opened has been delivered. */
  #loaded = false;
  #waiting: (() => void)[] = [];

  constructor(options: {
    declaration: FactDeclaration<T>;
    node: string;
    transport: Transport;
    clock: Clock;
    handlers: FactHandlers<T>;
    refusals: Refusals;
  }) {
    this.#declaration = options.declaration;
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#handlers = options.handlers;
    this.#refusals = options.refusals;
    this.#prefix = factPattern(options.declaration).slice(0, -1);
    this.#type = typeOf(options.declaration);
    options.transport.onConnection((connected) => {
      this.#watch?.();
      this.#watch = undefined;
      if (connected) this.#open();
    });
    if (options.transport.connected) this.#open();
  }

  /** The newest value of `key`. */
  get(key: string): Fact<T> | undefined {
    return this.#told.get(key);
  }

  /** Every present fact. */
  [Symbol.iterator](): Iterator<Fact<T>> {
    return this.#told.values();
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
    this.#loaded = false;
    this.#watch = this.#transport.watchFacts(factPattern(this.#declaration), {
      message: (message) => {
        try {
          this.#receive(message);
        } catch (error) {
          this.#refusals.refuse(message, toError(error));
        }
      },
      present: () => {
        this.#onLoaded();
        this.#present = true;
        for (const resolve of this.#waiting.splice(0)) resolve();
      },
    });
  }

  #receive(message: WireMessage): void {
    const envelope = decodeEnvelope(message.headers, this.#clock.now());
    const version = Number(message.headers[HEADER.version]);
    const tail = message.subject.slice(message.subject.indexOf(this.#prefix) + this.#prefix.length);
    if (tail.startsWith(`${COMPLETE}.`)) {
      this.#receiveComplete(envelope, version, message);
      return;
    }
    const key = decodeToken(tail);
    const rank = rankOf(message.headers);
    if (this.#stale(key, envelope, rank)) return;
    const { source, epoch, cause } = envelope;
    const previous = this.#held.get(key)?.fact;
    if (message.headers[HEADER.removed] !== undefined) {
      this.#bury(key, { fact: undefined, source, ...rank, cause });
    } else {
      // Held even when it is refused: the same value is then refused once, and the last good one stays.
      this.#held.set(key, { fact: previous, source, ...rank, cause });
      checkType(envelope, this.#type);
      const value = this.#declaration.payload.parse(JSON.parse(message.data));
      const fact: Fact<T> = { key, value, source, epoch, version, pod: envelope.pod, cause, time: envelope.time };
      this.#held.set(key, { fact, source, ...rank, cause });
    }
    if (this.#loaded) this.#tell(key, cause);
    else this.#untold.add(key);
    const awaited = this.#awaited.get(source);
    if (awaited !== undefined) this.#tryComplete(source, awaited);
  }

  /**
   * Everything that was stored is here. Only now are marks of complete sets applied and handlers told, so that they never
   * see a value that a mark beside it has made void.
   */
  #onLoaded(): void {
    this.#loaded = true;
    const awaited = [...this.#awaited];
    for (const [source, completion] of awaited) {
      if (this.#hasAll(source, completion)) this.#removeMissing(source, completion);
    }
    const untold = [...this.#untold];
    this.#untold.clear();
    for (const key of untold) this.#tell(key, this.#held.get(key)?.cause);
    for (const [source, completion] of awaited) this.#tryComplete(source, completion);
  }

  /** Tells the handlers how `key` stands, if they do not know it so. */
  #tell(key: string, cause: Cause | undefined): void {
    const before = this.#told.get(key);
    const fact = this.#held.get(key)?.fact;
    if (fact === before) return;
    if (fact !== undefined) {
      this.#told.set(key, fact);
      this.#handlers.changed?.(fact);
    } else if (before !== undefined) {
      this.#told.delete(key);
      this.#handlers.removed?.(before, cause ?? before.cause);
    }
  }

  #stale(key: string, { source }: Envelope, rank: FactRank): boolean {
    const held = this.#held.get(key);
    if (held !== undefined) return compareRanks(rank, held) <= 0;
    const completed = this.#completed.get(source);
    // Published before the mark, and not held since: the mark did not list it, or it was removed.
    return completed !== undefined && isBefore(rank, completed);
  }

  /** Remembers a removal, the last {@link TOMBSTONES} of them. */
  #bury(key: string, removal: Held<T>): void {
    this.#held.delete(key);
    this.#held.set(key, removal);
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
    const { keys } = completionSchema.parse(JSON.parse(message.data));
    this.#tryComplete(envelope.source, {
      epoch: envelope.epoch,
      version,
      keys: keys.map((key) => decodeToken(key.slice(this.#prefix.length))),
      cause: envelope.cause,
    });
  }

  /**
   * A set counts as whole only when every key that it lists has been seen in this life, and, since keys were added after
   * the mark was made, only when all that is stored has been seen; else it waits.
   */
  #tryComplete(source: string, completion: Completion): void {
    if (!this.#loaded || !this.#hasAll(source, completion)) {
      this.#awaited.set(source, completion);
      return;
    }
    this.#awaited.delete(source);
    const first = this.#completed.get(source)?.epoch !== completion.epoch;
    this.#completed.set(source, completion);
    this.#removeMissing(source, completion);
    if (first) this.#handlers.complete?.(source, completion.epoch, completion.cause);
  }

  #hasAll(source: string, { keys, epoch }: Completion): boolean {
    return keys.every((key) => {
      const held = this.#held.get(key);
      // A key that another instance speaks of is not missing, whichever of the two has it now.
      return held !== undefined && (held.source !== source || held.epoch >= epoch);
    });
  }

  /**
   * What was published before the mark and is not in it is gone: left by an earlier life, or removed while this reader did
   * not hear it.
   */
  #removeMissing(source: string, completion: Completion): void {
    const listed = new Set(completion.keys);
    for (const [key, held] of [...this.#held]) {
      if (held.source !== source || !isBefore(held, completion) || listed.has(key)) continue;
      this.#held.delete(key);
      this.#tell(key, completion.cause);
    }
  }
}

/** Whether an instance published the one before the other, both in their own numbering. */
function isBefore(one: Pick<FactRank, 'epoch' | 'version'>, other: Pick<FactRank, 'epoch' | 'version'>): boolean {
  return one.epoch < other.epoch || (one.epoch === other.epoch && one.version < other.version);
}
