import type { MountedVolume } from '@kubus/container-config';
import type { Container, Pod } from '@kubus/contracts';
import type { ImageSpec, PodSandboxConfig } from '@kubus/proto/cri';
import { ImageError, ensureImage } from './images.ts';
import type { Pass } from './pass.ts';

/** The images that a pod has as volumes, by the volume's name: as the runtime is told of each, or why it can not be had. */
export type ImageVolumes = ReadonlyMap<string, ImageSpec | ImageError>;

/**
 * Makes sure of the images that a pod has as volumes, each once for all of its containers (kubelet behaviour 1.10, KEP-4639).
 * One that is not to be had keeps only those containers from their start that mount it.
 */
export async function ensureImageVolumes(pass: Pass, pod: Pod, sandboxConfig: PodSandboxConfig): Promise<ImageVolumes> {
  const found = new Map<string, ImageSpec | ImageError>();
  for (const { name, image } of pod.spec.volumes ?? []) {
    if (image === undefined) continue;
    const { reference = '', pullPolicy: policy } = image;
    try {
      const { id } = await ensureImage(pass, pod, { name: reference, policy }, sandboxConfig);
      pass.deps.metrics.imageVolume(true);
      found.set(name, { image: id, userSpecifiedImage: reference, annotations: pod.metadata.annotations ?? {} });
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
      pass.deps.metrics.imageVolume(false);
      found.set(name, error);
    }
  }
  return found;
}

/** The images among the volumes that a container mounts. Throws the {@link ImageError} of one that is not to be had. */
export function mountedImages(
  images: ImageVolumes,
  { volumeMounts = [] }: Pick<Container, 'volumeMounts'>,
): [string, MountedVolume][] {
  return volumeMounts.flatMap(({ name }): [string, MountedVolume][] => {
    const image = images.get(name);
    if (image instanceof ImageError) throw image;
    return image === undefined ? [] : [[name, { hostPath: '', readOnly: true, image }]];
  });
}
