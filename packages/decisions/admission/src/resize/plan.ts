import { allocationOf, sameAllocation, withAllocation } from '../allocation.ts';
import { amount } from '../claim.ts';
import { type CgroupLimits, podLimits, podMemoryLimit } from '@kubus/cgroup-config';
import type {
  Container,
  Pod,
  PodAllocation,
  ResourceRequirements,
  RuntimeContainer,
  RuntimePod,
} from '@kubus/contracts';
import { containersOf, newestContainer } from '@kubus/pod-lifecycle';
import { type PodSizes, RESIZABLE, type Resizable, sameSize, sizeOf } from './sizes.ts';

/** One step of a resize; `pod` is the pod with the resources that apply to the step. */
export type ResizeStep =
  | { readonly kind: 'cgroup'; readonly pod: Pod }
  | { readonly kind: 'container'; readonly pod: Pod; readonly container: Container; readonly run: RuntimeContainer };

/** A memory limit that is to be lowered, but not below current usage. In bytes. */
interface SmallerLimit {
  /** Undefined: that of the pod as a whole. */
  readonly run: RuntimeContainer | undefined;
  readonly bytes: bigint;
}

/** How a pod gets from the resources that it has to the allocated ones. */
export interface ResizePlan {
  /** Something that is known to have been set for the pod differs from the allocation. */
  readonly inProgress: boolean;
  /** In order, to be run one after another. */
  readonly steps: readonly ResizeStep[];
  /** Ids of running containers that get their new size by a restart. */
  readonly restarts: ReadonlySet<string>;
  /** Names of containers that are not running, and so have their new size from their next start on. */
  readonly settled: readonly string[];
  readonly smaller: readonly SmallerLimit[];
}

interface Change {
  readonly container: Container;
  readonly run: RuntimeContainer;
  readonly before: ResourceRequirements;
  readonly after: ResourceRequirements;
}

type Kind = 'requests' | 'limits';

/**
 * The steps of a resize (behaviour:resize): memory, then CPU. Where the pod as a whole gets more, its cgroup comes
 * before its containers, limits first; where it gets less, it comes after them, limits last. Of the containers, those that
 * get less come first.
 *
 * @param pod with the allocated resources
 * @param sizes the sizes that were last set
 */
export function resizePlan(pod: Pod, sizes: PodSizes, runtime: RuntimePod | undefined): ResizePlan {
  const restarts = new Set<string>();
  const settled: string[] = [];
  const changes: Change[] = [];
  let known = false;
  for (const { kind, container } of containersOf(pod)) {
    if (kind !== 'regular' && kind !== 'sidecar') continue;
    const before = sizes.containers[container.name];
    const after = sizeOf(pod, container);
    if (sameSize(before, after)) continue;
    const run = newestContainer(runtime, container.name);
    const exists = run?.state === 'running' || run?.state === 'created';
    // A container that is still to be created, or one about which nothing is known, which is no reason to restart it.
    if (before === undefined && !exists) continue;
    known ||= before !== undefined;
    if (!exists) settled.push(container.name);
    else if (before !== undefined && needsRestart(container, before, after)) restarts.add(run.id);
    else changes.push({ container, run, before: before ?? {}, after });
  }
  const granted = allocationOf(pod);
  const had = sizes.cgroup ?? granted;
  const cgroup = RESIZABLE.map((resource) => podSteps(pod, had, granted, resource));
  const shrinks = cgroup.some(({ after }) => after.length > 0);
  const steps = RESIZABLE.flatMap((resource, index): ResizeStep[] => {
    const { before = [], after = [] } = cgroup[index] ?? {};
    // A container that is to be restarted keeps its size until then.
    return [...before, ...containerSteps(pod, changes, resource), ...(restarts.size > 0 ? [] : after)];
  });
  return {
    inProgress: known || shrinks || steps.some(({ kind }) => kind === 'cgroup'),
    steps,
    restarts,
    settled,
    smaller: restarts.size > 0 ? [] : smallerLimits(pod, had, granted, changes),
  };
}

function needsRestart(
  { resizePolicy = [] }: Container,
  before: ResourceRequirements,
  after: ResourceRequirements,
): boolean {
  return resizePolicy.some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === 'RestartContainer' &&
      RESIZABLE.some((resource) => resource === resourceName && differs(before, after, resource)),
  );
}

function differs(before: ResourceRequirements, after: ResourceRequirements, resource: Resizable): boolean {
  return (['requests', 'limits'] as const).some((kind) => change(before, after, resource, kind) !== 0);
}

/** Above 0 for an increase, below 0 for a decrease. A missing limit is the greatest one. */
function change(before: ResourceRequirements, after: ResourceRequirements, resource: Resizable, kind: Kind): number {
  const [old, now] = [before, after].map((one) => amount(resource, one[kind]?.[resource]));
  if (old === now || old === undefined || now === undefined) return 0;
  if (kind === 'limits' && (old === 0n || now === 0n)) return now === 0n ? 1 : -1;
  return now > old ? 1 : -1;
}

