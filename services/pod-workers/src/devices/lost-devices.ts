import { CommandFailed } from '@kubus/bus';
import { type Pod, type PodStatus, type RuntimePod, allocateDevices, podRefOf } from '@kubus/contracts';
import { deviceRequests } from '@kubus/device-manager';
import { TRANSIENT_MS, TryAgain } from '../sync/errors.ts';
import { unlessCancelled } from '../sync/pod-sync.ts';
import { repeated } from '../sync/repeated.ts';
import type { DeviceSync } from './container-devices.ts';

/** Used by a step that compares the pod with what its status said. */
export interface LastStatus {
  /** The pod's last status. */
  readonly lastStatus: PodStatus | undefined;
}

/**
 * A pod that starts no container twice fails as soon as the runtime has lost one that ran. If the devices of that container are gone too,
 * as after a boot without the plugin, the pod fails for that reason: the reference kubelet admits the pod again before it looks at its
 * containers (behaviour:resource-managers, Device plugin).
 *
 * Throws {@link TryAgain} when the pod is ended for it.
 */
export async function checkLostDevices(
  sync: DeviceSync & LastStatus,
  pod: Pod,
  runtime: RuntimePod | undefined,
): Promise<void> {
  if (pod.spec.restartPolicy !== 'Never') return;
  const requests = [...deviceRequests(pod)];
  const ran = new Set(
    sync.lastStatus?.containerStatuses?.filter(({ state }) => state?.running !== undefined).map(({ name }) => name),
  );
  const lost = requests.filter(
    ({ name }) => ran.has(name) && runtime?.containers.every((one) => one.name !== name) !== false,
  );
  for (const { name } of lost) {
    const request = { ref: podRefOf(pod), requests, lost: name };
    try {
      await repeated(() =>
        unlessCancelled(sync, sync.bus.call(allocateDevices, sync.ref.uid, request, { causes: sync.runtime.cause })),
      );
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      throw new TryAgain(error.message, TRANSIENT_MS, { cause: error });
    }
  }
}
