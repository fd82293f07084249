import { type Json, type JsonObject, asList, asObject, asText, at } from './json.ts';
import type { KubeObject } from './object.ts';

/** Why a node does not take a pod. Source: the filter plugins of pkg/scheduler/framework/plugins. */
const REASONS = {
  unschedulable: 'node(s) were unschedulable',
  taints: 'node(s) had untolerated taint(s)',
  affinity: "node(s) didn't match Pod's node affinity/selector",
  pods: 'Too many pods',
};

const UNSCHEDULABLE = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** What the scheduler says about a pod. */
export type Placement = { readonly node: string } | { readonly message: string };

/**
 * The node for a pod without one, or the text of its event FailedScheduling: by `cordon`, taints and tolerations, node selector, node affinity, and
 * the number of pods. What a pod requests is left to the node, which refuses a pod that does not fit.
 *
 * @param podsOf the number of pods of a node that have not ended.
 */
export function placementOf(
  pod: KubeObject,
  nodes: readonly KubeObject[],
  podsOf: (node: string) => number,
): Placement {
  if (nodes.length === 0) return { message: 'no nodes available to schedule pods' };
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const reason = refusal(pod, node, podsOf);
    if (reason === undefined) return { node: node.metadata.name };
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const reasons = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  const total = nodes.length;
  const preemption = `preemption: 0/${total} nodes are available: ${total} Preemption is not helpful for scheduling.`;
  return { message: `0/${total} nodes are available: ${reasons.join(', ')}. ${preemption}` };
}

/** Of the first filter that refuses, in the order of the reference's plugins. */
function refusal(pod: KubeObject, node: KubeObject, podsOf: (node: string) => number): string | undefined {
  const { spec = {} } = pod;
  const tolerations = asList(spec['tolerations']).map(asObject);
  const isTolerated = (taint: JsonObject) => tolerations.some((toleration) => tolerates(toleration, taint));
  if (node.spec?.['unschedulable'] === true && !isTolerated(UNSCHEDULABLE)) return REASONS.unschedulable;
  const taints = asList(node.spec?.['taints']).map(asObject);
  const keeping = taints.filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
  if (!keeping.every(isTolerated)) return REASONS.taints;
  if (!matchesSelector(spec, node) || !matchesAffinity(spec, node)) return REASONS.affinity;
  const most = Number(at(node, 'status', 'allocatable', 'pods') ?? Infinity);
  return podsOf(node.metadata.name) >= most ? REASONS.pods : undefined;
}

/** Source: ToleratesTaint of core/v1. */
function tolerates(toleration: JsonObject, taint: JsonObject): boolean {
  const { key = '', operator = 'Equal', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint['effect']) return false;
  if (key !== '' && key !== taint['key']) return false;
  return operator === 'Exists' || (key !== '' && value === (taint['value'] ?? ''));
}

function matchesSelector(spec: JsonObject, { metadata }: KubeObject): boolean {
  const { labels = {} } = metadata;
  return Object.entries(asObject(spec['nodeSelector'])).every(([key, value]) => labels[key] === value);
}

function matchesAffinity(spec: JsonObject, node: KubeObject): boolean {
  const required = at(spec, 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  if (required === undefined) return true;
  return asList(at(required, 'nodeSelectorTerms')).some((term) => matchesTerm(asObject(term), node));
}

/** A term without requirements matches nothing. Source: component-helpers/scheduling/corev1/nodeaffinity. */
function matchesTerm(term: JsonObject, { metadata }: KubeObject): boolean {
  const expressions = asList(term['matchExpressions']);
  const fields = asList(term['matchFields']);
  if (expressions.length + fields.length === 0) return false;
  const { labels = {}, name } = metadata;
  return (
    expressions.every((one) => matchesRequirement(one, labels[asText(at(one, 'key'))])) &&
    fields.every((one) => at(one, 'key') === 'metadata.name' && matchesRequirement(one, name))
  );
}

function matchesRequirement(requirement: Json, value: string | undefined): boolean {
  const values = asList(at(requirement, 'values')).map(asText);
  switch (at(requirement, 'operator')) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}
