import { INFEASIBLE } from './grant.ts';
import type { Pod, PodCondition, PodEvent, PodStatus, PodWork } from '@kubus/contracts';
import type { ResizeCondition } from '@kubus/pod-status';
import { resizeMessage } from './messages.ts';

/** The progress of a pod's resize, in addition to its work. */
export interface ResizeProgress {
  /** The actual resources differ from the allocated ones. */
  readonly inProgress: boolean;
  /** Why the last attempt to set the allocated resources failed. */
  readonly error: string | undefined;
}

type ResizeWork = Pick<PodWork, 'pod' | 'pendingResize' | 'allocatedGeneration'>;

/** The conditions of a resize (behaviour:resize): one for a pending resize, and one for a resize in progress. */
export function resizeConditions(work: ResizeWork, { inProgress, error }: ResizeProgress): ResizeCondition[] {
  const { pod, pendingResize: pending, allocatedGeneration } = work;
  const reason = pending?.reason === INFEASIBLE ? INFEASIBLE : 'Deferred';
  return [
    ...(pending === undefined
      ? []
      : [
          {
            type: 'PodResizePending' as const,
            status: 'True',
            reason,
            message: pending.message,
            generation: pod?.metadata.generation,
          },
        ]),
    ...(inProgress
      ? [
          {
            type: 'PodResizeInProgress' as const,
            status: 'True',
            ...(error !== undefined && { reason: 'Error', message: error }),
            generation: allocatedGeneration,
          },
        ]
      : []),
  ];
}

/** The events when a pod's status changes from `before` to `after`: one for each change of a resize. */
export function resizeEvents(
  work: ResizeWork & { readonly pod: Pod },
  before: PodStatus | undefined,
  after: PodStatus,
): Pick<PodEvent, 'type' | 'reason' | 'message'>[] {
  const { pod, pendingResize } = work;
  const of = (status: PodStatus | undefined, type: string) => status?.conditions?.find((one) => one.type === type);
  const events: Pick<PodEvent, 'type' | 'reason' | 'message'>[] = [];
  const [waited, waits] = [of(before, 'PodResizePending'), of(after, 'PodResizePending')];
  if (pendingResize !== undefined && waits !== undefined && !sameTurn(waited, waits)) {
    const { message: error, reason, wanted } = pendingResize;
    const message = resizeMessage(`Pod resize ${reason}`, pod, { ...wanted, error });
    events.push({ type: 'Warning', reason: `Resize${waits.reason ?? ''}`, message });
  }
  const [went, goes] = [of(before, 'PodResizeInProgress'), of(after, 'PodResizeInProgress')];
  const generation = (goes ?? went)?.observedGeneration;
  if (goes !== undefined && (went === undefined || went.observedGeneration !== goes.observedGeneration)) {
    events.push({
      type: 'Normal',
      reason: 'ResizeStarted',
      message: resizeMessage('Pod resize started', pod, { generation }),
    });
  }
  if (goes?.reason === 'Error' && (went?.reason !== 'Error' || went.message !== goes.message)) {
    const message = resizeMessage('Pod resize error', pod, { generation, error: goes.message ?? '' });
    events.push({ type: 'Warning', reason: 'ResizeError', message });
  }
  if (went !== undefined && goes === undefined && after.phase !== 'Succeeded' && after.phase !== 'Failed') {
    const message = resizeMessage('Pod resize completed', pod, { generation });
    events.push({ type: 'Normal', reason: 'ResizeCompleted', message });
  }
  return events;
}

function sameTurn(a: PodCondition | undefined, b: PodCondition): boolean {
  return a?.reason === b.reason && a?.observedGeneration === b.observedGeneration;
}
