import type { MapEdge, ServiceMap } from '@kubus/contracts/observatory';

export interface MapNode {
  readonly service: string;
  readonly x: number;
  readonly y: number;
}

/** All messages from one service to another, as one line. */
export interface MapLink {
  readonly from: string;
  readonly to: string;
  readonly edges: readonly MapEdge[];
  readonly rate: number;
  readonly messages: number;
  /** Path data of SVG. */
  readonly path: string;
}

export interface MapLayout {
  readonly nodes: readonly MapNode[];
  readonly links: readonly MapLink[];
  readonly width: number;
  readonly height: number;
}

export const nodeWidth = 138;
export const nodeHeight = 46;

/** From the sources of pods on the left to the runtime on the right; reporting services are last. */
const columns: readonly (readonly string[])[] = [
  ['launcher', 'config-sources', 'object-cache'],
  ['sync-loop', 'node-agent'],
  ['prober', 'pod-workers', 'volume-manager'],
  ['cri-bridge', 'cni-bridge'],
  ['status-manager', 'node-api', 'cli', 'observatory'],
];

/** Announcements go from every service to every other one and would hide the rest. */
export function isAnnouncement({ type }: MapEdge): boolean {
  return type.startsWith('service.');
}

/** Each service has a fixed place, so that two maps can be compared visually. */
export function layoutMap(map: ServiceMap, width: number, height: number): MapLayout {
  const names = map.services.map(({ service }) => service);
  const known = new Set(columns.flat());
  const placed = columns.map((column) => column.filter((service) => names.includes(service)));
  placed.at(-1)?.push(...names.filter((service) => !known.has(service)).sort());
  const used = placed.filter((column) => column.length > 0);
  const gap = used.length > 1 ? (width - nodeWidth - 16) / (used.length - 1) : 0;
  const nodes = used.flatMap((column, index) =>
    column.map((service, row): MapNode => ({
      service,
      x: 8 + index * gap,
      y: ((row + 0.5) / column.length) * height - nodeHeight / 2,
    })),
  );
  return { nodes, links: linksOf(map.edges, nodes), width, height };
}

interface Pair {
  readonly from: MapNode;
  readonly to: MapNode;
  readonly edges: MapEdge[];
}

interface Port {
  readonly pair: Pair;
  readonly end: 'out' | 'in';
  /** The position of the other end: lines of one side are sorted by it, so that they do not cross at their start. */
  readonly other: number;
}

function linksOf(edges: readonly MapEdge[], nodes: readonly MapNode[]): MapLink[] {
  const places = new Map(nodes.map((node) => [node.service, node]));
  const pairs = new Map<string, Pair>();
  for (const edge of edges) {
    const from = places.get(edge.from);
    const to = places.get(edge.to);
    if (from === undefined || to === undefined || from === to) continue;
    const key = `${edge.from} ${edge.to}`;
    const pair = pairs.get(key) ?? { from, to, edges: [] };
    pair.edges.push(edge);
    pairs.set(key, pair);
  }
  const ports = portsOf([...pairs.values()]);
  return [...pairs.values()].map((pair) => ({
    from: pair.from.service,
    to: pair.to.service,
    edges: pair.edges,
    rate: pair.edges.reduce((sum, { rate }) => sum + rate, 0),
    messages: pair.edges.reduce((sum, { messages }) => sum + messages, 0),
    path: curveOf(pair, ports),
  }));
}

/** Height at which each end of each line touches its service. */
function portsOf(pairs: readonly Pair[]): Map<Port['pair'], { out: number; in: number }> {
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
      if (place !== undefined) place[end] = node.y + ((index + 1) / (ports.length + 1)) * nodeHeight;
    });
  }
  return places;
}

function sidesOf({ from, to }: Pair): { out: 'left' | 'right'; into: 'left' | 'right' } {
  if (from.x < to.x) return { out: 'right', into: 'left' };
  if (from.x > to.x) return { out: 'left', into: 'right' };
  return { out: 'right', into: 'right' };
}

function curveOf(pair: Pair, ports: ReadonlyMap<Pair, { out: number; in: number }>): string {
  const { out, into } = sidesOf(pair);
  const place = ports.get(pair) ?? { out: 0, in: 0 };
  const x1 = pair.from.x + (out === 'right' ? nodeWidth : 0);
  // The head of the arrow lies before the box.
  const x2 = pair.to.x + (into === 'right' ? nodeWidth + 6 : -6);
  const bend = Math.max(34, Math.abs(x2 - x1) * 0.42);
  const c1 = x1 + (out === 'right' ? bend : -bend);
  const c2 = x2 + (into === 'right' ? bend : -bend);
  const [a, b] = [place.out.toFixed(1), place.in.toFixed(1)];
  return `M${x1.toFixed(1)},${a} C${c1.toFixed(1)},${a} ${c2.toFixed(1)},${b} ${x2.toFixed(1)},${b}`;
}
