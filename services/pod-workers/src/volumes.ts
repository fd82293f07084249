import { type Container, type Pod, joinErrors } from '@kubus/contracts';
import type { MountSettings, PodSecuritySettings } from '@kubus/container-config';
import { neededVolumes } from '@kubus/volume';
import { type Pass, TryAgain } from './pass.ts';

/** The pod's volumes are not there, or not gone; the pass is made at once when that changes. */
export class VolumesAwaited extends TryAgain {}

/** How long volumes are waited for until they are looked at once more, in milliseconds (kubelet behaviour 1.13, wait). */
const WAIT_MS = 123_000;

/** Whether any container needs a volume. Volumes that nobody needs are never made. */
function needsVolumes(pod: Pick<Pod, 'spec'>): boolean {
  return neededVolumes(pod).length > 0;
}

/**
 * Nothing of a pod is started before the volumes are there that its containers need (kubelet behaviour 1.3, step 10). What
 * is wrong with one its user hears from the volume manager. That they take long is no event in itself, nor is it one of the
 * reference kubelet 1.36 (pkg/kubelet/kubelet.go, SyncPod: none for an error that is a time limit).
 */
export function checkVolumes(pass: Pass, pod: Pod): void {
  if (!needsVolumes(pod)) return;
  const volumes = pass.deps.volumes(pass.ref.uid);
  if (volumes?.ready === true) return;
  pass.publishStatus();
  const errors = volumes?.errors ?? [];
  throw new VolumesAwaited(errors.length > 0 ? joinErrors(errors) : 'the pod’s volumes are not mounted yet', WAIT_MS);
}

/** Nothing of a pod is forgotten before its volumes are gone: what is in them is not the worker's to remove. */
export function checkVolumesGone(pass: Pass): void {
  const { pod, ref, deps } = pass;
  const gone = deps.volumes(ref.uid) === undefined;
  // That nothing has been heard of them means something only from one who has told all that there is.
  const known = deps.volumesKnown() || pod === undefined || !needsVolumes(pod);
  if (!gone || !known) throw new VolumesAwaited('the pod’s volumes are not unmounted yet', WAIT_MS);
}

/** Where a volume of the pod lies; undefined for one that is not mounted. */
export function volumeFolder({ deps, ref }: Pass, name: string): string | undefined {
  return deps.volumes(ref.uid)?.volumes[name]?.hostPath;
}

/** The volumes of a pod as its containers' configuration takes them. */
export function mountedVolumes(
  pass: Pass,
  { volumeMounts = [], volumeDevices = [] }: Pick<Container, 'volumeMounts' | 'volumeDevices'>,
): NonNullable<MountSettings['volumes']> {
  if (volumeMounts.length + volumeDevices.length === 0) return new Map();
  const { volumes = {} } = pass.deps.volumes(pass.ref.uid) ?? {};
  return new Map(
    Object.entries(volumes).map(([name, { hostPath, readOnly = false, relabel = false, device = false }]) => [
      name,
      { hostPath, readOnly, selinuxRelabel: relabel, device },
    ]),
  );
}

/** The groups that a pod's volumes ask for and that it does not have already (kubelet behaviour 1.13, Extra GID). */
export function volumeGroups(
  { deps, ref }: Pass,
  { spec }: Pick<Pod, 'spec'>,
): Required<Pick<PodSecuritySettings, 'volumeGroups'>> {
  const own = spec.securityContext?.supplementalGroups ?? [];
  const { supplementalGroups = [] } = deps.volumes(ref.uid) ?? {};
  return { volumeGroups: supplementalGroups.filter((group) => !own.includes(group)) };
}
