import type { Pod, RuntimePod, RuntimeSandbox } from '@kubus/contracts';

/** Whether the pod's sandbox can be used, and the attempt number of the next one if not. */
export type SandboxDecision =
  | { readonly kind: 'keep'; readonly sandbox: RuntimeSandbox }
  | { readonly kind: 'create'; readonly attempt: number; readonly why: string };

/** behaviour:container-actions, "Sandbox changed?". */
export function sandboxDecision(pod: Pick<Pod, 'spec'>, runtime: RuntimePod | undefined): SandboxDecision {
  const newest = runtime?.sandboxes[0];
  if (runtime === undefined || newest === undefined)
    return { kind: 'create', attempt: 0, why: 'the pod has no sandbox' };
  const attempt = newest.attempt + 1;
  if (runtime.sandboxes.filter((sandbox) => sandbox.ready).length > 1) {
    return { kind: 'create', attempt, why: 'the pod has more than one running sandbox' };
  }
  if (!newest.ready) return { kind: 'create', attempt, why: 'the pod’s sandbox is not running' };
  const hostNetwork = pod.spec.hostNetwork === true;
  // A runtime that does not report a sandbox's network mode is assumed to have used the requested one.
  if ((newest.hostNetwork ?? hostNetwork) !== hostNetwork)
    return { kind: 'create', attempt, why: 'the pod’s network mode changed' };
  if (!hostNetwork && newest.ips.length === 0) {
    return { kind: 'create', attempt, why: 'the pod’s sandbox has no address' };
  }
  return { kind: 'keep', sandbox: newest };
}
