import type { ContainerStatus, Pod, PodStatus, PodWork, RuntimePod, WorkerState } from '@kubus/contracts';
import type { Labels, MetricFamily, MetricSample } from '@kubus/metrics';
import { isMirrorPod } from '@kubus/node-pods';

/** What is known of the node's pods now. */
export interface PodsNow {
  /** What each source wants, mirrors of static pods included. */
  readonly desired: readonly { readonly source: string; readonly pod: Pod }[];
  readonly works: readonly PodWork[];
  readonly runtime: readonly RuntimePod[];
  readonly worker: (uid: string) => WorkerState | undefined;
  readonly status: (uid: string) => PodStatus | undefined;
}

type Gauge = (name: string, help: string, samples: readonly MetricSample[]) => MetricFamily;

const gauge: Gauge = (name, help, samples) => ({ name: `kubelet_${name}`, help, type: 'gauge', samples });
const alone = (value: number): MetricSample[] => [{ labels: {}, value }];

/** How many pods and containers there are, by the reference's names (kubelet behaviour 6.1). */
export function podGauges(now: PodsNow): MetricFamily[] {
  const pods = now.desired.filter(({ pod }) => !isMirrorPod(pod));
  const active = pods.filter(({ pod }) => isActive(pod.metadata.uid, now));
  const states = now.runtime.flatMap(({ containers }) => containers.map(({ state }) => state));
  const conditions = pods.flatMap(({ pod }) => now.status(pod.metadata.uid)?.conditions ?? []);
  const pending = conditions.filter(({ type, status }) => type === 'PodResizePending' && status === 'True');
  return [
    gauge(
      'running_pods',
      'Pods of which a sandbox runs.',
      alone(now.runtime.filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length),
    ),
    gauge('running_containers', 'Containers by their state in the runtime.', counted(states, 'container_state')),
    gauge('desired_pods', 'Pods that the node is to run; static: not from the API server.', byOrigin(pods)),
    gauge(
      'active_pods',
      'Pods that count when another one is admitted; static: not from the API server.',
      byOrigin(active),
    ),
    gauge('mirror_pods', 'Copies of static pods that the API server has.', alone(now.desired.length - pods.length)),
    gauge(
      'working_pods',
      'Pods that the node works on: how far they are, whether anybody wants them still, and whether they are static.',
      workingPods(now, new Set(pods.map(({ pod }) => pod.metadata.uid))),
    ),
    gauge(
      'managed_ephemeral_containers',
      'Ephemeral containers in the pods of the node.',
      alone(pods.reduce((sum, { pod }) => sum + (pod.spec.ephemeralContainers?.length ?? 0), 0)),
    ),
    gauge(
      'pod_pending_resizes',
      'Pods whose resize waits or can not be.',
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

/** Pods that have ended, for good or by their phase, take nothing of the node any more. */
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

/** The combinations that there can be, each of them shown also while no pod is there of which it is true. */
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
