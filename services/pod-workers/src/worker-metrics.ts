import type { Pod, PodStatus, ContainerStatus } from '@kubus/contracts';
import { DEFAULT_BUCKETS, Distribution, Tally, exponentialBuckets } from '@kubus/metrics';
import type { ContainerStart } from '@kubus/pod-lifecycle';
import type { Clock } from '@kubus/ports';
import type { Metrics } from '@kubus/service-kit';

/** Bounds of the reference, in seconds and in milliseconds. */
const START_BUCKETS = [
  ...[0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
];
const RESIZE_MS_BUCKETS = [10, 50, 100, 500, 1000, 2000, 5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000];

export type PassKind = 'create' | 'update' | 'sync' | 'kill' | 'terminated';
export type CgroupOperation = 'create' | 'update' | 'destroy';

const TYPES: Readonly<Record<ContainerStart['kind'], string>> = {
  ...{ init: 'init_container', sidecar: 'init_container', regular: 'container', ephemeral: 'ephemeral_container' },
};

/** What the workers count of their work, under the reference's names (kubelet behaviour 6.1). */
export class WorkerMetrics {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #passSeconds = new Distribution(DEFAULT_BUCKETS);
  readonly #beginSeconds = new Distribution(DEFAULT_BUCKETS, {});
  readonly #containersPerPod = new Distribution(exponentialBuckets(1, 2, 5), {});
  readonly #startSeconds = new Distribution(START_BUCKETS, {});
  readonly #pods = new Tally({});
  readonly #podErrors = new Tally({});
  readonly #namespacedPods = new Tally({});
  readonly #namespacedPodErrors = new Tally({});
  readonly #containers = new Tally();
  readonly #containerErrors = new Tally();
  readonly #terminated = new Tally();
  readonly #restarted = new Tally({ static: '' }, { static: 'true' });
  readonly #orphans = new Tally({});
  readonly #evictions = new Tally();
  readonly #imageRequests = new Tally();
  readonly #imageVolumes = new Tally({});
  readonly #mountedImages = new Tally({});
  readonly #imageVolumeErrors = new Tally({});
  readonly #httpFallbacks = new Tally({});
  readonly #cutSleeps = new Tally({});
  readonly #resizeMs = new Distribution(RESIZE_MS_BUCKETS);
  readonly #cgroupSeconds = new Distribution(DEFAULT_BUCKETS);

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** A pass over a pod has ended, however it did. @param began milliseconds since the Unix epoch */
  passed(kind: PassKind, began: number): void {
    this.#passSeconds.observe({ operation_type: kind }, this.#since(began));
  }

  /** A pod is worked on for the first time. */
  begun(pod: Pod, firstSeen: string): void {
    this.#beginSeconds.observe({}, this.#since(Date.parse(firstSeen)));
    this.#containersPerPod.observe({}, pod.spec.containers.length);
  }

  /** A pod’s status has changed. */
  told(previous: PodStatus | undefined, status: PodStatus, firstSeen: string): void {
    const wasPending = previous === undefined || previous.phase === 'Pending';
    if (wasPending && status.phase === 'Running') this.#startSeconds.observe({}, this.#since(Date.parse(firstSeen)));
    for (const ended of newlyEnded(previous, status)) this.#terminated.add(ended);
  }

  sandbox(userNamespace: boolean): void {
    this.#pods.add();
    if (userNamespace) this.#namespacedPods.add();
  }

  sandboxFailed(userNamespace: boolean): void {
    this.#podErrors.add();
    if (userNamespace) this.#namespacedPodErrors.add();
  }

  container(kind: ContainerStart['kind']): void {
    this.#containers.add({ container_type: TYPES[kind] });
  }

  /** @param code the reason that the container’s status shows */
  containerFailed(kind: ContainerStart['kind'], code: string): void {
    this.#containerErrors.add({ container_type: TYPES[kind], code });
  }

  /** A pod is begun anew under the UID of one that has ended. */
  restarted(isStatic: boolean): void {
    this.#restarted.add({ static: isStatic ? 'true' : '' });
  }

  /** There is something in the runtime of a pod that nobody has told of. */
  orphan(): void {
    this.#orphans.add();
  }

  /** A pod has used more local storage than it may. */
  evicted(signal: string): void {
    this.#evictions.add({ eviction_signal: signal });
  }

  /** An image was asked for; undefined: it was not found out. */
  image(policy: string, isPresent: boolean | undefined, isToBePulled: boolean | undefined): void {
    this.#imageRequests.add({
      pull_policy: policy.toLowerCase(),
      present_locally: String(isPresent ?? 'unknown'),
      pull_required: String(isToBePulled ?? 'unknown'),
    });
  }

  imageVolume(isThere: boolean): void {
    this.#imageVolumes.add();
    (isThere ? this.#mountedImages : this.#imageVolumeErrors).add();
  }

  httpFallback(): void {
    this.#httpFallbacks.add();
  }

  /** The sleep of a handler was ended before its time. */
  cutSleep(): void {
    this.#cutSleeps.add();
  }

  resized(began: number, success: boolean): void {
    this.#resizeMs.observe({ success: String(success) }, this.#clock.now() - began);
  }

  /** Does something with a pod’s cgroup, and counts what took how long. */
  async cgroup<T>(operation: CgroupOperation, work: () => Promise<T>): Promise<T> {
    const began = this.#clock.now();
    try {
      return await work();
    } finally {
      this.#cgroupSeconds.observe({ operation_type: operation }, this.#since(began));
    }
  }

  show(metrics: Metrics): void {
    const counters: readonly (readonly [name: string, help: string, values: Tally])[] = [
      ['started_pods_total', 'Sandboxes that were to be made.', this.#pods],
      ['started_pods_errors_total', 'Sandboxes that could not be made.', this.#podErrors],
      ['started_user_namespaced_pods_total', 'Of these, those with users of their own.', this.#namespacedPods],
      [
        'started_user_namespaced_pods_errors_total',
        'Sandboxes with users of their own that could not be made.',
        this.#namespacedPodErrors,
      ],
      ['started_containers_total', 'Containers that were to be started.', this.#containers],
      ['started_containers_errors_total', 'Containers that could not be started.', this.#containerErrors],
      ['terminated_containers_total', 'Containers that have ended, by how.', this.#terminated],
      ['restarted_pods_total', 'Pods that were removed and made again with the same UID.', this.#restarted],
      ['orphaned_runtime_pods_total', 'Pods in the runtime of which nobody had told.', this.#orphans],
      ['evictions', 'Pods that were evicted, by what was short.', this.#evictions],
      ['image_manager_ensure_image_requests_total', 'Images that were asked for.', this.#imageRequests],
      ['image_volume_requested_total', 'Images that were asked for as volumes.', this.#imageVolumes],
      ['image_volume_mounted_succeed_total', 'Images that were there as volumes.', this.#mountedImages],
      ['image_volume_mounted_errors_total', 'Images that could not be had as volumes.', this.#imageVolumeErrors],
      [
        'lifecycle_handler_http_fallbacks_total',
        'Handlers that asked for https and were answered over http.',
        this.#httpFallbacks,
      ],
      ['sleep_action_terminated_early_total', 'Sleeps of handlers that were ended before their time.', this.#cutSleeps],
    ];
    for (const [name, help, values] of counters) {
      metrics.add({ type: 'counter', name: `kubelet_${name}`, help, collect: () => values.samples });
    }
    const histograms: readonly (readonly [name: string, help: string, values: Distribution])[] = [
      ['pod_worker_duration_seconds', 'How long passes over pods took, by what they did.', this.#passSeconds],
      ['pod_worker_start_duration_seconds', 'Time from hearing of a pod to working on it.', this.#beginSeconds],
      ['containers_per_pod_count', 'Containers of pods.', this.#containersPerPod],
      ['pod_start_duration_seconds', 'Time from hearing of a pod until it runs.', this.#startSeconds],
      ['pod_resize_duration_milliseconds', 'How long it took to resize pods.', this.#resizeMs],
      ['cgroup_manager_duration_seconds', 'How long it took to change pods’ cgroups.', this.#cgroupSeconds],
    ];
    for (const [name, help, values] of histograms) {
      metrics.add({ type: 'histogram', name: `kubelet_${name}`, help, values });
    }
  }

  #since(began: number): number {
    return Math.max(0, this.#clock.now() - began) / 1000;
  }
}

/** Containers of which the status shows for the first time that they have ended. */
function newlyEnded(previous: PodStatus | undefined, status: PodStatus): Readonly<Record<string, string>>[] {
  const lists = [
    ['init_container', previous?.initContainerStatuses, status.initContainerStatuses],
    ['container', previous?.containerStatuses, status.containerStatuses],
    ['ephemeral_container', previous?.ephemeralContainerStatuses, status.ephemeralContainerStatuses],
  ] as const;
  return lists.flatMap(([type, before = [], now = []]) =>
    now.flatMap(({ name, state }) => {
      const ended = state?.terminated;
      if (ended === undefined || hadEnded(before, name)) return [];
      return [{ container_type: type, exit_code: String(ended.exitCode), reason: ended.reason ?? '' }];
    }),
  );
}

function hadEnded(statuses: readonly ContainerStatus[], name: string): boolean {
  return statuses.find((one) => one.name === name)?.state?.terminated !== undefined;
}
