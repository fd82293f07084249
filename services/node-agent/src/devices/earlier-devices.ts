import type { Bus, Cause, FactReader } from '@kubus/bus';
import { type PodRef, type PodWork, type RuntimePod, evictPod, podWork, runtimePod } from '@kubus/contracts';
import { keptDevicesProblem } from '@kubus/device-manager';
import { isStatic } from '@kubus/pod';
import { gracePeriod, nanosToMs } from '@kubus/pod-lifecycle';
import { type Clock, KubusError } from '@kubus/ports';
import type { DeviceAllocations, DevicesOfContainer } from './device-allocations.ts';
import type { DeviceResources } from './device-resources.ts';

/**
 * The devices that containers were given before this process started. A container that does not run any more may have run before the
 * machine booted, so its devices have to be healthy again before it starts: a pod whose plugin has not returned is ended, as the reference
 * kubelet does not admit it again, also if the container is lost and its pod starts none twice. Static pods wait, because nothing would create
 * them again.
 */
export class EarlierDevices {
  readonly #bus: Bus;
  readonly #resources: DeviceResources;
  readonly #began: number;
  readonly #runtime: FactReader<RuntimePod>;
  readonly #works: FactReader<PodWork>;
  /** By UID of the pod: names of containers that have not started since. */
  readonly #unchecked: ReadonlyMap<string, Set<string>>;

  constructor(options: { bus: Bus; clock: Clock; resources: DeviceResources; allocations: DeviceAllocations }) {
    const { bus, clock, resources, allocations } = options;
    this.#bus = bus;
    this.#resources = resources;
    this.#began = clock.now();
    this.#runtime = bus.reader(runtimePod, { lazy: true });
    this.#works = bus.reader(podWork, { lazy: true });
    this.#unchecked = new Map(
      allocations.uids.map((uid) => [uid, new Set(allocations.get(uid)?.containers.map(({ name }) => name))]),
    );
  }

  /** A container is about to start, or would be if its pod started it again. Throws, and ends its pod, when it cannot have its devices any more. */
  async check(ref: PodRef, { name, resources }: DevicesOfContainer, cause: Cause): Promise<void> {
    const { uid } = ref;
    const unchecked = this.#unchecked.get(uid);
    const pod = this.#works.get(uid)?.value.pod;
    if (unchecked?.has(name) !== true || pod === undefined || isStatic(pod)) return;
    const problem = this.#hasRun(uid, name) ? undefined : await this.#problem(resources);
    if (problem === undefined) {
      unchecked.delete(name);
      return;
    }
    const message = `Allocate failed due to ${problem}, which is unexpected`;
    const failure = { reason: 'UnexpectedAdmissionError', message: `Pod was rejected: ${message}` };
    const request = { ref, failure, graceSeconds: gracePeriod(pod, undefined) };
    await this.#bus.call(evictPod, uid, request, { causes: [cause] });
    throw new KubusError('UnexpectedAdmissionError', message);
  }

  /** Whether the container has run under this process. */
  #hasRun(uid: string, name: string): boolean {
    const containers = this.#runtime.get(uid)?.value.containers ?? [];
    return containers.some(
      (one) => one.name === name && (one.state === 'running' || nanosToMs(one.finishedAt) >= this.#began),
    );
  }

  async #problem(resources: DevicesOfContainer['resources']): Promise<string | undefined> {
    for (const { resource, devices: had } of resources) {
      const { devices } = await this.#resources.ready(resource);
      const ids = had.map(({ id }) => id);
      const problem = keptDevicesProblem({ resource, devices }, ids);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
}
