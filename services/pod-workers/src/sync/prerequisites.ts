import type { Pod } from '@kubus/contracts';
import { containersOf, networkNotReady, unsupportedFields } from '@kubus/pod-lifecycle';
import type { PodMemory } from '../worker/pod-memory.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { NodeNotReady, RETRY_MS, TRANSIENT_MS, TryAgain } from './errors.ts';
import { type PodSync, type StatusSync, recordEvent } from './pod-sync.ts';
import type { Round } from './step.ts';

/** What the checks of the node use. */
export type NodeSync = PodSync &
  Pick<StatusSync, 'fresh' | 'publishStatus'> &
  Pick<PodMemory, 'waiting'> &
  Pick<WorkerDeps, 'networkCondition' | 'runtimeCondition'>;

/** Refuses a pod with fields that this version does not support as a whole; the events and the status name the fields. */
export async function checkSupported(sync: NodeSync, pod: Pod): Promise<void> {
  const fields = unsupportedFields(pod);
  if (fields.length === 0) return;
  const message = `this version of Kubus does not support: ${fields.join(', ')}`;
  for (const { container } of containersOf(pod)) {
    const { name } = container;
    if (sync.waiting.has(name)) continue;
    sync.waiting.set(name, { reason: 'Unsupported', message });
    recordEvent(sync, { type: 'Warning', reason: 'Unsupported', message, container });
  }
  await sync.fresh();
  sync.publishStatus();
  throw new TryAgain(message, RETRY_MS);
}

/** Throws {@link NodeNotReady} unless the container runtime is ready. */
export function checkRuntime(sync: NodeSync): void {
  const condition = sync.runtimeCondition();
  if (condition?.ready === true) return;
  sync.publishStatus();
  throw new NodeNotReady(
    `the container runtime is not ready: ${condition?.message ?? 'it has not reported yet'}`,
    TRANSIENT_MS,
  );
}

/** A pod without the host's network needs the network before its sandbox (behaviour:pod-workers, step 5). */
export function checkNetwork(sync: NodeSync, { pod, actions }: Round): void {
  if (actions.createSandbox === undefined || pod.spec.hostNetwork === true) return;
  const runtime = sync.runtimeCondition();
  const network = sync.networkCondition();
  const own = runtime?.network === 'cni-bridge';
  const condition = own
    ? network
    : runtime && { ready: runtime.networkReady, reason: runtime.networkReason, message: runtime.networkMessage };
  if (condition?.ready === true) return;
  const message = networkNotReady(condition);
  recordEvent(sync, { type: 'Warning', reason: 'NetworkNotReady', message });
  throw new NodeNotReady(message, TRANSIENT_MS);
}
