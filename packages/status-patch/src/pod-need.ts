import type { Pod, PodStatus, PodWorkerReport } from '@kubus/contracts';
import { illegalTransition } from '@kubus/pod-status';
import { mayDelete } from './deletion.ts';
import { isMirror } from './mirror.ts';
import { type JsonObject, statusPatch } from './status-patch.ts';
import { type Urgency, statusUrgency } from './urgency.ts';
import { wantedStatus } from './wanted-status.ts';

/** What is known of a pod that the API server has. */
export interface PodView {
  /** The pod as the API server has it; of a static pod its mirror. */
  readonly api: Pod;
  /** The status as the node sees it; undefined before it has made one. */
  readonly status: PodStatus | undefined;
  readonly worker: Pick<PodWorkerReport, 'state' | 'cleaned'> | undefined;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

export type PodNeed =
  | { readonly kind: 'write'; readonly patch: JsonObject; readonly urgency: Urgency }
  /** The pod is to be removed for good; before that `patch`, its last status, where there is something new. */
  | { readonly kind: 'delete'; readonly patch: JsonObject | undefined }
  /** A container that has ended for good would be shown as alive again: such a status is a mistake, and is not written. */
  | { readonly kind: 'refuse'; readonly container: string };

/** What the API server has to be told of a pod; undefined for nothing. A function of the present state alone. */
export function podNeed({ api, status, worker, now }: PodView): PodNeed | undefined {
  const deletes = mayDelete(api, worker);
  // A static pod may be begun anew under its UID.
  const container =
    status === undefined || isMirror(api) ? undefined : illegalTransition(api, api.status ?? {}, status);
  if (container !== undefined) return deletes ? { kind: 'delete', patch: undefined } : { kind: 'refuse', container };
  // Of a worker that has not been heard of it is not known that nothing runs.
  const mayRun = worker?.state !== 'terminated' && worker?.state !== 'finished';
  const wanted = status && wantedStatus({ api, node: status, mayRun, now });
  const patch = wanted && statusPatch(api, wanted);
  if (deletes) return { kind: 'delete', patch };
  if (wanted === undefined || patch === undefined) return undefined;
  return { kind: 'write', patch, urgency: statusUrgency(api, wanted) };
}
