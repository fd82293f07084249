import type { Container, EphemeralContainer, Pod, ResourceRequirements } from '@kubus/contracts';
import { decodeManifest, defaultPod } from '@kubus/pod-manifest';
import { qosClass } from '@kubus/pod-status';
import { HarnessError } from './errors.ts';

/** What an API server adds to a pod that it is given. */
export interface StoredAs {
  readonly namespace: string;
  readonly node: string;
  readonly uid: string;
  /** RFC 3339, whole seconds. */
  readonly createdAt: string;
}

/** How long a pod stays on a node that is not ready or can not be reached, in seconds (DefaultTolerationSeconds). */
const TOLERATION_SECONDS = 300;

/**
 * A pod as an API server stores and shows it: with the defaults of its fields and what the admission plugins Priority
 * and DefaultTolerationSeconds add; without ServiceAccount, as the API server of the golden records. It is bound to its node already.
 *
 * @param manifest one pod, as YAML or JSON.
 * @throws HarnessError `BadPod` with what is wrong.
 */
export function storedPod(manifest: string, { namespace, node, uid, createdAt }: StoredAs): Pod {
  const { pods, errors } = decodeManifest(manifest);
  const [decoded] = pods;
  if (decoded === undefined || pods.length > 1 || errors.length > 0) {
    const wrong = errors.map(({ field = '', message }) => `${field} ${message}`).join('; ');
    throw new HarnessError('BadPod', `one pod is needed, there are ${pods.length}: ${wrong}`);
  }
  const { metadata, spec } = decoded.pod;
  const pod = defaultPod({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, namespace, uid, creationTimestamp: createdAt, generation: 1, resourceVersion: '1' },
    spec: {
      ...spec,
      nodeName: node,
      priority: spec.priority ?? 0,
      preemptionPolicy: spec.preemptionPolicy ?? 'PreemptLowerPriority',
      tolerations: [
        ...(spec.tolerations ?? []),
        ...['not-ready', 'unreachable'].map((condition) => ({
          key: `node.kubernetes.io/${condition}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: TOLERATION_SECONDS,
        })),
      ],
    },
  });
  return { ...pod, status: { phase: 'Pending', qosClass: qosClass(pod) } };
}

/**
 * The pod after a user's request to delete it; undefined when it is gone at once: without a grace period, or because it has
 * run its course, and without a finalizer that keeps it.
 *
 * @param graceSeconds the user's own; left out: that of the pod.
 * @param now milliseconds since the Unix epoch.
 */
export function deletedPod(pod: Pod, graceSeconds: number | undefined, now: number): Pod | undefined {
  const over = pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
  const given = Math.max(0, graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30);
  // A second request can only make it shorter.
  const grace = Math.min(given, pod.metadata.deletionGracePeriodSeconds ?? given);
  const kept = (pod.metadata.finalizers ?? []).length > 0;
  if ((over || grace === 0) && !kept) return undefined;
  return changed(pod, {
    metadata: {
      ...pod.metadata,
      deletionTimestamp: wholeSeconds(now + grace * 1000),
      deletionGracePeriodSeconds: grace,
    },
  });
}

/** The pod with one more ephemeral container (KEP-277), with the API's defaults. */
export function withEphemeralContainer(pod: Pod, container: EphemeralContainer): Pod {
  const ephemeralContainers = [...(pod.spec.ephemeralContainers ?? []), container];
  return changed(pod, defaultPod({ ...pod, spec: { ...pod.spec, ephemeralContainers } }));
}

/** The pod with other resources of one of its containers, as a request to its subresource `resize` gives it (KEP-1287). */
export function resizedPod(pod: Pod, container: string, resources: ResourceRequirements): Pod {
  const resize = (one: Container) => (one.name === container ? { ...one, resources } : one);
  return changed(pod, defaultPod({ ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map(resize) } }));
}

/** The pod with what its node has told about it. A status is no change of what is wanted, so the generation stays. */
export function withStatus(pod: Pod, status: NonNullable<Pod['status']>): Pod {
  return { ...pod, status, metadata: { ...pod.metadata, resourceVersion: nextVersion(pod) } };
}

/** RFC 3339 without fractions, as the API writes times. */
export function wholeSeconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

function changed(pod: Pod, { metadata = pod.metadata, spec = pod.spec }: Partial<Pod>): Pod {
  const generation = (pod.metadata.generation ?? 0) + 1;
  return { ...pod, spec, metadata: { ...metadata, generation, resourceVersion: nextVersion(pod) } };
}

function nextVersion({ metadata }: Pod): string {
  return String(Number(metadata.resourceVersion ?? 0) + 1);
}
