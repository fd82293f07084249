import { expect, test } from '@jest/globals';
import type { MapEdge, MapService } from '@kubus/contracts/observatory';
import { foldIdle, isAnnouncement } from './map-fold.ts';
import { labelHeight, labelWidth } from './map-labels.ts';
import { layoutMap } from './map-layout.ts';
import { nodeHeight, nodeWidth } from './map-node.ts';

const service = (name: string): MapService => ({ service: name, about: '', instances: [], messages: 1, rate: 1 });
const edge = (from: string, to: string, type = 'x.fact.y/1'): MapEdge => ({
  from,
  to,
  type,
  kind: 'fact',
  messages: 2,
  rate: 0.5,
});
const names = [
  'cri-bridge',
  'config-sources',
  'pod-workers',
  'sync-loop',
  'prober',
  'volume-manager',
  'stranger',
  'cni-bridge',
];
const map = {
  services: names.map(service),
  edges: [
    edge('config-sources', 'sync-loop'),
    edge('pod-workers', 'cri-bridge', 'a.cmd.b/1'),
    edge('pod-workers', 'cri-bridge', 'a.cmd.c/1'),
    edge('cri-bridge', 'pod-workers'),
    edge('prober', 'pod-workers'),
    edge('pod-workers', 'pod-workers'),
    edge('pod-workers', 'nobody'),
  ],
};

test('every service has a place, from the sources on the left to the runtime, without overlaps', () => {
  const { nodes } = layoutMap(map, 1100, 480);
  expect(nodes.map(({ service: name }) => name).sort()).toEqual(names.toSorted());
  const x = (name: string): number => nodes.find((node) => node.service === name)?.x ?? NaN;
  expect(x('config-sources')).toBeLessThan(x('sync-loop'));
  expect(x('sync-loop')).toBeLessThan(x('pod-workers'));
  expect(x('pod-workers')).toBeLessThan(x('cri-bridge'));
  nodes.forEach((a, index) => {
    expect(a.x).toBeGreaterThanOrEqual(0);
    expect(a.x + nodeWidth).toBeLessThanOrEqual(1100);
    for (const b of nodes.slice(index + 1)) {
      expect(Math.abs(a.x - b.x) >= nodeWidth || Math.abs(a.y - b.y) >= nodeHeight).toBe(true);
    }
  });
});

test('the place of a service does not depend on the other services', () => {
  const more = { ...map, edges: [...map.edges, edge('sync-loop', 'prober')] };
  expect(layoutMap(more, 1100, 480).nodes).toEqual(layoutMap(map, 1100, 480).nodes);
});

test('all messages between two services are one line; those without a reader have none', () => {
  const { links } = layoutMap(map, 1100, 480);
  expect(links).toHaveLength(4);
  const line = links.find(({ from, to }) => from === 'pod-workers' && to === 'cri-bridge');
  expect(line).toMatchObject({ rate: 1, messages: 4 });
  expect(line?.edges).toHaveLength(2);
  for (const { path } of links) expect(path).toMatch(/^M[-\d.,]+ C[-\d., ]+$/);
});

test('announcements are distinguished', () => {
  expect(isAnnouncement(edge('a', 'b', 'service.fact.instance/1'))).toBe(true);
  expect(isAnnouncement(edge('a', 'b', 'worker.fact.status/1'))).toBe(false);
});

const allPairs = names.flatMap((from) => names.filter((to) => to !== from).map((to) => edge(from, to)));

