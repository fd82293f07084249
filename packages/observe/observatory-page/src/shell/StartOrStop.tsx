import type { ReactNode } from 'react';
import type { What } from '../api/documents.ts';

interface Props {
  readonly what: What;
  readonly onChoose: (what: What) => void;
}

/** A switch between starts and stops. */
export function StartOrStop({ what, onChoose }: Props): ReactNode {
  return (
    <fieldset className="choice">
      <legend className="visually-hidden">Starts or stops</legend>
      {(['start', 'stop'] as const).map((one) => (
        <button key={one} type="button" aria-pressed={what === one} onClick={() => onChoose(one)}>
          {one === 'start' ? 'Starts' : 'Stops'}
        </button>
      ))}
    </fieldset>
  );
}
