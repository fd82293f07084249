import { KubusError } from '@kubus/ports';

/** Thrown when a sync ends early because something more urgent has to be done; the next sync continues what it began. */
export class SyncCancelled extends KubusError {}

/** Thrown when a sync could not be completed. */
export class TryAgain extends KubusError {
  /** Milliseconds until the next attempt. */
  readonly waitMs: number;

  constructor(message: string, waitMs: number, options: { cause?: unknown } = {}) {
    super('try-again', message, options);
    this.waitMs = waitMs;
  }
}

/** Thrown when the runtime or the network is not ready; the pod is synced at once when it is. */
export class NodeNotReady extends TryAgain {}

/** Thrown when the pod's volumes are not mounted or not unmounted yet; the pod is synced at once when that changes. */
export class VolumesAwaited extends TryAgain {}

/** Milliseconds before the next sync (behaviour:sync-loop, errors). Up to half as much is added to each at random. */
export const RETRY_MS = 10_000;
export const TRANSIENT_MS = 1_000;
