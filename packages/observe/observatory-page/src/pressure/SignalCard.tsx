import type { SignalDocument } from '@kubus/contracts/observatory';
import { type ReactNode, useId } from 'react';
import { PressureChart } from './PressureChart.tsx';
import { graceWords, leftWords, reachedWords } from './pressure-words.ts';

interface Props {
  readonly signal: SignalDocument;
  /** The pods are ranked for it. */
  readonly ranked: boolean;
  readonly onRank: () => void;
}

/** One signal: what is left, its curve, its thresholds and when they are reached. */
export function SignalCard({ signal, ranked, onRank }: Props): ReactNode {
  const title = useId();
  const met = signal.thresholds.some(({ since }) => since !== undefined);
  return (
    <section className={met ? 'signal-card signal-card-met' : 'signal-card'} aria-labelledby={title}>
      <div className="panel-head">
        <h2 id={title}>{signal.signal}</h2>
        <span>{leftWords(signal)}</span>
        <span className="spacer" />
        <button type="button" aria-pressed={ranked} onClick={onRank} aria-label={`Rank pods for ${signal.signal}`}>
          Rank pods
        </button>
      </div>
      {signal.curve.length === 0 ? null : <PressureChart signal={signal} />}
      {signal.thresholds.length === 0 ? (
        <p className="dim">No threshold.</p>
      ) : (
        <ul className="signal-thresholds">
          {signal.thresholds.map((one) => (
            <li key={`${one.value} ${one.graceSeconds}`}>
              <strong>{one.value}</strong> <span className="dim">{graceWords(one)}:</span>{' '}
              <span className={one.since === undefined ? undefined : 'bad'}>{reachedWords(one)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
