/** The version of Kubernetes whose kubelet Kubus follows. */
const KUBERNETES_VERSION = 'v1.36.2';

/**
 * The version of Kubernetes with Kubus' own version as build metadata (semantic versioning). After the word `Kubernetes`,
 * this is the output of `--version`, which kubeadm and others parse.
 */
export function kubeletVersion(kubus: string): string {
  return `${KUBERNETES_VERSION}+kubus.${kubus.replaceAll('+', '.')}`;
}
