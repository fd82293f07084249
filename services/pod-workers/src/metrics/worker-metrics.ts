import type { Pod, PodStatus, ContainerStatus } from '@kubus/contracts';
import { DEFAULT_BUCKETS, Distribution, Tally, exponentialBuckets } from '@kubus/metrics';
import type { ContainerStart } from '@kubus/pod-lifecycle';
import type { Clock } from '@kubus/ports';
import type { Metrics } from '@kubus/service-kit';

/** Bucket bounds of the reference, in seconds and in milliseconds. */
const START_BUCKETS = [
  ...[0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
];
const RESIZE_MS_BUCKETS = [10, 50, 100, 500, 1000, 2000, 5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000];

export type SyncKind = 'create' | 'update' | 'sync' | 'kill' | 'terminated';
export type CgroupOperation = 'create' | 'update' | 'destroy';

const TYPES: Readonly<Record<ContainerStart['kind'], string>> = {
  ...{ init: 'init_container', sidecar: 'init_container', regular: 'container', ephemeral: 'ephemeral_container' },
};

/** The metrics of the workers, under the reference's names (behaviour:agent-metrics). */
export class WorkerMetrics {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #syncSeconds = new Distribution(DEFAULT_BUCKETS);
  readonly #firstSyncSeconds = new Distribution(DEFAULT_BUCKETS, {});
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

  /** A sync of a pod has ended, successfully or not. @param began milliseconds since the Unix epoch */
  synced(kind: SyncKind, began: number): void {
    this.#syncSeconds.observe({ operation_type: kind }, this.#since(began));
  }

  /** A pod is synced for the first time. */
  firstSync(pod: Pod, firstSeen: string): void {
    this.#firstSyncSeconds.observe({}, this.#since(Date.parse(firstSeen)));
    this.#containersPerPod.observe({}, pod.spec.containers.length);
  }

  /** A pod’s status has changed and was published. */
  statusPublished(previous: PodStatus | undefined, status: PodStatus, firstSeen: string): void {
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

  /** A pod starts again under the UID of one that has finished. */
  restarted(isStatic: boolean): void {
    this.#restarted.add({ static: isStatic ? 'true' : '' });
  }

  /** The runtime lists a container or sandbox of a pod that no source has. */
  orphan(): void {
    this.#orphans.add();
  }

  /** A pod has exceeded its limit of local storage. */
  evicted(signal: string): void {
    this.#evictions.add({ eviction_signal: signal });
  }

  /** An image was requested. `isPresent`, `isToBePulled`: undefined where that was not determined. */
  image(policy: string, isPresent: boolean | undefined, isToBePulled: boolean | undefined): void {
    this.#imageRequests.add({
      pull_policy: policy.toLowerCase(),
      present_locally: String(isPresent ?? 'unknown'),
      pull_required: String(isToBePulled ?? 'unknown'),
    });
  }

  imageVolume(isPresent: boolean): void {
    this.#imageVolumes.add();
    (isPresent ? this.#mountedImages : this.#imageVolumeErrors).add();
  }

  httpFallback(): void {
    this.#httpFallbacks.add();
  }

  /** The sleep of a handler was ended early. */
  cutSleep(): void {
    this.#cutSleeps.add();
  }

  resized(began: number, success: boolean): void {
    this.#resizeMs.observe({ success: String(success) }, this.#clock.now() - began);
  }

  /** Performs an operation on a pod’s cgroup, and measures how long it took. */
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
      ['started_pods_total', 'Sandboxes that were to be created.', this.#pods],
      ['started_pods_errors_total', 'Sandboxes that could not be created.', this.#podErrors],
      [
        'started_user_namespaced_pods_total',
        'Sandboxes with a user namespace of their own that were to be created.',
        this.#namespacedPods,
      ],
      [
        'started_user_namespaced_pods_errors_total',
        'Sandboxes with a user namespace of their own that could not be created.',
        this.#namespacedPodErrors,
      ],
      ['started_containers_total', 'Containers that were to be started.', this.#containers],
      ['started_containers_errors_total', 'Containers that could not be started.', this.#containerErrors],
      ['terminated_containers_total', 'Containers that have ended, by exit code and reason.', this.#terminated],
      ['restarted_pods_total', 'Pods that were removed and created again with the same UID.', this.#restarted],
      ['orphaned_runtime_pods_total', 'Pods in the runtime that no source had.', this.#orphans],
      ['evictions', 'Pods that were evicted, by eviction signal.', this.#evictions],
      ['image_manager_ensure_image_requests_total', 'Images that were requested.', this.#imageRequests],
      ['image_volume_requested_total', 'Images that were requested as volumes.', this.#imageVolumes],
      ['image_volume_mounted_succeed_total', 'Images that were mounted as volumes.', this.#mountedImages],
      ['image_volume_mounted_errors_total', 'Images that could not be mounted as volumes.', this.#imageVolumeErrors],
      [
        'lifecycle_handler_http_fallbacks_total',
        'Handlers that requested https and were answered over http.',
        this.#httpFallbacks,
      ],
      ['sleep_action_terminated_early_total', 'Sleeps of handlers that were ended early.', this.#cutSleeps],
    ];
    for (const [name, help, values] of counters) {
      metrics.add({ type: 'counter', name: `kubelet_${name}`, help, collect: () => values.samples });
    }
    const histograms: readonly (readonly [name: string, help: string, values: Distribution])[] = [
      ['pod_worker_duration_seconds', 'How long syncs of pods took, by what they did.', this.#syncSeconds],
      ['pod_worker_start_duration_seconds', 'Time from first seeing a pod to its first sync.', this.#firstSyncSeconds],
      ['containers_per_pod_count', 'Containers of pods.', this.#containersPerPod],
      ['pod_start_duration_seconds', 'Time from first seeing a pod until it runs.', this.#startSeconds],
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

/** The number of containers that the status shows as ended for the first time. */
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
