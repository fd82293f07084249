import { type Container, type Pod, joinErrors } from '@kubus/contracts';
import type { MountSettings } from '@kubus/container-config';
import { containersOf } from '@kubus/pod-lifecycle';
import { type Pass, TryAgain, recordEvent } from './pass.ts';

/** The pod's volumes are not there, or not gone; the pass is made at once when that changes. */
export class VolumesAwaited extends TryAgain {}

/** How long volumes are waited for until that is told once more, in milliseconds (kubelet behaviour 1.13, wait). */
const WAIT_MS = 123_000;

/** Whether any container mounts a volume. Volumes that nobody mounts are never made. */
export function mountsVolumes(pod: Pick<Pod, 'spec'>): boolean {
  return containersOf(pod).some(({ container }) => (container.volumeMounts?.length ?? 0) > 0);
}

/** Nothing of a pod is started before the volumes are there that its containers mount (kubelet behaviour 1.3, step 10). */
export function checkVolumes(pass: Pass, pod: Pod): void {
  if (!mountsVolumes(pod)) return;
  const volumes = pass.deps.volumes(pass.ref.uid);
  if (volumes?.ready === true) return;
  pass.publishStatus();
  const errors = volumes?.errors ?? [];
  for (const message of errors) recordEvent(pass, { type: 'Warning', reason: 'FailedMount', message });
  throw new VolumesAwaited(errors.length > 0 ? joinErrors(errors) : 'the pod’s volumes are not mounted yet', WAIT_MS);
}

/** Nothing of a pod is forgotten before its volumes are gone: what is in them is not the worker's to remove. */
export function checkVolumesGone(pass: Pass): void {
  const { pod, ref, deps } = pass;
  const gone = deps.volumes(ref.uid) === undefined;
  // That nothing has been heard of them means something only from one who has told all that there is.
  const known = deps.volumesKnown() || pod === undefined || !mountsVolumes(pod);
  if (!gone || !known) throw new VolumesAwaited('the pod’s volumes are not unmounted yet', WAIT_MS);
}

/** Where a volume of the pod lies; undefined for one that is not mounted. */
export function volumeFolder({ deps, ref }: Pass, name: string): string | undefined {
  return deps.volumes(ref.uid)?.volumes[name]?.hostPath;
}

/** The volumes of a pod as its containers' configuration takes them. */
export function mountedVolumes(pass: Pass, container: Pick<Container, 'volumeMounts'>): MountSettings {
  const { volumeMounts = [] } = container;
  if (volumeMounts.length === 0) return {};
  const { volumes = {} } = pass.deps.volumes(pass.ref.uid) ?? {};
  return {
    volumes: new Map(
      Object.entries(volumes).map(([name, { hostPath, readOnly = false, relabel = false }]) => [
        name,
        { hostPath, readOnly, selinuxRelabel: relabel },
      ]),
    ),
  };
}
