import { type StoredMessage, HEADER } from '@kubus/bus';
import { bareType } from '@kubus/contracts';
import type { CriticalPath, MessageBrief } from '@kubus/contracts/observatory';
import { readMessage } from './brief.ts';
import { signsOf } from './pod-signs.ts';
import { podTimeline } from './pod-story.ts';
import { criticalPath } from './segments.ts';
import { valueAt } from './summary.ts';

/** How a pod became ready again after containers of it had ended. */
export interface RestartPath extends Omit<CriticalPath, 'what'> {
  readonly what: 'restart';
}

/**
 * The critical paths of a pod's restarts, the oldest first: each from the message that a container has ended to the first status with which the
 * pod is ready again and counts more restarts. A pod that was only not ready for a while has not restarted.
 *
 * @param messages as of {@link podTimeline}
 */
export function restartPaths(uid: string, messages: readonly StoredMessage[]): RestartPath[] {
  const known = new Map(podTimeline(uid, messages).messages.map((brief) => [brief.id, brief]));
  const paths: RestartPath[] = [];
  let before: { readonly at: MessageBrief; readonly restarts: number } | undefined;
  let lost: MessageBrief | undefined;
  for (const { brief, isReady, restarts } of statusesOf(uid, messages)) {
    if (!isReady) {
      lost ??= before && brief;
      continue;
    }
    if (before !== undefined && lost !== undefined && restarts > before.restarts) {
      const from = beginOf(lost, before.at, known);
      paths.push({ ...criticalPath('start', from, brief, known), what: 'restart' });
    }
    before = { at: brief, restarts };
    lost = undefined;
  }
  return paths;
}

/** The first of the messages that led to a status, after the pod was last ready. */
function beginOf(status: MessageBrief, ready: MessageBrief, known: ReadonlyMap<string, MessageBrief>): MessageBrief {
  const seen = new Set<string>();
  let begin = status;
  for (let at: MessageBrief | undefined = status; at !== undefined && at.at > ready.at && !seen.has(at.id);) {
    begin = at;
    seen.add(at.id);
    at = known.get(at.causes[0] ?? '');
  }
  return begin;
}

interface Status {
  readonly brief: MessageBrief;
  readonly isReady: boolean;
  readonly restarts: number;
}

function statusesOf(uid: string, messages: readonly StoredMessage[]): Status[] {
  const seen = new Set<string>();
  return messages.flatMap((stored) => {
    const { headers } = stored.message;
    if (headers[HEADER.pod] !== uid || headers[HEADER.removed] !== undefined) return [];
    const read = readMessage(stored);
    // A fact is stored again after a lost connection.
    if (read === undefined || read.brief.kind !== 'fact' || seen.has(read.brief.id)) return [];
    const { brief, payload } = read;
    const ready = signsOf(bareType(brief.type), false, payload)?.ready;
    if (ready === undefined) return [];
    seen.add(brief.id);
    return [{ brief, isReady: ready, restarts: restartsIn(payload) }];
  });
}

function restartsIn(payload: unknown): number {
  return ['status.containerStatuses', 'status.initContainerStatuses']
    .map((path) => valueAt(payload, path))
    .flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))
    .map((one) => Number(valueAt(one, 'restartCount') ?? 0))
    .reduce((sum, count) => sum + count, 0);
}
