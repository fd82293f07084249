import type { ReactNode } from 'react';
import { useFaults } from '../api/documents.ts';
import { formatRoute } from '../route/route.ts';
import { useRoute } from '../route/use-route.ts';
import { inForce } from './fault-draft.ts';

/** Shows in every view that faults are active: the node does not behave normally. */
export function FaultMark(): ReactNode {
  const { recording } = useRoute();
  const { rules = [], pauses = [] } = useFaults().data ?? {};
  const words = inForce(rules.length, pauses.length);
  return (
    <span role="status">
      {words === undefined ? null : (
        <a className="fault-mark" href={formatRoute({ recording, view: 'faults', query: {} })}>
          <span aria-hidden="true">⚠</span> {words}
        </a>
      )}
    </span>
  );
}
