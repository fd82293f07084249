import type { Pod, PodStatus, RuntimePod } from '@kubus/contracts';
import { podConditions } from './conditions.ts';
import { type WaitingReason, containerStatuses } from './container-status.ts';
import { isTerminal, podPhase } from './phase.ts';
import { qosClass } from './qos.ts';

export interface PodStatusInput {
  readonly pod: Pod;
  readonly runtime: RuntimePod | undefined;
  /** Container name to what keeps it from starting. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** The status made before this one. */
  readonly previous: PodStatus | undefined;
  /** The pod is being ended. */
  readonly ending: boolean;
  /** Name of the runtime, for container IDs: `containerd`. */
  readonly runtimeName: string;
  /** The node's addresses, the primary one first. */
  readonly hostIps: readonly string[];
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

/** The status of a pod as the API would show it (kubelet behaviour 1.12). */
export function podStatus(input: PodStatusInput): PodStatus {
  const { pod, runtime, previous, hostIps } = input;
  const now = `${new Date(input.now).toISOString().slice(0, 19)}Z`;
  const statuses = containerStatuses(input);
  const phase = podPhase({ pod, runtime, statuses, previous, ending: input.ending });
  const ips = podIps(input);
  return {
    phase,
    conditions: podConditions({ pod, runtime, statuses, phase, previous, now }),
    ...(isTerminal(phase) && previous?.reason !== undefined && { reason: previous.reason, message: previous.message }),
    ...(hostIps[0] !== undefined && { hostIP: hostIps[0], hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(ips[0] !== undefined && { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
    startTime: previous?.startTime ?? pod.status?.startTime ?? now,
    containerStatuses: statuses,
    qosClass: qosClass(pod),
  };
}

/** A pod keeps showing its last addresses while it ends. */
function podIps({ pod, runtime, previous, hostIps }: PodStatusInput): readonly string[] {
  if (pod.spec.hostNetwork === true) return hostIps;
  const ready = runtime?.sandboxes.find((sandbox) => sandbox.ready && sandbox.ips.length > 0);
  return ready?.ips ?? previous?.podIPs?.map(({ ip }) => ip) ?? [];
}
