import type { MapEdge, ServiceMap } from '@kubus/contracts/observatory';
import { placeLabels } from './map-labels.ts';
import { type MapNode, nodeHeight, nodeWidth } from './map-node.ts';
import { type Pair, type Point, type Route, pathOf, routesOf } from './map-routes.ts';

/** All messages from one service to another, as one line. */
export interface MapLink {
  readonly from: string;
  readonly to: string;
  readonly edges: readonly MapEdge[];
  readonly rate: number;
  readonly messages: number;
  /** Path data of SVG. */
  readonly path: string;
  readonly text: string;
  /** The middle of its text; missing where there is no room for it. */
  readonly label?: Point;
}

export interface MapLayout {
  readonly nodes: readonly MapNode[];
  readonly links: readonly MapLink[];
  readonly width: number;
  readonly height: number;
}

const margin = 8;
/** The least distance between two columns, and between two services of one. */
const leastAcross = nodeWidth + 38;
const leastDown = nodeHeight + 34;

/** In a frame that is too narrow for the columns: the distance of two rows, and of two services of one. */
const [rowDown, leastBeside] = [nodeHeight + 42, 14];

/** From the sources of pods on the left to the runtime on the right; reporting services are last. */
const columns: readonly (readonly string[])[] = [
  ['launcher', 'config-sources', 'object-cache'],
  ['sync-loop', 'node-agent'],
  ['prober', 'pod-workers', 'volume-manager'],
  ['cri-bridge', 'cni-bridge'],
  ['status-manager', 'node-api', 'cli', 'observatory'],
];

/**
 * The services in columns in the order of a pod's way through them, each with a fixed place, so that two maps can be compared
 * visually; in a frame that is too narrow for them in rows, from top to bottom. Lines go around the services between their ends. Higher than
 * the frame where that is too low.
 *
 * @param textOf what is written at a line.
 */
export function layoutMap(
  map: ServiceMap,
  frameWidth: number,
  frameHeight: number,
  textOf: (link: Pick<MapLink, 'rate' | 'messages'>) => string = () => '',
): MapLayout {
  const used = columnsOf(map.services.map(({ service }) => service));
  const across = 2 * margin + nodeWidth + leastAcross * (used.length - 1);
  const { nodes, routes, ...size } =
    across > frameWidth ? inRows(map, used, frameWidth) : inColumns(map, used, frameWidth, frameHeight);
  const links = routes.map(({ pair, curves }): Omit<MapLink, 'label'> => {
    const rate = pair.edges.reduce((sum, edge) => sum + edge.rate, 0);
    const messages = pair.edges.reduce((sum, edge) => sum + edge.messages, 0);
    const [from, to] = [pair.from.service, pair.to.service];
    return { from, to, edges: pair.edges, rate, messages, path: pathOf(curves), text: textOf({ rate, messages }) };
  });
  return { nodes, links: labelled(links, routes, nodes), ...size };
}

interface Placed {
  readonly nodes: readonly MapNode[];
  readonly routes: readonly Route[];
  readonly width: number;
  readonly height: number;
}

function inColumns(map: ServiceMap, columns: readonly string[][], width: number, frameHeight: number): Placed {
  const height = Math.max(frameHeight, leastDown * Math.max(1, ...columns.map((column) => column.length)));
  const gap = columns.length > 1 ? (width - nodeWidth - 2 * margin) / (columns.length - 1) : 0;
  const nodes = columns.flatMap((column, index) =>
    column.map((service, row): MapNode => ({
      service,
      x: margin + index * gap,
      y: ((row + 0.5) / column.length) * height - nodeHeight / 2,
    })),
  );
  const box = { width: nodeWidth, height: nodeHeight };
  return { nodes, routes: routesOf(pairsOf(map.edges, nodes), nodes, height, box), width, height };
}

/** A column is one or more rows. Lines are found in a map that is turned, where they go from left to right. */
function inRows(map: ServiceMap, columns: readonly string[][], frameWidth: number): Placed {
  const beside = Math.max(1, Math.floor((frameWidth - 2 * margin + leastBeside) / (nodeWidth + leastBeside)));
  const rows = columns.flatMap((column) =>
    Array.from({ length: Math.ceil(column.length / beside) }, (_, index) =>
      column.slice(index * beside, (index + 1) * beside),
    ),
  );
  const width = Math.max(frameWidth, nodeWidth + 2 * margin);
  const nodes = rows.flatMap((row, index) =>
    row.map((service, place): MapNode => ({
      service,
      x: ((place + 0.5) / row.length) * width - nodeWidth / 2,
      y: margin + index * rowDown,
    })),
  );
  const turned = nodes.map(({ service, x, y }): MapNode => ({ service, x: y, y: x }));
  const box = { width: nodeHeight, height: nodeWidth };
  const routes = routesOf(pairsOf(map.edges, turned), turned, width, box).map(({ pair, curves }): Route => ({
    pair,
    curves: curves.map(([a, b, c, d]) => [turn(a), turn(b), turn(c), turn(d)]),
  }));
  return { nodes, routes, width, height: 2 * margin + rowDown * rows.length };
}

function turn({ x, y }: Point): Point {
  return { x: y, y: x };
}

function columnsOf(services: readonly string[]): string[][] {
  const known = new Set(columns.flat());
  const placed = columns.map((column) => column.filter((service) => services.includes(service)));
  placed.at(-1)?.push(...services.filter((service) => !known.has(service)).sort());
  return placed.filter((column) => column.length > 0);
}

function pairsOf(edges: readonly MapEdge[], nodes: readonly MapNode[]): Pair[] {
  const places = new Map(nodes.map((node) => [node.service, node]));
  const pairs = new Map<string, Pair & { readonly edges: MapEdge[] }>();
  for (const edge of edges) {
    const from = places.get(edge.from);
    const to = places.get(edge.to);
    if (from === undefined || to === undefined || from === to) continue;
    const key = `${edge.from} ${edge.to}`;
    const pair = pairs.get(key) ?? { from, to, edges: [] };
    pair.edges.push(edge);
    pairs.set(key, pair);
  }
  return [...pairs.values()];
}

/** The busiest lines get their places first. */
function labelled(
  links: readonly Omit<MapLink, 'label'>[],
  routes: readonly Route[],
  nodes: readonly MapNode[],
): MapLink[] {
  const order = links.map((_, index) => index).sort((a, b) => (links[b]?.messages ?? 0) - (links[a]?.messages ?? 0));
  const wanted = order.map((index) => ({ text: links[index]?.text ?? '', curves: routes[index]?.curves ?? [] }));
  const places = placeLabels(wanted, nodes);
  const placeOf = new Map(order.map((index, place) => [index, places[place]]));
  return links.map((link, index) => {
    const label = placeOf.get(index);
    return label === undefined ? link : { ...link, label };
  });
}
