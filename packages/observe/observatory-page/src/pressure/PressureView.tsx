import type { PressureDocument } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { useObservatory, usePressure } from '../api/documents.ts';
import { goQuery, useRoute } from '../route/use-route.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Reading } from '../shell/Reading.tsx';
import { RankingTable } from './RankingTable.tsx';
import { SignalCard } from './SignalCard.tsx';
import { stateWords } from './pressure-words.ts';
import './pressure.css';

/** What the node has left, when it reaches its thresholds, and which pods would go: `kubus pressure`, with curves. */
export function PressureView(): ReactNode {
  const { query } = useRoute();
  const observatory = useObservatory().data;
  const pressure = usePressure(query['signal']);
  return (
    <div className="story pressure">
      <h1 className="visually-hidden">Pressure</h1>
      {observatory !== undefined && observatory.node === undefined ? (
        <EmptyState title="There is no node that could be short of anything">
          Only files are open. <code>./kubus trace</code> and the pages of evicted pods show what was short when they
          went.
        </EmptyState>
      ) : (
        <Reading of={pressure} what="what the node has left">
          {(document) => <Pressure document={document} />}
        </Reading>
      )}
    </div>
  );
}

function Pressure({ document }: { readonly document: PressureDocument }): ReactNode {
  const route = useRoute();
  const { signals, conditions, ranking } = document;
  return (
    <>
      <p role="status" className={conditions.length === 0 ? 'good' : 'bad'}>
        <span aria-hidden="true">{conditions.length === 0 ? '✓' : '⚠'}</span> {stateWords(document)}
      </p>
      {signals.every(({ thresholds }) => thresholds.length === 0) ? (
        <p>
          The node has no thresholds: it evicts no pod for lack of anything. A private node gets them with{' '}
          <code>./kubus up --config FILE</code> (<code>evictionHard</code>).
        </p>
      ) : null}
      <div className="signal-cards">
        {signals.map((signal) => (
          <SignalCard
            key={signal.signal}
            signal={signal}
            ranked={ranking?.signal === signal.signal}
            onRank={() => goQuery(route, { signal: signal.signal })}
          />
        ))}
      </div>
      {ranking === undefined ? null : <RankingTable ranking={ranking} />}
    </>
  );
}
