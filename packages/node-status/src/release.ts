/** The release of Kubernetes whose node this is: API servers and kubectl compare it with their own (version skew policy). */
const KUBERNETES_RELEASE = 'v1.36.2';

/** The same without the patch, as `1.36`. */
export const KUBERNETES_MINOR = KUBERNETES_RELEASE.replace(/^v(\d+\.\d+).*$/, '$1');

/** `nodeInfo.kubeletVersion`: that release, and in the build metadata, which no comparison counts, what this is. */
export function nodeVersion(ownVersion: string): string {
  return `${KUBERNETES_RELEASE}+kubus.${ownVersion.replaceAll('+', '.')}`;
}

/**
 * Features by which a scheduler chooses nodes (KEP-5328) that this node has, in order. Not the reference's
 * `ExtendWebSocketsToKubelet`: the node speaks no WebSocket to those who call it.
 */
export const DECLARED_FEATURES: readonly string[] = [
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
];
