import { expect, test } from '@jest/globals';
import type { MapEdge, MapService } from '@kubus/contracts/observatory';
import { isAnnouncement, layoutMap, nodeHeight, nodeWidth } from './map-layout.ts';

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
