import { asList, asText, at, conflict, type JsonObject, type KubeObject } from '@kubus/kube-objects';
import { timeOfMs } from '@kubus/pod';
import type { User } from './identity.ts';
import type { DeleteOptions, Registry, WriteOptions } from './registry.ts';
import type { Target } from './target.ts';

const CREATED = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

/**
 * Evicts a pod, as requested by `kubectl drain`; there are no disruption budgets. Source: pkg/registry/core/pod/storage.
 *
 * @throws StatusError 403 for a node that does not have the pod; 404; 409 for a failed precondition.
 */
export function evictPod(
  registry: Registry,
  target: Target,
  options: Omit<DeleteOptions, 'user'>,
  user: User,
): JsonObject {
  registry.admit({ operation: 'create', ...target, object: {}, previous: undefined }, user);
  const pod = { ...target, subresource: '' };
  const evicted = withCondition(registry.get(pod), {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: timeOfMs(registry.now()),
  });
  if (options.dryRun !== true) registry.replace(pod, evicted);
  // The version that was asked for is that before the condition.
  const { resourceVersion: _, ...deletion } = options;
  registry.delete(pod, { ...deletion, user });
  return CREATED;
}

/**
 * Binds a pod to a node, and sets its condition PodScheduled. Source: pkg/registry/core/pod/storage.
 *
 * @throws StatusError 404; 409 if it is already bound.
 */
export function bindPod(
  registry: Registry,
  target: Target,
  node: string,
  { dryRun = false }: Pick<WriteOptions, 'dryRun'> = {},
): JsonObject {
  const pod = { ...target, subresource: '' };
  const found = registry.get(pod);
  const bound = asText(found.spec?.['nodeName']);
  if (bound !== '') throw conflict(bindings, target.name, `pod ${target.name} is already assigned to node "${bound}"`);
  const scheduled = withCondition(found, {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timeOfMs(registry.now()),
  });
  if (!dryRun) registry.replace(pod, { ...scheduled, spec: { ...scheduled.spec, nodeName: node } });
  return CREATED;
}

const bindings = { group: '', plural: 'pods/binding', kind: 'Binding' };

/** The pod with this condition instead of the one of its type. */
export function withCondition(pod: KubeObject, condition: JsonObject): KubeObject {
  const others = asList(at(pod, 'status', 'conditions')).filter((one) => at(one, 'type') !== condition['type']);
  return { ...pod, status: { ...pod.status, conditions: [...others, condition] } };
}
