import { CommandFailed } from '@kubus/bus';
import { ContainerConfigError } from '@kubus/container-config';
import {
  type Container,
  type Pod,
  type PreparedClaim,
  podRefOf,
  prepareClaims,
  unprepareClaims,
} from '@kubus/contracts';
import { claimDevices, hasClaims, podClaims } from '@kubus/dra';
import { KubusError, toError } from '@kubus/ports';
import { RETRY_MS, TryAgain } from '../sync/errors.ts';
import { type PodSync, recordEvent, unlessCancelled } from '../sync/pod-sync.ts';
import { repeated } from '../sync/repeated.ts';
import type { Step } from '../sync/step.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** What preparing a pod's resource claims uses. */
export type ClaimSync = PodSync & Pick<WorkerDeps, 'bus'>;

/**
 * Drivers prepare the pod's resource claims before its sandbox exists (behaviour:resource-managers, DRA). They are undone when the pod has
 * stopped: see {@link leaveClaims}.
 */
export const claimsStep: Step<ClaimSync> = {
  run: async (sync, { pod, actions }) => {
    if (actions.createSandbox === undefined || !hasClaims(pod)) return;
    try {
      await preparedClaims(sync, pod, false);
    } catch (error) {
      if (!(error instanceof ClaimsNotPrepared)) throw error;
      const message = `Failed to prepare dynamic resources: ${error.message}`;
      recordEvent(sync, { type: 'Warning', reason: 'FailedPrepareDynamicResources', message });
      throw new TryAgain(message, RETRY_MS, { cause: error });
    }
  },
};

/**
 * The CDI devices of a container's claims, the same at each start.
 *
 * Throws a ContainerConfigError when they are not known.
 */
export async function containerClaimDevices(
  sync: ClaimSync,
  pod: Pod,
  container: Container,
): Promise<readonly string[]> {
  if (!hasClaims(pod)) return [];
  try {
    const devices = claimDevices(pod, container, await preparedClaims(sync, pod, true));
    if (!('problem' in devices)) return devices;
    throw new ContainerConfigError(devices.problem);
  } catch (error) {
    if (error instanceof ClaimsNotPrepared) throw new ContainerConfigError(error.message, { cause: error });
    throw error;
  }
}

/** The pod has stopped and no longer uses its claims. Throws {@link TryAgain} until their drivers have undone them. */
export async function leaveClaims(sync: ClaimSync): Promise<void> {
  if (sync.pod === undefined || !hasClaims(sync.pod)) return;
  const ref = podRefOf(sync.pod);
  try {
    await repeated(() => unlessCancelled(sync, sync.bus.call(unprepareClaims, ref.uid, { ref }, causesOf(sync))));
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    throw new TryAgain(error.message, RETRY_MS, { cause: error });
  }
}

/** Thrown when a claim of the pod is missing, not the pod's to use, or not prepared by its drivers. */
class ClaimsNotPrepared extends KubusError {}

async function preparedClaims(sync: ClaimSync, pod: Pod, started: boolean): Promise<readonly PreparedClaim[]> {
  const claims = podClaims(pod);
  if ('problem' in claims) throw new ClaimsNotPrepared('claims', `prepare dynamic resources: ${claims.problem}`);
  const ref = podRefOf(pod);
  const request = { ref, claims: [...claims], started };
  try {
    const call = () => unlessCancelled(sync, sync.bus.call(prepareClaims, ref.uid, request, causesOf(sync)));
    return (await repeated(call)).result.claims;
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    throw new ClaimsNotPrepared('claims', toError(error).message, { cause: error });
  }
}

function causesOf({ runtime, causes }: ClaimSync) {
  return { causes: [...runtime.cause, ...causes] };
}
