import { withAllocation } from '@kubus/admission';
import type { Cause } from '@kubus/bus';
import {
  type Pod,
  type PodRef,
  type PodStatus,
  type PodWork,
  type ResourceRequirements,
  type RuntimeContainer,
  type WorkerState,
} from '@kubus/contracts';
import { ANNOTATION, type ProbeResults } from '@kubus/pod-lifecycle';
import {
  type ContainerDetails,
  type StatusReason,
  type WaitingReason,
  isTerminal,
  needsLog,
  podResourceList,
  podStatus,
  rejectedStatus,
  terminatedStatus,
  terminationMessage,
} from '@kubus/pod-status';
import { type Logger, toError } from '@kubus/ports';
import { actualOfPod, resizeConditions, resizeEvents, resizePlan } from '@kubus/resize';
import { DEADLINE_EXCEEDED, deadlineLeftMs } from './active-deadline.ts';
import { EMPTY_DIR_SIGNAL, evictionGrace, evictionOf, isEviction } from './eviction.ts';
import { hasRecursiveReadOnly } from './handler-features.ts';
import { logText } from './log-text.ts';
import type { ResizeState } from './pass.ts';
import type { PodRuntime } from './pod-runtime.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** Why a pod is disrupted that was ended for a critical one (kubelet behaviour 1.17, row 4b). */
const PREEMPTION: StatusReason = {
  reason: 'TerminationByKubelet',
  message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
};

/** What a status is made of beside the runtime's state. */
export interface StatusInput {
  readonly work: PodWork;
  readonly pod: Pod;
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly probes: ProbeResults;
  readonly resize: ResizeState;
  readonly state: WorkerState;
  readonly causes: readonly Cause[];
}

/** Makes one pod's status and publishes it when it changes. */
export class StatusPublisher {
  readonly #ref: PodRef;
  readonly #deps: WorkerDeps;
  readonly #logger: Logger;
  readonly #runtime: PodRuntime;
  /** By container id: what ended containers have left to say. */
  readonly #details = new Map<string, ContainerDetails>();
  #status: PodStatus | undefined;
  /** The status has been published in this life. */
  #told = false;
  /** How many hold it. */
  #held = 0;

  /** @param options.status the one of an earlier life. */
  constructor(options: {
    ref: PodRef;
    deps: WorkerDeps;
    logger: Logger;
    runtime: PodRuntime;
    status: PodStatus | undefined;
  }) {
    this.#ref = options.ref;
    this.#deps = options.deps;
    this.#logger = options.logger;
    this.#runtime = options.runtime;
    this.#status = options.status;
  }

  /** The last status. */
  get status(): PodStatus | undefined {
    return this.#status;
  }

