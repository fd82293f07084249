import type { ReactNode } from 'react';
import { adviceFor } from '../api/api-error.ts';

interface Props {
  readonly error: unknown;
  /** The failed action, as in `read the pods`. */
  readonly doing: string;
  readonly onRetry?: () => void;
}

/** An error with its message, a hint, and a button to try again. */
export function Failure({ error, doing, onRetry }: Props): ReactNode {
  const advice = adviceFor(error);
  return (
    <div role="alert" className="failure">
      <p>
        <strong>Could not {doing}:</strong> {error instanceof Error ? error.message : String(error)}.
      </p>
      {advice === undefined ? null : <p>{advice}</p>}
      {onRetry === undefined ? null : (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
