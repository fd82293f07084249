import type { Cause } from '@kubus/bus';
import type { Container, Pod, PodEvent, PodRef, RuntimePod } from '@kubus/contracts';
import { containerFieldPath } from '@kubus/pod-lifecycle';
import type { Clock, Logger } from '@kubus/ports';
import type { PodEvents } from '@kubus/service-kit';
import type { PodRuntime } from '../runtime/pod-runtime.ts';
import { SyncCancelled } from './errors.ts';

/** One sync of a pod: what every step uses. What else a step uses is declared by its own type. */
export interface PodSync {
  readonly ref: PodRef;
  /** The desired pod; undefined for a pod that only the runtime knows. */
  readonly pod: Pod | undefined;
  readonly runtime: PodRuntime;
  readonly events: PodEvents;
  readonly logger: Logger;
  /** Aborts when the next sync has something more urgent to do. */
  readonly signal: AbortSignal;
  /** The causes of this sync. */
  readonly causes: readonly Cause[];
}

/** Used by a step that reads the pod or publishes its status. */
export interface StatusSync {
  /** The pod in the runtime, read after the last command ended, with the termination messages of its ended containers. */
  fresh(): Promise<RuntimePod | undefined>;
  /** The same for a decision about its start: a new pod is not read before its first command. */
  beforeStart(): Promise<RuntimePod | undefined>;
  /** Computes the status and publishes it if it changed. Returns its phase. */
  publishStatus(): string | undefined;
  /** Runs `work` while the status stays unchanged, whatever happens in the runtime. */
  withStatusHeld<T>(work: () => Promise<T>): Promise<T>;
}

/** Used by a step that changes the content of the pod's record. */
export interface RecordSync {
  /** Writes the pod's record to disk. */
  save(): Promise<void>;
}

/** An event of the pod, or of one of its containers. */
export type PodEventText = Pick<PodEvent, 'type' | 'reason' | 'message'> & {
  container?: Pick<Container, 'name'> | undefined;
};

/** Logs an event and records it for the pod's user, like a Kubernetes event. See {@link PodEvents.record}. */
export function recordEvent(sync: PodSync, event: PodEventText): Cause | undefined {
  const { container, ...rest } = event;
  const { ref, events, logger } = sync;
  logger.info({ reason: event.reason, container: container?.name }, event.message);
  const fieldPath = container === undefined ? undefined : containerFieldPath(sync.pod, container.name);
  const causes = [...sync.runtime.cause, ...sync.causes];
  return events.record({ ref, ...rest, ...(fieldPath !== undefined && { fieldPath }) }, causes);
}

/** Waits for `work`, at most until the sync ends. The work itself continues. Throws {@link SyncCancelled}. */
export function unlessCancelled<T>({ signal }: Pick<PodSync, 'signal'>, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(cancelled());
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/**
 * Waits for `work`, at most `limitMs` milliseconds and until the sync ends. The work itself continues. Throws
 * {@link SyncCancelled}.
 */
export async function within(
  sync: Pick<PodSync, 'signal'> & { readonly clock: Clock },
  work: Promise<unknown>,
  limitMs: number,
): Promise<void> {
  const limit = Promise.withResolvers<undefined>();
  const cancel = sync.clock.after(limitMs, () => limit.resolve(undefined));
  try {
    await unlessCancelled(sync, Promise.race([work, limit.promise]));
  } finally {
    cancel();
  }
}

/** Ends the sync here if it was cancelled. Throws {@link SyncCancelled}. */
export function checkCancelled({ signal }: Pick<PodSync, 'signal'>): void {
  if (signal.aborted) throw cancelled();
}

function cancelled(): SyncCancelled {
  return new SyncCancelled('cancelled', 'newer work has cancelled the sync');
}
