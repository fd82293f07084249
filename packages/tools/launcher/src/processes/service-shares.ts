import type { FactOwner } from '@kubus/bus';
import type { ServiceShare, SharedService } from '@kubus/contracts';
import type { Cancel, Clock } from '@kubus/ports';

/** How long an ended instance keeps its pods, in milliseconds: usually it is restarted within this time. */
const RESTART_GRACE_MS = 1_000;

/** A term is the launcher's epoch times this, plus a counter. */
const SHARES_PER_EPOCH = 1_000_000;

interface Member {
  /** Whether it shares the pods. */
  shares: boolean;
  /** Cancels the timer that takes its pods away; set while the instance is not running. */
  away: Cancel | undefined;
}

/**
 * Publishes which instances of a service share the pods. A new instance gets pods when it is ready; an ended one keeps
 * its pods for
 * one second, so that a quick restart moves nothing.
 */
export class ServiceShares {
  readonly #facts: FactOwner<ServiceShare>;
  readonly #clock: Clock;
  readonly #epoch: number;
  readonly #members = new Map<SharedService, Map<string, Member>>();
  readonly #published = new Map<SharedService, string>();
  #count = 0;

  /** @param options.epoch the launcher's epoch */
  constructor(options: { facts: FactOwner<ServiceShare>; clock: Clock; epoch: number }) {
    this.#facts = options.facts;
    this.#clock = options.clock;
    this.#epoch = options.epoch;
  }

  /** Sets the instances of a service. The first ones get pods at once: no other instance could have them. */
  set(service: SharedService, instances: readonly string[]): void {
    const before = this.#members.get(service);
    const after = new Map(
      instances.map((instance) => [
        instance,
        before?.get(instance) ?? { shares: before === undefined, away: undefined },
      ]),
    );
    for (const [instance, { away }] of before ?? []) if (!after.has(instance)) away?.();
    this.#members.set(service, after);
    this.#publish(service);
  }

  /** An instance has announced itself on the bus. */
  serves(instance: string): void {
    this.#change(instance, (member) => {
      member.away?.();
      member.away = undefined;
      member.shares = true;
    });
  }

  /** The process of an instance has ended. */
  ended(instance: string): void {
    this.#change(instance, (member) => {
      member.away ??= this.#clock.after(RESTART_GRACE_MS, () => {
        member.shares = false;
        this.#change(instance, () => undefined);
      });
    });
  }

  #change(instance: string, change: (member: Member) => void): void {
    for (const [service, members] of this.#members) {
      const member = members.get(instance);
      if (member === undefined) continue;
      change(member);
      this.#publish(service);
    }
  }

  #publish(service: SharedService): void {
    const members = [...(this.#members.get(service) ?? [])];
    const live = members.filter(([, member]) => member.shares);
    // With no instance running, the pods stay assigned to all of them.
    const instances = (live.length > 0 ? live : members).map(([instance]) => instance).sort();
    if (this.#published.get(service) === instances.join()) return;
    this.#published.set(service, instances.join());
    this.#facts.put(service, { instances, term: this.#epoch * SHARES_PER_EPOCH + ++this.#count });
  }
}
