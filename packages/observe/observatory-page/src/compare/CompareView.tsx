import type { ReactNode } from 'react';
import { useComparison } from '../api/documents.ts';
import { goQuery, useRoute } from '../route/use-route.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Reading } from '../shell/Reading.tsx';
import { StartOrStop } from '../shell/StartOrStop.tsx';
import { ComparedSteps } from './ComparedSteps.tsx';
import { SideChooser } from './SideChooser.tsx';
import { formatSide, parseSide } from './compared.ts';
import './compare.css';

/** Two recordings, or two pods, beside each other. */
export function CompareView(): ReactNode {
  const route = useRoute();
  const left = parseSide(route.query['left'] ?? route.recording);
  const right = parseSide(route.query['right'] ?? '');
  const what = route.query['what'] === 'stop' ? 'stop' : 'start';
  const comparison = useComparison(formatSide(left), formatSide(right), what);
  return (
    <div className="story">
      <h1 className="visually-hidden">Compare</h1>
      <div className="sides">
        <SideChooser name="Left" side={left} onChange={(side) => goQuery(route, { left: formatSide(side) })} />
        <SideChooser name="Right" side={right} onChange={(side) => goQuery(route, { right: formatSide(side) })} />
        <StartOrStop what={what} onChoose={(one) => goQuery(route, { what: one })} />
        <button
          type="button"
          disabled={right.recording === ''}
          onClick={() => goQuery(route, { left: formatSide(right), right: formatSide(left) })}
        >
          ⇄ Swap
        </button>
      </div>
      {left.recording === '' || right.recording === '' ? (
        <EmptyState title="Choose what to compare">
          Two recordings, as before and after a change, or two pods. <code>./kubus record start NAME</code> starts a
          recording, <code>./kubus record stop NAME</code> stops it.
        </EmptyState>
      ) : (
        <Reading of={comparison} what="the comparison">
          {(document) => <ComparedSteps comparison={document} />}
        </Reading>
      )}
    </div>
  );
}
