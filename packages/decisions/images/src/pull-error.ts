/** Why a pull failed, for the event and the waiting reason. */
export interface PullFailure {
  readonly reason: 'ErrImagePull' | 'RegistryUnavailable' | 'SignatureValidationFailed';
  readonly message: string;
}

/** Reasons with which a runtime's error text may start (behaviour:images, errors). */
const runtimeReasons = [
  { reason: 'RegistryUnavailable', because: 'the registry is unavailable' },
  { reason: 'SignatureValidationFailed', because: 'the signature validation failed' },
] as const;

/** @param error the runtime's error text */
export function pullFailure(image: string, error: string): PullFailure {
  const known = runtimeReasons.find(({ reason }) => error.startsWith(reason));
  if (known === undefined) return { reason: 'ErrImagePull', message: error };
  const { reason, because } = known;
  return { reason, message: `image pull failed for ${image} because ${because}${error.slice(reason.length)}` };
}
