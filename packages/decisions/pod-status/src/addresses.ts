import type { PodStatus } from '@kubus/contracts';
import type { PodStatusInput } from './input.ts';

/**
 * The addresses of a pod: one of each family, that of the node's primary address first. A pod in the host's network has
 * the host's, which do not change, except that a second family is added. A pod keeps its last addresses while it is being ended
 * (behaviour:pod-status, IPs).
 */
function podIps({ pod, runtime, previous, hostIps }: PodStatusInput): readonly string[] {
  const before = previous?.podIPs?.map(({ ip }) => ip) ?? [];
  if (pod.spec.hostNetwork === true) return oneOfEachFamily([...before, ...hostIps], before[0] ?? hostIps[0]);
  const sandbox = runtime?.sandboxes.find(({ ready, ips }) => ready && ips.length > 0);
  return sandbox === undefined ? before : oneOfEachFamily(sandbox.ips, hostIps[0]);
}

function oneOfEachFamily(ips: readonly string[], primary: string | undefined): readonly string[] {
  const six = (ip: string | undefined) => ip?.includes(':') === true;
  const first = ips.find((ip) => six(ip) === six(primary)) ?? ips[0];
  const second = ips.find((ip) => six(ip) !== six(first));
  return [first, second].filter((ip) => ip !== undefined);
}

/** The address fields of a status. Without an API server the node's addresses are not known, and the reference shows none. */
export function addressFields(input: PodStatusInput): Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'> {
  const ips = podIps(input);
  const hostIps = input.standAlone === true ? [] : input.hostIps;
  return {
    ...(hostIps[0] !== undefined && { hostIP: hostIps[0], hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(ips[0] !== undefined && { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
  };
}
