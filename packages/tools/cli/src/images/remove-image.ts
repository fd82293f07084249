import { parseImageName } from '@kubus/contracts';
import { removeName } from '@kubus/node-images';
import { UserError } from '../user-error.ts';
import { fullImageName } from './image-names.ts';
import type { NodeRuntime } from './node-runtime.ts';

/**
 * Removes a name of an image, and the image itself with its last name, or by its id.
 *
 * @param force also an image that containers use, or that the node needs
 * @throws UserError when there is no such image, or it is in use.
 */
export async function removeImage(runtime: NodeRuntime, name: string, force: boolean): Promise<void> {
  const { image } = await runtime.call('ImageStatus', { image: { image: name } });
  if (image?.id === undefined) throw new UserError(`image ${name} does not exist on this node`);
  const { id, repoTags = [] } = image;
  const full = parseImageName(name) && fullImageName(name);
  if (full !== undefined && repoTags.includes(full) && repoTags.length > 1) {
    await removeName({ containerdSocket: runtime.socket, ctr: (await runtime.programs()).ctr }, full);
    return;
  }
  if (!force && runtime.ownImages.some((own) => repoTags.includes(own))) {
    throw new UserError(`image ${name} belongs to the node: --force removes it, "kubus up --restart" imports it again`);
  }
  const { containers = [] } = await runtime.call('ListContainers', {});
  const users = containers.filter(({ imageRef, image }) => imageRef === id || image?.image === id);
  if (!force && users.length > 0) {
    const pods = new Set(users.map(({ labels = {} }) => labels['io.kubernetes.pod.name'] ?? 'unknown'));
    throw new UserError(
      `image ${name} is used by ${[...pods].sort().join(', ')}: remove the pods first, or use --force`,
    );
  }
  await runtime.call('RemoveImage', { image: { image: id } });
}