  /** Seconds that the containers have to end by it; undefined where it asks for no other than the pod's own. */
  get graceSeconds(): number | undefined {
    return evictionGrace(this.#status);
  }

  /**
   * Publishes the status of an earlier life once more: for a pod that is over, of which nothing is read any more. That of
   * another pod is made anew first, since the earlier life may have told a later one than it could write down.
   */
  retell(causes: readonly Cause[]): void {
    const status = this.#status;
    const ref = this.#ref;
    if (status !== undefined) this.#deps.statuses.put(ref.uid, { ref, status }, { pod: ref.uid, causes });
    this.#told = true;
  }

  /** Nothing of an earlier life of the pod counts. */
  reset(): void {
    this.#status = undefined;
  }

  /** Nothing is to be published outside of a pass. */
  get held(): boolean {
    return this.#held > 0;
  }

  /** Does `act` while the status is {@link held}. */
  async whileHeld<T>(act: () => Promise<T>): Promise<T> {
    this.#held += 1;
    try {
      return await act();
    } finally {
      this.#held -= 1;
    }
  }

  /** True when every ended container's message has been read. */
  get informed(): boolean {
    return this.#unread().length === 0;
  }

  /** Reads what ended containers have left to say, so that the status that shows their end has it. */
  async learnEnds(): Promise<void> {
    for (let unread = this.#unread(); unread.length > 0; unread = this.#unread()) {
      await Promise.all(
        unread.map(async (container) => {
          this.#details.set(container.id, { terminationMessage: await this.#messageOf(container) });
        }),
      );
    }
    const ids = new Set(this.#runtime.pod?.containers.map(({ id }) => id));
    for (const id of this.#details.keys()) if (!ids.has(id)) this.#details.delete(id);
  }

  /** Makes the status anew. True when it changed. */
  publish(input: StatusInput): boolean {
    const previous = this.#status;
    const failure = this.#failure(input);
    const status = this.#make(input, failure);
    if (this.#told && JSON.stringify(status) === JSON.stringify(previous)) return false;
    this.#told = true;
    this.#status = status;
    this.#deps.metrics.told(previous, status, input.work.firstSeen);
    const ref = this.#ref;
    const { events, statuses } = this.#deps;
    const at = this.#runtime.at;
    const why = { pod: ref.uid, causes: [...this.#runtime.cause, ...input.causes] };
    statuses.put(ref.uid, { ref, status, ...(at !== undefined && { runtime: at }) }, why);
    if (failure !== undefined && !isTerminal(previous?.phase)) {
      const type = failure === DEADLINE_EXCEEDED ? 'Normal' : 'Warning';
      events.record({ ref, type, ...failure }, why.causes);
      if (input.work.failure === undefined && isEviction(failure)) this.#deps.metrics.evicted(EMPTY_DIR_SIGNAL);
    }
    for (const event of resizeEvents({ ...input.work, pod: input.pod }, previous, status)) {
      events.record({ ref, ...event }, why.causes);
    }
    return true;
  }

  /** Why the pod is over, whatever its containers do. */
  #failure({ work, pod, state }: StatusInput): StatusReason | undefined {
    if (work.failure !== undefined) return work.failure;
    if (state !== 'syncing' || isTerminal(this.#status?.phase)) return undefined;
    if (deadlineLeftMs(pod, this.#status, this.#deps.clock.now()) === 0) return DEADLINE_EXCEEDED;
    return evictionOf(pod, this.#deps.volumes(this.#ref.uid));
  }

  #make(input: StatusInput, failure: StatusReason | undefined): PodStatus {
    const { work, pod, state, resize } = input;
    const { clock, nodeIps, runtime } = this.#deps;
    const previous = this.#status;
    const now = clock.now();
    // Nothing was ever made for it, and it never changes.
    if (work.work === 'reject' && failure !== undefined) return previous ?? rejectedStatus(pod, { ...failure, now });
    const pods = this.#runtime.pod;
    const inProgress = state === 'syncing' && resizePlan(pod, resize.sizes, pods).inProgress;
    const { cgroup } = resize.sizes;
    const actual = actualOfPod(pod, pods?.containers ?? [], resize.sizes);
    const made = podStatus({
      pod,
      runtime: pods,
      waiting: input.waiting,
      previous,
      ending: state !== 'syncing',
      runtimeName: runtime()?.name ?? 'containerd',
      hostIps: nodeIps,
      now,
      probes: input.probes,
      details: withResources(this.#details, actual),
      devices: this.#deps.devices.health(this.#ref.uid),
      failure,
      ...(failure?.reason === 'Preempting' && { disruption: PREEMPTION }),
      resize: state === 'syncing' ? resizeConditions(work, { inProgress, error: resize.error }) : [],
      ...(inProgress &&
        cgroup !== undefined && { podResources: { actual: requirements(withAllocation(pod, cgroup)) } }),
      recursiveReadOnlyMounts: hasRecursiveReadOnly(this.#deps, pod),
      restartAllContainers: this.#deps.restartAllContainers,
    });
    return state === 'syncing' || state === 'terminating' ? made : terminatedStatus(pod, made);
  }

  #unread(): RuntimeContainer[] {
    const containers = this.#runtime.pod?.containers ?? [];
    return containers.filter(({ id, state }) => state === 'exited' && !this.#details.has(id));
  }

  /** A message that can not be read is told, and missing: a pod's status does not wait for it. */
  async #messageOf(run: RuntimeContainer): Promise<string | undefined> {
    const { files } = this.#deps;
    const { name, annotations, exitCode, logPath } = run;
    const policy = annotations[ANNOTATION.terminationMessagePolicy];
    try {
      const file = await files.readTerminationLog(this.#ref, run);
      const asksLog = logPath !== '' && needsLog({ policy, exitCode, file });
      const end = asksLog ? await files.readLogEnd(logPath) : undefined;
      return terminationMessage({ policy, exitCode, file, log: end && logText(end) });
    } catch (error) {
      this.#logger.warn({ container: name, err: toError(error) }, 'the termination message could not be read');
      return undefined;
    }
  }
}

/** What is known of containers, with the resources that the running ones have. */
function withResources(
  details: ReadonlyMap<string, ContainerDetails>,
  actual: ReadonlyMap<string, ResourceRequirements>,
): ReadonlyMap<string, ContainerDetails> {
  return new Map([
    ...details,
    ...[...actual].map(([id, resources]) => [id, { ...details.get(id), resources }] as const),
  ]);
}

function requirements(pod: Pod): ResourceRequirements {
  return { limits: podResourceList(pod, 'limits'), requests: podResourceList(pod, 'requests') };
}
