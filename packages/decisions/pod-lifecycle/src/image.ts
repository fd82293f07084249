import { imageNameProblem, parseImageName } from '@kubus/contracts';

/** The decision about an image (behaviour:images). */
export type ImageDecision =
  | { readonly kind: 'use' }
  | { readonly kind: 'pull' }
  | { readonly kind: 'fail'; readonly reason: 'ErrImageNeverPull' | 'InvalidImageName'; readonly message: string };

/** The name under which the runtime looks up the image: with the tag `latest` where the user gave neither tag nor digest. */
export function imageToPull(image: string): string | undefined {
  const name = parseImageName(image);
  if (name === undefined) return undefined;
  return name.tag === undefined && name.digest === undefined ? `${image}:latest` : image;
}

/** An image as named by a pod, for a container or a volume. */
export interface WantedImage {
  readonly name: string;
  /** `Always`, `IfNotPresent` or `Never`. */
  readonly policy: string | undefined;
}

/** Whether the runtime has to be asked for the image before a decision: not for one that is pulled anyway, or has an invalid name. */
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
