import type { SignalDocument } from '@kubus/contracts/observatory';
import { scaleLinear } from 'd3-scale';
import type { Size } from '../theme/canvas.ts';

/** Around the curve, in pixels: left of it are the labels of its axis. */
const frame = { left: 44, right: 8, top: 10, bottom: 18 } as const;

/** The least time that a chart shows, in milliseconds: with a few readings its curve begins at the right. */
const SHORTEST_MS = 60_000;

export interface PressureLayout {
  /** The curve, as the attribute `d` of a path; empty without a reading. */
  readonly path: string;
  /** The newest reading. */
  readonly newest: { readonly x: number; readonly y: number } | undefined;
  readonly thresholds: readonly { readonly value: string; readonly isHard: boolean; readonly y: number }[];
  readonly ticks: readonly { readonly part: number; readonly y: number }[];
  readonly from: number;
  readonly to: number;
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
}

/** Where a signal's curve and its thresholds are drawn. The axis begins at nothing left, and ends above all that is drawn. */
export function layoutPressure({ curve, thresholds }: SignalDocument, { width, height }: Size): PressureLayout {
  const to = curve.at(-1)?.at ?? 0;
  const from = Math.min(curve[0]?.at ?? to, to - SHORTEST_MS);
  const [left, right, bottom] = [frame.left, Math.max(frame.left + 1, width - frame.right), height - frame.bottom];
  const limits = thresholds.flatMap(({ part, value, graceSeconds }) =>
    part === undefined ? [] : [{ part, value, isHard: graceSeconds === 0 }],
  );
  const most = Math.max(0.001, ...[...curve, ...limits].map(({ part }) => part));
  const x = scaleLinear([from, to], [left, right]);
  const y = scaleLinear([0, Math.min(1, most * 1.15)], [bottom, frame.top]);
  const points = curve.map(({ at, part }) => ({ x: x(at), y: y(part) }));
  return {
    path: points.map((point, index) => `${index === 0 ? 'M' : 'L'}${round(point.x)} ${round(point.y)}`).join(''),
    newest: points.at(-1),
    thresholds: limits.map(({ part, ...rest }) => ({ ...rest, y: y(part) })),
    ticks: y.ticks(3).map((part) => ({ part, y: y(part) })),
    ...{ from, to, left, right, bottom },
  };
}

const round = (value: number): number => Math.round(value * 10) / 10;
