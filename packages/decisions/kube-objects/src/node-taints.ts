import { type JsonObject, asList, asObject, at, sameJson } from './json.ts';
import type { KubeObject } from './object.ts';

/** The taint of each state of a node's conditions. Source: pkg/controller/nodelifecycle. */
const BY_CONDITION = [
  { type: 'Ready', status: 'False', key: 'node.kubernetes.io/not-ready' },
  { type: 'Ready', status: 'Unknown', key: 'node.kubernetes.io/unreachable' },
  { type: 'MemoryPressure', status: 'True', key: 'node.kubernetes.io/memory-pressure' },
  { type: 'DiskPressure', status: 'True', key: 'node.kubernetes.io/disk-pressure' },
  { type: 'PIDPressure', status: 'True', key: 'node.kubernetes.io/pid-pressure' },
  { type: 'NetworkUnavailable', status: 'True', key: 'node.kubernetes.io/network-unavailable' },
] as const;

const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';
const OWN: readonly unknown[] = [...BY_CONDITION.map(({ key }) => key), UNSCHEDULABLE];

/**
 * The taints of a node by its conditions and by `cordon`, besides those that others have set; undefined when it has them. None evicts: pods
 * stay where they run, whatever the server thinks of the node.
 */
export function taintsOf({ spec = {}, status = {} }: KubeObject): readonly JsonObject[] | undefined {
  const before = asList(spec['taints']).map(asObject);
  const conditions = asList(status['conditions']);
  // A node that has not said yet how it is keeps the taint that it was registered with.
  if (conditions.length === 0) return undefined;
  const is = ({ type, status: wanted }: (typeof BY_CONDITION)[number]) =>
    conditions.some((condition) => at(condition, 'type') === type && at(condition, 'status') === wanted);
  const keys = [
    ...BY_CONDITION.filter(is).map(({ key }) => key),
    ...(spec['unschedulable'] === true ? [UNSCHEDULABLE] : []),
  ];
  const others = before.filter(({ key, effect }) => !(OWN.includes(key) && effect === 'NoSchedule'));
  const next = [...others, ...keys.map((key) => ({ key, effect: 'NoSchedule' }))];
  const bare = before.map(({ timeAdded: _, ...taint }) => taint);
  return sameJson(bare, next) ? undefined : next;
}
