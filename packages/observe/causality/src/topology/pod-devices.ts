import type { StoredMessage } from '@kubus/bus';
import { claimUse, deviceAllocation } from '@kubus/contracts';
import type { PodTimeline } from '@kubus/contracts/observatory';
import { lastOf } from '../explain/recorded-pod.ts';
import { claimText } from './topology-document.ts';

/** What a pod has, or had when it ended, of the node's devices; nothing when it has none. */
export function podDevices(own: readonly StoredMessage[]): Pick<PodTimeline, 'devices' | 'claims'> {
  const devices = (lastOf(own, deviceAllocation).value?.containers ?? []).flatMap(({ name: container, resources }) =>
    resources.flatMap(({ resource, devices: given }) =>
      given.map(({ id, topology }) => ({ container, resource, id, nodes: topology?.numaNodes.join(',') ?? '' })),
    ),
  );
  const claims = (lastOf(own, claimUse).value?.claims ?? []).flatMap(({ name: claim, drivers }) =>
    drivers.flatMap(({ driver, devices: prepared }) => prepared.map((one) => claimText({ claim, driver, ...one }))),
  );
  return { ...(devices.length > 0 && { devices }), ...(claims.length > 0 && { claims }) };
}
