import type { PodState } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { podStates, stateWords } from './pod-states.ts';

interface Props {
  readonly state: PodState;
  readonly reason?: string | undefined;
}

/** The shape, colour and word of a pod's state. */
export function PodStateMark({ state, reason }: Props): ReactNode {
  const words = stateWords(state, reason);
  return (
    <span className={`state state-${state}`} title={`${words}: ${podStates[state].about}`}>
      <StateShape state={state} /> {words}
    </span>
  );
}

/** The shape alone, in the colour of the text. */
export function StateShape({ state }: { readonly state: PodState }): ReactNode {
  const { outline, filled } = podStates[state];
  return (
    <svg className="state-shape" width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
      {outline === undefined ? null : <path d={outline} fill="none" stroke="currentColor" strokeWidth="1.6" />}
      {filled === undefined ? null : <path d={filled} fill="currentColor" />}
    </svg>
  );
}
