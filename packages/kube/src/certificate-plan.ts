import type { Validity } from './certificate-store.ts';

/** Milliseconds until the files are looked at again, when nothing is due before: somebody else may have changed them. */
const LOOK_AGAIN_MS = 60_000;

/** What is known of the node's client certificate. */
export interface CertificateState {
  /** That of the kubeconfig; undefined when there is none, or no kubeconfig that can be read. */
  readonly used: Validity | undefined;
  /** The kubeconfig's certificate is the one that the node keeps itself. */
  readonly own: boolean;
  /** There are credentials to ask for a first one. */
  readonly bootstrap: boolean;
  /** It is to be renewed in time. */
  readonly rotate: boolean;
}

/**
 * When a certificate is to be renewed: at 70 to 90 % of its life (kubelet behaviour 1.25).
 *
 * @param random between 0 and 1, drawn once for each certificate
 */
export function rotationTime({ notBefore, notAfter }: Validity, random: number): number {
  return notBefore + (notAfter - notBefore) * (0.7 + 0.2 * random);
}

/** What to do about the node's client certificate now, or how many milliseconds to wait until the next look. */
export function nextForCertificate(
  { used, own, bootstrap, rotate }: CertificateState,
  now: number,
  random: number,
): { readonly do: 'bootstrap' | 'rotate' } | { readonly do: 'wait'; readonly ms: number } {
  const valid = used !== undefined && now < used.notAfter;
  if (!valid) return bootstrap ? { do: 'bootstrap' } : { do: 'wait', ms: LOOK_AGAIN_MS };
  const due = [bootstrap ? [used.notAfter] : [], rotate && own ? [rotationTime(used, random)] : []].flat();
  if (rotate && own && now >= rotationTime(used, random)) return { do: 'rotate' };
  return { do: 'wait', ms: Math.min(LOOK_AGAIN_MS, ...due.map((time) => time - now)) };
}
