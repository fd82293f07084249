import type { Validity } from './certificate-store.ts';

/** Milliseconds until the files are checked again, when nothing is due earlier: another process may have changed them. */
const LOOK_AGAIN_MS = 60_000;

/** The state of the node's client certificate. */
export interface CertificateState {
  /** The kubeconfig's certificate; undefined when there is none, or no readable kubeconfig. */
  readonly used: Validity | undefined;
  /** The kubeconfig's certificate is the one that the node manages itself. */
  readonly own: boolean;
  /** Bootstrap credentials exist for requesting the first one. */
  readonly bootstrap: boolean;
  /** Whether it is renewed before it expires. */
  readonly rotate: boolean;
}

/**
 * When to renew a certificate: at 70 to 90 % of its lifetime (behaviour:certificates-and-authentication).
 *
 * @param random between 0 and 1, drawn once for each certificate
 */
export function rotationTime({ notBefore, notAfter }: Validity, random: number): number {
  return notBefore + (notAfter - notBefore) * (0.7 + 0.2 * random);
}

/** What to do about the node's client certificate, or how many milliseconds to wait until the next check. */
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
