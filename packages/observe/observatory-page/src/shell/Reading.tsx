import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from './Failure.tsx';

interface Props<T> {
  readonly of: UseQueryResult<T>;
  /** As in `the pods`. */
  readonly what: string;
  readonly children: (document: T) => ReactNode;
}

/** A document once it is loaded; before that, what is being loaded, or the error. */
export function Reading<T>({ of, what, children }: Props<T>): ReactNode {
  if (of.data !== undefined) return children(of.data);
  if (of.isError) return <Failure error={of.error} doing={`read ${what}`} onRetry={() => void of.refetch()} />;
  return (
    <p className="waiting" role="status">
      Reading {what} …
    </p>
  );
}
