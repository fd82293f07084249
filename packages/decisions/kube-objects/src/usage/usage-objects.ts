import { formatQuantity } from '@kubus/contracts';
import { formatGoDuration, timeOfMs } from '@kubus/pod';
import type { JsonObject } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { Usage } from './usage-rates.ts';

/** A kind that is made for the request from what nodes measure. */
export interface UsageResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: 'NodeMetrics' | 'PodMetrics';
  readonly namespaced: boolean;
}

const metrics = { group: 'metrics.k8s.io', version: 'v1beta1' };

/** The kinds of `kubectl top`. */
export const usageResources: readonly UsageResource[] = [
  { ...metrics, plural: 'nodes', kind: 'NodeMetrics', namespaced: false },
  { ...metrics, plural: 'pods', kind: 'PodMetrics', namespaced: true },
];

/** The NodeMetrics of a Node, as an item of a list. Source: metrics-server, pkg/api. @param now milliseconds since the Unix epoch. */
export function nodeMetrics(node: KubeObject, usage: Usage, now: number): JsonObject {
  return { ...ofObject(node, now), ...measured(usage), usage: quantities(usage) };
}

/**
 * The PodMetrics of a pod, as an item of a list. Source: as above.
 *
 * @param usages by container; of at least one.
 * @param now milliseconds since the Unix epoch.
 */
export function podMetrics(pod: KubeObject, usages: ReadonlyMap<string, Usage>, now: number): JsonObject {
  const sorted = [...usages].sort(([one], [other]) => (one < other ? -1 : 1));
  const [first] = [...usages.values()].sort((one, other) => one.atMs - other.atMs);
  return {
    ...ofObject(pod, now),
    ...(first && measured(first)),
    containers: sorted.map(([name, usage]) => ({ name, usage: quantities(usage) })),
  };
}

function ofObject({ metadata }: KubeObject, now: number): JsonObject {
  const { name, namespace, labels } = metadata;
  return {
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      creationTimestamp: timeOfMs(now),
      ...(labels && { labels }),
    },
  };
}

const measured = ({ atMs, windowMs }: Usage) => ({
  timestamp: timeOfMs(atMs),
  window: formatGoDuration(windowMs),
});

const quantities = ({ nanoCores, memoryBytes }: Usage): JsonObject => ({
  cpu: formatQuantity({ nano: BigInt(nanoCores), format: 'DecimalSI' }),
  memory: formatQuantity({ nano: BigInt(Math.round(memoryBytes)) * 1_000_000_000n, format: 'BinarySI' }),
});
