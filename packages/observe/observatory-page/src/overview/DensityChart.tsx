import type { DensityDocument } from '@kubus/contracts/observatory';
import { scaleLinear, scaleTime } from 'd3-scale';
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { clockSeconds } from '../format/moment.ts';
import { zoneAt, zoneChoice } from '../format/zone.ts';
import { count, duration } from '../format/quantity.ts';
import { blank, readPalette, useSize } from '../theme/canvas.ts';
import { useTheme } from '../theme/theme.ts';
import { type TimeRange, messagesIn, rangeAfterKey, stackDensity } from './density-layout.ts';
import './density.css';

interface Props {
  readonly density: DensityDocument;
  readonly range: TimeRange | undefined;
  readonly onRange: (range: TimeRange | undefined) => void;
  /** Of the canvas, in pixels. */
  readonly height: number;
}

const left = 46;
const right = 12;
const bottom = 20;
const top = 8;

/** Messages over time, stacked by service. Dragging, or the arrow keys, choose a range. */
export function DensityChart({ density, range, onRange, height }: Props): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(frame);
  const theme = useTheme();
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const [pointed, setPointed] = useState<number>();
  const stacked = useMemo(() => stackDensity(density), [density]);
  const x = useMemo(
    () => scaleTime([density.from, density.to], [left, Math.max(left + 1, width - right)]),
    [density.from, density.to, width],
  );
  const y = useMemo(
    () => scaleLinear([0, Math.max(1, stacked.max)], [height - bottom, top]).nice(3),
    [stacked.max, height],
  );

  useEffect(() => {
    const context = canvas.current === null || width === 0 ? undefined : blank(canvas.current, { width, height });
    if (context === undefined) return;
    const palette = readPalette();
    context.font = palette.font;
    context.textBaseline = 'middle';
    for (const tick of y.ticks(3)) {
      context.fillStyle = palette.faint;
      context.fillRect(left, Math.round(y(tick)), width - left - right, 1);
      context.fillStyle = palette.dim;
      context.textAlign = 'right';
      context.fillText(count(tick), left - 6, y(tick));
    }
    const bucketWidth = (width - left - right) / Math.max(1, density.services[0]?.counts.length ?? 1);
    for (const { service, bucket, base, top: upper } of stacked.bars) {
      context.fillStyle = palette.service(service);
      const begin = left + bucket * bucketWidth;
      context.fillRect(begin, y(upper), Math.max(0.75, bucketWidth - 0.4), y(base) - y(upper));
    }
    context.fillStyle = palette.dim;
    context.textAlign = 'center';
    const ticks = x.ticks(Math.max(2, Math.floor(width / 130)));
    for (const tick of ticks) {
      const at = Math.max(left + 24, Math.min(width - right - 24, x(tick)));
      context.fillText(clockSeconds(tick.getTime()), at, height - bottom / 2 + 2);
    }
    context.fillStyle = palette.line;
    context.fillRect(left, height - bottom, width - left - right, 1);
  }, [density, stacked, x, y, width, height, theme]);

  const timeAt = (event: PointerEvent): number => {
    const at = x.invert(event.clientX - (frame.current?.getBoundingClientRect().left ?? 0)).getTime();
    return Math.max(density.from, Math.min(density.to, at));
  };
  const onPointerUp = (event: PointerEvent): void => {
    if (drag === undefined) return;
    const to = timeAt(event);
    const moved = Math.abs(x(to) - x(drag.from)) > 3;
    setDrag(undefined);
    onRange(moved ? { from: Math.min(drag.from, to), to: Math.max(drag.from, to) } : undefined);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = rangeAfterKey(density, range, event.key, event.shiftKey);
    if (next === undefined) return;
    event.preventDefault();
    onRange(next === 'none' ? undefined : next);
  };

  const shown = drag === undefined ? range : { from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) };
  return (
    <div
      ref={frame}
      className="density"
      role="group"
      aria-label="Messages over time. Left and right arrow keys choose a range, with shift its length, Escape clears it."
      tabIndex={0}
      style={{ height }}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: timeAt(event), to: timeAt(event) });
      }}
      onPointerMove={(event) => {
        setPointed(timeAt(event));
        if (drag !== undefined) setDrag({ ...drag, to: timeAt(event) });
      }}
      onPointerUp={onPointerUp}
      onPointerLeave={() => setPointed(undefined)}
    >
      <canvas ref={canvas} style={{ width, height }} aria-hidden="true" />
      {shown === undefined ? null : (
        <div
          className="density-range"
          style={{ left: x(shown.from), width: Math.max(1, x(shown.to) - x(shown.from)) }}
        />
      )}
      {pointed === undefined || drag !== undefined ? null : (
        <BucketTip density={density} at={pointed} place={x(pointed)} width={width} />
      )}
    </div>
  );
}

interface TipProps {
  readonly density: DensityDocument;
  readonly at: number;
  readonly place: number;
  readonly width: number;
}

function BucketTip({ density, at, place, width }: TipProps): ReactNode {
  const bucket = Math.floor((at - density.from) / density.bucketMs);
  const from = density.from + bucket * density.bucketMs;
  const rows = density.services
    .map(({ service, counts }) => ({ service, messages: counts[bucket] ?? 0 }))
    .filter(({ messages }) => messages > 0)
    .sort((a, b) => b.messages - a.messages);
  const total = messagesIn(density, { from, to: from + density.bucketMs });
  return (
    <div className="tip" style={place > width / 2 ? { right: width - place + 12 } : { left: place + 12 }}>
      <strong>{clockSeconds(from)}</strong> <span className="dim">{zoneAt(from, zoneChoice())},</span>{' '}
      <span className="dim">{duration(density.bucketMs)}</span>
      <div>{count(total)} messages</div>
      {rows.slice(0, 5).map(({ service, messages }) => (
        <div key={service} className="dim">
          {service} {count(messages)}
        </div>
      ))}
    </div>
  );
}
