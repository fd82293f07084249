import { actualOfPod, resizeConditions, resizeEvents, resizePlan, withAllocation } from '@kubus/admission';
import type { Cause } from '@kubus/bus';
import {
  type Pod,
  type PodFailure,
  type PodRef,
  type PodStatus,
  type PodWork,
  type ResourceRequirements,
  type RuntimeContainer,
  type WorkerState,
} from '@kubus/contracts';
import { isDeepEqual } from '@kubus/pod';
import { ANNOTATION, type ProbeResults } from '@kubus/pod-lifecycle';
import {
  type ContainerDetails,
  ENDED_BY_SHUTDOWN,
  type StatusReason,
  type WaitingReason,
  isTerminal,
  needsLog,
  podResourceList,
  podStatus,
  rejectedStatus,
  terminatedStatus,
  terminationMessage,
  withNoneRunning,
} from '@kubus/pod-status';
import { type Logger, toError } from '@kubus/ports';
import { DEADLINE_EXCEEDED, deadlineLeftMs } from './active-deadline.ts';
import { EMPTY_DIR_SIGNAL, evictionGrace, evictionOf, isEviction, wasEvicted } from './eviction.ts';
import { hasRecursiveReadOnly } from '../sandbox/handler-features.ts';
import { logText } from '../logs/log-text.ts';
import type { ResizeState } from '../resize/resize-state.ts';
import type { PodRuntime } from '../runtime/pod-runtime.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** The reason of the disruption condition for a pod that was ended for a critical one (behaviour:admission, row 4b). */
const PREEMPTION: StatusReason = {
  reason: 'TerminationByKubelet',
  message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
};

/** What a status is computed from besides the pod state. */
export interface StatusInput {
  readonly work: PodWork;
  readonly pod: Pod;
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly probes: ProbeResults;
  readonly resize: ResizeState;
  readonly state: WorkerState;
  readonly causes: readonly Cause[];
}

/** What computing and publishing a status uses. */
export type StatusDeps = Pick<
  WorkerDeps,
  | 'clock'
  | 'devices'
  | 'events'
  | 'files'
  | 'metrics'
  | 'nodeIps'
  | 'objects'
  | 'restartAllContainers'
  | 'runtimeCondition'
  | 'standAlone'
  | 'statuses'
  | 'volumesOf'
>;

/** Computes one pod's status and publishes it when it changes. */
export class StatusPublisher {
  readonly #ref: PodRef;
  readonly #deps: StatusDeps;
  readonly #logger: Logger;
  readonly #runtime: PodRuntime;
  /** Keyed by container ID: the termination messages of ended containers. */
  readonly #details = new Map<string, ContainerDetails>();
  #status: PodStatus | undefined;
  /** The status has been published by this process. */
  #published = false;
  /** The number of callers that hold it. */
  #held = 0;

  /** @param options.status the last status of an earlier process of the service */
  constructor(options: {
    ref: PodRef;
    deps: StatusDeps;
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

  /** The node has ended the pod for lack of something: none of its containers is kept (behaviour:garbage-collection). */
  get evicted(): boolean {
    return wasEvicted(this.#status);
  }

  /** The grace period in seconds that it sets for the containers; undefined when it keeps the pod's own. */
  get graceSeconds(): number | undefined {
    return evictionGrace(this.#status);
  }

  /**
   * Publishes the status of an earlier process again: for a finished pod, which is no longer read. The status of any
   * other pod is computed first, since the earlier process may have published a later one than it could record.
   */
  republish(causes: readonly Cause[]): void {
    const status = this.#status && withNoneRunning(this.#status);
    this.#status = status;
    const ref = this.#ref;
    if (status !== undefined) this.#deps.statuses.put(ref.uid, { ref, status }, { pod: ref.uid, causes });
    this.#published = true;
  }

  /** Drops everything from before the UID was desired again. */
  reset(): void {
    this.#status = undefined;
  }

  /** Nothing may be published outside of a sync. */
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

  /** True when the messages of all ended containers have been read. */
  get informed(): boolean {
    return this.#unread().length === 0;
  }

  /** Reads the termination messages of ended containers, so that the status that shows their end includes them. */
  async readMessages(): Promise<void> {
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

  /** Computes the status and publishes it. Returns true when it changed. */
  publish(input: StatusInput): boolean {
    const previous = this.#status;
    const failure = this.#failure(input);
    const status = this.#make(input, failure);
    if (this.#published && isDeepEqual(status, previous)) return false;
    this.#published = true;
    this.#status = status;
    this.#deps.metrics.statusPublished(previous, status, input.work.firstSeen);
    const ref = this.#ref;
    const { events, statuses } = this.#deps;
    const at = this.#runtime.at;
    const why = { pod: ref.uid, causes: [...this.#runtime.cause, ...input.causes] };
    statuses.put(ref.uid, { ref, status, ...(at !== undefined && { runtime: at }) }, why);
    // The reference has no event for the end by a shutdown.
    if (failure !== undefined && !isTerminal(previous?.phase) && !isShutdown(failure)) {
      const type = failure === DEADLINE_EXCEEDED ? 'Normal' : 'Warning';
      const { reason, message, annotations } = failure;
      events.record({ ref, type, reason, message, ...(annotations && { annotations }) }, why.causes);
      if (input.work.failure === undefined && isEviction(failure)) this.#deps.metrics.evicted(EMPTY_DIR_SIGNAL);
    }
    for (const event of resizeEvents({ ...input.work, pod: input.pod }, previous, status)) {
      events.record({ ref, ...event }, why.causes);
    }
    return true;
  }

  /** The reason why the pod is finished, whatever its containers do. */
  #failure({ work, pod, state }: StatusInput): PodFailure | undefined {
    if (work.failure !== undefined) return work.failure;
    if (state !== 'syncing' || isTerminal(this.#status?.phase)) return undefined;
    if (deadlineLeftMs(pod, this.#status, this.#deps.clock.now()) === 0) return DEADLINE_EXCEEDED;
    return evictionOf(pod, this.#deps.volumesOf(this.#ref.uid));
  }

  #make(input: StatusInput, failure: PodFailure | undefined): PodStatus {
    const { work, pod, state, resize } = input;
    const { clock, nodeIps, runtimeCondition } = this.#deps;
    const previous = this.#status;
    const now = clock.now();
    // Nothing was ever created for it, and it never changes.
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
      runtimeName: runtimeCondition()?.name ?? 'containerd',
      hostIps: nodeIps(),
      standAlone: this.#deps.standAlone,
      now,
      probes: input.probes,
      details: withResources(this.#details, actual),
      devices: this.#deps.devices.health(pod),
      failure,
      ...disruption(failure),
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

  /** A message that cannot be read is logged and left out: a pod's status does not wait for it. */
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
      this.#logger.warn({ container: name, err: toError(error) }, 'reading the termination message failed');
      return undefined;
    }
  }
}

function isShutdown({ reason }: StatusReason): boolean {
  return reason === ENDED_BY_SHUTDOWN.reason;
}

/** Whether the node has ended the pod for reasons of its own (KEP-3329). */
function disruption(failure: PodFailure | undefined): { disruption?: StatusReason } {
  if (failure?.reason === 'Preempting') return { disruption: PREEMPTION };
  if (failure?.disrupts === true) return { disruption: { reason: PREEMPTION.reason, message: failure.message } };
  if (failure === undefined || !isShutdown(failure)) return {};
  return { disruption: { reason: PREEMPTION.reason, message: ENDED_BY_SHUTDOWN.message } };
}

/** What is known of containers, with the actual resources of the running ones. */
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
