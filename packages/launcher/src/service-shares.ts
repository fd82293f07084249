import type { FactOwner } from '@kubus/bus';
import type { ServiceShare, SharedService } from '@kubus/contracts';
import type { Cancel, Clock } from '@kubus/ports';

/** How long an instance that has ended keeps its pods, in milliseconds: its next life mostly serves before that. */
const AWAY_MS = 1_000;

/** Shares of one life of the launcher are numbered within its epoch. */
const SHARES_PER_EPOCH = 1_000_000;

interface Member {
  /** It has its part of the pods. */
  in: boolean;
  /** Set while it has ended and is not back yet. */
  away: Cancel | undefined;
}

/**
 * Tells which instances of a service share the pods. One that comes has no pods before it serves; one that ends keeps them
 * as long as a restart takes, and loses them when it is not back by then.
 */
export class ServiceShares {
  readonly #facts: FactOwner<ServiceShare>;
  readonly #clock: Clock;
  readonly #epoch: number;
  readonly #members = new Map<SharedService, Map<string, Member>>();
  readonly #told = new Map<SharedService, string>();
  #count = 0;

  /** @param options.epoch that of the launcher's life */
  constructor(options: { facts: FactOwner<ServiceShare>; clock: Clock; epoch: number }) {
    this.#facts = options.facts;
    this.#clock = options.clock;
    this.#epoch = options.epoch;
  }

  /** The instances of a service. Those that are here first have pods at once: without them nobody would. */
  set(service: SharedService, instances: readonly string[]): void {
    const before = this.#members.get(service);
    const after = new Map(
      instances.map((instance) => [instance, before?.get(instance) ?? { in: before === undefined, away: undefined }]),
    );
    for (const [instance, { away }] of before ?? []) if (!after.has(instance)) away?.();
    this.#members.set(service, after);
    this.#tell(service);
  }

  /** An instance has announced itself on the bus. */
  serves(instance: string): void {
    this.#change(instance, (member) => {
      member.away?.();
      member.away = undefined;
      member.in = true;
    });
  }

  /** The process of an instance has ended. */
  ended(instance: string): void {
    this.#change(instance, (member) => {
      member.away ??= this.#clock.after(AWAY_MS, () => {
        member.in = false;
        this.#change(instance, () => undefined);
      });
    });
  }

  #change(instance: string, change: (member: Member) => void): void {
    for (const [service, members] of this.#members) {
      const member = members.get(instance);
      if (member === undefined) continue;
      change(member);
      this.#tell(service);
    }
  }

  #tell(service: SharedService): void {
    const members = [...(this.#members.get(service) ?? [])];
    const live = members.filter(([, member]) => member.in);
    // With nobody left, the pods wait for whoever comes.
    const instances = (live.length > 0 ? live : members).map(([instance]) => instance).sort();
    if (this.#told.get(service) === instances.join()) return;
    this.#told.set(service, instances.join());
    this.#facts.put(service, { instances, term: this.#epoch * SHARES_PER_EPOCH + ++this.#count });
  }
}
