import type { MountedVolume } from '@kubus/container-config';
import type { Container, Pod } from '@kubus/contracts';
import type { ImageSpec } from '@kubus/proto/cri';
import { ImageError, type ImageSource, type ImageSync, ensureImage } from './images.ts';

/** The images that a pod uses as volumes, by the volume's name: each as the runtime names it, or the error why it is missing. */
export type ImageVolumes = ReadonlyMap<string, ImageSpec | ImageError>;

/**
 * Makes sure that the runtime has the images that a pod uses as volumes, each once for all of its containers
 * (behaviour:pleg, KEP-4639). A missing one prevents only those containers from starting that mount it.
 */
export async function ensureImageVolumes(sync: ImageSync, pod: Pod, from: ImageSource): Promise<ImageVolumes> {
  const found = new Map<string, ImageSpec | ImageError>();
  for (const { name, image } of pod.spec.volumes ?? []) {
    if (image === undefined) continue;
    const { reference = '', pullPolicy: policy } = image;
    try {
      const { id } = await ensureImage(sync, pod, { name: reference, policy }, from);
      sync.metrics.imageVolume(true);
      found.set(name, { image: id, userSpecifiedImage: reference, annotations: pod.metadata.annotations ?? {} });
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
      sync.metrics.imageVolume(false);
      found.set(name, error);
    }
  }
  return found;
}

/** The images among the volumes that a container mounts. Throws the {@link ImageError} of a missing one. */
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
