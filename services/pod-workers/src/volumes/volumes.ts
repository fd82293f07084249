import { type Container, type Pod, joinErrors } from '@kubus/contracts';
import type { MountSettings, PodSecuritySettings } from '@kubus/container-config';
import { neededVolumes } from '@kubus/volume';
import { VolumesAwaited } from '../sync/errors.ts';
import type { PodSync, StatusSync } from '../sync/pod-sync.ts';
import { type Round, starts } from '../sync/step.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** What reading a pod's volumes uses. */
export type VolumeSync = PodSync & Pick<WorkerDeps, 'volumesKnown' | 'volumesOf'>;

/** Milliseconds until a pod that waits for volumes is synced again (behaviour:volumes, wait). */
const WAIT_MS = 123_000;

/** Whether any container needs a volume. Volumes that no container needs are never mounted. */
function needsVolumes(pod: Pick<Pod, 'spec'>): boolean {
  return neededVolumes(pod).length > 0;
}

/**
 * No container of a pod is started before the volumes that its containers need are mounted (behaviour:pod-workers, step 10).
 * Errors of a volume are events of the volume manager. A slow mount has no event here, and none
 * in the reference kubelet 1.36 (pkg/kubelet/kubelet.go, SyncPod: none for an error that is a time limit). Throws
 * {@link VolumesAwaited}.
 */
export function checkVolumes(sync: VolumeSync & Pick<StatusSync, 'publishStatus'>, { pod, actions }: Round): void {
  if (!starts(actions) || !needsVolumes(pod)) return;
  const volumes = sync.volumesOf(sync.ref.uid);
  if (volumes?.ready === true) return;
  sync.publishStatus();
  const errors = volumes?.errors ?? [];
  throw new VolumesAwaited(errors.length > 0 ? joinErrors(errors) : 'the pod’s volumes are not mounted yet', WAIT_MS);
}

/**
 * A pod is not forgotten before its volumes are unmounted: the worker must not remove their content. Throws
 * {@link VolumesAwaited}.
 */
export function checkUnmounted({ pod, ref, volumesKnown, volumesOf }: VolumeSync): void {
  const unmounted = volumesOf(ref.uid) === undefined;
  // A missing fact is meaningful only after the volume manager has published all of its facts.
  const known = volumesKnown() || pod === undefined || !needsVolumes(pod);
  if (!unmounted || !known) throw new VolumesAwaited('the pod’s volumes are not unmounted yet', WAIT_MS);
}

/** The path of a volume of the pod; undefined for one that is not mounted. */
export function volumeFolder({ volumesOf, ref }: VolumeSync, name: string): string | undefined {
  return volumesOf(ref.uid)?.volumes[name]?.hostPath;
}

/** The volumes of a pod in the form that its containers' configuration needs. */
export function mountedVolumes(
  { ref, volumesOf }: VolumeSync,
  { volumeMounts = [], volumeDevices = [] }: Pick<Container, 'volumeMounts' | 'volumeDevices'>,
): NonNullable<MountSettings['volumes']> {
  if (volumeMounts.length + volumeDevices.length === 0) return new Map();
  const { volumes = {} } = volumesOf(ref.uid) ?? {};
  return new Map(
    Object.entries(volumes).map(([name, { hostPath, readOnly = false, relabel = false, device = false }]) => [
      name,
      { hostPath, readOnly, selinuxRelabel: relabel, device },
    ]),
  );
}

/** The groups that a pod's volumes require and that it does not already have (behaviour:volumes, Extra GID). */
export function volumeGroups(
  { volumesOf, ref }: VolumeSync,
  { spec }: Pick<Pod, 'spec'>,
): Required<Pick<PodSecuritySettings, 'volumeGroups'>> {
  const own = spec.securityContext?.supplementalGroups ?? [];
  const { supplementalGroups = [] } = volumesOf(ref.uid) ?? {};
  return { volumeGroups: supplementalGroups.filter((group) => !own.includes(group)) };
}