test('lines pass between the services, and no label lies over a service or another label', () => {
  const { nodes, links } = layoutMap({ ...map, edges: allPairs }, 1100, 480, ({ messages }) => `${messages} messages`);
  for (const { from, to, path } of links) {
    const [fromX, toX] = [from, to].map((name) => nodes.find(({ service: one }) => one === name)?.x ?? NaN);
    if (fromX === undefined || toX === undefined) throw new Error('a line without an end');
    // A level part of a line, from one side of a column to the other, is beside the services of that column.
    const points = [...path.matchAll(/(-?[\d.]+),(-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const);
    points.forEach(([x, y], index) => {
      const [nextX = NaN, nextY = NaN] = points[index + 3] ?? [];
      if (index % 3 !== 0 || y !== nextY || Math.abs(Math.abs(x - nextX) - nodeWidth) > 0.2) return;
      const passed = nodes.filter((node) => Math.abs(node.x - Math.min(x, nextX)) < 0.2);
      for (const node of passed) expect(y > node.y && y < node.y + nodeHeight).toBe(false);
    });
  }
  const boxes = links.flatMap(({ label, text }) =>
    label === undefined ? [] : [{ ...label, width: labelWidth(text), height: labelHeight }],
  );
  expect(boxes.length).toBeGreaterThan(10);
  const taken = nodes.map(({ x, y }) => ({
    x: x + nodeWidth / 2,
    y: y + nodeHeight / 2,
    ...{ width: nodeWidth, height: nodeHeight },
  }));
  boxes.forEach((a, index) => {
    for (const b of [...boxes.slice(index + 1), ...taken]) {
      const apart = Math.abs(a.x - b.x) >= (a.width + b.width) / 2 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2;
      expect([a, b, apart]).toEqual([a, b, true]);
    }
  });
});

test('a map that is higher than its frame is as high as it needs to be', () => {
  const { width, height, nodes } = layoutMap(map, 900, 60);
  expect(width).toBe(900);
  for (const { y } of nodes) expect(y + nodeHeight).toBeLessThanOrEqual(height);
});

test.each([404, 700, 100])('a frame of %d pixels has the services in rows, without overlaps', (frame) => {
  const { width, height, nodes, links } = layoutMap({ ...map, edges: allPairs }, frame, 380);
  // At least as wide as a service.
  expect(width).toBe(Math.max(frame, nodeWidth + 16));
  expect(nodes.map(({ service: name }) => name).sort()).toEqual(names.toSorted());
  const y = (name: string): number => nodes.find((node) => node.service === name)?.y ?? NaN;
  expect(y('config-sources')).toBeLessThan(y('sync-loop'));
  expect(y('pod-workers')).toBeLessThan(y('cri-bridge'));
  nodes.forEach((a, index) => {
    expect([a.x >= 0, a.x + nodeWidth <= width, a.y + nodeHeight <= height]).toEqual([true, true, true]);
    for (const b of nodes.slice(index + 1)) {
      expect(Math.abs(a.x - b.x) >= nodeWidth || Math.abs(a.y - b.y) >= nodeHeight).toBe(true);
    }
  });
  for (const { path } of links) {
    for (const [, x, y] of path.matchAll(/(-?[\d.]+),(-?[\d.]+)/g)) {
      expect([Number(x) >= 0, Number(x) <= width, Number(y) >= 0, Number(y) <= height]).toEqual([
        true,
        true,
        true,
        true,
      ]);
    }
  }
});

test('what is idle is folded: services that published nothing, messages that nobody sent, and readers without a line', () => {
  const silent = { ...service('cli'), messages: 0 };
  const { map: folded, idle } = foldIdle(
    {
      services: [...['config-sources', 'sync-loop', 'launcher', 'observatory'].map(service), silent],
      edges: [
        edge('config-sources', 'sync-loop'),
        edge('config-sources', 'cli'),
        { ...edge('sync-loop', 'launcher'), messages: 0 },
        edge('launcher', 'sync-loop', 'service.fact.instance'),
      ],
    },
    false,
  );
  expect(folded.services.map(({ service: name }) => name)).toEqual(['config-sources', 'sync-loop']);
  expect(folded.edges).toEqual([edge('config-sources', 'sync-loop')]);
  expect(idle).toEqual(['launcher', 'observatory', 'cli']);
});
