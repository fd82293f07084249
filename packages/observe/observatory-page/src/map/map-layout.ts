import type { MapEdge, ServiceMap } from '@kubus/contracts/observatory';
import { placeLabels } from './map-labels.ts';
import { type MapNode, nodeHeight, nodeWidth } from './map-node.ts';
import { type Pair, type Point, type Route, routesOf } from './map-routes.ts';

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
 * visually. Lines go around the services between their ends. Larger than the frame where that is too small.
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
  const width = Math.max(frameWidth, 2 * margin + nodeWidth + leastAcross * (used.length - 1));
  const height = Math.max(frameHeight, leastDown * Math.max(1, ...used.map((column) => column.length)));
  const gap = used.length > 1 ? (width - nodeWidth - 2 * margin) / (used.length - 1) : 0;
  const nodes = used.flatMap((column, index) =>
    column.map((service, row): MapNode => ({
      service,
      x: margin + index * gap,
      y: ((row + 0.5) / column.length) * height - nodeHeight / 2,
    })),
  );
  const routes = routesOf(pairsOf(map.edges, nodes), nodes, height);
  const links = routes.map(({ pair, path }): Omit<MapLink, 'label'> => {
    const rate = pair.edges.reduce((sum, edge) => sum + edge.rate, 0);
    const messages = pair.edges.reduce((sum, edge) => sum + edge.messages, 0);
    const [from, to] = [pair.from.service, pair.to.service];
    return { from, to, edges: pair.edges, rate, messages, path, text: textOf({ rate, messages }) };
  });
  return { nodes, links: labelled(links, routes, nodes), width, height };
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
