import type { Container, Pod, RuntimeContainer } from '@kubus/contracts';

/** Whether a container that is not running is to be started (again). */
export type RestartDecision =
  | { readonly restart: true }
  /** `done`: it has succeeded. `failed`: it has not, and is not restarted. */
  | { readonly restart: false; readonly why: 'done' | 'failed' | 'deleted' };

/** Decides from the newest run of a container; `undefined`: there was none (behaviour:container-actions, restart). */
export function restartDecision(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  container: Container,
  newest: RuntimeContainer | undefined,
): RestartDecision {
  if (isSet(pod.metadata.deletionTimestamp)) return { restart: false, why: 'deleted' };
  if (newest === undefined || newest.state === 'created' || newest.state === 'unknown') return { restart: true };
  if (newest.state === 'running') return { restart: false, why: 'done' };
  if (restartsAfter(pod, container, newest.exitCode)) return { restart: true };
  return { restart: false, why: newest.exitCode === 0 ? 'done' : 'failed' };
}

/**
 * Whether a container is restarted after it has ended with `exitCode`. The first of its own rules that matches decides, then
 * its own policy, then the pod's.
 */
export function restartsAfter(pod: Pick<Pod, 'spec'>, container: Container, exitCode: number): boolean {
  if (matchingAction(container, exitCode) !== undefined) return true;
  switch (container.restartPolicy ?? pod.spec.restartPolicy ?? 'Always') {
    case 'Never':
      return false;
    case 'OnFailure':
      return exitCode !== 0;
    default:
      return true;
  }
}

/**
 * Whether a container is restarted after it was stopped because a probe failed. There is no exit code yet, so its rules do
 * not apply, only the policies.
 */
export function restartsAfterProbe(pod: Pick<Pod, 'spec'>, container: Container): boolean {
  return (container.restartPolicy ?? pod.spec.restartPolicy ?? 'Always') !== 'Never';
}

/** True when a container's end with `exitCode` restarts the whole pod in place (KEP-5532). */
export function restartsAll(container: Container, exitCode: number): boolean {
  return matchingAction(container, exitCode) === 'RestartAllContainers';
}

/** Action of the first restart rule that matches. Rules with an unknown action never match. */
function matchingAction(container: Container, exitCode: number): 'Restart' | 'RestartAllContainers' | undefined {
  for (const { action, exitCodes } of container.restartPolicyRules ?? []) {
    if (action !== 'Restart' && action !== 'RestartAllContainers') continue;
    const listed = (exitCodes?.values ?? []).includes(exitCode);
    if (exitCodes?.operator === 'In' ? listed : exitCodes?.operator === 'NotIn' && !listed) return action;
  }
  return undefined;
}

/** The API writes an unset time as null or omits it. */
export function isSet(time: string | null | undefined): time is string {
  return time !== null && time !== undefined && time !== '';
}
