import type { MapEdge } from '@kubus/contracts/observatory';
import type { MapNode, Size } from './map-node.ts';

/** Two services, and the messages from one to the other. */
export interface Pair {
  readonly from: MapNode;
  readonly to: MapNode;
  readonly edges: readonly MapEdge[];
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A cubic Bézier curve: its ends, and the two points that bend it. */
export type Curve = readonly [Point, Point, Point, Point];

export interface Route {
  readonly pair: Pair;
  readonly curves: readonly Curve[];
}

/** Where a line enters and leaves a column that it passes, at the same height. */
interface Passage {
  readonly left: number;
  readonly right: number;
  readonly y: number;
}

/** Distance of lines that pass a column through the same gap. */
const between = 7;
/** The head of an arrow lies before the box. */
const head = 6;

/**
 * Lines from service to service: around the services of the columns between, and side by side where they share a gap.
 *
 * @param height of the map
 * @param box the size of a service
 */
export function routesOf(pairs: readonly Pair[], nodes: readonly MapNode[], height: number, box: Size): Route[] {
  const ports = portsOf(pairs, box);
  const gaps = new Gaps(nodes, height, box);
  return pairs.map((pair) => ({ pair, curves: curvesOf(pair, ports.get(pair) ?? { out: 0, in: 0 }, gaps, box) }));
}

function curvesOf(pair: Pair, port: { out: number; in: number }, gaps: Gaps, { width }: Size): Curve[] {
  const { out, into } = sidesOf(pair);
  const from = { x: pair.from.x + (out === 'right' ? width : 0), y: port.out };
  const to = { x: pair.to.x + (into === 'right' ? width + head : -head), y: port.in };
  if (out === into) {
    const bend = Math.max(from.x, to.x) + 34;
    return [[from, { x: bend, y: from.y }, { x: bend, y: to.y }, to]];
  }
  const passages = gaps.passagesOf(from, to);
  const rightwards = from.x < to.x;
  const curves: Curve[] = [];
  let at: Point = from;
  for (const { left, right, y } of rightwards ? passages : passages.toReversed()) {
    const [enter, leave] = rightwards ? [left, right] : [right, left];
    curves.push(bent(at, { x: enter, y }), bent({ x: enter, y }, { x: leave, y }));
    at = { x: leave, y };
  }
  return [...curves, bent(at, to)];
}

/** Leaves and arrives level. */
function bent(from: Point, to: Point): Curve {
  const bend = (to.x - from.x) * 0.45;
  return [from, { x: from.x + bend, y: from.y }, { x: to.x - bend, y: to.y }, to];
}

/** Path data of SVG. */
export function pathOf(curves: readonly Curve[]): string {
  const text = ({ x, y }: Point): string => `${x.toFixed(1)},${y.toFixed(1)}`;
  const [first] = curves;
  if (first === undefined) return '';
  return `M${text(first[0])} C${curves.map(([, b, c, d]) => `${text(b)} ${text(c)} ${text(d)}`).join(' ')}`;
}

/** The free heights between the services of each column, and how many lines pass them already. */
class Gaps {
  readonly #columns: {
    readonly x: number;
    readonly gaps: readonly { readonly from: number; readonly to: number; lines: number }[];
  }[];

  readonly #width: number;

  constructor(nodes: readonly MapNode[], height: number, box: Size) {
    this.#width = box.width;
    const xs = [...new Set(nodes.map(({ x }) => x))].sort((a, b) => a - b);
    this.#columns = xs.map((x) => {
      const tops = nodes.filter((node) => node.x === x).map(({ y }) => y);
      const ends = [0, ...tops.map((y) => y + box.height)];
      return { x, gaps: ends.map((from, index) => ({ from, to: tops[index] ?? height, lines: 0 })) };
    });
  }

  /** From left to right: through the gap of each column between that is nearest to the straight line. */
  passagesOf(from: Point, to: Point): Passage[] {
    const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
    const width = this.#width;
    return this.#columns
      .filter(({ x }) => x > left + 1 && x + width < right - 1)
      .map(({ x, gaps }) => {
        const share = (x + width / 2 - from.x) / (to.x - from.x);
        const wanted = from.y + share * (to.y - from.y);
        const cost = (gap: (typeof gaps)[number]): number =>
          Math.abs(Math.max(gap.from, Math.min(gap.to, wanted)) - wanted) + gap.lines * 3;
        const gap = gaps.toSorted((a, b) => cost(a) - cost(b))[0];
        if (gap === undefined) return { left: x, right: x + width, y: wanted };
        return { left: x, right: x + width, y: laneIn(gap, wanted) };
      });
  }
}

/** The lines of a gap lie around its middle, one beside the other. */
function laneIn(gap: { readonly from: number; readonly to: number; lines: number }, wanted: number): number {
  const middle = (gap.from + gap.to) / 2;
  const room = Math.max(0, (gap.to - gap.from) / 2 - 5);
  const side = wanted < middle ? -1 : 1;
  const lane = Math.ceil(gap.lines / 2) * between * (gap.lines % 2 === 0 ? side : -side);
  gap.lines += 1;
  return middle + Math.max(-room, Math.min(room, lane));
}

interface Port {
  readonly pair: Pair;
  readonly end: 'out' | 'in';
  /** The position of the other end: lines of one side are sorted by it, so that they do not cross at their start. */
  readonly other: number;
}

/** Height at which each end of each line touches its service. */
function portsOf(pairs: readonly Pair[], { height }: Size): Map<Pair, { out: number; in: number }> {
  const sides = new Map<string, Port[]>();
  const add = (node: MapNode, side: string, port: Port): void => {
    const key = `${node.service} ${side}`;
    sides.set(key, [...(sides.get(key) ?? []), port]);
  };
  for (const pair of pairs) {
    const { out, into } = sidesOf(pair);
    add(pair.from, out, { pair, end: 'out', other: pair.to.y });
    add(pair.to, into, { pair, end: 'in', other: pair.from.y });
  }
  const places = new Map<Pair, { out: number; in: number }>(pairs.map((pair) => [pair, { out: 0, in: 0 }]));
  for (const ports of sides.values()) {
    ports.sort((a, b) => a.other - b.other || a.end.localeCompare(b.end));
    ports.forEach(({ pair, end }, index) => {
      const place = places.get(pair);
      const node = end === 'out' ? pair.from : pair.to;
      if (place !== undefined) place[end] = node.y + ((index + 1) / (ports.length + 1)) * height;
    });
  }
  return places;
}

function sidesOf({ from, to }: Pair): { out: 'left' | 'right'; into: 'left' | 'right' } {
  if (from.x < to.x) return { out: 'right', into: 'left' };
  if (from.x > to.x) return { out: 'left', into: 'right' };
  return { out: 'right', into: 'right' };
}
