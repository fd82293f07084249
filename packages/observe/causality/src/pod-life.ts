import type { PodSigns } from './pod-signs.ts';

/** The progress of a pod's life. `At`: a reference to a message. */
export interface PodLife<At> {
  /** When its source added or removed it. */
  readonly wanted?: At | undefined;
  readonly unwanted?: At | undefined;
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
 * the previous pod is still terminating: late messages of that one start nothing.
 */
export function nextLife<At>(
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
  const isUp = signs.ready === true || signs.phase === 'Succeeded';
  if (!isUp || started || wanted === undefined) return { life: { wanted, unwanted, started } };
  return { life: { wanted, unwanted, started: true }, start: { from: wanted, to: at } };
}
