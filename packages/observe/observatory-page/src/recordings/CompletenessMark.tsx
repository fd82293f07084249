import type { Completeness } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { missingOf } from './completeness.ts';

/** `complete`, or what is missing. */
export function CompletenessMark({ completeness }: { readonly completeness: Completeness }): ReactNode {
  const missing = missingOf(completeness);
  if (missing.length === 0) return <span className="good">✓ complete</span>;
  return (
    <span className="warning" title={`Messages: ${missing.join(', ')}`}>
      ⚠ {missing.join(', ')}
    </span>
  );
}
