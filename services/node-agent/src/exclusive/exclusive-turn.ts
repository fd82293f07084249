import type { Cause } from '@kubus/bus';
import {
  type ContainerRequest,
  type ExclusiveSetup,
  type Ledger,
  type PodAdmission,
  type PodRequest,
  type Refusal,
  type ResourceHints,
  containerAdmission,
  nodesOf,
  podAdmission,
  withoutContainer,
  withoutEndedMemory,
} from '@kubus/exclusive';
import { type Clock, KubusError } from '@kubus/ports';
import type { AskedPod, ExclusiveMetrics } from './exclusive-metrics.ts';
import { shownMerge } from './shown-merge.ts';

/** Hints for devices as they are when the function is called. */
export type DeviceHints = () => readonly ResourceHints[];

/** Replaces the ledger by what the function makes of it, durably, when it is its turn. */
export type ChangeLedger = (of: (ledger: Ledger) => Ledger) => Promise<void>;

export interface ExclusiveTurnOptions {
  readonly asked: {
    readonly pod: PodRequest;
    readonly starting: string | undefined;
    readonly cause: Cause;
    readonly devices: DeviceHints;
  };
  /** Those that lack something, in the order in which they start. */
  readonly lacking: readonly ContainerRequest[];
  readonly setup: ExclusiveSetup;
  readonly metrics: ExclusiveMetrics;
  readonly clock: Clock;
  readonly change: ChangeLedger;
}

/**
 * A pod whose containers get CPUs and memory, and between them their devices, so that all of a container is on the same NUMA nodes. What a
 * container gets is on the disk before a plugin is asked for its devices. Pods without devices need one change of the ledger.
 */
export class ExclusiveTurn {
  readonly #options: ExclusiveTurnOptions;
  #rest: readonly ContainerRequest[];
  #admission: PodAdmission | undefined;
  /** Containers that had nothing before. */
  readonly #given: string[] = [];
  readonly #began: number;
  #isCounted = false;

  constructor(options: ExclusiveTurnOptions) {
    this.#options = options;
    this.#rest = options.lacking;
    this.#began = options.clock.now();
  }

  /** @throws KubusError with the reason and the message of the reference's refusal of the pod as a whole */
  async begin(): Promise<void> {
    const { asked, setup, change } = this.#options;
    if (this.#rest.length === 0) return;
    await change((ledger) => {
      const begun = podAdmission(setup, ledger, asked.pod, asked.devices);
      if ('refusal' in begun) throw this.#refused(begun.refusal);
      this.#admission = begun;
      return ledger;
    });
  }

  /**
   * Gives this container and those that start before it what they request. Returns the NUMA nodes from which its devices come; undefined:
   * any.
   *
   * @throws KubusError with the reason and the message of the reference's refusal
   */
  async upTo(name: string, devices: DeviceHints): Promise<readonly number[] | undefined> {
    const { setup } = this.#options;
    const count = this.#rest.findIndex((container) => container.name === name) + 1;
    if (count === 0) return undefined;
    const mask = await this.#give(this.#rest.slice(0, count), { name, devices });
    return mask === undefined ? undefined : nodesOf(setup.machine, mask);
  }

  /** Gives all others what they request. */
  async finish(): Promise<void> {
    const { asked, change } = this.#options;
    const { pod, starting } = asked;
    if (this.#rest.length > 0) await this.#give(this.#rest);
    if (starting === undefined) this.#count(undefined);
    else await change((ledger) => withoutEndedMemory(ledger, pod, starting));
  }

  /** Frees what containers have got in this turn. */
  async undo(): Promise<void> {
    if (this.#options.asked.starting === undefined) this.#count('devices');
    if (this.#given.length === 0) return;
    const { asked, change } = this.#options;
    await change((ledger) =>
      this.#given.splice(0).reduce((next, name) => withoutContainer(next, asked.pod.uid, name), ledger),
    );
  }

  async #give(
    containers: readonly ContainerRequest[],
    last?: { readonly name: string; readonly devices: DeviceHints },
  ): Promise<number | undefined> {
    const { setup, change } = this.#options;
    let mask: number | undefined;
    await change((ledger) => {
      let next = ledger;
      for (const container of containers) {
        if (this.#admission === undefined) break;
        const devices = container.name === last?.name ? last.devices : undefined;
        const step = { admission: this.#admission, container, ...(devices && { devices }) };
        const { refusal, admission, affinity, ...given } = containerAdmission(setup, next, step);
        if (refusal !== undefined) throw this.#refused(refusal);
        next = given.ledger;
        this.#admission = admission;
        mask = affinity.mask;
      }
      const { uid, containers: all } = this.#options.asked.pod;
      const given = all.filter(({ name }) => !hasAny(ledger, uid, name) && hasAny(next, uid, name));
      this.#given.push(...given.map(({ name }) => name));
      return next;
    });
    this.#rest = this.#rest.slice(containers.length);
    return mask;
  }

  /** Counts the admission of the pod once. */
  #count(refusal: AskedPod['refusal']): void {
    const { asked, metrics, clock } = this.#options;
    if (!this.#isCounted) metrics.asked({ pod: asked.pod, refusal, ms: clock.now() - this.#began });
    this.#isCounted = true;
  }

  #refused(refusal: Refusal): KubusError {
    const { asked, setup } = this.#options;
    if (asked.starting === undefined) this.#count(refusal);
    const { reason, message, by, merge } = refusal;
    const numbers = setup.machine.nodes.map(({ id }) => id);
    const shown = merge && JSON.stringify(shownMerge(setup.topology?.policy ?? 'none', numbers, merge));
    return new KubusError(reason, message, { context: { by, merge: shown } });
  }
}

function hasAny({ cpus, memory }: Ledger, uid: string, name: string): boolean {
  return cpus[uid]?.[name] !== undefined || memory[uid]?.[name] !== undefined;
}
