import type { Container } from '@kubus/contracts';
import { imageNameProblem, parseImageName } from '@kubus/contracts';

/** What to do about a container's image (kubelet behaviour 1.8). */
export type ImageDecision =
  | { readonly kind: 'use' }
  | { readonly kind: 'pull' }
  | { readonly kind: 'fail'; readonly reason: 'ErrImageNeverPull' | 'InvalidImageName'; readonly message: string };

/** The name with which the runtime is asked: with the tag `latest` where the user gave neither tag nor digest. */
export function imageToPull(image: string): string | undefined {
  const name = parseImageName(image);
  if (name === undefined) return undefined;
  return name.tag === undefined && name.digest === undefined ? `${image}:latest` : image;
}

/** Whether the image has to be looked for before a decision: not for one that is pulled anyway, or has no proper name. */
export function needsLook(container: Pick<Container, 'image' | 'imagePullPolicy'>): boolean {
  return container.imagePullPolicy !== 'Always' && imageNameProblem(container.image ?? '') === undefined;
}

/** @param present whether the runtime has the image and the pod may use it; ignored for the policy Always. */
export function imageDecision(
  container: Pick<Container, 'name' | 'image' | 'imagePullPolicy'>,
  present: boolean,
): ImageDecision {
  const image = container.image ?? '';
  const problem = imageNameProblem(image);
  if (problem !== undefined) {
    return {
      kind: 'fail',
      reason: 'InvalidImageName',
      message: `Failed to apply default image tag "${image}": couldn't parse image name "${image}": ${problem}`,
    };
  }
  switch (container.imagePullPolicy) {
    case 'Always':
      return { kind: 'pull' };
    case 'Never':
      if (present) return { kind: 'use' };
      return {
        kind: 'fail',
        reason: 'ErrImageNeverPull',
        message: `Container image "${image}" is not present with pull policy of Never`,
      };
    default:
      return present ? { kind: 'use' } : { kind: 'pull' };
  }
}
