import { type ContainerHint, CriError } from '@kubus/cri';
import type { PodRef, RuntimeContainer, RuntimePod, RuntimeSandbox, Stamp } from '@kubus/contracts';
import { type Clock, type Logger, sleep, toError } from '@kubus/ports';
import type { Container, ContainerStatus, PodSandbox } from '@kubus/proto/cri';
import { UID_LABEL, containerState, newestFirst, podRefOf, toContainer, toSandbox } from './convert.ts';
import type { PodValues } from './pod-values.ts';
import type { Runtime } from '../runtime/runtime.ts';

/**
 * containerd reports a container as unknown that ended while containerd did not run, until it has handled that end: its status
 * is read again after these delays in milliseconds, until it says more. An unknown container counts as killed, so a pod that
 * runs once would fail for good. containerd needs 5 s for it on a busy machine. A container that ended in the very moment in which
 * containerd did stays unknown until it is stopped, so it is.
 */
const UNKNOWN_WAITS_MS = [20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120];

/** Enough of every pod to see which one has changed. */
export interface PodOutline {
  readonly ref: PodRef;
  /** Ids with states, in a fixed order. */
  readonly fingerprint: string;
}

/** Reads pods from the runtime. */
export class PodReader {
  readonly #runtime: Runtime;
  readonly #values: PodValues;
  /** Statuses of dead containers: they never change, and reading them is most of the cost of an old pod. */
  readonly #dead = new Map<string, RuntimeContainer>();
  /** Containers that stayed unknown: they are not waited for again. */
  readonly #unknown = new Set<string>();
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(options: { runtime: Runtime; values: PodValues; clock: Clock; logger: Logger }) {
    this.#runtime = options.runtime;
    this.#values = options.values;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** Everything that the runtime has of one pod; undefined when it has nothing. */
  async read(uid: string, stamp: Stamp): Promise<RuntimePod | undefined> {
    const filter = { labelSelector: { [UID_LABEL]: uid } };
    const [sandboxes, containers] = await Promise.all([
      this.#runtime.call('ListPodSandbox', { filter }),
      this.#runtime.call('ListContainers', { filter }),
    ]);
    const listedSandboxes = sandboxes.items ?? [];
    const listedContainers = containers.containers ?? [];
    const [first] = [...listedSandboxes, ...listedContainers];
    const ref = first === undefined ? undefined : podRefOf(first);
    if (ref === undefined) return undefined;
    const [readSandboxes, readContainers] = await Promise.all([
      Promise.all(listedSandboxes.map((sandbox) => this.#readSandbox(sandbox))),
      Promise.all(listedContainers.map((container) => this.#readContainer(uid, container))),
    ]);
    return {
      ref,
      stamp,
      sandboxes: readSandboxes.sort(newestFirst),
      containers: readContainers.filter((one) => one !== undefined).sort(newestFirst),
    };
  }

  /** An outline of every pod. */
  async list(): Promise<Map<string, PodOutline>> {
    const [sandboxes, containers] = await Promise.all([
      this.#runtime.call('ListPodSandbox', {}),
      this.#runtime.call('ListContainers', {}),
    ]);
    const parts = new Map<string, { ref: PodRef; items: string[] }>();
    const add = (item: PodSandbox | Container, state: string) => {
      const ref = podRefOf(item);
      if (ref === undefined) return;
      const part = parts.get(ref.uid) ?? { ref, items: [] };
      part.items.push(`${item.id ?? ''} ${state}`);
      parts.set(ref.uid, part);
    };
    for (const sandbox of sandboxes.items ?? []) add(sandbox, sandbox.state === 'SANDBOX_READY' ? 'ready' : 'notready');
    const listed = new Set<string>();
    for (const container of containers.containers ?? []) {
      add(container, containerState(container));
      listed.add(container.id ?? '');
    }
    for (const id of this.#dead.keys()) if (!listed.has(id)) this.#dead.delete(id);
    for (const id of this.#unknown) if (!listed.has(id)) this.#unknown.delete(id);
    return new Map([...parts].map(([uid, { ref, items }]) => [uid, { ref, fingerprint: items.sort().join() }]));
  }

  async #readSandbox(listed: PodSandbox) {
    // Only a running sandbox has an address.
    if (listed.state !== 'SANDBOX_READY') return toSandbox(listed, undefined);
    const answer = await unlessRemoved(this.#runtime.call('PodSandboxStatus', { podSandboxId: listed.id ?? '' }));
    return toSandbox(answer === undefined ? { ...listed, state: 'SANDBOX_NOTREADY' } : listed, answer?.status);
  }

  async #readContainer(pod: string, listed: Container): Promise<RuntimeContainer | undefined> {
    const id = listed.id ?? '';
    const known = this.#dead.get(id);
    if (known !== undefined) return known;
    const status = await this.#containerStatus(id);
    if (status === undefined) return undefined;
    const reported = toContainer(listed, status);
    const container = { ...reported, message: this.#values.redact(pod, reported.message) };
    if (container.state === 'exited') this.#dead.set(id, container);
    return container;
  }

  /** Undefined when it was removed. */
  async #containerStatus(containerId: string): Promise<ContainerStatus | undefined> {
    const read = async () => (await unlessRemoved(this.#runtime.call('ContainerStatus', { containerId })))?.status;
    let status = await read();
    for (const wait of this.#unknown.has(containerId) ? [] : UNKNOWN_WAITS_MS) {
      if (status === undefined || containerState(status) !== 'unknown') return status;
      await sleep(this.#clock, wait);
      status = await read();
    }
    const isUnknown = () => status !== undefined && containerState(status) === 'unknown';
    if (!isUnknown() || this.#unknown.has(containerId)) return status;
    status = await this.#stopped(containerId, read);
    if (isUnknown()) this.#unknown.add(containerId);
    return status;
  }

  /**
   * Stops a container that stays unknown, after which containerd has its end. Whoever decides about one that does run could only do the
   * same: it can be neither watched nor started again (behaviour:container-actions). After an error it counts as unknown.
   */
  async #stopped(
    containerId: string,
    read: () => Promise<ContainerStatus | undefined>,
  ): Promise<ContainerStatus | undefined> {
    try {
      await this.#runtime.call('StopContainer', { containerId, timeout: '0' });
    } catch (error) {
      this.#logger.warn({ containerId, err: toError(error) }, 'cannot stop a container of unknown state');
    }
    return read();
  }
}

/** As {@link fingerprintOf}, of a pod that has no more than the sandbox and the containers of a hint; undefined when the hint has no states. */
export function fingerprintIn({ states }: Pick<ContainerHint, 'states'>): string | undefined {
  if (states === undefined) return undefined;
  const { sandbox, containers } = states;
  return fingerprintOf({
    sandboxes: [{ id: sandbox.id ?? '', ready: sandbox.state === 'SANDBOX_READY' }],
    containers: containers.map((one) => ({ id: one.id ?? '', state: containerState(one) })),
  });
}

/** The outline of a pod that has been read, to compare with a later list. */
export function fingerprintOf(pod: {
  readonly sandboxes: readonly Pick<RuntimeSandbox, 'id' | 'ready'>[];
  readonly containers: readonly Pick<RuntimeContainer, 'id' | 'state'>[];
}): string {
  const sandboxes = pod.sandboxes.map(({ id, ready }) => `${id} ${ready ? 'ready' : 'notready'}`);
  const containers = pod.containers.map(({ id, state }) => `${id} ${state}`);
  return [...sandboxes, ...containers].sort().join();
}

/** Undefined for something that was removed between the list and this read. */
export async function unlessRemoved<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CriError && error.code === 'NotFound') return undefined;
    throw error;
  }
}
