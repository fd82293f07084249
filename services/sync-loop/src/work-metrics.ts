import { SWAP_LIMITATION } from '@kubus/admission';
import { type Pod, type PodWork, parseQuantity } from '@kubus/contracts';
import { Tally } from '@kubus/metrics';
import { containersOf, isSidecar } from '@kubus/pod-lifecycle';
import type { Metrics } from '@kubus/service-kit';

/** Reasons with a label of their own (of the reference): others may be any text. */
const REASONS: ReadonlySet<string> = new Set([
  ...['AppArmor', 'PodOSSelectorNodeLabelDoesNotMatch', 'PodOSNotSupported', 'InvalidNodeInfo'],
  ...['InitContainerRestartPolicyForbidden', 'SupplementalGroupsPolicyNotSupported', 'UnexpectedAdmissionError'],
  ...['UnknownReason', 'UnexpectedPredicateFailureType', 'OutOfcpu', 'OutOfmemory', 'OutOfephemeral-storage'],
  ...['OutOfpods', 'PodLevelResourcesNotSupported', 'PodFeatureUnsupported', 'Evicted', 'SysctlForbidden'],
  ...["node(s) had taints that the pod didn't tolerate", 'TopologyAffinityError', 'NodeShutdown'],
  ...['VolumeAttachmentLimitExceeded'],
]);

/** What the metrics need to know of a pod. */
interface Known {
  readonly work: PodWork['work'];
  /** A resize that waits for resources. */
  readonly isDeferred: boolean;
  /** It waits for a resize that swap makes infeasible. */
  readonly isSwapLimited: boolean;
}

/** The sync loop's metrics, under the reference's names (behaviour:agent-metrics). */
export class WorkMetrics {
  readonly #rejections = new Tally();
  readonly #preemptions = new Tally();
  readonly #resizes = new Tally();
  readonly #accepted = new Tally();
  readonly #infeasible = new Tally();
  readonly #known = new Map<string, Known>();
  readonly #sizes = new Map<string, ReadonlyMap<string, bigint>>();

  /** A pod with a decision of an earlier process. */
  earlier(uid: string, work: PodWork['work']): void {
    this.#known.set(uid, { work, isDeferred: false, isSwapLimited: false });
  }

  /** A decision about a pod; undefined: nothing is left to do. */
  decided(uid: string, decided: PodWork | undefined): void {
    const before = this.#known.get(uid);
    if (decided === undefined) {
      this.#known.delete(uid);
      return;
    }
    const { work, failure, pendingResize } = decided;
    const isDeferred = pendingResize !== undefined && pendingResize.reason !== 'Infeasible';
    const isSwapLimited = pendingResize?.message === SWAP_LIMITATION;
    this.#known.set(uid, { work, isDeferred, isSwapLimited });
    if (isSwapLimited && before?.isSwapLimited !== true) this.#infeasible.add({ reason_detail: 'swap_limitation' });
    if (work === 'reject' && before?.work !== 'reject')
      this.#rejections.add({ reason: labelOf(failure?.reason ?? '') });
    if (work === 'evict' && before?.work !== 'evict' && failure?.reason === 'Preempting') {
      // The scarce resource is unknown.
      this.#preemptions.add({ preemption_signal: '' });
    }
    if (work === 'sync' && before?.isDeferred === true && pendingResize === undefined) {
      this.#accepted.add({ retry_trigger: 'periodic_retry' });
    }
  }

  /** A source has this version of the pod; undefined: the source no longer has the pod. */
  wanted(uid: string, pod: Pod | undefined): void {
    if (pod === undefined) {
      this.#sizes.delete(uid);
      return;
    }
    const before = this.#sizes.get(uid);
    const now = sizesOf(pod);
    this.#sizes.set(uid, now);
    if (before === undefined) return;
    for (const key of new Set([...before.keys(), ...now.keys()])) {
      const operation = change(before.get(key) ?? 0n, now.get(key) ?? 0n);
      const [resource = '', requirement = ''] = key.split('/');
      if (operation !== undefined) this.#resizes.add({ resource, requirement, operation });
    }
  }

  show(metrics: Metrics): void {
    const counters: readonly (readonly [name: string, help: string, values: Tally])[] = [
      ['admission_rejections_total', 'Pods that the node rejected, by reason.', this.#rejections],
      ['preemptions', 'Pods that were preempted by critical ones.', this.#preemptions],
      ['container_requested_resizes_total', 'Requested resizes of container resources.', this.#resizes],
      ['pod_infeasible_resizes_total', 'Resizes that can never be granted, by why.', this.#infeasible],
      ['pod_deferred_accepted_resizes_total', 'Resizes that were deferred and then granted.', this.#accepted],
    ];
    for (const [name, help, values] of counters) {
      metrics.add({ type: 'counter', name: `kubelet_${name}`, help, collect: () => values.samples });
    }
  }
}

function labelOf(reason: string): string {
  if (REASONS.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}

/** CPU and memory of the containers that can be resized, by `<resource>/<requirement>/<container>`. */
function sizesOf(pod: Pod): ReadonlyMap<string, bigint> {
  const sizes = new Map<string, bigint>();
  for (const { kind, container } of containersOf(pod)) {
    if (kind !== 'regular' && !isSidecar(container)) continue;
    for (const requirement of ['requests', 'limits'] as const) {
      const list = container.resources?.[requirement] ?? {};
      for (const resource of ['cpu', 'memory']) {
        const nano = parseQuantity(list[resource] ?? '')?.nano;
        if (nano !== undefined) sizes.set(`${resource}/${requirement}/${container.name}`, nano);
      }
    }
  }
  return sizes;
}

function change(before: bigint, now: bigint): string | undefined {
  if (before === now) return undefined;
  if (before === 0n) return 'add';
  if (now === 0n) return 'remove';
  return now > before ? 'increase' : 'decrease';
}
