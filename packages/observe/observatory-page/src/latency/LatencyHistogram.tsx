import { scaleLinear } from 'd3-scale';
import { type KeyboardEvent, type ReactNode, useRef } from 'react';
import { counted, duration } from '../format/quantity.ts';
import { useSize } from '../theme/canvas.ts';
import { colorOf } from '../theme/services.ts';
import type { HistogramBar, Spread } from './histogram.ts';
import './latency.css';

interface Props {
  readonly bars: readonly HistogramBar[];
  readonly spread: Spread;
  readonly chosen: number | undefined;
  readonly onChoose: (bar: number | undefined) => void;
}

const left = 46;
const right = 16;
const top = 18;
const bottom = 24;

/** Pods by latency, divided by service. The pods of the chosen bar are listed. */
export function LatencyHistogram({ bars, spread, chosen, onChoose }: Props): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(frame);
  const x = scaleLinear([bars[0]?.from ?? 0, bars.at(-1)?.to ?? 1], [left, Math.max(left + 1, width - right)]);
  const y = scaleLinear([0, Math.max(1, ...bars.map(({ pods }) => pods.length))], [height - bottom, top]).nice(4);
  const reachable = chosen ?? bars.findIndex(({ pods }) => pods.length > 0);
  const ticks = x.ticks(Math.max(2, Math.floor(width / 110)));

  const onKeyDown = (event: KeyboardEvent, bar: number): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    let to = bar + step;
    while (bars[to] !== undefined && bars[to]?.pods.length === 0) to += step;
    if (bars[to] === undefined) return;
    onChoose(to);
    frame.current?.querySelector<SVGElement>(`[data-bar="${to}"]`)?.focus();
  };

  return (
    <div ref={frame} className="histogram">
      <svg
        width={width}
        height={height}
        role="group"
        aria-label="Pods by latency. Left and right arrow keys go from bar to bar."
      >
        {y.ticks(4).map((tick) => (
          <g key={tick}>
            <line className="chart-line" x1={left} x2={width - right} y1={y(tick)} y2={y(tick)} />
            <text className="chart-text" x={left - 6} y={y(tick) + 4} textAnchor="end">
              {Number.isInteger(tick) ? tick : ''}
            </text>
          </g>
        ))}
        {ticks.map((tick) => (
          <text key={tick} className="chart-text" x={x(tick)} y={height - 8} textAnchor="middle">
            {duration(tick)}
          </text>
        ))}
        {(height === 0 ? [] : bars).map((bar, index) => (
          <Bar
            key={bar.from}
            bar={bar}
            index={index}
            place={{ x: x(bar.from) + 0.5, width: Math.max(1, x(bar.to) - x(bar.from) - 1) }}
            y={y}
            state={chosen === undefined ? '' : chosen === index ? ' bar-chosen' : ' bar-dimmed'}
            reachable={reachable === index}
            onChoose={() => onChoose(chosen === index ? undefined : index)}
            onKeyDown={(event) => onKeyDown(event, index)}
          />
        ))}
        <Quantile name="median" at={x(spread.p50)} bottom={height - bottom} flip={false} />
        <Quantile name="95 %" at={x(spread.p95)} bottom={height - bottom} flip={x(spread.p95) > width - 70} />
      </svg>
    </div>
  );
}

interface BarProps {
  readonly bar: HistogramBar;
  readonly index: number;
  readonly place: { readonly x: number; readonly width: number };
  readonly y: (pods: number) => number;
  readonly state: string;
  readonly reachable: boolean;
  readonly onChoose: () => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function Bar({ bar, index, place, y, state, reachable, onChoose, onKeyDown }: BarProps): ReactNode {
  if (bar.pods.length === 0) return null;
  const said = `${counted(bar.pods.length, 'pod')} from ${duration(bar.from)} to ${duration(bar.to)}`;
  let base = 0;
  return (
    <g
      className={`bar${state}`}
      data-bar={index}
      role="button"
      aria-label={said}
      aria-pressed={state === ' bar-chosen'}
      tabIndex={reachable ? 0 : -1}
      onClick={onChoose}
      onKeyDown={(event) => {
        if (event.key === 'Enter' || event.key === ' ') {
          event.preventDefault();
          onChoose();
        } else onKeyDown(event);
      }}
    >
      <title>
        {[
          said,
          ...bar.parts.map(({ service, pods }) => `${service} ${Math.round((pods / bar.pods.length) * 100)} %`),
        ].join('\n')}
      </title>
      {bar.parts.map(({ service, pods }) => {
        const [from, to] = [y(base), y((base += pods))];
        return <rect key={service} x={place.x} width={place.width} y={to} height={from - to} fill={colorOf(service)} />;
      })}
    </g>
  );
}

interface QuantileProps {
  readonly name: string;
  readonly at: number;
  readonly bottom: number;
  readonly flip: boolean;
}

function Quantile({ name, at, bottom: end, flip }: QuantileProps): ReactNode {
  return (
    <g>
      <line className="quantile" x1={at} x2={at} y1={4} y2={end} />
      <text className="chart-text" x={at + (flip ? -4 : 4)} y={13} textAnchor={flip ? 'end' : 'start'}>
        {name}
      </text>
    </g>
  );
}
