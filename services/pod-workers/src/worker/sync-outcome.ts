import { OwnershipLost } from '@kubus/service-kit';
import { FencingTokenLost, PodTaken } from '../runtime/pod-runtime.ts';
import { NodeNotReady, RETRY_MS, SyncCancelled, TryAgain, VolumesAwaited } from '../sync/errors.ts';

/** What a failed sync was missing; `anything`: it is retried after a delay. */
export type Lack = 'node' | 'volumes' | 'anything';

/** What to do after a sync that has thrown. */
export type SyncOutcome =
  /** It is repeated at once. */
  | { readonly kind: 'again' }
  /** Another instance owns the pod. */
  | { readonly kind: 'taken' }
  /** It is repeated after `waitMs` milliseconds, or when what was missing is available. `expected`: the error is normal. */
  | { readonly kind: 'failed'; readonly lack: Lack; readonly waitMs: number; readonly expected: boolean };

export function outcomeOf(error: unknown): SyncOutcome {
  if (error instanceof SyncCancelled || error instanceof FencingTokenLost) return { kind: 'again' };
  if (error instanceof PodTaken || error instanceof OwnershipLost) return { kind: 'taken' };
  const lack = error instanceof NodeNotReady ? 'node' : error instanceof VolumesAwaited ? 'volumes' : 'anything';
  const expected = error instanceof TryAgain;
  return { kind: 'failed', lack, waitMs: expected ? error.waitMs : RETRY_MS, expected };
}