function containerSteps(pod: Pod, changes: readonly Change[], resource: Resizable): ResizeStep[] {
  const changed = changes.filter(({ before, after }) => differs(before, after, resource));
  const grows = ({ before, after }: Change) =>
    (change(before, after, resource, 'limits') || change(before, after, resource, 'requests')) > 0;
  const steps = (some: readonly Change[]) =>
    some.map(({ container, run, before, after }): ResizeStep => {
      // What comes later keeps its value: the runtime sets all resources at once.
      const resources = resource === 'memory' ? mixed(after, before, 'memory') : after;
      return { kind: 'container', pod, container: { ...container, resources }, run };
    });
  return [...steps(changed.filter((one) => !grows(one))), ...steps(changed.filter(grows))];
}

/** One resource of `from` together with the others of `rest`. */
function mixed(from: ResourceRequirements, rest: ResourceRequirements, resource: Resizable): ResourceRequirements {
  const of = (kind: Kind) => {
    const others = Object.entries(rest[kind] ?? {}).filter(([name]) => name !== resource);
    const own = from[kind]?.[resource];
    return Object.fromEntries(own === undefined ? others : [...others, [resource, own]]);
  };
  return { requests: of('requests'), limits: of('limits') };
}

/** What changes in the pod's cgroup for a resource, before and after its containers. */
function podSteps(
  pod: Pod,
  had: PodAllocation,
  granted: PodAllocation,
  resource: Resizable,
): { before: ResizeStep[]; after: ResizeStep[] } {
  if (sameAllocation(had, granted)) return { before: [], after: [] };
  const done: string[] = resource === 'cpu' ? ['memory limits', 'memory requests'] : [];
  const at = (more: readonly string[]) =>
    withAllocation(
      pod,
      blend(had, granted, (name, kind) => [...done, ...more].includes(`${name} ${kind}`)),
    );
  const compare = (kind: Kind) =>
    compareLimits(podLimits(at([])), podLimits(at([`${resource} ${kind}`])), resource, kind);
  const [limits, requests] = [compare('limits'), compare('requests')];
  const before = [...(limits > 0 ? ['limits'] : []), ...(requests > 0 ? ['requests'] : [])];
  const after = [...(requests < 0 ? ['requests'] : []), ...(limits < 0 ? ['limits'] : [])];
  const all = [...before, ...after].map((kind) => `${resource} ${kind}`);
  const steps = all.map((_, index): ResizeStep => ({ kind: 'cgroup', pod: at(all.slice(0, index + 1)) }));
  return { before: steps.slice(0, before.length), after: steps.slice(before.length) };
}

function compareLimits(before: CgroupLimits, after: CgroupLimits, resource: Resizable, kind: Kind): number {
  if (kind === 'requests') return resource === 'cpu' ? order(before.cpuShares, after.cpuShares) : 0;
  if (resource === 'memory') return order(before.memory, after.memory);
  return order(quota(before), quota(after));
}

function quota({ cpu = 'max' }: CgroupLimits): bigint | 'max' {
  return cpu === 'max' ? cpu : cpu.quotaUs;
}

/** Undefined counts as the greatest value. */
function order(before: bigint | 'max' = 'max', after: bigint | 'max' = 'max'): number {
  if (before === after) return 0;
  if (before === 'max' || after === 'max') return after === 'max' ? 1 : -1;
  return after > before ? 1 : -1;
}

/** An allocation that takes each amount from one of two. */
function blend(
  had: PodAllocation,
  granted: PodAllocation,
  isNew: (resource: string, kind: Kind) => boolean,
): PodAllocation {
  const merge = (old: ResourceRequirements | undefined, now: ResourceRequirements | undefined) => {
    const of = (kind: Kind) => {
      const names = new Set([...Object.keys(old?.[kind] ?? {}), ...Object.keys(now?.[kind] ?? {})]);
      return Object.fromEntries(
        [...names].flatMap((name) => {
          const isFixed = !RESIZABLE.some((one) => one === name);
          const text = (isFixed || isNew(name, kind) ? now : old)?.[kind]?.[name];
          return text === undefined ? [] : [[name, text]];
        }),
      );
    };
    return { requests: of('requests'), limits: of('limits') };
  };
  const names = Object.keys(granted.containers);
  return {
    ...((had.pod !== undefined || granted.pod !== undefined) && { pod: merge(had.pod, granted.pod) }),
    containers: Object.fromEntries(names.map((name) => [name, merge(had.containers[name], granted.containers[name])])),
  };
}

function smallerLimits(
  pod: Pod,
  had: PodAllocation,
  granted: PodAllocation,
  changes: readonly Change[],
): SmallerLimit[] {
  const before = podMemoryLimit(withAllocation(pod, had));
  const after = podMemoryLimit(withAllocation(pod, granted));
  const ofPod = after !== undefined && order(before, after) < 0 ? [{ run: undefined, bytes: after }] : [];
  const ofContainers = changes.flatMap(({ run, before: old, after: now }) =>
    run.state === 'running' && change(old, now, 'memory', 'limits') < 0
      ? [{ run, bytes: amount('memory', now.limits?.['memory']) }]
      : [],
  );
  return [...ofPod, ...ofContainers];
}
