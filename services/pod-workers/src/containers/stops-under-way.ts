import type { Cause } from '@kubus/bus';
import type { RuntimeContainer } from '@kubus/contracts';

/** The progress of stopping one container; a later sync continues it. */
export interface StopUnderWay {
  /** The event `Killing`, or its cause when the event is held back. */
  readonly why: readonly Cause[];
  /** The preStop handler. Never rejects. */
  readonly hook: Promise<void>;
  readonly abortHook: AbortController;
  /** Seconds; restarted when it gets shorter. */
  graceSeconds: number;
  /** When the grace period began, in milliseconds since the Unix epoch. */
  since: number;
}

/** Keyed by container ID. */
export type StopsUnderWay = Map<string, StopUnderWay>;

/** Forgets the stops of containers that have been removed. */
export function forgetStops(stops: StopsUnderWay, containers: readonly RuntimeContainer[] = []): void {
  const ids = new Set(containers.map(({ id }) => id));
  for (const id of stops.keys()) if (!ids.has(id)) stops.delete(id);
}
