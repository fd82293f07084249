/** The version of Kubernetes as whose kubelet Kubus behaves. */
export const KUBERNETES_VERSION = 'v1.36.2';

/**
 * The version of Kubernetes with Kubus' own one where semantic versions keep what does not count. Behind the word `Kubernetes`
 * it is what `--version` prints, which kubeadm and others read.
 */
export function kubeletVersion(kubus: string): string {
  return `${KUBERNETES_VERSION}+kubus.${kubus.replaceAll('+', '.')}`;
}
