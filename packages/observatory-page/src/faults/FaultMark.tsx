import type { ReactNode } from 'react';
import { useFaults } from '../api/documents.ts';
import { formatRoute } from '../route/route.ts';
import { useRoute } from '../route/use-route.ts';
import { inForce } from './fault-draft.ts';

/** Says in sight of every view that the node is disturbed: what is seen is not what it does by itself. */
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
