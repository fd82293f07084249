import type { Cause } from '@kubus/bus';
import { type Container, type IdRange, type Pod, type PodEvent, type PodRef, type RuntimePod } from '@kubus/contracts';
import { type BackOffEntry, type ProbeResults, containerFieldPath } from '@kubus/pod-lifecycle';
import type { WaitingReason } from '@kubus/pod-status';
import { KubusError, type Logger } from '@kubus/ports';
import type { PodSizes } from '@kubus/resize';
import type { PodRuntime } from './pod-runtime.ts';
import type { StopsUnderWay } from './stop.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** A pass ended early because something more urgent has to be done; what it began goes on or is found again. */
export class PassCancelled extends KubusError {}

/** The pass could not do everything; when to try again. */
export class TryAgain extends KubusError {
  readonly waitMs: number;

  constructor(message: string, waitMs: number, options: { cause?: unknown } = {}) {
    super('try-again', message, options);
    this.waitMs = waitMs;
  }
}

/** The runtime or the network is not ready; the pass is made at once when it is. */
export class NodeNotReady extends TryAgain {}

/** Waits before the next pass (kubelet behaviour 1.2, errors). Each gets up to half as much again at random. */
export const RETRY_MS = 10_000;
export const TRANSIENT_MS = 1_000;

/** How far the pod's resources are; kept from pass to pass. */
export interface ResizeState {
  sizes: PodSizes;
  /** Why the last try to change them failed. */
  error: string | undefined;
}

/** What one pass over a pod works with. */
export interface Pass {
  readonly deps: WorkerDeps;
  readonly ref: PodRef;
  /** The pod as desired; undefined for one that only the runtime knows. */
  readonly pod: Pod | undefined;
  /** The ids that it has been given, should it not use the host's users. */
  readonly userNamespace: IdRange | undefined;
  readonly runtime: PodRuntime;
  readonly logger: Logger;
  /** Aborts when a later pass has more urgent things to do. */
  readonly signal: AbortSignal;
  /** What led to this pass. */
  readonly causes: readonly Cause[];
  /** Why containers do not run; shown in the status. */
  readonly waiting: Map<string, WaitingReason>;
  readonly backOffs: Map<string, BackOffEntry>;
  readonly stops: StopsUnderWay;
  readonly resize: ResizeState;
  /** Seconds between TERM and KILL. */
  readonly graceSeconds: number;
  /** What the probes say now. */
  probes(): ProbeResults;
  /** Makes the pod's record durable. */
  save(): Promise<void>;
  /** The pod in the runtime, read after the last command ended, and with it what its ended containers have left to say. */
  fresh(): Promise<RuntimePod | undefined>;
  /** Makes the status anew and publishes it if it changed; the phase that it has. */
  publishStatus(): string | undefined;
  /** Does `work` while the status stays as it is, whatever happens in the runtime. */
  withStatusHeld<T>(work: () => Promise<T>): Promise<T>;
}

export type EventToTell = Pick<PodEvent, 'type' | 'reason' | 'message'> & {
  container?: Pick<Container, 'name'> | undefined;
};

/** Tells the pod's user something, as a Kubernetes Event would. See {@link PodEvents.record}. */
export function recordEvent(pass: Pass, event: EventToTell): Cause | undefined {
  const { container, ...rest } = event;
  const { ref, deps, logger } = pass;
  logger.info({ reason: event.reason, container: container?.name }, event.message);
  const fieldPath = container === undefined ? undefined : containerFieldPath(pass.pod, container.name);
  const causes = [...pass.runtime.cause, ...pass.causes];
  return deps.events.record({ ref, ...rest, ...(fieldPath !== undefined && { fieldPath }) }, causes);
}

/** Waits for `work`, but not longer than the pass lasts. The work itself goes on. */
export function unlessCancelled<T>(pass: Pass, work: Promise<T>): Promise<T> {
  const { signal } = pass;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new PassCancelled('cancelled', 'something more urgent came up'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Waits for `work`, but not longer than `limitMs` milliseconds and than the pass lasts. The work itself goes on. */
export async function within(pass: Pass, work: Promise<unknown>, limitMs: number): Promise<void> {
  const limit = Promise.withResolvers<undefined>();
  const cancel = pass.deps.clock.after(limitMs, () => limit.resolve(undefined));
  try {
    await unlessCancelled(pass, Promise.race([work, limit.promise]));
  } finally {
    cancel();
  }
}

/** Ends the pass here if it was cancelled. */
export function checkCancelled(pass: Pass): void {
  if (pass.signal.aborted) throw new PassCancelled('cancelled', 'something more urgent came up');
}
