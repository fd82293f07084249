import type { Container, Pod, PodSpec, PodStatus } from '@kubus/contracts';

/** A pod with claims, as far as decisions about them read it. */
export function podWith(
  resourceClaims: PodSpec['resourceClaims'],
  status: PodStatus = {},
  containers: Container[] = [{ name: 'main' }],
): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'p' },
    spec: { containers, ...(resourceClaims !== undefined && { resourceClaims }) },
    status,
  };
}
