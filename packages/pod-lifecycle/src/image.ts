import { imageNameProblem, parseImageName } from '@kubus/contracts';

/** What to do about an image (kubelet behaviour 1.8). */
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

/** An image as a pod names it, for a container or a volume. */
export interface WantedImage {
  readonly name: string;
  /** `Always`, `IfNotPresent` or `Never`. */
  readonly policy: string | undefined;
}

/** Whether the image has to be looked for before a decision: not for one that is pulled anyway, or has no proper name. */
export function needsLook({ name, policy }: WantedImage): boolean {
  return policy !== 'Always' && imageNameProblem(name) === undefined;
}

/** @param present whether the runtime has the image and the pod may use it; ignored for the policy Always. */
export function imageDecision({ name: image, policy }: WantedImage, present: boolean): ImageDecision {
  const problem = imageNameProblem(image);
  if (problem !== undefined) {
    return {
      kind: 'fail',
      reason: 'InvalidImageName',
      message: `Failed to apply default image tag "${image}": couldn't parse image name "${image}": ${problem}`,
    };
  }
  switch (policy) {
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
