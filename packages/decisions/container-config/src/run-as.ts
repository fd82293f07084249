import type { Container, Pod } from '@kubus/contracts';
import type { Image } from '@kubus/proto/cri';
import { ContainerConfigError } from './errors.ts';

/** The user that an image specifies: by number, or else by name. */
export type ImageUser = { readonly uid: string } | { readonly username: string };

/** The user that an image specifies; root when it specifies none (behaviour:container-actions, Image user). */
export function imageUser({ uid, username = '' }: Pick<Image, 'uid' | 'username'>): ImageUser {
  if (uid !== undefined) return { uid: uid.value ?? '0' };
  return username === '' ? { uid: '0' } : { username };
}

/**
 * Checks that a container with runAsNonRoot does not run as root (behaviour:container-actions, runAsNonRoot).
 *
 * @param image the user that its image specifies
 *
 * Throws {@link ContainerConfigError} when it would run as root, or when that cannot be determined.
 */
export function checkRunAsNonRoot(pod: Pick<Pod, 'metadata' | 'spec'>, container: Container, image?: ImageUser): void {
  const shared = pod.spec.securityContext;
  const own = container.securityContext;
  if ((own?.runAsNonRoot ?? shared?.runAsNonRoot) !== true) return;
  const { name, namespace, uid } = pod.metadata;
  const who = `(pod: "${name}_${namespace}(${uid})", container: ${container.name})`;
  const user = own?.runAsUser ?? shared?.runAsUser;
  if (user === 0) throw new ContainerConfigError(`container's runAsUser breaks non-root policy ${who}`);
  if (user !== undefined) return;
  if (image === undefined) {
    throw new ContainerConfigError(`container has runAsNonRoot and the user of its image is not known ${who}`);
  }
  if ('username' in image) {
    const claim = `image has non-numeric user (${image.username}), cannot verify user is non-root`;
    throw new ContainerConfigError(`container has runAsNonRoot and ${claim} ${who}`);
  }
  if (image.uid === '0') throw new ContainerConfigError(`container has runAsNonRoot and image will run as root ${who}`);
}
