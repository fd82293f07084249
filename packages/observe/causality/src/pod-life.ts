import type { PodSigns } from './pod-signs.ts';

/** The progress of a pod's life. `At`: a reference to a message. */
export interface PodLife<At> {
  /** When its source added or removed it. */
  readonly wanted?: At | undefined;
  readonly unwanted?: At | undefined;
  /** When its source had added it, after the removal of a pod that had not been ready: the message that it was ready may arrive later. */
  readonly wasWanted?: At | undefined;
  /** It has been ready, or has succeeded, since its worker started with it. */
  readonly started?: boolean;
}

/** From one message to another. */
export interface Way<At> {
  readonly from: At;
  readonly to: At;
}

/**
 * Updates a pod's life with one more message. `start`: from the source's first message about the pod to the first status with
 * which it is ready or has succeeded. `stop`: from the source's removal of the pod to the worker's message that it is
 * completely removed. A UID can be reused after its pod has finished (static pods), and a source may add it again while
 * the previous pod is still terminating: late messages of that one start nothing. Messages of different services may arrive in another
 * order than they were published in.
 *
 * @param at the message, with the time of its publication
 */
export function nextLife<At extends { readonly at: number }>(
  life: PodLife<At>,
  signs: PodSigns,
  at: At,
): { readonly life: PodLife<At>; readonly start?: Way<At>; readonly stop?: Way<At> } {
  const wanted = signs.wanted === undefined ? life.wanted : signs.wanted ? (life.wanted ?? at) : undefined;
  const unwanted = signs.wanted === false ? (life.unwanted ?? at) : life.unwanted;
  if (signs.worker === 'finished') {
    const stop = unwanted !== undefined && { stop: { from: unwanted, to: at } };
    return { life: { wanted, unwanted: undefined, started: false }, ...stop };
  }
  const { started = false } = life;
  const wasWanted = wanted !== undefined || started ? undefined : (life.wanted ?? life.wasWanted);
  const isUp = signs.ready === true || signs.phase === 'Succeeded';
  const isLate = unwanted !== undefined && at.at < unwanted.at;
  const from = wanted ?? (isLate ? wasWanted : undefined);
  if (!isUp || started || from === undefined) return { life: { wanted, unwanted, started, wasWanted } };
  return { life: { wanted, unwanted, started: true }, start: { from, to: at } };
}
