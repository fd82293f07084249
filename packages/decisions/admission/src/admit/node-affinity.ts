import type { NodeSelectorRequirement, NodeSelectorTerm, Pod } from '@kubus/contracts';
import type { AdmissionNode } from '../admission-node.ts';

/** Whether the node matches the pod's nodeSelector and required node affinity. */
export function matchesNode({ spec }: Pick<Pod, 'spec'>, node: Pick<AdmissionNode, 'name' | 'labels'>): boolean {
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => node.labels[key] === value);
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return selected && (required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node)));
}

/** A term without requirements, or with an invalid one, matches nothing. */
function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  { name, labels }: Pick<AdmissionNode, 'name' | 'labels'>,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields = { 'metadata.name': name };
  return (
    matchExpressions.every((requirement) => matches(requirement, labels)) &&
    matchFields.every((requirement) => requirement.values?.length === 1 && matches(requirement, fields))
  );
}

function matches(
  { key, operator, values = [] }: NodeSelectorRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return values.length > 0 && (value === undefined || !values.includes(value));
    case 'Exists':
      return value !== undefined && values.length === 0;
    case 'DoesNotExist':
      return value === undefined && values.length === 0;
    case 'Gt':
      return compares(value, values, (own, bound) => own > bound);
    case 'Lt':
      return compares(value, values, (own, bound) => own < bound);
    default:
      return false;
  }
}

function compares(
  value: string | undefined,
  values: readonly string[],
  test: (own: bigint, bound: bigint) => boolean,
): boolean {
  const [bound, ...more] = values;
  if (value === undefined || bound === undefined || more.length > 0) return false;
  if (!INTEGER.test(value) || !INTEGER.test(bound)) return false;
  return test(BigInt(value), BigInt(bound));
}

const INTEGER = /^-?\d+$/;
