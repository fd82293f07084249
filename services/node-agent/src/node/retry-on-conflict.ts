import { KubeError } from '@kubus/kube';

/** Attempts of one write that conflicts with other writers. */
const ATTEMPTS = 5;
const CHANGED = ['Conflict', 'NotFound', 'AlreadyExists'];

/** Another client has written, made or deleted the object: it has to be read again. */
export function isChanged({ reason }: KubeError): boolean {
  return reason !== undefined && CHANGED.includes(reason);
}

/**
 * Writes an object that other clients write too: again after each conflict, five attempts at most.
 *
 * @param write one attempt, from the newest state; `isRetry` says that the state known before was not the newest.
 * @param isConflict whether another attempt may succeed. Default: {@link isChanged}.
 * @throws What the last attempt threw.
 */
export async function retryOnConflict(
  write: (isRetry: boolean) => Promise<void>,
  isConflict: (error: KubeError) => boolean = isChanged,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await write(attempt > 1);
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof KubeError) || !isConflict(error)) throw error;
    }
  }
}
