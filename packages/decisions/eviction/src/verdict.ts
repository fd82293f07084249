import { type Container, type PodFailure, formatQuantity, parseQuantity } from '@kubus/contracts';
import type { Candidate, ContainerUse } from './pod-use.ts';
import { type Observations, SIGNALS, type StarvedResource } from './signals.ts';
import { type Threshold, amountOf, isHard } from './thresholds.ts';

/** The grace period of a pod that has to go at once, in seconds. */
const IMMEDIATE_SECONDS = 1;

const NANO = 1_000_000_000n;

const binary = (bytes: number): string => formatQuantity({ nano: BigInt(bytes) * NANO, format: 'BinarySI' });

/** How many seconds a pod gets to end (evictionMaxPodGracePeriod). */
export function graceOf(threshold: Threshold, { pod }: Pick<Candidate, 'pod'>, mostSeconds: number): number {
  if (isHard(threshold)) return IMMEDIATE_SECONDS;
  return Math.min(mostSeconds, pod.spec.terminationGracePeriodSeconds ?? mostSeconds);
}

/**
 * Why a pod is evicted, in the reference's words (pkg/kubelet/eviction, evictionMessage), with the annotations of its event.
 *
 * @param due the thresholds that are met; the first one of the same resource is named
 */
export function pressureFailure(
  resource: StarvedResource,
  { pod, use }: Candidate,
  { due, observations }: { readonly due: readonly Threshold[]; readonly observations: Observations },
): PodFailure {
  const met = metText(resource, due, observations);
  const failure = { reason: 'Evicted', disrupts: true };
  const start = `The node was low on resource: ${resource}. ${met}`;
  if (use === undefined) return { ...failure, message: start };
  const { spec, metadata } = pod;
  const podRequest = resource === 'memory' ? spec.resources?.requests?.['memory'] : undefined;
  const ofPod =
    podRequest === undefined
      ? undefined
      : { name: metadata.name, used: binary(use.memory), requested: canonical(podRequest) };
  const above = use.containers.flatMap((one) => {
    const container = [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === one.name);
    return container === undefined ? [] : (excessOf(resource, container, one) ?? []);
  });
  const text = (kind: string, { name, used, requested }: Excess) =>
    `${kind} ${name} was using ${used}, request is ${requested}, has larger consumption of ${resource}. `;
  return {
    ...failure,
    message: `${start}${ofPod === undefined ? '' : text('Pod', ofPod)}${above.map((one) => text('Container', one)).join('')}`,
    annotations: {
      ...(ofPod && { offending_pod: ofPod.name, offending_pod_usage: ofPod.used }),
      offending_containers: above.map(({ name }) => name).join(','),
      offending_containers_usage: above.map(({ used }) => used).join(','),
      starved_resource: resource,
    },
  };
}

interface Excess {
  readonly name: string;
  readonly used: string;
  readonly requested: string;
}

function excessOf(resource: StarvedResource, { resources }: Container, use: ContainerUse): Excess | undefined {
  const used = resource === 'memory' ? use.memory : resource === 'ephemeral-storage' ? onDisk(use) : undefined;
  const requested = resources?.requests?.[resource] ?? '0';
  const isAbove = used !== undefined && BigInt(used) * NANO > (parseQuantity(requested)?.nano ?? 0n);
  return isAbove ? { name: use.name, used: binary(used), requested: canonical(requested) } : undefined;
}

/** Unknown where one of both is. */
function onDisk({ rootfs, logs }: ContainerUse): number | undefined {
  return rootfs && logs && rootfs.usedBytes + logs.usedBytes;
}

function metText(resource: StarvedResource, due: readonly Threshold[], observations: Observations): string {
  for (const { signal, value } of due) {
    const observed = observations[signal];
    if (SIGNALS[signal].resource !== resource || observed === undefined) continue;
    const format = resource === 'memory' || resource === 'ephemeral-storage' ? 'BinarySI' : 'DecimalSI';
    const available = formatQuantity({ nano: BigInt(observed.available) * NANO, format });
    return `Threshold quantity: ${formatQuantity(amountOf(value, observed))}, available: ${available}. `;
  }
  return '';
}

function canonical(text: string): string {
  const quantity = parseQuantity(text);
  return quantity === undefined ? text : formatQuantity(quantity);
}
