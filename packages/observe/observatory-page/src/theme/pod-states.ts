import type { PodState } from '@kubus/contracts/observatory';

interface PodStateLook {
  readonly word: string;
  readonly about: string;
  /** Outlines of SVG in a square of 12: states differ in shape, not by colour alone. */
  readonly outline?: string;
  /** The same, filled. */
  readonly filled?: string;
}

const ring = 'M6,1.8 a4.2,4.2 0 1,0 0.01,0 z';

/** In the order in which a pod goes through them; colours are `--state-<name>` of `tokens.css`. */
export const podStates: Readonly<Record<PodState, PodStateLook>> = {
  starting: {
    word: 'Starting',
    about: 'not ready yet, and nothing is known to be wrong',
    outline: ring,
    filled: 'M6,1.8 a4.2,4.2 0 0,0 0,8.4 z',
  },
  unready: {
    word: 'Not ready',
    about: 'its containers run, but its readiness has not been confirmed',
    outline: ring,
    filled: 'M6,4.4 a1.6,1.6 0 1,0 0.01,0 z',
  },
  ready: { word: 'Ready', about: 'runs and is ready', filled: ring },
  failing: {
    word: 'Failing',
    about: 'something is wrong, and is tried again',
    outline: 'M6,1.5 L11,10.5 L1,10.5 z',
    filled: 'M5.4,4.8 h1.2 v2.6 h-1.2 z M5.4,8.2 h1.2 v1.2 h-1.2 z',
  },
  failed: { word: 'Failed', about: 'ended with an error, and is not tried again', outline: 'M2,2 L10,10 M10,2 L2,10' },
  succeeded: {
    word: 'Succeeded',
    about: 'all its containers ended without an error',
    outline: 'M1.5,6.5 L4.8,9.6 L10.5,2.6',
  },
  stopping: { word: 'Stopping', about: 'is being removed', outline: 'M2.4,2.4 h7.2 v7.2 h-7.2 z' },
  deleted: { word: 'Deleted', about: 'nothing of it is left on the node', outline: 'M2,6 h8' },
};

/** A pod's state for lists: `Failing: CrashLoopBackOff`. */
export function stateWords(state: PodState, reason: string | undefined): string {
  return reason === undefined ? podStates[state].word : `${podStates[state].word}: ${reason}`;
}

/** The states that occur among pods, in the order of {@link podStates}, with how many have each. */
export function statesOf(pods: readonly { readonly state: PodState }[]): { state: PodState; pods: number }[] {
  const counts = new Map<PodState, number>();
  for (const { state } of pods) counts.set(state, (counts.get(state) ?? 0) + 1);
  return (Object.keys(podStates) as PodState[]).flatMap((state) => {
    const found = counts.get(state);
    return found === undefined ? [] : [{ state, pods: found }];
  });
}
