/** Why a pull failed, as the pod's user is told. */
export interface PullFailure {
  readonly reason: 'ErrImagePull' | 'RegistryUnavailable' | 'SignatureValidationFailed';
  readonly message: string;
}

/** Reasons that a runtime may give at the beginning of its error's text (kubelet behaviour 1.8, errors). */
const told = [
  { reason: 'RegistryUnavailable', because: 'the registry is unavailable' },
  { reason: 'SignatureValidationFailed', because: 'the signature validation failed' },
] as const;

/** @param error the runtime's text. */
export function pullFailure(image: string, error: string): PullFailure {
  const known = told.find(({ reason }) => error.startsWith(reason));
  if (known === undefined) return { reason: 'ErrImagePull', message: error };
  const { reason, because } = known;
  return { reason, message: `image pull failed for ${image} because ${because}${error.slice(reason.length)}` };
}
