import type { Pod, PodStatus, RuntimePod } from '@kubus/contracts';

/** A pod of one of the node's sources. */
export interface NodePod {
  readonly pod: Pod;
  /** The status as known to the node; missing until its worker has published it. */
  readonly status: PodStatus | undefined;
}

/** The response of /pods: the node's pods with their current status (behaviour:http-api). */
export function podList(pods: readonly NodePod[]): object {
  return listOf(pods.map(({ pod, status }) => ({ ...withoutType(pod), status: status ?? pod.status ?? {} })));
}

/** The response of /runningpods: what the runtime reports as running, reduced to names and images. */
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

/** The items of a list have no apiVersion and kind. */
function withoutType({ apiVersion: _apiVersion, kind: _kind, ...rest }: Pod): object {
  return rest;
}
