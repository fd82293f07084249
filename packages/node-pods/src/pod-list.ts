import { CONFIG_MIRROR, type Pod, type PodStatus, type RuntimePod } from '@kubus/contracts';

/** A pod of one of the node's sources. */
export interface NodePod {
  readonly pod: Pod;
  /** As the node sees it now; missing until its worker has told. */
  readonly status: PodStatus | undefined;
}

/** Whether the pod is the API server's copy of a static pod, which the node does not run. */
export function isMirrorPod({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.annotations?.[CONFIG_MIRROR] !== undefined;
}

/** What /pods answers: the node's pods with their present status (kubelet behaviour 5). */
export function podList(pods: readonly NodePod[]): object {
  return listOf(pods.map(({ pod, status }) => ({ ...withoutType(pod), status: status ?? pod.status ?? {} })));
}

/** What /runningpods answers: what runs by the runtime's word, reduced to names and images. */
export function runningPodList(pods: readonly RuntimePod[]): object {
  return listOf(
    pods
      .map(({ ref, sandboxes, containers }) => ({
        metadata: { name: ref.name, namespace: ref.namespace, uid: ref.uid },
        spec: {
          containers: containers
            .filter(({ state }) => state === 'running')
            .map(({ name, imageId }) => ({ name, image: imageId, resources: {} })),
        },
        status: {},
        runs: sandboxes.some(({ ready }) => ready),
      }))
      .filter(({ runs, spec }) => runs || spec.containers.length > 0)
      .map(({ metadata, spec, status }) => ({ metadata, spec, status })),
  );
}

function listOf(items: readonly object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}

/** The items of a list do not say what they are. */
function withoutType({ apiVersion: _apiVersion, kind: _kind, ...rest }: Pod): object {
  return rest;
}
