import type { ContainerStatus, Pod, PodStatus, PodWork, RuntimePod, WorkerState } from '@kubus/contracts';
import type { Labels, MetricFamily, MetricSample } from '@kubus/metrics';
import { isMirror } from '@kubus/pod';

/** What is currently known about the node's pods. */
export interface PodsNow {
  /** The desired pods of each source, including mirror pods. */
  readonly desired: readonly { readonly source: string; readonly pod: Pod }[];
  readonly works: readonly PodWork[];
  readonly runtime: readonly RuntimePod[];
  readonly worker: (uid: string) => WorkerState | undefined;
  readonly status: (uid: string) => PodStatus | undefined;
}

type Gauge = (name: string, help: string, samples: readonly MetricSample[]) => MetricFamily;

const gauge: Gauge = (name, help, samples) => ({ name: `kubelet_${name}`, help, type: 'gauge', samples });
const alone = (value: number): MetricSample[] => [{ labels: {}, value }];

/** The numbers of pods and containers, under the reference's metric names (behaviour:agent-metrics). */
export function podGauges(now: PodsNow): MetricFamily[] {
  const pods = now.desired.filter(({ pod }) => !isMirror(pod));
  const active = pods.filter(({ pod }) => isActive(pod.metadata.uid, now));
  const states = now.runtime.flatMap(({ containers }) => containers.map(({ state }) => state));
  const conditions = pods.flatMap(({ pod }) => now.status(pod.metadata.uid)?.conditions ?? []);
  const pending = conditions.filter(({ type, status }) => type === 'PodResizePending' && status === 'True');
  return [
    gauge(
      'running_pods',
      'Pods with a running sandbox.',
      alone(now.runtime.filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length),
    ),
    gauge('running_containers', 'Containers by their state in the runtime.', counted(states, 'container_state')),
    gauge('desired_pods', 'Desired pods of the node; static: not from the API server.', byOrigin(pods)),
    gauge(
      'active_pods',
      'Pods that count for the admission of other pods; static: not from the API server.',
      byOrigin(active),
    ),
    gauge('mirror_pods', 'Mirror pods in the API server.', alone(now.desired.length - pods.length)),
    gauge(
      'working_pods',
      'Pods that have a worker, by its state, whether they are still desired, and whether they are static.',
      workingPods(now, new Set(pods.map(({ pod }) => pod.metadata.uid))),
    ),
    gauge(
      'managed_ephemeral_containers',
      'Ephemeral containers in the pods of the node.',
      alone(pods.reduce((sum, { pod }) => sum + (pod.spec.ephemeralContainers?.length ?? 0), 0)),
    ),
    gauge(
      'pod_pending_resizes',
      'Pods whose resize is deferred or infeasible.',
      counted(
        pending.map(({ reason = '' }) => reason.toLowerCase()),
        'reason',
      ),
    ),
    gauge(
      'pod_in_progress_resizes',
      'Pods whose resources are being changed.',
      alone(conditions.filter(({ type, status }) => type === 'PodResizeInProgress' && status === 'True').length),
    ),
  ];
}

/** Pods that have terminated, or whose phase is final, use no resources of the node any more. */
function isActive(uid: string, { worker, status }: PodsNow): boolean {
  const state = worker(uid);
  if (state === 'terminated' || state === 'finished') return false;
  const report = status(uid);
  const isOver = report?.phase === 'Failed' || report?.phase === 'Succeeded';
  return !isOver || (report.containerStatuses ?? []).some(isRunning);
}

function isRunning({ state }: ContainerStatus): boolean {
  return state?.running !== undefined;
}

function byOrigin(pods: readonly { readonly source: string }[]): MetricSample[] {
  const api = pods.filter(({ source }) => source === 'api').length;
  return [
    { labels: { static: '' }, value: api },
    { labels: { static: 'true' }, value: pods.length - api },
  ];
}

function counted(values: readonly string[], label: string): MetricSample[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ labels: { [label]: value }, value: count }));
}

const LIFECYCLES: Readonly<Record<Exclude<WorkerState, 'finished'>, string>> = {
  syncing: 'sync',
  terminating: 'terminating',
  terminated: 'terminated',
};

/** All possible combinations. Each one is shown even if no pod matches it. */
const CONFIGS: readonly (readonly [config: string, isStatic: string])[] = [
  ['desired', 'true'],
  ['desired', ''],
  ['orphan', 'true'],
  ['orphan', ''],
  ['runtime_only', 'unknown'],
];

function workingPods({ works, worker }: PodsNow, wanted: ReadonlySet<string>): MetricSample[] {
  const found = works.flatMap((work): Labels[] => {
    const state = worker(work.ref.uid);
    if (state === undefined || state === 'finished') return [];
    const lifecycle = LIFECYCLES[state];
    if (work.source === 'runtime') return [{ lifecycle, config: 'runtime_only', static: 'unknown' }];
    const config = wanted.has(work.ref.uid) ? 'desired' : 'orphan';
    return [{ lifecycle, config, static: work.source === 'api' ? '' : 'true' }];
  });
  const keys = found.map((labels) => JSON.stringify(labels));
  return CONFIGS.flatMap(([config, isStatic]) =>
    Object.values(LIFECYCLES).map((lifecycle) => {
      const labels = { lifecycle, config, static: isStatic };
      const key = JSON.stringify(labels);
      return { labels, value: keys.filter((one) => one === key).length };
    }),
  );
}
