import type { PodState, PodSummary } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { count } from '../format/quantity.ts';
import { PodStateMark } from '../theme/PodStateMark.tsx';
import { podStates, statesOf } from '../theme/pod-states.ts';

interface Props {
  readonly pods: readonly PodSummary[];
  /** The state whose pods alone are listed. */
  readonly chosen: string | undefined;
  readonly onChoose: (state: PodState | undefined) => void;
}

/** The states that the listed pods have, with their shapes and how many have each; one filters the list. */
export function StateLegend({ pods, chosen, onChoose }: Props): ReactNode {
  return (
    <ul className="state-legend" aria-label="States of the pods">
      {statesOf(pods).map(({ state, pods: having }) => (
        <li key={state}>
          <button
            type="button"
            aria-pressed={state === chosen}
            title={`${podStates[state].word}: ${podStates[state].about}. ${state === chosen ? 'List all again' : 'List only these'}.`}
            onClick={() => onChoose(state === chosen ? undefined : state)}
          >
            <PodStateMark state={state} /> <span className="dim">{count(having)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
