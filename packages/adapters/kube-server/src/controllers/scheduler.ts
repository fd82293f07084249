import { createHash } from 'node:crypto';
import { type KubeObject, asList, asText, at, placementOf, taintsOf } from '@kubus/kube-objects';
import { timeOfMs } from '@kubus/pod';
import { ADMIN } from '../identity.ts';
import { bindPod, withCondition } from '../pod-actions.ts';
import type { Registry } from '../registry.ts';
import { targetOf } from '../target.ts';
import { startController } from './controller.ts';

const SCHEDULER = 'default-scheduler';

/**
 * Gives pods without a node one that takes them, or says in their condition PodScheduled and an event why there is none; and keeps the taints of
 * nodes as their conditions and `cordon` want them. Returns a function that ends it.
 */
export function startScheduler(registry: Registry, onError: (error: Error) => void): () => void {
  const { store } = registry;
  const look = () => {
    for (const node of store.list('nodes')) {
      const taints = taintsOf(node);
      if (taints === undefined) continue;
      const { taints: _, ...spec } = node.spec ?? {};
      registry.replace(targetOf(nameOf(node)), { ...node, spec: { ...spec, ...(taints.length > 0 && { taints }) } });
    }
    const pods = store.list('pods');
    const waiting = pods.filter(isWaiting);
    if (waiting.length === 0) return;
    const nodes = store.list('nodes').filter(isRegistered);
    const counts = countByNode(pods);
    for (const pod of waiting) {
      const placement = placementOf(pod, nodes, (node) => counts.get(node) ?? 0);
      if ('message' in placement) {
        refuse(registry, pod, placement.message);
        continue;
      }
      const { node } = placement;
      bindPod(registry, { ...targetOf(nameOf(pod)), subresource: 'binding' }, node);
      counts.set(node, (counts.get(node) ?? 0) + 1);
      const { namespace = '', name } = pod.metadata;
      record(registry, pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${node}`);
    }
  };
  return startController({ store, tables: ['pods', 'nodes'], look, onError });
}

const nameOf = ({ kind, metadata: { namespace = '', name } }: KubeObject) => ({ kind, namespace, name });

/** A node that has said how it is. */
function isRegistered({ status }: KubeObject): boolean {
  return asList(at(status, 'conditions')).length > 0;
}

function isWaiting({ spec = {}, metadata }: KubeObject): boolean {
  if (asText(spec['nodeName']) !== '' || metadata.deletionTimestamp !== undefined) return false;
  const name = asText(spec['schedulerName']);
  return (name === '' || name === SCHEDULER) && asList(spec['schedulingGates']).length === 0;
}

function countByNode(pods: readonly KubeObject[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { spec, status } of pods) {
    const node = asText(spec?.['nodeName']);
    const phase = asText(status?.['phase']);
    if (node !== '' && phase !== 'Succeeded' && phase !== 'Failed') counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}

/** Once for each reason. */
function refuse(registry: Registry, pod: KubeObject, message: string): void {
  const conditions = asList(at(pod, 'status', 'conditions'));
  const before = conditions.find((condition) => at(condition, 'type') === 'PodScheduled');
  if (at(before, 'message') === message) return;
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: at(before, 'lastTransitionTime') ?? timeOfMs(registry.now()),
    reason: 'Unschedulable',
    message,
  };
  registry.replace(targetOf(nameOf(pod)), withCondition(pod, condition));
  record(registry, pod, 'Warning', 'FailedScheduling', message);
}

/** As the reference's scheduler does through its events client. */
function record(registry: Registry, pod: KubeObject, type: string, reason: string, message: string): void {
  const { namespace = '', name, uid, resourceVersion } = pod.metadata;
  const time = timeOfMs(registry.now());
  const id = createHash('sha256').update(`${uid} ${resourceVersion} ${reason}`).digest('hex').slice(0, 16);
  registry.create(
    targetOf({ kind: 'Event', namespace, name: '' }),
    {
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name: `${name.slice(0, 200)}.${id}`, namespace },
      involvedObject: { kind: 'Pod', namespace, name, uid, apiVersion: 'v1', resourceVersion },
      ...{ type, reason, message, count: 1, firstTimestamp: time, lastTimestamp: time },
      source: { component: SCHEDULER },
      reportingComponent: SCHEDULER,
    },
    { user: ADMIN },
  );
}
