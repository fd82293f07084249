import type { Pod, PodStatus, PodWorkerReport } from '@kubus/contracts';
import { isMirror } from '@kubus/pod';
import { illegalTransition } from '../special-status.ts';
import { mayDelete } from './deletion.ts';
import { type JsonObject, statusPatch } from './status-patch.ts';
import { type Urgency, statusUrgency } from './urgency.ts';
import { wantedStatus } from './wanted-status.ts';

/** What is known about a pod in the API server. */
export interface PodView {
  /** The pod in the API server; for a static pod its mirror pod. */
  readonly api: Pod;
  /** The status as published on the node; undefined before the first one. */
  readonly status: PodStatus | undefined;
  readonly worker: Pick<PodWorkerReport, 'state' | 'cleaned'> | undefined;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

export type PodNeed =
  | { readonly kind: 'write'; readonly patch: JsonObject; readonly urgency: Urgency }
  /** The pod is finally deleted; before that `patch`, its last status, is written where it has changed. */
  | { readonly kind: 'delete'; readonly patch: JsonObject | undefined }
  /** The status would show a permanently ended container as running again: such a status is an error and is not written. */
  | { readonly kind: 'refuse'; readonly container: string };

/** What has to be written to the API server for a pod; undefined for nothing. A function of the current state alone. */
export function podNeed({ api, status, worker, now }: PodView): PodNeed | undefined {
  const deletes = mayDelete(api, worker);
  // A static pod may be started again with the same UID.
  const container =
    status === undefined || isMirror(api) ? undefined : illegalTransition(api, api.status ?? {}, status);
  if (container !== undefined) return deletes ? { kind: 'delete', patch: undefined } : { kind: 'refuse', container };
  // Containers may be running as long as the worker has published nothing.
  const mayRun = worker?.state !== 'terminated' && worker?.state !== 'finished';
  const wanted = status && wantedStatus({ api, node: status, mayRun, now });
  const patch = wanted && statusPatch(api, wanted);
  if (deletes) return { kind: 'delete', patch };
  if (wanted === undefined || patch === undefined) return undefined;
  return { kind: 'write', patch, urgency: statusUrgency(api, wanted) };
}
