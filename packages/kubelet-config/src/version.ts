/** The version of Kubernetes as whose kubelet Kubus behaves. */
export const KUBERNETES_VERSION = 'v1.36.2';

/**
 * What `--version` prints: as the reference does, so that kubeadm and others can read it. Kubus' own version stands where
 * semantic versions keep what does not count.
 */
export function versionText(kubus: string): string {
  return `Kubernetes ${KUBERNETES_VERSION}+kubus.${kubus.replaceAll('+', '.')}`;
}
