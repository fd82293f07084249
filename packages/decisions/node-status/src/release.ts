/** The release of Kubernetes that this node implements. API servers and kubectl compare it with their own (version skew policy). */
const KUBERNETES_RELEASE = 'v1.36.2';

/** The same without the patch, as `1.36`. */
export const KUBERNETES_MINOR = KUBERNETES_RELEASE.replace(/^v(\d+\.\d+).*$/, '$1');

/** `nodeInfo.kubeletVersion`: that release, with this program's version as build metadata, which comparisons ignore. */
export function nodeVersion(ownVersion: string): string {
  return `${KUBERNETES_RELEASE}+kubus.${ownVersion.replaceAll('+', '.')}`;
}

/**
 * Features of this node by which a scheduler chooses nodes (KEP-5328), in order. Without the reference's
 * `ExtendWebSocketsToKubelet`: the node does not accept WebSocket connections.
 */
export const DECLARED_FEATURES: readonly string[] = [
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
];
