import type { SignalDocument } from '@kubus/contracts/observatory';
import { type ReactNode, useRef } from 'react';
import { clockSeconds } from '../format/moment.ts';
import { useSize } from '../theme/canvas.ts';
import { layoutPressure } from './pressure-layout.ts';
import { chartWords, percent } from './pressure-words.ts';

/** What was left of something over the last minutes, with the thresholds as lines: hard ones solid, soft ones dashed. */
export function PressureChart({ signal }: { readonly signal: SignalDocument }): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(frame);
  const { path, newest, thresholds, ticks, from, to, left, right, bottom } = layoutPressure(signal, { width, height });
  return (
    <div ref={frame} className="pressure-chart">
      {width === 0 ? null : (
        <svg width={width} height={height} role="img" aria-label={chartWords(signal)}>
          {ticks.map(({ part, y }) => (
            <g key={part}>
              <line className="chart-line" x1={left} x2={right} y1={y} y2={y} />
              <text className="chart-text" x={left - 6} y={y + 4} textAnchor="end">
                {percent(part)}
              </text>
            </g>
          ))}
          <text className="chart-text" x={left} y={bottom + 14}>
            {clockSeconds(from)}
          </text>
          <text className="chart-text" x={right} y={bottom + 14} textAnchor="end">
            {clockSeconds(to)}
          </text>
          {thresholds.map(({ value, isHard, y }) => (
            <g key={`${value} ${isHard}`} className={isHard ? 'threshold threshold-hard' : 'threshold threshold-soft'}>
              <line x1={left} x2={right} y1={y} y2={y} />
              <text x={isHard ? right : left + 4} y={y - 3} textAnchor={isHard ? 'end' : 'start'}>
                {isHard ? 'hard' : 'soft'} {value}
              </text>
            </g>
          ))}
          <path className="pressure-curve" d={path} />
          {newest === undefined ? null : <circle className="pressure-newest" cx={newest.x} cy={newest.y} r={3} />}
        </svg>
      )}
    </div>
  );
}
