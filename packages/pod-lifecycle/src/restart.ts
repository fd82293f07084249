import type { Container, Pod, RuntimeContainer } from '@kubus/contracts';

/** Whether a container that does not run is to run (again). */
export type RestartDecision =
  | { readonly restart: true }
  /** `done`: it did its work. `failed`: it did not, and is not to be tried again. */
  | { readonly restart: false; readonly why: 'done' | 'failed' | 'deleted' };

/**
 * Decides by the newest run of a container (`undefined`: there was none). The container's own rules come first, then its
 * own policy, then the pod's (kubelet behaviour 1.5, regular container restart).
 */
export function restartDecision(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  container: Container,
  newest: RuntimeContainer | undefined,
): RestartDecision {
  if (isSet(pod.metadata.deletionTimestamp)) return { restart: false, why: 'deleted' };
  if (newest === undefined || newest.state === 'created' || newest.state === 'unknown') return { restart: true };
  if (newest.state === 'running') return { restart: false, why: 'done' };
  const succeeded = newest.exitCode === 0;
  const stay: RestartDecision = { restart: false, why: succeeded ? 'done' : 'failed' };
  for (const rule of container.restartPolicyRules ?? []) {
    const values = rule.exitCodes?.values ?? [];
    const listed = values.includes(newest.exitCode);
    const matches = rule.exitCodes?.operator === 'NotIn' ? !listed : listed;
    if (matches) return { restart: true };
  }
  switch (container.restartPolicy ?? pod.spec.restartPolicy ?? 'Always') {
    case 'Never':
      return stay;
    case 'OnFailure':
      return succeeded ? stay : { restart: true };
    default:
      return { restart: true };
  }
}

/** The API writes an unset time as null or leaves it out. */
export function isSet(time: string | null | undefined): time is string {
  return time !== null && time !== undefined && time !== '';
}
