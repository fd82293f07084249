import { nameOf, requestedName } from '@kubus/certificates';
import { asText, at, type KubeObject } from '@kubus/kube-objects';
import { isDeepEqual } from '@kubus/pod';

/** Those of a kubelet. Source: API concepts, "Kubernetes signers". */
const SIGNERS = ['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving'];

/**
 * Whether a certificate request is one that a kubelet makes for itself: by the node's own user, to a signer of kubelets, and for no other
 * name than that user's. Whoever has the node's credential must not get another name's.
 */
export function isKubeletRequest({ spec }: Pick<KubeObject, 'spec'>, node: string): boolean {
  const user = `system:node:${node}`;
  if (at(spec, 'username') !== user || !SIGNERS.includes(asText(at(spec, 'signerName')))) return false;
  const wanted = nameOf({ commonName: user, organizations: ['system:nodes'] });
  try {
    return isDeepEqual(requestedName(Buffer.from(asText(at(spec, 'request')), 'base64').toString()), wanted);
  } catch {
    // It is no certificate request.
    return false;
  }
}
